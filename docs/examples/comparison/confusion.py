"""
Confusion of classes
====================

Which class is taken for which.
"""

import bayesclf as bc

table = bc.datasets.load("bupa")
comparison = bc.compare({"naive Bayes": bc.NaiveBayes()}, table.X, table.y, random_state=0)
bc.plots.confusion(comparison, "naive Bayes", rules=["map", "bayes-optimal"])
