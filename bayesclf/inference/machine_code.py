"""Log densities that are machine code: nutpie calls them without Python, so that chains do run at once."""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bayesclf.typing import Array


class MachineCode(Protocol):
    """A log density on unconstrained space, in coordinates in which its target is nearly standard normal."""

    @property
    def size(self) -> int:
        """Number of coordinates."""

    @property
    def function(self) -> Any:
        """What has the ``address`` of a C function ``int f(size, z, gradient, value, data)``.

        It reads z and writes the gradient and the log density up to a constant; it returns 0, or a positive number
        where the density is not finite. It may be called from several threads at once.
        """

    @property
    def addresses(self) -> NDArray[np.uintp]:
        """What `data` points to."""

    def parameters(self, z: Array) -> dict[str, Array]:
        """Return the model's parameters (..., outcome, ...) at points z (..., coordinate)."""


@runtime_checkable
class HasMachineCode(Protocol):
    """A model whose log posterior is machine code."""

    def density(self) -> MachineCode:
        """Return it, or raise `DoesNotExist` or `Refused` where these coordinates cannot be found."""


NUTPIE_FIELDS = frozenset(
    {
        *("dims", "reparameterized_names", "compiled_logp_func", "compiled_expand_func", "initial_point_func"),
        *("shared_data", "shared_var_keys", "user_data", "n_expanded", "shape_info", "logp_func", "expand_func"),
        *("_n_dim", "_shapes", "_coords", "_transform_adapt_args"),
    }
)
"""Fields of nutpie's ``CompiledPyMCModel`` that `nutpie_model` was written for, the private ones included."""


def nutpie_model(density: MachineCode, initial_point: Any) -> Any:
    """Return what `nutpie.sample` takes; its draws are named ``x``.

    nutpie has no public way to sample a compiled function that did not come from PyMC, so this fills the fields of its
    ``CompiledPyMCModel``, private ones too. This function is the only place that knows them.

    Parameters
    ----------
    density
        What is sampled.
    initial_point
        From a chain's seed to the point where it starts.
    """
    from nutpie.compile_pymc import CompiledPyMCModel

    size = density.size
    return CompiledPyMCModel(
        dims={},
        compiled_logp_func=density.function,
        compiled_expand_func=_identity(),
        initial_point_func=initial_point,
        shared_data={},
        shared_var_keys={},
        user_data=density.addresses,
        n_expanded=size,
        shape_info=(["x"], [slice(0, size)], [(size,)]),
        logp_func=density,  # keeps the arrays alive that the addresses point to
        expand_func=None,
        _n_dim=size,
        _shapes={"x": (size,)},
        _coords={},
    )


@cache
def _identity() -> Any:
    """Return the C function that nutpie turns draws into parameters by: here they are the same."""
    import numba as nb
    from numba import types

    numbers = types.CPointer(types.double)
    signature = types.int32(types.uintp, types.uintp, numbers, numbers, numbers)
    return nb.cfunc(signature, cache=True)(copy)


def copy(size: Any, expanded: Any, x: Any, out: Any, data: Any) -> int:
    """Copy `size` numbers from `x` to `out`."""
    for i in range(size):
        out[i] = x[i]
    return 0
