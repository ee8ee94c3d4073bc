"""How results print themselves: a headline, a table and sentences, as text for a terminal or HTML for a notebook."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from html import escape
from typing import Any

from bayesclf.wording import clipped, one_line

WIDTH = 100
"""Characters per line of text."""

MOST_LINES = 12
"""Lines of a table that are shown, of however many there are."""

MOST_COLUMNS = 8
"""Columns of a table that are shown."""

LONGEST_CELL = 28
"""Characters of a cell, which may have names from the user's table, that are shown."""

BEST = ">"
"""Mark of the best line in text."""


@dataclass(frozen=True)
class Display:
    """What a result shows of itself; nothing of it grows with the number of rows, columns or models.

    Attributes
    ----------
    headline
        What it is and how large, in a few words.
    header
        Names of the columns.
    lines
        Cells of each line, as many as there are columns.
    best
        Number of the line to mark, if any.
    left_out
        How many lines there are beyond `lines`, where not all were worth making.
    sentences
        What to read below the table.
    """

    headline: str
    header: tuple[str, ...] = ()
    lines: Sequence[Sequence[object]] = ()
    best: int | None = None
    left_out: int = 0
    sentences: tuple[str, ...] = ()

    def text(self, width: int = WIDTH, most_lines: int | None = 3) -> str:
        """Return it as plain text, of at most so many characters per line and lines per sentence.

        Examples
        --------
        >>> print(Display("Scores", ("rule", "loss"), [("map", "0.25"), ("mean", "0.2")], 1, 3, ("Use mean.",)).text())
        Scores
          rule  loss
          map   0.25
        > mean  0.2
          … and 3 more
        Use mean.
        """
        header, lines = self._shown()
        cells = [header, *lines]
        widths = [max(len(line[column]) for line in cells) for column in range(len(header))]
        while len(widths) > 1 and sum(widths) + 2 * len(widths) > width:
            widths.pop()  # the last column has no room
        best = None if self.best is None else self.best + 1
        table = [
            f"{BEST if number == best else ' '} {_aligned(line, widths)}"[:width].rstrip()
            for number, line in enumerate(cells if header else [])
        ]
        parts = [*textwrap.wrap(one_line(self.headline), width), *table]
        if hidden := self._hidden():
            parts.append(f"  … and {hidden:,} more")
        for sentence in self.sentences:
            parts += textwrap.wrap(one_line(sentence), width, max_lines=most_lines, placeholder=" …")
        return "\n".join(parts)

    def html(self) -> str:
        """Return it as HTML in the colors of the page, everything escaped."""
        header, lines = self._shown()
        parts = [f"<p><strong>{escape(one_line(self.headline))}</strong></p>"]
        if header:
            parts.append(table(header, lines, self.best))
        if hidden := self._hidden():
            parts.append(f"<p>… and {hidden:,} more</p>")
        if self.sentences:
            parts.append(f"<p>{'<br>'.join(escape(one_line(sentence)) for sentence in self.sentences)}</p>")
        return f'<div class="bayesclf">{"".join(parts)}</div>'

    def _shown(self) -> tuple[tuple[str, ...], list[list[str]]]:
        """Return the header and the lines that are shown, cells clipped."""
        header = tuple(clipped(name, LONGEST_CELL) for name in self.header[:MOST_COLUMNS])
        lines = [line[:MOST_COLUMNS] for line in self.lines[:MOST_LINES]]
        return header, [[clipped(cell, LONGEST_CELL) for cell in line] for line in lines]

    def _hidden(self) -> int:
        return max(len(self.lines) - MOST_LINES, 0) + self.left_out


class Displayed:
    """A result that prints itself in a few lines; a dataclass among its kinds says ``repr=False`` to let it."""

    def __repr__(self) -> str:
        return self._display().text()

    def _repr_html_(self) -> str:
        return self._display().html()

    def _display(self) -> Display:
        """Return what the result shows of itself."""
        raise NotImplementedError


class Concise:
    """A dataclass with ``repr=False`` that prints the fields that differ from their defaults, as scikit-learn does."""

    def __repr__(self) -> str:
        shown = (field for field in fields(self) if field.repr and not _is_default(self, field))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in shown)})"


class Sized:
    """A dataclass with ``repr=False`` that prints its arrays by their shapes, and leaves out what is empty."""

    def __repr__(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        told = {name: value for name, value in values.items() if value is not None and str(value) not in ("", "()")}
        shown = [f"{name}={_sized(value)}" for name, value in told.items()]
        return f"{type(self).__name__}({', '.join(shown)})"


def _sized(value: object) -> str:
    """Return an array by its shape, a data set of xarray by its sizes, and anything else as it prints itself."""
    if hasattr(value, "sizes"):
        return f"{type(value).__name__} {dict(value.sizes)}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name!r}: {_sized(one)}' for name, one in value.items())}}}"
    return f"array {value.shape}" if hasattr(value, "shape") else repr(value)


def _is_default(settings: object, field: Field[Any]) -> bool:
    """Return whether a field has its default; arrays never have."""
    value, default = getattr(settings, field.name), field.default
    if field.default_factory is not MISSING:
        default = field.default_factory()
    return value is default or (type(value) is type(default) and not hasattr(value, "__array__") and value == default)


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False))


def table(header: Sequence[object], lines: Sequence[Sequence[object]], best: int | None = None) -> str:
    """Return a table as HTML, everything escaped, with the cells of the best line in bold.

    Examples
    --------
    >>> print(table(["<rule>"], [["map"], ["mean"]], best=1))
    <table><thead><tr><th>&lt;rule&gt;</th></tr></thead><tbody><tr><td>map</td></tr><tr><td><b>mean</b></td></tr></tbody></table>
    """
    head = "".join(f"<th>{escape(str(name))}</th>" for name in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{_marked(escape(str(cell)), number == best)}</td>' for cell in line)}</tr>"
        for number, line in enumerate(lines)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _marked(cell: str, best: bool) -> str:
    return f"<b>{cell}</b>" if best else cell
