"""Log posteriors of logistic regression as functions of coordinates in which they are nearly standard normal.

That suits NUTS. `kernel` has the machine code that they call.
"""

from __future__ import annotations

import ctypes
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, override

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.models.logistic.centered import CenteredRows
from bayesclf.models.logistic.kernel import (
    ROWS,
    compiled,
    log_density,
    log_density_of_normal,
    log_density_of_scale,
    sparse_log_density,
)
from bayesclf.models.logistic.likelihood import Likelihood
from bayesclf.models.logistic.nodes import STEPS, Lattice
from bayesclf.models.logistic.prior import NormalWeightPrior, WeightPrior, of_outcomes


class CompiledDensity:
    """A log density of z (coordinate), up to a constant, and its gradient, computed by machine code."""

    target_accept: ClassVar[float | None] = None
    nutpie_options: ClassVar[Mapping[str, Any]] = {}

    def __call__(self, z: Array) -> tuple[float, Array]:
        """Return the log density up to a constant, NaN or infinite where it overflows, and its gradient."""
        at = np.ascontiguousarray(z, dtype=np.float64)
        value, gradient = np.empty(1), np.empty(self.size)
        function = self.function.ctypes
        arguments = zip((at, gradient, value, self.addresses), function.argtypes[1:], strict=True)
        function(self.size, *(ctypes.cast(array.ctypes.data, kind) for array, kind in arguments))
        return float(value[0]), gradient

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of coordinates."""

    @property
    @abstractmethod
    def function(self) -> Any:
        """The machine code, with its ``address``."""

    @abstractmethod
    def parameters(self, z: Array, rng: np.random.Generator, /) -> Parameters:
        """Return the model's parameters (...) at points z (..., coordinate); some may be drawn."""

    @cached_property
    def addresses(self) -> NDArray[np.uintp]:
        """Addresses of the arrays that the machine code reads; this object keeps them alive."""
        return np.array([array.ctypes.data for array in self._arrays], dtype=np.uintp)

    @cached_property
    def _arrays(self) -> tuple[Array, ...]:
        """The arrays that the machine code reads, in its order."""
        return tuple(np.ascontiguousarray(array, dtype=np.float64) for array in self._data)

    @property
    @abstractmethod
    def _data(self) -> tuple[NDArray[Any], ...]:
        """The same, as numbers of any type."""


def row_blocks(likelihood: Likelihood) -> tuple[Array, Integers, Array]:
    """Return dense rows as (block, column, row), codes and weights (block, row), filled up with rows of weight 0."""
    X = np.asarray(likelihood.X)
    blocks = -(-len(X) // ROWS)
    filled = (0, blocks * ROWS - len(X))
    cells = np.pad(X, (filled, (0, 0))).reshape(blocks, ROWS, X.shape[1]).transpose(0, 2, 1)
    return cells, np.pad(likelihood.y, filled), np.pad(likelihood.weight, filled)


@dataclass(frozen=True, eq=False)
class LogisticDensity(CompiledDensity):
    """log p(θ, D), up to a constant, and its gradient, of z in θ = center + factor z; computed by machine code.

    With center and factor from the Laplace approximation, z is nearly standard normal, which NUTS
    samples with few leapfrog steps. θ has its weights per sd of a column; raveled, the intercepts come before the
    weights, label by label.

    Attributes
    ----------
    likelihood
        Of the training rows; its first column is the intercept's.
    prior
        Of θ.
    center
        θ raveled at z = 0 (parameter).
    factor
        (parameter, parameter), lower triangular; for sparse rows also (parameter), the diagonal of a diagonal matrix.
    scale
        Sds of the columns (feature).

    Examples
    --------
    >>> import bayesclf as bc
    >>> clf = bc.LogisticRegression(prior_scale=1.0, inference="map").fit([[1.0], [1.9], [2.1], [3.0]], [0, 1, 0, 1])
    >>> value, gradient = clf.model_.density()(np.zeros(2))
    >>> bool(np.abs(gradient).max() < 1e-8)  # z = 0 is the mode
    True
    """

    likelihood: Likelihood
    prior: WeightPrior | NormalWeightPrior
    center: Array
    factor: Array
    scale: Array

    @override
    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.center)

    @override
    @property
    def function(self) -> Any:
        """The machine code, `log_density`, `sparse_log_density` or `log_density_of_normal`, with its ``address``."""
        if isinstance(self.likelihood.X, CenteredRows):
            return compiled(sparse_log_density)
        return compiled(log_density_of_normal if self._has_matrix else log_density)

    @property
    def _has_matrix(self) -> bool:
        """Whether the weights of different columns depend on each other under the prior."""
        return isinstance(self.prior, NormalWeightPrior)

    @override
    @property
    def _data(self) -> tuple[NDArray[Any], ...]:
        likelihood, prior, X = self.likelihood, self.prior, self.likelihood.X
        vectors, columns = prior.mean.shape
        if isinstance(prior, NormalWeightPrior):
            precision, symmetric, shift = prior.precision(), False, np.zeros(columns)
        else:
            symmetric, shift = prior.symmetric, np.concatenate([[0.0], prior.shift])
            with np.errstate(divide="ignore"):
                precision = 1 / prior.scale
        common = (self.center, self.factor, prior.mean, precision, shift)
        sizes = (vectors, columns)
        if isinstance(X, CenteredRows):
            stored = (X.data, X.indices, X.indptr, X.shift)
            sparse_sizes = np.array([*sizes, len(X), symmetric, len(X.data), self.factor.ndim == 1])
            return sparse_sizes, *common, *stored, likelihood.y, likelihood.weight
        cells, y, weight = row_blocks(likelihood)
        return np.array([*sizes, len(cells), symmetric]), *common, cells, y, weight

    def parameters(self, z: Array, rng: np.random.Generator | None = None, /) -> Parameters:
        """Return intercept (..., outcome) and weight (..., outcome, feature), per unit, at z (..., parameter)."""
        return self.of_theta(self.center + (z * self.factor if self.factor.ndim == 1 else z @ self.factor.T))

    def of_theta(self, theta: Array) -> Parameters:
        """Return the same of θ raveled (..., parameter), the intercepts before the weights."""
        vectors, columns = self.prior.mean.shape
        weight = theta[..., vectors:].reshape(*theta.shape[:-1], vectors, columns - 1)
        symmetric = self.prior.unseen.symmetric
        return {
            "intercept": of_outcomes(theta[..., :vectors], symmetric),
            "weight": of_outcomes(weight / self.scale, symmetric, axis=-2),
        }


@dataclass(frozen=True, eq=False)
class ScaledDensity(CompiledDensity):
    """log p(log s, logit ρ, γ, D), up to a constant, and its gradient, of x = (log s, logit ρ, z).

    See `Lattice.moved` for γ; the first two coordinates are in posterior sds from their posterior means.

    Attributes
    ----------
    likelihood
        Of γ against the reference, its first column the intercept's.
    lattice
        The nodes.
    of_directions
        From γ, (log s, logit ρ) and a random generator to the parameters (draw, …).
    """

    likelihood: Likelihood
    lattice: Lattice
    of_directions: Callable[[Array, Array, np.random.Generator], Parameters]
    target_accept: ClassVar[float | None] = 0.9
    nutpie_options: ClassVar[Mapping[str, Any]] = {"adaptation": "draw_diag", "max_energy_error": 1e5}
    """Where weights separate the classes, the likelihood is a wall behind which the log density falls linearly, by all
    rows together. A step across it is a proposal that is rejected, and no sign of a part that is not explored."""

    @override
    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 2 + int(self.lattice.modes.shape[-1])

    @override
    @property
    def function(self) -> Any:
        """The machine code, `log_density_of_scale`, with its ``address``."""
        return compiled(log_density_of_scale)

    @override
    @property
    def _data(self) -> tuple[NDArray[Any], ...]:
        lattice, prior = self.lattice, self.lattice.prior
        cells, y, weight = row_blocks(self.likelihood)
        rows, others = lattice.modes.shape[:2]
        learns = prior.correlation is None
        sizes = np.array([len(prior.mean), 1 + prior.seen, len(cells), rows, others, learns])
        settings, (center, unit) = prior.settings, lattice.density.moments
        fixed = 0.0 if learns else prior.correlation
        place = np.concatenate([lattice.first, STEPS, center, unit, [settings.log_median, settings.spread, fixed]])
        values, learned = (np.concatenate([[0.0], own[: prior.seen]]) for own in (prior.values, prior.learned))
        of_prior = (values, learned, prior.sd[: 1 + prior.seen], prior.mean, prior.contrast)
        return sizes, place, *of_prior, lattice.modes, lattice.roots, cells, y, weight

    def parameters(self, x: Array, rng: np.random.Generator, /) -> Parameters:
        """Return the parameters (…) of x (…, coordinate), those that the rows do not tell of drawn."""
        center, unit = self.lattice.density.moments
        flat = x.reshape(-1, x.shape[-1])
        at = center + unit * flat[:, :2]
        gamma, _ = self.lattice.moved(at, flat[:, 2:])
        found = self.of_directions(gamma, at, rng)
        return {name: values.reshape(*x.shape[:-1], *values.shape[1:]) for name, values in found.items()}
