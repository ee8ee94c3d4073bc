"""P(y | x, h) of each hypothesis, a few rows at a time.

Draws × rows are never held at once beyond `BLOCK_BYTES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesclf import threads
from bayesclf.families.base import Rows
from bayesclf.hypothesis_set import Hypotheses, HypothesisSet
from bayesclf.softmax import Memory, Normalised, less_the_largest
from bayesclf.typing import Array

BLOCK_BYTES = 2**20
"""Size of the scores (row, outcome, draw) that a model makes at a time."""

PIECE_BYTES = 2**20
"""Size of what is averaged of these at a time: a handful of such arrays are alive, and stay in the cache."""

LEAST_ROWS = 64
"""Rows of a block whatever its size: what a model prepares for a block must not cost more than the block itself."""

GATHERED_BYTES = 2**28
"""As `BLOCK_BYTES`, of a posterior in parts for what needs all draws of a row: each block makes them anew."""


@dataclass(frozen=True)
class Conditional:
    """P(y | x, h_s) of one block of rows.

    Attributes
    ----------
    log_proba
        (row, outcome, draw): draws are next to each other in memory, so that averaging them is one pass.
    log_x
        log p(x | h_s) (row, draw), up to a constant for discriminative models.
    impossible
        (row, draw): x has density 0 under every class; the answer there is the class prior.
    """

    log_proba: Array
    log_x: Array
    impossible: NDArray[np.bool_]


def conditional(hypotheses: HypothesisSet, rows: Rows) -> Conditional:
    """Normalise the scores over the labels; where every class is impossible the class prior answers."""
    if hypotheses.in_parts:
        answers = [conditional(part, rows) for part in hypotheses.parts()]
        return Conditional(
            np.concatenate([answer.log_proba for answer in answers], axis=2),
            np.concatenate([answer.log_x for answer in answers], axis=1),
            np.concatenate([answer.impossible for answer in answers], axis=1),
        )
    scores = np.moveaxis(hypotheses.log_scores(rows), 0, -1)
    less, top, impossible = less_the_largest(scores, hypotheses.log_class_prior, np.empty(scores.shape))
    log_total = np.log(np.exp(less).sum(axis=1))
    less -= log_total[:, None]
    return Conditional(less, top + log_total, impossible)


def blocks(hypotheses: HypothesisSet, rows: Rows) -> Iterator[slice]:
    """Return slices of rows such that (row, outcome, draw) stays within `BLOCK_BYTES`, or `GATHERED_BYTES`."""
    per_row = 8 * len(hypotheses.labels) * len(hypotheses)
    size = max(1, GATHERED_BYTES // per_row) if hypotheses.in_parts else max(LEAST_ROWS, BLOCK_BYTES // per_row)
    return (slice(start, min(start + size, len(rows))) for start in range(0, len(rows), size))


def over_pieces[Result](
    function: Callable[[Normalised, int], Result], hypotheses: HypothesisSet, rows: Rows
) -> list[Result]:
    """Return what `function` makes of each few rows, in order.

    Parameters
    ----------
    function
        Is given the normalised scores, which are overwritten afterwards, and the number of the first row.
    hypotheses, rows
        What is scored.
    """
    memory = Memory()

    def over_block(block: slice) -> list[Result]:
        pieces = _pieces(hypotheses, rows[block], memory)
        return [
            function(Normalised.of(scores, hypotheses.log_class_prior, memory), block.start + first)
            for first, scores in pieces
        ]

    # Parts are made one after the other, and their blocks are large.
    work = 0 if hypotheses.in_parts else len(rows) * len(hypotheses.labels) * len(hypotheses)
    return [result for block in threads.each(over_block, list(blocks(hypotheses, rows)), work) for result in block]


def _pieces(hypotheses: HypothesisSet, rows: Rows, memory: Memory) -> Iterator[tuple[int, Array]]:
    """Yield the number of the first row, and the scores (row, outcome, draw), of a few rows at a time."""
    shape = len(hypotheses.labels), len(hypotheses)
    size = max(1, PIECE_BYTES // (8 * shape[0] * shape[1]))
    linear = hypotheses.linear_scores if isinstance(hypotheses, Hypotheses) else None
    if linear is None:
        scores = np.moveaxis(hypotheses.log_scores(rows), 0, -1)
        yield from ((start, scores[start : start + size]) for start in range(0, len(rows), size))
        return
    columns = linear.columns(rows)
    for start in range(0, len(rows), size):
        some = columns[start : start + size]
        yield start, linear.fill(memory.array("linear", (len(some), *shape)), some)
