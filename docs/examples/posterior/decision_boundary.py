"""
Decision boundaries of logistic regression
==========================================

Where each rule changes its answer. Thin lines are boundaries of single hypotheses, which a Gibbs classifier draws from.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
X = table.X[["petal length (cm)", "petal width (cm)"]]
clf = bc.LogisticRegression(inference="laplace", prior_scale=2.5, random_state=0).fit(X, table.y)
bc.plots.decision_boundary(clf, X, table.y)
