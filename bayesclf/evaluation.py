"""One unit of a comparison: a classifier fitted on some rows and scored on others, under every rule."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesclf import averaging, rules, scores
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.logistic import LogisticRegression
from bayesclf.decisions import Costs, decision_costs, gibbs_decision_costs
from bayesclf.errors import ConvergenceWarning, DoesNotExist, PredictionWarning, Refused
from bayesclf.families.base import Rows
from bayesclf.hypothesis_set import HypothesisSet
from bayesclf.inference import MAP, NUTS, Auto, Laplace
from bayesclf.rules import RULES
from bayesclf.scores import RowScores
from bayesclf.typing import Integers

WORK_LIMIT = 500_000
"""Rows × columns × weight vectors beyond which `auto` never samples logistic regression by NUTS."""

COMPARISON_NUTS = NUTS(draws=500, tune=300)
"""NUTS where only predictions are wanted: 2,000 draws put the Monte Carlo error of P at 1/45 of its posterior sd."""

COMPARISON_AUTO = Auto(replace(Auto().laplace, draws=COMPARISON_NUTS.draws), COMPARISON_NUTS)
"""`auto` for the same purpose, with as many draws from whichever engine it takes."""

COMPARISON_LAPLACE = Laplace(draws=250)
"""Laplace for the same purpose, beyond the limit: each proposal costs a pass over all rows."""


@dataclass(frozen=True)
class Evaluation:
    """What one classifier answered to the test rows of one split.

    Attributes
    ----------
    scores
        Scores by rule; a rule that cannot answer has its reason instead.
    seconds
        Time of fitting and of all predictions.
    notes
        What the user should know of this fit, one sentence each.
    problems
        Why the draws of this fit cannot be trusted yet.
    """

    scores: dict[str, RowScores | str]
    seconds: float
    notes: tuple[str, ...]
    problems: tuple[str, ...]


def fit(classifier: BayesClassifier, X: Any, y: Any, classes: Any, seed: int) -> tuple[BayesClassifier, list[str]]:
    """Fit a clone; where `auto` would take too long, or the engine refuses, by a cheaper one, and say so.

    Returns
    -------
    tuple
        The fitted clone and notes.

    Raises
    ------
    Refused
        If the model cannot be made of these rows at all, by whatever engine.
    """
    fitted = clone(classifier).set_params(random_state=seed)
    notes: list[str] = []
    with warnings.catch_warnings():
        # The sentences are in `convergence_problems_`, and go into the notes.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if isinstance(fitted, LogisticRegression) and fitted.inference == "auto":
            notes += _fit_logistic(fitted, X, y, classes)
        elif fitted.inference == "auto":
            notes += _fit_generative(fitted, X, y, classes)
        else:
            notes += _fit_or_point(fitted, X, y, classes)
    return fitted, [*notes, *fitted.notes_]


def _fit_or_point(classifier: BayesClassifier, X: Any, y: Any, classes: Any) -> list[str]:
    """Fit; where the engine refuses these rows, by MAP, so that the other rules still answer."""
    try:
        classifier.fit(X, y, classes=classes)
    except Refused as reason:
        classifier.set_params(inference=MAP()).fit(X, y, classes=classes)
        return [f"the posterior was refused ({reason}), so that only point estimates are here"]
    return []


def _fit_generative(classifier: BayesClassifier, X: Any, y: Any, classes: Any) -> list[str]:
    """Fit exactly where there is a closed form, else by NUTS."""
    try:
        classifier.set_params(inference="exact").fit(X, y, classes=classes)
    except Refused:
        return _fit_or_point(classifier.set_params(inference=COMPARISON_NUTS), X, y, classes)
    return []


def _fit_logistic(classifier: LogisticRegression, X: Any, y: Any, classes: Any) -> list[str]:
    """Fit by `auto` within `WORK_LIMIT`, beyond it by Laplace where its check allows, else by MAP."""
    if classifier.work(X, len(classes)) <= WORK_LIMIT:
        return _fit_or_point(classifier.set_params(inference=COMPARISON_AUTO), X, y, classes)
    refusal = _fit_or_point(classifier.set_params(inference=COMPARISON_LAPLACE), X, y, classes)
    instead = "" if refusal else " but by the importance-weighted Laplace approximation"
    return [
        f"with over {WORK_LIMIT:,} cells (rows × columns × weight vectors) logistic regression was not sampled by NUTS"
        f"{instead}; inference='nuts' samples it all the same",
        *refusal,
    ]


def evaluate(
    classifier: BayesClassifier, X: Any, y: Integers, names: Sequence[str], costs: Costs | None = None
) -> dict[str, RowScores | str]:
    """Score a fitted classifier's answers to rows `X` with label codes `y`, under each rule."""
    return score_rules(classifier.hypotheses, classifier.seed_, classifier.rows(X), y, names, costs)


def score_rules(
    hypotheses: Callable[[str], HypothesisSet],
    seed: int,
    rows: Rows,
    y: Integers,
    names: Sequence[str],
    costs: Costs | None = None,
) -> dict[str, RowScores | str]:
    """Score the answers of one model under each rule; a rule that cannot answer has its reason instead.

    The posterior is averaged over once, whatever the number of rules that average; with costs once more for `gibbs`.

    Parameters
    ----------
    hypotheses
        Returns the hypotheses of a source, ``"mle"``, ``"map"``, ``"mean"`` or ``"posterior"``, or raises
        `DoesNotExist` or `Refused`.
    seed
        Of the Gibbs classifier.
    rows, y
        Encoded rows and their label codes (row).
    names
        Rules.
    costs
        What decisions cost, and the limit beyond which rows are rejected; None for no such scores.
    """
    shared = _PosteriorPass(hypotheses, seed, rows)
    answers: dict[str, RowScores | str] = {}
    for name in names:
        try:
            with warnings.catch_warnings():
                # Rows that are impossible under every class show in the scores of their rule.
                warnings.simplefilter("ignore", PredictionWarning)
                answers[name] = shared.scores(name, y) if costs is None else shared.with_costs(name, y, costs)
        except (DoesNotExist, Refused) as reason:
            answers[name] = str(reason)
    return answers


class _PosteriorPass:
    """The average over the posterior of some rows, taken once and shared by the rules."""

    def __init__(self, hypotheses: Callable[[str], HypothesisSet], seed: int, rows: Rows) -> None:
        self._hypotheses = hypotheses
        self._seed = seed
        self._rows = rows
        self._averages: averaging.Averages | None = None

    def averages(self) -> averaging.Averages:
        """Return the averages, computed on first use."""
        if self._averages is None:
            self._averages = averaging.average(self._hypotheses("posterior"), self._rows)
        return self._averages

    def scores(self, name: str, y: Integers) -> RowScores:
        """Return the scores of one rule."""
        hypotheses = self._hypotheses(RULES[name].source)
        if name == "gibbs":
            log_proba = rules.log_proba(name, hypotheses, self._rows, self._seed)
            return scores.score_gibbs(log_proba, self.averages(), y)
        if name == "bayes-optimal" or (name == "predictive" and not hypotheses.generative):
            return scores.score(self.averages().log_proba, y)
        return scores.score(rules.log_proba(name, hypotheses, self._rows), y)

    def with_costs(self, name: str, y: Integers, costs: Costs) -> RowScores:
        """Return the scores of one rule with what its decisions cost, of `gibbs` in expectation too."""
        scored = self.scores(name, y)
        if name == "gibbs":
            found = gibbs_decision_costs(self._hypotheses("posterior"), self._rows, y, costs)
        else:
            found = decision_costs(scored.log_proba, y, costs)
        return replace(scored, cost=found.cost, rejected=found.rejected)


def run(
    classifier: BayesClassifier,
    table: tuple[Any, Integers, Any],
    split: tuple[Integers, Integers],
    names: Sequence[str],
    seed: int,
    costs: Costs | None = None,
) -> Evaluation:
    """Fit on the training rows of a split and score on its test rows.

    Parameters
    ----------
    classifier
        Unfitted.
    table
        X (row, feature), label codes y (row) and the labels.
    split
        Row numbers of the training and of the test rows.
    names
        Rules.
    seed
        Of this unit alone, so that neither order nor number of workers changes a number.
    costs
        What decisions cost, and the limit beyond which rows are rejected; None for no such scores.
    """
    X, y, classes = table
    train, test = split
    start = time.perf_counter()
    try:
        fitted, notes = fit(classifier, X.iloc[train], np.asarray(classes)[y[train]], classes, seed)
    except Refused as reason:
        return Evaluation(dict.fromkeys(names, str(reason)), time.perf_counter() - start, (), ())
    answers = evaluate(fitted, X.iloc[test], y[test], names, costs)
    return Evaluation(answers, time.perf_counter() - start, tuple(notes), fitted.convergence_problems_)
