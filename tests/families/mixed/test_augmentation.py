"""Missing training cells of categories and numbers: draws against sums over all completions and quadrature."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from helpers.families import chained
from helpers.suites import mainly
from scipy.special import logsumexp

import bayesclf as bc
from bayesclf.engines import Augmentation
from bayesclf.errors import DoesNotExist, Refused
from bayesclf.families import Axes, ConditionalGaussian

AXES = Axes(("a", "b"), ("c", "u", "v"), (("red", "blue"), (), ()))
CHAINS, STANDARD_ERRORS = 32, 4.5
"""Many chains are stepped together in about the time of one."""
POINTS = np.linspace(-7.0, 7.0, 19)
"""Where a missing number is put, in its standard deviations from its mean: sums over even grids converge quickly."""

STRUCTURES = {
    "all": ConditionalGaussian(a=4.0),
    "edges": ConditionalGaussian(a=4.0, edges=(("c", "u"), ("u", "v"))),
    "class-free": ConditionalGaussian(a=4.0, edges=(("c", "u"), ("c", "v"), ("u", "v")), class_free=("c", "v")),
}


def table(rng, n=14):
    """Return rows (c, u, v) of two classes, without missing cells."""
    y, c = np.arange(n) % 2, np.arange(n) // 2 % 2
    u = rng.normal(size=n) + c
    return np.column_stack([c, u, u * (1 - y) + c + rng.normal(size=n)]).astype(float), y


def moments(prior, X, y):
    """Return posterior means and sds of θ, β and σ², averaged over all completions of the missing cells."""
    hidden = np.isnan(X)
    hidden[:, 2] = False  # nothing depends on the last column, whose cells may stay missing
    number = X[:, 1][~np.isnan(X[:, 1])]
    values = [(0.0, 1.0) if j == 0 else number.mean() + number.std() * POINTS for _, j in np.argwhere(hidden)]
    weights, means, squares = [], [], []
    for cells in itertools.product(*values):
        filled = X.copy()
        filled[hidden] = cells
        statistics = prior.statistics(filled, y, AXES)
        posterior = prior.posterior(statistics)
        weights.append(prior.log_evidence(statistics).sum())
        first, second = of_posterior(posterior)
        means.append(first)
        squares.append(second)
    weight = np.exp(np.array(weights) - logsumexp(weights))
    mean, square = weight @ np.array(means), weight @ np.array(squares)
    return mean, np.sqrt(square - mean**2)


def of_posterior(family):
    """Return the first two moments of θ, β and σ² of a conjugate posterior, all parameters in a row."""
    alpha = family.of_categories.alpha
    first = [alpha / sums(alpha)]
    second = [first[0] * (alpha + 1) / (sums(alpha) + 1)]
    betas, variances = [], []
    for _, part in family.parts():
        from_zero = np.eye(part.m.shape[-1])
        from_zero[0, 1:] = -part.centre
        m, covariance = part.m @ from_zero.T, from_zero @ np.linalg.inv(part.precision) @ from_zero.T
        sigma2 = part.b / (part.a - 1)
        betas.append((m, m**2 + sigma2[..., None] * np.diagonal(covariance, axis1=-2, axis2=-1)))
        variances.append((sigma2, part.b**2 / ((part.a - 1) * (part.a - 2))))
    for parts in (betas, variances):
        first += [mean.reshape(2, -1) for mean, _ in parts]
        second += [square.reshape(2, -1) for _, square in parts]
    return (np.hstack(values).ravel() for values in (first, second))


def sums(alpha):
    """Return the sum of each simplex of two cells, for each cell."""
    return np.repeat(alpha.reshape(2, -1, 2).sum(axis=2), 2, axis=1)


def drawn(prior, X, y, rng, draws=200, tune=50):
    """Return draws of all chains, (chain, draw, parameter)."""
    found = chained(prior.alternation(prior.statistics(X, y, AXES), CHAINS), rng, tune, draws)
    return np.concatenate([found[name] for name in ("theta", "beta", "sigma2")], axis=2).reshape(CHAINS, draws, -1)


GAPS = {
    "categories": ((0, 0), (3, 0), (6, 0)),
    "a number": ((0, 1),),
    "both in one row": ((0, 0), (0, 1), (5, 0), (3, 2)),
    "two numbers": ((2, 1), (5, 1)),
}
"""Missing cells (row, column); those of the last column are a leaf, and drop out."""


@pytest.mark.parametrize("structure", mainly(STRUCTURES, "edges"))
@pytest.mark.parametrize("gaps", mainly(GAPS, "both in one row"))
def test_draws_have_the_moments_of_all_completions(structure, gaps):
    rng = np.random.default_rng(7)
    X, y = table(rng)
    prior = STRUCTURES[structure].resolve_prior(STRUCTURES[structure].statistics(X, y, AXES))
    for place in GAPS[gaps]:
        X[place] = np.nan
    assert prior.not_conjugate(prior.statistics(X, y, AXES))
    mean, sd = moments(prior, X, y)
    chains = drawn(prior, X, y, rng)
    assert chains.shape[2] == len(mean)
    for place, (m, s) in enumerate(zip(mean, sd, strict=True)):
        own = chains[:, :, place]
        for method, found, expected in (("mean", own.mean(), m), ("sd", own.std(), s)):
            assert abs(found - expected) < STANDARD_ERRORS * array_stats.mcse(own, method=method) + 1e-12


def fruit(rng, n=120, share=0.15):
    """Return a table with gaps in all columns, in which the class shows in how they go together, and its labels."""
    y = rng.choice(["apple", "pear"], n)
    color = rng.choice(["green", "red"], n)
    weight = 5.0 + np.where((color == "red") == (y == "apple"), 2.0, -2.0) + rng.normal(size=n)
    height = np.where(y == "apple", 0.8, -0.5) * weight + rng.normal(size=n)
    X = pd.DataFrame({"color": color, "weight": weight, "height": height})
    return X, X.mask(rng.random(X.shape) < share), y


EDGES = (("color", "weight"), ("weight", "height"))
SHORT, ENOUGH = Augmentation(draws=20, tune=5), Augmentation(draws=250, tune=50)
quiet = pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")


@pytest.mark.slow
@quiet
def test_numbers_alone_are_those_beside_a_category_without_edges(rng):
    _, gaps, y = fruit(rng)
    engine, edges = Augmentation(draws=600, tune=100), [("weight", "height")]
    beside = bc.BayesNetClassifier(edges, inference=engine, random_state=1).fit(gaps, y)
    alone = bc.BayesNetClassifier(edges, inference=engine, random_state=2).fit(gaps[["weight", "height"]], y)
    assert set(alone.draws_.parameters) == {"pi", "beta", "sigma2"}
    for name in ("beta", "sigma2"):
        pairs = (fit.draws_.parameters[name].reshape(4, 600, -1) for fit in (beside, alone))
        for one, other in zip(*(chains.transpose(2, 0, 1) for chains in pairs), strict=True):
            error = np.hypot(*(array_stats.mcse(chains, method="mean") for chains in (one, other)))
            assert abs(one.mean() - other.mean()) < STANDARD_ERRORS * error


@quiet
def test_what_has_no_closed_form_names_augmentation(rng):
    _, gaps, y = fruit(rng)
    clf = bc.BayesNetClassifier(EDGES, inference=SHORT, random_state=1).fit(gaps, y)
    for rule in ("map", "mle"):
        with pytest.raises(DoesNotExist, match="that others depend on, where the estimates of a network"):
            clf.predict(gaps, rule=rule)
    assert "does_not_exist" in clf.posterior_["map"].attrs
    exact = bc.BayesNetClassifier(EDGES, inference="exact")
    with pytest.raises(Refused, match=r"column '\w+' has missing cells that others depend on\); use inference='augm"):
        exact.fit(gaps, y)
    for inference in ("auto", "augmentation"):
        half = bc.BayesNetClassifier(EDGES, inference=inference)
        with pytest.raises(Refused, match="weights that are not whole numbers, and no engine samples this posterior"):
            half.fit(gaps, y, sample_weight=np.full(120, 0.5))
    with pytest.raises(Refused, match="such rows have no PyMC model: use inference='augmentation'"):
        bc.BayesNetClassifier(EDGES, inference="nuts").fit(gaps, y)
    with pytest.raises(Refused, match="such rows have no PyMC model: leave them out"):
        clf.to_pymc(gaps, y)


@quiet
def test_levels_that_a_prior_lacks_are_named_as_such(rng):
    X, _, y = fruit(rng)
    prior = bc.BayesNetClassifier(EDGES, random_state=1).fit(X, y).as_prior()
    later = X.assign(color="blue")
    with pytest.raises(Refused, match="column 'color' has levels that the prior lacks, which count as missing"):
        prior.set_params(inference="exact").fit(later, y)
    drawn = prior.set_params(inference=SHORT).fit(later, y)
    gaps = prior.fit(X.assign(color=None), y)
    np.testing.assert_array_equal(drawn.draws_.parameters["beta"], gaps.draws_.parameters["beta"])


@quiet
def test_a_prior_with_learned_edges_keeps_rows_with_gaps_apart(rng):
    X, gaps, y = fruit(rng)
    first = bc.BayesNetClassifier(random_state=1).fit(X, y)
    assert first.edges_ == EDGES
    second = first.as_prior().set_params(inference=SHORT).fit(gaps, y)
    given = bc.BayesNetClassifier(EDGES, random_state=1).fit(X, y).as_prior().set_params(inference=SHORT).fit(gaps, y)
    np.testing.assert_array_equal(second.draws_.parameters["beta"], given.draws_.parameters["beta"])


def test_rows_that_an_earlier_fit_added_up_are_refused(rng):
    X, y = table(rng)
    family = STRUCTURES["all"]
    X[:4, 0] = np.nan
    prior = family.resolve_prior(family.statistics(X[4:], y[4:], AXES))
    merged = replace(family, edges="tan").statistics(X, y, AXES)
    with pytest.raises(Refused, match="added up rows whose missing cells others depend on"):
        prior.alternation(merged, 2)
