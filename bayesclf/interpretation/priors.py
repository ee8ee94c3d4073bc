"""The model and its priors in words: what was assumed before any row was seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from bayesclf.classifiers.given import GIVEN, is_given
from bayesclf.families.class_prior import KnownClassPrior, LearntClassPrior
from bayesclf.families.prior_lines import Hyperparameter, PriorLine, by_outcome, dirichlet, listing, suffixed, written
from bayesclf.families.selected import Selected
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.models.logistic.learned_model import LearnedScaleModel
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.prior import WeightPrior
from bayesclf.models.logistic.shaped_model import ShapedScaleModel
from bayesclf.wording import IN_ALL, listed

if TYPE_CHECKING:
    from bayesclf.classifiers.base import BayesClassifier

READING = (
    "The second number of a normal is its variance, of a log-normal the sd of the logarithm, of an inverse gamma its "
    "scale, of a gamma its rate. Numbers that were given are fixed; defaults that depend on the location or scale of a "
    "column are taken from all rows of the table, whatever their labels, and are worth about one row."
)
"""How to read the lines, and where their numbers come from."""

GIVEN_DRAWS = f"{GIVEN}; these priors are those of the fit, which need not be those of the draws"
"""What is said of the priors of a classifier that answers from given draws."""

MOST_NAMES = 6
"""Columns of a block, and of a line, that are named."""


@dataclass(frozen=True)
class Priors:
    """What was assumed before any row was seen.

    Attributes
    ----------
    model
        The model in sentences.
    lines
        The prior of each parameter, of each outcome and feature where it differs between them.
    symbols
        Clauses that define the symbols of the lines that are not parameters.
    learned
        Whether the numbers of some prior were learned from the rows.
    """

    model: tuple[str, ...]
    lines: tuple[PriorLine, ...]
    symbols: tuple[str, ...] = ()
    learned: bool = False

    @property
    def table(self) -> pd.DataFrame:
        """The lines in words, as `prior_summary` returns them."""
        table = pd.DataFrame([line.words for line in self.lines], columns=["parameter", "outcome", "feature", "prior"])
        table.attrs |= {"model": list(self.model), "learned": self.learned}
        return table


def prior_summary(classifier: BayesClassifier) -> pd.DataFrame:
    """Return the prior of each parameter with its numbers, and the model in words.

    The numbers are those that the fit used, in the units of the columns: hyperparameters that were given; those of the
    defaults, which are worth about one row of the whole table; and concentrations that were learned from the rows, as
    ``attrs["model"]`` then says. Distributions are written as in the documentation of the families: the second number
    of a normal is its variance, that of a log-normal the sd of the logarithm, that of an inverse gamma its scale, that
    of a gamma its rate.

    Parameters
    ----------
    classifier : BayesClassifier
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
    return priors_of(classifier).table


def priors_of(classifier: BayesClassifier) -> Priors:
    """Return what `prior_summary` puts in words, each prior's form and numbers apart."""
    check_is_fitted(classifier, "classes_")
    model: Any = classifier.model_
    symbols: tuple[str, ...] = ()
    if isinstance(model, GenerativeModel):
        sentences, lines = _generative(model)
    else:
        sentences, lines, symbols = _logistic(model)
    learned = [note for note in classifier.notes_ if note.startswith("the concentration")]
    given = [GIVEN_DRAWS] if is_given(classifier) else []
    return Priors((*sentences, *learned, *given), tuple(lines), symbols, bool(learned))


def together(lines: Iterable[PriorLine]) -> list[PriorLine]:
    """Return lines in which features whose priors are the same in words share one.

    Examples
    --------
    >>> lines = [PriorLine("rate", "", feature, "Gamma({a}, 1)", {"a": 2.0}) for feature in "ab"]
    >>> [(line.feature, line.prior) for line in together(lines)]
    [('a, b', 'Gamma(2, 1)')]
    """
    groups: dict[tuple[str, str, str], list[PriorLine]] = {}
    for line in lines:
        groups.setdefault((line.parameter, line.outcome, line.prior), []).append(line)
    return [
        group[0]._replace(feature=listed((line.feature for line in group), MOST_NAMES, IN_ALL))
        for group in groups.values()
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
    """Return the prior of a block."""
    for line in block.family.priors():
        parameter, form = (_of_block(text, block) for text in (line.parameter, line.form))
        yield line._replace(parameter=parameter, form=form)


def _of_block(text: str, block: Block) -> str:
    """Return a text in which a family's parameters have the names that they have in the block."""
    return suffixed(text, block.family.dims(), block.suffix) if block.suffix else text


def _class_prior(prior: Any) -> list[PriorLine]:
    """Return the prior of the classes' probabilities, or these where they are known."""
    match prior:
        case LearntClassPrior(alpha=alpha):
            return [PriorLine("pi", "", "", *dirichlet(np.asarray(alpha)))]
        case KnownClassPrior(pi=pi):
            values, numbers = listing("pi", pi, MOST_NAMES)
            return [PriorLine("pi", "", "", f"fixed at {values}", numbers)]
    return []


def _logistic(model: LogisticModel) -> tuple[list[str], list[PriorLine], tuple[str, ...]]:
    """Return what logistic regression says of the labels, the priors of its weights, and what symbols in them are."""
    names = listed(model.design.names, MOST_NAMES, IN_ALL)
    prior: Any = model.weight_prior
    at = "0" if getattr(prior, "at_zero", False) else "the means of the numbers"
    sentences = [
        f"log-odds of each outcome = intercept + weights · ({names}), numbers measured per standard deviation; the "
        f"prior of the intercept is that at {at}"
    ]
    if not isinstance(prior, WeightPrior):
        return sentences, [PriorLine("intercept, weight", "", "", "Normal, the posterior of an earlier fit")], ()
    learned, lines, symbols = np.zeros(len(model.design) + 1, dtype=bool), list[PriorLine](), tuple[str, ...]()
    if isinstance(model, LearnedScaleModel):
        learned = model.scale_prior.learned
        lines, symbols = _learned_scale(model, bool(learned.any()))
        sentences += [f"weights that share prior_scale have covariance C·prior_scale²: {one}" for one in symbols]
    scales = ["C·prior_scale" if symbols else "prior_scale"] * len(learned)
    if isinstance(model, ShapedScaleModel):
        learned = model.scale_prior.learned
        lines, own_sd, symbols = model.scale_prior.words()
        scales = [own_sd] * len(learned)
        sentences += symbols
    for column, name in enumerate(("", *model.design.names)):
        parameter, mean = "weight" if column else "intercept", prior.mean[:, column]
        # A mean other than 0 is that of the log-odds against the reference alone.
        between = ("against the reference class, " if mean.any() else "between any two classes, ") * prior.symmetric
        said = [
            _of_weight(float(m), scales[column] if learned[column] else float(sd))
            for m, sd in zip(mean, prior.scale[:, column], strict=True)
        ]
        own = by_outcome(parameter, name, model.coords()["outcome"], said)
        lines += [line._replace(form=between + line.form) for line in own] if len(own) == 1 else own
    return sentences, lines, symbols


def _of_weight(mean: float, sd: float | str) -> tuple[str, Mapping[str, Hyperparameter]]:
    """Return the form and the numbers of a weight's prior; an sd that is a symbol is part of the form."""
    if isinstance(sd, str):
        return f"Normal({{mean}}, {sd}²)", {"mean": mean}
    return ("flat", {}) if np.isinf(sd) else ("Normal({mean}, {sd}²)", {"mean": mean, "sd": sd})


def _learned_scale(model: LearnedScaleModel, any_weight: bool) -> tuple[list[PriorLine], tuple[str, ...]]:
    """Return the priors of a learned scale and of its power, and what C is if some weight's prior has it."""
    settings: Any = getattr(model.prior, "prior_scale", None)  # a `LearnedScale`
    numbers = {"median": float(settings.median), "spread": float(settings.spread)}
    lines = [PriorLine("prior_scale", "", "", "LogNormal(log {median}, {spread})", numbers)]
    power = written(settings.powers[0])
    if len(settings.powers) > 1:
        values, powers = listing("power", settings.powers, last=" or ")
        power = "prior_power"
        lines.append(PriorLine("prior_power", "", "", f"{values}, each as likely as any other", powers))
    if not (any_weight and max(settings.powers) > 0):
        return lines, ()
    independent = "; where prior_power is 0, weights are independent"
    also = independent if len(settings.powers) > 1 and 0 in settings.powers else ""
    return lines, (f"C is the columns' covariance to the power {power}, of average variance 1{also}",)
