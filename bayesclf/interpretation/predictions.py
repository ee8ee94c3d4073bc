"""Predictions as a table: label, probabilities, and how sure they are, one row per row of X."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesclf import decisions
from bayesclf.arrays import Array
from bayesclf.classifiers.base import CI_PROB, INTERVAL_RULES, BayesClassifier, decided
from bayesclf.constraints import INSIDE, Flag, require
from bayesclf.rules import Gibbs

type Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Decision:
    """How labels are chosen.

    Attributes
    ----------
    rule
        The rule; None for the classifier's own.
    cost
        Costs (outcome, outcome), true by predicted; None for 0-1 loss.
    reject
        Largest expected cost of a decision; None for no limit.
    class_prior
        Base rates: (outcome), by label, or ``"uniform"``; None for the training rows'.
    """

    rule: str | Gibbs | None = None
    cost: Array | None = None
    reject: float | None = None
    class_prior: Sequence[float] | None = None


@dataclass(frozen=True)
class Extras:
    """What is shown in addition to labels and probabilities.

    Attributes
    ----------
    interval
        Posterior probability of the intervals of P(k | x), in (0, 1); None for none.
    sets
        Least probability of the sets of labels, in (0, 1); None for none.
    uncertainty
        Whether to show the entropies.
    """

    interval: float | None = None
    sets: float | None = None
    uncertainty: bool = False

    def __post_init__(self) -> None:
        for name, value in (("interval", self.interval), ("sets", self.sets)):
            if value is not None:
                require(INSIDE, **{name: value})
        require(Flag(), uncertainty=self.uncertainty)


def predict_frame(
    classifier: BayesClassifier,
    X: Any,
    rule: str | Gibbs | None = None,
    interval: float | None = CI_PROB,
    sets: float | None = 0.9,
    uncertainty: bool = True,
) -> Any:
    """Return predictions as a table: label, probabilities, intervals, prediction sets and entropies.

    Parameters
    ----------
    classifier : BayesClassifier
        Fitted.
    X : table or array of shape (row, feature)
        Table (row, feature).
    rule : str, Gibbs or None
        As in `predict`.
    interval : float or None
        Posterior probability of the intervals of P(k | x), as in `predict_interval`; None or False leaves them out.
    sets : float or None
        Least probability of the sets, as in `predict_set`; None or False leaves them out.
    uncertainty : bool
        Whether to add the entropies of `uncertainty`.

    Returns
    -------
    DataFrame
        Per row: `predicted`; ``P(k)`` of each class k; ``in_set_0.9(k)``, whether k is in the row's set;
        ``P_low_0.89(k)`` and ``P_high_0.89(k)``; `entropy_total_nats`, `entropy_aleatoric_nats` and
        `entropy_epistemic_nats`. A pandas table on the index of `X`; for a table of another library, such as
        Polars, one of that library. A point fit has neither intervals nor entropies, and `attrs` of a pandas table
        says so.
    """
    extras = Extras(None if interval is False else interval, None if sets is False else sets, uncertainty)
    left_out = ""
    classifier.requested_rule(rule)  # raises where the classifier is not fitted
    if classifier.draws_ is None and (extras.interval is not None or extras.uncertainty):
        engine = type(classifier.inference_).__name__
        left_out = f"intervals and entropies: a fit by {engine} is a point estimate and has no posterior"
        extras = Extras(sets=extras.sets)
    columns = prediction_columns(classifier, X, Decision(rule), extras)
    if not isinstance(X, pd.DataFrame) and nw.dependencies.is_into_dataframe(X):
        return nw.from_dict(columns, backend=nw.from_native(X, eager_only=True).implementation).to_native()
    table = pd.DataFrame(columns, index=X.index if isinstance(X, pd.DataFrame | pd.Series) else None)
    if left_out:
        table.attrs["left_out"] = left_out
    return table


def prediction_columns(classifier: BayesClassifier, X: Any, decision: Decision, extras: Extras) -> Columns:
    """Return the columns of a table of predictions by name, each (row).

    Parameters
    ----------
    classifier
        Fitted.
    X
        Table (row, feature).
    decision
        How labels are chosen; `predicted` has None where a row is rejected.
    extras
        What else is shown.
    """
    log_proba = classifier.predict_log_proba(X, decision.rule, decision.class_prior)
    predicted = decided(classifier, log_proba, decision.rule, decision.cost, decision.reject)
    columns = {"predicted": predicted} | _by_label("P({})", np.exp(log_proba), classifier)
    # the hypotheses are those of the rule where they spread, and P(θ | D) says how under all others
    asked = classifier.requested_rule(decision.rule)
    rule = asked if asked in INTERVAL_RULES else "bayes-optimal"
    if extras.sets is not None:
        sets = decisions.posterior_sets(log_proba, classifier.classes_, extras.sets)
        columns |= _by_label(f"in_set_{extras.sets:g}({{}})", sets.member, classifier)
    if extras.interval is not None:
        bounds = classifier.predict_interval(X, extras.interval, rule, decision.class_prior)
        for side, values in zip(("low", "high"), np.moveaxis(bounds, 2, 0), strict=True):
            columns |= _by_label(f"P_{side}_{extras.interval:g}({{}})", values, classifier)
    if extras.uncertainty:
        found = classifier.uncertainty(X, rule, decision.class_prior)
        for name in ("total", "aleatoric", "epistemic"):
            columns[f"entropy_{name}_nats"] = getattr(found, name)
    return columns


def _by_label(name: str, values: NDArray[Any], classifier: BayesClassifier) -> Columns:
    """Return values (row, outcome) as columns, one a label."""
    return {name.format(label): column for label, column in zip(classifier.classes_.tolist(), values.T, strict=True)}
