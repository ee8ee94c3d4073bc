"""Fitted classifiers on disk: one netCDF file that ArviZ can open, and that cannot run code.

A file has the groups of `posterior_` and one more, `GROUP`, with the state of the classifier: its arrays of numbers as
variables, all else as JSON (`encoding`). Reading builds plain values and objects of the classes that `formats` lists or
finds in the registries of families, engines and classifiers; nothing is ever looked up by a name that a file gives.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.errors import DoesNotExist, InputError
from bayesclf.storage import declared, domains, netcdf, origins, sizes, trial
from bayesclf.storage.encoding import GROUP, Decoder, Encoder, check_names
from bayesclf.storage.formats import VERSION, classifiers, has_fitted_form
from bayesclf.storage.netcdf import MAX_BYTES

if TYPE_CHECKING:
    import xarray as xr

    from bayesclf.classifiers import BayesClassifier

__all__ = ["GROUP", "VERSION", "load", "save"]

FORMAT = "bayesclf classifier"
DAMAGED = "is damaged or was altered"
PARTS = ("parameters", "fitted")
"""Parts of a classifier's state: the arguments of its constructor, and what `fit` has set."""

LIBRARIES = ("bayesclf", "pymc", "arviz", "numpy")


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

    allowed = classifiers()
    if type(clf) not in allowed.values():
        raise InputError(f"{type(clf).__name__} cannot be saved; the classifiers that can are {', '.join(allowed)}")
    check_is_fitted(clf, "classes_")
    target = netcdf.target_of(path)
    tree = clf.posterior_
    encoder = Encoder(_places(clf, tree))
    state: dict[str, Any] = {"classifier": type(clf).__name__}
    for part, values in zip(PARTS, (_parameters(clf), _fitted(clf)), strict=True):
        state[part] = {name: encoder.encode(value, name) for name, value in values.items()}
    groups = {name: node.to_dataset(inherit=False) for name, node in tree.children.items()}
    text = json.dumps(state, allow_nan=False)
    groups[GROUP] = xr.Dataset(encoder.variables)
    groups[GROUP].attrs = {
        "format": FORMAT,
        "format_version": VERSION,
        "libraries": json.dumps({name: version(name) for name in LIBRARIES}),
        "state": text,
        "checksum": netcdf.checksum(groups, text),
    }
    netcdf.write(target, xr.DataTree.from_dict(groups))


def load(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> BayesClassifier:
    """Read a classifier that `save` wrote; it gives the same answers, to the last bit.

    Files of strangers can be read: at worst they hold a bad model. That promise is `load`'s: `arviz.from_netcdf` reads
    whatever a file points at.

    Parameters
    ----------
    path : str or path
        The file.
    max_bytes : int
        Largest size of the file, and of all its arrays together, in bytes. Draws that each prediction makes again from
        a seed may have 64 times as many.

    Returns
    -------
    BayesClassifier
        Of the class that was saved, fitted.

    Raises
    ------
    InputError
        If the file is missing, damaged, of another version of the format, or not a model at all.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path must be the name of a file that save wrote, not {type(path).__name__}")
    source = Path(path)
    if not source.suffix and not source.exists():
        raise InputError(f"there is no saved model {source}; tables are read by name with bayesclf.datasets.load")
    groups = netcdf.read(source, max_bytes)
    attributes = groups[GROUP].attrs if GROUP in groups else {}
    given = attributes.get("format")
    if not isinstance(given, str) or given != FORMAT:  # of a damaged file, it can be anything
        raise InputError(f"{source} is not a model; give a file that save wrote")
    try:
        libraries, number = json.loads(attributes["libraries"]), int(attributes["format_version"])
        writer = str(libraries["bayesclf"])
        if number == VERSION:
            state = attributes["state"]
            if attributes["checksum"] != netcdf.checksum(groups, state):
                raise ValueError("its checksum differs")
            return _restored(json.loads(state), groups, max_bytes)
    except sizes.TooManyDraws as error:
        raise InputError(f"{source}: {error}") from None
    except ValueError as error:
        raise InputError(f"{source} {DAMAGED} ({error}); save the model again") from None
    except Exception:  # JSON of a stranger can fail anywhere, in any way
        raise InputError(f"{source} {DAMAGED}; save the model again") from None
    raise InputError(
        f"{source} was written by bayesclf {writer} in format {number}, but bayesclf {version('bayesclf')} reads "
        f"format {VERSION}; load it with that version, or fit the model again"
    )


def fingerprint(clf: BayesClassifier) -> str:
    """Return a SHA-256 of a fitted classifier: that of the one that was saved and of the one that `load` returned.

    It does not depend on what the classifier has computed since it was fitted.
    """
    fitted = {name: value for name, value in sorted(_fitted(clf).items()) if name != "points_"}
    stats = None if clf.draws_ is None else clf.draws_.stats
    places = {} if stats is None else {id(stats): "sample_stats"}
    return origins.fingerprint([type(clf).__name__, _parameters(clf), fitted], places)


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
    return name.isidentifier() and has_fitted_form(name) and not name.startswith("__") and not hasattr(cls, name)


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


def _restored(state: dict[str, Any], groups: Mapping[str, xr.Dataset], max_bytes: int) -> BayesClassifier:
    """Return the classifier of a file."""
    check_names("the state", set(state), {"classifier", *PARTS})
    name = state["classifier"]
    cls = classifiers().get(name)
    if cls is None:
        raise ValueError(f"it names the classifier {name!r}, which bayesclf does not have")
    decoder = Decoder(groups)
    parameters, fitted = ({key: decoder.decode(node) for key, node in state[part].items()} for part in PARTS)
    check_names(f"the {name}", set(parameters), set(cls._get_param_names()))
    strange = {attribute for attribute in fitted if not _is_fitted_name(cls, attribute)}
    required = declared.fitted_names(cls)
    check_names("the fitted state", strange | (fitted.keys() & required), required)
    unused = {key for key in map(str, groups[GROUP].variables) if f"{GROUP}/{key}" not in decoder.used}
    check_names(f"the group {GROUP!r}", unused, set())
    clf = cls(**parameters)
    for attribute, value in fitted.items():
        setattr(clf, attribute, value)
    declared.check(clf, fitted)
    sizes.check(clf, sum(values.size for group in groups.values() for values in group.variables.values()), max_bytes)
    domains.check(clf)
    trial.check(clf)
    _ = clf.posterior_  # parts that do not fit together fail here rather than at the first prediction
    return clf
