"""The program `bayesclf`, also as ``python -m bayesclf``: Ctrl-C ends it quietly even while it imports."""

import os
import signal
from types import FrameType

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


def interrupt(signum: int, frame: FrameType | None) -> None:
    """End the program, without the imports that a handler cannot rely on."""
    os.write(2, b"bayesclf: interrupted\n")
    os._exit(INTERRUPTED)


def main() -> None:
    """Run the command line of this process."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    from bayesclf.cli import main as run

    run()


if __name__ == "__main__":
    main()
