"""Missing cells of categories and numbers: summed and integrated out of densities.

A missing cell on which nothing observed depends drops out. A missing category that a number depends on is summed over;
the others are left to the tables. Given the categories the numbers are jointly normal, and a missing number is
integrated out in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import Refused
from bayesclf.families.base import Axes
from bayesclf.families.cells import Booleans, by_pattern
from bayesclf.families.mixed.regressions import Regression, root_of_inverse
from bayesclf.families.multivariate.groups import are_categories, are_seen
from bayesclf.families.networks.factors import Layout
from bayesclf.tables.columns import MISSING, UNSEEN

LARGEST_SUM = 2**12
"""Combinations of missing categories, on which numbers depend, above which summing over them is refused."""

type OfNumbers = Callable[[tuple[Regression, ...], Array, tuple[int, ...]], Array]
"""The log density of numbers: of their regressions, rows without missing categories, and the missing numbers."""


def needed(seen: Booleans, layout: Layout | None, regressions: Sequence[Regression], axes: Axes) -> Booleans:
    """Return which features are observed, or something observed depends on, (feature)."""
    out = seen.copy()
    for own in reversed(regressions):
        if out[own.of]:
            out[list(own.parents)] = True
    category = np.flatnonzero(are_categories(axes))
    for factor in reversed(layout.factors if layout else ()):
        if out[category[list(factor.of)]].any():
            out[category[list(factor.scope)]] = True
    return out


def log_density(
    X: Array,
    layout: Layout | None,
    regressions: tuple[Regression, ...],
    axes: Axes,
    of_categories: Callable[[Integers], Array],
    of_numbers: OfNumbers,
) -> Array:
    """Return the log density of the observed cells, (draw, row, outcome).

    `X`: Cells (row, feature). `layout`: The tables of the categories; None without any. `of_categories`: Log density
    (draw, row, outcome) of codes of the categories, negative where missing.

    Raises `Refused` for too many combinations of missing categories.
    """
    category, seen = are_categories(axes), are_seen(X, axes)
    X = np.where(category & ~seen, MISSING, X)
    total = of_categories(X[:0, category].astype(np.intp))
    total = np.zeros((len(total), len(X), total.shape[2]))
    for pattern, rows in by_pattern(~seen):
        wanted = needed(pattern, layout, regressions, axes)
        used = tuple(own for own in regressions if wanted[own.of])
        gaps = sorted({j for own in used for j in own.given if not pattern[j]})
        hidden = tuple(np.flatnonzero(wanted & ~pattern & ~category).tolist())
        sizes = [axes.sizes[j] for j in gaps]
        if prod(sizes) > LARGEST_SUM:
            names = ", ".join(repr(axes.features[j]) for j in gaps)
            raise Refused(
                f"summing out the missing cells of columns {names} takes {prod(sizes):,} combinations (limit "
                f"{LARGEST_SUM:,}); fill some in, or fit with missing='level', or with fewer edges"
            )
        filled, density = X[rows], None
        for values in product(*map(range, sizes)):
            filled[:, gaps] = values
            term = of_categories(filled[:, category].astype(np.intp))
            term = term + of_numbers(used, filled, hidden) if used else term
            with np.errstate(invalid="ignore"):  # of terms without a closed form, which are NaN
                density = term if density is None else np.logaddexp(density, term)
        total[:, rows] = density
    return total


def log_normal(regressions: tuple[Regression, ...], X: Array, hidden: tuple[int, ...], parameters: Parameters) -> Array:
    """Return the log density (draw, row, outcome) of the observed numbers under linear regressions, parents first.

    `X`: Rows (row, feature) without missing categories. `hidden`: Positions of the missing numbers.

    Each regression has the residual r = x − β0 − βᵀx_on, the hidden x being at their conditional means. Let u be the
    hidden numbers' deviations from these, A_fh = ∂r_f/∂u_h, and D the diagonal of 1/σ². The density of the observed
    numbers is the integral of exp(−½(r + Au)ᵀD(r + Au)) over u: a regression of −r on A.
    """
    values: dict[int, Array] = {j: X[:, j] for j in range(X.shape[1])}
    beta, sigma2 = parameters["beta"], parameters["sigma2"]
    residuals, slopes, weights = [], [], []
    for own in regressions:
        place = own.configuration(X)
        terms = own.of_terms(beta)[:, :, place]
        variance = own.of_regressions(sigma2)[:, :, place]
        expected = terms[..., 0] + sum(terms[..., 1 + i] * values[j] for i, j in enumerate(own.on))
        slope = {j: -terms[..., 1 + i] for i, j in enumerate(own.on)}
        if own.of in hidden:
            values[own.of], slope[own.of] = expected, np.ones_like(expected)
            residuals.append(np.zeros_like(expected))
        else:
            residuals.append(values[own.of] - expected)
        weights.append(1 / variance)
        slopes.append([slope.get(h, np.zeros_like(expected)) for h in hidden])
    logs = [np.log(w) - np.log(2 * np.pi) - w * r**2 for w, r in zip(weights, residuals, strict=True)]
    total = np.asarray(0.5 * np.sum(logs, axis=0))
    if hidden:
        D, r = np.stack(weights, axis=-1), np.stack(residuals, axis=-1)
        A = np.stack([np.stack(row, axis=-1) for row in slopes], axis=-2)  # (draw, outcome, row, regression, hidden)
        right = np.einsum("...fh,...f->...h", A, D * r)
        root = root_of_inverse(np.einsum("...fh,...f,...fi->...hi", A, D, A))
        whitened = np.einsum("...ih,...i->...h", root, right)
        log_det = 2 * np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
        total = total + 0.5 * ((whitened**2).sum(axis=-1) + log_det + len(hidden) * np.log(2 * np.pi))
    return np.swapaxes(total, 1, 2)


@dataclass(frozen=True)
class Network:
    """The tables of the categories and the regressions of the numbers.

    `layout`: The tables; None without categories.
    """

    axes: Axes
    layout: Layout | None
    regressions: tuple[Regression, ...]

    def require_complete(self, codes: Array | Integers, seen: Booleans) -> None:
        """Raise `Refused` for the first column with missing cells on which an observed cell of the row depends.

        Of cells (row, feature), by their codes of categories, and which are observed.
        """
        for pattern, rows in by_pattern(~seen):
            wanted = needed(pattern, self.layout, self.regressions, self.axes)
            for j in np.flatnonzero(wanted & ~pattern):
                unseen = are_categories(self.axes)[j] and (codes[rows, j] == UNSEEN).any()
                lacking = "levels that the prior lacks, so that they count as missing cells," if unseen else ""
                raise Refused(
                    f"column {self.axes.features[j]!r} has {lacking or 'missing cells'} that others depend on, from "
                    "which a network with numbers does not learn; fill them in, or leave these rows out"
                )
