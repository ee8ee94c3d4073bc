"""The PyMC model that NUTS samples: the priors of families, with the log likelihood of sufficient statistics.

A term of the log density takes the place of the rows, so that sampling costs the same for a thousand rows and for ten
million. It is defined for no rows, one row, a constant column and fractional weights. The model of the rows themselves,
to read and to extend, is that of `bayesclf.pymc_models`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.logprob.transforms import SimplexTransform
from pytensor.tensor import TensorVariable

from bayesclf.arrays import Array
from bayesclf.families import dirichlet


def observe_counts(name: str, theta: TensorVariable, counts: Array) -> None:
    """Add the log likelihood of counts n of the cells of simplexes θ, (…, cell): Σ n log θ, with 0 · log 0 = 0."""
    held = pm.Data(f"{name}_data", counts)
    # Where a count is 0 the logarithm is taken of 1, so that neither the value nor the gradient contains log 0.
    pm.Potential(name, (held * pt.log(pt.switch(pt.eq(held, 0), 1.0, theta))).sum())


def observe_presences(suffix: str, theta: TensorVariable, n: Array, present: Array) -> None:
    """Add that of features that are present in some of n rows: s log θ + (n − s) log(1 − θ)."""
    observe_counts(f"present{suffix}", theta, present)
    observe_counts(f"absent{suffix}", 1 - theta, n - present)


def observe_simplexes(
    alpha: Array, counts: Array, sizes: tuple[int, ...], names: Sequence[str], suffix: str, of_all: bool = False
) -> dict[int, Any]:
    """Add simplexes θ ~ Dirichlet(α), those of one size as one variable, observing the counts of their cells.

    `alpha`, `counts`: Concentration and count of each cell, (outcome, cell). `of_all`: Whether the simplexes are those
    of all classes, and the first axis has length 1.

    Returns: θ by size, (outcome, simplex, cell).
    """
    by_size = {}
    for size, cells in dirichlet.cells_by_size(sizes).items():
        of, of_size = f"of_{size}{suffix}", [name for name, own in zip(names, sizes, strict=True) if own == size]
        shape = (len(alpha), len(of_size), size)
        dims = ALL if of_all else "outcome", f"simplex_{of}", f"value_{of}"
        pm.modelcontext(None).add_coords({dims[1]: of_size, dims[2]: range(size), **({ALL: ["all"]} if of_all else {})})
        given = pm.Data(f"alpha_{of}", alpha[:, cells].reshape(shape))
        options = {"default_transform": PAIR} if shape == (1, 1, 2) else {}
        by_size[size] = pm.Dirichlet(f"theta_{of}", given, dims=dims, **options)
        observe_counts(f"counts_{of}", by_size[size], counts[:, cells].reshape(shape))
    return by_size


class _PairTransform(SimplexTransform):  # type: ignore[misc]
    """PyMC's transform of simplexes for a single one of two cells, (1, 1, 2), to a vector of one number.

    PyTensor's Numba code of an array whose axes all have length 1 does not compile, where there are several.
    """

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Return the number."""
        return super().forward(value[0, 0], *inputs)

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Return the simplex."""
        return super().backward(value, *inputs)[None, None]

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Return the log derivative."""
        return super().log_jac_det(value, *inputs)[None, None]


PAIR = _PairTransform()


ALL = "all_outcomes"
"""Axis of length 1 of what is the same for all classes."""


def observe_moments(
    suffix: str, mu: TensorVariable, sigma: TensorVariable, moments: tuple[Array, Array, Array]
) -> None:
    """Add the log likelihood of (n, x̄, S) of rows that are Normal(μ, σ²): −(n/2) log 2πσ² − (S + n(x̄ − μ)²)/(2σ²)."""
    names = zip(("n", "mean", "scatter"), moments, strict=True)
    n, mean, scatter = (pm.Data(f"x_{name}{suffix}", values) for name, values in names)
    squares, sigma2 = scatter + n * (pt.switch(n > 0, mean, 0.0) - mu) ** 2, sigma**2
    pm.Potential(f"x{suffix}", (-0.5 * n * pt.log(2 * np.pi * sigma2) - 0.5 * squares / sigma2).sum())
