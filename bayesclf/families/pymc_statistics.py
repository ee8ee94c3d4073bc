"""PyMC distributions of sufficient statistics: their logp is the log likelihood of the rows.

Sampling then costs the same for a thousand rows and for ten million. PyMC's own distributions of these statistics
(Normal, Gamma and Multinomial of mean, scatter and counts) are −∞ or raise for no rows, one row, a constant column
or fractional weights; the rows' own log likelihood holds in all these cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.typing import Array

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable


def observe_counts(name: str, theta: TensorVariable, counts: Array, dims: tuple[str, ...] | None = None) -> None:
    """Observe counts n of the cells of θ: log likelihood Σ n log θ, with 0 · log 0 = 0."""
    import pymc as pm

    pm.CustomDist(name, theta, logp=_counts_logp, observed=pm.Data(f"{name}_data", counts, dims=dims), dims=dims)


def _counts_logp(counts: TensorVariable, theta: TensorVariable) -> Any:
    import pytensor.tensor as pt

    # Where n = 0 the logarithm is taken of 1, so that neither the value nor the gradient sees log 0.
    return counts * pt.log(pt.switch(pt.eq(counts, 0), 1.0, theta))


def observe_moments(
    name: str, mu: TensorVariable, sigma2: TensorVariable, n: Array, mean: Array, scatter: Array
) -> None:
    """Observe (n, x̄, S) of rows that are Normal(μ, σ²).

    Log likelihood −(n/2) log 2πσ² − (S + n(x̄ − μ)²)/(2σ²), for any real n ≥ 0 and S ≥ 0.
    """
    import pymc as pm

    mean = np.where(n > 0, mean, 0.0)
    n_data = pm.Data(f"{name}_n", n)
    scatter_data = pm.Data(f"{name}_scatter", scatter)
    pm.CustomDist(
        f"{name}_mean",
        mu,
        sigma2,
        n_data,
        scatter_data,
        logp=_moments_logp,
        observed=pm.Data(f"{name}_data", mean),
    )


def _moments_logp(
    mean: TensorVariable,
    mu: TensorVariable,
    sigma2: TensorVariable,
    n: TensorVariable,
    scatter: TensorVariable,
) -> Any:
    import pytensor.tensor as pt

    return -0.5 * n * pt.log(2 * np.pi * sigma2) - 0.5 * (scatter + n * (mean - mu) ** 2) / sigma2
