"""The form of a check."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from bayesclf.diagnostics.finding import Evidence, Finding, Severity
from bayesclf.errors import DoesNotExist, Refused

if TYPE_CHECKING:
    from bayesclf.diagnostics.context import Context


class NotApplicable(Exception):
    """The question does not arise for this model or posterior; the message says why."""


class Skipped(Exception):
    """The question could not be answered for lack of something; the message says of what."""


class Check(ABC):
    """One numbered question about a fitted classifier.

    Subclasses set `code`, `title` and `applies_to`, and answer in `run`, by one of `passed`, `tip` and `issue`, or by
    raising `NotApplicable` or `Skipped`. What several checks need is computed once, by the context.
    """

    code: ClassVar[str]
    title: ClassVar[str]
    applies_to: ClassVar[str]

    @abstractmethod
    def run(self, context: Context) -> Finding:
        """Return what was found."""

    def finding(self, context: Context) -> Finding:
        """Return what was found, or why there was nothing to look for."""
        try:
            return self.run(context)
        except NotApplicable as reason:
            return Finding(self.code, self.title, "not applicable", "none", str(reason))
        except (Skipped, Refused, DoesNotExist) as reason:
            return Finding(self.code, self.title, "skipped", "none", str(reason))

    def passed(self, reason: str, evidence: Evidence) -> Finding:
        """Return that all is well."""
        return Finding(self.code, self.title, "passed", "none", reason, "", evidence)

    def tip(self, reason: str, next_step: str, evidence: Evidence) -> Finding:
        """Return something worth knowing."""
        return Finding(self.code, self.title, "tip", "mild", reason, next_step, evidence)

    def issue(self, reason: str, next_step: str, evidence: Evidence, severity: Severity = "severe") -> Finding:
        """Return something that is wrong."""
        return Finding(self.code, self.title, "issue", severity, reason, next_step, evidence)
