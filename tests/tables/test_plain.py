"""Tables as arrays and plain values: back again they are the same, types included."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayesclf.storage.encoding import GROUP, Decoder, Encoder
from bayesclf.tables.plain import plain, table_of

COLUMNS = {
    "reals": [1.5, np.nan, -0.0],
    "whole": np.array([1, 2, 3], dtype=np.int32),
    "true": [True, False, True],
    "gaps": pd.array([1, None, 3], dtype="Int64"),
    "maybe": pd.array([True, None, False], dtype="boolean"),
    "words": np.array(["a", None, "b"], dtype=object),
    "mixed": np.array(["a", 1, 2.5], dtype=object),
    "strings": pd.array(["a", None, "b"], dtype="string"),
    "levels": pd.Categorical(["b", None, "a"], ["b", "a", "never"]),
    "ordered": pd.Categorical(["low", "high", "low"], ["low", "high"], ordered=True),
    "codes": pd.Categorical([2, 1, 2]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_the_same_when_it_comes_back(name):
    table = pd.DataFrame({name: COLUMNS[name]})
    kept = Encoder({})
    encoded = kept.encode(plain(table), "table")
    back = table_of(Decoder({GROUP: xr.Dataset(kept.variables)}).decode(encoded))
    pd.testing.assert_frame_equal(back, table)
    if isinstance(table[name].dtype, pd.CategoricalDtype):
        assert back[name].cat.categories.equals(table[name].cat.categories)
