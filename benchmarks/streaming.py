"""Tables that are read batch by batch: what a fit and answers take next to PyArrow's own scan of the same columns.

Run from the project's folder: .venv/bin/python benchmarks/streaming.py [--rows N] [--rounds R] [--json FILE]

Parquet files of 16 columns of numbers, 4 of words and a label of three classes are generated, four files of N/4 rows
each, and read from the file cache. Each round runs ours and then the scan; the result has medians by the clock and by
processor time, which suffers less from other programs, and their ratios. Memory is the largest anonymous memory of a
fresh process during the fit of one file, and of all four, less that before: it should not grow with the rows.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
from in_memory import compared
from parquet_tables import Generated, options, write_result

import bayesclf as bc

TABLE = Generated(files=4, classes=3, numbers=16, levels=[4, 8, 12, 16])


def scan(folder: Path, columns: list[str]) -> Callable[[], None]:
    """Return PyArrow's scan of some columns, with its own threads and batches."""

    def run() -> None:
        for _ in ds.dataset(folder).to_batches(columns=columns):
            pass

    return run


@contextmanager
def watched() -> Iterator[list[float]]:
    """Yield a list that has the largest anonymous memory, in MB above that at the start, at the end."""
    start, largest, ended = anonymous(), [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            largest[0] = max(largest[0], anonymous() - start)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield largest
    finally:
        ended.set()
        thread.join()


def peak(source: str) -> float:
    """Return the largest anonymous memory of a fit, in MB, in a process that has done nothing else."""
    with watched() as largest:
        bc.NaiveBayes(inference="map").fit_stream(source, "y", progress=False)
    return largest[0]


def anonymous() -> float:
    """Return the anonymous memory of this process in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1000
    return float("nan")


def measured(folder: Path, rows: int, rounds: int) -> tuple[dict[str, Any], dict[str, float]]:
    """Return ratios to the scan, and memory."""
    numbers, words = [f"x{j}" for j in range(TABLE.numbers)], [f"w{j}" for j in range(len(TABLE.levels))]
    whole = str(folder)

    def fit(kind: Any, drop: list[str], source: str = whole) -> Callable[[], Any]:
        return lambda: kind(inference="map").fit_stream(source, "y", drop=drop, progress=False)

    ours = bc.GaussianNB(inference="map").fit_stream(folder / "0.parquet", "y", drop=words)
    answers = folder.parent / "answers.parquet"
    lines = {
        "GaussianNB fit, 16 numbers": (fit(bc.GaussianNB, words), scan(folder, [*numbers, "y"]), 1.5),
        "CategoricalNB fit, 4 columns of words": (fit(bc.CategoricalNB, numbers), scan(folder, [*words, "y"]), np.inf),
        "NaiveBayes fit, all 20": (fit(bc.NaiveBayes, []), scan(folder, [*numbers, *words, "y"]), 1.5),
        "GaussianNB answers, map, to Parquet": (
            lambda: ours.predict_stream(folder, answers, rule="map", progress=False),
            scan(folder, numbers),
            np.inf,
        ),
    }
    found: dict[str, Any] = {}
    for name, (own, peer, goal) in lines.items():
        found[name] = compared(own, peer, goal, rounds)
        tell(name, found[name], rows)
    memory = {}
    for name, source in (("one file", str(folder / "0.parquet")), ("all files", whole)):
        with get_context("spawn").Pool(1) as fresh:
            memory[name] = fresh.apply(peak, (source,))
    return found, memory


def tell(name: str, line: dict[str, Any], rows: int) -> None:
    """Print what was measured of one line."""
    took, clock = line["processor"], line["clock"]
    about = "" if line["goal"] is None else f" (goal: at most {line['goal']})"
    print(
        f"{name}: {took['ours']:.2f} s, scan {took['peer']:.2f} s, ratio {took['ratio']:.2f}{about}; by the clock "
        f"{clock['ours']:.2f} s and {clock['peer']:.2f} s, ratio {clock['ratio']:.2f}, "
        f"{rows / clock['ours']:,.0f} rows a second",
        flush=True,
    )


def main() -> None:
    """Generate, measure, print, and write JSON if asked."""
    given = options(__doc__).parse_args()
    with TABLE.written(given.rows, given.folder) as (folder, about):
        found, memory = measured(folder, given.rows, given.rounds)
    print("anonymous memory: " + ", ".join(f"{name} {value:.0f} MB" for name, value in memory.items()))
    if given.json:
        write_result(given.json, {**about, "rounds": given.rounds, "lines": found, "memory": memory})


if __name__ == "__main__":
    main()
