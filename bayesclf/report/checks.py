"""The findings of checks as a page shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bayesclf.diagnostics import Diagnosis, Finding
from bayesclf.diagnostics.diagnosis import MOST_LINES, TITLES
from bayesclf.diagnostics.finding import Evidence
from bayesclf.report.table import Cell

SIGNIFICANT = 4
"""Digits of a number among the evidence."""


@dataclass(frozen=True)
class CheckView:
    """One check of a page.

    Attributes
    ----------
    finding
        What it found.
    anchor
        Its place in the page.
    headings, lines
        The evidence, its first lines.
    more
        Lines that are left out.
    """

    finding: Finding
    anchor: str
    headings: tuple[str, ...]
    lines: tuple[tuple[Cell, ...], ...]
    more: int


@dataclass(frozen=True)
class CheckGroup:
    """The checks of one section: issues, tips, and so on."""

    title: str
    section: str
    checks: tuple[CheckView, ...]


def groups(diagnosis: Diagnosis, prefix: str = "") -> tuple[CheckGroup, ...]:
    """Return the checks by section, empty sections left out; anchors are the codes, with a prefix."""
    by_section = {
        "issue": diagnosis.issues,
        "tip": diagnosis.tips,
        "passed": diagnosis.passed,
        "not applicable": diagnosis.not_applicable,
        "skipped": diagnosis.skipped,
    }
    return tuple(
        CheckGroup(TITLES[section], section, tuple(_view(finding, prefix) for finding in found))  # type: ignore[index]
        for section, found in by_section.items()
        if found
    )


def _view(finding: Finding, prefix: str) -> CheckView:
    headings, rows = _evidence(finding.evidence)
    lines = tuple(tuple(cell(value) for value in row) for row in rows[:MOST_LINES])
    return CheckView(finding, f"{prefix}{finding.code}", headings, lines, max(0, len(rows) - MOST_LINES))


def _evidence(evidence: Evidence) -> tuple[tuple[str, ...], Sequence[Sequence[object]]]:
    """Return headings and rows; a mapping is one row."""
    if isinstance(evidence, Mapping):
        return tuple(str(name).replace("_", " ") for name in evidence), [list(evidence.values())] if evidence else []
    names = tuple(str(name).replace("_", " ") for name in evidence)
    return names, [list(row) for row in evidence.itertuples(index=False)]


def cell(value: object) -> Cell:
    """Return a number with a few digits, and the number itself to sort by; words as they are."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        if isinstance(value, list | tuple):
            return Cell(", ".join(str(part) for part in value))
        return Cell("" if value is None else str(value))
    if isinstance(value, int | np.integer):
        return Cell(f"{value:,}".replace("-", "−"), float(value))
    if np.isnan(value):
        return Cell("")
    return Cell(f"{value:.{SIGNIFICANT}g}".replace("-", "−").replace("inf", "∞"), float(value))
