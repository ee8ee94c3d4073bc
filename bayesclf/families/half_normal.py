"""The half-normal prior of standard deviations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayesclf.families.base import broadcast, require_positive
from bayesclf.typing import Array

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable


@dataclass(frozen=True)
class HalfNormal:
    """σ ~ HalfNormal(s): density ∝ exp(−σ²/2s²) for σ ≥ 0.

    Unlike an inverse gamma prior of σ² it does not rule out small σ and has light tails. It is not conjugate: the
    posterior is sampled by NUTS. The mode in σ² is still in closed form.

    Parameters
    ----------
    scale : float, array or None
        s, above 0, in units of the columns; a number, or an array that broadcasts to the variances. Where None the
        standard deviation of the pooled rows, so that E[σ²] is their variance.

    References
    ----------
    Gelman (2006), Prior distributions for variance parameters in hierarchical models, doi:10.1214/06-BA117A.
    """

    scale: float | Array | None = None

    def __post_init__(self) -> None:
        require_positive(scale=self.scale)

    def resolve(self, s2: Array, shape: tuple[int, ...], unit: Array | float = 1.0) -> Self:
        """Return the prior in numbers, in units; `s2` is the variance of the pooled rows, in squared units."""
        if self.scale is None:
            return replace(self, scale=broadcast("scale", np.sqrt(s2), shape))
        return replace(self, scale=broadcast("scale", self.scale, shape) / unit)

    def mode(self, weight: Array, scatter: Array) -> Array:
        """Return the mode in v = σ² of v^(−c) exp(−S/2v) · HalfNormal(√v; s)/(2√v), 0 where S is 0.

        Setting the derivative to zero gives v² + 2(c + ½)s²v − s²S = 0; of the two solutions one is positive.

        Parameters
        ----------
        weight : array
            c, half the number of rows and means that share the variance.
        scatter : array
            S, at least 0.
        """
        s2 = np.asarray(self.scale) ** 2
        half = (weight + 0.5) * s2
        # The root −h + √(h² + s²S) without the difference of nearly equal numbers.
        return np.asarray(s2 * scatter / (half + np.sqrt(half**2 + s2 * scatter)))

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw σ² (draw, ...) from the prior."""
        scale = np.asarray(self.scale)
        return np.asarray((scale * rng.standard_normal((draws, *scale.shape))) ** 2)

    def pymc(self, name: str, scale: Array, dims: tuple[str, ...]) -> TensorVariable:
        """Add σ to the open PyMC model; return σ²."""
        import pymc as pm

        sigma: Any = pm.HalfNormal(name, pm.Data(f"{name}_scale", scale), dims=dims)
        return sigma**2
