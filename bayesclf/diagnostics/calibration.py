"""Checks of predictions of held-out rows: do they beat the class frequencies, are they calibrated, do rules agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.finding import Answer, NotApplicable, Skipped, issue, passed, tip
from bayesclf.diagnostics.held_out import HeldOut
from bayesclf.evaluation import scores
from bayesclf.evaluation.scores import RowScores
from bayesclf.families.dirichlet import logs
from bayesclf.typing import Array, Integers

SIMULATED_CELLS = 2**20
"""Most simulated predictions in memory at once."""

SCORES = {"log_loss": "log loss", "brier": "Brier score"}


@check("Y01", "Gain over the class frequencies", "all models")
def baseline(context: Context) -> Answer:
    """Compare the proper scores with those of a classifier that knows only the class frequencies.

    Log loss and Brier score of held-out rows are paired by row. Rows of a class that is missing from the fold's
    training rows have frequency 0 and do not count in the log loss.
    """
    answers = context.held_out
    own = answers.of(answers.own)
    evidence, lacking = _gains(answers, own)
    infinite = int(np.isinf(own.log_loss).sum())
    rows = f"{lacking} row{'s' * (lacking > 1)}"
    without = f"; log loss without {rows} of a class that is missing from the other folds" if lacking else ""
    where = f"({answers.setting}, rule {answers.own!r}{without})"
    log_loss, brier = evidence[answers.own]
    against = "against {:.3f} and {:.3f} of the".format(*evidence["frequencies"])
    says = f"log loss {log_loss:.3f} and Brier score {brier:.3f} {against}"
    if infinite:
        return issue(
            f"{infinite} of {len(own.log_loss)} held-out rows have a class with predicted probability 0 {where}",
            "take a rule with smoothing, such as 'bayes-optimal' or 'predictive'",
            evidence,
        )
    if (evidence["gain"] < -thresholds.Z * evidence["gain_se"]).any():
        return issue(
            f"{says} class frequencies alone {where}: the probabilities are worse than none",
            "look at over-confidence (Y03) and at duplicate columns (M07); decisions may still be useful",
            evidence,
        )
    small = evidence["gain"] <= thresholds.Z * evidence["gain_se"]
    if small.any():
        scores_named = " and ".join(SCORES[name] for name in evidence["score"][small])
        return tip(
            f"{says} class frequencies alone {where}: the gain in {scores_named} is within its error",
            "gather more rows, or columns that are informative about the class"
            if small.all()
            else "see over-confidence (Y03): a few confidently wrong rows outweigh the others",
            evidence,
        )
    return passed(f"{says} frequencies {where}", evidence)


def _gains(answers: HeldOut, own: RowScores) -> tuple[pd.DataFrame, int]:
    """Return a row for each score, and how many rows have a class that their fold's training rows lack."""
    base = scores.score(logs(answers.frequencies), answers.y)
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
    """Compare each rule's calibration error with the error that calibrated probabilities would show on as many rows.

    A binned error exceeds 0 even for calibrated probabilities, so labels are simulated from the probabilities.
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
    under = confidence < accuracy
    shown = f"mean confidence {confidence:.3f}, accuracy {accuracy:.3f}"
    cause = "weaken the prior, or smooth less" if under else "see over-confidence (Y03) for the cause"
    return issue(
        f"{says}; {'under' if under else 'over'}-confident: {shown}{other}",
        f"{cause}; do not read the probabilities as frequencies",
        evidence,
        "moderate",
    )


def _if_calibrated(log_proba: Array, error: float, seed: int) -> tuple[float, float]:
    """Return the mean calibration error of calibrated probabilities like these, and P(it is at least `error`).

    If probabilities are calibrated, a prediction of confidence c is right with probability c.
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


AVERAGING = ("bayes-optimal", "predictive")


@dataclass(frozen=True)
class Step:
    """A mean over rows with its standard error: an over-confidence, or a difference of two.

    Attributes
    ----------
    mean, error
        Of the probability of the predicted class minus 1 where it is right and 0 where not.
    """

    mean: float
    error: float

    @classmethod
    def of(cls, values: Array) -> Step:
        """Return the mean of values (row)."""
        return cls(float(values.mean()), float(values.std() / np.sqrt(len(values))))

    @property
    def matters(self) -> bool:
        """Whether it exceeds both its error and the negligible size."""
        return self.mean > max(thresholds.Z * self.error, thresholds.MIN_OVERCONFIDENCE)

    def __str__(self) -> str:
        return f"{round(self.mean, 3) + 0.0:+.3f} ± {self.error:.3f}"  # no "-0.000"


CAUSES = {
    (True, False): "few rows, which averaging over the posterior corrects",
    (False, True): "what the model assumes about its columns, which averaging does not correct",
    (True, True): "few rows, which averaging corrects, and what the model assumes about its columns, which it does not",
    (False, False): "not few rows, as averaging corrects little, and no compared model does better",
}
"""Keys: whether averaging removes some over-confidence, and whether another model does."""


@check("Y03", "Over-confidence and its cause", "all models")
def over_confidence(context: Context) -> Answer:
    """Compare confidence minus accuracy between rules (MAP, mean, average) and with another model.

    map → mean is smoothing, mean → bayes-optimal is averaging over the posterior: both concern few rows. What remains,
    but is absent from another model of the same rows, comes from the model: for naive Bayes from its assumption that
    columns are independent (Aberdeen: posteriors "often unrealistically close to 1 or 0").
    """
    answers = context.held_out
    gaps = {rule: _gap(found, answers.y) for rule, found in answers.answered.items()}
    answers.of(answers.own)  # raises where the classifier's own rule could not answer
    own = Step.of(gaps[answers.own])
    reference, against = _reference(context)
    if reference is not None:
        gaps["reference"] = reference
    evidence = _table(gaps, answers)
    steps = _steps(gaps)
    rows, model = (name in steps and steps[name].matters for name in ("both", "the other model"))
    where = f"({answers.setting}{against})"
    if not own.matters:
        plugged_in = gaps.get("map", gaps.get("mean"))
        spared = ""
        if answers.own in AVERAGING and plugged_in is not None and Step.of(plugged_in).matters:
            spared = f", where a plug-in estimate would have {Step.of(plugged_in)}: averaging corrects it"
        under = "under-confident, not over-confident: " if Step(-own.mean, own.error).matters else ""
        return passed(f"{under}confidence minus accuracy {own} under rule {answers.own!r}{spared} {where}", evidence)
    told = ", ".join(f"{name} {step}" for name, step in steps.items())
    return issue(
        f"confidence exceeds accuracy by {own} under rule {answers.own!r} {where}; removed by {told}; "
        f"the cause is {CAUSES[rows, model]}",
        _next_step(rows and answers.own not in AVERAGING, model),
        evidence,
    )


def _gap(found: RowScores, y: Integers) -> Array:
    """Return the probability of the predicted class minus 1 where it is right, (row)."""
    right = found.log_proba.argmax(axis=1) == y
    return np.asarray(_confidence(found.log_proba) - right)


def _reference(context: Context) -> tuple[Array | None, str]:
    """Return the other model's gaps (row), under its best rule, and the name of that model or why there is none."""
    try:
        other = context.reference
    except Skipped as reason:
        return None, f"; {reason}"
    for rule in ("bayes-optimal", "map"):
        if rule in other.answered:
            return _gap(other.answered[rule], other.y), f"; against {type(other.fits[0][0]).__name__}"
    return None, "; the model to compare with could not answer"


def _steps(gaps: dict[str, Array]) -> dict[str, Step]:
    """Return what each step removes: smoothing and averaging, both together, and another model."""
    averaged = "bayes-optimal" if "bayes-optimal" in gaps else "predictive"
    pairs = {
        "smoothing": ("map", "mean"),
        "averaging": ("mean", averaged),
        "both": ("map" if "map" in gaps else "mean", averaged),
        "the other model": (averaged, "reference"),
    }
    return {name: Step.of(gaps[a] - gaps[b]) for name, (a, b) in pairs.items() if a in gaps and b in gaps}


def _table(gaps: dict[str, Array], answers: HeldOut) -> pd.DataFrame:
    """Return the over-confidence and the log loss by rule."""
    log_loss = {rule: found.log_loss.mean() for rule, found in answers.answered.items()}
    steps = {rule: Step.of(gap) for rule, gap in gaps.items()}
    lines = [(rule, step.mean, step.error, log_loss.get(rule, np.nan)) for rule, step in steps.items()]
    return pd.DataFrame(lines, columns=["rule", "over_confidence", "standard_error", "log_loss"])


def _next_step(rows: bool, model: bool) -> str:
    steps = {
        "take the rule 'bayes-optimal' or 'predictive', or more rows": rows,
        "join dependent columns in a block, or take GaussianDiscriminantAnalysis, BayesNetClassifier or "
        "LogisticRegression; use the probabilities for ranking only": model,
    }
    return (
        "; ".join(step for step, helps in steps.items() if helps)
        or "compare with another model, clf.diagnose(X, y, against=…)"
    )


@check("Y05", "Rows where the rules disagree", "fits with a posterior")
def disagreement(context: Context) -> Answer:
    """Name the held-out rows with different most probable classes under the rules; rows are counted from 1."""
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
    if len(differ) / len(codes) > thresholds.MAX_DISAGREEMENT:
        return tip(
            f"{says}: there the answer depends on the rule",
            "look at these rows and their intervals, clf.predict_interval(X); more rows would decide them",
            evidence,
        )
    return passed(says, evidence)
