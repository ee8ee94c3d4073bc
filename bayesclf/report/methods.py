"""A report in a paragraph: what a paper's section on methods and results has to say of a fit or of a comparison."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

import pandas as pd

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.diagnostics import Diagnosis
from bayesclf.evaluation.comparison import Comparison
from bayesclf.inference.engines import MLE
from bayesclf.report import names, table
from bayesclf.report.verdict import DEFINED, Verdict
from bayesclf.typing import Integers
from bayesclf.wording import counted, first_upper, joined, listed

MOST = 6
"""Classes, and priors, that are named."""

_DIGITS = r"−?\d+(?:,\d{3})*\.?\d*(?:e[+−]\d+)?"
NUMBER = re.compile(rf"(?<![\w.,])({_DIGITS})(?: to ({_DIGITS}))?(?![A-Za-z_\d])")
"""A number, or a range of numbers, in words about a prior; digits in a parameter's name are none."""

ENGINES = {
    "MLE": "Parameters were estimated by maximum likelihood.",
    "MAP": "Parameters were set to the mode of their posterior.",
    "Exact": "The posterior has a closed form; where a rule averages over parameters, it does so over {draws}.",
    "Augmentation": "The posterior was sampled by data augmentation, {chains} of {draws} in all.",
    "NUTS": "The posterior was sampled by NUTS, {chains} of {draws} in all.",
    "Laplace": (
        "The posterior was drawn from a normal distribution around its mode (Laplace) and corrected by importance "
        "weights, {draws} in all."
    ),
}
"""How a posterior was found, by the engine's class."""


def of_classifier(
    classifier: BayesClassifier,
    codes: Integers | None,
    priors: pd.DataFrame,
    answers: Mapping[str, Any] | None,
    diagnosis: Diagnosis,
) -> str:
    """Return what was fitted, to what, under which priors, how, and how good it is.

    Parameters
    ----------
    classifier
        Fitted.
    codes
        Label codes (row) of the training rows; None without them.
    priors
        As `prior_summary` returns them.
    answers
        How good answers to held-out rows are, with a headline and the setting; None where there are none.
    diagnosis
        The checks.
    """
    columns = counted(len(classifier.columns_), "column")
    size = columns if codes is None else f"{counted(len(codes), 'row')} and {columns}"
    if count := getattr(classifier.model_, "unlabeled", 0):
        size = f"{counted(count, 'row')} without a label and {size}"
    target = f" to predict {classifier.target_name_}" if classifier.target_name_ else ""
    classes = "" if codes is None else f" ({_shares(codes, classifier.classes_)})"
    sentences = [f"{first_upper(names.kind_name(classifier))} was fitted to {size}{target}{classes}."]
    if not isinstance(classifier.inference_, MLE):
        sentences.append(first_upper(_priors(priors)))
        if getattr(classifier, "prior", None) is not None:
            sentences.append("These are the posterior of an earlier fit.")
    sentences.append(_engine(classifier))
    if answers is not None:
        sentences += [answers["headline"], f"That is by {answers['setting']}; ± is one standard error."]
    made = len(diagnosis.issues) + len(diagnosis.tips) + len(diagnosis.passed)
    raised = joined(f"{finding.code} ({finding.title})" for finding in diagnosis.issues)
    sentences.append(
        f"Of {counted(made, 'check')}, {len(diagnosis.issues)} raised an issue: {raised}."
        if diagnosis.issues
        else f"None of {counted(made, 'check')} raised an issue."
    )
    return " ".join([*sentences, _computed(classifier.seed_)])


def of_comparison(comparison: Comparison, judged: Verdict, priors: Mapping[str, pd.DataFrame]) -> str:
    """Return what was compared, on what, how, and what came of it.

    Parameters
    ----------
    comparison
        The comparison.
    judged
        Its verdict.
    priors
        As `prior_summary` returns them, by model.
    """
    rows, columns = comparison.X.shape
    answered = [model for model in comparison.models if not all(_reasons(comparison, model))]
    without = [model for model in comparison.models if model not in answered]
    models = joined(names.full_name(comparison, model) for model in answered) or "no model"
    were = "was" if len(answered) == 1 else "were"
    size = (
        f"{counted(rows, 'row')} and {counted(columns, 'column')}{f' of {comparison.data}' if comparison.data else ''}"
    )
    target = f" for predicting {comparison.target}" if comparison.target else ""
    folds = f"{comparison.cv} splits" if comparison.splitter else f"{comparison.cv}-fold stratified cross-validation"
    times = f", repeated {comparison.repeats} times" if comparison.repeats > 1 else ""
    sentences = [
        f"{first_upper(models)} {were} {'compared' if len(answered) > 1 else 'tried'} on {size}{target} "
        f"({_shares(comparison.y, comparison.classes)}) by {folds}{times}.",
        *(
            f"{first_upper(names.full_name(comparison, model))} has no answer: {_why(comparison, model)}."
            for model in without
        ),
        *(
            f"{first_upper(names.full_name(comparison, model))}: {_priors(of)}"
            for model, of in priors.items()
            if model in answered and not isinstance(comparison.fits[model].inference_, MLE)
        ),
        judged.headline,
        *judged.findings,
        DEFINED,
    ]
    return " ".join([*sentences, _computed(comparison.seed)])


def _reasons(comparison: Comparison, model: str) -> list[str]:
    """Return why each rule of a model has no answer, empty for one that has; of a model left out, one reason."""
    return [answer.reason for (name, _), answer in comparison.answers.items() if name == model]


def _why(comparison: Comparison, model: str) -> str:
    """Return why a model has no answer at all."""
    left_out = {} if comparison.forecast is None else comparison.forecast.left_out
    return left_out.get(model) or next(iter(_reasons(comparison, model)), "it could not be fitted")


def _shares(codes: Integers, classes: Any) -> str:
    """Return the share of each class."""
    return listed([f"{label} {share}" for label, _, share in table.class_counts(codes, classes)], MOST, ", …")


def _priors(priors: pd.DataFrame) -> str:
    """Return the priors as a clause, one entry for each parameter and form; numbers that differ as their range."""
    forms: dict[tuple[str, str], list[list[str]]] = {}
    for parameter, prior in zip(priors["parameter"], priors["prior"], strict=True):
        numbers = [found[0] for found in NUMBER.finditer(prior)]
        forms.setdefault((parameter, NUMBER.sub("{}", prior)), []).append(numbers)
    said = [
        f"{form.format(*map(_range, zip(*numbers, strict=True)))} for {parameter}"
        for (parameter, form), numbers in forms.items()
    ]
    more = f"; … ({len(said)} in all)" if len(said) > MOST else ""
    learned = " (α learned from the rows)" if priors.attrs.get("learned") else ""
    return f"priors were {'; '.join(said[:MOST])}{more}{learned}."


def _range(texts: Iterable[str]) -> str:
    """Return numbers, or ranges of numbers, as one: itself where they are all the same.

    Examples
    --------
    >>> _range(["2,000", "2,000"]), _range(["1 to 3", "2 to 2,500"]), _range(["−1", "0.5"])
    ('2,000', '1 to 2,500', '−1 to 0.5')
    """
    found = list(dict.fromkeys(texts))
    if len(found) == 1:
        return found[0]
    ends = [end for text in found for end in text.split(" to ")]
    ends.sort(key=lambda end: float(end.replace(",", "").replace("−", "-")))
    return f"{ends[0]} to {ends[-1]}"


def _engine(classifier: BayesClassifier) -> str:
    """Return how the posterior was found."""
    draws = classifier.draws_
    sentence = ENGINES.get(type(classifier.inference_).__name__, f"The posterior was found by {classifier.inference_}.")
    if draws is None:
        return sentence
    number = draws.chains * int(getattr(classifier.inference_, "draws", 0))
    return sentence.format(draws=counted(number, "draw"), chains=counted(draws.chains, "chain"))


def _computed(seed: int) -> str:
    """Return by what, and from which seed."""
    return f"Computed with bayesclf {version('bayesclf')} and PyMC {version('pymc')}, seed {seed}."
