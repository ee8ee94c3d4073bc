"""For every check a fit that it has nothing to say about, and one with the fault that it is there to find."""

import copy
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

import bayesclf as bc
from bayesclf.errors import ConvergenceWarning

DRAWS = bc.engines.NUTS(draws=400, tune=300)
NARROW = bc.families.Gaussian(m=0.0, kappa=1.0, a=400.0, b=8.0)
"""A prior of variances of .02, as sure as 800 rows."""


def normal_rows(rows, columns=2, distance=1.0, seed=1):
    """Return rows of two classes with unit variances, `distance` apart in every column, and their labels."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(rows) % 2)
    X = rng.normal(size=(rows, columns)) + distance * codes[:, None]
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(columns)]), np.array(["no", "yes"])[codes]


def word_rows(rows, seed=1):
    """Return rows with a column of words that bears on the class, and their labels."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(rows) % 2)
    other = np.where(rng.random(rows) < 0.3, 1 - codes, codes)
    X = pd.DataFrame({"wind": np.array(["weak", "strong"], dtype=object)[other], "rain": rng.normal(size=rows) + codes})
    return X, np.array(["no", "yes"])[codes]


@cache
def chains():
    """Return Gaussian naive Bayes by NUTS, which has as many parameters as `saturated` and so is compiled once."""
    return bc.GaussianNB(inference=DRAWS, random_state=1).fit(*normal_rows(200))


def with_draws(change):
    """Return the same fit, each parameter's draws (chain, draw, …) changed."""
    clf = copy.copy(chains())
    held = clf.draws_
    parameters = {
        name: change(values.reshape(held.chains, -1, *values.shape[1:])).reshape(values.shape)
        for name, values in held.parameters.items()
    }
    clf.draws_ = replace(held, parameters=parameters)
    return clf


def with_statistics(**values):
    """Return the same fit, the sampler's statistics (chain, draw) changed."""
    clf = copy.copy(chains())
    changed = {name: change(clf.draws_.stats[name]) for name, change in values.items()}
    clf.draws_ = replace(clf.draws_, stats={**clf.draws_.stats, **changed})
    return clf


def disagreeing(values):
    """Move one chain by three posterior sds."""
    moved = values.copy()
    moved[0] += 3 * values.std(axis=(0, 1))
    return moved


def sluggish(values):
    """Make each draw depend on the one before, ρ = 0.99."""
    rng = np.random.default_rng(3)
    slow = np.empty_like(values)
    slow[:, 0] = rng.normal(size=values[:, 0].shape)
    for draw in range(1, values.shape[1]):
        slow[:, draw] = 0.99 * slow[:, draw - 1] + np.sqrt(1 - 0.99**2) * rng.normal(size=values[:, 0].shape)
    return slow


def saturated():
    """Return Gaussian naive Bayes, which is not whitened, by nutpie with trees of at most three steps."""
    engine = bc.engines.NUTS(draws=200, tune=200, chains=2, max_treedepth=2)
    X, y = normal_rows(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return bc.GaussianNB(inference=engine, random_state=1).fit(X * [1.0, 1000.0], y)


def wandering(energy):
    """Return energies that hardly move from draw to draw."""
    return np.cumsum(np.random.default_rng(4).normal(size=energy.shape), axis=1)


def gaussian(X, y, **settings):
    """Fit Gaussian naive Bayes and return it with its rows."""
    return bc.GaussianNB(random_state=1, **settings).fit(X, y), (X, y)


def naive(X, y, **settings):
    """Fit naive Bayes and return it with its rows."""
    return bc.NaiveBayes(random_state=1, **settings).fit(X, y), (X, y)


def logistic(X, y, **settings):
    """Fit logistic regression, at its mode unless said otherwise, and return it with its rows."""
    return bc.LogisticRegression(random_state=1, **{"inference": "map", "prior_scale": 2.5} | settings).fit(X, y), (
        X,
        y,
    )


def repeated(rows=600, times=6):
    """Return columns that say the same up to a little noise, as if they were independent."""
    X, y = normal_rows(rows, 1)
    noise = np.random.default_rng(2).normal(0, 0.05, size=(rows, times))
    return gaussian(pd.DataFrame(X.to_numpy() + noise, columns=[f"x{j}" for j in range(times)]), y)


def many_levels(rows=100, columns=6, levels=30):
    """Return columns of as many levels that few rows have, which modes at α = 1 give probability 0 and means do not."""
    rng = np.random.default_rng(1)
    names = np.array([f"level {i}" for i in range(levels)], dtype=object)
    X = pd.DataFrame({f"x{j}": names[rng.integers(levels, size=rows)] for j in range(columns)})
    y = np.array(["no", "yes"])[rng.permutation(np.arange(rows) % 2)]
    return bc.CategoricalNB(alpha=1.0, random_state=1).fit(X, y), (X, y)


def missing_by_class(often):
    X, y = word_rows(300)
    rng = np.random.default_rng(3)
    share = np.where(y == "yes", often, 0.1)
    return naive(X.assign(wind=X["wind"].mask(rng.random(300) < share)), y)


def skewed():
    X, y = normal_rows(300)
    return gaussian(np.exp(2 * X), y)


def laplace(khat):
    """Return a Laplace fit whose recorded k̂ is this."""
    clf, rows = logistic(*normal_rows(200), inference=bc.engines.Laplace(draws=100))
    clf.draws_ = replace(clf.draws_, stats={**clf.draws_.stats, "pareto_k": khat})
    return clf, rows


def with_column(name, cells, rows=200):
    X, y = normal_rows(rows)
    return naive(X.assign(**{name: cells(X)}), y)


HEALTHY = {
    "P01": lambda: (chains(),),
    "P08": lambda: laplace(0.3),
    "M01": lambda: logistic(*normal_rows(200)),
    "M02": lambda: logistic(*word_rows(200)),
    "M03": lambda: gaussian(*normal_rows(200)),
    **dict.fromkeys(("M05", "M06", "M07", "M08", "M09"), lambda: naive(*word_rows(200))),
    **dict.fromkeys(("Y01", "Y02"), lambda: gaussian(*normal_rows(300))),
    "Y04": lambda: missing_by_class(0.1),
    "Y05": lambda: gaussian(*normal_rows(300, distance=2.0)),
    "Y06": lambda: (*gaussian(*normal_rows(300)), normal_rows(100, seed=9)[0]),
    "Y07": lambda: gaussian(*normal_rows(300)),
}

FAULTY = {
    "P01": lambda: (with_draws(disagreeing),),
    "P08": lambda: laplace(0.9),
    "M01": lambda: logistic(*normal_rows(60, distance=8.0)),
    "M02": lambda: logistic(*(lambda X, y: (X.assign(both=X["x0"] + X["x1"]), y))(*normal_rows(200))),
    "M03": lambda: naive(*normal_rows(300), blocks=dict.fromkeys(["x0", "x1"], NARROW)),
    "M05": lambda: with_column("ward", lambda X: np.where(np.arange(len(X)) < 2, "east", "west").astype(object)),
    "M06": lambda: with_column("site", lambda X: 1.0),
    "M07": lambda: with_column("fahrenheit", lambda X: 32 + 1.8 * X["x0"]),
    "M08": lambda: with_column("patient", lambda X: np.arange(len(X)) + 1000),
    "M09": lambda: with_column("weight", lambda X: np.where(np.arange(len(X)) % 20, 70 + 10 * X["x0"], 0.0)),
    "Y01": lambda: gaussian(*normal_rows(300, distance=0.0)),
    "Y02": repeated,
    "Y04": lambda: missing_by_class(0.4),
    "Y05": many_levels,
    "Y06": lambda: (*gaussian(*normal_rows(300)), normal_rows(100, seed=9)[0] + 10.0),
    "Y07": skewed,
}


def diagnose(case, checks):
    """Run checks on a case: a fit, perhaps its rows, perhaps new rows."""
    clf, *rest = case
    X, y = rest[0] if rest else (None, None)
    return clf.diagnose(X, y, new=rest[1] if len(rest) > 1 else None, checks=checks)
