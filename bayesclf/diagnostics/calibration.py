"""Checks of predictions of held-out rows: do they beat the class frequencies, are they calibrated, or too sure."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from bayesclf.arrays import Array
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.causes import AVERAGING, explain, gap_of
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.diagnosis import Answer, issue, passed, tip
from bayesclf.diagnostics.held_out import HeldOut, NotApplicable, Skipped
from bayesclf.evaluation import scores
from bayesclf.evaluation.judgments import Z_GAIN, Gain, Step
from bayesclf.evaluation.scores import RowScores
from bayesclf.tables.columns import row_numbers

SCORES = {"log_loss": "log loss", "brier": "Brier score"}


@check("Y01", "Gain over the class frequencies", "all models")
def baseline(context: Context) -> Answer:
    """Compare the proper scores with those of a classifier that knows only the class frequencies.

    Where a gain that matters is within the error of both, there are too few rows to tell, which is not reported. Log
    loss and Brier score of held-out rows are paired by row.
    """
    answers = context.held_out
    own = answers.of(answers.own)
    evidence = _gains(answers, own)
    infinite = int(np.isinf(own.log_loss).sum())
    where = f"({answers.setting}, rule {answers.own!r})"
    log_loss, brier = evidence[answers.own]
    against = "against {:.3f} and {:.3f} of the".format(*evidence["frequencies"])
    says = f"log loss {log_loss:.3f} and Brier score {brier:.3f} {against}"
    if infinite:
        return issue(
            f"{infinite} of {len(own.log_loss)} held-out rows have a class with predicted probability 0 {where}",
            "take a rule with smoothing, such as 'bayes-optimal' or 'predictive'",
            evidence,
        )
    if (evidence["better"] == "no").any():
        return issue(
            f"{says} class frequencies alone {where}: the probabilities are worse than none",
            "look at over-confidence (Y03) and at duplicate columns (M07); decisions may still be useful",
            evidence,
        )
    small = evidence["better"] != "yes"
    if not small.any():
        return passed(f"{says} frequencies {where}", evidence)
    within = f"{says} class frequencies alone {where}: {_within_error(evidence, small)}"
    possible = evidence["gain"] + Z_GAIN * evidence["gain_se"] > thresholds.MIN_GAIN * evidence["frequencies"]
    if possible.all():
        return passed(f"{within}; there are too few rows to tell it from none", evidence)
    return tip(
        within,
        "gather more rows, or columns that are informative about the class"
        if small.all()
        else "see over-confidence (Y03): a few confidently wrong rows outweigh the others",
        evidence,
    )


def _within_error(evidence: pd.DataFrame, small: pd.Series[bool]) -> str:
    """Return which scores are better, and which worse, than those of the class frequencies, within their error."""
    parts = []
    for word, own in (("gain", small & (evidence["gain"] > 0)), ("loss", small & (evidence["gain"] <= 0))):
        if own.any():
            lines = evidence.loc[own, ["score", "gain", "gain_se"]].itertuples(index=False, name=None)
            each = [f"{SCORES[score]} ({gain:+.3f} ± {error:.3f})" for score, gain, error in lines]
            parts.append(f"the {word} in {' and '.join(each)} is within its error")
    return ", ".join(parts)


def _gains(answers: HeldOut, own: RowScores) -> pd.DataFrame:
    """Return the gain over the class frequencies in each score, and whether it is clear."""
    base = scores.score(np.log(answers.frequencies), answers.y)
    lines = []
    for name in SCORES:
        mine, theirs = getattr(own, name), getattr(base, name)
        gain = Gain.of(mine, theirs, answers.train)
        lines.append((name, mine[np.isfinite(mine)].mean(), theirs.mean(), gain.mean, gain.error, gain.state))
    return pd.DataFrame(lines, columns=["score", answers.own, "frequencies", "gain", "gain_se", "better"])


@check("Y02", "Calibration by rule", "all models")
def calibration(context: Context) -> Answer:
    """Compare each rule's calibration error with the error that calibrated probabilities would show on as many rows.

    Calibrated probabilities are right as often as they say: of the answers with 80 %, eight in ten. A binned error
    exceeds 0 even for these, so labels are simulated from the probabilities to see by how much. All rules are shown,
    and that of the classifier is reported.
    """
    answers = context.held_out
    given = answers.of(answers.own)
    lines = []
    for rule, found in answers.answered.items():
        error = scores.calibration_error(found.log_proba, answers.y, context.seed)
        expected, p_value = _if_calibrated(found.log_proba, error.error, context.seed)
        parts = scores.corp(found.log_proba, answers.y)
        lines.append((rule, error.error, error.low, error.high, expected, p_value, parts.miscalibration))
    names = ["rule", "error", "low", "high", "if_calibrated", "p_value", "corp_miscalibration"]
    evidence = pd.DataFrame(lines, columns=names)
    own = evidence[evidence["rule"] == answers.own].iloc[0]
    best = evidence.nsmallest(1, "error").iloc[0]
    calibrated = f"where calibrated probabilities would show {own['if_calibrated']:.3f}"
    where = f"({answers.setting}, p = {own['p_value']:.3f})"
    says = f"calibration error {own['error']:.3f} under rule {answers.own!r}, {calibrated} {where}"
    excess = own["error"] - own["if_calibrated"]
    if own["p_value"] >= thresholds.SIGNIFICANCE or excess <= thresholds.MIN_CALIBRATION_EXCESS:
        return passed(says, evidence)
    other = f"; rule {best['rule']!r} has {best['error']:.3f}" if best["rule"] != answers.own else ""
    confidence = _confidence(given.log_proba).mean()
    accuracy = (given.log_proba.argmax(axis=1) == answers.y).mean()
    gap = gap_of(given, answers.y)
    over, under = Step.of(gap).matters, Step.of(-gap).matters
    shown = f"mean confidence {confidence:.3f}, accuracy {accuracy:.3f}"
    direction, cause, step = "too sure in some places and not sure enough in others", "", ""
    if over:
        direction, step = "over-confident", "see over-confidence (Y03) for the cause"
    if under:
        explanation = explain(context, answers.own)
        direction, cause, step = "under-confident", f"; {explanation}", explanation.next_step
    return issue(
        f"{says}; {direction}: {shown}{other}{cause}",
        "; ".join(filter(None, [step, "do not read the probabilities as frequencies"])),
        evidence,
        "moderate",
    )


def _if_calibrated(log_proba: Array, error: float, seed: int) -> tuple[float, float]:
    """Return the mean calibration error of calibrated probabilities like these, and P(it is at least `error`)."""
    simulated = scores.errors_if_calibrated(log_proba, seed, thresholds.REPLICATES)
    return float(simulated.mean()), float((1 + (simulated >= error).sum()) / (1 + len(simulated)))


def _confidence(log_proba: Array) -> Array:
    """Return the probability of the predicted class, (row)."""
    return np.asarray(np.exp(log_proba.max(axis=1)))


@check("Y03", "Over-confidence and its cause", "all models")
def over_confidence(context: Context) -> Answer:
    """Compare confidence with accuracy, under a point estimate and averaged; refits test the causes of what remains.

    What averaging over the posterior removes is the over-confidence of one estimate. What it leaves comes from few
    rows, from the prior or from what the model assumes: for naive Bayes that columns are independent (Aberdeen:
    posteriors "often unrealistically close to 1 or 0"). One of these is named only if refits rule out the others. The
    rule ``"tempered"`` mends most of it without a cause, and is proposed where it does.
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
            by = "tempering" if answers.own == "tempered" else "averaging"
            spared = f", where a plug-in estimate would have {Step.of(plugged_in)}: {by} removes {removed}"
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
    tempered = gaps.get("tempered", gaps[rule])
    if answers.own != "tempered" and Step.of(gaps[rule] - tempered).matters:
        says = f"{says}; tempering leaves {Step.of(tempered)}"
        steps = ["take the rule 'tempered'"]
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
    labels = {"row": row_numbers(context.training.table, answers.numbers[differ]), "label": classes[answers.y[differ]]}
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
