"""
Weights of columns
==================

Weights of logistic regression, and those that naive Bayes implies.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:wine")
X = table.X[["alcohol", "ash", "hue", "malic_acid", "proline"]]
lr = bc.LogisticRegression(prior_scale=2.5, inference="laplace", random_state=0).fit(X, table.y)
nb = bc.GaussianNB("feature", random_state=0).fit(X, table.y)
bc.plots.posterior_weights(lr, nb.to_logistic())
