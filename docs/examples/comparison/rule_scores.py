"""
Scores of rules
===============

Two classifiers under every rule that each can answer, by five-fold cross-validation, with standard errors.
"""

import bayesclf as bc

table = bc.datasets.load("bupa")
models = {"naive Bayes": bc.NaiveBayes(), "logistic": bc.LogisticRegression(prior_scale=2.5)}
comparison = bc.compare(models, table.X, table.y, random_state=0)
bc.plots.rule_scores(comparison, "log_loss")
