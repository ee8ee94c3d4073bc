"""Learning curves of one's own table: scores of every model and rule by the number of training rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.arrays import Integers
from bayesclf.classifiers.inputs import checked_labels, seed_of
from bayesclf.constraints import Choice, require
from bayesclf.display import Display, Displayed
from bayesclf.errors import InputError
from bayesclf.evaluation import cross_validation, peers, scores
from bayesclf.evaluation.cross_validation import Question, Split, Study, checked_rules, folds_of, labeled_table
from bayesclf.evaluation.scores import RowScores
from bayesclf.methods import LearningCurveMethods, with_methods
from bayesclf.progress import Progress
from bayesclf.wording import joined, pair
from bayesclf.workers import JOBS

METRICS = {"error": "test error", "log_loss": "test log loss", "brier": "test Brier score"}
"""The scores of a learning curve, and what an axis calls them."""

SHOWN_SIZES = 4
"""Training sizes that a learning curve prints."""

MOST_REASONS = 2
"""Reasons why rules have no score that a learning curve prints; `LearningCurve.table` has all."""

SIZES, LEAST_ROWS = 6, 10
"""Number of training sizes where none are given, and the first of them."""

ORDER_STREAM = 7
"""Number of the random stream that orders the training rows."""


@with_methods
@dataclass(frozen=True, repr=False)
class LearningCurve(Displayed, LearningCurveMethods):
    """Scores of classifiers × rules by the number of training rows.

    Attributes
    ----------
    table
        One row per model, rule and size: `model`, `rule`, `m` (training rows), and `error` (0-1 loss), `log_loss` and
        `brier`, means over the test rows of all splits. For `gibbs` they are expectations over the posterior. Each has
        its standard error over the rows (`_se`). `log_loss_infinite`: answers in which the true class had probability
        0. `reason`: why a rule has no score at this size, empty where it has.
    seed
        Of everything.
    notes
        What the user should know about the fits, each sentence once, by model.
    """

    table: pd.DataFrame
    seed: int
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def _display(self) -> Display:
        if self.table.empty:
            return Display("Learning curve without a model, rule or training size")
        sizes = sorted({int(m) for m in self.table["m"]})
        shown = [sizes[place] for place in np.unique(np.linspace(0, len(sizes) - 1, SHOWN_SIZES).astype(int))]
        lines = {
            (model, rule): [_cell(own[own["m"] == m]) for m in shown]
            for (model, rule), own in self.table.groupby(["model", "rule"], sort=False)
        }
        last = self.table[self.table["m"] == sizes[-1]].set_index(["model", "rule"])["log_loss"]
        order = sorted(lines, key=lambda key: np.nan_to_num(last.get(key, np.nan), nan=np.inf))
        of = f"{shown[0]:,} to {sizes[-1]:,} training rows"
        return Display(
            f"Learning curve from {of}: test log loss (± standard error), smallest with all rows first",
            ("model", "rule", *(f"{m:,} rows" for m in shown)),
            [(*key, *lines[key]) for key in order],
            sentences=tuple(self._reasons())[:MOST_REASONS],
        )

    def _reasons(self) -> Iterator[str]:
        """Yield why rules have no score at the largest size, and which of which models."""
        largest = self.table[(self.table["m"] == self.table["m"].max()) & (self.table["reason"] != "")]
        for (model, why), lines in largest.groupby(["model", "reason"], sort=False):
            yield f"n/a: {model} under {joined(lines['rule'])}: {why}"

    def of(self, metric: str = "log_loss") -> pd.DataFrame:
        """Return one score as `bayesclf.plots.learning_curve` draws it: `model`, `rule`, `m`, `mean` and `se`.

        Sizes at which a rule has no score, or an infinite one, are left out.

        Raises
        ------
        InputError
            For another metric than ``"error"``, ``"log_loss"`` and ``"brier"``.
        """
        require(Choice(METRICS), metric=metric)
        chosen = self.table[["model", "rule", "m"]].assign(mean=self.table[metric], se=self.table[f"{metric}_se"])
        finite: pd.DataFrame = chosen[np.isfinite(chosen["mean"])]
        return finite.reset_index(drop=True)


def _cell(line: pd.DataFrame) -> str:
    """Return a log loss with its standard error, the sign of infinity, or "n/a" without a score."""
    if line.empty or line["reason"].iloc[0]:
        return "n/a"
    mean, error = line["log_loss"].iloc[0], line["log_loss_se"].iloc[0]
    return pair(mean, error) if np.isfinite(mean) else "∞"


def learning_curve(
    models: Mapping[str, Any] | Sequence[Any] | Any,
    X: Any,
    y: Any,
    rules: Sequence[str] | str | None = None,
    sizes: Sequence[float] | None = None,
    cv: Any = 5,
    repeats: int = 1,
    random_state: Any = 0,
    n_jobs: int = 1,
    progress: Progress = None,
) -> LearningCurve:
    """Score classifiers and rules on the same test rows after learning from more and more training rows.

    The training rows of each split are put into a random order in which the classes take turns in proportion. A size m
    means the first m of them, so larger sets contain the smaller ones. All sizes of a split are scored on the split's
    test rows.

    The standard error of a mean over J splits is √((1/J + n_test/n_train) s²), with n_train all training rows of a
    split rather than m. The scores of two splits are dependent because they share rows, and with fewer training rows
    they share no more.

    Parameters
    ----------
    models, X, y, rules, cv, repeats, random_state, n_jobs, progress
        As in `bayesclf.compare`.
    sizes : sequence of float or None
        Training sizes: whole numbers are rows, at least 2, and fractions in (0, 1] are shares of the training rows; by
        default six, in equal ratios, up to all of them.

    Returns
    -------
    LearningCurve
        The scores by model, rule and number of training rows.

    Raises
    ------
    InputError
        For classifiers, a table, sizes or options that cannot be used.

    References
    ----------
    Nadeau & Bengio, *Inference for the Generalization Error*, Machine Learning 52 (2003). Ng & Jordan, *On
    Discriminative vs. Generative Classifiers*, NIPS 2002, Figure 1.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[0.1], [0.4], [0.5], [0.9], [1.1], [1.6], [0.3], [1.5]], [0, 0, 0, 1, 1, 1, 0, 1]
    >>> found = bc.learning_curve(bc.GaussianNB("shared"), X, y, rules=["predictive"], sizes=[2, 6], cv=4)
    >>> found.table[["model", "rule", "m", "error"]]
      model        rule  m  error
    0   gnb  predictive  2    0.0
    1   gnb  predictive  6    0.0
    """
    models = peers.named(models)
    asked = checked_rules(rules)
    seed = seed_of(random_state)
    require(JOBS, n_jobs=n_jobs)
    frame, y, remarks = labeled_table(X, y, cv)
    classes, codes = np.unique(checked_labels(y, len(frame)), return_inverse=True)
    folds = folds_of(cv, repeats, frame, classes[codes], codes, seed)
    counts = _counts(sizes, min(len(train) for train, _ in folds.splits))
    splits = tuple(_nested(folds.splits, counts, codes, seed))
    study = Study(models, (frame, codes, classes), Question(asked, None), seed, n_jobs, progress)
    study.finish(splits, whole=False)
    lines, notes = [], {}
    for name, model in models.items():
        said = [study.finished[name, index].notes for index in range(len(splits))]
        notes[name] = tuple(cross_validation.gathered([*remarks, *folds.remarks], said))
        for rule in peers.rules_of(model, asked):
            for place, m in enumerate(counts):
                found = [study.finished[name, index].scores[rule] for index in range(place, len(splits), len(counts))]
                lines.append({"model": name, "rule": rule, "m": m} | _line(found, folds.splits))
    return LearningCurve(pd.DataFrame(lines), seed, notes)


def _counts(sizes: Sequence[float] | None, rows: int) -> list[int]:
    """Return training sizes as numbers of rows, increasing."""
    if sizes is None:
        return sorted({round(size) for size in np.geomspace(min(LEAST_ROWS, rows), rows, SIZES)})
    counts = []
    for size in np.atleast_1d(np.asarray(sizes, dtype=object)):
        whole = isinstance(size, Integral)
        if isinstance(size, bool) or not (whole or (isinstance(size, Real) and 0 < float(size) <= 1)):
            raise InputError(f"a training size is a number of rows or a share between 0 and 1, not {size!r}")
        count = int(size) if whole else round(float(size) * rows)
        if not 2 <= count <= rows:
            raise InputError(f"training sizes must lie between 2 and {rows}, the rows of the training part, not {size}")
        counts.append(count)
    if not counts:
        raise InputError("sizes names no training size; leave it out for six sizes up to all training rows")
    return sorted(set(counts))


def _nested(splits: Sequence[Split], counts: list[int], codes: Integers, seed: int) -> Iterator[Split]:
    """Yield for each split its training rows of every size, each with the test rows."""
    for number, (train, test) in enumerate(splits):
        ordered = train[cross_validation.in_turns(codes[train], np.random.default_rng([seed, ORDER_STREAM, number]))]
        yield from ((ordered[:m], test) for m in counts)


def _line(found: list[RowScores | str], splits: Sequence[Split]) -> dict[str, Any]:
    """Return the means of a model and rule at one size and their errors, or why there are none."""
    reasons = [one for one in found if isinstance(one, str)]
    scored = [one for one in found if isinstance(one, RowScores)]
    if reasons:
        empty = {f"{metric}{ending}": np.nan for metric in METRICS for ending in ("", "_se")}
        return {**empty, "log_loss_infinite": 0, "reason": f"{reasons[0]} (in {len(reasons)} of {len(found)} splits)"}
    train, rows = float(np.mean([len(train) for train, _ in splits])), np.concatenate([test for _, test in splits])
    line: dict[str, Any] = {}
    for metric in METRICS:
        values = np.concatenate([getattr(one, metric) for one in scored])
        error = scores.standard_error_of_rows(scores.mean_of_rows(values, rows), train, metric == "error")
        line |= {metric: float(values.mean()), f"{metric}_se": error}
    return {**line, "log_loss_infinite": int(sum(np.isinf(one.log_loss).sum() for one in scored)), "reason": ""}
