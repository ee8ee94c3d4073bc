"""bayesclf: NUTS on the whitened posterior."""

from importlib.metadata import version
from typing import Any

import numpy as np
from problems import CHAINS, DRAWS, Array, Integers, Prior

MULTINOMIAL = True
SETTINGS: tuple[dict[str, Any], ...] = ({},)


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("bayesclf", "pymc", "nutpie")}


def load() -> None:
    import bayesclf

    _ = bayesclf.LogisticRegression


def fit(X: Array, y: Integers, prior: Prior, seed: int) -> Any:
    import bayesclf as bc

    return bc.LogisticRegression(
        prior_scale=prior.weight,
        prior_form=prior.form,
        intercept_scale=prior.intercept,
        standardize=False,
        inference=bc.engines.NUTS(draws=DRAWS, chains=CHAINS),
        random_state=seed,
    ).fit(X, y)


def draws(fitted: Any) -> Array:
    posterior = fitted.posterior_["posterior"]
    every = np.concatenate([posterior["intercept"].values[..., None], posterior["weight"].values], axis=-1)
    return every if every.shape[2] < len(fitted.classes_) else every[:, :, :-1] - every[:, :, -1:]
