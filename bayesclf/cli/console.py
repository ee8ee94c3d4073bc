"""Output of the commands: tables and text on stdout; errors, notes and progress on stderr."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bayesclf.errors import ConvergenceWarning, PredictionWarning

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

BAD_INPUT = 2
"""Exit status for input that cannot be used."""

INTERRUPTED = 130
"""Exit status after Ctrl-C."""


def stdout(stderr: bool = False) -> Console:
    """Return a console on stdout, or stderr, that prints plain text: no markup, no automatic colors."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


def complain(sentence: str) -> None:
    """Print one line on stderr."""
    print(f"bayesclf: {' '.join(sentence.split())}", file=sys.stderr)


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
