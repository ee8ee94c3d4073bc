"""Counts of events and waiting times: families with one rate for each feature and class, and its gamma prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import require
from bayesclf.errors import InputError
from bayesclf.families.base import EVENTS, NOT_NEGATIVE, SCALE, Support, require_each
from bayesclf.families.dirichlet import log_rising
from bayesclf.families.prior_lines import PriorLine, prior_lines
from bayesclf.families.template import TINY, CellSums, ConjugateFamily
from bayesclf.families.terms import Density


@dataclass(frozen=True, repr=False)
class GammaRate(ConjugateFamily):
    """A family whose one parameter is a rate λ_ik ~ Gamma(a_ik, b_ik), independent over features i and classes k.

    Rows add their events to a and their exposure to b.

    `a`, `b`: Shape and rate. `no_exposure`, `no_mode`: What a class lacks that has no estimate.
    """

    parameters: ClassVar[tuple[str, ...]] = ("rate",)
    linear: ClassVar[bool] = True
    no_exposure: ClassVar[str]
    no_mode: ClassVar[str]

    @staticmethod
    def exposed(n: Any, x: Any) -> tuple[Any, Any]:
        """Return events and exposure of n cells with the sum x."""
        return x, n

    def after(self, state: tuple[Array, ...], n: Any, *sums: Array) -> tuple[Array, Array]:
        """Return a and b after more events and exposure."""
        events, exposure = self.exposed(n, *sums)
        return state[0] + events, state[1] + exposure

    def gain(self, state: tuple[Array, ...], n: Any, *sums: Array) -> Array:
        """log Γ(a + events)/Γ(a) b^a/(b + exposure)^(a + events)."""
        (a, b), (events, exposure) = state, self.exposed(n, *sums)
        return np.asarray(log_rising(a, events) - a * np.log1p(exposure / b) - events * np.log(b + exposure))

    def mle(self, statistics: CellSums) -> Parameters:
        """Return events over exposure; raises `DoesNotExist` where a class has no exposure in a feature."""
        events, exposure = self.exposed(*statistics.rows())
        require_each(exposure > 0, statistics.axes, self.no_exposure)
        return {"rate": (events / exposure)[None]}

    def map(self, statistics: CellSums) -> Parameters:
        """Return the mode (a − 1)/b of the posterior.

        Raises `DoesNotExist` where its density is unbounded at 0, or where the mode is at 0, a rate of no density.
        """
        a, b = self.posterior(statistics).state()
        require_each(a >= 1 if self.support.whole else a > 1, self.axes, self.no_mode)
        return {"rate": ((a - 1) / b)[None]}

    def priors(self) -> list[PriorLine]:
        """Return the gamma priors of the rate."""
        a, b = self.state()
        return prior_lines("rate", "Gamma({a}, {b})", self.axes, a=a, b=b)

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw rate ~ Gamma(a, b), above 0."""
        a, b = self.state()
        return {"rate": np.maximum(rng.standard_gamma(a, size=(draws, *a.shape)), TINY) / b}

    def mean(self) -> Parameters:
        """Return a/b."""
        a, b = self.state()
        return {"rate": (a / b)[None]}

    def log_prior(self, parameters: Parameters) -> Density:
        """λ ~ Gamma(a, b), per log λ: its power α is Gamma(αa, αb), a prior worth α times as many rows."""
        a, b = self.state()
        return Density.of_cells("rate", xlogy(a, parameters["rate"]) - b * parameters["rate"])

    def pymc_parameters(self, suffix: str, *prior: Any) -> tuple[Any]:
        """Add λ to the open PyMC model; return it."""
        from bayesclf import pymc_models

        a, b = prior
        return (pymc_models.rates(a, b, suffix),)


@dataclass(frozen=True, repr=False)
class Poisson(GammaRate):
    """x_i | y = k ~ Poisson(λ_ik) with λ_ik ~ Gamma(a_ik, b_ik), independent over features i and classes k.

    ========= ======= ================= =============================
    parameter support prior             posterior
    ========= ======= ================= =============================
    λ_ik      above 0 Gamma(a_ik, b_ik) Gamma(a_ik + Σx, b_ik + n_ik)
    ========= ======= ================= =============================

    n and Σx are the number of a class's observed cells of a feature and their sum; b is a rate, so that E[λ] = a/b.
    MLE Σx/n; MAP (a + Σx − 1)/(b + n). The predictive is the negative binomial distribution,

    .. math:: p(x | k, D) = \\frac{Γ(a + x)}{Γ(a)\\, x!} \\frac{b^a}{(b + 1)^{a + x}},

    with a and b of the posterior. The log-odds are linear in x. Cells are whole numbers of at least 0; a missing cell
    (NaN) is integrated out.

    Parameters
    ----------
    a, b
        Shape and rate, above 0, which broadcast to (outcome, feature). Where None, unit information from the pooled
        rows: b = 1, a prior worth one row, and a = 1 + b·(mean of the column), so that the prior's mode is that mean.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, 3rd edition, section 2.6.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[0.0], [1.0], [4.0], [6.0]], ["few", "few", "many", "many"]
    >>> clf = bc.NaiveBayes({"x0": bc.families.Poisson(a=1, b=1)}, random_state=1).fit(X, y)
    >>> clf.posterior_["map"]["rate"].values.ravel()  # (a + Σx − 1)/(b + n)
    array([0.33333333, 3.33333333])
    """

    name: ClassVar[str] = "poisson"
    likelihood: ClassVar[str] = "Poisson(rate)"
    distribution: ClassVar[str] = "Poisson"
    support: ClassVar[Support] = EVENTS
    no_exposure: ClassVar[str] = "has no value"
    no_mode: ClassVar[str] = "has no most probable rate (a + events is below 1; give a larger a)"

    def log_h(self, x: Array) -> Array:
        """−log x!."""
        return -gammaln(x + 1)

    def natural(self, m: Any, *parameters: Any) -> tuple[tuple[Any], Any]:
        """x log λ − λ."""
        (rate,) = parameters
        return (m.log(rate),), rate

    def resolve_prior(self, statistics: CellSums) -> Self:
        """Return the prior with a and b as arrays (outcome, feature)."""
        prior = self.resolved(statistics, b=1.0)
        return prior.resolved(statistics, a=1 + np.asarray(prior.b) * statistics.mean())

    def informative(self, statistics: CellSums) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell, or without an event unless the prior is given."""
        n, events = statistics.pooled().rows()
        return np.asarray((events if self.a is None else n)[0] > 0)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw counts (row, feature)."""
        return np.asarray(rng.poisson(parameters["rate"][0][y]), dtype=float)


@dataclass(frozen=True, repr=False)
class Exponential(GammaRate):
    """x_i | y = k ~ Exponential(λ_ik) with λ_ik ~ Gamma(a_ik, b_ik), independent over features i and classes k.

    ========= ======= ================= ==============================
    parameter support prior             posterior
    ========= ======= ================= ==============================
    λ_ik      above 0 Gamma(a_ik, b_ik) Gamma(a_ik + n_ik, b_ik + Σx)
    ========= ======= ================= ==============================

    n and Σx are the number of a class's observed cells of a feature and their sum; b is a rate, so that E[λ] = a/b.
    MLE n/Σx; MAP (a + n − 1)/(b + Σx). The predictive is the Lomax distribution,

    .. math:: p(x | k, D) = \\frac{a\\, b^a}{(b + x)^{a + 1}},

    with a and b of the posterior. The log-odds are linear in x. Cells are numbers of at least 0; a missing cell (NaN)
    is integrated out.

    Parameters
    ----------
    a, b
        Shape, and rate in units of the column, above 0, which broadcast to (outcome, feature). Where None, unit
        information from the pooled rows: a = 2, a prior worth one row, and b = (a − 1)·(mean of the column). Then 1/λ
        has that mean as its expectation, and λ its reciprocal as its prior mode.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, 3rd edition, section 2.6.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[0.5], [1.5], [4.0], [8.0]], ["short", "short", "long", "long"]
    >>> clf = bc.NaiveBayes({"x0": bc.families.Exponential(a=2, b=1)}, random_state=1).fit(X, y)
    >>> clf.posterior_["map"]["rate"].values.ravel().round(3)  # (a + n − 1)/(b + Σx)
    array([0.231, 1.   ])
    """

    name: ClassVar[str] = "exponential"
    likelihood: ClassVar[str] = "Exponential(rate)"
    distribution: ClassVar[str] = "Exponential"
    support: ClassVar[Support] = NOT_NEGATIVE
    no_exposure: ClassVar[str] = "has no value above 0"
    no_mode: ClassVar[str] = "has no most probable rate above 0 (a + n is at most 1; give a larger a)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.axes.features:
            require(SCALE, b=self.b)

    @staticmethod
    def exposed(n: Any, x: Any) -> tuple[Any, Any]:
        """Each cell is one event, after a time x of exposure."""
        return n, x

    def natural(self, m: Any, *parameters: Any) -> tuple[tuple[Any], Any]:
        """−λx + log λ."""
        (rate,) = parameters
        return (-rate,), -m.log(rate)

    def resolve_prior(self, statistics: CellSums) -> Self:
        """Return the prior with a and b as arrays (outcome, feature)."""
        prior = self.resolved(statistics, a=2.0)
        a = np.asarray(prior.a)
        if self.b is None and not (a > 1).all():
            raise InputError("a is at most 1, where 1/λ has no prior mean to set b by; give b too, or a above 1")
        return prior.resolved(statistics, b=np.maximum((a - 1) * statistics.mean(), TINY))

    def informative(self, statistics: CellSums) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell, or without one above 0 unless the prior is given."""
        n, total = statistics.pooled().rows()
        return np.asarray((total if self.b is None else n)[0] > 0)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw numbers (row, feature)."""
        rate = parameters["rate"][0][y]
        return np.asarray(rng.standard_exponential(rate.shape) / rate)
