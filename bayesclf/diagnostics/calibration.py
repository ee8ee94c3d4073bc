"""Checks of predictions of held-out rows: do they beat the class shares, can one believe them, do rules agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.diagnosis import Answer, issue, passed, tip
from bayesclf.diagnostics.held_out import HeldOut, NotApplicable
from bayesclf.errors import Refused
from bayesclf.evaluation.judgments import Z_GAIN, Estimate
from bayesclf.evaluation.score_table import (
    BASELINE,
    calibration,
    gain,
    less_confident,
    mean,
    over_confidence,
    row_losses,
    standing_of_shares,
)
from bayesclf.interpretation.dependence import JOIN, dependent_pairs, may_help
from bayesclf.tables.columns import row_numbers
from bayesclf.wording import joined, pair

SCORES = {"log_loss": "log loss", "brier": "Brier score"}


ONE_SIDED = 0.5
"""Share of a calibration error that confidence less accuracy must be, so that one of both is said to be too large."""


@check("Y01", "Gain over the class shares", "all models")
def baseline(context: Context) -> Answer:
    """Compare the proper scores with those of a classifier that knows only the class shares.

    A column that determines the label on every row may make them too good, and so may repeated rows. Where a gain that
    matters is within the error of both, there are too few rows to tell, and the check has no answer. Log loss and Brier
    score of held-out rows are paired by row. The gain in log loss is clear where the verdict of a page calls it so.
    """
    answers = context.held_out
    answers.require_own()
    evidence = _gains(answers)
    if context.too_good:
        reasons, remedies = zip(*context.too_good, strict=True)
        return issue("; ".join(reasons), "; ".join(remedies), evidence)
    losses = row_losses(answers, answers.best)
    infinite = int(np.isinf(losses).sum())
    where = f"({answers.setting}, rule {answers.own!r})"
    log_loss, brier = evidence[answers.own]
    against = "against {:.3f} and {:.3f} of the".format(*evidence["class_shares"])
    says = f"log loss {log_loss:.3f} and Brier score {brier:.3f} {against} class shares alone {where}"
    if infinite:
        return issue(
            f"the true class of {infinite} of {len(losses)} held-out rows has predicted probability 0 {where}",
            "use a rule with smoothing: clf.predict_proba(X, rule='bayes-optimal') (--rule bayes-optimal)",
            evidence,
        )
    if (evidence["better"] == "no").any():
        step = "see over-confidence (Y02)"
        return issue(f"{says}: the class shares alone are better", step, evidence)
    small = evidence["better"] != "yes"
    if not small.any():
        return passed(says, evidence)
    lines = evidence.loc[small, ["score", "gain", "gain_se"]].itertuples(index=False, name=None)
    each = " and ".join(f"{SCORES[score]} ({Estimate(gain, error)})" for score, gain, error in lines)
    within = f"{says}: the gain in {each} is not clear"
    possible = evidence["gain"] + Z_GAIN * evidence["gain_se"] > thresholds.MIN_GAIN * evidence["class_shares"]
    if possible.all():
        return Answer("undecided", "none", within, "", evidence)
    return tip(
        within,
        may_help([context.classifier], context.X, context.y)
        if small.all()
        else "see over-confidence (Y02): a few confidently wrong rows may outweigh the others",
        evidence,
    )


def _gains(answers: HeldOut) -> pd.DataFrame:
    """Return the gain over the class shares in each score, and whether it is clear."""
    lines = []
    for name in SCORES:
        mine, found = row_losses(answers, answers.best, name), gain(answers, answers.best, name)
        theirs = mean(answers, BASELINE, name)
        state = found.state
        if name == "log_loss" and state != "no":
            state = "yes" if standing_of_shares(answers, answers.best).kind == "behind" else "undecided"
        lines.append((name, mine[np.isfinite(mine)].mean(), theirs, found.mean, found.error, state))
    return pd.DataFrame(lines, columns=["score", answers.own, "class_shares", "gain", "gain_se", "better"])


@check("Y02", "Calibration and over-confidence", "all models")
def confidence(context: Context) -> Answer:
    """Compare confidence with accuracy, and the calibration error with what calibrated probabilities would show.

    Calibrated probabilities are right as often as they say: of the answers with 80%, eight in ten. A binned error
    exceeds 0 even for these, so labels are simulated from the probabilities to see by how much. What averaging over the
    posterior removes is the over-confidence of one estimate. What it leaves comes from few rows, from the prior or from
    what the model assumes: for naive Bayes that columns are independent (Aberdeen: posteriors "often unrealistically
    close to 1 or 0"). The rule ``"tempered"`` mends most of it without a cause.
    """
    answers = context.held_out
    answers.require_own()
    gap = over_confidence(answers, answers.best)
    evidence = _by_rule(answers)
    line: Any = evidence.set_index("rule").loc[answers.own]
    sure = np.exp(answers.stacked(*answers.best)[0].max(axis=1)).mean()
    accuracy = 1 - mean(answers, answers.best, "error")
    says = (
        f"mean confidence {sure:.3f}, accuracy {accuracy:.3f} (difference {gap}); calibration error "
        f"{pair(line['calibration_error'], line['calibration_error_se'])}, where calibrated probabilities would show "
        f"{line['calibration_expected']:.3f} "
        f"(p = {line['p_value']:.3f}, limit {thresholds.SIGNIFICANCE}; rule {answers.own!r}, {answers.setting})"
    )
    excess = line["calibration_error"] - line["calibration_expected"]
    off = line["p_value"] < thresholds.SIGNIFICANCE and excess > thresholds.MIN_CALIBRATION_EXCESS
    if not gap.matters and not off:
        return passed(says, evidence)
    if not gap.matters and gap.mean < ONE_SIDED * line["calibration_error"]:
        both = gap.mean > -ONE_SIDED * line["calibration_error"]
        kind = "too sure in some places and not sure enough in others" if both else "under-confident"
        return issue(f"{kind}: {says}", "do not read the probabilities as frequencies", evidence, "moderate")
    cure, pairs = less_confident(answers, answers.best), _pairs(context)
    reasons, steps = [f"over-confident: {says}"], []
    if cure:
        loss = evidence.set_index("rule")["log_loss"]
        left = f"leaves {over_confidence(answers, ('', cure))}: log loss {loss[answers.own]:.3f} → {loss[cure]:.3f}"
        reasons.append(f"rule {cure!r} {left}")
        steps.append(f"use that rule: clf.predict_proba(X, rule={cure!r}) (--rule {cure}).")
    if pairs:
        reasons.append(pairs)
        steps.append(JOIN)
    other = "compare models: bc.compare({'nb': clf, 'lr': bc.LogisticRegression()}, X, y) (bayesclf compare TABLE)"
    step = " ".join(steps).rstrip(".") or other
    return issue("; ".join(reasons), step, evidence, "severe" if gap.matters else "moderate")


def _by_rule(answers: HeldOut) -> pd.DataFrame:
    """Return the over-confidence, the calibration error and the log loss of each rule."""
    lines = []
    for rule in answers.answered:
        gap = over_confidence(answers, ("", rule))
        key = ("", rule)
        lines.append((rule, gap.mean, gap.error, *calibration(answers, key), mean(answers, key, "log_loss")))
    judged = ["calibration_error", "calibration_error_se", "calibration_expected", "p_value"]
    return pd.DataFrame(lines, columns=["rule", "over_confidence", "over_confidence_se", *judged, "log_loss"])


def _pairs(context: Context) -> str:
    """Return which columns the model wrongly takes for independent, as a clause; empty where none stands out."""
    try:
        return dependent_pairs(context.classifier, context.X, context.y).sentence
    except Refused:
        return ""


@check("Y05", "Rows where the rules disagree", "fits with a posterior")
def disagreement(context: Context) -> Answer:
    """Name the held-out rows with different most probable classes under the rules; rows are counted from 1.

    They are reported where they are more than `MAX_DISAGREEMENT` of all rows that are like them, by a binomial test.
    """
    answers = context.held_out
    usual = {"map", "bayes-optimal", "predictive", answers.own} - {"gibbs"}
    decided = {rule: found.log_proba.argmax(axis=1) for rule, found in answers.answered.items() if rule in usual}
    if len(decided) < 2:
        raise NotApplicable("only one rule could answer")
    codes = np.column_stack(list(decided.values()))
    differ = np.flatnonzero((codes != codes[:, :1]).any(axis=1))
    classes = context.training.classes
    numbers = row_numbers(context.training.table, answers.tested[0][differ])
    shown = {"row": numbers, "label": classes[answers.labels[differ]]}
    shown |= {rule: classes[code[differ]] for rule, code in decided.items()}
    evidence = pd.DataFrame(shown)
    which = f"{len(differ)} of {len(codes)} held-out rows{' of the first repeat' * (answers.repeats > 1)}"
    rules = joined(f"{rule!r}{' (given the new row)' * (rule == 'predictive')}" for rule in decided)
    says = f"{rules} decide {which} differently"
    if stats.binom.sf(len(differ) - 1, len(codes), thresholds.MAX_DISAGREEMENT) < thresholds.SIGNIFICANCE:
        return tip(
            says,
            "look at these rows (bayesclf compare TABLE --report FILE.html lists them) and at clf.predict_interval(X)",
            evidence,
        )
    return passed(says, evidence)
