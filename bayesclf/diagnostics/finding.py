"""The result of a check, and why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import pandas as pd

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


def as_table(evidence: Evidence) -> pd.DataFrame:
    """Return the numbers of a finding as a table; a mapping is its only row."""
    if isinstance(evidence, pd.DataFrame):
        return evidence
    return pd.DataFrame([evidence] if evidence else [])
