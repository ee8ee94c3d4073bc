"""Checks of probabilities for rows that were held out: are they worth anything, and do they mean what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesclf import scores
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import Check
from bayesclf.diagnostics.finding import Finding
from bayesclf.scores import RowScores
from bayesclf.typing import Array

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.diagnostics.context import Context
    from bayesclf.diagnostics.held_out import HeldOut


SIMULATED_CELLS = 2**20
"""Simulated predictions that are held at once."""

SCORES = {"log_loss": "log loss", "brier": "Brier score"}


class Baseline(Check):
    """Proper scores against a classifier that knows the classes' frequencies and nothing else."""

    code = "Y01"
    title = "Gain over the class frequencies"
    applies_to = "all models"

    def run(self, context: Context) -> Finding:
        """Compare log loss and Brier score of held-out rows, paired by row.

        Rows of a class that the fold's training rows lack have frequency 0, and do not count in the log loss.
        """
        answers = context.held_out
        own = answers.of(answers.own)
        evidence, lacking = _gains(answers, own)
        infinite = int(np.isinf(own.log_loss).sum())
        rows = f"{lacking} row{'s' * (lacking > 1)}"
        without = f"; log loss without {rows} of a class that no row of the other folds has" if lacking else ""
        where = f"({answers.setting}, rule {answers.own!r}{without})"
        log_loss, brier = (evidence[answers.own].iloc[i] for i in range(2))
        against = f"against {evidence['frequencies'].iloc[0]:.3f} and {evidence['frequencies'].iloc[1]:.3f} of the"
        if infinite:
            return self.issue(
                f"{infinite} of {len(own.log_loss)} held-out rows have a class that was given probability 0 {where}",
                "take a rule with smoothing, such as 'bayes-optimal' or 'predictive'",
                evidence,
            )
        if (evidence["gain"] < -thresholds.Z * evidence["gain_se"]).any():
            return self.issue(
                f"log loss {log_loss:.3f} and Brier score {brier:.3f} {against} class frequencies alone {where}: the "
                "probabilities are worse than none",
                "look at over-confidence (Y03) and at duplicate columns (M07); decisions may still be useful",
                evidence,
            )
        small = evidence["gain"] <= thresholds.Z * evidence["gain_se"]
        if small.any():
            scores_named = " and ".join(SCORES[name] for name in evidence["score"][small])
            return self.tip(
                f"log loss {log_loss:.3f} and Brier score {brier:.3f} {against} class frequencies alone {where}: the "
                f"gain in {scores_named} is within its error",
                "gather more rows, or columns that bear on the class"
                if small.all()
                else "see over-confidence (Y03): a few rows that were confidently wrong outweigh the others",
                evidence,
            )
        return self.passed(f"log loss {log_loss:.3f}, Brier score {brier:.3f} {against} frequencies {where}", evidence)


def _gains(answers: HeldOut, own: RowScores) -> tuple[pd.DataFrame, int]:
    """Return a line for each score, and how many rows have a class that their fold's training rows lack."""
    import pandas as pd

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


class Calibration(Check):
    """Calibration error of each rule, against what calibrated probabilities would show on as many rows."""

    code = "Y02"
    title = "Calibration by rule"
    applies_to = "all models"

    def run(self, context: Context) -> Finding:
        """Simulate labels from the probabilities: a binned error is above 0 even where these are right."""
        import pandas as pd

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
        if own["p_value"] < thresholds.SIGNIFICANCE and excess > thresholds.MIN_CALIBRATION_EXCESS:
            other = f"; rule {best['rule']!r} has {best['error']:.3f}" if best["rule"] != answers.own else ""
            confidence = _confidence(given.log_proba).mean()
            accuracy = (given.log_proba.argmax(axis=1) == answers.y).mean()
            under = confidence < accuracy
            shown = f"mean confidence {confidence:.3f}, accuracy {accuracy:.3f}"
            cause = "give the prior less weight, or smooth less" if under else "see over-confidence (Y03) for the cause"
            return self.issue(
                f"{says}; {'under' if under else 'over'}-confident: {shown}{other}",
                f"{cause}; do not read the probabilities as frequencies",
                evidence,
                "moderate",
            )
        return self.passed(says, evidence)


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
