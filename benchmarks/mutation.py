"""Would the tests notice a wrong sign? Changes of one operator or constant each, and how many of them the tests find.

Run ``python benchmarks/mutation.py`` for 300 changes of the modules in `SUBJECTS`; the result is one JSON line for each
mutant and a table. A site is drawn at random among those of its kind, the same number for each kind.

The tests that a mutant meets are those that execute its statement, as one run under `sys.monitoring` has found, in
order of their duration, those of the test file that mirrors the module first. Each mutant is a fork of one process that
has imported the libraries; the changed source replaces the module there, and no file is written. A mutant whose
survivors' list, `mutation_equivalent.json`, says why no test can tell it from the original counts as equivalent.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = Path(__file__).with_name("mutation_equivalent.json")
SUBJECTS = (
    "bayesclf/families",
    "bayesclf/posterior",
    "bayesclf/rules.py",
    "bayesclf/decisions.py",
    "bayesclf/evaluation/scores.py",
    "bayesclf/evaluation/leave_one_out.py",
    "bayesclf/evaluation/leaving_out.py",
    "bayesclf/engines",
    "bayesclf/models/logistic",
)
TESTS = (
    "tests/families",
    "tests/contracts",
    "tests/posterior",
    "tests/inference",
    "tests/models",
    "tests/classifiers",
    "tests/evaluation",
    "tests/interpretation/test_dependence.py",
    "tests/interpretation/test_explanation.py",
    "tests/interpretation/test_summary.py",
    "tests/storage/test_round_trip.py",
    "tests/test_conformal.py",
    "tests/test_rules.py",
    "tests/test_decisions.py",
    "tests/test_finite.py",
    *(subject for subject in SUBJECTS if not subject.endswith(".py")),
)
"""What may kill a mutant: the tests of the same rooms, of those that stand on them, and the doctests of folders."""
LIBRARIES = (
    "arviz", "h5netcdf", "h5py", "joblib", "matplotlib.pyplot", "nutpie", "pandas", "pymc",
    "scipy.optimize", "scipy.stats", "sklearn.ensemble", "xarray",
)  # fmt: skip
CPU_SECONDS = 100
"""What a mutant may take: many times what its tests take, as a loop that never ends counts as found."""
TEST_SECONDS = 15.0
"""How much work of tests a mutant meets, in CPU seconds as the unchanged code took for it."""
BYTES = 8 * 2**30

ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
BOUNDARY: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
}  # fmt: skip
BROKEN = 70
"""Status of a fork that could not do its work."""
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

    def key(self) -> tuple[str, str, str, str, int]:
        """Return what names the change whatever lines come before it; `place` counts equal ones in the module."""
        return self.module, self.statement, self.before, self.after, self.place


def changed(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Return the kinds of change that a node allows, each with what it becomes."""
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield "arithmetic", _with(node, op=ARITHMETIC[type(op)]())
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "arithmetic", operand
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "boolean", operand
        case ast.BoolOp(op=op):
            yield "boolean", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.Compare(ops=[op, *others]):
            yield "comparison", _with(node, ops=[NEGATED[type(op)](), *others])
            if type(op) in BOUNDARY:
                yield "boundary", _with(node, ops=[BOUNDARY[type(op)](), *others])
        case ast.Constant(value=bool(value)):
            yield "boolean", _with(node, value=not value)
        case ast.Constant(value=int(value)):
            yield "constant", _with(node, value=value + 1)
        case ast.Constant(value=float(value)):
            yield "constant", _with(node, value=2 * value if value else 1.0)


def _with(node: Any, **fields: Any) -> ast.AST:
    made = type(node)(**{name: fields.get(name, getattr(node, name)) for name in node._fields})
    return ast.copy_location(made, node)


def _beside_the_point(tree: ast.Module) -> set[int]:
    """Return the nodes that no test can or should notice: annotations, decorators, and types' imports."""
    found: set[int] = set()
    for node in ast.walk(tree):
        aside: list[ast.AST | None] = []
        match node:
            case ast.FunctionDef(decorator_list=decorators, returns=returns):
                aside = [*decorators, returns]
            case ast.ClassDef(decorator_list=decorators):
                aside = [*decorators]
            case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
                aside = [annotation]
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                aside = [node]
            case ast.Assign(value=ast.Subscript(slice=index)) | ast.TypeAlias(value=index):
                aside = [index] if isinstance(index, ast.BinOp) and isinstance(index.op, ast.BitOr) else []
        for part in aside:
            found |= {id(inner) for inner in ast.walk(part)} if part is not None else set()
    return found


def mutants(module: str) -> list[Mutant]:
    """Return all changes of one module."""
    tree = ast.parse((ROOT / module).read_text())
    aside = _beside_the_point(tree)
    spans = _statements(tree)
    lines = (ROOT / module).read_text().splitlines()
    seen: Counter[tuple[str, ...]] = Counter()
    found = []
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in aside or not hasattr(node, "lineno"):
            continue
        for kind, new in changed(node):
            first, last = spans[id(node)]
            before, after = " ".join(ast.unparse(node).split()), " ".join(ast.unparse(new).split())
            statement = " ".join(" ".join(lines[first - 1 : last]).split())
            found.append(
                Mutant(module, kind, number, first, last, statement, before, after, seen[statement, before, after])
            )
            seen[statement, before, after] += 1
    return found


def _statements(tree: ast.Module) -> dict[int, tuple[int, int]]:
    """Return the lines of the innermost simple statement, or the head of the compound one, of each node."""
    spans: dict[int, tuple[int, int]] = {}

    def visit(node: ast.AST, span: tuple[int, int]) -> None:
        if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            body = getattr(node, "body", None)
            first = getattr(node, "lineno", span[0])
            last = max(first, body[0].lineno - 1) if body else getattr(node, "end_lineno", span[1])
            span = first, last
        spans[id(node)] = span
        for child in ast.iter_child_nodes(node):
            visit(child, span)

    visit(tree, (1, 1))
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


class Watched(MetaPathFinder):
    """Finds the package's modules, and compiles each by a function of its path and its tree."""

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "bayesclf":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, self.compiled)
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, compiled: Any) -> None:
        super().__init__(fullname, path)
        self.compiled = compiled

    def get_code(self, fullname: str) -> CodeType | None:
        code = self.compiled(str(Path(self.path).relative_to(ROOT)))
        return code if code is not None else super().get_code(fullname)


class Reach:
    """A pytest plugin that notes which lines of the subjects each test executes, and for how long it runs."""

    tool = sys.monitoring.COVERAGE_ID

    def __init__(self, subjects: Iterable[str]) -> None:
        self.subjects = tuple(subjects)
        self.lines: list[set[tuple[str, int]]] = [set()]
        self.fixtures: dict[Any, set[tuple[str, int]]] = {}
        self.tests: dict[str, tuple[float, set[tuple[str, int]]]] = {}
        sys.monitoring.use_tool_id(self.tool, "reach")
        sys.monitoring.register_callback(self.tool, sys.monitoring.events.LINE, self.line)
        sys.meta_path.insert(0, Watched(self.compiled))

    def compiled(self, path: str) -> CodeType | None:
        if not path.startswith(self.subjects):
            return None
        code = compile((ROOT / path).read_text(), str(ROOT / path), "exec", dont_inherit=True)
        pending = [part for part in code.co_consts if isinstance(part, CodeType)]
        while pending:
            part = pending.pop()
            sys.monitoring.set_local_events(self.tool, part, sys.monitoring.events.LINE)
            pending += [inner for inner in part.co_consts if isinstance(inner, CodeType)]
        return code

    def line(self, code: CodeType, number: int) -> Any:
        self.lines[-1].add((str(Path(code.co_filename).relative_to(ROOT)), number))
        return sys.monitoring.DISABLE

    @contextmanager
    def noted(self) -> Iterator[set[tuple[str, int]]]:
        sys.monitoring.restart_events()
        self.lines.append(set())
        yield self.lines[-1]
        lines = self.lines.pop()
        self.lines[-1] |= lines
        sys.monitoring.restart_events()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        with self.noted() as lines:
            result = yield
        self.fixtures[fixturedef] = lines
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        start = time.process_time()
        with self.noted() as lines:
            result = yield
        for definitions in (getattr(item, "_fixtureinfo", None) and item._fixtureinfo.name2fixturedefs.values()) or ():
            for definition in definitions:
                lines |= self.fixtures.get(definition, set())
        self.tests[item.nodeid] = time.process_time() - start, lines
        return result

    def written(self) -> dict[str, Any]:
        reached: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
        for test, (_, lines) in self.tests.items():
            for path, number in sorted(lines):
                reached[path][number].append(test)
        return {"seconds": {test: seconds for test, (seconds, _) in self.tests.items()}, "reached": reached}


class Choice:
    """A pytest plugin that leaves the chosen tests, in their order, and notes the first that fails."""

    def __init__(self, tests: Sequence[str]) -> None:
        self.place = {test: place for place, test in enumerate(tests)}
        self.failed: str | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.place), key=lambda item: self.place[item.nodeid]
        )

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        self.pytest_runtest_logreport(report)


class Server:
    """A pytest plugin that collects all tests once, and runs mutants of functions in forks of that session."""

    def __init__(self, folder: Path, tasks: Iterator[tuple[Mutant, Sequence[str]]], done: Any) -> None:
        self.folder, self.tasks, self.done = folder, tasks, done
        self.choice = Choice(())

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.choice.pytest_runtest_logreport(report)

    def pytest_runtestloop(self, session: Any) -> bool:
        items = {item.nodeid: item for item in session.items}
        for mutant, tests in self.tasks:
            chosen = [items[test] for test in tests if test in items]
            self.done(mutant, _outcome(lambda m=mutant, c=chosen: self.work(m, c), self.folder, len(chosen)))
        return True

    def work(self, mutant: Mutant, chosen: Sequence[Any]) -> str:
        replace_function(mutant)
        for place, item in enumerate(chosen, start=1):
            following = chosen[place] if place < len(chosen) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.choice.failed is not None:
                break
        return self.choice.failed or ""


def replace_function(mutant: Mutant) -> None:
    """Give the function that a mutant is in its changed code, wherever the function is referred to."""
    place = function_of(mutant)
    new = next(
        code for code in _codes(mutated(mutant), mutant.module) if (code.co_qualname, code.co_firstlineno) == place
    )
    path = str(ROOT / mutant.module)
    found = [
        thing
        for thing in gc.get_objects()
        if isinstance(thing, FunctionType)
        and thing.__code__.co_filename == path
        and (thing.__code__.co_qualname, thing.__code__.co_firstlineno) == place
    ]
    if not found:
        importlib.import_module(_name(mutant))
        return replace_function(mutant)
    for function in found:
        function.__code__ = new


def function_of(mutant: Mutant) -> tuple[str, int] | None:
    """Return the name and first line of the outermost function whose body a mutant is in; None for a module's level."""
    tree = ast.parse((ROOT / mutant.module).read_text())
    node = next(node for number, node in enumerate(ast.walk(tree)) if number == mutant.node)

    def search(parent: ast.AST, name: str) -> tuple[str, int] | None:
        for child in ast.iter_child_nodes(parent):
            if isinstance(child, ast.FunctionDef) and any(
                inner is node for part in child.body for inner in ast.walk(part)
            ):
                return f"{name}{child.name}", min(d.lineno for d in [*child.decorator_list, child])
            if isinstance(child, ast.ClassDef) and (found := search(child, f"{name}{child.name}.")):
                return found
        return None

    return search(tree, "")


def needs_import(mutant: Mutant) -> bool:
    """Return whether a mutant is found by a new import alone: of a module's level, or where Numba has compiled code."""
    return function_of(mutant) is None or "import numba" in (ROOT / mutant.module).read_text()


def _name(mutant: Mutant) -> str:
    return mutant.module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def _codes(tree: ast.Module, module: str) -> Iterator[CodeType]:
    """Yield the code of functions of a module and its classes, generic ones too."""
    pending = [compile(tree, str(ROOT / module), "exec", dont_inherit=True)]
    while pending:
        code = pending.pop()
        yield code
        pending += [part for part in code.co_consts if isinstance(part, CodeType)]


def focused(mutant: Mutant, reach: dict[str, Any], limit: float) -> list[str]:
    """Return the tests that a mutant meets: as many of those that execute it as a number of CPU seconds allows.

    Code of a module's top level, or that Numba compiles, is executed by no test; it meets all that enter the module,
    and where Numba compiles the whole module, those of the folder that mirrors its own.
    """
    lines, seconds = reach["reached"].get(mutant.module, {}), reach["seconds"]
    span = range(mutant.line, mutant.end + 1)
    mirror = _mirror(mutant.module)
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


def _mirror(module: str) -> str:
    path = Path(module).relative_to("bayesclf")
    return str(Path("tests") / path.parent / f"test_{path.name}")


def _fork(work: Any, log: Path) -> tuple[int, bool]:
    """Run a function in a fork, its output in a file; return its status, and whether it ran out of time."""
    with warnings.catch_warnings():  # NumPy's threads of linear algebra, which do nothing then
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = BROKEN
        try:
            output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            status = work()
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    late = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
    return (os.waitstatus_to_exitcode(status), late)


def anew(mutant: Mutant, tests: Sequence[str]) -> str:
    """Run a mutant that needs a new import in a session of its own; return the test that failed, if any."""
    code = compile(mutated(mutant), str(ROOT / mutant.module), "exec", dont_inherit=True)
    sys.meta_path.insert(0, Watched(lambda path: code if path == mutant.module else None))
    try:
        importlib.import_module(_name(mutant))  # before pytest, which reads the file itself where it has doctests
    except Exception as error:
        return f"its import: {type(error).__name__}"
    choice = Choice(tests)
    status = pytest.main([*ARGUMENTS, "-x", *sorted({test.partition("::")[0] for test in tests})], plugins=[choice])
    return choice.failed or ("" if status == 0 else f"status {status}")


def _outcome(work: Any, folder: Path, tests: int) -> dict[str, Any]:
    """Run a mutant in a fork, with bounded time and memory, and return what became of it."""
    found = folder / f"failed-{os.getpid()}"
    found.unlink(missing_ok=True)

    def bounded() -> int:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
        with tempfile.TemporaryDirectory() as compiled:  # Numba keys its cache by the file, which has not changed
            import numba

            numba.config.CACHE_DIR = compiled
            failed = work()
        found.write_text(failed)
        return int(bool(failed))

    start = time.perf_counter()
    status, late = _fork(bounded, folder / f"log-{os.getpid()}")
    if status == BROKEN:
        sys.exit(f"the mutant could not be run; {folder / f'log-{os.getpid()}'} says why")
    outcome = "survived" if status == 0 else "timeout" if late else "killed"
    by = found.read_text() if found.exists() else ""
    return {"outcome": outcome, "by": by, "seconds": round(time.perf_counter() - start, 1), "tests": tests}


ARGUMENTS = (
    "-q",
    "-p",
    "no:cacheprovider",
    "-m",
    "not slow and not browser",
    "--tb=short",
    "-o",
    "addopts=--doctest-modules --import-mode=importlib -p no:zarr --strict-markers",
)


def measured(folder: Path) -> dict[str, Any]:
    """Return which tests reach which lines, from a run of all of them in a fork, unless the folder has it."""
    path = folder / "reach.json"
    if not path.exists():

        def work() -> int:
            reach = Reach(SUBJECTS)
            status = pytest.main([*ARGUMENTS, *TESTS], plugins=[reach])
            path.write_text(json.dumps(reach.written()))
            return int(status)

        print("running the unchanged tests once, to see what each of them reaches", flush=True)
        status, _ = _fork(work, folder / "log")
        if status:
            path.unlink(missing_ok=True)
            sys.exit(f"the unchanged tests fail; {folder / 'log'} has their output")
    return json.loads(path.read_text())


def key(entry: dict[str, Any]) -> tuple[str, str, str, str, int]:
    """Return the `Mutant.key` of a result or of an equivalent mutant."""
    return entry["module"], entry["statement"], entry["before"], entry["after"], entry.get("place", 0)


def table(results: Sequence[dict[str, Any]]) -> str:
    """Return counts by kind: what was found, what survived, and what is equivalent."""
    rows = [f"{'kind':<12}{'mutants':>9}{'killed':>9}{'survived':>10}{'equivalent':>12}{'killed of the others':>22}"]
    for kind in (*KINDS, "all"):
        outcomes = Counter(result["outcome"] for result in results if kind in (result["kind"], "all"))
        killed, total = outcomes["killed"] + outcomes["timeout"], outcomes.total()
        share = killed / max(total - outcomes["equivalent"], 1)
        rows.append(
            f"{kind:<12}{total:>9}{killed:>9}{outcomes['survived']:>10}{outcomes['equivalent']:>12}{share:>22.1%}"
        )
    return "\n".join(rows)


def main(words: Sequence[str] | None = None) -> None:
    """Draw mutants, run each, and print the survivors and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--subjects", nargs="+", default=SUBJECTS, help="files or folders to change")
    parser.add_argument("--folder", type=Path, default=ROOT / ".mutation", help="reach.json, results.jsonl and the log")
    parser.add_argument("--test-seconds", type=float, default=TEST_SECONDS, help="work of tests that a mutant meets")
    parser.add_argument("--part", default="1/1", help="such as 2/3: every third mutant, from the second")
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
    part, parts = map(int, options.part.split("/"))
    chosen = drawn(options.number, options.seed, options.subjects)
    pending = []
    for mutant in chosen[part - 1 :: parts]:
        result = known.get(mutant.key())
        if result is None or result["outcome"] == options.only:
            pending.append((mutant, focused(mutant, reach, options.test_seconds)))

    def done(mutant: Mutant, outcome: dict[str, Any]) -> None:
        known[mutant.key()] = asdict(mutant) | outcome
        with path.open("a") as file:
            file.write(json.dumps(known[mutant.key()]) + "\n")

    for mutant, tests in pending:
        if needs_import(mutant):
            done(mutant, _outcome(lambda m=mutant, t=tests: anew(m, t), options.folder, len(tests)))
    inside = [(mutant, tests) for mutant, tests in pending if not needs_import(mutant)]
    if inside:
        files = sorted({test.partition("::")[0] for _, tests in inside for test in tests})
        pytest.main([*ARGUMENTS, "-s", *files], plugins=[Server(options.folder, iter(inside), done)])
    results = []
    for mutant in chosen:
        if (result := known.get(mutant.key())) is None:
            continue
        if result["outcome"] == "survived" and mutant.key() in reasons:
            result = result | {"outcome": "equivalent"}
        results.append(result)
        if result["outcome"] == "survived":
            print(f"{mutant.module}:{mutant.line} {mutant.before}  ->  {mutant.after}", flush=True)
    print(table(results))


if __name__ == "__main__":
    main()
