"""Files that are not what they seem: each is refused in one sentence, and nothing outside of it is read or followed."""

import json
import os
import resource
import time
import zlib

import h5py
import numpy as np
import pytest
from helpers.stored import NUMBERS, sign, tamper
from helpers.strangers import CRAFTS, damaged

import bayesclf as bc
from bayesclf import storage
from bayesclf.errors import InputError
from bayesclf.storage import hdf5, netcdf

REFUSED = r"model\.nc (is not a model|is damaged or was altered)"
MOST_KILOBYTES = 300_000
"""How much more memory the process may have taken after reading files of some kilobytes than before."""
CPU_SECONDS = 20
"""Far more than reading takes; what points in a circle takes forever."""


def refuse(path, match=REFUSED, **options):
    start = time.process_time()
    with pytest.raises(InputError, match=match) as refusal:
        bc.load(path, **options)
    assert "\n" not in str(refusal.value)
    print(refusal.value)
    assert time.process_time() - start < CPU_SECONDS


@pytest.fixture
def array(saved):
    """Return the name of an array of the model's state."""
    with h5py.File(saved) as file:
        return max(file[storage.GROUP], key=lambda name: (file[storage.GROUP][name].ndim, name))


def replaced(path, name, **options):
    """Make another data set of the same shape and dims instead of one."""
    with h5py.File(path, "r+") as file:
        group = file[storage.GROUP]
        shape, dims = group[name].shape, [scale.keys() for scale in group[name].dims]
        values = group[name][()]
        dims = [group[name].dims[axis][0] for axis in range(len(dims))]
        del group[name]
        made = group.create_dataset(name, **{"shape": shape, "dtype": "f8"} | options)
        for axis, scale in enumerate(dims):
            made.dims[axis].attach_scale(scale)
        return values


@pytest.mark.parametrize("craft", CRAFTS, ids=lambda craft: craft.__name__)
@pytest.mark.parametrize("place", ["/", f"/{storage.GROUP}", "/posterior"])
def test_objects_that_no_model_has(craft, place, saved):
    with h5py.File(saved, "r+") as file:
        craft(file[place], saved)
    refuse(saved)


@pytest.mark.parametrize("name", ["scale_factor", "add_offset", "_Unsigned", "missing_value", "units", "remark"])
def test_attributes_that_would_change_values(name, saved, array):
    with h5py.File(saved, "r+") as file:
        file[storage.GROUP][array].attrs[name] = 2.0
    refuse(saved, match="unknown attributes")


def test_values_of_another_file(saved, array):
    secret = saved.with_name("secret")
    secret.write_bytes(np.arange(1000.0).tobytes())
    replaced(saved, array, external=[(str(secret), 0, h5py.h5f.UNLIMITED)])
    refuse(saved)


def test_values_of_a_virtual_data_set(saved, array):
    with h5py.File(saved, "r+") as file:
        group = file[storage.GROUP]
        layout = h5py.VirtualLayout(group[array].shape, "f8")
        layout[:] = h5py.VirtualSource(str(saved.with_name("other.h5")), "x", group[array].shape)
        del group[array]
        group.create_virtual_dataset(array, layout)
    refuse(saved)


@pytest.mark.parametrize("options", [{}, {"chunks": True}, {"chunks": True, "compression": "gzip"}])
def test_values_that_are_not_there(options, saved, array):
    replaced(saved, array, **options)
    refuse(saved)


@pytest.mark.parametrize("options", [{"compression": "lzf"}, {"fletcher32": True}, {"scaleoffset": 2}])
def test_filters_that_no_model_has(options, saved, array):
    with h5py.File(saved) as file:
        values = file[storage.GROUP][array][()]
    replaced(saved, array, data=values.astype("f8"), chunks=True, **options)
    refuse(saved)


@pytest.mark.parametrize("options", [{}, {"chunks": (1000, 1000), "compression": "gzip"}])
def test_a_small_file_that_declares_gigabytes(options, saved):
    with h5py.File(saved, "r+") as file:
        file[storage.GROUP].create_dataset("large", shape=(20_000, 20_000), dtype="f8", **options)
    assert saved.stat().st_size < 200_000
    refuse(saved)
    refuse(saved, match="larger than a model may be", max_bytes=2**20)


def test_a_chunk_that_is_larger_than_it_says(saved):
    with h5py.File(saved, "r+") as file:
        made = file[storage.GROUP].create_dataset("bomb", shape=(1000,), dtype="f8", chunks=True, compression="gzip")
        made.id.write_direct_chunk((0,), zlib.compress(bytes(10_000_000)))
    refuse(saved)


def test_a_user_block(saved):
    content = saved.read_bytes()
    saved.write_bytes(bytes(512) + content)
    refuse(saved)


def test_variables_that_disagree_on_the_length_of_a_dim(saved):
    with h5py.File(saved, "r+") as file:
        scales = [file["posterior"]["mu"].dims[axis][0] for axis in range(file["posterior"]["mu"].ndim)]
        del file["posterior"]["mu"]
        made = file["posterior"].create_dataset("mu", data=np.zeros([len(scale) + 1 for scale in scales]))
        for axis, scale in enumerate(scales):
            made.dims[axis].attach_scale(scale)
    refuse(saved)


def test_headers_in_a_circle():
    file = hdf5.Metered(bytes(100))

    def follow():
        while True:
            file.seek(100)
            file.read(10)

    with pytest.raises(hdf5.DamagedFile, match="circle"):
        follow()


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


def test_a_state_that_was_changed(saved):
    with h5py.File(saved, "r+") as file:
        attributes = file[storage.GROUP].attrs
        attributes["state"] = attributes["state"].replace('"seed_": ', '"seed_": 1')
    refuse(saved, match="its checksum differs")


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("sigma2", -1.0, "'sigma2' has values below 0"),
        ("sigma2", np.nan, "not numbers"),
        ("pi", -0.5, "not probabilities"),
        ("pi", 0.9, "do not sum to 1"),
    ],
)
@pytest.mark.parametrize("group", ["posterior", "map"])
def test_values_outside_their_domain(group, name, value, match, saved):
    with h5py.File(saved, "r+") as file:
        file[group][name][..., 0] = value
    sign(saved)
    refuse(saved, match=match)


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


def test_damaged_files(gnb, saved):
    """The answers are those before, or a sentence says why there are none; the fuzz suite damages thousands."""
    content, rng = saved.read_bytes(), np.random.default_rng(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    expected = gnb.predict_log_proba(NUMBERS)
    sentences = []
    for _ in range(150):
        saved.write_bytes(damaged(content, rng))
        try:
            loaded = bc.load(saved)
        except InputError as refusal:
            sentences.append(str(refusal))
        else:
            np.testing.assert_array_equal(loaded.predict_log_proba(NUMBERS), expected)
    assert len(sentences) > 50
    assert not any("\n" in sentence for sentence in sentences)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_KILOBYTES


def test_the_groups_are_those_that_are_written(saved):
    with h5py.File(saved) as file:
        assert set(file) <= netcdf.GROUPS.keys()
        assert json.loads(file[storage.GROUP].attrs["state"])["classifier"] == "GaussianNB"
