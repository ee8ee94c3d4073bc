"""Logistic weights: what stands side by side is in the same units."""

import numpy as np
import pandas as pd
import pytest
from helpers.drawn import texts

import bayesclf as bc
from bayesclf import plots
from bayesclf.errors import InputError, Refused
from bayesclf.interpretation.weights import compare_weights
from bayesclf.plots import style, weights


@pytest.fixture(scope="module")
def rows():
    """Return 200 rows for which naive Bayes with shared variances is true, in units far from 1."""
    rng = np.random.default_rng(5)
    y = np.where(rng.random(200) < 0.5, "ill", "well")
    x = rng.normal(size=200) + (y == "well")
    word = np.where(rng.random(200) < np.where(y == "ill", 0.3, 0.7), "much", "little")
    three = rng.choice(["u", "v", "w"], 200)
    return pd.DataFrame({"cost in $": 1000 * x, "word": word, "three": three, "<b>": rng.normal(size=200)}), y


@pytest.fixture(scope="module")
def lr(rows):
    return bc.LogisticRegression(prior_scale=2.5, inference="laplace", random_state=0).fit(*rows)


@pytest.fixture(scope="module")
def implied(rows):
    X, y = rows
    blocks = {"cost in $": bc.families.Gaussian("feature"), "<b>": bc.families.Gaussian("feature")}
    return bc.NaiveBayes(blocks=blocks, random_state=0).fit(X, y).to_logistic()


def drawn(ax, index):
    """Return weights by name of one of the two models, and the ends of its wide intervals."""
    names = [label.get_text().replace(r"\$", "$") for label in ax.get_yticklabels()]
    marks = [line for line in ax.lines if line.get_marker() == "o"][index]
    ends = [path[:, 0] if len(path) else None for path in ax.collections[2 * index + 1].get_segments()]
    return dict(zip(names, marks.get_xdata(), strict=True)), dict(zip(names, ends, strict=True))


def test_numbers_are_per_sd_and_levels_from_the_mean_of_their_category(rows, lr):
    figure = plots.posterior_weights(lr)
    means, ends = drawn(figure.axes[0], 0)
    posterior = lr.posterior_["posterior"]["weight"].isel(outcome=0).stack(sample=("chain", "draw"))
    cost = posterior.sel(feature="cost in $").values * rows[0]["cost in $"].std(ddof=0)
    assert means["cost in $"] == pytest.approx(cost.mean())
    np.testing.assert_allclose(ends["cost in $"], np.quantile(cost, [0.055, 0.945]))
    levels = posterior.sel(feature=["three=u", "three=v", "three=w"]).values
    assert means["three=v"] == pytest.approx((levels[1] - levels.mean(axis=0)).mean())
    assert "Log-odds against ill\nper sd of a number, per level of a category" in texts(figure)


def test_of_two_levels_one_is_drawn_and_the_largest_come_first(lr):
    means, _ = drawn(plots.posterior_weights(lr).axes[0], 0)
    assert set(means) == {"cost in $", "<b>", "word=much", "three=u", "three=v", "three=w"}
    assert list(means.values()) == sorted(means.values(), reverse=True)


def test_implied_weights_agree_where_the_generative_model_is_true(lr, implied):
    figure = plots.posterior_weights(lr, implied)
    own, theirs = (drawn(figure.axes[0], index) for index in (0, 1))
    for name in own[0]:
        low, high = np.array([own[1][name], theirs[1][name]]).T
        assert low.max() < high.min(), name  # the intervals overlap
    posterior = implied.posterior_["posterior"]["weight"].isel(outcome=0).stack(sample=("chain", "draw"))
    levels = posterior.sel(feature=["word=little", "word=much"]).values
    assert theirs[0]["word=much"] == pytest.approx((levels[1] - levels[0]).mean() / 2)
    assert set(weights.LABELS) <= set(texts(figure))
    heights = [line.get_ydata() for line in figure.axes[0].lines if line.get_marker() == "o"]
    np.testing.assert_allclose(heights[1] - heights[0], weights.APART)


def test_weights_are_those_that_are_compared_in_units_of_the_columns(rows, lr, implied):
    X, y = rows
    nb = bc.CategoricalNB(random_state=0).fit(X[["word", "three"]], y)
    table = compare_weights(nb, lr).set_index(["model", "feature"])["mean"]
    ax = plots.posterior_weights(lr, nb.to_logistic()).axes[0]
    sd = dict(zip(lr.model_.design.names, lr.model_.design.scale, strict=True))
    for index, model in enumerate(("logistic", "implied")):
        means, _ = drawn(ax, index)
        for name, mean in means.items():
            np.testing.assert_allclose(mean, table[model, name] * sd[name], err_msg=name)


def test_columns_that_the_generative_model_lacks_are_left_empty(rows, lr):
    X, y = rows
    part = bc.CategoricalNB(random_state=0).fit(X[["word", "three"]], y).to_logistic()
    means, _ = drawn(plots.posterior_weights(lr, part).axes[0], 1)
    assert np.isnan(means["<b>"])
    assert np.isfinite(means["word=much"])


def test_chosen_columns_keep_their_order_and_more_classes_get_panels():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    y = np.array(["$1$", "w" * 200, "z"])[np.arange(60) % 3]
    lr = bc.LogisticRegression(prior_scale=2.5, inference="laplace", random_state=0).fit(X, y)
    figure = plots.posterior_weights(lr, features=["c", "a"])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["c", "a"]
    assert [ax.get_title(loc="left") for ax in figure.axes] == [style.plain(label) for label in lr.classes_[:2]]
    with pytest.raises(InputError, match="no column 'd'"):
        plots.posterior_weights(lr, features=["d"])


def test_what_cannot_be_compared_is_refused(rows, lr):
    X, y = rows
    with pytest.raises(Refused, match="leaves no posterior"):
        plots.posterior_weights(bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, y))
    words = X[["word", "three"]]
    with pytest.raises(Refused, match="has no posterior of weights"):
        plots.posterior_weights(lr, bc.CategoricalNB(inference="map").fit(words, y).to_logistic())
    other = bc.CategoricalNB(random_state=0).fit(words, np.where(y == "ill", "sick", "well")).to_logistic()
    with pytest.raises(InputError, match="those of sick, well, not of ill, well"):
        plots.posterior_weights(lr, other)


def test_odds_ratios_stand_above_their_log_odds(lr):
    ax = plots.posterior_weights(lr).axes[0]
    top = ax.child_axes[0].xaxis
    found = {label.get_text(): place for label, place in zip(top.get_ticklabels(), top.get_ticklocs(), strict=True)}
    assert found["×1"] == 0
    assert all(np.exp(place) == pytest.approx(float(text[1:]), rel=1e-4) for text, place in found.items())


def test_ratios_are_powers_of_two_and_beyond_of_ten_and_never_crowded():
    assert weights.odds_ticks(-1.0, 1.5) == [0.5, 1.0, 2.0, 4.0]
    assert weights.odds_ticks(-5.0, 4.0) == pytest.approx([0.01, 0.1, 1.0, 10.0])
    assert all(len(weights.odds_ticks(-spread, 2 * spread)) <= weights.MOST_RATIOS for spread in np.geomspace(0.1, 500))
