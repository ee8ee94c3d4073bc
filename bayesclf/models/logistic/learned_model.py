"""Logistic regression whose prior has a scale, and a correlation of the weights, that are learned with these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, override

import numpy as np
from scipy.special import logit

from bayesclf.arrays import Array, Parameters
from bayesclf.errors import DoesNotExist, Refused
from bayesclf.models.logistic.centered import CenteredRows, Matrix
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.likelihood import (
    LaplaceApproximation,
    Likelihood,
    LogPosterior,
    MappedLikelihood,
    Proposal,
)
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.newton import DENSE_PARAMETERS, maximize, nearest_normal
from bayesclf.models.logistic.nodes import NODE_CONVERGED, Found, Lattice, Node
from bayesclf.models.logistic.prior import LogisticPrior, UnseenPrior, WeightPrior
from bayesclf.models.logistic.scaled_prior import GivenScale, ScaledPrior

if TYPE_CHECKING:
    from bayesclf.models.logistic.density import ScaledDensity

LARGEST_LOGIT = 30.0
"""Logits of ρ are cut here, where ρ is 0 or 1 but for rounding."""


def not_learnable(X: Matrix, weights: int) -> str:
    """Return why the scale of a number of weights on some rows cannot be learned, or would take too long; or ""."""
    if isinstance(X, CenteredRows):
        return "the table is sparse"
    if weights > DENSE_PARAMETERS:
        return f"the model has {weights:,} weights and the limit is {DENSE_PARAMETERS:,}"
    return ""


def learns_nothing(prior: LogisticPrior, design: LogisticDesign) -> bool:
    """Return whether the scales of all columns of a design are given, or there is no column."""
    unit, double = (prior.resolve(design, 1, scale) for scale in (1.0, 2.0))
    return not (double.scale > unit.scale).any()


@dataclass(frozen=True, eq=False, repr=False)
class LearnedScaleModel(LogisticModel):
    """P(y = k | x) ∝ exp(b_k + w_k·(x − center)) with w_k ~ N(0, s² [(1 − ρ) I + ρ C]), s and ρ unknown.

    ================= =========== ============================================ =====================================
    parameter         support     prior (symmetric)                            axes
    ================= =========== ============================================ =====================================
    prior_scale       above 0     LogNormal(log median, spread)                ()
    prior_correlation [0, 1]      Uniform(0, 1), or a number                   ()
    intercept         real        as in `LogisticModel`                        (outcome), the log-odds at the means
    weight            real        N(0, s² [(1 − ρ) I + ρ C]) per sd, for any   (outcome, feature), per unit of x_j
                                  two classes, given s and ρ
    ================= =========== ============================================ =====================================

    C is the covariance of the standardized columns, see `LearnedScale`. MAP: the mode of (log s, logit ρ) given D, and
    the mode of the weights given these. Their joint density has no useful maximum: it is unbounded as s → 0. The
    evidence of s and ρ is Laplace's approximation; importance weights of draws, or NUTS, correct it.

    References
    ----------
    MacKay (1992), The evidence framework applied to classification networks, doi:10.1162/neco.1992.4.5.720.
    """

    def __post_init__(self) -> None:
        if reason := not_learnable(self.X, (len(self.labels) - 1) * (1 + len(self.design))):
            raise Refused(f"the prior scale is not learned, because {reason}; take a number, such as prior_scale=2.5")
        super().__post_init__()

    @cached_property
    def scale_prior(self) -> ScaledPrior:
        """The prior of s and ρ, and of the weights given both, in numbers."""
        assert isinstance(self.prior, LogisticPrior)
        return ScaledPrior.of(self.prior, self.design, len(self.labels) - 1, self.moments)

    @cached_property
    @override
    def weight_prior(self) -> WeightPrior:
        """The prior of the weights at s = 1 and ρ = 0, in numbers."""
        assert isinstance(self.prior, LogisticPrior)
        return self.prior.resolve(self.design, len(self.labels) - 1, 1.0, self.moments.mean)

    @cached_property
    def lattice(self) -> Lattice:
        """The posterior of (log s, logit ρ) on a lattice.

        Raises
        ------
        DoesNotExist
            Where `map` does.
        """
        if reason := self.improper():
            raise DoesNotExist(reason)
        return Lattice.explored(self.scale_prior, self._find_modes, self._seen(self._start))

    def _find_modes(self, at: list[Array], starts: list[Array]) -> list[Found]:
        """Return value, mode and minus the Hessian of γ at each (log s, logit ρ), given a start for each."""
        found = []
        for (log_scale, of_rho), start in zip(at, starts, strict=True):
            objective = LogPosterior(self._along_directions, self.scale_prior.at(float(log_scale), float(of_rho)))
            gamma = maximize(objective, start, NODE_CONVERGED)
            value, _, curvature = objective.derivatives(gamma)
            found.append((value, gamma, curvature))
        return found

    @cached_property
    def _along_directions(self) -> MappedLikelihood:
        """The likelihood of γ (contrast, 1 + direction), of the directions that the rows tell of."""
        contrast = self.scale_prior.contrast
        same = np.array_equal(contrast, np.eye(len(contrast)))
        return MappedLikelihood(self._reduced, contrast=None if same else contrast)

    @cached_property
    def _reduced(self) -> Likelihood:
        """The likelihood against the reference, of rows along these directions."""
        prior = self.scale_prior
        likelihood = self._likelihood
        return replace(likelihood, X=likelihood.X @ prior.columns[: 1 + prior.seen].T)

    def _seen(self, theta: Array) -> Array:
        """Return γ along the directions that the rows tell of."""
        return self.scale_prior.coordinates(theta)[..., : 1 + self.scale_prior.seen]

    @property
    def _start(self) -> Array:
        """θ from which the first mode is searched for."""
        return super().objective("mle")[1]

    @property
    def best(self) -> tuple[float, float]:
        """The mode of (log s, logit ρ) given D."""
        log_scale, of_rho = self.lattice.best.at
        return float(log_scale), float(of_rho)

    @cached_property
    @override
    def _mode(self) -> Array:
        """The mode of θ given the mode of (log s, logit ρ)."""
        node = self.lattice.best
        gamma = maximize(LogPosterior(self._along_directions, self.scale_prior.at(*node.at)), node.gamma)
        prior = self.scale_prior
        return prior.theta(np.pad(gamma, ((0, 0), (0, len(prior.values) - prior.seen))))

    @override
    def log_evidence(self) -> float:
        """Return log ∫∫ p(D | s, ρ) p(s) p(ρ) ds dρ: Laplace's approximation of p(D | s, ρ), summed over cells."""
        return self.lattice.density.log_evidence

    @override
    def mle(self) -> Parameters:
        """Return the maximum conditional likelihood estimate; its prior is flat, of infinite scale."""
        return {**super().mle(), **self.unmoved("mle")}

    @override
    def map(self) -> Parameters:
        """Return the mode of (log s, logit ρ) given D, and that of the weights given it; raises as its base does."""
        return {**self.parameters(self._mode), **self.unmoved("map")}

    @override
    def unmoved(self, name: str) -> Parameters:
        """Return s and ρ: for ``"mle"`` those of a flat prior, for ``"map"`` their mode."""
        log_scale, of_rho = (np.inf, 0.0) if name == "mle" else self.best
        return {
            "prior_scale": np.array([np.exp(log_scale)]),
            "prior_correlation": self.scale_prior.rho(np.array([of_rho])),
        }

    @override
    def objective(self, name: str) -> tuple[Likelihood | LogPosterior, Array]:
        """Return what ``"mle"`` or ``"map"`` maximizes, the latter given s and ρ at their mode, and a start θ."""
        objective, start = super().objective(name)
        if name == "mle":
            return objective, start
        return LogPosterior(self._likelihood, GivenScale(self.scale_prior, *self.best)), start

    @override
    def log_posterior(
        self,
        intercept: Array,
        weight: Array,
        prior_scale: Array | None = None,
        prior_correlation: Array | None = None,
    ) -> Array:
        """Return log p(θ, log s, logit ρ) + Σ w log P(y | x, θ), constants included, shape (draw).

        Parameters
        ----------
        intercept
            (draw, outcome).
        weight
            Per unit of the columns, (draw, outcome, feature).
        prior_scale, prior_correlation
            s and ρ (draw); without them, they are integrated out.
        """
        theta, prior = self._theta(intercept, weight), self.scale_prior
        log_likelihood = self._likelihood.values(theta) + self._log_units
        if prior_scale is None or prior_correlation is None:
            return np.asarray(log_likelihood + prior.log_marginal(theta))
        at = np.log(prior_scale), logits(prior_correlation)
        return np.asarray(log_likelihood + prior.log_density_of_scales(*at) + prior.log_density(theta, *at))

    @override
    def log_prior(self, parameters: Parameters) -> dict[str, Array]:
        """Return the log densities (draw) of (log s, logit ρ), and of the weights given these, up to constants."""
        at = np.log(parameters["prior_scale"]), logits(parameters["prior_correlation"])
        theta = self._theta(parameters["intercept"], parameters["weight"])
        prior = self.scale_prior
        return {"prior_scale": prior.log_density_of_scales(*at), "weights": prior.log_density(theta, *at)}

    @override
    def prior_draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw parameters (draw, …) from the prior, or raise `Refused` for a flat one."""
        self.refuse_flat()
        theta, log_scale, of_rho = self.scale_prior.draw(rng, draws)
        return self._with_scales(theta, np.column_stack([log_scale, of_rho]))

    def _with_scales(self, theta: Array, at: Array) -> Parameters:
        """Return the parameters (draw, …) of θ (draw, vector, 1 + column) and (log s, logit ρ) (draw, 2)."""
        scales = {"prior_scale": np.exp(at[:, 0]), "prior_correlation": self.scale_prior.rho(at[:, 1])}
        return {**self.hypotheses(theta), **scales}

    @override
    def unseen_prior(self, parameters: Parameters) -> UnseenPrior:
        """Return the prior of the weights of unseen levels, each with the scale of its draw."""
        return self.scale_prior.unseen(parameters["prior_scale"])

    @override
    def laplace(self) -> LaplaceApproximation:
        """Return the normal approximation of the weights given s and ρ, at the modes of `map`."""
        objective, _ = self.objective("map")
        _, _, curvature = objective.derivatives(self._mode)
        return LaplaceApproximation.at(self._mode, curvature, self.design.scale)

    @override
    def propose(self, number: int, of_z: Proposal, rng: np.random.Generator) -> tuple[Parameters, Array, Array]:
        """Return proposals (draw, …), their log importance ratios (draw) up to a constant, and z (draw, parameter).

        (log s, logit ρ) are drawn from their density by the nodes' evidences, with some from their prior; given both,
        γ = m + D R z. Weights correct the evidences and the shape.
        """
        lattice, prior = self.lattice, self.scale_prior
        at, log_q = lattice.density.draw(rng, number)
        z, log_t = of_z.draw(rng, number, lattice.modes.shape[-1])
        gamma, log_determinant = lattice.moved(at, z)
        values = self._along_directions.values(gamma)
        sd = (prior.sd * prior.scales(at[:, 0], at[:, 1]))[:, None, : 1 + prior.seen]
        proper = np.isfinite(prior.sd[: 1 + prior.seen])
        gamma_0 = gamma.copy()
        gamma_0[:, :, 0] -= prior.mean
        log_prior = -0.5 * np.sum((gamma_0 / sd)[..., proper] ** 2, axis=(1, 2))
        log_prior -= len(prior.mean) * np.log(sd[..., proper]).sum(axis=(1, 2))
        log_prior += prior.log_density_of_scales(at[:, 0], at[:, 1])
        log_ratio = values + log_prior + log_determinant - log_q - log_t
        return self.of_directions(gamma, at, rng), log_ratio, z

    def near_normal(self) -> LearnedScaleModel:
        """Return the model with proposals by one normal, that nearest to the posterior at the mode of s and ρ."""
        node, prior = self.lattice.best, self.scale_prior
        objective = LogPosterior(self._along_directions, prior.at(*node.at))
        mean, precision = nearest_normal(objective, node.gamma, objective.derivatives(node.gamma)[2])
        only = Node.of(prior, node.at, (objective.value(mean), mean, precision))
        model = replace(self)
        vars(model)["lattice"] = replace(self.lattice, only=only)
        return model

    def of_directions(self, gamma: Array, at: Array, rng: np.random.Generator) -> Parameters:
        """Return the parameters (draw, …) of γ along the directions that the rows tell of, and (log s, logit ρ).

        Along the other directions, of which the rows tell nothing, the weights are drawn from their prior.
        """
        prior = self.scale_prior
        return self._with_scales(prior.theta(prior.draw_unseen(rng, gamma, at[:, 0], at[:, 1])), at)

    @override
    def density(self) -> ScaledDensity:
        """Return the joint log density of s, ρ and the weights, in coordinates in which it is nearly a product."""
        from bayesclf.models.logistic.density import ScaledDensity

        return ScaledDensity(self._reduced, self.lattice, self.of_directions)

    @override
    def shown(self, parameters: Parameters) -> Parameters:
        """Return parameters as the PyMC model has them: its free variables are among them."""
        return {**super().shown(parameters), "log_prior_scale": np.log(parameters["prior_scale"])}

    @override
    def shown_dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of what `shown` returns."""
        return {**super().shown_dims(), "log_prior_scale": ()}

    @property
    @override
    def has_page(self) -> bool:
        """Whether the model is one of `pymc_models`: nothing is flat, and no mean is against the reference."""
        return bool(np.isfinite(self.scale_prior.sd).all()) and not (self.symmetric and self.weight_prior.mean.any())

    @property
    @override
    def page_settings(self) -> dict[str, Any]:
        """Directions and prior, as arguments of `pymc_models.logistic_regression`."""
        prior, settings = self.scale_prior, self.scale_prior.settings
        # a contrast of vectors that add up to 0 has half of the variance of a difference
        given = prior.sd[1:] * (np.sqrt(2.0) if self.symmetric else 1.0)
        return {
            "directions": (prior.directions, prior.values),
            "correlation": "learned" if prior.correlation is None else prior.correlation,
            "median": settings.median,
            "spread": settings.spread,
            "given": None if prior.learned.all() else np.where(prior.learned, np.nan, given),
        }

    @override
    def innovations(self, parameters: Parameters) -> Array:
        """Return ε (draw, vector, direction) of parameters (draw, …), against the reference."""
        at = np.log(parameters["prior_scale"]), logits(parameters["prior_correlation"])
        return self.scale_prior.innovations(self._theta(parameters["intercept"], parameters["weight"]), *at)

    @override
    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return intercept, weight, prior_scale and prior_correlation."""
        scales = {
            "prior_scale": draws["prior_scale"] if "prior_scale" in draws else np.exp(draws["log_prior_scale"]),
            "prior_correlation": draws.get("prior_correlation", np.full(len(draws["intercept"]), self.fixed)),
        }
        found = dict(draws)
        if "weight" not in found:  # the free variables alone
            at = np.log(scales["prior_scale"]), logits(scales["prior_correlation"])
            w = self.scale_prior.directions @ (self.scale_prior.sd_of_epsilon(*at)[:, :, None] * draws["epsilon"])
            found["weight"] = w.transpose(0, 2, 1) / self.design.scale
        return {**super().from_pymc(found), **scales}

    @property
    def fixed(self) -> float:
        """ρ where it is fixed, else NaN."""
        return np.nan if self.scale_prior.correlation is None else self.scale_prior.correlation

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words."""
        return {**super().dims(), "prior_scale": (), "prior_correlation": ()}


def logits(correlation: Array) -> Array:
    """Return logit ρ of ρ, finite."""
    return np.clip(logit(correlation), -LARGEST_LOGIT, LARGEST_LOGIT)
