"""What several test files share: two small tables, a folder of larger ones, and a generator."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesclf import datasets


@pytest.fixture
def rng():
    """Return a generator of its own for each test, always the same."""
    return np.random.default_rng(20)


@pytest.fixture(scope="session")
def play_tennis():
    """Return the 14 days of Mitchell 1997, Table 3.2: four columns of words, yes or no."""
    return datasets.load("play_tennis")


@pytest.fixture(scope="session")
def mixed_table():
    """Return 60 rows of two columns of numbers and two of words with missing cells, and three classes."""
    rng = np.random.default_rng(4)
    codes = rng.permutation(np.repeat(np.arange(3), 20))
    X = pd.DataFrame(
        {
            "age": 30 + 8 * codes + rng.normal(0, 6, 60),
            "dose": np.exp(rng.normal(0.5 * codes, 0.6)),
            "ward": np.array(["east", "north", "west"], dtype=object)[(codes + (rng.random(60) < 0.4)) % 3],
            "smoker": np.array(["no", "yes"], dtype=object)[(rng.random(60) < 0.2 + 0.3 * codes).astype(int)],
        }
    )
    X = X.mask(rng.random(X.shape) < 0.08)
    return X, np.array(["ill", "mild", "well"])[codes]


@pytest.fixture(scope="session")
def data_folder():
    """Return the folder of larger tables that the environment variable BAYESCLF_DATA names; skip without it."""
    folder = os.environ.get("BAYESCLF_DATA")
    if folder is None:
        pytest.skip("BAYESCLF_DATA, the folder of data sets, is not set")
    return Path(folder)
