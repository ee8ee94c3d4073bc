"""
Explanation of one row
======================

What speaks for a class in the answer to one row: its log-odds, column by column.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:wine")
X = table.X[["alcohol", "ash", "hue", "malic_acid", "proline"]]
nb = bc.GaussianNB("feature", random_state=0).fit(X, table.y)
bc.plots.explanation(nb.explain(X[:1]))
