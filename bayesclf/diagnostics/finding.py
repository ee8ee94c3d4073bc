"""What a check has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd

type Section = Literal["issue", "tip", "passed", "not applicable", "skipped"]
type Severity = Literal["severe", "moderate", "mild", "none"]
type Evidence = Mapping[str, object] | pd.DataFrame

SECTIONS: tuple[Section, ...] = ("issue", "tip", "passed", "not applicable", "skipped")
"""In the order in which they are shown."""

SEVERITIES: tuple[Severity, ...] = ("severe", "moderate", "mild", "none")


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
        ``"issue"``: answers are not to be trusted as they are; ``"tip"``: worth knowing, or better done otherwise;
        ``"passed"``; ``"not applicable"`` to this model or posterior; ``"skipped"`` for lack of something.
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
