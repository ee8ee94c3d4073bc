"""Densities before and after the rows: each is the density of what it says."""

import numpy as np
import pandas as pd
import pytest
from helpers.drawn import texts
from scipy import stats

import bayesclf as bc
from bayesclf import plots
from bayesclf.errors import InputError, Refused
from bayesclf.plots import priors


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    y = np.repeat(["a", "b"], 30)
    return pd.DataFrame({"x": rng.normal(size=60) + 2 * (y == "b"), "word": rng.choice(["u", "v"], 60)}), y


def curves(ax):
    """Return the lines of a panel by their label, each a grid and a density."""
    return {line.get_label(): line.get_data() for line in ax.lines}


def panel(figure, name):
    return next(ax for ax in figure.axes if ax.get_title(loc="left") == name)


def far(line, density):
    """Return how far a line is from a density, relative to its largest value, away from the ends of the panel."""
    grid, height = line
    inner = slice(len(grid) // 20, -len(grid) // 20)
    exact = density(grid[inner])
    return np.abs(height[inner] - exact).max() / exact.max()


def test_prior_and_posterior_of_class_shares_and_of_words_are_beta_densities(rows):
    X, y = rows
    clf = bc.NaiveBayes(families="gaussian", alpha=2.0, class_prior=3.0, random_state=1).fit(X, y)
    figure = plots.prior_posterior(clf)
    drawn = curves(panel(figure, "pi"))
    assert set(drawn) == {"prior", "a", "b"}
    assert far(drawn["prior"], stats.beta(3, 3).pdf) < 0.1
    assert far(drawn["a"], stats.beta(33, 33).pdf) < 0.1
    drawn = curves(panel(figure, "theta[word=u]"))
    count = int((X["word"][y == "b"] == "u").sum())
    assert far(drawn["prior"], stats.beta(2, 2).pdf) < 0.1
    assert far(drawn["b"], stats.beta(2 + count, 2 + 30 - count).pdf) < 0.1


def test_priors_that_differ_between_classes_are_drawn_for_each_class(rows):
    X, y = rows
    given = bc.families.Gaussian(m=np.array([[-2.0], [3.0]]), kappa=4.0, a=30.0, b=30.0)
    figure = plots.prior_posterior(
        bc.NaiveBayes(families="gaussian", blocks={"x": given}, random_state=1).fit(X[["x"]], y)
    )
    lines = panel(figure, "mu[x]").lines
    dashed = [line for line in lines if line.get_linestyle() == "--"]
    peaks = [line.get_xdata()[line.get_ydata().argmax()] for line in dashed]
    assert len(dashed) == 2
    np.testing.assert_allclose(peaks, [-2, 3], atol=0.2)
    assert "prior" not in curves(panel(figure, "mu[x]"))
    variance = curves(panel(figure, "sigma2[x]"))  # the same prior in both classes
    assert set(variance) == {"prior", "a", "b"}


def test_a_prior_that_is_wider_than_its_panel_keeps_its_height():
    """The part of the draws that lies in the panel is not taken for all of them."""
    rng = np.random.default_rng(0)
    grid, density = priors._density(rng.normal(0, 50, 40_000), (-1.0, 1.0))
    assert density[len(grid) // 2] == pytest.approx(stats.norm(0, 50).pdf(0), rel=0.1)
    grid, density = priors._density(np.full(10, 3.0), (-1.0, 1.0))
    assert not density.any()


def test_weights_with_a_learned_scale_show_the_scale_too(rows):
    clf = bc.LogisticRegression(inference=bc.engines.Laplace(draws=200), random_state=1).fit(*rows)
    figure = plots.prior_posterior(clf)
    drawn = curves(panel(figure, "prior_scale"))
    assert set(drawn) == {"prior", "posterior"}
    assert any("before and after" in text for text in texts(figure))


def test_a_plug_in_has_no_engine_with_a_posterior():
    X, y = pd.DataFrame({"a": list("uvuv"), "b": list("wwzz")}), [0, 1, 0, 1]
    with pytest.raises(Refused, match="AODE is a plug-in of estimates, which no engine gives a posterior to draw"):
        plots.prior_posterior(bc.AODE().fit(X, y))


def test_what_cannot_be_drawn_is_refused(rows, monkeypatch):
    X, y = rows
    with pytest.raises(Refused, match="leaves no posterior"):
        plots.prior_posterior(bc.NaiveBayes(families="gaussian", inference="map").fit(X, y))
    clf = bc.NaiveBayes(families="gaussian", random_state=1).fit(X, y)
    with pytest.raises(InputError, match="limit"):
        plots.prior_posterior(clf, limit=0)
    assert len(plots.prior_posterior(clf, limit=2).axes) == 2
    monkeypatch.setattr(priors, "MOST_NUMBERS", 1_000)
    with pytest.raises(Refused, match="the prior has 10 parameters, too many"):
        plots.prior_posterior(clf)
