"""Tables in Parquet files that are read batch by batch: how they are generated, and the options of scripts that do."""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUP = 2**20
"""Rows of a row group, as PyArrow has it by default."""


@dataclass(frozen=True)
class Generated:
    """A table in several files of equal size: numbers x0, x1, … that depend on the label y a little, and words w0, …"""

    files: int
    classes: int
    numbers: int
    levels: Sequence[int]
    """How many different words each column of words has."""

    def write(self, folder: Path, rows: int) -> None:
        """Write the files, a row group at a time."""
        rng = np.random.default_rng(0)
        words = [pa.array([f"level {i}" for i in range(size)]) for size in self.levels]
        for number in range(self.files):
            writer = None
            for start in range(0, rows // self.files, GROUP):
                size = min(GROUP, rows // self.files - start)
                y = rng.integers(self.classes, size=size)
                columns: dict[str, Any] = {f"x{j}": rng.standard_normal(size) + 0.1 * y for j in range(self.numbers)}
                for j, own in enumerate(words):
                    columns[f"w{j}"] = own.take(pa.array(rng.integers(len(own), size=size)))
                table = pa.table({**columns, "y": y})
                writer = writer or pq.ParquetWriter(folder / f"{number}.parquet", table.schema)
                writer.write_table(table)
            assert writer is not None
            writer.close()

    @contextmanager
    def written(self, rows: int, where: Path | None) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield a folder of the files, in one that is removed afterward, and what a result says of them."""
        with tempfile.TemporaryDirectory(dir=where) as place:
            folder = Path(place, "table")
            folder.mkdir()
            self.write(folder, rows)
            size = sum(path.stat().st_size for path in folder.iterdir()) / 1e9
            print(f"{rows:,} rows, {size:.2f} GB", flush=True)
            yield folder, {"rows": rows, "gigabytes": size}


def options(description: str) -> argparse.ArgumentParser:
    """Return a parser of the options that the scripts share."""
    parser = argparse.ArgumentParser(description=description.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows in all")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each")
    parser.add_argument("--folder", type=Path, help="where to generate, by default a folder that is removed")
    parser.add_argument("--json", type=Path, help="file to write")
    return parser


def write_result(path: Path, result: dict[str, Any]) -> None:
    """Write a result, with what it was measured with."""
    versions = machine.description({"parts": {"NumPy": np.__version__, "PyArrow": pa.__version__}})
    machine.write(path, {**versions, **result})
