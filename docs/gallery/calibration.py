"""Calibration, coverage and decisions

Are probabilities borne out, do they say where the classifier errs, and are decisions that follow them of use? Radar
returns of 34 numbers that depend on each other, which naive Bayes takes for independent.
"""

# %% Reliability: predicted against observed
import bayesclf as bc

table = bc.datasets.load("ionosphere")
models = {"naive Bayes": bc.GaussianNB(), "discriminant": bc.GaussianDiscriminantAnalysis("class")}
comparison = bc.compare(models, table.X, table.y, random_state=0)
bc.plots.reliability(comparison, "naive Bayes", rules=["map", "bayes-optimal"])

# %% The same by class: how often a class comes true against its probability
bc.plots.class_calibration(comparison, "discriminant", "bayes-optimal", outcomes=["good", "bad"])

# %% Accuracy on the rows that are kept, if the most doubtful are set aside
bc.plots.coverage_curve(comparison, "discriminant", rules=["map", "bayes-optimal"])

# %% Net benefit of acting on the risk of a class
bc.plots.decision_curve(comparison, "discriminant", "bayes-optimal", outcome="bad")
