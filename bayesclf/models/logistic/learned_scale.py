"""What a user says of a prior scale that is learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from bayesclf.errors import InputError
from bayesclf.families.base import require_positive
from bayesclf.typing import Array


@dataclass(frozen=True)
class LearnedScale:
    """A prior scale s of logistic regression's weights that is learned from the rows: log s ~ N(log median, spread²).

    Given s, the weight of a column in the log-odds between any two classes is N(0, s²) per sd of the column, and the
    posterior is one of s and of the weights together. A log-uniform prior of s would make it improper: the evidence of
    s tends to a constant above 0 as s → 0 and, on separable rows, as s → ∞.

    Parameters
    ----------
    median
        Median of s, above 0.
    spread
        Sd of log s, above 0; by default 95 % of the prior lies between 0.05 and 19.
    given
        Scales that are not learned: from the name of a column, or of a category for all its levels, to a number above
        0, infinity allowed. The indicator "… is missing" of a number has that number's.

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

    def __post_init__(self) -> None:
        require_positive(median=self.median, spread=self.spread)
        if not isinstance(self.given, Mapping):
            raise InputError(f"given must be a mapping from names of columns to scales, not {self.given!r}")

    def log_density(self, log_scale: Array) -> Array:
        """Return the log density of log s."""
        z = (log_scale - np.log(self.median)) / self.spread
        return np.asarray(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - np.log(self.spread))

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw s (draw)."""
        return np.asarray(self.median * np.exp(self.spread * rng.standard_normal(draws)))
