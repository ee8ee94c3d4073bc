"""Findings as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from bayesclf.diagnostics.finding import Evidence, Finding, Section

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 100
"""Characters of a line."""

MOST_LINES = 20
"""Lines of a table that are shown; the evidence itself has all."""

TITLES: dict[Section, str] = {
    "issue": "Issues",
    "tip": "Tips",
    "passed": "Passed",
    "not applicable": "Not applicable",
    "skipped": "Skipped",
}

type Sections = Mapping[Section, Sequence[Finding]]


def text(name: str, sections: Sections) -> str:
    """Return a report of plain lines; checks that were not made for one reason share a line."""
    parts = [_summary(name, sections)]
    for section, findings in sections.items():
        if not findings:
            continue
        lines = [TITLES[section]]
        if section in ("issue", "tip"):
            for finding in findings:
                severity = f" ({finding.severity})" if section == "issue" else ""
                lines += _wrapped(f"{finding.code} {finding.title}{severity}", "  ", "      ")
                lines += _wrapped(finding.reason, "      ", "      ")
                lines += _wrapped(f"→ {finding.next_step}", "      ", "        ")
        elif section == "passed":
            for finding in findings:
                lines += _wrapped(f"{finding.code} {finding.title}: {finding.reason}", "  ", "      ")
        else:
            for reason, codes in _by_reason(findings).items():
                lines += _wrapped(f"{', '.join(codes)}: {reason}", "  ", "      ")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def html(name: str, sections: Sections) -> str:
    """Return a report in HTML, everything escaped, with the evidence of each finding folded away."""
    parts = [f"<p><strong>{escape(_summary(name, sections))}</strong></p>"]
    for section, findings in sections.items():
        if not findings:
            continue
        items = "".join(_item(finding) for finding in findings)
        parts.append(
            f"<details{' open' * (section in ('issue', 'tip'))}>"
            f"<summary>{TITLES[section]} ({len(findings)})</summary><ul>{items}</ul></details>"
        )
    return f'<div class="bayesclf-diagnosis">{"".join(parts)}</div>'


def _item(finding: Finding) -> str:
    severity = f" ({finding.severity})" if finding.section == "issue" else ""
    step = f"<br>→ {escape(finding.next_step)}" if finding.next_step else ""
    head = f"<b>{escape(finding.code)} {escape(finding.title)}</b>{severity}: {escape(finding.reason)}{step}"
    table = _evidence(finding.evidence)
    return f"<li>{head}{f'<details><summary>evidence</summary>{table}</details>' if table else ''}</li>"


def _evidence(evidence: Evidence) -> str:
    if isinstance(evidence, Mapping):
        columns, rows = list(evidence), [list(evidence.values())] if evidence else []
    else:
        columns, rows = [str(name) for name in evidence], _rows(evidence)
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _rows(evidence: pd.DataFrame) -> list[list[object]]:
    return [list(row) for row in evidence.head(MOST_LINES).itertuples(index=False)]


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _summary(name: str, sections: Sections) -> str:
    counts = {section: len(findings) for section, findings in sections.items()}
    issues, tips = (f"{counts[s]} {s}{'' if counts[s] == 1 else 's'}" for s in ("issue", "tip"))
    rest = ", ".join(f"{counts[section]} {section}" for section in ("passed", "not applicable", "skipped"))
    return f"{name}: {issues}, {tips}, {rest}"


def _by_reason(findings: Sequence[Finding]) -> dict[str, list[str]]:
    codes: dict[str, list[str]] = {}
    for finding in findings:
        codes.setdefault(finding.reason, []).append(finding.code)
    return codes


def _wrapped(line: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        line, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
