"""The size of the package: lines, modules, and the files that a reader opens to follow a call.

Run ``python benchmarks/house.py`` for a table, ``--list WALK`` for the files of one walk. Code lines are lines that are
neither blank, comment nor docstring. A file is entered when one of its functions is, in whatever thread, in the first
such call of the process, imports aside; each walk has a process of its own.
"""

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

from sklearn.datasets import load_wine

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


def size() -> dict[str, object]:
    """Return the measures of size, by their names."""
    count = [code_lines(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")]
    return {
        "code lines": f"{sum(count):,}",
        "modules": len(count),
        f"modules below {FEWEST} code lines": sum(lines < FEWEST for lines in count),
        f"modules above {MOST} code lines": sum(lines > MOST for lines in count),
        "lines of tests": f"{sum(len(path.read_text('utf-8').splitlines()) for path in TESTS.rglob('*.py')):,}",
        "names in bayesclf": len(bc.__all__),
    }


def naive_bayes(X: Any, y: Any) -> Any:
    """Fit Gaussian naive Bayes."""
    return bc.GaussianNB(random_state=1).fit(X, y)


def compare(X: Any, y: Any) -> object:
    """Compare Gaussian naive Bayes with logistic regression."""
    models = {"nb": bc.GaussianNB(random_state=1), "lr": bc.LogisticRegression(inference="map")}
    return bc.compare(models, X, y, rules=["map", "bayes-optimal"], cv=3)


def stream(X: Any, y: Any) -> object:
    """Fit Gaussian naive Bayes by `fit_stream`."""
    return bc.GaussianNB(random_state=1).fit_stream(X.assign(label=y), "label")


def report(clf: Any, X: Any, y: Any) -> object:
    """Write a page into a folder that goes with it."""
    with tempfile.TemporaryDirectory() as folder:
        return clf.report(Path(folder, "report.html"), X, y)


WALKS: dict[str, tuple[Callable[..., object], bool]] = {
    "predict": (lambda clf, X, y: clf.predict_proba(X, rule="bayes-optimal"), True),
    "fit exact": (naive_bayes, False),
    "fit logistic": (lambda X, y: bc.LogisticRegression(random_state=1, inference="laplace").fit(X, y), False),
    "compare": (compare, False),
    "diagnose": (lambda clf, X, y: clf.diagnose(X, y), True),
    "report": (report, True),
    "stream": (stream, False),
}
"""What is called with four columns of wine and its labels, and whether with a fitted classifier first."""


def entered(call: Callable[[], object]) -> list[str]:
    """Return the package's files that a call enters, in order of first entry, in whatever thread."""
    files: dict[str, None] = {}
    monitoring = sys.monitoring

    def started(code: CodeType, _: int) -> object:
        """Note the file of a function that starts."""
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
    call()
    monitoring.set_events(monitoring.PROFILER_ID, 0)
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
        X, y = load_wine(return_X_y=True, as_frame=True)
        (call, with_fit), given = WALKS[walk], (X.iloc[:, :4], y)
        given = (naive_bayes(*given), *given) if with_fit else given
        print(*entered(lambda: call(*given)), sep="\n")
        return
    for name, measure in size().items():
        print(f"{name:45} {measure:>8}")
    for name in WALKS:
        words = [sys.executable, __file__, "--list", name]
        found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        print(f"{f'files entered: {name}':45} {len(found):>8}")


if __name__ == "__main__":
    main()
