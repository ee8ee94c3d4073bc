"""
Paths of optimizers
===================

Two optimizers on the way to the same mode.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:iris")
paths = {}
for name, optimizer in {"Newton": bc.engines.Newton(), "conjugate gradient": bc.engines.ConjugateGradient()}.items():
    lr = bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.MAP(optimizer)).fit(table.X, table.y)
    paths[name] = lr.trace_
bc.plots.optimizer_trace(paths)
