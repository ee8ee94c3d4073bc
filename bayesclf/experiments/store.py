"""The results folder of an experiment: settings, and one line of JSON per finished unit."""

from __future__ import annotations

import io
import json
import os
import stat
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesclf.errors import InputError, Stopped
from bayesclf.experiments.experiment import Record, Unit
from bayesclf.files import write_text

if TYPE_CHECKING:
    import pandas as pd

RECORDS, SETTINGS = "results.jsonl", "settings.json"
"""Files of a results folder."""

MAX_BYTES = 2**30
"""Largest file that is read back."""

SUMS = 16
"""Hexadecimal digits of the checksum in each line."""


class Store:
    """A folder with the records of one experiment.

    A line is written and synchronized at once. An unfinished line of an interrupted run is removed at the next start,
    and its unit is done again. While a store is open it is locked, so that no two runs write to one folder. Each line
    has a checksum over experiment, settings, version and records: what was changed by hand, or copied from a run with
    another seed, is found.

    Parameters
    ----------
    folder
        Created where it is missing.
    experiment
        Name of the experiment.
    settings
        Its settings; a folder belongs to the settings, and the version of bayesclf, of its first run.
    made
        What else to store with the results: command, versions.

    Raises
    ------
    InputError
        If the folder holds something else, cannot be read or written, or another run is writing to it.
    """

    def __init__(self, folder: Path, experiment: str, settings: Any, made: dict[str, str]) -> None:
        self.folder = folder
        self._path = folder / RECORDS
        self._about = {"experiment": experiment, "version": version("bayesclf"), "settings": asdict(settings)}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"the folder {folder} cannot be made ({reason}); choose another") from None
        begun = b"\n" in _content(self._path)
        self._check_settings(begun)
        try:
            self._file = open(self._path, "ab+", buffering=0)  # noqa: SIM115 - held, and locked, as long as the store
        except OSError as error:
            raise InputError(f"{self._path} cannot be written ({error.strerror}); choose another folder") from None
        try:
            _lock(self._file.fileno(), folder)
            if not begun:
                write_text(folder / SETTINGS, json.dumps(self._about | made, indent=1) + "\n")
            self.done = self._read()
        except BaseException:
            self._file.close()
            raise

    def append(self, unit: Unit, records: list[Record]) -> None:
        """Store the records of a finished unit.

        Raises
        ------
        Stopped
            If the disk does not take them; all others are stored.
        """
        line = _dumped({"unit": unit, "records": records, "checksum": self._checksum(unit, records)})
        rest = memoryview(line.encode() + b"\n")
        before = os.fstat(self._file.fileno()).st_size
        try:
            while rest:  # of what does not fit, a disk takes a part
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(before)
            raise Stopped(f"{self._path} cannot be written ({error.strerror})") from error
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
        if not os.path.lexists(path):
            if begun:
                raise InputError(f"{self.folder} holds results without their {SETTINGS}; choose another folder")
            if any(item.name != RECORDS for item in self.folder.iterdir()):
                raise InputError(f"the folder {self.folder} holds other files; choose a new one for the results")
            return
        try:
            found = json.loads(_content(path))
            same, theirs = found["experiment"] == name, dict(found["settings"])
            writer = found.get("version")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            same, theirs, writer = False, {}, None
        if not same:
            raise InputError(f"{self.folder} does not hold results of {name}; choose another folder")
        mine = json.loads(json.dumps(self._about["settings"]))
        other = [f"{key}={theirs.get(key)!r}" for key in mine if theirs.get(key) != mine[key]]
        if begun and other:
            raise InputError(f"{self.folder} holds results of other settings ({', '.join(other)}); choose another")
        if begun and writer != self._about["version"]:
            wrote = f"bayesclf {writer}" if isinstance(writer, str) else "an earlier version of bayesclf"
            raise InputError(
                f"{self.folder} holds results of {wrote}, and this is {self._about['version']}; choose another folder"
            )

    def _read(self) -> dict[Unit, list[Record]]:
        """Return the stored records, after removing an unfinished last line."""
        text = _content(self._path)
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            self._file.truncate(whole)
        done: dict[Unit, list[Record]] = {}
        for number, line in enumerate(io.BytesIO(text[:whole]), 1):
            where = f"line {number} of {self._path}"
            try:
                entry = json.loads(line)
                unit, records = tuple(entry["unit"]), entry["records"]
                if entry["checksum"] != self._checksum(unit, records):
                    raise ValueError("its checksum differs")
                repeated = unit in done
            except (ValueError, KeyError, TypeError, RecursionError):
                raise InputError(
                    f"{where} is damaged, or of another run; delete it, and its unit is done again"
                ) from None
            if repeated:
                raise InputError(f"{where} repeats the unit {unit}; delete it")
            done[unit] = records
        return done

    def _checksum(self, unit: Unit, records: list[Record]) -> str:
        """Return a checksum, which detects damage and mixed runs, not forgery."""
        return sha256(_dumped([self._about, unit, records]).encode()).hexdigest()[:SUMS]


def _dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _content(path: Path) -> bytes:
    """Return the bytes of an ordinary file of bounded size; none of a file that is not there."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"{path} is not an ordinary file; choose another folder for the results")
        if status.st_size > MAX_BYTES:
            raise InputError(f"{path} has {status.st_size:,} bytes, more than results have; choose another folder")
        with path.open("rb") as file:
            return file.read(MAX_BYTES)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); choose another folder") from None


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
