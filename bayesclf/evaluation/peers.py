"""What a comparison compares: classifiers of bayesclf under each rule, and any of scikit-learn as they are."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from bayesclf.arrays import Array
from bayesclf.classifiers import CLASSIFIERS, BayesClassifier
from bayesclf.classifiers.joint import BayesNetClassifier
from bayesclf.classifiers.text import NAME
from bayesclf.engines import MLE
from bayesclf.errors import InputError, Refused
from bayesclf.families.networks.network import LEARNT
from bayesclf.rules import RULES, Gibbs, resolve
from bayesclf.tables.columns import kind_of

NO_RULE = "—"
"""What stands for the rule of a classifier that has none."""

BOOSTING = "boosting"
"""The name of gradient boosting among the models of a comparison; it is never the one to use."""

MOST_LEVELS = 254
"""Levels of a column that boosting tells apart, the most frequent ones."""

GIVEN_EDGES = "network"
"""What a network is called whose edges were given, as ``"tan"`` is one that learns its tree."""

SHORT_NAMES = {cls: name for name, cls in CLASSIFIERS.items()}


def named(models: Any) -> dict[str, Any]:
    """Return the classifiers of a comparison by name.

    Parameters
    ----------
    models
        A mapping from names to classifiers; or classifiers, or one of them. These are named as on the command line or
        after their class, a pipeline after its last step, and numbered if several share a name. A network is named
        after its structure, or ``"network"`` if edges were given.

    Raises
    ------
    InputError
        For something that is not an unfitted classifier with `predict_proba`.
    """
    if isinstance(models, Mapping):
        chosen = {str(name): model for name, model in models.items()}
    else:
        several = isinstance(models, Sequence) and not isinstance(models, str)
        chosen = dict(_numbered(models if several else [models]))
    if not chosen:
        raise InputError("models must name at least one classifier, such as {'nb': NaiveBayes()}")
    for name, model in chosen.items():
        _check(name, model)
    return chosen


def _numbered(models: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    kinds = [last if isinstance(last, type) else type(last) for last in map(last_step, models)]
    names = [_short_name(kind, last_step(model)) for kind, model in zip(kinds, models, strict=True)]
    for place, (name, model) in enumerate(zip(names, models, strict=True)):
        number = names[: place + 1].count(name)
        yield name if number == 1 else f"{name} {number}", model


def _short_name(kind: type, model: Any) -> str:
    """Return the name of the command line, or of the class; a network is called by its structure."""
    if kind is BayesNetClassifier and (structure := getattr(model, "structure", LEARNT)) != LEARNT:
        return structure if isinstance(structure, str) else GIVEN_EDGES
    return SHORT_NAMES.get(kind, kind.__name__)


def last_step(model: Any) -> Any:
    """Return the classifier itself, of a pipeline its last step."""
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _check(name: str, model: Any) -> None:
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "get_params")):
        raise InputError(
            f"models must be classifiers, of bayesclf or scikit-learn, by name or in a list, such as {{'nb': "
            f"NaiveBayes()}}; {name!r} is {model!r}"
        )
    if not hasattr(model, "predict_proba"):
        raise InputError(
            f"{name!r} ({type(model).__name__}) has no predict_proba, and a comparison is one of probabilities; wrap "
            "it in sklearn.calibration.CalibratedClassifierCV, or leave it out"
        )


def boosting(X: pd.DataFrame) -> Pipeline:
    """Return gradient boosting for a table of numbers and categories: what a black box would gain."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.preprocessing import OrdinalEncoder

    words = [name for name in X.columns if kind_of(X[name]) != "number"]
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan}
    codes = make_column_transformer(
        (OrdinalEncoder(**unknown, max_categories=MOST_LEVELS), words),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    # Codes of categories come first.
    return make_pipeline(codes, HistGradientBoostingClassifier(categorical_features=[*range(len(words))]))


def rules_of(model: Any, rules: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the rules under which a classifier answers; `NO_RULE` alone for one that has none.

    Where none are given, they are map, bayes-optimal, and its own; raises `InputError` if that is a single hypothesis
    or has other settings than ``"gibbs"``.
    """
    if not isinstance(model, BayesClassifier):
        return (NO_RULE,)
    if rules is not None:
        return rules
    own = {"tempered"} if getattr(model, "_practical", False) else set()
    if model.inference == "mle" or isinstance(model.inference, MLE):
        own = {"mle"}
    if isinstance(model.rule, Gibbs) and model.rule != Gibbs():
        raise InputError(
            f"a comparison scores the expectation over all draws of 'gibbs', not rule={model.rule!r}; give rule='gibbs'"
        )
    if model.rule is not None:
        own = {resolve(model.rule)[0].name}
    return tuple(rule for rule in RULES if rule in {"map", "bayes-optimal", *own})


def line_name(model: str, rule: str) -> str:
    """Return what a sentence calls a line of a comparison.

    Examples
    --------
    >>> line_name("nb", "map"), line_name("RandomForestClassifier", NO_RULE)
    ('nb under map', 'RandomForestClassifier')
    """
    return model if rule == NO_RULE else f"{model} under {rule}"


def fit(model: Any, X: pd.DataFrame, y: NDArray[Any], seed: int) -> tuple[Any, list[str]]:
    """Fit a clone of a classifier of scikit-learn; what it warned of becomes notes.

    Every `random_state` that is None, also those of a pipeline's steps, becomes the seed.

    Raises
    ------
    Refused
        If it cannot be fitted to these rows; the message has its own reason.
    """
    fitted = clone(model)
    unset = {name: value for name, value in fitted.get_params().items() if value is None}
    fitted.set_params(**{name: seed for name in unset if name.rpartition("__")[2] == "random_state"})
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            fitted.fit(rows(X), y)
        except (ValueError, TypeError) as reason:
            raise Refused(f"{type(last_step(model)).__name__} cannot be fitted: {_first_line(reason)}") from reason
    return fitted, list(dict.fromkeys(f"fitting warned: {_first_line(one.message)}" for one in warned))


def log_proba(fitted: Any, X: pd.DataFrame, classes: NDArray[Any]) -> Array:
    """Return log P(k | x), (row, outcome); a class that the training rows lacked has probability 0."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.asarray(fitted.predict_proba(rows(X)), dtype=float)
    except (ValueError, TypeError, AttributeError) as reason:
        raise Refused(f"{type(last_step(fitted)).__name__} cannot predict: {_first_line(reason)}") from reason
    if found.shape != (len(X), len(fitted.classes_)) or not np.isfinite(found).all() or (found < 0).any():
        raise Refused(f"{type(last_step(fitted)).__name__} did not return probabilities")
    proba = np.zeros((len(X), len(classes)))
    proba[:, np.searchsorted(classes, fitted.classes_)] = found
    with np.errstate(divide="ignore"):
        return np.log(proba)


def rows(X: pd.DataFrame) -> Any:
    """Return a table as scikit-learn takes it: the one column of a table of texts as a Series."""
    return X[NAME] if list(X.columns) == [NAME] else X


def _first_line(reason: object) -> str:
    return str(reason).strip().partition("\n")[0].rstrip(".")
