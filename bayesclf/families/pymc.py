"""The PyMC model that NUTS samples: the priors of families, with the log likelihood of sufficient statistics.

A term of the log density takes the place of the rows, so that sampling costs the same for a thousand rows and for ten
million. It is defined for no rows, one row, a constant column and fractional weights. The model of the rows themselves,
to read and to extend, is that of `bayesclf.pymc_models`.
"""

from __future__ import annotations

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesclf.arrays import Array


def observe_counts(name: str, theta: TensorVariable, counts: Array) -> None:
    """Add the log likelihood of counts n of the cells of simplexes θ, (…, cell): Σ n log θ, with 0 · log 0 = 0."""
    held = pm.Data(f"{name}_data", counts)
    # Where a count is 0 the logarithm is taken of 1, so that neither the value nor the gradient contains log 0.
    pm.Potential(name, (held * pt.log(pt.switch(pt.eq(held, 0), 1.0, theta))).sum())


def observe_moments(
    suffix: str, mu: TensorVariable, sigma: TensorVariable, moments: tuple[Array, Array, Array]
) -> None:
    """Add the log likelihood of (n, x̄, S) of rows that are Normal(μ, σ²): −(n/2) log 2πσ² − (S + n(x̄ − μ)²)/(2σ²)."""
    names = zip(("n", "mean", "scatter"), moments, strict=True)
    n, mean, scatter = (pm.Data(f"x_{name}{suffix}", values) for name, values in names)
    squares, sigma2 = scatter + n * (pt.switch(n > 0, mean, 0.0) - mu) ** 2, sigma**2
    pm.Potential(f"x{suffix}", (-0.5 * n * pt.log(2 * np.pi * sigma2) - 0.5 * squares / sigma2).sum())
