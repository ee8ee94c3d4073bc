"""
Decision boundaries with a covariance of each class
===================================================

Discriminant analysis, whose boundaries are quadratic: where each rule changes its answer.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
X = table.X[["petal length (cm)", "petal width (cm)"]]
clf = bc.GaussianDiscriminantAnalysis("class", random_state=0).fit(X, table.y)
bc.plots.decision_boundary(clf, X, table.y)
