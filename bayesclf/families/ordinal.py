"""Ordered categories: runs of neighbors that say the same of the class, averaged over where they are cut."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self, cast, override

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import InputError
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Statistics
from bayesclf.families.categorical import CategoricalStatistics
from bayesclf.families.cuts import CutFamily, CutSets, Segments, Smoothings, require_concentrations, run_sums
from bayesclf.families.page_tables import PageVariable
from bayesclf.families.prior_lines import PriorLine, listing
from bayesclf.families.terms import LinearDesign, LinearTerms
from bayesclf.wording import in_names

MOST_LEVELS = 256
"""Most levels of a feature: sums over all sets of cuts take their number cubed."""


@dataclass(frozen=True, eq=False)
class LevelRuns(Segments):
    """All runs i, …, j − 1 of the m levels of a feature; made by `of`.

    The shares of the levels of a run are φ ~ Dirichlet(α + n), n the counts of all classes: they are expected in
    proportion to α + n, which thereby takes the place of the widths of a histogram's cells.
    """

    rows_in_widths: ClassVar[int] = 1

    @classmethod
    def of(cls, counts: Array, prior: Array) -> Self:
        """Return the runs of levels with such counts (outcome, level) and α (level)."""
        return cls(counts, prior, prior + counts.sum(axis=0))

    @cached_property
    @override
    def cuts(self) -> CutSets:
        """The posterior of the set of cuts."""
        prior, counts, alpha = self._sums
        of_runs = (gammaln(prior + counts) - gammaln(prior)).sum(axis=0)
        of_levels = run_sums(gammaln(self.widths) - gammaln(self.prior))
        return CutSets(of_runs + of_levels - (gammaln(alpha) - gammaln(prior)))

    @override
    def _drawn_shares(self, begins: NDArray[np.bool_], rng: np.random.Generator) -> Array:
        """Draw φ of the runs, which one after another are the simplexes of all draws in a row."""
        sizes = np.diff(np.append(np.flatnonzero(begins), begins.size))
        alpha = np.tile(self.widths, len(begins))
        return dirichlet.draw(alpha, tuple(sizes.tolist()), rng, 1).reshape(begins.shape)


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
    predictive and leave-one-out are sums over all 2^(L − 1) sets of cuts, by dynamic programming
    (`families.cuts`). MLE cuts everywhere. MAP takes the most probable set of cuts, and the modes of θ and φ in the
    softmax basis, which are their posterior means. The mean is over the sets of cuts too. In PyMC they are the most
    probable one, as NUTS has no discrete parameters. A missing cell, or one with an unknown level, is integrated out.

    Parameters
    ----------
    levels : sequence or None
        The levels in order, for columns that do not say it: an ordered categorical of pandas and a column of numbers
        do.
    alpha : float or tuple of float
        Concentration of each level, above 0: a number, or several that are averaged over by their evidence, feature
        by feature, all equally probable a priori.
    axes, counts, known
        Set by `resolve_prior`: counts (outcome, level) of the rows that a prior has seen already, the levels of all
        features concatenated; and those of the rows that it was set for, whose most probable α and cuts PyMC takes.

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
    axes: Axes = field(default=Axes((), ()), repr=False)
    counts: Array | None = field(default=None, repr=False)
    known: Array | None = field(default=None, repr=False)
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
        return replace(
            self,
            alpha=tuple(float(value) for value in np.ravel(self.alpha)),
            axes=axes,
            counts=np.zeros(counts.shape),
            known=counts,
        )

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
        if self._counts.any():
            form += "; all given the rows of an earlier fit"
        return [PriorLine("theta", "", name, form, numbers) for name in self.axes.features]

    @override
    def pymc(self, statistics: CategoricalStatistics, suffix: str) -> None:
        """Add θ and φ of the runs of the most probable cuts, observing the counts of the levels."""
        from bayesclf.families.pymc import observe_simplexes

        observe_simplexes(self._pymc_theta(suffix), statistics.counts, self.sizes, suffix)

    @override
    def page(self, X: Integers, row: Any, suffix: str) -> None:
        """Add the probabilities of the runs of the most probable cuts, and of levels within them, observing levels."""
        import pymc as pm
        import pytensor.tensor as pt

        from bayesclf import pymc_models

        alpha, dims = self._prior_of_cells + self._counts, {}
        for variable in self.page_variables(suffix):
            dims[variable.name] = variable.dims
            pm.modelcontext(None).add_coords(variable.coords)
        of_runs, pooled = self._bins.sums(alpha), self._prior_of_cells[0] + self._counts.sum(axis=0)
        for j, (name, runs) in enumerate(zip(self.axes.features, self._runs, strict=True)):
            own = of_runs[:, self._bins.cell[runs[0][0]] + np.arange(len(runs))]
            theta = pm.Dirichlet(f"runs_{in_names(name)}", own, dims=dims[f"runs_{in_names(name)}"])
            parts = []
            for place, levels in enumerate(runs):
                shares: Any = np.ones(1)
                if len(levels) > 1:
                    of = f"shares_{in_names(name)}_{place}"
                    shares = pm.Dirichlet(of, pooled[levels], dims=dims[of])
                parts.append(theta[:, place, None] * shares)
            pymc_models.codes(name, pt.concatenate(parts, axis=1), X[:, j], row)

    @property
    def _runs(self) -> list[list[Integers]]:
        """The levels of each run of each feature, as cells of θ."""
        found = []
        for start, size in zip(dirichlet.starts(self.sizes), self.sizes, strict=True):
            cells = start + np.arange(size)
            found.append(np.split(cells, np.flatnonzero(np.diff(self._bins.cell[cells])) + 1))
        return found

    @override
    def page_variables(self, suffix: str) -> list[PageVariable]:
        """Return the probabilities of runs, and of levels within runs."""
        out = []
        parts = zip(dirichlet.starts(self.sizes), self.axes.features, self.axes.levels, self._runs, strict=True)
        for start, feature, names, runs in parts:
            name = in_names(feature)
            axis = f"{name}_run"
            numbers = [str(place) for place in range(len(runs))]
            out.append(PageVariable(f"runs_{name}", ("outcome", axis), {axis: numbers}, partial(_of_runs, runs)))
            for place, levels in enumerate(runs):
                if len(levels) > 1:
                    axis = f"{name}_level_{place}"
                    own = {axis: [str(names[level - start]) for level in levels]}
                    out.append(PageVariable(f"shares_{name}_{place}", (axis,), own, partial(_shares, levels)))
        return out

    @override
    def of_page(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return the levels' probabilities."""
        parts = []
        for name, runs in zip(self.axes.features, self._runs, strict=True):
            for place, levels in enumerate(runs):
                shares = draws[f"shares_{in_names(name)}_{place}"][:, None] if len(levels) > 1 else 1.0
                parts.append(draws[f"runs_{in_names(name)}"][:, :, place, None] * shares)
        return {"theta": np.concatenate(parts, axis=2)}

    def _pymc_theta(self, suffix: str) -> dict[int, Any]:
        """Add θ of the runs and φ of those of several levels; return their products by number of levels."""
        import pymc as pm
        import pytensor.tensor as pt

        from bayesclf.families.pymc import add_simplexes, flat_simplexes, split_simplexes

        runs, alpha = self._bins, self._prior_of_cells + self._counts
        of_runs, in_runs = f"{RUNS}{suffix}", f"{SHARES}{suffix}"
        by_size = add_simplexes(runs.sums(alpha), runs.sizes, self.axes.features, of_runs)
        theta = flat_simplexes(by_size, runs.sizes, of_runs)[:, runs.cell]
        if self._long:
            shared = self._prior_of_cells + self._counts.sum(axis=0, keepdims=True)
            names = [f"run {number}" for number in range(len(self._long))]
            by_size = add_simplexes(shared[:, self._in_long], self._long, names, in_runs, of_all=True)
            shares = flat_simplexes(by_size, self._long, in_runs)
            theta = theta * pt.set_subtensor(pt.ones((1, sum(self.sizes)))[:, self._in_long], shares)
        theta = pm.Deterministic(f"theta{suffix}", theta, dims=("outcome", f"level{suffix}"))
        return split_simplexes(theta, self.sizes, self.axes.features, suffix)

    @override
    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return the levels' probabilities from θ and φ of the runs."""
        runs = self._bins
        theta = dirichlet.simplexes_of(draws, runs.sizes, f"{RUNS}{suffix}")[..., runs.cell]
        if self._long:
            theta[..., self._in_long] *= dirichlet.simplexes_of(draws, self._long, f"{SHARES}{suffix}")
        return {"theta": theta}

    @property
    def _lengths(self) -> Integers:
        """Number of levels of each run of the most probable cuts."""
        return np.diff(np.append(np.flatnonzero(self._begins), self._begins.size))

    @property
    def _long(self) -> tuple[int, ...]:
        """Number of levels of each run that has several."""
        return tuple(int(length) for length in self._lengths if length > 1)

    @property
    def _in_long(self) -> Integers:
        """The levels of runs that have several."""
        return np.flatnonzero(np.repeat(self._lengths > 1, self._lengths))

    @override
    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """Σ_j log θ_{k, j, x_j}: one weight per level, log θ_kjl."""
        return LinearTerms.of_logs(parameters["theta"])

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Integers:
        """Draw level codes (row, feature)."""
        return self._drawn_codes(parameters, y, rng)

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ, the probability of each level."""
        return {"theta": ("outcome", "level")}

    @property
    @override
    def variant(self) -> str:
        """Which levels begin a run."""
        return f"runs: {np.flatnonzero(self._begins).tolist()} of {self.sizes}"

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
    def smoothings_of(self, feature: int, counts: Array) -> Smoothings:
        """Return the runs of a feature under each α."""
        every = cast("tuple[float, ...]", self.alpha)
        return Smoothings(tuple(LevelRuns.of(counts, np.full(self.sizes[feature], alpha)) for alpha in every))


def _of_runs(runs: list[Integers], parameters: Parameters) -> Array:
    """Return the probabilities of the runs of a feature, (draw, outcome, run)."""
    return np.stack([parameters["theta"][..., levels].sum(axis=-1) for levels in runs], axis=-1)


def _shares(levels: Integers, parameters: Parameters) -> Array:
    """Return the share of each level in its run, (draw, level), the same in all classes."""
    own = parameters["theta"][:, 0, levels]
    return np.asarray(own / own.sum(axis=-1, keepdims=True))


def _is_list_of_levels(levels: object) -> bool:
    """Return whether these are levels, each once; a missing cell has no place in the order."""
    if not isinstance(levels, list | tuple) or not all(isinstance(level, Hashable) for level in levels):
        return False
    return len(set(levels)) == len(levels) > 0 and not any(np.any(pd.isna(level)) for level in levels)


RUNS, SHARES = "_runs", "_shares"
"""Parts of the names of θ and φ in PyMC."""
