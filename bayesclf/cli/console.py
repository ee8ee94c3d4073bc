"""Output of the commands: tables, text and csv on stdout; errors, notes and progress on stderr."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from bayesclf.errors import ConvergenceWarning, PredictionWarning
from bayesclf.files import remove_unfinished
from bayesclf.wording import printable, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

BAD_INPUT = 2
"""Exit status for input that cannot be used."""

INTERRUPTED = 130
"""Exit status after Ctrl-C."""

BARE_LINE = "\r\x1b[K\x1b[?25h"
"""What removes a progress bar from a terminal, and shows the cursor that it hid."""


def stdout(stderr: bool = False) -> Console:
    """Return a console on stdout, or stderr, that prints plain text: no markup, no automatic colors or escapes."""
    console: Console = _terminal()(stderr)
    return console


@cache
def _terminal() -> Any:
    """Return the class of consoles without markup and automatic colors, on which control characters are visible.

    All output is rendered there, so that no cell and no name of a column, class or file reaches the terminal as an
    escape sequence. It is made when something is printed, because importing Rich takes time.
    """
    from rich.console import Console, ConsoleOptions
    from rich.segment import Segment

    class Terminal(Console):
        """A console on stdout or stderr."""

        def __init__(self, stderr: bool = False) -> None:
            super().__init__(stderr=stderr, markup=False, highlight=False, emoji=False)

        def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            """Yield what is printed, with control characters of texts shown instead of obeyed."""
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else visible(text, kept="\n\t"), style, control)

        def print(self, *objects: Any, **options: Any) -> None:
            """Print; where a disk is full, drop all else, but finish the work: the command may also write files."""
            try:
                super().print(*objects, **options)
            except OSError as error:
                drop_stdout(error)

        def on_broken_pipe(self) -> None:
            """Drop what is printed from now on: the reader had what it wanted."""
            drop_stdout(None)

    return Terminal


LOST: list[OSError] = []
"""Why text of this process did not reach stdout."""


def drop_stdout(error: OSError | None) -> None:
    """Drop what is written to stdout from now on, and remember an error other than that its reader went away."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error is not None and not isinstance(error, BrokenPipeError):
        LOST.append(error)


def finished(status: int) -> int:
    """Return the exit status of a command: that of bad input where stdout did not take all of its text."""
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except OSError as error:
            drop_stdout(error)
    lost, LOST[:] = LOST[:1], []
    if status or not lost:
        return status
    complain(f"stdout cannot be written to ({lost[0].strerror}); its text is cut off, and only files are complete")
    return BAD_INPUT


def interrupt(*_: object) -> None:
    """Answer Ctrl-C: end this process at once, with nothing half written."""
    remove_unfinished()
    with contextlib.suppress(OSError):  # stderr may be closed
        os.write(2, f"{BARE_LINE if os.isatty(2) else ''}bayesclf: interrupted\n".encode())
    os._exit(INTERRUPTED)


def complain(sentence: str) -> None:
    """Print a sentence on stderr, unless that is closed: on one line, or wrapped by words where it is a terminal."""
    if sys.stderr is None:
        return
    console = stdout(stderr=True)
    text = printable(f"bayesclf: {' '.join(sentence.split())}")
    print(wrapped(text, console.width) if console.is_terminal else text, file=sys.stderr)


def line_a_model() -> Callable[[str, int, int], None] | None:
    """Return what prints a line on stderr when the fits of a model are done; None on a terminal, which has a bar."""
    if sys.stderr is None or sys.stderr.isatty():
        return None
    running: list[str] = []

    def tell(model: str, done: int, total: int) -> None:
        """Print a line when another model runs, or all are done."""
        if done == total or running not in ([], [model]):
            complain(f"{(running or [model])[0]}: done, {done} of {total} fits")
        running[:] = [model] if done < total else []

    return tell


def wrapped(text: str, width: int) -> str:
    """Return a text in lines of at most so many characters, broken between words only; a longer word stays whole.

    So does an option with a quoted value, as a pasted line break would be a part of the value.

    Examples
    --------
    >>> print(wrapped("three rules of one posterior", 12))
    three rules
    of one
    posterior
    >>> print(wrapped("(--keep 'blood type' keeps it)", 12))
    (--keep 'blood type'
    keeps it)
    """
    whole = re.sub(r"--[\w-]+ '[^']*'", lambda found: found[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(whole, width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ")


def plain_table(headers: Sequence[str], right: Sequence[str] = ()) -> Table:
    """Return an empty table with a line under its headers; the columns named in `right` are aligned to the right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold")
    for header in headers:
        table.add_column(header, justify="right" if header in right else "left", overflow="fold")
    return table


@contextlib.contextmanager
def notes_for_warnings() -> Iterator[None]:
    """Show each warning of bayesclf as one line; other warnings are unchanged."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **named: Any) -> None:
        """Write a warning of bayesclf as a note; hand on any other."""
        if issubclass(category, ConvergenceWarning | PredictionWarning):
            complain(f"note: {message}")
        else:
            usual(message, category, *place, **named)

    with warnings.catch_warnings():
        if not sys.warnoptions:
            for category in (ConvergenceWarning, PredictionWarning):
                warnings.simplefilter("always", category)
        warnings.showwarning = show
        yield
