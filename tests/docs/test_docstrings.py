"""Docstrings of public names, as numpydoc's validation reads them."""

import importlib
import inspect

import pytest

import bayesclf as bc

LEFT = {
    "ES01": "a summary of one line can be enough",
    "EX01": "examples stand where a call is not obvious",
    "GL02": "constants have the docstring of their type; what scikit-learn displays ends on the line of the text",
    "GL07": "options that all classifiers share come last, after the attributes of the class",
    "PR01": "names that a summary or another docstring explains",
    "PR03": "the most telling options come first",
    "PR04": "several names in one entry have the types that another docstring gives",
    "PR08": "symbols stand at the beginning",
    "RT01": "a summary that says what is returned",
    "SA01": "the reference links names in the text",
    "SS01": "constants",
    "SS02": "symbols stand at the beginning",
}
"""Checks of numpydoc that are not required, and why; all others are."""

OF_USERS = ("bayesclf", "bayesclf.diagnostics", "bayesclf.plots", "bayesclf.tables.datasets")
"""Modules whose functions describe all parameters and what is returned."""


def public_names():
    """Yield the names of public objects and of the methods of public classes, each function once."""
    seen = set()
    for name in bc.__all__:
        value = getattr(bc, name)
        objects = {f"bayesclf.{name}": value}
        if inspect.ismodule(value):
            objects = {f"{value.__name__}.{own}": getattr(value, own) for own in getattr(value, "__all__", ())}
        for path, one in objects.items():
            yield path
            for method, function in inspect.getmembers(one, inspect.isfunction) if inspect.isclass(one) else ():
                known = (function.__module__, function.__qualname__)
                if not method.startswith("_") and function.__module__.startswith("bayesclf") and known not in seen:
                    seen.add(known)
                    yield f"{path}.{method}"


def public_functions(module):
    """Return (name, function) of the functions that a module exports."""
    made = importlib.import_module(module)
    return [(name, getattr(made, name)) for name in made.__all__ if inspect.isfunction(getattr(made, name))]


pytestmark = pytest.mark.slow
docscrape = pytest.importorskip("numpydoc.docscrape", reason="numpydoc, of the group 'docs', is not installed")
validation = pytest.importorskip("numpydoc.validate", reason="numpydoc, of the group 'docs', is not installed")


def test_docstrings_pass_the_checks_of_numpydoc():
    found = {(name, *error) for name in public_names() for error in validation.validate(name)["errors"]}
    assert {error for error in found if error[1] not in LEFT} == set()
    of_users = {f"{name}.{each}" for name in OF_USERS for each, _ in public_functions(name)}
    assert {error for error in found if error[0] in of_users and error[1] in ("PR01", "RT01")} == set()
    assert {error[1] for error in found} == set(LEFT)


def test_a_parameter_with_an_entry_of_its_own_has_a_type():
    lacking = []
    for name in public_names():
        document = docscrape.NumpyDocString(inspect.getdoc(validation.Validator._load_obj(name)) or "")
        lacking += [(name, own.name) for own in document["Parameters"] if "," not in own.name and not own.type]
    assert lacking == []
