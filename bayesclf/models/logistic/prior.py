"""The normal priors of logistic regression: settings, and their numbers for one design.

The prior of the weights is N(0, s² [(1 − ρ) I + ρ C]) where a scale s is learned. With C = U diag(e) Uᵀ, the weights
are independent along the columns of U, with variances s² (1 − ρ + ρ e). So are K − 1 orthonormal contrasts of K vectors
that add up to 0 over the classes. A prior whose scales are given has the columns themselves as directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import expit, log_expit

from bayesclf.arrays import Array, Integers
from bayesclf.constraints import Choice, Flag, Number, require
from bayesclf.display import Concise
from bayesclf.errors import InputError
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.wording import LISTED_NAMES, listed

LEARNED = "learned"
"""`correlation` where it is learned from the rows."""


@dataclass(frozen=True, repr=False)
class LearnedScale(Concise):
    """A prior of logistic regression's weights whose scale s and correlation ρ are learned from the rows.

    ::

        log s ~ Normal(log median, spread²)
        ρ ~ Uniform(0, 1)
        w | s, ρ ~ Normal(0, s² [(1 − ρ) I + ρ C])

    w are the weights in the log-odds between any two classes, per sd of their columns. C is the covariance of the
    standardized columns over the training rows, scaled to an average variance of 1. The posterior is one of s, ρ and w
    together.

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
        Sd of log s, above 0; by default 95% of the prior lies between 0.05 and 19.
    given : mapping from str to float
        Scales that are not learned: from the name of a column, or of a category for all its levels, to a number above
        0. The indicator "… is missing" of a number has that number's. These weights are independent.
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
        require(Number(above=0), median=self.median, spread=self.spread)
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


NARROWEST, WIDEST = 1e-150, 1e150
"""Smallest and largest prior sd of a weight per sd of its column: variance and precision are finite."""
DEFAULT_MEAN, DEFAULT_SCALE = 0.0, 2.5
"""Mean and sd of a weight per sd of its column."""
LOG_2_PI = float(np.log(2 * np.pi))
UNSEEN_VARIANCE = 1e-13
"""Share of the largest variance of a direction up to which its variance is rounding: the rows say nothing of it."""

type Setting = float | Array | Mapping[str, float]


@dataclass(frozen=True, eq=False)
class LogisticPrior:
    """Normal priors of the weights and of the intercept.

    ``"symmetric"``: the vectors w_k − w_reference have covariance s_j²·½(I + 11ᵀ) for column j. So the weight of x_j in
    the log-odds between *any* two classes is N(0, s_j²), and no class is special. ``"reference"``: independent
    N(m_j, s_j²), Mitchell's form (eq 26 and the remark after it, λ = 1/s²). With more than two classes the reference is
    special there; with two the forms are the same.

    `prior_mean`, `prior_scale`: Mean and sd of the weights, the sd above 0: a number; an array (column); or a mapping
    from names of columns to numbers. The name of a category stands for all its levels; other columns keep the default.
    A mean other than 0 needs two classes or ``"reference"``. A `LearnedScale` is for weights of mean 0 per sd of a
    column. `prior_form`: ``"symmetric"`` or ``"reference"``. `intercept_mean`, `intercept_scale`: Of the intercept; an
    infinite scale leaves it free. `intercept_at`: Where the prior's intercept is. ``"means"``: the log-odds at the mean
    of every column, levels' 0/1 columns too, so that a shift changes nothing. ``"zero"``: at x = 0. `standardize`:
    Whether weights are meant per sd of a number (then a change of units changes nothing) or per unit.

    See Mitchell, eq 26 (λ = 1/s²).

    Examples
    --------
    >>> LogisticPrior(prior_scale={"age": 0.5}, intercept_scale=float("inf")).prior_form
    'symmetric'
    """

    prior_mean: Setting = DEFAULT_MEAN
    prior_scale: Setting | LearnedScale = DEFAULT_SCALE
    prior_form: str = "symmetric"
    intercept_mean: float = 0.0
    intercept_scale: float = 5.0
    intercept_at: str = "means"
    standardize: bool = True

    def __post_init__(self) -> None:
        require(Choice(("symmetric", "reference")), prior_form=self.prior_form)
        require(Choice(("means", "zero")), intercept_at=self.intercept_at)
        require(Flag(), standardize=self.standardize)
        require(Number(), intercept_mean=self.intercept_mean)
        require(Number(above=0, infinite=True), intercept_scale=self.intercept_scale)
        _require_numbers({}, prior_mean=self.prior_mean)
        if self.learned and (reason := not_meaningful(self.prior_mean, self.standardize)):
            raise InputError(f"prior_scale cannot be learned, because {reason}; give a number, such as 2.5")
        _require_numbers({"above": 0}, prior_scale=self._given)

    @property
    def learned(self) -> LearnedScale | None:
        """The prior of a scale that is learned, if any."""
        return self.prior_scale if isinstance(self.prior_scale, LearnedScale) else None

    @property
    def _given(self) -> Setting:
        return self.prior_scale.given if isinstance(self.prior_scale, LearnedScale) else self.prior_scale

    def scales(self, design: LogisticDesign, default: float) -> tuple[Array, Array]:
        """Return prior sds (column) and those of unseen levels (category); `default` where none is given."""
        return _per_column("prior_scale", with_indicators(self._given, design), default, design)

    def resolve(
        self, design: LogisticDesign, vectors: int, means: Array | None = None, covariance: Array | None = None
    ) -> WeightPrior:
        """Return the prior's numbers for the columns of a design and a number of weight vectors (classes − 1).

        A learned scale needs the covariance (column, column) of the columns. Means (column) are 0 where not given.
        """
        settings, symmetric = self.learned, self.prior_form == "symmetric" and vectors > 1
        mean, unseen_mean = _per_column("prior_mean", self.prior_mean, DEFAULT_MEAN, design)
        if symmetric and (mean.any() or self.intercept_mean):
            raise InputError(
                "prior_mean or intercept_mean is not 0, and with more than two classes it has no meaning under a "
                "symmetric prior; use prior_form='reference'"
            )
        sds, unseen_scale = self.scales(design, DEFAULT_SCALE if settings is None else 1.0)
        learned, unseen_learned = (np.isnan(some) for some in self.scales(design, np.nan if settings else 1.0))
        unit = 1.0 if self.standardize else design.scale
        offset = np.zeros(len(design))
        if self.intercept_at == "zero":
            offset = -design.centre / design.scale
        elif means is not None:
            offset = means
        directions: Array | None = None
        values, seen, order = np.ones(len(design)), len(design), np.arange(len(design))
        if settings is not None and covariance is not None:
            directions, values, order, seen = _directions_of(covariance, learned, self.intercept_at == "zero")
        contrast = np.eye(vectors)
        if symmetric:
            every = linalg.helmert(vectors + 1).T
            contrast = every[:-1] - every[-1]
        intercept_scale = self.intercept_scale if self.intercept_scale < WIDEST else np.inf
        scale = np.concatenate([[intercept_scale], np.clip(sds * unit, NARROWEST, WIDEST)[order]])
        return WeightPrior(
            settings,
            contrast=contrast,
            directions=directions,
            values=values,
            learned=learned[order],
            mean=np.tile(np.concatenate([[self.intercept_mean], mean * unit]), (vectors, 1)),
            sd=scale * np.sqrt(0.5) if symmetric else scale,
            offset=offset,
            seen=seen,
            symmetric=symmetric,
            unseen_mean=np.tile(unseen_mean, (vectors, 1)),
            unseen_scale=unseen_scale,
            unseen_learned=unseen_learned,
        )


def not_meaningful(prior_mean: Setting, standardize: bool) -> str:
    """Return why one learned scale for all columns would have no meaning; empty where it has one."""
    if np.any(_numbers("prior_mean", prior_mean) != 0):
        return "a learned scale needs weights around 0, and prior_mean is not 0"
    if not standardize:
        return "a learned scale is one for all columns, which standardize=False leaves in different units"
    return ""


@dataclass(frozen=True, eq=False)
class WeightPrior:
    """A normal prior in numbers, of θ (vector, 1 + column) = (intercept, weights per sd of a column).

    The coordinates γ (contrast, 1 + direction) of θ are independent, given s and ρ where these are learned: log s ~
    N(log median, spread²), ρ ~ Uniform(0, 1). θ = M γ T, and the intercept of γ is where the prior has it: at the means
    of the columns, or at x = 0.

    `settings`: The prior of s and ρ; None where all scales are given. `contrast`: M, (vector, contrast). `directions`:
    U, (column, direction), orthonormal, those that the rows tell of first; None for the columns themselves. `values`: e
    (direction), the variances of C along them. `learned`: Whether the scale of a direction is s, (direction); others
    have one that is given, and are columns. `mean`: Of γ, (contrast, 1 + direction). `sd`: Of a contrast at s = 1 and ρ
    = 0, (1 + direction), the intercept's first; infinite for a flat prior of it. Given s and ρ of draws, (draw, 1 +
    direction). `offset`: t (column): the intercept of γ is that of θ plus t·w. `seen`: Number of directions along which
    the rows vary. `symmetric`: Whether the prior is that of every class, whose parameters add up to 0, and not against
    the reference. `unseen_mean`, `unseen_scale`, `unseen_learned`: Of the weights of levels that the training rows
    lack: means (outcome, category), sds at s = 1 (category), and whether their scale is s (category).
    """

    settings: LearnedScale | None
    contrast: Array
    directions: Array | None
    values: Array
    learned: NDArray[np.bool_]
    mean: Array
    sd: Array
    offset: Array
    seen: int
    symmetric: bool
    unseen_mean: Array
    unseen_scale: Array
    unseen_learned: NDArray[np.bool_]

    @property
    def flat(self) -> bool:
        """Whether the intercept is free."""
        return bool(np.isinf(self.sd[..., 0]).all())

    @cached_property
    def correlation(self) -> float | None:
        """ρ where it is fixed, else None; a single weight has no other to be correlated with."""
        if self.settings is None or np.sum(self.learned) < 2:
            return 0.0
        return None if self.settings.correlation == LEARNED else float(self.settings.correlation)

    @cached_property
    def columns(self) -> Array:
        """T, (1 + direction, 1 + column)."""
        T = np.zeros((1 + len(self.values), 1 + len(self.offset)))
        T[0, 0] = 1.0
        T[1:, 1:] = np.eye(len(self.offset)) if self.directions is None else self.directions.T
        T[1:, 0] = -T[1:, 1:] @ self.offset
        return T

    def rho(self, logit: Array) -> Array:
        """Return ρ, of which the logit is given where it is learned."""
        return expit(logit) if self.correlation is None else np.full(np.shape(logit), self.correlation)

    def scales(self, log_scale: Array, logit: Array) -> Array:
        """Return s √(1 − ρ + ρ e), the factor of learned sds relative to s = 1 and ρ = 0, (…, 1 + direction)."""
        if self.settings is None:
            return np.ones((*np.shape(logit), len(self.sd)))
        rho = self.rho(logit)[..., None]
        times = np.exp(log_scale)[..., None] * np.sqrt(1 - rho + rho * self.values)
        return np.concatenate([np.ones_like(rho), np.where(self.learned, times, 1.0)], axis=-1)

    def given(self, log_scale: float | Array, logit: float | Array) -> WeightPrior:
        """Return the prior of θ given s and ρ, or given those of each draw, (draw)."""
        return replace(self, settings=None, sd=self.sd * self.scales(np.asarray(log_scale), np.asarray(logit)))

    def along(self, log_scale: float | Array, logit: float | Array) -> WeightPrior:
        """Return the prior, given s and ρ, of γ along the directions that the rows tell of."""
        own, known = self.given(log_scale, logit), slice(1 + self.seen)
        return replace(
            own,
            contrast=np.eye(len(self.mean)),
            directions=None,
            mean=own.mean[:, known],
            sd=own.sd[..., known],
            offset=np.zeros(self.seen),
        )

    def in_units(self, centre: Array, scale: Array) -> WeightPrior:
        """Return the prior of the intercept at x = 0 and the weights per unit of columns with these centers and sds.

        The density is still that of θ.
        """
        U = np.eye(len(scale)) if self.directions is None else self.directions
        return replace(self, directions=scale[:, None] * U, offset=centre + scale * self.offset)

    def log_density_of_scales(self, log_scale: Array, logit: Array) -> Array:
        """Return log p(log s, logit ρ), or log p(log s) where ρ is fixed, or 0 where both are."""
        if self.settings is None:
            return np.zeros(np.shape(log_scale))
        density = self.settings.log_density(log_scale)
        return np.asarray(density + log_expit(logit) + log_expit(-logit)) if self.correlation is None else density

    def coordinates(self, theta: Array) -> Array:
        """Return γ (…, contrast, 1 + direction) of θ (…, vector, 1 + column)."""
        w = theta[..., 1:]
        first = theta[..., :1] + (w @ self.offset)[..., None]
        at = np.concatenate([first, w if self.directions is None else w @ self.directions], axis=-1)
        return np.asarray(self._to_contrasts @ at)

    def theta(self, gamma: Array) -> Array:
        """Return θ (…, vector, 1 + column) of γ (…, contrast, 1 + direction)."""
        w = gamma[..., 1:] if self.directions is None else gamma[..., 1:] @ self.directions.T
        first = gamma[..., :1] - (w @ self.offset)[..., None]
        return np.asarray(self.contrast @ np.concatenate([first, w], axis=-1))

    def log_density(self, theta: Array) -> Array:
        """Return log p(θ), (…), of θ (…, vector, 1 + column), at s = 1 and ρ = 0 if these are not given.

        A flat prior of the intercept counts as 1.
        """
        sd = self.sd[..., None, self.flat :]
        z = (self.coordinates(theta) - self.mean)[..., self.flat :] / sd
        log_sd = np.log(sd).sum(axis=(-1, -2))
        return np.asarray(-0.5 * np.sum(z**2, axis=(-1, -2)) - len(self.mean) * log_sd + self._constant)

    def gradient(self, theta: Array) -> Array:
        """Return ∂ log p(θ)/∂θ, (…, vector, 1 + column), at s = 1 and ρ = 0 if these are not given."""
        sd = self.sd[..., None, :]
        slope = self._to_contrasts.T @ ((self.mean - self.coordinates(theta)) / sd / sd)
        weights = slope[..., 1:] if self.directions is None else slope[..., 1:] @ self.directions.T
        return np.concatenate([slope[..., :1], weights + slope[..., :1] * self.offset], axis=-1)

    def precision(self) -> Array:
        """Return the precision matrix of θ raveled, vector by vector, at s = 1 and ρ = 0 if these are not given."""
        to_gamma = np.eye(1 + len(self.offset), self.sd.shape[-1])  # the inverse of T
        to_gamma[1:, 0] = self.offset
        if self.directions is not None:
            to_gamma[1:, 1:] = self.directions
        root = to_gamma / self.sd[..., None, :]
        within, across = self._to_contrasts.T @ self._to_contrasts, root @ root.swapaxes(-1, -2)
        size = len(within) * len(to_gamma)
        return np.asarray(np.einsum("vw,...cd->...vcwd", within, across)).reshape(*self.sd.shape[:-1], size, size)

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Array, Array, Array]:
        """Draw θ (draw, vector, 1 + column), log s (draw) and logit ρ (draw); the intercept must not be flat."""
        log_scale, logit = np.zeros((2, draws))
        if self.settings is not None:
            log_scale = self.settings.log_median + self.settings.spread * rng.standard_normal(draws)
            logit = rng.logistic(size=draws) if self.correlation is None else logit
        sd = (self.sd * self.scales(log_scale, logit))[:, None]
        return self.theta(self.mean + sd * rng.standard_normal((draws, *self.mean.shape))), log_scale, logit

    def draw_unseen(self, rng: np.random.Generator, seen: Array, log_scale: Array, logit: Array) -> Array:
        """Return γ (draw, contrast, 1 + direction), given what the rows tell of; the rest comes from its prior."""
        sd = (self.sd * self.scales(log_scale, logit))[:, None, 1 + self.seen :]
        return np.concatenate([seen, sd * rng.standard_normal((*seen.shape[:2], sd.shape[-1]))], axis=2)

    def draw_levels(self, rng: np.random.Generator, scale: Array) -> Array:
        """Draw the weights (draw, outcome, category) of levels that the rows lack, given the s of each draw (draw)."""
        vectors, categories = self.unseen_mean.shape
        noise = rng.standard_normal((len(scale), vectors + 1, categories))
        if self.symmetric:  # the difference of two independent vectors, one of them the reference's
            noise = (noise - noise[:, -1:]) / np.sqrt(2)
        sd = self.unseen_scale * np.where(self.unseen_learned, scale[:, None], 1.0)
        return np.asarray(self.unseen_mean + sd[:, None] * noise[:, :-1])

    def sd_of_epsilon(self, log_scale: Array, logit: Array) -> Array:
        """Return s √(1 − ρ + ρ e), or what is given in its place, (draw, direction).

        The weights against the reference, less their means, are this times ε along U. A contrast of vectors that add up
        to 0 has half of the variance of a difference.
        """
        sd = self.sd[1:] * (np.sqrt(2.0) if self.symmetric else 1.0)
        return np.asarray(sd * self.scales(log_scale, logit)[:, 1:])

    @cached_property
    def _to_contrasts(self) -> Array:
        """M⁻¹."""
        return np.linalg.inv(self.contrast)

    @cached_property
    def log_volume(self) -> float:
        """log |det M| for each column with a flat prior, whose density 1 is that of θ and not of γ."""
        return self.flat * float(np.linalg.slogdet(self.contrast)[1])

    @cached_property
    def _constant(self) -> float:
        """What the log densities of θ and of γ/sd differ by: normalizers, and the volume of M⁻¹ for each column."""
        columns = int(self.sd.shape[-1]) - self.flat
        return -0.5 * len(self.mean) * columns * LOG_2_PI - columns * float(np.linalg.slogdet(self.contrast)[1])


def _directions_of(covariance: Array, learned: NDArray[np.bool_], every: bool) -> tuple[Array, Array, Integers, int]:
    """Return U, e, the order of the columns' own directions in U, and how many directions the rows tell of.

    With an intercept at x = 0, a direction without variance still moves it, and all are known.
    """
    own = np.flatnonzero(learned)
    average = np.diag(covariance)[own].mean() if len(own) else 0.0
    values, U = np.diag(covariance).copy(), np.eye(len(covariance))
    if len(own) > 1 and average > 0:
        values[own], U[np.ix_(own, own)] = _eigenvectors(covariance[np.ix_(own, own)])
    known = np.flatnonzero((values > UNSEEN_VARIANCE * values.max(initial=0.0)) | every)
    rest = np.setdiff1d(np.arange(len(values)), known)
    order = np.concatenate([known[np.argsort(-values[known], kind="stable")], rest])
    return U[:, order], values[order] / (average if average > 0 else 1.0), order, len(known)


def _eigenvectors(covariance: Array) -> tuple[Array, Array]:
    """Return e, increasing, and U of a covariance; rounding of its entries changes no direction, and so no draw.

    The eigenvectors of no variance are any basis of their space, and an eigenvector has any sign. Both are chosen by
    products with numbers that are fixed, and hardly ever near 0.
    """
    values, U = np.linalg.eigh(covariance)
    values = np.maximum(values, 0.0)
    fixed, of_signs = np.random.default_rng(0).standard_normal((2, *U.shape))
    none = values <= UNSEEN_VARIANCE * values[-1]
    if none.any():
        U[:, none] = np.linalg.qr(U[:, none] @ (U[:, none].T @ fixed[:, none]))[0]
    return values, U * np.where(of_signs[:, 0] @ U < 0, -1.0, 1.0)


def of_outcomes(vectors: Array, symmetric: bool, axis: int = -1) -> Array:
    """Return weights or intercepts, against the reference along an axis, as the parameters have them.

    With a symmetric prior of more than two classes these are one for each class, adding up to 0; else they stay.
    """
    if not symmetric:
        return vectors
    every = np.concatenate([vectors, np.zeros_like(vectors.take([0], axis))], axis)
    return np.asarray(every - every.mean(axis, keepdims=True))


def against_reference(values: Array, symmetric: bool, axis: int = -1) -> Array:
    """Return weights or intercepts of the parameters against the reference, the inverse of `of_outcomes`."""
    if not symmetric:
        return values
    last = values.shape[axis] - 1
    return np.asarray(values.take(range(last), axis) - values.take([last], axis))


def _numbers(name: str, setting: Setting) -> Array:
    values = list(setting.values()) if isinstance(setting, Mapping) else setting
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number, an array or a mapping to numbers, not {setting!r}") from None


def _require_numbers(limits: Mapping[str, Any], **given: Setting) -> None:
    """Raise `InputError` for a setting, or a value of a mapping, that is not within the limits of a `Number`."""
    for name, setting in given.items():
        if isinstance(setting, Mapping):
            for key, value in setting.items():
                require(Number(**limits), **{f"{name}[{key!r}]": value})
        else:
            require(Number(**limits, array=True), **{name: setting})


def _per_column(name: str, setting: Setting, default: float, design: LogisticDesign) -> tuple[Array, Array]:
    """Return a setting as (column), and for the unseen level of each category as (category).

    An unseen level has the average of its category's levels; where those are given by one number, that number.
    """
    categories = design.category_names
    if isinstance(setting, Mapping):
        _require_known(name, setting, design)
        values = np.array(
            [
                setting.get(column, setting.get(of, default))
                for column, of in zip(design.names, design.features, strict=True)
            ],
            dtype=float,
        )
        unseen = np.array([setting.get(category, default) for category in categories], dtype=float)
    else:
        values = _numbers(name, setting)
        if values.shape not in ((), (len(design),)):
            allowed = f"a number, or an array of shape {(len(design),)}, a number for each column"
            raise InputError(f"{name} has shape {values.shape}; it must be {allowed}")
        unseen = np.full(len(categories), values if values.ndim == 0 else default, dtype=float)
        values = np.array(np.broadcast_to(values, len(design)))
    start = len(design) - sum(design.sizes)
    for j, size in enumerate(design.sizes):
        if size:
            unseen[j] = values[start : start + size].mean()
        start += size
    return values, unseen


def with_indicators(given: Setting, design: LogisticDesign) -> Setting:
    """Return scales by name in which "… is missing" has that of its number; other forms stay."""
    if not isinstance(given, Mapping):
        return given
    gaps = {f"{number} is missing": number for number in (design.number_names[j] for j in design.gaps)}
    return {name: given[number] for name, number in gaps.items() if number in given} | dict(given)


def _require_known(name: str, setting: Mapping[str, float], design: LogisticDesign) -> None:
    """Raise for an unknown name; columns that are constant or have no gaps in this fold are known nevertheless."""
    indicators = {f"{number} is missing" for number in design.number_names}
    known = {*design.names, *design.features, *design.constant, *design.category_names, *indicators}
    unknown = [key for key in setting if key not in known]
    if unknown:
        some = listed(map(repr, unknown), LISTED_NAMES)
        columns = listed(map(repr, design.names), LISTED_NAMES)
        raise InputError(f"{name} names {some}, which no column of the design has; there are {columns or 'none'}")
