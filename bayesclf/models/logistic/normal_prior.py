"""A posterior of logistic regression as the prior of the next fit: a normal with mean and full covariance."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from bayesclf.errors import InputError
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.prior import LOG_2_PI, UnseenPrior
from bayesclf.tables.columns import Column
from bayesclf.typing import Array


@dataclass(frozen=True, eq=False)
class NormalPrior:
    """N(mean, covariance) of intercept and weights together: what `LogisticRegression.as_prior` passes on.

    It approximates the posterior that it was made of by that posterior's mean and covariance, and belongs to its labels
    and columns: the intercept is the log-odds at the center of *that* fit's columns.

    Attributes
    ----------
    labels
        Names of the classes.
    columns
        The training columns with their levels.
    design
        How rows become columns.
    mean
        (outcome, 1 + column), the intercept first, weights per unit of their column.
    covariance
        Of the mean's entries, label by label, (parameter, parameter).
    khat
        Pareto k̂ of the ratios p(θ | D)/N(θ): the smaller, the nearer the posterior to a normal; above 0.7 it is far.
    unseen
        The prior of the weight of a level that no row so far had.
    """

    labels: tuple[str, ...]
    columns: tuple[Column, ...]
    design: LogisticDesign = field(repr=False)
    mean: Array = field(repr=False)
    covariance: Array = field(repr=False)
    khat: float
    unseen: UnseenPrior = field(repr=False)

    def resolve(self, design: LogisticDesign, vectors: int) -> NormalWeightPrior:
        """Return the prior's numbers per sd of a column; the design must be its own."""
        if design.names != self.design.names or vectors != len(self.mean):
            raise InputError("a posterior as prior belongs to the classes and columns of its fit; give rows with these")
        unit = np.tile(np.concatenate([[1.0], design.scale]), vectors)
        mean = self.mean * unit.reshape(self.mean.shape)
        return NormalWeightPrior(mean, self.covariance * np.outer(unit, unit), self.unseen)


@dataclass(frozen=True, eq=False)
class NormalWeightPrior:
    """A normal of any covariance in numbers, of θ = (intercept, weights) with the weights per sd of a column.

    Attributes
    ----------
    mean
        (outcome, 1 + column), the intercept first.
    covariance
        Of θ raveled, label by label.
    unseen
        Of the weight of a level that the training rows do not have.
    """

    mean: Array
    covariance: Array
    unseen: UnseenPrior
    flat_intercept: ClassVar[bool] = False
    at_zero: ClassVar[bool] = False
    """The intercept is at the means of the columns of the earlier fit, whatever `intercept_at` says."""

    @property
    def flat_weights(self) -> NDArray[np.bool_]:
        """Where the prior of a weight is flat, (outcome, column): nowhere."""
        return np.zeros((self.mean.shape[0], self.mean.shape[1] - 1), dtype=bool)

    @property
    def unseen_mean(self) -> Array:
        """Mean of the weight of an unseen level, (outcome, category)."""
        return self.unseen.mean

    def log_density(self, theta: Array) -> Array:
        """Return log p(θ), shape (draw), of θ (draw, outcome, 1 + column)."""
        z = linalg.solve_triangular(self._root, (theta - self.mean).reshape(len(theta), -1).T, lower=True)
        constant = -0.5 * self.mean.size * LOG_2_PI - np.log(np.diag(self._root)).sum()
        return np.asarray(constant - 0.5 * np.sum(z**2, axis=0))

    def gradient(self, theta: Array) -> Array:
        """Return ∂ log p(θ)/∂θ, (outcome, 1 + column), of one θ (outcome, 1 + column)."""
        return np.asarray(-(self._precision @ (theta - self.mean).ravel()).reshape(theta.shape))

    def precision(self) -> Array:
        """Return the precision matrix of θ raveled, label by label."""
        return self._precision

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw θ (draw, outcome, 1 + column)."""
        z = rng.standard_normal((draws, self.mean.size))
        return np.asarray(self.mean + (z @ self._root.T).reshape(draws, *self.mean.shape))

    @cached_property
    def _root(self) -> Array:
        """The lower triangular root of the covariance."""
        return np.linalg.cholesky(self.covariance)

    @cached_property
    def _precision(self) -> Array:
        inverse = linalg.solve_triangular(self._root, np.eye(len(self._root)), lower=True)
        return np.asarray(inverse.T @ inverse)
