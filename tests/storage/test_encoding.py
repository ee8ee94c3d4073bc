"""What is encoded is decoded, values of any plain type."""

import json

import numpy as np
import pytest
import xarray as xr
from helpers.stored import assert_equal
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra import numpy as hnp

from bayesclf.families import FAMILIES
from bayesclf.families.gaussian import Moments
from bayesclf.storage import container
from bayesclf.storage.allowed import classes
from bayesclf.storage.container import Decoder, Encoder

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


LARGE = np.random.default_rng(1).normal(size=1000)
"""More bytes than `container.SHARED_ABOVE`."""


def decoded(encoder, encoded, path):
    """Return what a file gives back, into which a value was written."""
    tree = xr.DataTree.from_dict({"/posterior": xr.Dataset({"draws": (("draw",), LARGE)})})
    container.write(path, tree, encoder.arrays, {"value": json.loads(json.dumps(encoded, allow_nan=False))})
    content = container.read(path)
    return Decoder(content).decode(content.head["value"])


class TestEncoding:
    @given(values)
    @settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_what_is_encoded_is_decoded(self, path, value):
        encoder = Encoder()
        assert_equal(decoded(encoder, encoder.encode(value, "value"), path), value)

    def test_an_array_that_arviz_finds_is_written_once(self, path):
        encoder = Encoder()
        encoded = encoder.encode([LARGE, LARGE[1:]], "value")
        assert_equal(decoded(encoder, encoded, path), [LARGE, LARGE[1:]])
        assert sum(map(len, container.read(path).numbers[1:])) == 0

    @pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
    def test_the_layout_in_memory_is_kept(self, axes, path):
        array = np.arange(24.0).reshape(2, 3, 4).transpose(axes)
        encoder = Encoder()
        assert decoded(encoder, encoder.encode(array, "value"), path).strides == array.strides

    def test_every_listed_class_is_frozen_and_its_name_its_own(self):
        for name, cls in classes().items():
            assert cls.__name__ == name
            assert cls.__dataclass_params__.frozen

    def test_a_family_brings_its_statistics(self, monkeypatch):
        class Marks(Moments):
            pass

        class Marked(FAMILIES["gaussian"]):
            statistics_type = Marks

        monkeypatch.setitem(FAMILIES, "marked", Marked)
        assert classes()["Marked"] is Marked
        assert classes()["Marks"] is Marks
