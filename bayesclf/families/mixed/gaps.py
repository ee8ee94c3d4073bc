"""Missing cells of categories and numbers: summed and integrated out of densities, and drawn with the parameters.

A missing cell on which nothing observed depends drops out. A missing category that a number depends on is summed over;
the others are left to the tables. Given the categories the numbers are jointly normal, and a missing number is
integrated out in closed form.

Data augmentation draws the missing cells of the training rows and the parameters in turn. Given the parameters and its
observed cells, the missing cells of a row are a finite mixture: of the combinations of its missing categories, each
with a normal distribution of its missing numbers. They are drawn together, and exactly. Rows of one class with the same
cells missing are treated together, for all chains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod
from typing import Self

import numpy as np

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import DoesNotExist, Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes
from bayesclf.families.cells import Booleans, by_pattern
from bayesclf.families.mixed.regressions import NormalInverseGamma, Regression, Sums, flat, root_of_inverse
from bayesclf.families.multivariate.groups import APART, GroupedMoments, are_categories, are_seen, merge
from bayesclf.families.networks import row_counts
from bayesclf.families.networks.factors import Layout
from bayesclf.tables.columns import MISSING, UNSEEN

LARGEST_SUM = 2**12
"""Combinations of missing categories, on which numbers depend, above which summing over them is refused."""

type OfNumbers = Callable[[tuple[Regression, ...], Array, tuple[int, ...]], Array]
"""The log density of numbers: of their regressions, rows without missing categories, and the missing numbers."""


def needed(seen: Booleans, layout: Layout | None, regressions: Sequence[Regression], axes: Axes) -> Booleans:
    """Return which features are observed, or something observed depends on, (feature)."""
    out = seen.copy()
    for own in reversed(regressions):
        if out[own.of]:
            out[list(own.parents)] = True
    category = np.flatnonzero(are_categories(axes))
    for factor in reversed(layout.factors if layout else ()):
        if out[category[list(factor.of)]].any():
            out[category[list(factor.scope)]] = True
    return out


def log_density(
    X: Array,
    layout: Layout | None,
    regressions: tuple[Regression, ...],
    axes: Axes,
    of_categories: Callable[[Integers], Array],
    of_numbers: OfNumbers,
) -> Array:
    """Return the log density of the observed cells, (draw, row, outcome).

    `X`: Cells (row, feature). `layout`: The tables of the categories; None without any. `of_categories`: Log density
    (draw, row, outcome) of codes of the categories, negative where missing.

    Raises `Refused` for too many combinations of missing categories.
    """
    category, seen = are_categories(axes), are_seen(X, axes)
    X = np.where(category & ~seen, MISSING, X)
    total = of_categories(X[:0, category].astype(np.intp))
    total = np.zeros((len(total), len(X), total.shape[2]))
    for pattern, rows in by_pattern(~seen):
        wanted = needed(pattern, layout, regressions, axes)
        used = tuple(own for own in regressions if wanted[own.of])
        gaps = sorted({j for own in used for j in own.given if not pattern[j]})
        hidden = tuple(np.flatnonzero(wanted & ~pattern & ~category).tolist())
        sizes = [axes.sizes[j] for j in gaps]
        if prod(sizes) > LARGEST_SUM:
            names = ", ".join(repr(axes.features[j]) for j in gaps)
            raise Refused(
                f"summing out the missing cells of columns {names} takes {prod(sizes):,} combinations (limit "
                f"{LARGEST_SUM:,}); fill some in, or fit with missing='level', or with fewer edges"
            )
        filled, density = X[rows], None
        for values in product(*map(range, sizes)):
            filled[:, gaps] = values
            term = of_categories(filled[:, category].astype(np.intp))
            term = term + of_numbers(used, filled, hidden) if used else term
            with np.errstate(invalid="ignore"):  # of terms without a closed form, which are NaN
                density = term if density is None else np.logaddexp(density, term)
        total[:, rows] = density
    return total


def log_normal(regressions: tuple[Regression, ...], X: Array, hidden: tuple[int, ...], parameters: Parameters) -> Array:
    """Return the log density (draw, row, outcome) of the observed numbers under linear regressions."""
    return np.swapaxes(given_numbers(regressions, X, hidden, parameters).log_density, 1, 2)


@dataclass(frozen=True)
class GivenNumbers:
    """The hidden numbers of rows given the observed ones: Normal(mean, FFᵀ), and the density of the observed ones.

    `log_density`: (draw, outcome, row). `mean`: (draw, outcome, row, hidden). `root`: F, (draw, outcome, row, hidden,
    other hidden).
    """

    log_density: Array
    mean: Array
    root: Array


def given_numbers(
    regressions: tuple[Regression, ...], X: Array, hidden: tuple[int, ...], parameters: Parameters
) -> GivenNumbers:
    """Return what linear regressions, parents first, say of rows X (row, feature) without missing categories.

    Each regression has the residual r = x − β0 − βᵀx_on, the hidden x being at their conditional means. Let u be the
    hidden numbers' deviations from these, A_fh = ∂r_f/∂u_h, and D the diagonal of 1/σ². The density of the observed
    numbers is the integral of exp(−½(r + Au)ᵀD(r + Au)) over u: a regression of −r on A. Given these, u has the mean
    −(AᵀDA)⁻¹AᵀDr and the precision AᵀDA.
    """
    values: dict[int, Array] = {j: X[:, j] for j in range(X.shape[1])}
    beta, sigma2 = parameters["beta"], parameters["sigma2"]
    residuals, slopes, weights = [], [], []
    for own in regressions:
        place = own.configuration(X)
        terms = own.of_terms(beta)[:, :, place]
        variance = own.of_regressions(sigma2)[:, :, place]
        expected = terms[..., 0] + sum(terms[..., 1 + i] * values[j] for i, j in enumerate(own.on))
        slope = {j: -terms[..., 1 + i] for i, j in enumerate(own.on)}
        if own.of in hidden:
            values[own.of], slope[own.of] = expected, np.ones_like(expected)
            residuals.append(np.zeros_like(expected))
        else:
            residuals.append(values[own.of] - expected)
        weights.append(1 / variance)
        slopes.append([slope.get(h, np.zeros_like(expected)) for h in hidden])
    logs = [np.log(w) - np.log(2 * np.pi) - w * r**2 for w, r in zip(weights, residuals, strict=True)]
    total = np.asarray(0.5 * np.sum(logs, axis=0))
    if not hidden:
        return GivenNumbers(total, np.empty((*total.shape, 0)), np.empty((*total.shape, 0, 0)))
    D, r = np.stack(weights, axis=-1), np.stack(residuals, axis=-1)
    A = np.stack([np.stack(row, axis=-1) for row in slopes], axis=-2)  # (draw, outcome, row, regression, hidden)
    right = np.einsum("...fh,...f->...h", A, D * r)
    root = root_of_inverse(np.einsum("...fh,...f,...fi->...hi", A, D, A))
    whitened = np.einsum("...ih,...i->...h", root, right)
    log_det = 2 * np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
    total = total + 0.5 * ((whitened**2).sum(axis=-1) + log_det + len(hidden) * np.log(2 * np.pi))
    start = np.stack([np.broadcast_to(values[h], total.shape) for h in hidden], axis=-1)
    return GivenNumbers(total, start - np.einsum("...hi,...i->...h", root, whitened), root)


@dataclass(frozen=True)
class Network:
    """The tables of the categories and the regressions of the numbers.

    `layout`: The tables; None without categories.
    """

    axes: Axes
    layout: Layout | None
    regressions: tuple[Regression, ...]

    def hidden(self, seen: Booleans) -> Booleans:
        """Return which features (feature) are missing and matter, as an observed one depends on them."""
        return needed(seen, self.layout, self.regressions, self.axes) & ~seen

    def split(self, statistics: GroupedMoments) -> tuple[GroupedMoments, GroupedMoments]:
        """Return the moments of the rows without missing cells that matter, and those of the others."""
        gaps = np.zeros(len(statistics.groups), dtype=bool)
        for pattern, groups in by_pattern(~statistics.seen):
            gaps[groups] = self.hidden(pattern).any()
        return statistics.where(~gaps), statistics.where(gaps)

    def coupling(self, codes: Array | Integers, seen: Booleans) -> str:
        """Return the first column with missing cells that matter, as a clause; empty where none does.

        Of cells (row, feature), by their codes of categories, and which are observed.
        """
        for pattern, rows in by_pattern(~seen):
            for j in np.flatnonzero(self.hidden(pattern)):
                unseen = are_categories(self.axes)[j] and (codes[rows, j] == UNSEEN).any()
                lacking = "levels that the prior lacks, so that they count as missing cells," if unseen else ""
                return f"column {self.axes.features[j]!r} has {lacking or 'missing cells'} that others depend on"
        return ""


def require_estimate(reason: str) -> None:
    """Raise `DoesNotExist` for the same reason: estimates are not computed there."""
    if reason:
        raise DoesNotExist(
            f"{reason}, where the estimates of a network with numbers are not computed; take inference='augmentation' "
            "and a rule that averages over the posterior, such as 'bayes-optimal'"
        )


WORK = 2**20
"""Numbers in an array of all completions of rows and chains; more rows are treated in blocks that fit."""

LARGEST_COMPLETIONS = 2**24
"""Completions of all rows above which they are refused: a step of each chain weighs all of them."""

ADDED_UP = "an earlier fit added up rows whose missing cells others depend on; fit all rows at once"
"""Why there is no data augmentation of statistics in which other rows were merged."""


@dataclass(frozen=True)
class Incomplete:
    """Rows of one class with the same missing cells.

    `X`: Codes and numbers (row, feature); what is in a missing cell is not used. `gaps`, `values`: Positions of the
    missing categories, and all their combinations, (completion, gap). `hidden`: Positions of the missing numbers.
    `used`: The regressions that these rows tell of. `tables`: Positions of the tables that they tell of.
    """

    label: int
    X: Array
    gaps: tuple[int, ...]
    values: Integers
    hidden: tuple[int, ...]
    used: tuple[Regression, ...]
    tables: tuple[int, ...]

    def drawn(self, network: Network, log_theta: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Draw the missing cells; return the completed rows, (chain, row, feature).

        `log_theta`: (chain, outcome, cell). `parameters`: β and σ², (chain, outcome, …).
        """
        own = {name: values[:, [self.label]] for name, values in parameters.items()}
        weights, means, roots = [], [], []
        for values in self.values:
            filled = self.X.copy()
            filled[:, self.gaps] = values
            weight = np.zeros((len(log_theta), len(filled)))
            if self.tables and network.layout is not None:
                weight = weight + log_theta[:, self.label][:, self.cells(network, filled)].sum(axis=2)
            if self.used:
                given = given_numbers(self.used, filled, self.hidden, own)
                weight = weight + given.log_density[:, 0]
                means.append(given.mean[:, 0])
                roots.append(given.root[:, 0])
            weights.append(weight)
        chosen = _chosen(np.stack(weights), rng)
        out = np.repeat(self.X[None], len(log_theta), axis=0)
        out[..., self.gaps] = self.values[chosen]
        if self.hidden:
            chains, rows = np.indices(chosen.shape)
            mean, root = (np.stack(parts)[chosen, chains, rows] for parts in (means, roots))
            noise = rng.standard_normal(mean.shape)
            out[..., self.hidden] = mean + np.einsum("...ij,...j->...i", root, noise)
        return out

    def cells(self, network: Network, X: Array) -> Integers:
        """Return the cells (row, table) of rows (row, feature) without missing cells that matter."""
        assert network.layout is not None
        codes = X[:, are_categories(network.axes)].astype(np.intp)
        return network.layout.cells_of(codes)[:, self.tables]


def _chosen(log_weights: Array, rng: np.random.Generator) -> Integers:
    """Draw a completion of each row, (chain, row), by the logarithms of weights (completion, chain, row)."""
    if len(log_weights) == 1:
        return np.zeros(log_weights.shape[1:], dtype=np.intp)
    shares = np.exp(log_weights - log_weights.max(axis=0))
    below = np.cumsum(shares, axis=0)
    return np.asarray((rng.random(shares.shape[1:]) * below[-1] >= below[:-1]).sum(axis=0), dtype=np.intp)


def incomplete_rows(network: Network, statistics: GroupedMoments, chains: int) -> Iterator[Incomplete]:
    """Yield the rows of statistics whose missing cells matter, in blocks; a row of weight w is w rows.

    Raises `Refused` for too many completions, and for rows that were merged with others.
    """
    axes, category = network.axes, are_categories(network.axes)
    cells = np.where(statistics.groups[:, 1:] < 0, 0, statistics.groups[:, 1:]).astype(float)
    cells[:, ~category] = statistics.mean
    total = 0
    for pattern, groups in by_pattern(~statistics.seen):
        if (pattern & ~category).any() and (statistics.groups[groups, 1:][:, pattern & ~category] != APART).any():
            raise Refused(ADDED_UP)
        wanted = needed(pattern, network.layout, network.regressions, axes)
        gaps, hidden = (tuple(np.flatnonzero(wanted & ~pattern & kind).tolist()) for kind in (category, ~category))
        sizes = [axes.sizes[j] for j in gaps]
        rows = np.repeat(groups, statistics.n[groups].astype(np.intp))
        total += prod(sizes) * len(rows)
        if prod(sizes) > LARGEST_SUM or total > LARGEST_COMPLETIONS:
            raise Refused(
                f"the missing cells of the training rows have {total:,} completions (limit {LARGEST_COMPLETIONS:,}, "
                f"and {LARGEST_SUM:,} of a row); fill some in, fit with missing='level' or with fewer edges"
            )
        values = np.indices(sizes).reshape(len(sizes), -1).T if sizes else np.zeros((1, 0), dtype=np.intp)
        used = tuple(own for own in network.regressions if wanted[own.of])
        factors = network.layout.factors if network.layout else ()
        of_wanted = wanted[category]
        tables = tuple(f for f, factor in enumerate(factors) if of_wanted[list(factor.of)].all())
        given = partial(Incomplete, gaps=gaps, values=values, hidden=hidden, used=used, tables=tables)
        step = max(1, WORK // (chains * len(values) * max(1, len(hidden)) ** 2))
        for label in np.unique(statistics.groups[rows, 0]).tolist():
            own_rows = rows[statistics.groups[rows, 0] == label]
            for start in range(0, len(own_rows), step):
                yield given(label, cells[own_rows[start : start + step]])


@dataclass(frozen=True)
class CompletedRows:
    """Alternation between the missing cells given θ, β and σ², and these given complete rows.

    The state is log θ, β and σ², (chain, outcome, …). Given complete rows they have the posteriors of tables and of
    regressions.

    `alpha`, `counts`: α of the prior, and the counts of the rows without missing cells that matter, (outcome, cell).
    `prior`: Of the regressions of each number. `complete`: Sums of the rows without missing cells that matter, for each
    number.
    """

    network: Network
    alpha: Array
    counts: Array
    prior: tuple[NormalInverseGamma, ...]
    complete: tuple[Sums, ...]
    incomplete: tuple[Incomplete, ...]
    chains: int

    @classmethod
    def of(
        cls,
        network: Network,
        alpha: Array | None,
        prior: Sequence[NormalInverseGamma],
        statistics: GroupedMoments,
        chains: int,
    ) -> Self:
        """Return the alternation of training rows; the prior is in numbers."""
        complete, others = network.split(statistics)
        labels, layout = len(network.axes.labels), network.layout
        counts = np.zeros((labels, 0 if layout is None else layout.cells))
        if layout is not None:
            counts, _ = row_counts.split(layout, complete.of_categories())
        return cls(
            network,
            np.zeros_like(counts) if alpha is None else alpha,
            counts,
            tuple(prior),
            tuple(Sums.of(own, complete) for own in network.regressions),
            tuple(incomplete_rows(network, others, chains)),
            chains,
        )

    def start(self, rng: np.random.Generator) -> Parameters:
        """Draw θ uniformly from its simplexes, and β and σ² from their prior, which is wider than the posterior."""
        draws = [part.draw(rng, self.chains) for part in self.prior]
        alpha = np.ones((self.chains, *self.counts.shape))
        return {"log_theta": self._log_theta(alpha, rng), **flat(self.network.regressions, draws)}

    def step(self, state: Parameters, rng: np.random.Generator) -> Parameters:
        """Draw the missing cells, then θ, β and σ² given all cells."""
        rows = [own.drawn(self.network, state["log_theta"], state, rng) for own in self.incomplete]
        counts = self.counts + self._counted(rows)
        if self.network.layout is not None:
            counts = self.network.layout.pooled(counts)
        draws = []
        for number, (own, part) in enumerate(zip(self.network.regressions, self.prior, strict=True)):
            names = ("m", "precision", "a", "b")
            tiled = {name: np.concatenate([getattr(part, name)] * self.chains) for name in names}
            beta, sigma2 = replace(part, **tiled).updated(self._sums(number, own, rows)).draw(rng, 1)
            shape = (self.chains, len(part.a), own.count)
            draws.append((beta.reshape(*shape, own.width), sigma2.reshape(shape)))
        return {"log_theta": self._log_theta(self.alpha + counts, rng), **flat(self.network.regressions, draws)}

    def parameters(self, states: Parameters) -> Parameters:
        """Return θ, β and σ², (draw, outcome, …), those that there are."""
        found = {name: values for name, values in states.items() if name != "log_theta"}
        return found if self.network.layout is None else {"theta": np.exp(states["log_theta"]), **found}

    def _log_theta(self, alpha: Array, rng: np.random.Generator) -> Array:
        """Draw log θ ~ Dirichlet(α), (chain, outcome, cell), those of all classes once."""
        layout = self.network.layout
        if layout is None:
            return alpha
        return layout.tied(dirichlet.log_draw(alpha, np.asarray(layout.simplexes), rng))

    def _counted(self, rows: list[Array]) -> Array:
        """Return the counts (chain, outcome, cell) of completed rows (chain, row, feature)."""
        shape = (self.chains, *self.counts.shape)
        out = np.zeros(shape)
        for own, X in zip(self.incomplete, rows, strict=True):
            if own.tables:
                cells = own.cells(self.network, X.reshape(-1, X.shape[2])).reshape(self.chains, -1)
                places = np.arange(self.chains)[:, None] * shape[2] + cells
                counts = np.bincount(places.ravel(), minlength=self.chains * shape[2])
                out[:, own.label] += counts.reshape(self.chains, -1)
        return out

    def _sums(self, number: int, own: Regression, rows: list[Array]) -> Sums:
        """Return the moments (chain × outcome, configuration, …) of all rows; those of all classes in the first."""
        complete = self.complete[number]
        parts = (complete.n, complete.mean, complete.scatter)
        fixed = Sums(*(np.concatenate([values] * self.chains) for values in parts))
        labels, cells, which = len(complete.n), [], []
        for part, X in zip(self.incomplete, rows, strict=True):
            if own in part.used:
                flat_rows = X.reshape(-1, X.shape[2])
                group = np.repeat(np.arange(self.chains), X.shape[1]) * labels + (0 if own.class_free else part.label)
                which.append(group * own.count + own.configuration(flat_rows))
                cells.append(flat_rows[:, [*own.on, own.of]])
        if not cells:
            return fixed
        values = np.concatenate(cells)
        moments = merge(np.concatenate(which), fixed.n.size, np.ones(len(values)), values, None)
        return fixed.added(Sums(*(v.reshape(*fixed.n.shape, *v.shape[1:]) for v in moments)))
