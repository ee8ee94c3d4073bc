"""Rows that differ from others: new rows from the training rows, observed rows from those that the model simulates."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, logsumexp

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.finding import Answer, NotApplicable, passed, tip
from bayesclf.evaluation.predictive_checks import p_value_table, predictive_check
from bayesclf.families.base import UNSEEN
from bayesclf.models.base import Rows
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.logistic.centered import CenteredRows, Matrix, dense, gram, with_ones
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.posterior import averaging
from bayesclf.typing import Array
from bayesclf.wording import listed, part_of

TASK_ROWS = 1024
"""Rows of a sparse table that are looked at together."""

RIDGE = 1e-9
"""Added to the variances, per row, so that directions without variation in the training rows have positive variance."""


@check("Y06", "New rows far from the training rows", "rows given as new=")
def far_rows(context: Context) -> Answer:
    """Name the rows that are further out than every training row, and count levels that no training row has.

    Rows from the same distribution as the n training rows may be further out than all of these by chance: at least k
    of m with probability m!(n + m − k)!/((m − k)!(n + m)!), that the k furthest of all n + m rows are new. A single
    row is reported if it is so much further out than any training row that chance does not explain it either. Tails
    heavier than exponential are an exception: columns with heavier tails than the model's have such rows without error.

    The distance is −log p(x | D) for a generative model: that of the known cells of each new row, against the same
    cells of held-out training rows. For logistic regression it is the leverage, the Mahalanobis distance of the
    numbers, each training row's own from the others.
    """
    new = context.new_rows
    distance, furthest, spread, known = _compared(context)
    unseen = _unseen(new.rows)
    far = distance > furthest
    asked = int(np.isfinite(furthest).sum())
    beyond = 1 + np.flatnonzero(distance > far_limit(furthest, spread, known, asked))
    columns = {"distance": distance, "furthest_known": furthest, "unseen_levels": unseen}
    evidence = pd.DataFrame({"row": 1 + np.arange(len(unseen)), **columns})[far | (unseen > 0)]
    evidence = evidence.sort_values("distance", ascending=False, ignore_index=True)
    says = f"{int(far.sum())} of {asked} new rows are further out than each of {known} training rows"
    reasons = []
    if exceedance(int(far.sum()), known, asked) < thresholds.SIGNIFICANCE:
        reasons.append(f"{says} (expected {asked / (known + 1):.1f})")
    if len(beyond):
        which = f"{len(beyond)} of {asked} new rows (counted from 1: {listed(beyond, thresholds.SHOWN)})"
        reasons.append(f"{which} are far beyond the furthest of {known} training rows")
    if unseen.any():
        reasons.append(f"{int((unseen > 0).sum())} of {len(unseen)} new rows have levels that no training row has")
    if reasons:
        return tip("; ".join(reasons), "look at these rows: there the answers extrapolate the model", evidence)
    return passed(says, evidence)


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


def far_limit(furthest: Array, spread: Array, known: int, asked: int) -> Array:
    """Return the distance that a row of `asked` passes with probability `SIGNIFICANCE` at most, in exponential tails.

    The furthest of n rows is about log n scales out; the furthest of m exceeds log(m/α) scales with probability α. The
    spread s estimates log n scales. It is added to the furthest instead of the median, as both vary between samples:
    furthest + s max(1, log(m/α)/log n).
    """
    ratio = np.log(asked / thresholds.SIGNIFICANCE) / np.log(max(known, 2)) if asked else 1.0
    return np.asarray(furthest + spread * max(1.0, ratio))


def _compared(context: Context) -> tuple[Array, Array, Array, int]:
    """Return how far out each new row is, the training rows that it is compared with, and their number.

    The first array is −log p(x | D) of the new rows, or their leverage. The second is the largest distance of the
    training rows, infinite where there are none to compare with, and the third by how much it exceeds their median.
    """
    model, new = context.classifier.model_, context.new_rows
    if isinstance(model, LogisticModel):
        own, others = leverages(model, context.training.rows, new.rows)
        furthest = np.full(len(others), own.max())
        return others, furthest, furthest - np.median(own), len(own)
    assert isinstance(model, GenerativeModel)
    if any(block.family.kind == "count" for block in model.blocks):
        raise NotApplicable("the probability of a document mostly reflects its length")
    _ = context.frame  # raises where there is none
    assert isinstance(new.table, pd.DataFrame)  # as the training rows are
    held_out = context.held_out
    table = context.training[held_out.numbers].X
    distance = -log_marginal(context.classifier, new.rows)
    furthest, spread = np.full(len(distance), np.inf), np.zeros(len(distance))
    absent, pattern_of, size = np.unique(new.table.isna().to_numpy(), axis=0, return_inverse=True, return_counts=True)
    for pattern in np.argsort(-size, kind="stable")[: thresholds.MAX_PATTERNS]:
        masked = table.assign(**dict.fromkeys(table.columns[absent[pattern]], np.nan))
        known = -np.concatenate([log_marginal(fit, fit.rows(masked.iloc[asked])) for fit, asked in held_out.fits])
        of_pattern = pattern_of.ravel() == pattern
        furthest[of_pattern], spread[of_pattern] = known.max(), known.max() - np.median(known)
    return distance, furthest, spread, len(table)


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
        shown = "; ".join(_said(line) for _, line in found.head(thresholds.SHOWN).iterrows())
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
    if not found["column"].all():
        steps.append("look for dependent columns and over-confidence (Y03), which makes a class too frequent")
    return "; ".join(steps)


def _said(line: pd.Series) -> str:
    what = f"{line['statistic']} of {line['column']!r} in class" if line["column"] else f"{line['statistic']} of"
    return (
        f"{what} {line['outcome']!r} is {line['observed']:.3g}, replicated {line['replicated']:.3g} ± {line['sd']:.2g}"
    )
