"""Results on disk, appended as they come, so that a killed run goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesclf.errors import InputError
from bayesclf.experiments.experiment import Record, Unit
from bayesclf.files import write_whole

if TYPE_CHECKING:
    import pandas as pd

RECORDS, SETTINGS = "results.jsonl", "settings.json"


class Store:
    """A folder with the records of one experiment: a line of JSON for each finished unit.

    A line is written and synchronised at once; one that a killed run left unfinished is cut off at the next start, and
    its unit is done again. While a store is open it is locked, so that no two runs write to one folder.

    Parameters
    ----------
    folder
        Made where it is missing.
    experiment
        Name of the experiment.
    settings
        Its settings; a folder belongs to the settings that it was begun with.
    made
        What else to keep beside the results: command, versions.

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
                text = json.dumps(self._about | made, indent=1)
                write_whole(folder / SETTINGS, lambda part: part.write_text(text + "\n", encoding="utf-8"))
            self.done = self._read()
        except BaseException:
            self._file.close()
            raise

    def append(self, unit: Unit, records: list[Record]) -> None:
        """Keep the records of a finished unit."""
        line = json.dumps({"unit": unit, "records": records}, separators=(",", ":"))
        self._file.write(line.encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.done[unit] = records

    def frame(self, units: Sequence[Unit]) -> pd.DataFrame:
        """Return the records of these units, in their order, whoever finished first."""
        import pandas as pd

        wanted = {unit: self.done[unit] for unit in units}
        ordered = sorted(wanted.items(), key=lambda item: [str(part).zfill(12) for part in item[0]])
        return pd.DataFrame([record for _, records in ordered for record in records])

    def close(self) -> None:
        """Give the folder free."""
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
        if not begun:
            return
        other = [f"{key}={theirs.get(key)!r}" for key in mine if theirs.get(key) != mine[key]]
        if other:
            raise InputError(
                f"{self.folder} holds results of other settings ({', '.join(other)}); choose or empty a folder"
            )

    def _read(self) -> dict[Unit, list[Record]]:
        """Return the records that are there, after cutting off an unfinished last line."""
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
    """Lock the file for this process, where the system can; the lock goes with the process, however it ends."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(f"another run is writing to {folder}; wait for it, or choose another folder") from None
