"""What the contract tests know of each family: its variants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from helpers.case import FEATURES, LABELS
from helpers.discrete_cases import (
    BernoulliCase,
    CategoricalCase,
    MultinomialCase,
    OrdinalCase,
    TablesCase,
    TreesCase,
    TreesOfCellsCase,
)
from helpers.gaussian_cases import GaussianCase, MultivariateGaussianCase
from helpers.mixed_cases import MixedCase
from helpers.number_cases import (
    ExponentialCase,
    GammaCase,
    HistogramCase,
    HurdleCase,
    LogNormalCase,
    NegativeBinomialCase,
    PoissonCase,
)

from bayesclf.families import (
    Axes,
    BayesianNetwork,
    Bernoulli,
    Categorical,
    ConditionalGaussian,
    EveryTree,
    EveryTreeOfCells,
    Exponential,
    Gamma,
    Gaussian,
    Histogram,
    Hurdle,
    JointTable,
    LogNormal,
    Multinomial,
    MultivariateGaussian,
    NegativeBinomial,
    Ordinal,
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


def _tables(name, family, *tables, free=()):
    return TablesCase(name, family, Axes(LABELS, FEATURES, (("a", "b"), (1, 2), (False, True))), tables, free)


TABLES = (
    _tables("joint α=2", JointTable(), ((), (0, 1, 2))),
    _tables("joint α given", JointTable(np.random.default_rng(6).uniform(1.2, 4.0, (3, 8))), ((), (0, 1, 2))),
    _tables("network α=2", BayesianNetwork(edges=TREE), *OF_TREE),
    _tables("network softmax", BayesianNetwork(0.7, "softmax", edges=TREE), *OF_TREE),
    _tables("network class-free", BayesianNetwork(edges=TREE, class_free=("v", "u")), *OF_TREE, free=(0, 1)),
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


POISSON = (
    PoissonCase("poisson", Poisson(), Axes(LABELS, FEATURES)),
    PoissonCase(
        "poisson prior given", Poisson(*np.random.default_rng(12).uniform(1.2, 4.0, (2, 3, 3))), Axes(LABELS, FEATURES)
    ),
)
_SHAPES = np.random.default_rng(13).uniform(1.2, 4.0, (4, 3, 3))
EXPONENTIAL = (
    ExponentialCase("exponential", Exponential(), Axes(LABELS, FEATURES)),
    ExponentialCase("exponential prior given", Exponential(*_SHAPES[:2]), Axes(LABELS, FEATURES)),
)
GAMMA = (GammaCase("gamma", Gamma(), Axes(LABELS, FEATURES)),)
NEGATIVE_BINOMIAL = (
    NegativeBinomialCase("negative binomial", NegativeBinomial(median=3.0, spread=0.7), Axes(LABELS, FEATURES)),
)
LOG_NORMAL = (LogNormalCase("log-normal", LogNormal(), Axes(LABELS, FEATURES)),)
HURDLE = (
    HurdleCase("hurdle log-normal", Hurdle(), Axes(LABELS, FEATURES), LOG_NORMAL[0]),
    HurdleCase(
        "hurdle exponential prior given",
        Hurdle(EXPONENTIAL[1].family, *_SHAPES[2:]),
        Axes(LABELS, FEATURES),
        EXPONENTIAL[1],
    ),
)
MIXED = (
    MixedCase(
        "conditional gaussian all",
        ConditionalGaussian(),
        Axes(LABELS, FEATURES, ((), (), ("a", "b"))),
        (((), (2,)),),
        lines=((0, (2,), ()), (1, (2,), (0,))),
    ),
    MixedCase(
        "conditional gaussian class-free",
        ConditionalGaussian(edges=(("w", "u"), ("w", "v"), ("u", "v")), class_free=("v", "w")),
        Axes(LABELS, FEATURES, ((), (), ("a", "b"))),
        (((), (2,)),),
        (1, 2),
        ((0, (2,), ()), (1, (2,), (0,))),
    ),
    MixedCase(
        "conditional gaussian of categories",
        ConditionalGaussian(edges=(("u", "v"), ("u", "w"), ("w", "v"))),
        Axes(LABELS, FEATURES, ((1, 2), (), (False, True))),
        (((), (0,)), ((0,), (2,))),
        lines=((1, (0, 2), ()),),
    ),
    MixedCase(
        "conditional gaussian prior given",
        ConditionalGaussian(0.7, "softmax", (("w", "v"), ("u", "w")), kappa=0.7, a=2.5),
        Axes(LABELS, FEATURES, (("a", "b"), (), ())),
        (((), (0,)),),
        lines=((2, (0,), ()), (1, (), (2,))),
    ),
)
NUMBERS = (*POISSON, *NEGATIVE_BINOMIAL, *EXPONENTIAL, *GAMMA, *LOG_NORMAL, *HURDLE)
CASES = (*CATEGORICAL, *GAUSSIAN, *MULTIVARIATE_GAUSSIAN, *TABLES, *BERNOULLI, *MULTINOMIAL, *NUMBERS, *MIXED)
"""Families whose parameters have a density."""

PRIORS = tuple(case for case in CASES if not getattr(case.family, "unbiased", False))
"""Cases whose prior differs from that of the others: `unbiased` is about the MLE alone."""


def structure_of(case):
    """Return what the PyMC graph of a family depends on; the hyperparameters are data."""
    variables = [(own.name, own.dims) for own in case.prior.page_variables("")]
    return case.family.name, str(case.prior.dims()), str(variables)


BY_STRUCTURE = {structure_of(case): case for case in PRIORS}
"""The last case of each structure, that with the most general prior."""

_LEVELS = (("a", "b"), (1, 2, 3), (False, True))
TREES = (
    TreesCase("every tree", EveryTree(), Axes(LABELS, FEATURES, _LEVELS)),
    TreesCase("every tree N' given", EveryTree(3.0), Axes(LABELS, FEATURES, _LEVELS)),
    TreesCase("every forest", EveryTree(forests=True), Axes(LABELS, FEATURES, _LEVELS)),
    TreesOfCellsCase("every tree of cells", EveryTreeOfCells(), Axes(LABELS, FEATURES, ((), ("a", "b"), ()))),
)
"""Families with a discrete parameter, the tree."""

HISTOGRAMS = (
    HistogramCase("histogram", Histogram(), Axes(LABELS, FEATURES)),
    HistogramCase("histogram a=4, 3 quantiles", Histogram(4.0, 3), Axes(LABELS, FEATURES)),
)
"""Families with sets of cuts."""

_MANY_LEVELS = (("a", "b"), tuple(range(5)), ("low", "mid", "high"))
ORDINALS = (
    OrdinalCase("ordinal", Ordinal(), Axes(LABELS, FEATURES, _MANY_LEVELS)),
    OrdinalCase("ordinal α averaged", Ordinal(alpha=(0.5, 4.0)), Axes(LABELS, FEATURES, _MANY_LEVELS)),
)
"""Families with sets of cuts between levels."""

DISCRETE = (*TREES, *HISTOGRAMS, *ORDINALS)
"""Families with a discrete parameter."""

EVERY = (*CASES, *DISCRETE)
"""A family without an entry here fails the contract."""
