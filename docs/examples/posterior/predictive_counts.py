"""
Replicated classes
==================

Numbers of rows that the model makes, and that there were.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
clf = bc.GaussianNB(random_state=0).fit(table.X, table.y)
bc.plots.predictive_counts(clf.predictive_check(table.X, table.y))
