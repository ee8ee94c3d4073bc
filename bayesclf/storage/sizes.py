"""Whether what a loaded classifier names, and has made again, is no more than its file can stand for.

A file of some kilobytes can declare a table over columns of thousands of levels each, or any number of draws from a
seed. Its names are counted here before any is written, and its draws before any is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesclf.errors import InputError

if TYPE_CHECKING:
    from bayesclf.classifiers import BayesClassifier
    from bayesclf.models.generative import Block

SPARE_NAMES = 2**16
"""Names that a model may have beyond the numbers in its file, of which there is at least one for each name."""

LARGEST_BLOCK = 2**30
"""Bytes of draws that a file may have made at a time, many times what a fit takes."""

BYTES_OF_A_DRAW = 2**12
"""Bytes that a draw counts for at least: small ones take time, too."""

DRAWN_AGAIN = 64
"""How many times the bytes that a file may have, the draws of each prediction may have that are made again."""

SMALLEST_BLOCK = 2**6
"""By how much a block of draws may be smaller than that of a fit: each block takes time of its own."""


class TooManyDraws(InputError):
    """The file may be sound, but asks for more work than the caller allows."""


def check(clf: BayesClassifier, numbers: int, max_bytes: int) -> None:
    """Raise ValueError for more names than numbers, `TooManyDraws` for more draws than `max_bytes` stands for.

    Parameters
    ----------
    clf
        The classifier.
    numbers
        How many numbers its file has.
    max_bytes
        Largest size of a file.
    """
    from bayesclf.models.generative import GenerativeModel
    from bayesclf.posterior import hypotheses

    if isinstance(clf.model_, GenerativeModel):
        for block in clf.model_.blocks:
            if (names := _names(block)) > numbers + SPARE_NAMES:
                raise ValueError(f"it has {numbers} numbers for a model of {names:.3g} names")
    seeded = None if clf.draws_ is None else clf.draws_.seeded
    if clf.seed_ < 0 or (seeded is not None and seeded.seed < 0):
        raise ValueError("its seed is below 0")
    if seeded is None:
        return
    if seeded.draws < 1 or seeded.block < 1:
        raise ValueError(f"it has {seeded.draws} draws in blocks of {seeded.block}")
    each = 8 * hypotheses.parameter_count(clf.model_)
    if max(each, BYTES_OF_A_DRAW) * seeded.draws > DRAWN_AGAIN * max_bytes:
        needed = -(-max(each, BYTES_OF_A_DRAW) * seeded.draws // DRAWN_AGAIN)
        raise TooManyDraws(
            f"each prediction of this model makes {seeded.draws:,} draws of {each // 8:,} numbers from a seed, more "
            f"than max_bytes={max_bytes} allows; if you trust the file, load it with max_bytes={needed}"
        )
    if seeded.block > 1 and each * seeded.block > LARGEST_BLOCK:
        raise ValueError(f"a block of {seeded.block} draws would take more than {LARGEST_BLOCK} bytes")
    if seeded.draws > seeded.block and SMALLEST_BLOCK * each * seeded.block < hypotheses.DRAW_BLOCK_BYTES - each:
        raise ValueError(f"its {seeded.draws:,} draws are in blocks of {seeded.block}")


def _names(block: Block) -> int:
    """Return how many features, levels and cells a block names, without naming any."""
    from bayesclf.families.mixed.network import ConditionalGaussian
    from bayesclf.families.networks.network import ConditionalTables
    from bayesclf.families.trees.pairs import PairCounts

    axes = block.statistics.axes
    names = max(len(own.features) + sum(own.sizes) for own in (axes, block.family.axes))
    if isinstance(block.family, ConditionalTables):
        return names + block.family.layout(block.family.axes).cells
    if isinstance(block.family, ConditionalGaussian):
        tables = block.family.of_categories
        cells = 0 if tables is None else tables.layout(tables.axes).cells
        return names + cells + sum(own.count * (1 + own.width) for own in block.family.regressions)
    if isinstance(block.statistics, PairCounts):
        squares = [sum(axes.sizes) ** 2 - sum(size**2 for size in axes.sizes), len(axes.features) ** 2]
        return names + sum(squares) // 2
    return names
