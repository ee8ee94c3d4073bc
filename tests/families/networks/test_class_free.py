"""Columns that do not depend on the class, where the contract does not look: shared draws, and missing cells."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from helpers.suites import mainly
from scipy.special import xlogy

import bayesclf as bc
from bayesclf.errors import InputError

LEVELS = {"rain": ("no", "yes"), "wet": ("dry", "wet"), "mood": ("bad", "fair", "good"), "dice": ("1", "2", "3")}
EDGES = (("rain", "wet"), ("wet", "mood"))
FREE = ("rain", "wet", "dice")
GIVEN = {"rain": (), "wet": ("rain",), "mood": ("wet",), "dice": ()}
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


def tables():
    """Return the keys of all tables."""
    return [
        (name, label, given)
        for name, parents in GIVEN.items()
        for label in (("all",) if name in FREE else CLASSES)
        for given in product(*(LEVELS[parent] for parent in parents))
    ]


def probability(theta, row, label):
    """Return p(x | y) of a row without gaps."""
    keys = {name: (name, "all" if name in FREE else label, tuple(row[p] for p in GIVEN[name])) for name in GIVEN}
    return np.prod([theta[keys[name]][row[name]] for name in GIVEN])


def with_gaps(X, seed=3):
    rng = np.random.default_rng(seed)
    return X.mask(rng.random(X.shape) < 0.35)


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


# Missing training cells


def observed_log_likelihood(theta, X, y):
    total = 0.0
    for (_, row), label in zip(X.iterrows(), y, strict=True):
        choices = [LEVELS[name] if pd.isna(row[name]) else (row[name],) for name in LEVELS]
        total += np.log(sum(probability(theta, dict(zip(LEVELS, v, strict=True)), label) for v in product(*choices)))
    return total


def as_theta(parameters, clf):
    """Return θ of one hypothesis by table."""
    names, theta = clf.model_.coords()["cell"], {}
    for cell, name in enumerate(names):
        value, _, condition = name.partition(" | ")
        column, level = value.split("=")
        given = (condition.split("=")[1],) if condition else ()
        for k, label in enumerate(CLASSES):
            key = (column, "all" if column in FREE else label, given)
            theta.setdefault(key, {})[level] = parameters["theta"][0, k, cell]
    return theta


@pytest.mark.parametrize("rule", mainly(["mle", "map"], "map"))
def test_em_arrives_where_no_small_step_rises(rule):
    X, y = rows(150)
    X = with_gaps(X, 8)
    clf = network(inference=rule).fit(X, y)
    theta = as_theta(clf._point(rule), clf)
    added = 0.0 if rule == "mle" else 0.5

    def objective(theta):
        prior = sum(xlogy(added, list(theta[key].values())).sum() for key in tables())
        return observed_log_likelihood(theta, X, y) + prior

    best, rng = objective(theta), np.random.default_rng(0)
    for key in tables():
        for _ in range(2):
            step = rng.normal(size=len(theta[key])) * 1e-2
            values = np.array(list(theta[key].values())) * np.exp(step)
            moved = {**theta, key: dict(zip(theta[key], values / values.sum(), strict=True))}
            assert objective(moved) < best + 1e-7


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
    with pytest.raises(InputError, match="alpha gives the cell 'rain=no' other concentrations in some classes"):
        network(alpha=alpha).fit(X, y)
