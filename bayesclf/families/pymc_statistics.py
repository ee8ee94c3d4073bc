"""PyMC distributions of sufficient statistics: their logp is the log likelihood of the rows.

Sampling then costs the same for a thousand rows and for ten million. PyMC's own distributions of these statistics
(Normal, Gamma and Multinomial of mean, scatter and counts) are −∞ or raise for no rows, one row, a constant column
or fractional weights; the log likelihood of the rows themselves is defined in all these cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor import TensorVariable

from bayesclf.families import dirichlet
from bayesclf.typing import Array


def observe_counts(name: str, theta: TensorVariable, counts: Array, dims: tuple[str, ...] | None = None) -> None:
    """Observe counts n of the cells of θ: log likelihood Σ n log θ, with 0 · log 0 = 0."""
    pm.CustomDist(name, theta, logp=_counts_logp, observed=pm.Data(f"{name}_data", counts, dims=dims), dims=dims)


def observe_simplexes(alpha: Array, counts: Array, sizes: tuple[int, ...], suffix: str) -> list[TensorVariable]:
    """Add θ ~ Dirichlet(α), simplexes of one size together, observing their counts (outcome, cell).

    Returns
    -------
    list
        θ of each size in turn, (outcome, cell).
    """
    parts = []
    for size, cells in dirichlet.cells_by_size(sizes).items():
        shape = (len(alpha), -1, size)
        given = pm.Data(f"theta_{size}_alpha{suffix}", alpha[:, cells].reshape(shape))
        theta = pm.Dirichlet(f"theta_{size}{suffix}", given)
        observe_counts(f"counts_{size}{suffix}", theta, counts[:, cells].reshape(shape))
        parts.append(theta.reshape((len(alpha), len(cells))))
    return parts


def _counts_logp(counts: TensorVariable, theta: TensorVariable) -> Any:
    # Where n = 0 the logarithm is taken of 1, so that neither the value nor the gradient contains log 0.
    return counts * pt.log(pt.switch(pt.eq(counts, 0), 1.0, theta))


def observe_moments(
    name: str, mu: TensorVariable, sigma2: TensorVariable, n: Array, mean: Array, scatter: Array
) -> None:
    """Observe (n, x̄, S) of rows that are Normal(μ, σ²).

    Log likelihood −(n/2) log 2πσ² − (S + n(x̄ − μ)²)/(2σ²), for any real n ≥ 0 and S ≥ 0.
    """
    data = pm.Data(f"{name}_n", n), pm.Data(f"{name}_scatter", scatter)
    observed = pm.Data(f"{name}_data", np.where(n > 0, mean, 0.0))
    pm.CustomDist(f"{name}_mean", mu, sigma2, *data, logp=_moments_logp, observed=observed)


def _moments_logp(mean: Any, mu: Any, sigma2: Any, n: Any, scatter: Any) -> Any:
    return -0.5 * n * pt.log(2 * np.pi * sigma2) - 0.5 * (scatter + n * (mean - mu) ** 2) / sigma2


def observe_tables(alpha: TensorVariable, counts: Array, sizes: tuple[int, ...], suffix: str) -> None:
    """Observe counts (outcome, cell) of tables whose θ ~ Dirichlet(α, …, α) is integrated out, α given by cell."""
    size = pm.Data(f"alpha_sizes{suffix}", np.repeat(sizes, sizes).astype(float))
    total = pm.Data(f"alpha_totals{suffix}", dirichlet.totals(counts, sizes))
    observed = pm.Data(f"alpha_counts_data{suffix}", counts)
    pm.CustomDist(f"alpha_counts{suffix}", alpha, size, total, logp=_collapsed_logp, observed=observed)


def _collapsed_logp(counts: Any, alpha: Any, sizes: Any, totals: Any) -> Any:
    """Return log p(n | α) by cell, (outcome, cell): each has its share, 1/size, of its table's normalizer."""
    total_alpha = sizes * alpha
    normalizer = pt.gammaln(total_alpha) - pt.gammaln(total_alpha + totals)
    return pt.gammaln(alpha + counts) - pt.gammaln(alpha) + normalizer / sizes
