"""A variant of a family on three labels and three features, as the contract tests take it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from bayesclf.families import Axes

LABELS = ("no", "maybe", "yes")
FEATURES = ("u", "v", "w")
MISSING_SHARE = 0.15


@dataclass(frozen=True, eq=False)
class Case:
    """A variant of a family on three labels and three features."""

    name: str
    family: Any
    axes: Axes

    marginal_modes: ClassVar[tuple[str, ...]] = ()
    """Parameters whose `map` is the mode of their own distribution, the others integrated out."""

    def pymc_log_jacobian(self, parameters):
        """Return log|d parameters/d variables of PyMC|, at one point."""
        return 0.0

    def data(self, seed=0, n=24):
        """Return rows X with missing cells and labels y."""
        rng = np.random.default_rng(seed)
        y = rng.integers(len(self.axes.labels), size=n)
        return self.rows(rng, y), y

    def statistics(self, X, y, weight=None):
        return self.family.statistics(X, y, self.axes, weight)

    @cached_property
    def prior(self):
        """Return the prior in numbers, where it is empirical from the rows of seed 0."""
        return self.family.resolve_prior(self.statistics(*self.data()))

    @cached_property
    def posterior(self):
        return self.prior.posterior(self.statistics(*self.data()))

    def complete(self, seed=0, n=24):
        """Return rows without missing cells."""
        rng = np.random.default_rng(seed)
        y = rng.integers(len(self.axes.labels), size=n)
        return self.rows(rng, y, missing=0.0), y
