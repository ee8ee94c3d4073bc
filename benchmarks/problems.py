"""The posteriors that the benchmarks of logistic regression are about: a table in columns that all peers share.

Numbers are standardized, a category is one 0/1 column per level, measured from its mean, and a constant column is left
out. θ_k = (intercept, weights) is the log-odds of class k against the reference class, the first of two classes or the
last of more, and an array of draws is (chain, draw, vector, 1 + column) for every peer.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

type Array = NDArray[np.float64]
type Integers = NDArray[np.int64]

CHAINS = 4
DRAWS = 1000
TABLES = {
    "breast_cancer": "sklearn:breast_cancer",
    "pima": "folder:pima",
    "wine": "sklearn:wine",
    "digits": "sklearn:digits",
    "adult": "folder:adult",
}
"""Where `bayesclf.datasets.load` finds each."""


@dataclass(frozen=True)
class Prior:
    """Weights ~ N(0, weight²), intercepts ~ N(0, intercept²), or flat where that sd is infinite."""

    weight: float = 1.0
    intercept: float = 5.0
    form: str = "reference"
    """``"reference"``: independent vectors against the reference class; ``"symmetric"``: the log-odds between any two
    classes have this prior."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, labels and the prior of the weights."""

    X: Array
    """(row, column), each of mean 0, numbers of sd 1."""
    y: Integers
    """Label codes (row), in the order of the sorted labels."""
    prior: Prior

    @property
    def classes(self) -> int:
        return classes(self.y)

    def save(self, path: Path) -> None:
        prior = self.prior
        np.savez(path, X=self.X, y=self.y, scales=[prior.weight, prior.intercept], form=prior.form)


def load(name: str, prior: Prior) -> Problem:
    """Return the problem of one of `TABLES`."""
    import pandas as pd

    from bayesclf.tables import datasets

    table = datasets.load(TABLES[name])
    numbers = table.X.select_dtypes("number").columns
    frame = pd.get_dummies(table.X).astype(float)
    frame = frame.loc[:, frame.std() > 0]
    sd = frame.std(ddof=0).where(frame.columns.isin(numbers), 1.0)
    y = np.unique(table.y.to_numpy(), return_inverse=True)[1]
    return Problem(((frame - frame.mean()) / sd).to_numpy(), y, prior)


def read(path: Path) -> Problem:
    """Return a saved problem."""
    with np.load(path) as file:
        weight, intercept = file["scales"].tolist()
        return Problem(file["X"], file["y"], Prior(weight, intercept, str(file["form"])))


def classes(y: Integers) -> int:
    return int(y.max()) + 1


def reference_first(y: Integers) -> Integers:
    """Return codes in which the reference class is 0 and the order of the others is kept."""
    return y if classes(y) == 2 else (y + 1) % classes(y)
