"""What a pass over files has learned so far, in a file of its own, so that an interrupted fit can be resumed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from bayesclf.errors import InputError
from bayesclf.storage import netcdf
from bayesclf.storage.encoding import GROUP, Decoder, Encoder
from bayesclf.storage.formats import VERSION
from bayesclf.storage.origins import Origin

FORMAT = "bayesclf fit in progress"

SECONDS = 30.0
"""Time between two writings of a file, at least."""

SHARE = 20
"""Nothing is written for so many times as long as the last writing took, so that large states cost a fit little."""


class Checkpoint:
    """A file that keeps what was learned, and what from.

    Parameters
    ----------
    path
        The file; it is written atomically, and stays when the fit has ended.
    where
        How messages call what is read.
    files
        Files that are read; there must be some.
    settings
        What statistics depend on, by what sentences call it.

    Raises
    ------
    InputError
        Where nothing tells whether what a later run reads is the same.
    """

    def __init__(self, path: Any, where: str, files: Iterable[Path], settings: Mapping[str, Any]) -> None:
        files = tuple(files)
        if not files:
            raise InputError(
                f"a checkpoint is that of files, by which a later run can tell that nothing has changed, and {where} "
                "is none; leave it out, or give files"
            )
        self.path = netcdf.target_of(path)
        self._origin = Origin.of(files, settings)
        self._last, self._wait = time.monotonic(), SECONDS

    def read(self) -> Any:
        """Return the values that an earlier run kept; None where there is no such file.

        Raises
        ------
        InputError
            If the file is no checkpoint, is damaged, or was made of other files or by other settings.
        """
        if not self.path.exists():
            return None
        try:
            groups = netcdf.read(self.path)
        except InputError:
            raise InputError(f"{self.path} is damaged or no checkpoint; remove it, and the fit starts anew") from None
        attributes = groups[GROUP].attrs if GROUP in groups else {}
        if str(attributes.get("format")) != FORMAT:
            raise InputError(f"{self.path} is not a checkpoint of a fit; give another name")
        try:
            text = attributes["state"]
            if attributes["checksum"] != netcdf.checksum(groups, text):
                raise ValueError("its checksum differs")
            state = json.loads(text)
            difference = self._origin.difference(state["origin"])
            values = None if difference else Decoder(groups).decode(state["values"])
        except Exception:  # JSON of a damaged file can fail anywhere, in any way
            raise InputError(f"{self.path} is damaged; remove it, and the fit starts anew") from None
        if difference:
            raise InputError(f"{self.path} keeps another fit: {difference}; remove it, and this one starts anew")
        return values

    def offer(self, values: Callable[[], Any]) -> None:
        """Write what a function returns, unless that was done a short time ago."""
        if time.monotonic() - self._last >= self._wait:
            start = time.monotonic()
            self._write(values())
            self._last = time.monotonic()
            self._wait = max(SECONDS, SHARE * (self._last - start))

    def _write(self, values: Any) -> None:
        import xarray as xr

        encoder = Encoder({})
        text = json.dumps(
            {"origin": self._origin.as_json(), "values": encoder.encode(values, "values")}, allow_nan=False
        )
        groups = {GROUP: xr.Dataset(encoder.variables)}
        groups[GROUP].attrs = {
            "format": FORMAT,
            "format_version": VERSION,
            "state": text,
            "checksum": netcdf.checksum(groups, text),
        }
        netcdf.write(self.path, xr.DataTree.from_dict(groups))
