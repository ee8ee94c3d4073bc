"""Separable classes: when the maximum of the conditional likelihood does not exist, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

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
    """Look for weights D under which no row has a higher score in another class than in its own.

    The maximum likelihood estimate exists iff every such D has margin (D_y − D_l)·x = 0 for all rows and classes
    (Albert & Anderson 1984). Where `plain_separation` sees none, the linear programme: maximise Σ margins with all
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
    algorithms for detecting separated data in binary logistic regression models*, 2007 (the programme).
    """
    if plain := plain_separation(X, y, guess):
        return plain
    margins = _margins(X, y, len(guess))
    direction = _steepest(margins, np.tile(np.arange(guess.shape[1]) > 0, len(guess)))
    gained = margins @ direction
    if not gained.max() > POSITIVE:
        return None
    # With D's margins ≥ 0 and E's positive wherever D's are 0, those of D + εE are positive: only these are looked at.
    return Separation(_has_positive_margins(margins[gained <= POSITIVE]), _largest(direction.reshape(guess.shape)))


def plain_separation(X: Array, y: Integers, guess: Array) -> Separation | None:
    """Look where it is cheap: at a guess, and at columns that tell a class from the others by themselves.

    Parameters are those of `find_separation`; None does not mean that the classes overlap.
    """
    if _separates(X, y, guess):
        return Separation(True, _largest(guess))
    columns, left = _alone(X[:, 1:], y)
    if not len(columns):
        return None
    # Rows off all boundaries are told apart for good; of the others further columns may tell apart some.
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
    """Return the columns that tell a class from the others by themselves, and whether a row is left undecided (row).

    Such a column's values in the class all are at least, or all at most, those in the others. Of two classes the rows
    off the boundary are decided. Of more classes a boundary decides between one and the others only, so that all rows
    are left; so is what is left of one class alone.
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
    """Return whether some D makes all margins positive, and so, D being as long as one likes, at least 1."""
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


def _steepest(margins: Any, penalised: NDArray[np.bool_]) -> Array:
    """Return D = D⁺ − D⁻ that maximises Σ margins subject to margins ≥ 0 and Σ|D| ≤ 1 over the penalised entries."""
    objective = np.asarray(margins.sum(axis=0)).ravel()
    budget = sparse.csr_array(np.tile(penalised, 2).astype(float)[None])
    found = optimize.linprog(
        np.concatenate([-objective, objective]) / max(margins.shape[0], 1),
        A_ub=sparse.vstack([sparse.hstack([-margins, margins]), budget]),
        b_ub=np.append(np.zeros(margins.shape[0]), 1.0),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    if found.x is None:
        raise RuntimeError(f"the linear programme of separability has no answer: {found.message}")
    positive, negative = np.split(np.asarray(found.x), 2)
    return np.asarray(positive - negative)
