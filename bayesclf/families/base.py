"""What every family provides: a class-conditional density P(x_block | y) with prior, statistics and posterior.

One frozen object is both a block's prior and, after `posterior`, its posterior. Parameters are plain arrays with a
leading draw axis. So a point estimate is a posterior of one hypothesis, and every rule treats both in the same way.
`require_positive`, `require_choice` and `broadcast` check the hyperparameters that users give, `require_each` the data
that an estimate needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import compress
from typing import Any, ClassVar, Protocol, Self, cast

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Choice, Number, OrNone, require
from bayesclf.display import Concise
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families.page_tables import PageVariable
from bayesclf.families.prior_lines import PriorLine
from bayesclf.families.terms import Contributions, Density, LinearDesign, LinearTerms, Pair, difference, each
from bayesclf.tables.columns import MISSING
from bayesclf.tables.numbers import LARGEST, SMALLEST

LOCATION = OrNone(Number(least=-LARGEST, most=LARGEST, array=True))
SCALE = OrNone(Number(least=SMALLEST, most=LARGEST, array=True))
VARIANCE = OrNone(Number(least=1e-200, most=1e200, array=True))
"""What a given location, scale or variance of a column may be: what those of rows are, whose magnitudes are bounded."""

SHARED, BY_COLUMN = ((), ("outcome",)), ((), ("outcome",), ("feature",), ("level",), ("bin",))
"""Axes of parameters that all columns share, and last axes of those of families whose columns are independent."""

LOST = 1e-6
"""Least share of a sum that must remain without a row: below it the difference loses six of sixteen digits."""


@dataclass(frozen=True)
class Support:
    """The numbers that a column of a family can have.

    `limits`: Conditions on cells, elementwise, and what to say of the first cell that fails one. `whole`: Whether they
    are whole numbers, with masses rather than a density. `blank`: What stands for a missing cell where its value must
    be a number.
    """

    limits: tuple[tuple[Callable[[Array], NDArray[np.bool_]], str], ...] = ()
    whole: bool = False
    blank: float = 0.0

    def holds(self, X: Array) -> NDArray[np.bool_]:
        """Return which cells the family can have; a missing one is not among them."""
        return np.asarray(np.logical_and.reduce([np.isfinite(X), *(limit(X) for limit, _ in self.limits)]))

    def read(self, X: Array, axes: Axes, name: str) -> tuple[Array, Array]:
        """Return whether cells (row, feature) are observed, 0 or 1, and their values; raise for what cannot be."""
        observed = ~np.isnan(X)
        values = np.where(observed, X, self.blank)
        for limit, reason in self.limits:
            if not (holds := limit(values)).all():
                row, feature = np.argwhere(~holds)[0]
                cell = f"column {axes.features[feature]!r} has {X[row, feature]:g} in row {row + 1}"
                raise InputError(f"{cell}, {reason.format(name=name)} for it")
        return observed.astype(float), values


MOST_EVENTS = 2.0**53
"""Largest count: above it floating-point numbers are no longer all whole numbers."""

_AT_LEAST_0 = (
    lambda X: X >= 0,
    "but the family {name!r} is for numbers of at least 0; use the family 'gaussian'",
)
NUMBERS, NOT_NEGATIVE = Support(), Support((_AT_LEAST_0,))
POSITIVE = Support(
    (_AT_LEAST_0, (lambda X: X > 0, "but the family {name!r} is for numbers above 0; use the family 'hurdle'")),
    blank=1.0,  # whose logarithm is 0
)
EVENTS = Support(
    (
        (lambda X: X <= MOST_EVENTS, "which is too large for a count of events; use the family 'gaussian'"),
        (
            lambda X: (X >= 0) & (np.floor(X) == X),
            "but events are whole numbers of at least 0; use the family 'gaussian'",
        ),
    ),
    whole=True,
)


@dataclass(frozen=True)
class Axes:
    """The coordinates of a block's arrays, in the axis words.

    Attributes
    ----------
    labels
        Names of the classes.
    features
        Names of the block's features.
    levels
        For discrete families, the values of each feature, one tuple per feature.
    """

    labels: tuple[str, ...]
    features: tuple[str, ...]
    levels: tuple[tuple[Hashable, ...], ...] = ()

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each feature."""
        return tuple(len(values) for values in self.levels)

    def pooled(self) -> Axes:
        """Return the axes with one label for all rows."""
        return replace(self, labels=("all",))

    def select(self, features: NDArray[np.bool_]) -> Axes:
        """Return the axes of some of the features."""
        if features.all():
            return self
        return Axes(self.labels, tuple(compress(self.features, features)), tuple(compress(self.levels, features)))

    def labels_in(self, wider: Axes) -> list[int]:
        """Return the position of each label among those of wider axes."""
        return [wider.labels.index(label) for label in self.labels]

    @property
    def values(self) -> list[tuple[str, Hashable]]:
        """Each level with its feature, those of all features in a row."""
        return [(name, level) for name, own in zip(self.features, self.levels, strict=True) for level in own]

    def levels_in(self, wider: Axes) -> list[int]:
        """Return the position of each of `values` among those of wider axes."""
        place = {value: position for position, value in enumerate(wider.values)}
        return [place[value] for value in self.values]

    def occurring(self, counts: Array) -> NDArray[np.bool_]:
        """Return whether any level of each feature has a count (level), (feature)."""
        # A column that is empty in all rows so far has no level, which reduceat cannot express.
        total, ends = np.concatenate([[0.0], np.cumsum(counts)]), np.cumsum((0, *self.sizes))
        return np.asarray(total[ends[1:]] > total[ends[:-1]])

    def moved(self, values: Array, wider: Axes) -> Array:
        """Return (outcome, feature or level, …) on axes with more of these, where the values are 0."""
        if self == wider:
            return values
        place = {name: position for position, name in enumerate(wider.features)}
        places, width = [place[name] for name in self.features], len(place)
        if wider.levels:
            places, width = self.levels_in(wider), sum(wider.sizes)
        out = np.zeros((len(wider.labels), width, *values.shape[2:]))
        out[np.ix_(self.labels_in(wider), places)] = values
        return out


class Statistics:
    """Sufficient statistics of a block, a frozen dataclass of axes and arrays. The statistics of two data sets add up.

    The defaults are those of sums over rows, (outcome, feature), or (outcome, level) where features have levels.
    """

    axes: Axes

    @classmethod
    def of(cls, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Return the statistics of rows `X` (row, feature) with label codes `y` (row), unless a family makes them."""
        raise NotImplementedError

    def __add__(self, other: Self) -> Self:
        pairs = zip(self._named().values(), other._named().values(), strict=True)
        return type(self)(self.axes, *(one + another for one, another in pairs))  # type: ignore[call-arg]

    def pooled(self) -> Self:
        """Return the statistics of all rows under one label."""
        return self.mapped(self.axes.pooled(), lambda values: values.sum(axis=0, keepdims=True))

    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the statistics of some of the features."""
        own = np.repeat(features, self.axes.sizes) if self.axes.levels else features
        return self if features.all() else self.mapped(self.axes.select(features), lambda values: values[:, own])

    def reindex(self, axes: Axes) -> Self:
        """Return the same statistics on axes with additional labels, features or levels, which have no rows."""
        return self.mapped(axes, lambda values: self.axes.moved(values, axes))

    def widened(self, axes: Axes, rows: Array) -> Self:
        """Return the same on such axes, given the weight of the rows of each label so far, (outcome).

        It differs from `reindex` where rows without a feature count for it, as documents without a word do.
        """
        return self.reindex(axes)

    @classmethod
    def beside(cls, axes: Axes, parts: Sequence[Self]) -> Self:
        """Return the statistics of all features from those of each."""
        columns = ([getattr(part, own.name) for part in parts] for own in fields(cast("Any", cls))[1:])
        return cls(
            axes,
            *(type(own[0]).beside(axes, own) if isinstance(own[0], Statistics) else np.hstack(own) for own in columns),
        )  # type: ignore[call-arg]

    def level_counts(self) -> list[tuple[str, tuple[Hashable, ...], Array]]:
        """Return the name, the levels and the weight of the rows of each level (level), of each column with levels."""
        return []

    def centre(self) -> Array:
        """Return where each column, or level, of a linear classifier is 0: the mean of numbers, and 0 of others.

        Counts are measured from 0 too, as their statistics do not say how many documents there were.
        """
        return np.zeros(sum(self.axes.sizes) or len(self.axes.features))

    def constant_features(self) -> list[str]:
        """Return the columns with one value only, as far as the statistics tell."""
        return [name for name, _, counts in self.level_counts() if np.count_nonzero(counts) < 2]

    def labeled(self, labels: tuple[str, ...]) -> Self:
        """Return the same statistics with other names of the classes."""
        return self.mapped(replace(self.axes, labels=labels), lambda values: values)

    def arrays(self) -> dict[str, Array]:
        """Return the arrays by name as floating-point numbers, for comparison and inspection."""
        return {name: np.asarray(values, dtype=float) for name, values in self._named().items()}

    def _named(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(cast("Any", self)) if field.name != "axes"}

    def mapped(self, axes: Axes, function: Callable[[Array], Array]) -> Self:
        """Return statistics on other axes, each array by a function of this one's, also those of parts."""
        parts = [v.mapped(axes, function) if isinstance(v, Statistics) else function(v) for v in self._named().values()]
        return type(self)(axes, *parts)  # type: ignore[call-arg]


class Family[S: Statistics](Concise, ABC):
    """A class-conditional family, P(x_block | y = k), a frozen dataclass; `self` holds the hyperparameters.

    Methods with a default here are optional; where a family has no such quantity, the default refuses and says why.

    Attributes
    ----------
    name
        Its name in `bayesclf.families.FAMILIES`.
    kind
        What its columns hold: ``"number"``, floats with NaN where missing; ``"count"``, numbers without missing
        cells; ``"category"``, level codes with a negative one where missing or unseen; or ``"mixed"``, both as floats,
        the categories being the features that have levels.
    axes
        The block's coordinates, set by `resolve_prior`.
    statistics_type
        The class of its statistics.
    support
        Of columns of numbers, which ones they can have.
    reads_numbers
        Whether `statistics` takes `bayesclf.tables.numbers.Numbers` too, which it reads a few rows at a time.
    """

    statistics_type: ClassVar[type[Statistics]]
    support: ClassVar[Support] = NUMBERS
    reads_numbers: ClassVar[bool] = False
    _no_pymc: ClassVar[str] = "this family has no PyMC model; use inference='exact', not 'nuts'"
    """Why it has none, and what to take, where it sums over discrete parameters, which NUTS lacks."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in the registry."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """What its columns hold."""

    @property
    @abstractmethod
    def axes(self) -> Axes:
        """The block's coordinates."""

    def statistics(self, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> S:
        """Return the sufficient statistics of rows `X` (row, feature) with label codes `y` (row)."""
        return cast("S", self.statistics_type.of(X, y, axes, sample_weight))

    @abstractmethod
    def resolve_prior(self, statistics: S) -> Self:
        """Return the prior in numbers: what was given, the rest from the pooled statistics."""

    def select(self, features: NDArray[np.bool_]) -> Self:
        """Return the resolved family of some of the features, which have hyperparameters of their own."""
        own: Any = self
        parts = {field.name: _part(getattr(own, field.name), features, self._sizes) for field in fields(own)}
        return cast("Self", replace(own, **parts))

    @property
    def _sizes(self) -> tuple[int, ...]:
        """Lengths of the parts of arrays that belong to one feature each; none where it is one number."""
        return self.axes.sizes

    def informative(self, statistics: S) -> NDArray[np.bool_]:
        """Return, for each feature, whether it can be informative about the label."""
        return np.ones(len(statistics.axes.features), dtype=bool)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return pairs of columns that depend on each other given the class; they join columns in groups."""
        return ()

    @property
    def likelihood(self) -> str:
        """The distribution of the block's features given the class, with the names of its parameters."""
        return self.name

    def priors(self) -> list[PriorLine]:
        """Return these hyperparameters in words, the features measured in the units of the axes."""
        return []

    def remarks(self, statistics: S) -> list[str]:
        """Return what of this prior the rows have chosen, in sentences that begin with what it is."""
        return []

    @abstractmethod
    def mle(self, statistics: S) -> Parameters:
        """Return the maximum likelihood estimate, or raise `DoesNotExist`."""

    @abstractmethod
    def map(self, statistics: S) -> Parameters:
        """Return the mode of the posterior in the user's own parameters, or raise `DoesNotExist`."""

    def not_conjugate(self, statistics: S) -> str:
        """Return why the posterior has no closed form, as a clause; empty where it has one."""
        return ""

    def alternation(self, statistics: S, chains: int) -> Alternation:
        """Return how data augmentation samples the posterior, where that has a closed form given all cells.

        Raises `Refused` for rows whose missing cells cannot be drawn.
        """
        raise Refused(f"the posterior of the family {self.name!r} has no closed form given all cells")

    @abstractmethod
    def posterior(self, statistics: S) -> Self:
        """Return the exact posterior: the same family with updated hyperparameters; or raise `Refused`."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw independent parameters from these hyperparameters."""

    @abstractmethod
    def mean(self) -> Parameters:
        """Return the expectation of the parameters under these hyperparameters, or raise `DoesNotExist`."""

    def pymc(self, statistics: S, suffix: str) -> None:
        """Add the block's random variables to the open PyMC model; they observe the statistics."""
        raise Refused(self._no_pymc)

    def page(self, X: Any, row: Any, suffix: str) -> None:
        """Add the block's variables to the open PyMC model, prior and rows, by the functions of `bayesclf.pymc_models`.

        Parameters
        ----------
        X : table or array of shape (row, feature)
            The rows in the family's encoding, (row, feature).
        row : TensorVariable
            The class of each row.
        suffix : str
            What is added to the names.
        """
        raise Refused(self._no_pymc)

    def page_variables(self, suffix: str) -> list[PageVariable]:
        """Return the free variables of `page` that are not parameters."""
        return []

    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return the parameters from draws (draw, ...) of the variables of `pymc` or `page`, by default by name."""
        if type(self).pymc is Family.pymc:
            raise Refused(self._no_pymc)
        return {name: draws[f"{name}{suffix}"] for name in self.dims()}

    @abstractmethod
    def log_density(self, X: Any, parameters: Parameters) -> Array:
        """Return log p(x | y, θ), shape (draw, row, outcome); missing cells are integrated out."""

    def log_density_given(self, parameters: Parameters) -> Callable[[Any], Array]:
        """Return the function from rows to `log_density`, for many few rows: it can compute once what rows share."""
        return partial(self.log_density, parameters=parameters)

    def in_columns(self, parameters: Parameters) -> tuple[Callable[[Any], Array], Array] | None:
        """Return log p(x | y, θ), up to what all classes share, as columns times coefficients.

        Columns are a function of cells, (row, column), the first is 1, and trailing ones that are 0 may be omitted.
        Coefficients are (column, outcome, draw). It is None where there are no such columns, or rounding would show.
        """
        return None

    @abstractmethod
    def log_predictive(self, X: Any) -> Array:
        """Return log ∫ p(x | y, θ) p(θ) dθ under these hyperparameters, shape (row, outcome)."""

    def log_predictive_without(self, X: Any, y: Integers) -> Array:
        """Return log p(x_i | k, all rows but i), (row, outcome), NaN without a closed form; (row, 1) if no row has one.

        The hyperparameters of a conjugate posterior are sums over rows, so that a row is left out by subtracting its
        term; only the hyperparameters of its own class change, and those that classes share. All rows are treated at
        once. `self` is the posterior given all rows.

        Parameters
        ----------
        X : table or array of shape (row, feature)
            The training rows in the family's encoding (row, feature), each of weight 1.
        y : array of int
            Their label codes (row).
        """
        return np.full((len(y), 1), np.nan)

    def _with_own(self, X: Any, y: Integers, own: Array) -> Array:
        """Return the predictive (row, outcome), with the values `own` (row) for the class of each row."""
        out = np.array(self.log_predictive(X))
        out[np.arange(len(y)), y] = own
        return out

    def _log_normalizer(self) -> Array:
        """Return log Z, the integral of the prior's unnormalized density, for each part, (group, part).

        A part has parameters of its own: a feature, or the whole block, where the last axis is 1. Z leaves out the
        same constants as `_log_base`; the first axis is that of the classes, or has length 1.
        """
        raise Refused(f"the evidence of the family {self.name!r} has no closed form here")

    def _log_base(self, statistics: S) -> Array | float:
        """Return the factor of the likelihood that no parameter enters, in the shape of `_log_normalizer`."""
        return 0.0

    def log_evidence(self, statistics: S) -> Array:
        """Return log ∫ Π_rows p(x | y, θ) p(θ) dθ of the rows in their order, part by part, (part).

        It is log Z of the posterior less log Z of the prior. Evidence of models is comparable where the priors are
        explicit and proper; a prior that was set from the same rows uses them twice.

        Raises
        ------
        Refused
            For a family without a closed form.
        """
        after = self.posterior(statistics)._log_normalizer()  # noqa: SLF001
        return np.asarray((after - self._log_normalizer() + self._log_base(statistics)).sum(axis=0))

    def log_prior(self, parameters: Parameters) -> Density:
        """Return the log density of draws (draw, …) under these hyperparameters, by parts that are independent."""
        raise Refused(f"the prior of a block of {type(self).__name__} has discrete or learned parts")

    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """Return the terms of the block's log density that depend on the class.

        Raises
        ------
        Refused
            If the family's log-odds are not linear; the message says why.

        References
        ----------
        Mitchell, eqs 16 to 22 (of the opposite sign) and exercise 3; CS4780 (naive Bayes as a linear classifier).
        """
        raise Refused(f"{design} is of the family {self.name!r}, whose log-odds are not a sum over single columns")

    def contributions(self, X: Any, parameters: Parameters, pair: Pair) -> Contributions:
        """Return the terms of the block's log-odds: one for each column, or for the block whose columns share any.

        Parameters
        ----------
        X : table or array of shape (row, feature)
            Encoded cells (row, feature), dense or sparse. A missing cell is integrated out and contributes 0.
        parameters : Parameters
            With a leading draw axis.
        pair : Pair
            The two classes of each row.
        """
        axes, rows, dims = self.axes, np.arange(X.shape[0]), self.dims()

        def log_odds(family: Self, X: Any, parameters: Parameters) -> Array:
            """Return those of rows, (draw, row, 1)."""
            log_density = family.log_density(X, parameters)
            return difference(*(log_density[:, rows, codes, None] for codes in pair))

        if self.pairs() or not all(own[-1:] in BY_COLUMN for own in dims.values()):
            return Contributions.of_rows((axes.features,), log_odds(self, X, parameters))
        terms = [np.empty((len(next(iter(parameters.values()))), len(rows), 0))]
        for one in np.eye(len(axes.features), dtype=bool):
            own = {
                name: values if dims[name] in SHARED else _part(values, one, self._sizes)
                for name, values in parameters.items()
            }
            terms.append(log_odds(self.select(one), X[:, one], own))
        return Contributions.of_rows(each(axes.features), np.concatenate(terms, axis=2))

    @abstractmethod
    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> NDArray[Any]:
        """Draw rows x given labels `y` (row) from one hypothesis (draw axis of length 1)."""

    @abstractmethod
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of each parameter, the draw axis left out."""

    def unobserved(self) -> Any:
        """Return the cells, one for all features or (feature), that are summed out."""
        return MISSING if self.kind == "category" else np.nan

    def coords(self) -> dict[str, Any]:
        """Return the names along each axis except the labels'; levels, "feature=value", also in their two parts."""
        axes, own = self.axes, {axis for dims in self.dims().values() for axis in dims} - {"outcome"}
        if not axes.levels:
            return {axis: list(axes.features) for axis in sorted(own)}
        by_feature = {"feature": list(axes.features)} if "feature" in own else {}
        return by_feature | {
            "level": [f"{name}={value}" for name, value in axes.values],
            "level_feature": ("level", [name for name, _ in axes.values]),
            "level_value": ("level", [str(value) for _, value in axes.values]),
        }


def _part(value: Any, features: NDArray[np.bool_], sizes: tuple[int, ...]) -> Any:
    """Return the part of some features of what a family has in a field."""
    if isinstance(value, np.ndarray):
        own = np.repeat(features, sizes) if sizes else features
        return value if value.shape[-1] == 1 else value[..., own]  # 1 is for what features share
    if isinstance(value, tuple):
        return tuple(_part(one, features, sizes) for one in value)
    return value.select(features) if isinstance(value, Axes | Family) else value


def joined(features: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return pairs that join all features: the first with each other one."""
    return tuple((features[0], other) for other in features[1:])


def require_positive(**given: object) -> None:
    """Raise `InputError` for the first value that is neither None nor positive and finite."""
    require(Number(above=0, array=True), **{name: value for name, value in given.items() if value is not None})


def require_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise `InputError` for a value that is not among the choices."""
    require(Choice(choices), **{name: value})


def require_each(holds: NDArray[np.bool_], axes: Axes, lacks: str, why: str = "") -> None:
    """Raise `DoesNotExist` for the first class and feature, (outcome, feature), for which a condition does not hold.

    The message is that the class `lacks` something in the column, and `why` it matters.
    """
    if not holds.all():
        label, feature = np.argwhere(~holds)[0]
        raise DoesNotExist(f"class {axes.labels[label]!r} {lacks} in column {axes.features[feature]!r}{why}")


def broadcast(name: str, value: float | Array, shape: tuple[int, ...], axes: str = "") -> Array:
    """Return a hyperparameter as an array of this shape, or raise `InputError` that names it and the axes."""
    require(Number(array=True), **{name: value})
    try:
        return np.array(np.broadcast_to(np.asarray(value, dtype=float), shape))
    except ValueError:
        what = f"({axes}) = {shape}" if axes else f"{shape}"
        raise InputError(f"{name} has shape {np.shape(value)}, which does not broadcast to {what}") from None


def in_numbers(family: Any, shape: tuple[int, ...], axes: str = "outcome, feature", **default: Any) -> dict[str, Any]:
    """Return hyperparameters of a family as arrays of this shape: what it has, and where that is None the defaults."""
    own = {name: value if getattr(family, name) is None else getattr(family, name) for name, value in default.items()}
    return {name: broadcast(name, value, shape, axes) for name, value in own.items()}


class Alternation(Protocol):
    """Draws of missing cells given parameters, and of parameters given completed cells, for several chains at once.

    A state has arrays (chain, …) by name: the parameters that the missing cells depend on.

    See Tanner and Wong (1987), *The calculation of posterior distributions by data augmentation*, JASA 82.
    """

    def start(self, rng: np.random.Generator) -> Parameters:
        """Draw where the chains start, farther apart than the posterior is wide."""

    def step(self, state: Parameters, rng: np.random.Generator) -> Parameters:
        """Draw the missing cells given a state, and the next state given the completed cells."""

    def parameters(self, states: Parameters) -> Parameters:
        """Return the family's parameters (draw, …) from states of single chains (draw, …)."""
