"""Calibration and thresholds

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

# %% Accuracy of the rows that are decided, if the most doubtful are rejected, and what deciding them is worth
bc.plots.threshold_curve(comparison, "discriminant", rules=["map", "bayes-optimal"])

# %% The same for acting on the risk of a class: share of that class among the rows acted on, and net benefit
bc.plots.threshold_curve(comparison, "discriminant", rules=["bayes-optimal"], outcome="bad")
