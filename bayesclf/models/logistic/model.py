"""Logistic regression: P(y | x) itself, with normal priors on its weights; of rows in memory, or elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
import pandas as pd
from scipy.special import logit

from bayesclf.arrays import Array, DrawZ, Integers, Parameters
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families.dirichlet import logs
from bayesclf.models.generative import Block
from bayesclf.models.linear import LinearScores, Matrix
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.identifiability import (
    ColumnSpace,
    Moments,
    all_vary,
    collinear_features,
    find_separation,
    plain_separation,
    separating_columns,
    separation_sentence,
)
from bayesclf.models.logistic.likelihood import (
    Likelihood,
    LogPosterior,
    MappedLikelihood,
    NearLikelihood,
    Parts,
    Root,
    StreamedLikelihood,
    with_ones,
)
from bayesclf.models.logistic.newton import CHEAP_HESSIAN, DENSE_PARAMETERS, KEPT_HESSIAN, Modes, maximize, newton
from bayesclf.models.logistic.nodes import Lattice
from bayesclf.models.logistic.prior import LogisticPrior, WeightPrior, against_reference, of_outcomes
from bayesclf.tables.columns import Rows
from bayesclf.tables.numbers import blocks_of
from bayesclf.wording import counted

if TYPE_CHECKING:
    import pymc as pm

    from bayesclf.models.logistic.density import LogisticDensity

__all__ = ["LogisticModel", "LogisticPrior", "StreamedModel"]

SKIPPED, NEAR = 16, 0.1
"""Every so many rows say first where the mode is, up to this last step in posterior sds."""
MANY = 50_000
"""Of as many rows or more, some say first whether columns are collinear."""
MODERATE_LOG_ODDS = 30.0
"""Maximum likelihood is accepted without a check of separability only if all log-odds are below this."""
MOST_PROPAGATED = 1e9
"""Nodes × rows × parameters² up to which normals with the moments of the posterior are looked for."""
LARGEST_LOGIT = 30.0
"""Logits of ρ are cut here, where ρ is 0 or 1 but for rounding."""


def not_learnable(X: Matrix, weights: int) -> str:
    """Return why the scale of a number of weights on some rows cannot be learned, or would take too long; or ""."""
    if not isinstance(X, np.ndarray):
        return "the table is sparse"
    if weights > DENSE_PARAMETERS:
        return f"the model has {weights:,} weights and the limit is {DENSE_PARAMETERS:,}"
    return ""


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """P(y = k | x) ∝ exp(b_k + w_k·(x − center)), where the reference class has b = w = 0.

    ================= =========== ============================================ =====================================
    parameter         support     prior (symmetric)                            axes
    ================= =========== ============================================ =====================================
    intercept         real        N(m, s²) for the log-odds of any two classes (outcome), the log-odds at the means
    weight            real        N(m_j, s_j²/sd_j²) for any two classes       (outcome, feature), per unit of x_j
    ================= =========== ============================================ =====================================

    Where the prior's scale is learned, there are two more, and the weights depend on them:

    ================= =========== ============================================ =====================================
    prior_scale       above 0     LogNormal(log median, spread)                ()
    prior_correlation [0, 1]      Uniform(0, 1), or a number                   ()
    weight            real        N(0, s² [(1 − ρ) I + ρ C]) per sd, for any   (outcome, feature), per unit of x_j
                                  two classes, given s and ρ
    ================= =========== ============================================ =====================================

    C is the covariance of the standardized columns, see `LearnedScale`. MAP is then the mode of (log s, logit ρ) given
    D, and the mode of the weights given these. Their joint density has no useful maximum: it is unbounded as s → 0. The
    evidence of s and ρ is Laplace's approximation; importance weights of draws, or chains, correct it.

    The reference is the last class, or the first of two, so that weights are then log-odds of the second. The others'
    intercepts and weights per sd are θ (vector, 1 + column). The label axis of the parameters holds the other classes.
    Under a symmetric prior of more than two it holds all classes, and their parameters add up to 0. See `LogisticPrior`
    for the priors' forms.

    `labels`: Names of the classes, at least two. `X`: Training rows as `design.matrix` returns them, (row, column).
    `y`: Label codes (row). `sample_weight`: (row), at least 0.

    See Mitchell, eqs 24 and 25 (two classes), 27 and 28 (more), 26 and 29 (gradients). MacKay (1992), The evidence
    framework applied to classification networks, doi:10.1162/neco.1992.4.5.720 (a scale that is learned).
    """

    labels: tuple[str, ...]
    design: LogisticDesign
    X: Matrix
    y: Integers
    sample_weight: Array
    prior: LogisticPrior
    generative: ClassVar[bool] = False
    kept_below: ClassVar[float] = KEPT_HESSIAN
    blocks: ClassVar[tuple[Block, ...]] = ()

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        size = f"{counted(len(self.labels), 'class', 'classes')}, {counted(rows, 'row')}, {counted(columns, 'column')}"
        return f"{type(self).__name__}({size})"

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: the lattice takes far more memory, and can be computed again."""
        return {own.name: getattr(self, own.name) for own in fields(self)}

    def __post_init__(self) -> None:
        if len(self.labels) < 2:
            raise InputError(f"logistic regression needs at least two classes, not {len(self.labels)}")
        if self.learns and (reason := not_learnable(self.X, self.size)):
            raise Refused(f"the prior scale is not learned, because {reason}; use a number, such as prior_scale=2.5")
        _ = self.weight_prior  # raises here if a setting does not fit the columns

    @property
    def learns(self) -> bool:
        """Whether the prior's scale is learned."""
        return self.prior.learned is not None

    @property
    def size(self) -> int:
        """Number of intercepts and weights."""
        return (len(self.labels) - 1) * (1 + len(self.design))

    def mle(self) -> Parameters:
        """Return the maximum conditional likelihood estimate, of least norm for collinear columns.

        Raises `DoesNotExist` if a class has no rows, or if the classes are linearly separable.
        """
        counts = self.label_counts
        if not counts.all():
            empty = self.labels[int(np.argmin(counts))]
            raise DoesNotExist(f"class {empty!r} has no rows, so the likelihood has no maximum; use rule 'map'")
        # The mode is needed for other purposes too; it is near the estimate or, where there is none, shows why.
        mode = self._mode
        X, y = self._likelihood.X, self._likelihood.y
        self._refuse(plain_separation(X, y, self._likelihood.stored(mode)))
        space, reduced = self._in_column_space()

        def immoderate(gamma: Array) -> bool:
            """Return whether log-odds have grown beyond those of an estimate that exists."""
            return bool(np.abs(self._likelihood.log_odds(space.weights(gamma))).max() > MODERATE_LOG_ODDS)

        optima = newton(reduced, space.of_weights(mode)[None], give_up=immoderate)
        if not optima.converged[0]:
            self._refuse(find_separation(X, y, self._likelihood.stored(space.weights(optima.theta[0]))))
            optima = newton(reduced, optima.theta)
        if not optima.found[0]:
            raise DoesNotExist("the classes are nearly separable, and rounding hides the maximum; use rule 'map'")
        return {**self.hypotheses(space.weights(optima.theta[0])[None]), **self.unmoved("mle")}

    def _in_column_space(self) -> tuple[ColumnSpace, Likelihood | MappedLikelihood]:
        """Return the space that the columns span, and the likelihood in its coordinates."""
        likelihood, X = self._likelihood, self._present[0]
        unit = np.exp2(np.floor(np.log2(likelihood.weight.mean())))  # of weights, on which the estimate does not depend
        likelihood = replace(likelihood, weight=likelihood.weight / unit)
        if not isinstance(X, np.ndarray):
            if X.shape[1] > DENSE_PARAMETERS:
                raise DoesNotExist(
                    f"maximum likelihood of {X.shape[1]:,} weights on a sparse table needs a dense matrix (limit "
                    f"{DENSE_PARAMETERS:,} columns); use the rule 'map'"
                )
            space = ColumnSpace.of(X, likelihood.weight)
            space = replace(space, mean=space.mean - self.design.centre / self.design.scale)
            return space, MappedLikelihood(likelihood, space.columns)
        space = ColumnSpace.of(X, likelihood.weight)
        return space, replace(likelihood, X=space.coordinates(X))

    def map(self) -> Parameters:
        """Return the posterior mode, of the weights given s and ρ at the mode of (log s, logit ρ) where learned.

        Raises `DoesNotExist` if the intercept is free (infinite scale) and a class has no rows.
        """
        return {**self.hypotheses(self._mode[None]), **self.unmoved("map")}

    def collinear(self) -> tuple[str, ...]:
        """Return the numbers, "… is missing" and categories whose weights the likelihood does not determine.

        Other weights on these give the same probabilities to all training rows. The levels of one category, which add
        up to 1 as no level is a reference, are not counted.
        """
        if len(self.design) > DENSE_PARAMETERS:
            return ()
        step = SKIPPED * (len(self.y) // MANY)
        if not self.learns and step and all_vary(self.X[::step], self.sample_weight[::step]):
            return ()
        return collinear_features(self.design, self.moments, self._variances)

    def _variances(self, sums: Array) -> Array:
        """Return the variances over the training rows of weighted sums (column, sum) of the columns."""
        deviations = np.asarray(self.X @ sums) - self.moments.mean @ sums
        return np.asarray(self.sample_weight @ deviations**2) / self.sample_weight.sum()

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

    def log_posterior(self, intercept: Array, weight: Array, **scales: Array) -> Array:
        """Return log p(θ, log s, logit ρ) + Σ w log P(y | x, θ) of parameters (draw, …), shape (draw).

        Constants are included. It is the density of the weights in the columns' own units, the logp of the PyMC model.
        """
        log_prior = self.log_prior({"intercept": intercept, "weight": weight, **scales})
        log_likelihood = self._likelihood.values(self._theta(intercept, weight))
        return np.asarray(log_likelihood + sum(log_prior.values()) + self._log_units)

    def _theta(self, intercept: Array, weight: Array) -> Array:
        """Return θ (draw, outcome, 1 + column), the weights per sd of a column."""
        of_outcomes = np.concatenate([intercept[:, :, None], weight * self.design.scale], axis=2)
        return against_reference(of_outcomes, self.symmetric, axis=1)

    @property
    def symmetric(self) -> bool:
        """Whether the parameters are those of every class, adding up to 0, and not against the reference."""
        return self.weight_prior.symmetric

    @property
    def level_means(self) -> Array | None:
        """Means of the 0/1 columns over the training rows, 0 for numbers, (column); None without such columns."""
        numbers = len(self.design.varying)
        total = self.label_counts.sum()
        if numbers == len(self.design) or not total > 0:
            return None
        means = self.column_totals / total
        means[:numbers] = 0.0
        return means

    @property
    def _log_units(self) -> float:
        """Log of the factor sd for each weight that turns a density per sd of the columns into one per unit."""
        return float((len(self.labels) - 1) * np.log(self.design.scale).sum())

    def log_prior(self, parameters: Parameters) -> dict[str, Array]:
        """Return the log density (draw) of the prior of the weights per sd, and of (log s, logit ρ)."""
        theta, prior = self._theta(parameters["intercept"], parameters["weight"]), self.weight_prior
        if not self.learns:
            return {"weights": prior.log_density(theta)}
        at = self._scales_of(parameters)
        return {"prior_scale": prior.log_density_of_scales(*at), "weights": prior.given(*at).log_density(theta)}

    @staticmethod
    def _scales_of(parameters: Parameters) -> tuple[Array, Array]:
        """Return log s and logit ρ of parameters (draw, …); 0 where they are not among these."""
        if "prior_scale" not in parameters:
            return (np.zeros(len(parameters["intercept"])),) * 2
        return np.log(parameters["prior_scale"]), logits(parameters["prior_correlation"])

    def prior_draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw parameters (draw, …) from the prior.

        Raises `Refused` for a flat prior.
        """
        if self.weight_prior.flat:
            raise Refused("the intercept's prior is flat, and nothing can be drawn from it")
        theta, log_scale, of_rho = self.weight_prior.draw(rng, draws)
        return self._with_scales(theta, np.column_stack([log_scale, of_rho]))

    def _with_scales(self, theta: Array, at: Array) -> Parameters:
        """Return the parameters (draw, …) of θ (draw, vector, 1 + column) and (log s, logit ρ) (draw, 2)."""
        if not self.learns:
            return self.hypotheses(theta)
        scales = {"prior_scale": np.exp(at[:, 0]), "prior_correlation": self.weight_prior.rho(at[:, 1])}
        return {**self.hypotheses(theta), **scales}

    @cached_property
    def lattice(self) -> Lattice:
        """The posterior of (log s, logit ρ) on a lattice; one node where no scale is learned.

        Raises `DoesNotExist` where `map` does; `Refused` if there are more than `DENSE_PARAMETERS` parameters.
        """
        if reason := self.improper():
            raise DoesNotExist(reason)
        if self.size > DENSE_PARAMETERS:
            raise Refused(
                f"the Laplace approximation of {self.size} parameters is refused: the limit is {DENSE_PARAMETERS}; "
                "use inference='map', or fewer columns"
            )
        modes = Modes(self._searched, self.weight_prior, self._maximized, self.kept_below)
        start = self._first if self.learns else self.weight_prior.coordinates(self._mode)
        return Lattice.explored(self.weight_prior, modes, start)

    @property
    def _start(self) -> Array:
        """γ of weights 0 and an intercept by the class shares."""
        prior = self.weight_prior
        return prior.coordinates(LogisticModel.objective(self, "mle")[1])[:, : 1 + prior.seen]

    @cached_property
    def _first(self) -> Array:
        """γ at which the first search begins; some rows of many say where the mode is about."""
        start, prior = self._start, self.weight_prior
        if self._few is None and start.size <= CHEAP_HESSIAN:
            return start
        median = prior.settings.log_median if prior.settings else 0.0
        searched, given = self._few or self._searched, prior.along(median, 0.0)
        if fewer := searched.some(SKIPPED):
            start = maximize(LogPosterior(fewer, given), start, NEAR)
        return maximize(LogPosterior(searched, given), start, NEAR)

    @cached_property
    def _few(self) -> MappedLikelihood | None:
        """The likelihood of some rows of many."""
        return self._searched.some(SKIPPED)

    def _maximized(self, objective: LogPosterior, start: Array) -> Array:
        """Return the mode of a log posterior of γ."""
        few = self._few and replace(objective, likelihood=self._few)
        return maximize(objective, start, few=few)

    def _objective_at(self, at: Array) -> LogPosterior:
        """Return the log posterior of γ given (log s, logit ρ)."""
        return LogPosterior(self._searched, self.weight_prior.along(*at))

    @cached_property
    def _searched(self) -> MappedLikelihood:
        """The likelihood of γ (contrast, 1 + direction) of the directions that the rows tell of."""
        return MappedLikelihood(self._reduced, contrast=self.weight_prior.contrast if self.symmetric else None)

    @cached_property
    def _reduced(self) -> Likelihood:
        """The likelihood against the reference, of rows along these directions."""
        prior, rows = self.weight_prior, self._likelihood
        if prior.directions is not None:
            return replace(rows, X=rows.X @ prior.columns[: 1 + prior.seen].T)
        if not prior.offset.any():
            return rows
        offset = np.append(0.0, prior.offset)
        if isinstance(rows.X, np.ndarray):
            return replace(rows, X=rows.X - offset)
        return replace(rows, shift=offset if rows.shift is None else rows.shift + offset)

    def _of_coordinates(self, gamma: Array, at: Array, rng: np.random.Generator) -> Parameters:
        """Return the parameters (draw, …) of γ, and of (log s, logit ρ).

        Along directions of which the rows tell nothing, the weights are drawn from their prior.
        """
        prior = self.weight_prior
        return self._with_scales(prior.theta(prior.draw_unseen(rng, gamma, at[:, 0], at[:, 1])), at)

    @property
    def best(self) -> tuple[float, float]:
        """The mode of (log s, logit ρ) given D."""
        log_scale, of_rho = self.lattice.best.at
        return float(log_scale), float(of_rho)

    def unmoved(self, name: str) -> Parameters:
        """Return s and ρ where they are learned, which `objective` takes as given: for ``"mle"`` of a flat prior."""
        if not self.learns:
            return {}
        log_scale, of_rho = (np.inf, 0.0) if name == "mle" else self.best
        return {
            "prior_scale": np.array([np.exp(log_scale)]),
            "prior_correlation": self.weight_prior.rho(np.array([of_rho])),
        }

    def propose(self, number: int, draw: DrawZ, rng: np.random.Generator) -> tuple[Parameters, Array, Array]:
        """Return proposals (draw, …), their log importance ratios (draw) up to a constant, and z (draw, parameter).

        (log s, logit ρ) are drawn from their density by the nodes' evidences, with some from their prior; given both,
        γ = m + D R z. Weights correct the evidences and the shape.
        """
        lattice, prior = self.lattice, self.weight_prior
        at, log_q = lattice.density.draw(rng, number) if self.learns else (np.zeros((number, 2)), np.zeros(number))
        z, log_t = draw(rng, number, lattice.modes.shape[-1])
        gamma, log_determinant = lattice.moved(at, z)
        log_prior = prior.along(*at.T).log_density(gamma) + prior.log_density_of_scales(*at.T)
        near = self._near
        log_likelihood = self._searched.values(gamma) if near is None else near.values(gamma, rng)
        log_ratio = log_likelihood + log_prior + log_determinant - log_q - log_t
        return self._of_coordinates(gamma, at, rng), log_ratio, z

    @cached_property
    def _near(self) -> NearLikelihood | None:
        """The likelihood near the best node; None where all rows are needed."""
        node = max(self.lattice.nodes.values(), key=self.lattice.log_density)
        return NearLikelihood.of(self._objective_at(node.at), node.gamma)

    def propagated(self) -> LogisticModel:
        """Return the model with the normals of `Propagation` at the nodes, which have the moments of the posterior.

        Itself where these would take too long, do not exist, or need rows that it does not hold; and where classes are
        more than `Propagation.points` are for.
        """
        from bayesclf.models.logistic.propagation import Propagation

        if isinstance(self.lattice.normals, Propagation):
            return self
        nodes, size = len(self.lattice.nodes), self.lattice.modes.shape[-1]
        if not isinstance(self.X, np.ndarray) or nodes * len(self.y) * size**2 > MOST_PROPAGATED:
            return self
        first = next(iter(self.lattice.nodes.values()))
        normals, model = Propagation(self._reduced, self.weight_prior), replace(self)
        try:
            vars(model)["lattice"] = Lattice.explored(self.weight_prior, normals, first.gamma)
        except (FloatingPointError, np.linalg.LinAlgError):
            return self
        return model

    def log_evidence(self) -> float:
        """Return log p(y | x), the log probability of the labels under the prior, by Laplace's approximation.

        log p(θ̂, D) + ½ d log 2π − ½ log |H|, with H minus the Hessian of the log posterior at its mode θ̂; where the
        scale is learned, that of p(D | s, ρ), summed over cells, to about .01. A flat prior counts as a density of 1,
        so that only models with the same flat parameters compare. Raises as `lattice`.
        """
        return self.lattice.density.log_evidence if self.learns else self.lattice.best.log_evidence

    def density(self) -> LogisticDensity:
        """Return the log posterior in coordinates in which it is nearly standard normal; raises as `lattice`.

        A sparse table is dense there, and refused where that takes too much memory.
        """
        from bayesclf.models.logistic.density import LogisticDensity

        self.require_rows()
        self.design.require_memory(self.X.shape[0])
        return LogisticDensity(self._reduced, self.lattice, self._of_coordinates)

    def hypotheses(self, theta: Array) -> Parameters:
        """Return the parameters (draw, …) of θ (draw, vector, 1 + column), weights per sd of a column."""
        every = of_outcomes(theta, self.symmetric, axis=1)
        return {"intercept": every[:, :, 0], "weight": every[:, :, 1:] / self.design.scale}

    def pymc(self) -> pm.Model:
        """Return the PyMC model of `pymc_models` of the training rows, with a row of weight n as n rows.

        Raises `Refused` for weights that are not whole numbers, and for a flat prior.
        """
        self.require_rows()
        times = self.sample_weight.round().astype(int)
        if not np.allclose(times, self.sample_weight, rtol=1e-12):
            raise Refused("a PyMC model has no weights; give each row as often as it counts")
        return self._page(np.repeat(self.design.standardized(self.X), times, axis=0), np.repeat(self.y, times))

    def page(self, rows: Rows, y: Integers) -> pm.Model:
        """Return the same PyMC model over other rows; a level that the training rows lack is refused."""
        if self.design.unseen(rows).any():
            raise Refused("the PyMC model has no weight for a level that the training rows lack; leave its rows out")
        return self._page(self.design.standardized(self.design.matrix(rows)), y)

    def shown_coords(self) -> dict[str, Any]:
        """Return the coordinates."""
        return self.coords()

    def _page(self, X: Array, y: Integers) -> pm.Model:
        """Return the page of `pymc_models` for standardized rows (row, column) and label codes (row)."""
        from bayesclf import pymc_models

        prior, design = self.weight_prior, self.design
        if prior.flat:
            raise Refused("a PyMC model has no flat prior; give intercept_scale a number, such as 100")
        given = prior.sd_of_epsilon(np.zeros(1), np.zeros(1))[0]
        scales: dict[str, Any] = {"prior_scale": 1.0, "correlation": 0.0, "given": given}
        if prior.settings is not None:
            scales = {
                "correlation": "learned" if prior.correlation is None else prior.correlation,
                "median": prior.settings.median,
                "spread": prior.settings.spread,
                "given": None if prior.learned.all() else np.where(prior.learned, np.nan, given),
            }
        U = np.eye(len(design)) if prior.directions is None else prior.directions
        labels = np.array(self.labels, dtype=object)
        return pymc_models.logistic_regression(
            pd.DataFrame(X * design.scale + design.centre, columns=list(design.names)),
            labels[y],
            prior_mean=prior.mean[0, 1:],
            intercept_mean=self.prior.intercept_mean,
            intercept_scale=self.prior.intercept_scale,
            symmetric=self.prior.prior_form == "symmetric",
            columns=pymc_models.Columns(design.centre + prior.offset * design.scale, design.scale, U, prior.values),
            classes=labels,
            **scales,
        )

    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return the parameters from draws (draw, …) of the PyMC model's variables, or of its free ones."""
        found, prior, scales = dict(draws), self.weight_prior, {}
        if self.learns:
            fixed = np.full(len(draws["intercept"]), prior.correlation, dtype=float)
            scale = draws["prior_scale"] if "prior_scale" in draws else np.exp(draws["log_prior_scale"])
            scales = {"prior_scale": scale, "prior_correlation": draws.get("prior_correlation", fixed)}
        if "weight" not in found:
            at = self._scales_of({"intercept": draws["intercept"], **scales})
            w = prior.sd_of_epsilon(*at)[:, :, None] * draws["epsilon"]
            w = w if prior.directions is None else prior.directions @ w
            found["weight"] = (w.swapaxes(1, 2) + prior.mean[0, 1:]) / self.design.scale
        return {"intercept": self.at_means(found["intercept"], found["weight"]), "weight": found["weight"], **scales}

    def at_means(self, intercept: Array, weight: Array) -> Array:
        """Return the intercepts of the parameters, (…, outcome), from those that users see; `shown` does the reverse.

        `intercept`: Where the prior has it: at the means of all columns, or at x = 0, (…, outcome). `weight`: Per unit
        of the columns, (…, outcome, feature).
        """
        return np.asarray(intercept - weight @ (self.weight_prior.offset * self.design.scale))

    def shown(self, parameters: Parameters) -> Parameters:
        """Return parameters as the PyMC model has them, its free variables among them."""
        prior = self.weight_prior
        moved = parameters["weight"] @ (prior.offset * self.design.scale)
        found = {**parameters, "intercept": parameters["intercept"] + moved}
        if not prior.flat:
            w = self._theta(parameters["intercept"], parameters["weight"])[..., 1:] - prior.mean[:, 1:]
            w = w if prior.directions is None else w @ prior.directions
            epsilon = w / prior.sd_of_epsilon(*self._scales_of(parameters))[:, None]
            found["epsilon"] = of_outcomes(epsilon, self.symmetric, axis=1).transpose(0, 2, 1)
        if self.learns:
            found["log_prior_scale"] = np.log(parameters["prior_scale"])
        return found

    def shown_dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of what `shown` returns."""
        free = {} if self.weight_prior.flat else {"epsilon": ("direction", "outcome")}
        return {**self.dims(), **free, **({"log_prior_scale": ()} if self.learns else {})}

    def log_scores(self, rows: Rows, parameters: Parameters) -> Array:
        """Return the log-odds against the reference (draw, row, outcome), its own being 0.

        The memory is laid out (row, outcome, draw).
        """
        return self.linear_odds(parameters).scores(rows)

    def linear_odds(self, parameters: Parameters) -> LinearScores:
        """Return the log-odds against the reference as linear functions of `columns`.

        A level that the training rows do not have adds its weight: `parameters["unseen"]` (draw, outcome, category),
        drawn from the prior, or its mean.
        """
        weight = against_reference(parameters["weight"], self.symmetric, axis=1).transpose(2, 1, 0)
        unseen = parameters.get("unseen", self.weight_prior.unseen_mean[None]).transpose(2, 1, 0)
        columns, vectors, draws = weight.shape
        coefficient = np.empty((1 + columns + len(unseen) + 1, vectors, draws))
        coefficient[0] = against_reference(parameters["intercept"], self.symmetric).T
        np.multiply(weight, self.design.scale[:, None, None], out=coefficient[1 : 1 + columns])
        coefficient[1 + columns : -1] = unseen
        coefficient[-1] = -np.tensordot(self.design.centre, weight, 1)
        return LinearScores(self.columns, coefficient, self._reference)

    def columns(self, rows: Rows) -> Matrix:
        """Return 1, the columns of the design and, if there are any, those of unseen levels, (row, column).

        The columns of a sparse table, which are not centered, are followed by 1.
        """
        matrix = self.design.matrix(rows)
        if not isinstance(matrix, np.ndarray):
            return with_ones(matrix, after=True)
        unseen = self.design.unseen(rows)
        own = [np.ones((len(rows), 1)), matrix]
        return np.concatenate([*own, unseen] if unseen.any() else own, axis=1)

    def improper(self) -> str:
        """Return why the posterior cannot be normalized, as a sentence; empty where it can."""
        if self.weight_prior.flat and not self.label_counts.all():
            empty = self.labels[int(np.argmin(self.label_counts))]
            return (
                f"class {empty!r} has no rows and the intercept's prior is flat, so the posterior has no maximum "
                "and no finite mass; use a finite intercept_scale"
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
        scales: dict[str, tuple[str, ...]] = {"prior_scale": (), "prior_correlation": ()} if self.learns else {}
        return {"intercept": ("outcome",), "weight": ("outcome", "feature"), **scales}

    def coords(self) -> dict[str, Any]:
        """Return the labels, without the reference unless all have parameters, and the columns."""
        labels = self.labels if self.symmetric else self.labels[self._others]
        names = list(self.design.names)
        return {"outcome": list(labels), "feature": names, "direction": list(range(len(names)))}

    @cached_property
    def weight_prior(self) -> WeightPrior:
        """The prior in numbers."""
        own = (self.moments.mean, self.moments.covariance) if self.learns else (self.level_means, None)
        return self.prior.resolve(self.design, len(self.labels) - 1, *own)

    @cached_property
    def _mode(self) -> Array:
        """The posterior mode θ (outcome, 1 + column), weights per sd; given that of (log s, logit ρ) where learned."""
        if reason := self.improper():
            raise DoesNotExist(reason)
        prior = self.weight_prior
        at, start = (self.lattice.best.at, self.lattice.best.gamma) if self.learns else (np.zeros(2), self._first)
        gamma = self._maximized(self._objective_at(at), start)
        return prior.theta(np.pad(gamma, ((0, 0), (0, len(prior.values) - prior.seen))))

    def objective(self, name: str) -> tuple[Likelihood | LogPosterior, Array]:
        """Return what ``"mle"`` or ``"map"`` maximizes, and a start θ (outcome, 1 + column), weights per sd.

        The latter is given s and ρ at their mode, where they are learned.
        """
        prior, counts = self.weight_prior, self.label_counts
        start = prior.mean.copy()
        start[:, 0] = np.log((counts[self._others] + 1) / (counts[self._reference] + 1))
        if name == "mle":
            return self._likelihood, start
        return LogPosterior(self._likelihood, prior.given(*self.best) if self.learns else prior), start

    @cached_property
    def _likelihood(self) -> Likelihood:
        """The conditional likelihood of the rows of positive weight."""
        X, codes, weight = self._present
        shift = self.design.shift(X)
        own = None if shift is None else np.append(0.0, shift)
        return Likelihood(with_ones(X), codes, weight, len(self.labels) - 1, own)

    @property
    def _reference(self) -> int:
        return 0 if len(self.labels) == 2 else len(self.labels) - 1

    @property
    def _others(self) -> slice:
        return slice(1, 2) if len(self.labels) == 2 else slice(0, len(self.labels) - 1)

    @property
    def _codes(self) -> Integers:
        """Codes (row) of the weight vectors, −1 for the reference."""
        return np.where(self.y == self._reference, -1, self.y - self._others.start)

    @cached_property
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

    def _refuse(self, columns: Integers | None) -> None:
        if columns is not None:
            X, y = self._likelihood.X[:, 1 + columns], self._likelihood.y
            codes = range(-1, len(self.labels) - 1)
            alone = [self.labels[code] for code in codes if len(separating_columns(X, y == code)) == len(columns)]
            raise DoesNotExist(separation_sentence(columns, self.design.names, alone))


def logits(correlation: Array) -> Array:
    """Return logit ρ of ρ, finite."""
    return np.clip(logit(correlation), -LARGEST_LOGIT, LARGEST_LOGIT)


IN_MEMORY = (
    "a model fitted to batches does not keep its rows, which {what} needs; fit in memory, or use inference='map' and "
    "its plug-in rules"
)
"""Why something is refused."""
SAME = 1e-9
"""Largest difference of moments of the same standardized rows."""


@dataclass(frozen=True, eq=False, repr=False)
class StreamedModel(LogisticModel):
    """`LogisticModel` whose rows are elsewhere: its own are none.

    `labels`, `design`, `X`, `y`, `sample_weight`, `prior`: As of `LogisticModel`, without rows. `label_weights`: Weight
    of each class, (outcome). `mean`: Mean of each column over the rows, (column). `root`: R with RᵀR the covariance of
    the columns over the rows, (column, column). `theta`: The posterior mode, (outcome, 1 + column), weights per sd;
    empty until it is known. `log_scale`, `logit`: The mode of (log s, logit ρ), where it is known.
    """

    kept_below: ClassVar[float] = 0.0  # a gradient takes a pass, as a Hessian does
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
    def label_counts(self) -> Array:
        """Weight of the training rows of each label (outcome)."""
        return self.label_weights

    @property
    def column_totals(self) -> Array:
        """Weighted sum of each column over the training rows (column)."""
        return self.label_weights.sum() * self.mean

    @cached_property
    def moments(self) -> Moments:
        """Means and covariance of the columns over the rows."""
        return Moments(self.mean, self.root.T @ self.root)

    def of_rows(self, X: Matrix, y: Integers, sample_weight: Array) -> LogisticModel:
        """Return the model with the same columns and prior, of rows that it holds."""
        return LogisticModel(self.labels, self.design, X, y, sample_weight, self.prior)

    def require_rows(self) -> NoReturn:
        """Raise `Refused`, as the rows are elsewhere."""
        raise Refused(IN_MEMORY.format(what="this"))

    def propagated(self) -> Self:
        """Return itself: expectation propagation needs the rows again and again."""
        return self

    def has_moments_of(self, X: Array) -> bool:
        """Return whether rows (row, column), standardized, have the moments of the training rows."""
        own = Moments.of(X, np.ones(len(X)))
        pairs = ((own.mean, self.mean), (own.covariance, self.moments.covariance))
        return all(np.allclose(one, other, 0, SAME) for one, other in pairs)

    @cached_property
    def _likelihood(self) -> Any:
        raise Refused(IN_MEMORY.format(what="this"))

    def improper(self) -> str:
        """Return that a flat prior is refused, as the posterior may have no maximum then."""
        flat = self.weight_prior.flat
        return "over batches a flat prior is not allowed; use a finite intercept_scale" if flat else ""

    def mle(self) -> NoReturn:
        """Raise, as whether there is a maximum would need all rows."""
        raise DoesNotExist(IN_MEMORY.format(what="maximum likelihood"))

    def _variances(self, sums: Array) -> Array:
        """Return the variances over the rows of weighted sums (column, sum) of the columns."""
        return np.asarray(np.sum((self.root @ sums) ** 2, axis=0))

    @property
    def best(self) -> tuple[float, float]:
        """The mode of (log s, logit ρ) given D."""
        return (self.log_scale, self.logit) if self.theta.size else super().best

    @cached_property
    def _mode(self) -> Array:
        """The mode of θ, given that of (log s, logit ρ) where learned."""
        return self.theta if self.theta.size else super()._mode

    @property
    def _first(self) -> Array:
        """γ at which the first search begins; looking for a better one takes passes."""
        return self._start

    def _maximized(self, objective: LogPosterior, start: Array) -> Array:
        """Return the mode, or raise `Refused` where Newton's method does not find it: others take too many passes."""
        optima = newton(objective, start[None])
        if not optima.found[0]:
            raise Refused("the posterior mode was not found over batches; use a smaller prior_scale, or fit in memory")
        return np.asarray(optima.theta[0])

    @cached_property
    def _searched(self) -> MappedLikelihood:
        """The likelihood of γ (contrast, 1 + direction) of the directions that the rows tell of."""
        prior = self.weight_prior
        return MappedLikelihood(self._likelihood, prior.columns[: 1 + prior.seen], prior.contrast)


def moments_of(parts: Parts) -> tuple[Array, Array]:
    """Return the columns' means (column), and a root R of their covariance RᵀR over the rows, (column, column).

    The R of a QR decomposition of 1 and the columns has the means in its first row; the rest is what is left of the
    columns without them.
    """
    root = parts.summed(_root_of).R
    return root[0, 1:] / root[0, 0], root[1:, 1:] / abs(root[0, 0])


def _root_of(part: Likelihood) -> Root:
    total = Root(np.zeros((part.X.shape[1],) * 2))
    for rows in blocks_of(len(part.y), part.X.shape[1]):
        X = part.X[rows] if isinstance(part.X, np.ndarray) else part.X[rows].toarray()
        total += Root(np.sqrt(part.weight[rows])[:, None] * X)
    return total
