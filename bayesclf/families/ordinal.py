"""Ordered categories: runs of neighbors that say the same of the class, averaged over where they are cut."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self, override

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import InputError
from bayesclf.families import dirichlet
from bayesclf.families.base import Statistics
from bayesclf.families.categorical import CategoricalStatistics
from bayesclf.families.cuts import CutFamily, Segments, require_concentrations
from bayesclf.families.prior_lines import PriorLine, listing
from bayesclf.families.terms import LinearDesign, LinearTerms

MOST_LEVELS = 256
"""Most levels of a feature: sums over all sets of cuts take their number cubed."""


@dataclass(frozen=True, repr=False)
class Ordinal(CutFamily[CategoricalStatistics]):
    r"""P(x_j = l | y = k) = θ_kr φ_l for the levels l of run r; the levels of a feature, in order, are cut into runs.

    ========== ============================= ======================================= ============================
    parameter  support                       prior                                   posterior
    ========== ============================= ======================================= ============================
    cuts       subsets of the L − 1 places   uniform over the number R of runs, then ∝ prior · evidence given them
               between levels                over the sets of R − 1 cuts
    θ_k | cuts simplex over the runs         Dirichlet(α L_r), L_r the levels of run Dirichlet(α L_r + n_kr)
    φ | cuts   simplex over the levels of    Dirichlet(α)                            Dirichlet(α + n_l)
               each run
    ========== ============================= ======================================= ============================

    Within a run the levels say the same of the class: all classes have the same shares φ there, learned from the rows
    of all of them, n_l. So levels with few rows take what they say of the class from their neighbors, as far as the
    evidence joins them. Given the cuts the evidence is

    .. math:: \prod_k \frac{B(α L + n_k)}{B(α L)} \prod_r \frac{B(α + n_{l \in r})}{B(α)},

    L and n_k being those of the runs. With every cut the family is `Categorical` with the same α, and with none the
    column says nothing of the class: both are among the sets that are averaged over. Whatever the cuts, a class by
    itself has Dirichlet(α), so that they say how classes differ and nothing else, and the evidence is comparable with
    that of `Categorical`.

    A hypothesis is a set of cuts, θ and φ; its parameter `theta` has the probability of each level, θ_kr φ_l. Evidence,
    predictive and leave-one-out are sums over all 2^(L − 1) sets of cuts, by dynamic programming (`families.cuts`). MLE
    cuts everywhere. MAP takes the most probable set of cuts, and the modes of θ and φ in the softmax basis, which are
    their posterior means. The mean is over the sets of cuts too. In PyMC the cuts are the most probable ones, as NUTS
    has no discrete parameters, and φ is at its mean, as it says nothing of the class. A missing cell, or one with an
    unknown level, is integrated out.

    Parameters
    ----------
    levels : sequence or None
        The levels in order, for columns that do not say it: an ordered categorical of pandas and a column of numbers
        do.
    alpha : float or tuple of float
        Concentration of each level, above 0: a number, or several that are averaged over by their evidence, feature
        by feature, all equally probable a priori.

    References
    ----------
    Barry & Hartigan (1992), *Product partition models for change point problems*, Annals of Statistics 20. Boullé
    (2006), *MODL: a Bayes optimal discretization method for continuous attributes*, Machine Learning 65 (one best set
    of cuts by another prior).

    Examples
    --------
    >>> import pandas as pd, bayesclf as bc
    >>> sizes = pd.CategoricalDtype(["S", "M", "L", "XL"], ordered=True)
    >>> X = pd.DataFrame({"size": pd.Series(["S", "M", "M", "L", "L", "XL"] * 4, dtype=sizes)})
    >>> y = ["no", "no", "no", "yes", "yes", "yes"] * 4
    >>> clf = bc.NaiveBayes({"size": bc.families.Ordinal()}, random_state=1).fit(X, y)
    >>> clf.predict_proba(X[:6], rule="predictive")[:, 1].round(2)
    array([0.15, 0.11, 0.11, 0.89, 0.89, 0.85])
    """

    levels: Sequence[Hashable] | None = None
    alpha: float | tuple[float, ...] = 1.0
    name: ClassVar[str] = "ordinal"
    kind: ClassVar[str] = "category"
    likelihood: ClassVar[str] = "Categorical(theta), with the same shares within a run of levels in all classes"
    statistics_type: ClassVar[type[Statistics]] = CategoricalStatistics

    def __post_init__(self) -> None:
        require_concentrations(alpha=self.alpha)
        if self.levels is not None and not _is_list_of_levels(self.levels):
            raise InputError(
                f"levels must be a list of levels, each once and in order and none of them missing, not {self.levels!r}"
            )

    def resolve_prior(self, statistics: CategoricalStatistics) -> Self:
        """Return the prior of these features, and the rows whose most probable cuts PyMC takes."""
        axes, counts = statistics.axes, statistics.counts
        for name, size in zip(axes.features, axes.sizes, strict=True):
            if size > MOST_LEVELS:
                raise InputError(
                    f"column {name!r} has {size} levels, more than the {MOST_LEVELS} that can be cut into runs; take a "
                    "family of numbers, or merge levels"
                )
        alpha = tuple(float(value) for value in np.ravel(self.alpha))
        return replace(self, alpha=alpha, axes=axes, counts=np.zeros(counts.shape), known=counts)

    def informative(self, statistics: CategoricalStatistics) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell."""
        return statistics.observed

    @override
    def priors(self) -> list[PriorLine]:
        """Return the prior of cuts, and of the probabilities of runs and levels given them."""
        values, numbers = listing("alpha", np.ravel(self.alpha))
        form = (
            "sets of cuts between levels uniform given their number; Dirichlet(alpha) over the levels of a class, "
            "whose shares within a run are the same in all classes, alpha "
            f"{'=' if np.size(self.alpha) == 1 else 'uniform on'} {values}"
        )
        if self.counts.any():
            form += "; all given the rows of an earlier fit"
        return [PriorLine("theta", "", name, form, numbers) for name in self.axes.features]

    @override
    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """Σ_j log θ_{k, j, x_j}: one weight per level, log θ_kjl."""
        return LinearTerms.of_logs(parameters["theta"])

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Integers:
        """Draw level codes (row, feature)."""
        return dirichlet.drawn_codes(parameters["theta"][0], self.sizes, y, rng)

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ, the probability of each level."""
        return {"theta": ("outcome", "level")}

    @property
    @override
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each feature."""
        return self.axes.sizes

    @override
    def binned(self, statistics: CategoricalStatistics) -> Array:
        """Return the counts of the levels, (outcome, level)."""
        return statistics.counts

    @override
    def codes(self, X: Integers) -> Integers:
        """Return the level codes themselves."""
        return X

    @override
    def segments_of(self, feature: int, counts: Array) -> Segments:
        """Return the runs of a feature under each α."""
        return Segments(counts, np.repeat(np.reshape(self.alpha, (-1, 1)), self.sizes[feature], axis=1))


def _is_list_of_levels(levels: object) -> bool:
    """Return whether these are levels, each once; a missing cell has no place in the order."""
    if not isinstance(levels, list | tuple) or not all(isinstance(level, Hashable) for level in levels):
        return False
    return len(set(levels)) == len(levels) > 0 and not any(np.any(pd.isna(level)) for level in levels)
