"""The prior of a learned scale and of the weights given it, in numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.learned_scale import LearnedScale
from bayesclf.models.logistic.prior import FLOOR, ColumnCovariance, LogisticPrior, UnseenPrior, WeightPrior
from bayesclf.typing import Array, Integers

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

        `rows` are standardized columns (row, column) and weights (row), of which the covariance of the columns to the
        settings' first power is that of the weights; without them, and at a power of 0, weights are independent.
        """
        assert isinstance(prior.prior_scale, LearnedScale)
        unit, double = (prior.resolve(design, vectors, scale) for scale in (1.0, 2.0))
        learned = double.scale[0] > unit.scale[0]
        proper = np.where(np.isinf(unit.unseen_scale), 0.0, unit.unseen_scale)
        slope = np.where(np.isinf(double.unseen_scale), 0.0, double.unseen_scale) - proper
        power = prior.prior_scale.powers[0]
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
        given = np.array([scale])
        sds = self.unit.scale * self.of_columns(given)
        return replace(self.unit, scale=sds, unseen_scale=self._unseen_scale(given)[0])

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Array, Array]:
        """Draw θ (draw, outcome, 1 + column), and s (draw)."""
        scale = self.settings.draw(rng, draws)
        unit = replace(self.unit, shift=np.zeros_like(self.unit.shift)).draw(rng, draws)
        theta = unit * self.of_columns(scale)[:, None, :]
        theta[:, :, 0] += theta[:, :, 1:] @ self.unit.shift
        return theta, scale

    def unseen(self, scale: Array) -> UnseenPrior:
        """Return the prior of the weights of unseen levels, one for the scale of each draw."""
        return replace(self.unit.unseen, scale=self._unseen_scale(scale))

    def of_columns(self, scale: Array) -> Array:
        """Return what the sds at s = 1 are multiplied by, (…, 1 + column), given s (…)."""
        return np.where(self.learned, scale[..., None], 1.0)

    def log_density_of_scales(self, log_scale: Array) -> Array:
        """Return log p(log s), (draw), of log s (draw)."""
        return self.settings.log_density(log_scale)

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

    def _unseen_scale(self, scale: Array) -> Array:
        """Return the sds of unseen levels' weights, (draw, outcome, category)."""
        return np.asarray(self.unit.unseen_scale + (scale - 1)[:, None, None] * self.unseen_slope)


@dataclass(frozen=True, eq=False)
class AveragedWeightPrior:
    """λ, and given λ the prior of s and of θ; each λ is as likely as any other.

    Attributes
    ----------
    members
        The priors given each λ, which differ in the covariances of the weights, and in the sds of unseen levels'.
    """

    members: tuple[ScaledWeightPrior, ...]

    @property
    def powers(self) -> Array:
        """λ of the members (member)."""
        return np.array([member.settings.powers[0] for member in self.members])

    def log_density(self, theta: Array, scale: Array, power: Array) -> Array:
        """Return log p(θ | s, λ), (draw), of θ (draw, outcome, 1 + column), s (draw) and λ (draw)."""
        return np.asarray(np.take_along_axis(self._of_each(theta, scale), self.which(power)[None], axis=0)[0])

    def log_marginal(self, theta: Array, scale: Array | None = None) -> Array:
        """Return log p(θ | s), (draw), and without s (draw) log p(θ)."""
        every = (
            [member.log_marginal(theta) for member in self.members] if scale is None else self._of_each(theta, scale)
        )
        return np.asarray(logsumexp(every, axis=0) - np.log(len(self.members)))

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Array, Array, Array]:
        """Draw θ (draw, outcome, 1 + column), s (draw) and λ (draw)."""
        which, rows = rng.integers(len(self.members), size=draws), np.arange(draws)
        theta, scale = (np.stack(part) for part in zip(*(m.draw(rng, draws) for m in self.members), strict=True))
        return theta[which, rows], scale[which, rows], self.powers[which]

    def draw_power(self, rng: np.random.Generator, theta: Array, scale: Array) -> Array:
        """Draw λ (draw) given θ (draw, outcome, 1 + column) and s (draw), on which alone it depends."""
        every = self._of_each(theta, scale)
        return np.asarray(self.powers[np.argmax(every + rng.gumbel(size=every.shape), axis=0)])

    def unseen(self, scale: Array, power: Array) -> UnseenPrior:
        """Return the prior of the weights of unseen levels, one for each s (draw) and λ (draw)."""
        every = [member.unseen(scale) for member in self.members]
        sds = np.stack([prior.scale for prior in every])
        return replace(every[0], scale=sds[self.which(power), np.arange(len(scale))])

    def which(self, power: Array) -> Integers:
        """Return the positions of the members with λ (draw)."""
        return np.argmin(np.abs(self.powers[:, None] - power), axis=0)

    def _of_each(self, theta: Array, scale: Array) -> Array:
        """Return log p(θ | s, λ) of each λ, (member, draw)."""
        return np.stack([member.log_density(theta, scale) for member in self.members])
