"""The prior of a learned scale and of the weights given it, in numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.models.logistic.column_covariance import FLOOR, ColumnCovariance
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.learned_scale import LearnedScale
from bayesclf.models.logistic.prior import LogisticPrior, UnseenPrior, WeightPrior
from bayesclf.typing import Array

MARGINAL_NODES, MARGINAL_SPREADS = 2_000, 6.0
"""Values of log s over which the prior of the weights is averaged, and how many sds of its prior they reach."""


@dataclass(frozen=True, eq=False)
class ScaledWeightPrior:
    """log s ~ N(log median, spread²), and given s the normal prior of θ = (intercept, weights).

    The sds of the weights of some columns are proportional to s, and their covariance may be that of the columns; the
    sds of the intercept and of the other columns are given.

    Attributes
    ----------
    settings
        The prior of s.
    unit
        The prior of θ at s = 1.
    learned
        Whether the sd is proportional to s, (1 + column), the intercept first.
    unseen_slope
        How much the sd of an unseen level's weight increases with s, (outcome, category).
    """

    settings: LearnedScale
    unit: WeightPrior
    learned: NDArray[np.bool_]
    unseen_slope: Array

    @classmethod
    def of(
        cls,
        prior: LogisticPrior,
        design: LogisticDesign,
        vectors: int,
        rows: tuple[Array, Array] | None = None,
    ) -> ScaledWeightPrior:
        """Resolve settings for the columns of a design and a number of weight vectors.

        `rows` are standardized columns (row, column) and weights (row), of which the covariance of the columns is that
        of the weights; without them, and at a power of 0, weights are independent.
        """
        assert isinstance(prior.prior_scale, LearnedScale)
        unit, double = (prior.resolve(design, vectors, scale) for scale in (1.0, 2.0))
        learned = double.scale[0] > unit.scale[0]
        proper = np.where(np.isinf(unit.unseen_scale), 0.0, unit.unseen_scale)
        slope = np.where(np.isinf(double.unseen_scale), 0.0, double.unseen_scale) - proper
        power = prior.prior_scale.power
        if rows is not None and power > 0 and learned.any():
            # A level that no row has is a column without variance.
            sds = unit.unseen_scale - (1 - np.sqrt(FLOOR)) * slope
            covariance = ColumnCovariance.of(*rows, learned[1:], power)
            unit, slope = replace(unit, covariance=covariance, unseen_scale=sds), np.sqrt(FLOOR) * slope
        return cls(prior.prior_scale, unit, learned, slope)

    @property
    def size(self) -> int:
        """Number of weights whose sd is proportional to s."""
        return int(self.learned.sum()) * len(self.unit.mean)

    def at(self, scale: float) -> WeightPrior:
        """Return the prior of θ given s."""
        sds = self.unit.scale * np.where(self.learned, scale, 1.0)
        return replace(self.unit, scale=sds, unseen_scale=self._unseen_scale(np.array([scale]))[0])

    def log_density(self, theta: Array, scale: Array) -> Array:
        """Return log p(θ | s), (draw), of θ (draw, outcome, 1 + column) and s (draw)."""
        return np.asarray(self.unit.log_density(theta) - self._given(np.log(scale), self._square(theta)))

    def log_marginal(self, theta: Array) -> Array:
        """Return log p(θ) = log ∫ p(θ | s) p(s) ds, (draw)."""
        middle, reach = np.log(self.settings.median), MARGINAL_SPREADS * self.settings.spread
        log_scale = np.linspace(middle - reach, middle + reach, MARGINAL_NODES)
        log_prior = self.settings.log_density(log_scale) + np.log(log_scale[1] - log_scale[0])
        every = log_prior - self._given(log_scale, self._square(theta)[:, None])
        return np.asarray(self.unit.log_density(theta) + logsumexp(every, axis=1))

    def _given(self, log_scale: Array, square: Array) -> Array:
        """Return log p(θ | 1) − log p(θ | s) = N log s + ½ (1/s² − 1) |z|², z the learned weights in sds at s = 1."""
        return np.asarray(self.size * log_scale + 0.5 * np.expm1(-2 * log_scale) * square)

    def _square(self, theta: Array) -> Array:
        """Return |z|², (draw), in the metric of the correlation between labels."""
        return self.unit.square(theta, self.learned)

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Array, Array]:
        """Draw θ (draw, outcome, 1 + column) and s (draw)."""
        scale = self.settings.draw(rng, draws)
        unit = replace(self.unit, shift=np.zeros_like(self.unit.shift)).draw(rng, draws)
        theta = unit * np.where(self.learned, scale[:, None], 1.0)[:, None, :]
        theta[:, :, 0] += theta[:, :, 1:] @ self.unit.shift
        return theta, scale

    def unseen(self, scale: Array) -> UnseenPrior:
        """Return the prior of the weights of unseen levels, one for each s (draw)."""
        return replace(self.unit.unseen, scale=self._unseen_scale(scale))

    def _unseen_scale(self, scale: Array) -> Array:
        """Return the sds of unseen levels' weights, (draw, outcome, category)."""
        return np.asarray(self.unit.unseen_scale + (scale - 1)[:, None, None] * self.unseen_slope)
