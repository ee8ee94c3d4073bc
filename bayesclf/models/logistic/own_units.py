"""Weights in the columns' own units, w_0 + w·x, as textbooks write them, instead of per sd and from the means."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayesclf.models.logistic.centered import CenteredRows, Matrix
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.likelihood import Likelihood, LogPosterior, Prior
from bayesclf.typing import Array


@dataclass(frozen=True, eq=False)
class OwnUnits:
    """The linear map θ = M w from (w_0 at x = 0, weights per unit) to (intercept at the means, weights per sd).

    Attributes
    ----------
    centre, scale
        Origin and unit of each column, (column).
    """

    centre: Array
    scale: Array

    @classmethod
    def of(cls, design: LogisticDesign) -> OwnUnits:
        """Return the map of a design's columns."""
        return cls(design.centre, design.scale)

    def standardized(self, w: Array) -> Array:
        """Return θ = M w, (outcome, 1 + column)."""
        weights = w[:, 1:]
        return np.column_stack([w[:, 0] + weights @ self.centre, weights * self.scale])

    def slope(self, of_theta: Array) -> Array:
        """Return the gradient in w, Mᵀ g, from the one in θ, g (…, outcome, 1 + column)."""
        first = of_theta[..., :1]
        return np.concatenate([first, first * self.centre + of_theta[..., 1:] * self.scale], axis=-1)

    def objective(self, objective: Likelihood | LogPosterior) -> Likelihood | LogPosterior:
        """Return the same function of w: its rows are x itself, the first column being 1."""
        if isinstance(objective, LogPosterior):
            assert isinstance(objective.likelihood, Likelihood)  # an optimizer is watched on rows in memory
            prior = OwnUnitsPrior(objective.prior, self)
            return LogPosterior(self._likelihood(objective.likelihood), prior)
        return self._likelihood(objective)

    def _likelihood(self, likelihood: Likelihood) -> Likelihood:
        return replace(likelihood, X=self._rows(likelihood.X))

    def _rows(self, X: Matrix) -> Matrix:
        """Return rows with a column of ones in the columns' own units."""
        scale = np.concatenate([[1.0], self.scale])
        if isinstance(X, CenteredRows):
            return replace(X.scaled(scale), shift=np.zeros(X.shape[1]))  # what is stored is x/sd
        return np.asarray(X * scale + np.concatenate([[0.0], self.centre]))


@dataclass(frozen=True, eq=False)
class OwnUnitsPrior:
    """A prior of θ as a function of w; its density is still that of θ, so that objectives compare.

    Attributes
    ----------
    prior
        Of θ = M w.
    units
        M.
    """

    prior: Prior
    units: OwnUnits

    def log_density(self, w: Array) -> Array:
        """Return log p(M w), shape (draw), of w (draw, outcome, 1 + column)."""
        return self.prior.log_density(np.stack([self.units.standardized(one) for one in w]))

    def gradient(self, w: Array) -> Array:
        """Return Mᵀ ∂ log p(θ)/∂θ, (outcome, 1 + column), of one w (outcome, 1 + column)."""
        return self.units.slope(self.prior.gradient(self.units.standardized(w)))

    def precision(self) -> Array:
        """Return Mᵀ P M of w raveled, label by label."""
        P = self.prior.precision()
        shape = (len(P), -1, 1 + len(self.units.scale))
        half = self.units.slope(P.reshape(shape)).reshape(P.shape)
        return self.units.slope(half.T.reshape(shape)).reshape(P.shape)
