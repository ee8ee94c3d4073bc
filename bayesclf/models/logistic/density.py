"""The log posterior of logistic regression in coordinates in which it is nearly standard normal, as machine code.

That suits NUTS and slices. Numba compiles both when they are first needed, and keeps the code on disk. It takes no
Python object and no lock, so that chains run in parallel. Rows come in blocks, in which the cells of a column are
neighbors in memory: loops over them become vector instructions, and a block stays in the cache between its two
products.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, cast

import numba as nb
import numpy as np
from numba import types
from numpy.typing import NDArray

from bayesclf.arrays import Array, Parameters
from bayesclf.models.logistic.likelihood import Likelihood
from bayesclf.models.logistic.nodes import STEPS, Lattice

COMPILER: dict[str, Any] = {"error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
"""Sums may be taken in any order, without which they are not vectorized; infinity and NaN keep their meaning."""
ROWS, POINTS = 64, 128
"""Rows of a block, and points at which the likelihood of a row is averaged by `averages`."""
SMALLEST_EXPONENT = -64.0
"""Probability ratios below e to this power are replaced by it: a difference far below rounding."""
SQUARINGS, DEGREE = 7, 9
LEAST_COEFFICIENT = 1 / math.factorial(DEGREE)
LOG_2, ROOT_2 = math.log(2), math.sqrt(2)
MOVES = 4
"""Moves of z for each proposal of (log s, logit ρ), which takes longer."""
SMALLEST_ANGLE = 1e-9
"""Width of a slice in which rounding has left no point that is high enough: the chain stays where it is."""


class Data(NamedTuple):
    """What the machine code reads.

    `sizes`: Numbers of contrasts, columns, blocks, nodes along log s and along logit ρ, and whether s and ρ are
    learned. `place`: First node (2), step (2), center (2), unit (2), log median, spread, and a ρ that is fixed.
    `values`, `learned`, `sd`, `mean`, `contrast`: As of `WeightPrior`, with the intercept's first. `nodes`: As of
    `Lattice.affine`. `X`, `y`, `weight`: As of `row_blocks`.
    """

    sizes: Array
    place: Array
    values: Array
    learned: Array
    sd: Array
    mean: Array
    contrast: Array
    nodes: Array
    X: Array
    y: Array
    weight: Array


def row_blocks(likelihood: Likelihood) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return rows as (block, column, row), codes and weights (block, row), filled up with rows of weight 0."""
    X = likelihood.X
    if not isinstance(X, np.ndarray):
        X = np.asarray(X.toarray() - likelihood.shift)
    blocks = -(-len(X) // ROWS)
    filled = (0, blocks * ROWS - len(X))
    cells = np.pad(X, (filled, (0, 0))).reshape(blocks, ROWS, X.shape[1]).transpose(0, 2, 1)
    y, weight = (np.pad(own, filled).reshape(blocks, ROWS) for own in (likelihood.y, likelihood.weight))
    return cells, y, weight


@dataclass(frozen=True, eq=False)
class LogisticDensity:
    """log p(log s, logit ρ, γ, D), up to a constant, and its gradient, of x = (log s, logit ρ, z); by machine code.

    See `Lattice.moved` for γ; the first two coordinates are in posterior sds from their posterior means. Where no scale
    is learned, x is z.

    `likelihood`: Of the rows, its first column the intercept's. `of_coordinates`: From γ, (log s, logit ρ) and a random
    generator to the parameters (draw, …).

    Examples
    --------
    >>> import bayesclf as bc
    >>> clf = bc.LogisticRegression(prior_scale=1.0, inference="map").fit([[1.0], [1.9], [2.1], [3.0]], [0, 1, 0, 1])
    >>> value, gradient = clf.model_.density()(np.zeros(2))
    >>> bool(np.abs(gradient).max() < 1e-8)  # z = 0 is the mode
    True
    """

    likelihood: Likelihood
    lattice: Lattice
    of_coordinates: Callable[[Array, Array, np.random.Generator], Parameters]

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the log density up to a constant, NaN or infinite where it overflows, and its gradient."""
        at = np.ascontiguousarray(x, dtype=np.float64)
        value, gradient = np.empty(1), np.empty(self.size)
        function = self.function.ctypes
        arguments = zip((at, gradient, value, self.addresses), function.argtypes[1:], strict=True)
        function(self.size, *(ctypes.cast(array.ctypes.data, kind) for array, kind in arguments))
        return float(value[0]), gradient

    @property
    def scaled(self) -> bool:
        """Whether a scale is learned, so that (log s, logit ρ) are coordinates."""
        return self.lattice.prior.settings is not None

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 2 * self.scaled + int(self.lattice.modes.shape[-1])

    @property
    def function(self) -> Any:
        """The machine code, with its ``address``."""
        return compiled()

    @cached_property
    def addresses(self) -> NDArray[np.uintp]:
        """Addresses of the arrays that the machine code reads; this object keeps them alive."""
        return np.array([array.ctypes.data for array in self._data], dtype=np.uintp)

    @cached_property
    def _data(self) -> Data:
        """The arrays that the machine code reads."""
        lattice, prior, settings = self.lattice, self.lattice.prior, self.lattice.prior.settings
        rows, others = lattice.modes.shape[:2]
        sizes = [len(prior.mean), 1 + prior.seen, -(-len(self.likelihood.y) // ROWS), rows, others]
        of_scale = [settings.log_median, settings.spread] if settings else [0.0, 1.0]
        center, unit = self._moments
        place = [*lattice.first, *STEPS, *center, *unit, *of_scale, prior.correlation or 0.0]
        values, learned = (np.append(0.0, own[: prior.seen]) for own in (prior.values, prior.learned))
        data = (
            *([*sizes, self.scaled, prior.correlation is None], place, values, learned),
            *(prior.sd[: 1 + prior.seen], prior.mean[:, : 1 + prior.seen], prior.contrast),
            *(lattice.affine, *row_blocks(self.likelihood)),
        )
        return Data(*(np.ascontiguousarray(array, dtype=np.float64) for array in data))

    def proposed(self, rng: np.random.Generator) -> Array:
        """Return a state for `slices` to start from: log q of its scales, and coordinates (1 + coordinate)."""
        scales, log_q = self._proposed_scales(rng, 1)
        return np.concatenate([log_q, scales[0], rng.standard_normal(self.size - scales.shape[1])])

    def slices(self, state: Array, draws: Array, thin: int, rng: np.random.Generator) -> None:
        """Write every `thin`-th state of a Markov chain into `draws` (draw, 2 + coordinate).

        The first two are the log density, and how often it was evaluated for the draw.

        `state`: As of `proposed`; afterward, where the chain is.
        """
        steps = thin * len(draws)
        scales, log_q = self._proposed_scales(rng, steps)
        noise = rng.standard_normal((MOVES * steps, self.size - scales.shape[1]))
        compiled_slices()(state, scales, log_q, noise, thin, rng, draws, self._data)

    def _proposed_scales(self, rng: np.random.Generator, steps: int) -> tuple[Array, Array]:
        """Return coordinates of (log s, logit ρ) from an approximation of their posterior, if any, and log q (step)."""
        if not self.scaled:
            return np.empty((steps, 0)), np.zeros(steps)
        at, log_q = self.lattice.density.draw(rng, steps)
        center, unit = self._moments
        return np.ascontiguousarray((at - center) / unit), log_q

    @property
    def _moments(self) -> tuple[Array, Array]:
        """Means and sds of (log s, logit ρ), or 0 and 1 where these are no coordinates."""
        return self.lattice.density.moments if self.scaled else (np.zeros(2), np.ones(2))

    def parameters(self, x: Array, rng: np.random.Generator, /) -> Parameters:
        """Return the parameters (…) of x (…, coordinate); those that the rows do not tell of are drawn."""
        center, unit = self._moments
        flat = x.reshape(-1, x.shape[-1])
        at = center + unit * flat[:, :2] if self.scaled else np.zeros((len(flat), 2))
        gamma, _ = self.lattice.moved(at, flat[:, 2 * self.scaled :])
        found = self.of_coordinates(gamma, at, rng)
        return {name: values.reshape(*x.shape[:-1], *values.shape[1:]) for name, values in found.items()}


def inlined[F: Callable[..., Any]](function: F) -> F:
    """Inline a function in machine code: a call might be rounded differently when the code is loaded from disk."""
    return cast(F, nb.njit(forceinline=True, **COMPILER)(function))


@cache
def compiled() -> Any:
    """Return `log_density` as Numba's ``CFunc``, kept on disk."""
    at = types.CPointer(types.double)
    signature = types.int32(types.uintp, at, at, at, types.CPointer(at))
    return nb.cfunc(signature, cache=True, **COMPILER)(log_density)


def log_density(size: Any, x: Any, gradient: Any, value: Any, data: Any) -> int:
    """Write `joint` and its gradient at x: what nutpie calls.

    `size`: Number of entries of x and of the gradient. `x`, `gradient`, `value`: Pointers to x, and to where gradient
    and value are written. `data`: Pointers to the arrays of a `LogisticDensity`, in its order.

    Returns: 0; 1 where the value is not finite.
    """
    sizes = nb.carray(data[0], 7)
    vectors, columns, blocks = types.intp(sizes[0]), types.intp(sizes[1]), types.intp(sizes[2])
    rows, others, count = types.intp(sizes[3]), types.intp(sizes[4]), types.intp(size - 2 * sizes[5])
    arrays = Data(
        sizes,
        nb.carray(data[1], 11),
        nb.carray(data[2], columns),
        nb.carray(data[3], columns),
        nb.carray(data[4], columns),
        nb.carray(data[5], (vectors, columns)),
        nb.carray(data[6], (vectors, vectors)),
        nb.carray(data[7], (rows, others, count, 1 + count)),
        nb.carray(data[8], (blocks, columns, ROWS)),
        nb.carray(data[9], (blocks, ROWS)),
        nb.carray(data[10], (blocks, ROWS)),
    )
    value[0] = joint(nb.carray(x, size), nb.carray(gradient, size), arrays)
    return 0 if math.isfinite(value[0]) else 1


@cache
def compiled_slices() -> Any:
    """Return `slices` in machine code, kept on disk."""
    numbers = types.float64[::1]
    table, cube, quartic = types.float64[:, ::1], types.float64[:, :, ::1], types.float64[:, :, :, ::1]
    kinds = (*[numbers] * 5, table, table, quartic, cube, table, table)
    signature = types.int64(
        numbers, table, numbers, table, types.int64, types.npy_rng, table, types.NamedTuple(kinds, Data)
    )
    return nb.njit(signature, cache=True, nogil=True, **COMPILER)(slices)


def slices(
    state: Array, scales: Array, log_q: Array, noise: Array, thin: int, rng: Any, draws: Array, data: Data
) -> int:
    """Run a Markov chain, and write every `thin`-th state into `draws`, as `LogisticDensity.slices` does.

    A step takes (log s, logit ρ) from an approximation q of their posterior, at the same z, by Metropolis and Hastings.
    Then z moves on ellipses through z and noise, by slice sampling. Both go far, as the posterior of z is nearly
    standard normal whatever the scales are. On an ellipse log-odds are sums of three that do not change: those of the
    mode, of z and of noise. At each step they are made anew, so that no rounding adds up.

    `state`: log q and coordinates, (1 + coordinate). `scales`: Proposals (step, 2), or (step, 0) where no scale is
    learned. `log_q`: Of these, (step). `noise`: Standard normal, some for each step, (move, entry of z).

    See Murray, Adams and MacKay (2010), *Elliptical slice sampling*, AISTATS. Fagan, Bhandari and Cunningham (2016),
    *Elliptical slice sampling with expectation propagation*, UAI.
    """
    steps, first = scales.shape
    (vectors, columns), count, moves = data.mean.shape, noise.shape[1], len(noise) // steps
    mixed, times = np.zeros((2, count, 1 + count)), np.zeros((2, columns))  # of where the chain is, and of a proposal
    deviations, scores = np.zeros((2, 3, vectors, columns)), np.zeros((2, len(data.X), 3 * vectors, ROWS))
    at, z, here, evaluations = state[1 : 1 + first], state[1 + first :], 0, 1
    fixed = rooted(at, mixed[here], times[here], data)
    for part in range(2):
        along(part, z, mixed[here], times[here], deviations[here], scores[here], data)
    value = fixed + on_ellipse(0.0, deviations[here], scores[here], data)
    for step in range(steps):
        moved = False
        if first:
            there = 1 - here
            fixed_there = rooted(scales[step], mixed[there], times[there], data)
            for part in range(2):
                along(part, z, mixed[there], times[there], deviations[there], scores[there], data)
            found = fixed_there + on_ellipse(0.0, deviations[there], scores[there], data)
            evaluations += 1
            moved = math.log(rng.random()) < (found - log_q[step]) - (value - state[0])
            if moved:
                here, fixed, value, state[0] = there, fixed_there, found, log_q[step]
                at[:] = scales[step]
        if not moved:
            along(1, z, mixed[here], times[here], deviations[here], scores[here], data)
        for move in range(step * moves, (step + 1) * moves):
            along(2, noise[move], mixed[here], times[here], deviations[here], scores[here], data)
            level = value + 0.5 * np.sum(z**2) + math.log(rng.random())
            angle = 2 * math.pi * rng.random()
            low, high = angle - 2 * math.pi, angle
            while high - low > SMALLEST_ANGLE:
                found = fixed + on_ellipse(angle, deviations[here], scores[here], data)
                evaluations += 1
                cos, sin = math.cos(angle), math.sin(angle)
                if found + 0.5 * np.sum((cos * z + sin * noise[move]) ** 2) > level:
                    z[:] = cos * z + sin * noise[move]
                    deviations[here, 1] = cos * deviations[here, 1] + sin * deviations[here, 2]
                    ahead, second = scores[here, :, vectors : 2 * vectors], scores[here, :, 2 * vectors :]
                    ahead[:] = cos * ahead + sin * second
                    value = found
                    break
                if angle < 0:
                    low = angle
                else:
                    high = angle
                angle = low + (high - low) * rng.random()
        if (1 + step) % thin == 0:
            draws[step // thin, 0], draws[step // thin, 1] = value, evaluations
            draws[step // thin, 2:] = state[1:]
            evaluations = 0
    return 0


@cache
def compiled_averages() -> Any:
    """Return `averages` in machine code, kept on disk."""
    numbers, table, cube = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
    signature = types.int64(table, cube, types.int64[::1], numbers, table, table, numbers, table)
    return nb.njit(signature, cache=True, nogil=True, **COMPILER)(averages)


def averages(
    mean: Array, root: Array, y: Array, weight: Array, contrast: Array, points: Array, log_weight: Array, out: Array
) -> int:
    """Write what the likelihood of each row makes of points that stand for a standard normal.

    `mean`, `root`: The scores of a row are M (mean + root v), (row, contrast) and (row, contrast, contrast).
    `contrast`: M (vector, contrast). `points`: Of v, (contrast, point). `out`: Log mass, means and products of v, (row,
    entry).
    """
    vectors, size = contrast.shape
    scores, work, label, times = np.empty((vectors, POINTS)), np.empty((3, POINTS)), np.empty(POINTS), np.empty(POINTS)
    for row in range(len(mean)):
        label[:], times[:] = y[row], weight[row]
        for k in range(vectors):
            scores[k] = _dot(contrast[k], mean[row], size)
            for c in range(size):
                slope = 0.0
                for m in range(size):
                    slope += contrast[k, m] * root[row, m, c]
                _add(slope, points[c], POINTS, scores[k])
        _log_probability(scores, label, times, work)
        share, top, total = work[1], -np.inf, 0.0
        for i in range(POINTS):
            share[i] += log_weight[i]
            top = max(top, share[i])
        for i in range(POINTS):
            share[i] = _exp(share[i] - top)
            total += share[i]
        out[row, 0] = math.log(total) + top
        for a in range(size):
            for i in range(POINTS):
                times[i] = share[i] * points[a, i] / total
            out[row, 1 + a] = _dot(share, points[a], POINTS) / total
            for b in range(size):
                out[row, 1 + size + a * size + b] = _dot(times, points[b], POINTS)
    return 0


@inlined
def rooted(at: Array, mixed: Array, times: Array, data: Data) -> float:
    """Write modes with roots, and D, of (log s, logit ρ); return the part of the log density that z does not change."""
    total, _, times[:], _, shares, corners = _of_scales(at, data)
    for p in range(len(mixed)):
        _mix(shares[0], corners, data.nodes, p, mixed[p])
        if len(at):
            total += math.log(mixed[p, 1 + p])
    return total


@inlined
def along(part: int, z: Array, mixed: Array, times: Array, deviations: Array, scores: Array, data: Data) -> None:
    """Write what the mode (part 0) or z (parts 1 and 2) adds to γ and to log-odds.

    `mixed`, `times`: As of `rooted`. `deviations`: From the prior's mean, in sds, (part, contrast, column). `scores`:
    Log-odds, (block, part · vector, row).
    """
    vectors, columns = data.mean.shape
    gamma, theta = np.empty((vectors, columns)), np.empty((vectors, columns))
    for p in range(len(mixed)):
        k, c = divmod(p, columns)
        gamma[k, c] = times[c] * _dot(mixed[p, 1:], z, p + 1) if part else mixed[p, 0]
        center = 0.0 if part else data.mean[k, c]
        deviations[part, k, c] = (gamma[k, c] - center) / (data.sd[c] * times[c])
    _times(data.contrast, gamma, theta)
    for block in range(len(data.X)):
        np.dot(theta, data.X[block], scores[block, part * vectors : (part + 1) * vectors])


@inlined
def on_ellipse(angle: float, deviations: Array, scores: Array, data: Data) -> float:
    """Return the part of the log density that changes on an ellipse, from what `ellipse` has written."""
    vectors, columns = data.mean.shape
    cos, sin, total = math.cos(angle), math.sin(angle), 0.0
    own, work = np.empty((vectors, ROWS)), np.empty((3, ROWS))
    for k in range(vectors):
        for c in range(columns):
            total -= 0.5 * (deviations[0, k, c] + cos * deviations[1, k, c] + sin * deviations[2, k, c]) ** 2
    for block in range(len(scores)):
        for k in range(vectors):
            center, first, second = scores[block, k], scores[block, vectors + k], scores[block, 2 * vectors + k]
            for i in range(ROWS):
                own[k, i] = center[i] + cos * first[i] + sin * second[i]
        _log_probability(own, data.y[block], data.weight[block], work)
        for i in range(ROWS):
            total += work[1, i]
    return total


@inlined
def joint(at: Array, slope_at: Array, data: Data) -> float:
    """Return log p(log s, logit ρ, γ, D), up to a constant, at x = (log s, logit ρ, z), and write its gradient.

    The first two are in units of their posterior, and γ = m + D R z. D = s √(1 − ρ + ρ e) are the prior's scales. The
    modes m and the roots R are interpolated between the nodes of a `Lattice`. Where no scale is learned, x is z, and
    one node has m and R.
    """
    (vectors, columns), count = data.mean.shape, data.nodes.shape[2]
    first = len(at) - count
    z, slope_z = at[first:], slope_at[first:]
    total, of_scales, times, turn, shares, corners = _of_scales(at[:first], data)

    # γ, and its slopes along log s and logit ρ at the same z; log |D| is that of the prior's sds
    gamma, along = np.empty((vectors, columns)), np.zeros((2, count))
    mixed, sloped = np.empty((count, 1 + count)), np.empty(1 + count)
    for p in range(count):
        k, c = divmod(p, columns)
        _mix(shares[0], corners, data.nodes, p, mixed[p])
        spread = _dot(mixed[p, 1:], z, p + 1)
        gamma[k, c] = mixed[p, 0] + times[c] * spread
        if first:
            total += math.log(mixed[p, 1 + p])
            for a in range(2):
                _mix(shares[1 + a], corners, data.nodes, p, sloped)
                along[a, p] = sloped[0] + times[c] * (_dot(sloped[1:], z, p + 1) + turn[a, c] * spread)
                of_scales[a] += sloped[1 + p] / mixed[p, 1 + p]

    # the prior
    slope = np.empty((vectors, columns))
    for k in range(vectors):
        for c in range(columns):
            sd = data.sd[c] * times[c]
            deviation = (gamma[k, c] - data.mean[k, c]) / sd
            total -= 0.5 * deviation**2
            for a in range(2):
                of_scales[a] += deviation**2 * turn[a, c]
            slope[k, c] = -deviation / sd

    # the rows
    theta, of_theta, of_rows = np.empty((vectors, columns)), np.zeros((vectors, columns)), np.empty((vectors, columns))
    _times(data.contrast, gamma, theta)
    total += log_likelihood(theta, data, of_theta)
    _times(data.contrast.T, of_theta, of_rows)
    slope += of_rows

    slope_at[:] = 0.0
    for p in range(count):
        k, c = divmod(p, columns)
        _add(times[c] * slope[k, c], mixed[p, 1:], p + 1, slope_z)
        for a in range(2):
            of_scales[a] += slope[k, c] * along[a, p]
    for a in range(first):
        slope_at[a] = of_scales[a] * data.place[6 + a]
    return total


@inlined
def _of_scales(at: Array, data: Data) -> tuple[float, Array, Array, Array, Array, NDArray[np.intp]]:
    """Return log p(log s, logit ρ), and what depends on these alone.

    Returns: The log density. Its slopes along log s and logit ρ, (2). D (column). The slopes of its log, (2, column).
    The shares of the four nodes around, and their slopes, (3, 4). Where these nodes are, (4, 2).
    """
    place, columns, (rows, others) = data.place, len(data.values), data.nodes.shape[:2]
    scaled, learns = data.sizes[5] > 0, data.sizes[6] > 0
    log_scale = place[4] + place[6] * at[0] if scaled else place[0]
    logit = place[5] + place[7] * at[1] if scaled else place[1]
    rho = 1 / (1 + math.exp(-logit)) if learns else place[10]
    rest = 1 / (1 + math.exp(logit)) if learns else 1 - place[10]
    shares, corners = np.empty((3, 4)), np.empty((4, 2), np.intp)
    i, a, da = _between(log_scale, place[0], place[2], rows)
    j, b, db = _between(logit, place[1], place[3], others)
    for corner in range(4):
        up, right = corner // 2, corner % 2
        p, dp = (a, da) if up else (1 - a, -da)
        q, dq = (b, db) if right else (1 - b, -db)
        shares[0, corner], shares[1, corner], shares[2, corner] = p * q, dp * q, p * dq
        corners[corner, 0], corners[corner, 1] = min(i + up, rows - 1), min(j + right, others - 1)
    times, turn = np.ones(columns), np.zeros((2, columns))
    for c in range(columns):
        if data.learned[c] > 0:
            variance = rest + rho * data.values[c]
            times[c], turn[0, c] = math.exp(log_scale) * math.sqrt(variance), 1.0
            turn[1, c] = 0.5 * (data.values[c] - 1) * rho * rest / variance if learns else 0.0
    total, slope = 0.0, np.zeros(2)
    if scaled:
        deviation = (log_scale - place[8]) / place[9]
        total, slope[0] = -0.5 * deviation**2, -deviation / place[9]
    if learns:
        total, slope[1] = total + math.log(rho) + math.log(rest), rest - rho
    elif scaled:
        total, slope[1] = total - 0.5 * at[1] ** 2, -at[1] / place[7]  # a coordinate without meaning
    return total, slope, times, turn, shares, corners


@inlined
def _between(at: float, first: float, step: float, nodes: int) -> tuple[int, float, float]:
    """Return the node below, the share of the next one, and its slope; beyond the ends, those of the end."""
    place = (at - first) / step
    if place <= 0 or nodes == 1:
        return 0, 0.0, 0.0
    if place >= nodes - 1:
        return nodes - 2, 1.0, 0.0
    below = int(place)
    return below, place - below, 1 / step


@inlined
def _mix(shares: Array, corners: NDArray[np.intp], nodes: Array, p: int, out: Array) -> None:
    """Write the mode and the row of the root of a coordinate, a sum over four nodes."""
    for q in range(p + 2):
        out[q] = 0.0
    for corner in range(4):
        if shares[corner] != 0:
            _add(shares[corner], nodes[corners[corner, 0], corners[corner, 1], p], p + 2, out)


@inlined
def _times(matrix: Array, a: Array, out: Array) -> None:
    """Write the product of a small matrix and a."""
    for k in range(len(matrix)):
        for c in range(a.shape[1]):
            out[k, c] = 0.0
        for m in range(len(a)):
            _add(matrix[k, m], a[m], a.shape[1], out[k])


@inlined
def _dot(a: Array, b: Array, length: int) -> float:
    total = 0.0
    for i in range(length):
        total += a[i] * b[i]
    return total


@inlined
def _add(times: float, a: Array, length: int, to: Array) -> None:
    for i in range(length):
        to[i] += times * a[i]


@inlined
def log_likelihood(theta: Array, data: Data, slope: Array) -> float:
    """Return Σ w log P(y | x, θ), and add its gradient to `slope`."""
    vectors, columns = theta.shape
    scores, product = np.empty((vectors, ROWS)), np.empty((vectors, columns))
    work = np.empty((3, ROWS))
    total = 0.0
    for block in range(len(data.X)):
        np.dot(theta, data.X[block], scores)
        y, weight = data.y[block], data.weight[block]
        _log_probability(scores, y, weight, work)
        for i in range(ROWS):
            total += work[1, i]
        for k in range(vectors):
            for i in range(ROWS):
                scores[k, i] = weight[i] * ((1.0 if y[i] == k else 0.0) - scores[k, i] / work[2, i])
        np.dot(scores, data.X[block].T, product)
        for k in range(vectors):
            _add(1.0, product[k], columns, slope[k])
    return total


@inlined
def _log_probability(scores: Array, y: Array, weight: Array, work: Array) -> None:
    """Write w log P(y | x, θ) of log-odds (label, row) into `work[1]`; they become the shares of `work[2]` in P."""
    top, own, normalizer = work[0], work[1], work[2]
    rows = len(top)
    for i in range(rows):
        top[i] = own[i] = 0.0
    for k in range(len(scores)):
        for i in range(rows):
            top[i] = max(top[i], scores[k, i])
            own[i] = scores[k, i] if y[i] == k else own[i]
    for i in range(rows):
        own[i] -= top[i]
    if len(scores) == 1:  # one of the two exponentials is 1
        for i in range(rows):
            small = _exp(-abs(scores[0, i]))
            scores[0, i], normalizer[i] = 1.0 if top[i] > 0 else small, 1 + small
    else:
        for i in range(rows):
            normalizer[i] = _exp(-top[i])
        for k in range(len(scores)):
            for i in range(rows):
                scores[k, i] = _exp(scores[k, i] - top[i])
                normalizer[i] += scores[k, i]
    # sums of up to 1 + labels exponentials, the largest of them 1, are brought to between 1 and 2
    for i in range(rows):
        top[i] = normalizer[i]
    most = 1.0 + len(scores)
    while most > 2:
        for i in range(rows):
            own[i] -= LOG_2 if top[i] > 2 else 0.0
            top[i] *= 0.5 if top[i] > 2 else 1.0
        most /= 2
    for i in range(rows):
        own[i] = weight[i] * (own[i] - _log(top[i]))


@inlined
def _exp(x: float) -> float:
    """Return e^x for x ≤ 0, to 13 decimals: a Taylor polynomial of x/2^7, squared 7 times.

    The C library's function takes one number at a time; this polynomial is vectorized, and so is that of `_log`.
    """
    x = max(x, SMALLEST_EXPONENT) / 2**SQUARINGS
    power, coefficient = 0.0, LEAST_COEFFICIENT
    for n in range(DEGREE, -1, -1):
        power = power * x + coefficient
        coefficient *= n
    for _ in range(SQUARINGS):
        power *= power
    return power


@inlined
def _log(x: float) -> float:
    """Return log x for 1 ≤ x ≤ 2, to 15 decimals: ½ log 2 + 2 artanh t, with |t| ≤ .172, by its series."""
    t = (x - ROOT_2) / (x + ROOT_2)
    series = 0.0
    for n in range(19, 0, -2):
        series = series * t * t + 1.0 / n
    return 0.5 * LOG_2 + 2 * t * series
