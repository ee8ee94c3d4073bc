"""Optimizers of logistic regression to choose and to watch: each records its trajectory and ends with a certificate.

The objective is the log posterior (MAP) or the conditional log likelihood (MLE), a concave function of the weights per
sd of their columns. Steps and gradients are in these coordinates; those of ``GradientAscent(start="zero")`` are in the
columns' own units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy import optimize, sparse

from bayesclf.arrays import Array
from bayesclf.constraints import Choice, Number, OrNone, Whole, require
from bayesclf.display import Display, Displayed
from bayesclf.models.logistic.likelihood import Likelihood, LogPosterior, Objective
from bayesclf.models.logistic.newton import DENSE_PARAMETERS, negated, newton
from bayesclf.wording import counted, first_upper

LOG_ODDS, ZERO = "log-odds", "zero"
STARTS = (LOG_ODDS, ZERO)
"""Where a gradient ascent starts."""

FALLING_STEPS = 5
"""A gradient ascent whose objective fell in this many steps in a row diverges and is stopped."""


FIRST_STEPS, LAST_STEPS = 3, 3
"""Steps of a trace that it shows of itself."""


@dataclass(frozen=True)
class Certificate:
    """What is known of the point where an optimizer stopped.

    `converged`: Whether the gradient's norm is below the tolerance. `gradient_norm`: Euclidean norm of the gradient
    there. `definite`: Whether minus the Hessian is positive definite there, so that the maximum is unique; None where
    it is too large to form. `steps`: Steps taken; passes over the rows for stochastic ascent.
    """

    converged: bool
    gradient_norm: float
    definite: bool | None
    steps: int
    message: str


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Displayed):
    """The trajectory of an optimizer.

    Attributes
    ----------
    theta
        Where it stopped, (outcome, 1 + column).
    objective, gradient_norm
        Value and gradient norm at the start and after each step, (step).
    certificate
        What is known of the end.
    """

    theta: Array
    objective: Array
    gradient_norm: Array
    certificate: Certificate

    def _display(self) -> Display:
        steps = len(self.objective)
        shown = sorted({*range(min(FIRST_STEPS, steps)), *range(max(steps - LAST_STEPS, 0), steps)})
        lines = [(f"{k:,}", f"{self.objective[k]:.6g}", f"{self.gradient_norm[k]:.2e}") for k in shown]
        headline = (
            f"Trace of {counted(steps - 1, 'step')}, of {self.theta.shape[0]:,} × {self.theta.shape[1]:,} weights"
        )
        said = (f"{first_upper(self.certificate.message)}.",)
        return Display(headline, ("step", "objective", "gradient norm"), lines, None, steps - len(lines), said)


class _Recorder:
    """Collects the objective and its gradient's norm along the trajectory."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self.values: list[float] = []
        self.norms: list[float] = []

    def look(self, theta: Array) -> Array:
        """Record a point; return the gradient there."""
        value, slope = self._objective.gradient(theta)
        self.values.append(float(value))
        self.norms.append(float(np.linalg.norm(slope)))
        return slope

    def trace(self, theta: Array, tolerance: float, trouble: str = "") -> Trace:
        """Return the trajectory, with the certificate of its end."""
        norm, steps = self.norms[-1], len(self.norms) - 1
        converged = bool(norm <= tolerance) and not trouble
        said = trouble or (
            f"converged in {steps} steps: the gradient's norm is {norm:.1e}"
            if converged
            else f"stopped after {steps} steps with a gradient of norm {norm:.1e}, above the tolerance {tolerance:.1e}"
        )
        certificate = Certificate(converged, norm, _definite(self._objective, theta), steps, said)
        return Trace(theta, np.array(self.values), np.array(self.norms), certificate)


@dataclass(frozen=True)
class GradientAscent:
    """θ ← θ + η ∇f(θ): on all rows (batch), on one (stochastic) or on some (mini-batch) at a time.

    With ``start="zero"`` it is the textbook's: from w = 0, w ← w + η Σ x (y − P(y = 1 | x, w)). Here x has a first
    column of ones and is otherwise in the units of the table. MAP adds the gradient of the log prior, −λw for weights
    N(0, 1/λ). Classes that are linearly separable have no maximum likelihood: such an ascent is not refused, but can be
    watched. Its weights grow like the log of the number of steps, until `passes` are done, and the certificate says
    that they would grow without bound.

    Parameters
    ----------
    step : float or None
        η, above 0; None is 1/L, L the largest curvature. From 2/L on, batch ascent may diverge: it is stopped when the
        objective has fallen five times in a row.
    batch : int or None
        Rows per step; None takes all. With a fixed η the steps on some rows do not settle at the maximum but around it.
    decay : float
        η_t = η/(1 + decay·t), t the number of passes over the rows.
    passes : int
        Largest number of passes over the rows.
    tolerance : float
        Gradient norm at which to stop.
    start : {"log-odds", "zero"}
        ``"log-odds"``: the intercept is the log-odds of the class counts and the weights are the prior's mean; steps
        and gradients are per sd of the columns, the intercept at their means. ``"zero"``: all weights are 0; steps,
        gradients and L are in the columns' own units, the intercept at x = 0. Columns in large units then need a
        small step, and the ascent many of them.

    References
    ----------
    Mitchell §3.2 and eqs 26 (two classes), 29 (more); Wehbe (batch, stochastic, mini-batch). Soudry, Hoffer, Nacson,
    Gunasekar, Srebro (2018), *The implicit bias of gradient descent on separable data*, JMLR 19 (growth with log t).

    Examples
    --------
    One step from 0 with η = 0.1: Σ x (y − ½) = ½ (2 + 4 − 1 − 3) = 1, and 0 for the intercept.

    >>> import bayesclf as bc
    >>> ascent = bc.engines.GradientAscent(step=0.1, passes=1, tolerance=0.9, start="zero")
    >>> clf = bc.LogisticRegression(inference=bc.engines.MLE(ascent)).fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])
    >>> print(clf.coef_.round(12))
    [[0.1]]
    """

    step: float | None = None
    batch: int | None = None
    decay: float = 0.0
    passes: int = 10_000
    tolerance: float = 1e-6
    start: str = LOG_ODDS

    def __post_init__(self) -> None:
        require(OrNone(Number(above=0)), step=self.step)
        require(OrNone(Whole(1)), batch=self.batch)
        require(Number(least=0), decay=self.decay)
        require(Whole(1), passes=self.passes)
        require(Number(above=0), tolerance=self.tolerance)
        require(Choice(STARTS), start=self.start)

    def run(self, objective: Objective, start: Array, rng: np.random.Generator) -> Trace:
        """Maximize from a start θ (outcome, 1 + column)."""
        limit = 2 / largest_curvature(objective)
        step = limit / 2 if self.step is None else self.step
        recorder = _Recorder(objective)
        theta, slope, falling = start, recorder.look(start), 0
        for number in range(self.passes):
            if recorder.norms[-1] <= self.tolerance:
                break
            eta = step / (1 + self.decay * number)
            with np.errstate(over="ignore", invalid="ignore"):
                theta = theta + eta * slope if self.batch is None else self._pass(objective, theta, eta, rng)
                slope = recorder.look(theta)
            falling = falling + 1 if not recorder.values[-1] >= recorder.values[-2] else 0
            if not np.isfinite(recorder.values[-1]) or (self.batch is None and falling >= FALLING_STEPS):
                fell = f"the objective fell from {recorder.values[0]:.4g} to {recorder.values[-1]:.4g}"
                trouble = f"the step {step:.3g} diverges ({fell}); use one below 2/L = {limit:.3g}"
                return recorder.trace(theta, self.tolerance, trouble)
        return recorder.trace(theta, self.tolerance)

    def _pass(self, objective: Objective, theta: Array, eta: float, rng: np.random.Generator) -> Array:
        """Return θ after one pass over the rows in random order, `batch` at a time."""
        assert self.batch is not None
        likelihood, prior = _parts(objective)
        order = rng.permutation(len(likelihood.y))
        for first in range(0, len(order), self.batch):
            some = likelihood.of(order[first : first + self.batch])
            slope = some.gradient(theta)[1] * (len(order) / len(some.y))
            theta = theta + eta * (slope if prior is None else slope + prior.prior.gradient(theta))
        return theta


@dataclass(frozen=True)
class ConjugateGradient:
    """Nonlinear conjugate gradients (Polak and Ribière), each line searched (Mitchell §3.2)."""

    steps: int = 10_000
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        require(Whole(1), steps=self.steps)
        require(Number(above=0), tolerance=self.tolerance)

    def run(self, objective: Objective, start: Array, rng: np.random.Generator) -> Trace:
        """Maximize from a start θ (outcome, 1 + column)."""
        recorder = _Recorder(objective)
        recorder.look(start)

        def record(raveled: Array) -> None:
            """Record a step."""
            recorder.look(raveled.reshape(start.shape))

        options: Any = {"gtol": self.tolerance, "maxiter": self.steps, "norm": 2}
        minimize: Any = optimize.minimize
        negative = negated(objective, start.shape)
        found = minimize(negative, start.ravel(), jac=True, method="CG", callback=record, options=options)
        return recorder.trace(found.x.reshape(start.shape), self.tolerance * max(1.0, np.sqrt(start.size)))


@dataclass(frozen=True)
class Newton:
    """Newton's method with step halving; for the likelihood, iteratively reweighted least squares (Mitchell §6)."""

    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        require(Number(above=0), tolerance=self.tolerance)

    def run(self, objective: Objective, start: Array, rng: np.random.Generator) -> Trace:
        """Maximize from a start θ (outcome, 1 + column)."""
        recorder = _Recorder(objective)
        recorder.look(start)

        def record(theta: Array) -> bool:
            """Record a step; never ask to stop."""
            recorder.look(theta)
            return False

        optima = newton(objective, start[None], give_up=record)
        (theta,), (found,) = optima.theta, optima.found
        recorder.look(theta)
        return recorder.trace(theta, self.tolerance, "" if found else "Newton's method did not converge")


def in_own_units(objective: Likelihood | LogPosterior, centre: Array, scale: Array) -> Likelihood | LogPosterior:
    """Return the same function of w, (intercept at x = 0, weights per unit), of columns with these centers and sds.

    Its rows are x itself, the first column being 1.
    """
    if isinstance(objective, LogPosterior):
        rows = in_own_units(cast(Likelihood, objective.likelihood), centre, scale)
        return LogPosterior(cast(Likelihood, rows), objective.prior.in_units(centre, scale))
    X, unit = objective.X, np.append(1.0, scale)
    if not isinstance(X, np.ndarray):
        return replace(objective, X=sparse.csr_array(X.multiply(unit)), shift=None)  # what is stored is x/sd
    return replace(objective, X=X * unit + np.append(0.0, centre))


type Optimizer = GradientAscent | ConjugateGradient | Newton

OPTIMIZERS = (GradientAscent, ConjugateGradient, Newton)


def largest_curvature(objective: Objective) -> float:
    """Return a bound L of the objective's curvature: λ_max(½(I − 11ᵀ/K) ⊗ Σ w x xᵀ) plus the prior's.

    See Böhning (1992), Multinomial logistic regression algorithm, doi:10.1007/BF00048682.
    """
    likelihood, posterior = _parts(objective)
    share = 0.25 if likelihood.vectors == 1 else 0.5
    largest = share * float(np.linalg.eigvalsh(likelihood.gram(likelihood.weight))[-1])
    if posterior is not None:
        largest += float(np.linalg.eigvalsh(posterior.prior.precision())[-1])
    return largest


def _parts(objective: Objective) -> tuple[Likelihood, LogPosterior | None]:
    if isinstance(objective, LogPosterior):
        return cast(Likelihood, objective.likelihood), objective
    return cast(Likelihood, objective), None


def _definite(objective: Objective, theta: Array) -> bool | None:
    if theta.size > DENSE_PARAMETERS or not np.isfinite(theta).all():
        return None
    try:
        np.linalg.cholesky(objective.derivatives(theta)[2])
    except np.linalg.LinAlgError:
        return False
    return True
