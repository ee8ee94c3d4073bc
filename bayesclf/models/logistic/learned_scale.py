"""What a user says of a prior scale that is learned, and of the weights given it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from bayesclf.constraints import Number, OrNone, require
from bayesclf.display import Concise
from bayesclf.errors import InputError
from bayesclf.families.base import require_positive
from bayesclf.typing import Array

NORMAL = "normal"
SLAB_SCALE = 2.5
"""Scale of the largest weights under the horseshoe: that of a weight whose scale is given by default."""
EXPECTED_SHARE = 0.1
"""Share of the weights that the horseshoe expects to matter where this is not said; at least one, at most half."""


@dataclass(frozen=True, repr=False)
class StudentTWeights(Concise):
    """Weights that are Student-t given their scale s: a few may be several times as large as the others.

    w_j ~ N(0, s² λ_j²) with λ_j² ~ InvGamma(ν/2, ν/2), which is t with ν degrees of freedom, in units of s. The local
    scale λ_j of a column is the same for all outcomes, so that for more than two classes its weights are multivariate
    t together.

    Parameters
    ----------
    degrees : float
        ν, above 0: 1 is the Cauchy, and from 30 on hardly anything differs from a normal.

    Examples
    --------
    >>> import bayesclf as bc
    >>> bc.LearnedScale(shape=bc.StudentTWeights(degrees=7)).shape
    StudentTWeights(degrees=7)
    """

    degrees: float = 4.0

    def __post_init__(self) -> None:
        require(Number(above=0), degrees=self.degrees)


@dataclass(frozen=True, repr=False)
class HorseshoeWeights(Concise):
    """Weights of which few matter, by the regularized horseshoe.

    w_j ~ N(0, τ² λ̃_j²) with λ̃_j² = c² λ_j²/(c² + τ² λ_j²), λ_j ~ HalfCauchy(1), τ ~ HalfCauchy(τ₀) and
    c² ~ InvGamma(ν/2, ν a²/2). The global scale τ draws all weights toward 0, and half-Cauchy local scales λ_j let
    some escape; these have a slab for a prior, t with ν degrees of freedom and scale a, which also keeps weights finite
    that separate the classes. The local scale of a column is the same for all outcomes.

    τ₀ = p₀/(p − p₀) · 2/√n for p columns, p₀ expected nonzero ones and n rows. An indicator "… is missing" and each
    level of a category are columns of their own.

    Parameters
    ----------
    nonzero : float or None
        p₀, above 0 and below p, needs not be whole. None: a tenth of the columns, at least one, at most half of them.
        The posterior may have many more, or fewer.
    slab_scale : float
        a, above 0, per sd of a column.
    slab_degrees : float
        ν of the slab, above 0.

    References
    ----------
    Piironen and Vehtari (2017), Sparsity information and regularization in the horseshoe and other shrinkage priors,
    Electronic Journal of Statistics 11, doi:10.1214/17-EJS1337SI.

    Examples
    --------
    >>> import bayesclf as bc
    >>> bc.LearnedScale(shape=bc.HorseshoeWeights(nonzero=3)).shape
    HorseshoeWeights(nonzero=3)
    """

    nonzero: float | None = None
    slab_scale: float = SLAB_SCALE
    slab_degrees: float = 4.0

    def __post_init__(self) -> None:
        require(OrNone(Number(above=0)), nonzero=self.nonzero)
        require(Number(above=0), slab_scale=self.slab_scale, slab_degrees=self.slab_degrees)


type Shape = StudentTWeights | HorseshoeWeights

SHAPES: dict[str, type[Shape]] = {"student-t": StudentTWeights, "horseshoe": HorseshoeWeights}
"""Shapes by name; a normal has no settings."""


AVERAGED = (0.0, 1.0)
"""Powers that are averaged over by default: weights that are independent, or as correlated as their columns ..."""
INDEPENDENT = (0.0,)
"""... and the only one where each column has a scale of its own."""


@dataclass(frozen=True, repr=False)
class LearnedScale(Concise):
    """A prior scale s of logistic regression's weights that is learned from the rows: log s ~ N(log median, spread²).

    Given s, the weights in the log-odds between any two classes are N(0, s² C) per sd of their columns, and the
    posterior is one of s, of C and of the weights together. C is the covariance Σ of the standardized columns over the
    training rows, labels aside, to a power λ, of average variance 1: C = 0.99 Σ^λ/mean(diag Σ^λ) + 0.01 I.

    With λ = 0, C = I: the weights are independent, and each direction matters as much as any other. Averages are then
    unsure of a row that is unusual in a way of which no training row tells anything, and where columns are many there
    are always such ways. With λ = 1, columns that vary together have weights that are alike, directions in which the
    training rows hardly vary hardly matter, and rare levels have small weights; a rare level that alone tells of a
    class is the case against it. By default λ is 0 or 1, and averaged over: the training rows tell which it is, or that
    they cannot tell. Of 67 tables, held-out log loss was then better than with λ = 0 on 9, by up to 0.11 nats, and
    worse on 3, by 0.02 nats.

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
    power : float or tuple of float, optional
        λ, at least 0: a number, or a tuple of several, all different, of which each is as likely as any other before
        the rows are seen, and whose posterior is averaged over. For uncorrelated numbers it does not matter. At λ > 0,
        the weight of a level that the training rows do not have has sd 0.1 s, instead of s. None, the default, is
        (0, 1), and 0 with a `shape`, which is for independent weights.
    shape : {"normal", "student-t", "horseshoe"}, StudentTWeights or HorseshoeWeights
        What the weights are given s: normal, or with a scale of each column besides, Student-t, of which some may be
        several times as large as the others, or under the regularized horseshoe, of which few matter. The names have
        default settings. These two shapes are sampled by NUTS only, for independent weights (``power=0``), and the
        horseshoe has a prior of s of its own, without `median` and `spread`.

    References
    ----------
    Krishna, Bondell and Ghosh (2009), Bayesian variable selection using an adaptive powered correlation prior, Journal
    of Statistical Planning and Inference 139, doi:10.1016/j.jspi.2008.12.004: Σ^λ, of which Zellner's g prior has
    λ = −1. Piironen and Vehtari (2017), doi:10.1214/17-EJS1337SI: the regularized horseshoe.

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
    power: float | tuple[float, ...] | None = None
    shape: str | Shape = NORMAL

    def __post_init__(self) -> None:
        require_positive(median=self.median, spread=self.spread)
        for power in self.powers:
            require(Number(least=0), power=power)
        if len(set(self.powers)) < max(len(self.powers), 1):
            raise InputError(f"power must be a number, or a tuple of numbers that all differ, not {self.power!r}")
        if not isinstance(self.given, Mapping):
            raise InputError(f"given must be a mapping from names of columns to scales, not {self.given!r}")
        self._check_shape()

    def _check_shape(self) -> None:
        """Raise `InputError` for a shape that is none, or settings that do not go with it."""
        if not (isinstance(self.shape, str) and self.shape in (NORMAL, *SHAPES)) and self.of_weights is None:
            raise InputError(
                f"shape must be {NORMAL!r}, {', '.join(map(repr, SHAPES))} or its settings, such as "
                f"{HorseshoeWeights()!r}, not {self.shape!r}"
            )
        if self.of_weights is not None and self.powers != INDEPENDENT:
            raise InputError(f"shape={self.shape!r} is for independent weights; leave power out")
        if isinstance(self.of_weights, HorseshoeWeights) and (self.median, self.spread) != (
            LearnedScale.median,
            LearnedScale.spread,
        ):
            raise InputError(
                "the horseshoe has no median and spread, as its scale is half-Cauchy; set HorseshoeWeights(nonzero=…)"
            )

    @property
    def of_weights(self) -> Shape | None:
        """Settings of the weights' shape; None for a normal, which has none."""
        shape = self.shape
        if isinstance(shape, str):
            return SHAPES[shape]() if shape in SHAPES else None
        return shape if isinstance(shape, tuple(SHAPES.values())) else None

    @property
    def powers(self) -> tuple[float, ...]:
        """λ, all of its values."""
        if self.power is None:
            return AVERAGED if self.shape == NORMAL else INDEPENDENT
        return self.power if isinstance(self.power, tuple) else (self.power,)

    def of_one_power(self, power: float) -> LearnedScale:
        """Return the settings with one λ."""
        return replace(self, power=power)

    def log_density(self, log_scale: Array) -> Array:
        """Return the log density of log s."""
        z = (log_scale - np.log(self.median)) / self.spread
        return np.asarray(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - np.log(self.spread))

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw s (draw)."""
        return np.asarray(self.median * np.exp(self.spread * rng.standard_normal(draws)))
