"""
Rejecting doubtful rows
=======================

Accuracy of the rows that are decided, if the most doubtful are rejected, and what deciding them is worth.
"""

import bayesclf as bc

table = bc.datasets.load("ionosphere")
models = {"discriminant": bc.GaussianDiscriminantAnalysis("class")}
comparison = bc.compare(models, table.X, table.y, random_state=0)
bc.plots.threshold_curve(comparison, "discriminant", rules=["map", "bayes-optimal"])
