"""The terms of log-odds, column by column, summed up over the hypotheses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from bayesclf.classifiers.training import MISSING_SUFFIX
from bayesclf.families.base import Rows
from bayesclf.families.contributions import LogOdds, log_odds
from bayesclf.families.terms import Pair
from bayesclf.hypothesis_set import Hypotheses
from bayesclf.seeded import SeededHypotheses
from bayesclf.typing import Array, Integers

BLOCK_BYTES, GATHERED_BYTES = 2**26, 2**28
"""Sizes of one array (draw, entry): of draws that are held, and of those that every block of rows makes anew."""


@dataclass(frozen=True, eq=False)
class TermSummary:
    """The terms of a block of rows: means over the hypotheses and, with an interval, its bounds.

    Attributes
    ----------
    row, columns
        Row in the block and columns of each term, (term); no columns for the constant, which comes first in its row.
    counts
        Count of a word, (term), NaN where the term is about no count.
    terms, totals
        Of each term and of each row's sum: (term, 1 or 3), (row, 1 or 3).
    """

    row: Integers
    columns: list[tuple[str, ...]]
    counts: Array
    terms: Array
    totals: Array


def summaries(
    hypotheses: Hypotheses | SeededHypotheses, rows: Rows, pair: Pair, places: Mapping[str, int], ci_prob: float | None
) -> Iterator[TermSummary]:
    """Yield the terms of blocks of rows.

    Parameters
    ----------
    hypotheses
        One, or a posterior.
    rows, pair
        Encoded rows and the two classes of each.
    places
        Position of each training column: the order of the terms of a row.
    ci_prob
        Probability of the equal-tailed intervals; None for none.
    """
    for block in _blocks(hypotheses, rows):
        yield _summary(_of_all_parts(hypotheses, rows[block], pair[block]), places, ci_prob)


def _blocks(hypotheses: Hypotheses | SeededHypotheses, rows: Rows) -> Iterator[slice]:
    """Return slices of rows whose terms of all draws stay within `BLOCK_BYTES`, or `GATHERED_BYTES`."""
    # the size of a sparse table is the number of cells that are stored
    entries = sum(part.size + len(rows) for part in rows.parts)
    per_row = 8 * len(hypotheses) * max(1.0, entries / max(1, len(rows)))
    size = max(1, int((GATHERED_BYTES if hypotheses.in_parts else BLOCK_BYTES) // per_row))
    return (slice(start, min(start + size, len(rows))) for start in range(0, len(rows), size))


def _of_all_parts(hypotheses: Hypotheses | SeededHypotheses, rows: Rows, pair: Pair) -> LogOdds:
    """Return the terms under all hypotheses, which may come in parts."""
    parts = [log_odds(part.model, rows, part.parameters, pair) for part in hypotheses.parts()]
    values = np.concatenate([part.terms.values for part in parts])
    return LogOdds(np.concatenate([part.constant for part in parts]), replace(parts[0].terms, values=values))


def _summary(found: LogOdds, places: Mapping[str, int], ci_prob: float | None) -> TermSummary:
    """Add up what belongs to one column, and sum up over the hypotheses."""
    rows, entries = found.constant.shape[1], found.terms
    used, place = np.unique(entries.feature, return_inverse=True)
    homes = [_home(entries.features[j], places) for j in used]
    names = sorted(set(homes), key=lambda columns: (places.get(columns[0], len(places)), columns))
    number = {columns: index for index, columns in enumerate(names, 1)}
    # a row's constant has number 0, its columns the others
    numbers = np.array([0, *(number[home] for home in homes)], dtype=np.intp)
    of_entry = np.concatenate([np.zeros(rows, dtype=np.intp), numbers[place + 1]])
    keys = np.concatenate([np.arange(rows), entries.row]) * (len(names) + 1) + of_entry
    terms, first, term = np.unique(keys, return_index=True, return_inverse=True)
    row, column = np.divmod(terms, len(names) + 1)
    values = _added(term, len(terms), np.concatenate([found.constant, entries.values], axis=1))
    return TermSummary(
        row,
        [names[j - 1] if j else () for j in column],
        np.concatenate([np.full(rows, np.nan), entries.counts])[first],
        _spread(values, ci_prob),
        _spread(_added(row, rows, values), ci_prob),
    )


def _home(columns: tuple[str, ...], places: Mapping[str, int]) -> tuple[str, ...]:
    """Return the column that an indicator of missing cells is about; other columns as they are."""
    base = columns[0].removesuffix(MISSING_SUFFIX)
    return (base,) if len(columns) == 1 and columns[0] not in places and base in places else columns


def _added(place: Integers, size: int, values: Array) -> Array:
    """Return sums of values (draw, entry) by their place, (draw, place)."""
    entries = (np.ones(len(place)), (place, np.arange(len(place))))
    with np.errstate(invalid="ignore"):
        return np.asarray((sparse.csr_array(entries, shape=(size, len(place))) @ values.T).T)


def _spread(values: Array, ci_prob: float | None) -> Array:
    """Return mean and, with an interval, its bounds over the draws of values (draw, place), (place, 1 or 3)."""
    with np.errstate(invalid="ignore"):
        mean = values.mean(axis=0)
    if ci_prob is None:
        return mean[:, None]
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    # bounds are draws, as a mean of two infinite ones is none
    return np.column_stack([mean, *np.quantile(values, tails, axis=0, method="inverted_cdf")])
