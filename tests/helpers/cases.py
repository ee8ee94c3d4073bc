"""What the contract tests know of each family: its variants."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from helpers.case import FEATURES, LABELS, MISSING_SHARE, Case
from helpers.discrete_cases import BernoulliCase, CategoricalCase, MultinomialCase, TablesCase, TreesCase
from helpers.gaussian_cases import GaussianCase, MultivariateGaussianCase
from scipy import stats

from bayesclf.families import (
    Axes,
    BayesianNetwork,
    Bernoulli,
    Categorical,
    EveryTree,
    Gaussian,
    JointTable,
    Multinomial,
    MultivariateGaussian,
    OneDependence,
    Poisson,
)
from bayesclf.families.gaussian import SHARED_OVER

TREE, OF_TREE = (("v", "u"), ("v", "w")), (((), (1,)), ((1,), (0,)), ((1,), (2,)))
"""Edges, and what each table of that network is given and of, parents first."""


def _categorical(name, **options):
    axes = Axes(LABELS, FEATURES, (("a", "b"), (1, 2, 3), (False, True)))
    return CategoricalCase(f"categorical {name}", Categorical(**options), axes)


def _gaussian(name, variance, given=False, **options):
    case = GaussianCase(f"gaussian {variance}{name}", Gaussian(variance, **options), Axes(LABELS, FEATURES))
    if not given:
        return case
    rng = np.random.default_rng(7)
    m, kappa = rng.normal(size=(3, 3)), rng.uniform(0.3, 2.0, (3, 3))
    a, b = rng.uniform(2.0, 4.0, case.shape), rng.uniform(0.5, 3.0, case.shape)
    return replace(case, family=Gaussian(variance, m, kappa, a, b))


def _multivariate_gaussian(name, covariance, given=False):
    axes = Axes(LABELS, FEATURES)
    case = MultivariateGaussianCase(f"multivariate gaussian {covariance}{name}", MultivariateGaussian(covariance), axes)
    if not given:
        return case
    rng = np.random.default_rng(11)
    m, kappa, nu = rng.normal(size=(3, 3)), rng.uniform(0.3, 2.0, 3), rng.uniform(6.0, 9.0, case.groups)
    factor = rng.normal(size=(case.groups, 3, 3)) + np.eye(3)
    psi = factor @ factor.swapaxes(1, 2) + np.eye(3)
    return replace(case, family=MultivariateGaussian(covariance, m, kappa, nu, psi))


def _tables(name, family, *tables):
    return TablesCase(name, family, Axes(LABELS, FEATURES, (("a", "b"), (1, 2), (False, True))), tables)


TABLES = (
    _tables("joint α=2", JointTable(), ((), (0, 1, 2))),
    _tables("joint α given", JointTable(np.random.default_rng(6).uniform(1.2, 4.0, (3, 8))), ((), (0, 1, 2))),
    _tables("network α=2", BayesianNetwork(edges=TREE), *OF_TREE),
    _tables("network softmax", BayesianNetwork(0.7, "softmax", edges=TREE), *OF_TREE),
)
CATEGORICAL = (
    _categorical("α=2"),
    _categorical("softmax", alpha=0.7, basis="softmax"),
    _categorical("α given", alpha=np.random.default_rng(5).uniform(1.2, 4.0, (3, 7))),
)
GAUSSIAN = (
    *(_gaussian("", variance) for variance in SHARED_OVER),
    *(_gaussian(" prior given", variance, given=True) for variance in SHARED_OVER),
    *(_gaussian(" unbiased", variance, unbiased=True) for variance in SHARED_OVER),
)
MULTIVARIATE_GAUSSIAN = (
    *(_multivariate_gaussian("", covariance) for covariance in ("shared", "class")),
    *(_multivariate_gaussian(" prior given", covariance, given=True) for covariance in ("shared", "class")),
)
BERNOULLI = (
    BernoulliCase("bernoulli α=2", Bernoulli(), Axes(LABELS, FEATURES)),
    BernoulliCase(
        "bernoulli α given", Bernoulli(*np.random.default_rng(4).uniform(1.2, 4.0, (2, 3, 3))), Axes(LABELS, FEATURES)
    ),
)
MULTINOMIAL = (
    MultinomialCase("multinomial α=2", Multinomial(), Axes(LABELS, FEATURES)),
    MultinomialCase(
        "multinomial α given",
        Multinomial(np.random.default_rng(9).uniform(1.2, 4.0, (3, 3))),
        Axes(LABELS, FEATURES),
    ),
)


@dataclass(frozen=True, eq=False)
class PoissonCase(Case):
    """Counts of events, some missing; a point is the rates."""

    def rows(self, rng, y, missing=MISSING_SHARE):
        X = rng.poisson(np.array([[1.0, 4.0, 0.5], [2.0, 2.0, 1.0], [3.0, 1.0, 2.0]])[y]).astype(float)
        return np.where(rng.random(X.shape) < missing, np.nan, X)

    def point(self, rng):
        return {"rate": rng.gamma(2.0, 1.0, (1, 3, 3))}

    def row_log_density(self, X, y, parameters):
        cells = stats.poisson.logpmf(np.nan_to_num(X), parameters["rate"][0][y])
        return np.where(np.isnan(X), 0.0, cells).sum(axis=1)

    def log_prior(self, family, parameters):
        return stats.gamma.logpdf(parameters["rate"][0], family.a, scale=1 / family.b).sum()

    def marginals(self, family):
        return {"rate": stats.gamma(family.a, scale=1 / family.b)}

    def to_pymc(self, parameters):
        return {"rate": parameters["rate"]}

    def cell_grid(self, feature):
        return np.arange(200.0), np.ones(200)

    @property
    def absent(self):
        return np.nan

    def unconstrained(self, parameters):
        return np.log(parameters["rate"][0]).ravel()

    def constrained(self, vector):
        return {"rate": np.exp(vector).reshape(1, 3, 3)}

    def log_jacobian(self, parameters):
        return 0.0

    def naive_mle(self, X, y):
        return {"rate": np.array([np.nanmean(X[y == k], axis=0) for k in range(3)])[None]}

    def standard_errors(self, parameters, n):
        return {"rate": np.sqrt(parameters["rate"][0] / n)}


POISSON = (
    PoissonCase("poisson", Poisson(), Axes(LABELS, FEATURES)),
    PoissonCase(
        "poisson prior given", Poisson(*np.random.default_rng(12).uniform(1.2, 4.0, (2, 3, 3))), Axes(LABELS, FEATURES)
    ),
)
CASES = (*CATEGORICAL, *GAUSSIAN, *MULTIVARIATE_GAUSSIAN, *TABLES, *BERNOULLI, *MULTINOMIAL, *POISSON)
"""Families whose parameters have a density."""

PRIORS = tuple(case for case in CASES if not getattr(case.family, "unbiased", False))
"""Cases whose prior differs from that of the others: `unbiased` is about the MLE alone."""

_LEVELS = (("a", "b"), (1, 2, 3), (False, True))
TREES = tuple(
    TreesCase(name, family, Axes(LABELS, FEATURES, _LEVELS))
    for name, family in (
        ("every tree", EveryTree()),
        ("every tree N' given", EveryTree(3.0)),
        ("a tree a class", EveryTree((1.0, 5.0), tree="class")),
        ("every forest", EveryTree(forests=True)),
        ("a forest a class", EveryTree((2.0, 4.0), forests=True, root_weight=0.7, tree="class")),
    )
)
"""Families with a discrete parameter, the tree."""

PLUG_INS = (TreesCase("one-dependence estimators", OneDependence(), Axes(LABELS, FEATURES, _LEVELS)),)
"""Families without a posterior."""

EVERY = (*CASES, *TREES, *PLUG_INS)
"""A family without an entry here fails the contract."""
