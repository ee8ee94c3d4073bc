"""What a long run was begun with, by which a later one can tell whether it may resume it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self, override

import numpy as np
from numpy.typing import NDArray

from bayesclf.storage.encoding import Encoder


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


def fingerprint(value: Any) -> str:
    """Return a SHA-256 of a value that a model file can hold, the same for equal values wherever they are in memory.

    Parameters
    ----------
    value
        As `bayesclf.storage.encoding.Encoder` takes it.
    """
    encoded = _Digests().encode(value, "value")
    return sha256(json.dumps(encoded, allow_nan=False).encode()).hexdigest()


class _Digests(Encoder):
    """Encodes arrays of numbers as their digests."""

    @override
    def _array(self, array: NDArray[Any], where: str) -> Any:
        if array.dtype.kind in "OU":
            return super()._array(array, where)
        values = np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else np.ascontiguousarray(array)
        return {"array": [array.dtype.str, list(array.shape), sha256(values.tobytes()).hexdigest()]}
