"""Would the tests notice a wrong sign? Changes of one operator or constant each, and how many of them the tests find.

Run ``python benchmarks/mutation.py`` for 300 changes of the modules in `SUBJECTS`; the result is one JSON line for each
mutant and a table. A site is drawn at random among those of its kind, the same number for each kind.

The tests that a mutant meets are those that execute its statement, as one run under `sys.monitoring` has found, in
order of their duration, those of the test file that mirrors the module first. Each mutant is a fork of a process that
has imported the libraries; there the package is imported with the changed module, and no file is written. A survivor of
which `mutation_equivalent.json` says why no test can tell it from the original counts as equivalent.
"""

import argparse
import ast
import importlib
import json
import os
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.machinery import SourceFileLoader
from multiprocessing import get_context
from pathlib import Path
from types import CodeType
from typing import Any

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = Path(__file__).with_name("mutation_equivalent.json")
SUBJECTS = (
    *("bayesclf/families", "bayesclf/posterior", "bayesclf/engines", "bayesclf/models/logistic"),
    *("bayesclf/rules.py", "bayesclf/decisions.py", "bayesclf/evaluation/scores.py"),
    *("bayesclf/evaluation/leave_one_out.py",),
)
TESTS = (
    *("tests/families", "tests/contracts", "tests/posterior", "tests/engines", "tests/models", "tests/classifiers"),
    *("tests/evaluation", "tests/interpretation", "tests/storage/test_round_trip.py", "tests/test_conformal.py"),
    *("tests/test_rules.py", "tests/test_decisions.py", "tests/test_finite.py", *SUBJECTS[:4]),
)
"""What may kill a mutant: the tests of the same rooms, of those that stand on them, and the doctests of folders."""
LIBRARIES = ("arviz", "h5netcdf", "joblib", "matplotlib.pyplot", "nutpie", "pymc", "sklearn.ensemble", "xarray")
CPU_SECONDS, BYTES = 150, 8 * 2**30
"""What a mutant may take: many times what its tests take, as a loop that never ends counts as found."""
TEST_SECONDS = 15.0
"""How much work of tests a mutant meets, in CPU seconds as the unchanged code took for it."""
ARGUMENTS = (
    *("-q", "-p", "no:cacheprovider", "-m", "not slow and not nightly and not browser", "--tb=short", "-o"),
    "addopts=--doctest-modules --import-mode=importlib -p no:zarr --strict-markers",
)

ARITHMETIC = {
    **{"Add": "Sub", "Sub": "Add", "Mult": "Div", "Div": "Mult", "Pow": "Mult", "FloorDiv": "Mult", "Mod": "FloorDiv"},
    **{"BitAnd": "BitOr", "BitOr": "BitAnd"},
}
NEGATED = {
    **{"Eq": "NotEq", "NotEq": "Eq", "Lt": "GtE", "GtE": "Lt", "Gt": "LtE", "LtE": "Gt"},
    **{"Is": "IsNot", "IsNot": "Is", "In": "NotIn", "NotIn": "In"},
}
BOUNDARY = {"Lt": "LtE", "LtE": "Lt", "Gt": "GtE", "GtE": "Gt"}
"""Names of operators of `ast`, and what each becomes."""
FOUND, OUTCOMES = 3, {0: "survived", 3: "killed"}
"""Status of a fork in which a test failed, and what a status means."""
KINDS = ("arithmetic", "comparison", "boundary", "constant", "boolean")


@dataclass(frozen=True)
class Mutant:
    """One change: which node of a module's tree, in the order of `ast.walk`, becomes what."""

    module: str
    kind: str
    node: int
    line: int
    end: int
    statement: str
    before: str
    after: str
    place: int
    """The number of equal changes before it in the module."""


def key(entry: dict[str, Any]) -> tuple[str, str, str, str, int]:
    """Return what names a mutant, whatever lines come before it."""
    return entry["module"], entry["statement"], entry["before"], entry["after"], entry.get("place", 0)


def changed(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Return the kinds of change that a node allows, each with what it becomes."""
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op).__name__ in ARITHMETIC:
            yield "arithmetic", _with(node, op=_other(op, ARITHMETIC))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "arithmetic", operand
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "boolean", operand
        case ast.BoolOp(op=op):
            yield "boolean", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.Compare(ops=[op, *others]):
            yield "comparison", _with(node, ops=[_other(op, NEGATED), *others])
            if type(op).__name__ in BOUNDARY:
                yield "boundary", _with(node, ops=[_other(op, BOUNDARY), *others])
        case ast.Constant(value=bool(value)):
            yield "boolean", _with(node, value=not value)
        case ast.Constant(value=int(value)):
            yield "constant", _with(node, value=value + 1)
        case ast.Constant(value=float(value)):
            yield "constant", _with(node, value=2 * value if value else 1.0)


def _other(op: ast.AST, others: dict[str, str]) -> Any:
    """Return the operator that replaces another one."""
    return getattr(ast, others[type(op).__name__])()


def _with(node: Any, **fields: Any) -> ast.AST:
    """Return a copy of a node with some fields changed."""
    made = type(node)(**{name: fields.get(name, getattr(node, name)) for name in node._fields})
    return ast.copy_location(made, node)


def _beside_the_point(tree: ast.Module) -> set[int]:
    """Return the nodes that no test can or should notice: annotations, decorators, and names of types."""
    parts: list[ast.AST] = [node for node in ast.walk(tree) if isinstance(node, ast.TypeAlias)]
    for node in ast.walk(tree):
        parts += [part for name in ("annotation", "returns") if (part := getattr(node, name, None))]
        parts += getattr(node, "decorator_list", [])
    return {id(inner) for part in parts for inner in ast.walk(part)}


def mutants(module: str) -> Iterator[Mutant]:
    """Yield all changes of a module."""
    text = (ROOT / module).read_text()
    tree, lines = ast.parse(text), text.splitlines()
    aside, spans = _beside_the_point(tree), _statements(tree)
    seen: Counter[tuple[str, ...]] = Counter()
    for number, node in enumerate(ast.walk(tree)):
        for kind, new in changed(node) if id(node) not in aside and hasattr(node, "lineno") else ():
            first, last = spans[id(node)]
            before, after = " ".join(ast.unparse(node).split()), " ".join(ast.unparse(new).split())
            statement = " ".join(" ".join(lines[first - 1 : last]).split())
            place = seen[statement, before, after]
            seen[statement, before, after] += 1
            yield Mutant(module, kind, number, first, last, statement, before, after, place)


def _statements(tree: ast.Module) -> dict[int, tuple[int, int]]:
    """Return the lines of the innermost simple statement, or the head of the compound one, of each node."""
    spans: dict[int, tuple[int, int]] = {}
    for node in ast.walk(tree):  # from the outside to the inside
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            body = getattr(node, "body", None)
            first = getattr(node, "lineno", body[0].lineno - 1 if body else 1)
            last = max(first, body[0].lineno - 1) if body else node.end_lineno or first
            spans |= {id(inner): (first, last) for inner in ast.walk(node)}
    return spans


def mutated(mutant: Mutant) -> ast.Module:
    """Return the module's tree with the change."""
    tree = ast.parse((ROOT / mutant.module).read_text())
    old = next(node for number, node in enumerate(ast.walk(tree)) if number == mutant.node)
    new = dict(changed(old))[mutant.kind]

    class Change(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return new if node is old else self.generic_visit(node)

    return ast.fix_missing_locations(Change().visit(tree))


def drawn(number: int, seed: int, subjects: Sequence[str]) -> list[Mutant]:
    """Draw the same number of changes of each kind."""
    modules = [path for subject in subjects for path in sorted((ROOT / subject).rglob("*.py")) or [ROOT / subject]]
    every = [mutant for path in modules for mutant in mutants(str(path.relative_to(ROOT)))]
    rng = random.Random(seed)
    chosen = []
    for place, kind in enumerate(KINDS):
        of_kind = [mutant for mutant in every if mutant.kind == kind]
        share = number // len(KINDS) + (place < number % len(KINDS))
        chosen += rng.sample(of_kind, min(share, len(of_kind)))
    return chosen


class Reach:
    """A pytest plugin that notes which lines of the subjects each test executes, and for how long it runs."""

    tool, events = sys.monitoring.COVERAGE_ID, sys.monitoring.events

    def __init__(self, subjects: Sequence[str]) -> None:
        self.subjects = tuple(str(ROOT / subject) for subject in subjects)
        self.lines: set[tuple[str, int]] = set()
        self.seconds: dict[str, float] = {}
        self.reached: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
        sys.monitoring.use_tool_id(self.tool, "reach")
        sys.monitoring.register_callback(self.tool, self.events.PY_START, self.start)
        sys.monitoring.register_callback(self.tool, self.events.LINE, self.line)
        sys.monitoring.set_events(self.tool, self.events.PY_START)

    def start(self, code: CodeType, _: int) -> Any:
        """Watch the lines of a function of the subjects."""
        if code.co_filename.startswith(self.subjects):
            sys.monitoring.set_local_events(self.tool, code, self.events.LINE)
        return sys.monitoring.DISABLE

    def line(self, code: CodeType, number: int) -> Any:
        """Note a line that the test executes."""
        self.lines.add((str(Path(code.co_filename).relative_to(ROOT)), number))
        return sys.monitoring.DISABLE

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        """Keep the lines of a test, with those of the fixtures that it is the first to use."""
        self.lines = set()
        sys.monitoring.restart_events()
        start = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - start
        for path, number in self.lines:
            self.reached[path][number].append(item.nodeid)
        return result


def focused(mutant: Mutant, reach: dict[str, Any], limit: float) -> list[str]:
    """Return the tests that a mutant meets: as many of those that execute it as a number of CPU seconds allows.

    Code of a module's top level, or that Numba compiles, is executed by no test; it meets all that enter the module,
    and where Numba compiles the whole module, those of the folder that mirrors its own.
    """
    lines, seconds = reach["reached"].get(mutant.module, {}), reach["seconds"]
    span = range(mutant.line, mutant.end + 1)
    path = Path(mutant.module).relative_to("bayesclf")
    mirror = str(Path("tests") / path.parent / f"test_{path.name}")
    tests = {test for number in span for test in lines.get(str(number), ())}
    tests = tests or {test for found in lines.values() for test in found}
    tests = tests or {test for test in seconds if test.startswith(mirror.rpartition("/")[0] + "/")}
    spent, chosen = 0.0, []
    for test in sorted(tests, key=lambda test: (not test.startswith(mirror), seconds[test], test)):
        spent += seconds[test]
        if spent > limit and chosen:
            break
        chosen.append(test)
    return chosen


def forked(work: Callable[[], int], log: Path) -> int:
    """Run a function in a fork, its output in a file; return its status, 1 for an exception and less for a signal."""

    def logged() -> None:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.exit(work())

    process = get_context("fork").Process(target=logged)
    with warnings.catch_warnings():  # of NumPy's threads of linear algebra, which do nothing then
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    process.join()
    return process.exitcode or 0


def tried(mutant: Mutant, tests: Sequence[str], compiled: str) -> int:
    """Run the tests with a mutant, in a fork; return 0 if all pass, and `FOUND` otherwise."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
    if "numba" in (text := (ROOT / mutant.module).read_text()) or "kernel" in text:
        import numba

        numba.config.CACHE_DIR = compiled  # Numba keys its cache by the file, which has not changed
    changed_path, original = str(ROOT / mutant.module), SourceFileLoader.get_code
    code = compile(mutated(mutant), changed_path, "exec", dont_inherit=True)
    SourceFileLoader.get_code = lambda self, name: code if self.path == changed_path else original(self, name)
    try:
        importlib.import_module(mutant.module.removesuffix(".py").replace("/", ".").removesuffix(".__init__"))
    except Exception:
        traceback.print_exc()
        return FOUND
    return FOUND if pytest.main([*ARGUMENTS, "-x", *tests]) else 0


def measured(folder: Path) -> dict[str, Any]:
    """Return which tests reach which lines, from a run of all of them in a fork, unless the folder has it."""
    path = folder / "reach.json"
    if not path.exists():

        def work() -> int:
            reach = Reach(SUBJECTS)
            status = pytest.main([*ARGUMENTS, *TESTS], plugins=[reach])
            path.write_text(json.dumps({"seconds": reach.seconds, "reached": reach.reached}))
            return int(status)

        print("running the unchanged tests once, to see what each of them reaches", flush=True)
        if forked(work, folder / "log"):
            path.unlink(missing_ok=True)
            sys.exit(f"the unchanged tests fail; {folder / 'log'} has their output")
    return dict(json.loads(path.read_text()))


def main(words: Sequence[str] | None = None) -> None:
    """Draw mutants, run each, and print the survivors and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--subjects", nargs="+", default=SUBJECTS, help="files or folders to change")
    parser.add_argument("--folder", type=Path, default=ROOT / ".mutation", help="reach.json, results.jsonl and the log")
    parser.add_argument("--test-seconds", type=float, default=TEST_SECONDS, help="work of tests that a mutant meets")
    parser.add_argument("--only", choices=["survived"], help="run those of results.jsonl with this outcome again")
    options = parser.parse_args(words)
    options.folder.mkdir(exist_ok=True)
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT)]
    for library in LIBRARIES:
        importlib.import_module(library)
    assert "bayesclf" not in sys.modules, "a library has imported the package, so that a mutant would be ignored"
    reach = measured(options.folder)
    reasons = {key(entry): entry["reason"] for entry in json.loads(EQUIVALENT.read_text())}
    path = options.folder / "results.jsonl"
    known = {key(result): result for result in map(json.loads, path.read_text().splitlines())} if path.exists() else {}
    results = []
    for mutant in drawn(options.number, options.seed, options.subjects):
        result = known.get(key(vars(mutant)))
        if result is None or result["outcome"] == options.only:
            tests, log = focused(mutant, reach, options.test_seconds), options.folder / "log"
            with tempfile.TemporaryDirectory() as compiled:
                status = forked(partial(tried, mutant, tests, compiled), log)
            if status == 1:
                sys.exit(f"the mutant could not be run; {log} says why")
            result = asdict(mutant) | {"outcome": OUTCOMES.get(status, "timeout"), "tests": len(tests)}
            with path.open("a") as file:
                file.write(json.dumps(result) + "\n")
        if result["outcome"] == "survived" and key(result) in reasons:
            result = result | {"outcome": "equivalent"}
        results.append(result)
        if result["outcome"] == "survived":
            print(f"{mutant.module}:{mutant.line} {mutant.before}  ->  {mutant.after}", flush=True)
    found = pd.DataFrame(results)
    possible = found[found["outcome"] != "equivalent"]
    print(pd.crosstab(found["kind"], found["outcome"], margins=True))
    print(f"found of those not equivalent: {(possible['outcome'] != 'survived').mean():.1%}")


if __name__ == "__main__":
    main()
