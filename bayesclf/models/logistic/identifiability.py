"""What the likelihood of logistic regression determines.

Separable classes have no maximum likelihood estimate, and the weights of collinear columns are not determined; in
coordinates of the space that the columns span the estimate is unique.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize, sparse

from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.newton import DENSE_PARAMETERS
from bayesclf.typing import Array, Integers
from bayesclf.wording import listed

LISTED_COLUMNS = 5
POSITIVE = 1e-7
"""Margins and weights above this count as positive; columns are in units of their sds."""


@dataclass(frozen=True, eq=False)
class Separation:
    """How weights separate the classes of the training rows.

    Attributes
    ----------
    complete
        Whether every row is strictly on its own class's side (else quasi-complete: some lie on the boundary).
    columns
        Positions of the columns with a weight in the separation found, the largest weight first.
    """

    complete: bool
    columns: Integers

    def sentence(self, names: tuple[str, ...]) -> str:
        """Say how the classes are separable, and what to do; `names` are those of the columns."""
        columns = listed((repr(names[j]) for j in self.columns), LISTED_COLUMNS)
        kind = "completely" if self.complete else "quasi-completely"
        where = "strictly on its own class's side" if self.complete else "on its own class's side or on the boundary"
        return (
            f"the classes are {kind} separable: weights on {columns} put every training row {where}, and the "
            "likelihood grows with them without bound; take rule 'map', or the posterior"
        )


def find_separation(X: Array, y: Integers, guess: Array) -> Separation | None:
    """Find weights D under which no row has a higher score in another class than in its own.

    The maximum likelihood estimate exists iff every such D has margin (D_y − D_l)·x = 0 for all rows and classes
    (Albert & Anderson 1984). Where `plain_separation` finds none, solve the linear program: maximize Σ margins with all
    margins ≥ 0 and Σ|D| ≤ 1 over the columns, whose optimum is above 0 iff the classes are separable.

    Parameters
    ----------
    X
        Rows (row, 1 + column), a column of ones first.
    y
        Codes (row) of the weight vectors, −1 for the reference; every class has rows.
    guess
        Weights (outcome, 1 + column) to try first.

    References
    ----------
    A. Albert, J. A. Anderson, Biometrika 71 (1984), doi:10.1093/biomet/71.1.1; K. Konis, *Linear programming
    algorithms for detecting separated data in binary logistic regression models*, 2007 (the program).
    """
    if plain := plain_separation(X, y, guess):
        return plain
    margins = _margins(X, y, len(guess))
    direction = _steepest(margins, np.tile(np.arange(guess.shape[1]) > 0, len(guess)))
    gained = margins @ direction
    if not gained.max() > POSITIVE:
        return None
    # With D's margins ≥ 0 and E's positive wherever D's are 0, those of D + εE are positive, so only these rows matter.
    return Separation(_has_positive_margins(margins[gained <= POSITIVE]), _largest(direction.reshape(guess.shape)))


def plain_separation(X: Array, y: Integers, guess: Array) -> Separation | None:
    """Check cheap candidates: a guess, and single columns that separate a class from the others.

    Parameters are those of `find_separation`; None does not mean that the classes overlap.
    """
    if _separates(X, y, guess):
        return Separation(True, _largest(guess))
    columns, left = _alone(X[:, 1:], y)
    if not len(columns):
        return None
    # Rows off all boundaries are separated strictly; other columns may separate some of the rest.
    while 0 < np.count_nonzero(left) < len(y):
        X, y = X[left], y[left]
        left = _alone(X[:, 1:], y)[1]
    X, y = X[left], y[left]
    return Separation(len(np.unique(y)) < 2 or _has_positive_margins(_margins(X, y, len(guess))), columns)


def _separates(X: Array, y: Integers, theta: Array) -> bool:
    """Return whether θ (outcome, 1 + column) clearly gives every row its highest score in its own class."""
    scores = np.column_stack([np.zeros(len(X)), X @ theta.T])
    rows = np.arange(len(X))
    own = scores[rows, y + 1]
    scores[rows, y + 1] = -np.inf
    return bool(np.min(own - scores.max(axis=1)) > POSITIVE * max(float(np.abs(theta).max()), 1.0))


def _alone(X: Array, y: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the columns that separate a class from the others by themselves, and whether a row is undecided (row).

    Such a column's values in the class all are at least, or all at most, those in the others. Of two classes the rows
    off the boundary are decided. Of more classes a boundary decides between one and the others only, so that all rows
    are left; so are rows of one class alone.
    """
    labels = np.unique(y)
    decided = np.zeros(X.shape, dtype=bool)
    for own in labels[1:] if len(labels) < 3 else labels:
        inside, outside = X[y == own], X[y != own]
        above = inside.min(axis=0), outside.max(axis=0)
        below = outside.min(axis=0), inside.max(axis=0)
        for least, most in (above, below):
            columns = np.flatnonzero(least >= most)
            middle = (least[columns] + most[columns]) / 2
            decided[:, columns] |= np.abs(X[:, columns] - middle) > POSITIVE
    counts = decided.sum(axis=0)
    columns = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    return columns, ~decided.any(axis=1) if len(labels) == 2 else np.ones(len(X), dtype=bool)


def _largest(direction: Array) -> Integers:
    """Return the positions of the columns with a weight, the largest first, of D (outcome, 1 + column)."""
    weights = np.abs(direction[:, 1:]).max(axis=0)
    order = np.argsort(-weights, kind="stable")
    return order[weights[order] > POSITIVE]


def _has_positive_margins(margins: Any) -> bool:
    """Return whether some D makes all margins positive, and hence, for a multiple of D, at least 1."""
    if not margins.shape[0]:
        return True
    found = optimize.linprog(
        np.zeros(margins.shape[1]),
        A_ub=-margins,
        b_ub=-np.ones(margins.shape[0]),
        bounds=(-1 / POSITIVE, 1 / POSITIVE),
        method="highs-ds",
    )
    return bool(found.status == 0)


def _margins(X: Array, y: Integers, vectors: int) -> Any:
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


NO_VARIANCE = 1e-24
"""Variance of a column, in units of its sd in the rows that the design is of, below which it is rounding."""
RANK_TOLERANCE = 1e-9
"""Directions in which the rows vary by less than this, relative to the widest one, count as collinear."""


@dataclass(frozen=True, eq=False)
class ColumnSpace:
    """Orthonormal coordinates of the space that the columns span, relative to their mean.

    Attributes
    ----------
    mean
        Weighted mean of the rows (column).
    basis
        (column, coordinate): Z = (X − mean) @ basis has mean 0 and covariance I.
    """

    mean: Array
    basis: Array

    @classmethod
    def of(cls, X: Array, weight: Array) -> ColumnSpace:
        """Find it for rows X (row, column) without the intercept, of positive weight (row)."""
        share = weight / weight.sum()
        mean = share @ X
        R = np.linalg.qr(np.sqrt(share)[:, None] * (X - mean), mode="r")
        _, spread, directions = np.linalg.svd(R)
        rank = int(np.sum(spread > RANK_TOLERANCE * spread.max(initial=0.0)))
        return cls(mean, directions[:rank].T / spread[:rank])

    def coordinates(self, X: Array) -> Array:
        """Return 1 and Z for rows X, (row, 1 + coordinate)."""
        return np.column_stack([np.ones(len(X)), (X - self.mean) @ self.basis])

    def of_weights(self, theta: Array) -> Array:
        """Return the coordinates (label, 1 + coordinate) that give the rows the log-odds of θ (outcome, 1 + column)."""
        weights = theta[:, 1:]
        return np.column_stack(
            [theta[:, 0] + weights @ self.mean, weights @ (self.basis / (self.basis**2).sum(axis=0))]
        )

    def weights(self, gamma: Array) -> Array:
        """Return θ (outcome, 1 + column) of least norm from coordinates (label, 1 + coordinate)."""
        weights = gamma[:, 1:] @ self.basis.T
        return np.column_stack([gamma[:, 0] - weights @ self.mean, weights])


SUSPECT = 1e-12
"""A column is examined where the others leave less than this share of its variance, computed from products."""
TAKES_PART = 1e-7
"""Smallest weight, in sds, with which a column counts as part of a constant weighted sum of columns."""


def collinear_features(design: LogisticDesign, X: Array, weight: Array) -> tuple[str, ...]:
    """Return the features that have a weighted sum that is the same for all rows.

    Other weights on them, with another intercept, give every row the same probabilities. That the levels of one
    category always add up to 1, and that a level occurs in no row, is not counted. Designs of more than
    `DENSE_PARAMETERS` columns are not examined.

    Parameters
    ----------
    design
        What the columns are.
    X
        Rows as `design.matrix` returns them, (row, column).
    weight
        (row), above 0.

    Returns
    -------
    tuple of str
        Names of numbers, of "… is missing" and of categories, in the design's order.
    """
    if not len(X) or not 0 < len(design) <= DENSE_PARAMETERS:
        return ()
    share = weight / weight.sum()
    mean = share @ X
    contrasts = _contrasts(design, X, mean)
    weighted = np.sqrt(share)[:, None] * (X - mean)
    covariance = weighted.T @ weighted
    between = contrasts.T @ covariance @ contrasts
    # A column can be constant only in a design of other rows; then it is the intercept that it is collinear with.
    varies = np.diag(between) > NO_VARIANCE
    contrasts, between = contrasts[:, varies], between[np.ix_(varies, varies)]
    sd = np.sqrt(np.diag(between))
    sums = contrasts @ (_constant_sums(between / np.outer(sd, sd)) / sd[:, None])
    if not sums.shape[1]:
        return ()
    constant = share @ (X @ sums - mean @ sums) ** 2 < RANK_TOLERANCE**2
    weights = sums[:, constant] * np.sqrt(np.diag(covariance))[:, None]
    involved = np.abs(weights).max(axis=1, initial=0.0) > TAKES_PART
    return tuple(dict.fromkeys(name for name, part in zip(design.features, involved, strict=True) if part))


def _contrasts(design: LogisticDesign, X: Array, mean: Array) -> Array:
    """Return combinations (column, contrast) that span all columns except sums that are constant by construction.

    They are the columns themselves, but orthonormal contrasts of the levels of a category that every row has.
    """
    own = len(design) - sum(design.sizes)
    parts = [np.eye(own)]
    start = own
    for size in design.sizes:
        levels = np.flatnonzero(mean[start : start + size] > 0)
        block = np.eye(size)[:, levels]
        if len(levels) and X[:, start : start + size].any(axis=1).all():
            block = block @ linalg.helmert(len(levels)).T
        parts.append(block)
        start += size
    return np.asarray(linalg.block_diag(*parts))


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
