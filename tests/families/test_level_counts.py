"""Codes and counts of levels, which are made by blocks of rows: those of one cell after the other."""

import numpy as np
import pandas as pd
import pytest

from bayesclf.families import categorical
from bayesclf.families.base import Axes
from bayesclf.families.categorical import CategoricalStatistics
from bayesclf.tables import columns
from bayesclf.tables.numbers import BLOCK_CELLS


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_counts_are_those_of_single_cells_whatever_the_blocks(weighted, gaps, monkeypatch):
    monkeypatch.setattr(categorical, "BLOCK_CELLS", 12)
    rng = np.random.default_rng(0)
    sizes, rows = (3, 5), 101
    X = np.column_stack([rng.integers(-1 if gaps else 0, size, rows) for size in sizes])
    y, weight = rng.integers(2, size=rows), rng.uniform(0.5, 2.0, rows)
    axes = Axes(("no", "yes"), ("a", "b"), tuple(tuple(map(str, range(size))) for size in sizes))
    found = CategoricalStatistics.of(X, y, axes, weight if weighted else None).counts
    expected = np.zeros((2, 8))
    for cells, label, own in zip(X, y, weight, strict=True):
        for start, code in zip((0, 3), cells, strict=True):
            if code >= 0:
                expected[label, start + code] += own if weighted else 1.0
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_codes_of_more_cells_than_a_block_has():
    rng = np.random.default_rng(1)
    rows = BLOCK_CELLS // 2 + 17
    cells = rng.choice(np.array(["a", "b", "new", None], dtype=object), (rows, 2))
    frame = pd.DataFrame({"coded": pd.Categorical(cells[:, 0], ["b", "new", "a"]), "words": cells[:, 1]})
    levels = (("a", "b"), ("b", "a"))
    found = columns.codes(frame, ("coded", "words"), levels)
    for j, own in enumerate(levels):
        code = {**{level: place for place, level in enumerate(own)}, None: -1, "new": -2}
        np.testing.assert_array_equal(found[:, j], [code[cell] for cell in cells[:, j]])
        np.testing.assert_array_equal(columns.codes_of(frame.iloc[:, j], own), found[:, j])
