"""Checks of the confidence of held-out predictions: does it exceed accuracy, why, and do rules agree."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.causes import AVERAGING, Step, explain, gap_of
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.finding import Answer, NotApplicable, Skipped, issue, passed, tip
from bayesclf.diagnostics.held_out import HeldOut
from bayesclf.typing import Array


@check("Y03", "Over-confidence and its cause", "all models")
def over_confidence(context: Context) -> Answer:
    """Compare confidence with accuracy, under a point estimate and averaged; refits test the causes of what remains.

    What averaging over the posterior removes is the over-confidence of one estimate. What it leaves comes from few
    rows, from the prior or from what the model assumes: for naive Bayes that columns are independent (Aberdeen:
    posteriors "often unrealistically close to 1 or 0"). One of these is named only if refits rule out the others.
    """
    answers = context.held_out
    gaps = {rule: gap_of(found, answers.y) for rule, found in answers.answered.items()}
    answers.of(answers.own)  # raises where the classifier's own rule could not answer
    own = Step.of(gaps[answers.own])
    reference, against = _reference(context)
    if reference is not None:
        gaps["reference"] = reference
    evidence, where = _table(gaps, answers), f"({answers.setting}{against})"
    if not own.matters:
        plugged_in = gaps.get("map", gaps.get("mean"))
        spared = ""
        if answers.own in AVERAGING and plugged_in is not None and Step.of(plugged_in).matters:
            removed = Step.of(plugged_in - gaps[answers.own])
            spared = f", where a plug-in estimate would have {Step.of(plugged_in)}: averaging removes {removed}"
        under = "under-confident, not over-confident: " if Step(-own.mean, own.error).matters else ""
        return passed(f"{under}confidence minus accuracy {own} under rule {answers.own!r}{spared} {where}", evidence)
    says = f"confidence exceeds accuracy by {own} under rule {answers.own!r} {where}"
    rule, remains, steps = answers.own, own, []
    averaged = next((name for name in AVERAGING if name in gaps), None)
    if answers.own not in AVERAGING and averaged is not None:
        removed, rule, remains = Step.of(gaps[answers.own] - gaps[averaged]), averaged, Step.of(gaps[averaged])
        says = f"{says}; averaging over the posterior removes {removed} and leaves {remains}"
        if removed.matters:
            steps.append(f"take the rule {averaged!r}")
        if not remains.matters:
            return issue(f"{says}, within its error", "; ".join(steps) or "gather more rows", evidence)
    explanation = explain(context, rule)
    table = pd.concat([evidence, explanation.table], ignore_index=True)
    steps.append(explanation.next_step)
    return issue(f"{says}; {explanation}", "; ".join(steps), table)


def _reference(context: Context) -> tuple[Array | None, str]:
    """Return the other model's gaps (row), under its best rule, and the name of that model or why there is none."""
    try:
        other = context.reference
    except Skipped as reason:
        return None, f"; {reason}"
    for rule in ("bayes-optimal", "map"):
        if rule in other.answered:
            return gap_of(other.answered[rule], other.y), f"; against {type(other.fits[0][0]).__name__}"
    return None, "; the model to compare with could not answer"


def _table(gaps: dict[str, Array], answers: HeldOut) -> pd.DataFrame:
    """Return the over-confidence and the log loss by rule."""
    log_loss = {rule: found.log_loss.mean() for rule, found in answers.answered.items()}
    steps = {rule: Step.of(gap) for rule, gap in gaps.items()}
    lines = [(rule, step.mean, step.error, log_loss.get(rule, np.nan)) for rule, step in steps.items()]
    return pd.DataFrame(lines, columns=["rule", "over_confidence", "standard_error", "log_loss"])


@check("Y05", "Rows where the rules disagree", "fits with a posterior")
def disagreement(context: Context) -> Answer:
    """Name the held-out rows with different most probable classes under the rules; rows are counted from 1.

    They are reported where they are more than `MAX_DISAGREEMENT` of all rows that are like them, by a binomial test.
    """
    answers = context.held_out
    decided = {rule: found.log_proba.argmax(axis=1) for rule, found in answers.answered.items() if rule != "gibbs"}
    if len(decided) < 2:
        raise NotApplicable("only one rule could answer")
    codes = np.column_stack(list(decided.values()))
    differ = np.flatnonzero((codes != codes[:, :1]).any(axis=1))
    classes = context.training.classes
    labels = {"row": 1 + answers.numbers[differ], "label": classes[answers.y[differ]]}
    chosen = {rule: classes[code[differ]] for rule, code in decided.items()}
    evidence = pd.DataFrame(labels | chosen).sort_values("row", ignore_index=True)
    which = f"{len(differ)} of {len(codes)} held-out rows"
    says = f"{', '.join(map(repr, decided))} decide {which} differently ({answers.setting})"
    if stats.binom.sf(len(differ) - 1, len(codes), thresholds.MAX_DISAGREEMENT) < thresholds.SIGNIFICANCE:
        return tip(
            f"{says}: there the answer depends on the rule",
            "look at these rows and their intervals, clf.predict_interval(X); more rows would decide them",
            evidence,
        )
    return passed(says, evidence)
