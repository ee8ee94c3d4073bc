"""How good predictions are: scores, cross-validation, comparisons, leave-one-out and predictive checks."""
