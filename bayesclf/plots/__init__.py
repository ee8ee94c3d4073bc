"""Figures of comparisons, rules, decisions and classes, which ArviZ does not draw; each returns a matplotlib figure.

ArviZ draws a posterior: ``arviz.plot_forest(clf.posterior_)``. matplotlib is loaded when a figure is drawn.
"""

from bayesclf.plots.answers import decision_boundary, explanation, rules_along
from bayesclf.plots.calibration import reliability, threshold_curve
from bayesclf.plots.conditionals import class_conditionals
from bayesclf.plots.scores import learning_curve, rule_scores
from bayesclf.plots.style import RULE_STYLE, RuleStyle

__all__ = [
    "RULE_STYLE",
    "RuleStyle",
    "class_conditionals",
    "decision_boundary",
    "explanation",
    "learning_curve",
    "reliability",
    "rule_scores",
    "rules_along",
    "threshold_curve",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
