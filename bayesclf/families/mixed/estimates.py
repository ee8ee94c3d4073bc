"""Least squares of numbers on their parents, and where it does not exist."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import DoesNotExist
from bayesclf.families.base import Axes
from bayesclf.families.mixed import linear, regressions
from bayesclf.families.mixed.conjugate import Sums
from bayesclf.families.mixed.groups import GroupedMoments, are_categories
from bayesclf.families.mixed.regressions import Regression
from bayesclf.families.moments import Moments
from bayesclf.families.networks.tables import ConditionalTables
from bayesclf.tables.columns import MISSING
from bayesclf.typing import Array, Parameters
from bayesclf.wording import joined

RANK_TOLERANCE = 1e-13
"""Smallest eigenvalue of the parents' correlations, per parent, and share of residuals, beyond rounding."""

NO_PART = 1e-6
"""Weight of a column in a combination of columns that is constant, below which it has no part in it."""


def least_squares(
    statistics: GroupedMoments,
    all_regressions: Sequence[Regression],
    tables: ConditionalTables | None,
    theta: Parameters,
) -> Parameters:
    """Return β and σ² by maximum likelihood, (1, outcome, …): none at all without numbers.

    A regression of a configuration that no row has is arbitrary where the configuration is impossible, and the standard
    normal distribution here.

    Parameters
    ----------
    statistics
        Of the training rows.
    all_regressions
        Those of the numbers.
    tables, theta
        The tables of the categories, and their estimate.

    Raises
    ------
    DoesNotExist
        Where a class and configuration has too few rows, or parents that are collinear in them.
    """
    betas, variances = [], []
    for own in all_regressions:
        sums = Sums.of(own, statistics)
        within, cross = sums.scatter[..., :-1, :-1], sums.scatter[..., :-1, -1]
        sd = np.sqrt(np.diagonal(_without_rounding(sums), axis1=-2, axis2=-1))
        smallest = np.linalg.eigvalsh(_correlations(within, sd[..., :-1])).min(axis=-1, initial=np.inf)
        regular = (sums.n > 0) & (sd[..., :-1] > 0).all(axis=-1) & (smallest > RANK_TOLERANCE * own.width)
        solvable = np.where(regular[..., None, None], within, np.eye(own.width - 1))
        slopes = np.where(regular[..., None], linear.solved(solvable, cross), 0.0)
        squares = sums.squares(slopes)
        defined = regular & (squares > RANK_TOLERANCE * sd[..., -1] ** 2) & (sd[..., -1] > 0)
        lacking = np.argwhere(~defined & _possible(own, statistics.axes, tables, theta))
        if len(lacking):
            label, place = lacking[0]
            raise DoesNotExist(_reason(own, statistics.axes, sums, sd, label, place))
        intercept = sums.mean[..., -1] - (slopes * sums.mean[..., :-1]).sum(axis=-1)
        beta = np.concatenate([intercept[..., None], slopes], axis=-1)
        betas.append(np.where(defined[..., None], beta, 0.0).reshape(1, len(beta), -1))
        variances.append(np.where(defined, squares / np.maximum(sums.n, 1e-300), 1.0)[None])
    if not betas:
        return {}
    return {"beta": np.concatenate(betas, axis=2), "sigma2": np.concatenate(variances, axis=2)}


def _possible(own: Regression, axes: Axes, tables: ConditionalTables | None, theta: Parameters) -> NDArray[np.bool_]:
    """Return whether each configuration of a number's parents has a probability above 0, (outcome, configuration)."""
    if tables is None or not own.given:
        return np.ones((len(axes.labels), own.count), dtype=bool)
    codes = np.full((own.count, len(axes.features)), MISSING)
    codes[:, own.given] = np.stack(np.unravel_index(np.arange(own.count), own.sizes), axis=1)
    return np.asarray(-np.inf < tables.log_density(codes[:, are_categories(axes)], theta)[0].T)


def _without_rounding(sums: Sums) -> Array:
    """Return the scatters, (outcome, configuration, column, other column), a constant column's diagonal set to 0."""
    diagonal = np.diagonal(sums.scatter, axis1=-2, axis2=-1)
    n = np.broadcast_to(sums.n[..., None], diagonal.shape)
    cells = Moments(Axes((), ()), n, sums.mean, diagonal).without_rounding()
    out = sums.scatter.copy()
    columns = np.arange(out.shape[-1])
    out[..., columns, columns] = cells
    return out


def _correlations(within: Array, sd: Array) -> Array:
    """Return scatters (…, column, other column) as correlations, 0 of a constant column."""
    unit = np.where(sd > 0, sd, 1.0)
    return np.asarray(within / unit[..., :, None] / unit[..., None, :])


def _reason(own: Regression, axes: Axes, sums: Sums, sd: Array, label: int, place: int) -> str:
    """Return why a class and configuration has no estimate, given the square roots of the scatters' diagonals."""
    _, of_regressions = regressions.names(axes, [own])
    name, _, where = of_regressions[place].partition(" | ")
    who, where = f"class {axes.labels[label]!r} has", f" where {where}" if where else ""
    parents, sd = [repr(axes.features[i]) for i in own.on], sd[label, place]
    on = f" and of {', '.join(parents)}" if parents else ""
    if sums.n[label, place] == 0:
        return f"{who} no value in column {name!r}{on}{where}"
    if sd[-1] == 0 or sums.n[label, place] <= own.width:
        return f"{who} too few different values in column {name!r}{on}{where} for a variance by maximum likelihood"
    if constant := list(compress(parents, sd[:-1] == 0)):
        return f"{who} one value only in column {constant[0]}{where}, so that {name!r} has no slope on it"
    values, vectors = np.linalg.eigh(_correlations(sums.scatter[label, place, :-1, :-1], sd[:-1]))
    if len(parents) > 1 and values[0] <= RANK_TOLERANCE * own.width:
        together = compress(parents, np.abs(vectors[:, 0]) > NO_PART)
        return (
            f"{who} collinear columns {joined(together)}{where}, so that the slopes of {name!r} on them are not unique "
            "by maximum likelihood; leave one of them out, or take the rule 'map', whose prior makes them unique"
        )
    return (
        f"{who} values of column {name!r}{where} that are a linear function of {joined(parents)}, so that their "
        "variance by maximum likelihood is 0"
    )
