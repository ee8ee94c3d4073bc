"""
Reliability
===========

Observed against predicted shares. The radar returns have 34 numbers that depend on each other, which naive Bayes takes
for independent.
"""

import bayesclf as bc

table = bc.datasets.load("ionosphere")
models = {"naive Bayes": bc.GaussianNB(), "discriminant": bc.GaussianDiscriminantAnalysis("class")}
comparison = bc.compare(models, table.X, table.y, random_state=0)
bc.plots.reliability(comparison, "naive Bayes", rules=["map", "bayes-optimal"])
