"""Parameters of classifiers and engines as the command line sets them: ``--set MODEL.NAME=VALUE``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from bayesclf.errors import InputError
from bayesclf.wording import did_you_mean, listed

if TYPE_CHECKING:
    from bayesclf.classifiers import BayesClassifier
    from bayesclf.inference import Engine

AUTO = "auto"
"""The default engine."""

WORDS = ("learned",)
"""Words that may stand for a number."""

type Given = dict[str, dict[str, Any]]
"""Values by model or engine, and by name."""

OWN_OPTIONS = ("inference", "random_state", "rule", "prior")
"""Parameters of a classifier that have an option of their own, or no form as text."""


def named_models() -> dict[str, tuple[type[BayesClassifier], dict[str, Any]]]:
    """Return the class of each model by its name, and the parameters that the name says."""
    from bayesclf.classifiers import CLASSIFIERS, BayesNetClassifier
    from bayesclf.classifiers.bayes_net import ALL_FORESTS, ALL_TREES

    structures = {name: (BayesNetClassifier, {"structure": name}) for name in (ALL_TREES, ALL_FORESTS)}
    return {name: (cls, {}) for name, cls in CLASSIFIERS.items()} | structures


def given_settings(written: Sequence[str] | None, models: Sequence[str]) -> Given:
    """Return values by model or engine, and by name, from ``MODEL.NAME=VALUE`` and ``ENGINE.NAME=VALUE``.

    A value is a Python literal, such as 2.5, True, "text", [1, 2] or {"age": 0.5}; inf, and words without quotes, may
    stand as they are.

    Raises
    ------
    InputError
        For a model that is not among `models`, a name that there is not, or a value of the wrong kind.
    """
    from bayesclf.inference import ENGINES

    known = named_models()
    allowed: dict[str, dict[str, Any]] = {
        name: _defaults(ENGINES[name]) for name in ENGINES if _defaults(ENGINES[name])
    }
    for name in models:
        cls, said = known[name]
        allowed[name] = {setting: value for setting, value in _defaults(cls).items() if setting not in said}
    given: Given = {}
    for part in written or ():
        name, equals, text = part.partition("=")
        owner, dot, setting = name.strip().partition(".")
        if not equals or not dot:
            raise InputError(f"--set {part} does not say what is set; write MODEL.NAME=VALUE, such as lr.prior_scale=1")
        _known(owner, allowed, "--set", "models and engines")
        _known(setting, allowed[owner], f"--set {owner}", "names")
        value = _value(text.strip())
        _check_kind(f"--set {owner}.{setting}", value, allowed[owner][setting])
        given.setdefault(owner, {})[setting] = value
    return given


def classifier(
    name: str, engine: str, given: Mapping[str, Mapping[str, Any]], auto: Engine, **options: Any
) -> BayesClassifier:
    """Return a classifier with what was set of it and of its engine.

    Parameters
    ----------
    name, engine
        Of the classifier, and of its engine.
    given
        What `given_settings` returned.
    auto
        The settings that are changed where the engine is ``"auto"``.
    options
        Other arguments of the classifier.
    """
    from bayesclf.inference import ENGINES

    own = given.get(engine, {})
    inference: Any = engine
    if engine == AUTO:
        parts = {part: given[part] for part in (field.name for field in fields(auto)) if part in given}
        if parts:
            inference = replace(auto, **{part: _made(part, getattr(auto, part), parts[part]) for part in parts})
    elif own:
        inference = _made(engine, ENGINES[engine](), own)
    cls, said = named_models()[name]
    return cls(inference=inference, **said, **given.get(name, {}), **options)


def check_used(given: Given, engines: Mapping[str, str]) -> None:
    """Raise for settings of an engine that infers none of the models, given the engine of each."""
    from bayesclf.inference import ENGINES, Auto

    for owner in given:
        if owner not in ENGINES or owner in engines.values():
            continue
        if AUTO not in engines.values() or owner not in {field.name for field in fields(Auto)}:
            name = next(iter(given[owner]))
            raise InputError(
                f"--set {owner}.{name} sets nothing, as no model is inferred by it; say --inference {owner}"
            )


def _made(name: str, settings: Any, own: Mapping[str, Any]) -> Any:
    try:
        return replace(settings, **own)
    except TypeError as reason:
        raise InputError(f"--set {name} cannot be used ({reason})") from None


def _defaults(cls: type) -> dict[str, Any]:
    """Return the names that can be set and their defaults."""
    import inspect

    found = {name: option.default for name, option in inspect.signature(cls).parameters.items()}
    return {name: default for name, default in found.items() if name not in OWN_OPTIONS and name != "optimiser"}


def _known(name: str, known: Iterable[str], where: str, what: str) -> None:
    names = list(known)
    if name not in names:
        raise InputError(f"{where} has no {name!r}{did_you_mean(name, names)}; its {what} are {listed(names)}")


def _value(text: str) -> Any:
    """Return a Python literal, a number that has none, such as inf, or the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _check_kind(where: str, value: Any, default: Any) -> None:
    """Raise where a truth value, a number or a word is wanted, by the default, and cannot be what was given."""
    kind = type(value).__name__
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InputError(f"{where} must be True or False, not {value!r}")
    elif isinstance(default, int | float) and isinstance(value, str | bool | None) and value not in WORDS:
        raise InputError(f"{where} must be a number, as its default {default!r} is, not {value!r} ({kind})")
