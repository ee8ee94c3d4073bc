"""Coordinates for NUTS of parameters that are conjugate given another one: standardized by what rows tell of them.

Where a rate or a probability depends on a shape, their joint posterior is narrow along a curve. Given the shape, the
logarithm of the rate and the logit of the probability are about normal, with a mean and a standard deviation that
follow from the shape and the sums of the rows, and in these units they hardly depend on it. The density stays the same:
only the coordinates use the sums.
"""

from __future__ import annotations

from typing import Any

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
