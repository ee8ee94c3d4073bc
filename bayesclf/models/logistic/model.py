"""Logistic regression: P(y | x) itself, with normal priors on its weights."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families.dirichlet import logs
from bayesclf.models.base import Block, Rows
from bayesclf.models.logistic.centered import CenteredRows, Matrix, Moments, dense, in_units, with_ones
from bayesclf.models.logistic.design import LinearScores, LogisticDesign
from bayesclf.models.logistic.identifiability import (
    ColumnSpace,
    Separation,
    collinear_features,
    determined,
    find_separation,
    plain_separation,
    recedes,
)
from bayesclf.models.logistic.likelihood import (
    LaplaceApproximation,
    Likelihood,
    LogPosterior,
    MappedLikelihood,
    Proposal,
)
from bayesclf.models.logistic.newton import DENSE_PARAMETERS, maximize, newton
from bayesclf.models.logistic.prior import (
    LOG_2_PI,
    LogisticPrior,
    NormalPrior,
    NormalWeightPrior,
    UnseenPrior,
    WeightPrior,
    against_reference,
    of_outcomes,
)
from bayesclf.wording import AND_MORE, counted, listed

if TYPE_CHECKING:
    import pymc as pm

    from bayesclf.models.logistic.density import CompiledDensity, LogisticDensity

__all__ = ["LogisticModel", "LogisticPrior"]

LISTED_COLUMNS = 5

NO_WEIGHTS = "a PyMC model has no weights; give each row as often as it counts, or fit by sampler='nutpie'"
SKIPPED, NEAR = 16, 0.1
"""Every so many rows say first where the mode is, up to this last step in posterior sds."""
MODERATE_LOG_ODDS = 30.0
"""Maximum likelihood is accepted without a check of separability only if all log-odds are below this."""


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """P(y = k | x) ∝ exp(b_k + w_k·(x − center)), where the reference class has b = w = 0.

    ========= ======= ============================================== ==============================
    parameter support prior (symmetric)                              axes
    ========= ======= ============================================== ==============================
    intercept real    N(m, s²) for the log-odds of any two classes    (outcome), the log-odds at the means
    weight    real    N(m_j, s_j²/sd_j²) for any two classes          (outcome, feature), per unit of x_j
    ========= ======= ============================================== ==============================

    The reference is the last class, or the first of two, so that weights are then log-odds of the second. The others'
    intercepts and weights per sd are θ (vector, 1 + column). The label axis of the parameters holds the other
    classes or, under a symmetric prior of more than two, all of them, whose parameters add up to 0. See `LogisticPrior`
    for the priors' forms.

    Parameters
    ----------
    labels
        Names of the classes, at least two.
    design
        How rows become columns.
    X
        Training rows as `design.matrix` returns them: standardized, (row, column), dense or sparse.
    y
        Label codes (row).
    sample_weight
        (row), at least 0.
    prior
        The user's settings, or an earlier posterior.

    References
    ----------
    Mitchell, eqs 24 and 25 (two classes), 27 and 28 (more), 26 and 29 (gradients).
    """

    labels: tuple[str, ...]
    design: LogisticDesign
    X: Matrix
    y: Integers
    sample_weight: Array
    prior: LogisticPrior | NormalPrior
    generative: ClassVar[bool] = False
    blocks: ClassVar[tuple[Block, ...]] = ()

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        size = f"{counted(len(self.labels), 'class', 'classes')}, {counted(rows, 'row')}, {counted(columns, 'column')}"
        return f"{type(self).__name__}({size})"

    def __post_init__(self) -> None:
        if len(self.labels) < 2:
            raise InputError(f"logistic regression needs at least two classes, not {len(self.labels)}")
        _ = self.weight_prior  # raises here if a setting does not fit the columns

    def mle(self) -> Parameters:
        """Return the maximum conditional likelihood estimate, of least norm for collinear columns.

        Raises
        ------
        DoesNotExist
            If a class has no rows, or if the classes are linearly separable, completely or quasi-completely.
        """
        counts = self.label_counts
        if not counts.all():
            empty = self.labels[int(np.argmin(counts))]
            raise DoesNotExist(f"class {empty!r} has no rows, so the likelihood has no maximum; take rule 'map'")
        # The mode is needed for other purposes too; it is near the estimate or, where there is none, shows why.
        mode = self._mode
        self._refuse(plain_separation(*self._stored(mode)))
        space, reduced = self._in_column_space()

        def immoderate(gamma: Array) -> bool:
            """Return whether log-odds have grown beyond those of an estimate that exists."""
            return bool(np.abs(self._likelihood.log_odds(space.weights(gamma))).max() > MODERATE_LOG_ODDS)

        optimum = newton(reduced, space.of_weights(mode), give_up=immoderate)
        if not optimum.converged:
            self._refuse(find_separation(*self._stored(space.weights(optimum.theta))))
            optimum = newton(reduced, optimum.theta)
        if not (optimum.converged or optimum.at_rounding):
            raise DoesNotExist("the classes are nearly separable, and rounding hides the maximum; take rule 'map'")
        return self.parameters(space.weights(optimum.theta))

    def _stored(self, theta: Array) -> tuple[Any, Integers, Array]:
        """Return rows, codes and θ for the search of a separation, which does not depend on where columns have 0."""
        likelihood = self._likelihood
        if isinstance(likelihood.X, CenteredRows):
            return likelihood.X.cells, likelihood.y, likelihood.X.moved(theta)
        return likelihood.X, likelihood.y, theta

    def _in_column_space(self) -> tuple[ColumnSpace, Likelihood | MappedLikelihood]:
        """Return the space that the columns span, and the likelihood in its coordinates."""
        likelihood, X = self._likelihood, self._present[0]
        if isinstance(X, CenteredRows):
            if X.shape[1] > DENSE_PARAMETERS:
                raise DoesNotExist(
                    f"maximum likelihood of {X.shape[1]:,} weights on a sparse table is not searched for, as that "
                    f"needs dense matrices, with a limit of {DENSE_PARAMETERS:,} columns; take rule 'map'"
                )
            space = ColumnSpace.of(X, likelihood.weight)
            return space, MappedLikelihood(likelihood, space.columns)
        space = ColumnSpace.of(X, likelihood.weight)
        return space, replace(likelihood, X=space.coordinates(X))

    def map(self) -> Parameters:
        """Return the posterior mode.

        Raises
        ------
        DoesNotExist
            If the intercept is free (infinite scale) and a class has no rows.
        """
        return self.parameters(self._mode)

    def collinear(self) -> tuple[str, ...]:
        """Return the numbers, "… is missing" and categories whose weights the likelihood does not determine.

        Other weights on these give the same probabilities to all training rows. The levels of one category, which add
        up to 1 as no level is a reference, are not counted.
        """
        if len(self.design) > DENSE_PARAMETERS:
            return ()
        X, _, weight = self._present
        return collinear_features(self.design, X, weight, self.moments)

    @cached_property
    def moments(self) -> Moments:
        """Means and covariance of the columns over the training rows."""
        return Moments.of(self.X, self.sample_weight)

    @property
    def _present(self) -> tuple[Matrix, Integers, Array]:
        """Rows, codes of weight vectors, and weights, of the rows of positive weight."""
        if (self.sample_weight > 0).all():
            return self.X, self._codes, self.sample_weight
        rows = np.flatnonzero(self.sample_weight > 0)
        return self.X[rows], self._codes[rows], self.sample_weight[rows]

    def log_posterior(self, intercept: Array, weight: Array) -> Array:
        """Return log p(θ) + Σ w log P(y | x, θ), constants included, shape (draw).

        It is the density of the weights in the columns' own units, the logp of the PyMC model.

        Parameters
        ----------
        intercept
            (draw, outcome).
        weight
            (draw, outcome, feature).
        """
        theta = self._theta(intercept, weight)
        return np.asarray(self._likelihood.values(theta) + self.weight_prior.log_density(theta) + self._log_units)

    def _theta(self, intercept: Array, weight: Array) -> Array:
        """Return θ (draw, outcome, 1 + column), the weights per sd of a column."""
        of_outcomes = np.concatenate([intercept[:, :, None], weight * self.design.scale], axis=2)
        return against_reference(of_outcomes, self.symmetric, axis=1)

    @property
    def symmetric(self) -> bool:
        """Whether the parameters are those of every class, adding up to 0, and not against the reference."""
        return self.weight_prior.unseen.symmetric

    @property
    def level_means(self) -> Array | None:
        """Means of the 0/1 columns over the training rows, 0 for numbers, (column); None without such columns."""
        numbers = len(self.design.varying)
        total = self.label_counts.sum()
        if isinstance(self.X, CenteredRows) or numbers == len(self.design) or not total > 0:
            return None
        means = self.column_totals / total
        means[:numbers] = 0.0
        return means

    @property
    def _log_units(self) -> float:
        """Log of the factor sd for each weight that turns a density per sd of the columns into one per unit.

        A flat prior counts as 1 in any unit.
        """
        return float((~self.weight_prior.flat_weights * np.log(self.design.scale)).sum())

    def log_prior(self, parameters: Parameters) -> dict[str, Array]:
        """Return the log density (draw) of the prior of the weights, up to a constant."""
        return {"weights": self.weight_prior.log_density(self._theta(parameters["intercept"], parameters["weight"]))}

    def prior_draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw parameters (draw, …) from the prior.

        Raises
        ------
        Refused
            For a flat prior.
        """
        self.refuse_flat()
        return self.hypotheses(self.weight_prior.draw(rng, draws))

    def refuse_flat(self) -> None:
        """Raise where nothing can be drawn from the prior."""
        if self.weight_prior.flat_intercept:
            raise Refused("the intercept's prior is flat, and nothing can be drawn from it")
        if self.weight_prior.flat_weights.any():
            raise Refused("the prior of some weights is flat, and nothing can be drawn from it")

    def laplace(self) -> LaplaceApproximation:
        """Return the normal approximation at the mode.

        Raises
        ------
        DoesNotExist
            Where `map` does.
        Refused
            If there are more than `DENSE_PARAMETERS` parameters.
        """
        size = self.weight_prior.mean.size
        if size > DENSE_PARAMETERS:
            raise Refused(f"the Laplace approximation of {size} parameters is refused: the limit is {DENSE_PARAMETERS}")
        mode = self._mode
        _, _, curvature = LogPosterior(self._likelihood, self.weight_prior).derivatives(mode)
        return LaplaceApproximation.at(mode, curvature, self.design.scale)

    def propose(self, number: int, of_z: Proposal, rng: np.random.Generator) -> tuple[Parameters, Array, Array]:
        """Return proposals (draw, …), their log importance ratios (draw) up to a constant, and z (draw, parameter).

        θ is the mode and z times a root of the inverse curvature there.
        """
        approximation = self._approximation
        z, log_q = of_z.draw(rng, number, len(approximation.center))
        parameters = self.unravel(approximation.center + z @ approximation.factor.T)
        return parameters, self.log_posterior(**parameters) - log_q, z

    @cached_property
    def _approximation(self) -> LaplaceApproximation:
        return self.laplace()

    def log_evidence(self) -> float:
        """Return Laplace's approximation of log p(y | x), the log probability of the labels under the prior.

        log p(θ̂, D) + ½ d log 2π − ½ log |H|, with H minus the Hessian of the log posterior at its mode θ̂. What has a
        flat prior counts as a density of 1, so that only models with the same flat parameters compare. Raises as
        `laplace`.
        """
        value, _, curvature = LogPosterior(self._likelihood, self.weight_prior).derivatives(self._mode)
        return value + 0.5 * len(curvature) * LOG_2_PI - float(np.log(np.diag(np.linalg.cholesky(curvature))).sum())

    def density(self) -> CompiledDensity:
        """Return log p(θ, D) in the coordinates z of ``laplace().center + laplace().factor z``; raises as `laplace`."""
        return self._whitened(self.laplace(), self.weight_prior)

    def _whitened(self, approximation: LaplaceApproximation, prior: WeightPrior | NormalWeightPrior) -> LogisticDensity:
        """Return log p(θ, D) under a prior, in the coordinates of a normal approximation."""
        from bayesclf.models.logistic.density import LogisticDensity

        scale, vectors = self.design.scale, len(self.labels) - 1
        unit = np.concatenate([np.ones(vectors), np.tile(scale, vectors)])
        factor = approximation.coordinates(self.X)
        units = unit[:, None] if factor.ndim == 2 else unit
        return LogisticDensity(self._likelihood, prior, approximation.center * unit, factor * units, scale)

    def unravel(self, values: Array) -> Parameters:
        """Return the parameters from vectors (draw, value) in the order of `laplace`, weights per unit."""
        vectors = len(self.labels) - 1
        weight = values[:, vectors:].reshape(len(values), vectors, len(self.design))
        return {
            "intercept": of_outcomes(values[:, :vectors], self.symmetric),
            "weight": of_outcomes(weight, self.symmetric, axis=1),
        }

    def hypotheses(self, theta: Array) -> Parameters:
        """Return the parameters (draw, …) of θ (draw, vector, 1 + column), weights per sd of a column."""
        every = of_outcomes(theta, self.symmetric, axis=1)
        return {"intercept": every[:, :, 0], "weight": every[:, :, 1:] / self.design.scale}

    def pymc(self) -> pm.Model:
        """Return the PyMC model of the training rows.

        It is that of `pymc_models` where there is one for the prior, with a row of weight n as n rows.

        Raises
        ------
        Refused
            For weights that are not whole numbers, where the model has none.
        """
        if not self.has_page:
            return self._observed(self.X, self.y, self.sample_weight)
        times = self.sample_weight.round().astype(int)
        if not np.allclose(times, self.sample_weight, rtol=1e-12):
            raise Refused(NO_WEIGHTS)
        return self._page(np.repeat(np.asarray(self.X), times, axis=0), np.repeat(self.y, times))

    def page(self, rows: Rows, y: Integers) -> pm.Model:
        """Return the same PyMC model over other rows; a level that the training rows lack is refused."""
        X = self.design.matrix(self.known_levels(rows))
        return self._page(np.asarray(X), y) if self.has_page else self._observed(X, y, np.ones(len(y)))

    def of_page(self, draws: Mapping[str, Array]) -> Parameters:
        """Return the parameters from draws (draw, …) of the PyMC model, that of NUTS being the same."""
        return self.from_pymc(draws)

    def shown_coords(self) -> dict[str, Any]:
        """Return the coordinates."""
        return self.coords()

    @property
    def has_page(self) -> bool:
        """Whether the model is one of `pymc_models`: rows are dense, and weights are finite and around 0."""
        prior = self.weight_prior
        return (
            isinstance(prior, WeightPrior)
            and not isinstance(self.X, CenteredRows)
            and bool(np.isfinite(prior.scale).all() and not prior.mean[:, 1:].any())
            and bool((prior.scale == prior.scale[0]).all())
            and not (self.symmetric and prior.mean.any())  # a mean that is against the reference
        )

    @property
    def page_settings(self) -> dict[str, Any]:
        """Directions and prior, as arguments of `pymc_models.logistic_regression`: each column is a direction."""
        sd = self.weight_prior.scale[0, 1:]  # type: ignore[union-attr]
        return {"directions": (np.eye(len(sd)), np.ones(len(sd))), "prior_scale": 1.0, "correlation": 0.0, "given": sd}

    def _page(self, X: Array, y: Integers) -> pm.Model:
        """Return the page of `pymc_models` for standardized rows (row, column) and label codes (row)."""
        from bayesclf import pymc_models

        assert isinstance(self.prior, LogisticPrior)
        design, settings = self.design, self.page_settings
        center = design.centre - self.weight_prior.shift * design.scale
        labels = np.array(self.labels, dtype=object)
        return pymc_models.logistic_regression(
            pd.DataFrame(X * design.scale + design.centre, columns=list(design.names)),
            labels[y],
            intercept_mean=self.prior.intercept_mean,
            intercept_scale=self.prior.intercept_scale,
            symmetric=self.prior.prior_form == "symmetric",
            columns=pymc_models.Columns(center, design.scale, *settings.pop("directions")),
            classes=labels,
            **settings,
        )

    def _observed(self, X: Matrix, y: Integers, weight: Array) -> pm.Model:
        """Return the PyMC model of any other prior, or of sparse rows; its X is measured from the means."""
        from bayesclf.models.logistic.pymc import build

        coords = {**self.coords(), "outcome": list(self.labels[self._others])}
        prior: Any = self.weight_prior
        return build(in_units(X, self.design.scale), y, weight, prior, self.design.scale, coords)

    def known_levels(self, rows: Rows) -> Rows:
        """Return rows, or raise `Refused` where one has a level that the training rows lack."""
        if self.design.unseen(rows).any():
            raise Refused("the PyMC model has no weight for a level that the training rows lack; leave its rows out")
        return rows

    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return intercept and weight, from these or from the free variables; without columns there is no weight."""
        intercept = draws["intercept"]
        if not len(self.design):
            weight = np.zeros((*intercept.shape, 0))
        elif "weight" in draws:
            weight = draws["weight"]
        else:
            scale: Any = self.page_settings["given"] / self.design.scale
            weight = draws["epsilon"].swapaxes(1, 2) * scale
        if self.symmetric and intercept.shape[-1] < len(self.labels):
            intercept, weight = of_outcomes(intercept, True), of_outcomes(weight, True, axis=1)
        return {"intercept": self.at_means(intercept, weight), "weight": weight}

    def at_means(self, intercept: Array, weight: Array) -> Array:
        """Return the intercepts of the parameters, (…, outcome), from those that users see; `shown` does the reverse.

        Parameters
        ----------
        intercept
            Where the prior has it: at the means of all columns, or at x = 0, (…, outcome).
        weight
            Per unit of the columns, (…, outcome, feature).
        """
        return np.asarray(intercept + weight @ (self.weight_prior.shift * self.design.scale))

    def shown(self, parameters: Parameters) -> Parameters:
        """Return parameters as the PyMC model has them, the intercept where the prior has it."""
        moved = parameters["weight"] @ (self.weight_prior.shift * self.design.scale)
        found = {**parameters, "intercept": parameters["intercept"] - moved}
        if self.has_page:
            epsilon = of_outcomes(self.innovations(parameters), self.symmetric, axis=1)
            found["epsilon"] = epsilon.transpose(0, 2, 1)
        return found

    def innovations(self, parameters: Parameters) -> Array:
        """Return ε (draw, vector, direction) of parameters (draw, …), against the reference: weights over their sds."""
        theta = self._theta(parameters["intercept"], parameters["weight"])
        return np.asarray(theta[..., 1:] / self.weight_prior.scale[:, 1:])  # type: ignore[union-attr]

    def shown_dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of what `shown` returns."""
        return {**self.dims(), **({"epsilon": ("direction", "outcome")} if self.has_page else {})}

    def signature(self) -> Hashable:
        """Return what fixes the compiled form: shapes and the prior's form, but no data, rows or hyperparameters."""
        prior = self.weight_prior
        if isinstance(prior, NormalWeightPrior):
            return ("logistic", len(self.labels), len(self.design), "normal")
        intercept = "flat" if prior.flat_intercept else "moved" if prior.shift.any() else "means"
        stored = "sparse" if isinstance(self.X, CenteredRows) else "dense"
        form = (prior.symmetric, intercept, prior.flat_weights.tobytes() if prior.flat_weights.any() else b"")
        return ("logistic", len(self.labels), len(self.design), *form, stored)

    def log_scores(self, rows: Rows, parameters: Parameters) -> Array:
        """Return the log-odds against the reference (draw, row, outcome), its own being 0.

        The memory is laid out (row, outcome, draw).
        """
        return self.linear_scores(parameters).scores(rows)

    def linear_scores(self, parameters: Parameters) -> LinearScores:
        """Return the log-odds against the reference as linear functions of `columns`.

        A level that the training rows do not have adds its weight: `parameters["unseen"]` (draw, outcome, category),
        drawn from `unseen_prior`, or the prior's mean.
        """
        weight = against_reference(parameters["weight"], self.symmetric, axis=1).transpose(2, 1, 0)
        unseen = parameters.get("unseen", self.weight_prior.unseen_mean[None]).transpose(2, 1, 0)
        columns, vectors, draws = weight.shape
        coefficient = np.empty((1 + columns + len(unseen), vectors, draws))
        coefficient[0] = against_reference(parameters["intercept"], self.symmetric).T
        np.multiply(weight, self.design.scale[:, None, None], out=coefficient[1 : 1 + columns])
        coefficient[1 + columns :] = unseen
        return LinearScores(self.columns, coefficient, self._reference)

    def columns(self, rows: Rows) -> Matrix:
        """Return 1, the columns of the design and, if there are any, those of unseen levels, (row, column)."""
        matrix = self.design.matrix(rows)
        if isinstance(matrix, CenteredRows):
            return matrix.with_ones()
        unseen = self.design.unseen(rows)
        own = [np.ones((len(rows), 1)), matrix]
        return np.concatenate([*own, unseen] if unseen.any() else own, axis=1)

    def unseen_prior(self, parameters: Parameters) -> UnseenPrior:
        """Return the prior of the weights of unseen levels, given draws (draw, …) of the parameters."""
        return self.weight_prior.unseen

    def unseen_prior_of_all(self, parameters: Parameters) -> UnseenPrior:
        """Return the normal of the same moments, averaged over draws (draw, …) of the parameters."""
        prior = self.unseen_prior(parameters)
        sds = np.sqrt(np.mean(prior.scale**2, axis=0)) if prior.scale.ndim > prior.mean.ndim else prior.scale
        return replace(prior, scale=sds)

    def improper(self) -> str:
        """Return why the posterior cannot be normalized, as a sentence; empty where it can."""
        counts = self.label_counts
        if self.weight_prior.flat_intercept and not counts.all():
            cause = f"class {self.labels[int(np.argmin(counts))]!r} has no rows and the intercept's prior is flat"
            return f"{cause}, so the posterior has neither a maximum nor a finite mass; take a finite intercept_scale"
        flat = self.weight_prior.flat_weights.any(axis=0)
        return self._free_direction(np.flatnonzero(flat)) if flat.any() else ""

    def _free_direction(self, flat: Integers) -> str:
        """Return in which direction neither the likelihood nor the prior bounds weights with a flat prior, if any."""
        likelihood = self._likelihood
        with_intercept = self.weight_prior.flat_intercept
        chosen = np.concatenate([[0] if with_intercept else [], 1 + flat]).astype(np.intp)
        what = listed((repr(self.design.names[j]) for j in flat), LISTED_COLUMNS, AND_MORE)
        if not determined(likelihood.X, chosen, likelihood.weight):
            return (
                f"some of the columns {what} are weighted sums of others{' or constant' * with_intercept}, so that "
                "with a flat prior their weights are not determined; take a finite prior_scale for these"
            )
        rows, codes, _ = self._stored(np.zeros(self.weight_prior.mean.shape))
        if with_intercept or not isinstance(likelihood.X, CenteredRows):
            unbounded = recedes(rows[:, chosen], codes, likelihood.vectors, with_intercept)
        else:  # without an intercept of its own, where the columns have 0 matters
            unbounded = recedes(dense(likelihood.X)[:, chosen], codes, likelihood.vectors, with_intercept)
        if unbounded:
            return (
                f"weights on {what} separate the classes, and with a flat prior nothing keeps them finite, so that the "
                "posterior has neither a maximum nor a finite mass; take a finite prior_scale"
            )
        return ""

    def not_conjugate(self) -> str:
        """Return why the posterior has no closed form."""
        return "the normal prior is not conjugate to the likelihood of logistic regression"

    def not_augmentable(self) -> str:
        """Return that there is no data augmentation."""
        return "the model is not generative"

    def log_class_prior(self, parameters: Parameters) -> Array:
        """Return the log frequencies of the labels in the training rows, (1, outcome); uniform without rows."""
        counts = self.label_counts
        if not counts.any():
            counts = np.ones(len(self.labels))
        return logs(counts / counts.sum())[None]

    def log_predictive(self, rows: Rows) -> None:
        """Return None: there is no closed form, and no p(x)."""

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words."""
        return {"intercept": ("outcome",), "weight": ("outcome", "feature")}

    def coords(self) -> dict[str, Any]:
        """Return the labels, without the reference unless all have parameters, and the columns."""
        labels = self.labels if self.symmetric else self.labels[self._others]
        names = list(self.design.names)
        return {"outcome": list(labels), "feature": names, "direction": list(range(len(names)))}

    @cached_property
    def weight_prior(self) -> WeightPrior | NormalWeightPrior:
        """The prior in numbers."""
        if isinstance(self.prior, NormalPrior):
            return self.prior.resolve(self.design, len(self.labels) - 1)
        return self.prior.resolve(self.design, len(self.labels) - 1, means=self.level_means)

    @cached_property
    def _mode(self) -> Array:
        """The posterior mode θ (outcome, 1 + column), weights per sd."""
        if reason := self.improper():
            raise DoesNotExist(reason)
        objective, start = self.objective("map")
        few = self._likelihood.some(SKIPPED)
        if few is not None and not self.weight_prior.flat_weights.any():
            start = maximize(LogPosterior(few, self.weight_prior), start, NEAR)
        return maximize(objective, start)

    def objective(self, name: str) -> tuple[Likelihood | LogPosterior, Array]:
        """Return what ``"mle"`` or ``"map"`` maximizes, and a start θ (outcome, 1 + column), weights per sd."""
        start = self.weight_prior.mean.copy()
        counts = self.label_counts
        start[:, 0] = np.log((counts[self._others] + 1) / (counts[self._reference] + 1))
        likelihood = self._likelihood
        return (likelihood if name == "mle" else LogPosterior(likelihood, self.weight_prior)), start

    def unmoved(self, name: str) -> Parameters:
        """Return the parameters (draw axis of length 1) that `objective` of ``"mle"`` or ``"map"`` takes as given."""
        return {}

    @cached_property
    def _likelihood(self) -> Likelihood:
        """The conditional likelihood of the rows of positive weight."""
        X, codes, weight = self._present
        return Likelihood(with_ones(X), codes, weight, len(self.labels) - 1)

    @property
    def _reference(self) -> int:
        return 0 if len(self.labels) == 2 else len(self.labels) - 1

    @property
    def _others(self) -> slice:
        """The labels with a weight vector."""
        return slice(1, 2) if len(self.labels) == 2 else slice(0, len(self.labels) - 1)

    @property
    def _codes(self) -> Integers:
        """Codes (row) of the weight vectors, −1 for the reference."""
        return np.where(self.y == self._reference, -1, self.y - self._others.start)

    @property
    def label_counts(self) -> Array:
        """Weight of the training rows of each label (outcome)."""
        return np.bincount(self.y, self.sample_weight, minlength=len(self.labels))

    @property
    def column_totals(self) -> Array:
        """Weighted sum of each column, as the design has it, over the training rows (column)."""
        return np.asarray(self.sample_weight @ self.X)

    def level_counts(self) -> list[tuple[str, float]]:
        """Return each level as "column=level", and the weight of its training rows."""
        first = len(self.design) - sum(self.design.sizes)
        return list(zip(self.design.names[first:], self.column_totals[first:].tolist(), strict=True))

    def constant_features(self) -> list[str]:
        """Return the columns that have one value only, or none."""
        sizes = zip(self.design.category_names, self.design.sizes, strict=True)
        return [*self.design.constant, *(name for name, size in sizes if size < 2)]

    def of_rows(self, X: Matrix, y: Integers, sample_weight: Array) -> LogisticModel:
        """Return the model with the same columns and prior, of other rows."""
        return replace(self, X=X, y=y, sample_weight=sample_weight)

    def require_rows(self) -> None:
        """Raise `Refused` for a model that does not hold its rows: nothing here."""

    def parameters(self, theta: Array) -> Parameters:
        """Return one hypothesis from θ (vector, 1 + column) with weights per sd."""
        return self.hypotheses(theta[None])

    def _refuse(self, found: Separation | None) -> None:
        """Raise `DoesNotExist` if the classes are separable."""
        if found is not None:
            raise DoesNotExist(found.sentence(self.design.names))
