"""Conditional Gaussian networks: categories in tables, numbers linear in their parents among the numbers.

A missing cell on which nothing observed depends drops out. A missing category that a number depends on is summed over;
the others are left to the tables. Given the categories the numbers are jointly normal, and a missing number is
integrated out in closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Number, OrNone, require
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families.base import Axes, Family, Statistics, joined, require_choice, require_each, require_positive
from bayesclf.families.categorical import BASES
from bayesclf.families.cells import by_pattern
from bayesclf.families.mixed import regressions
from bayesclf.families.mixed.gaps import LARGEST_SUM, CompletedRows, Network, given_numbers, incomplete_rows
from bayesclf.families.mixed.regressions import NormalInverseGamma, Regression, Sums
from bayesclf.families.multivariate.groups import GroupedMoments, are_categories, are_seen
from bayesclf.families.networks import structure
from bayesclf.families.networks.network import LEARNT, BayesianNetwork, ConditionalTables, JointTable
from bayesclf.families.networks.structure import Edge
from bayesclf.families.networks.tables import NO_PYMC, Layout, require_conjugate, require_whole
from bayesclf.families.page_tables import PageVariable
from bayesclf.families.prior_lines import PriorLine
from bayesclf.families.terms import Density
from bayesclf.tables.columns import MISSING
from bayesclf.wording import in_names

type OfNumbers = Callable[[tuple[Regression, ...], Array, tuple[int, ...]], Array]
"""The log density of numbers: of their regressions, rows without missing categories, and the missing numbers."""

ALL = "all"
"""One table of all categories, and each number on all of them and on the numbers before it."""

LARGEST_PARAMETERS = 2**15
"""Terms (outcome × term) of one hypothesis above which the regressions are refused."""


@dataclass(frozen=True, repr=False)
class ConditionalGaussian(Family[GroupedMoments]):
    """P(x | y) = Π_j P(x_j | x_parents(j), y) over categories and numbers: a conditional Gaussian network.

    A category has parents among the categories, and a table with a Dirichlet for each configuration of them and the
    class. A number x is linear in its parents among the numbers, z = (1, x_parents). It has coefficients and a variance
    for each configuration u of the class and of its parents among the categories:

    ========= ======== ==================== ===========================================================
    parameter support  prior                posterior
    ========= ======== ==================== ===========================================================
    θ_u       simplex  Dirichlet(α_u)       Dirichlet(α_u + n_u)
    σ²_u      above 0  InvGamma(a, b)       InvGamma(a + n/2, b + ½ Σ(x − m_nᵀz)² + ½ (m_n − m)ᵀΛ(m_n − m))
    β_u | σ²  real     Normal(m, σ²Λ⁻¹)     Normal(m_n, σ²(Λ + Σzzᵀ)⁻¹), m_n = (Λ + Σzzᵀ)⁻¹(Λm + Σzx)
    ========= ======== ==================== ===========================================================

    The sums are over the rows of a class and configuration. MLE: least squares, σ² the mean squared residual. MAP: the
    joint mode in (β, σ²), σ² = b_n/(a_n + 1 + w/2) with w coefficients. The predictive is a product of tables' means
    and of Student's t with 2a_n degrees of freedom. Without categories and edges it is `Gaussian`; with all edges among
    numbers its MLE has the means and covariances of ``MultivariateGaussian("class")``, one covariance for each class.

    A missing cell that no observed cell depends on drops out. Others are summed and integrated out in prediction, but
    for the predictive in closed form, which needs the numbers on which observed ones depend. In training rows they
    couple the parameters: the posterior is then sampled by data augmentation, and estimates are not computed.

    Parameters
    ----------
    alpha, basis
        Those of the tables, as in `BayesianNetwork`.
    edges : str or tuple of pair of str
        ``"all"``: one table of all categories, and each number on all categories and the numbers before it.
        ``"tan"``: the tree of greatest evidence, `structure.best_tree`. Or pairs of column names, (parent, child); a
        number has no edge to a category.
    class_free : tuple of str
        Columns that do not depend on the class given their parents. Only for edges that are given.
    kappa : float or None
        Rows that the prior of β is worth, above 0; None is 1. Λ is κ diag(1, s²), s² the parents' variances in the
        pooled rows, in coordinates where the parents have mean 0; m is the number's pooled mean, and slopes of 0.
    a : float or None
        Shape of the inverse gamma, above 1; None is 3/2. b is (a − 1) times the number's pooled variance, so that
        E[σ²] is that variance.
    axes, of_numbers
        Set by `resolve_prior`: the distribution of β and σ² of each number, in the order of `regressions`.

    References
    ----------
    Lauritzen and Wermuth (1989), *Graphical models for associations between variables, some of which are qualitative
    and some quantitative*, Annals of Statistics 17; Geiger and Heckerman (1994), *Learning Gaussian networks*, UAI;
    Murphy (2012), *Machine Learning: A Probabilistic Perspective*, §7.6.3 (normal-inverse-gamma regression).
    """

    alpha: float | Array = 2.0
    basis: str = "simplex"
    edges: str | tuple[Edge, ...] = ALL
    class_free: tuple[str, ...] = ()
    kappa: float | None = None
    a: float | None = None
    axes: Axes = field(default=Axes((), ()), repr=False)
    of_numbers: tuple[NormalInverseGamma, ...] = field(default=(), repr=False)
    name: ClassVar[str] = "conditional-gaussian"
    kind: ClassVar[str] = "mixed"
    likelihood: ClassVar[str] = (
        "Categorical(theta) of each category and Normal(beta z, sigma2) of each number given its parents"
    )
    statistics_type: ClassVar[type[Statistics]] = GroupedMoments

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha)
        require_choice("basis", self.basis, BASES)
        require(OrNone(Number(above=0)), kappa=self.kappa)
        require(OrNone(Number(above=1)), a=self.a)
        edges, class_free = structure.check_graph(self.edges, self.class_free, (ALL, LEARNT))
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "class_free", class_free)

    def statistics(self, X: Array, y: Integers, axes: Axes, sample_weight: Array | None = None) -> GroupedMoments:
        """Return the moments of rows; those whose missing cells matter are kept apart, where the edges are known."""
        if self.edges == LEARNT:  # of a tree, no column with missing cells is a parent
            return GroupedMoments.of(X, y, axes, sample_weight)
        return GroupedMoments.of(X, y, axes, sample_weight, self.of_columns(axes).network.couples)

    def resolve_prior(self, statistics: GroupedMoments) -> Self:
        """Return the prior with its edges, without those of features that are not used, and all numbers in arrays.

        Raises
        ------
        Refused
            For too many regressions.
        """
        tree = structure.best_tree(statistics, self._evidence_with) if self.edges == LEARNT else self.edges
        plain = replace(self, edges=tree).of_columns(statistics.axes)
        labels = len(statistics.axes.labels)
        if plain.regressions and labels * plain.regressions[-1].ends[1] > LARGEST_PARAMETERS:
            raise Refused(
                f"the regressions have {labels} × {plain.regressions[-1].ends[1]:,} coefficients (limit "
                f"{LARGEST_PARAMETERS:,}); use fewer columns or edges, or naive Bayes"
            )
        kappa, a = 1.0 if self.kappa is None else self.kappa, 1.5 if self.a is None else self.a
        resolved = replace(plain, of_numbers=regressions.unit_information(plain.regressions, statistics, kappa, a))
        if resolved.of_categories is None:
            return resolved
        return replace(resolved, alpha=resolved.of_categories.resolve_prior(statistics.of_categories()).alpha)

    def of_columns(self, axes: Axes) -> Self:
        """Return the family on some columns: its edges among these, and which of these are free of the class."""
        edges = self.edges
        if not isinstance(edges, str):
            edges = tuple(edge for edge in edges if set(edge) <= set(axes.features))
        free = tuple(name for name in self.class_free if name in axes.features)
        return replace(self, edges=edges, class_free=free, axes=axes)

    def _evidence_with(self, statistics: GroupedMoments, edges: tuple[Edge, ...]) -> float:
        """Return the log evidence of columns under this prior with other edges."""
        family = replace(self, edges=edges)
        return float(family.resolve_prior(statistics).log_evidence(statistics).sum())

    @cached_property
    def network(self) -> Network:
        """The tables and the regressions."""
        axes, tables = self.axes.select(are_categories(self.axes)), self.of_categories
        layout = Layout(axes, () if tables is None else tables.layout(axes).factors)
        return Network(self.axes, layout, self.regressions)

    @cached_property
    def of_categories(self) -> ConditionalTables | None:
        """The tables of the categories; None without any."""
        axes = self.axes.select(are_categories(self.axes))
        if not axes.features:
            return None
        own = self.of_columns(axes)
        if own.edges == ALL:
            return JointTable(own.alpha, own.basis, axes)
        assert not isinstance(own.edges, str)
        return BayesianNetwork(own.alpha, own.basis, axes, own.edges, own.class_free)

    @cached_property
    def regressions(self) -> tuple[Regression, ...]:
        """The regressions of the numbers, parents first."""
        edges, category = self.edges, are_categories(self.axes)
        if isinstance(edges, str):
            edges = tuple(combinations([self.axes.features[j] for j in np.argsort(~category, kind="stable")], 2))
        return regressions.in_order(self.axes, edges, self.class_free)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the edges, which `resolve_prior` has learned where they were not given."""
        return joined(self.axes.features) if isinstance(self.edges, str) else self.edges

    def informative(self, statistics: GroupedMoments) -> NDArray[np.bool_]:
        """Return False for a constant number and a category without an observed cell; check the edges' columns."""
        axes, category = statistics.axes, are_categories(statistics.axes)
        structure.check_columns(self.edges, self.class_free, axes.features)
        for parent, child in () if isinstance(self.edges, str) else self.edges:
            if category[axes.features.index(child)] and not category[axes.features.index(parent)]:
                raise InputError(
                    f"the edge {(parent, child)} leads from a number to a category; reverse it, or cut {parent!r} into "
                    "a few bins with pandas.cut"
                )
        out = statistics.seen.any(axis=0)
        out[~category] = ~statistics.cells().constant()
        return np.asarray(out)

    def priors(self) -> list[PriorLine]:
        """Return the priors of the tables, and of the variances and coefficients given these."""
        lines = [] if self.of_categories is None else self.of_categories.priors()
        for own, part in self.parts():
            lines += regressions.priors_of(own, part, self.axes)
        return lines

    def mle(self, statistics: GroupedMoments) -> Parameters:
        """Return relative frequencies and least squares; raises `DoesNotExist` where rows are too few or collinear."""
        plain = replace(self, axes=statistics.axes)
        _require_estimate(plain.not_conjugate(statistics))
        there = statistics.weight_of_cells() > 0
        of_all = [name in self.class_free for name in statistics.axes.features]
        require_each(np.where(of_all, there.any(axis=0), there), statistics.axes, "has no value")
        theta = {} if plain.of_categories is None else plain.of_categories.mle(statistics.of_categories())
        return {**theta, **regressions.least_squares(statistics, plain.regressions, plain.of_categories, theta)}

    def map(self, statistics: GroupedMoments) -> Parameters:
        """Return the joint posterior mode of θ, β and σ²; raises `DoesNotExist` where that of θ is not unique."""
        _require_estimate(self.not_conjugate(statistics))
        posterior = self.posterior(statistics)
        theta = {} if self.of_categories is None else self.of_categories.map(statistics.of_categories())
        values = [(part.moved(part.m), part.b / (part.a + 1 + own.width / 2)) for own, part in posterior.parts()]
        return {**theta, **regressions.flat(self.regressions, [(beta[None], sigma2[None]) for beta, sigma2 in values])}

    def not_conjugate(self, statistics: GroupedMoments) -> str:
        """Return the first column whose missing training cells couple the parameters."""
        return self.network.coupling(statistics.groups[:, 1:], statistics.seen)

    def alternation(self, statistics: GroupedMoments, chains: int) -> CompletedRows:
        """Return that between missing cells and parameters; raises `Refused` for fractions of rows, or too many."""
        complete, others = self.network.split(statistics)
        require_whole(others.n)
        given, incomplete = self.posterior(complete), tuple(incomplete_rows(self.network, others, chains))
        alpha = np.zeros((len(self.axes.labels), 0)) if given.of_categories is None else np.asarray(given.alpha)
        return CompletedRows(self.network, alpha, given.of_numbers, self.of_numbers, incomplete, chains)

    def posterior(self, statistics: GroupedMoments) -> Self:
        """Return the posterior of the prior's family, for rows without missing cells that matter."""
        require_conjugate(self.not_conjugate(statistics))
        parts = tuple(part.updated(Sums.of(own, statistics)) for own, part in self.parts())
        alpha = (
            self.alpha if self.of_categories is None else self.of_categories.posterior(statistics.of_categories()).alpha
        )
        return replace(self, alpha=alpha, of_numbers=parts)

    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        """Draw θ, σ² and β | σ², those of all classes once."""
        theta = {} if self.of_categories is None else self.of_categories.draw(rng, draws)
        return {**theta, **regressions.flat(self.regressions, [part.draw(rng, draws) for _, part in self.parts()])}

    def mean(self) -> Parameters:
        """Return the posterior means of θ, β and σ²."""
        theta = {} if self.of_categories is None else self.of_categories.mean()
        parts = [(part.moved(part.m)[None], (part.b / (part.a - 1))[None]) for _, part in self.parts()]
        return {**theta, **regressions.flat(self.regressions, parts)}

    def pymc(self, statistics: GroupedMoments, suffix: str) -> None:
        """Add θ, σ² and β as `page` does; they observe counts, and the moments of numbers and their parents.

        Coefficients that depend on each other in the prior add (β − m)ᵀ(Λ − diag Λ)(β − m) to the squares.
        """
        import pymc as pm
        import pytensor.tensor as pt

        require_conjugate(self.not_conjugate(statistics), NO_PYMC)
        if self.of_categories is not None:
            self.of_categories.pymc(statistics.of_categories(), suffix)

        def squares(matrix: Any, vector: Any) -> Any:
            """Return v'Mv."""
            return (vector * (matrix * vector[..., None, :]).sum(axis=-1)).sum(axis=-1)

        for own, part in self.parts():
            sums, name = Sums.of(own, statistics), in_names(self.axes.features[own.of])
            diagonal = np.diagonal(part.precision, axis1=-2, axis2=-1)
            given = {
                "n": sums.n,
                "mean": sums.mean - np.append(part.centre, 0.0),
                "scatter": sums.scatter,
                "coupling": part.precision - diagonal[..., None] * np.eye(own.width),
                "constant": 0.5 * (np.linalg.slogdet(part.precision)[1] - np.log(diagonal).sum(axis=-1)),
            }
            held = {of: pm.Data(f"{of}_{name}", _in_page(own, values)) for of, values in given.items()}
            m, beta, sigma2 = self._page_regression(own, part, lambda of, v, name=name: pm.Data(f"{of}_{name}", v))
            weights = pt.concatenate([-beta[..., 1:], pt.ones_like(beta[..., :1])], axis=-1)
            total = squares(held["scatter"], weights) + squares(held["coupling"], beta - m)
            total += held["n"] * ((weights * held["mean"]).sum(axis=-1) - beta[..., 0]) ** 2
            log_density = held["constant"] - 0.5 * (held["n"] * pt.log(2 * np.pi * sigma2) + total / sigma2)
            pm.Potential(f"x_{name}", log_density.sum())

    def _page_regression(self, own: Regression, part: NormalInverseGamma, held: Any) -> tuple[Any, Any, Any]:
        """Add σ² and β of a number, where its parents have their means, to the open model; return m, β and σ²."""
        import pymc as pm

        from bayesclf import pymc_models

        names, precision = self.axes.features, np.diagonal(part.precision, axis1=-2, axis2=-1)
        named = {"m": part.m, "precision": precision, "a": part.a, "b": part.b}
        prior: Any = tuple(held(of, _in_page(own, values)) for of, values in named.items())
        for j in own.given:
            pm.modelcontext(None).add_coord(f"{in_names(names[j])}_level", list(self.axes.levels[j]))
        on, given = [names[j] for j in own.on], [names[j] for j in own.given]
        return prior[0], *pymc_models.regression(names[own.of], on, prior, given, own.class_free)

    def page(self, X: Array, row: Any, suffix: str) -> None:
        """Add θ, σ² and β; they observe codes, and numbers given these and each other."""
        from bayesclf import pymc_models

        category, seen = are_categories(self.axes), are_seen(X, self.axes)
        require_conjugate(self.network.coupling(X, seen), "such rows have no PyMC model: leave them out")
        columns: dict[int, Any] = {}
        if self.of_categories is not None:
            codes, tables = np.where(seen, X, MISSING)[:, category].astype(np.intp), self.of_categories
            found = tables.page_columns(codes, row, tables.page_theta(tables.simplexes()[0], suffix), suffix)
            places = np.flatnonzero(category).tolist()
            columns = {places[j]: column for j, column in found.items()}
        for own, part in self.parts():
            if part.correlated:
                raise Refused("coefficients that depend on each other in the prior have no page of PyMC")
            given = {self.axes.features[j]: columns[j] for j in own.given}
            centered = [columns[j] - center for j, center in zip(own.on, part.centre, strict=True)]
            _, *values = self._page_regression(own, part, lambda _, values: values)
            name = self.axes.features[own.of]
            columns[own.of] = pymc_models.number(
                name, (values[0], values[1]), X[:, own.of], row, centered, given, own.class_free
            )

    def page_variables(self, suffix: str) -> list[PageVariable]:
        """Return θ of each category, and β, from the means of what it is on, and σ² of each number."""
        out = [] if self.of_categories is None else self.of_categories.page_variables(suffix)
        names = [in_names(name) for name in self.axes.features]
        for own, part in self.parts():
            name = names[own.of]
            given = {f"{names[j]}_level": list(self.axes.levels[j]) for j in own.given}
            terms = {f"{name}_term": ["intercept", *(self.axes.features[j] for j in own.on)]}
            axes = (*(() if own.class_free else ("outcome",)), *given)

            def beta(parameters: Parameters, own: Regression = own, part: Any = part) -> Array:
                """Return β in the shape of the page."""
                return _in_page(own, part.moved(own.of_terms(parameters["beta"]), back=True), 1)

            def sigma2(parameters: Parameters, own: Regression = own) -> Array:
                """Return σ² likewise."""
                return _in_page(own, own.of_regressions(parameters["sigma2"]), 1)

            out.append(PageVariable(f"beta_{name}", (*axes, *terms), given | terms, beta))
            out.append(PageVariable(f"sigma2_{name}", axes, given, sigma2))
        return out

    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        """Return θ, β and σ²."""
        theta = {} if self.of_categories is None else self.of_categories.from_pymc(draws, suffix)
        found: list[tuple[Array, Array]] = []
        for own, part in self.parts():
            beta, sigma2 = (draws[f"{of}_{in_names(self.axes.features[own.of])}"] for of in ("beta", "sigma2"))
            labels = 1 if own.class_free else len(self.axes.labels)
            shape = (len(beta), labels, own.count)
            every = (len(beta), len(self.axes.labels), own.count)
            moved = part.moved(np.broadcast_to(beta.reshape(*shape, own.width), (*every, own.width)))
            found.append((moved, np.broadcast_to(sigma2.reshape(shape), every)))
        return {**theta, **regressions.flat(self.regressions, found)}

    def log_density(self, X: Array, parameters: Parameters) -> Array:
        """Return log p(x | y, θ, β, σ²), (draw, row, outcome), missing cells summed and integrated out."""

        def of_tables(tables: ConditionalTables, codes: Integers) -> Array:
            """Return the log density of the tables."""
            return tables.log_density(codes, parameters)

        def of_numbers(used: tuple[Regression, ...], cells: Array, hidden: tuple[int, ...]) -> Array:
            """Return the log density of the numbers."""
            return np.swapaxes(given_numbers(used, cells, hidden, parameters)[0], 1, 2)

        return self._summed_out(X, of_tables, of_numbers, len(next(iter(parameters.values()))))

    def log_predictive(self, X: Array) -> Array:
        """Return the log density of tables' means and of Student's t, (row, outcome).

        It is NaN for a row with a missing number on which an observed one depends: that has no closed form.
        """
        parts = dict(self.parts())

        def of_tables(tables: ConditionalTables, codes: Integers) -> Array:
            """Return that of the tables."""
            return tables.log_predictive(codes)[None]

        def of_numbers(used: tuple[Regression, ...], cells: Array, hidden: tuple[int, ...]) -> Array:
            """Return that of the numbers."""
            if hidden:
                return np.full((1, len(cells), len(self.axes.labels)), np.nan)
            terms = (
                parts[own].log_predictive(cells[:, own.of], cells[:, own.on], own.configuration(cells)) for own in used
            )
            return np.sum(list(terms), axis=0)[None]

        return np.asarray(self._summed_out(X, of_tables, of_numbers, 1)[0])

    def _summed_out(
        self,
        X: Array,
        of_tables: Callable[[ConditionalTables, Integers], Array],
        of_numbers: OfNumbers,
        draws: int,
    ) -> Array:
        """Return the log density of the observed cells, (draw, row, outcome), missing ones summed and integrated out.

        `X`: Cells (row, feature). `of_tables`: Log density (draw, row, outcome) of codes of the categories, negative
        where missing.

        Raises `Refused` for too many combinations of missing categories.
        """
        category, seen = are_categories(self.axes), are_seen(X, self.axes)
        X = np.where(category & ~seen, MISSING, X)
        tables, total = self.of_categories, np.zeros((draws, len(X), len(self.axes.labels)))
        for pattern, rows in by_pattern(~seen):
            wanted = self.network.needed(pattern)
            used = tuple(own for own in self.regressions if wanted[own.of])
            gaps = sorted({j for own in used for j in own.given if not pattern[j]})
            hidden = tuple(np.flatnonzero(wanted & ~pattern & ~category).tolist())
            sizes = [self.axes.sizes[j] for j in gaps]
            if prod(sizes) > LARGEST_SUM:
                names = ", ".join(repr(self.axes.features[j]) for j in gaps)
                raise Refused(
                    f"summing out the missing cells of columns {names} takes {prod(sizes):,} combinations (limit "
                    f"{LARGEST_SUM:,}); fill some in, or fit with missing='level', or with fewer edges"
                )
            filled, density = X[rows], None
            for values in product(*map(range, sizes)):
                filled[:, gaps] = values
                term = np.zeros((draws, len(rows), total.shape[2]))
                if tables is not None:
                    term += of_tables(tables, filled[:, category].astype(np.intp))
                if used:
                    term += of_numbers(used, filled, hidden)
                with np.errstate(invalid="ignore"):  # of terms without a closed form, which are NaN
                    density = term if density is None else np.logaddexp(density, term)
            total[:, rows] = density
        return total

    def log_predictive_without(self, X: Array, y: Integers) -> Array:
        """Own class: the tables' and the regressions' predictives without the row; what all classes share, in all."""
        category, seen = are_categories(self.axes), are_seen(X, self.axes)
        out = np.zeros((len(X), len(self.axes.labels)))
        if self.of_categories is not None:
            codes = np.where(seen, X, MISSING)[:, category].astype(np.intp)
            out += self.of_categories.log_predictive_without(codes, y)
        for own, part in self.parts():
            rows = np.flatnonzero(seen[:, own.of])
            cells = X[rows]
            given = cells[:, own.of], cells[:, own.on], own.configuration(cells)
            density, kept = part.log_predictive_without(*given, y[rows])
            density = np.where(kept, density, np.nan)
            if own.class_free:
                out[rows] += density[:, None]
            else:
                others = part.log_predictive(*given)
                others[np.arange(len(rows)), y[rows]] = density
                out[rows] += others
        return out

    def log_evidence(self, statistics: GroupedMoments) -> Array:
        """Return that of the tables, and the gains of the regressions; those of all classes count once; (1)."""
        require_conjugate(self.not_conjugate(statistics))
        of_tables = None if self.of_categories is None else self.of_categories.log_evidence(statistics.of_categories())
        gains = (regressions.once(own, part.gain(Sums.of(own, statistics))).sum() for own, part in self.parts())
        return np.array([sum(gains) + (0.0 if of_tables is None else of_tables.sum())])

    def log_prior(self, parameters: Parameters) -> Density:
        """A Dirichlet for each simplex, a normal-inverse-gamma for each regression, those of all classes once."""
        own = regressions.log_prior(tuple(self.parts()), len(self.axes.labels), parameters)
        return own if self.of_categories is None else Density.joined(self.of_categories.log_prior(parameters), own)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw cells (row, feature): codes of categories, then the numbers, parents first."""
        X = np.zeros((len(y), len(self.axes.features)))
        if self.of_categories is not None:
            X[:, are_categories(self.axes)] = self.of_categories.sample(parameters, y, rng)
        for own in self.regressions:
            place = own.configuration(X)
            beta = own.of_terms(parameters["beta"])[0][y, place]
            sd = np.sqrt(own.of_regressions(parameters["sigma2"])[0][y, place])
            X[:, own.of] = beta[:, 0] + (beta[:, 1:] * X[:, own.on]).sum(axis=1) + sd * rng.standard_normal(len(y))
        return X

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ, where there are categories, and of β and σ², where there are numbers."""
        category = are_categories(self.axes)
        dims: dict[str, tuple[str, ...]] = {}
        if category.any() or not category.size:
            dims["theta"] = ("outcome", "cell")
        if not category.all() or not category.size:
            dims |= {"beta": ("outcome", "term"), "sigma2": ("outcome", "regression")}
        return dims

    def coords(self) -> dict[str, Any]:
        """Return the names of cells, such as "wind=weak | outlook=sunny", of terms and of regressions."""
        coords = {} if self.of_categories is None else self.of_categories.coords()
        if not self.regressions:
            return coords
        of_terms, of_regressions = regressions.names(self.axes, self.regressions)
        return {**coords, "term": of_terms, "regression": of_regressions}

    def parts(self) -> Iterator[tuple[Regression, NormalInverseGamma]]:
        """Yield the regressions of each number, and their distribution."""
        return zip(self.regressions, self.of_numbers, strict=True)


def _require_estimate(reason: str) -> None:
    """Raise `DoesNotExist` for a reason why the posterior has no closed form; nothing where it is empty."""
    if reason:
        raise DoesNotExist(
            f"{reason}, where the estimates of a network with numbers are not computed; use inference='augmentation' "
            "and a rule that averages over the posterior, such as 'bayes-optimal'"
        )


def _in_page(own: Regression, values: Array, lead: int = 0) -> Array:
    """Return values (…, outcome, configuration, …) with an axis for each category given, and none of tied classes.

    `lead`: Number of axes before that of the classes.
    """
    kept = values.take(0, axis=lead) if own.class_free else values
    place = lead + (not own.class_free)
    return kept.reshape(*kept.shape[:place], *own.sizes, *kept.shape[place + 1 :])
