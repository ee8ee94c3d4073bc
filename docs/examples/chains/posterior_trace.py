"""
Traces of chains
================

Draws of the parameters that mix worst.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
X = table.X[["petal length (cm)"]]
clf = bc.GaussianNB("shared", inference=bc.engines.NUTS(draws=300), random_state=0).fit(X, table.y)
bc.plots.posterior_trace(clf, limit=4)
