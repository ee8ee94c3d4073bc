"""How many parameters does each classifier estimate, as attributes are added?

To learn P(x | y) without any assumption takes 2(2^n − 1) parameters for n boolean attributes and two classes; if the
attributes are independent given the class, as naive Bayes assumes, 2n are enough (Mitchell, draft chapter Generative
and Discriminative Classifiers, 2010, section 1.1). Wehbe's lecture on that chapter counts 4n + 1 for Gaussian naive
Bayes with a variance σ_ik for each column i and class k; 3n + 1 with variances σ_i that the classes share; and n + 1
for logistic regression. Abu-El-Haija's notes (2013) name the parameters of discriminant analysis and of naive Bayes for
word counts. Here parameters are counted from fits, not from formulas: they are the directions in which draws of the
posterior vary. So constraints on entries are accounted for: probabilities add up to 1, and covariances are symmetric.

Formulas include the one parameter of P(y) where the model has it; Mitchell's 2(2^n − 1) and 2n leave it out. More
parameters need more rows, but how many is another question: see the experiment convergence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

import bayesclf as bc
from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.errors import InputError
from bayesclf.experiments.runner import Each, Figure, Record, Unit, curves, in_order, option

ROWS = 64
"""Training rows; the number of parameters does not depend on it."""

SPARE_DRAWS = 200
"""Draws in excess of the entries of a posterior, so that the number of draws does not limit the rank."""

LARGEST = 8
"""Most attributes: the unrestricted classifier then has 510 parameters besides P(y)."""


@dataclass(frozen=True)
class Kind:
    """One classifier on n attributes and two classes.

    Attributes
    ----------
    make
        Returns it, given its engine.
    formula, count
        The literature's number of parameters, in words and as a function of n, including the one of P(y) where there is
        one.
    attributes
        ``"boolean"``, ``"real"`` or ``"count"``.
    """

    make: Callable[..., BayesClassifier]
    formula: str
    count: Callable[[int], int]
    attributes: str = "real"


_GDA, _GNB = bc.GaussianDiscriminantAnalysis, bc.GaussianNB

KINDS = {
    "unrestricted": Kind(bc.JointBayes, "2(2^n − 1) + 1", lambda n: 2 * (2**n - 1) + 1, "boolean"),
    "boolean NB": Kind(bc.BernoulliNB, "2n + 1", lambda n: 2 * n + 1, "boolean"),
    "multinomial NB": Kind(bc.MultinomialNB, "2(n − 1) + 1", lambda n: 2 * n - 1, "count"),
    "GDA class": Kind(partial(_GDA, covariance="class"), "2n + n(n + 1) + 1", lambda n: n * n + 3 * n + 1),
    "GDA shared": Kind(
        partial(_GDA, covariance="shared"), "2n + n(n + 1)/2 + 1", lambda n: 2 * n + n * (n + 1) // 2 + 1
    ),
    "GNB": Kind(partial(_GNB, variance="class-feature"), "4n + 1", lambda n: 4 * n + 1),
    "GNB2": Kind(partial(_GNB, variance="feature"), "3n + 1", lambda n: 3 * n + 1),
    "LR": Kind(partial(bc.LogisticRegression, prior_scale=2.5), "n + 1", lambda n: n + 1),
}
"""The classifiers by name. Mitchell's own 2(2^n − 1) and 2n leave out P(y)."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    attributes: int = option(LARGEST, f"Most attributes, 2 to {LARGEST}.")
    seed: int = option(0, "Random seed.")


def tabulate(settings: Settings, each: Each) -> pd.DataFrame:
    """Return the numbers of parameters, counted and by formula, by classifier and number of attributes."""
    if not 2 <= settings.attributes <= LARGEST:
        raise InputError(f"attributes must lie between 2 and {LARGEST}, not {settings.attributes}")
    records = each([(name, n) for n in range(settings.attributes, 0, -1) for name in KINDS])
    return in_order(records, ["classifier", "n"], classifier=KINDS)


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Fit a classifier to arbitrary rows, and count its parameters."""
    name, n = str(unit[0]), int(unit[1])
    kind = KINDS[name]
    X, y = _rows(kind.attributes, n, np.random.default_rng(seed))
    engine = bc.engines.Laplace if name == "LR" else bc.engines.Exact
    estimate = kind.make(inference="map", random_state=0).fit(X, y)
    # the degrees of freedom of a prior are no parameters of the classifier
    point = estimate.posterior_["map"].to_dataset()[[name for name in estimate.model_.dims() if name != "nu"]]
    entries = sum(values.size for values in point.values())
    count = entries + SPARE_DRAWS
    fit = kind.make(inference=engine(draws=count, chains=1), random_state=0).fit(X, y)
    posterior = fit.posterior_draws().drop_vars("nu", errors="ignore")
    draws = [values.to_numpy().reshape(count, -1) for values in posterior.values()]
    counted = free_parameters(np.concatenate(draws, axis=1))
    return [{"classifier": name, "n": n, "entries": entries, "counted": counted, "formula": kind.count(n)}]


def answer(settings: Settings, table: pd.DataFrame) -> tuple[str, ...]:
    """Compare counts with formulas."""
    most = table[table["n"] == table["n"].max()].set_index("classifier")["counted"]
    return (
        f"With {settings.attributes} boolean attributes, the unrestricted classifier has {most['unrestricted']:,} "
        f"parameters and naive Bayes {most['boolean NB']}. With as many real attributes, discriminant analysis has "
        f"{most['GDA class']}, Gaussian naive Bayes {most['GNB']} and logistic regression {most['LR']}.",
        f"Counts agree with the literature's formulas in {(table['counted'] == table['formula']).sum()} of "
        f"{len(table)} cases.",
    )


def summary(settings: Settings, table: pd.DataFrame) -> pd.DataFrame:
    """Return the formula of each classifier, and its counted parameters by number of attributes n."""
    counts = table.pivot_table(index="classifier", columns="n", values="counted").astype(int)
    formulas = pd.DataFrame([(name, kind.formula) for name, kind in KINDS.items()], columns=["classifier", "formula"])
    return formulas.join(counts.rename(columns=lambda n: f"n = {n}"), on="classifier")


def figure(settings: Settings, table: pd.DataFrame) -> Figure:
    """Return the number of parameters against the number of attributes."""
    real = table["classifier"].map(lambda name: KINDS[name].attributes == "real")
    shown = table.assign(attributes=np.where(real, "real attributes", "boolean attributes, or counts"))
    title = "Number of parameters against number of attributes, two classes"
    labels = ("attributes", "parameters")
    draw = partial(curves, shown, *("attributes", "classifier", "counted"), x="n", labels=labels, log="y")
    return Figure(title, "Counted from fits.", draw)


def _rows(attributes: str, n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Integers]:
    """Return arbitrary rows and labels; each boolean attribute has both values."""
    names = [f"x{index}" for index in range(n)]
    y = np.arange(ROWS) % 2
    if attributes == "real":
        return pd.DataFrame(rng.standard_normal((ROWS, n)), columns=names), y
    if attributes == "count":
        return pd.DataFrame(rng.poisson(3.0, (ROWS, n)) + 1, columns=names), y
    cells = pd.DataFrame(np.vstack([np.zeros(n, int), np.ones(n, int), rng.integers(2, size=(ROWS - 2, n))]))
    return cells.set_axis(names, axis=1).astype("category"), y


def free_parameters(draws: Array) -> int:
    """Return in how many directions draws (draw, entry) of a posterior vary: its entries minus their constraints.

    Entries of a probability vector add up to 1 and a covariance matrix is symmetric. Both are linear, so that the rank
    of the centered draws is the number of free parameters, whatever the entries are called.
    """
    spread = draws.std(axis=0)
    varying = draws[:, spread > 0]
    return int(np.linalg.matrix_rank((varying - varying.mean(axis=0)) / spread[spread > 0]))
