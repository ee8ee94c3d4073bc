"""Prediction sets: several classes instead of one, where one would claim too much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import InputError, check_between
from bayesclf.typing import Array

ROUNDING = 1e-9
"""Share of 1 − level by which a sum of probabilities may miss it: .6 + .3 reaches .9, though not in floating point."""


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """A set of classes for each row.

    Attributes
    ----------
    member
        Whether a class is in the set, (row, outcome).
    classes
        Labels (outcome).
    level
        What was asked for: a posterior probability, or a share of rows whose set shall have the true label.
    """

    member: NDArray[np.bool_]
    classes: NDArray[Any]
    level: float

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of classes in each set, (row)."""
        return np.asarray(self.member.sum(axis=1), dtype=np.intp)

    @property
    def labels(self) -> tuple[tuple[Any, ...], ...]:
        """The labels of each set, in the order of `classes`, one tuple a row."""
        names = self.classes.tolist()
        return tuple(tuple(name for name, inside in zip(names, row, strict=True) if inside) for row in self.member)

    def contains(self, y: Any) -> NDArray[np.bool_]:
        """Return whether each set has the label `y` of its row, (row); their mean is the coverage on these rows."""
        labels = np.asarray(y)
        if labels.shape != (len(self.member),):
            raise InputError(f"y must have one label for each of the {len(self.member)} rows, not shape {labels.shape}")
        return np.asarray((self.member & (labels[:, None] == self.classes)).any(axis=1))


def posterior_sets(log_proba: Array, classes: NDArray[Any], level: float = 0.9) -> PredictionSets:
    """Return the smallest sets of classes whose probability is at least the level.

    They promise nothing about how often they hold the true class: they do so in a share `level` of the rows only if
    the probabilities are calibrated. Those of a wrong model, such as naive Bayes on columns that depend on each other,
    are too close to 0 and 1, and their sets too small; `bayesclf.SplitConformal` makes that promise for any model.

    Parameters
    ----------
    log_proba
        log P(k | x), (row, outcome).
    classes
        Labels (outcome).
    level
        Least probability of a set, in (0, 1).

    Returns
    -------
    PredictionSets
        At least one class a row; of equally probable ones the first.

    Raises
    ------
    InputError
        For a level that is not between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> posterior_sets(np.log([[0.6, 0.3, 0.1], [0.01, 0.95, 0.04]]), np.array(["a", "b", "c"])).labels
    (('a', 'b'), ('b',))
    """
    check_between("level", level)
    ascending = np.argsort(-log_proba, axis=1, kind="stable")[:, ::-1]
    left_out = np.cumsum(np.exp(np.take_along_axis(log_proba, ascending, axis=1)), axis=1)
    member = np.empty(log_proba.shape, dtype=bool)
    np.put_along_axis(member, ascending, left_out > (1 - level) * (1 + ROUNDING), axis=1)
    return PredictionSets(member, classes, level)
