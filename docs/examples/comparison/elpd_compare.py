"""
Expected log predictive density
===============================

Models compared by the log probability of each row's label given all other rows; differences with standard errors.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
nb = bc.GaussianNB(random_state=0).fit(table.X, table.y)
gda = bc.GaussianDiscriminantAnalysis(random_state=0).fit(table.X, table.y)
bc.plots.elpd_compare(bc.compare_elpd({"naive Bayes": nb, "discriminant": gda}, table.X, table.y))
