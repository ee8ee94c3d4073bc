"""Methods that rooms above a class put on it: which function each of them calls, with the object as first argument.

The package imports this module first, so that a class has its methods whatever is imported after it; a function's
module is imported when its method is looked up. `attached.pyi` has the same list for type checkers and editors.
"""

from bayesclf import attached

METHODS = {
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

attached.METHODS.update(METHODS)
