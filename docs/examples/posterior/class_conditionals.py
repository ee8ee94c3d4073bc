"""
Densities of columns by class
=============================

The density of each column in each class, over its rows.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
clf = bc.GaussianNB(random_state=0).fit(table.X, table.y)
bc.plots.class_conditionals(clf, table.X, table.y)
