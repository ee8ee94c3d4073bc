"""PyMC variables of rows: cells given the label of their row, which is a variable that picks their parameters.

So labels and cells both generate, and an extension of the model can replace either. A missing cell is no free variable:
it is 0 in the data and in what is drawn, and adds nothing to the log density.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.errors import Refused
from bayesclf.typing import Array

LARGEST_CELLS = 2**22
"""Cells of a sparse table above which its rows are not made dense."""


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """The rows of an open PyMC model.

    Attributes
    ----------
    y
        The variable of the label codes, (row).
    weight
        How often each row counts, (row).
    """

    y: Any
    weight: Array

    def observe(
        self,
        name: str,
        distribution: Any,
        parameters: tuple[Any, ...],
        X: NDArray[Any],
        dims: tuple[str, ...],
        seen: NDArray[np.bool_] | None = None,
        inside: float = 0.0,
    ) -> None:
        """Observe cells that are independent given their parameters.

        Parameters
        ----------
        name
            Name of their variable.
        distribution
            A PyMC distribution of numbers.
        parameters
            Its parameters, each with an entry per cell.
        X
            The cells, (row, feature).
        dims
            Axis words of `X`.
        seen
            Which of the cells are not missing, (row, feature); by default all.
        inside
            A number inside the support: where a cell is missing, the density is evaluated there and multiplied by 0.
        """
        observe(name, distribution, parameters, X, dims, _counts(self.weight, X, seen), inside)


def observe(
    name: str,
    distribution: Any,
    parameters: tuple[Any, ...],
    X: NDArray[Any],
    dims: tuple[str, ...],
    counts: Array,
    inside: float = 0.0,
) -> Any:
    """Observe values, each of which counts as often as `counts` says, and return their variable.

    Where all count once it is a variable of the distribution itself.
    """
    observed = pm.Data(f"{name}_data", np.where(counts > 0, X, 0).astype(X.dtype), dims=dims)
    if (counts == 1).all():
        return distribution(name, *parameters, observed=observed, dims=dims)

    def dist(*given: Any) -> Any:
        """Draw rows, 0 where a cell is missing."""
        *own, weight, _ = given
        drawn = distribution.dist(*own, shape=weight.shape)
        return pt.switch(pt.gt(weight, 0), drawn, pt.zeros_like(drawn))

    def logp(value: Any, *given: Any) -> Any:
        """Return the log density of each cell, times its weight."""
        *own, weight = given
        # Outside of the support the product would be 0 · −∞, and its gradient NaN.
        counted = pt.switch(pt.gt(weight, 0), value, inside) if inside else value
        return weight * pm.logp(distribution.dist(*own), counted)

    core = ["(k)" if distribution is pm.Categorical else "()"] * len(parameters)
    weight = pm.Data(f"{name}_weight", counts)
    signature = f"{','.join(core)},()->()"
    return pm.CustomDist(
        name, *parameters, weight, dist=dist, logp=logp, signature=signature, observed=observed, dims=dims
    )


def dense(X: Any) -> NDArray[Any]:
    """Return rows of a table, dense or sparse, as an array (row, feature)."""
    table: Any = X
    if not sparse.issparse(X):
        return np.asarray(X)
    rows, columns = table.shape
    if rows * columns > LARGEST_CELLS:
        raise Refused(
            f"a PyMC model of {rows:,} rows with {columns:,} columns would hold all their {rows * columns:,} cells "
            f"(limit {LARGEST_CELLS:,}); give fewer rows, or take pymc_model_, which holds sums over rows"
        )
    return np.asarray(table.toarray())


def _counts(weight: Array, X: NDArray[Any], seen: NDArray[np.bool_] | None) -> Array:
    """Return how often each cell counts, (row, feature)."""
    of_rows = np.broadcast_to(weight[:, None], X.shape)
    return of_rows.astype(float) if seen is None else of_rows * seen
