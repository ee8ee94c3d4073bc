"""Leave-one-out

Models compared by the log probability of each row's label given all other rows.
"""

# %% How much leaving out a row changes the posterior
import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
nb = bc.GaussianNB(random_state=0).fit(table.X, table.y)
gda = bc.GaussianDiscriminantAnalysis(random_state=0).fit(table.X, table.y)
bc.plots.pareto_k(bc.loo(gda, table.X, table.y))

# %% How often each class comes true against its probability without the row
bc.plots.loo_calibration(nb, table.X, table.y, "predictive")

# %% Differences between models, with standard errors
bc.plots.elpd_compare(bc.compare_elpd({"naive Bayes": nb, "discriminant": gda}, table.X, table.y))
