"""Histograms: their cells, and densities of numbers; what families of cells have in common is in `test_cuts`."""

import numpy as np
from scipy import integrate

from bayesclf.families import Axes, Histogram
from bayesclf.families.cells import REAL
from bayesclf.families.terms import Pair

AXES = Axes(("no", "maybe", "yes"), ("u", "v"))


def data(seed=0, n=35, decimals=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = np.round(rng.normal(size=(n, 2)) + y[:, None], decimals)
    X[:, 1] = np.where(rng.random(n) < 0.4, 0.0, np.exp(2 * X[:, 1]))
    return np.where(rng.random(X.shape) < 0.1, np.nan, X), y


def fitted(seed=0, n=35, **options):
    X, y = data(seed, n)
    statistics = Histogram(**options).statistics(X, y, AXES)
    return Histogram(**options).resolve_prior(statistics), statistics


def test_density_adds_up_to_one_over_all_numbers():
    prior, statistics = fitted(n=120)
    posterior = prior.posterior(statistics)

    def density(t, k, j):
        X = np.full((len(t), 2), np.nan)
        X[:, j] = t
        return np.exp(posterior.log_predictive(X)[:, k])

    for j in range(2):
        borders = prior.layout[j].borders
        middle = (borders[1:] + borders[:-1]) / 2
        for k in range(3):
            inside = density(middle, k, j) @ np.diff(borders)
            tails = [
                integrate.quad(
                    lambda d, k=k, j=j, end=end, sign=sign: density(np.array([end + sign * d]), k, j)[0], 0, np.inf
                )[0]
                for end, sign in ((borders[0], -1), (borders[-1], 1))
            ]
            np.testing.assert_allclose(inside + sum(tails), 1.0, rtol=1e-6)


def test_a_value_that_many_rows_share_has_a_cell_as_wide_as_the_step():
    values = np.concatenate([np.zeros(50), np.linspace(100, 5000, 50).round()])
    statistics = Histogram().statistics(values[:, None], np.zeros(100, dtype=int), Axes(("k",), ("u",)))
    borders = Histogram().resolve_prior(statistics).layout[0].borders
    assert {-0.5, 0.5} <= set(borders)
    assert not ((borders > 0.5) & (borders < 100)).any()


def test_cells_do_not_depend_on_the_labels():
    X, y = data()
    one, other = (
        Histogram().resolve_prior(Histogram().statistics(X, labels, AXES)).layout for labels in (y, (y + 1) % 3)
    )
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine.borders, theirs.borders)
        np.testing.assert_array_equal(mine.shares, theirs.shares)


def test_contributions_of_outer_cells_add_up_to_the_log_ratio():
    prior, statistics = fitted()
    point = prior.map(statistics)
    X = np.array([[-9.0, -9.0], [-9.0, 0.0], [9.0, -9.0], [np.nan, 1e4], [0.0, np.nan]])
    np.testing.assert_array_equal(prior.codes(X)[[0, 3], 0], [0, -1])
    pair = Pair(np.zeros(len(X), dtype=int), np.full(len(X), 2))
    found = prior.contributions(X, point, pair)
    density = prior.log_density(X, point)[0]
    total = np.bincount(found.row, found.values[0], minlength=len(X))
    np.testing.assert_allclose(total, density[:, 0] - density[:, 2], rtol=1e-10, atol=1e-12)


def test_sampled_numbers_have_the_decimals_of_the_column(rng):
    prior, statistics = fitted(n=200)
    posterior = prior.posterior(statistics)
    y = np.repeat([0, 1, 2], 3000)
    X = posterior.sample(posterior.mean(), y, rng)
    np.testing.assert_array_equal(X[:, 0], np.round(X[:, 0], 1))
    mass = posterior.mean()["theta"][0]
    codes = prior.codes(X)[:, 0]
    for k in range(3):
        found = np.bincount(codes[y == k], minlength=prior._sizes[0]) / 3000
        expected = mass[k, : prior._sizes[0]]
        assert (np.abs(found - expected) < 5 * np.sqrt(expected / 3000) + 5 / 3000).all()


def test_sampled_numbers_of_more_decimals_than_are_recorded_are_not_rounded(rng):
    X = 1e-9 * rng.normal(size=(60, 2))
    statistics = Histogram().statistics(X, np.arange(60) % 3, AXES)
    prior = Histogram().resolve_prior(statistics)
    assert [own.decimals for own in prior.layout] == [REAL, REAL]
    sampled = prior.posterior(statistics).sample(prior.map(statistics), np.zeros(20, dtype=int), rng)
    assert (sampled != np.round(sampled, int(REAL))).all()
