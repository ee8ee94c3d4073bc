"""Figures of comparisons and posteriors; each function returns a matplotlib figure.

matplotlib and ArviZ are loaded when a figure is drawn, not on import.
"""

from bayesclf.plots.along import rules_along
from bayesclf.plots.boundary import decision_boundary
from bayesclf.plots.calibration import class_calibration, loo_calibration, reliability, threshold_curve
from bayesclf.plots.chains import energy, optimizer_trace, posterior_rank, posterior_trace
from bayesclf.plots.conditionals import class_conditionals
from bayesclf.plots.dependence import dependent_pairs, edge_probabilities
from bayesclf.plots.learning import learning_curve
from bayesclf.plots.leave_one_out import elpd_compare, pareto_k
from bayesclf.plots.posterior import posterior_forest
from bayesclf.plots.predictions import confusion, disagreement, explanation, predictive_counts, uncertainty
from bayesclf.plots.priors import prior_posterior
from bayesclf.plots.scores import rule_scores
from bayesclf.plots.style import RULE_STYLE, RuleStyle
from bayesclf.plots.weights import posterior_weights

__all__ = [
    "RULE_STYLE",
    "RuleStyle",
    "class_calibration",
    "class_conditionals",
    "confusion",
    "decision_boundary",
    "dependent_pairs",
    "disagreement",
    "edge_probabilities",
    "elpd_compare",
    "energy",
    "explanation",
    "learning_curve",
    "loo_calibration",
    "optimizer_trace",
    "pareto_k",
    "posterior_forest",
    "posterior_rank",
    "posterior_trace",
    "posterior_weights",
    "predictive_counts",
    "prior_posterior",
    "reliability",
    "rule_scores",
    "rules_along",
    "threshold_curve",
    "uncertainty",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
