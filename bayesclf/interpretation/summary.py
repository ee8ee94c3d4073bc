"""What one prints first of a fitted classifier: its parameters or odds ratios, and its model and priors in words."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from bayesclf.arrays import Array
from bayesclf.classifiers.base import CI_PROB, BayesClassifier
from bayesclf.classifiers.generative import GenerativeClassifier
from bayesclf.classifiers.given import PRIOR_OF_FIT, is_given
from bayesclf.classifiers.logistic import LogisticRegression
from bayesclf.classifiers.naive_bayes import NaiveBayes
from bayesclf.constraints import INSIDE, Choice, require
from bayesclf.engines.convergence import of_unit_scale
from bayesclf.engines.inference import MARKOV_CHAINS
from bayesclf.errors import DoesNotExist, PredictionWarning, Refused, warn
from bayesclf.families.class_prior import KnownClassPrior, LearntClassPrior
from bayesclf.families.prior_lines import Hyperparameter, PriorLine, by_outcome, dirichlet, listing, suffixed, written
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.prior import WeightPrior, against_reference
from bayesclf.wording import IN_ALL, listed

if TYPE_CHECKING:
    import xarray as xr

    from bayesclf.classifiers.base import BayesClassifier

INTERCEPT = "(intercept)"

KINDS = ("odds", "odds_per_sd", "parameters")
"""What a summary can be of."""

PER_SD = {f"odds_ratio{limit}": f"odds_ratio_per_sd{limit}" for limit in ("", "_low", "_high")}
"""Headings of odds ratios, and what they are for one standard deviation more."""

SAMPLE_DIMS = ("chain", "draw")

READING = (
    "The second number is a variance (Normal), the sd of the logarithm (LogNormal), a scale (InvGamma) or a rate "
    "(Gamma). Numbers that were given are fixed. Defaults that depend on the location or scale "
    "of a column come from all rows, without their labels, and are worth about one row."
)
"""How to read the lines, and where their numbers come from."""

MOST_NAMES = 6
"""Columns of a block, and of a line, that are named."""


def summary(classifier: BayesClassifier, ci_prob: float = CI_PROB, of: str | None = None) -> pd.DataFrame:
    """Return the odds ratios of a linear classifier, or the parameters of any, with their credible intervals.

    ``"odds"``: one row per class and column. The coefficients are log-odds against a reference class,
    log P(k | x)/P(reference | x) = intercept_k + coefficient_k · (x − mean). An odds ratio is e^coefficient, what one
    unit more of the column multiplies these odds by. The levels of a category are measured from their mean: the
    probabilities determine differences between levels, but no level by itself. To compare the weights that a generative
    model implies with those of logistic regression, compare their tables of odds.

    ``"odds_per_sd"``: the same of logistic regression for one standard deviation more, so that columns compare:
    `odds_ratio_per_sd`, its limits, and `coefficient_per_sd`. With more than two classes, the odds are of each class
    against the geometric mean of all.

    ``"parameters"``: one row per number in `posterior_`.

    Parameters
    ----------
    classifier : BayesClassifier
        Fitted.
    ci_prob : float
        Posterior probability of the equal-tailed intervals, in (0, 1).
    of : {"odds", "odds_per_sd", "parameters"} or None
        ``"odds"``, the default of `LogisticRegression`; generative classifiers with linear log-odds have them too, by
        way of `to_logistic`. ``"parameters"``, the default of all others.

    Returns
    -------
    DataFrame
        Of ``"odds"``, indexed by (outcome, feature), "(intercept)" first: `odds_ratio`, the posterior median, with
        `odds_ratio_low` and `odds_ratio_high`; `p_positive`, P(coefficient > 0); the coefficient's posterior mean
        `coefficient` (not the log of that median), `sd`, `low` and `high`, per unit of the column, or per standard
        deviation in the training rows.

        Of ``"parameters"``, indexed by (parameter, outcome, feature), where "feature" names levels and cells too and is
        empty for a parameter without them: `mean`, `sd`, `low` and `high`.

        After NUTS or data augmentation there are also `ess_bulk`, `ess_tail` and `r_hat`. A point fit has only
        `odds_ratio` and `coefficient`, or the parameters' `estimate`. `attrs` describes the table: `classifier`,
        `engine`, `ci_prob` and `reference` (the class of odds 1). Sentences say what is missing:
        `no_intervals` after a point fit, `not_held` if draws are not in memory. `families` says what naive Bayes took
        each column for, if by evidence, as in "capital_gain: zero-inflated log-normal (probability 0.98)".

    Raises
    ------
    InputError
        For a `ci_prob` outside (0, 1) or an unknown `of`.
    Refused
        For odds of a classifier whose log-odds are not linear; the message says why.
    DoesNotExist
        For a point that the data do not define, or weights that are infinite or too many to keep in memory.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [2.0], [2.0], [4.0], [1.0]], ["low", "low", "high", "high", "high"]
    >>> bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, y).summary().reset_index().round(2)
      outcome      feature  odds_ratio  coefficient
    0     low  (intercept)        0.62        -0.47
    1     low           x0        0.49        -0.72
    """
    require(INSIDE, ci_prob=ci_prob)
    check_is_fitted(classifier, "classes_")
    if of is None:
        of = "odds" if isinstance(classifier, LogisticRegression) else "parameters"
    require(Choice(KINDS), of=of)
    table = {"odds": _odds, "odds_per_sd": _odds_per_sd, "parameters": _parameters}[of](classifier, ci_prob)
    engine = type(classifier.inference_).__name__
    about: dict[Hashable, Any] = {"classifier": type(classifier).__name__, "engine": engine}
    if classifier.draws_ is None:
        about["no_intervals"] = f"a fit by {engine} is a point estimate; fit with an engine that draws for intervals"
    else:
        about["ci_prob"] = ci_prob
    if isinstance(classifier, NaiveBayes) and classifier.choices_:
        about["families"] = [said for choices in classifier.choices_ for said in choices.sentences()]
    table.attrs = about | dict(table.attrs)
    return table


def _odds(classifier: BayesClassifier, ci_prob: float) -> pd.DataFrame:
    """Return one row per class and column, of one unit more."""
    if isinstance(classifier, LogisticRegression):
        design: Any = classifier.model_.design  # type: ignore[attr-defined]
        names, groups = design.names, categories(design)
        tree, reference = classifier.posterior_, _reference(classifier)
    elif isinstance(classifier, GenerativeClassifier):
        implied = classifier.to_logistic()
        names, groups = implied.columns, _levels(classifier)
        tree, reference = implied.posterior_, implied.reference
    else:
        raise Refused(f"{type(classifier).__name__} has no odds ratios; pass of='parameters'")
    intercept, weight = _centered(_coefficients(classifier, tree), names, groups)
    outcomes = [str(label) for label in classifier.classes_ if str(label) != reference]
    return _odds_table(classifier, np.concatenate([intercept[..., None], weight], axis=2), outcomes, names, ci_prob)


def _odds_per_sd(classifier: BayesClassifier, ci_prob: float) -> pd.DataFrame:
    """Return one row per class and column, of one standard deviation more, or of a whole level."""
    if not isinstance(classifier, LogisticRegression):
        raise Refused(f"odds per standard deviation are of logistic regression, not of {type(classifier).__name__}")
    design: Any = classifier.model_.design  # type: ignore[attr-defined]
    intercept, weight = _centered(_coefficients(classifier, classifier.posterior_), design.names, categories(design))
    every = np.concatenate([intercept[..., None], weight * design.scale], axis=2)
    outcomes = [str(label) for label in classifier.classes_]
    if len(outcomes) == 2:
        outcomes = outcomes[1:]
    else:
        every = np.pad(every, [(0, 0), (0, 1), (0, 0)])  # the reference is the last class
        every -= every.mean(axis=1, keepdims=True)
    table = _odds_table(classifier, every, outcomes, design.names, ci_prob)
    return table.rename(columns={"coefficient": "coefficient_per_sd", **PER_SD})


def _odds_table(
    classifier: BayesClassifier, every: Array, outcomes: list[str], names: Iterable[str], ci_prob: float
) -> pd.DataFrame:
    """Return a table of odds from intercepts and weights (draw, outcome, 1 + column)."""
    index = pd.MultiIndex.from_product([outcomes, [INTERCEPT, *names]], names=["outcome", "feature"])
    table = pd.DataFrame(_odds_columns(classifier, every.reshape(len(every), -1), ci_prob), index=index)
    (reference,) = {str(label) for label in classifier.classes_} - set(outcomes) or ["the mean of all classes"]
    table.attrs["reference"] = reference
    return table


def _coefficients(classifier: GenerativeClassifier | LogisticRegression, tree: xr.DataTree) -> tuple[Array, Array]:
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


def _levels(nb: GenerativeClassifier) -> Iterable[list[str]]:
    """Return the names of the levels of each category of a generative model."""
    for block in nb.model_.blocks:
        axes = block.statistics.axes
        for feature, values in zip(axes.features, axes.levels, strict=False):
            yield [f"{feature}={value}" for value in values]


def categories(design: Any) -> Iterable[list[str]]:
    """Return the names of the levels of each category of logistic regression."""
    for category in design.category_names:
        yield [name for name, feature in zip(design.names, design.features, strict=True) if feature == category]


def _centered(values: tuple[Array, Array], names: tuple[str, ...], groups: Iterable[list[str]]) -> tuple[Array, Array]:
    """Return intercept and weights, those of a category's levels measured from their mean."""
    intercept, weight = values[0].copy(), values[1].copy()
    place = {name: index for index, name in enumerate(names)}
    for group in groups:
        columns = [place[name] for name in group]
        mean = weight[..., columns].mean(axis=-1, keepdims=True)
        weight[..., columns] -= mean
        intercept += mean[..., 0]
    return intercept, weight


def _odds_columns(classifier: BayesClassifier, values: Array, ci_prob: float) -> dict[str, Array]:
    """Return the columns of a table of odds from coefficients (draw, line)."""
    mean = values.mean(axis=0)
    if classifier.draws_ is None:
        return {"odds_ratio": _odds_ratio(mean), "coefficient": mean}
    low, median, high = np.quantile(values, [(1 - ci_prob) / 2, 0.5, (1 + ci_prob) / 2], axis=0)
    return {
        "odds_ratio": _odds_ratio(median),
        "odds_ratio_low": _odds_ratio(low),
        "odds_ratio_high": _odds_ratio(high),
        "p_positive": (values > 0).mean(axis=0),
        "coefficient": mean,
        "sd": _sd(values),
        "low": low,
        "high": high,
        **_convergence(classifier, values),
    }


def _odds_ratio(coefficient: Array) -> Array:
    """Return e^coefficient, infinite where one unit of a column is very many of its sds."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(coefficient))


def _sd(values: Array) -> Array:
    """Return the standard deviation of draws (draw, line), whatever their scale."""
    unit = np.exp2(np.frexp(np.abs(values).max(axis=0, initial=0.0))[1])
    return np.asarray((values / unit).std(axis=0, ddof=1) * unit)


def _reference(classifier: LogisticRegression) -> str:
    """Return the class against which the log-odds are."""
    return str(classifier.classes_[0 if len(classifier.classes_) == 2 else -1])


def _parameters(classifier: BayesClassifier, ci_prob: float) -> pd.DataFrame:
    """Return one row per number of the posterior, or of the point."""
    group = _group(classifier)
    parts = [_lines(group, str(name)) for name in group.data_vars]
    if not parts:
        raise Refused(f"there is no parameter to summarize: {group.attrs['not_held']}")
    index = pd.MultiIndex.from_tuples(
        [line for lines, _ in parts for line in lines], names=["parameter", "outcome", "feature"]
    )
    values = np.concatenate([values for _, values in parts], axis=1)
    if classifier.draws_ is None:
        return pd.DataFrame({"estimate": values[0]}, index=index)
    low, high = np.quantile(values, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
    columns = {"mean": values.mean(axis=0), "sd": _sd(values), "low": low, "high": high}
    table = pd.DataFrame(columns | _convergence(classifier, values), index=index)
    if isinstance(classifier, GenerativeClassifier) and classifier.requested_rule(None) == "tempered":
        T = classifier.temper_["T"].to_numpy().reshape(-1, 1)
        low, high = np.quantile(T, [(1 - ci_prob) / 2, (1 + ci_prob) / 2], axis=0)
        index = pd.MultiIndex.from_tuples([("T", "", "")], names=table.index.names)
        own = pd.DataFrame({"mean": T.mean(axis=0), "sd": _sd(T), "low": low, "high": high}, index=index)
        table = pd.concat([own, table])
    if "not_held" in group.attrs:
        table.attrs["not_held"] = group.attrs["not_held"]
    return table


def _group(classifier: BayesClassifier) -> xr.Dataset:
    """Return the draws, or the point that a fit without draws answers by."""
    if classifier.draws_ is not None:
        return classifier.posterior_draws()
    group = classifier.posterior_[str(classifier.requested_rule(None))].to_dataset()
    if reason := group.attrs.get("does_not_exist"):
        raise DoesNotExist(reason)
    return group[[name for name in classifier.model_.dims() if name in group]]


def _lines(group: xr.Dataset, name: str) -> tuple[list[tuple[str, str, str]], Array]:
    """Return the index of a parameter's numbers, and these numbers (draw, line)."""
    variable = group[name].transpose(*SAMPLE_DIMS, ...)
    axes = [str(dim) for dim in variable.dims if dim not in SAMPLE_DIMS]
    lines = []
    for place in np.ndindex(*(variable.sizes[axis] for axis in axes)):
        at = {axis: str(variable[axis].values[i]) for axis, i in zip(axes, place, strict=True)}
        lines.append((name, at.pop("outcome", ""), ", ".join(at.values())))
    draws = int(np.prod([variable.sizes[dim] for dim in SAMPLE_DIMS]))
    return lines, variable.values.reshape(draws, len(lines))  # none, for the edges of trees of one feature


def _convergence(classifier: BayesClassifier, values: Array) -> dict[str, Array]:
    """Return effective sample sizes and R-hat of draws (draw, line), those of chains together."""
    if not isinstance(classifier.inference_, MARKOV_CHAINS) or classifier.draws_ is None:
        return {}
    from arviz_base import rcParams
    from arviz_stats.base import array_stats

    chains = of_unit_scale(np.moveaxis(values.reshape(classifier.draws_.chains, -1, values.shape[1]), 2, 0))
    with np.errstate(all="ignore"):  # a parameter that never moves divides by zero
        return {
            "ess_bulk": _array(array_stats.ess(chains, method="bulk")),
            "ess_tail": _array(array_stats.ess(chains, method="tail", prob=rcParams["stats.ci_prob"])),
            "r_hat": _array(array_stats.rhat(chains)),
        }


def _array(values: Iterable[float]) -> Array:
    return np.asarray(values, dtype=float)


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

    The numbers are those that the fit used, in the units of the columns: given hyperparameters; defaults, which are
    worth about one row of the whole table; and concentrations learned from the rows, as ``attrs["model"]`` then says.
    Distributions are written as in the documentation of the families. Their second number is a variance (normal), the
    sd of the logarithm (log-normal), a scale (inverse gamma) or a rate (gamma). After `with_posterior` they are still
    the priors of the fit, and a warning says so.

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

    Warns
    -----
    PredictionWarning
        For draws that were given, whose prior is not known.

    See Also
    --------
    bayesclf.NaiveBayes.summary : The parameters after the rows were seen.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [2.0], [3.0], [6.0]], ["low", "low", "high", "high"]
    >>> priors = bc.GaussianNB().fit(X, y).prior_summary()
    >>> print(priors.to_string(index=False))
    parameter outcome feature                           prior
           pi                 Dirichlet(1 in each of 2 cells)
           mu              x0             Normal(3, sigma2/1)
       sigma2              x0             InvGamma(1.5, 1.75)
    >>> priors.attrs["model"]
    ['outcome ~ Categorical(pi)', 'x0 | outcome ~ Normal(mu, sigma2)']
    """
    found = priors_of(classifier)
    if is_given(classifier):
        warn(PRIOR_OF_FIT, PredictionWarning)
    return found.table


def priors_of(classifier: BayesClassifier) -> Priors:
    """Return what `prior_summary` puts in words, each prior's form and numbers apart."""
    check_is_fitted(classifier, "classes_")
    model: Any = classifier.model_
    symbols: tuple[str, ...] = ()
    if model.generative:
        sentences, lines = _generative(model)
    else:
        sentences, lines, symbols = _logistic(model)
    learned = [note for note in classifier.notes_ if note.startswith(("the concentration", "the degrees of freedom"))]
    given = [PRIOR_OF_FIT] if is_given(classifier) else []
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
    prior = model.weight_prior
    at = "0" if model.prior.intercept_at == "zero" else "the means of the columns"
    sentences = [
        f"log-odds of each outcome = intercept + weights · (columns − their means), for the columns {names}",
        f"priors of weights are per standard deviation of a number, and the prior of the intercept is that at {at}",
    ]
    sds, means = prior.sd_of_epsilon(np.zeros(1), np.zeros(1))[0], prior.mean[0]
    lines, symbols = list[PriorLine](), tuple[str, ...]()
    if prior.settings is not None:
        sds = model.prior.scales(model.design, np.nan)[0]  # NaN where learned
        lines, symbols = _learned_scale(prior)
        sentences += [f"weights that share prior_scale have covariance C·prior_scale²: {one}" for one in symbols]
    learned = "C·prior_scale" if symbols else "prior_scale"
    between = "between any two classes, " * prior.symmetric
    scales = [model.prior.intercept_scale, *(learned if np.isnan(sd) else float(sd) for sd in sds)]
    for name, mean, sd in zip(("", *model.design.names), means, scales, strict=True):
        parameter, said = "weight" if name else "intercept", [_of_weight(float(mean), sd)] * len(prior.mean)
        own = by_outcome(parameter, name, model.coords()["outcome"], said)
        lines += [line._replace(form=between + line.form) for line in own] if len(own) == 1 else own
    return sentences, lines, symbols


def _of_weight(mean: float, sd: float | str) -> tuple[str, Mapping[str, Hyperparameter]]:
    """Return the form and the numbers of a weight's prior; an sd that is a symbol is part of the form."""
    if isinstance(sd, str):
        return f"Normal({{mean}}, {sd}²)", {"mean": mean}
    return ("flat", {}) if np.isinf(sd) else ("Normal({mean}, {sd}²)", {"mean": mean, "sd": sd})


def _learned_scale(prior: WeightPrior) -> tuple[list[PriorLine], tuple[str, ...]]:
    """Return the priors of a learned scale and correlation, and what C is if the weights' prior has it."""
    settings = prior.settings
    assert settings is not None
    numbers = {"median": float(settings.median), "spread": float(settings.spread)}
    lines = [PriorLine("prior_scale", "", "", "LogNormal(log {median}, {spread})", numbers)]
    if prior.correlation is None:
        lines.append(PriorLine("prior_correlation", "", "", "Uniform(0, 1)", {}))
    if prior.correlation == 0:
        return lines, ()
    rho = "prior_correlation" if prior.correlation is None else written(prior.correlation)
    of_columns = "the columns' covariance, scaled to an average variance of 1"
    return lines, (f"C = (1 − {rho})·I + {rho}·{of_columns}",)
