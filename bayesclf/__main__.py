"""The program `bayesclf`, also as ``python -m bayesclf``: Ctrl-C ends it quietly even while it imports."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


def interrupt(signum: int, frame: FrameType | None) -> None:
    """End the program, without the imports that a handler cannot rely on."""
    os.write(2, b"bayesclf: interrupted\n")
    os._exit(INTERRUPTED)


def main() -> None:
    """Run the command line in this process; raises `SystemExit` with its status."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    from bayesclf.cli import main as run

    run()


def program() -> None:
    """Run the command line, and end the process without waiting for its threads.

    A thread of PyArrow that lets go of a Python file while the interpreter ends would abort the process.
    """
    try:
        main()
    except SystemExit as end:  # stdout is flushed
        if sys.stderr is not None:
            with suppress(OSError):
                sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else 1)


if __name__ == "__main__":
    program()
