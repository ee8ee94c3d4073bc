"""
Calibration by class
====================

How often each class comes true, against its probability.
"""

import bayesclf as bc

table = bc.datasets.load("ionosphere")
models = {"discriminant": bc.GaussianDiscriminantAnalysis("class")}
comparison = bc.compare(models, table.X, table.y, random_state=0)
bc.plots.class_calibration(comparison, "discriminant", "bayes-optimal", outcomes=["good", "bad"])
