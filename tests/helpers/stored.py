"""Training tables for classifiers that are saved, and equality of what is loaded."""

import json
from dataclasses import fields, is_dataclass

import h5py
import numpy as np
import pandas as pd
import xarray as xr

from bayesclf import storage
from bayesclf.errors import DoesNotExist
from bayesclf.storage import netcdf

RNG = np.random.default_rng(3)
N = 30
Y = np.array(["no", "perhaps", "yes"])[np.arange(N) % 3]
NUMBERS = pd.DataFrame({"u": RNG.normal(size=N) + (Y == "yes"), "v": RNG.gamma(2, size=N), "w": RNG.normal(size=N)})
WORDS = pd.DataFrame({"wind": RNG.choice(["strong", "weak"], N), "sky": RNG.choice(["rain", "sun", "überzogen"], N)})
MIXED = pd.concat([NUMBERS[["u", "v"]], WORDS], axis=1).mask(RNG.random((N, 4)) < 0.1)

COUNTS = pd.DataFrame({"calls": RNG.poisson(2, N), "visits": RNG.poisson(1 + np.arange(N) % 3)}).astype(float)
TEXTS = pd.DataFrame({"message": [" ".join(row) for row in WORDS.to_numpy()]})


def assert_equal(mine, theirs):
    """Compare values of any depth, types and dtypes included; NaN equals NaN."""
    assert type(mine) is type(theirs)
    if isinstance(mine, np.ndarray):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        if mine.dtype == object:
            assert_equal(mine.ravel().tolist(), theirs.ravel().tolist())
        else:
            np.testing.assert_array_equal(mine, theirs)
    elif isinstance(mine, list | tuple):
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            assert_equal(one, other)
    elif isinstance(mine, dict):
        assert_equal(list(mine.items()), list(theirs.items()))
    elif is_dataclass(mine):
        for field in fields(mine):
            assert_equal(getattr(mine, field.name), getattr(theirs, field.name))
    elif isinstance(mine, xr.Dataset):
        xr.testing.assert_identical(mine, theirs)
    elif isinstance(mine, DoesNotExist):
        assert str(mine) == str(theirs)
    else:
        assert mine == theirs or (mine != mine and theirs != theirs)


def tamper(path, change):
    """Rewrite the JSON of a file; `change` edits it, or returns another text."""
    with h5py.File(path, "r+") as file:
        group = file[storage.GROUP]
        state = json.loads(group.attrs["state"])
        text = change(state)
        group.attrs["state"] = text if isinstance(text, str) else json.dumps(state)
    sign(path)


def sign(path):
    """Rewrite the checksum of a file, so that what was altered is found by other checks, if at all."""
    groups = netcdf.read(path)
    with h5py.File(path, "r+") as file:
        state = file[storage.GROUP].attrs["state"]
        file[storage.GROUP].attrs["checksum"] = netcdf.checksum(groups, state)
