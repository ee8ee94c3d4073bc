"""What type checkers and editors know of the methods that `methods.py` lists: they are these functions.

Signatures are written out where a decorator hides them.
"""

from collections.abc import Sequence
from typing import Any

from bayesclf import diagnostics, report, stacking, storage
from bayesclf.display import Display
from bayesclf.evaluation import datatree, leave_one_out, predictive_checks
from bayesclf.interpretation import explanation, predictions, summary as summaries
from bayesclf.plots.style import Axes, Figure

METHODS: dict[str, dict[str, str]]

def with_methods[T: type](cls: T) -> T: ...

class ClassifierMethods:
    diagnose = diagnostics.diagnose
    effects = explanation.effects
    explain = explanation.explain
    loo = leave_one_out.loo
    predict_frame = predictions.predict_frame
    def plot_reliability(self, X: Any, y: Any, rule: str | None = None, ax: Axes | None = None) -> Figure: ...
    predict_stream = predictions.predict_stream
    predictive_check = predictive_checks.predictive_check
    prior_summary = summaries.prior_summary
    report = report.write_classifier
    save = storage.save
    summary = summaries.summary
    to_datatree = datatree.to_datatree

class ComparisonMethods:
    report = report.write_comparison
    stack = stacking.of_comparison
    def _display(self) -> Display: ...
    def plot_reliability(self, model: str, rules: Sequence[str] | None = None, ax: Axes | None = None) -> Figure: ...
    def plot_scores(self, metric: str = "log_loss", ax: Axes | None = None) -> Figure: ...
    def plot_thresholds(
        self,
        model: str,
        rules: Sequence[str] | None = None,
        outcome: Any = None,
        cost: Any = None,
        thresholds: Any = None,
    ) -> Figure: ...

class LearningCurveMethods:
    def plot(
        self,
        metric: str = "log_loss",
        *,
        ylabel: str | None = None,
        xlabel: str = "training rows",
        ax: Axes | None = None,
    ) -> Figure: ...
