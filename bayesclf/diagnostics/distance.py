"""Rows that differ from others: new rows from the training rows, observed rows from those that the model simulates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln, logsumexp

from bayesclf.arrays import Array
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.diagnosis import Answer, passed, tip
from bayesclf.diagnostics.held_out import NotApplicable, Undecided
from bayesclf.evaluation.predictive_checks import p_value_table, predictive_check
from bayesclf.interpretation.predictions import far_numbers
from bayesclf.models import Model
from bayesclf.posterior import averaging
from bayesclf.tables.columns import UNSEEN, Rows
from bayesclf.wording import flagged_rows, named, part_of


@check("Y06", "New rows far from the training rows", "generative models, rows given as new=")
def far_rows(context: Context) -> Answer:
    """Name new rows that are less probable than every held-out training row, or have unknown levels or far numbers.

    The distance is −log p(x | D) of rows without missing cells. Rows from the same distribution as the n training rows
    may be further out than all of these by chance. At least k of m are with the probability that the k furthest of all
    n + m rows are new, m!(n + m − k)!/((m − k)!(n + m)!). A single row is reported if it is so far beyond any training
    row that exponential tails do not explain it. So is a single number far outside the range of its column, which a
    sum over many columns may hide.
    """
    model = context.classifier.model_
    if not model.generative:
        raise NotApplicable("the model does not say how probable a row is; ask a generative one, such as NaiveBayes")
    if any(block.family.kind == "count" for block in model.blocks):
        raise NotApplicable("the probability of a document mostly reflects its length")
    new, table = context.new_rows, context.frame
    parts = [table.iloc[test].dropna() for _, test in context.splits]
    rows = [(fit, part) for fit, part in zip(context.fits, parts, strict=False) if len(part)]
    known = -np.concatenate([np.zeros(0), *(log_marginal(fit, fit.rows(own)) for fit, own in rows)])
    if len(known) < thresholds.MIN_COMPARED_ROWS:
        raise Undecided(f"only {len(known)} training rows have no missing cell, too few to compare new rows with")
    assert isinstance(new.table, pd.DataFrame)  # as the training rows are
    asked = new.table.notna().all(axis=1).to_numpy()
    distance = np.where(asked, -log_marginal(context.classifier, new.rows), -np.inf)
    unseen, far = _unseen(new.rows), distance > known.max()
    beyond = distance > far_limit(known, int(asked.sum()))
    outside = np.full(len(new), "", dtype=object)
    for name, cells in far_numbers(new.table, context.classifier.columns_, len(new)).items():
        outside[cells & (outside == "")] = name
    columns = {"row": 1 + np.arange(len(far)), "distance": distance, "unseen_levels": unseen, "outside": outside}
    evidence = pd.DataFrame(columns)[far | (unseen > 0) | (outside != "")]
    evidence = evidence.sort_values("distance", ascending=False, ignore_index=True)
    of, are = "" if asked.all() else " complete", "is" if far.sum() == 1 else "are"
    says = f"{far.sum()} of {asked.sum()}{of} new rows {are} less probable than all {len(known)} training rows"
    reasons = []
    if exceedance(int(far.sum()), len(known), int(asked.sum())) < thresholds.SIGNIFICANCE:
        reasons.append(f"{says} (expected {asked.sum() / (len(known) + 1):.1f})")
    if beyond.any():
        are = "is" if beyond.sum() == 1 else "are"
        reasons.append(f"{flagged_rows(beyond)}, counted from 1, {are} much less probable than any training row")
    if (outside != "").any():
        has = "has" if (outside != "").sum() == 1 else "have"
        names = named(list(dict.fromkeys(outside[outside != ""])))
        which = f"{flagged_rows(outside != '')}, counted from 1"
        reasons.append(f"{which}, {has} numbers far outside the training rows' range ({names})")
    if unseen.any():
        has = "has" if (unseen > 0).sum() == 1 else "have"
        reasons.append(f"{int((unseen > 0).sum())} of {len(unseen)} new rows {has} new levels")
    if reasons:
        step = "look at these rows, clf.explain(X_new): the model extrapolates there"
        return tip("; ".join(reasons), step, evidence)
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


def far_limit(known: Array, asked: int) -> float:
    """Return the distance that a row of `asked` passes with probability `SIGNIFICANCE` at most, in exponential tails.

    The furthest of n rows is about log n scales out; the furthest of m exceeds log(m/α) scales with probability α. The
    spread s of the known rows, from median to furthest, estimates log n scales. It is added to the furthest instead of
    the median, as both vary between samples: furthest + s max(1, log(m/α)/log n).
    """
    spread = known.max() - np.median(known)
    ratio = np.log(max(asked, 1) / thresholds.SIGNIFICANCE) / np.log(max(len(known), 2))
    return float(known.max() + spread * max(1.0, ratio))


def log_marginal(classifier: BayesClassifier, rows: Rows) -> Array:
    """Return log p(x | D), (row): in closed form, or averaged over the draws."""
    joint = classifier.model_.log_predictive(rows)
    found = np.full(len(rows), np.nan) if joint is None else np.asarray(logsumexp(joint, axis=1))
    by_draws = np.flatnonzero(np.isnan(found))
    if len(by_draws):
        joint = averaging.log_joint(classifier.hypotheses("posterior"), rows[by_draws])
        found[by_draws] = logsumexp(joint, axis=1)
    return found


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
        shown = "; ".join(_said(line, families) for _, line in found.head(SAID).iterrows())
        return tip(
            f"{len(found)} of {scope} differ from {thresholds.PREDICTIVE_DRAWS} replicated data sets: {shown}",
            f"{_next_step(found, context.classifier)}; see clf.predictive_check(X, y)",
            found,
        )
    least = f"smallest adjusted p-value {table['adjusted_p_value'].min():.2f}"
    return passed(
        f"none of {scope}, all of single columns, differs from {thresholds.PREDICTIVE_DRAWS} replicated "
        f"data sets ({least})",
        table.head(1),
    )


def _next_step(found: pd.DataFrame, classifier: Any) -> str:
    """Return what mends the differences and has not been done."""
    steps = []
    if columns := set(found["column"]) - {""}:
        families, choices = getattr(classifier, "families", "gaussian"), getattr(classifier, "choices_", ())
        other = ", or let the rows choose its family: bc.NaiveBayes(families='auto')"
        if columns <= {name for chosen in choices for name in chosen.features}:
            other = ""
        elif families == "auto" or not isinstance(families, str):
            other = ", or leave it out of blocks, so that the rows choose its family"
        steps.append(f"transform the column{other}")
    counts = found["statistic"].isin(["class_count", "class_count_given_x"])
    if counts.any():
        steps.append("look for dependent columns and over-confidence (Y02), which can make a class too frequent")
    return "; ".join(steps)


SAID = 2
"""Statistics that a sentence tells; the evidence has all."""

STATISTICS = {"shape": "distance from a normal shape"}
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
