"""The logistic weights that a generative classifier implies, compared with those of logistic regression itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesclf.arrays import Array
from bayesclf.classifiers.generative import GenerativeClassifier
from bayesclf.classifiers.logistic import LogisticRegression
from bayesclf.classifiers.predictor import CI_PROB
from bayesclf.errors import DoesNotExist, InputError, check_between
from bayesclf.models.logistic.prior import against_reference

if TYPE_CHECKING:
    import xarray as xr

INTERCEPT = "(intercept)"


def compare_weights(nb: GenerativeClassifier, lr: LogisticRegression, ci_prob: float = CI_PROB) -> pd.DataFrame:
    """Return the weights of both classifiers, fitted to the same rows, in one table.

    Both are log-odds against the same class, so that differences beyond the intervals are about the assumptions: naive
    Bayes's weight of a column ignores the other columns, logistic regression's is given all of them. To be
    comparable, the weights of a category's levels are measured from their mean, which the probabilities do not
    determine apart from the intercept, and both intercepts are at the column means of `lr`.

    Parameters
    ----------
    nb : GenerativeClassifier
        Fitted, with blocks that imply logistic weights, see `to_logistic`.
    lr : LogisticRegression
        Fitted.
    ci_prob : float
        Posterior probability of the equal-tailed intervals, in (0, 1).

    Returns
    -------
    DataFrame
        One row per class, column and model: `outcome`; `feature`, "(intercept)" first; `model`, "implied" or
        "logistic"; `mean`, `low` and `high` of the log-odds per unit of the column. A fit without a posterior has its
        point estimate as `mean`, and no bounds (NaN); so has a column that a model lacks.

    Raises
    ------
    InputError
        For classifiers of different classes.
    Refused
        For a block of `nb` that is not linear; the message says why.
    DoesNotExist
        For weights that are infinite, or too many to keep in memory.

    References
    ----------
    Mitchell, eqs 16 to 22; Ng & Jordan.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [2.0], [2.0], [4.0], [1.0]], ["low", "low", "high", "high", "high"]
    >>> nb = bc.GaussianNB("feature", inference="map").fit(X, y)
    >>> lr = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, y)
    >>> bc.compare_weights(nb, lr)[["outcome", "feature", "model", "mean"]].round(2)
      outcome      feature     model  mean
    0     low  (intercept)   implied -0.45
    1     low  (intercept)  logistic -0.47
    2     low           x0   implied -1.06
    3     low           x0  logistic -0.72
    """
    check_between("ci_prob", ci_prob)
    _check_kinds(nb, lr)
    implied = nb.to_logistic()
    labels = tuple(str(label) for label in lr.classes_)
    if implied.labels != labels:
        raise InputError(
            f"the classifiers have different classes, {', '.join(implied.labels)} and {', '.join(labels)}; fit them to "
            "the same rows"
        )
    design: Any = lr.model_.design  # type: ignore[attr-defined]
    intercept, weight = coefficients(lr, lr.posterior_)
    own = lr.model_.at_means(intercept, weight), weight  # type: ignore[attr-defined]
    found = {
        "implied": centered(coefficients(nb, implied.posterior_), implied.columns, levels(nb)),
        "logistic": centered(own, design.names, categories(design)),
    }
    centers = dict(zip(design.names, design.centre, strict=True))
    shift = np.array([centers.get(name, own) - own for name, own in zip(implied.columns, implied.centre, strict=True)])
    intercept, weight = found["implied"]
    found["implied"] = (intercept + weight @ shift, weight)
    names = {"implied": implied.columns, "logistic": design.names}
    frames = [_lines(model, *values, names[model], ci_prob) for model, values in found.items()]
    outcomes = [label for label in labels if label != implied.reference]
    order = {name: place for place, name in enumerate([INTERCEPT, *dict.fromkeys([*design.names, *implied.columns])])}
    lines = pd.concat(frames, ignore_index=True)
    every = pd.MultiIndex.from_product(
        [range(len(outcomes)), list(order), list(found)], names=["outcome", "feature", "model"]
    )
    table = lines.set_index(["outcome", "feature", "model"]).reindex(every).reset_index()
    return table.assign(outcome=[outcomes[k] for k in table["outcome"]])


def _check_kinds(nb: object, lr: object) -> None:
    """Raise for two models that are not, in this order, of the two kinds."""
    if not (isinstance(nb, GenerativeClassifier) and isinstance(lr, LogisticRegression)):
        found = f"{type(nb).__name__} and {type(lr).__name__}"
        raise InputError(f"nb must be a fitted generative classifier and lr a fitted LogisticRegression, not {found}")


def coefficients(classifier: GenerativeClassifier | LogisticRegression, tree: xr.DataTree) -> tuple[Array, Array]:
    """Return intercept (draw, outcome) and weight (draw, outcome, column) against the reference: draws, or a point."""
    source = "posterior" if "posterior" in tree.children else str(classifier.requested_rule(None))
    group = tree[source]
    if reason := group.attrs.get("does_not_exist"):
        raise DoesNotExist(reason)
    intercept = group["intercept"].transpose("chain", "draw", "outcome").values
    weight = group["weight"].transpose("chain", "draw", "outcome", "feature").values
    symmetric = intercept.shape[2] == len(classifier.classes_)
    intercept, weight = intercept.reshape(-1, *intercept.shape[2:]), weight.reshape(-1, *weight.shape[2:])
    return against_reference(intercept, symmetric), against_reference(weight, symmetric, axis=1)


def levels(nb: GenerativeClassifier) -> Iterable[list[str]]:
    """Return the names of the levels of each category of a generative model."""
    for block in nb.model_.blocks:
        axes = block.statistics.axes
        for feature, values in zip(axes.features, axes.levels, strict=False):
            yield [f"{feature}={value}" for value in values]


def categories(design: Any) -> Iterable[list[str]]:
    """Return the names of the levels of each category of logistic regression."""
    for category in design.category_names:
        yield [name for name, feature in zip(design.names, design.features, strict=True) if feature == category]


def centered(values: tuple[Array, Array], names: tuple[str, ...], groups: Iterable[list[str]]) -> tuple[Array, Array]:
    """Return intercept and weights, those of a category's levels measured from their mean."""
    intercept, weight = values[0].copy(), values[1].copy()
    place = {name: index for index, name in enumerate(names)}
    for group in groups:
        columns = [place[name] for name in group]
        mean = weight[..., columns].mean(axis=-1, keepdims=True)
        weight[..., columns] -= mean
        intercept += mean[..., 0]
    return intercept, weight


def _lines(model: str, intercept: Array, weight: Array, names: tuple[str, ...], ci_prob: float) -> pd.DataFrame:
    """Return one row per class (its number) and column."""
    every = np.concatenate([intercept[..., None], weight], axis=2)
    draws, outcomes, columns = every.shape
    tails = [(1 - ci_prob) / 2, (1 + ci_prob) / 2]
    low, high = np.quantile(every, tails, axis=0) if draws > 1 else np.full((2, outcomes, columns), np.nan)
    return pd.DataFrame(
        {
            "outcome": np.repeat(np.arange(outcomes), columns),
            "feature": np.tile(np.array([INTERCEPT, *names], dtype=object), outcomes),
            "model": model,
            "mean": every.mean(axis=0).ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
    )
