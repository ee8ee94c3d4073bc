"""The normal priors of logistic regression: settings, their numbers for one design, and an earlier posterior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from bayesclf.arrays import Array
from bayesclf.constraints import Flag, Number, require
from bayesclf.display import Concise
from bayesclf.errors import InputError
from bayesclf.families.base import require_choice, require_positive
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.tables.columns import Column
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


NARROWEST = 1e-150
"""Smallest prior sd of a weight per sd of its column, whose precision is finite; such a weight is 0 as it is."""

DEFAULT_MEAN = 0.0
DEFAULT_SCALE = 2.5
"""Mean and sd of a weight per sd of its column."""
LOG_2_PI = float(np.log(2 * np.pi))

type Setting = float | Array | Mapping[str, float]


@dataclass(frozen=True, eq=False)
class LogisticPrior:
    """Normal priors of the weights and of the intercept.

    ``"symmetric"``: the vectors w_k − w_reference have covariance s_j²·½(I + 11ᵀ) for column j, that is, the weight
    of x_j in the log-odds between *any* two classes is N(0, s_j²); so no class is special. ``"reference"``:
    independent N(m_kj, s_kj²), Mitchell's form (eq 26 and the remark after it, λ = 1/s²), where for more than two
    classes the reference is special. For two classes the forms are the same.

    Parameters
    ----------
    prior_mean, prior_scale
        Mean and sd of the weights (the sd above 0, and infinite for a flat prior): a number; an array (column) or
        (outcome, column) with a row for each class but the reference; or a mapping from the name of a column, or of a
        category for all its levels, to a number, while the other columns keep the default. A scale by label needs
        ``"reference"``. With a flat prior, a level that the training rows lack has its prior mean. A `LearnedScale`
        is for weights of mean 0 per sd of a column.
    prior_form
        ``"symmetric"`` or ``"reference"``.
    intercept_mean, intercept_scale
        Of the intercept; an infinite scale leaves it free.
    intercept_at
        Where the prior's intercept is: ``"means"``, the log-odds at the mean of every column, levels' 0/1 columns too,
        so that a shift of a column changes nothing, or ``"zero"``, at x = 0.
    standardize
        Whether weights are meant per sd of a number (then a change of units changes nothing) or per unit.

    References
    ----------
    Mitchell, eq 26 (λ = 1/s²).

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
        require_choice("prior_form", self.prior_form, ("symmetric", "reference"))
        require_choice("intercept_at", self.intercept_at, ("means", "zero"))
        require(Flag(), standardize=self.standardize)
        require(Number(), intercept_mean=self.intercept_mean)
        require(Number(above=0, infinite=True), intercept_scale=self.intercept_scale)
        _require_numbers({}, prior_mean=self.prior_mean)
        scale: Any = self.prior_scale
        if isinstance(scale, LearnedScale):
            if reason := not_meaningful(self.prior_mean, self.standardize):
                raise InputError(f"prior_scale cannot be learned, because {reason}; give a number, such as 2.5")
            scale = scale.given
        _require_numbers({"above": 0, "infinite": True}, prior_scale=scale)

    def resolve(
        self, design: LogisticDesign, vectors: int, scale: float = DEFAULT_SCALE, means: Array | None = None
    ) -> WeightPrior:
        """Return the prior's numbers for the columns of a design and a number of weight vectors (classes − 1).

        `scale` is what a learned scale is, and what a mapping gives the columns that it does not name; `means` are
        the columns', (column), 0 without them.
        """
        symmetric = self.prior_form == "symmetric"
        given: Any = self.prior_scale
        if isinstance(given, LearnedScale):
            given = with_indicators(given.given, design)
        if symmetric and vectors > 1 and np.ndim(_numbers("prior_scale", given)) == 2:
            raise InputError("prior_scale by label needs prior_form='reference'; a symmetric prior has one per column")
        mean, unseen_mean = _per_column("prior_mean", self.prior_mean, DEFAULT_MEAN, design, vectors)
        sds, unseen_scale = _per_column("prior_scale", given, scale, design, vectors)
        unit = 1.0 if self.standardize else design.scale
        shift = design.centre / design.scale if self.intercept_at == "zero" else np.zeros(len(design))
        if self.intercept_at == "means" and means is not None:
            shift = np.where(np.isinf(sds).any(axis=0), 0.0, -means)  # free weights leave the intercept to the prior
        return WeightPrior(
            mean=np.column_stack([np.full(vectors, self.intercept_mean), mean * unit]),
            scale=np.column_stack([np.full(vectors, self.intercept_scale), np.maximum(sds * unit, NARROWEST)]),
            shift=shift,
            symmetric=symmetric and vectors > 1,
            unseen_mean=unseen_mean,
            unseen_scale=unseen_scale,
        )


def not_meaningful(prior_mean: Setting, standardize: bool) -> str:
    """Return why one learned scale for all columns would have no meaning; empty where it has one."""
    if np.any(_numbers("prior_mean", prior_mean) != 0):
        return "a learned scale is that of weights around 0, and prior_mean is not 0"
    if not standardize:
        return "a learned scale is one for all columns, which standardize=False leaves in different units"
    return ""


@dataclass(frozen=True, eq=False)
class UnseenPrior:
    """The normal prior of the weight of a level that the training rows do not have.

    Attributes
    ----------
    mean, scale
        (outcome, category); the scale may be one for each draw, (draw, outcome, category).
    symmetric
        Whether the labels have correlation ½(I + 11ᵀ), or none.
    """

    mean: Array
    scale: Array
    symmetric: bool

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw weights (draw, outcome, category); the mean where the prior is flat."""
        scale = np.where(np.isinf(self.scale), 0.0, self.scale)
        return np.asarray(self.mean + scale * _noise(rng, (draws, *self.mean.shape), self.symmetric))


@dataclass(frozen=True, eq=False)
class WeightPrior:
    """The normal prior in numbers, of θ = (intercept, weights) with the weights per sd of a column.

    Its density is that of u = (b − shift·w, w), normal with mean m, sd s and, between the labels, the correlation
    matrix I or ½(I + 11ᵀ). The map from θ to u is linear with determinant 1.

    Attributes
    ----------
    mean, scale
        m and s, (outcome, 1 + column), the intercept first; an infinite scale is a flat prior.
    shift
        How the intercept of the prior differs from that of θ, per weight (column).
    symmetric
        Whether the correlation is ½(I + 11ᵀ).
    unseen_mean, unseen_scale
        Of the weight of a level that the training rows do not have, (outcome, category).
    """

    mean: Array
    scale: Array
    shift: Array
    symmetric: bool
    unseen_mean: Array
    unseen_scale: Array

    @property
    def flat_weights(self) -> NDArray[np.bool_]:
        """Whether a weight is free, (outcome, column)."""
        return np.isinf(self.scale[:, 1:])

    @property
    def flat_intercept(self) -> bool:
        """Whether the intercept is free."""
        return bool(np.isinf(self.scale[0, 0]))

    def log_density(self, theta: Array) -> Array:
        """Return log p(θ), shape (draw), of θ (draw, outcome, 1 + column); what is flat counts as 1."""
        vectors, columns = self.mean.shape
        square = self.square(theta)
        proper = columns - np.isinf(self.scale).sum() / vectors
        log_determinant = vectors * np.log(2) - np.log(vectors + 1) if self.symmetric else 0.0
        log_scale = np.log(np.where(np.isinf(self.scale), 1.0, self.scale)[:, self.flat_intercept :]).sum()
        constant = -0.5 * proper * (vectors * LOG_2_PI - log_determinant) - log_scale
        return np.asarray(constant - 0.5 * square)

    def square(self, theta: Array, columns: NDArray[np.bool_] | slice = slice(None)) -> Array:
        """Return zᵀC⁻¹z, (draw), of z = (u − m)/s and the labels' correlation C, summed over some (1 + column)."""
        z = self._standardized(theta)[:, :, columns]
        return np.asarray(np.sum(z * self._decorrelated(z), axis=(1, 2)))

    def squares(self, theta: Array) -> Array:
        """Return what each column adds to `square`, (draw, 1 + column)."""
        z = self._standardized(theta)
        return np.asarray(np.sum(z * self._decorrelated(z), axis=1))

    def gradient(self, theta: Array) -> Array:
        """Return ∂ log p(θ)/∂θ, (outcome, 1 + column), of one θ (outcome, 1 + column)."""
        z = self._standardized(theta[None])
        slope: Array = -self._decorrelated(z)[0]
        slope /= self.scale
        slope[:, 1:] -= slope[:, :1] * self.shift
        return slope

    def precision(self) -> Array:
        """Return the precision matrix of θ raveled, label by label."""
        vectors, columns = self.mean.shape
        within = np.eye(columns)
        correlation = self._decorrelated(np.eye(vectors)[None, :, :])[0]
        out = np.empty((vectors, columns, vectors, columns))
        for k in range(vectors):
            for other in range(vectors):
                # One division after the other, as a product could overflow.
                of_u = correlation[k, other] * within / self.scale[k][:, None] / self.scale[other]
                if self.shift.any():
                    of_u[1:] -= np.outer(self.shift, of_u[0])
                    of_u[:, 1:] -= np.outer(of_u[:, 0], self.shift)
                out[k, :, other] = of_u
        return out.reshape(vectors * columns, -1)

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw θ (draw, outcome, 1 + column); the intercept must not be free."""
        vectors, columns = self.mean.shape
        noise = _noise(rng, (draws, vectors, columns), self.symmetric)
        u = self.mean + self.scale * noise
        u[:, :, 0] += u[:, :, 1:] @ self.shift
        return u

    @property
    def unseen(self) -> UnseenPrior:
        """The prior of the weights of unseen levels."""
        return UnseenPrior(self.unseen_mean, self.unseen_scale, self.symmetric)

    def _standardized(self, theta: Array) -> Array:
        """Return (u − m)/s, (draw, outcome, 1 + column)."""
        z: Array = theta - self.mean
        z[:, :, 0] -= theta[:, :, 1:] @ self.shift
        z /= self.scale
        return z

    def _decorrelated(self, z: Array) -> Array:
        """Multiply by the inverse correlation of the labels, I or 2(I − 11ᵀ/K) with K classes."""
        if not self.symmetric:
            return z
        return np.asarray(2 * (z - z.sum(axis=1, keepdims=True) / (z.shape[1] + 1)))


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


def _noise(rng: np.random.Generator, shape: tuple[int, int, int], symmetric: bool) -> Array:
    """Draw standard normals (draw, outcome, column), of correlation ½ between the labels where that is symmetric.

    The difference of two independent vectors, one of them the reference's, has that correlation.
    """
    draws, vectors, columns = shape
    noise = rng.standard_normal((draws, vectors + 1, columns))
    return np.asarray((noise[:, :-1] - noise[:, -1:]) / np.sqrt(2) if symmetric else noise[:, :-1])


def _numbers(name: str, setting: Setting) -> Array:
    """Return the numbers in a setting of any form."""
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


def _per_column(
    name: str, setting: Setting, default: float, design: LogisticDesign, vectors: int
) -> tuple[Array, Array]:
    """Return a setting as (outcome, column), and for the unseen level of each category as (outcome, category).

    An unseen level has the average of its category's levels; where those are given by one number, that number.
    """
    categories = design.category_names
    if isinstance(setting, Mapping):
        _require_known(name, setting, design)
        cells: Any = [
            float(setting.get(column, setting.get(feature, default)))
            for column, feature in zip(design.names, design.features, strict=True)
        ]
        fallback = [float(setting.get(category, default)) for category in categories]
    else:
        values = _numbers(name, setting)
        if values.ndim and (values.ndim > 2 or values.shape not in ((len(design),), (vectors, len(design)))):
            allowed = f"a number, or an array of shape {(len(design),)} or (outcome, column) = {(vectors, len(design))}"
            raise InputError(f"{name} has shape {values.shape}; it must be {allowed}")
        cells = values
        fallback = [float(values) if values.ndim == 0 else default] * len(categories)
    per_column = np.array(np.broadcast_to(cells, (vectors, len(design))), dtype=float)
    unseen = np.array(np.broadcast_to(fallback, (vectors, len(categories))), dtype=float)
    belongs = np.array(design.features, dtype=object)
    for j, (category, size) in enumerate(zip(categories, design.sizes, strict=True)):
        if size:
            # The levels of a category are adjacent and come after the numbers, which may have the same name.
            columns = np.flatnonzero(belongs == category)[-size:]
            unseen[:, j] = per_column[:, columns].mean(axis=1)
    return per_column, unseen


def with_indicators(given: Mapping[str, float], design: LogisticDesign) -> dict[str, float]:
    """Return scales by name in which "… is missing" has that of its number."""
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


@dataclass(frozen=True, eq=False)
class NormalPrior:
    """N(mean, covariance) of intercept and weights together: what `LogisticRegression.as_prior` passes on.

    It approximates the posterior that it was made of by that posterior's mean and covariance, and belongs to its labels
    and columns: the intercept is the log-odds at the center of *that* fit's columns.

    Attributes
    ----------
    labels
        Names of the classes.
    columns
        The training columns with their levels.
    design
        How rows become columns.
    mean
        (outcome, 1 + column), the intercept first, weights per unit of their column.
    covariance
        Of the mean's entries, label by label, (parameter, parameter).
    khat
        Pareto k̂ of the ratios p(θ | D)/N(θ): the smaller, the nearer the posterior to a normal; above 0.7 it is far.
    unseen
        The prior of the weight of a level that no row so far had.
    """

    labels: tuple[str, ...]
    columns: tuple[Column, ...]
    design: LogisticDesign = field(repr=False)
    mean: Array = field(repr=False)
    covariance: Array = field(repr=False)
    khat: float
    unseen: UnseenPrior = field(repr=False)

    def resolve(self, design: LogisticDesign, vectors: int) -> NormalWeightPrior:
        """Return the prior's numbers per sd of a column; the design must be its own."""
        if design.names != self.design.names or vectors != len(self.mean):
            raise InputError("a posterior as prior belongs to the classes and columns of its fit; give rows with these")
        unit = np.tile(np.concatenate([[1.0], design.scale]), vectors)
        mean = self.mean * unit.reshape(self.mean.shape)
        return NormalWeightPrior(mean, self.covariance * np.outer(unit, unit), self.unseen)


@dataclass(frozen=True, eq=False)
class NormalWeightPrior:
    """A normal of any covariance in numbers, of θ = (intercept, weights) with the weights per sd of a column.

    Attributes
    ----------
    mean
        (outcome, 1 + column), the intercept first.
    covariance
        Of θ raveled, label by label.
    unseen
        Of the weight of a level that the training rows do not have.
    """

    mean: Array
    covariance: Array
    unseen: UnseenPrior
    flat_intercept: ClassVar[bool] = False

    @property
    def shift(self) -> Array:
        """How the intercept of the prior differs from that of θ, per weight (column): not at all."""
        return np.zeros(self.mean.shape[1] - 1)

    @property
    def flat_weights(self) -> NDArray[np.bool_]:
        """Where the prior of a weight is flat, (outcome, column): nowhere."""
        return np.zeros((self.mean.shape[0], self.mean.shape[1] - 1), dtype=bool)

    @property
    def unseen_mean(self) -> Array:
        """Mean of the weight of an unseen level, (outcome, category)."""
        return self.unseen.mean

    def log_density(self, theta: Array) -> Array:
        """Return log p(θ), shape (draw), of θ (draw, outcome, 1 + column)."""
        z = linalg.solve_triangular(self._root, (theta - self.mean).reshape(len(theta), -1).T, lower=True)
        constant = -0.5 * self.mean.size * LOG_2_PI - np.log(np.diag(self._root)).sum()
        return np.asarray(constant - 0.5 * np.sum(z**2, axis=0))

    def gradient(self, theta: Array) -> Array:
        """Return ∂ log p(θ)/∂θ, (outcome, 1 + column), of one θ (outcome, 1 + column)."""
        return np.asarray(-(self._precision @ (theta - self.mean).ravel()).reshape(theta.shape))

    def precision(self) -> Array:
        """Return the precision matrix of θ raveled, label by label."""
        return self._precision

    def draw(self, rng: np.random.Generator, draws: int) -> Array:
        """Draw θ (draw, outcome, 1 + column)."""
        z = rng.standard_normal((draws, self.mean.size))
        return np.asarray(self.mean + (z @ self._root.T).reshape(draws, *self.mean.shape))

    @cached_property
    def _root(self) -> Array:
        """The lower triangular root of the covariance."""
        return np.linalg.cholesky(self.covariance)

    @cached_property
    def _precision(self) -> Array:
        inverse = linalg.solve_triangular(self._root, np.eye(len(self._root)), lower=True)
        return np.asarray(inverse.T @ inverse)
