"""How far the evidence of a generative model is to be believed: a temperature and a bias of each class.

A model that takes dependent columns for independent counts the same evidence several times. No average over its
parameters mends that. So the class of row i is modeled once more, given L_ik = log p(x_i | k, all rows but i), what the
model says of the left-out row:

.. math:: P(y_i = k) ∝ π_k e^{b_k + T L_{ik}}, \\log T ∼ Normal(0, 1), b ∼ ZeroSumNormal(1).

T is 1 if the model is right, and near 1/2 if each column is in the table twice. K classes have K parameters. For a new
row, log p(x | k, D) takes the place of L.

Columns that are independent given the class can each have a weight of its own, T_j in place of T, with

.. math:: T_j = T e^{τ z_j}, z_j ∼ Normal(0, 1), τ ∼ HalfNormal(1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, helmert, solve_triangular
from scipy.special import log_softmax, softmax

from bayesclf.arrays import Array, DrawZ, Integers, Parameters
from bayesclf.display import Sized
from bayesclf.models.generative import GenerativeModel
from bayesclf.tables.columns import MISSING, Rows

if TYPE_CHECKING:
    import pymc as pm

LEAST_ROWS = 20
"""Rows below which T and b stay at their prior: they are to correct a fit, and so few rows say little of its errors."""

FARTHEST = 1e6
"""What a log density of −∞ is below the largest of its row, so that it can be multiplied by a probability of 0."""

LARGEST = 100.0
"""Largest logarithm of a column's weight, so that it can be multiplied by a log density of 0."""

START = np.linspace(-7.0, 2.0, 19)
"""Values of log T of which the best is where the search for the mode begins."""

STEPS, CONVERGED = 200, 1e-10
"""Most steps of the search, and the expected gain of a step at which it ends."""

BLOCK_NUMBERS = 2**18
"""Numbers (draw × row × outcome) that are in memory at once: of more, the system takes longer to provide the memory."""


@dataclass(frozen=True, eq=False, repr=False)
class LeftOut(Sized):
    """What training rows that were left out, one at a time, say of T and b.

    `log_density`: log p(x_i | k, all rows but i), (row, outcome), less the largest of each row; or that of each column
    with a weight of its own, (row, outcome, column). `y`: Label codes (row). `weight`: How often each row counts,
    (row). `log_prior`: log π: of the posterior mean given all rows, or of the known class prior, (outcome). `columns`:
    Names of columns with weights of their own; none where T is that of all.
    """

    log_density: Array
    y: Integers
    weight: Array
    log_prior: Array
    columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: GenerativeModel, rows: Rows, y: Integers, weight: Array, by_column: bool = False) -> Self | None:
        """Return what some training rows, of weight 1 or more, say; None where the model has no closed form for it.

        Rows that cannot be left out are not counted: those that are alone in their class, or impossible without
        themselves, or too large for digits to remain without them.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if by_column and not model.not_conjugate():
                L = densities(model, rows, lambda family, X: family.log_predictive_without(X, y))
            else:
                of_all = model.log_density_without(rows, y)
                if of_all is None:
                    return None
                L = of_all[..., None]
            L = L - L.max(axis=1, keepdims=True)
        log_prior = model.mean_log_class_prior()
        own = L[np.arange(len(y)), y].sum(axis=1) + log_prior[y]
        counted = np.isfinite(own) & ~np.isnan(L).any(axis=(1, 2)) & (model.label_counts[y] > 1)
        L = np.maximum(L[counted], -FARTHEST)
        columns = tuple(", ".join(names) for names, *_ in columns_of(model)) if by_column else ()
        return cls(L if by_column else L[..., 0], y[counted], weight[counted], log_prior, columns)

    @property
    def learned(self) -> bool:
        """Whether there are enough rows to learn T and b from."""
        return bool(self.weight.sum() >= LEAST_ROWS)

    @cached_property
    def _basis(self) -> Array:
        """Orthonormal directions of b, which adds up to 0, (direction, outcome)."""
        return np.asarray(helmert(len(self.log_prior)))

    @cached_property
    def _of_each(self) -> dict[int, tuple[Array, Array]]:
        """Return, of each class k, log densities in the others less that in k, (column, outcome · row), and weights."""
        found = {}
        for k in np.unique(self.y).tolist():
            L = self._by_column[self.y == k].T  # (column, outcome, row)
            others = np.delete(L, k, axis=1) - L[:, [k]]
            found[k] = others.reshape(len(L), -1), self.weight[self.y == k]
        return found

    @property
    def _by_column(self) -> Array:
        """Log densities, (row, outcome, column), in one column where T is that of all."""
        return self.log_density if self.log_density.ndim == 3 else self.log_density[..., None]

    def parameters(self, theta: Array) -> Parameters:
        """Return T (draw), b (draw, outcome) and, of columns, τ (draw) and T_j (draw, column), from coordinates."""
        places = len(self.log_prior)
        found = {"T": np.exp(theta[:, 0]), "b": theta[:, 1:places] @ self._basis}
        if not self.columns:
            return found
        tau, z = np.exp(theta[:, places]), theta[:, places + 1 :]
        return {**found, "tau": tau, "T_column": np.exp(np.minimum(theta[:, :1] + tau[:, None] * z, LARGEST))}

    @property
    def _size(self) -> int:
        """Number of coordinates: log T, those of b and, of columns, log τ and z."""
        return len(self.log_prior) + bool(self.columns) + len(self.columns)

    def log_posterior(self, theta: Array) -> Array:
        """Return the log density (draw), up to a constant, of coordinates, (draw, coordinate)."""
        total = -0.5 * (theta**2).sum(axis=1)
        if self.columns:  # τ has a half-normal prior, log τ its density times τ
            log_tau = theta[:, len(self.log_prior)]
            total += 0.5 * log_tau**2 + log_tau - 0.5 * np.exp(2 * log_tau)
        if not self.learned:
            return total
        own = self.parameters(theta)
        T, b = weights(own), self.log_prior + own["b"]
        step = max(1, BLOCK_NUMBERS // max(len(self.y) * len(self.log_prior), 1))
        for k, (L, weight) in self._of_each.items():
            bias = np.delete(b, k, axis=1) - b[:, [k]]
            for start in range(0, len(theta), step):
                some = slice(start, start + step)
                odds = (T[some] @ L).reshape(-1, bias.shape[1], len(weight))  # (draw, outcome, row)
                odds += bias[some, :, None]
                with np.errstate(over="ignore"):
                    np.exp(odds, out=odds)
                total[some] -= np.log(1 + odds.sum(axis=1)) @ weight
        return total

    def _step(self, theta: Array) -> tuple[Array, Array]:
        """Return gradient and expected curvature (Fisher's) of minus the log posterior at one point (coordinate)."""
        gradient, curvature, places = theta.copy(), np.eye(len(theta)), len(self.log_prior)
        own = self.parameters(theta[None])
        (T,) = weights(own)
        by = T[:, None]  # derivatives of the weights of columns by log T, log τ and z
        if self.columns:
            (tau,), z = own["tau"], theta[places + 1 :]
            gradient[places], curvature[places, places] = tau**2 - 1, 2 * tau**2
            by = np.column_stack([T, tau * T * z, np.diag(tau * T)])
        if not self.learned:
            return gradient, curvature
        L = self._by_column
        P = softmax(self.log_prior + own["b"] + L @ T, axis=1)
        weighted = self.weight[:, None] * P
        residual = weighted.copy()
        residual[np.arange(len(self.y)), self.y] -= self.weight
        of_T, of_b = np.r_[0, places : len(theta)], np.arange(1, places)
        gradient[of_T] += by.T @ np.tensordot(residual, L)
        gradient[of_b] += self._basis @ residual.sum(axis=0)
        root = L - P[:, None] @ L
        root *= np.sqrt(weighted)[..., None]
        cross = self._basis @ np.einsum("ik,ikj->kj", np.sqrt(weighted), root) @ by
        root = root.reshape(-1, len(T))
        curvature[np.ix_(of_T, of_T)] += by.T @ (root.T @ root) @ by
        curvature[np.ix_(of_b, of_T)] += cross
        curvature[np.ix_(of_T, of_b)] += cross.T
        inside = np.diag(weighted.sum(axis=0)) - P.T @ weighted
        curvature[np.ix_(of_b, of_b)] += self._basis @ inside @ self._basis.T
        return gradient, curvature

    @cached_property
    def mode(self) -> tuple[Array, Array]:
        """The mode of the coordinates, by scoring from the best of a grid of T, and the curvature there."""
        grid = np.zeros((len(START), self._size))
        grid[:, 0] = START
        values = self.log_posterior(grid)
        theta, value = grid[values.argmax()], values.max()
        for _ in range(STEPS):
            gradient, curvature = self._step(theta)
            step = -cho_solve(cho_factor(curvature), gradient)
            if -step @ gradient < CONVERGED:
                break
            of_T = np.delete(step, np.arange(1, len(self.log_prior)))
            tried = theta + step * 0.5 ** np.arange(30)[:, None] * min(1.0, 1.0 / max(*abs(of_T), 1e-300))
            found = next(((t, v) for t in tried if (v := self.log_posterior(t[None])[0]) > value), None)
            if found is None:
                break
            theta, value = found
        return theta, self._step(theta)[1]

    def propose(self, number: int, draw: DrawZ, rng: np.random.Generator) -> tuple[Parameters, Array, Array]:
        """Return proposals of T (draw) and b (draw, outcome), their log importance ratios (draw), and z.

        They are for `bayesclf.engines.laplace`; z are the coordinates of the curvature at the mode.
        """
        mode, curvature = self.mode
        z, log_t = draw(rng, number, len(mode))
        theta = mode + solve_triangular(np.linalg.cholesky(curvature).T, z.T).T
        return self.parameters(theta), self.log_posterior(theta) - log_t, z

    def page(self) -> pm.Model:
        """Return the model as `bayesclf.pymc_models.tempered` has it, of rows that count once."""
        from bayesclf import pymc_models

        return pymc_models.tempered(self.log_density, self.y, np.exp(self.log_prior), columns=self.columns)

    def log_proba(self, parameters: Parameters) -> Array:
        """Return log P(k) of each row under each T and b, (draw, row, outcome)."""
        return np.asarray(log_softmax(tempered(self.log_density, self.log_prior, parameters), axis=2))


def tempered(log_density: Array, log_prior: Array, parameters: Parameters) -> Array:
    """Return log π + b + T·L, (draw, row, outcome), of log densities L; draws are next to each other."""
    by_column = log_density if log_density.ndim == 3 else log_density[..., None]
    scores = by_column @ weights(parameters).T
    scores += (log_prior + parameters["b"]).T
    return np.moveaxis(scores, 2, 0)


def weights(parameters: Parameters) -> Array:
    """Return the weight of each column, (draw, column); in one column where T is that of all."""
    return parameters["T_column"] if "T_column" in parameters else parameters["T"][:, None]


def of_features(model: GenerativeModel, parameters: Parameters, features: Sequence[tuple[str, ...]]) -> Array:
    """Return the weight of each feature, (draw, feature), by the first of its columns."""
    T = weights(parameters)
    if T.shape[1] == 1:
        return np.broadcast_to(T, (len(T), len(features)))
    place = {name: j for j, (names, *_) in enumerate(columns_of(model)) for name in names}
    return T[:, [place[names[0]] for names in features]]


def columns_of(model: GenerativeModel) -> list[tuple[tuple[str, ...], int, slice]]:
    """Return the columns with each weight, their block, and their place there.

    Columns that depend on each other given the class, or share a parameter, have one weight.
    """
    found = []
    for number, block in enumerate(model.blocks):
        names, shared = block.family.axes.features, {(), ("outcome",)} & {*block.family.dims().values()}
        apart = block.family.kind in ("number", "category") and not block.family.pairs() and not shared
        places = [slice(j, j + 1) for j in range(len(names))] if apart else [slice(0, len(names))]
        found += [(names[place], number, place) for place in places]
    return found


def densities(model: GenerativeModel, rows: Rows, of: Callable[[Any, Any], Array]) -> Array:
    """Return what `of` returns, given a family and its cells, of each column by itself, (row, outcome, column)."""
    blocks, out = model.posterior().blocks, []
    for _, number, place in columns_of(model):
        family, X = blocks[number].family, rows.parts[number]
        own = np.zeros(len(family.axes.features), dtype=bool)
        own[place] = True
        out.append(of(family, X) if own.all() else of(family.select(own), X[:, own]))
    return np.stack(out, axis=-1)


def alone(model: GenerativeModel, rows: Rows) -> list[Rows]:
    """Return the rows with one column each, the cells of all others summed out."""
    found = []
    for _, number, place in columns_of(model):
        parts = [
            np.full_like(X, block.family.unobserved() if X.dtype.kind == "f" else MISSING)
            for block, X in zip(model.blocks, rows.parts, strict=True)
        ]
        parts[number][:, place] = rows.parts[number][:, place]
        found.append(Rows(tuple(parts), len(rows)))
    return found
