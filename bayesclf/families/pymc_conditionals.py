"""Coordinates for NUTS of parameters that are conjugate given another one: standardized by what rows tell of them.

Where a rate or a probability depends on a shape, their joint posterior is narrow along a curve. Given the shape, the
logarithm of the rate and the logit of the probability are about normal, with a mean and a standard deviation that
follow from the shape and the sums of the rows, and in these units they hardly depend on it. The density stays the same:
only the coordinates use the sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import Transform


class _Standardized(Transform):  # type: ignore[misc]
    """z = (u − mean)/sd, u the logarithm or the logit; mean and sd are the last two of a variable's four parameters."""

    name = "standardized"
    ndim_supp = 0

    def __init__(self, link: Any, inverse: Any, log_slope: Any) -> None:
        self._link, self._inverse, self._log_slope = link, inverse, log_slope

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return z."""
        return (self._link(value) - inputs[3]) / inputs[4]

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the variable from z."""
        return self._inverse(inputs[3] + inputs[4] * value)

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log derivative of the variable by z."""
        return self._log_slope(inputs[3] + inputs[4] * value) + pt.log(inputs[4])


LOG = _Standardized(pt.log, pt.exp, lambda u: u)
LOGIT = _Standardized(
    lambda value: pt.log(value) - pt.log1p(-value),
    pt.sigmoid,
    lambda u: -pt.softplus(u) - pt.softplus(-u),
)


class _Around(Transform):  # type: ignore[misc]
    """z = logit(½ + (value − center)/period)/sd, center and sd being the parameters of the variable."""

    name = "around"
    ndim_supp = 0

    def __init__(self, period: float) -> None:
        self._period = period

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return z."""
        share = 0.5 + (value - inputs[1]) / self._period
        return (pt.log(share) - pt.log1p(-share)) / inputs[2]

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the direction from z, within half a period of the center."""
        return inputs[1] + self._period * (pt.sigmoid(inputs[2] * value) - 0.5)

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log derivative of the direction by z."""
        u = inputs[2] * value
        return np.log(self._period) - pt.softplus(u) - pt.softplus(-u) + pt.log(inputs[2])


def rate(name: str, prior: tuple[Any, Any], with_rows: tuple[Any, Any], dims: tuple[str, ...]) -> Any:
    """Add β ~ Gamma(a, b) to the open PyMC model; return it.

    Parameters
    ----------
    name
        Its name.
    prior
        a and b.
    with_rows
        The same after the rows that the model observes.
    dims
        Axis words.
    """
    a, b = with_rows
    return _add(name, pm.Gamma, prior, (pt.log(a) - pt.log(b), 1 / pt.sqrt(a)), LOG, dims)


def probability(name: str, prior: tuple[Any, Any], with_rows: tuple[Any, Any], dims: tuple[str, ...]) -> Any:
    """Add θ ~ Beta(a, b) to the open PyMC model; return it. Parameters are those of `rate`."""
    a, b = with_rows
    return _add(name, pm.Beta, prior, (pt.log(a) - pt.log(b), pt.sqrt(1 / a + 1 / b)), LOGIT, dims)


def direction(name: str, center: Any, precision: Any, period: float, dims: tuple[str, ...]) -> Any:
    """Add a direction, uniform on a circle, to the open PyMC model; return it.

    The circle is cut opposite to the center, where the posterior density is lowest.

    Parameters
    ----------
    name
        Its name.
    center
        The direction around which it is after the rows that the model observes.
    precision
        Its concentration there, in radians: about one over its variance where that is small.
    period
        A full turn.
    dims
        Axis words.
    """
    # The sd of the logit: 2/π of that of a narrow distribution, and π/√3 where it is uniform.
    sd = 1 / pt.sqrt(np.pi**2 / 4 * precision + 3 / np.pi**2)
    return pm.CustomDist(
        name,
        center,
        sd,
        dist=lambda center, sd, size: pm.Uniform.dist(center - period / 2, center + period / 2, size=size),
        logp=lambda value, center, sd: pt.full_like(value + center + sd, -np.log(period)),
        support_point=lambda rv, size, center, sd: center + pt.zeros_like(sd),
        signature="(),()->()",
        transform=_Around(period),
        dims=dims,
    )


def _add(
    name: str, distribution: Any, prior: tuple[Any, Any], units: tuple[Any, Any], transform: Any, dims: tuple[str, ...]
) -> Any:
    return pm.CustomDist(
        name,
        *prior,
        *units,
        dist=lambda a, b, mean, sd, size: distribution.dist(a, b, size=size),
        logp=lambda value, a, b, mean, sd: pm.logp(distribution.dist(a, b), value),
        support_point=lambda rv, size, a, b, mean, sd: transform.backward(pt.zeros_like(mean), size, a, b, mean, sd),
        signature="(),(),(),()->()",
        transform=transform,
        dims=dims,
    )
