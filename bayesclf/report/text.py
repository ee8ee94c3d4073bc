"""Reports without figures, from the same content as the pages: Markdown for a README or a ticket, JSON for programs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesclf.interpretation.summary import READING, Priors
from bayesclf.report.facts import Fact
from bayesclf.report.table import cell
from bayesclf.wording import first_upper, visible

if TYPE_CHECKING:
    from bayesclf.diagnostics import Diagnosis

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&]|^\s*\d+(?=[.)]\s)|^\s*[-+](?=\s))")
"""Characters that would mark up a stranger's names in Markdown."""


@dataclass(frozen=True)
class Part:
    """One section of a report.

    Attributes
    ----------
    heading
        Its heading.
    sentences
        Paragraphs before the table.
    items
        Items of a list before the table.
    table
        Numbers, as they are; each form of the report rounds them in its own way.
    shown
        Most lines of the table in Markdown; JSON has all.
    """

    heading: str
    sentences: Sequence[str] = ()
    items: Sequence[str] = ()
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    shown: int = 100


@dataclass(frozen=True)
class TextReport:
    """A report without figures.

    Attributes
    ----------
    title, subtitle
        What is predicted, and from how much.
    parts
        Its sections.
    made
        How it was made: names and values.
    """

    title: str
    subtitle: str
    parts: Sequence[Part]
    made: Sequence[tuple[str, str]]

    def markdown(self) -> str:
        """Return the report as Markdown; names and cells of the user's table are escaped."""
        lines = [f"# {escaped(self.title)}", "", escaped(self.subtitle), ""]
        for part in self.parts:
            lines += [f"## {escaped(part.heading)}", ""]
            for sentence in part.sentences:
                lines += [escaped(sentence), ""]
            if part.items:
                lines += [*(f"- {escaped(item)}" for item in part.items), ""]
            if len(part.table):
                lines += [*_lines(part.table.head(part.shown)), ""]
            if len(part.table) > part.shown:
                lines += [f"… and {len(part.table) - part.shown:,} more lines.", ""]
        lines += ["## How this was made", "", *(f"- {name}: {escaped(value)}" for name, value in self.made), ""]
        return "\n".join(lines)

    def json(self) -> str:
        """Return the report as JSON; undefined numbers are null, infinite ones the strings "inf" and "-inf"."""
        document = {
            "title": self.title,
            "subtitle": self.subtitle,
            "parts": [
                {
                    "heading": part.heading,
                    "sentences": [*part.sentences, *part.items],
                    "table": part.table.to_dict("records"),
                }
                for part in self.parts
            ],
            "made": dict(self.made),
        }
        return json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def of_facts(facts: Sequence[Fact]) -> pd.DataFrame:
    """Return how good answers are, beside what one has without a model."""
    return pd.DataFrame([(fact.name, fact.value, fact.baseline) for fact in facts], columns=["", "model", "no_model"])


def of_priors(priors: Priors, heading: str = "Model and priors") -> Part:
    """Return the section of the model and its priors."""
    return Part(heading, items=[*priors.model, READING], table=priors.table)


def of_checks(diagnosis: Diagnosis, of: str = "") -> Part:
    """Return the section of the checks: issues and tips in words, all as a table."""
    found = [*diagnosis.issues, *diagnosis.tips]
    said = [
        f"{finding.code} {finding.title} ({finding.section if finding.section == 'tip' else finding.severity}): "
        f"{first_upper(finding.reason)}. {first_upper(finding.next_step)}."
        for finding in found
    ]
    checks = diagnosis.table[["code", "title", "section", "severity"]]
    return Part(f"Checks of {of}" if of else "Checks", items=said, table=checks)


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


def _lines(table: pd.DataFrame) -> list[str]:
    """Return a table in Markdown, numbers to the right."""
    numeric = [pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]
    rows = [[escaped(cell(value).text) for value in line] for line in table.itertuples(index=False, name=None)]
    heads = [escaped(str(name).replace("_", " ")) for name in table]
    marks = ["---:" if right else "---" for right in numeric]
    return [f"| {' | '.join(line)} |" for line in (heads, marks, *rows)]


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
