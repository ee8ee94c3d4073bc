"""PyMC: a model written by hand, sampled by `pm.sample` as it is, which takes nutpie."""

from importlib.metadata import version
from typing import Any

import numpy as np
from problems import CHAINS, DRAWS, Array, Integers, Prior, classes

MULTINOMIAL = True
SETTINGS: tuple[dict[str, Any], ...] = ({},)


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("pymc", "pytensor", "nutpie")}


def load() -> None:
    import nutpie
    import pymc

    _ = pymc, nutpie


def fit(X: Array, y: Integers, prior: Prior, seed: int) -> Any:
    import pymc as pm
    import pytensor.tensor as pt

    vectors, columns = classes(y) - 1, X.shape[1]
    with pm.Model():
        intercept = pm.Normal("intercept", 0, prior.intercept, shape=vectors)
        weight = pm.Normal("weight", 0, prior.weight, shape=(vectors, columns))
        eta = intercept + X @ weight.T
        if vectors == 1:
            pm.Bernoulli("y", logit_p=eta[:, 0], observed=y)
        else:
            pm.Categorical("y", logit_p=pt.concatenate([eta, pt.zeros((len(y), 1))], axis=1), observed=y)
        return pm.sample(DRAWS, chains=CHAINS, random_seed=seed, progressbar=False, quiet=True)


def draws(fitted: Any) -> Array:
    posterior = fitted["posterior"]
    return np.concatenate([posterior["intercept"].values[..., None], posterior["weight"].values], axis=-1)
