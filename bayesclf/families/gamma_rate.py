"""Rates with a gamma distribution: what Poisson's and the exponential family have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, override

import numpy as np
from scipy.special import gammaln

from bayesclf.families.base import Axes, Family, Statistics, require_positive
from bayesclf.families.prior_lines import PriorLine, prior_lines
from bayesclf.typing import Array, Parameters

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable


@dataclass(frozen=True, repr=False)
class GammaRate[S: Statistics](Family[S]):
    """A family whose one parameter is a rate λ_ik ~ Gamma(a_ik, b_ik), independent over features i and classes k.

    Parameters
    ----------
    a, b
        Shape and rate, above 0, which broadcast to (outcome, feature).
    axes : Axes
        Set by `resolve_prior`.
    """

    a: float | Array | None = None
    b: float | Array | None = None
    axes: Axes = field(default=Axes((), ()), repr=False)

    def __post_init__(self) -> None:
        require_positive(a=self.a, b=self.b)

    @override
    def priors(self) -> list[PriorLine]:
        """Return the gamma priors of the rate."""
        a, b = self._hyperparameters()
        return prior_lines("rate", "Gamma({a}, {b})", self.axes, a=a, b=b)

    @override
    def mean(self) -> Parameters:
        """Return a/b."""
        a, b = self._hyperparameters()
        return {"rate": (a / b)[None]}

    def _pymc_rate(self, suffix: str) -> TensorVariable:
        """Add λ to the open PyMC model; return it."""
        import pymc as pm

        a, b = (
            pm.Data(f"rate_{name}{suffix}", value) for name, value in zip("ab", self._hyperparameters(), strict=True)
        )
        return pm.Gamma(f"rate{suffix}", a, b, dims=("outcome", f"feature{suffix}"))

    @override
    def log_normalizer(self) -> Array:
        """log Γ(a) b^−a."""
        a, b = self._hyperparameters()
        return np.asarray(gammaln(a) - a * np.log(b))

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of the rate."""
        return {"rate": ("outcome", "feature")}

    def _hyperparameters(self) -> tuple[Array, Array]:
        """Return a and b, (outcome, feature) each."""
        return np.asarray(self.a), np.asarray(self.b)
