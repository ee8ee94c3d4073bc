"""The runner of all experiments: units of work with seeds of their own, on any number of workers, stored when done."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.constraints import Instance, OrNone, Text, constraint_like, require
from bayesclf.display import Display, Displayed
from bayesclf.errors import ConvergenceWarning, InputError, PredictionWarning
from bayesclf.experiments.experiment import Experiment, Record, Results, Unit, find
from bayesclf.files import write_text
from bayesclf.parallel import processes, require_jobs
from bayesclf.progress import Progress, shown
from bayesclf.wording import counted

if TYPE_CHECKING:
    import pandas as pd


RECORDS, SETTINGS, TABLE = "results.jsonl", "settings.json", "table.csv"
"""Files of a results folder."""

CONNECT_SECONDS, WORKER_SECONDS = 10.0, 60.0
"""How long a Dask scheduler has to answer, and its first worker to register."""


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
    experiment
        A module of `bayesclf.experiments`.
    settings
        Its settings, with a `seed`.
    folder
        Where results are stored, and found again by a run that resumes.
    workers
        By default one process.
    made
        Command and versions, stored with the results.
    progress
        Whether to show progress; or a function that is called with the experiment's name, units done and units in all.
        None shows it in a notebook, and where stderr is a terminal.

    Raises
    ------
    InputError
        If the folder holds something else, or the scheduler does not answer.
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
        contextlib.closing(Store(folder, experiment.NAME, settings, made or {})) as store,
        shown(experiment.NAME, len(units), progress) as tell,
    ):
        report = partial(tell, experiment.NAME)
        remaining = [unit for unit in units if unit not in store.done]
        report(len(units) - len(remaining), len(units))
        finished = _measured(experiment.NAME, settings, remaining, workers or Workers())
        for count, (unit, measured) in enumerate(finished, len(units) - len(remaining) + 1):
            store.append(unit, measured)
            report(count, len(units))
        records = store.frame(units)
    table = experiment.summarise(settings, records)
    write_text(folder / TABLE, table.to_csv(index=False, lineterminator="\n"))
    return Outcome(table, experiment.present(settings, records, table), folder)


def _measured(name: str, settings: Any, units: Sequence[Unit], workers: Workers) -> Iterator[tuple[Unit, list[Record]]]:
    """Yield units with their records, as they are finished."""
    if not units:
        return
    if workers.scheduler is None and workers.jobs == 1:
        yield from (measure(name, settings, unit) for unit in units)
        return
    from joblib import Parallel, delayed

    jobs = processes(workers.jobs, len(units)) if workers.scheduler is None else workers.jobs
    with _backend(workers.scheduler):
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="3*n_jobs")
        yield from parallel(delayed(measure)(name, settings, unit) for unit in units)


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


@contextlib.contextmanager
def _backend(scheduler: str | None) -> Iterator[None]:
    """Let joblib use processes on this machine, or a Dask scheduler."""
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
            raise InputError(f"{scheduler} has no workers; start some: dask worker {scheduler}") from None
        with joblib.parallel_config(backend="dask"):
            yield


class Store:
    """A folder with the records of one experiment: one line of JSON per finished unit.

    A line is written and synchronized at once. An unfinished line of an interrupted run is removed at the next start,
    and its unit is done again. While a store is open it is locked, so that no two runs write to one folder.

    Parameters
    ----------
    folder
        Created where it is missing.
    experiment
        Name of the experiment.
    settings
        Its settings; a folder belongs to the settings of its first run.
    made
        What else to store with the results: command, versions.

    Raises
    ------
    InputError
        If the folder holds something else, or another run is writing to it.
    """

    def __init__(self, folder: Path, experiment: str, settings: Any, made: dict[str, str]) -> None:
        self.folder = folder
        self._about = {"experiment": experiment, "settings": asdict(settings)}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the folder {folder} cannot be made ({error.strerror}); choose another") from None
        records = folder / RECORDS
        begun = records.exists() and b"\n" in records.read_bytes()
        self._check_settings(begun)
        self._file = open(records, "ab+")  # noqa: SIM115 - held, and locked, as long as the store
        try:
            _lock(self._file.fileno(), folder)
            if not begun:
                write_text(folder / SETTINGS, json.dumps(self._about | made, indent=1) + "\n")
            self.done = self._read()
        except BaseException:
            self._file.close()
            raise

    def append(self, unit: Unit, records: list[Record]) -> None:
        """Store the records of a finished unit."""
        line = json.dumps({"unit": unit, "records": records}, separators=(",", ":"))
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.done[unit] = records

    def frame(self, units: Sequence[Unit]) -> pd.DataFrame:
        """Return the records of these units, in an order that does not depend on which finished first."""
        import pandas as pd

        wanted = {unit: self.done[unit] for unit in units}
        ordered = sorted(wanted.items(), key=lambda item: [str(part).zfill(12) for part in item[0]])
        return pd.DataFrame([record for _, records in ordered for record in records])

    def close(self) -> None:
        """Release the lock on the folder."""
        self._file.close()

    def _check_settings(self, begun: bool) -> None:
        """Raise unless the folder is empty or holds results of these settings; without results, any settings do."""
        path, name = self.folder / SETTINGS, self._about["experiment"]
        if not path.exists():
            if begun:
                raise InputError(f"{self.folder} holds results without their {SETTINGS}; choose another folder")
            if any(item.name != RECORDS for item in self.folder.iterdir()):
                raise InputError(f"the folder {self.folder} holds other files; choose a new one for the results")
            return
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            same, theirs = found["experiment"] == name, dict(found["settings"])
        except (ValueError, KeyError, TypeError):
            same, theirs = False, {}
        if not same:
            raise InputError(f"{self.folder} does not hold results of {name}; choose another folder")
        mine = json.loads(json.dumps(self._about["settings"]))
        other = [f"{key}={theirs.get(key)!r}" for key in mine if theirs.get(key) != mine[key]]
        if begun and other:
            raise InputError(f"{self.folder} holds results of other settings ({', '.join(other)}); choose another")

    def _read(self) -> dict[Unit, list[Record]]:
        """Return the stored records, after removing an unfinished last line."""
        self._file.seek(0)
        text = self._file.read()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            self._file.truncate(whole)
        done = {}
        for number, line in enumerate(text[:whole].splitlines(), 1):
            try:
                entry = json.loads(line)
                done[tuple(entry["unit"])] = entry["records"]
            except (ValueError, KeyError, TypeError):
                raise InputError(
                    f"line {number} of {self.folder / RECORDS} is damaged; delete it, and its unit is done again"
                ) from None
        return done


def _lock(descriptor: int, folder: Path) -> None:
    """Lock the file for this process, where the system supports it; the lock ends with the process, however it ends."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"another run is writing to {folder}; wait for it, or choose another folder") from None
