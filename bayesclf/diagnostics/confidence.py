"""Over-confidence and where it comes from, and the rows that the rules decide differently."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import check
from bayesclf.diagnostics.context import Context
from bayesclf.diagnostics.finding import Answer, NotApplicable, Skipped, issue, passed, tip
from bayesclf.diagnostics.held_out import HeldOut
from bayesclf.evaluation.scores import RowScores
from bayesclf.typing import Array, Integers

AVERAGING = ("bayes-optimal", "predictive")


@dataclass(frozen=True)
class Step:
    """A mean over rows with its standard error: an over-confidence, or a difference of two.

    Attributes
    ----------
    mean, error
        Of probability of the predicted class less 1 where it is right, 0 where not.
    """

    mean: float
    error: float

    @classmethod
    def of(cls, values: Array) -> Step:
        """Return the mean of values (row)."""
        return cls(float(values.mean()), float(values.std() / np.sqrt(len(values))))

    @property
    def matters(self) -> bool:
        """Whether it is above both its error and what is negligible."""
        return self.mean > max(thresholds.Z * self.error, thresholds.MIN_OVERCONFIDENCE)

    @property
    def opposite(self) -> Step:
        """The same with the other sign: an under-confidence."""
        return Step(-self.mean, self.error)

    def __str__(self) -> str:
        return f"{round(self.mean, 3) + 0.0:+.3f} ± {self.error:.3f}"  # no "-0.000"


CAUSES = {
    (True, False): "few rows, which averaging over the posterior repairs",
    (False, True): "what the model assumes of its columns, which no averaging repairs",
    (True, True): "few rows, which averaging repairs, and what the model assumes of its columns, which it does not",
    (False, False): "not few rows, as averaging repairs little, and no model that was compared does better",
}
"""By whether averaging removes some of it, and whether another model does."""


@check("Y03", "Over-confidence and its cause", "all models")
def over_confidence(context: Context) -> Answer:
    """Follow confidence less accuracy from rule to rule, MAP to mean to average, and to another model.

    map → mean is smoothing, mean → bayes-optimal averaging over the posterior: both are about few rows. What
    remains, and another model of the same rows has not, comes from the model: for naive Bayes from its assumption
    that columns are independent (Aberdeen: posteriors "often unrealistically close to 1 or 0").
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
            spared = f", where a plugged-in estimate would have {Step.of(plugged_in)}: averaging repairs it"
        under = "under-confident, not over-confident: " if own.opposite.matters else ""
        return passed(f"{under}confidence less accuracy {own} under rule {answers.own!r}{spared} {where}", evidence)
    told = ", ".join(f"{name} {step}" for name, step in steps.items())
    return issue(
        f"confidence exceeds accuracy by {own} under rule {answers.own!r} {where}; taken away by {told}; the cause is "
        f"{CAUSES[rows, model]}",
        _next_step(rows and answers.own not in AVERAGING, model),
        evidence,
    )


def _gap(found: RowScores, y: Integers) -> Array:
    """Return the probability of the predicted class less 1 where it is right, (row)."""
    return np.asarray(np.exp(found.log_proba.max(axis=1)) - (found.log_proba.argmax(axis=1) == y))


def _reference(context: Context) -> tuple[Array | None, str]:
    """Return the other model's gaps (row), under its best rule, and who it is or why there is none."""
    try:
        other = context.reference
    except Skipped as reason:
        return None, f"; {reason}"
    for rule in ("bayes-optimal", "map"):
        if rule in other.answered:
            return _gap(other.answered[rule], other.y), f"; against {type(other.fits[0][0]).__name__}"
    return None, "; the model to compare with could not answer"


def _steps(gaps: dict[str, Array]) -> dict[str, Step]:
    """Return what each step takes away: smoothing and averaging, both together, and another model."""
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
    steps = []
    if rows:
        steps.append("take the rule 'bayes-optimal' or 'predictive', or more rows")
    if model:
        steps.append(
            "join dependent columns in a block, or take GaussianDiscriminantAnalysis, BayesNetClassifier or "
            "LogisticRegression; use the probabilities for ranking only"
        )
    return "; ".join(steps) or "compare with another model, clf.diagnose(X, y, against=…)"


@check("Y05", "Rows where the rules disagree", "fits with a posterior")
def disagreement(context: Context) -> Answer:
    """Name the held-out rows with different most probable classes under the rules; rows are counted from 1."""
    answers = context.held_out
    decided = {rule: found.log_proba.argmax(axis=1) for rule, found in answers.answered.items() if rule != "gibbs"}
    if len(decided) < 2:
        raise NotApplicable("one rule alone could answer")
    codes = np.column_stack(list(decided.values()))
    differ = np.flatnonzero((codes != codes[:, :1]).any(axis=1))
    classes = context.training.classes
    labels = {"row": 1 + answers.numbers[differ], "label": classes[answers.y[differ]]}
    chosen = {rule: classes[code[differ]] for rule, code in decided.items()}
    evidence = pd.DataFrame(labels | chosen).sort_values("row", ignore_index=True)
    says = (
        f"{', '.join(map(repr, decided))} decide {len(differ)} of {len(codes)} held-out rows differently "
        f"({answers.setting})"
    )
    if len(differ) / len(codes) > thresholds.MAX_DISAGREEMENT:
        return tip(
            f"{says}: which rule is asked matters there",
            "look at these rows and their intervals, clf.predict_interval(X); more rows would settle them",
            evidence,
        )
    return passed(says, evidence)
