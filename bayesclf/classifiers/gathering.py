"""What a pass over a stream has learned so far, and how a file keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, Self

from bayesclf.classifiers.streaming import LeftOutRows
from bayesclf.classifiers.training import Learnt


@dataclass
class Gathering:
    """Statistics of the batches so far, and the rows that α is learned by.

    Statistics of few words are kept apart from those of many: the words of documents grow with every batch, and moving
    all counts each time would take the square of the time. Each part has more than twice as many columns as the next,
    so that all parts have at most twice as many as there are; where all batches have the same columns, there is one.

    Attributes
    ----------
    left_out
        The rows that α is learned by.
    done
        Rows so far.
    parts
        What was learned from batches that follow each other.
    """

    left_out: LeftOutRows
    done: int = 0
    parts: list[Learnt] = field(default_factory=list)

    @property
    def first(self) -> Learnt | None:
        """What was learned from the first batches; None before any."""
        return self.parts[0] if self.parts else None

    @property
    def learnt(self) -> Learnt | None:
        """What was learned from all batches; None of none."""
        return reduce(add, self.parts) if self.parts else None

    def add(self, learnt: Learnt) -> None:
        """Add what was learned from a batch."""
        self.parts.append(learnt)
        while len(self.parts) > 1 and _width(self.parts[-2]) <= 2 * _width(self.parts[-1]):
            mine, theirs = self.parts[-2:]
            self.parts[-2:] = [mine + theirs]

    def kept(self) -> dict[str, Any]:
        """Return it as what a file can hold."""
        return {"done": self.done, "parts": self.parts, "left_out": self.left_out.kept()}

    @classmethod
    def of_kept(cls, kept: dict[str, Any]) -> Self:
        """Return what `kept` returned as it was."""
        return cls(LeftOutRows.of_kept(kept["left_out"]), kept["done"], kept["parts"])


def _width(learnt: Learnt) -> int:
    return sum(len(block.names) for block in learnt.blocks)
