"""Figures of posteriors: forests, and the parameters that are chosen for them."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers.drawn import texts

import bayesclf as bc
from bayesclf import plots
from bayesclf.errors import Refused
from bayesclf.plots import posterior as forest


def test_forest_shows_all_or_says_how_many(comparison):
    fit = comparison.fits["nb"]
    assert any(text.startswith("All 27 parameters") for text in texts(plots.posterior_forest(fit)))
    figure = plots.posterior_forest(fit, limit=7)
    assert any(text.startswith("6 of 27 parameters") for text in texts(figure))
    assert len([ax for ax in figure.axes if ax.get_visible() and ax.get_title(loc="left")]) == 2


def test_forest_intervals_are_the_posterior_quantiles(comparison):
    fit = comparison.fits["nb"]
    ax = plots.posterior_forest(fit, limit=3).axes[0]
    draws = fit.posterior_["posterior"]["mu"].sel(feature="petal length (cm)").values.reshape(-1, 3)
    outer = [line.get_xdata() for line in ax.lines[3:6]]
    np.testing.assert_allclose(outer, np.quantile(draws, [0.055, 0.945], axis=0).T)


def test_forest_of_shared_parameters_and_hostile_names():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a/b $x$ $", "<i>"])
    y = np.where(rng.random(40) < 0.5, "$1$", "b_c")
    figure = plots.posterior_forest(bc.GaussianNB(variance="feature").fit(X, y))
    words = texts(figure)
    assert "mu[a/b $x$ $]" in words
    assert "sigma2[<i>]" in words


@pytest.mark.parametrize("labels", [2, 3, 4])
def test_forest_of_weights_and_a_scale_of_no_class(labels):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % labels
    figure = plots.posterior_forest(
        bc.LogisticRegression(inference=bc.engines.Laplace(draws=50), random_state=1).fit(X, y)
    )
    panels = {ax.get_title(loc="left"): ax for ax in figure.axes if ax.lines}
    free = 1 if labels == 2 else labels
    assert {len(ax.lines) // 2 for title, ax in panels.items() if "prior" not in title} == {free}
    assert [len(ax.lines) // 2 for title, ax in panels.items() if "prior" in title] == [1, 1]


def test_figures_of_a_posterior_that_is_not_there(comparison):
    with pytest.raises(Refused, match="leaves no posterior"):
        plots.posterior_forest(comparison.fits["lr in $"])


def posterior(seed=0):
    rng = np.random.default_rng(seed)
    means = np.array([[0.0, 5.0, 0.0], [0.0, 0.0, 1.0]])
    return xr.Dataset(
        {
            "shared": (("chain", "draw", "feature"), rng.normal(size=(2, 50, 3))),
            "mu": (("chain", "draw", "anything", "feature"), means + rng.normal(size=(2, 50, 2, 3))),
        },
        coords={"anything": ["no", "yes"], "feature": ["a", "b", "c"]},
    )


def test_class_axis_is_found_by_its_labels():
    assert forest.class_axis(posterior(), ["no", "yes"]) == "anything"
    assert forest.class_axis(posterior(), ["no", "perhaps"]) is None


def test_the_most_different_come_first():
    chosen = forest.most_different(posterior(), "anything", 2, limit=6, panels=40)
    assert [quantity.name for quantity in chosen[:2]] == ["mu[b]", "mu[c]"]
    assert sum(quantity.size for quantity in chosen) == 6
    assert len(forest.most_different(posterior(), "anything", 2, limit=100, panels=4)) == 4
    assert forest.parameter_count(posterior()) == 9


def test_a_missing_class_is_a_reference_at_zero():
    one = posterior().sel(anything=["no"])
    chosen = forest.most_different(one, "anything", 2, limit=1, panels=40)
    assert [quantity.name for quantity in chosen] == ["mu[b]"]
    assert chosen[0].spread == pytest.approx(5, abs=1)


def test_the_least_mixed_come_first_by_whichever_measure_is_worse():
    data = posterior()
    data["mu"][0, :, 1, 2] += 10
    data["shared"][:, :, 0] = np.sort(data["shared"][:, :, 0], axis=1)
    first, second, third = forest.least_mixed(data, 3)
    assert {first.name, second.name} == {"mu[yes, c]", "shared[a]"}
    assert first.spread > second.spread > 3 * third.spread


def test_constants_mix_best():
    data = posterior()
    data["mu"][..., 0] = 1.0
    assert {quantity.spread for quantity in forest.least_mixed(data, 9)[-2:]} == {-1.0}
