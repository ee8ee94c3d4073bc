"""Where the entries of a comparison stand: which are clearly behind the best, which are tied with it.

Claims about all entries hold together, so that the number of entries does not make false ones likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bayesclf.evaluation.peers import NO_RULE
from bayesclf.evaluation.score_table import HeldOut, Key
from bayesclf.evaluation.scores import standard_error_of_rows
from bayesclf.typing import Array
from bayesclf.wording import NEGLIGIBLE

BASELINE = ("baseline", NO_RULE)
"""The entry that gives every row the shares of the classes in the training rows, whatever its columns say."""

CONFIDENCE = 0.95
"""Probability that all claims about a group of entries hold."""

MATTERS = 0.01
"""Smallest difference of log loss that matters, in nats: one percent in the probability of the true class."""

MATTERS_RELATIVELY = 0.1
"""Share of the best log loss that matters, where that is smaller than `MATTERS`."""

MOST_NATS = float(np.log(1000))
"""Log loss of a row above which it counts as that much against an entry: its true class had less than 1/1000.

An entry whose truncated loss is clearly larger than another's whole loss has a clearly larger loss, and the few rows
that make the loss of an over-confident model large cannot make its standard error so large that nothing is clear.
"""

DRAWS, AT_ONCE = 20_000, 1_000
"""Draws from the distribution of the largest statistic, and in one array; its 95 % point is then accurate to 0.02."""

EQUAL = 1e-6
"""Share of the largest standard deviation of a difference below which two entries are the same."""

Kind = Literal["best", "tied", "open", "behind"]


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
        The loss minus that of the best entry, and the standard error of this difference over the rows, as `standings`
        has it; the table of a comparison has that over the folds.
    kind
        ``"best"``; ``"behind"``: clearly, by an amount that matters; ``"tied"``: a difference is too small to matter;
        ``"open"``: these rows do not tell.
    """

    model: str
    rule: str
    loss: float
    difference: float
    error: float
    kind: Kind


def standings(
    comparison: HeldOut, entries: Sequence[Key], metric: str = "log_loss", against: Key | None = None
) -> list[Standing]:
    """Compare entries with the best of them, by the mean of a loss over the rows, the smallest first.

    The standard error of a mean difference is s √(1/n + 1/n_train), s being the standard deviation of the difference
    over n rows: Nadeau and Bengio's allowance for training sets that overlap, applied to rows instead of folds, since
    five folds tell little about a variance. A difference is clear if it exceeds q standard errors, q the 95 % point of
    the largest |t| over all pairs of entries, so that the probability of any false claim is at most 5 %.

    Parameters
    ----------
    comparison
        The comparison.
    entries
        Models and rules that have answers, and possibly `BASELINE`; at least one.
    metric
        A field of `bayesclf.evaluation.scores.RowScores`: ``"log_loss"``, ``"error"`` or ``"cost"``. Differences of log
        loss below `MATTERS` count as ties, of others those of 0.
    against
        The entry that takes the place of the best one, and comes first; better ones are not behind it.

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52. Hothorn, Bretz & Westfall
    (2008), Simultaneous inference in general parametric models, Biometrical Journal 50, section 3.
    """
    losses = np.column_stack([row_losses(comparison, key, metric) for key in entries])
    train = float(np.mean([len(train) for train, _ in comparison.splits]))
    means = losses.mean(axis=0)
    order = sorted(range(len(entries)), key=lambda place: (entries[place] != against, means[place]))
    if metric == "log_loss":
        return _ordered(entries, order, losses, np.minimum(losses, MOST_NATS), train, smallest_difference(losses))
    return _ordered(entries, order, losses, losses, train, NEGLIGIBLE)


def smallest_difference(losses: Array) -> float:
    """Return the smallest difference that matters, given log losses (row, entry)."""
    return max(min(MATTERS, MATTERS_RELATIVELY * float(losses.mean(axis=0).min())), NEGLIGIBLE)


def row_losses(comparison: HeldOut, key: Key, metric: str = "log_loss") -> Array:
    """Return a loss of each tested row, (row), averaged over the repeats."""
    rows, values = np.concatenate(comparison.tested), _losses(comparison, key, metric)
    times = np.bincount(rows)
    return np.asarray((np.bincount(rows, values) / np.maximum(times, 1))[times > 0])


def _losses(comparison: HeldOut, key: Key, metric: str) -> Array:
    """Return a loss of the rows of all repeats, concatenated."""
    if key != BASELINE:
        return np.concatenate([getattr(part, metric) for part in comparison.answers[key].scores])
    found = [np.empty(len(rows)) for rows in comparison.tested]
    for values, rows, run in zip(found, comparison.tested, comparison.runs, strict=True):
        for number in run:
            train, test = comparison.splits[number]
            counts = np.bincount(comparison.y[train], minlength=comparison.y.max() + 1) + 1.0
            y = comparison.y[test]
            loss = -np.log(counts[y] / counts.sum()) if metric == "log_loss" else (y != counts.argmax()).astype(float)
            values[np.searchsorted(rows, test)] = loss
    return np.concatenate(found)


def critical_value(losses: Array) -> float:
    """Return the 95 % point of the largest |t| over all pairs of columns, given finite losses (row, entry).

    It is drawn from the multivariate t distribution with the observed correlations. Equal columns are no pair.
    """
    rows, entries = losses.shape
    if rows < 2:
        return float("inf")
    rng = np.random.default_rng(entries)  # the same claims for the same losses
    values, vectors = np.linalg.eigh(np.cov(losses, rowvar=False).reshape(entries, entries))
    root = vectors * np.sqrt(np.maximum(values, 0))
    one, other = np.triu_indices(entries, 1)
    contrasts = root[one] - root[other]
    sizes = np.linalg.norm(contrasts, axis=1)
    distinct = sizes > EQUAL * max(sizes.max(initial=0.0), NEGLIGIBLE)
    if not distinct.any():
        return 0.0
    contrasts = contrasts[distinct] / sizes[distinct, None]
    parts = (np.abs(rng.standard_normal((AT_ONCE, entries)) @ contrasts.T) for _ in range(DRAWS // AT_ONCE))
    largest = np.concatenate([part.max(axis=1) for part in parts])
    scale = np.sqrt(rng.chisquare(rows - 1, DRAWS) / (rows - 1))
    return float(np.quantile(largest / scale, CONFIDENCE))


def _ordered(
    entries: Sequence[Key], order: Sequence[int], losses: Array, truncated: Array, train: float, matters: float
) -> list[Standing]:
    """Return the standings for losses (row, entry) in an order, in which the first is what others are compared with."""
    means = losses.mean(axis=0)
    best, quantile = order[0], critical_value(truncated)
    found = [Standing(entries[best][0], entries[best][1], float(means[best]), 0.0, 0.0, "best")]
    for place in order[1:]:
        model, rule = entries[place]
        if np.isinf(means[best]):
            found.append(Standing(model, rule, float(means[place]), np.nan, np.nan, "open"))
            continue
        difference = float(means[place] - means[best])
        error = standard_error_of_rows(losses[:, place] - losses[:, best], train)
        cautious = truncated[:, place] - losses[:, best]
        least = cautious.mean() - quantile * standard_error_of_rows(cautious, train)
        clear = np.isinf(difference) or least > NEGLIGIBLE
        small = difference < matters and (clear or difference + quantile * error < matters)
        kind: Kind = "tied" if small else "behind" if clear else "open"
        found.append(Standing(model, rule, float(means[place]), difference, error, kind))
    return found
