"""Every threshold and every bound on work of the checks, in one place; ArviZ's where it has one.

R-hat, effective sample sizes, E-BFMI and the share of saturated trees are those of `bayesclf.inference.convergence`,
so that a diagnosis and the warnings of a fit say the same.
"""

from bayesclf.inference import convergence

# Posterior

MAX_RHAT = convergence.MAX_RHAT
MIN_ESS_PER_CHAIN = convergence.MIN_ESS_PER_CHAIN
MIN_BFMI = convergence.MIN_BFMI
MAX_SATURATED_SHARE = convergence.MAX_SATURATED_SHARE
MIN_DRAWS = convergence.MIN_DRAWS

MAX_MCSE = 0.1
"""Monte Carlo standard error of a posterior mean in posterior sds, shinystan's 10 %: a hundred independent draws."""

MAX_KHAT = 0.7
"""Pareto k̂ above which importance weights are not to be trusted at any practical number of draws; ArviZ's."""

MAX_SCALARS = 1_000
"""Parameters that are checked one by one at most; of more, this many at even distances."""

# Model

MAX_SENSITIVITY = 0.05
"""Power-scaling sensitivity from which a posterior depends on prior or likelihood; ArviZ's `psense_summary`."""

MAX_PULL = 2.0
"""Posterior sds by which the prior may move a mean from what the rows say."""

MIN_SCALED_DRAWS = 25
"""Draws below which the largest fifth of their weights is too short a tail to smooth."""

POWERS = (0.99, 1.01)
"""Powers that the prior and the likelihood are raised to; ArviZ's."""

MIN_CLASS_ROWS = 10
"""Rows of a class below which its part of the model is little more than its prior."""

MIN_LEVEL_ROWS = 5
"""Rows of a level below which its probabilities are little more than their prior; the chi-squared test's old rule."""

EQUAL_CORRELATION = 1 - 1e-9
"""Correlation of two columns from which one is the other in other units."""

MAX_DIFFERENT_SHARE = 0.9
"""Share of different values among the rows from which a column of words is an identifier."""

MIN_IDENTIFIED_ROWS = 20
"""Rows below which any column of words may be all different."""

# Predictions

SIGNIFICANCE = 0.01
"""Probability of a false alarm of each test, after multiplicity where there are several."""

Z = 2.576
"""Standard errors that leave `SIGNIFICANCE` on both sides of a normal."""

MIN_CALIBRATION_EXCESS = 0.02
"""Calibration error beyond what calibrated probabilities would show, below which it does not matter."""

MIN_OVERCONFIDENCE = 0.02
"""Mean confidence less accuracy, below which over-confidence does not matter."""

MIN_DEPENDENCE = 0.3
"""Correlation of two columns within the classes from which a model of independence is compared with another."""

MIN_MISSING_DIFFERENCE = 0.05
"""Difference between two classes' shares of missing cells, below which it does not matter."""

MAX_DISAGREEMENT = 0.01
"""Share of the rows on which the rules may decide differently."""

# Bounds on work

FOLDS = 5
"""Folds of the cross-validation."""

CELLS = 1_000_000
"""Rows × columns × classes up to which all rows are cross-validated; beyond it one part of them is held out, once."""

TEST_ROWS = 2_000
"""Rows that are held out once, and rows of other checks that cost more than a look at the table."""

NUTS_CELLS = 50_000
"""Rows × columns × weight vectors up to which logistic regression is sampled by NUTS where the rows are held out."""

LEFT_OUT_ROWS = 1_000
"""Rows that are left out one by one, by reweighting the draws, at most."""

LEFT_OUT_CELLS = 250_000
"""The same rows × parameters."""

SCALED_CELLS = 5_000_000_000
"""Draws × rows × weights whose likelihood is computed for power scaling at most."""

REPLICATES = 500
"""Simulated labels behind a p-value of a calibration error."""

RANDOM_TABLES = 20_000
"""Tables behind a p-value of missing cells: below `SIGNIFICANCE` where it is of one of up to 200 columns."""

PREDICTIVE_DRAWS = 200
"""Replicated data sets of a predictive check: the least adjusted p-value is 1/201, below `SIGNIFICANCE`."""

CORRELATED_COLUMNS = 500
"""Columns whose correlations are computed at most."""

MAX_PATTERNS = 20
"""Patterns of missing cells of new rows, the most frequent ones, whose training rows are looked up."""

SHOWN = 5
"""Names that a sentence lists at most."""
