"""The runner of all experiments: units of work with seeds of their own, on any number of workers, stored when done."""

from __future__ import annotations

import json
import os
import warnings
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf import cluster
from bayesclf.constraints import Instance, OrNone, Text, constraint_like, require
from bayesclf.display import Display, Displayed
from bayesclf.errors import ConvergenceWarning, InputError, PredictionWarning, Stopped
from bayesclf.experiments.experiment import Experiment, Record, Results, Unit, find
from bayesclf.experiments.store import Store
from bayesclf.files import write_text
from bayesclf.progress import Progress, shown
from bayesclf.wording import counted
from bayesclf.workers import each, processes, require_jobs

if TYPE_CHECKING:
    import pandas as pd


TABLE = "table.csv"
"""The table in a results folder."""


@dataclass(frozen=True)
class Workers:
    """Where the work is done; it does not change the results.

    Attributes
    ----------
    jobs
        Processes on this machine, −1 for as many as there are processors.
    scheduler
        Address of a Dask scheduler, such as ``"tcp://127.0.0.1:8786"``, instead of processes on this machine.
    """

    jobs: int = 1
    scheduler: str | None = None

    def __post_init__(self) -> None:
        require_jobs(jobs=self.jobs)
        require(OrNone(Text()), scheduler=self.scheduler)


@dataclass(frozen=True, repr=False)
class Outcome(Displayed):
    """A finished experiment.

    Attributes
    ----------
    table
        The tidy table of results.
    results
        The results in sentences and figures.
    folder
        Where records, settings and table lie.
    """

    table: pd.DataFrame
    results: Results
    folder: Path

    def _display(self) -> Display:
        figures = sum(len(section.figures) for section in self.results.sections)
        kept = f"{counted(len(self.table), 'line')} in `table`, {counted(figures, 'figure')} in `results`"
        return Display(self.results.headline, sentences=(*self.results.findings, kept))


def seed_of(seed: int, unit: Unit) -> np.random.SeedSequence:
    """Return the seed of a unit, which depends on its key, not on its place in the order."""
    return np.random.SeedSequence([seed, zlib.crc32(json.dumps(unit).encode())])


def run(
    experiment: Experiment,
    settings: Any,
    folder: str | os.PathLike[str],
    workers: Workers | None = None,
    made: dict[str, str] | None = None,
    progress: Progress = None,
) -> Outcome:
    """Do the remaining units of an experiment, and make its table.

    Parameters
    ----------
    experiment : Experiment
        A module of `bayesclf.experiments`.
    settings : dataclass
        Its settings, with a `seed`.
    folder : str or path
        Where results are stored, and found again by a run that resumes.
    workers : Workers or None
        By default one process.
    made : mapping from str to str or None
        Command and versions, stored with the results.
    progress : bool, callable or None
        Whether to show progress; or a function that is called with the experiment's name, units done and units in all.
        None shows it in a notebook, and where stderr is a terminal.

    Raises
    ------
    InputError
        If the folder holds something else, or the scheduler does not answer.
    Stopped
        If the disk is full, or workers or the scheduler end before the work does; a run with the same folder does the
        remaining units.
    """
    if isinstance(experiment, str):
        raise InputError(f"experiment must be what experiments.find({experiment!r}) returns, not its name")
    if not isinstance(settings, experiment.Settings):
        raise InputError(f"settings must be {experiment.NAME}'s own, experiment.Settings(…), not {settings!r}")
    for option in fields(settings):
        require(constraint_like(option.default), **{option.name: getattr(settings, option.name)})
    require(OrNone(Instance(Workers)), workers=workers)
    folder = Path(folder)
    units = list(dict.fromkeys(experiment.units(settings)))
    with (
        closing(Store(folder, experiment.NAME, settings, made or {})) as store,
        shown(experiment.NAME, len(units), progress) as tell,
    ):
        report = partial(tell, experiment.NAME)
        remaining = [unit for unit in units if unit not in store.done]
        done = len(units) - len(remaining)
        report(done, len(units))
        with (
            _resumable(store, len(units), made or {}),
            closing(_measured(experiment.NAME, settings, remaining, workers or Workers())) as finished,
        ):
            for count, (unit, measured) in enumerate(finished, done + 1):
                store.append(unit, measured)
                report(count, len(units))
        records = store.frame(units)
    table = experiment.summarise(settings, records)
    write_text(folder / TABLE, table.to_csv(index=False, lineterminator="\n"))
    return Outcome(table, experiment.present(settings, records, table), folder)


@contextmanager
def _resumable(store: Store, total: int, made: dict[str, str]) -> Iterator[None]:
    """Say, where the work stops before its end, what is stored and how to do the rest."""
    try:
        yield
    except Stopped as reason:
        again = made.get("command", "the same call")
        kept = f"{counted(len(store.done), 'unit')} of {total} are stored"
        raise Stopped(f"{reason}; {kept}, and {again} does the others") from reason


def _measured(
    name: str, settings: Any, units: Sequence[Unit], workers: Workers
) -> Generator[tuple[Unit, list[Record]]]:
    """Yield units with their records, as they are finished."""
    work = partial(measure, name, settings)
    if not units:
        return
    if workers.scheduler is not None:
        yield from cluster.each(work, units, workers.scheduler)
    else:
        yield from each(work, ((unit,) for unit in units), processes(workers.jobs, len(units)), ordered=False)


def measure(name: str, settings: Any, unit: Unit) -> tuple[Unit, list[Record]]:
    """Do one unit, on any machine.

    Linear algebra keeps to one thread: several would change the order of sums, and with it the last digits.
    """
    from threadpoolctl import threadpool_limits

    experiment = find(name)
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            # Where the warnings about a fit matter, the records show it.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", PredictionWarning)
            return unit, experiment.measure(settings, unit, seed_of(settings.seed, unit))
    except Exception as error:
        error.add_note(f"in unit {unit} of the experiment {name}")
        raise
