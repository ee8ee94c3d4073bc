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
def test_counts_are_those_of_single_rows_whatever_the_blocks(weighted, monkeypatch):
    rng = np.random.default_rng(0)
    X, y, weight = rng.integers(-1, [3, 5], (101, 2)), rng.integers(2, size=101), rng.uniform(0.5, 2.0, 101)
    axes = Axes(("no", "yes"), ("a", "b"), (tuple("012"), tuple("01234")))
    whole = CategoricalStatistics.of(X, y, axes, weight if weighted else None).counts
    monkeypatch.setattr(categorical, "BLOCK_CELLS", 12)
    np.testing.assert_allclose(CategoricalStatistics.of(X, y, axes, weight if weighted else None).counts, whole)
    expected = np.zeros((2, 8))
    for j, start in enumerate((0, 3)):
        seen = X[:, j] >= 0
        np.add.at(expected, (y[seen], start + X[seen, j]), weight[seen] if weighted else 1.0)
    np.testing.assert_allclose(whole, expected, rtol=1e-13)


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
