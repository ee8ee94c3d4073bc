"""Output of the commands: tables and text on stdout; errors, notes and progress on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bayesclf.errors import ConvergenceWarning, PredictionWarning
from bayesclf.files import remove_unfinished
from bayesclf.wording import printable

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
    from bayesclf.cli.terminal import Terminal

    return Terminal(stderr)


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


def wrapped(text: str, width: int, indent: str = "") -> str:
    """Return a text in lines of at most so many characters, broken between words only.

    Parameters
    ----------
    text
        Words with spaces between them; one that is longer than a line stays whole, on a line of its own.
    width
        Characters in a line.
    indent
        What each line begins with.

    Examples
    --------
    >>> print(wrapped("three rules of one posterior", 12))
    three rules
    of one
    posterior
    """
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def longest_word(texts: Iterable[str]) -> int:
    """Return the number of characters of the longest word, the least width at which no word is broken."""
    return max((len(word) for text in texts for word in text.split()), default=0)


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
