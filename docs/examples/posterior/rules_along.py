"""
Three rules along a column
==========================

Each thin line is one hypothesis of the posterior, as the Gibbs classifier draws them; MAP is the most probable one, and
Bayes-optimal their average.
"""

import bayesclf as bc

table = bc.datasets.load("iris")
clf = bc.LogisticRegression(random_state=0).fit(table.X, table.y)
bc.plots.rules_along(clf, table.X, table.y, "petal width (cm)", outcome="virginica")
