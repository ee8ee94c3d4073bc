"""A folder of answers, part by part: each is complete or not there, so that an interrupted run can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from bayesclf.errors import InputError
from bayesclf.files import PREFIX, regular, write_whole
from bayesclf.interpretation.predictions import Columns
from bayesclf.storage.encoding import fingerprint

MANIFEST = "_manifest.json"
"""What the answers are of; readers of Parquet folders skip names that begin so."""

PART_ROWS = 2**18
"""Rows from which on a part is complete: it has those of whole batches."""


def is_folder(output: str | os.PathLike[str]) -> bool:
    """Return whether a name means a folder: it is one, or ends as one's does."""
    name = os.fspath(output)
    return name.endswith(("/", os.sep)) or os.path.isdir(name)


def part_name(number: int) -> str:
    """Return the name of a part, counted from 0."""
    return f"part-{number:06}.parquet"


@dataclass(frozen=True)
class Origin:
    """The settings and files of a run.

    Attributes
    ----------
    settings
        By what sentences call it, the fingerprint of what answers or statistics depend on.
    files
        Size and time of the last change, in nanoseconds, of each file that is read, by its absolute path.
    bayesclf
        Version that the run was begun by: another one may round otherwise.
    """

    settings: Mapping[str, str]
    files: Mapping[str, list[int]]
    bayesclf: str

    @classmethod
    def of(cls, files: Iterable[Path], settings: Mapping[str, Any]) -> Self:
        """Look at files, and make fingerprints of settings."""
        looks = {os.path.abspath(file): os.stat(file) for file in files}
        states = {name: [look.st_size, look.st_mtime_ns] for name, look in looks.items()}
        made = {what: fingerprint(value) for what, value in settings.items()}
        return cls(made, states, version("bayesclf"))

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)

    def difference(self, then: Mapping[str, Any]) -> str:
        """Return in what an earlier run, of which `as_json` is given, differs; empty where it is the same.

        Raises
        ------
        KeyError, TypeError, AttributeError
            If what is given was not made by `as_json`.
        """
        if then["bayesclf"] != self.bayesclf:
            return f"it was begun by bayesclf {then['bayesclf']}, and this is {self.bayesclf}"
        for file in sorted({*self.files, *then["files"]}):
            if file not in then["files"]:
                return f"{file} was not among the files that it was begun with"
            if file not in self.files:
                return f"{file} was among the files that it was begun with"
            if then["files"][file] != self.files[file]:
                return f"{file} has changed since it was begun"
        for what, value in self.settings.items():
            if then["settings"].get(what) != value:
                return f"it was begun with other {what}"
        return ""


@dataclass(frozen=True)
class Part:
    """A part that is complete.

    Attributes
    ----------
    rows, rejected
        Its rows, and those left undecided.
    sha256
        Checksum of its file, by which a later run can tell that nobody has changed it.
    """

    rows: int
    rejected: int
    sha256: str

    @classmethod
    def of(cls, path: Path, batches: Iterable[Columns]) -> Self:
        """Return a part that was written, given its answers."""
        predicted = [columns["predicted"] for columns in batches]
        rejected = sum(labels.tolist().count(None) for labels in predicted if labels.dtype == object)
        return cls(sum(map(len, predicted)), rejected, _sha256(path))


@dataclass
class Parts:
    """The parts of a folder.

    Attributes
    ----------
    folder
        Where they are.
    origin
        What they are of.
    known
        Those that the manifest has.
    done
        Those at the beginning that are as they were written; the answers go on after them.
    finished
        Whether all have been written.
    """

    folder: Path
    origin: Origin
    known: list[Part] = field(default_factory=list)
    done: list[Part] = field(default_factory=list)
    finished: bool = False

    def path(self, number: int) -> Path:
        """Return the file of a part."""
        return self.folder / part_name(number)

    def add(self, part: Part) -> None:
        """Note that the next part is complete."""
        number = len(self.done)
        self.done.append(part)
        if self.known[number : number + 1] != [part]:
            self.known[number : number + 1] = [part]
            self.write_manifest()

    def finish(self) -> None:
        """Note that all parts are there."""
        if not self.finished:
            self.finished = True
            self.write_manifest()

    def require_own(self, names: Iterable[str]) -> None:
        """Raise `InputError` for a file of the folder that its run did not write, which readers would take for answers.

        The part after the last known one may be there: a run can end before its manifest has it.
        """
        own = {MANIFEST, *map(part_name, range(len(self.known) + (not self.finished)))}
        others = sorted(set(names).difference(own))
        if others:
            raise InputError(
                f"{self.folder / others[0]} is not of the run that is to be resumed; remove it, or choose another "
                "folder"
            )

    def write_manifest(self) -> None:
        """Write what is known of the parts, and what they are of."""
        found = {
            "format": "answers of bayesclf",
            "finished": self.finished,
            "origin": self.origin.as_json(),
            "parts": [asdict(part) for part in self.known],
        }
        text = json.dumps(found, indent=1)
        write_whole(self.folder / MANIFEST, lambda part: part.write_text(text, encoding="utf-8"))


def begun(folder: Path, origin: Origin, resume: bool) -> Parts:
    """Return what a folder has of the answers, and prepare it for more.

    Raises
    ------
    InputError
        If it has anything, unless `resume`; if that is not what a run with this origin wrote; if it cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True)
        found = [name for name in os.listdir(folder) if not name.startswith(PREFIX)]
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made ({error.strerror}); choose another") from None
    if not found:
        parts = Parts(folder, origin)
        parts.write_manifest()
        return parts
    if not resume:
        raise InputError(
            f"{folder} is not empty; choose another folder, or resume the run that wrote to it (--resume, resume=True "
            "in Python)"
        )
    manifest = _manifest(folder)
    try:
        difference = origin.difference(manifest["origin"])
        finished = bool(manifest["finished"])
        known = [Part(int(one["rows"]), int(one["rejected"]), str(one["sha256"])) for one in manifest["parts"]]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _damaged(folder) from None
    if difference:
        raise InputError(f"{folder} has answers of another run: {difference}; choose another folder")
    parts = Parts(folder, origin, known, finished=finished)
    parts.require_own(found)
    for number, part in enumerate(known):
        if _sha256(parts.path(number)) != part.sha256:
            break  # this one and those after it are written again
        parts.done.append(part)
    return parts


def in_parts(batches: Iterable[Columns]) -> Iterator[list[Columns]]:
    """Yield answers of batches, as many together as make a part."""
    held: list[Columns] = []
    for columns in batches:
        held.append(columns)
        if sum(len(one["row"]) for one in held) >= PART_ROWS:
            yield held
            held = []
    if held:
        yield held


def _manifest(folder: Path) -> Mapping[str, Any]:
    """Return the manifest of a folder, as it was written."""
    if not (folder / MANIFEST).exists():
        raise InputError(
            f"{folder} has files but no {MANIFEST}, so that no run can be resumed there; choose another folder"
        )
    try:
        with regular(folder / MANIFEST, "a manifest") as file:
            found = json.loads(file.read())
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise _damaged(folder) from None
    if not isinstance(found, dict):
        raise _damaged(folder)
    return found


def _damaged(folder: Path) -> InputError:
    return InputError(
        f"{folder / MANIFEST} is damaged, so that it does not say what the answers are of; choose another folder"
    )


def _sha256(path: Path) -> str:
    """Return the checksum of a file; empty where it cannot be read."""
    try:
        with regular(path, "a part") as file:
            whole: Any = file
            return hashlib.file_digest(whole, "sha256").hexdigest()
    except (InputError, OSError):
        return ""
