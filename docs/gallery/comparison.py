"""Scores, confusion and disagreement

One comparison, by five-fold cross-validation: two classifiers under every rule that each can answer.
"""

# %% Every rule of every classifier, with standard errors
import bayesclf as bc

table = bc.datasets.load("bupa")
models = {"naive Bayes": bc.NaiveBayes(), "logistic": bc.LogisticRegression(prior_scale=2.5)}
comparison = bc.compare(models, table.X, table.y, random_state=0)
bc.plots.rule_scores(comparison, "log_loss")

# %% Which class is taken for which
bc.plots.confusion(comparison, "naive Bayes", rules=["map", "bayes-optimal"])

# %% How many rows two rules decide differently
bc.plots.disagreement(comparison, "naive Bayes")
