"""Histograms against enumeration of all sets of cuts, quadrature, and their own draws."""

import itertools

import numpy as np
import pandas as pd
import pytest
from helpers.families import PYTHON
from scipy import integrate
from scipy.special import gammaln, logsumexp

import bayesclf as bc
from bayesclf.errors import DoesNotExist
from bayesclf.families import Axes, Histogram
from bayesclf.families.cells import REAL
from bayesclf.families.cuts import CutSets
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


def all_sets(segments):
    """Return every set of cuts as bin numbers (set, cell), and log P(cuts) + log p(rows | cuts) of each."""
    m, a = len(segments.prior), segments.prior.sum()
    sets, log_joint = [], []
    for cuts in itertools.product([0, 1], repeat=m - 1):
        of_cell = np.cumsum([0, *cuts])
        bins = of_cell[-1] + 1
        alpha, widths = np.bincount(of_cell, segments.prior), np.bincount(of_cell, segments.widths)
        total = -np.log(m) - (gammaln(m) - gammaln(bins) - gammaln(m - bins + 1))
        for counts in segments.counts:
            n = np.bincount(of_cell, counts)
            total += (
                (gammaln(alpha + n) - gammaln(alpha)).sum() + gammaln(a) - gammaln(a + n.sum()) - n @ np.log(widths)
            )
        sets.append(of_cell)
        log_joint.append(total)
    return np.array(sets), np.array(log_joint)


def given_cuts(segments, of_cell):
    """Return the posterior means of the cells' probabilities, (outcome, cell), given the bin of each cell."""
    widths = np.bincount(of_cell, segments.widths)
    alpha = np.stack([np.bincount(of_cell, segments.prior + counts) for counts in segments.counts])
    return (alpha / alpha.sum(axis=1, keepdims=True) / widths)[:, of_cell] * segments.widths


@pytest.mark.parametrize("options", [{}, {"a": 5.0}, {"a": (0.5, 30.0), "quantiles": 4}])
def test_evidence_and_predictive_are_those_of_all_sets_of_cuts(options):
    prior, statistics = fitted(**options)
    posterior = prior.posterior(statistics)
    evidence = prior.log_evidence(statistics)
    mass = np.split(posterior.mean()["theta"][0], np.cumsum(prior.layout.sizes)[:-1], axis=1)
    for j, every in enumerate(posterior.smoothings):
        found = [all_sets(segments) for segments in every.each]
        log_joint = np.concatenate([values for _, values in found]) - np.log(len(found))
        np.testing.assert_allclose(evidence[j], logsumexp(log_joint), rtol=1e-12)
        weights = np.exp(log_joint - logsumexp(log_joint))
        cells = [
            given_cuts(segments, cuts) for segments, (sets, _) in zip(every.each, found, strict=True) for cuts in sets
        ]
        np.testing.assert_allclose(mass[j], np.einsum("s,skc->kc", weights, cells), rtol=1e-10)


def test_map_has_the_most_probable_cuts():
    prior, statistics = fitted()
    mode = np.split(prior.map(statistics)["theta"][0], np.cumsum(prior.layout.sizes)[:-1], axis=1)
    for j, every in enumerate(prior.posterior(statistics).smoothings):
        found = [all_sets(segments) for segments in every.each]
        best = int(np.argmax([values.max() for _, values in found]))
        sets, log_joint = found[best]
        np.testing.assert_allclose(mode[j], given_cuts(every.each[best], sets[log_joint.argmax()]), rtol=1e-12)


def test_sums_over_cuts_survive_thousands_of_nats(rng):
    score = 4000 * rng.normal(size=(8, 8))
    cuts = CutSets(score)
    log_joint = []
    for chosen in itertools.product([False, True], repeat=6):
        ends = [0, *(1 + np.flatnonzero(chosen)), 7]
        total = sum(score[i, j] for i, j in itertools.pairwise(ends))
        log_joint.append(total + cuts.log_prior[len(ends) - 2])
    np.testing.assert_allclose(cuts.log_sum(), logsumexp(log_joint), rtol=1e-13)
    np.testing.assert_allclose(np.exp(cuts.log_prior) @ [1, 6, 15, 20, 15, 6, 1], 1.0, rtol=1e-12)


def test_drawn_cuts_follow_their_probabilities(rng):
    prior, statistics = fitted()
    segments = prior.posterior(statistics).smoothings[0].each[1]
    sets, log_joint = all_sets(segments)
    weights = np.exp(log_joint - logsumexp(log_joint))
    drawn = np.cumsum(segments.cuts.draw(rng, 20_000), axis=1) - 1
    codes = 3 ** np.arange(drawn.shape[1])  # bin numbers rise by 0 or 1: a set is its sum of codes
    order = np.argsort(sets @ codes)
    place = order[np.searchsorted((sets @ codes)[order], drawn @ codes)]
    found = np.bincount(place, minlength=len(sets)) / len(drawn)
    assert (np.abs(found - weights) < 5 * np.sqrt(weights * (1 - weights) / len(drawn)) + 5 / len(drawn)).all()


def test_draws_average_to_the_mean(rng):
    prior, statistics = fitted()
    posterior = prior.posterior(statistics)
    draws = posterior.draw(rng, 20_000)["theta"]
    np.testing.assert_allclose(draws[:, :, : prior.layout.sizes[0]].sum(axis=2), 1.0, rtol=1e-12)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - posterior.mean()["theta"][0]) < 5 * error + 1e-12).all()


def test_density_adds_up_to_one_over_all_numbers():
    prior, statistics = fitted(n=120)
    posterior = prior.posterior(statistics)

    def density(t, k, j):
        X = np.full((len(t), 2), np.nan)
        X[:, j] = t
        return np.exp(posterior.log_predictive(X)[:, k])

    for j in range(2):
        borders = prior.layout.borders_of(j)
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
    borders = Histogram().resolve_prior(statistics).layout.borders_of(0)
    assert {-0.5, 0.5} <= set(borders)
    assert not ((borders > 0.5) & (borders < 100)).any()


def test_cells_do_not_depend_on_the_labels():
    X, y = data()
    one, other = (
        Histogram().resolve_prior(Histogram().statistics(X, labels, AXES)).layout for labels in (y, (y + 1) % 3)
    )
    np.testing.assert_array_equal(one.borders, other.borders)
    np.testing.assert_array_equal(one.shares, other.shares)


@pytest.mark.slow
def test_pymc_model_is_that_of_the_most_probable_cuts(rng):
    X, y = data()
    frame = pd.DataFrame(X, columns=["u", "v"])
    clf = bc.NaiveBayes({("u", "v"): "histogram"}, random_state=1).fit(frame, y)
    block = clf.model_.blocks[0]
    posterior = block.family.posterior(block.statistics)
    # Two points whose log densities differ as those of the Dirichlet posterior given the cuts do.
    modes = [own.most_probable for own in posterior.smoothings]
    points, expected = [], []
    for _ in range(2):
        theta = {}
        total = 0.0
        for segments, own in modes:
            starts = np.flatnonzero(own)
            alpha = np.add.reduceat(segments.prior + segments.counts, starts, axis=1)
            drawn = np.stack([rng.dirichlet(np.full(len(starts), 3.0)) for _ in alpha])
            theta.setdefault(f"theta_{len(starts)}", []).append(drawn)
            total += ((alpha - 1) * np.log(drawn)).sum()
        points.append({name: np.stack(parts, axis=1) for name, parts in theta.items()})
        expected.append(total)
    model = clf.model_.pymc()
    free = [variable for variable in model.free_RVs if variable.name.startswith("theta")]
    of_rows = [v for v in model.potentials if v.name.startswith("counts")]
    joint = model.compile_fn(
        sum(term.sum() for term in model.logp(vars=[*free, *of_rows], jacobian=False, sum=False)),
        inputs=model.value_vars,
        on_unused_input="ignore",
        mode=PYTHON,
    )
    values = []
    for point in points:
        start = model.initial_point(random_seed=1)
        for variable in free:
            transform = model.rvs_to_transforms[variable]
            start[model.rvs_to_values[variable].name] = transform.forward(point[variable.name]).eval()
        values.append(joint(start))
    np.testing.assert_allclose(values[1] - values[0], expected[1] - expected[0], rtol=1e-8)


def test_cells_follow_from_the_bins_of_the_pymc_model():
    prior, statistics = fitted()
    bins = [own.most_probable[1] for own in prior.posterior(statistics).smoothings]
    draws, expected = {}, []
    mode = np.split(prior.map(statistics)["theta"], np.cumsum(prior.layout.sizes)[:-1], axis=2)
    for own, theta in zip(bins, mode, strict=True):
        starts = np.flatnonzero(own)
        draws.setdefault(f"theta_{len(starts)}", []).append(np.add.reduceat(theta, starts, axis=2))
        expected.append(theta)
    draws = {name: np.stack(parts, axis=2) for name, parts in draws.items()}
    found = prior.from_pymc(draws, "")["theta"]
    np.testing.assert_allclose(found, np.concatenate(expected, axis=2), rtol=1e-12)


def test_a_class_without_a_number_has_no_maximum_likelihood():
    X, y = data()
    X[y == 1, 1] = np.nan
    with pytest.raises(DoesNotExist, match="class 'maybe' has no value in column 'v'"):
        Histogram().resolve_prior(Histogram().statistics(*data(), AXES)).mle(Histogram().statistics(X, y, AXES))


def test_contributions_of_outer_cells_add_up_to_the_log_ratio():
    prior, statistics = fitted()
    point = prior.map(statistics)
    X = np.array([[-9.0, -9.0], [-9.0, 0.0], [9.0, -9.0], [np.nan, 1e4], [0.0, np.nan]])
    np.testing.assert_array_equal(prior.layout.codes(X)[[0, 3], 0], [0, -1])
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
    codes = prior.layout.codes(X)[:, 0]
    for k in range(3):
        found = np.bincount(codes[y == k], minlength=prior.layout.sizes[0]) / 3000
        expected = mass[k, : prior.layout.sizes[0]]
        assert (np.abs(found - expected) < 5 * np.sqrt(expected / 3000) + 5 / 3000).all()


def test_sampled_numbers_of_more_decimals_than_are_recorded_are_not_rounded(rng):
    X = 1e-9 * rng.normal(size=(60, 2))
    statistics = Histogram().statistics(X, np.arange(60) % 3, AXES)
    prior = Histogram().resolve_prior(statistics)
    np.testing.assert_array_equal(prior.layout.decimals, REAL)
    sampled = prior.posterior(statistics).sample(prior.map(statistics), np.zeros(20, dtype=int), rng)
    assert (sampled != np.round(sampled, int(REAL))).all()
