"""Fitted classifiers on disk: one netCDF file that ArviZ can open, and that cannot run code.

A file has the groups of `posterior_` and one more, `GROUP`, with the state of the classifier: its arrays of numbers as
variables, all else as JSON, where an object of one key, such as ``{"tuple": [1, 2]}``, stands for what JSON lacks.
Reading builds plain values and objects of the classes listed here and in the registries of families, engines and
classifiers; nothing is ever looked up by a name that a file gives.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import DoesNotExist, InputError
from bayesclf.files import write_whole

if TYPE_CHECKING:
    import xarray as xr

    from bayesclf.classifiers import BayesClassifier

FORMAT = "bayesclf classifier"
DAMAGED = "is damaged or was altered, or another version of bayesclf wrote it"
VERSION = 1
"""Version of the format. It rises whenever the fields of a listed class, or a classifier's attributes, change."""

GROUP = "bayesclf"
"""Group of the classifier's state."""

LIBRARIES = ("bayesclf", "pymc", "arviz", "numpy")
RENAMED = {"_draws": "draws_", "_points": "points_"}
"""Fitted state by the names that older files have for it."""
REQUIRED = {"classes_", "n_features_in_", "seed_", "inference_", "convergence_problems_", "model_", "points_", "draws_"}
"""Fitted attributes that every classifier has."""

SIGNATURE = b"\x89HDF\r\n\x1a\n"
REPEATED_ABOVE = 100
"""Length above which a tuple of text is written once, and referred to where it occurs again."""

COMPRESS_ABOVE = 1024
"""Bytes above which an array is compressed."""


def save(clf: BayesClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to one file, which replaces an existing one only when it is complete.

    Parameters
    ----------
    clf
        The classifier. A random generator as its `random_state` is stored as the seed that the fit drew from it.
    path
        The file, customarily ``….nc``. `arviz.from_netcdf` opens it too, and finds the groups of `posterior_`.

    Raises
    ------
    InputError
        For a value that a file cannot hold, such as a label of a class of your own, or a path that cannot be written.

    Examples
    --------
    >>> import tempfile, bayesclf as bc
    >>> clf = bc.GaussianNB(random_state=1).fit([[1.0], [1.2], [3.1], [2.9]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(f"{folder}/model.nc")
    ...     print(bc.load(f"{folder}/model.nc").predict([[1.1], [3.0]]))
    [0 1]
    """
    import xarray as xr
    from sklearn.utils.validation import check_is_fitted

    if type(clf) not in _classifiers().values():
        allowed = ", ".join(_classifiers())
        raise InputError(f"{type(clf).__name__} cannot be saved; the classifiers that can are {allowed}")
    check_is_fitted(clf, "classes_")
    target = _target(path)
    tree = clf.posterior_
    encoder = _Encoder(_places(clf, tree))
    state = {
        "classifier": type(clf).__name__,
        "parameters": {name: encoder.encode(value, name) for name, value in _parameters(clf).items()},
        "fitted": {name: encoder.encode(value, name) for name, value in _fitted(clf).items()},
    }
    attributes = {
        "format": FORMAT,
        "format_version": VERSION,
        "libraries": json.dumps({name: version(name) for name in LIBRARIES}),
        "state": json.dumps(state, allow_nan=False),
    }
    dataset = xr.Dataset(encoder.variables, attrs=attributes)
    whole = xr.DataTree.from_dict({**tree.to_dict(), f"/{GROUP}": dataset})
    write_whole(
        target,
        lambda part: whole.to_netcdf(part, engine="h5netcdf", encoding=_compression(whole)),
        (OSError, RuntimeError, TypeError, ValueError),
    )


def load(path: str | os.PathLike[str]) -> BayesClassifier:
    """Read a classifier that `save` wrote; it gives the same answers, to the last bit.

    Files of strangers can be read: at worst they hold a bad model.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        If the file is missing, damaged, of a newer version, or not a model at all.
    """
    source = Path(path)
    groups = _read(source)
    state = groups.get(GROUP)
    if state is None or state.attrs.get("format") != FORMAT:
        raise InputError(f"{source} is not a model; give a file that save wrote")
    try:
        libraries, number = json.loads(state.attrs["libraries"]), int(state.attrs["format_version"])
        if number <= VERSION:
            return _restored(json.loads(state.attrs["state"]), groups)
        writer = str(libraries["bayesclf"])
    except ValueError as error:
        raise InputError(f"{source} {DAMAGED} ({error}); save the model again") from None
    except Exception:  # JSON of a stranger can fail anywhere, in any way
        raise InputError(f"{source} {DAMAGED}; save the model again") from None
    raise InputError(
        f"{source} was written by bayesclf {writer} in format {number}, but bayesclf {version('bayesclf')} reads "
        f"formats up to {VERSION}; upgrade bayesclf"
    )


def _classifiers() -> dict[str, type[BayesClassifier]]:
    from bayesclf.classifiers import CLASSIFIERS

    return {cls.__name__: cls for cls in CLASSIFIERS.values()}


def _classes() -> dict[str, type]:
    """Return the frozen dataclasses whose objects a file may hold, by name."""
    from bayesclf.classifiers.training import ColumnBlock, FrozenPrior, Learnt
    from bayesclf.columns import Column
    from bayesclf.families import FAMILIES, LKJ, Axes, HalfNormal, KnownClassPrior, LearntClassPrior
    from bayesclf.families.bernoulli import BernoulliStatistics
    from bayesclf.families.categorical import CategoricalStatistics
    from bayesclf.families.generative import Block, GenerativeModel
    from bayesclf.families.hierarchical import LearntAlpha, Smoothed
    from bayesclf.families.logistic import LogisticModel
    from bayesclf.families.logistic_design import LogisticDesign
    from bayesclf.families.logistic_prior import LogisticPrior
    from bayesclf.families.moments import Moments
    from bayesclf.families.multinomial import MultinomialStatistics
    from bayesclf.families.row_counts import RowCounts
    from bayesclf.families.scatters import Scatters
    from bayesclf.families.selection import Selected
    from bayesclf.inference import ENGINES, Auto, Draws, SeededDraws, Trace
    from bayesclf.inference.optimisers import OPTIMISERS, Certificate
    from bayesclf.rules import Gibbs

    listed = (
        *(Axes, Block, GenerativeModel, KnownClassPrior, LearntClassPrior, CategoricalStatistics, Moments),
        *(
            Certificate,
            LogisticModel,
            LogisticDesign,
            LogisticPrior,
            Trace,
            Selected,
            RowCounts,
            LKJ,
            HalfNormal,
            Scatters,
        ),
        *(Auto, Column, ColumnBlock, Draws, FrozenPrior, Gibbs, Learnt, SeededDraws),
        *(BernoulliStatistics, MultinomialStatistics),
        *(LearntAlpha, Smoothed),
    )
    return {cls.__name__: cls for cls in (*FAMILIES.values(), *ENGINES.values(), *OPTIMISERS.values(), *listed)}


def _parameters(clf: BayesClassifier) -> dict[str, Any]:
    """Return the constructor's arguments; a random generator, whose state has moved on, as the seed it gave."""
    parameters = clf.get_params(deep=False)
    generators = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, np.random.SeedSequence)
    if isinstance(parameters.get("random_state"), generators):
        parameters["random_state"] = clf.seed_
    return dict(parameters)


def _fitted(clf: BayesClassifier) -> dict[str, Any]:
    """Return what `fit` has set, without what is computed from it on first use."""
    cls, parameters = type(clf), clf.get_params(deep=False)
    state = {
        name: value
        for name, value in vars(clf).items()
        if name not in parameters and not isinstance(getattr(cls, name, None), cached_property)
    }
    for name in state:
        if not _is_fitted_name(cls, name):
            raise InputError(f"the attribute {name!r} is not part of a {cls.__name__}; delete it before saving")
    return state


def _is_fitted_name(cls: type, name: str) -> bool:
    """Return whether a name can be one of fitted state: none that would hide a method or a property."""
    return name.isidentifier() and "_" in (name[0], name[-1]) and not name.startswith("__") and not hasattr(cls, name)


def _places(clf: BayesClassifier, tree: xr.DataTree) -> dict[int, str]:
    """Return, by identity, the objects that the groups of `posterior_` hold already, as "group/variable" or group."""
    draws, places = clf.draws_, {}
    parameters: dict[str, Any] = {**clf.points_}
    if draws is not None:
        parameters["posterior"] = draws.parameters
        if draws.stats is not None:
            places[id(draws.stats)] = "sample_stats"
    for group, arrays in parameters.items():
        for name, values in {} if isinstance(arrays, DoesNotExist) else arrays.items():
            written = tree.children[group].data_vars.get(name) if group in tree.children else None
            if written is not None and np.array_equal(written.values.ravel(), values.ravel(), equal_nan=True):
                places[id(values)] = f"{group}/{name}"
    return places


class _Encoder:
    """Turns values into JSON, and sets arrays aside.

    Attributes
    ----------
    variables
        The arrays set aside, with their dims, by name.
    """

    def __init__(self, places: dict[int, str]) -> None:
        self.variables: dict[str, tuple[tuple[str, ...], NDArray[Any]]] = {}
        self._places = places
        self._classes = _classes()
        self._repeated: dict[tuple[str, ...], int] = {}

    def encode(self, value: Any, where: str) -> Any:
        """Return the JSON of a value; `where` names it in variables and messages."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return self._items(value, where)
        if kind is tuple and len(value) > REPEATED_ABOVE and all(type(item) is str for item in value):
            return self._texts(value)
        if kind is tuple:
            return {"tuple": self._items(value, where)}
        if kind is dict:
            return {"dict": [[self.encode(k, where), self.encode(v, f"{where}.{k}")] for k, v in value.items()]}
        if kind is np.ndarray:
            return self._array(value, where)
        if isinstance(value, np.generic) and (_is_number(value.dtype) or value.dtype.kind == "U"):
            return {"scalar": [value.dtype.str, self.encode(value.item(), where)]}
        if kind is DoesNotExist:
            return {"does_not_exist": str(value)}
        if self._classes.get(kind.__name__) is kind:
            values = {name: self.encode(getattr(value, name), f"{where}.{name}") for name in _field_names(kind)}
            return {"class": {"name": kind.__name__, "values": values}}
        if id(value) in self._places:
            return {"group": self._places[id(value)]}
        raise InputError(
            f"{where!r} holds an object of type {kind.__name__}, which a model file cannot hold; fit with text, "
            "numbers, truth values, arrays or bayesclf's own objects instead"
        )

    def _items(self, values: Any, where: str) -> list[Any]:
        return [self.encode(value, f"{where}.{index}") for index, value in enumerate(values)]

    def _texts(self, value: tuple[str, ...]) -> Any:
        """Write a long tuple of text once, however often it occurs: the names of a vocabulary are in many places."""
        if value in self._repeated:
            return {"again": self._repeated[value]}
        self._repeated[value] = len(self._repeated)
        return {"texts": list(value)}

    def _array(self, array: NDArray[Any], where: str) -> Any:
        """Set numbers aside; text stays in the JSON, as HDF5's cannot hold every character."""
        dtype, shape = array.dtype.str, list(array.shape)
        if array.dtype.kind in "OU":
            return {"items": {"dtype": dtype, "shape": shape, "items": self._items(array.ravel().tolist(), where)}}
        if not _is_number(array.dtype):
            raise InputError(
                f"{where!r} is an array of {array.dtype}, which a model file cannot hold; give it as floats"
            )
        if id(array) not in self._places:
            self._places[id(array)] = self._set_aside(array, where)
        # Sums over axes depend, in their last bits, on which axis is the innermost in memory.
        order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
        return {"array": {"variable": self._places[id(array)], "dtype": dtype, "shape": shape, "order": order}}

    def _set_aside(self, array: NDArray[Any], where: str) -> str:
        """Keep an array as a variable; axes of one length share a dim, but no array has a dim twice."""
        base = name = re.sub(r"[^\w.]", "_", where)[:80]
        while name in self.variables:
            name = f"{base}.{len(self.variables)}"
        before = [array.shape[:axis].count(size) for axis, size in enumerate(array.shape)]
        dims = tuple(f"axis_{size}" + "_again" * n for size, n in zip(array.shape, before, strict=True))
        self.variables[name] = (dims, array)
        return f"{GROUP}/{name}"


class _Decoder:
    """Turns JSON back into values."""

    def __init__(self, groups: Mapping[str, xr.Dataset]) -> None:
        self.used: set[str] = set()
        self._repeated: list[tuple[str, ...]] = []
        self._groups = groups
        self._classes = _classes()

    def decode(self, node: Any) -> Any:
        """Return the value of a JSON node."""
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        match next(iter(node.items())) if len(node) == 1 else ("", None):
            case "float", content:
                return float(content)
            case "texts", content:
                self._repeated.append(tuple(map(str, content)))
                return self._repeated[-1]
            case "again", content:
                return self._repeated[content]
            case "tuple", content:
                return tuple(self.decode(item) for item in content)
            case "dict", content:
                return {self.decode(key): self.decode(value) for key, value in content}
            case "scalar", (str() as dtype, value):
                return _known_dtype(dtype, "biufU").type(self.decode(value))
            case "array", dict() as content:
                return self._array(**content)
            case "items", dict() as content:
                return self._objects(**content)
            case "group", content:
                return self._groups[content]
            case "does_not_exist", content:
                return DoesNotExist(str(content))
            case "class", dict() as content:
                return self._object(**content)
            case _:
                raise ValueError(f"its state has an entry of no known kind, {sorted(node)}")

    def _array(self, variable: str, dtype: str, shape: list[int], order: list[int]) -> NDArray[Any]:
        group, _, name = variable.partition("/")
        self.used.add(variable)
        values = self._groups[group][name].values.reshape(shape).astype(_known_dtype(dtype, "biuf"), copy=False)
        return np.asarray(values.transpose(order), order="C").transpose(np.argsort(order).astype(int))

    def _objects(self, dtype: str, shape: list[int], items: list[Any]) -> NDArray[Any]:
        array = np.empty(len(items), _known_dtype(dtype, "OU"))
        for index, item in enumerate(items):
            array[index] = self.decode(item)
        return array.reshape(shape)

    def _object(self, name: str, values: dict[str, Any]) -> Any:
        cls = self._classes.get(name)
        if cls is None:
            raise ValueError(f"it names the class {name!r}, which is none that a model may hold")
        _check_names(f"the {name}", set(values), set(_field_names(cls)))
        return cls(**{field: self.decode(value) for field, value in values.items()})


def _field_names(cls: Any) -> list[str]:
    return [field.name for field in fields(cls) if field.init]


def _check_names(what: str, found: set[str], expected: set[str]) -> None:
    if found != expected:
        problems = [f"lacks {name!r}" for name in sorted(expected - found)]
        problems += [f"has an unknown {name!r}" for name in sorted(found - expected)]
        raise ValueError(f"{what} in it {' and '.join(problems)}")


def _is_number(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "biu" or (dtype.kind == "f" and dtype.itemsize <= 8)


def _known_dtype(name: str, kinds: str) -> np.dtype[Any]:
    """Return the dtype of a name; plain ones of some kinds only."""
    dtype = np.dtype(str(name))
    if dtype.kind not in kinds or not (_is_number(dtype) or dtype.kind in "OU"):
        raise ValueError(f"it has an array of {name!r}, which no model has")
    return dtype


def _restored(state: dict[str, Any], groups: Mapping[str, xr.Dataset]) -> BayesClassifier:
    """Return the classifier of a decoded file."""
    _check_names("the state", set(state), {"classifier", "parameters", "fitted"})
    cls = _classifiers().get(state["classifier"])
    if cls is None:
        raise ValueError(f"it names the classifier {state['classifier']!r}, which bayesclf does not have")
    decoder = _Decoder(groups)
    parameters = {name: decoder.decode(node) for name, node in state["parameters"].items()}
    fitted = {RENAMED.get(name, name): decoder.decode(node) for name, node in state["fitted"].items()}
    _check_names(f"the {cls.__name__}", set(parameters), set(cls._get_param_names()))
    strange = {name for name in fitted if not _is_fitted_name(cls, name)}
    _check_names("the fitted state", strange | (fitted.keys() & REQUIRED), REQUIRED)
    unused = {name for name in map(str, groups[GROUP].variables) if f"{GROUP}/{name}" not in decoder.used}
    _check_names(f"the group {GROUP!r}", unused, set())
    clf = cls(**parameters)
    for name, value in fitted.items():
        setattr(clf, name, value)
    _ = clf.posterior_  # parts that do not fit together fail here rather than at the first prediction
    return clf


def _read(path: Path) -> dict[str, xr.Dataset]:
    """Return the groups of a file, in memory."""
    import h5py
    import xarray as xr

    if os.path.isdir(path):
        raise InputError(f"{path} is a folder; give the file that save wrote")
    try:
        with path.open("rb") as file:
            start = file.read(len(SIGNATURE))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; check the path") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({_reason(error)}); check the path and your rights") from None
    if start != SIGNATURE:
        raise InputError(f"{path} is {'not a model' if start else 'empty'}; give a file that save wrote")
    try:
        # First by itself, as h5netcdf prints a traceback of its own when it stops halfway.
        with h5py.File(path) as file:
            file.visititems(_visit)
        with xr.open_datatree(path, engine="h5netcdf") as tree:
            return {name: node.to_dataset(inherit=False).load().drop_encoding() for name, node in tree.children.items()}
    except Exception:  # a damaged file can fail anywhere in HDF5's, h5netcdf's and xarray's code, in any way
        raise InputError(f"{path} is cut off or damaged; copy it again, or save the model again") from None


def _visit(name: str, item: Any) -> None:
    """Read the attributes of a group or data set."""
    dict(item.attrs)


def _target(path: str | os.PathLike[str]) -> Path:
    """Return the file to write, links followed, so that a link to it stays one."""
    target = Path(os.path.realpath(path))
    if os.path.isdir(target):
        raise InputError(f"{path} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent} to save in; create it, or check the path")
    return target


def _compression(tree: xr.DataTree) -> dict[str, dict[str, Any]]:
    """Return xarray's encoding; it replaces what a variable brings along from elsewhere."""
    return {
        node.path: {
            str(name): {"zlib": True, "complevel": 1}
            for name, variable in node.to_dataset(inherit=False).variables.items()
            if variable.ndim and variable.nbytes > COMPRESS_ABOVE and _is_number(variable.dtype)
        }
        for node in tree.subtree
    }


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
