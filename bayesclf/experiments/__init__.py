"""Experiments: when does each rule, and each kind of model, win?

Each is a module with the names of `bayesclf.experiments.experiment.Experiment`, run by `bayesclf.experiments.run` or
``bayesclf experiment NAME``.
"""

from __future__ import annotations

from bayesclf.experiments.experiment import EXPERIMENTS, Experiment, Figure, Results, Section, find
from bayesclf.experiments.runner import Outcome, Workers, run

__all__ = ["EXPERIMENTS", "Experiment", "Figure", "Outcome", "Results", "Section", "Workers", "find", "run"]
