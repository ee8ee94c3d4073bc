"""Simulation-based calibration: the rank of the true parameter among posterior draws is uniform.

Talts, Betancourt, Simpson, Vehtari and Gelman (2018), arXiv:1804.06788. Priors are proper and in numbers; an empirical
prior would see the rows twice and fail.

Where the posterior has a closed form, its draws are tested here for every family, and NUTS against the exact posterior
in `test_nuts_agrees.py`: together they say that NUTS is calibrated, more precisely than a few dozen ranks could. Where
only missing cells are in the way, data augmentation is tested. Logistic regression has no closed form: its Laplace
engine is tested here, and NUTS by `models/logistic/test_learned_scale.py`. Continuous integration tries one or two
models of each engine, and the nightly run all of them.
"""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from helpers.cases import PRIORS
from helpers.families import MAIN_SUITE
from helpers.suites import NIGHTLY, mainly
from scipy import stats
from sklearn.base import clone

import bayesclf as bc
from bayesclf.engines import NUTS, Augmentation, Exact, Laplace, inference
from bayesclf.errors import Refused

pytestmark = pytest.mark.slow

LABELS = ["a", "b", "c"]
ROWS = 12
FALSE_ALARM = 1e-3
DESIGN = np.repeat([[1.0, 0.0], [2.0, 0.5], [0.5, -1.0], [1.5, 2.0]], 3, axis=0)
"""Rows of which three are duplicates, so that those of one label are merged; fixed, as the labels are what is drawn."""
INTERCEPT_SCALE = 1.5


TABLE = pd.DataFrame(DESIGN, columns=["x0", "x1"])


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
        draws = clf.model_.shown(clf.draws_.parameters)
        kept = {name: draws[name][::thin] for name in truth}
        below = [(kept[name] < value).sum(axis=0) for name, value in truth.items()]
        found.append(np.concatenate([np.ravel(part) for part in below]))
    return np.array(found), len(next(iter(kept.values())))


def assert_uniform(found, draws, bins):
    """Chi-square of the ranks 0 … draws, in bins of equal probability, one test a parameter."""
    assert (draws + 1) % bins == 0
    counts = np.array([np.bincount(column * bins // (draws + 1), minlength=bins) for column in found.T])
    p = stats.chisquare(counts, axis=1).pvalue
    assert p.min() > FALSE_ALARM / len(p), p


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


RNG = np.random.default_rng(31)
C, D, E = RNG.integers(2, size=(3, 24))
U = RNG.normal(size=24)
EARLIER = pd.DataFrame({"u": U + C, "v": U * (np.arange(24) % 3 - 1) + RNG.normal(size=24)}).assign(
    c=np.array(["p", "q"])[C], d=np.array(["r", "s"])[D], e=np.array(["t", "w"])[E]
)
"""Rows whose posterior is the prior of the simulated ones."""
WITH_GAPS = {
    "joint": (["c", "d"], bc.JointBayes()),
    "tree": (["c", "d", "e"], bc.BayesNetClassifier((("c", "d"), ("d", "e")))),
    "discriminant shared": (["u", "v"], bc.GaussianDiscriminantAnalysis("shared", nu=6.0)),
    "discriminant class": (["u", "v"], bc.GaussianDiscriminantAnalysis("class", nu=6.0)),
    "network": (["c", "u", "v"], bc.BayesNetClassifier((("c", "u"), ("c", "v"), ("u", "v")))),
}
"""Columns, and a classifier of them."""


def generated(columns, clf, rng):
    """Return one draw of a posterior as truth, rows that it generates with gaps, labels, and the posterior as prior."""
    of_draw, of_rows = rng.integers(2**31, size=2).tolist()
    fit = clone(clf).set_params(inference=Exact(draws=1, chains=1), random_state=of_draw)
    fit.fit(EARLIER[columns], np.resize(LABELS, len(EARLIER)))
    X, y = fit.sample(ROWS, random_state=of_rows)
    truth = {name: values[0] for name, values in fit.draws_.parameters.items()}
    return truth, X.mask(rng.random(X.shape) < GAPS), y, fit.as_prior()


@pytest.mark.parametrize("name", mainly(WITH_GAPS, "discriminant class", others=NIGHTLY))
def test_data_augmentation(name, monkeypatch):
    """Ranks tell more about the draws than checks of their convergence, which would take most of the time.

    200 of them do not find missing cells that are imputed by their means, without noise.
    """
    monkeypatch.setattr(inference, "convergence_problems", lambda *_, **__: ())
    found = []
    for seed in range(SIMULATED):
        truth, X, y, prior = generated(*WITH_GAPS[name], np.random.default_rng([seed, 17]))
        fit = prior.set_params(inference=augmented(name), random_state=seed).fit(X, y, classes=LABELS)
        below = [(values < truth[key]).sum(axis=0).ravel() for key, values in fit.draws_.parameters.items()]
        found.append(np.concatenate(below))
    assert_uniform(np.array(found), 59, bins=10)


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
