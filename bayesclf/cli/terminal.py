"""The terminal: plain text, and no control characters but its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, override

from rich.console import Console, ConsoleOptions
from rich.segment import Segment

from bayesclf.wording import visible


class Terminal(Console):
    """A console on stdout or stderr without markup and automatic colors, on which control characters are visible.

    All that is printed is rendered here, so that no name of a column, a class or a file, and no cell, reaches the
    terminal as an escape sequence.
    """

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, highlight=False, emoji=False)

    @override
    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield what is printed, with control characters of texts shown instead of obeyed."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text, kept="\n\t"), style, control)
