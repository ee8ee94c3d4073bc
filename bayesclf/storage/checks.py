"""Whether a loaded classifier can be a model: no larger than its file, of parts that fit together, and able to answer.

A file of some kilobytes can declare a table over columns of thousands of levels each, or any number of draws from a
seed. Its names are counted here before any is written, and its draws before any is made.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.arrays import Parameters
from bayesclf.errors import DoesNotExist, InputError
from bayesclf.wording import listed

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.classifiers import BayesClassifier
    from bayesclf.models.generative import Block
    from bayesclf.posterior.hypotheses import HypothesisSet
    from bayesclf.tables.columns import Column

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
    """Raise ValueError where the parts of a loaded classifier cannot be those of a model."""
    _check_sizes(clf, numbers, max_bytes)
    _check_parameters(clf)
    _check_answers(clf)


def _check_sizes(clf: BayesClassifier, numbers: int, max_bytes: int) -> None:
    """Raise for more names than numbers, and for more draws than a file stands for."""
    from bayesclf.posterior import hypotheses

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
    if (needed := -(-max(each, BYTES_OF_A_DRAW) * seeded.draws // DRAWN_AGAIN)) > max_bytes:
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
    from bayesclf.families.trees.every_tree import EveryTree
    from bayesclf.families.trees.of_cells import EveryTreeOfCells

    axes = block.statistics.axes
    names = max(len(own.features) + sum(own.sizes) for own in (axes, block.family.axes))
    if isinstance(block.family, ConditionalTables):
        return names + block.family.layout(block.family.axes).cells
    if isinstance(block.family, ConditionalGaussian):
        tables = block.family.of_categories
        cells = 0 if tables is None else tables.layout(tables.axes).cells
        return names + cells + sum(own.count * (1 + own.width) for own in block.family.regressions)
    trees = block.family.trees if isinstance(block.family, EveryTreeOfCells) else block.family
    if isinstance(trees, EveryTree):
        sizes = trees.axes.sizes
        squares = sum(sizes) ** 2 - sum(size**2 for size in sizes) + len(sizes) ** 2
        return names + squares // 2
    return names


def _check_parameters(clf: BayesClassifier) -> None:
    """Raise for classes, names and shapes of parameters that contradict each other or the model."""
    classes, model = clf.classes_.tolist(), clf.model_
    if len(set(classes)) < len(classes) or tuple(map(str, classes)) != tuple(model.labels):
        raise ValueError("its classes are not distinct, or not those of its model")
    dims, coords = model.dims(), model.coords()
    held: list[Parameters] = [point for point in clf.points_.values() if not isinstance(point, DoesNotExist)]
    complete = list(held)
    if clf.draws_ is not None:
        held.append(clf.draws_.parameters)
        complete += [] if clf.draws_.seeded else held[-1:]
    if lacking := [parameters for parameters in complete if dims.keys() - parameters.keys()]:
        raise ValueError(f"it has the parameters {listed(lacking[0])} instead of {listed(dims)}")
    for parameters in held:
        for name in dims.keys() & parameters.keys():
            # a second axis of features has the coordinates of the first
            known = (dim if dim in coords else dim.replace("other_", "", 1) for dim in dims[name])
            expected = tuple(len(coords[dim]) for dim in known)
            if parameters[name].shape[1:] != expected:
                raise ValueError(f"its {name!r} has shape {parameters[name].shape[1:]} instead of {expected}")


def _check_answers(clf: BayesClassifier) -> None:
    """Raise where a hypothesis of each set cannot score a row, so a bad file fails here, not at a prediction."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for unknown, table in enumerate(_tables(clf)):
            try:
                rows = clf.rows(table)
                for hypotheses in _sets(clf):
                    scores = hypotheses.log_scores(rows)
                    if scores.shape != (1, len(rows), len(clf.classes_)) or np.isnan(scores).any():
                        raise ValueError("its scores are no numbers of a row and a class")
            except InputError:
                if not unknown:
                    raise ValueError("it refuses a row of its own columns") from None
            except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
                raise ValueError(f"its parts do not fit together: {error}") from None


def _tables(clf: BayesClassifier) -> Iterator[Any]:
    """Yield a table of one row with all that the classifier knows, and, of dense columns, one with what it does not."""
    from scipy import sparse
    from sklearn.utils import get_tags

    columns = clf.columns_
    if get_tags(clf).input_tags.sparse and all(column.kind == "number" for column in columns):
        yield sparse.csr_array((1, len(columns)))
        return
    yield _table(columns, {c.name: c.levels[-1] for c in columns if c.levels})
    yield _table(columns, {c.name: "\N{REPLACEMENT CHARACTER}" for c in columns if c.levels})


def _table(columns: tuple[Column, ...], cells: dict[str, Any]) -> pd.DataFrame:
    """Return a row of ones, empty texts and the given cells."""
    import pandas as pd

    others = {"text": "", "category": None}
    words = {c.name: cells.get(c.name, others[c.kind]) for c in columns if c.kind in others}
    numbers = [c.name for c in columns if c.kind not in others]
    frame = pd.DataFrame(np.ones((1, len(numbers))), columns=numbers)
    frame = pd.concat([frame, pd.DataFrame([words], dtype=object)], axis=1) if words else frame
    return frame[[column.name for column in columns]]


def _sets(clf: BayesClassifier) -> Iterator[HypothesisSet]:
    """Yield one hypothesis of each set that the file holds, or has made again."""
    from bayesclf.posterior.hypotheses import SeededHypotheses

    names = [name for name, point in clf.points_.items() if not isinstance(point, DoesNotExist)]
    for name in [*names, *(["posterior"] if clf.draws_ is not None else [])]:
        found = clf.hypotheses(name)
        if isinstance(found, SeededHypotheses):
            found = replace(found, seeded=replace(found.seeded, draws=1, block=1), _last={})
        yield found.take(np.zeros(1, dtype=np.intp))
