"""bayesclf: the posterior mode by Newton's method."""

from importlib.metadata import version
from typing import Any

import numpy as np
from problems import Array, Integers, Prior

MULTINOMIAL = True
SETTINGS: tuple[dict[str, Any], ...] = ({},)


def versions() -> dict[str, str]:
    return {"bayesclf": version("bayesclf")}


def load() -> None:
    import bayesclf

    _ = bayesclf.LogisticRegression


def fit(X: Array, y: Integers, prior: Prior, seed: int) -> Any:
    import bayesclf as bc

    classifier = bc.LogisticRegression(
        prior_scale=prior.weight,
        prior_form=prior.form,
        intercept_scale=prior.intercept,
        standardize=False,
        inference="map",
    ).fit(X, y)
    return classifier.hypotheses("map").parameters  # the mode is computed on first use


def draws(fitted: Any) -> Array:
    return np.concatenate([fitted["intercept"][..., None], fitted["weight"]], axis=-1)[None]
