"""Experiments: when does each rule, and each kind of model, win?

Each is a module with the names of `bayesclf.experiments.experiment.Experiment`, run by `bayesclf.experiments.run` or
``bayesclf experiment NAME``.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from bayesclf.errors import InputError
from bayesclf.experiments.experiment import Experiment, Figure, Results, Section
from bayesclf.experiments.runner import Outcome, Workers, run

EXPERIMENTS: tuple[str, ...] = (
    "ng-jordan",
    "convergence",
    "gibbs-bound",
    "assumptions",
    "hypotheses",
    "sample-size",
    "parameter-count",
    "newsgroups",
    "small-data",
)
"""Names of the experiments; the module's has underscores."""

__all__ = ["EXPERIMENTS", "Experiment", "Figure", "Outcome", "Results", "Section", "Workers", "find", "run"]


def find(name: str) -> Experiment:
    """Return an experiment by its name."""
    if name not in EXPERIMENTS:
        raise InputError(f"unknown experiment {name!r}; they are {', '.join(EXPERIMENTS)}")
    return cast(Experiment, import_module(f"bayesclf.experiments.{name.replace('-', '_')}"))
