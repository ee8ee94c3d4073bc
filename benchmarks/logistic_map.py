"""The posterior mode of logistic regression against scikit-learn's `LogisticRegression`: time, and equal weights.

Run from the project's folder:

    BAYESCLF_DATA=FOLDER .venv/bin/python benchmarks/logistic_map.py --json benchmarks/results/logistic_map.json

It alternates in one process. The priors match: N(0, 1) for the weight of the log-odds between any two classes, and a
free intercept. bayesclf's mode has no tolerance to set; scikit-learn runs as it comes, and to a tight one. One function
measures the gradient that each of them reached. Where weights at the tight tolerance differ from bayesclf's by more
than a thousandth of their posterior sd, the script says so and ends with status 1.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import numpy as np
import tables
from peers import peer
from problems import Array, Prior, Problem, load
from scipy.special import softmax

DATA = ("breast_cancer", "pima", "digits", "adult")
PRIOR = Prior(intercept=float("inf"), form="symmetric")
TIGHT = 1e-8
"""Largest gradient per row that is requested of scikit-learn."""
EQUAL = 1e-3
"""Posterior sds by which weights may differ."""


@dataclass(frozen=True)
class Optimizer:
    """A way to the mode.

    Attributes
    ----------
    peer, setting
        Whose, and how.
    tight
        Whether its weights must be those of the others.
    """

    peer: str
    setting: dict[str, Any]
    tight: bool = True


OPTIMIZERS = {
    "bayesclf": Optimizer("bayesclf_map", {}),
    "scikit-learn, lbfgs as it comes": Optimizer("sklearn", {"solver": "lbfgs"}, tight=False),
    f"scikit-learn, lbfgs, tol={TIGHT}": Optimizer("sklearn", {"solver": "lbfgs", "tol": TIGHT}),
    f"scikit-learn, newton-cholesky, tol={TIGHT}": Optimizer("sklearn", {"solver": "newton-cholesky", "tol": TIGHT}),
}


def main(words: list[str]) -> int:
    """Measure, print, and write JSON if asked; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path, help="file for the results")
    options = parser.parse_args(words)
    result = {
        **machine.description(machine.versions(["bayesclf_map", "sklearn"])),
        "repeats": options.repeats,
        "tables": {name: measure(load(name, PRIOR), options.repeats) for name in options.data},
    }
    print(tables.logistic_map(result))
    if options.json:
        machine.write(options.json, result)
    wrong = [
        f"{name}: a weight of {who} is {line['sds']:.1g} posterior sds from bayesclf's"
        for name, found in result["tables"].items()
        for who, line in found["optimizers"].items()
        if OPTIMIZERS[who].tight and not line["sds"] <= EQUAL
    ]
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


def measure(problem: Problem, repeats: int) -> dict[str, Any]:
    """Return the times of each optimizer, and where it stopped."""
    seconds: dict[str, list[float]] = {name: [] for name in OPTIMIZERS}
    modes: dict[str, Array] = {}
    for repeat in range(1 + repeats):
        for name, optimizer in OPTIMIZERS.items():
            who = peer(optimizer.peer)
            start = time.perf_counter()
            fitted = who.fit(problem.X, problem.y, problem.prior, 0, **optimizer.setting)
            took = time.perf_counter() - start
            if repeat:  # the first is a warm-up
                seconds[name].append(took)
            modes[name] = who.draws(fitted)[0, 0]
    ours = modes["bayesclf"]
    sd = np.sqrt(np.diag(np.linalg.inv(curvature(problem, ours)))).reshape(ours.shape)
    lines = {
        name: {
            "seconds": seconds[name],
            "gradient": float(np.abs(gradient(problem, theta)).max() / len(problem.X)),
            "difference": float(np.abs(theta - ours).max()),
            "sds": float(np.abs((theta - ours) / sd).max()),
        }
        for name, theta in modes.items()
    }
    return {
        "rows": len(problem.X),
        "columns": problem.X.shape[1],
        "classes": problem.classes,
        "optimizers": lines,
    }


def gradient(problem: Problem, theta: Array) -> Array:
    """Return the gradient of the log posterior at θ (vector, 1 + column)."""
    X, P = _probabilities(problem, theta)
    out = (_members(problem) - P).T @ X
    out[:, 1:] -= _prior_precision(problem) @ theta[:, 1:]
    return out


def curvature(problem: Problem, theta: Array) -> Array:
    """Return minus the Hessian of the log posterior at θ, raveled."""
    X, P = _probabilities(problem, theta)
    vectors, columns = theta.shape
    weighted = (P[:, :, None] * X[:, None]).reshape(len(X), -1)
    out = -(weighted.T @ weighted).reshape(vectors, columns, vectors, columns)
    prior = np.append(0.0, np.ones(columns - 1))  # none of the intercept
    for k, row in enumerate(_prior_precision(problem)):
        out[k, :, k] += (P[:, k, None] * X).T @ X
        for other, precision in enumerate(row):
            out[k, :, other] += np.diag(precision * prior)
    return out.reshape(vectors * columns, -1)


def _probabilities(problem: Problem, theta: Array) -> tuple[Array, Array]:
    """Return the rows with a column of ones, and P(k | x) of the classes that have a vector."""
    X = np.column_stack([np.ones(len(problem.X)), problem.X])
    return X, softmax(np.column_stack([X @ theta.T, np.zeros(len(X))]), axis=1)[:, :-1]


def _members(problem: Problem) -> Array:
    """Return whether a row is of the class of a vector, (row, vector)."""
    codes = 1 - problem.y if problem.classes == 2 else problem.y
    return np.equal.outer(codes, np.arange(problem.classes - 1)).astype(float)


def _prior_precision(problem: Problem) -> Array:
    """Return the precision of one column's weights, (vector, vector): 2(I − 11ᵀ/K)/s², which is 1/s² at K = 2."""
    K = problem.classes
    return 2 * (np.eye(K - 1) - 1 / K) / problem.prior.weight**2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
