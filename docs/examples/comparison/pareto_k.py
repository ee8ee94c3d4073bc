"""
Leaving out a row
=================

How much leaving out a row changes the posterior: Pareto k̂ of importance weights.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
gda = bc.GaussianDiscriminantAnalysis(random_state=0).fit(table.X, table.y)
bc.plots.pareto_k(bc.loo(gda, table.X, table.y))
