"""Log densities as machine code, for samplers that call C."""

from __future__ import annotations

import ctypes
from abc import abstractmethod
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, cast

import numba as nb
import numpy as np
from numba import types
from numpy.typing import NDArray

from bayesclf.typing import Array

OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}
"""Sums may be taken in any order, without which they are not vectorized; infinity and NaN keep their meaning."""


def inlined[F: Callable[..., Any]](function: F) -> F:
    """Inline a function in machine code: a call might be rounded differently when the code is loaded from disk."""
    return cast(F, nb.njit(forceinline=True, **OPTIONS)(function))


@cache
def compiled(log_density: Callable[[Any, Any, Any, Any, Any], int]) -> Any:
    """Return a function like `bayesclf.models.logistic.kernel.log_density` as Numba's ``CFunc``, kept on disk."""
    at = types.CPointer(types.double)
    signature = types.int32(types.uintp, at, at, at, types.CPointer(at))
    return nb.cfunc(signature, cache=True, **OPTIONS)(log_density)


class CompiledDensity:
    """A log density of z (coordinate), up to a constant, and its gradient, computed by machine code."""

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
