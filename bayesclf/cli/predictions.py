"""Predictions for a table: reading it in the same way as the training rows, deciding, and writing csv."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf import decisions
from bayesclf.cli.console import complain
from bayesclf.errors import InputError
from bayesclf.tables import columns, datasets, reading
from bayesclf.tables.columns import Column, ColumnKind
from bayesclf.tables.missing import emptied
from bayesclf.typing import Array

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.classifiers import BayesClassifier


@dataclass(frozen=True, eq=False)
class Decision:
    """How labels are chosen.

    Attributes
    ----------
    rule
        Name of the rule; None for the model's own.
    cost
        Costs (outcome, outcome), true by predicted; None for 0-1 loss.
    reject
        Largest expected cost of a decision; None for no limit.
    class_prior
        Base rates (outcome); None for the training rows'.
    """

    rule: str | None = None
    cost: Array | None = None
    reject: float | None = None
    class_prior: list[float] | None = None


@dataclass(frozen=True)
class Extras:
    """What is written in addition to labels and probabilities.

    Attributes
    ----------
    sets
        Probability of the sets; None for none.
    interval
        Posterior probability of the intervals of P(k | x); None for none.
    uncertainty
        Whether to write the entropies.
    """

    sets: float | None = None
    interval: float | None = None
    uncertainty: bool = False

    def __post_init__(self) -> None:
        for option, value in (("--sets", self.sets), ("--interval", self.interval)):
            if value is not None and not 0 < value < 1:
                raise InputError(f"{option} is a probability between 0 and 1, such as 0.9, not {value:g}")


@dataclass(frozen=True)
class Predictions:
    """Predicted rows as csv, and how many were left undecided."""

    csv: str
    rows: int
    rejected: int


def read_features(
    table: str, classifier: BayesClassifier, missing: Mapping[str, Sequence[object]] | None = None
) -> pd.DataFrame:
    """Read the columns that a model needs, each with the kind that it had in training.

    Parameters
    ----------
    table
        A file or the name of a data set; all other columns are ignored.
    classifier
        Fitted.
    missing
        By column, the values that stand for "missing"; new rows need not hold them.

    Returns
    -------
    DataFrame
        Needed columns (row, feature).

    Raises
    ------
    InputError
        If a column is missing or holds something else than in training.
    """
    needed = classifier.columns_
    names = [column.name for column in needed]
    present = set(_read(table, {}).columns)
    lacking = [name for name in names if name not in present]
    if lacking:
        which = f"column {lacking[0]!r}" if len(lacking) == 1 else f"columns {', '.join(map(repr, lacking))}"
        raise InputError(f"{table} lacks the {which} that the model needs; add it, with empty cells where unknown")
    # "01" that was a word in training must not come back as the number 1
    kinds = {column.name: kind for column in needed if (kind := _kind(column)) is not None}
    X = emptied(_read(table, kinds), missing or {}, table, required=False)[names]
    for column in needed:
        if column.kind == "category":
            found = columns.codes(X, (column.name,), (column.levels,))
            if unseen := columns.unseen_cells(found, X, (column.name,)):
                complain(f"note: {unseen}")
    return X


def predict_table(classifier: BayesClassifier, X: pd.DataFrame, decision: Decision, extras: Extras) -> Predictions:
    """Return one line per row: its number from 1, the predicted label (empty if undecided), P of each label, extras."""
    log_proba = classifier.predict_log_proba(X, decision.rule, decision.class_prior)
    codes = decisions.decide(log_proba, decision.cost, decision.reject)
    labels = ["" if label is None else str(label) for label in decisions.named(codes, classifier.classes_)]
    columns: dict[str, Sequence[Any]] = {"row": range(1, len(labels) + 1), "predicted": labels}
    columns |= _by_label("P({})", np.exp(log_proba), classifier)
    columns |= _extra_columns(classifier, X, decision, extras, log_proba)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return Predictions(text.getvalue(), len(labels), int((codes == decisions.REJECTED).sum()))


def _extra_columns(
    classifier: BayesClassifier, X: pd.DataFrame, decision: Decision, extras: Extras, log_proba: Array
) -> dict[str, Sequence[Any]]:
    """Return the requested columns by name."""
    columns: dict[str, Sequence[Any]] = {}
    # the posterior's weights are P(θ | D, x) under that rule, and P(θ | D) under all others
    rule = "predictive" if decision.rule == "predictive" else "bayes-optimal"
    if extras.sets is not None:
        sets = decisions.posterior_sets(log_proba, classifier.classes_, extras.sets)
        columns |= _by_label(f"in_set_{extras.sets:g}({{}})", sets.member.astype(int), classifier)
    if extras.interval is not None:
        bounds = classifier.predict_interval(X, extras.interval, rule, decision.class_prior)
        for side, values in zip(("low", "high"), np.moveaxis(bounds, 2, 0), strict=True):
            columns |= _by_label(f"P_{side}_{extras.interval:g}({{}})", values, classifier)
    if extras.uncertainty:
        found = classifier.uncertainty(X, rule, decision.class_prior)
        for name in ("total", "aleatoric", "epistemic"):
            columns[f"entropy_{name}_nats"] = getattr(found, name).tolist()
    return columns


def _by_label(name: str, values: NDArray[Any], classifier: BayesClassifier) -> dict[str, Sequence[Any]]:
    """Return values (row, outcome) as columns, one a label."""
    labels = classifier.classes_.tolist()
    return {name.format(label): column for label, column in zip(labels, values.T.tolist(), strict=True)}


def _kind(column: Column) -> ColumnKind | None:
    """Return the kind to read a column as; None infers it from the cells, for categories that are numbers."""
    if column.kind == "number":
        return "number"
    return "text" if all(isinstance(level, str) for level in column.levels if level is not None) else None


def _read(table: str, kinds: dict[str, ColumnKind]) -> pd.DataFrame:
    """Read a table that need not have labels."""
    if os.path.isfile(table):
        return reading.read_table(table, kinds)
    return datasets.load(table, dtypes=kinds).frame
