"""Rows that differ from others: new rows from the training rows, observed rows from those that the model simulates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, logsumexp

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.diagnosis import Answer, passed, tip
from bayesclf.diagnostics.held_out import NotApplicable
from bayesclf.evaluation.predictive_checks import p_value_table, predictive_check
from bayesclf.models.base import Model, Rows
from bayesclf.models.logistic.centered import CenteredRows, Matrix, dense, gram, with_ones
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.posterior import averaging
from bayesclf.tables.columns import UNSEEN
from bayesclf.wording import listed, part_of

TASK_ROWS = 1024
"""Rows of a sparse table that are looked at together."""

RIDGE = 1e-9
"""Added to the variances, per row, so that directions without variation in the training rows have positive variance."""


@check("Y06", "New rows far from the training rows", "rows given as new=")
def far_rows(context: Context) -> Answer:
    """Name the rows that are further out than every training row, with a count of levels that none of these has.

    Rows from the same distribution as the n training rows may be further out than all of these by chance: at least k
    of m with probability m!(n + m − k)!/((m − k)!(n + m)!), that the k furthest of all n + m rows are new. A single
    row is reported if it is so much further out than any training row that chance does not explain it either. Tails
    heavier than exponential are an exception: columns with heavier tails than the model's have such rows without error.

    The distance is −log p(x | D) for a generative model: that of the known cells of each new row, against the same
    cells of the held-out training rows that have all of them. Where fewer than `MIN_COMPARED_ROWS` have them, the
    columns with most missing cells are left out of the comparison. For logistic regression it is the leverage, the
    Mahalanobis distance of the numbers, each training row's own from the others.
    """
    new = context.new_rows
    compared = _compared(context)
    unseen = _unseen(new.rows)
    far = compared.distance > compared.furthest
    asked = int(np.isfinite(compared.furthest).sum())
    beyond = 1 + np.flatnonzero(compared.distance > compared.limit(asked))
    columns = {"distance": compared.distance, "furthest_known": compared.furthest, "unseen_levels": unseen}
    evidence = pd.DataFrame({"row": 1 + np.arange(len(unseen)), **columns})[far | (unseen > 0)]
    evidence = evidence.sort_values("distance", ascending=False, ignore_index=True)
    which = f"each of {compared.scope} training rows"
    says = f"{int(far.sum())} of {asked} new rows are further out than {which}"
    reasons = []
    if compared.exceedance(far) < thresholds.SIGNIFICANCE:
        reasons.append(f"{says} (expected {compared.expected:.1f})")
    if len(beyond):
        rows = f"{len(beyond)} of {asked} new rows (counted from 1: {listed(beyond, thresholds.SHOWN)})"
        reasons.append(f"{rows} are far beyond the furthest of {compared.scope} training rows")
    if unseen.any():
        reasons.append(f"{int((unseen > 0).sum())} of {len(unseen)} new rows have levels that no training row has")
    if reasons:
        return tip("; ".join(reasons), "look at these rows: there the answers extrapolate the model", evidence)
    return passed(says, evidence)


@dataclass(frozen=True, eq=False)
class Distances:
    """How far out new rows are, and the training rows that each is compared with; all arrays are (row).

    Attributes
    ----------
    distance
        −log p(x | D) of the new rows, or their leverage.
    furthest
        The largest distance of the training rows that a new row is compared with, infinite where there are none.
    spread
        By how much `furthest` exceeds the median of these distances.
    known
        The number of these training rows.
    group
        A number for each set of training rows and cells that are compared.
    """

    distance: Array
    furthest: Array
    spread: Array
    known: Integers
    group: Integers

    @property
    def scope(self) -> str:
        """The numbers of training rows that new rows are compared with, in words."""
        known = self.known[np.isfinite(self.furthest)]
        if not known.size or known.min() == known.max():
            return str(known.max(initial=0))
        return f"{known.min()} to {known.max()}"

    @property
    def expected(self) -> float:
        """Number of rows that would be further out than their training rows by chance."""
        return float((1 / (self.known[np.isfinite(self.furthest)] + 1)).sum())

    def limit(self, asked: int) -> Array:
        """Return the distance from which a single one of `asked` rows is reported; see `far_limit`."""
        return np.array(
            [far_limit(f, s, n, asked) for f, s, n in zip(self.furthest, self.spread, self.known, strict=True)]
        )

    def exceedance(self, far: NDArray[np.bool_]) -> float:
        """Return the smallest p-value of a group of rows of which some are `far` (row), corrected for their number."""
        groups = np.unique(self.group[np.isfinite(self.furthest)])
        p_values = [
            exceedance(int(far[own].sum()), int(self.known[own][0]), int(own.sum()))
            for own in self.group == groups[:, None]
        ]
        return min(1.0, len(groups) * min(p_values, default=1.0))


def exceedance(far: int, known: int, asked: int) -> float:
    """Return P(at least `far` of the `asked` rows are further out than all `known`) where all rows are exchangeable.

    It is the probability that the `far` furthest rows of all are among the `asked` ones.

    Examples
    --------
    >>> round(exceedance(1, 99, 1), 6), exceedance(0, 99, 1)
    (0.01, 1.0)
    """
    ways = gammaln(asked + 1) - gammaln(asked - far + 1) + gammaln(known + asked - far + 1) - gammaln(known + asked + 1)
    return float(np.exp(ways))


def far_limit(furthest: float, spread: float, known: int, asked: int) -> float:
    """Return the distance that a row of `asked` passes with probability `SIGNIFICANCE` at most, in exponential tails.

    The furthest of n rows is about log n scales out; the furthest of m exceeds log(m/α) scales with probability α. The
    spread s estimates log n scales. It is added to the furthest instead of the median, as both vary between samples:
    furthest + s max(1, log(m/α)/log n).
    """
    ratio = np.log(asked / thresholds.SIGNIFICANCE) / np.log(max(known, 2)) if asked else 1.0
    return float(furthest + spread * max(1.0, ratio))


def _compared(context: Context) -> Distances:
    """Return how far out the new rows are, and the training rows that they are compared with."""
    model, new = context.classifier.model_, context.new_rows
    if isinstance(model, LogisticModel):
        own, others = leverages(model, context.training.rows, new.rows)
        one = np.ones(len(others))
        known, spread = len(own), own.max() - np.median(own)
        return Distances(others, own.max() * one, spread * one, np.full(len(others), known), np.zeros(len(others), int))
    if any(block.family.kind == "count" for block in model.blocks):
        raise NotApplicable("the probability of a document mostly reflects its length")
    _ = context.frame  # raises where there is none
    table = new.table
    assert isinstance(table, pd.DataFrame)  # as the training rows are
    distance = -log_marginal(context.classifier, new.rows)
    found = Distances(
        distance,
        np.full(len(distance), np.inf),
        np.zeros(len(distance)),
        np.zeros(len(distance), dtype=np.intp),
        np.zeros(len(distance), dtype=np.intp),
    )
    absent, pattern_of, size = np.unique(table.isna().to_numpy(), axis=0, return_inverse=True, return_counts=True)
    for pattern in np.argsort(-size, kind="stable")[: thresholds.MAX_PATTERNS]:
        _compare(context, found, np.flatnonzero(pattern_of.ravel() == pattern), absent[pattern])
    return found


def _compare(context: Context, found: Distances, own: Integers, absent: NDArray[np.bool_]) -> None:
    """Enter the training rows that some new rows, with the same missing cells, are compared with.

    Parameters
    ----------
    context
        Of the check.
    found
        The result, changed in place.
    own
        Positions of the new rows.
    absent
        Which of their cells are missing (feature).
    """
    held_out = context.held_out
    known_cells = context.frame.iloc[held_out.numbers].notna().to_numpy()
    used = _used(known_cells, ~absent)
    if not used.any():
        return
    if (used != ~absent).any():
        new = context.new_rows.table
        assert isinstance(new, pd.DataFrame)
        fewer = _masked(new.iloc[own], used)
        found.distance[own] = -log_marginal(context.classifier, context.classifier.encode(fewer))
    complete = known_cells[:, used].all(axis=1)
    table = _masked(context.frame.iloc[held_out.numbers], used)
    parts = [(fit, asked[complete[asked]]) for fit, asked in held_out.fits]
    known = -np.concatenate([log_marginal(fit, fit.rows(table.iloc[asked])) for fit, asked in parts if len(asked)])
    found.furthest[own], found.spread[own] = known.max(), known.max() - np.median(known)
    found.known[own], found.group[own] = len(known), own[0]


def _masked(table: pd.DataFrame, used: NDArray[np.bool_]) -> pd.DataFrame:
    """Return a table with all cells of the columns that are not used (feature) missing."""
    return table.assign(**dict.fromkeys(table.columns[~used], np.nan))


def _used(known: NDArray[np.bool_], present: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of the present columns (feature) are compared: those that enough training rows have all of.

    Parameters
    ----------
    known
        Which cells of the training rows are there, (row, feature).
    present
        Which cells of the new rows are there, (feature).
    """
    used = present.copy()
    least = min(thresholds.MIN_COMPARED_ROWS, len(known))
    while used.any() and known[:, used].all(axis=1).sum() < least:
        used[np.where(used, known.sum(axis=0), len(known) + 1).argmin()] = False
    return used


def leverages(model: LogisticModel, training: Rows, new: Rows) -> tuple[Array, Array]:
    """Return x(XᵀX)⁻¹x of training rows, each without itself in X, and of new rows; x are a one and the numbers.

    The leverage of a left-out row follows from its own leverage h as h/(1 − h).
    """
    numbers = len(model.design.varying)
    if not numbers:
        raise NotApplicable("the model has no column of numbers; for categories only unknown levels are counted")
    known, asked = (_ones_and_numbers(model.design, rows) for rows in (training, new))
    # The ridge exceeds rounding errors of collinear columns; a new row that violates the collinearity still stands out.
    products = gram(known, np.ones(len(known))) + RIDGE * len(known) * np.eye(1 + numbers)
    factor = np.linalg.cholesky(products)
    own, others = (_squares(factor, rows) for rows in (known, asked))
    return own / np.maximum(1 - own, RIDGE), others


def _ones_and_numbers(design: LogisticDesign, rows: Rows) -> Matrix:
    """Return a column of ones and the columns of numbers, (row, 1 + number)."""
    matrix = with_ones(design.matrix(rows))
    return matrix if isinstance(matrix, CenteredRows) else matrix[:, : 1 + len(design.varying)]


def _squares(factor: Array, X: Matrix) -> Array:
    """Return |L⁻¹x|² of each row (row), a few rows of a sparse table at a time."""
    size = TASK_ROWS if isinstance(X, CenteredRows) else len(X)
    parts = [dense(X[start : start + size]) for start in range(0, len(X), size)]
    return np.concatenate([np.square(np.linalg.solve(factor, part.T)).sum(axis=0) for part in parts])


def log_marginal(classifier: BayesClassifier, rows: Rows) -> Array:
    """Return log p(x | D), (row): in closed form, or averaged over the draws."""
    joint = classifier.model_.log_predictive(rows)
    if joint is not None:
        return np.asarray(logsumexp(joint, axis=1))
    hypotheses = classifier.hypotheses("posterior")
    parts = [averaging.conditional(hypotheses, rows[block]).log_x for block in averaging.blocks(hypotheses, rows)]
    return np.asarray(logsumexp(np.concatenate(parts), axis=1) - np.log(len(hypotheses)))


def _unseen(rows: Rows) -> NDArray[np.intp]:
    """Return how many cells have a level that the training rows lack, (row)."""
    counts = np.zeros(len(rows), dtype=np.intp)
    for part in rows.parts:
        if not sparse.issparse(part) and part.dtype.kind == "i":
            counts += (part == UNSEEN).sum(axis=1)
    return counts


@check("Y07", "Replicated data", "posteriors with draws in memory")
def replicated_data(context: Context) -> Answer:
    """Name the statistics that replicated data sets do not reproduce, by posterior predictive p-values.

    The statistics are class counts, and those of each column within each class; p-values are adjusted for their number.
    """
    _ = context.posterior, context.training  # raise where there is none
    if context.classifier.hypotheses("posterior").in_parts:
        raise NotApplicable("the draws are too large to keep in memory, so no data can be replicated from them")
    tree = predictive_check(context.classifier, context.X, context.y, thresholds.PREDICTIVE_DRAWS, prior=False)
    table = p_value_table(tree)
    found = table[table["adjusted_p_value"] < thresholds.SIGNIFICANCE]
    scope = f"{len(table)} statistics of {part_of(tree.attrs['rows'], tree.attrs['of_rows'], 'rows')}"
    if len(found):
        families = _families(context.classifier.model_)
        shown = "; ".join(_said(line, families) for _, line in found.head(thresholds.SHOWN).iterrows())
        return tip(
            f"{len(found)} of {scope} differ from {thresholds.PREDICTIVE_DRAWS} replicated data sets: {shown}",
            f"{_next_step(found)}; see clf.predictive_check(X, y)",
            found,
        )
    least = f"smallest adjusted p-value {table['adjusted_p_value'].min():.2f}"
    return passed(f"{scope} agree with {thresholds.PREDICTIVE_DRAWS} replicated data sets ({least})", table.head(1))


def _next_step(found: pd.DataFrame) -> str:
    steps = []
    if found["column"].any():
        steps.append("transform the column, or choose another family for it")
    counts = found["statistic"].isin(["class_count", "class_count_given_x"])
    if counts.any():
        steps.append("look for dependent columns and over-confidence (Y03), which makes a class too frequent")
    if (found["statistic"] == "word_repetition").any():
        steps.append("words of a document are not independent: replace counts by presences (BernoulliNB)")
    return "; ".join(steps)


STATISTICS = {
    "shape": "distance of the shape from a normal one,",
    "word_repetition": "share of equal pairs of words in a document",
}
"""Statistics in words, where the name is not enough."""


def _families(model: Model) -> dict[Any, str]:
    """Return the name of the family of each column, by its name; those of a joint block share one."""
    return {name: block.family.name for block in model.blocks for name in block.statistics.axes.features}


def _said(line: pd.Series, families: Mapping[Any, str]) -> str:
    name, family = STATISTICS.get(line["statistic"], line["statistic"]), families.get(line["column"])
    column = f"{line['column']!r}" + (f" ({family})" if family else "")
    what = f"{name} of {column} in class" if line["column"] else f"{name} of"
    return (
        f"{what} {line['outcome']!r} is {line['observed']:.3g}, replicated {line['replicated']:.3g} ± {line['sd']:.2g}"
    )
