"""The results of checks: one finding, and those of all checks as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Literal, NamedTuple

import pandas as pd

from bayesclf.diagnostics.held_out import HeldOut
from bayesclf.wording import visible

type Section = Literal["issue", "tip", "passed", "not applicable", "undecided"]
type Severity = Literal["severe", "moderate", "mild", "none"]
type Evidence = Mapping[str, object] | pd.DataFrame

SEVERITIES: tuple[Severity, ...] = ("severe", "moderate", "mild", "none")

WIDTH = 100
"""Characters per line."""

MOST_LINES = 20
"""Rows of a table that are shown; the evidence itself has all rows."""

TITLES: dict[Section, str] = {
    "issue": "Issues",
    "tip": "Tips",
    "passed": "Passed",
    "not applicable": "Not applicable",
    "undecided": "Undecided",
}
"""Headings of the sections, in the order in which they are shown."""


@dataclass(frozen=True, eq=False)
class Finding:
    """The result of one check.

    Attributes
    ----------
    code
        Number of the check: P… of the posterior, M… of the model, Y… of predictions.
    title
        What is checked.
    section
        ``"issue"``: the answers cannot be trusted as they are; ``"tip"``: worth knowing, or worth changing;
        ``"passed"``; ``"not applicable"`` to this model or posterior; ``"undecided"`` because something is missing,
        such as more rows.
    severity
        ``"severe"`` (all answers), ``"moderate"`` (some), ``"mild"`` or ``"none"``.
    reason
        What was found, or why there is nothing to find, in one sentence.
    next_step
        What to do; empty where there is nothing.
    evidence
        The numbers: a small mapping, or a tidy table.
    """

    code: str
    title: str
    section: Section
    severity: Severity
    reason: str
    next_step: str = ""
    evidence: Evidence = field(default_factory=dict)


class Answer(NamedTuple):
    """What the function of a check returns: a `Finding` without its code and title."""

    section: Section
    severity: Severity
    reason: str
    next_step: str
    evidence: Evidence


def passed(reason: str, evidence: Evidence) -> Answer:
    """Return that nothing is wrong."""
    return Answer("passed", "none", reason, "", evidence)


def tip(reason: str, next_step: str, evidence: Evidence) -> Answer:
    """Return something worth knowing."""
    return Answer("tip", "mild", reason, next_step, evidence)


def issue(reason: str, next_step: str, evidence: Evidence, severity: Severity = "severe") -> Answer:
    """Return something that is wrong."""
    return Answer("issue", severity, reason, next_step, evidence)


def as_table(evidence: Evidence) -> pd.DataFrame:
    """Return the numbers of a finding as a table; a mapping is its only row."""
    if isinstance(evidence, pd.DataFrame):
        return evidence
    return pd.DataFrame([evidence] if evidence else [])


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What the checks found about a fitted classifier; printed, it reads as a report.

    Attributes
    ----------
    name
        Name of the classifier's class.
    findings
        One for each check that was run, in the order of the codes.
    held_out
        Answers to held-out rows, if a check needed them.
    """

    name: str
    findings: tuple[Finding, ...]
    held_out: HeldOut | None = field(default=None, repr=False)

    @cached_property
    def sections(self) -> dict[Section, tuple[Finding, ...]]:
        """The findings of each section, the most severe first."""
        found = sorted(self.findings, key=lambda finding: SEVERITIES.index(finding.severity))
        return {section: tuple(finding for finding in found if finding.section == section) for section in TITLES}

    @property
    def issues(self) -> tuple[Finding, ...]:
        """Findings that make answers untrustworthy, the most severe first."""
        return self.sections["issue"]

    @property
    def tips(self) -> tuple[Finding, ...]:
        """Findings that are worth knowing."""
        return self.sections["tip"]

    @property
    def passed(self) -> tuple[Finding, ...]:
        """Checks that found nothing wrong."""
        return self.sections["passed"]

    @property
    def not_applicable(self) -> tuple[Finding, ...]:
        """Questions that do not arise, and why."""
        return self.sections["not applicable"]

    @property
    def undecided(self) -> tuple[Finding, ...]:
        """Questions that could not be answered, and what is missing."""
        return self.sections["undecided"]

    @property
    def table(self) -> pd.DataFrame:
        """One row per check: code, title, section, severity, reason and next step."""
        names = ["code", "title", "section", "severity", "reason", "next_step"]
        return pd.DataFrame([[getattr(finding, name) for name in names] for finding in self.findings], columns=names)

    def __getitem__(self, code: str) -> Finding:
        """Return the finding of a check that was run."""
        return {finding.code: finding for finding in self.findings}[code]

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(found)} {section}" for section, found in self.sections.items() if found)
        return f"Diagnosis({self.name}: {counts})"

    def __str__(self) -> str:
        found = [(section, findings) for section, findings in self.sections.items() if findings]
        lines = ["\n".join([TITLES[section], *_lines(section, findings)]) for section, findings in found]
        return "\n\n".join([self._summary(), *lines])

    def _repr_html_(self) -> str:
        parts = [f"<p><strong>{escape(self._summary())}</strong></p>"]
        parts += [
            f"<details{' open' * (section in ('issue', 'tip'))}><summary>{TITLES[section]} ({len(findings)})</summary>"
            f"<ul>{''.join(map(_item, findings))}</ul></details>"
            for section, findings in self.sections.items()
            if findings
        ]
        return visible(f'<div class="bayesclf-diagnosis">{"".join(parts)}</div>', kept="\n")

    def _summary(self) -> str:
        counts = {section: len(findings) for section, findings in self.sections.items()}
        issues, tips = (f"{counts[s]} {s}{'' if counts[s] == 1 else 's'}" for s in ("issue", "tip"))
        rest = ", ".join(f"{counts[section]} {section}" for section in ("passed", "not applicable", "undecided"))
        return f"{self.name}: {issues}, {tips}, {rest}"


def _lines(section: Section, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines of a section; checks that were not run for one reason share a line."""
    if section in ("issue", "tip"):
        for finding in findings:
            yield from _wrapped(f"{finding.code} {finding.title}{_severity(finding)}")
            yield from _wrapped(finding.reason, "      ")
            yield from _wrapped(f"→ {finding.next_step}", "      ", "        ")
    elif section == "passed":
        for finding in findings:
            yield from _wrapped(f"{finding.code} {finding.title}: {finding.reason}")
    else:
        for reason in dict.fromkeys(finding.reason for finding in findings):
            codes = ", ".join(finding.code for finding in findings if finding.reason == reason)
            yield from _wrapped(f"{codes}: {reason}")


def _wrapped(line: str, first: str = "  ", rest: str = "      ") -> list[str]:
    return textwrap.wrap(
        line, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def _severity(finding: Finding) -> str:
    return f" ({finding.severity})" if finding.section == "issue" else ""


def _item(finding: Finding) -> str:
    """Return a finding as an item of a list, everything escaped, with its evidence folded away."""
    step = f"<br>→ {escape(finding.next_step)}" if finding.next_step else ""
    head = f"<b>{escape(finding.code)} {escape(finding.title)}</b>{_severity(finding)}: {escape(finding.reason)}{step}"
    shown = as_table(finding.evidence).head(MOST_LINES)
    table = shown.to_html(index=False, border=0, float_format="{:.4g}".format)
    return f"<li>{head}{'' if shown.empty else f'<details><summary>numbers</summary>{table}</details>'}</li>"
