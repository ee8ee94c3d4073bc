"""Tables that are read batch by batch: what a fit and answers take next to PyArrow's own scan of the same columns.

Run from the project's folder: .venv/bin/python benchmarks/streaming.py [--rows N] [--rounds R] [--json FILE]

Parquet files of 16 columns of numbers, 4 of words and a label of three classes are generated, four files of N/4 rows
each, and read from the file cache. Each round runs ours and then the scan; the result has medians by the clock and by
processor time, which suffers less from other programs, and their ratios. Memory is the largest anonymous memory of a
fresh process during the fit of one file, and of all four, less that before: it should not grow with the rows.
"""

import argparse
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import machine
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from in_memory import compared

import bayesclf as bc

FILES, NUMBERS, WORDS, CLASSES = 4, 16, 4, 3
GROUP = 2**20
"""Rows of a row group, as PyArrow has it by default."""


def generate(folder: Path, rows: int) -> None:
    """Write the files, a row group at a time."""
    rng = np.random.default_rng(0)
    words = [pa.array([f"level {i}" for i in range(4 + 4 * j)]) for j in range(WORDS)]
    for number in range(FILES):
        writer = None
        for start in range(0, rows // FILES, GROUP):
            size = min(GROUP, rows // FILES - start)
            y = rng.integers(CLASSES, size=size)
            columns: dict[str, Any] = {f"x{j}": rng.standard_normal(size) + 0.1 * y for j in range(NUMBERS)}
            columns |= {f"w{j}": own.take(pa.array(rng.integers(len(own), size=size))) for j, own in enumerate(words)}
            table = pa.table({**columns, "y": y})
            writer = writer or pq.ParquetWriter(folder / f"{number}.parquet", table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()


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
    numbers, words = [f"x{j}" for j in range(NUMBERS)], [f"w{j}" for j in range(WORDS)]
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
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows in all")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each")
    parser.add_argument("--folder", type=Path, help="where to generate, by default a folder that is removed")
    parser.add_argument("--json", type=Path, help="file to write")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder = Path(place, "table")
        folder.mkdir()
        generate(folder, given.rows)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
        print(f"{given.rows:,} rows, {size:.2f} GB", flush=True)
        found, memory = measured(folder, given.rows, given.rounds)
    print("anonymous memory: " + ", ".join(f"{name} {value:.0f} MB" for name, value in memory.items()))
    if given.json:
        versions = machine.description({"parts": {"NumPy": np.__version__, "PyArrow": pa.__version__}})
        result = {"rows": given.rows, "gigabytes": size, "rounds": given.rounds, "lines": found, "memory": memory}
        machine.write(given.json, {**versions, **result})


if __name__ == "__main__":
    main()
