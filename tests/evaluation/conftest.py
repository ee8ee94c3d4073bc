"""The 14 days of Mitchell, which several files leave out one by one, and iris with its words."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf.engines import Exact


@pytest.fixture(scope="module")
def tennis(play_tennis):
    """Return its table, whose columns know their levels, and labels."""
    return play_tennis.X.astype("category"), np.asarray(play_tennis.y)


@pytest.fixture(scope="module")
def tennis_fit(tennis):
    return bc.CategoricalNB(alpha=1.0, random_state=1, inference=Exact(draws=5_000)).fit(*tennis)


@pytest.fixture(scope="session")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]
