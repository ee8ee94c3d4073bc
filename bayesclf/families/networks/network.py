"""Tables of features that depend on each other: the joint table, and Bayesian networks.

In a network each feature depends on the class and on its parents among the features; in the joint table on all others.
Each simplex of their tables has a Dirichlet prior.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Statistics, broadcast, joined, require_choice, require_each, require_positive
from bayesclf.families.categorical import BASES, SimplexFamily
from bayesclf.families.multivariate.groups import GroupedMoments
from bayesclf.families.networks import structure
from bayesclf.families.networks.tables import (
    NO_PYMC,
    CompletedTables,
    Factor,
    Layout,
    expectation_maximization,
    log_density,
    require_conjugate,
    require_whole,
    split,
)
from bayesclf.families.page_tables import PageTable, observe_counts, page_tables
from bayesclf.families.terms import Density
from bayesclf.wording import in_names

LARGEST_THETA = 2**15
"""Probabilities (outcome × cell) of one hypothesis above which a table is refused."""

GAPS = "other columns depend on {column!r}, which has missing cells: leave their rows out, or fit with missing='level'"

LEARNT = "tan"
"""The tree that is learned from the rows."""


@dataclass(frozen=True, repr=False)
class ConditionalTables(SimplexFamily[GroupedMoments]):
    """P(x | y = k) = Π_f θ_{k, cell_f(x)}; subclasses define the tables."""

    alpha: float | Array = 2.0
    basis: str = "simplex"
    axes: Axes = field(default=Axes((), ()), repr=False)
    kind: ClassVar[str] = "category"
    statistics_type: ClassVar[type[Statistics]] = GroupedMoments

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha)
        require_choice("basis", self.basis, BASES)

    def statistics(self, X: Integers, y: Integers, axes: Axes, sample_weight: Array | None = None) -> GroupedMoments:
        """Return the counts of the different rows."""
        return super().statistics(np.where(X < 0, np.nan, X), y, axes, sample_weight)

    @abstractmethod
    def layout(self, axes: Axes) -> Layout:
        """Return the tables on these features and levels."""

    def resolve_prior(self, statistics: GroupedMoments) -> Self:
        """Return the prior with α as an array (outcome, cell).

        Raises `Refused` if the tables are too large to keep in memory.
        """
        layout = self.layout(statistics.axes)
        shape = (len(statistics.axes.labels), layout.cells)
        if shape[0] * shape[1] > LARGEST_THETA:
            cells = f"{shape[1]:,}" if shape[1] < 10**12 else f"{shape[1]:.0e}"
            raise Refused(
                f"{self._what(layout)} has {shape[0]} × {cells} probabilities (limit {LARGEST_THETA:,}); use fewer "
                "columns, or naive Bayes"
            )
        alpha = broadcast("alpha", self.alpha, shape, "outcome, cell")
        if (different := np.flatnonzero((alpha != layout.tied(alpha)).any(axis=0))).size:
            raise InputError(
                f"alpha differs between classes in the cell {layout.names()[different[0]]!r}, whose column does not "
                "depend on the class; give one number for all classes"
            )
        return replace(self, alpha=alpha, axes=statistics.axes)

    def informative(self, statistics: GroupedMoments) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell."""
        return np.asarray(statistics.seen.any(axis=0))

    def mle(self, statistics: GroupedMoments) -> Parameters:
        """Return the relative frequencies, by EM where cells are missing.

        A simplex of a configuration that no row has is arbitrary where the configuration itself has probability zero,
        and uniform here; where it has not, or where a class has no row, the estimate does not exist.

        Raises `DoesNotExist` if there is no estimate; the message names the class and what its rows lack.
        """
        layout = self.layout(statistics.axes)
        there = statistics.weight_of_cells() > 0
        of_all = [j for factor in layout.factors if factor.class_free for j in factor.of]
        there[:, of_all] = there[:, of_all].any(axis=0)
        require_each(there, statistics.axes, "has no value")
        counts, sums = split(layout, statistics)
        counts = layout.pooled(counts)
        theta = expectation_maximization(counts, sums, np.zeros_like(counts), layout)
        undefined = np.isnan(theta)
        filled = np.where(undefined, 1 / np.repeat(layout.simplexes, layout.simplexes), theta)[None]
        _require_irrelevant(layout, undefined, filled)
        return {"theta": filled}

    def map(self, statistics: GroupedMoments) -> Parameters:
        """Return the mode in the chosen basis, by EM where cells are missing; raises `DoesNotExist` without one."""
        layout = self.layout(self.axes)
        counts, sums = split(layout, statistics)
        counts, sizes = layout.pooled(counts), layout.simplexes
        prior = np.asarray(self.alpha) - (0.0 if self.basis == "softmax" else 1.0)
        theta = expectation_maximization(counts, sums, prior, layout)
        bounded = np.minimum.reduceat(counts + prior, dirichlet.starts(sizes), axis=1) >= 0
        theta = np.where(np.repeat(bounded, sizes, axis=1), theta, np.nan)
        theta = np.where(np.repeat(np.equal(sizes, 1), sizes), 1.0, theta)
        if np.isnan(theta).any():
            label, cell = np.argwhere(np.isnan(theta))[0]
            raise DoesNotExist(
                f"class {self.axes.labels[label]!r} has no single most probable θ for {layout.names()[cell]!r} "
                "(some count + α is below 1, or all are 1)"
            )
        return {"theta": theta[None]}

    def not_conjugate(self, statistics: GroupedMoments) -> str:
        """Return the first column whose missing training cells couple the tables."""
        layout = self.layout(statistics.axes)
        for seen in np.unique(statistics.seen, axis=0):
            for hidden in layout.plan(seen).hidden:
                name = statistics.axes.features[hidden.features[0]]
                return f"column {name!r} has missing cells that others depend on; with missing='level' there is one"
        return ""

    def alternation(self, statistics: GroupedMoments, chains: int) -> CompletedTables:
        """Return that between missing cells and θ; raises `Refused` for fractions of rows or too many completions."""
        require_whole(statistics.n[~statistics.seen.all(axis=1)])
        layout = self.layout(self.axes)
        counts, sums = split(layout, statistics)
        return CompletedTables(layout, np.asarray(self.alpha) + layout.pooled(counts), sums, chains)

    def posterior(self, statistics: GroupedMoments) -> Self:
        """Return Dirichlet(α + n), for rows without missing cells that matter."""
        require_conjugate(self.not_conjugate(statistics))
        layout = self.layout(self.axes)
        counts, _ = split(layout, statistics)
        return replace(self, alpha=np.asarray(self.alpha) + layout.pooled(counts))

    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """Return the length of each conditional distribution."""
        return self.layout(axes).simplexes

    def _simplex_names(self) -> list[str]:
        return self.layout(self.axes).simplex_names()

    def pymc(self, statistics: GroupedMoments, suffix: str) -> None:
        """Add θ as `page` does; it observes counts."""
        import pymc as pm

        require_conjugate(self.not_conjugate(statistics), NO_PYMC)
        counts, _ = split(self.layout(self.axes), statistics)
        theta = self._joined(self.page_theta(pm.Data(f"alpha{suffix}", self.simplexes()[0]), suffix), suffix)
        observe_counts(f"counts{suffix}", theta, counts)

    def _joined(self, theta: Any, suffix: str) -> Any:
        """Return θ (outcome, cell) from what `page_theta` returns."""
        import pytensor.tensor as pt

        if not (tables := self._page_tables(suffix)):
            return theta
        parts, labels = [], len(self.axes.labels)
        for table, own in zip(tables, theta, strict=True):
            flat = own.reshape((1 if table.of_all else labels, table.cells.size))
            parts.append(pt.repeat(flat, labels, axis=0) if table.of_all else flat)
        return pt.concatenate(parts, axis=1)[:, np.argsort(np.concatenate([table.cells for table in tables]))]

    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return θ, the tables of all classes in each."""
        return {"theta": self.layout(self.axes).tied(super().from_pymc(draws, suffix)["theta"])}

    def _page_tables(self, suffix: str) -> list[PageTable]:
        """Return a table for each column; none for a table of all combinations, whose θ is the page's own."""
        layout, axes = self.layout(self.axes), self.axes
        if any(len(factor.of) > 1 for factor in layout.factors):
            return []
        if not any(factor.given or factor.class_free for factor in layout.factors):
            return page_tables(axes.features, axes.levels, suffix)
        tables = []
        for factor, start in zip(layout.factors, layout.starts, strict=True):
            names = [axes.features[j] for j in factor.scope]
            levels = {
                f"{in_names(name)}_level": list(axes.levels[j]) for name, j in zip(names, factor.scope, strict=True)
            }
            given = tuple(zip(names[:-1], factor.given, strict=True))
            cells = start + np.arange(layout.count(factor.scope))
            tables.append(PageTable((names[-1],), factor.of, levels, cells, given, factor.class_free))
        return tables

    def page_theta(self, alpha: Any, suffix: str) -> Any:
        """Add θ of each column, or of all combinations."""
        import pymc as pm

        if tables := self._page_tables(suffix):
            return [own.add(alpha) for own in tables]
        pm.modelcontext(None).add_coord(f"cell{suffix}", self.layout(self.axes).names())
        return pm.Dirichlet(f"theta{suffix}", alpha, dims=("outcome", f"cell{suffix}"))

    def page(self, X: Integers, row: Any, suffix: str) -> None:
        """Add θ, observing the level codes of rows."""
        self.page_columns(X, row, self.page_theta(self.simplexes()[0], suffix), suffix)

    def page_columns(self, X: Integers, row: Any, theta: Any, suffix: str) -> dict[int, Any]:
        """Observe the level codes of rows; return the variables of the columns by their positions.

        Raises `Refused` where a column depends on a missing cell.
        """
        from bayesclf import pymc_models

        layout, tables = self.layout(self.axes), self._page_tables(suffix)
        if not tables:
            (factor,) = layout.factors
            if (X < 0).any():
                raise Refused(GAPS.format(column=self.axes.features[int(np.argwhere(X < 0)[0, 1])]))
            joint = pymc_models.joint(theta, X @ layout.strides(factor), row, suffix)
            strides = zip(factor.of, layout.strides(factor).tolist(), strict=True)
            return {j: joint // stride % self.axes.sizes[j] for j, stride in strides}
        found: dict[str, Any] = {}
        for own, of_own in zip(tables, theta, strict=True):
            for name, j in own.given:
                if ((X[:, j] < 0) & (X[:, own.places[0]] >= 0)).any():
                    raise Refused(GAPS.format(column=name))
            found[own.columns[0]] = own.observe(of_own, X, row, found)
        return {self.axes.features.index(name): column for name, column in found.items()}

    def log_density(self, X: Integers, parameters: Parameters) -> Array:
        """Return Σ_f log θ (draw, row, outcome), missing cells summed out."""
        return log_density(self.layout(self.axes), X, parameters["theta"])

    def log_predictive_without(self, X: Integers, y: Integers) -> Array:
        """Own class: Π_f (α_c − 1)/(Σα − 1) over the cells c that the row uses, α of the posterior.

        A factor that does not depend on the class has this in all classes.
        """
        layout, (alpha, sizes) = self.layout(self.axes), self.simplexes()
        cells = layout.cells_of(X)
        out = self._with_own(X, y, dirichlet.log_mean_without(alpha, sizes, cells, y))
        if layout.class_free.any():
            of_all = np.where(layout.class_free[cells], cells, -1)
            with_it = dirichlet.weighted_logs(
                dirichlet.indicators(of_all, layout.cells), dirichlet.normalize(alpha, sizes)[None, :1]
            )
            change = dirichlet.log_mean_without(alpha, sizes, of_all, y) - with_it[0, :, 0]
            others = np.arange(len(self.axes.labels)) != y[:, None]
            out = np.where(others, out + change[:, None], out)
        return out

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw θ ~ Dirichlet(α), each simplex by itself, those of all classes once."""
        return {"theta": self.layout(self.axes).tied(super().draw(rng, draws)["theta"])}

    def _log_normalizer(self) -> Array:
        """log B(α), summed over all simplexes: the edges are those of the whole block.

        See Cooper and Herskovits (1992), A Bayesian method for the induction of probabilistic networks, eq 8.
        """
        of_simplexes = super()._log_normalizer()
        of_simplexes[1:, self.layout(self.axes).class_free_simplexes] = 0.0  # those of all classes count once
        return of_simplexes.sum(axis=1, keepdims=True)

    def log_prior(self, parameters: Parameters) -> Density:
        """A Dirichlet for each simplex, those of all classes for the first one only."""
        layout = self.layout(self.axes)
        density = super().log_prior(parameters)
        shape = (len(self.axes.labels), len(layout.simplexes))
        once = np.ones(shape, dtype=bool)
        once[1:, layout.class_free_simplexes] = False
        part_of = {name: layout.tied(parts) for name, parts in density.part_of.items()}
        return Density(density.log_density * once.ravel(), part_of)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Integers:
        """Draw level codes (row, feature), one factor after the other."""
        layout, theta = self.layout(self.axes), parameters["theta"][0]
        X = np.zeros((len(y), layout.features), dtype=np.intp)
        for f, factor in enumerate(layout.factors):
            sizes = tuple(self.axes.sizes[j] for j in factor.of)
            X[:, factor.of] = 0
            first = layout.cells_of(X)[:, f]
            drawn = dirichlet.chosen(theta[y[:, None], first[:, None] + np.arange(np.prod(sizes))], rng)
            X[:, factor.of] = np.column_stack(np.unravel_index(drawn, sizes))
        return X

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ."""
        return {"theta": ("outcome", "cell")}

    def coords(self) -> dict[str, Any]:
        """Return the cells' names, such as "wind=weak | outlook=sunny"."""
        return {"cell": self.layout(self.axes).names()}

    @abstractmethod
    def _what(self, layout: Layout) -> str:
        """Return the name of the tables in messages."""


def _require_irrelevant(layout: Layout, undefined: NDArray[np.bool_], theta: Array) -> None:
    """Raise for the first simplex without counts whose configuration has a probability above zero."""
    for factor, start in zip(layout.factors, layout.starts.tolist(), strict=True):
        width = layout.count(factor.of)
        lacking = undefined[:, start : start + layout.count(factor.scope) : width]
        for number in np.flatnonzero(lacking.any(axis=0)):
            X = np.full((1, layout.features), -1)
            X[0, factor.given] = np.unravel_index(number, [layout.axes.sizes[j] for j in factor.given])
            possible = log_density(layout, X, theta)[0, 0] > -np.inf
            for label in np.flatnonzero(possible & lacking[:, number]):
                names = " and ".join(repr(layout.axes.features[j]) for j in factor.of)
                cell = layout.names()[start + number * width].partition(" | ")[2]
                where = f" where {cell}" if cell else ""
                raise DoesNotExist(f"class {layout.axes.labels[label]!r} has no value in column {names}{where}")


@dataclass(frozen=True, repr=False)
class JointTable(ConditionalTables):
    """P(x = c | y = k) = θ_kc over all combinations c of the features' values: the unrestricted Bayes classifier.

    ========== ================================= ================ ====================
    parameter  support                           prior            posterior
    ========== ================================= ================ ====================
    θ_k        simplex over the combinations     Dirichlet(α_k)   Dirichlet(α_k + n_k)
    ========== ================================= ================ ====================

    MLE n_kc/n_k: P(y | x) is then the share of y among the training rows that equal x (CS4780), and undefined without
    such a row; MAP (n_kc + α − 1)/(n_k + Σα − C). K classes and features with J_1, J_2, … levels have K(Π J − 1)
    parameters: 2(2^n − 1) for n boolean features and two classes, against naive Bayes's 2n (Mitchell §1.1). A table
    too large to keep in memory is refused.

    Missing cells are summed over: in prediction exactly; in training rows MLE and MAP are found by EM, and the
    posterior is sampled by data augmentation.

    Parameters
    ----------
    alpha : float or array
        Concentration of each combination, above 0: a number, or an array that broadcasts to (outcome, cell), the last
        feature's values fastest. 2 is Laplace's rule. The prior has the weight of Σα = αC rows, which is large for a
        large table; 1 + m/C is the m-estimate, whose MAP adds m rows in all.
    basis : str
        As in `Categorical`.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Mitchell §1.1; CS4780, Bayes classifier and naive Bayes.
    """

    name: ClassVar[str] = "joint"
    likelihood: ClassVar[str] = "Categorical(theta) over all combinations of values"

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the first column with each other one: all depend on each other."""
        return joined(self.axes.features)

    def layout(self, axes: Axes) -> Layout:
        """Return one table of all features."""
        return Layout(axes, (Factor(tuple(range(len(axes.features)))),))

    def _what(self, layout: Layout) -> str:
        return f"the joint table of {layout.features} columns"


@dataclass(frozen=True, repr=False)
class BayesianNetwork(ConditionalTables):
    """P(x | y = k) = Π_j P(x_j | x_parents(j), y = k), with a Dirichlet for each configuration u of class and parents.

    ========== ============================ ================= =======================
    parameter  support                      prior             posterior
    ========== ============================ ================= =======================
    θ_jku      simplex over the levels of j Dirichlet(α_jku)  Dirichlet(α_jku + n_jku)
    ========== ============================ ================= =======================

    MLE n_jkul/n_jku; MAP (n_jkul + α − 1)/(n_jku + Σα − J). Without edges it is naive Bayes; with all edges of an
    order of the features its MLE is the joint table's.

    Missing cells are summed out in prediction, exactly: along a tree by message passing. In training rows a missing
    cell that no observed one depends on is not informative; others couple the tables, so that MLE and MAP are found by
    EM, and the posterior is sampled by data augmentation.

    Parameters
    ----------
    alpha : float or array
        Concentration of each cell, above 0: a number, or an array that broadcasts to (outcome, cell).
    basis : {"simplex", "softmax"}
        As in `Categorical`.
    axes : Axes
        Set by `resolve_prior`.
    edges : str or tuple of pair of str
        ``"tan"``: the tree that `structure.tan` learns from the rows; or pairs of column names, (parent, child).
    class_free : tuple of str
        Columns that do not depend on the class given their parents: P(x_j | x_parents(j)), with one table for all
        classes. Only for edges that are given.

    References
    ----------
    Aberdeen (belief networks); Friedman, Geiger and Goldszmidt (1997), *Bayesian network classifiers*.

    Examples
    --------
    >>> import bayesclf as bc
    >>> bc.families.BayesianNetwork(edges=(("outlook", "humidity"),)).edges
    (('outlook', 'humidity'),)
    """

    edges: str | tuple[structure.Edge, ...] = LEARNT
    class_free: tuple[str, ...] = ()
    name: ClassVar[str] = "network"
    likelihood: ClassVar[str] = "Categorical(theta) of each column given its parents"

    def __post_init__(self) -> None:
        super().__post_init__()
        edges, class_free = structure.check_graph(self.edges, self.class_free, (LEARNT,))
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "class_free", class_free)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the edges, which `resolve_prior` has learned where they were not given."""
        return () if isinstance(self.edges, str) else self.edges

    def informative(self, statistics: GroupedMoments) -> NDArray[np.bool_]:
        """Return False for a feature without an observed cell; raises `InputError` for edges of unknown columns."""
        structure.check_columns(self.edges, self.class_free, statistics.axes.features)
        return super().informative(statistics)

    def resolve_prior(self, statistics: GroupedMoments) -> Self:
        """Return the prior with its edges, without those of features that are not used, and α in numbers."""
        learned = structure.tan(statistics) if isinstance(self.edges, str) else self.edges
        used = set(statistics.axes.features)
        edges = tuple((parent, child) for parent, child in learned if {parent, child} <= used)
        free = tuple(name for name in self.class_free if name in used)
        return super(BayesianNetwork, replace(self, edges=edges, class_free=free)).resolve_prior(statistics)

    def layout(self, axes: Axes) -> Layout:
        """Return a table for each feature, parents first."""
        if isinstance(self.edges, str):
            raise InputError("the edges are not learned yet; resolve_prior learns them")
        position = {name: j for j, name in enumerate(axes.features)}
        ordered = structure.in_order(self.edges, axes.features)
        factors = (
            Factor((position[name],), tuple(position[other] for other in given), name in self.class_free)
            for name, given in ordered
        )
        return Layout(axes, tuple(factors))

    def _what(self, layout: Layout) -> str:
        largest = max(layout.factors, key=lambda factor: layout.count(factor.scope))
        name = layout.axes.features[largest.of[0]]
        return f"the network, the most of it in column {name!r} with {len(largest.given)} parents,"
