"""The size of the package and its shape: lines, modules, circles of imports, and the files that a call enters.

Run ``python benchmarks/house.py`` for a table, ``--list WALK`` for the files of one walk. Code lines are lines that are
neither blank, comment nor docstring. All imports count: lazy ones and those for types only, too. A file is entered when
one of its functions is, in whatever thread, in the first such call of the process, imports aside; each walk has a
process of its own.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pandas as pd

import bayesclf as bc

PACKAGE = Path(bc.__file__).parent
TESTS = PACKAGE.parent / "tests"
FEWEST, MOST = 60, 600
"""Code lines of a module."""
UNCOUNTED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def code_lines(text: str) -> int:
    """Return the number of lines that are neither blank, comment nor docstring."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in UNCOUNTED:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def modules() -> dict[str, Path]:
    """Return the files of the package by the names of their modules."""
    return {
        ".".join((PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def largest_circle(known: dict[str, Path]) -> int:
    """Return the number of modules in the largest circle of imports, 0 where there is none."""
    below: dict[str, set[str]] = {}
    for name, path in known.items():
        imports = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
        found = [(f"{node.module}.{alias.name}", str(node.module)) for node in imports for alias in node.names]
        below[name] = {next((one for one in pair if one in known), name) for pair in found} - {name}
    reached = {name: reachable(below, name) for name in below}
    together = [{other for other in found if name in reached[other]} for name, found in reached.items()]
    return max(map(len, together), default=0)


def reachable(below: dict[str, set[str]], start: str) -> set[str]:
    """Return what a module imports, directly or through others."""
    found: set[str] = set()
    remaining = [*below[start]]
    while remaining:
        name = remaining.pop()
        if name not in found:
            found.add(name)
            remaining += below[name]
    return found


def size() -> dict[str, object]:
    """Return the measures of size and shape, by their names."""
    known = modules()
    count = {name: code_lines(path.read_text("utf-8")) for name, path in known.items()}
    tests = sum(len(path.read_text("utf-8").splitlines()) for path in TESTS.rglob("*.py"))
    own = [cls for cls in bc.GaussianNB.__mro__ if cls.__module__.startswith("bayesclf")]
    return {
        "code lines": f"{sum(count.values()):,}",
        "modules": len(known),
        f"modules below {FEWEST} code lines": sum(lines < FEWEST for lines in count.values()),
        f"modules above {MOST} code lines": sum(lines > MOST for lines in count.values()),
        "lines of tests": f"{tests:,}",
        "modules in the largest circle of imports": largest_circle(known),
        "names in bayesclf": len(bc.__all__),
        "own classes in the MRO of GaussianNB": len(own),
    }


def breast_cancer() -> tuple[Any, Any]:
    """Return five columns and the labels that all walks take."""
    table = bc.datasets.load("sklearn:breast_cancer")
    return table.X.iloc[:, :5], table.y


def exact() -> Callable[[], object]:
    """Fit naive Bayes in closed form."""
    X, y = breast_cancer()
    return lambda: bc.NaiveBayes(inference="exact", random_state=1).fit(X, y)


def predict() -> Callable[[], object]:
    """Predict by the Bayes-optimal rule."""
    X, y = breast_cancer()
    clf = bc.NaiveBayes(inference="exact", random_state=1).fit(X, y)
    return lambda: clf.predict(X, rule="bayes-optimal")


def logistic() -> Callable[[], object]:
    """Fit the default logistic regression."""
    X, y = breast_cancer()
    return lambda: bc.LogisticRegression(random_state=1).fit(X, y)


def stream() -> Callable[[], object]:
    """Fit naive Bayes in batches."""
    X, y = breast_cancer()
    parts = [X[start : start + 100].assign(label=y[start : start + 100]) for start in range(0, len(X), 100)]
    return lambda: bc.NaiveBayes(random_state=1).fit_stream(pd.concat(parts), "label")


def compare() -> Callable[[], object]:
    """Compare two classifiers under every rule."""
    X, y = breast_cancer()
    return lambda: bc.compare({"nb": bc.NaiveBayes(), "lr": bc.LogisticRegression()}, X, y)


def diagnose() -> Callable[[], object]:
    """Run all checks of a classifier."""
    X, y = breast_cancer()
    clf = bc.NaiveBayes(random_state=1).fit(X, y)
    return lambda: clf.diagnose(X, y)


def report() -> Callable[[], object]:
    """Write the report of a classifier."""
    X, y = breast_cancer()
    clf = bc.NaiveBayes(random_state=1).fit(X, y)
    return lambda: clf.report(Path(tempfile.mkdtemp()) / "report.html", X, y)


WALKS = {
    "predict": predict,
    "fit exact": exact,
    "fit logistic": logistic,
    "compare": compare,
    "diagnose": diagnose,
    "report": report,
    "stream": stream,
}


def entered(call: Callable[[], object]) -> list[str]:
    """Return the package's files that a call enters, in order of first entry, in whatever thread."""
    files: dict[str, None] = {}
    monitoring = sys.monitoring

    def started(code: CodeType, _: int) -> object:
        """Keep the file of a function that starts, the first time."""
        path = Path(code.co_filename)
        if not path.is_relative_to(PACKAGE):
            return monitoring.DISABLE
        if importing(sys._getframe(1)):
            return None
        files[path.relative_to(PACKAGE).as_posix()] = None
        return monitoring.DISABLE

    monitoring.use_tool_id(monitoring.PROFILER_ID, "files entered")
    monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.PY_START, started)
    monitoring.set_events(monitoring.PROFILER_ID, monitoring.events.PY_START)
    try:
        call()
    finally:
        monitoring.set_events(monitoring.PROFILER_ID, 0)
        monitoring.free_tool_id(monitoring.PROFILER_ID)
    return list(files)


def importing(frame: FrameType | None) -> bool:
    """Return whether a module of the package, or a lazy name of its, is being loaded here or further up the stack."""
    while frame is not None:
        code = frame.f_code
        if code.co_name in ("<module>", "__getattr__", "find_spec") and Path(code.co_filename).is_relative_to(PACKAGE):
            return True
        frame = frame.f_back
    return False


def main() -> None:
    """Print the size, or the files of one walk."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", choices=WALKS, help="the files of one walk")
    walk = parser.parse_args().list
    if walk:
        print(*entered(WALKS[walk]()), sep="\n")
        return
    for name, measure in size().items():
        print(f"{name:45} {measure:>8}")
    for name in WALKS:
        words = [sys.executable, __file__, "--list", name]
        found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        print(f"{f'files entered: {name}':45} {len(found):>8}")


if __name__ == "__main__":
    main()
