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
from scipy import sparse

from bayesclf.errors import InputError, Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Family
from bayesclf.families.bernoulli import Bernoulli, BernoulliStatistics
from bayesclf.families.categorical import Categorical
from bayesclf.families.gaussian import Gaussian
from bayesclf.families.moments import Moments
from bayesclf.families.multinomial import Multinomial
from bayesclf.families.multivariate_gaussian import MultivariateGaussian
from bayesclf.families.scatters import Scatters
from bayesclf.typing import Array, Parameters


@dataclass(frozen=True)
class LinearDesign:
    """The columns z(x) of a block: a number less its centre, or a 0/1 column a level.

    Attributes
    ----------
    axes
        The block's coordinates.
    centre
        Where a number's column is 0, (column), in its own units. Levels and counts have 0.
    threshold
        Above it a cell counts as 1, else as 0; None where cells count as they are.
    complete
        Whether the weights hold for complete rows only, as those of dependent columns do.
    """

    axes: Axes
    centre: Array
    threshold: float | None = None
    complete: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, those that `LogisticRegression` gives them."""
        if not self.axes.levels:
            return self.axes.features
        pairs = zip(self.axes.features, self.axes.levels, strict=True)
        return tuple(f"{name}={value}" for name, values in pairs for value in values)

    def scores(self, X: Any, terms: LinearTerms) -> Array:
        """Return Σ_c weight_c z_c(x), less the offsets of missing cells, (draw, row, outcome).

        Parameters
        ----------
        X
            Encoded cells (row, feature), dense or sparse. A level that is missing or unseen contributes nothing.
        terms
            Of all classes, or their differences.

        Raises
        ------
        InputError
            For a missing cell where the weights hold for complete rows only.
        """
        if self.axes.levels:
            return _product(self._indicators(X), terms.weight)
        if sparse.issparse(X):
            events = X if self.threshold is None else _above(X, self.threshold)
            return _product(events, terms.weight) - (terms.weight @ self.centre)[:, None]
        missing = np.isnan(X)
        if self.complete and missing.any():
            raise InputError(
                f"row {np.flatnonzero(missing.any(axis=1))[0] + 1} has a missing cell, but the implied weights of "
                f"{_block(self)} hold for complete rows only, as these columns depend on each other; fill it in"
            )
        cells = X if self.threshold is None else (self.threshold < X).astype(float)
        total = _product(np.where(missing, 0.0, cells - self.centre), terms.weight)
        return total - _product(missing.astype(float), terms.offset) if missing.any() else total

    def _indicators(self, X: NDArray[Any]) -> Any:
        """Return the 0/1 columns (row, column) of level codes."""
        row, feature = np.nonzero(X >= 0)
        column = dirichlet.starts(self.axes.sizes)[feature] + X[row, feature]
        return sparse.csr_array((np.ones(len(row)), (row, column)), shape=(len(X), len(self.centre)))


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
def linear_design(family: Any, statistics: Any, at_means: bool) -> LinearDesign:
    """Return the columns of a block, numbers measured from their training means or from 0.

    Counts are measured from 0 always, as their statistics do not say how many documents there were.
    """
    axes: Axes = statistics.axes
    return LinearDesign(axes, np.zeros(sum(axes.sizes) if axes.levels else len(axes.features)))


@linear_design.register
def _(family: Gaussian, statistics: Moments, at_means: bool) -> LinearDesign:
    """Measure from the pooled means."""
    mean = statistics.pooled().mean[0]
    return LinearDesign(statistics.axes, mean if at_means else np.zeros_like(mean))


@linear_design.register
def _(family: MultivariateGaussian, statistics: Scatters, at_means: bool) -> LinearDesign:
    """Measure from the pooled means; the columns depend on each other."""
    mean = statistics.cells().pooled().mean[0]
    return LinearDesign(statistics.axes, mean if at_means else np.zeros_like(mean), complete=True)


@linear_design.register
def _(family: Bernoulli, statistics: BernoulliStatistics, at_means: bool) -> LinearDesign:
    """Measure from the share of rows with the feature."""
    pooled = statistics.pooled()
    share = pooled.successes[0] / np.maximum(pooled.n[0], 1)
    return LinearDesign(statistics.axes, share if at_means else np.zeros_like(share), threshold=family.threshold)


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
def _(family: Bernoulli, parameters: Parameters, design: LinearDesign) -> LinearTerms:
    """Σ_i log(1 − θ_ik) + x_i log θ_ik/(1 − θ_ik) (Mitchell, exercise 3)."""
    theta = parameters["theta"]
    with np.errstate(divide="ignore"):
        absent = np.log1p(-theta)
        weight = np.log(theta) - absent
    with np.errstate(invalid="ignore"):
        return LinearTerms(weight, absent + weight * design.centre)


@linear_terms.register
def _(family: Multinomial, parameters: Parameters, design: LinearDesign) -> LinearTerms:
    """Σ_j x_j log θ_jk: one weight a word (CS4780)."""
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


@linear_terms.register
def _(family: MultivariateGaussian, parameters: Parameters, design: LinearDesign) -> LinearTerms:
    """−½ zᵀΣ⁻¹z + zᵀΣ⁻¹d − ½ dᵀΣ⁻¹d with z = x − centre and d = μ_k − centre (Abu-El-Haija 2.3)."""
    if family.covariance != "shared":
        raise Refused(
            f"{_block(design)} has a covariance for each class, so that products of its columns stay in its log-odds; "
            "covariance='shared' implies logistic weights"
        )
    distance = parameters["mu"] - design.centre
    weight = np.linalg.solve(parameters["Sigma"], distance.transpose(0, 2, 1)).transpose(0, 2, 1)
    return LinearTerms(weight, -0.5 * distance * weight)


def _product(z: Any, weight: Array) -> Array:
    """Return Σ_c z_rc w_dkc, (draw, row, outcome); z is (row, column), dense or sparse."""
    draws, labels, columns = weight.shape
    flat = np.asarray(z @ weight.reshape(draws * labels, columns).T)
    return np.moveaxis(flat.reshape(-1, draws, labels), 1, 0)


def _above(X: Any, threshold: float) -> Any:
    """Return a sparse table of 0 and 1; a threshold below 0 is refused before, where the rows are counted."""
    return (threshold < X).astype(np.float64)


def _block(design: LinearDesign) -> str:
    names = ", ".join(map(repr, design.axes.features[:3])) + (", …" if len(design.axes.features) > 3 else "")
    return f"the block of {names}"
