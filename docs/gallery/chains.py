"""Chains and optimizers

Whether the draws of NUTS represent the posterior, and the path of an optimizer to its mode.
"""

# %% Traces of the parameters that mix worst
import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
X = table.X[["petal length (cm)"]]
clf = bc.GaussianNB("shared", inference=bc.engines.NUTS(draws=300), random_state=0).fit(X, table.y)
bc.plots.posterior_trace(clf, limit=4)

# %% Ranks of each chain's draws among all draws
bc.plots.posterior_rank(clf, limit=4)

# %% Energies, and their changes between draws
bc.plots.energy(clf)

# %% Two optimizers on the way to the same mode
paths = {}
for name, optimizer in {"Newton": bc.engines.Newton(), "conjugate gradient": bc.engines.ConjugateGradient()}.items():
    lr = bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.MAP(optimizer)).fit(table.X, table.y)
    paths[name] = lr.trace_
bc.plots.optimizer_trace(paths)
