"""
Prior and posterior
===================

What the rows changed: densities of prior and posterior.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
clf = bc.GaussianNB(random_state=0).fit(table.X, table.y)
bc.plots.prior_posterior(clf, limit=6)
