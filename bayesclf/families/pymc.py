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
from bayesclf.errors import Refused
from bayesclf.families.networks.row_counts import Sums


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


LARGEST_SAMPLED = 2**15
"""Completions × factors above which NUTS refuses their likelihood and its gradient."""


def observe_completions(name: str, theta: TensorVariable, sums: Sums) -> None:
    """Observe the sums in the open PyMC model: log likelihood Σ_s m_s log Σ_z Π θ, for θ (outcome, cell).

    Raises `Refused` where the sums have too many terms to be sampled.
    """
    if sums.cells.size > LARGEST_SAMPLED:
        raise Refused(
            f"the training rows' missing cells have {sums.cells.size:,} completions × tables, too many for NUTS (limit "
            f"{LARGEST_SAMPLED:,}); fit with missing='level', or by inference='map'"
        )
    cells = pm.Data(f"{name}_cells", sums.cells)
    first, counts = pm.Data(f"{name}_first", sums.first), pm.Data(f"{name}_data", sums.counts)
    # Index −1, which means no cell, is that of an added cell with probability 1.
    log_theta = pt.concatenate([pt.log(theta), pt.zeros_like(theta[:, :1])], axis=1)
    terms = pt.exp(log_theta[:, cells].sum(axis=2))
    of = pt.cumsum(pt.set_subtensor(pt.zeros(cells.shape[0], dtype=int)[first], 1)) - 1
    of_sums = pt.inc_subtensor(pt.zeros_like(counts)[:, of], terms)
    pm.Potential(name, (counts * pt.log(pt.switch(pt.eq(counts, 0), 1.0, of_sums))).sum())
