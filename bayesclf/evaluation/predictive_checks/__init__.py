"""Predictive checks for classes: data sets that the model makes, next to the observed one.

For every hypothesis drawn, labels are drawn given the rows, y_i ~ P(y | x_i, θ); for generative models labels also from
the class prior, and cells given the observed labels, with the same cells missing. They are compared by the counts of
the classes, the mean, sd and maximum of each number within each class, and the share of each level.
"""

from bayesclf.evaluation.predictive_checks.replication import p_value_table, predictive_check

__all__ = ["p_value_table", "predictive_check"]
