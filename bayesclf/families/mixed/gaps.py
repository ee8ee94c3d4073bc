"""Missing cells of a conditional Gaussian network: which ones matter, and draws of them with the parameters.

Data augmentation draws the missing cells of the training rows and the parameters in turn. Given the parameters and its
observed cells, the missing cells of a row are a finite mixture: of the combinations of its missing categories, each
with a normal distribution of its missing numbers. They are drawn together, and exactly. Rows of one class with the same
cells missing are treated together, for all chains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes
from bayesclf.families.cells import Booleans, by_pattern
from bayesclf.families.mixed.regressions import NormalInverseGamma, Regression, Sums, flat, root_of_inverse
from bayesclf.families.multivariate.groups import APART, GroupedMoments, are_categories, merge
from bayesclf.families.networks.tables import Layout
from bayesclf.tables.columns import UNSEEN

LARGEST_SUM = 2**12
"""Combinations of missing categories, on which numbers depend, above which summing over them is refused."""

LARGEST_COMPLETIONS = 2**24
"""Completions of all training rows above which they are refused: a step of each chain weighs all of them."""

WORK = 2**20
"""Numbers in an array of all completions of rows and chains; more rows are treated in blocks that fit."""


def given_numbers(
    regressions: tuple[Regression, ...], X: Array, hidden: tuple[int, ...], parameters: Parameters
) -> tuple[Array, Array, Array]:
    """Return the log density of the observed numbers, and the hidden ones given these as Normal(mean, FFᵀ).

    `regressions`: Parents first. `X`: Rows (row, feature) without missing categories. `hidden`: Positions of the
    missing numbers.

    Each regression has the residual r = x − β0 − βᵀx_on, the hidden x being at their conditional means. Let u be the
    hidden numbers' deviations from these, A_fh = ∂r_f/∂u_h, and D the diagonal of 1/σ². The density of the observed
    numbers is the integral of exp(−½(r + Au)ᵀD(r + Au)) over u: a regression of −r on A. Given these, u has the mean
    −(AᵀDA)⁻¹AᵀDr and the precision AᵀDA.

    Returns: Log density (draw, outcome, row), mean (draw, outcome, row, hidden) and F (…, hidden, other hidden).
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
        return total, np.empty((*total.shape, 0)), np.empty((*total.shape, 0, 0))
    D, r = np.stack(weights, axis=-1), np.stack(residuals, axis=-1)
    A = np.stack([np.stack(row, axis=-1) for row in slopes], axis=-2)  # (draw, outcome, row, regression, hidden)
    right = np.einsum("...fh,...f->...h", A, D * r)
    root = root_of_inverse(np.einsum("...fh,...f,...fi->...hi", A, D, A))
    whitened = np.einsum("...ih,...i->...h", root, right)
    log_det = 2 * np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
    total = total + 0.5 * ((whitened**2).sum(axis=-1) + log_det + len(hidden) * np.log(2 * np.pi))
    start = np.stack([np.broadcast_to(values[h], total.shape) for h in hidden], axis=-1)
    return total, start - np.einsum("...hi,...i->...h", root, whitened), root


@dataclass(frozen=True)
class Network:
    """The tables of the categories, none without any, and the regressions of the numbers."""

    axes: Axes
    layout: Layout
    regressions: tuple[Regression, ...]

    def needed(self, seen: Booleans) -> Booleans:
        """Return which features are observed, or something observed depends on, (feature)."""
        out = seen.copy()
        for own in reversed(self.regressions):
            if out[own.of]:
                out[list(own.parents)] = True
        category = are_categories(self.axes)
        out[category] = self.layout.needed(out[category])
        return out

    def couples(self, seen: Booleans) -> bool:
        """Return whether an observed cell depends on a missing one, of a row's observed cells (feature)."""
        return bool((self.needed(seen) & ~seen).any())

    def coupling(self, codes: Array | Integers, seen: Booleans) -> str:
        """Return the first column with missing cells on which observed ones depend, as a clause; empty without any.

        Of cells (row, feature), by their codes of categories, and which are observed.
        """
        for pattern, rows in by_pattern(~seen):
            for j in np.flatnonzero(self.needed(pattern) & ~pattern):
                unseen = are_categories(self.axes)[j] and (codes[rows, j] == UNSEEN).any()
                lacking = "levels that the prior lacks, which count as missing cells," if unseen else ""
                return f"column {self.axes.features[j]!r} has {lacking or 'missing cells'} that others depend on"
        return ""

    def split(self, statistics: GroupedMoments) -> tuple[GroupedMoments, GroupedMoments]:
        """Return the moments of the rows that couple no parameters, and those of the others."""
        gaps = np.zeros(len(statistics.groups), dtype=bool)
        for pattern, groups in by_pattern(~statistics.seen):
            gaps[groups] = self.couples(pattern)
        return statistics.where(~gaps), statistics.where(gaps)

    def cells(self, X: Array) -> Integers:
        """Return the cell of each table (row, table) of rows (row, feature); −1 where a category is missing."""
        return self.layout.cells_of(X[:, are_categories(self.axes)].astype(np.intp))


@dataclass(frozen=True)
class Incomplete:
    """Rows of one class with the same missing cells.

    `X`: Codes and numbers (row, feature); a missing category is negative. `gaps`, `values`: Positions of the missing
    categories to be drawn, and all their combinations, (completion, gap). `hidden`: Positions of the missing numbers to
    be drawn. `used`: The regressions that these rows tell of.
    """

    label: int
    X: Array
    gaps: tuple[int, ...]
    values: Integers
    hidden: tuple[int, ...]
    used: tuple[Regression, ...]

    def drawn(self, network: Network, state: Parameters, rng: np.random.Generator) -> Array:
        """Draw the missing cells; return the completed rows, (chain, row, feature)."""
        own = {name: values[:, [self.label]] for name, values in state.items()}
        weights, means, roots = [], [], []
        for values in self.values:
            filled = self.X.copy()
            filled[:, self.gaps] = values
            cells = network.cells(filled)
            weight = np.where(cells >= 0, own["log_theta"][:, 0, cells], 0.0).sum(axis=2)
            if self.used:
                log_density, mean, root = given_numbers(self.used, filled, self.hidden, own)
                weight = weight + log_density[:, 0]
                means.append(mean[:, 0])
                roots.append(root[:, 0])
            weights.append(weight)
        logs = np.stack(weights, axis=-1)
        chosen = np.zeros(logs.shape[:-1], dtype=np.intp)
        if len(self.values) > 1:
            chosen = dirichlet.chosen(np.exp(logs - logs.max(axis=-1, keepdims=True)), rng)
        out = np.repeat(self.X[None], len(chosen), axis=0)
        out[..., self.gaps] = self.values[chosen]
        if self.hidden:
            chains, rows = np.indices(chosen.shape)
            mean, root = (np.stack(parts)[chosen, chains, rows] for parts in (means, roots))
            noise = rng.standard_normal(mean.shape)
            out[..., self.hidden] = mean + np.einsum("...ij,...j->...i", root, noise)
        return out


def incomplete_rows(network: Network, statistics: GroupedMoments, chains: int) -> Iterator[Incomplete]:
    """Yield rows with missing cells that matter, in blocks; a row of weight w is w rows.

    Raises `Refused` for too many completions, and for rows that were merged with others.
    """
    axes, category = network.axes, are_categories(network.axes)
    cells = statistics.groups[:, 1:].astype(float)
    cells[:, ~category] = statistics.mean
    total = 0
    for pattern, groups in by_pattern(~statistics.seen):
        if (statistics.groups[groups, 1:][:, pattern & ~category] != APART).any():
            raise Refused("an earlier fit added up rows whose missing cells others depend on; fit all rows at once")
        wanted = network.needed(pattern)
        gaps, hidden = (tuple(np.flatnonzero(wanted & ~pattern & kind).tolist()) for kind in (category, ~category))
        sizes = [axes.sizes[j] for j in gaps]
        rows = np.repeat(groups, statistics.n[groups].astype(np.intp))
        total += prod(sizes) * len(rows)
        if prod(sizes) > LARGEST_SUM or total > LARGEST_COMPLETIONS:
            raise Refused(
                f"the missing cells of the training rows have {total:,} completions (limit {LARGEST_COMPLETIONS:,}, "
                f"{LARGEST_SUM:,} per row); fill in cells, or fit with missing='level' or fewer edges"
            )
        values = np.indices(sizes).reshape(len(sizes), -1).T if sizes else np.zeros((1, 0), dtype=np.intp)
        used = tuple(own for own in network.regressions if wanted[own.of])
        step = max(1, WORK // (chains * len(values) * max(1, len(hidden)) ** 2))
        for label in np.unique(statistics.labels[rows]).tolist():
            own_rows = rows[statistics.labels[rows] == label]
            for start in range(0, len(own_rows), step):
                yield Incomplete(label, cells[own_rows[start : start + step]], gaps, values, hidden, used)


@dataclass(frozen=True)
class CompletedRows:
    """Alternation between the missing cells given θ, β and σ², and these given complete rows.

    The state is log θ, β and σ², (chain, outcome, …). Given complete rows they have the posteriors of tables and of
    regressions.

    `alpha`, `given`: The posterior of the tables (outcome, cell) and of each number's regressions, given the rows
    without missing cells that matter. `prior`: Of each number's regressions, from which the chains start.
    """

    network: Network
    alpha: Array
    given: tuple[NormalInverseGamma, ...]
    prior: tuple[NormalInverseGamma, ...]
    incomplete: tuple[Incomplete, ...]
    chains: int

    def start(self, rng: np.random.Generator) -> Parameters:
        """Draw θ uniformly from its simplexes, and β and σ² from their prior, which is wider than the posterior."""
        draws = [part.draw(rng, self.chains) for part in self.prior]
        return self._state(np.ones((self.chains, *self.alpha.shape)), draws, rng)

    def step(self, state: Parameters, rng: np.random.Generator) -> Parameters:
        """Draw the missing cells, then θ, β and σ² given all cells."""
        rows = [own.drawn(self.network, state, rng) for own in self.incomplete]
        draws = []
        for own, part in zip(self.network.regressions, self.given, strict=True):
            beta, sigma2 = part.updated(self._sums(own, rows)).draw(rng, 1)
            draws.append((beta[0], sigma2[0]))
        return self._state(self.alpha + self.network.layout.pooled(self._counts(rows)), draws, rng)

    def parameters(self, states: Parameters) -> Parameters:
        """Return θ, β and σ², (draw, outcome, …), those that there are."""
        log_theta, found = states["log_theta"], {name: v for name, v in states.items() if name != "log_theta"}
        return {"theta": np.exp(log_theta), **found} if log_theta.size else found

    def _state(self, alpha: Array, draws: list[tuple[Array, Array]], rng: np.random.Generator) -> Parameters:
        """Draw log θ ~ Dirichlet(α), (chain, outcome, cell); return it with β and σ² on their flat axes."""
        layout, log_theta = self.network.layout, alpha
        if alpha.size:
            log_theta = layout.tied(dirichlet.log_draw(alpha, np.asarray(layout.simplexes), rng))
        return {"log_theta": log_theta, **flat(self.network.regressions, draws)}

    def _counts(self, rows: list[Array]) -> Array:
        """Return the counts (chain, outcome, cell) of completed rows (chain, row, feature)."""
        out = np.zeros((self.chains, *self.alpha.shape))
        for own, X in zip(self.incomplete, rows, strict=True):
            cells = self.network.cells(X.reshape(-1, X.shape[2])).reshape(self.chains, -1)
            places = np.arange(self.chains)[:, None] * out.shape[2] + cells
            counts = np.bincount(places[cells >= 0], minlength=self.chains * out.shape[2])
            out[:, own.label] += counts.reshape(self.chains, -1)
        return out

    def _sums(self, own: Regression, rows: list[Array]) -> Sums:
        """Return the moments (chain, outcome, configuration, …) of completed rows, in the first class if class-free."""
        shape = (self.chains, len(self.network.axes.labels), own.count)
        cells, which = [np.empty((0, own.width))], [np.empty(0, dtype=np.intp)]
        for part, X in zip(self.incomplete, rows, strict=True):
            if own in part.used:
                every = X.reshape(-1, X.shape[2])
                group = np.repeat(np.arange(shape[0]), X.shape[1]) * shape[1] + (0 if own.class_free else part.label)
                which.append(group * own.count + own.configuration(every))
                cells.append(every[:, [*own.on, own.of]])
        values = np.concatenate(cells)
        moments = merge(np.concatenate(which), prod(shape), np.ones(len(values)), values, None)
        return Sums(*(v.reshape(*shape, *v.shape[1:]) for v in moments))
