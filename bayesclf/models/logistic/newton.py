"""Maximizing concave functions of weights: Newton's method, and L-BFGS where a Hessian is expensive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from bayesclf.arrays import Array
from bayesclf.models.logistic.likelihood import Derivatives, LogPosterior, MappedLikelihood, Objective
from bayesclf.models.logistic.prior import WeightPrior

DENSE_PARAMETERS = 3_000
"""Above this number of parameters no Hessian is computed."""
NEWTON_STEPS = 200
CONVERGED = 1e-9
"""A Newton step is the last when its length in the Hessian's metric, in posterior sds, is below this, or when that of
the next one would be: steps become shorter by a growing factor. L-BFGS ends at gradients below it ..."""
ROUNDING = 1e-6
"""... or below this without having shrunk, the limit of double precision."""
NODE_CONVERGED = 1e-5
"""The same of modes at the nodes of a lattice."""
MOVED_LITTLE = 0.1
"""The largest change of a row's log-odds by a rough search that takes the likelihood for its expansion to second order:
its Hessian then hardly changes."""
FULL_STEP = 1e-3
"""Shorter steps are not checked: differences of the objective would be rounding errors."""
HALVINGS = 60
SUFFICIENT_INCREASE = 1e-4
LBFGS_STEPS = 20_000
CHEAP_HESSIAN = 200
"""Above this number of parameters a Hessian costs as much as dozens of gradients ..."""
APPROACHED, APPROACH_STEPS = 1e-3, 50
"""... and L-BFGS comes first, until the gradient has fallen to this share, in at most this many steps."""
KEPT_HESSIAN, KEPT_OF_MANY, MUCH_SHORTER = 0.1, 1.0, 0.2
"""A step shorter than this, in posterior sds (of a few rows, of many), and than this share of the one before, keeps its
Hessian for the next."""


@dataclass(frozen=True, eq=False)
class Optima:
    """Results of searches.

    `theta`: (search, outcome, column). `converged`: Whether the last Newton step was below the length that was asked
    for, (search). `at_rounding`: Whether the steps had become as short as double precision allows, (search).
    """

    theta: Array
    converged: NDArray[np.bool_]
    at_rounding: NDArray[np.bool_]

    @property
    def found(self) -> NDArray[np.bool_]:
        """Whether each is the maximum, as far as double precision tells, (search)."""
        return self.converged | self.at_rounding


def maximize(objective: Objective, start: Array, converged: float = CONVERGED, few: Objective | None = None) -> Array:
    """Return the maximum of a strictly concave function; `converged` is the length of the last step, in posterior sds.

    `few`: The sum over some rows of many, which takes the place of the first Hessian.

    Newton, or L-BFGS above `DENSE_PARAMETERS` and where a Hessian is singular in double precision. Above
    `CHEAP_HESSIAN` parameters some steps of L-BFGS come first, and the last steps of Newton's method share a Hessian.
    """
    if start.size <= DENSE_PARAMETERS:
        if start.size > CHEAP_HESSIAN:
            start = _lbfgs(objective, start, APPROACHED, APPROACH_STEPS)
        known, kept_below = None, KEPT_HESSIAN
        if few is not None:
            known = (*objective.gradient(start[None]), few.derivatives(start[None])[2])
            kept_below = KEPT_OF_MANY
        optima = newton(objective, start[None], known, kept_below=kept_below, converged=converged)
        if optima.found[0]:
            return np.asarray(optima.theta[0])
        start = np.asarray(optima.theta[0])
    return _lbfgs(objective, start, CONVERGED, LBFGS_STEPS)


def _lbfgs(objective: Objective, start: Array, tolerance: float, steps: int) -> Array:
    """Maximize until the gradient's entries are below `tolerance`, times the largest one at the start if above 1."""

    negative = negated(objective, start.shape)
    steepest = float(np.abs(negative(start.ravel())[1]).max())
    gtol = tolerance * max(1.0, steepest)
    options: Any = {"maxiter": steps, "maxfun": 2 * steps, "ftol": 0.0, "gtol": gtol, "maxcor": 20}
    found = optimize.minimize(negative, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x, dtype=float).reshape(start.shape)


def negated(objective: Objective, shape: tuple[int, ...]) -> Callable[[Array], tuple[float, Array]]:
    """Return the function from θ raveled to the negative value and its gradient, raveled, as SciPy minimizes it."""

    def negative(raveled: Array) -> tuple[float, Array]:
        """Return the negative value and its gradient, raveled."""
        value, slope = objective.gradient(raveled.reshape(shape))
        return -float(value), -slope.ravel()

    return negative


def newton(
    objective: Objective,
    start: Array,
    known: Derivatives | None = None,
    give_up: Callable[[Array], bool] | None = None,
    kept_below: float = 0.0,
    converged: float = CONVERGED,
) -> Optima:
    """Maximize concave functions by Newton's method with step halving.

    For the likelihood this is iteratively reweighted least squares. Several searches, such as under several priors,
    look at the rows together.

    `start`: θ (search, outcome, column) to start from. `known`: The objective's derivatives there. `give_up`: Function
    of each θ of a single search that says whether to stop there. `kept_below`: Length of a step, in posterior sds. Once
    all are shorter, the next ones reuse their Hessians as long as each is much shorter than the one before: these
    hardly change then, and a gradient costs a fraction of them. `converged`: Length of a step, in posterior sds, that
    is the last; what is left after it is about its square.
    """
    theta, active, keeps, factors = start.copy(), np.arange(len(start)), False, list[Array]()
    has_converged, at_rounding = np.zeros((2, len(start)), dtype=bool)
    previous = np.full(len(start), np.inf)
    value, slope, curvature = objective.derivatives(start) if known is None else known
    for _ in range(NEWTON_STEPS):
        if not keeps and not (factors := _factors(curvature)):
            break
        step = np.array([_solved(lower, own) for lower, own in zip(factors, slope, strict=True)])
        length = np.sqrt(np.maximum(np.vecdot(step, slope).sum(axis=1), 0.0))
        ends = (length <= converged) | ((length < FULL_STEP) & (length**2 <= CONVERGED * previous))
        theta[active[ends]] += step[ends]
        has_converged[active[ends]] = True
        at_rounding[active] = ~ends & (length <= ROUNDING) & (length > previous / 2)
        going = ~(ends | at_rounding[active])
        if not going.any():
            break
        if not going.all():
            objective, factors = _some(objective, going), [factors[i] for i in np.flatnonzero(going)]
            active, step, length, previous, value = (a[going] for a in (active, step, length, previous, value))
        keeps = bool((length < np.minimum(kept_below, previous * MUCH_SHORTER)).all())
        found = _ahead(objective, theta[active], step, length, value, keeps)
        value, slope, curvature = found if len(found) == 3 else (*found, curvature)
        theta[active] += step
        if give_up is not None and give_up(theta[0]):
            break
        previous = length
    return Optima(theta, has_converged, at_rounding)


def _factors(curvature: Array) -> list[Array]:
    """Return a triangular factor of each Hessian, or none where one is singular in double precision."""
    found = [linalg.lapack.dpotrf(own.T, lower=1) for own in curvature]
    return [] if any(singular for _, singular in found) else [lower for lower, _ in found]


def _solved(lower: Array, slope: Array) -> Array:
    return np.asarray(linalg.lapack.dpotrs(lower, slope.reshape(-1, 1), lower=1)[0]).reshape(slope.shape)


def _some(objective: Objective, which: NDArray[np.bool_]) -> Objective:
    return objective.of(which) if isinstance(objective, LogPosterior) else objective


def _ahead(
    objective: Objective, theta: Array, step: Array, length: Array, value: Array, keeps: bool
) -> tuple[Array, ...]:
    """Return what is at θ + step, after halving steps until the objective increases by a share of what is predicted."""
    found = (objective.gradient if keeps else objective.derivatives)(theta + step)
    size = np.ones(len(theta))
    for _ in range(HALVINGS):
        enough = found[0] >= value + SUFFICIENT_INCREASE * size * length**2
        far = ~(enough | (length < FULL_STEP))
        if not far.any():
            break
        step[far] /= 2
        size[far] /= 2
        again = _some(objective, far).derivatives(theta[far] + step[far])
        for mine, new in zip(found, again, strict=False):
            mine[far] = new
    return found


@dataclass(frozen=True, eq=False)
class Modes:
    """The normals with the modes and the curvatures of a posterior; as `Normals` of a `Lattice`.

    `likelihood`: Of γ. `prior`: Of γ, s and ρ. `otherwise`: Maximizes where Newton's method does not. `kept_below`: As
    of `newton`.
    """

    likelihood: MappedLikelihood
    prior: WeightPrior
    otherwise: Callable[[LogPosterior, Array], Array]
    kept_below: float

    def start(self, gamma: Array) -> tuple[Array, ...]:
        """Return γ, and the derivatives of the likelihood there."""
        return gamma, *self.likelihood.derivatives(gamma)

    def found(self, at: Array, starts: list[Any], rough: bool) -> tuple[Array, Array, Array, list[Any]]:
        """Return what a lattice asks for, by searches that look at the rows together.

        In rough ones that move little, the likelihood is its expansion where they start.
        """
        gamma, value, slope, information = map(np.array, zip(*starts, strict=True))
        objective, after = LogPosterior(self.likelihood, self.prior.along(*at.T)), list(starts)
        value, slope, curvature = objective.of_likelihood(gamma, (value, slope, information))
        near = np.zeros(len(at), dtype=bool)
        if rough and (factors := _factors(curvature)):
            step = np.array([_solved(lower, own) for lower, own in zip(factors, slope, strict=True)])
            square = np.vecdot(step, slope).sum(axis=1)
            of_intercepts = np.diagonal(information, axis1=1, axis2=2)[:, :: gamma.shape[2]].min(axis=1)
            if (square <= (MOVED_LITTLE / 2) ** 2 * of_intercepts).all():  # otherwise this look would be one too many
                near = self.likelihood.largest(step) <= MOVED_LITTLE
            value[near] += 0.5 * square[near]
            gamma[near] += step[near]
        if not near.all():
            far, some = np.flatnonzero(~near), objective.of(~near)
            known = value[far], slope[far], curvature[far]
            optima = newton(some, gamma[far], known, kept_below=self.kept_below, converged=NODE_CONVERGED)
            for i in np.flatnonzero(~optima.found):
                of_one = LogPosterior(self.likelihood, self.prior.along(*at[far[i]]))
                optima.theta[i] = self.otherwise(of_one, optima.theta[i])
            gamma[far], found = optima.theta, self.likelihood.derivatives(optima.theta)
            value[far], _, curvature[far] = some.of_likelihood(optima.theta, found)
            for i, *start in zip(far, optima.theta, *found, strict=True):
                after[i] = tuple(start)
        return value, gamma, curvature, after
