"""All thresholds of the checks and bounds on their work; ArviZ's where it has one.

R-hat, effective sample sizes, E-BFMI and the share of saturated trees are those of `bayesclf.engines.convergence`,
so that a diagnosis and the warnings of a fit agree.
"""

from bayesclf.engines import convergence
from bayesclf.evaluation import judgments

# Posterior

MAX_RHAT = convergence.MAX_RHAT
MIN_ESS_PER_CHAIN = convergence.MIN_ESS_PER_CHAIN
MIN_BFMI = convergence.MIN_BFMI
MAX_SATURATED_SHARE = convergence.MAX_SATURATED_SHARE
MIN_DRAWS = convergence.MIN_DRAWS

MAX_MCSE = 0.1
"""Monte Carlo standard error of a posterior mean in posterior sds, shinystan's 10 %, that of a hundred draws."""

MAX_KHAT = 0.7
"""Pareto k̂ above which importance weights cannot be trusted at any practical number of draws; ArviZ's."""

MAX_SCALARS = 1_000
"""Most parameters that are checked one by one; of more, this many evenly spaced ones."""

# Model

MAX_SENSITIVITY = 0.05
"""Power-scaling sensitivity from which a posterior depends on prior or likelihood; ArviZ's `psense_summary`."""

MAX_PULL = 2.0
"""Posterior sds by which the prior may move a posterior mean."""

MIN_SCALED_DRAWS = 25
"""Draws below which the largest fifth of their weights is too short a tail to smooth."""

POWERS = (0.99, 1.01)
"""Powers that the prior and the likelihood are raised to; ArviZ's."""

MIN_CLASS_ROWS = 10
"""Rows of a class below which its part of the model is little more than its prior."""

MIN_LEVEL_ROWS = 3
"""Rows of a level below which its probabilities are little more than their prior, two rows a class by default."""

MIN_EXPECTED_ROWS = 5
"""Expected count below which the chi-squared test is not taken; its old rule."""

EQUAL_CORRELATION = 1 - 1e-9
"""Correlation from which two columns are equal up to a change of units."""

# Predictions

SIGNIFICANCE = 0.01
"""Probability with which a test reports where nothing is wrong; of several tests, that any of them does."""

Z = judgments.Z_CONFIDENCE
"""Standard errors by which an estimate must be above its limit, so that chance alone reports with `SIGNIFICANCE`: a
standard normal number is beyond ±2.576 with probability 0.01."""

MIN_GAIN = 0.05
"""Share of a score of the class frequencies that a classifier must be able to gain, within the error, to be of use."""

MIN_CALIBRATION_EXCESS = 0.02
"""Calibration error beyond what calibrated probabilities would show, below which it does not matter."""

MIN_OVERCONFIDENCE = judgments.SMALLEST_GAP

PERMUTED_TABLES = 3
"""Tables with columns permuted within the classes, over which their over-confidence is averaged."""

MIN_SHAPE_ROWS = 100
"""Rows below which columns whose shape differs from the model's do not show it."""

MIN_DEPENDENCE = 0.3
"""Correlation of two columns within the classes from which a model of independence is compared with another."""

MIN_MISSING_DIFFERENCE = 0.05
"""Difference between two classes' shares of missing cells, below which it does not matter."""

MIN_COMPARED_ROWS = 20
"""Training rows with the cells of a new row that it is compared with."""

MAX_DISAGREEMENT = 0.03
"""Share of the rows on which the rules may decide differently: with thirty rows they do on one or two by nature."""

# Bounds on work

FOLDS = 5
"""Folds of the cross-validation."""

CELLS = 1_000_000
"""Rows × columns × classes up to which all rows are cross-validated; beyond it one part of them is held out, once."""

TEST_ROWS = 2_000
"""Rows that are held out once, and rows of other expensive checks."""

NUTS_CELLS = 50_000
"""Rows × columns × weight vectors up to which logistic regression is sampled by NUTS where the rows are held out."""

LEFT_OUT_ROWS = 1_000
"""Most rows that are left out one by one, by reweighting the draws."""

INFLUENCE_REPLICATES = 39
"""Data sets that the model makes, which have a less influential row than the observed one if that row is reported."""

INFLUENCE_DRAWS = 250
"""Least draws that are reweighted in these data sets."""

INFLUENCE_CELLS = 100_000
"""Draws × rows up to which all draws are."""

LEFT_OUT_CELLS = 250_000
"""Most rows × parameters for the same check."""

SCALED_CELLS = 5_000_000_000
"""Most draws × rows × weights for computing the likelihood of power scaling."""

REPLICATES = 500
"""Simulated labels behind a p-value of a calibration error."""

RANDOM_TABLES = 20_000
"""Tables behind a p-value of missing cells: small enough for `SIGNIFICANCE` after correction for up to 200 columns."""

PREDICTIVE_DRAWS = 200
"""Replicated data sets of a predictive check: the smallest adjusted p-value is 1/201, below `SIGNIFICANCE`."""

CORRELATED_COLUMNS = 500
"""Most columns for which correlations are computed."""

MAX_PATTERNS = 20
"""Most patterns of missing cells of new rows, by frequency, that are compared with training rows."""

SHOWN = 5
"""Most names that a sentence lists."""
