"""Checks of whether the rows determine the parameters without the prior."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.finding import Answer, NotApplicable, passed, tip
from bayesclf.errors import DoesNotExist
from bayesclf.families.multivariate.covariance import collinear
from bayesclf.families.multivariate.gaussian import MultivariateGaussian
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.logistic.centered import CenteredRows, dense
from bayesclf.models.logistic.identifiability import extremes
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.typing import Array
from bayesclf.wording import named


@check("M01", "Linearly separable classes", "logistic regression")
def separated_classes(context: Context) -> Answer:
    """Look for a hyperplane with all rows of a class on one side, where the likelihood has no maximum.

    Single columns are tried first, then a part of the rows, and all rows only if that part is separable: if a part of
    the rows overlaps, all rows do.

    References
    ----------
    Albert, Anderson (1984), On the existence of maximum likelihood estimates in logistic regression models,
    Biometrika 71, doi:10.1093/biomet/71.1.1.
    """
    model = context.classifier.model_
    if not isinstance(model, LogisticModel):
        raise NotApplicable("a generative model fits no weights")
    found = _separated_by_one_column(model)
    reason = f"{named(found)} alone separate{'s' * (len(found) == 1)} a class, and the likelihood has no maximum"
    if not found:
        separable = _why_separable(context, model)
        if not separable:
            return passed("the classes overlap, and the likelihood has a maximum", {"separable": 0})
        reason = separable
    return tip(
        f"{reason}: the size of these weights is determined by the prior",
        "trust the signs of these weights, not their sizes; choose prior_scale from what is known about the problem",
        {"separable": 1, "columns": ", ".join(found)},
    )


def _separated_by_one_column(model: LogisticModel) -> list[str]:
    """Return the columns whose values in one class all lie on one side of those of all other rows, or at their end."""
    model.require_rows()
    present = model.sample_weight > 0
    X, y = model.X[present], model.y[present]
    cells: Array | sparse.csr_array = X.cells if isinstance(X, CenteredRows) else X
    smallest, largest = extremes(cells)
    found = np.zeros(X.shape[1], dtype=bool)
    for k in range(len(model.labels)):
        if (y == k).any() and (y != k).any():
            (least, most), (least_other, most_other) = extremes(cells[y == k]), extremes(cells[y != k])
            found |= ((least >= most_other) | (most <= least_other)) & (largest > smallest)
    return [name for name, yes in zip(model.design.names, found, strict=True) if yes]


def _why_separable(context: Context, model: LogisticModel) -> str:
    """Return why the likelihood has no maximum; empty where it has one."""
    if len(model.y) > thresholds.TEST_ROWS:
        some = np.random.default_rng(context.seed).choice(len(model.y), thresholds.TEST_ROWS, replace=False)
        part = replace(model, X=model.X[some], y=model.y[some], sample_weight=model.sample_weight[some])
        with suppress(DoesNotExist):  # all rows may still overlap
            part.mle()
            return ""
    try:
        context.classifier.hypotheses("mle")
    except DoesNotExist as error:
        return str(error).partition("; take")[0]
    return ""


@check("M02", "Collinear columns", "logistic regression, Gaussian discriminant analysis")
def collinear_columns(context: Context) -> Answer:
    """Look for columns that are weighted sums of others, so that their weights are not determined individually.

    The indicators of a category's levels, which always add up to one, are not reported.
    """
    model = context.classifier.model_
    if isinstance(model, LogisticModel):
        names, consequence = list(model.collinear()), "their weights are not determined"
        if columns := _missing_together(model, names):
            return tip(
                f"cells of {named(columns)} are missing in the same rows: how much each being missing weighs is not "
                "determined, but probabilities are",
                "nothing, for predictions; do not interpret the weights of these indicators one by one",
                {"columns": ", ".join(columns), "count": len(columns)},
            )
    else:
        assert isinstance(model, GenerativeModel)
        names, consequence = _collinear_covariances(model), "their covariance is not determined without the prior"
    evidence = {"columns": ", ".join(names), "count": len(names)}
    if names:
        return tip(
            f"a weighted sum of {named(names)} is the same in every row: {consequence}, but probabilities are",
            "leave columns out if the parameters are to be interpreted; for predictions it does not matter",
            evidence,
        )
    return passed("no column is a weighted sum of others", evidence)


def _missing_together(model: LogisticModel, names: list[str]) -> list[str]:
    """Return the columns whose missing cells are in the same rows, if these indicators alone are collinear."""
    design, first = model.design, len(model.design.varying)
    indicators = {design.names[first + i]: j for i, j in enumerate(design.gaps)}
    if not len(model.X) or not names or not set(names) <= set(indicators):
        return []
    X = dense(model.X[model.sample_weight > 0])[:, [design.names.index(name) for name in names]]
    if any((column[:, None] == X).all(axis=0).sum() < 2 for column in X.T):
        return []
    return [design.number_names[indicators[name]] for name in names]


def _collinear_covariances(model: GenerativeModel) -> list[str]:
    """Return the columns without a covariance of their own in the complete rows of a class, or of all."""
    names: list[str] = []
    blocks = [block for block in model.blocks if isinstance(block.family, MultivariateGaussian)]
    if not blocks:
        raise NotApplicable("this model has neither weights nor covariances of its columns")
    for block in blocks:
        statistics: Any = block.statistics
        scatters = statistics.scatter[0]  # of complete rows
        for scatter in [scatters.sum(axis=0)] if "outcome" not in block.family.dims()["Sigma"] else scatters:
            wrong = collinear(scatter, np.diagonal(scatter) <= 0)
            names += [name for name, yes in zip(statistics.axes.features, wrong, strict=True) if yes]
    return list(dict.fromkeys(names))
