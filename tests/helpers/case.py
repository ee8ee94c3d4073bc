"""A variant of a family on three labels and three features, as the contract tests take it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import special

from bayesclf.families import Axes

LABELS = ("no", "maybe", "yes")
FEATURES = ("u", "v", "w")
MISSING_SHARE = 0.15
TO_THE_LINE = {"real": np.asarray, "log": np.log, "logit": special.logit, "simplex": np.log}
FROM_THE_LINE = {"real": np.asarray, "log": np.exp, "logit": special.expit}
SPREAD = {"real": 0.7, "log": 0.3, "logit": 0.7, "simplex": 0.7}
"""Standard deviations of the coordinates of a random point."""


@dataclass(frozen=True, eq=False)
class Case:
    """A variant of a family, and a second, naive way to what it computes.

    Parameters are those of one draw, (1, …) by name. A family with parameters on the line needs:

    ========================== ==========================================================================
    `rows(rng, y, missing)`    cells (row, feature) of rows of these labels, a share of them `absent`
    `spaces`                   where each parameter lies, a key of `TO_THE_LINE`, and its shape
    `slices()`                 the simplexes along the last axis, if there are any
    `row_log_density(X, y, p)` log p(x | y) of each row
    `marginals(family)`        SciPy's distribution of each parameter under hyperparameters
    `log_prior(family, p)`     log density under hyperparameters; by default that of independent marginals
    `cell_grid(feature)`       values of a cell, and weights that make a sum over them the integral
    `naive_mle(X, y)`          the textbook's estimate
    `to_pymc(p)`               the variables of the PyMC model, where these are other ones
    ========================== ==========================================================================

    A family of independent cells derives from `CellCase`. One whose parameters have no density has `rows` alone.
    """

    name: str
    family: Any
    axes: Axes

    absent: ClassVar[float] = np.nan
    marginal_modes: ClassVar[tuple[str, ...]] = ()
    """Parameters whose `map` is the mode of their own distribution, the others integrated out."""

    @cached_property
    def own(self):
        """Return which entries of each parameter vary: what is that of all classes is held for the first one."""
        return {name: np.ones(shape, dtype=bool) for name, (_, shape) in self.spaces.items()}

    def point(self, rng):
        """Return random parameters."""
        spread = [np.full(own.sum(), SPREAD[self.spaces[name][0]]) for name, own in self.own.items()]
        return self.constrained(rng.normal(0, np.concatenate(spread)))

    def unconstrained(self, parameters):
        pairs = ((TO_THE_LINE[space], parameters[name][self.own[name]]) for name, (space, _) in self.spaces.items())
        return np.concatenate([to_the_line(values) for to_the_line, values in pairs])

    def constrained(self, vector):
        found, parts = {}, np.split(vector, np.cumsum([own.sum() for own in self.own.values()])[:-1])
        for (name, own), part in zip(self.own.items(), parts, strict=True):
            values = np.zeros(own.shape)
            values[own] = part
            values = values if own.all() else np.where(own, values, values[:, :1])
            found[name] = self._back(self.spaces[name][0], values)
        return found

    def _back(self, space, values):
        if space != "simplex":
            return FROM_THE_LINE[space](values)
        return np.concatenate([special.softmax(values[..., own], axis=-1) for own in self.slices()], axis=-1)

    def log_jacobian(self, parameters):
        """Return what is added to the log density before its mode is found: Σ log θ in the softmax basis."""
        return np.log(parameters["theta"]).sum() if getattr(self.family, "basis", "") == "softmax" else 0.0

    def log_prior(self, family, parameters):
        return sum(own.logpdf(parameters[name][0]).sum() for name, own in self.marginals(family).items())

    def log_measure(self, parameters):
        """Return Σ log of the parameters above 0: what is raised to a power is a prior's density per logarithm."""
        above = [name for name, (space, _) in self.spaces.items() if space == "log"]
        return sum(np.log(parameters[name][self.own[name]]).sum() for name in above)

    def to_pymc(self, parameters):
        return dict(parameters)

    def pymc_log_jacobian(self, parameters):
        """Return log|d parameters/d variables of PyMC|, at one point."""
        return 0.0

    def data(self, seed=0, n=24):
        """Return rows X with missing cells and labels y."""
        rng = np.random.default_rng(seed)
        y = rng.integers(len(self.axes.labels), size=n)
        return self.rows(rng, y), y

    def complete(self, seed=0, n=24):
        """Return rows without missing cells."""
        rng = np.random.default_rng(seed)
        y = rng.integers(len(self.axes.labels), size=n)
        return self.rows(rng, y, missing=0.0), y

    def statistics(self, X, y, weight=None):
        return self.family.statistics(X, y, self.axes, weight)

    @cached_property
    def prior(self):
        """Return the prior in numbers, where it is empirical from the rows of seed 0."""
        return self.family.resolve_prior(self.statistics(*self.data()))

    @cached_property
    def posterior(self):
        return self.prior.posterior(self.statistics(*self.data()))


@dataclass(frozen=True, eq=False)
class CellCase(Case):
    """A family of independent cells: `cells(…)` is SciPy's distribution given the parameters of each cell."""

    def by_cell(self, parameters):
        """Return the parameters, (outcome, feature)."""
        return {name: values[0] for name, values in parameters.items()}

    def row_log_density(self, X, y, parameters):
        cells = self.cells(**{name: values[y] for name, values in self.by_cell(parameters).items()})
        log_density = (cells.logpmf if hasattr(cells, "logpmf") else cells.logpdf)(np.nan_to_num(X, nan=1.0))
        return np.where(np.isnan(X), 0.0, log_density).sum(axis=1)


def gaps(rng, X, share):
    """Return cells of which a share is missing."""
    return np.where(rng.random(X.shape) < share, np.nan, X)


def class_means(X, y):
    """Return means of the observed cells, (1, outcome, feature)."""
    return np.array([np.nanmean(X[y == k], axis=0) for k in range(3)])[None]


def log_grid():
    """Return an even grid of log x, and weights dx: exact to rounding for smooth tails."""
    logs = np.linspace(-50.0, 80.0, 4000)
    return np.exp(logs), np.exp(logs) * (logs[1] - logs[0])


def tangent_grid():
    """Return x = s tan(u) on an even grid of u, and weights dx: exact to rounding for Normal and smooth t tails."""
    u = (np.arange(4000) + 0.5) / 4000 * np.pi - np.pi / 2
    return 3 * np.tan(u), 3 / np.cos(u) ** 2 * np.pi / 4000
