"""What a comparison was asked for, checked."""

from __future__ import annotations

from dataclasses import dataclass

from bayesclf.classifiers import CLASSIFIERS
from bayesclf.cli import options
from bayesclf.errors import InputError
from bayesclf.inference import ENGINES
from bayesclf.rules import RULES


@dataclass(frozen=True)
class Settings:
    """Options of a comparison.

    Attributes
    ----------
    models, rules
        Names.
    inference
        Name of the engine by model.
    cv, repeats, seed, jobs
        Folds, repeats, seed and processes.
    """

    models: tuple[str, ...]
    rules: tuple[str, ...]
    inference: dict[str, str]
    cv: int
    repeats: int
    seed: int
    jobs: int


def settings(models: str, rules: str | None, inference: str, numbers: tuple[int, int, int, int]) -> Settings:
    """Check names and ranges.

    Parameters
    ----------
    models, rules, inference
        As the user wrote them; no rules for all of them.
    numbers
        cv, repeats, seed, jobs.

    Raises
    ------
    InputError
        If a name is not known or a number is out of range.
    """
    cv, repeats, seed, jobs = numbers
    chosen = options.names(models, CLASSIFIERS, "--models")
    asked = tuple(RULES) if rules is None else options.names(rules, RULES, "--rules")
    if jobs < 1 and jobs != -1:
        raise InputError(f"--jobs must be at least 1, or -1 for as many as there are processors, not {jobs}")
    return Settings(
        chosen,
        asked,
        options.engines(inference, chosen, ENGINES),
        options.in_range(cv, 2, None, "--cv"),
        options.in_range(repeats, 1, None, "--repeats"),
        options.in_range(seed, 0, options.SEEDS - 1, "--seed"),
        jobs,
    )
