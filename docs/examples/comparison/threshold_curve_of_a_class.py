"""
Acting on the risk of a class
=============================

The share of a class among the rows acted on, and net benefit.
"""

import bayesclf as bc

table = bc.datasets.load("ionosphere")
models = {"discriminant": bc.GaussianDiscriminantAnalysis("class")}
comparison = bc.compare(models, table.X, table.y, random_state=0)
bc.plots.threshold_curve(comparison, "discriminant", rules=["bayes-optimal"], outcome="bad")
