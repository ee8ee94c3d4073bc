"""What a user says of a prior scale that is learned, and of how correlated the weights are given it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bayesclf.constraints import Number, require
from bayesclf.display import Concise
from bayesclf.errors import InputError
from bayesclf.families.base import require_positive
from bayesclf.typing import Array

LEARNED = "learned"
"""`correlation` where it is learned from the rows."""


@dataclass(frozen=True, repr=False)
class LearnedScale(Concise):
    """A prior of logistic regression's weights whose scale s and correlation ρ are learned from the rows.

    ::

        log s ~ Normal(log median, spread²)
        ρ ~ Uniform(0, 1)
        w | s, ρ ~ Normal(0, s² [(1 − ρ) I + ρ C])

    w are the weights in the log-odds between any two classes, per sd of their columns, and C is the covariance of the
    standardized columns over the training rows, labels aside, scaled to an average variance of 1. The posterior is one
    of s, ρ and w together.

    With ρ = 0 the weights are independent, and each direction matters as much as any other. With ρ = 1 columns that
    vary together have weights that are alike, and directions in which the training rows hardly vary hardly matter. The
    rows tell which it is, or that they cannot tell. A single column has ρ = 0.

    A log-uniform prior of s would make the posterior improper: the evidence of s tends to a constant above 0 as s → 0
    and, on separable rows, as s → ∞.

    Parameters
    ----------
    median : float
        Median of s, above 0.
    spread : float
        Sd of log s, above 0; by default 95 % of the prior lies between 0.05 and 19.
    given : mapping from str to float
        Scales that are not learned: from the name of a column, or of a category for all its levels, to a number above
        0, infinity allowed. The indicator "… is missing" of a number has that number's. These weights are independent.
    correlation : "learned" or float
        ρ, or a number from 0 (independent weights) to 1 that fixes it. The weight of a level that the training rows do
        not have has sd s.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [1.9], [2.1], [3.0]] * 5, ["low", "high", "low", "high"] * 5
    >>> clf = bc.LogisticRegression(prior_scale=bc.LearnedScale(median=0.5), random_state=1).fit(X, y)
    >>> bool(0.3 < clf.posterior_["posterior"]["prior_scale"].mean() < 3)
    True
    """

    median: float = 1.0
    spread: float = 1.5
    given: Mapping[str, float] = field(default_factory=dict)
    correlation: str | float = LEARNED

    def __post_init__(self) -> None:
        require_positive(median=self.median, spread=self.spread)
        if not isinstance(self.given, Mapping):
            raise InputError(f"given must be a mapping from names of columns to scales, not {self.given!r}")
        if isinstance(self.correlation, str):
            if self.correlation != LEARNED:
                raise InputError(f"correlation must be {LEARNED!r} or a number from 0 to 1, not {self.correlation!r}")
        else:
            require(Number(least=0, most=1), correlation=self.correlation)

    @property
    def log_median(self) -> float:
        """Mean of log s."""
        return float(np.log(self.median))

    def log_density(self, log_scale: Array) -> Array:
        """Return the log density of log s."""
        z = (log_scale - self.log_median) / self.spread
        return np.asarray(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - np.log(self.spread))
