"""
Energies
========

Energies of NUTS, and their changes between draws.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
X = table.X[["petal length (cm)"]]
clf = bc.GaussianNB("shared", inference=bc.engines.NUTS(draws=300), random_state=0).fit(X, table.y)
bc.plots.energy(clf)
