"""Progress of what takes more than a moment: a bar on stderr or in a notebook, or a function of the user's.

A bar appears after `DELAY` seconds and is removed at the end. Work inside other work shows no bar of its own.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from html import escape
from typing import Any, Protocol

from bayesclf.errors import InputError
from bayesclf.wording import clipped

type Callback = Callable[[str, int, int], object]
"""Is told what is being done, the units done, and the units in all."""

type Progress = bool | Callback | None
"""Whether to show progress, or the function to tell; None for the default, see `set_progress`."""

DELAY = 1.5
"""Seconds before anything is shown."""

LONGEST_LINE = 60
"""The most characters of what is being done that are shown."""

LINES_EVERY, UPDATES_EVERY = 10.0, 0.1
"""Seconds between two lines where there is no terminal, and between two updates in a notebook."""


class Tell(Protocol):
    """What work calls after each of its units."""

    def __call__(self, what: str, done: int, total: int, /) -> object:
        """Tell what is being done, the units done, and the units in all."""


_default: Progress = None
_around: ContextVar[tuple[Tell, bool] | None] = ContextVar("_around", default=None)
"""Who is told about the work in progress, and whether that counts units of its own."""


def set_progress(progress: Progress) -> None:
    """Set whether progress is shown where nothing else is requested.

    Parameters
    ----------
    progress : bool, callable or None
        True, False, or a function that is called with what is being done, the units done, and the units in all. None,
        as at the start: shown in a notebook, and where stderr is a terminal.

    Raises
    ------
    InputError
        For anything else.
    """
    global _default
    _default = checked(progress)


def checked(progress: Progress) -> Progress:
    """Return a choice of progress, or raise `InputError` for what is none."""
    if progress is None or isinstance(progress, bool) or callable(progress):
        return progress
    raise InputError(f"progress must be True, False, a function of (what, done, total) or None, not {progress!r}")


@contextmanager
def shown(first: str, total: int | None = None, progress: Progress = None) -> Iterator[Tell]:
    """Show progress while the body runs; it calls what this yields.

    Examples
    --------
    >>> told = []
    >>> with shown("rows", 2, lambda *news: told.append(news)) as tell:
    ...     for row in range(2):
    ...         tell("rows", row + 1, 2)
    >>> told
    [('rows', 1, 2), ('rows', 2, 2)]
    """
    around = _around.get()
    with _display(first, total, checked(progress), around) as tell:
        token = _around.set((tell, total is not None))
        try:
            yield tell
        finally:
            _around.reset(token)


def _display(
    first: str, total: int | None, progress: Progress, around: tuple[Tell, bool] | None
) -> AbstractContextManager[Tell]:
    """Return what shows the progress of some work, inside other work or not."""
    if progress is None and around is None:
        progress = _default
    if callable(progress):
        return nullcontext(progress)
    if around is not None:
        tell, counts = around
        return nullcontext(silent if counts else tell)
    if progress is False or (progress is None and not _watched()):
        return nullcontext(silent)
    if _in_notebook():
        return _Notebook()
    return _Terminal(first, total) if _on_terminal() else _Lines()


def silent(what: str, done: int, total: int, /) -> None:
    """Tell nobody."""


def _watched() -> bool:
    """Return whether somebody is likely to look: not at workers, whose output would get in each other's way."""
    main = multiprocessing.current_process().name == "MainProcess"
    return main and threading.current_thread() is threading.main_thread() and (_in_notebook() or _on_terminal())


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _in_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None


class _Terminal(AbstractContextManager["_Terminal"]):
    """A bar on stderr with the time left; a thread begins it, so that it also shows while the first unit takes long."""

    def __init__(self, first: str, total: int | None) -> None:
        self._now: tuple[str, int, int | None] = (first, 0, total)
        self._bar: Any = None
        self._timer = threading.Timer(DELAY, self._begin)
        self._timer.daemon = True

    def __enter__(self) -> _Terminal:
        self._timer.start()
        return self

    def __call__(self, what: str, done: int, total: int, /) -> None:
        self._now = (what, done, total)
        if self._bar is not None:
            self._bar.update(self._task, description=clipped(what, LONGEST_LINE), completed=done, total=total)

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()
        self._timer.join()
        if self._bar is not None:
            self._bar.stop()

    def _begin(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        what, done, total = self._now
        time_left = (TimeRemainingColumn(compact=True, elapsed_when_finished=True), TextColumn("left"))
        console = Console(file=sys.stderr, markup=False, highlight=False, emoji=False)
        bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            *(() if total is None else (MofNCompleteColumn(), *time_left)),
            console=console,
            transient=True,
            redirect_stdout=False,  # to stderr, where this bar is
        )
        self._task = bar.add_task(clipped(what, LONGEST_LINE), completed=done, total=total)
        bar.start()
        self._bar = bar


class _Lines(AbstractContextManager["_Lines"]):
    """A line on stderr now and then, where progress was requested without a terminal."""

    every = LINES_EVERY

    def __init__(self) -> None:
        self._next = time.monotonic() + DELAY

    def __call__(self, what: str, done: int, total: int, /) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self.every
            self._show(f"{clipped(what, LONGEST_LINE)}: {done:,} of {total:,}", done, total)

    def _show(self, text: str, done: int, total: int) -> None:
        print(text, file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        """Leave the lines."""


class _Notebook(_Lines):
    """A bar in the output of a cell, in the colors of the page."""

    every = UPDATES_EVERY
    _handle: Any = None

    def _show(self, text: str, done: int, total: int) -> None:
        self._display(text, f'<progress value="{done}" max="{total}"></progress> {escape(text)}')

    def __exit__(self, *error: object) -> None:
        if self._handle is not None:
            self._display("", "")

    def _display(self, text: str, page: str) -> None:
        from IPython.display import display

        data = {"text/plain": text, "text/html": page}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(data, raw=True)
