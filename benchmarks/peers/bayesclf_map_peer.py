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
    parameters = classifier.hypotheses("map").parameters  # the mode is computed on first use
    every = np.concatenate([parameters["intercept"][..., None], parameters["weight"]], axis=-1)[None]
    return every if every.shape[2] < len(classifier.classes_) else every[:, :, :-1] - every[:, :, -1:]


def draws(fitted: Any) -> Array:
    return np.asarray(fitted)
