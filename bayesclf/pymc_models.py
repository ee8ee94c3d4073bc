"""Each classifier as a page of plain PyMC: what it assumes, from the prior to the rows.

The functions take a table and labels and return a `pymc.Model` with the priors of the classifier's defaults, or those
given. ``clf.to_pymc(X, y)`` is the same function with the hyperparameters of the fitted classifier.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

from bayesclf.typing import Array

LEARNED = "learned"


class Columns(NamedTuple):
    """How the columns of logistic regression are standardized, and the directions along which weights are independent.

    Attributes
    ----------
    center, scale
        Origin and unit of each column, (feature).
    directions, variances
        U (feature, direction) and e (direction) of C = U diag(e) Uᵀ, the covariance of the standardized columns, scaled
        to an average variance of 1.
    """

    center: Array
    scale: Array
    directions: Array
    variances: Array

    @classmethod
    def of(cls, cells: pd.DataFrame, numbers: NDArray[np.bool_]) -> Columns:
        """Return mean, sd (1 for the 0/1 column of a level) and directions of columns, of which some are numbers."""
        center, scale = cells.mean().to_numpy(), np.where(numbers, cells.std(ddof=0), 1.0)
        covariance = np.atleast_2d(np.cov((cells.to_numpy() - center) / scale, rowvar=False, ddof=0))
        variances, directions = np.linalg.eigh(covariance / np.diag(covariance).mean())
        return cls(center, scale, directions, np.maximum(variances, 0))


def logistic_regression(
    X: pd.DataFrame,
    y: Any,
    prior_scale: str | float = LEARNED,
    correlation: str | float = LEARNED,
    *,
    median: float = 1.0,
    spread: float = 1.5,
    intercept_mean: float = 0.0,
    intercept_scale: float = 5.0,
    symmetric: bool = True,
    given: Array | None = None,
    columns: Columns | None = None,
    classes: Any = None,
) -> pm.Model:
    """Logistic regression: normal weights of a scale s and a correlation ρ that are learned.

    ::

        log s ~ Normal(log median, spread²)
        ρ ~ Uniform(0, 1)
        w | s, ρ ~ Normal(0, s² [(1 − ρ) I + ρ C])
        b ~ Normal(intercept_mean, intercept_scale²)
        η = b + (x − center) · w,   y ~ Categorical(logit_p = η)

    Weights are per sd of a number, and per unit of the 0/1 columns of levels; ``weight`` is per unit of all. For two
    classes w and b are log-odds of the second. For more, each class has its own, which add up to 0, and the prior is
    that of the difference of any two.

    Parameters
    ----------
    X : DataFrame
        Numbers without missing cells, and categories.
    y : array of shape (row,)
        Labels.
    prior_scale : "learned" or float
        s, or a given one; given, the weights are independent unless `correlation` is a number.
    correlation : "learned" or float
        ρ.
    median, spread, intercept_mean, intercept_scale : float
        Of the priors.
    symmetric : bool
        Whether each of more than two classes has weights; if not, the last has none, and the others' are independent.
    given : array of shape (direction,) or None
        Scales that are not s, NaN where they are.
    columns : Columns or None
        Standardization and directions; None takes those of the rows.
    classes : array of shape (class,) or None
        All labels, in order; None takes those of the rows.

    Returns
    -------
    pymc.Model
        Free variables ``log_prior_scale`` and ``prior_correlation`` where learned, ``epsilon`` (direction, outcome) and
        ``intercept`` (outcome); ``prior_scale``, ``weight`` (outcome, feature) and ``eta`` (row, outcome) follow.
    """
    cells = pd.get_dummies(X, dtype=float)
    center, scale, directions, variances = columns or Columns.of(cells, cells.columns.isin(X.columns))
    classes = np.unique(y) if classes is None else np.asarray(classes)
    codes = pd.Index(classes).get_indexer(np.asarray(y))
    two, every = len(classes) == 2, symmetric and len(classes) > 2
    outcomes = classes if every else classes[1:] if two else classes[:-1]
    coords = {"outcome": outcomes, "feature": cells.columns, "direction": range(len(variances))}

    with pm.Model(coords=coords) as model:
        data = pm.Data("X", cells.to_numpy(), dims=("row", "feature"))
        labels = pm.Data("labels", codes, dims="row")
        s: Any = prior_scale
        rho: Any = 0.0 if correlation == LEARNED else correlation
        if prior_scale == LEARNED:
            s = pm.Deterministic("prior_scale", pt.exp(pm.Normal("log_prior_scale", np.log(median), spread)))
            learned = correlation == LEARNED
            rho = pm.Uniform("prior_correlation") if learned else pm.Data("prior_correlation", float(correlation))
        sd = s * pt.sqrt(1 - rho + rho * variances)
        sd = sd if given is None else pt.where(np.isnan(given), sd, given)
        if every:  # one vector for each class; the difference of any two has the sd of the prior
            epsilon = pm.ZeroSumNormal("epsilon", 1 / np.sqrt(2), dims=("direction", "outcome"))
            intercept = pm.ZeroSumNormal("intercept", intercept_scale / np.sqrt(2), dims="outcome")
        else:
            epsilon = pm.Normal("epsilon", dims=("direction", "outcome"))
            intercept = pm.Normal("intercept", intercept_mean, intercept_scale, dims="outcome")
        w = directions @ (sd[:, None] * epsilon)
        weight = pm.Deterministic("weight", w.T / scale, dims=("outcome", "feature"))
        eta = pm.Deterministic("eta", intercept + (data - center) @ weight.T, dims=("row", "outcome"))
        if two:
            pm.Bernoulli("y", logit_p=eta[:, 0], observed=labels, dims="row")
        else:
            logit_p = eta if every else pt.concatenate([eta, pt.zeros_like(eta[:, :1])], axis=1)
            pm.Categorical("y", logit_p=logit_p, observed=labels, dims="row")
    return model
