"""Streams that outlive their readers: a closed pipe or a full disk ends the words of a command, not its work."""

from __future__ import annotations

import errno
import io
import select
import sys
from typing import Any, TextIO

from bayesclf.cli.console import BAD_INPUT, complain

BROKEN_PIPE = 141
"""Exit status after the reader of stdout went away, which shells give for programs that SIGPIPE ended."""


class Lasting(io.RawIOBase):
    """A stream whose writes never fail: from the first error on, it drops what is written and remembers the error.

    Parameters
    ----------
    stream
        The stream of text whose bytes it writes to, which stays open as long as this.

    Attributes
    ----------
    error
        Why the stream could not be written to; None while it can.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._raw: Any = getattr(stream.buffer, "raw", stream.buffer)
        self.error: OSError | None = None

    def writable(self) -> bool:
        """Return that it can be written to."""
        return True

    def fileno(self) -> int:
        """Return the file descriptor."""
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return bool(self._raw.isatty())

    def write(self, data: Any) -> int:
        """Write, or drop, bytes; return how many."""
        if self.error is None:
            try:
                while (written := self._raw.write(data)) is None:  # the reader of a non-blocking pipe is slower
                    select.select([], [self._raw], [])
                return int(written)
            except OSError as error:
                self.error = error
        return len(data)


def outlive(stream: TextIO | None) -> TextIO | None:
    """Return a stream of text that writes to the same place, and never fails; None for a closed one, which is None.

    A terminal without a character such as "±" gets a question mark.
    """
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    lasting = io.BufferedWriter(Lasting(stream))
    return io.TextIOWrapper(
        lasting,
        stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def finished(status: int) -> int:
    """Return the exit status of a command, which is not 0 if stdout did not take all of it.

    A reader that went away is no reason to complain, as it had what it wanted; that a disk is full is one.

    Parameters
    ----------
    status
        Exit status of the command itself.
    """
    if sys.stdout is None:
        return status
    sys.stdout.flush()
    raw = getattr(sys.stdout.buffer, "raw", None)
    error = raw.error if isinstance(raw, Lasting) else None
    if error is None or status != 0:
        return status
    if error.errno in (errno.EPIPE, errno.ECONNRESET):
        return BROKEN_PIPE
    complain(f"stdout cannot be written to ({error.strerror}); its text is cut off, and only files are complete")
    return BAD_INPUT
