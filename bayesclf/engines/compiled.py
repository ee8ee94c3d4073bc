"""PyMC models compiled once for each structure, and called with the data of any model of that structure.

One Numba function returns the log density and its gradient. It takes the unconstrained parameters and the model's
`pm.Data`, so that new values, and another number of rows, need no compilation. PyTensor keeps it on disk between
processes; only what a call needs is kept here, so that no data set outlives its fit.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import InputError

if TYPE_CHECKING:
    import pymc as pm

type Array = NDArray[np.float64]
type LogDensity = Callable[[Array], tuple[float, Array]]

CACHE_SIZE = 32
"""Number of compiled structures kept in one process; the one unused for longest goes first."""


@dataclass(frozen=True)
class Slot:
    """One array of data that a compiled function takes: its name in the model and the type it was compiled for."""

    name: str
    dtype: np.dtype[Any]

    def fill(self, values: Mapping[str, Any]) -> NDArray[Any]:
        """Return this slot's array, laid out as Numba compiled it: another layout would be compiled again."""
        return np.require(values[self.name], self.dtype, ["C", "A", "W"])


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """What all models of one structure share.

    `shapes`: Shape of each unconstrained value variable, by name, in the order of the raveled vector.
    """

    shapes: Mapping[str, tuple[int, ...]]
    _density: Callable[..., tuple[Any, Array]]
    _density_slots: tuple[Slot, ...]
    _constrain: Callable[..., list[Array]]
    _constrain_slots: tuple[Slot, ...]
    _free_names: tuple[str, ...]

    def log_density(self, model: pm.Model) -> LogDensity:
        """Return x ↦ (log p(x, data), gradient) on the unconstrained space, with the data of `model`."""
        function = self._density
        values = _data(model)
        arrays = tuple(slot.fill(values) for slot in self._density_slots)

        def log_density(x: Array) -> tuple[float, Array]:
            """Return log density and gradient at an unconstrained point."""
            value, gradient = function(x, *arrays)
            return float(value), gradient

        return log_density

    def constrain(self, model: pm.Model, x: Array) -> dict[str, Array]:
        """Return the free random variables, each in its own space, at unconstrained points.

        `model`: A model of this structure: the bounds of a parameter may be data. `x`: Unconstrained points (...,
        parameter).
        """
        flat = x.reshape(-1, x.shape[-1])
        ends = np.cumsum([_size(shape) for shape in self.shapes.values()])[:-1]
        parts = zip(np.split(flat, ends, axis=1), self.shapes.values(), strict=True)
        points = [part.reshape(len(flat), *shape) for part, shape in parts]
        values = _data(model)
        with _lock:
            outputs = self._constrain(*points, *(slot.fill(values) for slot in self._constrain_slots))
        return {
            name: value.reshape(*x.shape[:-1], *value.shape[1:])
            for name, value in zip(self._free_names, outputs, strict=True)
        }


_cache: OrderedDict[Hashable, CompiledModel] = OrderedDict()
_lock = threading.RLock()  # PyTensor neither compiles nor calls one function from two threads at once


def compiled(model: pm.Model, signature: Hashable) -> CompiledModel:
    """Return the compiled functions of this structure, from the cache where they are there.

    `model`: A model whose every changing number is a `pm.Data`; what is a constant in it is compiled in. `signature`:
    Says the structure: two models of one signature differ in the values, and the number of rows, of their data.

    Raises `InputError` where the model has a discrete parameter, or reads what is no `pm.Data`.
    """
    with _lock:
        if signature not in _cache:
            _cache[signature] = _compile(model)
            if len(_cache) > CACHE_SIZE:
                _cache.popitem(last=False)
        _cache.move_to_end(signature)
        return _cache[signature]


def start(model: pm.Model) -> Array:
    """Return PyMC's initial point as one unconstrained vector."""
    point = model.initial_point(0)
    return np.concatenate([np.ravel(point[variable.name]) for variable in model.value_vars]).astype(np.float64)


def finite_or_nan(log_density: LogDensity) -> LogDensity:
    """Return NaN where the density cannot be evaluated: a sampler calls that a divergence, and dies of an exception."""

    def at(x: Array) -> tuple[float, Array]:
        """Return log density and gradient, NaN and 0 where they cannot be evaluated."""
        try:
            with np.errstate(all="ignore"):
                return log_density(x)
        except (ArithmeticError, np.linalg.LinAlgError):
            return np.nan, np.zeros_like(x)

    return at


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))


def _shared(model: pm.Model) -> dict[str, Any]:
    """Return the shared variables that a model's graph may read: its data, and the lengths of its dimensions."""
    from pytensor.compile.sharedvalue import SharedVariable

    lengths = {f"length of {name}": length for name, length in model.dim_lengths.items()}
    data = {variable.name: variable for variable in model.data_vars}
    return {name: variable for name, variable in (data | lengths).items() if isinstance(variable, SharedVariable)}


def _data(model: pm.Model) -> dict[str, Any]:
    return {name: variable.get_value(borrow=True) for name, variable in _shared(model).items()}


def _slots(model: pm.Model, variables: list[Any]) -> tuple[Slot, ...]:
    names = {variable: name for name, variable in _shared(model).items()}
    unknown = [str(variable) for variable in variables if variable not in names]
    if unknown:
        raise InputError(f"the model reads {', '.join(unknown)}, which is not pm.Data; make it so")
    return tuple(Slot(names[v], np.dtype(v.type.dtype)) for v in variables)


def _compile(model: pm.Model) -> CompiledModel:
    if model.discrete_value_vars:
        names = ", ".join(variable.name for variable in model.discrete_value_vars)
        raise InputError(f"NUTS needs continuous parameters, but {names} is discrete; sum it out of the model")
    point = model.initial_point(0)
    density, density_slots = _compile_density(model, point)
    constrain, constrain_slots = _compile_constrain(model)
    return CompiledModel(
        shapes={variable.name: np.shape(point[variable.name]) for variable in model.value_vars},
        _density=density,
        _density_slots=density_slots,
        _constrain=constrain,
        _constrain_slots=constrain_slots,
        _free_names=tuple(variable.name for variable in model.free_RVs),
    )


def _compile_density(
    model: pm.Model, point: dict[str, Any]
) -> tuple[Callable[..., tuple[Any, Array]], tuple[Slot, ...]]:
    compiled = model.logp_dlogp_function(
        grad_vars=model.value_vars, ravel_inputs=True, mode="NUMBA", initial_point=point
    )
    # PyMC has no public way to the compiled function behind its wrapper.
    function = compiled._pytensor_function  # noqa: SLF001
    # PyTensor's own call copies the data's references and checks types at every gradient; the Numba function does not.
    slots = _slots(model, [entry.variable for entry in function.maker.inputs[1:]])
    return function.vm.jit_fn, slots


def _compile_constrain(model: pm.Model) -> tuple[Callable[..., list[Array]], tuple[Slot, ...]]:
    """Compile the inverse transforms over a leading axis of draws.

    Plain Python calls of NumPy, because one call treats all draws: compiling to Numba would take longer than it saves.
    """
    import pytensor
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.replace import clone_replace, vectorize_graph
    from pytensor.graph.traversal import graph_inputs
    from pytensor.tensor import tensor

    outputs = model.replace_rvs_by_values(model.free_RVs)
    shared = [variable for variable in graph_inputs(outputs) if isinstance(variable, SharedVariable)]
    arguments = [variable.type() for variable in shared]
    outputs = clone_replace(outputs, dict(zip(shared, arguments, strict=True)))
    batched = {v: tensor(v.name, dtype=v.type.dtype, shape=(None, *v.type.shape)) for v in model.value_vars}
    function = pytensor.function(
        [*batched.values(), *arguments],
        vectorize_graph(outputs, batched),
        mode="FAST_COMPILE",
        on_unused_input="ignore",
    )
    return function, _slots(model, shared)
