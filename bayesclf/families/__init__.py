"""Class-conditional families P(x_block | y), one file each."""

from bayesclf.arrays import Parameters
from bayesclf.families.base import Axes, Family
from bayesclf.families.bernoulli import Bernoulli
from bayesclf.families.categorical import Categorical
from bayesclf.families.class_prior import KnownClassPrior, LearntClassPrior
from bayesclf.families.gamma import Gamma
from bayesclf.families.gaussian import Gaussian, LogNormal
from bayesclf.families.histogram import Histogram
from bayesclf.families.hurdle import Hurdle
from bayesclf.families.learned_alpha import LearntAlpha
from bayesclf.families.mixed.network import ConditionalGaussian
from bayesclf.families.multinomial import Multinomial
from bayesclf.families.multivariate.gaussian import MultivariateGaussian
from bayesclf.families.negative_binomial import NegativeBinomial
from bayesclf.families.networks.every_tree import EveryTree
from bayesclf.families.networks.network import BayesianNetwork, JointTable
from bayesclf.families.networks.of_cells import EveryTreeOfCells
from bayesclf.families.rates import Exponential, Poisson
from bayesclf.families.template import CellFamily

_TABLES = (JointTable, BayesianNetwork, EveryTree)
_NUMBERS = (Poisson, NegativeBinomial, Exponential, Gamma, LogNormal, Hurdle, Histogram)
_MANY = (MultivariateGaussian, *_TABLES, EveryTreeOfCells, ConditionalGaussian)
_ALL = (Categorical, Gaussian, Bernoulli, Multinomial, *_NUMBERS, *_MANY)

FAMILIES = {family.name: family for family in _ALL}
"""Families by name.

A family of your own needs no entry here: give an instance to `NaiveBayes`. A family of the package needs a file, an
entry here, a case of the contract tests, and entries in three lists and two pages; CONTRIBUTING names them.
"""

__all__ = [
    "FAMILIES",
    "Axes",
    "BayesianNetwork",
    "Bernoulli",
    "Categorical",
    "CellFamily",
    "ConditionalGaussian",
    "EveryTree",
    "EveryTreeOfCells",
    "Exponential",
    "Family",
    "Gamma",
    "Gaussian",
    "Histogram",
    "Hurdle",
    "JointTable",
    "KnownClassPrior",
    "LearntAlpha",
    "LearntClassPrior",
    "LogNormal",
    "Multinomial",
    "MultivariateGaussian",
    "NegativeBinomial",
    "Parameters",
    "Poisson",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
