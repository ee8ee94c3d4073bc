"""Logistic regression whose rows are elsewhere: sums over them are made part by part, whenever they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NoReturn, Protocol, Self, override

import numpy as np

from bayesclf.arrays import Array, Integers
from bayesclf.errors import DoesNotExist, Refused
from bayesclf.models.logistic.design import Matrix
from bayesclf.models.logistic.identifiability import Moments
from bayesclf.models.logistic.likelihood import Likelihood, LogPosterior, MappedLikelihood
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.newton import CONVERGED, Look, Optimum, Search, answered, newton_steps
from bayesclf.models.logistic.nodes import NODE_CONVERGED, Found
from bayesclf.tables.numbers import blocks_of
from bayesclf.wording import counted

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


@dataclass(frozen=True, eq=False)
class Sums:
    """Arrays that are summed over the parts of the rows."""

    arrays: tuple[Array, ...]
    columns = ()

    def __add__(self, other: Sums) -> Sums:
        """Return the sums over the rows of both."""
        return Sums(tuple(mine + theirs for mine, theirs in zip(self.arrays, other.arrays, strict=True)))


@dataclass(frozen=True, eq=False)
class Root:
    """R with RᵀR the weighted sum of x xᵀ over rows, (column, column)."""

    R: Array
    columns = ()

    def __add__(self, other: Root) -> Root:
        """Return the root of the rows of both."""
        return Root(np.asarray(np.linalg.qr(np.concatenate([self.R, other.R]), mode="r")))


class Parts(Protocol):
    """The rows of a table, in parts, which may be read again for each sum."""

    def summed[S](self, work: Callable[[Likelihood], S]) -> S:
        """Return what a function, which can be pickled, returns for each part, added up."""


def values_of(theta: Array, part: Likelihood) -> Sums:
    """Return the log likelihoods of each θ (draw, outcome, column), shape (draw)."""
    return Sums((part.values(theta),))


def derivatives_of(thetas: Array, part: Likelihood) -> Sums:
    """Return log likelihood, gradient and minus the Hessian of each θ (search, outcome, column)."""
    return Sums(tuple(map(np.array, zip(*map(part.derivatives, thetas), strict=True))))


@dataclass(frozen=True, eq=False)
class StreamedLikelihood:
    """The conditional likelihood of rows that are elsewhere; as `Likelihood`, each look at it a pass over the rows."""

    parts: Parts
    _kept: dict[bytes, tuple[float, Array, Array]] = field(default_factory=dict)

    def value(self, theta: Array) -> float:
        """Return the log likelihood."""
        return self.derivatives(theta)[0]

    def values(self, theta: Array) -> Array:
        """Return the log likelihood of each θ (draw, outcome, column), shape (draw)."""
        (found,) = self.parts.summed(partial(values_of, theta)).arrays
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
            found = self.parts.summed(partial(derivatives_of, np.array(list(new.values())))).arrays
            for key, value, slope, curvature in zip(new, *found, strict=True):
                self._kept[key] = float(value), slope, curvature
        answers = [self._kept[theta.tobytes()] for theta in thetas]
        most = max(KEPT_BYTES // (8 * answers[0][2].size), len(thetas))
        while len(self._kept) > most:
            self._kept.pop(next(iter(self._kept)))
        return answers


def together[T](
    searches: Sequence[Search[T]], objectives: Sequence[LogPosterior], likelihood: MappedLikelihood
) -> list[T]:
    """Return what several searches find, which look at the rows together: as many passes as the longest takes."""
    rows: Any = likelihood.likelihood
    found: dict[int, T] = {}
    looks: dict[int, Look] = {place: next(search) for place, search in enumerate(searches)}
    while looks:
        rows.derivatives_of_all([likelihood.theta(look.theta) for look in looks.values()])  # kept for those below
        for place, look in list(looks.items()):
            try:
                looks[place] = searches[place].send(objectives[place].derivatives(look.theta))
            except StopIteration as end:
                found[place] = end.value
                del looks[place]
    return [found[place] for place in range(len(searches))]


@dataclass(frozen=True, eq=False, repr=False)
class StreamedModel(LogisticModel):
    """`LogisticModel` whose rows are elsewhere: its own are none.

    `labels`, `design`, `X`, `y`, `sample_weight`, `prior`: As of `LogisticModel`, without rows. `label_weights`: Weight
    of each class, (outcome). `mean`: Mean of each column over the rows, (column). `root`: R with RᵀR the covariance of
    the columns over the rows, (column, column). `theta`: The posterior mode, (outcome, 1 + column), weights per sd;
    empty until it is known. `log_scale`, `logit`: The mode of (log s, logit ρ), where it is known.
    """

    label_weights: Array
    mean: Array
    root: Array
    theta: Array
    log_scale: float = 0.0
    logit: float = 0.0

    def __repr__(self) -> str:
        labels, columns = counted(len(self.labels), "class", "classes"), counted(len(self.mean), "column")
        return f"{type(self).__name__}({labels}, rows of weight {self.label_weights.sum():,.6g}, {columns})"

    def over(self, parts: Parts) -> Self:
        """Return the same model with its rows."""
        model = replace(self)
        vars(model)["_likelihood"] = StreamedLikelihood(parts)
        return model

    def without_rows(self) -> Self:
        """Return the model with its mode, and no way to its rows."""
        log_scale, of_rho = self.best if self.learns else (0.0, 0.0)
        return replace(self, theta=self._mode, log_scale=log_scale, logit=of_rho)

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

    @cached_property
    @override
    def moments(self) -> Moments:
        """Means and covariance of the columns over the rows."""
        return Moments(self.mean, self.root.T @ self.root)

    @override
    def of_rows(self, X: Matrix, y: Integers, sample_weight: Array) -> LogisticModel:
        """Return the model with the same columns and prior, of rows that it holds."""
        return LogisticModel(self.labels, self.design, X, y, sample_weight, self.prior)

    @override
    def require_rows(self) -> NoReturn:
        """Raise `Refused`, as the rows are elsewhere."""
        raise Refused(IN_MEMORY.format(what="this"))

    def has_moments_of(self, X: Array) -> bool:
        """Return whether rows (row, column), standardized, have the moments of the training rows."""
        own = Moments.of(X, np.ones(len(X)))
        pairs = ((own.mean, self.mean), (own.covariance, self.moments.covariance))
        return all(np.allclose(one, other, 0, SAME) for one, other in pairs)

    @cached_property
    @override
    def _likelihood(self) -> Any:
        raise Refused(IN_MEMORY.format(what="this"))

    @override
    def improper(self) -> str:
        """Return that a flat prior is refused, as the posterior may have no maximum then."""
        flat = self.weight_prior.flat
        return "over batches a flat prior is not allowed; take a finite intercept_scale" if flat else ""

    @override
    def mle(self) -> NoReturn:
        """Raise, as whether there is a maximum would need all rows."""
        raise DoesNotExist(IN_MEMORY.format(what="maximum likelihood"))

    @override
    def _variances(self, sums: Array) -> Array:
        """Return the variances over the rows of weighted sums (column, sum) of the columns."""
        return np.asarray(np.sum((self.root @ sums) ** 2, axis=0))

    @override
    def density(self) -> NoReturn:
        """Raise, as NUTS needs all rows at once."""
        raise Refused(NO_NUTS)

    @override
    def pymc(self) -> NoReturn:
        """Raise, as the model observes rows."""
        raise Refused(NO_NUTS)

    @property
    @override
    def best(self) -> tuple[float, float]:
        """The mode of (log s, logit ρ) given D."""
        return (self.log_scale, self.logit) if self.theta.size else super().best

    @cached_property
    @override
    def _mode(self) -> Array:
        """The mode of θ, given that of (log s, logit ρ) where learned."""
        if self.theta.size or self.learns:
            return self.theta if self.theta.size else super()._mode
        objective, start = self.objective("map")
        return _optimum(answered(newton_steps(start, converged=CONVERGED), objective))

    @override
    def _find_modes(self, at: list[Array], starts: list[Array]) -> list[Found]:
        """Return value, mode and minus the Hessian at each (log s, logit ρ), all by the same passes."""
        if not self.learns:
            return super()._find_modes(at, starts)
        objectives = [self._objective_at(each) for each in at]
        searches = [newton_steps(start, converged=NODE_CONVERGED) for start in starts]
        modes = [_optimum(found) for found in together(searches, objectives, self._searched)]
        self._likelihood.derivatives_of_all([self._searched.theta(gamma) for gamma in modes])
        looks = [objective.derivatives(gamma) for objective, gamma in zip(objectives, modes, strict=True)]
        return [(value, gamma, H) for (value, _, H), gamma in zip(looks, modes, strict=True)]

    @cached_property
    @override
    def _searched(self) -> Any:
        """The likelihood of γ (contrast, 1 + direction) of the directions that the rows tell of; or of θ."""
        prior = self.weight_prior
        if not self.learns:
            return self._likelihood
        return MappedLikelihood(self._likelihood, prior.columns[: 1 + prior.seen], prior.contrast)


def _optimum(found: Optimum) -> Array:
    """Return θ, or raise `Refused` for a search that has not converged."""
    if not (found.converged or found.at_rounding):
        raise Refused("the posterior mode was not found over batches; take a smaller prior_scale, or fit in memory")
    return found.theta


def moments_of(parts: Parts) -> tuple[Array, Array]:
    """Return the columns' means (column), and a root R of their covariance RᵀR over the rows, (column, column).

    The R of a QR decomposition of 1 and the columns has the means in its first row; the rest is what is left of the
    columns without them.
    """
    root = parts.summed(_root_of).R
    return root[0, 1:] / root[0, 0], root[1:, 1:] / abs(root[0, 0])


def _root_of(part: Likelihood) -> Root:
    width = part.X.shape[1]
    total = Root(np.zeros((width, width)))
    for rows in blocks_of(len(part.y), width):
        X = part.X[rows] if isinstance(part.X, np.ndarray) else part.X[rows].toarray()
        total = total + Root(np.sqrt(part.weight[rows])[:, None] * X)
    return total
