"""The class prior P(y = k) = π_k: learned (Dirichlet) or known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import xlogy

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import DoesNotExist
from bayesclf.families import dirichlet
from bayesclf.families.page_tables import observe_counts
from bayesclf.families.terms import Density


@dataclass(frozen=True)
class LearntClassPrior:
    """π ~ Dirichlet(α), label counts n ~ Multinomial(π).

    Posterior Dirichlet(α + n); MLE n_k/N (Mitchell eq 8); MAP (n_k + α_k − 1)/(N + Σα − K) (eq 9, l = α − 1).

    Parameters
    ----------
    alpha : array
        Concentration (outcome), each above 0; 1 makes MAP equal MLE.
    """

    alpha: Array
    learnt: ClassVar[bool] = True

    def mle(self, counts: Array) -> Parameters:
        """Return the relative frequencies."""
        return {"pi": dirichlet.normalize(counts, (counts.size,))[None]}

    def map(self, counts: Array) -> Parameters:
        """Return the mode of the posterior; raises `DoesNotExist` where some n_k + α_k < 1."""
        pi = dirichlet.mode(self.alpha + counts, (counts.size,))
        if np.isnan(pi).any():
            reason = "the class prior has no posterior mode: its density is unbounded where count + α is below 1"
            raise DoesNotExist(f"{reason}; use α ≥ 1, or another rule than 'map'")
        return {"pi": pi[None]}

    def posterior(self, counts: Array) -> Self:
        """Return Dirichlet(α + n)."""
        return type(self)(self.alpha + counts)

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw π (draw, outcome)."""
        return {"pi": dirichlet.draw(self.alpha, (self.alpha.size,), rng, draws)}

    def mean(self) -> Parameters:
        """Return E[π]."""
        return {"pi": dirichlet.normalize(self.alpha, (self.alpha.size,))[None]}

    def log_mean_without(self, y: Integers) -> Array:
        """Return log E[π | all labels but y_i], (row, outcome), where this is the posterior given all labels."""
        own = np.arange(self.alpha.size) == y[:, None]
        return np.asarray(np.log(self.alpha - own) - np.log(self.alpha.sum() - 1))

    def log_evidence(self, counts: Array) -> float:
        """Return log p(y) of the rows in their order, log B(α + n) − log B(α)."""
        sizes = (counts.size,)
        return float((dirichlet.log_beta(self.alpha + counts, sizes) - dirichlet.log_beta(self.alpha, sizes)).item())

    def log_prior(self, parameters: Parameters) -> Density:
        """Return the log density of draws of π ~ Dirichlet(α)."""
        return Density.of_simplexes("pi", parameters["pi"], self.alpha, (self.alpha.size,))

    def pymc(self, counts: Array) -> None:
        """Add π and the label counts to the open PyMC model."""
        import pymc as pm

        pi = pm.Dirichlet("pi", pm.Data("pi_alpha", self.alpha, dims="outcome"), dims="outcome")
        observe_counts("labels", pi, counts)

    def page(self) -> dict[str, Any]:
        """Return the arguments of `bayesclf.pymc_models.labels`."""
        return {"alpha": self.alpha}


@dataclass(frozen=True)
class KnownClassPrior:
    """π fixed: numbers given ("20% is spam"), uniform, or the training frequencies taken as known.

    Parameters
    ----------
    pi : array
        Probabilities (outcome), adding up to 1.
    """

    pi: Array
    learnt: ClassVar[bool] = False

    def mle(self, *given: Any) -> Parameters:
        """Return no parameters: a known π is neither estimated nor drawn."""
        return {}

    map = draw = mean = mle

    def posterior(self, counts: Array) -> Self:
        """Return itself: a known π does not depend on the counts."""
        return self

    def log_mean_without(self, y: Integers) -> Array:
        """Return log π, (row, outcome)."""
        return np.repeat(dirichlet.logs(self.pi)[None], len(y), axis=0)

    def log_evidence(self, counts: Array) -> float:
        """Return log p(y) of the rows in their order, Σ n log π."""
        return float(xlogy(counts, self.pi).sum())

    def log_prior(self, parameters: Parameters) -> None:
        """Return None: a known π has no density."""

    def pymc(self, counts: Array) -> None:
        """Add π, as data, and the label counts to the open PyMC model."""
        import pymc as pm

        # Under a class that π rules out no parameter makes its rows possible; NUTS then samples the other factors.
        possible = np.where(self.pi > 0, counts, 0.0)
        observe_counts("labels", pm.Data("pi", self.pi, dims="outcome"), possible)

    def page(self) -> dict[str, Any]:
        """Return the arguments of `bayesclf.pymc_models.labels`."""
        return {"pi": self.pi}


type ClassPrior = LearntClassPrior | KnownClassPrior
