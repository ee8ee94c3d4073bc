"""Evidence against the chain rule, quadrature and enumeration."""

import itertools
import math

import numpy as np
import pytest
from helpers.cases import DISCRETE, HISTOGRAMS, ORDINALS, PRIORS
from helpers.families import MAIN_SUITE
from helpers.suites import mostly_slow
from scipy import integrate, stats

import bayesclf as bc
from bayesclf.families import Axes, Categorical, Gaussian, KnownClassPrior, LearntClassPrior
from bayesclf.models.base import Block, Rows
from bayesclf.models.generative import GenerativeModel

every_prior = pytest.mark.parametrize("case", PRIORS, ids=[case.name for case in PRIORS])

CELLWISE = [
    case
    for case in PRIORS
    if getattr(case.family, "variance", None) not in ("class", "shared")
    and case.family.name not in ("joint", "network", "multinomial", "multivariate-gaussian", "conditional-gaussian")
]
every_cellwise = pytest.mark.parametrize("case", CELLWISE, ids=[case.name for case in CELLWISE])


def one_step_ahead(case, X, y):
    """Return Σ_i log p(x_i | y_i, rows before i)."""
    total, now = 0.0, case.prior
    for i in range(len(y)):
        total += now.log_predictive(X[i : i + 1])[0, y[i]]
        now = now.posterior(case.statistics(X[i : i + 1], y[i : i + 1]))
    return total


@mostly_slow([*PRIORS, *DISCRETE], MAIN_SUITE)
@pytest.mark.parametrize("n", [0, 1, 24])
def test_evidence_is_the_product_of_predictions_one_step_ahead(case, n):
    X, y = case.data(5, n)
    found = case.prior.log_evidence(case.statistics(X, y))
    np.testing.assert_allclose(found.sum(), one_step_ahead(case, X, y), rtol=1e-10, atol=1e-12)


@every_prior
def test_evidence_is_bayes_theorem_at_every_point(case, rng):
    X, y = case.data(5)
    statistics = case.statistics(X, y)
    posterior, point = case.prior.posterior(statistics), case.point(rng)
    expected = (
        case.log_prior(case.prior, point) + case.row_log_density(X, y, point).sum() - case.log_prior(posterior, point)
    )
    np.testing.assert_allclose(case.prior.log_evidence(statistics).sum(), expected, rtol=1e-10)


@every_cellwise
def test_evidence_by_feature_is_that_of_each_feature_alone(case):
    X, y = case.data(5)
    whole = case.prior.log_evidence(case.statistics(X, y))
    for j in range(3):
        others = X.copy()
        others[:, np.arange(3) != j] = case.absent
        alone = case.prior.log_evidence(case.statistics(others, y))
        np.testing.assert_allclose(alone, np.where(np.arange(3) == j, whole, 0.0), rtol=1e-12, atol=1e-12)


@mostly_slow([*CELLWISE, *HISTOGRAMS, *ORDINALS], MAIN_SUITE)
@pytest.mark.parametrize("features", [(0,), (0, 2)])
def test_the_part_of_a_family_of_some_features_is_the_family_of_these_alone(case, features):
    X, y = case.data(5)
    keep = np.isin(np.arange(3), features)
    others = np.where(keep, X, case.absent).astype(X.dtype)
    part = case.prior.select(keep)
    assert part.axes == case.axes.select(keep)
    statistics = case.statistics(X, y).select(keep)
    whole = case.prior.log_evidence(case.statistics(others, y))
    np.testing.assert_allclose(part.log_evidence(statistics).sum(), whole.sum(), rtol=1e-12)
    found = case.posterior.select(keep).log_predictive(X[:, keep])
    np.testing.assert_allclose(found, case.posterior.log_predictive(others), rtol=1e-12, atol=1e-12)


def test_evidence_of_two_levels_is_that_of_quadrature():
    axes = Axes(("k",), ("u",), ((0, 1),))
    X = np.array([0, 1, 1, 0, 1])[:, None]
    family = Categorical(np.array([[1.5, 3.0]]))
    statistics = family.statistics(X, np.zeros(5, dtype=int), axes)
    expected = integrate.quad(lambda t: t**2 * (1 - t) ** 3 * stats.beta.pdf(t, 1.5, 3.0), 0, 1)[0]
    np.testing.assert_allclose(np.exp(family.resolve_prior(statistics).log_evidence(statistics)), expected, rtol=1e-7)


def test_evidence_of_all_tables_adds_up_to_one():
    axes = Axes(("a", "b"), ("u",), ((0, 1, 2),))
    y = np.array([0, 0, 1])
    family = Categorical(0.7)
    total = 0.0
    for x in itertools.product(range(3), repeat=3):
        statistics = family.statistics(np.array(x)[:, None], y, axes)
        total += np.exp(family.resolve_prior(statistics).log_evidence(statistics).sum())
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)


@pytest.mark.slow
def test_evidence_of_numbers_is_that_of_quadrature():
    axes = Axes(("k",), ("u",))
    X = np.array([0.2, 1.9, -0.4])[:, None]
    family = Gaussian(m=0.5, kappa=0.8, a=4.0, b=2.0)
    statistics = family.statistics(X, np.zeros(3, dtype=int), axes)

    def joint(mu, log_sigma2):
        sigma2 = np.exp(log_sigma2)
        prior = stats.invgamma.pdf(sigma2, 4.0, scale=2.0) * sigma2 * stats.norm.pdf(mu, 0.5, np.sqrt(sigma2 / 0.8))
        return prior * math.prod(stats.norm.pdf(X[:, 0], mu, np.sqrt(sigma2)))

    t, s = np.meshgrid(np.linspace(-8, 9, 400), np.linspace(-5, 6, 400), indexing="ij")
    values = np.vectorize(joint)(t[::4, ::4], s[::4, ::4])
    cell = (t[4, 0] - t[0, 0]) * (s[0, 4] - s[0, 0])
    found = np.exp(family.resolve_prior(statistics).log_evidence(statistics)[0])
    np.testing.assert_allclose(found, values.sum() * cell, rtol=1e-5)


@pytest.mark.parametrize(
    "class_prior", [LearntClassPrior(np.array([1.0, 2.0, 0.5])), KnownClassPrior(np.array([0.2, 0.5, 0.3]))]
)
def test_evidence_of_a_model_is_the_product_of_joint_predictions(class_prior):
    cases = [PRIORS[0], PRIORS[2], next(case for case in PRIORS if case.name == "gaussian shared prior given")]
    data = [case.data(seed) for seed, case in enumerate(cases)]
    y = data[0][1]

    def model(rows):
        blocks = tuple(
            Block(case.prior, case.statistics(X[rows], y[rows]), f"_{number}")
            for number, (case, (X, _)) in enumerate(zip(cases, data, strict=True))
        )
        counts = np.bincount(y[rows], minlength=3).astype(float)
        return GenerativeModel(cases[0].axes.labels, class_prior, counts, blocks)

    expected = 0.0
    for i in range(len(y)):
        row = Rows(tuple(X[i : i + 1] for X, _ in data), 1)
        expected += model(slice(0, i)).log_predictive(row)[0, y[i]]
    np.testing.assert_allclose(model(slice(None)).log_evidence(), expected, rtol=1e-10)


def test_evidence_of_labels_that_cannot_occur_is_zero():
    prior = KnownClassPrior(np.array([0.0, 1.0]))
    assert prior.log_evidence(np.array([0.0, 3.0])) == 0.0
    assert prior.log_evidence(np.array([1.0, 3.0])) == -np.inf


def test_evidence_of_a_sequential_update_adds_up(play_tennis):
    X, y = play_tennis.X, play_tennis.y
    first = bc.CategoricalNB(random_state=0).fit(X[:8], y[:8])
    second = first.as_prior().fit(X[8:], y[8:])
    whole = bc.CategoricalNB(random_state=0).fit(X, y)
    np.testing.assert_allclose(
        first.model_.log_evidence() + second.model_.log_evidence(), whole.model_.log_evidence(), rtol=1e-12
    )
