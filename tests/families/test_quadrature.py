"""Posteriors on a grid where it ends: equal cells, cells far from their class, large counts, rows that are left out."""

from decimal import Decimal, getcontext
from math import lgamma

import numpy as np
import pandas as pd
import pytest
from helpers.suites import mainly
from numpy.testing import assert_allclose

import bayesclf as bc
from bayesclf.families import Axes, Gamma, NegativeBinomial
from bayesclf.families.quadrature import DEPTH, NODES, Grid

ONE = Axes(("k",), ("u",))
LEGENDRE, PANELS, SCANNED = np.polynomial.legendre.leggauss(24), 8, 33


def one_class(family, x):
    statistics = family.statistics(np.array(x, dtype=float)[:, None], np.zeros(len(x), dtype=int), ONE)
    return family.resolve_prior(statistics), statistics


def predictive(posterior, x):
    return posterior.log_predictive(np.atleast_1d(x)[:, None])[:, 0]


def log_integral(log_density, low, high):
    """Return log ∫ over a range by Gauss's rule on panels of the part within 50 nats of the maximum."""
    while True:
        t = np.linspace(low, high, SCANNED)
        values = log_density(t)
        inside = np.flatnonzero(values > values.max() - 50)
        part = t[max(inside[0] - 1, 0)], t[min(inside[-1] + 1, SCANNED - 1)]
        if part[1] - part[0] > 0.8 * (high - low):
            break
        low, high = part
    edges = np.linspace(low, high, PANELS + 1)
    half = np.diff(edges)[:, None] / 2
    at = log_density((edges[:-1, None] + half + half * LEGENDRE[0]).ravel())
    top = at.max()
    return top + np.log((np.exp(at - top).reshape(PANELS, -1) * half * LEGENDRE[1]).sum())


# Positive numbers


@pytest.fixture
def decimals():
    before = getcontext().prec
    getcontext().prec = 40
    yield
    getcontext().prec = before


BERNOULLI = [(1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798)]
TWICE_PI = Decimal("6.2831853071795864769252867665590057683943387987502")


def log_gamma(z):
    """Return log Γ(z) to 25 digits, by Stirling's series from 30 on."""
    product = Decimal(1)
    while z < 30:
        product *= z
        z += 1
    series = sum(
        Decimal(top) / bottom / (2 * k * (2 * k - 1) * z ** (2 * k - 1)) for k, (top, bottom) in enumerate(BERNOULLI, 1)
    )
    return (z - Decimal("0.5")) * z.ln() - z + TWICE_PI.ln() / 2 + series - product.ln()


def in_decimals(log_density):
    """Return a function of t and Decimal e^t as one of an array, relative to its value at t = 0."""
    base = log_density(Decimal(0), Decimal(1))

    def evaluated(t):
        return np.array([float(log_density(Decimal(one), Decimal(one).exp()) - base) for one in t.tolist()])

    return evaluated, float(base)


def log_normal(t, median, spread):
    return -(((t - Decimal(median).ln()) / Decimal(spread)) ** 2 + TWICE_PI.ln()) / 2 - Decimal(spread).ln()


def of_positive(x, median, spread, kappa, m):
    """Return log p(x) under a gamma family, the prior of α cut off at the bounds, in decimals."""
    x, kappa, m = [Decimal(float(one)) for one in x], Decimal(kappa), Decimal(m)
    n, total, logs = len(x), sum(x), sum(one.ln() for one in x)

    def log_joint(t, shape):
        of_prior = (1 + kappa * shape) * (kappa * m).ln() - log_gamma(1 + kappa * shape)
        of_rows = (shape - 1) * logs - n * log_gamma(shape)
        a = 1 + (kappa + n) * shape
        return log_normal(t, median, spread) + of_prior + of_rows + log_gamma(a) - a * (kappa * m + total).ln()

    joint, base = in_decimals(log_joint)
    return log_integral(joint, *Gamma.bounds) + base


def test_the_decimals_are_those_of_log_gamma(decimals):
    assert_allclose([float(log_gamma(Decimal(z))) for z in (0.3, 4.5, 100.0)], [lgamma(z) for z in (0.3, 4.5, 100.0)])


@pytest.mark.parametrize(("n", "away"), mainly([(5, 1.0), (10, 2.0), (20, 1.0), (40, 1.0), (40, 1 + 1e-6)], (10, 2.0)))
def test_equal_positive_numbers_have_the_evidence_and_predictive_of_quadrature(decimals, n, away):
    """Also next to the prior's mean, where the shape grows to the end of its range."""
    prior, x = (2.0, 1.5, 1.0, 3.3 * away), [3.3] * n
    family, statistics = one_class(Gamma(*prior), x)
    posterior, whole = family.posterior(statistics), of_positive(x, *prior)
    assert_allclose(family.log_evidence(statistics), whole, atol=1e-6)
    others = np.array([3.3, 3.3 * (1 + 1e-6), 5.0, 33.0, 0.001])
    expected = [of_positive([*x, one], *prior) - whole for one in others]
    assert_allclose(predictive(posterior, others), expected, atol=1e-6)
    without = posterior.log_predictive_without(np.array([[3.3]]), np.zeros(1, dtype=int)).item()
    assert_allclose(without, whole - of_positive(x[1:], *prior), atol=1e-6)


# Cells far from their class


REGULAR = {
    "gamma": (Gamma(), lambda rng, n: rng.gamma(1e5, 1e-5, n), [0.01, 0.5, 1.1, 3.0, 1e4]),
    "negative-binomial": (NegativeBinomial(), lambda rng, n: rng.poisson(1e4, n).astype(float), [0, 3e3, 2e4, 1e6]),
}
every_family = pytest.mark.parametrize("name", REGULAR)


def regular(name, n=300):
    """Return a prior, a class whose cells hardly vary, and cells far from it."""
    family, draw, far = REGULAR[name]
    x = draw(np.random.default_rng(4), n)
    return one_class(family, x)[0], x, np.array(far, dtype=float)


@every_family
def test_the_predictive_of_a_far_cell_is_a_ratio_of_evidences(name):
    prior, x, far = regular(name)
    statistics = one_class(prior, x)[1]
    less, posterior = prior.log_evidence(statistics), prior.posterior(statistics)
    expected = [(prior.log_evidence(one_class(prior, [*x, one])[1]) - less).item() for one in far]
    assert_allclose(predictive(posterior, far), expected, rtol=1e-8)
    of_grid = posterior.log_cells(far[:, None], posterior.grid.nodes[:, 0, 0], 0, 0, left_out=False)
    assert (of_grid.max(axis=1) < np.array(expected) - 100).any()  # the grid of the class does not reach


@every_family
def test_leaving_out_an_outlier_is_a_ratio_of_evidences(name):
    prior, x, far = regular(name, 40)
    x[0] = far[1]
    statistics = one_class(prior, x)[1]
    found = prior.posterior(statistics).log_predictive_without(x[:, None], np.zeros(40, dtype=int))[0, 0]
    expected = prior.log_evidence(statistics) - prior.log_evidence(one_class(prior, x[1:])[1])
    assert_allclose(found, expected.item(), rtol=1e-8)


@every_family
def test_leaving_out_one_of_several_equal_cells_needs_no_refit(name):
    cells = np.array([2.0] * 40 + [1.0, 2.0, 3.0, 2.0, 1.0, 3.0])
    X, y = pd.DataFrame({"u": cells}), np.repeat(["equal", "other"], [40, 6])
    clf = bc.NaiveBayes({"u": REGULAR[name][0]}, random_state=1).fit(X, y)
    posterior, codes = clf.model_.posterior().blocks[0].family, np.repeat([0, 1], [40, 6])
    found = posterior.log_predictive_without(X.to_numpy(), codes)
    prior, rows = clf.model_.blocks[0].family, X.to_numpy()
    whole, less = (prior.log_evidence(prior.statistics(rows[i:], codes[i:], prior.axes)).sum() for i in (0, 1))
    assert np.isfinite(found).all()
    assert_allclose(found[0, 0], whole - less, rtol=1e-7)


@pytest.mark.parametrize("rate", [-3.0, -0.6, 0.6, 3.0, 500.0])
def test_the_integral_of_an_exponential_that_ends_is_closed(rate):
    """Next to a density that does not end, of which nothing changes."""

    def log_density(t):
        return np.stack([rate * t[:, 0, 0], -0.5 * (t[:, 0, 1] / 0.3) ** 2], axis=1)[:, None]

    both = Grid.of(log_density, (1, 2), (-25.0, 30.0), NODES, DEPTH)
    end = 30.0 if rate > 0 else -25.0
    expected = rate * end - np.log(abs(rate)) + np.log(-np.expm1(-55 * abs(rate)))
    assert_allclose(both.log_total[0, 0], expected, rtol=1e-11, atol=1e-11)
    assert_allclose(both.expectation(both.nodes)[0, 0], end - 1 / rate, rtol=1e-10)
    assert np.ptp(np.diff(both.nodes[:, 0, 1])) < 1e-12
    assert_allclose(both.log_total[0, 1], np.log(0.3 * np.sqrt(2 * np.pi)), rtol=1e-12)


# Large counts


@pytest.mark.parametrize("left_out", [False, True])
@pytest.mark.parametrize("x", [0.0, 1.0, 12.0, 1e6, 1e12])
def test_the_density_of_a_count_given_its_dispersion_is_that_of_decimals(decimals, x, left_out):
    """Of a class of 1,000 counts of 1e12, and a count of it or far from it."""
    shape = (1, 1)
    given = {"median": 1.0, "spread": 1.0, "kappa": 1.0, "m": 1e12, "n": 1e3}
    family = NegativeBinomial(
        **{name: np.full(shape, value) for name, value in given.items()}, sums=np.full((1, *shape), 1e15)
    )
    t = np.array([-10.0, 0.0, 5.0, 20.0, 29.0])
    found = family.log_cells(np.array([x]), t, 0, 0, left_out)

    def expected(r):
        cell, a, b = Decimal(x), 1 + 1001 * r, Decimal(1 + 10**12 + 10**15)
        if left_out:
            a, b = a - r, b - cell
        log_beta = [
            log_gamma(one) + log_gamma(other) - log_gamma(one + other) for one, other in ((a, b), (a + r, b + cell))
        ]
        return log_gamma(cell + r) - log_gamma(r) - log_gamma(cell + 1) + log_beta[1] - log_beta[0]

    assert_allclose(found, [float(expected(Decimal(one).exp())) for one in t.tolist()], rtol=1e-9, atol=1e-9)
