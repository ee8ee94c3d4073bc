"""The normal prior of weights whose scale s and correlation ρ are learned, in directions in which they are independent.

With C = U diag(e) Uᵀ, weights of covariance s² [(1 − ρ) I + ρ C] are independent along the columns of U, with variances
s² (1 − ρ + ρ e). So are K − 1 orthonormal contrasts of K vectors that add up to 0 over the classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import expit, log_expit, logsumexp

from bayesclf.arrays import Array
from bayesclf.models.logistic.centered import Moments
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.prior import LEARNED, LOG_2_PI, LearnedScale, LogisticPrior, UnseenPrior, WeightPrior

UNSEEN_VARIANCE = 1e-13
"""Share of the largest variance of a direction up to which its variance is rounding: the rows say nothing of it."""
MARGINAL_SPREADS, MARGINAL_LOGIT, MARGINAL_STEPS = 6.0, 12.0, (240, 96)
"""How far log s, in sds of its prior, and logit ρ reach where they are integrated out, and in how many steps."""


@dataclass(frozen=True, eq=False)
class ScaledPrior:
    """log s ~ N(log median, spread²), ρ ~ Uniform(0, 1), and given both a normal prior of θ.

    θ (vector, 1 + column) are the intercepts and weights against the reference class. Its coordinates γ (contrast,
    1 + direction), with θ = M γ T, are independent given s and ρ. The intercept of γ is where the columns have their
    means, or at x = 0.

    Attributes
    ----------
    settings
        The prior of s and ρ.
    contrast
        M, (vector, contrast).
    directions
        U, (column, direction), orthonormal; those that the rows tell of come first.
    values
        e (direction), the variances of C along them.
    learned
        Whether the scale of a direction is s, (direction); others have one that is given, and are columns.
    sd
        Sd of a contrast at s = 1 and ρ = 0, (1 + direction), the intercept's first; infinite for a flat prior.
    mean
        Of the intercepts, (contrast).
    offset
        t (column): the intercept of γ is that of θ plus t·w.
    seen
        Number of directions along which the rows vary.
    unseen_prior
        Of the weights of levels that the training rows lack, at s = 1.
    unseen_learned
        Whether their scale is s, (category).
    """

    settings: LearnedScale
    contrast: Array
    directions: Array
    values: Array
    learned: NDArray[np.bool_]
    sd: Array
    mean: Array
    offset: Array
    seen: int
    unseen_prior: UnseenPrior
    unseen_learned: NDArray[np.bool_]

    @classmethod
    def of(cls, prior: LogisticPrior, design: LogisticDesign, vectors: int, moments: Moments) -> Self:
        """Resolve settings for the columns of a design and a number of weight vectors (classes − 1)."""
        assert isinstance(prior.prior_scale, LearnedScale)
        unit, double = (prior.resolve(design, vectors, scale, moments.mean) for scale in (1.0, 2.0))
        learned = double.scale[0, 1:] > unit.scale[0, 1:]
        covariance, own = moments.covariance, np.flatnonzero(learned)
        average = np.diag(covariance)[own].mean() if len(own) else 0.0
        values, U = np.diag(covariance).copy(), np.eye(len(design))
        if len(own) > 1 and average > 0:
            values[own], U[np.ix_(own, own)] = _directions(covariance[np.ix_(own, own)])
        known = np.flatnonzero(values > UNSEEN_VARIANCE * values.max(initial=0.0))
        if prior.intercept_at == "zero":  # then a direction without variance still moves the intercept
            known = np.arange(len(values))
        rest = np.setdiff1d(np.arange(len(values)), known)
        order = np.concatenate([known[np.argsort(-values[known], kind="stable")], rest])
        symmetric = unit.symmetric
        M = linalg.helmert(vectors + 1).T if symmetric else np.eye(vectors)
        M = M[:-1] - M[-1] if symmetric else M
        share = np.sqrt(0.5) if symmetric else 1.0
        unit_of_seen = unit.unseen_scale[0] if len(unit.unseen_scale) else np.empty(0)
        return cls(
            prior.prior_scale,
            contrast=M,
            directions=U[:, order],
            values=values[order] / (average if average > 0 else 1.0),
            learned=learned[order],
            sd=share * np.concatenate([unit.scale[0, :1], unit.scale[0, 1:][order]]),
            mean=np.linalg.solve(M, unit.mean[:, 0]),
            offset=-unit.shift,
            seen=len(known),
            unseen_prior=unit.unseen,
            unseen_learned=double.unseen_scale[0] > unit_of_seen,
        )

    @cached_property
    def correlation(self) -> float | None:
        """ρ where it is fixed, else None; a single weight has no other to be correlated with."""
        if np.sum(self.learned) < 2:
            return 0.0
        return None if self.settings.correlation == LEARNED else float(self.settings.correlation)

    @cached_property
    def columns(self) -> Array:
        """T, (1 + direction, 1 + column)."""
        T = np.zeros((1 + len(self.values), 1 + len(self.offset)))
        T[0, 0] = 1.0
        T[1:, 1:] = self.directions.T
        T[1:, 0] = -self.directions.T @ self.offset
        return T

    def rho(self, logit: Array) -> Array:
        """Return ρ, of which the logit is given where it is learned."""
        return expit(logit) if self.correlation is None else np.full(np.shape(logit), self.correlation)

    def scales(self, log_scale: Array, logit: Array) -> Array:
        """Return what learned sds at s = 1 and ρ = 0 are multiplied by, s √(1 − ρ + ρ e), (…, 1 + direction)."""
        rho = self.rho(logit)[..., None]
        times = np.exp(log_scale)[..., None] * np.sqrt(1 - rho + rho * self.values)
        return np.concatenate([np.ones_like(rho), np.where(self.learned, times, 1.0)], axis=-1)

    def at(self, log_scale: float, logit: float) -> WeightPrior:
        """Return the prior of γ (contrast, 1 + direction) along the directions that rows tell of, given s and ρ."""
        sd = (self.sd * self.scales(np.array(log_scale), np.array(logit)))[: 1 + self.seen]
        scale = np.tile(sd, (len(self.mean), 1))
        mean = np.zeros_like(scale)
        mean[:, 0] = self.mean
        none = np.empty((len(self.mean), 0))
        return WeightPrior(mean, scale, np.zeros(self.seen), False, none, none)

    def log_density_of_scales(self, log_scale: Array, logit: Array) -> Array:
        """Return log p(log s, logit ρ), or log p(log s) where ρ is fixed."""
        density = self.settings.log_density(log_scale)
        return np.asarray(density + log_expit(logit) + log_expit(-logit)) if self.correlation is None else density

    def coordinates(self, theta: Array) -> Array:
        """Return γ (…, contrast, 1 + direction) of θ (…, vector, 1 + column)."""
        at = np.concatenate([theta[..., :1] + (theta[..., 1:] @ self.offset)[..., None], theta[..., 1:]], axis=-1)
        at[..., 1:] = at[..., 1:] @ self.directions
        return np.asarray(np.linalg.solve(self.contrast, at))

    def theta(self, gamma: Array) -> Array:
        """Return θ (…, vector, 1 + column) of γ (…, contrast, 1 + direction)."""
        return np.asarray(self.contrast @ (gamma @ self.columns))

    def draw_unseen(self, rng: np.random.Generator, seen: Array, log_scale: Array, logit: Array) -> Array:
        """Return γ (draw, contrast, 1 + direction), given what the rows tell of; the rest comes from its prior."""
        rest = slice(1 + self.seen, None)
        sd = (np.where(np.isinf(self.sd), 0.0, self.sd) * self.scales(log_scale, logit))[:, None, rest]
        return np.concatenate([seen, sd * rng.standard_normal((*seen.shape[:2], sd.shape[-1]))], axis=2)

    def log_density(self, theta: Array, log_scale: Array, logit: Array) -> Array:
        """Return log p(θ | s, ρ), (draw), of θ (draw, vector, 1 + column), log s (draw) and logit ρ (draw)."""
        gamma = self.coordinates(theta)
        sd = (self.sd * self.scales(log_scale, logit))[:, None]
        proper = np.isfinite(self.sd)
        z = ((gamma - self._means) / sd)[..., proper]
        log_sd = np.log(sd[..., proper]).sum(axis=(1, 2))
        return np.asarray(-0.5 * np.sum(z**2, axis=(1, 2)) - len(self.mean) * log_sd + self._constant)

    def log_marginal(self, theta: Array) -> Array:
        """Return log p(θ) = log ∫∫ p(θ | s, ρ) p(s) p(ρ) ds dρ, (draw), by the trapezoidal rule."""
        gamma = self.coordinates(theta) - self._means
        proper = np.isfinite(self.sd)
        own = np.concatenate([[False], self.learned])
        given = proper & ~own
        base = self._constant - len(self.mean) * np.log(self.sd[proper]).sum()
        base -= 0.5 * np.sum((gamma[..., given] / self.sd[given]) ** 2, axis=(1, 2))
        squares = np.sum(gamma[..., own] ** 2, axis=1) / self.sd[own] ** 2
        steps_of_s, steps_of_rho = MARGINAL_STEPS
        t = self.settings.log_median + self.settings.spread * np.linspace(
            -MARGINAL_SPREADS, MARGINAL_SPREADS, 1 + steps_of_s
        )
        u = np.linspace(-MARGINAL_LOGIT, MARGINAL_LOGIT, 1 + steps_of_rho) if self.correlation is None else np.zeros(1)
        rho = self.rho(u)[:, None]
        variance = 1 - rho + rho * self.values[self.learned]
        size = len(self.mean) * int(self.learned.sum())
        log_measure = np.log(t[1] - t[0]) + (np.log(u[1] - u[0]) if len(u) > 1 else 0.0)
        of_rho = self.log_density_of_scales(np.full(len(u), self.settings.log_median), u)
        of_rho = of_rho - self.settings.log_density(np.array(self.settings.log_median))
        total = np.full(len(gamma), -np.inf)
        for weight, v in zip(of_rho, variance, strict=True):
            square = squares @ (1 / v)
            every = self.settings.log_density(t) - size * t - 0.5 * square[:, None] * np.exp(-2 * t)
            total = np.logaddexp(total, logsumexp(every, axis=1) + weight - 0.5 * len(self.mean) * np.log(v).sum())
        return np.asarray(base + total + log_measure)

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Array, Array, Array]:
        """Draw θ (draw, vector, 1 + column), log s (draw) and logit ρ (draw); nothing may be flat."""
        log_scale = self.settings.log_median + self.settings.spread * rng.standard_normal(draws)
        logit = rng.logistic(size=draws) if self.correlation is None else np.zeros(draws)
        sd = (self.sd * self.scales(log_scale, logit))[:, None]
        gamma = self._means + sd * rng.standard_normal((draws, len(self.mean), len(self.sd)))
        return self.theta(gamma), log_scale, logit

    def unseen(self, scale: Array) -> UnseenPrior:
        """Return the prior of the weights of levels that the training rows lack, one for the s of each draw."""
        times = np.where(self.unseen_learned, scale[:, None], 1.0)[:, None, :]
        return replace(self.unseen_prior, scale=self.unseen_prior.scale * times)

    def innovations(self, theta: Array, log_scale: Array, logit: Array) -> Array:
        """Return ε (draw, vector, direction): the weights against the reference are `sd_of_epsilon` ε along U."""
        along = theta[..., 1:] @ self.directions
        return np.asarray(along / self.sd_of_epsilon(log_scale, logit)[:, None])

    def sd_of_epsilon(self, log_scale: Array, logit: Array) -> Array:
        """Return s √(1 − ρ + ρ e), or what is given in its place, (draw, direction)."""
        sd = self.sd[1:] * (np.sqrt(2.0) if self._halved else 1.0)
        return np.asarray(sd * self.scales(log_scale, logit)[:, 1:])

    @property
    def _halved(self) -> bool:
        """Whether a contrast has half of the variance of a difference between two classes."""
        return not np.array_equal(self.contrast, np.eye(len(self.contrast)))

    @cached_property
    def _means(self) -> Array:
        """Prior means of γ, (contrast, 1 + direction)."""
        means = np.zeros((len(self.mean), len(self.sd)))
        means[:, 0] = self.mean
        return means

    @property
    def _constant(self) -> float:
        """What the log densities of θ and of γ/sd differ by: normalizers, and the volume of M⁻¹ for each column."""
        volume = len(self.sd) * float(np.linalg.slogdet(self.contrast)[1])
        return -0.5 * len(self.mean) * int(np.isfinite(self.sd).sum()) * LOG_2_PI - volume


@dataclass(frozen=True, eq=False)
class GivenScale:
    """The prior of θ given s and ρ, as a function of θ (vector, 1 + column); see `ScaledPrior`."""

    prior: ScaledPrior
    log_scale: float
    logit: float

    def log_density(self, theta: Array) -> Array:
        """Return log p(θ | s, ρ), (draw), of θ (draw, vector, 1 + column)."""
        each = np.full(len(theta), self.log_scale), np.full(len(theta), self.logit)
        return self.prior.log_density(theta, *each)

    def gradient(self, theta: Array) -> Array:
        """Return ∂ log p(θ | s, ρ)/∂θ, (vector, 1 + column), of one θ."""
        middle = self.prior.theta(self.prior._means)  # noqa: SLF001 - of the same module
        return np.asarray(-(self.precision() @ (theta - middle).ravel()).reshape(theta.shape))

    def precision(self) -> Array:
        """Return the precision matrix of θ raveled, vector by vector."""
        return self._precision

    @cached_property
    def _precision(self) -> Array:
        prior = self.prior
        sd = prior.sd * prior.scales(np.array(self.log_scale), np.array(self.logit))
        to_gamma = np.eye(len(sd))  # the inverse of T
        to_gamma[1:, 0], to_gamma[1:, 1:] = prior.offset, prior.directions
        within = (to_gamma / sd**2) @ to_gamma.T
        M = np.linalg.inv(prior.contrast)
        return np.asarray(np.kron(M.T @ M, within), dtype=np.float64)


def _directions(covariance: Array) -> tuple[Array, Array]:
    """Return e, increasing, and U of a covariance; rounding of its entries changes no direction, and so no draw.

    The eigenvectors of no variance are any basis of their space, and an eigenvector has any sign. Both are chosen by
    products with numbers that are fixed, and hardly ever near 0.
    """
    values, U = np.linalg.eigh(covariance)
    values = np.maximum(values, 0.0)
    fixed, of_signs = np.random.default_rng(0).standard_normal((2, *U.shape))
    none = values <= UNSEEN_VARIANCE * values[-1]
    if none.any():
        U[:, none] = np.linalg.qr(U[:, none] @ (U[:, none].T @ fixed[:, none]))[0]
    return values, U * np.where(of_signs[:, 0] @ U < 0, -1.0, 1.0)
