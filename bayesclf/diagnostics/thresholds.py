"""All thresholds of the checks and bounds on their work; ArviZ's where it has one.

R-hat, effective sample sizes, E-BFMI and saturated trees have their thresholds in `bayesclf.engines.convergence`, so
that a diagnosis agrees with the warnings of a fit.
"""


# Posterior

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

MIN_GAIN = 0.05
"""Share of a score of the class shares that a classifier must be able to gain, within the error, to be of use."""

MIN_CALIBRATION_EXCESS = 0.02
"""Calibration error beyond what calibrated probabilities would show, below which it does not matter."""

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

RANDOM_TABLES = 20_000
"""Tables behind a p-value of missing cells: small enough for `SIGNIFICANCE` after correction for up to 200 columns."""

PREDICTIVE_DRAWS = 200
"""Replicated data sets of a predictive check: the smallest adjusted p-value is 1/201, below `SIGNIFICANCE`."""

CORRELATED_COLUMNS = 500
"""Most columns for which correlations are computed."""

SHOWN = 5
"""Most names that a sentence lists."""

LEFT_OUT = 50
"""Most columns that a call leaves out."""
