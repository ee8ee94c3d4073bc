"""Class-conditional distributions: curves, bands and decision points are the model's own."""

import pickle

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from scipy import stats

import bayesclf as bc
from bayesclf import plots
from bayesclf.errors import InputError, Refused
from bayesclf.plots import conditionals, style


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    y = np.repeat(["no", "yes"], [60, 30])
    X = pd.DataFrame(rng.normal(size=(90, 2)) + 2.0 * (y == "yes")[:, None], columns=["a", "cost in $"])
    X["wind"] = np.where(rng.random(90) < np.where(y == "yes", 0.8, 0.3), "weak", "strong")
    X.iloc[:4, 0] = np.nan
    X.iloc[2:5, 2] = None
    return X, y


def curves(ax):
    """Return the curves of the classes by color, (point, 2)."""
    return {to_hex(line.get_color()): line.get_xydata() for line in ax.lines if len(line.get_xydata()) > 2}


def decisions(ax):
    return sorted(
        {float(line.get_xdata()[0]) for line in ax.lines if line.get_linestyle() == "--" and len(line.get_xdata()) == 2}
    )


def test_densities_are_those_of_the_estimates_and_the_decision_point_where_they_cross():
    """Two Gaussians of the same variance cross half-way, or at (μ0 + μ1)/2 + σ²/(μ1 − μ0) log(π0/π1)."""
    X, y = np.array([[-1.0], [1.0], [3.0], [5.0], [-1.0], [1.0]]), np.array([0, 0, 1, 1, 0, 0])
    clf = bc.GaussianNB("feature", inference="mle").fit(X, y)
    (ax,) = plots.class_conditionals(clf, X, y).axes
    for k, (mean, color) in enumerate(zip((0.0, 4.0), style.CLASS_COLORS, strict=False)):
        x, density = curves(ax)[color].T
        np.testing.assert_allclose(density, stats.norm.pdf(x, mean, 1.0), err_msg=str(k))
    step = np.diff(x[:2]).item()
    assert decisions(ax) == pytest.approx([2 + np.log(2) / 4], abs=step)
    assert not ax.collections  # a point estimate has no band


def test_ranges_are_drawn_in_the_order_of_their_numbers():
    levels = ["10-14", "5-9", "0-4", "none"]
    X, y = pd.DataFrame({"size": np.resize(levels, 40)}), np.repeat([0, 1], 20)
    (ax,) = plots.class_conditionals(bc.CategoricalNB().fit(X, y), X, y).axes
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0-4", "5-9", "10-14", "none"]


def test_bands_are_the_posteriors_and_histograms_the_rows(rows):
    X, y = rows
    clf = bc.NaiveBayes(random_state=1, inference=bc.engines.Exact(draws=40)).fit(X, y)
    ax = plots.class_conditionals(clf, X, y, ["a"]).axes[0]
    draws = clf.posterior_["posterior"].to_dataset().sel(outcome="yes", feature="a")
    mu, sigma = (draws[name].values.ravel()[:, None] for name in ("mu", "sigma2"))
    x, mean = curves(ax)[style.class_color(1)].T
    density = stats.norm.pdf(x, mu, np.sqrt(sigma))
    np.testing.assert_allclose(mean, density.mean(axis=0))
    band = ax.collections[1].get_paths()[0].vertices
    at = x[100]
    ends = np.quantile(density[:, 100], [0.055, 0.945])
    np.testing.assert_allclose(sorted(band[np.isclose(band[:, 0], at), 1])[:2], ends)
    for patch, label in zip(ax.patches, ("no", "yes"), strict=True):
        heights, edges, _ = patch.get_data()
        assert (heights * np.diff(edges)).sum() == pytest.approx(1.0)
        own = X["a"][y == label].dropna()
        assert heights[0] * np.diff(edges)[0] == pytest.approx(((own >= edges[0]) & (own < edges[1])).mean())


def test_levels_have_their_probabilities_and_the_color_of_the_class_that_they_predict(rows):
    X, y = rows
    clf = bc.NaiveBayes(alpha=1.0, class_prior="uniform", random_state=1).fit(X, y)
    ax = plots.class_conditionals(clf, X, y, ["wind"]).axes[0]
    theta = clf.posterior_["posterior"]["theta"].mean(("chain", "draw")).values
    drawn = [line.get_ydata() for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(drawn, theta, atol=0.02)  # of every fifth draw
    shares = np.array([bar.get_height() for bar in ax.patches]).reshape(2, 2)
    known = X["wind"].notna()
    for k, label in enumerate(("no", "yes")):
        expected = (X["wind"][known & (y == label)] == "strong").mean()
        assert shares[k, 0] == pytest.approx(expected)
    names = {text.get_text(): to_hex(text.get_color()) for text in ax.get_xticklabels()}
    assert names == {"strong": style.class_color(0), "weak": style.class_color(1)}


@pytest.mark.parametrize("family", ["poisson", "negative-binomial", "log-normal", "gamma", "exponential", "histogram"])
def test_every_family_of_numbers_is_drawn(family):
    rng = np.random.default_rng(1)
    y = np.arange(80) % 2
    X = pd.DataFrame({"n": rng.poisson(3 + 4 * y) + 1.0})
    clf = bc.NaiveBayes(families=family, random_state=1).fit(X, y)
    ax = plots.class_conditionals(clf, X, y).axes[0]
    for x, density in (curve.T for curve in curves(ax).values()):
        total = density.sum() if clf.model_.blocks[0].family.support.whole else np.trapezoid(density[x > 0], x[x > 0])
        assert 0.6 < total < 1.1


def test_families_by_evidence_are_drawn_where_they_have_cells():
    """Numbers near 0 that are above it, a mass at 0, and counts: nothing is drawn below 0."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = pd.DataFrame(
        {
            "a": np.round(rng.lognormal(0.0, 1.0, 200), 2) + 0.01,
            "z": np.where(rng.random(200) < 0.3, 0.0, np.round(rng.gamma(2.0, 3.0, 200), 1) + 0.1),
            "c": rng.poisson(5 + y, 200).astype(float),
            "n": rng.poisson(400 + 9 * y, 200).astype(float),
        }
    )
    clf = bc.NaiveBayes(families="auto", random_state=1).fit(X, y)
    names = list(X)
    for name, ax in zip(names, plots.class_conditionals(clf, X, y, names).axes, strict=True):
        for x, density in (curve.T for curve in curves(ax).values()):
            assert x[0] >= 0
            total = density.sum() * (x[1] - x[0])
            assert (0.5 if name == "z" else 0.9) < total < (0.8 if name == "z" else 1.1)


@pytest.mark.parametrize("structure", ["all-trees", "all-forests"])
def test_trees_with_missing_cells_as_a_level_are_drawn_with_the_other_columns_summed_out(rows, structure):
    X, y = rows[0].assign(b=rows[0]["a"] ** 2), rows[1]
    clf = bc.BayesNetClassifier(structure, missing="level", random_state=1).fit(X, y)
    panels = conditionals._Panels.of(clf, X, y, None)
    u = (np.arange(4_000) + 0.5) / 4e3 * np.pi - np.pi / 2
    for name in ("a", "b", "cost in $"):
        density = panels.of_column(name, np.tan(u)).mean(axis=0) / np.cos(u)[:, None] ** 2
        np.testing.assert_allclose(density.mean(axis=0) * np.pi, 1, rtol=0.01, err_msg=name)
    np.testing.assert_allclose(panels.of_column("wind", np.arange(3)).sum(axis=1), 1)
    assert plots.class_conditionals(clf, X, y).axes


def test_what_cannot_be_drawn_is_refused_in_one_sentence(rows):
    X, y = rows
    clf = bc.NaiveBayes(random_state=1).fit(X, y)
    assert pickle.loads(pickle.dumps(plots.class_conditionals(clf, X, y))).axes
    for features, said in ((["b"], "no column 'b'"), ("a", "must be a list"), ([("a", "wind")], "uses no column")):
        with pytest.raises(InputError, match=said):
            plots.class_conditionals(clf, X, y, features)
    lr = bc.LogisticRegression(inference="map", prior_scale=2.5).fit(X, y)
    with pytest.raises(Refused, match="LogisticRegression has no"):
        plots.class_conditionals(lr, X, y)
    counts = bc.MultinomialNB(random_state=1).fit([[1, 0], [0, 2]], [0, 1])
    with pytest.raises(Refused, match="not of words or counts"):
        plots.class_conditionals(counts, [[1, 0], [0, 2]], [0, 1])
