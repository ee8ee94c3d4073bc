"""The log posterior of logistic regression as a function of coordinates in which it is nearly standard normal.

That suits NUTS. `kernel` has the machine code that it calls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.models.logistic.kernel import ROWS, compiled
from bayesclf.models.logistic.likelihood import Likelihood
from bayesclf.models.logistic.nodes import STEPS, Lattice

OPTIONS: Mapping[str, Any] = {"adaptation": "draw_diag", "max_energy_error": 1e5}
"""Where weights separate the classes, the likelihood is a wall behind which the log density falls linearly, by all rows
together. A step across it is a proposal that is rejected, and no sign of a part that is not explored."""


def row_blocks(likelihood: Likelihood) -> tuple[Array, Integers, Array]:
    """Return rows as (block, column, row), codes and weights (block, row), filled up with rows of weight 0."""
    X = likelihood.X
    if not isinstance(X, np.ndarray):
        X = np.asarray(X.toarray() - likelihood.shift)
    blocks = -(-len(X) // ROWS)
    filled = (0, blocks * ROWS - len(X))
    cells = np.pad(X, (filled, (0, 0))).reshape(blocks, ROWS, X.shape[1]).transpose(0, 2, 1)
    return cells, np.pad(likelihood.y, filled), np.pad(likelihood.weight, filled)


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
