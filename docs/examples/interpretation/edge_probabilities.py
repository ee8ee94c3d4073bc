"""
Trees between columns
=====================

The posterior probability of each edge, averaged over all trees between the columns.
"""

import bayesclf as bc

table = bc.datasets.load("votes")
votes = table.X.iloc[:, :10]
trees = bc.BayesNetClassifier("all-trees", missing="level", random_state=0).fit(votes, table.y)
bc.plots.edge_probabilities(trees)
