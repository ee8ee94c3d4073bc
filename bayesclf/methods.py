"""Methods of a class whose work is done by rooms above it, such as diagnoses, reports and figures of a classifier.

A class gets its own when it is made, so that it imports nothing from above: a function's module is imported when its
method is looked up. Type checkers and editors read `methods.pyi`, where the classes below have the methods.
"""

from __future__ import annotations

import inspect
import re
from functools import wraps
from importlib import import_module
from typing import Any

METHODS: dict[str, dict[str, str]] = {
    "bayesclf.classifiers.base:BayesClassifier": {
        "diagnose": "bayesclf.diagnostics:diagnose",
        "effects": "bayesclf.interpretation.explanation:effects",
        "explain": "bayesclf.interpretation.explanation:explain",
        "loo": "bayesclf.evaluation.leave_one_out:loo",
        "plot_reliability": "bayesclf.plots.calibration:reliability_of",
        "predict_frame": "bayesclf.interpretation.predictions:predict_frame",
        "predict_stream": "bayesclf.interpretation.predictions:predict_stream",
        "predictive_check": "bayesclf.evaluation.predictive_checks:predictive_check",
        "prior_summary": "bayesclf.interpretation.summary:prior_summary",
        "report": "bayesclf.report:write_classifier",
        "save": "bayesclf.storage:save",
        "summary": "bayesclf.interpretation.summary:summary",
        "to_datatree": "bayesclf.evaluation.datatree:to_datatree",
    },
    "bayesclf.evaluation.comparison:Comparison": {
        "_display": "bayesclf.report.verdict:overview",
        "plot_reliability": "bayesclf.plots:reliability",
        "plot_scores": "bayesclf.plots:rule_scores",
        "plot_thresholds": "bayesclf.plots:threshold_curve",
        "report": "bayesclf.report:write_comparison",
        "stack": "bayesclf.stacking:of_comparison",
    },
    "bayesclf.evaluation.learning:LearningCurve": {"plot": "bayesclf.plots:learning_curve"},
}
"""By "module:class", the name of each method and the "module:function" that it calls."""

# Bases for type checkers only: at run time the methods are put on the class itself.
ClassifierMethods = ComparisonMethods = LearningCurveMethods = object


def with_methods[T: type](cls: T) -> T:
    """Put on a class the methods that are listed for it."""
    for name, target in METHODS.get(f"{cls.__module__}:{cls.__qualname__}", {}).items():
        setattr(cls, name, _Attached(cls, name, target))
    return cls


class _Attached:
    """A method whose module is imported on first access, which makes it an ordinary method of the class."""

    def __init__(self, owner: type, name: str, target: str) -> None:
        self.owner, self.name, self.target = owner, name, target

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        method = self._made()
        setattr(self.owner, self.name, method)
        return method.__get__(instance, owner)

    def _made(self) -> Any:
        """Return a function that looks like a method: with its name, and ``self`` in place of the first parameter."""
        module, _, attribute = self.target.partition(":")
        function = getattr(import_module(module), attribute)

        @wraps(function)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            """Call the function with the object."""
            return function(self, *args, **kwargs)

        found = inspect.signature(function)
        first, *others = found.parameters.values()
        method.__signature__ = found.replace(parameters=[first.replace(name="self"), *others])  # type: ignore[attr-defined]
        method.__doc__ = _without(function.__doc__, first.name)
        method.__name__, method.__qualname__ = self.name, f"{self.owner.__qualname__}.{self.name}"
        method.__module__ = self.owner.__module__
        return method


def _without(docstring: str | None, parameter: str) -> str:
    """Return a docstring of numpydoc without the entry of a parameter, and without a section that this empties."""
    text = re.sub(rf"^{parameter}\b.*\n(?:(?: .*)?\n(?= ))* .*\n", "", inspect.cleandoc(docstring or ""), flags=re.M)
    return re.sub(r"^Parameters\n-+\n\s*\n", "", text, flags=re.M)
