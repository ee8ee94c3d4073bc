"""Data augmentation of conditional Gaussian networks: parameters, and the missing cells of the training rows.

Given the parameters and its observed cells, the missing cells of a row are a finite mixture: of the combinations of its
missing categories, each with a normal distribution of its missing numbers. They are drawn together, and exactly. Rows
of one class with the same cells missing are treated together, for all chains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Self

import numpy as np

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.cells import by_pattern
from bayesclf.families.mixed import marginals
from bayesclf.families.mixed.marginals import Network
from bayesclf.families.mixed.regressions import NormalInverseGamma, Regression, Sums, flat
from bayesclf.families.multivariate.groups import APART, GroupedMoments, are_categories, merge
from bayesclf.families.networks import row_counts

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
                given = marginals.given_numbers(self.used, filled, self.hidden, own)
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
        wanted = marginals.needed(pattern, network.layout, network.regressions, axes)
        gaps, hidden = (tuple(np.flatnonzero(wanted & ~pattern & kind).tolist()) for kind in (category, ~category))
        sizes = [axes.sizes[j] for j in gaps]
        rows = np.repeat(groups, statistics.n[groups].astype(np.intp))
        total += prod(sizes) * len(rows)
        if prod(sizes) > marginals.LARGEST_SUM or total > LARGEST_COMPLETIONS:
            raise Refused(
                f"the missing cells of the training rows have {total:,} completions (limit {LARGEST_COMPLETIONS:,}, "
                f"and {marginals.LARGEST_SUM:,} of a row); fill some in, fit with missing='level' or with fewer edges"
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
            counts, _ = row_counts.split(layout, replace(complete.row_counts(), axes=layout.axes))
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
