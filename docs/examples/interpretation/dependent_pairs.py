"""
Dependent columns
=================

Naive Bayes takes columns for independent given the class; the evidence that two are not.
"""

import bayesclf as bc

table = bc.datasets.load("votes")
votes = table.X.iloc[:, :10]
nb = bc.CategoricalNB(alpha=2.0, missing="level", random_state=0).fit(votes, table.y)
bc.plots.dependent_pairs(bc.dependent_pairs(nb, votes, table.y))
