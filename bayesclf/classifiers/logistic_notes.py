"""What a fit of logistic regression says of its prior and its columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bayesclf.classifiers.predictor import CI_PROB
from bayesclf.models.logistic.learned_scale import LearnedScale, StudentTWeights
from bayesclf.models.logistic.prior import NormalPrior
from bayesclf.models.logistic.shaped_model import ShapedScaleModel
from bayesclf.tables.columns import UNSEEN, Column, Rows
from bayesclf.typing import Parameters
from bayesclf.wording import AND_MORE, listed

LISTED_COLUMNS = 5
CORRELATIONS: dict[float, str] = {0: "independent", 1: "as correlated as their columns"}
"""What weights are given their scale, by λ; of others "correlated by the power λ of their columns' covariance"."""
LEVELS = ((1 - CI_PROB) / 2, 0.5, (1 + CI_PROB) / 2)
"""Quantiles of a learned scale that are said."""
HALF = 0.5
"""Posterior mean of the shrinkage below which the horseshoe is said to keep a column."""
KHAT_LIMIT = 0.7
"""Pareto k̂ of a normal approximation above which it is said to be a bad one (Vehtari et al. 2024)."""


def about_scale(parameters: Parameters, settings: LearnedScale) -> str:
    """Say what the draws of a learned prior scale (draw) are, and what C = Σ^λ the weights' covariance s² C has."""
    low, middle, high = np.quantile(parameters["prior_scale"], LEVELS)
    kinds = [
        CORRELATIONS.get(power, f"correlated by the power {power:g} of their columns' covariance")
        for power in settings.powers
    ]
    if "prior_power" in parameters:
        shares = [np.mean(parameters["prior_power"] == power) for power in settings.powers]
        kinds = [f"{kind} (probability {share:.2f})" for kind, share in zip(kinds, shares, strict=True)]
    shape = f"; given it, weights are {' or '.join(kinds)}" if max(settings.powers) > 0 else ""
    return (
        f"the prior scale of the weights, learned from the rows, is {middle:.2g} ({100 * CI_PROB:.0f} % interval "
        f"{low:.2g} to {high:.2g}){shape}"
    )


def about_scales(model: Any, parameters: Parameters) -> str:
    """Say what the draws (draw) of the learned prior scale are, whatever the shape of the weights given it."""
    if not isinstance(model, ShapedScaleModel):
        return about_scale(parameters, model.prior.prior_scale)
    settings = model.scale_prior.settings
    if isinstance(settings.of_weights, StudentTWeights):
        shape = f"given it, weights are Student-t with {settings.of_weights.degrees:g} degrees of freedom"
        return f"{about_scale(parameters, settings)}; {shape}"
    low, middle, high = np.quantile(model.effective_columns(parameters), LEVELS)
    names, shrinkage = model.coords()["scaled_feature"], model.shrinkage(parameters).mean(axis=0)
    kept = [repr(names[j]) for j in np.argsort(shrinkage) if shrinkage[j] < HALF]
    which = f": {listed(kept, LISTED_COLUMNS, AND_MORE)}" if kept else ""
    return (
        f"the horseshoe shrinks the weights of {len(kept)} of {len(names)} columns by less than half{which}; the "
        f"effective number of nonzero ones is {middle:.2g} ({100 * CI_PROB:.0f} % interval {low:.2g} to "
        f"{high:.2g})"
    )


def about_prior(prior: NormalPrior) -> Iterator[str]:
    """Say that the prior is an approximation, and how good a one."""
    yield (
        f"the prior is the normal approximation of an earlier posterior (k̂ = {prior.khat:.2f}), so that this posterior "
        "is approximately that of all rows together"
    )
    if prior.khat > KHAT_LIMIT:
        yield (
            f"the earlier posterior is far from a normal (k̂ = {prior.khat:.2f}, limit {KHAT_LIMIT}); fit all rows at "
            "once, or start from more rows"
        )


def about_new_levels(known: tuple[Column, ...], rows: Rows) -> Iterator[str]:
    """Name the categories with levels that the prior does not know."""
    categories = [column.name for column in known if column.kind == "category"]
    new = [name for name, codes in zip(categories, rows.parts[1].T, strict=True) if (codes == UNSEEN).any()]
    if new:
        yield (
            f"column {', '.join(map(repr, new))} has levels that the prior does not know, about which these rows teach "
            "nothing; fit all rows at once to learn them"
        )


def about_collinear(names: tuple[str, ...]) -> Iterator[str]:
    """Say, where there are collinear columns, which they are and what follows."""
    if names:
        some = listed(map(repr, names), LISTED_COLUMNS, AND_MORE)
        yield (
            f"some columns are weighted sums of others: {some} are collinear, so that their maximum likelihood "
            "weights are not unique, while the probabilities are; MAP and the posterior, which have a prior, are "
            "unaffected"
        )
