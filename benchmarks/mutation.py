"""Would the tests notice a wrong sign? Changes of one operator or constant each, and how many of them the tests find.

``python benchmarks/mutation.py`` draws 100 lines of the package and a change in each. It writes one change at a time
into a copy of the repository. There a fork of this process, which has the libraries already, runs quick tests until
one fails or time is up: those that mirror the module first, then those that name what is changed, then the others of
the room and the contracts.

Each outcome is a line of `results/mutants.jsonl`, from which a run that was ended goes on. Where no test can tell a
survivor from the original, its outcome there is changed to "equivalent" by hand, and its reason added.
"""

import argparse
import ast
import importlib
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("arviz", "h5netcdf", "joblib", "matplotlib.pyplot", "nutpie", "pymc", "sklearn.ensemble", "xarray")
ARGUMENTS = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider", "--tb=line", "--doctest-modules", "-m")
QUICK = "not slow and not nightly and not browser"
NOT_OF_ROOMS = ("test_imports.py", "test_public_api.py", "test_words.py", "test_project.py", "test_notebooks.py")
"""Tests of how the sources are written, and of whole pages."""
LOOPS = 5
"""A fork that takes so many times the time for tests is ended: the changed code does not end."""
OTHERS = {
    **{"Add": "Sub", "Sub": "Add", "Mult": "Div", "Div": "Mult", "Pow": "Mult", "FloorDiv": "Mult", "Mod": "FloorDiv"},
    **{"BitAnd": "BitOr", "BitOr": "BitAnd", "And": "Or", "Or": "And", "Eq": "NotEq", "NotEq": "Eq", "Is": "IsNot"},
    **{"IsNot": "Is", "In": "NotIn", "NotIn": "In", "Lt": "GtE", "GtE": "Lt", "Gt": "LtE", "LtE": "Gt"},
}
BOUNDARY = {"Lt": "LtE", "LtE": "Lt", "Gt": "GtE", "GtE": "Gt"}
"""Names of operators of `ast`, and what each becomes."""


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a node may become."""
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op) if type(op).__name__ in OTHERS:
            yield _with(node, op=getattr(ast, OTHERS[type(op).__name__])())
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield operand
        case ast.Compare(ops=[op, *others]):
            for table in (OTHERS, BOUNDARY):
                if other := table.get(type(op).__name__):
                    yield _with(node, ops=[getattr(ast, other)(), *others])
        case ast.Constant(value=bool(value)):
            yield _with(node, value=not value)
        case ast.Constant(value=int(value)):
            yield _with(node, value=value + 1)
        case ast.Constant(value=float(value)):
            yield _with(node, value=2 * value if value else 1.0)


def _with(node: Any, **fields: Any) -> ast.AST:
    """Return a copy of a node with some fields changed."""
    return ast.copy_location(type(node)(**dict(ast.iter_fields(node)) | fields), node)


def _aside(tree: ast.Module) -> set[int]:
    """Return the nodes that no test can or should notice: annotations, decorators, and names of types."""
    parts: list[ast.AST] = []
    for node in ast.walk(tree):
        parts += [node] if isinstance(node, ast.TypeAlias) else getattr(node, "decorator_list", [])
        parts += [part for name in ("annotation", "returns") if (part := getattr(node, name, None))]
    return {id(inner) for part in parts for inner in ast.walk(part)}


def drawn(number: int, seed: int) -> list[dict[str, Any]]:
    """Draw lines of the package, and a change in each."""
    lines = defaultdict(list)
    for path in sorted((ROOT / "bayesclf").rglob("*.py")):
        text = path.read_text()
        tree, source = ast.parse(text), text.splitlines()
        names = {id(inner): top.name for top in tree.body if hasattr(top, "name") for inner in ast.walk(top)}
        aside = _aside(tree)
        for place, node in enumerate(ast.walk(tree)):
            for way, new in enumerate(changed(node) if id(node) not in aside else ()):
                module, line = str(path.relative_to(ROOT)), node.lineno
                code = {"module": module, "line": line, "node": place, "way": way, "name": names.get(id(node), "")}
                words = {"before": ast.unparse(node), "after": ast.unparse(new), "code": source[line - 1].strip()}
                lines[module, line].append(code | words)
    rng = random.Random(seed)
    return [rng.choice(lines[where]) for where in rng.sample(sorted(lines), number)]


def mutated(text: str, mutant: dict[str, Any]) -> str:
    """Return a module's text with a change."""
    tree = ast.parse(text)
    old = list(ast.walk(tree))[mutant["node"]]
    new = list(changed(old))[mutant["way"]]

    class Change(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return new if node is old else self.generic_visit(node)

    return ast.unparse(ast.fix_missing_locations(Change().visit(tree)))


def files_for(module: str, name: str) -> list[str]:
    """Return the test files that a changed module meets, the nearest first."""
    path = Path(module).relative_to("bayesclf")
    words = re.compile(rf"\b({path.stem}|{name.strip('_') or path.stem})\b")

    def distance(file: Path) -> tuple[int, int]:
        text, room = file.read_text(), file.relative_to(ROOT / "tests").parent
        near = [
            file.name == f"test_{path.stem}.py" and room == path.parent,
            file.name == f"test_{path.stem}.py",
            bool(words.search(text)) and room == path.parent,
            bool(words.search(text)),
            room == path.parent != Path(),
            room.name == "contracts",
        ]
        return near.index(True) if any(near) else len(near), len(text)

    every = (ROOT / "tests").rglob("test_*.py")
    files = [file for file in every if file.parent.name not in ("fuzz", "docs") and file.name not in NOT_OF_ROOMS]
    ranked = sorted((distance(file), str(file.relative_to(ROOT))) for file in files)
    return [module, *(file for (near, _), file in ranked if near < 6)]


class Limit:
    """A pytest plugin that begins no test after some seconds of processor time, and notes which test fails."""

    def __init__(self, seconds: float) -> None:
        self.end = time.process_time() + seconds

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the test that fails."""
        if report.failed:
            Path("killer").write_text(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Let the test that ran be the last one."""
        if time.process_time() > self.end:
            pytest.exit("time is up", returncode=0)


def tried(files: Sequence[str], seconds: float) -> None:
    """Run test files one after the other; exit with status 1 as soon as a test fails."""
    resource.setrlimit(resource.RLIMIT_CPU, (LOOPS * int(seconds),) * 2)
    output = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    limit = Limit(seconds)
    for file in files:
        status = pytest.main([*ARGUMENTS, QUICK, file], plugins=[limit])
        if status not in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            os._exit(1)
        if time.process_time() > limit.end:
            break
    os._exit(0)


def main() -> None:
    """Draw mutants, run those without an outcome, and print the survivors and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=40.0, help="processor time for the tests of a mutant")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results" / "mutants.jsonl")
    options = parser.parse_args()
    results = options.results.resolve()
    known = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    done = {(each["module"], each["before"], each["after"], each["code"]) for each in known}
    for library in LIBRARIES:
        importlib.import_module(library)
    warnings.simplefilter("ignore", DeprecationWarning)  # about forks of a process with threads of linear algebra
    with tempfile.TemporaryDirectory() as folder:
        tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in tracked.splitlines():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, Path(folder) / name)
        os.chdir(folder)
        sys.path[:0] = [folder]
        os.environ["PYTHONPATH"] = folder
        for mutant in drawn(options.number, options.seed):
            if (mutant["module"], mutant["before"], mutant["after"], mutant["code"]) in done:
                continue
            path, original = Path(mutant["module"]), ROOT / mutant["module"]
            path.write_text(mutated(original.read_text(), mutant))  # with a time of its own, for Python's caches
            Path("killer").unlink(missing_ok=True)
            process = get_context("fork").Process(
                target=tried, args=(files_for(mutant["module"], mutant["name"]), options.seconds)
            )
            process.start()
            process.join()
            shutil.copy2(original, path)
            outcome = {0: "survived", 1: "killed"}.get(process.exitcode or 0, "timeout")
            known.append({key: mutant[key] for key in ("module", "line", "code", "before", "after")})
            known[-1]["outcome"] = outcome
            if Path("killer").exists():
                known[-1]["by"] = Path("killer").read_text()
            with results.open("a") as file:
                file.write(json.dumps(known[-1]) + "\n")
            print(f"{outcome}: {mutant['module']}:{mutant['line']} {mutant['before']} -> {mutant['after']}", flush=True)
    found = pd.DataFrame(known)
    print(found["outcome"].value_counts().to_string())
    possible = found[found["outcome"] != "equivalent"]
    print(f"found of those not equivalent: {(possible['outcome'] != 'survived').mean():.1%}")


if __name__ == "__main__":
    main()
