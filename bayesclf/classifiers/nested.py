"""Classifiers at the end of a pipeline, or frozen: what meta-estimators need to know of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from bayesclf.classifiers.base import BayesClassifier


def innermost(estimator: Any) -> BayesClassifier | None:
    """Return the classifier of bayesclf that answers in the end; None where another estimator does.

    Parameters
    ----------
    estimator
        A classifier; a `sklearn.pipeline.Pipeline` whose last step is one; or a `sklearn.frozen.FrozenEstimator`
        of either.

    Examples
    --------
    >>> import bayesclf as bc
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> innermost(make_pipeline(StandardScaler(), FrozenEstimator(bc.GaussianNB())))
    GaussianNB()
    """
    while isinstance(estimator, Pipeline | FrozenEstimator):
        estimator = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator.estimator
    return estimator if isinstance(estimator, BayesClassifier) else None


def is_frozen(estimator: Any) -> bool:
    """Return whether `fit` leaves the classifier as it is."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return isinstance(estimator, FrozenEstimator)


def fitted_with(estimator: Any, X: Any, y: Any, **given: Any) -> Any:
    """Fit an estimator; what is given besides rows and labels, unless None, goes to the classifier inside it."""
    prefix, inside = "", estimator
    while isinstance(inside, Pipeline):
        name, inside = inside.steps[-1]
        prefix += f"{name}__"
    return estimator.fit(X, y, **{prefix + name: value for name, value in given.items() if value is not None})


def transformed(estimator: Any, X: Any) -> Any:
    """Return rows as the classifier inside a fitted estimator is given them."""
    while isinstance(estimator, Pipeline | FrozenEstimator):
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
            continue
        X, estimator = estimator[:-1].transform(X) if len(estimator) > 1 else X, estimator.steps[-1][1]
    return X


def take_over_input_tags(tags: Any, estimators: Iterable[Any]) -> None:
    """Set in `tags`, scikit-learn's, the kinds of tables that all the estimators take."""
    inside = [get_tags(estimator) for estimator in estimators]
    for name in ("allow_nan", "categorical", "sparse", "string", "two_d_array"):
        setattr(tags.input_tags, name, all(getattr(one.input_tags, name) for one in inside))
    tags.input_tags.positive_only = any(one.input_tags.positive_only for one in inside)
    tags.non_deterministic = any(one.non_deterministic for one in inside)


def seeded(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy in which each `random_state` that is None, of steps of a pipeline too, follows a seed.

    Meta-estimators of scikit-learn replace those that are given too; here these stay, as a user has set them.
    """
    copy, rng = clone(estimator), np.random.default_rng(seed)
    lacking = sorted(
        name
        for name, value in copy.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    return copy.set_params(**{name: int(rng.integers(2**31 - 1)) for name in lacking})
