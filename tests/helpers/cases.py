"""What the contract tests know of each family: its variants."""

from dataclasses import replace

import numpy as np
from helpers import discrete_cases as discrete, number_cases as numbers
from helpers.case import FEATURES, LABELS
from helpers.gaussian_cases import GaussianCase, MultivariateGaussianCase
from helpers.mixed_cases import MixedCase

from bayesclf import families
from bayesclf.families import Axes, BayesianNetwork, ConditionalGaussian, EveryTree, Gaussian, JointTable
from bayesclf.families.gaussian import SHARED_OVER
from bayesclf.families.multivariate.gaussian import COVARIANCE_DIMS

AXES = Axes(LABELS, FEATURES)
_LEVELS = (("a", "b"), (1, 2, 3), (False, True))
_OF_LEVELS = Axes(LABELS, FEATURES, _LEVELS)
_OF_PAIRS = Axes(LABELS, FEATURES, (("a", "b"), (1, 2), (False, True)))


def _uniform(seed, *shape):
    """Return hyperparameters."""
    return np.random.default_rng(seed).uniform(1.2, 4.0, shape)


def _gaussian(name, variance, given=False, **options):
    case = GaussianCase(f"gaussian {variance}{name}", Gaussian(variance, **options), AXES)
    if not given:
        return case
    rng = np.random.default_rng(7)
    m, kappa = rng.normal(size=(3, 3)), rng.uniform(0.3, 2.0, (3, 3))
    a, b = rng.uniform(2.0, 4.0, case.shape), rng.uniform(0.5, 3.0, case.shape)
    return replace(case, family=Gaussian(variance, m, kappa, a, b))


def _multivariate_gaussian(name, covariance, given=False):
    family = families.MultivariateGaussian
    case = MultivariateGaussianCase(f"multivariate gaussian {covariance}{name}", family(covariance), AXES)
    if not given:
        return case
    rng = np.random.default_rng(11)
    m, kappa, nu = rng.normal(size=(3, 3)), rng.uniform(0.3, 2.0, 3), rng.uniform(6.0, 9.0, case.groups)
    factor = rng.normal(size=(case.groups, 3, 3)) + np.eye(3)
    psi = factor @ factor.swapaxes(1, 2) + np.eye(3)
    return replace(case, family=family(covariance, m, kappa, nu, psi))


TREE, OF_TREE = (("v", "u"), ("v", "w")), (((), (1,)), ((1,), (0,)), ((1,), (2,)))
"""Edges, and what each table of that network is given and of, parents first."""
OF_JOINT = (((), (0, 1, 2)),)
TABLES = tuple(
    discrete.TablesCase(name, family, _OF_PAIRS, *tables)
    for name, family, *tables in (
        ("joint α=2", JointTable(), OF_JOINT),
        ("joint α given", JointTable(_uniform(6, 3, 8)), OF_JOINT),
        ("network α=2", BayesianNetwork(edges=TREE), OF_TREE),
        ("network softmax", BayesianNetwork(0.7, "softmax", edges=TREE), OF_TREE),
        ("network class-free", BayesianNetwork(edges=TREE, class_free=("v", "u")), OF_TREE, (0, 1)),
    )
)
CATEGORICAL = (
    discrete.CategoricalCase("categorical α=2", families.Categorical(), _OF_LEVELS),
    discrete.CategoricalCase("categorical softmax", families.Categorical(0.7, "softmax"), _OF_LEVELS),
    discrete.CategoricalCase("categorical α given", families.Categorical(_uniform(5, 3, 7)), _OF_LEVELS),
)
GAUSSIAN = (
    *(_gaussian("", variance) for variance in SHARED_OVER),
    *(_gaussian(" prior given", variance, given=True) for variance in SHARED_OVER),
    *(_gaussian(" unbiased", variance, unbiased=True) for variance in SHARED_OVER),
)
MULTIVARIATE_GAUSSIAN = (
    *(_multivariate_gaussian("", covariance) for covariance in COVARIANCE_DIMS),
    *(_multivariate_gaussian(" prior given", covariance, given=True) for covariance in COVARIANCE_DIMS),
)
BERNOULLI = (
    discrete.BernoulliCase("bernoulli α=2", families.Bernoulli(), AXES),
    discrete.BernoulliCase("bernoulli α given", families.Bernoulli(*_uniform(4, 2, 3, 3)), AXES),
)
MULTINOMIAL = (
    discrete.MultinomialCase("multinomial α=2", families.Multinomial(), AXES),
    discrete.MultinomialCase("multinomial α given", families.Multinomial(_uniform(9, 3, 3)), AXES),
)
POISSON = (
    numbers.PoissonCase("poisson", families.Poisson(), AXES),
    numbers.PoissonCase("poisson prior given", families.Poisson(*_uniform(12, 2, 3, 3)), AXES),
)
_SHAPES = _uniform(13, 4, 3, 3)
EXPONENTIAL = (
    numbers.ExponentialCase("exponential", families.Exponential(), AXES),
    numbers.ExponentialCase("exponential prior given", families.Exponential(*_SHAPES[:2]), AXES),
)
GAMMA = (numbers.GammaCase("gamma", families.Gamma(), AXES),)
NEGATIVE_BINOMIAL = (
    numbers.NegativeBinomialCase("negative binomial", families.NegativeBinomial(median=3.0, spread=0.7), AXES),
)
LOG_NORMAL = (numbers.LogNormalCase("log-normal", families.LogNormal(), AXES),)
_HURDLE = families.Hurdle(EXPONENTIAL[1].family, *_SHAPES[2:])
HURDLE = (
    numbers.HurdleCase("hurdle log-normal", families.Hurdle(), AXES, LOG_NORMAL[0]),
    numbers.HurdleCase("hurdle exponential prior given", _HURDLE, AXES, EXPONENTIAL[1]),
)
_OF_W = (((), (2,)),), (), ((0, (2,), ()), (1, (2,), (0,)))
MIXED = tuple(
    MixedCase(f"conditional gaussian {name}", family, Axes(LABELS, FEATURES, levels), *tables)
    for name, family, levels, tables in (
        ("all", ConditionalGaussian(), ((), (), ("a", "b")), _OF_W),
        (
            "class-free",
            ConditionalGaussian(edges=(("w", "u"), ("w", "v"), ("u", "v")), class_free=("v", "w")),
            ((), (), ("a", "b")),
            (_OF_W[0], (1, 2), _OF_W[2]),
        ),
        (
            "of categories",
            ConditionalGaussian(edges=(("u", "v"), ("u", "w"), ("w", "v"))),
            ((1, 2), (), (False, True)),
            ((((), (0,)), ((0,), (2,))), (), ((1, (0, 2), ()),)),
        ),
        (
            "prior given",
            ConditionalGaussian(0.7, "softmax", (("w", "v"), ("u", "w")), kappa=0.7, a=2.5),
            (("a", "b"), (), ()),
            ((((), (0,)),), (), ((2, (0,), ()), (1, (), (2,)))),
        ),
    )
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

_OF_CODE = Axes(LABELS, FEATURES, ((), ("a", "b"), ()))
TREES = (
    discrete.TreesCase("every tree", EveryTree(), _OF_LEVELS),
    discrete.TreesCase("every tree N' given", EveryTree(3.0), _OF_LEVELS),
    discrete.TreesCase("every forest", EveryTree(forests=True), _OF_LEVELS),
    discrete.TreesOfCellsCase("every tree of cells", families.EveryTreeOfCells(), _OF_CODE),
)
"""Families with a discrete parameter, the tree."""

HISTOGRAMS = (
    numbers.HistogramCase("histogram", families.Histogram(), AXES),
    numbers.HistogramCase("histogram a=4, 3 quantiles", families.Histogram(4.0, 3), AXES),
)
"""Families with sets of cuts."""

DISCRETE = (*TREES, *HISTOGRAMS)
"""Families with a discrete parameter."""

EVERY = (*CASES, *DISCRETE)
"""A family without an entry here fails the contract."""
