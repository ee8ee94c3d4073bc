"""The table of scores of a comparison, and where its entries stand: clearly behind the best, or tied with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from bayesclf.arrays import Array, Integers
from bayesclf.constraints import Text, require
from bayesclf.decisions import Costs
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation import cross_validation
from bayesclf.evaluation.cross_validation import Answers, Split, scored
from bayesclf.evaluation.judgments import (
    KINDS,
    MATTERS,
    MATTERS_RELATIVELY,
    MOST_NATS,
    ONE_SPLIT,
    Estimate,
    Kind,
    class_shares,
    critical_value,
    kind_of,
    split_error,
)
from bayesclf.evaluation.peers import NO_RULE
from bayesclf.evaluation.scores import Calibration, calibration_gaps, mean_of_rows, standard_error_of_rows
from bayesclf.wording import NEGLIGIBLE

type Key = tuple[str, str]
"""A model and a rule."""

BASELINE = ("baseline", NO_RULE)
"""The entry that gives every row the shares of the classes in the training rows, whatever its columns say.

Its decision is the same for all rows: the most frequent class, or the cheapest decision where there are costs.
"""


ODD = 0.01
"""Probability with which one of the folds of a table stands out by chance."""

FEWEST_FOLDS = 4
"""Folds from which on one can stand out."""


class HeldOut:
    """Answers to held-out rows, and where its entries stand; `bayesclf.evaluation.comparison.Comparison` is one."""

    answers: dict[Key, Answers]
    y: Integers
    splits: tuple[Split, ...]
    repeats: int
    seed: int
    costs: Costs | None

    @property
    def best(self) -> Key:
        """The entry that others are compared with."""
        raise NotImplementedError

    @cached_property
    def runs(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the splits that make up each entry of `Answers.scores`: the folds of one repeat."""
        return cross_validation.runs(self.splits)

    @cached_property
    def tested(self) -> tuple[Integers, ...]:
        """The numbers of the rows that each entry of `Answers.scores` is about; all rows, if cv was a number."""
        return cross_validation.rows_tested(self.splits, self.runs)

    @cached_property
    def train_size(self) -> float:
        """The mean number of training rows of a fold."""
        return float(np.mean([len(train) for train, _ in self.splits]))

    @cached_property
    def calibrations(self) -> dict[Key, Calibration]:
        """What `calibration` returned, by entry."""
        return {}

    @cached_property
    def matters(self) -> float:
        """The smallest difference of log loss that matters, in nats: the same for all entries."""
        return min(MATTERS, MATTERS_RELATIVELY * mean(self, BASELINE, "log_loss"))

    def rules_of(self, model: str) -> tuple[str, ...]:
        """Return the rules under which this model could answer."""
        require(Text(), model=model)
        return tuple(rule for (name, rule), answer in self.answers.items() if name == model and not answer.reason)

    def stacked(self, model: str, rule: str) -> tuple[Array, Integers]:
        """Return log P(k | x) of all repeats, concatenated, (row, outcome), and the label codes (row)."""
        self._require_answers(model, rule)
        parts = self.answers[model, rule].scores
        return np.concatenate([part.log_proba for part in parts]), self.y[np.concatenate(self.tested)]

    def _require_answers(self, model: str, rule: str) -> None:
        """Raise `InputError` for a line that the comparison lacks, and `Refused` for one without answers."""
        require(Text(), model=model, rule=rule)
        answer = self.answers.get((model, rule))
        if answer is None:
            lines = ", ".join(" ".join(key) for key in self.answers)
            raise InputError(f"the comparison has no row {model} {rule}; its rows are {lines}")
        if answer.reason:
            raise Refused(f"{model} has no answers under the rule {rule}: {answer.reason}")


def score_table(comparison: HeldOut, calibrated: bool = True) -> pd.DataFrame:
    """Return the table that `Comparison.table` describes, without the calibration, which takes longest, if desired."""
    table = pd.DataFrame([_line(comparison, *key, calibrated) for key in comparison.answers])
    return table.assign(**_differences(comparison, table)) if "log_loss" in table else table


def mean(comparison: HeldOut, key: Key, metric: str) -> float:
    """Return a metric's mean over rows and repeats; the metrics are fields of `RowScores`."""
    return float(_losses(comparison, key, metric).mean())


def infinite_losses(comparison: HeldOut, key: Key) -> tuple[int, float]:
    """Return in how many rows the log loss of an entry is infinite in some repeat, and the mean where it is finite."""
    losses = _losses(comparison, key, "log_loss")
    finite = losses[np.isfinite(losses)]
    rows = np.unique(np.concatenate(comparison.tested)[np.isinf(losses)]).size
    return rows, float(finite.mean()) if finite.size else np.inf


def with_error(comparison: HeldOut, key: Key, metric: str) -> dict[str, float]:
    """Return a metric's mean and its standard error over the rows, under its name."""
    error = standard_error_of_rows(row_losses(comparison, key, metric), comparison.train_size, metric == "error")
    return {metric: mean(comparison, key, metric), f"{metric}_se": error}


def gain(comparison: HeldOut, key: Key, metric: str) -> Estimate:
    """Return by how much a loss of an entry is smaller than that of `BASELINE`, without rows of infinite loss.

    For log loss and Brier score the baseline gives the class shares; for errors it is the most frequent class; for
    costs, the decision that is cheapest for all rows together.
    """
    return _estimate(comparison, _losses(comparison, BASELINE, metric) - _losses(comparison, key, metric))


def _estimate(comparison: HeldOut, values: Array) -> Estimate:
    """Return the mean of values of all repeats, concatenated, with the error over rows and, if repeated, over folds."""
    if comparison.repeats == 1:
        return Estimate.of(mean_of_rows(values, np.concatenate(comparison.tested)), comparison.train_size)
    every = values.reshape(comparison.repeats, -1)
    finite = np.isfinite(every).all(axis=0)
    found = Estimate.of(every[:, finite].mean(axis=0), comparison.train_size)
    of_folds = split_error(every[:, finite], folds_of_rows(comparison).reshape(every.shape)[:, finite])
    return replace(found, error=float(np.hypot(found.error, of_folds)))


def calibration(comparison: HeldOut, key: Key) -> Calibration:
    """Return the calibration of an entry's probabilities; labels are simulated at the first call only."""
    if key not in comparison.calibrations:
        log_proba, y = comparison.stacked(*key)
        gaps = calibration_gaps(log_proba, y)
        errors = float(gaps.mean()), _estimate(comparison, gaps).error
        comparison.calibrations[key] = Calibration.of(log_proba, *errors, comparison.seed, comparison.repeats)
    return comparison.calibrations[key]


def over_confidence(comparison: HeldOut, key: Key) -> Estimate:
    """Return by how much the mean confidence of an entry exceeds its accuracy."""
    return _estimate(comparison, _confidence_gap(comparison, *key))


def less_confident(comparison: HeldOut, key: Key) -> str:
    """Return the rule of a model that leaves least over-confidence, if clearly less than the entry's; or "".

    Gibbs is left out: its probabilities are those of a single hypothesis, drawn for each row, and over-confident by
    construction.
    """
    model, own = key
    gaps = {rule: _confidence_gap(comparison, model, rule) for rule in comparison.rules_of(model)}
    best = min((rule for rule in gaps if rule != "gibbs"), key=lambda rule: abs(gaps[rule].mean()), default=own)
    return best if _estimate(comparison, gaps[own] - gaps[best]).matters else ""


def _confidence_gap(comparison: HeldOut, model: str, rule: str) -> Array:
    """Return the probability of the predicted class minus 1 where it is right, of all repeats, concatenated."""
    log_proba, y = comparison.stacked(model, rule)
    return np.asarray(np.exp(log_proba.max(axis=1)) - (log_proba.argmax(axis=1) == y))


def _line(comparison: HeldOut, model: str, rule: str, calibrated: bool) -> dict[str, Any]:
    """Return one row of the table."""
    key = (model, rule)
    line: dict[str, Any] = {"model": model, "rule": rule}
    if reason := comparison.answers[key].reason:
        return line | {"reason": reason}
    infinite, finite = infinite_losses(comparison, key)
    error = with_error(comparison, key, "error")
    line |= {
        "accuracy": 1 - error["error"],
        "accuracy_se": error["error_se"],
        **with_error(comparison, key, "log_loss"),
        "log_loss_finite": finite,
        "log_loss_infinite": infinite,
        **with_error(comparison, key, "brier"),
    }
    if calibrated and rule != "gibbs":  # one draw for each row, not the expectation that other scores are
        judged = calibration(comparison, key)
        line |= {"calibration_error": judged.error, "calibration_error_se": judged.standard_error}
        line["calibration_expected"] = judged.expected
    if comparison.costs is not None:
        line |= with_error(comparison, key, "cost") | {"rejected": mean(comparison, key, "rejected")}
    return line | _against_bayes_optimal(comparison, key)


def _against_bayes_optimal(comparison: HeldOut, key: Key) -> dict[str, float]:
    """Compare the decisions of a rule with those of the same model's Bayes-optimal rule."""
    optimal = (key[0], "bayes-optimal")
    if optimal not in comparison.answers or comparison.answers[optimal].reason:
        return {}
    decided, best = (comparison.stacked(*one)[0].argmax(axis=1) for one in (key, optimal))
    differs = best != decided
    votes = [part.votes for part in comparison.answers[key].scores if part.votes is not None]
    if votes:
        differs = 1 - np.concatenate(votes)[np.arange(len(best)), best]
    return {"disagreement": float(differs.mean())}


def _differences(comparison: HeldOut, table: pd.DataFrame) -> dict[str, list[float]]:
    """Return the differences from the best model and rule, and their standard errors."""
    keys = list(zip(table["model"], table["rule"], strict=True))
    answered = [key for key in keys if not comparison.answers[key].reason]
    result: dict[str, list[float]] = {}
    for metric in ("error", "log_loss", "brier", *(["cost"] if comparison.costs is not None else [])):
        name, sign = ("accuracy", -1) if metric == "error" else (metric, 1)
        found = {one.key: one for one in standings(comparison, answered, metric, comparison.best)}
        nothing = Standing(*comparison.best, np.nan, np.nan, np.nan, "open")
        own = [found.get(key, nothing) for key in keys]
        result[f"{name}_diff"] = [sign * one.difference for one in own]
        result[f"{name}_diff_se"] = [one.error for one in own]
    return result


@dataclass(frozen=True)
class Standing:
    """An entry against the best one of its group.

    Attributes
    ----------
    model, rule
        The entry.
    loss
        Its mean loss over the rows.
    difference, error
        The loss minus that of the best entry, and the standard error of this difference, as `standings` has it.
    kind
        ``"best"``; ``"behind"``: clearly, by an amount that matters; ``"leaning"``: probably; ``"tied"``: a difference
        is too small to matter; ``"open"``: these rows do not tell.
    undone
        Whether it would lean if other folds could not change the difference.
    """

    model: str
    rule: str
    loss: float
    difference: float
    error: float
    kind: Kind
    undone: bool = False

    @property
    def key(self) -> Key:
        """The model and the rule."""
        return self.model, self.rule


def standings(
    comparison: HeldOut, entries: Sequence[Key], metric: str = "log_loss", against: Key | None = None
) -> list[Standing]:
    """Compare entries with the best of them, by the mean of a loss over the rows, the smallest first.

    The standard error of a mean difference is √(s² (1/n + 1/n_train) + m²). s is the standard deviation of the
    difference over n rows: Nadeau and Bengio's allowance for training sets that overlap, applied to rows instead of
    folds, since five folds tell little about a variance. m is what the choice of the folds leaves, as `split_error`
    estimates it from several repeats.

    A difference is clear (``"behind"``) if it exceeds q standard errors, where q is the 95% point of the largest |t|
    over all pairs. So the probability of any false claim is at most 5%. It leans if it exceeds one standard error.
    Where m could change this grade, the lower one is taken.

    Parameters
    ----------
    comparison
        The comparison.
    entries
        Models and rules that have answers, and possibly `BASELINE`; at least one.
    metric
        A field of `bayesclf.evaluation.scores.RowScores`: ``"log_loss"``, ``"error"`` or ``"cost"``. Differences of log
        loss below `HeldOut.matters` are neither clear nor probable, of others those of 0.
    against
        The entry that takes the place of the best one, and comes first; better ones are not behind it.

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52. Hothorn, Bretz & Westfall
    (2008), Simultaneous inference in general parametric models, Biometrical Journal 50, section 3.
    """
    every = _losses_of_repeats(comparison, entries, metric)
    losses, train = every.mean(axis=0), comparison.train_size
    folds = folds_of_rows(comparison).reshape(every.shape[:2]) if len(every) > 1 else None
    means = losses.mean(axis=0)
    order = sorted(range(len(entries)), key=lambda place: (entries[place] != against, means[place]))
    bounded = every if metric != "log_loss" else np.minimum(every, MOST_NATS)
    matters = comparison.matters if metric == "log_loss" else NEGLIGIBLE
    truncated, best = bounded.mean(axis=0), order[0]
    quantile = critical_value(truncated)
    found = [Standing(*entries[best], float(means[best]), 0.0, 0.0, "best")]
    for place in order[1:]:
        loss = float(means[place])
        if np.isinf(means[best]):
            found.append(Standing(*entries[place], loss, np.nan, np.nan, "open"))
            continue
        difference = float(means[place] - means[best])
        of_rows = standard_error_of_rows(losses[:, place] - losses[:, best], train)
        cautious = truncated[:, place] - losses[:, best]
        cautious_error = standard_error_of_rows(cautious, train)
        of_folds = 0.0 if folds is None else split_error(bounded[:, :, place] - bounded[:, :, best], folds)
        error = float(np.hypot(of_rows, of_folds))
        left = ONE_SPLIT * cautious_error if folds is None else of_folds
        spread = np.hypot(cautious_error, of_folds)
        clear_by, leans_by = float(cautious.mean() - quantile * spread), float(cautious.mean() - spread)
        kinds = [
            kind_of(difference + moved, error, clear_by + moved, leans_by + moved, quantile, matters)
            for moved in (-left, 0.0, left)
        ]
        kind = min(kinds, key=KINDS.index)
        undone = kind == "open" and kinds[1] in ("leaning", "behind")
        found.append(Standing(*entries[place], loss, difference, error, kind, undone))
    return found


def standing_of_shares(held_out: HeldOut, key: Key) -> Standing:
    """Return where the class shares stand against an entry."""
    return standings(held_out, [key, BASELINE], against=key)[1]


def useful(held_out: HeldOut, key: Key) -> bool:
    """Return whether an entry is better than the class shares, at least probably."""
    return standing_of_shares(held_out, key).kind in ("behind", "leaning")


def _losses_of_repeats(comparison: HeldOut, entries: Sequence[Key], metric: str) -> Array:
    """Return losses (repeat, row, entry); those of splits that do not test the same rows each time as one repeat."""
    if comparison.repeats == 1:
        return np.column_stack([row_losses(comparison, key, metric) for key in entries])[None]
    losses = [_losses(comparison, key, metric).reshape(comparison.repeats, -1) for key in entries]
    return np.stack(losses, axis=-1)


def folds_of_rows(comparison: HeldOut) -> Integers:
    """Return the number of the split that tested each row, of all repeats, concatenated."""
    folds = [np.empty(len(rows), dtype=np.intp) for rows in comparison.tested]
    for own, rows, run in zip(folds, comparison.tested, comparison.runs, strict=True):
        for number in run:
            own[np.searchsorted(rows, comparison.splits[number][1])] = number
    return np.concatenate(folds)


def odd_fold(comparison: HeldOut, key: Key, other: Key) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return both log losses in the fold that makes much of their difference, and in all other folds; None without one.

    Such a fold is an outlier by the t test of its deleted residual, at a level of `ODD` for all folds. Of repeats, only
    what differs from the same rows in other folds counts. Without the fold, the difference changes by more than half,
    and by an amount that matters.
    """
    losses = np.array([_losses(comparison, one, "log_loss") for one in (key, other)])
    folds = folds_of_rows(comparison)
    rows = np.bincount(folds)
    if len(rows) < FEWEST_FOLDS or not np.isfinite(losses).all():
        return None
    differences = losses[1] - losses[0]
    every = differences.reshape(comparison.repeats, -1)
    own = every - (every.mean(axis=0) if comparison.repeats > 1 else every.mean())
    means = np.bincount(folds, own.ravel()) / rows
    place = int(np.abs(means).argmax())
    rest = np.delete(means, place)
    spread = rest.std(ddof=1) * np.sqrt(1 + 1 / len(rest))
    limit = stdtrit(len(rest) - 1, 1 - ODD / 2 / len(rows))
    there, elsewhere = (losses[:, chosen].mean(axis=1) for chosen in (folds == place, folds != place))
    total = differences.mean()
    moved = abs(total - elsewhere[1] + elsewhere[0])
    if abs(means[place] - rest.mean()) <= limit * spread or moved <= max(abs(total) / 2, comparison.matters):
        return None
    return tuple(there), tuple(elsewhere)


def row_losses(comparison: HeldOut, key: Key, metric: str = "log_loss") -> Array:
    """Return a loss of each tested row, (row), averaged over the repeats."""
    return mean_of_rows(_losses(comparison, key, metric), np.concatenate(comparison.tested))


def _losses(comparison: HeldOut, key: Key, metric: str) -> Array:
    """Return a loss of the rows of all repeats, concatenated."""
    if key != BASELINE:
        return np.concatenate([getattr(part, metric) for part in comparison.answers[key].scores])
    found = [np.empty(len(rows)) for rows in comparison.tested]
    for values, rows, run in zip(found, comparison.tested, comparison.runs, strict=True):
        for number in run:
            train, test = comparison.splits[number]
            log_shares = np.log(class_shares(comparison.y[train], int(comparison.y.max()) + 1))
            own = scored(np.tile(log_shares, (len(test), 1)), comparison.y[test], comparison.costs)
            values[np.searchsorted(rows, test)] = getattr(own, metric)
    return np.concatenate(found)
