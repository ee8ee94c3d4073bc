"""Public names, signatures and options are those on record; a change of one is told by name.

After an intended change, ``python tests/test_public_api.py`` writes the record anew.
"""

import ast
import dataclasses
import inspect
import json
import re
import sys
import typing
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import pytest
import typer

import bayesclf

RECORD = Path(__file__).with_name("public_api.json")

MODULES = (
    *(f"bayesclf.{name}" for name in ("conformal", "diagnostics", "engines", "errors", "experiments")),
    *(f"bayesclf.{name}" for name in ("evaluation.comparison", "evaluation.learning", "evaluation.leave_one_out")),
    *(f"bayesclf.{name}" for name in ("evaluation.predictive_checks", "evaluation.scores")),
    *(f"bayesclf.{name}" for name in ("families", "finite", "interpretation.dependence")),
    *(f"bayesclf.{name}" for name in ("plots", "posterior.averaging", "pymc_models", "rules", "stacking", "tables")),
    *("bayesclf.experiments.sample_size", "bayesclf.tables.datasets"),
)
"""Modules of public names, in addition to the package itself."""

REQUEST = re.compile("set_.*_request")
"""Methods that scikit-learn makes, by its version."""


def public_names(module):
    """Return the names that a module exports, or else those that it defines itself."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    names = set()
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.TypeAlias):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None) or node.name]
            names |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return sorted(name for name in names if not name.startswith("_"))


def signature(function):
    """Return names, kinds and defaults of the parameters, without annotations."""
    found = inspect.signature(function)
    bare = [parameter.replace(annotation=parameter.empty) for parameter in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


def members(cls):
    """Return the public methods, properties and class attributes that the package's own classes define."""
    found, fields = {}, {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else ()
    for owner in reversed(cls.__mro__):
        if not owner.__module__.startswith("bayesclf"):
            continue
        for name in list(vars(owner)):
            getattr(owner, name)  # methods from rooms above become functions of the class on first access
            member = vars(owner)[name]
            if not name.startswith("_") and not REQUEST.fullmatch(name) and name not in fields:
                value = getattr(member, "__func__", member)
                found[name] = f"method{signature(value)}" if inspect.isfunction(value) else "attribute"
    return dict(sorted(found.items()))


def described(value):
    """Return what is frozen of a public object."""
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value) and issubclass(value, Exception):
        return "exception of " + ", ".join(cls.__name__ for cls in value.__mro__[1:-3])
    if isinstance(value, typing.TypeAliasType) or typing.get_origin(value):
        return "type"
    if inspect.isclass(value):
        return {"class": signature(value), **members(value)}
    if callable(value):
        return f"function{signature(value)}"
    if isinstance(value, Mapping):
        return f"keys {', '.join(map(str, value))}"
    if isinstance(value, tuple) and all(hasattr(item, "code") for item in value):
        return f"codes {', '.join(item.code for item in value)}"
    prose = isinstance(value, str) and " " in value
    return repr(value) if isinstance(value, str | int | float | tuple) and not prose else type(value).__name__


def contents(module):
    return {name: described(getattr(module, name)) for name in public_names(module)}


def option(parameter):
    """Return the names of an option or argument of the command line, what it takes, and its default."""
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    traits = [name for name in ("required", "multiple", "is_flag") if getattr(parameter, name, False)]
    return " ".join([names, parameter.metavar or "", *traits, f"default {parameter.default!r}"])


def commands(command, words=("bayesclf",)):
    """Yield each command's words and its options and arguments."""
    yield " ".join(words), {parameter.name: option(parameter) for parameter in command.params}
    for name, inner in sorted(getattr(command, "commands", {}).items()):
        yield from commands(inner, (*words, name))


def command_line():
    from bayesclf.cli import app, experiment

    experiment.register()
    return dict(commands(typer.main.get_command(app)))


def public_api():
    """Return the record of today's names."""
    modules = {name: contents(import_module(name)) for name in ("bayesclf", *MODULES)}
    return {**modules, "command line": command_line()}


def differences(before, now, where):
    """Yield one line for each name that went, came or changed."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted({*before, *now}):
            if name not in now:
                yield f"{where}.{name} is gone"
            elif name not in before:
                yield f"{where}.{name} is new: {now[name]}"
            else:
                yield from differences(before[name], now[name], f"{where}.{name}")
    elif before != now:
        yield f"{where} was {before}, is {now}"


def assert_same(before, now, where):
    changes = list(differences(before, now, where))
    assert not changes, "\n".join([*changes, f"if this is meant, run python tests/{Path(__file__).name}"])


RECORDED = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}


@pytest.mark.parametrize("name", ["bayesclf", *MODULES])
def test_names_and_signatures(name):
    assert_same(RECORDED[name], json.loads(json.dumps(contents(import_module(name)))), name)


def test_options_of_the_command_line():
    assert_same(RECORDED["command line"], json.loads(json.dumps(command_line())), "command line")


def test_every_module_on_record_is_looked_at():
    assert {*RECORDED} == {"bayesclf", *MODULES, "command line"}


def test_a_public_module_shows_its_public_names_only():
    modules = [module for name in bayesclf.__all__ if inspect.ismodule(module := getattr(bayesclf, name))]
    assert len(modules) == 8
    for module in modules:
        assert dir(module) == sorted(module.__all__)


if __name__ == "__main__":
    RECORD.write_text(json.dumps(public_api(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"{RECORD} written\n")
