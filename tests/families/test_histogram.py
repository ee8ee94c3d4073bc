"""Histograms against enumeration of all sets of cuts, term by term, and their PyMC model."""

import itertools

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from helpers.families import PYTHON
from numpy.testing import assert_allclose
from pymc.model.transform.conditioning import remove_value_transforms
from scipy import integrate, stats
from scipy.special import gammaln, logsumexp

import bayesclf as bc
from bayesclf.errors import DoesNotExist
from bayesclf.families import Axes, Histogram
from bayesclf.families.cells import REAL
from bayesclf.families.histogram import CutSets

LABELS = ("no", "maybe", "yes")


def numbers(n=35, seed=0):
    """Return numbers in tenths, many of them 0, some missing, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = np.round(rng.normal(size=(n, 2)) + y[:, None], 1)
    X[:, 1] = np.where(rng.random(n) < 0.4, 0.0, np.exp(2 * X[:, 1]))
    return np.where(rng.random(X.shape) < 0.1, np.nan, X), y


def fitted(family, X, y, axes):
    statistics = family.statistics(X, y, axes)
    return family.resolve_prior(statistics), statistics


def histogram(n=35, **options):
    return fitted(Histogram(**options), *numbers(n), Axes(LABELS, ("u", "v")))


CASES = {
    "histogram": histogram,
    "histogram a=5": lambda: histogram(a=5.0),
    "histogram of few cells": lambda: histogram(a=(0.5, 30.0), quantiles=4),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]()


def log_beta(alpha):
    return gammaln(alpha).sum() - gammaln(alpha.sum())


def every_set(segments, place=0):
    """Return log p(cuts, rows), E[θ] (outcome, cell), and the bin of each cell, of each set of cuts, term by term."""
    prior, found = segments.prior[place], []
    size = len(prior)
    for cuts in itertools.product([0, 1], repeat=size - 1):
        of_cell = np.cumsum([0, *cuts])
        bins = [np.flatnonzero(of_cell == place) for place in range(of_cell[-1] + 1)]
        of_number = stats.binom.pmf(len(bins) - 1, size - 1, 0.5) * 2 ** (size - 1)  # sets with as many cuts
        log_joint = -np.log(size) - np.log(of_number)
        alpha = np.array([prior[own].sum() for own in bins])
        mean = np.empty(segments.counts.shape)
        for k, counts in enumerate(segments.counts):
            n = np.array([counts[own].sum() for own in bins])
            log_joint += log_beta(alpha + n) - log_beta(alpha)
            for own, theta in zip(bins, (alpha + n) / (alpha + n).sum(), strict=True):
                mean[k, own] = theta
        for own in bins:
            n = segments.counts[:, own].sum(axis=0)
            log_joint -= n.sum() * np.log(segments.widths[own].sum())
            mean[:, own] *= segments.widths[own] / segments.widths[own].sum()
        found.append((log_joint, mean, of_cell))
    return found


def enumerated(segments):
    """Return log p(rows), E[θ | rows], and the probability and E[θ | cuts, rows] of each concentration and cuts."""
    found = [one for place in range(len(segments.prior)) for one in every_set(segments, place)]
    log_joint = np.array([one[0] for one in found]) - np.log(len(segments.prior))
    weights = np.exp(log_joint - logsumexp(log_joint))
    means = np.array([one[1] for one in found])
    return logsumexp(log_joint), np.einsum("s,skl->kl", weights, means), weights, means


def test_evidence_mean_and_mode_are_those_of_all_sets_of_cuts(case):
    prior, statistics = case
    posterior = prior.posterior(statistics)
    mean, mode, evidence = (
        posterior.mean()["theta"][0],
        prior.map(statistics)["theta"][0],
        prior.log_evidence(statistics),
    )
    of_features = (np.split(values, prior._ends, axis=1) for values in (mean, mode))
    for segments, found, own_mean, own_mode in zip(posterior.segments, evidence, *of_features, strict=True):
        log_evidence, expected, weights, means = enumerated(segments)
        assert_allclose(found, log_evidence, rtol=1e-10, atol=1e-10)
        assert_allclose(own_mean, expected, rtol=1e-10)
        assert_allclose(own_mode, means[weights.argmax()], rtol=1e-12)


def test_sums_over_cuts_survive_thousands_of_nats(rng):
    score = 4000 * rng.normal(size=(8, 8))
    cuts = CutSets(score[None])
    log_joint = []
    for chosen in itertools.product([False, True], repeat=6):
        ends = [0, *(1 + np.flatnonzero(chosen)), 7]
        total = sum(score[i, j] for i, j in itertools.pairwise(ends))
        log_joint.append(total + cuts.log_prior[len(ends) - 2])
    assert_allclose(cuts.log_sum()[0], logsumexp(log_joint), rtol=1e-13)
    assert_allclose(np.exp(cuts.log_prior) @ [1, 6, 15, 20, 15, 6, 1], 1.0, rtol=1e-12)


def test_drawn_cuts_follow_their_probabilities(rng):
    prior, statistics = histogram(a=(0.5, 30.0), quantiles=4)
    segments = prior.posterior(statistics).segments[0]
    log_joint = np.array([one[0] for one in every_set(segments)])
    weights = np.exp(log_joint - logsumexp(log_joint))
    drawn = segments.cuts.draw(0, rng, 20_000)[:, 1:]
    found = np.bincount(drawn @ 2 ** np.arange(drawn.shape[1])[::-1], minlength=len(weights)) / len(drawn)
    assert (np.abs(found - weights) < 5 * np.sqrt(weights * (1 - weights) / len(drawn)) + 5 / len(drawn)).all()


def test_a_class_without_a_value_has_no_maximum_likelihood():
    prior, _ = histogram()
    X, y = numbers()
    X[y == 1, 1] = np.nan
    with pytest.raises(DoesNotExist, match="class 'maybe' has no value in column 'v'"):
        prior.mle(prior.statistics(X, y, prior.axes))


@pytest.mark.slow
def test_pymc_has_the_most_probable_cuts_and_their_density():
    """Log densities of two points differ as those of θ of the bins, Dirichlet densities, and the rows."""
    X, y = numbers()
    frame = pd.DataFrame(X, columns=["u", "v"])
    clf = bc.NaiveBayes({tuple(frame): "histogram"}, random_state=1).fit(frame, y)
    family, counts = clf.model_.blocks[0].family, clf.model_.blocks[0].family.binned(clf.model_.blocks[0].statistics)
    segments = family.posterior(clf.model_.blocks[0].statistics).segments
    begins = np.concatenate([own.most_probable[1] for own in segments])
    alpha = np.concatenate([own.prior[own.most_probable[0]] for own in segments])
    starts = np.flatnonzero(begins)
    lengths = np.diff(np.append(starts, begins.size))
    assert 0 < (lengths > 1).sum() < len(lengths)
    model = clf.model_.pymc()
    free = [variable.name for variable in model.free_RVs]
    log_density = remove_value_transforms(model).compile_logp(mode=PYTHON)
    found, expected = [], []
    for seed in range(2):
        values = pm.draw([model[name] for name in free], random_seed=seed, mode=PYTHON)
        point = dict(zip(free, values, strict=True))
        theta = family.from_pymc({name: value[None] for name, value in point.items()}, "")["theta"][0]
        of_bins = np.add.reduceat(theta, starts, axis=1)
        total = ((np.add.reduceat(alpha, starts) - 1) * np.log(of_bins)).sum()
        total += (counts * np.log(theta)).sum() + np.log(point["pi"]) @ np.bincount(y)
        found.append(float(log_density(point)))
        expected.append(total)
    assert_allclose(found[1] - found[0], expected[1] - expected[0], rtol=1e-8)


def test_density_adds_up_to_one_over_all_numbers():
    prior, statistics = histogram(120)
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
            assert_allclose(inside + sum(tails), 1.0, rtol=1e-6)


def test_a_value_that_many_rows_share_has_a_cell_as_wide_as_the_step():
    values = np.concatenate([np.zeros(50), np.linspace(100, 5000, 50).round()])
    statistics = Histogram().statistics(values[:, None], np.zeros(100, dtype=int), Axes(("k",), ("u",)))
    borders = Histogram().resolve_prior(statistics).layout[0].borders
    assert {-0.5, 0.5} <= set(borders)
    assert not ((borders > 0.5) & (borders < 100)).any()


def test_cells_do_not_depend_on_the_labels():
    X, y = numbers()
    one, other = (fitted(Histogram(), X, labels, Axes(LABELS, ("u", "v")))[0].layout for labels in (y, (y + 1) % 3))
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine.borders, theirs.borders)
        np.testing.assert_array_equal(mine.shares, theirs.shares)


def test_sampled_numbers_have_the_decimals_of_the_column(rng):
    prior, statistics = histogram(200)
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
    statistics = Histogram().statistics(X, np.arange(60) % 3, Axes(LABELS, ("u", "v")))
    prior = Histogram().resolve_prior(statistics)
    assert [own.decimals for own in prior.layout] == [REAL, REAL]
    sampled = prior.posterior(statistics).sample(prior.map(statistics), np.zeros(20, dtype=int), rng)
    assert (sampled != np.round(sampled, int(REAL))).all()
