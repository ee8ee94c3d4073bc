"""The posterior of logistic regression in coordinates in which it is nearly standard normal, for NUTS."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.models.logistic.likelihood import Likelihood
from bayesclf.models.logistic.prior import WeightPrior
from bayesclf.typing import Array


@dataclass(frozen=True, eq=False)
class LogisticDensity:
    """log p(θ, D), up to a constant, and its gradient, of z in θ = centre + factor z; machine code computes them.

    With centre and factor from the Laplace approximation, z is nearly standard normal: NUTS then takes the fewest
    steps that it can, and no parameter has to wait for another. θ has its weights per sd of a column; raveled, the
    intercepts come before the weights, label by label.

    Attributes
    ----------
    likelihood
        Of the training rows; its first column is the intercept's.
    prior
        Of θ.
    centre
        θ raveled at z = 0 (parameter).
    factor
        (parameter, parameter), lower triangular.
    scale
        Sds of the columns (feature).

    Examples
    --------
    >>> import bayesclf as bc
    >>> clf = bc.LogisticRegression(inference="map").fit([[1.0], [1.9], [2.1], [3.0]], [0, 1, 0, 1])
    >>> value, gradient = clf.model_.density()(np.zeros(2))
    >>> bool(np.abs(gradient).max() < 1e-8)  # z = 0 is the mode
    True
    """

    likelihood: Likelihood
    prior: WeightPrior
    centre: Array
    factor: Array
    scale: Array

    def __call__(self, z: Array) -> tuple[float, Array]:
        """Return log p(θ, D) up to a constant, NaN or infinite where it overflows, and its gradient (parameter)."""
        at = np.ascontiguousarray(z, dtype=np.float64)
        value, gradient = np.empty(1), np.empty(self.size)
        function = self.function.ctypes
        arguments = zip((at, gradient, value, self.addresses), function.argtypes[1:], strict=True)
        function(self.size, *(ctypes.cast(array.ctypes.data, kind) for array, kind in arguments))
        return float(value[0]), gradient

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.centre)

    @property
    def function(self) -> Any:
        """The machine code, `logistic_kernel.log_density`, with its ``address``."""
        from bayesclf.models.logistic.kernel import compiled

        return compiled()

    @cached_property
    def addresses(self) -> NDArray[np.uintp]:
        """Where the arrays are that the machine code reads; they live as long as this object."""
        return np.array([array.ctypes.data for array in self._arrays], dtype=np.uintp)

    @cached_property
    def _arrays(self) -> tuple[Array, ...]:
        """What `logistic_kernel.log_density` reads, in its order."""
        from bayesclf.models.logistic.kernel import ROWS

        likelihood, prior = self.likelihood, self.prior
        vectors, columns = prior.mean.shape
        blocks = -(-len(likelihood.X) // ROWS)
        filled = (0, blocks * ROWS - len(likelihood.X))
        X = np.pad(likelihood.X, (filled, (0, 0))).reshape(blocks, ROWS, columns)
        with np.errstate(divide="ignore"):
            precision = 1 / prior.scale
        arrays = (
            np.array([vectors, columns, blocks, prior.symmetric]),
            self.centre,
            self.factor,
            prior.mean,
            precision,
            np.concatenate([[0.0], prior.shift]),
            X.transpose(0, 2, 1),
            np.pad(likelihood.y, filled),
            np.pad(likelihood.weight, filled),
        )
        return tuple(np.ascontiguousarray(array, dtype=np.float64) for array in arrays)

    def parameters(self, z: Array) -> dict[str, Array]:
        """Return intercept (..., outcome) and weight (..., outcome, feature), per unit, at z (..., parameter)."""
        vectors, columns = self.prior.mean.shape
        theta = self.centre + z @ self.factor.T
        weight = theta[..., vectors:].reshape(*z.shape[:-1], vectors, columns - 1)
        return {"intercept": theta[..., :vectors], "weight": weight / self.scale}
