"""How many files of the package a reader must open to follow one call: the distinct files that the call enters.

Run ``python benchmarks/files_entered.py`` for a table, ``--list WALK`` for the files of one walk. A file
counts when one of its functions is entered, in whatever thread, in the first such call of the process, imports aside;
each walk has a process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import bayesclf as bc

PACKAGE = Path(bc.__file__).parent


def breast_cancer() -> tuple[Any, Any]:
    table = bc.datasets.load("sklearn:breast_cancer")
    return table.X.iloc[:, :5], table.y


def exact() -> Callable[[], object]:
    X, y = breast_cancer()
    return lambda: bc.NaiveBayes(inference="exact", random_state=1).fit(X, y)


def predict() -> Callable[[], object]:
    X, y = breast_cancer()
    clf = bc.NaiveBayes(inference="exact", random_state=1).fit(X, y)
    return lambda: clf.predict(X, rule="bayes-optimal")


def nuts() -> Callable[[], object]:
    X, y = breast_cancer()
    return lambda: bc.LogisticRegression(prior_scale=2.5, inference="nuts", random_state=1).fit(X, y)


def compare() -> Callable[[], object]:
    X, y = breast_cancer()
    return lambda: bc.compare({"nb": bc.NaiveBayes(), "lr": bc.LogisticRegression()}, X, y)


def diagnose() -> Callable[[], object]:
    X, y = breast_cancer()
    clf = bc.NaiveBayes(random_state=1).fit(X, y)
    return lambda: clf.diagnose(X, y)


def report() -> Callable[[], object]:
    X, y = breast_cancer()
    clf = bc.NaiveBayes(random_state=1).fit(X, y)
    return lambda: clf.report(Path(tempfile.mkdtemp()) / "report.html", X, y)


WALKS = {
    "exact fit": exact,
    "predict": predict,
    "NUTS fit": nuts,
    "compare": compare,
    "diagnose": diagnose,
    "report": report,
}


def entered(call: Callable[[], object]) -> list[str]:
    """Return the package's files that a call enters, in order of first entry, in whatever thread."""
    files: dict[str, None] = {}
    monitoring = sys.monitoring

    def started(code: CodeType, _: int) -> object:
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
    """Whether a module of the package, or a lazy name of its, is being loaded here or further up the stack."""
    while frame is not None:
        code = frame.f_code
        if code.co_name in ("<module>", "__getattr__", "find_spec") and Path(code.co_filename).is_relative_to(PACKAGE):
            return True
        frame = frame.f_back
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", choices=WALKS, help="the files of one walk")
    walk = parser.parse_args().list
    if walk:
        print(*entered(WALKS[walk]()), sep="\n")
        return
    for name in WALKS:
        words = [sys.executable, __file__, "--list", name]
        found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        print(f"{name:10} {len(found):3} files, {len({Path(file).parent for file in found}):2} rooms")


if __name__ == "__main__":
    main()
