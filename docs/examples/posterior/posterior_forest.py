"""
Parameters with intervals
=========================

What a classifier has learned from the rows.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
clf = bc.GaussianNB(random_state=0).fit(table.X, table.y)
bc.plots.posterior_forest(clf)
