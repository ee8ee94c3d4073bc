"""Files that are not what they seem: each is refused in one sentence or harmless, and nothing outside it is read."""

import math
import os
import sys
import time

import numpy as np
import pytest
from helpers.stored import NUMBERS, forge, parts_of, tamper

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.storage import container

REFUSED = r"model\.nc (is not a model|was written by another version of bayesclf, or was altered)"
CPU_SECONDS = 20
"""Far more than reading takes; what points in a circle takes forever."""


def refuse(path, match=REFUSED, **options):
    start = time.process_time()
    with pytest.raises(InputError, match=match) as refusal:
        bc.load(path, **options)
    assert "\n" not in str(refusal.value)
    assert time.process_time() - start < CPU_SECONDS


def test_the_netcdf_part_is_never_parsed(saved, gnb, monkeypatch):
    """HDF5 can point at other files and at itself; whatever it holds, nothing looks at it, nor waits for xarray."""
    for library in ("xarray", "h5py", "h5netcdf", "netCDF4"):
        monkeypatch.setitem(sys.modules, library, None)
    groups, own, head = parts_of(saved)
    saved.write_bytes(container.signed(groups[:8] + bytes(len(groups) - 8), own, head))
    np.testing.assert_array_equal(bc.load(saved).predict_log_proba(NUMBERS), gnb.predict_log_proba(NUMBERS))


@pytest.mark.parametrize("place", [-1, -(10**6), 10**7, 2**70, 2.5, "0", None, [0]])
def test_places_where_no_array_is(place, saved):
    forge(saved, lambda head: head.update(arrays=[place] * len(head["arrays"])))
    refuse(saved)


def arrays_in(node):
    """Yield the arrays of numbers in a state."""
    if isinstance(node, dict) and isinstance(node.get("array"), dict):
        yield node["array"]
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from arrays_in(inner)


def an_array(state):
    """Return the largest array of numbers in a state."""
    return max(arrays_in(state), key=lambda array: math.prod(array["shape"]))


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [20_000, 20_000], "order": [0, 1]},
        {"shape": [2**62, 2**62], "order": [0, 1]},
        {"shape": [-1]},
        {"shape": [-3, -1], "order": [0, 1]},
        {"shape": ["3"]},
        {"shape": 3},
        {"dtype": "O"},
        {"dtype": "<U9"},
        {"dtype": "<M8[s]"},
        {"dtype": "<f4,<f4"},
        {"order": [0, 0, 0]},
        {"order": [7]},
        {"number": -(10**6)},
        {"number": 10**6},
        {"number": "x"},
    ],
    ids=str,
)
def test_arrays_that_are_not_there(change, saved):
    tamper(saved, lambda state: an_array(state).update(change))
    refuse(saved)


def test_one_array_that_is_there_many_times(saved):
    def change(state):
        state["fitted"]["notes_"] = [{"array": an_array(state)}] * 10_000

    tamper(saved, change)
    refuse(saved, match="its arrays are larger than a model may be", max_bytes=2**20 * 3)


def test_a_small_file_that_is_unpacked_to_more_than_allowed(saved):
    groups, own, head = parts_of(saved)
    saved.write_bytes(container.signed(groups, own + bytes(10_000_000), head))
    assert saved.stat().st_size < 200_000
    refuse(saved, match="larger than a model may be", max_bytes=2**20)


@pytest.mark.parametrize(("lengths", "value"), [((0, 8), 2**60), ((8, 16), 2**60), ((0, 8), 0), ((8, 16), 0)])
def test_lengths_that_are_wrong(lengths, value, saved):
    content, (start, stop) = saved.read_bytes(), lengths
    end = bytearray(content[-container.END.size :])
    end[start:stop] = value.to_bytes(8, "little")
    saved.write_bytes(content[: -len(end)] + end)
    refuse(saved)


def test_what_is_packed_is_damaged(saved):
    groups, own, head = parts_of(saved)
    whole = container.signed(groups, own, head)
    packed = container.END.unpack(whole[-container.END.size :])[0]
    saved.write_bytes(container.sealed(whole[: len(groups)] + bytes(packed), packed, len(own)))
    refuse(saved)


def test_a_user_block(saved):
    content = saved.read_bytes()
    saved.write_bytes(bytes(512) + content)
    refuse(saved)


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_not_an_ordinary_file(kind, path):
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    refuse(path, match=rf"model\.nc is a {kind}, and a model is read from an ordinary file")


def test_a_file_larger_than_it_may_be(saved):
    refuse(saved, match="to read more than 1,000, give max_bytes", max_bytes=1000)


def test_numbers_that_were_changed(saved, gnb):
    content = saved.read_bytes()
    values = gnb.draws_.parameters["mu"].tobytes()[:64]
    assert content.count(values)
    saved.write_bytes(content.replace(values, np.arange(8.0).tobytes()))
    refuse(saved, match="its checksum differs")


def test_a_point_without_one_of_its_parameters(saved):
    def lacking(state):
        del state["fitted"]["points_"]["dict"][0][1]["dict"][0]

    tamper(saved, lacking)
    refuse(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda items: items.update(items=["no", "no", "yes"]),
        lambda items: items.update(items=["no", "yes"], shape=[2]),
        lambda items: items.update(items=["a", "b", "c"]),
        lambda items: items.update(dtype="<U200000000"),
        lambda items: items.update(shape=[3, 1]),
    ],
)
def test_classes_that_are_not_those_of_the_model(change, saved):
    tamper(saved, lambda state: change(state["fitted"]["classes_"]["items"]))
    refuse(saved)
