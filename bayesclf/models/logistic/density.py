"""The log posterior of logistic regression in coordinates in which it is nearly standard normal, as machine code.

That suits NUTS and slices. Numba compiles both when they are first needed, and keeps the code on disk. It takes no
Python object and no lock, so that chains run in parallel. Rows come in blocks, in which the cells of a column are
neighbors in memory: loops over them become vector instructions, and a block stays in the cache between its two
products.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, cast

import numba as nb
import numpy as np
from numba import types
from numpy.typing import NDArray

from bayesclf.arrays import Array, Parameters
from bayesclf.models.logistic.likelihood import Likelihood
from bayesclf.models.logistic.nodes import STEPS, Lattice

COMPILER: dict[str, Any] = {"error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
"""Sums may be taken in any order, without which they are not vectorized; infinity and NaN keep their meaning."""
ROWS = 64
"""Rows of a block."""
SMALLEST_EXPONENT = -64.0
"""Probability ratios below e to this power are replaced by it: a difference far below rounding."""
SQUARINGS = 7
SMALLEST_ANGLE = 1e-9
"""Width of a slice in which rounding has left no point that is high enough: the chain stays where it is."""
OPTIONS: Mapping[str, Any] = {"adaptation": "draw_diag", "max_energy_error": 1e5}
"""Where weights separate the classes, the likelihood is a wall behind which the log density falls linearly, by all rows
together. A step across it is a proposal that is rejected, and no sign of a part that is not explored."""


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
    is learned, x is z, and γ is θ.

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
    def target_accept(self) -> float | None:
        """Mean acceptance rate that the step size is adapted to where the user says none."""
        return 0.9 if self.scaled else None

    @property
    def nutpie_options(self) -> Mapping[str, Any]:
        """Further options of nutpie."""
        return OPTIONS if self.scaled else {}

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
        return np.array([array.ctypes.data for array in self._arrays], dtype=np.uintp)

    @cached_property
    def _arrays(self) -> tuple[Array, ...]:
        """The arrays that the machine code reads, in its order."""
        lattice, prior, settings = self.lattice, self.lattice.prior, self.lattice.prior.settings
        rows, others = lattice.modes.shape[:2]
        sizes = [len(prior.mean), 1 + prior.seen, -(-len(self.likelihood.y) // ROWS), rows, others]
        of_scale = [settings.log_median, settings.spread] if settings else [0.0, 1.0]
        center, unit = self._moments
        place = [*lattice.first, *STEPS, *center, *unit, *of_scale, prior.correlation or 0.0]
        values, learned, offset = (
            np.concatenate([[0.0], own[: prior.seen]]) for own in (prior.values, prior.learned, prior.offset)
        )
        identity = np.eye(len(prior.mean))
        # the contrast comes between rows and γ, or, where γ is θ, between γ and the prior
        turns = (identity, prior.contrast) if settings else (np.linalg.inv(prior.contrast), identity)
        data = (
            *([*sizes, self.scaled, prior.correlation is None], place, values, learned),
            *(prior.sd[: 1 + prior.seen], prior.mean[:, : 1 + prior.seen], 0 * offset if settings else offset, *turns),
            *(prior.order, lattice.modes, lattice.roots, *row_blocks(self.likelihood)),
        )
        return tuple(np.ascontiguousarray(array, dtype=np.float64) for array in data)

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
        noise = rng.standard_normal((steps, self.size - scales.shape[1]))
        compiled_slices()(state, scales, log_q, noise, thin, rng, draws, self._arrays)

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
    value[0] = joint(
        nb.carray(x, size),
        nb.carray(gradient, size),
        True,
        sizes,
        nb.carray(data[1], 11),
        nb.carray(data[2], columns),
        nb.carray(data[3], columns),
        nb.carray(data[4], columns),
        nb.carray(data[5], (vectors, columns)),
        nb.carray(data[6], columns),
        nb.carray(data[7], (vectors, vectors)),
        nb.carray(data[8], (vectors, vectors)),
        nb.carray(data[9], count),
        nb.carray(data[10], (rows, others, count)),
        nb.carray(data[11], (rows, others, count, count)),
        nb.carray(data[12], (blocks, columns, ROWS)),
        nb.carray(data[13], (blocks, ROWS)),
        nb.carray(data[14], (blocks, ROWS)),
    )
    return 0 if math.isfinite(value[0]) else 1


@cache
def compiled_slices() -> Any:
    """Return `slices` in machine code, kept on disk."""
    numbers = types.float64[::1]
    table, cube, quartic = types.float64[:, ::1], types.float64[:, :, ::1], types.float64[:, :, :, ::1]
    kinds = (*[numbers] * 5, table, numbers, table, table, numbers, cube, quartic, cube, table, table)
    signature = types.int64(numbers, table, numbers, table, types.int64, types.npy_rng, table, types.Tuple(kinds))
    return nb.njit(signature, cache=True, nogil=True, **COMPILER)(slices)


def slices(
    state: Array, scales: Array, log_q: Array, noise: Array, thin: int, rng: Any, draws: Array, arrays: Any
) -> int:
    """Run a Markov chain, and write every `thin`-th state into `draws`, as `LogisticDensity.slices` does.

    A step takes (log s, logit ρ) from an approximation q of their posterior, at the same z, by Metropolis and Hastings.
    Then z moves on an ellipse through z and noise, by slice sampling. Both go far, as the posterior of z is nearly
    standard normal whatever the scales are.

    `state`: log q and coordinates, (1 + coordinate). `scales`: Proposals (step, 2), or (step, 0) where no scale is
    learned. `log_q`: Of these, (step). `noise`: Standard normal, (step, entry of z).

    See Murray, Adams and MacKay (2010), *Elliptical slice sampling*, AISTATS. Fagan, Bhandari and Cunningham (2016),
    *Elliptical slice sampling with expectation propagation*, UAI.
    """
    steps, first = scales.shape
    x = state[1:]
    ahead, unused = x.copy(), x.copy()
    value, evaluations = joint(x, unused, False, *arrays), 1
    for step in range(steps):
        if first:
            ahead[:first], ahead[first:] = scales[step], x[first:]
            found = joint(ahead, unused, False, *arrays)
            evaluations += 1
            if math.log(rng.random()) < (found - log_q[step]) - (value - state[0]):
                value, state[0] = found, log_q[step]
                x[:first] = ahead[:first]
        ahead[:first] = x[:first]
        z, other = x[first:], noise[step]
        level = value + 0.5 * np.sum(z**2) + math.log(rng.random())
        angle = 2 * math.pi * rng.random()
        low, high = angle - 2 * math.pi, angle
        while high - low > SMALLEST_ANGLE:
            ahead[first:] = z * math.cos(angle) + other * math.sin(angle)
            found = joint(ahead, unused, False, *arrays)
            evaluations += 1
            if found + 0.5 * np.sum(ahead[first:] ** 2) > level:
                x[first:], value = ahead[first:], found
                break
            if angle < 0:
                low = angle
            else:
                high = angle
            angle = low + (high - low) * rng.random()
        if (1 + step) % thin == 0:
            draws[step // thin, 0], draws[step // thin, 1] = value, evaluations
            draws[step // thin, 2:] = x
            evaluations = 0
    return 0


@inlined
def joint(
    at: Array,
    slope_at: Array,
    sloped: bool,
    sizes: Array,
    place: Array,
    values: Array,
    learned: Array,
    sd: Array,
    mean: Array,
    offset: Array,
    inward: Array,
    contrast: Array,
    order: Array,
    modes: Array,
    roots: Array,
    X: Array,
    y: Array,
    weight: Array,
) -> float:
    """Return log p(log s, logit ρ, γ, D), up to a constant, at x = (log s, logit ρ, z); write its gradient if `sloped`.

    The first two are in units of their posterior, and γ = m + D R z. D = s √(1 − ρ + ρ e) are the prior's scales. The
    modes m and the roots R are interpolated between the nodes of a `Lattice`. Where no scale is learned, x is z, and
    one node has m and R.

    `place`: First node (2), step (2), center (2), unit (2), log median, spread, and a ρ that is fixed.
    """
    (vectors, columns), (rows, others, count) = mean.shape, modes.shape
    scaled, learns, size = sizes[5] > 0, sizes[6] > 0, len(at)
    first = size - count
    log_scale = place[4] + place[6] * at[0] if scaled else place[0]
    logit = place[5] + place[7] * at[1] if scaled else place[1]
    rho = 1 / (1 + math.exp(-logit)) if learns else place[10]
    rest = 1 / (1 + math.exp(logit)) if learns else 1 - place[10]

    # the four nodes around (log s, logit ρ), their shares, and the slopes of these
    i, a, da = _between(log_scale, place[0], place[2], rows)
    j, b, db = _between(logit, place[1], place[3], others)
    share, by_scale, by_logit = np.empty(4), np.empty(4), np.empty(4)
    above, beside = np.empty(4, np.intp), np.empty(4, np.intp)
    for corner in range(4):
        up, right = corner // 2, corner % 2
        p, dp = (a, da) if up else (1 - a, -da)
        q, dq = (b, db) if right else (1 - b, -db)
        share[corner], by_scale[corner], by_logit[corner] = p * q, dp * q, p * dq
        above[corner], beside[corner] = min(i + up, rows - 1), min(j + right, others - 1)

    # γ, its slopes along log s and logit ρ at the same z, and the log determinant
    gamma, along_scale, along_logit = np.empty((vectors, columns)), np.empty(count), np.empty(count)
    times, turn = np.empty(columns), np.empty(columns)
    total, of_scale, of_logit = 0.0, 0.0, 0.0
    for c in range(columns):
        variance = rest + rho * values[c]
        times[c] = math.exp(log_scale) * math.sqrt(variance) if learned[c] > 0 else 1.0
        turn[c] = 0.5 * (values[c] - 1) * rho * rest / variance if learned[c] > 0 and learns else 0.0
    for p in range(count):
        k, c = divmod(types.intp(order[p]), columns)
        middle, middle_s, middle_l, spread, spread_s, spread_l, diagonal, diagonal_s, diagonal_l = (
            0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
        )  # fmt: skip
        for corner in range(4):
            if share[corner] == 0 and by_scale[corner] == 0 and by_logit[corner] == 0:
                continue
            root = roots[above[corner], beside[corner], p]
            along, mode = _dot(root, at[first:], p + 1), modes[above[corner], beside[corner], p]
            middle += share[corner] * mode
            middle_s += by_scale[corner] * mode
            middle_l += by_logit[corner] * mode
            spread += share[corner] * along
            spread_s += by_scale[corner] * along
            spread_l += by_logit[corner] * along
            diagonal += share[corner] * root[p]
            diagonal_s += by_scale[corner] * root[p]
            diagonal_l += by_logit[corner] * root[p]
        own = 1.0 if learned[c] > 0 else 0.0
        gamma[k, c] = middle + times[c] * spread
        along_scale[p] = middle_s + times[c] * (spread_s + own * spread)
        along_logit[p] = middle_l + times[c] * (spread_l + turn[c] * spread)
        if scaled:
            total += math.log(diagonal) + math.log(times[c])
            of_scale += diagonal_s / diagonal + own
            of_logit += diagonal_l / diagonal + turn[c]

    # the prior
    slope, deviations = np.zeros((vectors, columns)), np.zeros((vectors, columns))
    for k in range(vectors):
        for m in range(vectors):
            for c in range(columns):
                deviations[k, c] += inward[k, m] * gamma[m, c]
                deviations[k, 0] += inward[k, m] * offset[c] * gamma[m, c]
    for k in range(vectors):
        for c in range(columns):
            deviation = (deviations[k, c] - mean[k, c]) / (sd[c] * times[c])
            total -= 0.5 * deviation**2
            if learned[c] > 0:
                total -= math.log(times[c])
                of_scale += deviation**2 - 1
                of_logit += (deviation**2 - 1) * turn[c]
            deviations[k, c] = -deviation / (sd[c] * times[c])
    for k in range(vectors):
        for m in range(vectors):
            for c in range(columns):
                slope[m, c] += inward[k, m] * (deviations[k, c] + offset[c] * deviations[k, 0])
    if scaled:
        z = (log_scale - place[8]) / place[9]
        total -= 0.5 * z**2
        of_scale -= z / place[9]
    if learns:
        total += math.log(rho) + math.log(rest)
        of_logit += rest - rho
    elif scaled:
        total -= 0.5 * at[1] ** 2  # a coordinate without meaning

    # the rows
    theta, of_theta = np.zeros((vectors, columns)), np.zeros((vectors, columns))
    for k in range(vectors):
        for m in range(vectors):
            for c in range(columns):
                theta[k, c] += contrast[k, m] * gamma[m, c]
    total += log_likelihood(theta, X, y, weight, of_theta, sloped)
    if not sloped:
        return total
    for m in range(vectors):
        for k in range(vectors):
            for c in range(columns):
                slope[m, c] += contrast[k, m] * of_theta[k, c]

    for entry in range(size):
        slope_at[entry] = 0.0
    for p in range(count):
        k, c = divmod(types.intp(order[p]), columns)
        of_scale += slope[k, c] * along_scale[p]
        of_logit += slope[k, c] * along_logit[p]
        for corner in range(4):
            if share[corner] != 0:
                _add(
                    share[corner] * times[c] * slope[k, c],
                    roots[above[corner], beside[corner], p],
                    p + 1,
                    slope_at[first:],
                )
    if scaled:
        slope_at[0], slope_at[1] = of_scale * place[6], (of_logit * place[7] if learns else -at[1])
    return total


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
def log_likelihood(theta: Array, X: Array, y: Array, weight: Array, slope: Array, sloped: bool) -> float:
    """Return Σ w log P(y | x, θ) and, if `sloped`, add its gradient to `slope`.

    X (block, column, row), y and weight (block, row).
    """
    vectors, columns = theta.shape
    scores, product = np.empty((vectors, ROWS)), np.empty((vectors, columns))
    work = np.empty((3, ROWS))
    total = 0.0
    for block in range(len(X)):
        np.dot(theta, X[block], scores)
        total += _residuals(scores, y[block], weight[block], work)
        if sloped:
            np.dot(scores, X[block].T, product)
            for k in range(vectors):
                for j in range(columns):
                    slope[k, j] += product[k, j]
    return total


@inlined
def _residuals(scores: Array, y: Array, weight: Array, work: Array) -> float:
    """Return Σ w log P(y | x, θ) over the rows of a block; log-odds (label, row) become w (1[y = k] − P(k | x))."""
    top, own, normalizer = work[0], work[1], work[2]
    for i in range(ROWS):
        top[i] = own[i] = 0.0
    for k in range(len(scores)):
        for i in range(ROWS):
            top[i] = max(top[i], scores[k, i])
            own[i] = scores[k, i] if y[i] == k else own[i]
    for i in range(ROWS):
        normalizer[i] = _exp(-top[i])
    for k in range(len(scores)):
        for i in range(ROWS):
            scores[k, i] = _exp(scores[k, i] - top[i])
            normalizer[i] += scores[k, i]
    total = 0.0
    for i in range(ROWS):
        total += weight[i] * (own[i] - top[i] - math.log(normalizer[i]))
    for i in range(ROWS):
        normalizer[i] = weight[i] / normalizer[i]
    for k in range(len(scores)):
        for i in range(ROWS):
            scores[k, i] = (weight[i] if y[i] == k else 0.0) - scores[k, i] * normalizer[i]
    return total


@inlined
def _exp(x: float) -> float:
    """Return e^x for x ≤ 0, to 13 digits where it counts: a Taylor polynomial of x/2^7, squared 7 times.

    The C library's function takes one number at a time; this polynomial is vectorized.
    """
    x = max(x, SMALLEST_EXPONENT) / 2**SQUARINGS
    power = 1.0
    for n in range(11, 0, -1):
        power = 1.0 + power * x * (1.0 / n)
    for _ in range(SQUARINGS):
        power *= power
    return power
