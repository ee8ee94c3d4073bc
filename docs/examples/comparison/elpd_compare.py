"""
Expected log predictive density
===============================

Models compared by the log probability of each row's label given all other rows; differences with standard errors.
"""

import arviz as az

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
nb = bc.GaussianNB(random_state=0).fit(table.X, table.y)
gda = bc.GaussianDiscriminantAnalysis(random_state=0).fit(table.X, table.y)
scores = {name: bc.loo(clf, table.X, table.y) for name, clf in {"naive Bayes": nb, "discriminant": gda}.items()}
bc.plots.elpd_compare(az.compare(scores))
