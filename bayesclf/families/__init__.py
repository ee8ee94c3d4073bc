"""Class-conditional families, one file each, and the models they make up."""

from bayesclf.families.base import Axes, Family, Model, Parameters, Rows
from bayesclf.families.categorical import Categorical
from bayesclf.families.class_prior import KnownClassPrior, LearntClassPrior
from bayesclf.families.gaussian import Gaussian

FAMILIES = {family.name: family for family in (Categorical, Gaussian)}
"""Families by name. A new family is one file, one entry here and one case in the contract tests."""

__all__ = [
    "FAMILIES",
    "Axes",
    "Categorical",
    "Family",
    "Gaussian",
    "KnownClassPrior",
    "LearntClassPrior",
    "Model",
    "Parameters",
    "Rows",
]
