"""
Uncertainty of each answer
==========================

How uncertain each answer is, in two parts: about the model, and about the class given the model.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
train, test = slice(0, None, 2), slice(1, None, 2)
clf = bc.GaussianNB(random_state=0).fit(table.X[train], table.y[train])
bc.plots.uncertainty(clf, table.X[test], table.y[test])
