"""scikit-learn's `LogisticRegression`: the posterior mode where the intercept is free."""

from importlib.metadata import version
from typing import Any

import numpy as np
from problems import Array, Integers, Prior, classes

MULTINOMIAL = True
SETTINGS: tuple[dict[str, Any], ...] = ({"solver": "lbfgs"}, {"solver": "newton-cholesky"})
STEPS = 10_000


def versions() -> dict[str, str]:
    return {"scikit-learn": version("scikit-learn")}


def load() -> None:
    from sklearn import linear_model

    _ = linear_model


def fit(X: Array, y: Integers, prior: Prior, seed: int, solver: str = "lbfgs", tol: float = 1e-4) -> Any:
    from sklearn.linear_model import LogisticRegression

    if prior.intercept != np.inf or prior.form != "symmetric":
        raise ValueError("scikit-learn's penalty is a symmetric prior with a free intercept")
    # K vectors w_k ~ N(0, C): the log-odds between two classes then have variance 2 C; two classes have one vector.
    C = prior.weight**2 / (1 if classes(y) == 2 else 2)
    return LogisticRegression(C=C, solver=solver, tol=tol, max_iter=STEPS, random_state=seed).fit(X, y)


def draws(fitted: Any) -> Array:
    theta = np.column_stack([fitted.intercept_, fitted.coef_])
    return (theta if len(theta) == 1 else theta[:-1] - theta[-1])[None, None]
