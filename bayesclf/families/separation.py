"""Separable classes: when the maximum of the conditional likelihood does not exist, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, sparse

from bayesclf.families.base import Array, Integers

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
        some = [repr(names[j]) for j in self.columns[:LISTED_COLUMNS]]
        columns = ", ".join(some) + (", …" if len(self.columns) > LISTED_COLUMNS else "")
        kind = "completely" if self.complete else "quasi-completely"
        where = "strictly on its own class's side" if self.complete else "on its own class's side or on the boundary"
        return (
            f"the classes are {kind} separable: weights on {columns} put every training row {where}, and the "
            "likelihood grows with them without bound; take rule 'map', or the posterior"
        )


def find_separation(X: Array, y: Integers, guess: Array) -> Separation | None:
    """Look for weights D under which no row has a higher score in another class than in its own.

    The maximum likelihood estimate exists iff every such D has margin (D_y − D_l)·x = 0 for all rows and classes
    (Albert & Anderson 1984). The linear programme: maximise Σ margins with all margins ≥ 0 and Σ|D| ≤ 1 over
    the columns, whose optimum is above 0 iff the classes are separable, is not run where a guess has positive
    margins throughout.

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
    vectors, columns = guess.shape
    margins = _margins(X, y, vectors)
    direction = guess.ravel() / max(float(np.abs(guess).max()), 1.0)
    if np.min(margins @ direction) > POSITIVE:
        return Separation(True, _largest(direction.reshape(vectors, columns)))
    direction = _steepest(margins, np.tile(np.arange(columns) > 0, vectors))
    gained = margins @ direction
    if not gained.max() > POSITIVE:
        return None
    return Separation(_separates_all(margins, gained), _largest(direction.reshape(vectors, columns)))


def _largest(direction: Array) -> Integers:
    """Return the positions of the columns with a weight, the largest first, of D (outcome, 1 + column)."""
    weights = np.abs(direction[:, 1:]).max(axis=0)
    order = np.argsort(-weights, kind="stable")
    return order[weights[order] > POSITIVE]


def _separates_all(margins: Any, gained: Array) -> bool:
    """Return whether some weights make every margin positive.

    If D gives margins ≥ 0 and E positive ones wherever D's are 0, D + εE gives positive margins only: so the rows
    still at 0 are taken by themselves until none is left, or none can be gained.
    """
    remaining = gained <= POSITIVE
    while remaining.any():
        margins = margins[np.flatnonzero(remaining)]
        gained = margins @ _steepest(margins, np.zeros(margins.shape[1], dtype=bool))
        remaining = gained <= POSITIVE
        if remaining.all():
            return False
    return True


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


def _steepest(margins: Any, penalised: Any) -> Array:
    """Return D that maximises Σ margins subject to margins ≥ 0.

    The penalised entries of D share a budget Σ|D| ≤ 1, as D = D⁺ − D⁻; without any, each entry is in [−1, 1].
    """
    objective = np.asarray(margins.sum(axis=0)).ravel()
    bounded = bool(penalised.any())
    constraints, limits = [sparse.hstack([-margins, margins])], [np.zeros(margins.shape[0])]
    if bounded:
        budget = np.tile(penalised, 2).astype(float)
        constraints.append(sparse.csr_array(budget[None]))
        limits.append(np.ones(1))
    found = optimize.linprog(
        np.concatenate([-objective, objective]) / max(margins.shape[0], 1),
        A_ub=sparse.vstack(constraints, format="csr"),
        b_ub=np.concatenate(limits),
        bounds=(0, None if bounded else 1),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    if found.x is None:
        raise RuntimeError(f"the linear programme of separability has no answer: {found.message}")
    positive, negative = np.split(np.asarray(found.x), 2)
    return np.asarray(positive - negative)
