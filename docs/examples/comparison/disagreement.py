"""
Disagreement of rules
=====================

How many rows two rules decide differently.
"""

import bayesclf as bc

table = bc.datasets.load("bupa")
comparison = bc.compare({"naive Bayes": bc.NaiveBayes()}, table.X, table.y, random_state=0)
bc.plots.disagreement(comparison, "naive Bayes")
