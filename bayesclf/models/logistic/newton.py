"""Maximizing a concave function of weights: Newton's method, and L-BFGS where a Hessian is expensive."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg, optimize

from bayesclf.arrays import Array
from bayesclf.models.logistic.likelihood import LogPosterior, MappedLikelihood, Objective

DENSE_PARAMETERS = 3_000
"""Above this number of parameters no Hessian is computed."""
NEWTON_STEPS = 200
CONVERGED = 1e-10
"""A Newton step is the last when its length in the Hessian's metric, in posterior sds, is below this ..."""
ROUNDING = 1e-6
"""... or below this without having shrunk, the limit of double precision."""
FULL_STEP = 1e-3
"""Shorter steps are not checked: differences of the objective would be rounding errors."""
HALVINGS = 60
SUFFICIENT_DECREASE = 1e-4
LBFGS_STEPS = 20_000
CHEAP_HESSIAN = 200
"""Above this number of parameters a Hessian costs as much as dozens of gradients ..."""
APPROACHED, APPROACH_STEPS = 1e-3, 50
"""... and L-BFGS comes first, until the gradient has fallen to this share, in at most this many steps."""
KEPT_HESSIAN, MUCH_SHORTER = 0.1, 0.2
"""A step shorter than this, in posterior sds, and than this share of the one before, keeps its Hessian for the next."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Result of an optimizer.

    `theta`: (outcome, column). `converged`: Whether the last Newton step was below `CONVERGED` posterior sds.
    `at_rounding`: Whether the steps had become as short as double precision allows.
    """

    theta: Array
    converged: bool
    at_rounding: bool = False

    @property
    def found(self) -> bool:
        """Whether it is the maximum, as far as double precision tells."""
        return self.converged or self.at_rounding


def maximize(objective: Objective, start: Array, converged: float = CONVERGED) -> Array:
    """Return the maximum of a strictly concave function; `converged` is the length of the last step, in posterior sds.

    Newton, or L-BFGS above `DENSE_PARAMETERS` and where a Hessian is singular in double precision. Above
    `CHEAP_HESSIAN` parameters some steps of L-BFGS come first, and the last steps of Newton's method share a Hessian.
    """
    if start.size <= DENSE_PARAMETERS:
        if start.size > CHEAP_HESSIAN:
            start = _lbfgs(objective, start, APPROACHED, APPROACH_STEPS)
        optimum = newton(objective, start, kept_below=KEPT_HESSIAN, converged=converged)
        if optimum.found:
            return optimum.theta
        start = optimum.theta
    return _lbfgs(objective, start, CONVERGED, LBFGS_STEPS)


def _lbfgs(objective: Objective, start: Array, tolerance: float, steps: int) -> Array:
    """Maximize until the gradient's entries are below `tolerance`, times the largest one at the start if above 1."""

    def negative(raveled: Array) -> tuple[float, Array]:
        """Return the negative log density and its gradient, raveled."""
        value, slope = objective.gradient(raveled.reshape(start.shape))
        return -value, -slope.ravel()

    steepest = float(np.abs(negative(start.ravel())[1]).max())
    gtol = tolerance * max(1.0, steepest)
    options: Any = {"maxiter": steps, "maxfun": 2 * steps, "ftol": 0.0, "gtol": gtol, "maxcor": 20}
    found = optimize.minimize(negative, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x, dtype=float).reshape(start.shape)


def newton(
    objective: Objective,
    start: Array,
    give_up: Callable[[Array], bool] | None = None,
    kept_below: float = 0.0,
    converged: float = CONVERGED,
) -> Optimum:
    """Maximize a concave function by Newton's method with step halving.

    For the likelihood this is iteratively reweighted least squares.

    `start`: θ (outcome, column) to start from. `give_up`: Function of each θ that says whether to stop there without
    convergence. `kept_below`: Length of a step, in posterior sds. After a shorter step, the next ones reuse its Hessian
    as long as each is much shorter than the one before: it hardly changes then, and a gradient costs a fraction of it.
    `converged`: Length of a step, in posterior sds, that is the last; what is left after it is about its square.
    """
    return answered(newton_steps(start, give_up, kept_below, converged), objective)


@dataclass(frozen=True, eq=False)
class Look:
    """What a search wants to know of its objective at θ (outcome, column): all of it, or less."""

    theta: Array
    wants: Literal["derivatives", "gradient", "value"]


type Search[T] = Generator[Look, tuple[float, Array, Array | None], T]
"""A search that says where to look, is sent value, gradient and minus Hessian there, and returns what it found."""


def answered[T](search: Search[T], objective: Objective) -> T:
    """Return what a search finds."""
    try:
        look = next(search)
        while True:
            look = search.send(_look(objective, look))
    except StopIteration as end:
        found: T = end.value
        return found


def newton_steps(
    start: Array,
    give_up: Callable[[Array], bool] | None = None,
    kept_below: float = 0.0,
    converged: float = CONVERGED,
) -> Search[Optimum]:
    """Search by Newton's method; parameters as of `newton`.

    As it says where to look, several searches can look at the same rows together.
    """
    theta, previous = start, np.inf
    value, slope, curvature = yield Look(theta, "derivatives")
    for _ in range(NEWTON_STEPS):
        if curvature is not None:
            lower, singular = linalg.lapack.dpotrf(curvature.T, lower=1)
            if singular:
                break
        raveled = linalg.lapack.dpotrs(lower, slope.reshape(-1, 1), lower=1)[0][:, 0]
        length = float(np.sqrt(np.maximum(raveled @ slope.ravel(), 0.0)))
        step = raveled.reshape(theta.shape)
        if length <= converged:
            return Optimum(theta + step, converged=True)
        if length <= ROUNDING and length > previous / 2:
            return Optimum(theta, converged=False, at_rounding=True)
        keeps = length < min(kept_below, previous * MUCH_SHORTER)
        wants: Literal["derivatives", "gradient"] = "gradient" if keeps else "derivatives"
        ahead = yield Look(theta + step, wants)
        if length >= FULL_STEP and not ahead[0] >= value + SUFFICIENT_DECREASE * length**2:
            step = yield from _shorten(theta, step, value, length**2)
            ahead = yield Look(theta + step, wants)
        theta, (value, slope, curvature) = theta + step, ahead
        if give_up is not None and give_up(theta):
            break
        previous = length
    return Optimum(theta, converged=False)


def _look(objective: Objective, look: Look) -> tuple[float, Array, Array | None]:
    """Return value, gradient and minus the Hessian, as far as they are wanted."""
    match look.wants:
        case "derivatives":
            return objective.derivatives(look.theta)
        case "gradient":
            return (*objective.gradient(look.theta), None)
        case _:
            return objective.value(look.theta), look.theta, None


def _shorten(theta: Array, step: Array, value: float, slope: float) -> Search[Array]:
    """Halve a step that is too long until the objective increases by a share of what its slope predicts."""
    size = 0.5
    for _ in range(HALVINGS):
        found, _, _ = yield Look(theta + size * step, "value")
        if found >= value + SUFFICIENT_DECREASE * size * slope:
            break
        size /= 2
    return size * step


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
