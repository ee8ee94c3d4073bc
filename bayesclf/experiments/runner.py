"""One runner under all experiments: units of work with their own seeds, on any number of workers."""

from __future__ import annotations

import contextlib
import json
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.errors import ConvergenceWarning, InputError, PredictionWarning
from bayesclf.experiments.experiment import Experiment, Record, Results, Unit
from bayesclf.experiments.store import Store

if TYPE_CHECKING:
    import pandas as pd

TABLE = "table.csv"

CONNECT_SECONDS, WORKER_SECONDS = 10.0, 60.0
"""How long a Dask scheduler has to answer, and its first worker to register."""


@dataclass(frozen=True)
class Workers:
    """Who does the work; it changes no number.

    Attributes
    ----------
    jobs
        Processes on this machine, −1 for as many as there are processors.
    scheduler
        Address of a Dask scheduler, such as ``"tcp://127.0.0.1:8786"``, in the place of processes on this machine.
    """

    jobs: int = 1
    scheduler: str | None = None


@dataclass(frozen=True)
class Outcome:
    """A finished experiment.

    Attributes
    ----------
    table
        The tidy table of results.
    results
        What it says.
    folder
        Where records, settings and table lie.
    """

    table: pd.DataFrame
    results: Results
    folder: Path


def seed_of(seed: int, unit: Unit) -> np.random.SeedSequence:
    """Return the seed of a unit: of what it is about, not of its place in the order."""
    return np.random.SeedSequence([seed, zlib.crc32(json.dumps(unit).encode())])


def run(
    experiment: Experiment,
    settings: Any,
    folder: Path,
    workers: Workers | None = None,
    made: dict[str, str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Outcome:
    """Do the units of an experiment that are not done yet, and make its table.

    Parameters
    ----------
    experiment
        A module of `bayesclf.experiments`.
    settings
        Its settings, with a `seed`.
    folder
        Where results are kept, and found again by a run that goes on.
    workers
        By default one process.
    made
        Command and versions, kept beside the results.
    progress
        Called with the experiment's name, units done and units in all.

    Raises
    ------
    InputError
        If the folder holds something else, or the scheduler does not answer.
    """
    if settings.seed < 0:
        raise InputError(f"the seed must be at least 0, not {settings.seed}")
    units = list(dict.fromkeys(experiment.units(settings)))
    store = Store(folder, experiment.NAME, settings, made or {})
    try:
        report = partial(progress, experiment.NAME) if progress is not None else _silent
        remaining = [unit for unit in units if unit not in store.done]
        report(len(units) - len(remaining), len(units))
        finished = _measured(experiment, settings, remaining, workers or Workers())
        for count, (unit, measured) in enumerate(finished, len(units) - len(remaining) + 1):
            store.append(unit, measured)
            report(count, len(units))
        records = store.frame(units)
    finally:
        store.close()
    table = experiment.summarise(settings, records)
    _write_table(table, folder / TABLE)
    return Outcome(table, experiment.present(settings, records, table), folder)


def _silent(done: int, total: int) -> None:
    """Report nothing."""


def _measured(
    experiment: Experiment, settings: Any, units: Sequence[Unit], workers: Workers
) -> Iterator[tuple[Unit, list[Record]]]:
    """Yield units with their records, as they are finished."""
    if not units:
        return
    if workers.scheduler is None and workers.jobs == 1:
        for unit in units:
            yield measure(experiment.NAME, settings, unit)
        return
    from joblib import Parallel, delayed

    with _backend(workers.scheduler):
        parallel = Parallel(n_jobs=workers.jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="3*n_jobs")
        yield from parallel(delayed(measure)(experiment.NAME, settings, unit) for unit in units)


def measure(name: str, settings: Any, unit: Unit) -> tuple[Unit, list[Record]]:
    """Do one unit, on whatever machine.

    Linear algebra keeps to one thread: several would change the order of sums, and with it the last digits.
    """
    from threadpoolctl import threadpool_limits

    from bayesclf.experiments import find

    experiment = find(name)
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            # What these say of a fit is in the records, where it matters.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", PredictionWarning)
            return unit, experiment.measure(settings, unit, seed_of(settings.seed, unit))
    except Exception as error:
        error.add_note(f"in unit {unit} of the experiment {name}")
        raise


@contextlib.contextmanager
def _backend(scheduler: str | None) -> Iterator[None]:
    """Let joblib work on this machine's processes, or hand units to a Dask scheduler."""
    if scheduler is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise InputError("a scheduler needs Dask; install it with: pip install 'bayesclf[dask]'") from None
    import joblib

    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {scheduler} ({error}); start one: dask scheduler") from None
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            raise InputError(
                f"the scheduler at {scheduler} has no workers; start some: dask worker {scheduler}"
            ) from None
        with joblib.parallel_config(backend="dask"):
            yield


def _write_table(table: pd.DataFrame, path: Path) -> None:
    from bayesclf.files import write_whole

    text = table.to_csv(index=False, lineterminator="\n")
    write_whole(path, lambda part: part.write_text(text, encoding="utf-8", newline="\n"))
