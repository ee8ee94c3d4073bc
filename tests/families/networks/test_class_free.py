"""Columns that do not depend on the class, where the contract does not look: shared draws, and missing cells."""

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf.errors import InputError

LEVELS = {"rain": ("no", "yes"), "wet": ("dry", "wet"), "mood": ("bad", "fair", "good"), "dice": ("1", "2", "3")}
EDGES = (("rain", "wet"), ("wet", "mood"))
FREE = ("rain", "wet", "dice")
CLASSES = ("home", "out", "work")


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.choice(CLASSES, size=n)
    codes = rng.integers([2, 2, 3, 3], size=(n, 4))
    codes[:, 1] = np.where(rng.random(n) < 0.7, codes[:, 0], codes[:, 1])
    codes[:, 2] = (codes[:, 1] + (y == "out") + (rng.random(n) < 0.3)) % 3
    X = pd.DataFrame({name: np.array(values)[codes[:, j]] for j, (name, values) in enumerate(LEVELS.items())})
    return X, y


def network(**options):
    settings = {"structure": EDGES, "class_free": FREE, "alpha": 1.5, "random_state": 1}
    return bc.BayesNetClassifier(**{**settings, **options})


def test_all_classes_of_a_draw_have_one_table():
    X, y = rows()
    clf = network(inference=bc.engines.Exact(draws=40, chains=1)).fit(X, y)
    theta = clf.posterior_["posterior"]["theta"]
    names = theta.coords["cell"].values
    free = [not name.startswith("mood") for name in names]
    assert sum(free) == 2 + 4 + 3
    draws = theta.values[0]
    np.testing.assert_array_equal(draws[:, 0, free], draws[:, 1, free])
    np.testing.assert_array_equal(draws[:, 0, free], draws[:, 2, free])
    assert (draws[:, 0, ~np.array(free)] != draws[:, 1, ~np.array(free)]).any()


# What cannot be


UNKNOWN = "class_free names column 'snow', but the table has 'rain', 'wet'"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"structure": name}, "class_free is for edges that are given")
            for name in ("tan", "all-trees", "all-forests")
        ),
        ({"class_free": ["wet", "wet"]}, "class_free names column 'wet' twice; name each column once"),
        *(({"class_free": names}, "class_free must be names of columns") for names in ("dice", 3, [1], {"dice"})),
        ({"class_free": ["snow"]}, UNKNOWN),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        network(**options).fit(*rows())


def test_one_concentration_for_all_classes():
    X, y = rows()
    alpha = np.full((3, 2 + 4 + 6 + 3), 2.0)
    network(alpha=alpha).fit(X, y)
    alpha[1, 0] = 3.0
    with pytest.raises(InputError, match="alpha differs between classes in the cell 'rain=no'"):
        network(alpha=alpha).fit(X, y)
