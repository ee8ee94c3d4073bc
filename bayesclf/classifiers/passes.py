"""What passes over the rows have found, which a resumed run looks up instead of reading the rows again."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from bayesclf.models.logistic.streamed import Sums
from bayesclf.typing import Array

if TYPE_CHECKING:
    from bayesclf.storage.checkpoints import Checkpoint

KEPT_BYTES = 2**28
"""Bytes of sums that are kept; passes whose sums would be more are made again."""


@dataclass(eq=False)
class Passes:
    """The sums that passes have found, each known by the fingerprint of its question.

    The next question follows from the answers, so that a resumed run asks the same ones, up to the first that has no
    answer yet.

    Attributes
    ----------
    checkpoint
        Keeps them; None for nothing to be kept.
    first
        What the first pass has found, as a file can hold it; None before.
    sums
        The others, by the fingerprint of their question.
    """

    checkpoint: Checkpoint | None
    first: dict[str, Any] | None = None
    sums: dict[str, list[Array]] = field(default_factory=dict)

    @classmethod
    def of(cls, checkpoint: Checkpoint | None) -> Passes:
        """Return those of an earlier run, or none."""
        found = None if checkpoint is None else checkpoint.read()
        return cls(checkpoint, **(found or {}))

    def summed(self, work: Any, add: Any, read: Callable[[], Sums]) -> Sums:
        """Return the sums that `work` and `add` ask for: those that are kept, or what `read` returns."""
        if self.checkpoint is None:
            return read()
        question = sha256(pickle.dumps((work, add))).hexdigest()
        if question in self.sums:
            return tuple(self.sums[question])
        found = read()
        if sum(array.nbytes for sums in (found, *self.sums.values()) for array in sums) <= KEPT_BYTES:
            self.sums[question] = list(found)
            self.offer()
        return found

    def offer(self) -> None:
        """Let the file have what was found."""
        if self.checkpoint is not None:
            self.checkpoint.offer(lambda: {"first": self.first, "sums": self.sums})
