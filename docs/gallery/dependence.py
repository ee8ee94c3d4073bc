"""Dependence between columns

Naive Bayes takes columns for independent given the class. Which are not, and which trees between them are probable?
"""

# %% Evidence that two columns depend on each other, given the class
import bayesclf as bc

table = bc.datasets.load("votes")
votes = table.X.iloc[:, :10]
nb = bc.CategoricalNB(alpha=2.0, missing="level", random_state=0).fit(votes, table.y)
bc.plots.dependent_pairs(bc.dependent_pairs(nb, votes, table.y))

# %% The posterior probability of each edge, averaged over all trees
trees = bc.BayesNetClassifier("all-trees", missing="level", random_state=0).fit(votes, table.y)
bc.plots.edge_probabilities(trees)
