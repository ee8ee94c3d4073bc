"""Training tables for classifiers that are saved, and equality of what is loaded."""

from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
import xarray as xr

from bayesclf.errors import DoesNotExist
from bayesclf.storage import container

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


def parts_of(path):
    """Return the netCDF part of a file, its own arrays, and its JSON."""
    content = container.read(path)
    return (*map(bytes, content.numbers), content.head)


def tamper(path, change):
    """Rewrite the state in the JSON of a file; `change` edits it."""

    forge(path, lambda head: change(head["state"]) and None)


def forge(path, change):
    """Rewrite the JSON of a file, with a checksum that is right; `change` edits it, or returns another text."""
    groups, own, head = parts_of(path)
    text = change(head)
    path.write_bytes(container.signed(groups, own, text if isinstance(text, str) else head))
