"""Concentrations α of classifiers: given, or learned, and what a fit says of those that it has learned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayesclf.errors import InputError
from bayesclf.families.base import Axes, Family
from bayesclf.families.hierarchical import LEAVE_ONE_OUT, LearntAlpha, Smoothed
from bayesclf.families.simplexes import SimplexFamily
from bayesclf.families.wrapper import Wrapper
from bayesclf.typing import Array
from bayesclf.wording import AND_MORE, LISTED_NAMES, listed

LEARNED = "learned"
"""`alpha` where it is learned from the rows."""
LEAST_LEVELS = 10
"""Levels of a categorical column from which its α is learned by default: below, α is little against the counts."""

type Concentration = float | Array | str | LearntAlpha


def concentration(alpha: Concentration, least_levels: int = 1) -> float | Array | LearntAlpha:
    """Return the α of a family from that of a classifier: ``"learned"`` is by leave-one-out."""
    if not isinstance(alpha, str):
        return alpha
    if alpha != LEARNED:
        raise InputError(f"alpha must be a number above 0, {LEARNED!r} or a LearntAlpha, not {alpha!r}")
    return LearntAlpha(LEAVE_ONE_OUT, least_levels=least_levels)


def settings_of(family: Family[Any]) -> LearntAlpha | None:
    """Return how the α of a family as the user gave it is learned; None where it is not."""
    if isinstance(family, Wrapper) and not isinstance(family, Smoothed):
        return settings_of(family.family)
    alpha = family.alpha if isinstance(family, SimplexFamily) else None
    return alpha if isinstance(alpha, LearntAlpha) else None


def learned_alpha(given: Family[Any], resolved: Family[Any], statistics: Any) -> Array | None:
    """Return the α that was learned for each feature, (feature), NaN where it was not; None where none was.

    Parameters
    ----------
    given
        The family as the user gave it.
    resolved
        With its prior in numbers; an α that has a posterior is in its draws.
    statistics
        Those of the block.
    """
    settings = settings_of(given)
    if settings is None or isinstance(resolved, Smoothed):
        return None
    family: Any = resolved.family if isinstance(resolved, Wrapper) else resolved
    tables = family.tables(statistics)
    first = np.concatenate(([0], np.cumsum(tables.sizes)[:-1]))
    alpha = np.where(settings.learned(tables), family.simplexes()[0][0, first], np.nan)
    return None if np.isnan(alpha).all() else np.broadcast_to(alpha, len(statistics.axes.features))


def about_concentrations(given: Family[Any], resolved: Family[Any], statistics: Any) -> Iterator[str]:
    """Say which α was learned, and how; parameters as in `learned_alpha`."""
    alpha, settings = learned_alpha(given, resolved, statistics), settings_of(given)
    if alpha is None or settings is None:
        return
    if settings.method == LEAVE_ONE_OUT and settings.value is None:
        yield (
            f"the concentration is α = {alpha[0]:g}, as it cannot be learned from rows that come in parts: leaving one "
            "out needs all of them; give alpha a number, or call fit"
        )
        return
    how = "by leaving out one row at a time" if settings.method == LEAVE_ONE_OUT else "by evidence"
    yield f"the concentration was learned {how}: {_values(alpha, statistics.axes)}"


def _values(alpha: Array, axes: Axes) -> str:
    """Return α (feature) in words: one number where they all are the same."""
    learned = ~np.isnan(alpha)
    if learned.all() and (alpha == alpha[0]).all():
        return f"α = {alpha[0]:.3g}"
    pairs = zip(axes.features, alpha, strict=True)
    named = [f"α = {value:.3g} of column {name!r}" for name, value in pairs if not np.isnan(value)]
    return listed(named, LISTED_NAMES, AND_MORE)
