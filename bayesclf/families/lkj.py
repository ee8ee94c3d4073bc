"""A prior of a covariance that treats scales and correlations apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from bayesclf.errors import InputError
from bayesclf.families.gaussian import broadcast_to_shape
from bayesclf.typing import Array

NO_MODE = (
    "the posterior mode under an LKJ prior has no closed form; take the rule 'mean' or 'bayes-optimal', or the "
    "normal-inverse-Wishart prior"
)


@dataclass(frozen=True)
class LKJ:
    """Σ = diag(τ) R diag(τ) with p(R) ∝ |R|^(η − 1) and τ_i ~ HalfNormal(s_i); μ_ik ~ Normal(m_i, t_i²) beside it.

    Unlike the inverse Wishart it lets one believe in scales and in correlations separately, and does not tie the
    spread of the means to Σ. It is not conjugate: the posterior is sampled by NUTS.

    Parameters
    ----------
    eta
        Shape of the correlations, above 0: at 1 all correlation matrices are as probable, above it those near the
        identity are more so.
    sd_scale
        s (feature), in units of the columns; where None the standard deviation of the pooled rows, so that E[τ²] is
        their variance.
    mean_scale
        t (feature), likewise.

    References
    ----------
    Lewandowski, Kurowicka and Joe (2009), Generating random correlation matrices based on vines and extended onion
    method, J. Multivariate Analysis 100.
    """

    eta: float = 2.0
    sd_scale: float | Array | None = None
    mean_scale: float | Array | None = None

    def __post_init__(self) -> None:
        for name in ("eta", "sd_scale", "mean_scale"):
            value = getattr(self, name)
            if value is not None and not (np.all(np.asarray(value) > 0) and np.all(np.isfinite(value))):
                raise InputError(f"{name} must be above 0 and finite, not {value}")

    def resolve(self, sd: Array) -> Self:
        """Return the prior in numbers; `sd` (feature) is that of the pooled rows."""
        scales = {
            name: broadcast_to_shape(name, sd if given is None else given, sd.shape)
            for name, given in (("sd_scale", self.sd_scale), ("mean_scale", self.mean_scale))
        }
        return replace(self, **scales)  # type: ignore[arg-type]

    def draw(self, rng: np.random.Generator, draws: int, groups: int) -> Array:
        """Draw Σ (draw, group, feature, other_feature)."""
        scale = np.asarray(self.sd_scale)
        sd = np.abs(rng.standard_normal((draws, groups, len(scale)))) * scale
        factor = sd[..., None] * _correlation_factors(self.eta, len(scale), rng, (draws, groups))
        return np.asarray(factor @ factor.swapaxes(2, 3))

    def mean(self) -> Array:
        """Return E[Σ], the diagonal matrix of s²."""
        return np.diag(np.asarray(self.sd_scale) ** 2)


def require_lkj(prior: object, conjugate: Mapping[str, object]) -> None:
    """Raise where a prior is no LKJ, or hyperparameters of the conjugate prior are given beside it."""
    if not isinstance(prior, LKJ):
        raise InputError(f"covariance_prior must be a bayesclf.families.LKJ or None, not {prior!r}")
    given = [name for name, value in conjugate.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} belongs to the normal-inverse-Wishart prior; leave it out beside an LKJ")


def _correlation_factors(eta: float, size: int, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    """Draw Cholesky factors of R by the onion method: row i is a direction times the root of a Beta."""
    factors = np.zeros((*shape, size, size))
    factors[..., 0, 0] = 1.0
    for i in range(1, size):
        length = rng.beta(i / 2, eta + (size - 1 - i) / 2, size=shape)
        direction = rng.standard_normal((*shape, i))
        direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
        factors[..., i, :i] = np.sqrt(length)[..., None] * direction
        factors[..., i, i] = np.sqrt(1 - length)
    return factors
