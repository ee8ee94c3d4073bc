"""Feature selection: each feature depends on the class, or has one distribution for all classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, override

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import PROBABILITIES, require
from bayesclf.errors import InputError, Refused
from bayesclf.families.base import Axes, Family, Support
from bayesclf.families.prior_lines import PriorLine, prior_lines
from bayesclf.families.terms import Contributions, LinearDesign, LinearTerms, Pair
from bayesclf.wording import AND_MORE, LISTED_NAMES, listed

MOST_PROBABLE = 0.5
"""Posterior probability above which `map` includes a feature: the most probable set, as features are independent."""


@dataclass(frozen=True, repr=False)
class Selected(Family[Any]):
    """Each feature depends on the class, x_j ~ p(x_j | θ_jk), with probability ρ_j; if not, x_j ~ p(x_j | φ_j).

    ========= ======== =================== ========================================================
    parameter support  prior               posterior
    ========= ======== =================== ========================================================
    z_j       0, 1     Bernoulli(ρ_j)      log-odds: logit ρ_j + log p(D_j | classes) − log p(D_j | pooled)
    θ_jk      family's family's, per class family's posterior given the rows of each class
    φ_j       family's family's, one class family's posterior given all rows
    ========= ======== =================== ========================================================

    Features are independent given the labels, a priori and a posteriori, so that no search over the 2^d sets is
    needed. A hypothesis draws z, then the parameters of each feature: θ where it is included, else φ for all classes.
    They fill the arrays of the wrapped family, so that every rule treats them as any other. MLE includes all features,
    as more parameters never fit worse. MAP includes the features with P(z_j = 1 | D) > 1/2 and takes the mode of the
    parameters given that set. The mean averages over z too. In the predictive z_j is summed out.

    Parameters
    ----------
    family : Family
        The family of a feature that depends on the class; its features must have parameters of their own.
    inclusion : float or array
        ρ_j, in [0, 1]: a number, or an array (feature).
    pooled : Statistics
        The family of a feature that does not depend on the class, set by `resolve_prior`: the same settings with one
        class.

    References
    ----------
    Dash & Cooper (2004), Model averaging for prediction with discrete Bayesian networks, JMLR 5 (exact averages over
    the feature sets of naive Bayes).
    """

    family: Family[Any]
    inclusion: float | Array = 0.5
    pooled: Any = None

    _no_pymc: ClassVar[str] = (
        "which features are selected is averaged over in closed form and has no PyMC model; use "
        "inference='exact', not 'nuts'"
    )

    def __post_init__(self) -> None:
        require(PROBABILITIES, inclusion=self.inclusion)

    @property
    @override
    def name(self) -> str:
        """Name of the wrapped family."""
        return self.family.name

    @property
    @override
    def kind(self) -> str:
        """What the columns of the wrapped family hold."""
        return self.family.kind

    @property
    @override
    def axes(self) -> Axes:
        """Coordinates of the wrapped family."""
        return self.family.axes

    @property
    @override
    def support(self) -> Support:  # type: ignore[override]
        """Which numbers columns of the wrapped family can have."""
        return self.family.support

    @override
    def statistics(self, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Any:
        """Return the statistics of the wrapped family."""
        return self.family.statistics(X, y, axes, sample_weight)

    @property
    @override
    def likelihood(self) -> str:
        """The distribution of the wrapped family's features."""
        return self.family.likelihood

    @override
    def informative(self, statistics: Any) -> NDArray[np.bool_]:
        """Return, for each feature, whether it can be informative to the wrapped family."""
        return self.family.informative(statistics)

    @override
    def log_density(self, X: Any, parameters: Parameters) -> Array:
        """Return log p(x | y, θ) of the wrapped family."""
        return self.family.log_density(X, parameters)

    @override
    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """Return the terms of the wrapped family's log density that depend on the class."""
        return self.family.linear_terms(parameters, design)

    @override
    def contributions(self, X: Any, parameters: Parameters, pair: Pair) -> Contributions:
        """Return the terms of the wrapped family's log-odds."""
        return self.family.contributions(X, parameters, pair)

    @override
    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> NDArray[Any]:
        """Draw rows from the wrapped family."""
        return self.family.sample(parameters, y, rng)

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of the wrapped family's parameters."""
        return self.family.dims()

    def resolve_prior(self, statistics: Any) -> Self:
        """Return both priors in numbers.

        Raises
        ------
        Refused
            For a family whose features share parameters.
        """
        shared = [name for name, dims in self.family.dims().items() if not {"feature", "level"} & set(dims)]
        features = len(statistics.axes.features)
        family = None if shared else self.family.resolve_prior(statistics)
        if family is None or family.log_evidence(statistics).shape != (features,):
            names = listed(map(repr, statistics.axes.features), LISTED_NAMES, AND_MORE)
            raise Refused(
                f"columns {names} have parameters in common, those of the family {self.name!r}, and cannot be selected "
                "one by one; give each a family of its own, or leave out select=True"
            )
        try:
            pooled = self.family.resolve_prior(statistics.pooled())
            inclusion = np.broadcast_to(np.asarray(self.inclusion, dtype=float), (features,))
        except ValueError as error:
            raise InputError(f"{error}; with selection all classes have one prior") from None
        return replace(self, family=family, pooled=pooled, inclusion=inclusion)

    @override
    def priors(self) -> list[PriorLine]:
        """Return the probability that a column is included, and the wrapped family's priors."""
        shares = np.broadcast_to(np.asarray(self.inclusion, dtype=float), (1, len(self.axes.features)))
        of_class, of_all = self.family.priors(), self.pooled.priors()
        said = {line.words for line in of_class}
        more = [line._replace(form=f"{line.form} where included is 0") for line in of_all if line.words not in said]
        return [*prior_lines("included", "Bernoulli({share})", self.axes, share=shares), *of_class, *more]

    def mle(self, statistics: Any) -> Parameters:
        """Return the wrapped family's estimate, all features included."""
        return self.family.mle(statistics)

    def map(self, statistics: Any) -> Parameters:
        """Return the mode given the most probable set of features."""
        included = np.asarray(self.posterior(statistics).inclusion)[None] > MOST_PROBABLE
        return self._mix(included.astype(float), self.family.map(statistics), self.pooled.map(statistics.pooled()))

    def posterior(self, statistics: Any) -> Self:
        """Return both posteriors and the posterior inclusion probabilities."""
        pooled = statistics.pooled()
        log_odds = self.family.log_evidence(statistics) - self.pooled.log_evidence(pooled)
        return replace(
            self,
            family=self.family.posterior(statistics),
            pooled=self.pooled.posterior(pooled),
            inclusion=expit(logit(self.inclusion) + log_odds),
        )

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw which features are included, and the parameters."""
        inclusion = np.asarray(self.inclusion)
        included = rng.random((draws, inclusion.size)) < inclusion
        return self._mix(included.astype(float), self.family.draw(rng, draws), self.pooled.draw(rng, draws))

    def mean(self) -> Parameters:
        """Return the expectation over parameters and inclusion."""
        return self._mix(np.asarray(self.inclusion)[None], self.family.mean(), self.pooled.mean())

    def log_predictive(self, X: Any) -> Array:
        """Return Σ_j log [ρ_j p(x_j | y, D) + (1 − ρ_j) p(x_j | D)], (row, outcome)."""
        inclusion = np.asarray(self.inclusion)
        out: Array = np.zeros((X.shape[0], len(self.family.axes.labels)))
        with np.errstate(divide="ignore"):
            log_in, log_out = np.log(inclusion), np.log1p(-inclusion)
        for j in range(inclusion.size):
            cell, own = X[:, [j]], np.arange(inclusion.size) == j
            of_class = self.family.select(own).log_predictive(cell)
            out += np.logaddexp(log_in[j] + of_class, log_out[j] + self.pooled.select(own).log_predictive(cell))
        return out

    def log_evidence(self, statistics: Any) -> Array:
        """log [ρ_j p(D_j | classes) + (1 − ρ_j) p(D_j | pooled)], (feature)."""
        with np.errstate(divide="ignore"):
            log_in, log_out = np.log(self.inclusion), np.log1p(-np.asarray(self.inclusion))
        of_classes, of_all = self.family.log_evidence(statistics), self.pooled.log_evidence(statistics.pooled())
        return np.asarray(np.logaddexp(log_in + of_classes, log_out + of_all))

    def _mix(self, included: Array, of_class: Parameters, pooled: Parameters) -> Parameters:
        """Return θ where `included` (draw, feature) is 1, φ where it is 0, and their average between."""
        mixed = {}
        for name, dims in self.family.dims().items():
            weight = np.repeat(included, self.family.axes.sizes, axis=1) if dims[-1] == "level" else included
            weight = weight[:, None] if dims[0] == "outcome" else weight
            mixed[name] = weight * of_class[name] + (1 - weight) * pooled[name]
        return mixed


def plain(family: Any) -> Any:
    """Return the family whose features are selected, or the family itself."""
    return family.family if isinstance(family, Selected) else family
