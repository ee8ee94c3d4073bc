"""The model and its priors in words: what was assumed before any row was seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from bayesclf.families.class_prior import KnownClassPrior, LearntClassPrior
from bayesclf.families.prior_lines import PriorLine, dirichlet, suffixed, written
from bayesclf.families.selected import Selected
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.models.logistic.learned_model import LearnedScaleModel
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.prior import WeightPrior
from bayesclf.wording import joined, listed

if TYPE_CHECKING:
    from bayesclf.classifiers.base import BayesClassifier

MOST_NAMES = 6
"""Columns of a block, and of a line, that are named."""


def prior_summary(classifier: BayesClassifier) -> pd.DataFrame:
    """Return the prior of each parameter with its numbers, and the model in words.

    The numbers are those that the fit used, in the units of the columns: hyperparameters that were given; those of the
    defaults, which are worth about one row of the whole table; and concentrations that were learned from the rows, as
    ``attrs["model"]`` then says. Distributions are written as in the documentation of the families: the second number
    of a normal is its variance, that of a log-normal the sd of the logarithm, that of an inverse gamma its scale, that
    of a gamma its rate.

    Parameters
    ----------
    classifier
        Fitted.

    Returns
    -------
    DataFrame
        One row per parameter, and outcome and feature where the prior differs between them: `parameter`, `outcome`,
        `feature` and `prior`. `attrs["model"]` holds the model in sentences, `attrs["learned"]` whether the numbers of
        some prior were learned from the rows.

    See Also
    --------
    bayesclf.NaiveBayes.summary : The parameters after the rows were seen.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [2.0], [3.0], [6.0]], ["low", "low", "high", "high"]
    >>> priors = bc.NaiveBayes().fit(X, y).prior_summary()
    >>> print(priors.to_string(index=False))
    parameter outcome feature                           prior
           pi                 Dirichlet(1 in each of 2 cells)
           mu              x0             Normal(3, sigma2/1)
       sigma2              x0             InvGamma(1.5, 1.75)
    >>> priors.attrs["model"]
    ['outcome ~ Categorical(pi)', 'x0 | outcome ~ Normal(mu, sigma2)']
    """
    check_is_fitted(classifier, "classes_")
    model: Any = classifier.model_
    if isinstance(model, GenerativeModel):
        sentences, lines = _generative(model)
    else:
        sentences, lines = _logistic(model)
    table = pd.DataFrame(lines, columns=list(PriorLine._fields))
    learned = [note for note in classifier.notes_ if note.startswith("the concentration")]
    table.attrs |= {"model": [*sentences, *learned], "learned": bool(learned)}
    return table


def together(lines: Iterable[Sequence[str]]) -> list[PriorLine]:
    """Return lines in which features of the same prior share one.

    Examples
    --------
    >>> together([("rate", "", "a", "Gamma(2, 1)"), ("rate", "", "b", "Gamma(2, 1)")])
    [PriorLine(parameter='rate', outcome='', feature='a, b', prior='Gamma(2, 1)')]
    """
    groups: dict[tuple[str, str, str], list[str]] = {}
    for parameter, outcome, feature, prior in lines:
        groups.setdefault((parameter, outcome, prior), []).append(feature)
    return [
        PriorLine(parameter, outcome, listed(features, MOST_NAMES, ", … ({total} in all)"), prior)
        for (parameter, outcome, prior), features in groups.items()
    ]


def _generative(model: GenerativeModel) -> tuple[list[str], list[PriorLine]]:
    """Return what a generative model says of the labels and of each block."""
    sentences, lines = ["outcome ~ Categorical(pi)"], [*_class_prior(model.class_prior)]
    for block in model.blocks:
        family = block.family
        names = listed(family.axes.features, MOST_NAMES, ", … ({total} in all)")
        sentences.append(f"{names} | outcome ~ {_of_block(family.likelihood, block)}")
        if isinstance(family, Selected):
            sentences.append("where included is 0, a column has the same distribution in all classes")
        lines += _priors(block)
    return sentences, lines


def _priors(block: Block) -> Iterator[PriorLine]:
    """Return the prior of a block; columns of extreme size are named with the unit that its numbers are in."""
    axes = block.family.axes
    unit = dict(zip(axes.features, axes.unit, strict=True))
    for line in block.family.priors():
        size = unit.get(line.feature, 1.0)
        feature = line.feature if size == 1 else f"{line.feature} (in units of {written(size)})"
        yield PriorLine(_of_block(line.parameter, block), line.outcome, feature, _of_block(line.prior, block))


def _of_block(text: str, block: Block) -> str:
    """Return a text in which a family's parameters have the names that they have in the block."""
    return suffixed(text, block.family.dims(), block.suffix) if block.suffix else text


def _class_prior(prior: Any) -> list[PriorLine]:
    """Return the prior of the classes' probabilities, or these where they are known."""
    match prior:
        case LearntClassPrior(alpha=alpha):
            return [PriorLine("pi", "", "", dirichlet(np.asarray(alpha)))]
        case KnownClassPrior(pi=pi):
            return [PriorLine("pi", "", "", f"fixed at {listed(map(written, pi), MOST_NAMES)}")]
    return []


def _logistic(model: LogisticModel) -> tuple[list[str], list[PriorLine]]:
    """Return what logistic regression says of the labels, and the priors of its weights."""
    names = listed(model.design.names, MOST_NAMES, ", … ({total} in all)")
    prior: Any = model.weight_prior
    at = "0" if getattr(prior, "at_zero", False) else "the means of the numbers"
    sentences = [
        f"log-odds of each outcome = intercept + weights · ({names}), numbers measured per standard deviation; the "
        f"prior of the intercept is that at {at}"
    ]
    if not isinstance(prior, WeightPrior):
        return sentences, [PriorLine("intercept, weight", "", "", "Normal, the posterior of an earlier fit")]
    lines: list[PriorLine] = []
    learned, variance = np.zeros(len(model.design) + 1, dtype=bool), ""
    if isinstance(model, LearnedScaleModel):
        settings: Any = getattr(model.prior, "prior_scale", None)  # a `LearnedScale`, in a model that learns one
        learned = model.scale_prior.learned
        form = f"LogNormal(log {written(settings.median)}, {written(settings.spread)})"
        lines.append(PriorLine("prior_scale", "", "", form))
        if len(settings.powers) > 1:
            powers = joined(map(written, settings.powers)).replace(" and ", " or ")
            lines.append(PriorLine("prior_power", "", "", f"{powers}, each as likely as any other"))
        if learned.any() and max(settings.powers) > 0:
            of = "prior_power" if len(settings.powers) > 1 else written(settings.powers[0])
            sentences.append(
                "weights that share prior_scale are as correlated as their columns: C is the columns' covariance to "
                f"the power {of}, of average variance 1"
            )
            variance = "C·"
    for column, name in enumerate(("", *model.design.names)):
        parameter = "weight" if column else "intercept"
        sds = [f"{variance}prior_scale" if learned[column] else written(sd) for sd in prior.scale[:, column]]
        means, flat = prior.mean[:, column], np.isinf(prior.scale[:, column])
        said = [
            "flat" if free else f"Normal({written(mean)}, {sd}²)"
            for mean, sd, free in zip(means, sds, flat, strict=True)
        ]
        if len(set(said)) == 1:
            # A mean other than 0 is that of the log-odds against the reference alone.
            between = "against the reference class, " if means.any() else "between any two classes, "
            lines.append(PriorLine(parameter, "", name, between * prior.symmetric + said[0]))
        else:
            lines += [PriorLine(parameter, label, name, one) for label, one in zip(_others(model), said, strict=True)]
    return sentences, lines


def _others(model: LogisticModel) -> list[str]:
    """Return the classes that have weights, all but the reference."""
    return [str(label) for label in model.coords()["outcome"]]
