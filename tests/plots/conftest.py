"""What the tests of figures share."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesclf as bc


@pytest.fixture(scope="session")
def comparison():
    """Return iris under two models, one of which has a name that looks like mathematics and no posterior."""
    data = load_iris(as_frame=True)
    models = {
        "nb": bc.NaiveBayes(families="gaussian"),
        "lr in $": bc.LogisticRegression(prior_scale=2.5, inference="map"),
    }
    return bc.compare(models, data.data, data.target_names[data.target], "all", cv=3)


@pytest.fixture(scope="session")
def two_classes():
    """Return a comparison of 120 rows with two overlapping classes of hostile names, split twice."""
    rng = np.random.default_rng(4)
    y = np.repeat(["$no$", "<yes>"], 60)
    X = rng.normal(size=(120, 2)) + (y == "<yes>")[:, None]
    return bc.compare({"nb": bc.GaussianNB()}, X, y, "all", cv=3, repeats=2)
