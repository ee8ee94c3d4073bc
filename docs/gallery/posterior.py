"""A posterior and its predictions

What a classifier has learned from the rows, and how sure it is of its answers.
"""

# %% Parameters with intervals
import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
train, test = slice(0, None, 2), slice(1, None, 2)
clf = bc.GaussianNB(random_state=0).fit(table.X[train], table.y[train])
bc.plots.posterior_forest(clf)

# %% What the rows changed: densities of prior and posterior
bc.plots.prior_posterior(clf, limit=6)

# %% The density of each column in each class, over its rows
bc.plots.class_conditionals(clf, table.X[train], table.y[train])

# %% How uncertain each answer is, in two parts
bc.plots.uncertainty(clf, table.X[test], table.y[test])

# %% Numbers of rows that the model makes, and that there were
bc.plots.predictive_counts(clf.predictive_check(table.X[train], table.y[train]))
