"""What is encoded is decoded, values of any plain type."""

import json

import numpy as np
import pytest
import xarray as xr
from helpers.stored import assert_equal
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bayesclf import storage
from bayesclf.storage.encoding import Decoder, Encoder
from bayesclf.storage.formats import classes
from bayesclf.storage.netcdf import compression

numbers = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
dtypes = (
    hnp.boolean_dtypes()
    | hnp.integer_dtypes()
    | hnp.unsigned_integer_dtypes()
    | hnp.floating_dtypes(sizes=(16, 32, 64))
)
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, min_side=0, max_dims=3, max_side=3))
texts = hnp.arrays(hnp.unicode_string_dtypes(max_len=3), hnp.array_shapes(max_dims=2, max_side=3))
objects = st.lists(numbers).map(lambda items: np.array([*items, None], dtype=object))
scalars = arrays.filter(lambda array: array.size > 0).map(lambda array: array.ravel()[0])
keys = st.recursive(numbers, lambda inner: st.lists(inner, max_size=2).map(tuple), max_leaves=3)
values = st.recursive(
    numbers | arrays | arrays.map(np.transpose) | texts | objects | scalars | texts.map(lambda array: array.ravel()[0]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=8,
)


class TestEncoding:
    @given(values)
    @settings(deadline=None)
    def test_what_is_encoded_is_decoded(self, value):
        encoder = Encoder({})
        encoded = json.loads(json.dumps(encoder.encode(value, "value"), allow_nan=False))
        groups = {storage.GROUP: xr.Dataset(encoder.variables)}
        assert_equal(Decoder(groups).decode(encoded), value)

    @given(st.lists(arrays, max_size=4))
    def test_arrays_go_through_the_file(self, given):
        encoder = Encoder({})
        tree = xr.DataTree.from_dict({f"/{storage.GROUP}": xr.Dataset(encoder.variables)})
        encoded = encoder.encode(given, "value")
        tree = xr.DataTree.from_dict({f"/{storage.GROUP}": xr.Dataset(encoder.variables)})
        content = bytes(tree.to_netcdf(engine="h5netcdf", encoding=compression(tree)))
        with xr.open_datatree(content, engine="h5netcdf") as read:
            groups = {storage.GROUP: read[storage.GROUP].to_dataset().load()}
        assert_equal(Decoder(groups).decode(encoded), given)

    @pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
    def test_the_layout_in_memory_is_kept(self, axes):
        array = np.arange(24.0).reshape(2, 3, 4).transpose(axes)
        encoder = Encoder({})
        encoded = encoder.encode(array, "value")
        groups = {storage.GROUP: xr.Dataset(encoder.variables)}
        assert Decoder(groups).decode(encoded).strides == array.strides

    def test_one_array_is_written_once(self):
        array = np.ones(3)
        encoder = Encoder({})
        encoder.encode([array, {"a": array}], "value")
        assert len(encoder.variables) == 1

    def test_every_listed_class_is_frozen_and_its_name_its_own(self):
        for name, cls in classes().items():
            assert cls.__name__ == name
            assert cls.__dataclass_params__.frozen
