"""The result of a check, why there is none, and how sentences list names and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import pandas as pd

from bayesclf.diagnostics import thresholds
from bayesclf.wording import AND_MORE, listed

type Section = Literal["issue", "tip", "passed", "not applicable", "skipped"]
type Severity = Literal["severe", "moderate", "mild", "none"]
type Evidence = Mapping[str, object] | pd.DataFrame

SEVERITIES: tuple[Severity, ...] = ("severe", "moderate", "mild", "none")


class NotApplicable(Exception):
    """The question does not arise for this model or posterior; the message says why."""


class Skipped(Exception):
    """The question cannot be answered because something is missing; the message says what."""


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
        ``"passed"``; ``"not applicable"`` to this model or posterior; ``"skipped"`` because something is missing.
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


def named(names: Sequence[str]) -> str:
    """Return quoted names joined by commas and "and", at most `SHOWN` of them.

    Examples
    --------
    >>> named(["a", "b"]), named(["a", "b", "c", "d", "e", "f", "g"])
    ("'a' and 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    return listed(map(repr, names), thresholds.SHOWN, AND_MORE, last=" and ")


def counted(rows: Sequence[int]) -> str:
    """Return row numbers joined by commas, at most `SHOWN` of them.

    Examples
    --------
    >>> counted([3, 17]), counted([1, 2, 3, 4, 5, 6, 7])
    ('3, 17', '1, 2, 3, 4, 5, …')
    """
    return listed(rows, thresholds.SHOWN)


def part_of(checked: int, of: int, what: str) -> str:
    """Return how many were checked, and of how many if not all were.

    Examples
    --------
    >>> part_of(12, 12, "rows"), part_of(1000, 1202, "parameters")
    ('12 rows', '1,000 of 1,202 parameters')
    """
    return f"{checked:,} {what}" if checked == of else f"{checked:,} of {of:,} {what}"
