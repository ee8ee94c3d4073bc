"""Logistic regression whose rows are elsewhere: sums over them are made part by part, whenever they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, override

import numpy as np

from bayesclf.errors import DoesNotExist, Refused
from bayesclf.models.logistic.centered import Matrix
from bayesclf.models.logistic.identifiability import collinear_by_root
from bayesclf.models.logistic.learned_model import LearnedPowerModel, LearnedScaleModel
from bayesclf.models.logistic.learned_scale import LearnedScale
from bayesclf.models.logistic.likelihood import CodedLikelihood, LogPosterior
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.newton import CONVERGED, Look, Optimum, Search, answered, newton_steps
from bayesclf.models.logistic.prior import LogisticPrior
from bayesclf.models.logistic.scale_grid import NODE_CONVERGED, Node, Starts, evidence_from, mode
from bayesclf.models.logistic.scale_prior import ScaledWeightPrior
from bayesclf.typing import Array, Integers
from bayesclf.wording import counted

if TYPE_CHECKING:
    import pymc as pm

ALIKE = "over batches weights are normal given their learned scale; leave shape out, or fit in memory"
"""Why shapes of `LearnedScale` are refused over batches."""

KEPT_BYTES = 2**28
"""Bytes of Hessians that are kept, so that no pass is made for one that is requested again."""

IN_MEMORY = (
    "a model that was fitted to batches does not hold its rows, which {what} needs all at once; fit it in memory, or a "
    "generative model to batches"
)
"""Why something is refused."""
NO_NUTS = (
    "NUTS and models of PyMC need all rows at once, which a model that is fitted to batches does not hold; fit in "
    "memory, or take inference='map' and rules of a point"
)
SAME = 1e-9
"""Largest difference of moments of the same standardized rows."""

type Sums = tuple[Array, ...]
"""What is summed over the parts of the rows."""


class Parts(Protocol):
    """The rows of a table, in parts, which may be read again for each sum."""

    def summed(self, work: Callable[[CodedLikelihood], Sums], add: Callable[[Sums, Sums], Sums] | None = None) -> Sums:
        """Return what a function returns for each part, added up; both can be pickled, and the default adds numbers."""


def values_of(theta: Array, part: CodedLikelihood) -> Sums:
    """Return the log likelihoods of each θ (draw, outcome, column), shape (draw)."""
    return (part.values(theta),)


def derivatives_of(thetas: Array, part: CodedLikelihood) -> Sums:
    """Return log likelihood, gradient and minus the Hessian of each θ (search, outcome, column)."""
    found = [part.derivatives(theta) for theta in thetas]
    return np.array([one[0] for one in found]), np.array([one[1] for one in found]), np.array([one[2] for one in found])


@dataclass(frozen=True, eq=False)
class StreamedLikelihood:
    """The conditional likelihood of rows that are elsewhere; as `Likelihood`, each look at it a pass over the rows.

    Attributes
    ----------
    parts
        The rows.
    """

    parts: Parts
    _kept: dict[bytes, tuple[float, Array, Array]] = field(default_factory=dict)

    def value(self, theta: Array) -> float:
        """Return the log likelihood."""
        return self.derivatives(theta)[0]

    def values(self, theta: Array) -> Array:
        """Return the log likelihood of each θ (draw, outcome, column), shape (draw)."""
        (found,) = self.parts.summed(partial(values_of, theta))
        return found

    def gradient(self, theta: Array) -> tuple[float, Array]:
        """Return the log likelihood and its gradient (outcome, column)."""
        return self.derivatives(theta)[:2]

    def derivatives(self, theta: Array) -> tuple[float, Array, Array]:
        """Return log likelihood, gradient (outcome, column) and minus the Hessian of θ raveled."""
        return self.derivatives_of_all([theta])[0]

    def derivatives_of_all(self, thetas: Sequence[Array]) -> list[tuple[float, Array, Array]]:
        """Return the same for several θ, by one pass."""
        new = {theta.tobytes(): theta for theta in thetas if theta.tobytes() not in self._kept}
        if new:
            found = self.parts.summed(partial(derivatives_of, np.array(list(new.values()))))
            for key, value, slope, curvature in zip(new, *found, strict=True):
                self._kept[key] = float(value), slope, curvature
        answers = [self._kept[theta.tobytes()] for theta in thetas]
        most = max(KEPT_BYTES // (8 * answers[0][2].size), len(thetas))
        while len(self._kept) > most:
            self._kept.pop(next(iter(self._kept)))
        return answers


def together[T](searches: Sequence[Search[T]], objectives: Sequence[LogPosterior], rows: StreamedLikelihood) -> list[T]:
    """Return what several searches find, which look at the rows together: as many passes as the longest takes."""
    found: dict[int, T] = {}
    looks: dict[int, Look] = {place: next(search) for place, search in enumerate(searches)}
    while looks:
        seen = rows.derivatives_of_all([look.theta for look in looks.values()])
        ahead: dict[int, Look] = {}
        for (place, look), own in zip(looks.items(), seen, strict=True):
            try:
                ahead[place] = searches[place].send(objectives[place].with_prior(look.theta, own))
            except StopIteration as end:
                found[place] = end.value
        looks = ahead
    return [found[place] for place in range(len(searches))]


def optimum(found: Optimum) -> Array:
    """Return θ, or raise `Refused` for a search that has not converged."""
    if not (found.converged or found.at_rounding):
        raise Refused("the posterior mode was not found over batches; take a smaller prior_scale, or fit in memory")
    return found.theta


@dataclass(frozen=True, eq=False, repr=False)
class RowsElsewhere(LogisticModel):
    """What models have in common whose own rows are none.

    Parameters
    ----------
    labels, design, X, y, sample_weight, prior
        As of `LogisticModel`, without rows.
    label_weights
        Weight of each class, (outcome).
    mean
        Mean of each column over the rows, (column).
    root
        R with RᵀR the covariance of the columns over the rows, (column, column).
    theta
        The posterior mode, (outcome, 1 + column), weights per sd; empty until it is known.
    """

    label_weights: Array
    mean: Array
    root: Array
    theta: Array

    def __repr__(self) -> str:
        labels, columns = counted(len(self.labels), "class", "classes"), counted(len(self.mean), "column")
        return f"{type(self).__name__}({labels}, rows of weight {self.label_weights.sum():,.6g}, {columns})"

    @property
    def is_fitted(self) -> bool:
        """Whether the mode is known, so that the rows are no longer needed."""
        return bool(self.theta.size)

    def over(self, parts: Parts) -> Self:
        """Return the same model with its rows."""
        model = replace(self)
        vars(model)["_likelihood"] = StreamedLikelihood(parts)
        return model

    @property
    @override
    def label_counts(self) -> Array:
        """Weight of the training rows of each label (outcome)."""
        return self.label_weights

    @property
    @override
    def column_totals(self) -> Array:
        """Weighted sum of each column over the training rows (column)."""
        return self.label_weights.sum() * self.mean

    @override
    def of_rows(self, X: Matrix, y: Integers, sample_weight: Array) -> LogisticModel:
        """Return the model with the same columns and prior, of rows that it holds."""
        kind = next(one for one in (LearnedPowerModel, LearnedScaleModel, LogisticModel) if isinstance(self, one))
        return kind(self.labels, self.design, X, y, sample_weight, self.prior)

    @override
    def require_rows(self) -> NoReturn:
        """Raise `Refused`, as the rows are elsewhere."""
        raise Refused(IN_MEMORY.format(what="this"))

    def has_moments_of(self, X: Array) -> bool:
        """Return whether rows (row, column), standardized, have the moments of the training rows."""
        mean = X.mean(axis=0)
        centered = X - mean
        covariance = centered.T @ centered / len(X)
        return bool(np.allclose(mean, self.mean, 0, SAME) and np.allclose(covariance, self.root.T @ self.root, 0, SAME))

    @cached_property
    @override
    def _likelihood(self) -> Any:
        raise Refused(IN_MEMORY.format(what="this"))

    @override
    def improper(self) -> str:
        """Return why the posterior cannot be normalized: with a flat prior it may be so, which is not looked for."""
        if self.weight_prior.flat_intercept or self.weight_prior.flat_weights.any():
            return "over batches a flat prior is not allowed; take a finite prior_scale and intercept_scale"
        return ""

    @override
    def mle(self) -> NoReturn:
        """Raise, as whether there is a maximum would need all rows."""
        raise DoesNotExist(IN_MEMORY.format(what="maximum likelihood"))

    @override
    def collinear(self) -> tuple[str, ...]:
        """Return the features whose weights the likelihood does not determine, by the moments of the columns."""
        return collinear_by_root(self.design, self.mean, self.root)

    @override
    def _whitened(self, *_: Any) -> NoReturn:
        raise Refused(NO_NUTS)

    @override
    def pymc(self) -> pm.Model:
        """Raise, as the model observes rows."""
        raise Refused(NO_NUTS)

    def _found_mode(self, objective: LogPosterior, start: Array) -> Array:
        """Return the mode, searched for by Newton's method."""
        return optimum(answered(newton_steps(start, converged=CONVERGED), objective))


@dataclass(frozen=True, eq=False, repr=False)
class StreamedModel(RowsElsewhere, LogisticModel):
    """`LogisticModel` of rows that are elsewhere; its parameters are those of `RowsElsewhere`."""

    @cached_property
    @override
    def _mode(self) -> Array:
        if self.is_fitted:
            return self.theta
        if reason := self.improper():
            raise DoesNotExist(reason)
        objective, start = self.objective("map")
        assert isinstance(objective, LogPosterior)
        return self._found_mode(objective, start)

    def without_rows(self) -> StreamedModel:
        """Return the model with its mode, and no way to its rows."""
        return replace(self, theta=self._mode)


@dataclass(frozen=True, eq=False, repr=False)
class StreamedScaleModel(RowsElsewhere, LearnedScaleModel):
    """`LearnedScaleModel` of rows that are elsewhere; its parameters are those of `RowsElsewhere` and one more.

    Parameters
    ----------
    log_scale
        The mode of log s, where θ is known.
    """

    log_scale: float = 0.0

    @cached_property
    @override
    def scale_prior(self) -> ScaledWeightPrior:
        """The prior of the scale, and of the weights given it, in numbers."""
        assert isinstance(self.prior.prior_scale, LearnedScale)  # type: ignore[union-attr]
        # rows of the same covariance, with mean 0
        half = np.sqrt(len(self.root)) * self.root
        rows = np.concatenate([half, -half])
        return ScaledWeightPrior.of(self.prior, self.design, len(self.labels) - 1, (rows, np.ones(len(rows))))  # type: ignore[arg-type]

    @override
    def nodes(self, starts: Starts) -> list[Node]:
        """Return the evidences of several scales, whose modes are searched for together."""
        return nodes_together(self._likelihood, [self], [starts])[0]

    @override
    def node(self, log_scale: float, start: Array) -> Node:
        """Return the evidence of one scale."""
        return self.nodes([(log_scale, start)])[0]

    @cached_property
    @override
    def best(self) -> Node:
        """The mode of log s given D."""
        if self.is_fitted:
            return Node(self.log_scale, self.theta, np.nan)
        top = mode(self.nodes, self.scale_grid)
        return replace(top, theta=self._found_mode(self.objective_at(top.log_scale), top.theta))

    def without_rows(self) -> StreamedScaleModel:
        """Return the model with its mode, and no way to its rows."""
        return replace(self, theta=self.best.theta, log_scale=self.best.log_scale)


def nodes_together(
    rows: StreamedLikelihood, members: Sequence[StreamedScaleModel], starts: Sequence[Starts]
) -> list[list[Node]]:
    """Return the evidences of several scales of each of several models of the same rows, all by the same passes."""
    asked = [(member, *start) for member, own in zip(members, starts, strict=True) for start in own]
    objectives = [member.objective_at(log_scale) for member, log_scale, _ in asked]
    searches = [newton_steps(start, converged=NODE_CONVERGED) for _, _, start in asked]
    modes = [optimum(found) for found in together(searches, objectives, rows)]
    found: list[Node] = []
    for (member, log_scale, _), objective, theta, look in zip(
        asked, objectives, modes, rows.derivatives_of_all(modes), strict=True
    ):
        value, _, curvature = objective.with_prior(theta, look)
        log_prior = float(member.scale_prior.settings.log_density(np.array(log_scale)))
        found.append(Node(log_scale, theta, evidence_from(value, curvature) + log_prior))
    every = iter(found)
    return [[next(every) for _ in own] for own in starts]


@dataclass(frozen=True, eq=False, repr=False)
class StreamedPowerModel(RowsElsewhere, LearnedPowerModel):
    """`LearnedPowerModel` of rows that are elsewhere; its parameters are those of `StreamedScaleModel` and one more.

    Parameters
    ----------
    log_scale
        The mode of log s given the most probable λ, where θ is known.
    place
        Which λ that is.
    """

    log_scale: float = 0.0
    place: int = 0

    @cached_property
    @override
    def members(self) -> tuple[StreamedScaleModel, ...]:
        """The models with one λ each, of which the most probable one knows its mode if this one does."""
        settings: Any = self.prior.prior_scale  # type: ignore[union-attr]
        none, found = np.empty((0, 0)), []
        for place, power in enumerate(settings.powers):
            prior: Any = replace(self.prior, prior_scale=settings.of_one_power(power))
            moments = self.label_weights, self.mean, self.root
            theta = self.theta if place == self.place else none
            own = (self.labels, self.design, self.X, self.y, self.sample_weight, prior, *moments)
            found.append(StreamedScaleModel(*own, theta, self.log_scale))
        return tuple(found)

    @override
    def over(self, parts: Parts) -> StreamedPowerModel:
        """Return the same model with its rows, which the members look at together."""
        model = super().over(parts)
        for member in model.members:
            vars(member)["_likelihood"] = vars(model)["_likelihood"]
        return model

    @property
    @override
    def chosen(self) -> LearnedScaleModel:
        """The model with the most probable λ."""
        return self.members[self.place] if self.is_fitted else super().chosen

    @override
    def nodes_of_members(self, starts: Sequence[Starts]) -> list[list[Node]]:
        """Return the evidences of several scales of each of the members, whose modes are searched for together."""
        return nodes_together(self._likelihood, self.members, starts)

    def without_rows(self) -> StreamedPowerModel:
        """Return the model with its mode, and no way to its rows."""
        chosen = self.chosen
        place = next(place for place, member in enumerate(self.members) if member is chosen)
        return replace(self, theta=chosen.best.theta, log_scale=chosen.best.log_scale, place=place)


type Streamed = StreamedModel | StreamedScaleModel | StreamedPowerModel
"""A model of rows that are elsewhere."""


def kind_of(prior: LogisticPrior) -> type[Streamed]:
    """Return the model that has a prior, or raise `Refused` for a prior that needs all rows at once."""
    settings = prior.prior_scale
    if not isinstance(settings, LearnedScale):
        return StreamedModel
    if settings.of_weights is not None:
        raise Refused(ALIKE)
    return StreamedPowerModel if len(settings.powers) > 1 else StreamedScaleModel


def moments_of(parts: Parts) -> tuple[Array, Array]:
    """Return the columns' means (column), and a root R of their covariance RᵀR over the rows, (column, column).

    The R of a QR decomposition of 1 and the columns has the means in its first row; the rest is what is left of the
    columns without them.
    """
    (root,) = parts.summed(_root_of, _joint_root)
    return root[0, 1:] / root[0, 0], root[1:, 1:] / abs(root[0, 0])


def _root_of(part: CodedLikelihood) -> Sums:
    roots = (np.sqrt(rows.weight)[:, None] * np.asarray(rows.X) for rows in part.dense_parts())
    first = np.zeros((part.X.width, part.X.width))
    return reduce(_joint_root, ((root,) for root in roots), (first,))


def _joint_root(one: Sums, other: Sums) -> Sums:
    """Return the root of the rows of two roots."""
    return (np.asarray(np.linalg.qr(np.concatenate([one[0], other[0]]), mode="r")),)
