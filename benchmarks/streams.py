"""Files that are read batch by batch: how rows of `rows.py` generate and scan them, and workers of Dask."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
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
        names = [*(f"x{j}" for j in range(self.numbers)), *(f"w{j}" for j in range(len(self.levels))), "y"]
        types = [pa.float64()] * self.numbers + [pa.string()] * len(self.levels) + [pa.int64()]
        schema = pa.schema(list(zip(names, types, strict=True)))
        for number in range(self.files):
            with pq.ParquetWriter(folder / f"{number}.parquet", schema) as writer:
                for start in range(0, rows // self.files, GROUP):
                    size = min(GROUP, rows // self.files - start)
                    y = rng.integers(self.classes, size=size)
                    columns = [pa.array(rng.standard_normal(size) + 0.1 * y) for _ in range(self.numbers)]
                    for own in self.levels:
                        words = pa.array([f"level {i}" for i in range(own)])
                        columns.append(words.take(pa.array(rng.integers(own, size=size))))
                    writer.write_table(pa.table([*columns, pa.array(y)], schema=schema))


def scan(folder: Path, columns: list[str] | None = None) -> Callable[[], None]:
    """Return PyArrow's scan of some columns, or all, with its own threads and batches."""

    def run() -> None:
        for _ in ds.dataset(folder).to_batches(columns=columns):
            pass

    return run


@contextmanager
def workers(count: int) -> Iterator[Any]:
    """Yield a client of so many Dask workers in processes of their own, each with one thread for everything."""
    from distributed import Client, LocalCluster

    how = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(n_workers=count, **how) as cluster, Client(cluster) as client:
        client.run(_one_thread)
        yield client


def _one_thread() -> None:
    """Let PyArrow use one thread."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
