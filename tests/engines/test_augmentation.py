"""Data augmentation draws from the posterior of rows with missing cells, as enumeration and NUTS say it is."""

import itertools

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from helpers.families import chained
from helpers.suites import mainly
from scipy.special import logsumexp

import bayesclf as bc
from bayesclf.engines import Augmentation, Exact, inference
from bayesclf.errors import ConvergenceWarning, Refused
from bayesclf.families import Axes, BayesianNetwork, JointTable
from bayesclf.families.multivariate.groups import GroupedMoments

SIZES = (2, 3, 2)
AXES = Axes(("no", "yes"), ("a", "b", "c"), ((0, 1), (0, 1, 2), (0, 1)))
FAMILIES = {
    "tree": BayesianNetwork(alpha=0.7, edges=(("a", "b"), ("b", "c"))),
    "class-free": BayesianNetwork(alpha=1.5, edges=(("a", "b"), ("b", "c")), class_free=("a", "b")),
    "collider": BayesianNetwork(edges=(("a", "c"), ("b", "c"))),
    "joint": JointTable(alpha=0.5),
    "sparse": JointTable(alpha=0.05),
}
STANDARD_ERRORS = 4.5


def table_with_gaps(rng, n=12, gaps=7):
    """Return codes (row, feature) with few enough gaps to enumerate their completions."""
    X = np.column_stack([rng.integers(size, size=n) for size in SIZES])
    X.ravel()[rng.choice(X.size, gaps, replace=False)] = -1
    return X, rng.integers(2, size=n)


def completed(X, sizes):
    """Yield all completions of codes (row, feature), negative where missing."""
    gaps = np.argwhere(X < 0)
    for values in itertools.product(*(range(sizes[j]) for _, j in gaps)):
        Z = X.copy()
        Z[tuple(gaps.T)] = values
        yield Z


def posterior_moments(family, X, y, axes):
    """Return E[θ] and sd[θ], (outcome, cell), of a mixture of Dirichlets, one for each completion of the rows.

    A completion has the evidence of its counts as weight.
    """
    weights, means, squares = [], [], []
    for Z in completed(X, axes.sizes):
        statistics = GroupedMoments.of(Z, y, axes)
        posterior = family.posterior(statistics)
        weights.append(float(family.log_evidence(statistics).sum()))
        alpha, sizes = posterior.simplexes()
        mean = posterior.mean()["theta"][0]
        total = np.repeat(np.add.reduceat(alpha, np.cumsum([0, *sizes[:-1]]), axis=1), sizes, axis=1)
        means.append(mean)
        squares.append(mean * (alpha + 1) / (total + 1))
    weight = np.exp(np.array(weights) - logsumexp(weights))
    mean, square = np.tensordot(weight, means, 1), np.tensordot(weight, squares, 1)
    return mean, np.sqrt(square - mean**2)


def assert_moments(chains, mean, sd):
    """Assert that draws (chain, draw) have a mean and an sd, within Monte Carlo error."""
    for method, found, expected in (("mean", chains.mean(), mean), ("sd", chains.std(), sd)):
        assert abs(found - expected) < STANDARD_ERRORS * array_stats.mcse(chains, method=method) + 1e-12


@pytest.mark.parametrize("name", mainly(FAMILIES, "tree"))
def test_moments_are_those_of_enumeration(name, rng):
    X, y = table_with_gaps(rng)
    statistics = GroupedMoments.of(X, y, AXES)
    family = FAMILIES[name].resolve_prior(statistics)
    mean, sd = posterior_moments(family, X, y, AXES)
    theta = chained(family.alternation(statistics, 4), rng, 50, 600)["theta"]
    for label, cell in np.ndindex(mean.shape):
        assert_moments(theta[:, label, cell].reshape(4, -1), mean[label, cell], sd[label, cell])


def frame(rng, rows=40, share=0.25):
    """Return a table of words in which the columns depend on each other, with gaps, and its labels."""
    y = rng.integers(2, size=rows)
    a = rng.integers(2, size=rows) ^ (rng.random(rows) < 0.2 * y)
    b = np.where(rng.random(rows) < 0.7, a, rng.integers(3, size=rows))
    X = pd.DataFrame({"a": a, "b": b, "c": b == 1}).astype(str)
    return X.mask(pd.DataFrame(rng.random(X.shape) < share, columns=X.columns)), np.array(["no", "yes"])[y]


EDGES = (("a", "b"), ("b", "c"))


def test_auto_takes_it_where_only_gaps_are_in_the_way(rng):
    X, y = frame(rng)
    for make in (bc.BayesNetClassifier, bc.JointBayes):
        clf = make(random_state=1).fit(X, y)
        assert clf.inference_ == Augmentation()
        assert clf.convergence_problems_ == ()
        assert make(missing="level", random_state=1).fit(X, y).inference_ == Exact()
    short = Augmentation(draws=100)
    assert (
        inference.resolve(bc.engines.Auto(augmentation=short), bc.JointBayes(inference="map").fit(X, y).model_) == short
    )


def test_what_it_cannot_sample_is_refused(rng, mixed_table):
    X, y = frame(rng)
    half = np.full(len(y), 0.5)
    clf = bc.JointBayes(inference="augmentation", random_state=1)
    with pytest.raises(Refused, match="weights that are not whole numbers, and no engine samples this posterior"):
        clf.fit(X, y, sample_weight=half)
    numbers, labels = mixed_table
    with pytest.raises(Refused, match="the model is not generative"):
        bc.LogisticRegression(inference="augmentation").fit(numbers[["age"]], labels)


@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_short_chains_are_told(rng):
    X, y = frame(rng, share=0.5)
    with pytest.warns(ConvergenceWarning, match=r"inference=bc.engines.Augmentation\(draws=2000, tune=1000\)"):
        clf = bc.BayesNetClassifier(EDGES, inference=Augmentation(draws=50), random_state=1).fit(X, y)
    assert "Augmentation(draws=2000" in clf.diagnose(checks=["P01"])["P01"].next_step
