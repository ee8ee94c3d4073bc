"""Figures: what they show equals what the comparison says, and hostile names stay names."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf import plots, scores
from bayesclf.errors import InputError, Refused
from bayesclf.plots import parameters, style
from bayesclf.plots.predictions import disagreement_shares
from bayesclf.plots.scores import METRICS, draw
from bayesclf.rules import RULES


@pytest.fixture(scope="module")
def comparison():
    data = load_iris(as_frame=True)
    models = {"nb": bc.NaiveBayes(), "lr in $": bc.LogisticRegression(inference="map")}
    return bc.compare(models, data.data, data.target_names[data.target], cv=3)


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    assert plt.get_fignums() == []


def texts(figure: Figure) -> list[str]:
    figure.canvas.draw()
    return [text.get_text().replace(r"\$", "$") for text in figure.findobj(plt.Text) if text.get_text()]


def test_import_is_light():
    code = "import sys, bayesclf.plots; print([m for m in ('matplotlib', 'arviz_plots', 'pymc') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_rule_has_a_look_of_its_own():
    assert list(plots.RULE_STYLE) == list(RULES)
    for part in ("color", "marker", "line"):
        assert len({getattr(look, part) for look in plots.RULE_STYLE.values()}) == len(RULES)


@pytest.mark.parametrize("name", ["a$b$c", "$x_1^2$", r"\$", "a\nb", "$", "x" * 300, "\x00\x1b"])
def test_names_are_never_mathematics(name):
    figure = plots.style.axes(None, (2, 2))[0]
    figure.axes[0].set_title(style.plain(name))
    figure.canvas.draw()
    assert "\n" not in style.plain(name)
    assert len(style.plain(name)) <= style.LONGEST_NAME + style.plain(name).count(r"\$")


def test_reliability_marks_are_the_bins(comparison):
    figure = plots.reliability(comparison, "nb", rules=["map", "gibbs"])
    for rule, marks in zip(("map", "gibbs"), figure.axes[0].collections, strict=True):
        curve = scores.reliability(*comparison.stacked("nb", rule))
        np.testing.assert_allclose(marks.get_offsets(), np.column_stack([curve.confidence, curve.accuracy]))
        assert np.argmax(marks.get_sizes()) == np.argmax(curve.count)
    assert any(text.startswith("map  0.0") for text in texts(figure))


def test_drawing_on_given_axes(comparison):
    figure = Figure()
    ax = figure.subplots()
    for drawn in (
        plots.reliability(comparison, "nb", ax=ax),
        plots.disagreement(comparison, "nb", ax=ax),
        plots.rule_scores(comparison, ax=ax),
    ):
        assert drawn is figure


@pytest.mark.parametrize("metric", METRICS)
def test_rule_scores_marks_are_the_table(comparison, metric):
    figure = plots.rule_scores(comparison, metric)
    table = comparison.table
    shown = [line.get_xdata()[0] for line in figure.axes[0].lines if line.get_marker() not in ("None", None)]
    np.testing.assert_allclose(shown, table[metric].dropna())
    words = " ".join(texts(figure))
    assert "n/a" in words
    assert "lr in $" in words


def test_infinite_log_loss_stands_at_the_margin(comparison):
    table = comparison.table
    table.loc[0, ["log_loss", "log_loss_se", "log_loss_infinite"]] = [np.inf, np.nan, 3]
    words = texts(draw(table, "log_loss"))
    assert "∞" in words
    assert "3 rows" in words


def test_a_wide_range_gets_a_logarithmic_axis(comparison):
    table = comparison.table
    table.loc[0, "log_loss"] = 13.7
    assert draw(table, "log_loss").axes[0].get_xscale() == "log"
    assert draw(table, "accuracy").axes[0].get_xscale() == "linear"


def test_disagreement_shares(comparison):
    shares = disagreement_shares(comparison, "nb")
    assert (shares == shares.T).all()
    assert not shares.diagonal().any()
    table = comparison.table.query("model == 'nb'")
    np.testing.assert_allclose(shares[comparison.rules_of("nb").index("bayes-optimal")], table["disagreement"])
    assert "nb: rows decided differently" in texts(plots.disagreement(comparison, "nb"))


def test_disagreement_of_a_model_with_one_rule(comparison):
    assert plots.disagreement(comparison, "lr in $").axes


@pytest.mark.parametrize(
    ("draw_it", "sentence"),
    [
        (lambda c: plots.reliability(c, "svm"), "no model 'svm'"),
        (lambda c: plots.reliability(c, "lr in $", rules=["gibbs"]), "no answers under the rule 'gibbs'"),
        (lambda c: plots.rule_scores(c, "auc"), "metric must be one of log_loss"),
    ],
)
def test_what_does_not_exist_is_named(comparison, draw_it, sentence):
    with pytest.raises(InputError, match=sentence):
        draw_it(comparison)


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


def test_figures_of_a_posterior_that_is_not_there(comparison):
    for draw_it in (plots.posterior_forest, plots.posterior_trace):
        with pytest.raises(Refused, match="leaves no posterior"):
            draw_it(comparison.fits["lr in $"])


def test_a_trace_of_independent_draws_is_refused(comparison):
    with pytest.raises(Refused, match="independent"):
        plots.posterior_trace(comparison.fits["nb"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_trace_of_chains():
    data = load_iris(as_frame=True)
    fit = bc.LogisticRegression(inference=bc.NUTS(draws=100, tune=300, chains=2), random_state=0)
    figure = plots.posterior_trace(fit.fit(data.data, data.target), limit=3)
    assert any(text.startswith("3 of 10 parameters") for text in texts(figure))
    assert all(line.get_rasterized() for line in figure.axes[0].lines)


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
    assert parameters.class_axis(posterior(), ["no", "yes"]) == "anything"
    assert parameters.class_axis(posterior(), ["no", "perhaps"]) is None


def test_the_most_different_come_first():
    chosen = parameters.most_different(posterior(), "anything", 2, limit=6, panels=40)
    assert [quantity.name for quantity in chosen[:2]] == ["mu[b]", "mu[c]"]
    assert sum(quantity.size for quantity in chosen) == 6
    assert len(parameters.most_different(posterior(), "anything", 2, limit=100, panels=4)) == 4
    assert parameters.parameter_count(posterior()) == 9


def test_a_missing_class_is_a_reference_at_zero():
    one = posterior().sel(anything=["no"])
    chosen = parameters.most_different(one, "anything", 2, limit=1, panels=40)
    assert [quantity.name for quantity in chosen] == ["mu[b]"]
    assert chosen[0].spread == pytest.approx(5, abs=1)


def test_the_least_mixed_come_first():
    data = posterior()
    data["mu"][0, :, 1, 2] += 10
    assert parameters.least_mixed(data, 1)[0].name == "mu[yes, c]"
