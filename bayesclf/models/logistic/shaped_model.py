"""Logistic regression whose weights have a prior with heavier tails than a normal's, sampled by NUTS only."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Never, override

import numpy as np

from bayesclf.errors import DoesNotExist, Refused
from bayesclf.models.logistic.learned_model import not_learnable
from bayesclf.models.logistic.likelihood import Likelihood, LogPosterior
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.prior import LogisticPrior, UnseenPrior, WeightPrior, with_indicators
from bayesclf.models.logistic.shaped_prior import PSEUDO_SD, ShapedWeightPrior, shaped_prior
from bayesclf.typing import Array, Parameters

if TYPE_CHECKING:
    from bayesclf.models.logistic.shaped_kernel import ShapedDensity

NO_MODE = (
    "the joint density of weights and their local scales has no useful mode to approximate it around, as that of the "
    "horseshoe is unbounded where scales go to 0, and that of Student-t weights is highest elsewhere if measured per "
    "log scale"
)
"""Why there is no mode and no Laplace approximation, as a clause."""
NUTS_ONLY = (
    f"{NO_MODE}; take inference='nuts' with a rule that averages, or prior_scale='learned' for weights that are normal"
)
TARGET_ACCEPT = 0.99
"""Mean acceptance rate that NUTS adapts to unless told otherwise: at 0.95 a few draws in thousands diverge."""


@dataclass(frozen=True, eq=False, repr=False)
class ShapedScaleModel(LogisticModel):
    """P(y = k | x) ∝ exp(b_k + w_k·(x − center)) with w_kj ~ N(0, s_j²/sd_j²), s_j a scale of each column.

    =========== ======= ============================================== ==============================
    parameter   support prior (symmetric)                              axes
    =========== ======= ============================================== ==============================
    prior_scale above 0 LogNormal(log median, spread); τ ~             ()
                        HalfCauchy(τ₀) of the horseshoe
    local_scale above 0 λ_j² ~ InvGamma(ν/2, ν/2) for Student-t        (scaled_feature)
                        weights; HalfCauchy(1) of the horseshoe
    slab_scale  above 0 c² ~ InvGamma(ν/2, ν a²/2), the horseshoe's    ()
    intercept   real    as in `LogisticModel`, of a given scale        (outcome), the log-odds at the means
    weight      real    N(0, s_j²/sd_j²) for any two classes, given    (outcome, feature), per unit of x_j
                        the scales
    =========== ======= ============================================== ==============================

    s_j = prior_scale λ_j for Student-t weights, and 1/√(1/(τ λ_j)² + 1/c²) under the horseshoe. The PyMC model has the
    scales and weights in units of s_j, which are independent of the scales under the prior. There is no MAP, no Laplace
    approximation and no evidence.

    References
    ----------
    Piironen and Vehtari (2017), Sparsity information and regularization in the horseshoe and other shrinkage priors,
    Electronic Journal of Statistics 11, doi:10.1214/17-EJS1337SI.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if reason := not_learnable(self.X, self.weight_prior.mean.size):
            raise Refused(f"the prior scales are not learned, because {reason}; take a number, such as prior_scale=2.5")

    @cached_property
    def scale_prior(self) -> ShapedWeightPrior:
        """The prior of the scales, and of the weights given them, in numbers."""
        assert isinstance(self.prior, LogisticPrior)
        return shaped_prior(self.prior, self.design, len(self.labels) - 1, float(self.sample_weight.sum()))

    @cached_property
    @override
    def weight_prior(self) -> WeightPrior:
        """The prior of the weights where all learned scales are 1, in numbers."""
        return self.scale_prior.unit

    @override
    def mle(self) -> Parameters:
        """Return the maximum conditional likelihood estimate; its prior is flat, of infinite scale."""
        assert isinstance(self.prior, LogisticPrior)
        prior = replace(self.prior, prior_scale=with_indicators(self.scale_prior.settings.given, self.design))
        given = LogisticModel(self.labels, self.design, self.X, self.y, self.sample_weight, prior)
        return {**given.mle(), **self.scale_prior.flat()}

    @override
    def log_posterior(self, intercept: Array, weight: Array, **scales: Array) -> Array:
        """Return log p(θ, log scales) + Σ w log P(y | x, θ), constants included, shape (draw).

        Parameters
        ----------
        intercept
            (draw, outcome).
        weight
            Per unit of the columns, (draw, outcome, feature).
        scales
            prior_scale (draw), local_scale (draw, scaled_feature), and slab_scale (draw) of the horseshoe.

        Raises
        ------
        Refused
            Without scales, over which the density has no closed form.
        """
        if not scales:
            raise Refused(
                "the density of weights with local scales has no closed form, so that this posterior does not become "
                "the next prior; fit all rows at once, or take prior_scale='learned'"
            )
        theta, prior = self._theta(intercept, weight), self.scale_prior
        log_prior = prior.log_density(theta, scales) + sum(prior.log_densities(scales).values())
        return np.asarray(self._likelihood.values(theta) + self._log_units + log_prior)

    @override
    def log_prior(self, parameters: Parameters) -> dict[str, Array]:
        """Return the log densities (draw) of the logarithms of the scales, and of the weights given these."""
        theta = self._theta(parameters["intercept"], parameters["weight"])
        prior = self.scale_prior
        return {**prior.log_densities(parameters), "weights": prior.log_density(theta, parameters)}

    @override
    def prior_draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw parameters (draw, …) from the prior, or raise `Refused` for a flat one."""
        self.refuse_flat()
        theta, scales = self.scale_prior.draw(rng, draws)
        return {"intercept": theta[:, :, 0], "weight": theta[:, :, 1:] / self.design.scale, **scales}

    @override
    def unseen_prior(self, parameters: Parameters) -> UnseenPrior:
        """Return the prior of the weights of unseen levels, each with a local scale drawn from its prior."""
        return self.scale_prior.unseen(parameters)

    def shrinkage(self, scales: Parameters) -> Array:
        """Return κ_j = 1/(1 + n σ⁻² v_j s_j²), (draw, scaled_feature), with v_j the variance of the column in its unit.

        Where columns are uncorrelated, the posterior mean of a weight is about 1 − κ times its estimate without a
        prior, and σ = 2 for labels of probability ½.

        References
        ----------
        Piironen and Vehtari (2017), doi:10.1214/17-EJS1337SI.
        """
        prior, weight = self.scale_prior, self.sample_weight
        columns = np.asarray(self.X)[:, prior.learned[1:]]
        mean = weight @ columns / weight.sum()
        information = weight @ (columns - mean) ** 2 / PSEUDO_SD**2
        return np.asarray(1 / (1 + information * prior.times(scales) ** 2))

    def effective_columns(self, scales: Parameters) -> Array:
        """Return m_eff = Σ_j (1 − κ_j), (draw), the effective number of columns with nonzero weights."""
        return np.asarray((1 - self.shrinkage(scales)).sum(axis=1))

    @override
    def log_evidence(self) -> Never:
        """Refuse: Laplace's approximation does not hold, and draws by NUTS have no evidence."""
        raise Refused(
            "the evidence of a model whose weights have local scales is not computed; compare models by loo() or "
            "bayesclf.compare"
        )

    @override
    def components(self) -> Never:
        """Refuse: no normal approximates the posterior."""
        raise Refused(NO_MODE)

    @override
    def density(self) -> ShapedDensity:  # type: ignore[override]
        """Return the log density of scales and weights, in units of their priors."""
        from bayesclf.models.logistic.shaped_kernel import ShapedDensity

        return ShapedDensity(self._likelihood, self.scale_prior, self.design.scale)

    @override
    def objective(self, name: str) -> tuple[Likelihood | LogPosterior, Array]:
        """Return what ``"mle"`` maximizes, and a start θ; there is no ``"map"``."""
        if name == "map":
            raise DoesNotExist(NUTS_ONLY)
        return super().objective(name)

    @override
    def not_conjugate(self) -> str:
        """Return why the posterior has no closed form."""
        return "local scales are not conjugate to the likelihood of logistic regression"

    @override
    def from_pymc(self, draws: Mapping[str, Array]) -> Parameters:
        """Return intercept, weight and scales, from weights in units of their scales."""
        scales = self.scale_prior.from_pymc(draws)
        times = self.scale_prior.of_columns(self.scale_prior.times(scales))[:, 1:]
        return {**super().from_pymc({**draws, "weight": draws["unscaled_weight"] * times[:, None, :]}), **scales}

    @override
    def signature(self) -> Hashable:
        """Return what fixes the compiled form."""
        return (type(self.scale_prior).__name__, len(self.scale_prior), super().signature())

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words."""
        return {**super().dims(), **self.scale_prior.dims}

    @override
    def coords(self) -> dict[str, Any]:
        """Return labels, columns, and the columns with a local scale."""
        names = [name for name, own in zip(self.design.names, self.scale_prior.learned[1:], strict=True) if own]
        return {**super().coords(), "scaled_feature": names}

    @cached_property
    def _mode(self) -> Never:
        """Refuse: there is no useful mode."""
        raise DoesNotExist(NUTS_ONLY)

    @override
    @property
    def _prior_of_all(self) -> ShapedWeightPrior:
        return self.scale_prior
