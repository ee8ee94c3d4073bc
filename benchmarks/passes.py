"""Passes over tables that are read batch by batch: two workers of Dask against one, and Newton's method against a scan.

Run from the project's folder: .venv/bin/python benchmarks/passes.py {workers,newton} [--rows N] [--rounds R]
[--json FILE]

Parquet files of 20 columns of numbers and 10 of words, and a label of two classes, are generated, eight files of N/8
rows each, and read from the file cache. Each round runs ours and then the peer; the result has medians and their
ratios.

``workers``: `NaiveBayes` and `LogisticRegression`, mode at a given prior scale, fitted by two workers of a local
cluster and by one, each a process with one thread for everything; ratios by the clock. Half of the work each is 0.5.

``newton``: a pass for log likelihood, gradient and curvature of logistic regression, without the passes before it,
and PyArrow's own scan of the same columns; ratios by the clock and by processor time. No rows stay in memory.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from in_memory import compared
from parquet_tables import Generated, options, write_result

import bayesclf as bc
from bayesclf.classifiers import logistic_stream
from bayesclf.classifiers.stream_rows import Reading
from bayesclf.models.logistic.streamed import derivatives_of

TABLE = Generated(files=8, classes=2, numbers=20, levels=[6] * 10)

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Variables that say how many threads libraries start."""

MODELS: dict[str, Callable[[], Any]] = {
    "nb": lambda: bc.NaiveBayes(inference="map"),
    "lr": lambda: bc.LogisticRegression(prior_scale=2.5, inference="map"),
}
"""What is fitted on Dask: by one pass, and by some ten."""


def one_thread() -> None:
    """Let Arrow use one thread in this process, and one to read."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def workers(folder: Path, rounds: int) -> dict[str, Any]:
    """Return what two workers take next to one, by model."""
    from distributed import Client, LocalCluster

    os.environ.update(dict.fromkeys(THREADS, "1"))  # which the workers inherit
    small = folder.parent / "small.parquet"
    pq.write_table(pq.read_table(folder / "0.parquet").slice(0, 1000), small)

    def fit(model: str, client: Any) -> None:
        """Fit a model on the workers of a client."""
        MODELS[model]().fit_stream(folder, "y", client=client, progress=False)

    def cluster(count: int) -> LocalCluster:
        """Return so many workers of one thread each."""
        return LocalCluster(n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0")

    found: dict[str, Any] = {}
    with cluster(2) as two, cluster(1) as one, Client(two) as by_two, Client(one) as by_one:
        for client in (by_two, by_one):
            client.run(one_thread)
            for model in MODELS.values():  # imports and compilation on each worker
                model().fit_stream([small] * 4, "y", client=client, progress=False)
        for model in MODELS:
            line = compared(partial(fit, model, by_two), partial(fit, model, by_one), np.inf, rounds)
            found[model] = line = {"clock": line["clock"]}  # the work is done by other processes
            took = line["clock"]
            print(
                f"{model}: two workers {took['ours']:.2f} s, one {took['peer']:.2f} s, ratio {took['ratio']:.2f}",
                flush=True,
            )
    return found


def newton(folder: Path, rounds: int) -> dict[str, Any]:
    """Return what a pass of Newton's method takes next to a scan."""
    how = Reading.of("y", None, None, (), None, None)
    clf = bc.LogisticRegression(prior_scale=2.5, inference="map")
    logistic_stream.KEPT_CELLS = 0
    encoding, _, parts = logistic_stream.read(clf, str(folder), how, None, lambda *_: None)
    theta = np.zeros((1, 1, 1 + len(encoding.design)))

    def scan() -> None:
        """Read all batches."""
        for _ in ds.dataset(folder).to_batches():
            pass

    line = compared(lambda: parts.summed(partial(derivatives_of, theta)), scan, np.inf, rounds)
    for name, took in (("processor time", line["processor"]), ("clock", line["clock"])):
        print(f"{name}: pass {took['ours']:.2f} s, scan {took['peer']:.2f} s, ratio {took['ratio']:.2f}", flush=True)
    return {"pass": line, "columns of the design": len(encoding.design)}


def main() -> None:
    """Generate, measure, print, and write JSON if asked."""
    parser = options(__doc__)
    parser.add_argument("what", choices=["workers", "newton"], help="what to measure")
    given = parser.parse_args()
    with TABLE.written(given.rows, given.folder) as (folder, about):
        found = {"workers": workers, "newton": newton}[given.what](folder, given.rounds)
    if given.json:
        write_result(given.json, {"what": given.what, **about, "rounds": given.rounds, "lines": found})


if __name__ == "__main__":
    main()
