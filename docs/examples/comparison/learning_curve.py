"""
Learning curves
===============

How scores change with the number of training rows.
"""

import bayesclf as bc

table = bc.datasets.load("sklearn:breast_cancer")
logistic = bc.LogisticRegression(prior_scale=2.5, inference="laplace")
models = {"naive Bayes": bc.GaussianNB("feature"), "logistic": logistic}
curve = bc.learning_curve(models, table.X, table.y, rules=["map"], repeats=3, random_state=0)
bc.plots.learning_curve(curve.of("log_loss"), ylabel="log loss")
