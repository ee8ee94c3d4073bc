"""A report as a tree of sections, sentences, tables, figures and findings, and how it is written: HTML, Markdown, JSON.

A report is built once. Each of three functions writes any tree, so that all forms say the same.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesclf.diagnostics import CHECKS
from bayesclf.diagnostics.diagnosis import Finding, as_table
from bayesclf.errors import DoesNotExist, Refused
from bayesclf.report.document import svg
from bayesclf.wording import first_upper, visible

if TYPE_CHECKING:
    from matplotlib import figure

type Part = Text | Items | Table | Figure | Findings | Beside | Section

SIGNIFICANT = 4
"""Digits of a number of which only the magnitude matters."""

MOST_LINES = 100
"""Lines of a table that people are shown; JSON has all."""

MOST_EVIDENCE = 20
"""Lines of the evidence of a finding that people are shown."""

LONG = 50
"""Characters from which a column of words keeps a readable width on a phone, where its table scrolls."""

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&]|^\s*\d+(?=[.)]\s)|^\s*[-+](?=\s))")
"""Characters that would mark up a stranger's names in Markdown."""

NUMBER = re.compile(r"[−+]?[\d∞]|–$|$")
"""How a cell begins that is aligned like a number."""


@dataclass(frozen=True)
class Text:
    """A paragraph; its look is ``"headline"``, ``"quiet"``, ``"call"`` or plain."""

    text: str
    look: str = ""


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    items: Sequence[str]


@dataclass(frozen=True, eq=False)
class Table:
    """A table of at least one column.

    Attributes
    ----------
    values
        The numbers as they are; JSON has these.
    shown
        The same as people read it, if it is not each value with a few digits, and "_" of headings as a space.
    caption
        What it shows.
    best
        Position of a line to mark.
    meanings
        What headings, or names in the first column, mean.
    most
        Lines that people are shown.
    """

    values: pd.DataFrame
    shown: pd.DataFrame | None = None
    caption: str = ""
    best: int | None = None
    meanings: Mapping[str, str] = field(default_factory=dict)
    most: int = MOST_LINES

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and lines as people read them."""
        frame = self.values if self.shown is None else self.shown
        lines = frame.head(self.most).itertuples(index=False, name=None)
        return [str(name).replace("_", " ") if self.shown is None else str(name) for name in frame], [
            [cell(value) for value in line] for line in lines
        ]

    @property
    def rest(self) -> str:
        """How many lines are not shown."""
        more = len(self.values if self.shown is None else self.shown) - self.most
        return f"… and {more:,} more lines." if more > 0 else ""


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure: what draws it, its name in the page, what it is and what it shows."""

    draw: Callable[[], figure.Figure]
    name: str
    title: str
    caption: str


@dataclass(frozen=True, eq=False)
class Findings:
    """What checks found, each with what to do about it."""

    found: Sequence[Finding]


@dataclass(frozen=True, eq=False)
class Beside:
    """Parts that stand side by side where there is room."""

    parts: Sequence[Part]


@dataclass(frozen=True, eq=False)
class Section:
    """Parts under a heading; folded away on a screen, or in a box, where its look says so."""

    heading: str
    parts: Sequence[Part]
    look: str = ""


@dataclass(frozen=True, eq=False)
class Report:
    """A report: what is predicted, from how much, its sections, and how it was made."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    made: Sequence[tuple[str, str]]


def cell(value: object) -> str:
    """Return a value as a cell: a number with a few digits, other values as they are.

    Examples
    --------
    >>> cell(-0.123456), cell(1234), cell(float("nan")), cell(True)
    ('−0.1235', '1,234', '', 'True')
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return ", ".join(map(str, value)) if isinstance(value, list | tuple) else "" if value is None else str(value)
    if isinstance(value, int | np.integer):
        return f"{value:,}".replace("-", "−")
    return "" if np.isnan(value) else f"{value:.{SIGNIFICANT}g}".replace("-", "−").replace("inf", "∞")


def html(report: Report) -> str:
    """Return a report as one page that makes no requests and runs no script; names of the user's are escaped."""
    style = files("bayesclf.report").joinpath("page.css").read_text(encoding="utf-8")
    named = [(f"part-{i}", part.heading) for i, part in enumerate(report.sections, 1)]
    named[1:1] = [(_id_of(box.heading), box.heading) for box in _boxes(report.sections)]
    links = "".join(f'<a href="#{name}">{escape(heading)}</a>' for name, heading in named)
    made = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in report.made)
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<link rel="icon" href="data:,">
<title>{escape(report.title)}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{escape(report.title)}</h1>
<p class="quiet">{_unbroken(report.subtitle)}</p>
<nav aria-label="Sections">{links}<a href="#made">How this was made</a></nav>
</header>
<main>
{"".join(_html(part, f"part-{i}") for i, part in enumerate(report.sections, 1))}
<section id="made"><h2>How this was made</h2><dl>{made}</dl></section>
<p class="on-paper">Parts that are folded on the screen, apart from the methods, are not printed.</p>
</main>
</body>
</html>
"""
    return visible(page, kept="\n\t")


def _boxes(parts: Sequence[Part]) -> Iterator[Section]:
    """Yield the sections that are boxes, however deep."""
    for part in parts:
        if isinstance(part, Section) and part.look == "box":
            yield part
        elif isinstance(part, Section | Beside):
            yield from _boxes(part.parts)


def _id_of(heading: str) -> str:
    return re.sub(r"\W+", "-", heading.lower())


def _html(part: Part, name: str) -> str:
    """Return a part as markup; `name` is the id of a section."""
    match part:
        case Text(text, look):
            return f'<p class="{look}">{_unbroken(text)}</p>\n' if look else f"<p>{_unbroken(text)}</p>\n"
        case Items(items):
            return f"<ul>{''.join(f'<li>{_unbroken(item)}</li>' for item in items)}</ul>\n"
        case Table():
            return _html_table(part)
        case Figure(draw, own, title, caption):
            try:
                return f"<figure>{svg(draw, own, title, caption)}<figcaption>{escape(caption)}</figcaption></figure>\n"
            except (Refused, DoesNotExist) as reason:
                return _html(Text(f"{first_upper(str(reason))}.", "quiet"), name)
        case Findings(found):
            return "".join(map(_html_finding, found))
        case Beside(parts):
            return f'<div class="beside">{"".join(f"<div>{_html(one, name)}</div>" for one in parts)}</div>\n'
        case Section(heading, parts, look):
            inner = "".join(_html(one, f"{name}-{i}") for i, one in enumerate(parts, 1))
            match look:
                case "box":
                    return f'<div class="cautions" id="{_id_of(heading)}"><h3>{escape(heading)}</h3>\n{inner}</div>\n'
                case "folded":
                    head = f"<summary><h2>{escape(heading)}</h2></summary>"
                    return f'<section id="{name}"><details class="part">{head}{inner}</details></section>\n'
                case "more":
                    return f'<details class="more"><summary>{escape(heading)}</summary>{inner}</details>\n'
                case "first":
                    return f'<section id="{name}" aria-label="{escape(heading)}">{inner}</section>\n'
            return f'<section id="{name}"><h2>{escape(heading)}</h2>\n{inner}</section>\n'


def _html_table(table: Table) -> str:
    """Return a table as markup."""
    headings, lines = table.cells()
    numbers = [bool(lines) and j > 0 and all(NUMBER.match(line[j]) for line in lines) for j in range(len(headings))]
    long = [max((len(line[j]) for line in lines), default=0) > LONG for j in range(len(headings))]
    kinds = [
        ' class="number"' if number else ' class="long"' if words else ""
        for number, words in zip(numbers, long, strict=True)
    ]
    head = "".join(f"<th{kind}>{_named(name, table.meanings)}</th>" for name, kind in zip(headings, kinds, strict=True))
    body = ""
    for index, line in enumerate(lines):
        cells = [f"<td{kind}>{_unbroken(text)}</td>" for text, kind in zip(line[1:], kinds[1:], strict=True)]
        first = f'<th scope="row" class="name">{_named(line[0], table.meanings)}</th>'
        body += f"<tr{' class="best"' if index == table.best else ''}>{first}{''.join(cells)}</tr>\n"
    caption = f"<caption><span>{escape(table.caption)}</span></caption>" if table.caption else ""
    label = escape(table.caption or "Table")
    frame = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>"
    rest = f'<p class="quiet">{table.rest}</p>' if table.rest else ""
    return f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">{frame}</div>{rest}\n'


def _named(name: str, meanings: Mapping[str, str]) -> str:
    """Return a name that shows its meaning, if it has one, when one hovers over it or taps it."""
    if name not in meanings:
        return _unbroken(name)
    meaning = escape(meanings[name])
    return f'<details class="term"><summary title="{meaning}">{escape(name)}</summary>{meaning}</details>'


def _html_finding(finding: Finding) -> str:
    """Return a finding as markup, its evidence folded away."""
    severity = f' <span class="severity">{finding.severity}</span>' if finding.section == "issue" else ""
    evidence = as_table(finding.evidence)
    more = "" if evidence.empty else _html(Section("numbers", [Table(evidence, most=MOST_EVIDENCE)], "more"), "")
    step = f'<p class="step">{_unbroken(first_upper(finding.next_step))}.</p>' if finding.next_step else ""
    asks = {code: (check.__doc__ or "").partition("\n")[0] for code, check in CHECKS.items()}
    name = f'<div class="code">{_named(finding.code, asks)}</div><strong>{escape(finding.title)}</strong>'
    return f'<div class="check">{name}{severity}<p>{_unbroken(first_upper(finding.reason))}.</p>{step}{more}</div>\n'


def _unbroken(sentence: str) -> str:
    """Return an escaped sentence in which no line ends between a number and its standard error or unit."""
    return escape(sentence).replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")


def markdown(report: Report) -> str:
    """Return a report as Markdown, without figures; names and cells of the user's table are escaped."""
    made = Section("How this was made", [Items([f"{name}: {value}" for name, value in report.made])])
    lines = [f"# {escaped(report.title)}", "", escaped(report.subtitle), ""]
    for section in (*report.sections, made):
        lines += _markdown(section, 2)
    return "\n".join(lines)


def _markdown(part: Part, level: int) -> list[str]:
    """Return the lines of a part, each block with an empty line after it."""
    match part:
        case Text(text):
            return [escaped(text), ""] if text else []
        case Items(items):
            return [*(f"- {escaped(item)}" for item in items), ""] if items else []
        case Table():
            headings, lines = part.cells()
            shown = [[escaped(text) for text in line] for line in [headings, *lines]]
            rows = [f"| {' | '.join(line)} |" for line in [shown[0], ["---"] * len(headings), *shown[1:]]]
            return [*_markdown(Text(part.caption), level), *rows, "", *_markdown(Text(part.rest), level)]
        case Figure():
            return []
        case Findings(found):
            return _markdown(Items([said(finding) for finding in found]), level)
        case Beside(parts):
            return [line for one in parts for line in _markdown(one, level)]
        case Section(heading, parts):
            inner = [line for one in parts for line in _markdown(one, level + 1)]
            return [f"{'#' * level} {escaped(heading)}", "", *inner] if inner else []


def told(part: Part) -> Iterator[str]:
    """Yield the sentences of a part, without tables and figures."""
    match part:
        case Text(text):
            yield text
        case Items(items):
            yield from items
        case Findings(found):
            yield from map(said, found)
        case Beside(parts) | Section(_, parts):
            for one in parts:
                yield from told(one)


def said(finding: Finding) -> str:
    """Return a finding as sentences."""
    kind = finding.severity if finding.section == "issue" else finding.section
    step = f" {first_upper(finding.next_step)}." if finding.next_step else ""
    return f"{finding.code} {finding.title} ({kind}): {first_upper(finding.reason)}.{step}"


def escaped(text: str) -> str:
    """Return text in which nothing is markup.

    Examples
    --------
    >>> print(escaped("a|b <script>"))
    a\\|b \\<script\\>
    """
    return SPECIAL.sub(_escape, visible(text))


def _escape(found: re.Match[str]) -> str:
    """Return a character that is no markup; of the number of a list's item, it is the point after it."""
    return f"{found[0]}\\" if found[0].strip().isdigit() else f"\\{found[0].lstrip()}"


def to_json(report: Report) -> str:
    """Return a report as JSON; undefined numbers are null, infinite ones the strings "inf" and "-inf"."""
    document = {
        "title": report.title,
        "subtitle": report.subtitle,
        "sections": [_plain_part(section) for section in report.sections],
        "made": dict(report.made),
    }
    return json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain_part(part: Part) -> dict[str, Any]:
    """Return a part as what JSON has."""
    match part:
        case Text(text):
            return {"text": text}
        case Items(items):
            return {"items": list(items)}
        case Table():
            return {"caption": part.caption, "table": part.values.to_dict("records")}
        case Figure(_, _, title, caption):
            return {"figure": title, "caption": caption}
        case Findings(found):
            names = ("code", "title", "section", "severity", "reason", "next_step")
            return {"findings": [{name: getattr(one, name) for name in names} for one in found]}
        case Beside(parts):
            return {"parts": [_plain_part(one) for one in parts]}
        case Section(heading, parts):
            return {"heading": heading, "parts": [_plain_part(one) for one in parts]}


def plain(value: Any) -> Any:
    """Return values that JSON has: numbers that are not finite become null, "inf" or "-inf"."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value if value is None or isinstance(value, bool | int | float) else str(value)
