"""Simulation-based calibration: the rank of the true parameter among posterior draws is uniform.

Talts, Betancourt, Simpson, Vehtari and Gelman (2018), arXiv:1804.06788. Priors are proper and in numbers; an empirical
prior would see the rows twice and fail.

Where the posterior has a closed form, its draws are tested here for every family, and NUTS against the exact posterior
in `test_nuts_agrees.py`: together they say that NUTS is calibrated, more precisely than a few dozen ranks could. Where
only missing cells are in the way, data augmentation is tested. Logistic regression has no closed form, and both its
engines are tested here. Continuous integration tries one or two models of each engine, and the nightly run all of them.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from helpers.cases import PRIORS
from helpers.families import MAIN_SUITE
from helpers.suites import NIGHTLY, mainly
from scipy import stats
from scipy.special import logsumexp
from sklearn.base import clone

import bayesclf as bc
from bayesclf.engines import NUTS, Augmentation, Laplace, inference
from bayesclf.errors import Refused

pytestmark = pytest.mark.slow

LABELS = ["a", "b", "c"]
ROWS = 12
FALSE_ALARM = 1e-3
STANDARD_ERRORS = 4.5
DETECTED = 0.2
"""Posterior sds by which a mean is off, or share by which an sd is, that a comparison is sure to find."""
CONCENTRATION = np.array([1.0, 2.0, 1.5])
LEVELS = (2, 3)
CELLS = np.random.default_rng(3).uniform(0.6, 3.0, (3, 6))
M = np.array([[0.0, 5.0], [1.0, 4.0], [-2.0, 6.0]])
KAPPA = 0.4


def labels(rng):
    pi = rng.dirichlet(CONCENTRATION)
    return pi, rng.choice(3, size=ROWS, p=pi)


def joint(rng):
    """Return a truth and rows of two columns of words that depend on each other."""
    pi, y = labels(rng)
    theta = np.array([rng.dirichlet(row) for row in CELLS])
    cells = np.array([rng.choice(6, p=theta[k]) for k in y])
    codes = np.unravel_index(cells, LEVELS)
    columns = {
        f"x{j}": pd.Categorical.from_codes(own, list("uvw"[:size]))
        for j, (own, size) in enumerate(zip(codes, LEVELS, strict=True))
    }
    return {"pi": pi, "theta": theta}, pd.DataFrame(columns), y


SIMPLEXES = (2, *(3,) * 2, *(2,) * 3)
"""Lengths of the simplexes of a tree, of x0, x1 given x0 and x2 given x1."""
TREE_CELLS = np.random.default_rng(4).uniform(0.6, 3.0, (3, sum(SIMPLEXES)))


def tree(rng):
    """Return a truth and rows of three columns of words along a tree."""
    pi, y = labels(rng)
    parts = np.split(TREE_CELLS, np.cumsum(SIMPLEXES)[:-1], axis=1)
    theta = [[rng.dirichlet(row) for row in part] for part in parts]
    x0 = [rng.choice(2, p=theta[0][k]) for k in y]
    x1 = [rng.choice(3, p=theta[1 + parent][k]) for parent, k in zip(x0, y, strict=True)]
    x2 = [rng.choice(2, p=theta[3 + parent][k]) for parent, k in zip(x1, y, strict=True)]
    columns = {f"x{j}": pd.Categorical.from_codes(own, list("uvw"[: 2 + j % 2])) for j, own in enumerate((x0, x1, x2))}
    return {"pi": pi, "theta": np.hstack(theta)}, pd.DataFrame(columns), y


PSI = np.array([[3.0, 1.2], [1.2, 2.0]])
NU = 6.0


def discriminant(covariance, rng):
    """Return a truth and rows of two dependent columns of numbers."""
    pi, y = labels(rng)
    Sigma = stats.invwishart.rvs(NU, PSI, size=1 if covariance == "shared" else 3, random_state=rng).reshape(-1, 2, 2)
    by_class = np.broadcast_to(Sigma, (3, 2, 2))
    mu = np.array([rng.multivariate_normal(m, own / KAPPA) for m, own in zip(M, by_class, strict=True)])
    X = np.array([rng.multivariate_normal(mu[k], by_class[k]) for k in y])
    truth = {"pi": pi, "mu": mu, "Sigma": Sigma[0] if covariance == "shared" else Sigma}
    return truth, pd.DataFrame(X, columns=["x0", "x1"]), y


DESIGN = np.repeat([[1.0, 0.0], [2.0, 0.5], [0.5, -1.0], [1.5, 2.0]], 3, axis=0)
"""Rows of which three are duplicates, so that those of one label are merged; fixed, as the labels are what is drawn."""
WEIGHT_MEAN = {2: 0.3, 3: 0.0}
"""By the number of classes: a symmetric prior of more than two has mean 0."""
WEIGHT_SCALE, INTERCEPT_SCALE = 1.2, 1.5


TABLE = pd.DataFrame(DESIGN, columns=["x0", "x1"])


def logistic_prior(classes, draws, rng):
    """Return parameters (draw, ...), the intercept at x = 0 as in `posterior_`, and scores of the rows.

    Scores are (draw, outcome, row), 0 for the reference, the first of two classes or the last of more; the parameters
    of more than two add up to 0.
    """
    scales = np.array([INTERCEPT_SCALE, WEIGHT_SCALE, WEIGHT_SCALE])
    # Differences of independent vectors from the reference.
    vectors = rng.normal(size=(draws, classes, 3)) * scales / np.sqrt(2)
    reference = 0 if classes == 2 else classes - 1
    theta = np.delete(vectors, reference, axis=1) - vectors[:, [reference]] + np.array([0, 1, 1]) * WEIGHT_MEAN[classes]
    scores = np.insert(theta[..., :1] + theta[..., 1:] @ DESIGN.T, reference, 0.0, axis=1)
    if classes > 2:
        theta = np.insert(theta, reference, 0.0, axis=1)
        theta -= theta.mean(axis=1, keepdims=True)
    return {"intercept": theta[..., 0], "weight": theta[..., 1:]}, scores


def logistic(classes, rng):
    """Return a truth and labels of fixed rows."""
    parameters, scores = logistic_prior(classes, 1, rng)
    y = (scores[0] + rng.gumbel(size=scores[0].shape)).argmax(axis=0)
    return {name: values[0] for name, values in parameters.items()}, TABLE, y


LEARNED_SPREAD = 0.8


def logistic_with_a_scale(classes, rng):
    """Return a truth, the prior scale and correlation among it, and labels of fixed rows, of different sds."""
    scale, rho = np.exp(LEARNED_SPREAD * rng.normal()), rng.uniform()
    vectors = INTERCEPT_SCALE * rng.normal(size=(classes, 3)) / np.sqrt(2)
    covariance = (1 - rho) * np.eye(2) + rho * np.corrcoef(DESIGN.T)
    vectors[:, 1:] = scale * rng.multivariate_normal(np.zeros(2), covariance, size=classes) / np.sqrt(2)
    every = vectors[1:] - vectors[:1] if classes == 2 else vectors - vectors.mean(axis=0)
    intercept, weight = every[:, 0], every[:, 1:] / DESIGN.std(axis=0)
    scores = intercept[:, None] + weight @ (DESIGN - DESIGN.mean(axis=0)).T
    scores = np.insert(scores, 0, 0.0, axis=0) if classes == 2 else scores
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=0)
    scales = {"prior_scale": np.array(scale), "prior_correlation": np.array(rho)}
    return {"intercept": intercept, "weight": weight, **scales}, TABLE, y


def ranks(simulate, make, simulations, thin=1, classes=LABELS):
    """Return the rank of each parameter among the draws, (simulation, parameter), and the number of draws.

    Where an engine refuses, there is no rank; as that depends on the rows alone, the others stay uniform.
    """
    found = []
    for seed in range(simulations):
        truth, X, y = simulate(np.random.default_rng([seed, 17]))
        try:
            clf = make(seed).fit(X, np.array(classes)[y], classes=classes)
        except Refused:
            continue
        draws = shown(clf)
        if not found:
            assert_same_draws(clf.posterior_["posterior"], draws)
        kept = {name: draws[name][::thin] for name in truth}
        below = [(kept[name] < value).sum(axis=0) for name, value in truth.items()]
        found.append(np.concatenate([np.ravel(part) for part in below]))
    return np.array(found), len(next(iter(kept.values())))


def shown(clf):
    """Return the draws that `posterior_` shows, (draw, ...); its tree takes longer to make than the fit."""
    draws = clf.draws_.parameters
    return clf.model_.shown(draws)


def assert_same_draws(posterior, draws):
    """Assert that the tree that a user sees has these draws, (draw, ...), the chains one after the other."""
    assert set(posterior.data_vars) == set(draws)
    for name, values in draws.items():
        assert posterior[name].dims[:2] == ("chain", "draw")
        np.testing.assert_array_equal(posterior[name].values.reshape(values.shape), values)


def assert_uniform(found, draws, bins):
    """Chi-square of the ranks 0 … draws, in bins of equal probability, one test a parameter."""
    assert (draws + 1) % bins == 0
    counts = np.array([np.bincount(column * bins // (draws + 1), minlength=bins) for column in found.T])
    p = stats.chisquare(counts, axis=1).pvalue
    assert p.min() > FALSE_ALARM / len(p), p


COMMON = {"class_prior": bc.families.LearntClassPrior(CONCENTRATION)}
SIMULATED = 500


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=() if case.name in MAIN_SUITE else NIGHTLY) for case in PRIORS]
)
def test_exact(case):
    """Truth and rows are the family's own, which the contracts compare with SciPy."""
    found, y = [], np.arange(ROWS) % 3
    for seed in range(SIMULATED):
        rng = np.random.default_rng([seed, 17])
        truth = case.prior.draw(rng, 1)
        posterior = case.prior.posterior(case.statistics(case.prior.sample(truth, y, rng), y))
        draws = posterior.draw(rng, 99)
        found.append(np.concatenate([(draws[name] < truth[name]).sum(axis=0).ravel() for name in truth]))
    assert_uniform(np.array(found), 99, bins=10)


LOGISTIC = {
    classes: bc.LogisticRegression(
        mean, WEIGHT_SCALE, intercept_scale=INTERCEPT_SCALE, intercept_at="zero", standardize=False
    )
    for classes, mean in WEIGHT_MEAN.items()
}


LEARNED = bc.LogisticRegression(prior_scale=bc.LearnedScale(spread=LEARNED_SPREAD), intercept_scale=INTERCEPT_SCALE)


SHORT = NUTS(draws=295, tune=200, chains=2)
"""Every 10th draw is kept: 59, nearly independent, so that ranks have 60 values."""


PROPOSALS = Laplace(draws=99, chains=1)


def with_engine(clf, engine):
    return lambda seed: clone(clf).set_params(inference=engine, random_state=seed)


GAPS = 0.3
"""Share of cells that are missing."""
TUNE = {"discriminant shared": 25, "discriminant class": 50}
"""Steps before the one that is kept; of the other models 15.

The autocorrelation of the ranks of draws 15 steps apart is 0.00 within ±0.03 for tables and networks on each of some
data sets; that of draws 25 steps apart for a shared covariance; for one of each class it is 0.08 at most there.
"""


def augmented(name):
    """Return an engine with many chains, which advance together and cost little: 59 draws, and ranks of 60 values."""
    return Augmentation(draws=1, tune=TUNE.get(name, 15), chains=59)


WITH_GAPS = {
    "joint": (joint, bc.JointBayes(CELLS, **COMMON)),
    **{
        f"discriminant {covariance}": (
            partial(discriminant, covariance),
            bc.GaussianDiscriminantAnalysis(covariance, m=M, kappa=KAPPA, nu=NU, psi=PSI, **COMMON),
        )
        for covariance in ("shared", "class")
    },
    "tree": (tree, bc.BayesNetClassifier((("x0", "x1"), ("x1", "x2")), alpha=TREE_CELLS, **COMMON)),
}
"""How truth and rows are drawn, and the classifier with the same prior."""


EDGES = (("c", "u"), ("c", "v"), ("u", "v"))
LINES = (("u", ()), ("v", ("u",)))
"""Numbers that depend on the category c, and their parents among the numbers."""


def earlier():
    """Return a network of a category and two numbers whose prior is explicit: the posterior of a few fixed rows."""
    rng = np.random.default_rng(31)
    y, c, u = rng.integers(3, size=24), rng.integers(2, size=24), rng.normal(size=24)
    X = pd.DataFrame({"c": np.array(["p", "q"])[c], "u": u + c, "v": u * (y - 1) + rng.normal(size=24)})
    clf = bc.BayesNetClassifier(EDGES, inference="exact", **COMMON)
    return clf.fit(X, np.array(LABELS)[y], classes=LABELS).as_prior()


def network(prior, rng):
    """Return a truth from a prior and rows of a category and two numbers that depend on it."""
    (family,), pi = prior.families, rng.dirichlet(prior.class_prior.alpha)
    y = rng.choice(3, size=ROWS, p=pi)
    theta = np.array([rng.dirichlet(row) for row in family.alpha])
    c = np.array([rng.choice(2, p=theta[k]) for k in y])
    cells, betas, variances = {"c": np.array(["p", "q"], dtype=object)[c]}, [], []
    for (name, on), (_, part) in zip(LINES, family.parts(), strict=True):
        sigma2 = part.b / rng.gamma(part.a)
        beta = np.empty_like(part.m)
        for k, j in np.ndindex(sigma2.shape):
            beta[k, j] = rng.multivariate_normal(part.m[k, j], sigma2[k, j] * np.linalg.inv(part.precision[k, j]))
        beta[..., 0] -= beta[..., 1:] @ part.centre
        expected = beta[y, c, 0] + sum(beta[y, c, 1 + i] * cells[other] for i, other in enumerate(on))
        cells[name] = expected + np.sqrt(sigma2[y, c]) * rng.normal(size=ROWS)
        betas.append(beta.reshape(3, -1))
        variances.append(sigma2)
    truth = {"pi": pi, "theta": theta, "beta": np.hstack(betas), "sigma2": np.hstack(variances)}
    return truth, pd.DataFrame(cells), y


def gappy(simulate, rng):
    """Return a truth, rows that lack cells, and labels."""
    truth, X, y = simulate(rng)
    return truth, X.mask(rng.random(X.shape) < GAPS), y


@pytest.mark.parametrize("name", mainly(WITH_GAPS, "discriminant class", others=NIGHTLY))
def test_data_augmentation(name, monkeypatch):
    """Ranks tell more about the draws than checks of their convergence, which would take most of the time.

    200 of them do not find missing cells that are imputed by their means, without noise.
    """
    monkeypatch.setattr(inference, "convergence_problems", lambda *_, **__: ())
    simulate, clf = WITH_GAPS[name]
    assert_uniform(*ranks(partial(gappy, simulate), with_engine(clf, augmented(name)), 500), bins=10)


@NIGHTLY
def test_data_augmentation_of_categories_and_numbers(monkeypatch):
    """Ranks of 200 simulations: the draws cost more than those of tables."""
    monkeypatch.setattr(inference, "convergence_problems", lambda *_, **__: ())
    clf = earlier()
    simulate = partial(gappy, partial(network, clf.prior))
    assert_uniform(*ranks(simulate, with_engine(clf, augmented("network")), 200), bins=10)


@pytest.mark.parametrize("classes", mainly([2, 3], 3, others=NIGHTLY))
def test_laplace(classes):
    found, draws = ranks(
        partial(logistic, classes), with_engine(LOGISTIC[classes], PROPOSALS), 500, classes=LABELS[:classes]
    )
    assert len(found) > 450
    assert_uniform(found, draws, bins=10)


@pytest.mark.parametrize("classes", mainly([2, 3], 3, others=NIGHTLY))
def test_a_learned_scale(classes):
    """Of the scale, the correlation and the weights."""
    make = with_engine(LEARNED, PROPOSALS)
    found, draws = ranks(partial(logistic_with_a_scale, classes), make, 500, classes=LABELS[:classes])
    assert len(found) > 400
    assert_uniform(found, draws, bins=10)


@NIGHTLY
@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
@pytest.mark.parametrize("classes", [3, 2])
def test_nuts_of_a_learned_scale(classes):
    make = with_engine(LEARNED, SHORT)
    found = ranks(partial(logistic_with_a_scale, classes), make, 60, thin=10, classes=LABELS[:classes])
    assert_uniform(*found, bins=5)


@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
@pytest.mark.parametrize("classes", mainly([2, 3], 2, others=NIGHTLY))
def test_nuts_of_logistic_regression(classes):
    """Of 60 ranks a posterior that is off by one sd is found in 99 % of runs, sds twice too large in 61 %.

    Smaller faults of the sampler are for the test below, and those of the prior for `test_laplace`.
    """
    drawn = ranks(
        partial(logistic, classes), with_engine(LOGISTIC[classes], SHORT), 60, thin=10, classes=LABELS[:classes]
    )
    assert_uniform(*drawn, bins=5)


@pytest.mark.parametrize(("classes", "seed"), mainly([(2, 0), (3, 0), (2, 1), (3, 1)], (3, 0), others=NIGHTLY))
def test_nuts_of_logistic_regression_agrees_with_weighted_prior_draws(classes, seed):
    """Means and sds of a long run are those of draws from the prior, weighted by the likelihood of the labels.

    What is DETECTED lies three standard errors beyond the largest difference that passes: 99.9 % of runs find it.
    """
    _, X, y = logistic(classes, np.random.default_rng([seed, 23]))
    engine = NUTS(draws=2000)
    clf = clone(LOGISTIC[classes]).set_params(inference=engine, random_state=seed)
    clf.fit(X, np.array(LABELS)[y], classes=LABELS[:classes])
    assert not clf.convergence_problems_
    prior, scores = logistic_prior(classes, 400_000, np.random.default_rng([seed, 29]))
    log_likelihood = (scores[:, y, np.arange(len(y))] - logsumexp(scores, axis=1)).sum(axis=1)
    weight = np.exp(log_likelihood - logsumexp(log_likelihood))
    for name, values in prior.items():
        x, drawn = values.reshape(len(values), -1).T, shown(clf)[name]
        for one, chains in zip(x, drawn.reshape(engine.chains, engine.draws, -1).transpose(2, 0, 1), strict=True):
            mean = weight @ one
            square = weight @ (one - mean) ** 2
            errors = {
                "mean": np.sqrt(weight**2 @ (one - mean) ** 2),
                "sd": np.sqrt(weight**2 @ ((one - mean) ** 2 - square) ** 2 / (4 * square)),
            }
            for method, difference in (("mean", chains.mean() - mean), ("sd", chains.std() - np.sqrt(square))):
                error = np.hypot(errors[method], array_stats.mcse(chains, method=method))
                assert (STANDARD_ERRORS + 3) * error < DETECTED * np.sqrt(square)
                assert abs(difference) < STANDARD_ERRORS * error
