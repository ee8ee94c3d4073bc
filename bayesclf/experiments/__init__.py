"""Experiments: when does each rule, and each kind of model, win?

Each is a module with the names of `bayesclf.experiments.runner.Experiment`, run by `bayesclf.experiments.run` or
``bayesclf experiment NAME``.
"""

from __future__ import annotations

from bayesclf.experiments.runner import EXPERIMENTS, Experiment, Figure, Outcome, find, run, write_page

__all__ = ["EXPERIMENTS", "Experiment", "Figure", "Outcome", "find", "run", "write_page"]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
