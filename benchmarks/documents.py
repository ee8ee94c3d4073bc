"""Documents that are read batch by batch: processor time and memory of a fit, at two numbers of documents.

Run from the project's folder: .venv/bin/python benchmarks/documents.py [--documents N] [--json FILE]

Documents of 100 words each, whose frequencies fall as Zipf's law has it over 300,000 words, are generated as Parquet:
N/4 and N of them. Each line is a fit by `inference="map"` in a fresh process: its processor time, and the largest
anonymous memory above that before. The second option has the documents read twice.
"""

import argparse
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import machine
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from streaming import watched

import bayesclf as bc

WORDS, LENGTH, GROUP = 300_000, 100, 10_000
"""Words of the language, words of a document, and documents of a row group."""

OPTIONS: dict[str, dict[str, Any]] = {"every word": {}, "min_df=5": {"min_df": 5}}


def generate(path: Path, documents: int) -> None:
    """Write documents with a label of two classes, which prefer other words."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(WORDS)], dtype=object)
    shares = np.cumsum(1 / (np.arange(WORDS) + 10.0))
    shares /= shares[-1]
    writer = None
    for start in range(0, documents, GROUP):
        size = min(GROUP, documents - start)
        y = rng.integers(2, size=size)
        numbers = np.searchsorted(shares, rng.random((size, LENGTH)))
        other = (y[:, None] == 1) & (numbers < 2000) & (rng.random(numbers.shape) < 0.2)
        texts = [" ".join(row) for row in words[np.where(other, (numbers + 7) % 2000, numbers)]]
        table = pa.table({"text": texts, "label": np.where(y == 1, "spam", "ham")})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def fitted(path: str, options: dict[str, Any]) -> dict[str, float]:
    """Return what a fit takes, in a process that has done nothing else, and how many words it keeps."""
    with watched() as largest:
        start = time.process_time()
        clf = bc.TextNB(alpha=2.0, vectorizer=options, inference="map")
        clf.fit_stream(path, "label", progress=False)
        seconds = time.process_time() - start
    return {"seconds": seconds, "megabytes": largest[0], "words": len(clf.vocabulary_)}


def main() -> None:
    """Generate, measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=100_000, help="documents of the larger file")
    parser.add_argument("--json", type=Path, help="file to write")
    given = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for documents in (given.documents // 4, given.documents):
            path = Path(folder, f"{documents}.parquet")
            generate(path, documents)
            for name, options in OPTIONS.items():
                with get_context("spawn").Pool(1) as fresh:
                    line = fresh.apply(fitted, (str(path), options))
                lines.append({"documents": documents, "options": name, **line})
                print(
                    f"{documents:,} documents, {name}: {line['seconds']:.1f} s of processor time, "
                    f"{line['megabytes']:.0f} MB, {line['words']:,} words",
                    flush=True,
                )
    if given.json:
        machine.write(given.json, {**machine.description({"parts": {"PyArrow": pa.__version__}}), "lines": lines})


if __name__ == "__main__":
    main()
