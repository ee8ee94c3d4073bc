"""Figures of comparisons and posteriors; each function returns a matplotlib figure.

matplotlib and ArviZ are loaded when a figure is drawn, not on import.
"""

from bayesclf.plots.optimiser import optimiser_trace
from bayesclf.plots.posterior import posterior_forest, posterior_trace
from bayesclf.plots.predictions import disagreement, reliability
from bayesclf.plots.scores import rule_scores
from bayesclf.plots.style import RULE_STYLE, RuleStyle

__all__ = [
    "RULE_STYLE",
    "RuleStyle",
    "disagreement",
    "optimiser_trace",
    "posterior_forest",
    "posterior_trace",
    "reliability",
    "rule_scores",
]
