"""Predictive checks for classes: data sets that the model makes, beside the one that was seen.

For every hypothesis drawn, labels are drawn given the rows, y_i ~ P(y | x_i, θ); for generative models labels also from
the class prior, and cells given the labels that were seen, with the same cells missing. What they are compared by are
counts of the classes, mean, sd and maximum of each number within each class, and the share of each level.
"""

from bayesclf.predictive_checks.p_values import p_value_table
from bayesclf.predictive_checks.replication import predictive_check

__all__ = ["p_value_table", "predictive_check"]
