"""Families whose log-odds are linear in columns z_c(x).

log p(x | y = k, θ) = Σ_c [offset_kc + weight_kc z_c(x)] + terms that all classes share. A generative
classifier made of such blocks *is* a logistic regression, whose weights follow from θ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Array, Axes, Family, Parameters, Statistics
from bayesclf.families.categorical import Categorical
from bayesclf.families.gaussian import Gaussian


@dataclass(frozen=True)
class LinearDesign:
    """The columns z(x) of a block: a number less its centre, or a 0/1 column a level.

    Attributes
    ----------
    axes
        The block's coordinates.
    centre
        Where a number's column is 0, (column), in its own units; 0 for levels.
    """

    axes: Axes
    centre: Array

    @classmethod
    def of(cls, statistics: Statistics, at_means: bool) -> LinearDesign:
        """Return the design of a block whose numbers are measured from their training means, or from 0."""
        axes = statistics.axes
        if axes.levels:
            return cls(axes, np.zeros(sum(axes.sizes)))
        pooled: Any = statistics.pooled()
        return cls(axes, pooled.mean[0] if at_means else np.zeros(len(axes.features)))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, those that `LogisticRegression` gives them."""
        if not self.axes.levels:
            return self.axes.features
        pairs = zip(self.axes.features, self.axes.levels, strict=True)
        return tuple(f"{name}={value}" for name, values in pairs for value in values)

    def matrix(self, X: NDArray[Any]) -> Array:
        """Return z (row, column) of encoded cells (row, feature); 0 where a cell is missing or its level unseen."""
        if not self.axes.levels:
            return np.where(np.isnan(X), 0.0, X - self.centre)
        z = np.zeros((len(X), len(self.centre)))
        row, feature = np.nonzero(X >= 0)
        z[row, dirichlet.starts(self.axes.sizes)[feature] + X[row, feature]] = 1.0
        return z

    def missing(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where an offset is to be left out, (row, column); levels have none."""
        return np.zeros((len(X), len(self.centre)), dtype=bool) if self.axes.levels else np.isnan(X)


@dataclass(frozen=True)
class LinearTerms:
    """A block's part of the scores of all classes.

    Attributes
    ----------
    weight
        (draw, outcome, column).
    offset
        What a column adds to the intercept where its cell is not missing, (draw, outcome, column).
    """

    weight: Array
    offset: Array


@singledispatch
def linear_terms(family: Family[Any], parameters: Parameters, design: LinearDesign) -> LinearTerms:
    """Return the terms of one block's log density that depend on the class.

    Parameters
    ----------
    family
        The block's family.
    parameters
        Its parameters, with a leading draw axis.
    design
        Its columns.

    Raises
    ------
    Refused
        For a family whose log-odds are not linear, with the reason.

    References
    ----------
    Mitchell, eqs 16 to 22 (of the opposite sign) and exercise 3; CS4780 (naive Bayes as a linear classifier).
    """
    raise Refused(
        f"{_block(design)} is of the family {family.name!r}, whose log-odds are not a sum over single columns, so it "
        "implies no logistic weights"
    )


@linear_terms.register
def _(family: Categorical, parameters: Parameters, design: LinearDesign) -> LinearTerms:
    """Σ_j log θ_{k, j, x_j}: one weight a level, log θ_kjl (CS4780)."""
    with np.errstate(divide="ignore"):
        weight = np.log(parameters["theta"])
    return LinearTerms(weight, np.zeros_like(weight))


@linear_terms.register
def _(family: Gaussian, parameters: Parameters, design: LinearDesign) -> LinearTerms:
    """−(x−μ_ik)²/2σ² = −z²/2σ² + z d/σ² − d²/2σ² with z = x − centre and d = μ_ik − centre (Mitchell, eqs 17 to 19)."""
    if family.variance in ("class-feature", "class"):
        raise Refused(
            f"{_block(design)} has a variance for each class (variance={family.variance!r}), so that x² stays in its "
            "log-odds; variance='feature' or 'shared' implies logistic weights"
        )
    distance = parameters["mu"] - design.centre
    sigma2 = parameters["sigma2"]
    sigma2 = sigma2[:, None, :] if family.variance == "feature" else sigma2[:, None, None]
    return LinearTerms(distance / sigma2, -0.5 * distance**2 / sigma2)


def _block(design: LinearDesign) -> str:
    names = ", ".join(map(repr, design.axes.features[:3])) + (", …" if len(design.axes.features) > 3 else "")
    return f"the block of {names}"
