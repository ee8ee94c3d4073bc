"""Questions about held-out answers that every page, check and verdict decides by the same numbers.

Is a classifier too sure of itself? Is it better than an answer that ignores the columns, in its probabilities and in
its decisions? (Yes, no, or undecided, if the rows do not tell.) Is one entry of a comparison better than another? Clear
differences hold for all entries together, so that the number of entries does not make false ones likely. Does the table
make all scores too good?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from scipy.special import gammaln

from bayesclf.arrays import Array, Integers
from bayesclf.evaluation.scores import standard_error_of_rows
from bayesclf.tables.options import leaving_out, of_memory
from bayesclf.wording import NEGLIGIBLE, named

Z_CONFIDENCE = 2.576
"""A gap between confidence and accuracy is clear above this many standard errors, at a level of 1%."""

SMALLEST_GAP = 0.02
"""Mean confidence minus accuracy, below which over-confidence does not matter."""

Z_GAIN = 1.96
"""A gain over the answer that ignores the columns is clear above this many standard errors."""

type State = Literal["yes", "no", "undecided"]

CONFIDENCE = 0.95
"""Probability that all claims about a group of entries hold."""

MATTERS = 0.01
"""Smallest difference of log loss that matters, in nats: one percent in the probability of the true class."""

MATTERS_RELATIVELY = 0.1
"""Share of the log loss of the class shares that matters, where that is smaller than `MATTERS`: of rare classes."""

MOST_NATS = float(np.log(1000))
"""Log loss of a row above which it counts as that much against an entry: its true class had less than 1/1000.

If an entry's truncated loss is clearly larger than another's whole loss, so is its own whole loss. A few rows make the
loss of an over-confident model large. Truncated, they do not make its standard error so large that nothing is clear.
"""

DRAWS, AT_ONCE = 20_000, 1_000
"""Draws from the distribution of the largest statistic, and in one array; its 95% point is then accurate to 0.02."""

EQUAL = 1e-6
"""Share of the largest standard deviation of a difference below which two entries are the same."""

ONE_SPLIT = 0.3
"""Error that the choice of the folds leaves in a difference after one repeat, in standard errors over the rows.

It cannot be estimated from one repeat. On 19 tables of 40 to 768 rows it was .07 to .49, with a median of .27.
"""

Kind = Literal["best", "open", "tied", "leaning", "behind"]
"""Where an entry stands; of several, the first claims least."""

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Estimate:
    """A mean over held-out rows with its standard error: of a gain, or of a gap between confidence and accuracy.

    On simulated tables of 50 to 500 rows, the gap of the classifier that is fitted on all rows lies within 1.96 errors
    in 98% to 99%; without the allowance for folds it would in 91% to 94%.

    Attributes
    ----------
    mean, error
        Of the values of the rows.
    """

    mean: float
    error: float

    @classmethod
    def of(cls, values: Array, train: float) -> Estimate:
        """Return the mean of the finite values (row), of models fitted on `train` rows on average."""
        values = values[np.isfinite(values)]
        return cls(float(values.mean()) if len(values) else np.nan, standard_error_of_rows(values, train))

    @property
    def state(self) -> State:
        """Whether a gain is clear; ``"no"`` if it is clearly a loss."""
        return "yes" if self.mean > Z_GAIN * self.error else "no" if self.mean < -Z_GAIN * self.error else "undecided"

    @property
    def matters(self) -> bool:
        """Whether a gap exceeds both its error and the smallest gap that matters."""
        return self.mean > max(Z_CONFIDENCE * self.error, SMALLEST_GAP)

    def __str__(self) -> str:
        mean = f"{self.mean:+.3f}" if abs(self.mean) >= 0.0005 else "0.000"
        return f"{mean} ± {self.error:.3f}".replace("-", "−")


def class_shares(y: Integers, classes: int) -> Array:
    """Return the share of each class in training rows, with one row more of each, (outcome)."""
    counts = np.bincount(y, minlength=classes) + 1.0
    return np.asarray(counts / counts.sum())


def split_error(values: Array, folds: Integers) -> float:
    """Return the standard error of the mean of values that comes from the choice of the folds.

    The values of a fold, less the means of their rows over the repeats, add to the mean of the fold's repeat. What they
    add has mean 0 and is taken as independent between folds.

    Parameters
    ----------
    values
        (repeat, row), of at least two repeats.
    folds
        Number of the fold of each value, (repeat, row).
    """
    repeats, rows = values.shape
    parts = np.bincount(folds.ravel(), (values - values.mean(axis=0)).ravel()) / rows
    return float(np.sqrt((parts**2).sum() * repeats / (repeats - 1)) / repeats)


def critical_value(losses: Array) -> float:
    """Return the 95% point of the largest |t| over all pairs of columns, given finite losses (row, entry).

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


def kind_of(difference: float, error: float, clear_by: float, leans_by: float, quantile: float, matters: float) -> Kind:
    """Return where an entry stands, whose difference exceeds what is clear, and what leans, by so much."""
    clear = bool(np.isinf(difference) or clear_by > NEGLIGIBLE)
    if difference < matters:
        return "tied" if clear or difference + quantile * error < matters else "open"
    return "behind" if clear else "leaning" if leans_by > NEGLIGIBLE else "open"


MOST_REPEATED = 0.05
"""Share of the held-out rows that may repeat a training row without a remark."""

CHANCE = 0.01
"""Probability with which some column that has nothing to do with the label is taken for a copy of it."""


class TooGood(NamedTuple):
    """What may make held-out scores too good, as a clause, and what to do about it."""

    reason: str
    remedy: str


def too_good(X: pd.DataFrame, y: Integers, splits: Sequence[tuple[Integers, Integers]]) -> list[TooGood]:
    """Return what may make scores of a table's held-out rows too good: columns that give the label away, repeated rows.

    Parameters
    ----------
    X, y
        The table (row, feature), and label codes (row).
    splits
        Numbers of training and of test rows, which are tested once.
    """
    found, copies = [], label_copies(X, y)
    if copies:
        are = "determines" if len(copies) == 1 else "each determine"
        found.append(
            TooGood(
                f"column{'s' * (len(copies) > 1)} {named(copies)} {are} the label on every row; scores are too good if "
                f"new rows do not have {'it' if len(copies) == 1 else 'them'} before the answer",
                f"leave out what is not known before the answer: {leaving_out(copies)}",
            )
        )
    tested = sum(len(test) for _, test in splits)
    if (repeated := repeated_rows(X, y, splits)) > MOST_REPEATED * tested:
        found.append(
            TooGood(
                f"{repeated:,} of {tested:,} held-out rows equal a training row, label included; if they are copies, "
                "scores are too good and ± is too small",
                "in that case keep each row once, or all rows of a unit in one fold: "
                + of_memory("group", "COL", "bc.compare(models, X, y, groups=groups)"),
            )
        )
    return found


def label_copies(X: pd.DataFrame, y: Integers) -> list[str]:
    """Return the columns of which each value, or a missing cell, has one class, where that is not by chance.

    n different rows with counts n_k of K classes can be labeled in n! / Π n_k! ways. At most K^v of these fit a column
    of v values, and their share is the chance.
    """
    once = ~X.duplicated().to_numpy()
    X, y = X[once], y[once]
    counts = np.unique(y, return_counts=True)[1]
    ways = gammaln(len(y) + 1) - gammaln(counts + 1).sum()
    found = []
    for name in X:
        codes, values = pd.factorize(X[name], use_na_sentinel=False)
        label = y[np.unique(codes, return_index=True)[1]]
        chance = len(values) * np.log(len(counts)) - ways
        if len(values) > 1 and (label[codes] == y).all() and chance < np.log(CHANCE / X.shape[1]):
            found.append(str(name))
    return found


def repeated_rows(X: pd.DataFrame, y: Integers, splits: Sequence[tuple[Integers, Integers]]) -> int:
    """Return how many test rows equal a training row of their split, label included; 0 where rows are alike by nature.

    They are by nature where columns have few levels. Then at least as many different rows agree with another one in all
    columns but one, whose value also occurs elsewhere, as are repeated.
    """
    parts = [pd.util.hash_pandas_object(X.iloc[:, j], index=False).to_numpy() for j in range(X.shape[1])]
    parts.append(pd.util.hash_array(y))
    odd = np.random.default_rng(0).integers(2**63, size=len(parts), dtype=np.uint64) * 2 + 1
    cells = np.stack(parts) * odd[:, None]  # (column, row), so that equal cells of two columns differ
    whole = cells.sum(axis=0, dtype=np.uint64)
    repeated = sum(int(np.isin(whole[test], whole[train]).sum()) for train, test in splits)
    if not repeated:
        return 0
    _, first, times = np.unique(whole, return_index=True, return_counts=True)
    alike = np.zeros(len(first), dtype=bool)
    for column in cells[:, first]:
        elsewhere = pd.Series(column).duplicated(keep=False)  # else all rows that a number distinguishes are alike
        alike |= (elsewhere & pd.Series(whole[first] - column).duplicated(keep=False)).to_numpy()
    return 0 if alike.sum() >= (times > 1).sum() else repeated
