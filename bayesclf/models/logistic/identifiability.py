"""What the likelihood of logistic regression determines.

Separable classes have no maximum likelihood estimate, and the weights of collinear columns are not determined; in
coordinates of the space that the columns span the estimate is unique.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse

from bayesclf.arrays import Array, Integers
from bayesclf.models.linear import Matrix
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.likelihood import gram
from bayesclf.tables.numbers import blocks_of
from bayesclf.wording import LISTED_NAMES, listed


@dataclass(frozen=True, eq=False)
class Moments:
    """Means and covariance of the columns of rows, by their weights.

    `mean`: (column). `covariance`: (column, column).
    """

    mean: Array
    covariance: Array

    @classmethod
    def of(cls, X: Matrix, weight: Array) -> Self:
        """Return the moments of rows (row, column) with weights (row); 0 without rows."""
        total = weight.sum()
        share = weight / total if total > 0 else weight
        mean = share @ X
        if not isinstance(X, np.ndarray):
            return cls(mean, gram(X, share) - np.outer(mean, mean))
        covariance = np.zeros((len(mean), len(mean)))
        for some in blocks_of(*X.shape):
            covariance += gram(X[some] - mean, share[some])
        return cls(mean, covariance)


ALWAYS = 1e-13
"""A category whose levels' shares add up to 1, but for less than this, is missing in no row."""

POSITIVE = 1e-7
"""Margins and weights above this count as positive; columns are in units of their sds."""


def find_separation(X: Matrix, y: Integers, guess: Array) -> Integers | None:
    """Find weights D under which no row has a higher score in another class than in its own.

    The maximum likelihood estimate exists iff every such D has margin (D_y − D_l)·x = 0 for all rows and classes
    (Albert & Anderson 1984). Where `plain_separation` finds none, solve the linear program: maximize Σ margins with all
    margins ≥ 0 and Σ|D| ≤ 1 over the columns, whose optimum is above 0 iff the classes are separable.

    `X`: Rows (row, 1 + column), a column of ones first. `y`: Codes (row) of the weight vectors, −1 for the reference;
    every class has rows. `guess`: Weights (outcome, 1 + column) to try first.

    Returns: Positions of the columns with a weight in D; None where there is no such D.

    See A. Albert, J. A. Anderson, Biometrika 71 (1984), doi:10.1093/biomet/71.1.1; K. Konis, *Linear programming
    algorithms for detecting separated data in binary logistic regression models*, 2007 (the program).
    """
    if (plain := plain_separation(X, y, guess)) is not None:
        return plain
    margins = _margins(X, y, len(guess))
    direction = _steepest(margins, np.tile(np.arange(guess.shape[1]) > 0, len(guess)))
    return _largest(direction.reshape(guess.shape)) if (margins @ direction).max() > POSITIVE else None


def plain_separation(X: Matrix, y: Integers, guess: Array) -> Integers | None:
    """Check cheap candidates: a guess, and single columns that separate a class from the others.

    Parameters are those of `find_separation`; None does not mean that the classes overlap.
    """
    if _separates(X, y, guess):
        return _largest(guess)
    columns = separating_columns(X[:, 1:], y)
    return columns if len(columns) else None


def separation_sentence(columns: Integers, names: tuple[str, ...], alone: Sequence[str]) -> str:
    """Say that the classes are separable by some columns, and what to do.

    `names` are those of all columns, `alone` the classes that each of the columns tells from all others.
    """
    some = listed((repr(names[j]) for j in columns), LISTED_NAMES)
    why = f"weights on {some} put every training row on its own class's side or on the boundary"
    if len(alone) == 1:
        why = f"weights on {some} put class {alone[0]!r} on one side or on the boundary, and all others on the other"
    return (
        f"the classes are separable: {why}, and the likelihood grows with them without bound; use rule 'map', or the "
        "posterior"
    )


def _separates(X: Matrix, y: Integers, theta: Array) -> bool:
    """Return whether θ (outcome, 1 + column) clearly gives every row its highest score in its own class."""
    scores = np.column_stack([np.zeros(len(y)), X @ theta.T])
    rows = np.arange(len(y))
    own = scores[rows, y + 1]
    scores[rows, y + 1] = -np.inf
    return bool(np.min(own - scores.max(axis=1)) > POSITIVE * max(float(np.abs(theta).max()), 1.0))


def separating_columns(X: Matrix, y: Integers, fewest: int = 1) -> Integers:
    """Return the columns whose values in one class all are at least, or all at most, those in the others.

    Both have at least `fewest` rows.
    """
    labels, found = np.unique(y), np.zeros(X.shape[1], dtype=bool)
    if len(labels) > 1:
        smallest, largest = _extremes(X)
        for own in labels[[min((y == own).sum(), (y != own).sum()) >= fewest for own in labels]]:
            (least, most), (least_other, most_other) = _extremes(X[y == own]), _extremes(X[y != own])
            found |= ((least >= most_other) | (most <= least_other)) & (largest - smallest > POSITIVE)
    return np.flatnonzero(found)


def _extremes(X: Matrix) -> tuple[Array, Array]:
    """Return the smallest and the largest cell of each column."""
    if isinstance(X, np.ndarray):
        return X.min(axis=0), X.max(axis=0)
    return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()


def _largest(direction: Array) -> Integers:
    """Return the positions of the columns with a weight, the largest first, of D (outcome, 1 + column)."""
    weights = np.abs(direction[:, 1:]).max(axis=0)
    order = np.argsort(-weights, kind="stable")
    return order[weights[order] > POSITIVE]


def _margins(X: Matrix, y: Integers, vectors: int) -> Any:
    """Return the matrix (row and other class, label and column) that maps D raveled to the margins."""
    rows = sparse.csr_array(X)
    parts = []
    for own in range(-1, vectors):
        members = rows[np.flatnonzero(y == own)]
        nothing = sparse.csr_array(members.shape)
        for other in range(-1, vectors):
            if other != own:
                signs = [(k == own) * 1.0 - (k == other) * 1.0 for k in range(vectors)]
                parts.append(sparse.hstack([sign * members if sign else nothing for sign in signs], format="csr"))
    return sparse.vstack(parts, format="csr")


def _steepest(margins: Any, penalized: NDArray[np.bool_]) -> Array:
    """Return D = D⁺ − D⁻ that maximizes Σ margins subject to margins ≥ 0 and Σ|D| ≤ 1 over the penalized entries."""
    objective = np.asarray(margins.sum(axis=0)).ravel()
    budget = sparse.csr_array(np.tile(penalized, 2).astype(float)[None])
    found = optimize.linprog(
        np.concatenate([-objective, objective]) / max(margins.shape[0], 1),
        A_ub=sparse.vstack([sparse.hstack([-margins, margins]), budget]),
        b_ub=np.append(np.zeros(margins.shape[0]), 1.0),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    if found.x is None:
        raise RuntimeError(f"the linear program of separability has no answer: {found.message}")
    positive, negative = np.split(np.asarray(found.x), 2)
    return np.asarray(positive - negative)


SPARSE_TOLERANCE = 1e-12
"""Share of the largest variance up to which the variance of a direction of a sparse table counts as rounding."""

NO_VARIANCE = 1e-24
"""Variance of a column, in units of its sd in the rows that the design is of, below which it is rounding."""
RANK_TOLERANCE = 1e-9
"""Directions in which the rows vary by less than this, relative to the widest one, count as collinear."""


@dataclass(frozen=True, eq=False)
class ColumnSpace:
    """Orthonormal coordinates of the space that the columns span, relative to their mean.

    `mean`: Weighted mean of the rows (column). `basis`: (column, coordinate): Z = (X − mean) @ basis has mean 0 and
    covariance I.
    """

    mean: Array
    basis: Array

    @classmethod
    def of(cls, X: Matrix, weight: Array) -> ColumnSpace:
        """Find it for rows X (row, column) without the intercept, of positive weight (row)."""
        if not isinstance(X, np.ndarray):
            moments = Moments.of(X, weight)
            square, directions = np.linalg.eigh(moments.covariance)
            used = square > SPARSE_TOLERANCE * square.max(initial=0.0)
            return cls(moments.mean, directions[:, used] / np.sqrt(square[used]))
        share = weight / weight.sum()
        mean = share @ X
        R = np.linalg.qr(np.sqrt(share)[:, None] * (X - mean), mode="r")
        _, spread, directions = np.linalg.svd(R)
        rank = int(np.sum(spread > RANK_TOLERANCE * spread.max(initial=0.0)))
        return cls(mean, directions[:rank].T / spread[:rank])

    def coordinates(self, X: Array) -> Array:
        """Return 1 and Z for rows X, (row, 1 + coordinate)."""
        return np.column_stack([np.ones(len(X)), (X - self.mean) @ self.basis])

    @property
    def columns(self) -> Array:
        """T with θ = γ T, (1 + coordinate, 1 + column)."""
        return self.weights(np.eye(1 + self.basis.shape[1]))

    def of_weights(self, theta: Array) -> Array:
        """Return the coordinates (label, 1 + coordinate) that give the rows the log-odds of θ (outcome, 1 + column)."""
        weights, inverse = theta[:, 1:], self.basis / (self.basis**2).sum(axis=0)
        return np.column_stack([theta[:, 0] + weights @ self.mean, weights @ inverse])

    def weights(self, gamma: Array) -> Array:
        """Return θ (outcome, 1 + column) of least norm from coordinates (label, 1 + coordinate)."""
        weights = gamma[:, 1:] @ self.basis.T
        return np.column_stack([gamma[:, 0] - weights @ self.mean, weights])


SUSPECT = 1e-12
"""A column is examined where the others leave less than this share of its variance, computed from products."""
TAKES_PART = 1e-7
"""Smallest weight, in sds, with which a column counts as part of a constant weighted sum of columns."""


def collinear_features(
    design: LogisticDesign, moments: Moments, variances: Callable[[Array], Array]
) -> tuple[str, ...]:
    """Return the features that have a weighted sum that is the same for all rows.

    Other weights on them, with another intercept, give every row the same probabilities. That the levels of one
    category always add up to 1, and that a level occurs in no row, is not counted.

    `variances`: Returns the variances over the rows of weighted sums (column, sum) of the columns.

    Returns: Names of numbers, of "… is missing" and of categories, in the design's order.
    """
    starts = np.cumsum([len(design) - sum(design.sizes), *design.sizes])
    covariance, kept = moments.covariance, np.ones(len(design), dtype=bool)
    for start, end in pairwise(starts.tolist()):
        shares = moments.mean[start:end]
        kept[start:end] = shares > 0
        if abs(1 - shares.sum()) < ALWAYS:  # the other levels and the intercept say what the most frequent one says
            kept[start + shares.argmax()] = False
    # A column can be constant only in a design of other rows; then it is the intercept that it is collinear with.
    some = np.flatnonzero(kept & (np.diag(covariance) > NO_VARIANCE))
    sd = np.sqrt(np.diag(covariance)[some])
    found = _constant_sums(covariance[np.ix_(some, some)] / np.outer(sd, sd)) / sd[:, None]
    sums = np.zeros((len(design), found.shape[1]))
    sums[some] = found
    if not sums.shape[1]:
        return ()
    constant = variances(sums) < RANK_TOLERANCE**2
    weights = sums[:, constant] * np.sqrt(np.diag(covariance))[:, None]
    involved = np.abs(weights).max(axis=1, initial=0.0) > TAKES_PART
    return tuple(dict.fromkeys(name for name, part in zip(design.features, involved, strict=True) if part))


def all_vary(X: Matrix, weight: Array) -> bool:
    """Return whether no weighted sum of columns, about standardized, is nearly constant over rows with weights (row).

    Then none is over further rows either.
    """
    return not _constant_sums(Moments.of(X, weight).covariance).shape[1]


def _constant_sums(correlation: Array) -> Array:
    """Return weights (column, sum) of the sums that a pivoted Cholesky factor finds to be nearly constant.

    Each is one column minus its projection on the columns that were chosen before.
    """
    if not len(correlation):
        return np.zeros((0, 0))
    factor, pivots, rank, _ = linalg.lapack.dpstrf(correlation, tol=SUSPECT)
    out = np.zeros((len(correlation), len(correlation) - rank))
    order = pivots - 1
    out[order[:rank]] = -linalg.solve_triangular(factor[:rank, :rank], factor[:rank, rank:])
    out[order[rank:], np.arange(out.shape[1])] = 1.0
    return out
