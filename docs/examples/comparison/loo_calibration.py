"""
Calibration by leave-one-out
============================

How often each class comes true, against its probability given all other rows.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
nb = bc.GaussianNB(random_state=0).fit(table.X, table.y)
bc.plots.loo_calibration(nb, table.X, table.y, "predictive")
