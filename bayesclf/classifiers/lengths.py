"""How long the training documents of each class were: what a model of words does not say, and generated text needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayesclf import memory
from bayesclf.errors import InputError
from bayesclf.typing import Array, Integers

LONGEST = 2**53
"""Length from which whole numbers are no longer told apart."""

WORD_BYTES = 32
"""Memory that a word of generated text takes, with its copies on the way."""


@dataclass(frozen=True, eq=False)
class DocumentLengths:
    """The weight of the training documents of each length, a histogram; those of two sets of documents add up.

    Attributes
    ----------
    lengths
        The lengths that occur, in order, (length); counts that are no whole numbers add up to rounded ones.
    weight
        (outcome, length).
    """

    lengths: Integers
    weight: Array

    def __post_init__(self) -> None:
        lengths, weight = self.lengths, self.weight
        if lengths.ndim != 1 or weight.ndim != 2 or weight.shape[1] != len(lengths):
            raise ValueError(f"lengths of shape {lengths.shape} do not go with weights of shape {weight.shape}")
        if not ((lengths >= 0).all() and np.isfinite(weight).all() and (weight >= 0).all()):
            raise ValueError("lengths and their weights must be finite and at least 0")
        if not weight.any():
            raise ValueError("lengths must be those of some document")

    @classmethod
    def of(cls, totals: Array, y: Integers, weight: Array | None, classes: int) -> Self:
        """Count documents of `totals` words (row), with label codes and weights (row)."""
        found = np.minimum(np.rint(totals), LONGEST).astype(np.int64)
        lengths, places = np.unique(found, return_inverse=True)
        counts = np.zeros((classes, len(lengths)))
        np.add.at(counts, (y, places), 1.0 if weight is None else weight)
        return cls(lengths, counts)

    def moved(self, places: Integers, classes: int) -> Self:
        """Return the same among more classes, of which these have the given places."""
        weight = np.zeros((classes, len(self.lengths)))
        weight[places] = self.weight
        return type(self)(self.lengths, weight)

    def discounted(self, factor: float) -> Self:
        """Return the same with all weights multiplied by a factor."""
        return type(self)(self.lengths, self.weight * factor)

    def __add__(self, other: Self) -> Self:
        """Return the lengths of both sets of documents, of the same classes."""
        lengths = np.union1d(self.lengths, other.lengths)
        weight = np.zeros((len(self.weight), len(lengths)))
        for part in (self, other):
            weight[:, np.searchsorted(lengths, part.lengths)] += part.weight
        return type(self)(lengths, weight)

    def draw(self, y: Integers, rng: np.random.Generator) -> Integers:
        """Draw a length for each label code (row); a class without documents has the lengths of all."""
        out = np.zeros(len(y), dtype=np.int64)
        for label in np.unique(y):
            weight = self.weight[label] if self.weight[label].any() else self.weight.sum(axis=0)
            rows = np.flatnonzero(y == label)
            out[rows] = rng.choice(self.lengths, size=len(rows), p=weight / weight.sum())
        return out


def given_lengths(lengths: Any, rows: int) -> Integers:
    """Return the numbers of words (row) that a user gave, one for all documents or one for each."""
    values = np.asarray(lengths)
    whole = values.dtype.kind in "iu" or (values.dtype.kind == "f" and bool((values == np.floor(values)).all()))
    if not whole or values.shape not in ((), (rows,)) or (values < 0).any() or (values > LONGEST).any():
        raise InputError(
            f"lengths must be a whole number of at least 0, or one for each of the {rows} documents, not {lengths!r}"
        )
    return np.broadcast_to(values.astype(np.int64), (rows,))


def require_room(words: int) -> None:
    """Raise `Refused` for texts with more words than fit into memory."""
    memory.require(WORD_BYTES * float(words), f"{words:,} words", "generate fewer documents, or shorter ones")
