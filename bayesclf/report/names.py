"""Models and rules as a report calls them, for readers who have never seen their short names."""

from __future__ import annotations

from typing import Any

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.given import is_given
from bayesclf.classifiers.joint import ALL_FORESTS, ALL_TREES
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.peers import BOOSTING, NO_RULE, last_step
from bayesclf.wording import counted

MODELS = {
    "BayesNetClassifier": "belief network",
    "BernoulliNB": "Bernoulli naive Bayes",
    "CategoricalNB": "categorical naive Bayes",
    "GaussianDiscriminantAnalysis": "Gaussian discriminant analysis",
    "GaussianNB": "Gaussian naive Bayes",
    "HistGradientBoostingClassifier": "gradient boosting",
    "JointBayes": "unrestricted Bayes classifier",
    "LogisticRegression": "logistic regression",
    "MultinomialNB": "multinomial naive Bayes",
    "NaiveBayes": "naive Bayes",
    "TextNB": "naive Bayes for texts",
}
"""Classifiers by the name of their class; others are called by it."""

ASSUMED = {
    "BayesNetClassifier": "each column depends on the class and on other columns along a network",
    "GaussianDiscriminantAnalysis": "the columns of a class are jointly normal",
    "JointBayes": "each class has a probability of every combination of cells",
    "LogisticRegression": "log-odds are linear in the columns",
    **dict.fromkeys(("MultinomialNB", "TextNB"), "the words of a text are drawn independently given the class"),
    **dict.fromkeys(
        ("BernoulliNB", "CategoricalNB", "GaussianNB", "NaiveBayes"), "columns are independent given the class"
    ),
}
"""What models assume of the rows, by the name of their class."""

HOW = {
    "mle": "at its maximum likelihood estimate",
    "map": "with its most probable parameters",
    "mean": "with the posterior means of its parameters",
    "bayes-optimal": "averaged over its posterior",
    "predictive": "averaged over its posterior, given the new row",
    "tempered": "with its confidence adjusted to left-out rows",
    "gibbs": "with parameters drawn from its posterior",
}
"""How a model answers under each rule."""

ENGINES = {
    "MLE": "maximum likelihood estimate, without a posterior",
    "MAP": "mode of the posterior (MAP) alone",
    "Exact": "exact posterior, in closed form or by quadrature ({draws} where a rule averages over parameters)",
    "Augmentation": "posterior by data augmentation ({chains}, {draws} in all)",
    "NUTS": "posterior by NUTS ({chains}, {draws} in all)",
    "Slice": "posterior by elliptical slice sampling ({chains}, {draws} in all)",
    "Laplace": "posterior by importance resampling from a normal distribution near it ({draws})",
}
"""How a posterior was found, by the engine's class."""

STRUCTURES = {ALL_TREES: "belief network of any tree", ALL_FORESTS: "belief network of any forest"}
"""What networks are whose structure is uncertain."""


def kind_name(classifier: Any) -> str:
    """Return what a classifier is; that of scikit-learn, and any other without a name of its own, by its class.

    A pipeline is called by its last step.
    """
    classifier = last_step(classifier)
    kind = type(classifier).__name__
    return STRUCTURES.get(str(getattr(classifier, "structure", "")), MODELS.get(kind, kind))


def engine_name(classifier: BayesClassifier) -> str:
    """Return how a fitted classifier's posterior was found, in words."""
    if is_given(classifier):
        words = "posterior from given draws ({chains}, {draws} in all), perhaps under other priors"
    else:
        words = ENGINES.get(type(classifier.inference_).__name__, str(classifier.inference_))
    return words.format(**draw_counts(classifier))


def draw_counts(classifier: BayesClassifier) -> dict[str, str]:
    """Return the numbers of chains and of all draws in words; empty for a point estimate."""
    draws = classifier.draws_
    if draws is None:
        return {}
    number = draws.chains * int(getattr(classifier.inference_, "draws", 0))
    return {"chains": counted(draws.chains, "chain"), "draws": counted(number, "draw")}


def full_name(comparison: Comparison, model: str) -> str:
    """Return what a model is, and in brackets its name in the comparison."""
    fitted: Any = comparison.fits.get(model, comparison.peers.get(model))
    words = model if fitted is None else kind_name(fitted)
    return words if model == BOOSTING or words.casefold() == model.casefold() else f"{words} ({model})"


def entry_name(comparison: Comparison, model: str, rule: str) -> str:
    """Return a model and how it answers, with the names of both in the comparison."""
    name = full_name(comparison, model)
    return name if rule == NO_RULE else f"{name}, {HOW[rule]} ({rule})"


def entry_subject(comparison: Comparison, model: str, rule: str) -> str:
    """Return the same as the subject of a sentence: with the comma that ends how the model answers, if it says so."""
    name = entry_name(comparison, model, rule)
    return name if rule == NO_RULE else f"{name},"
