"""Fitted classifiers on disk: one netCDF file that ArviZ can open, and that cannot run code.

A file has the groups of `posterior_`, for ArviZ, and after them the state of the classifier: its arrays of numbers, and
all else as JSON (`container`). Reading builds plain values and objects of the classes that `allowed` lists or finds in
the registries of families, engines and classifiers; nothing is ever looked up by a name that a file gives.
"""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.constraints import PATH, require
from bayesclf.errors import InputError
from bayesclf.files import output_file
from bayesclf.storage import allowed, container
from bayesclf.storage.allowed import VERSION, has_fitted_form
from bayesclf.storage.container import MAX_BYTES, Content, Decoder, Encoder, check_names

if TYPE_CHECKING:
    import xarray as xr

    from bayesclf.classifiers import BayesClassifier

__all__ = ["VERSION", "load", "save"]

STRANGE = "was written by another version of bayesclf, or was altered"
"""Why a file with the right checksum is refused if its content is not a model of this version."""

PARTS = ("parameters", "fitted")
"""Parts of a classifier's state: the arguments of its constructor, and what `fit` has set."""

LIBRARIES = ("bayesclf", "pymc", "arviz", "numpy")


def save(clf: BayesClassifier, path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to one file, which replaces an existing one only when it is complete.

    Parameters
    ----------
    clf : BayesClassifier
        The classifier. A random generator as its `random_state` is stored as the seed that the fit drew from it.
    path : str or path
        The file, customarily ``….nc``. `arviz.from_netcdf` opens it too, and finds the groups of `posterior_`.

    Raises
    ------
    InputError
        For a value that a file cannot hold, such as a label of a user-defined class, or a path that cannot be written.

    Examples
    --------
    >>> import tempfile, bayesclf as bc
    >>> clf = bc.GaussianNB(random_state=1).fit([[1.0], [1.2], [3.1], [2.9]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     clf.save(f"{folder}/model.nc")
    ...     print(bc.load(f"{folder}/model.nc").predict([[1.1], [3.0]]))
    [0 1]
    """
    from sklearn.utils.validation import check_is_fitted

    known = allowed.classifiers()
    if type(clf) not in known.values():
        raise InputError(f"{type(clf).__name__} cannot be saved; the classifiers that can are {', '.join(known)}")
    check_is_fitted(clf, "classes_")
    require(PATH, path=path)
    target = output_file(os.fspath(path), "path") or Path(path)
    tree, encoder = _tree(clf), Encoder()  # the former computes points, which the state has then
    state: dict[str, Any] = {"classifier": type(clf).__name__}
    for part, values in zip(PARTS, (_parameters(clf), _fitted(clf)), strict=True):
        state[part] = {name: encoder.encode(value, name) for name, value in values.items()}
    libraries = {name: version(name) for name in LIBRARIES}
    head = {"format_version": VERSION, "libraries": libraries, "state": state}
    container.write(target, tree, encoder.arrays, head)


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
        raise InputError(f"there is no saved model {source}; tables are read by name with bc.datasets.load")
    content = container.read(source, max_bytes)
    try:
        writer, number = str(content.head["libraries"]["bayesclf"]), int(content.head["format_version"])
        if number == VERSION:
            return _restored(content.head["state"], content)
    except allowed.TooManyDraws as error:
        raise InputError(f"{source}: {error}") from None
    except ValueError as error:
        raise InputError(f"{source} {STRANGE} ({error}); fit the model again") from None
    except Exception:  # JSON of a stranger can fail anywhere, in any way
        raise InputError(f"{source} {STRANGE}; fit the model again") from None
    raise InputError(
        f"{source} was written by bayesclf {writer} in format {number}, but bayesclf {version('bayesclf')} reads "
        f"format {VERSION}; load it with that version, or fit the model again"
    )


def fingerprint(clf: BayesClassifier) -> str:
    """Return a SHA-256 of a fitted classifier, the same when loaded, whatever was computed since the fit."""
    fitted = {name: value for name, value in sorted(_fitted(clf).items()) if name != "points_"}
    return container.fingerprint([type(clf).__name__, _parameters(clf), fitted])


def _tree(clf: BayesClassifier) -> xr.DataTree:
    """Return `posterior_` without what follows from the parameters, which would make files twice as large."""
    import xarray as xr

    if not clf.model_.generative:
        return clf.posterior_
    groups = {name: group.to_dataset(inherit=False) for name, group in clf.posterior_.children.items()}
    follow = clf.model_.shown_dims().keys() - clf.model_.dims().keys()
    axes = clf.model_.shown_coords().keys() - clf.model_.coords().keys()
    return xr.DataTree.from_dict(
        {
            name: group.drop_vars([*(follow & set(group.data_vars)), *(axes & set(group.coords))])
            for name, group in groups.items()
        }
    )


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
    state = {name: value for name, value in clf.__getstate__().items() if name not in parameters}
    for name in state:
        if not _is_fitted_name(cls, name):
            raise InputError(f"the attribute {name!r} is not part of a {cls.__name__}; delete it before saving")
    return state


def _is_fitted_name(cls: type, name: str) -> bool:
    """Return whether a name can be one of fitted state: none that would hide a method or a property."""
    return name.isidentifier() and has_fitted_form(name) and not name.startswith("__") and not hasattr(cls, name)


def _restored(state: dict[str, Any], content: Content) -> BayesClassifier:
    """Return the classifier of a file."""
    check_names("the state", set(state), {"classifier", *PARTS})
    name = state["classifier"]
    cls = allowed.classifiers().get(name)
    if cls is None:
        raise ValueError(f"the file names the classifier {name!r}, which bayesclf does not have")
    decoder = Decoder(content)
    parameters, fitted = ({key: decoder.decode(node) for key, node in state[part].items()} for part in PARTS)
    check_names(f"the {name}", set(parameters), set(cls._get_param_names()))
    strange = {attribute for attribute in fitted if not _is_fitted_name(cls, attribute)}
    required = allowed.fitted_names(cls)
    check_names("the fitted state", strange | (fitted.keys() & required), required)
    clf = cls(**parameters)
    for attribute, value in fitted.items():
        setattr(clf, attribute, value)
    allowed.check(clf, fitted)
    allowed.check_classifier(clf, len(content) // 8, content.most_bytes)
    return clf
