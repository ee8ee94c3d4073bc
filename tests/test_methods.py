"""Methods that rooms above put on a class are like its own, for a program and for an editor."""

import ast
import inspect
import pickle
from importlib import import_module
from pathlib import Path

import pytest

import bayesclf as bc
from bayesclf import methods
from bayesclf.methods import METHODS

LISTED = [(home, name) for home, methods in METHODS.items() for name in methods]
STUB_CLASS = {home: f"{home.partition(':')[2].replace('BayesClassifier', 'Classifier')}Methods" for home in METHODS}
STUB = ast.parse(Path(methods.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))


def looked_up(path):
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


@pytest.mark.parametrize(("home", "name"), LISTED)
def test_a_method_looks_like_one_that_the_class_defines(home, name):
    cls, function = looked_up(home), looked_up(METHODS[home][name])
    method = getattr(cls, name)
    assert (method.__name__, method.__qualname__, method.__module__) == (name, f"{cls.__name__}.{name}", cls.__module__)
    first, *others = inspect.signature(function).parameters.values()
    own, *rest = inspect.signature(method).parameters.values()
    assert (own.name, rest) == ("self", others)
    assert method.__doc__.splitlines()[0] == inspect.getdoc(function).splitlines()[0]
    assert f"\n{first.name} :" not in method.__doc__
    assert f"\n{first.name}\n" not in method.__doc__
    assert vars(cls)[name] is method
    assert name in dir(cls)


def test_a_method_calls_its_function_and_can_be_pickled():
    X, y = [[1.0], [2.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    clf = bc.GaussianNB(random_state=1).fit(X, y)
    again = pickle.loads(pickle.dumps(clf.prior_summary))
    assert again().equals(looked_up("bayesclf.interpretation.summary:prior_summary")(clf))


def bare(function):
    """Return a function's signature without annotations."""
    found = inspect.signature(function)
    parameters = [parameter.replace(annotation=parameter.empty) for parameter in found.parameters.values()]
    return str(found.replace(parameters=parameters, return_annotation=found.empty))


@pytest.mark.parametrize("home", METHODS)
def test_the_stub_has_the_same_methods(home):
    (body,) = (node.body for node in STUB.body if getattr(node, "name", "") == STUB_CLASS[home])
    modules = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in STUB.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            for argument in (*node.args.args, *node.args.kwonlyargs):
                argument.annotation = None
            found[node.name] = f"({ast.unparse(node.args)})" == bare(getattr(looked_up(home), node.name))
        else:
            (name,), value = node.targets, node.value
            function = looked_up(f"{modules[value.value.id]}:{value.attr}")
            found[name.id] = function is looked_up(METHODS[home][name.id])
    assert found == dict.fromkeys(METHODS[home], True)
