"""Checks of probabilities for held-out rows: are they worth anything, and do they mean what they say."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import check
from bayesclf.diagnostics.context import Context
from bayesclf.diagnostics.finding import Answer, issue, passed, tip
from bayesclf.diagnostics.held_out import HeldOut
from bayesclf.evaluation import scores
from bayesclf.evaluation.scores import RowScores
from bayesclf.typing import Array

SIMULATED_CELLS = 2**20
"""Simulated predictions that are kept in memory at once."""

SCORES = {"log_loss": "log loss", "brier": "Brier score"}


@check("Y01", "Gain over the class frequencies", "all models")
def baseline(context: Context) -> Answer:
    """Compare the proper scores with those of a classifier that knows the classes' frequencies and nothing else.

    Log loss and Brier score of held-out rows are paired by row. Rows of a class that the fold's training rows lack have
    frequency 0, and do not count in the log loss.
    """
    answers = context.held_out
    own = answers.of(answers.own)
    evidence, lacking = _gains(answers, own)
    infinite = int(np.isinf(own.log_loss).sum())
    rows = f"{lacking} row{'s' * (lacking > 1)}"
    without = f"; log loss without {rows} of a class that no row of the other folds has" if lacking else ""
    where = f"({answers.setting}, rule {answers.own!r}{without})"
    log_loss, brier = evidence[answers.own]
    against = "against {:.3f} and {:.3f} of the".format(*evidence["frequencies"])
    if infinite:
        return issue(
            f"{infinite} of {len(own.log_loss)} held-out rows have a class that was given probability 0 {where}",
            "take a rule with smoothing, such as 'bayes-optimal' or 'predictive'",
            evidence,
        )
    if (evidence["gain"] < -thresholds.Z * evidence["gain_se"]).any():
        return issue(
            f"log loss {log_loss:.3f} and Brier score {brier:.3f} {against} class frequencies alone {where}: the "
            "probabilities are worse than none",
            "look at over-confidence (Y03) and at duplicate columns (M07); decisions may still be useful",
            evidence,
        )
    small = evidence["gain"] <= thresholds.Z * evidence["gain_se"]
    if small.any():
        scores_named = " and ".join(SCORES[name] for name in evidence["score"][small])
        return tip(
            f"log loss {log_loss:.3f} and Brier score {brier:.3f} {against} class frequencies alone {where}: the "
            f"gain in {scores_named} is within its error",
            "gather more rows, or columns that bear on the class"
            if small.all()
            else "see over-confidence (Y03): a few rows that were confidently wrong outweigh the others",
            evidence,
        )
    return passed(f"log loss {log_loss:.3f}, Brier score {brier:.3f} {against} frequencies {where}", evidence)


def _gains(answers: HeldOut, own: RowScores) -> tuple[pd.DataFrame, int]:
    """Return a row for each score, and how many rows have a class that their fold's training rows lack."""
    with np.errstate(divide="ignore"):
        base = scores.score(np.log(answers.frequencies), answers.y)
    lines = []
    for name in SCORES:
        theirs = getattr(base, name)
        known = np.isfinite(theirs)
        mine, theirs = getattr(own, name)[known], theirs[known]
        gain = (theirs - mine)[np.isfinite(mine)]
        lines.append((name, mine.mean(), theirs.mean(), gain.mean(), gain.std() / np.sqrt(max(len(gain), 1))))
    table = pd.DataFrame(lines, columns=["score", answers.own, "frequencies", "gain", "gain_se"])
    return table, int(np.isinf(base.log_loss).sum())


@check("Y02", "Calibration by rule", "all models")
def calibration(context: Context) -> Answer:
    """Compare each rule's calibration error with what calibrated probabilities would show on as many rows.

    A binned error is above 0 even where probabilities are right, so that labels are simulated from them.
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
    says = (
        f"calibration error {own['error']:.3f} under rule {answers.own!r}, where calibrated probabilities would "
        f"show {own['if_calibrated']:.3f} ({answers.setting}, p = {own['p_value']:.3f})"
    )
    excess = own["error"] - own["if_calibrated"]
    if own["p_value"] >= thresholds.SIGNIFICANCE or excess <= thresholds.MIN_CALIBRATION_EXCESS:
        return passed(says, evidence)
    other = f"; rule {best['rule']!r} has {best['error']:.3f}" if best["rule"] != answers.own else ""
    confidence = _confidence(given.log_proba).mean()
    accuracy = (given.log_proba.argmax(axis=1) == answers.y).mean()
    under = confidence < accuracy
    shown = f"mean confidence {confidence:.3f}, accuracy {accuracy:.3f}"
    cause = "give the prior less weight, or smooth less" if under else "see over-confidence (Y03) for the cause"
    return issue(
        f"{says}; {'under' if under else 'over'}-confident: {shown}{other}",
        f"{cause}; do not read the probabilities as frequencies",
        evidence,
        "moderate",
    )


def _if_calibrated(log_proba: Array, error: float, seed: int) -> tuple[float, float]:
    """Return the mean calibration error of calibrated probabilities like these, and P(it is at least `error`).

    Where probabilities mean what they say, a prediction of confidence c is right with probability c.
    """
    rng = np.random.default_rng(seed)
    confidence = _confidence(log_proba)
    bins = scores.CALIBRATION_BINS
    members = np.minimum((confidence * bins).astype(int), bins - 1)[:, None] == np.arange(bins)
    simulated = np.empty(thresholds.REPLICATES)
    step = max(1, SIMULATED_CELLS // len(confidence))
    for start in range(0, len(simulated), step):
        right = rng.random((len(simulated[start : start + step]), len(confidence))) < confidence
        simulated[start : start + step] = np.abs((right - confidence) @ members).sum(axis=1) / len(confidence)
    return float(simulated.mean()), float((1 + (simulated >= error).sum()) / (1 + len(simulated)))


def _confidence(log_proba: Array) -> Array:
    """Return the probability of the predicted class, (row)."""
    return np.asarray(np.exp(log_proba.max(axis=1)))
