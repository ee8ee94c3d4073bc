"""The findings of all checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayesclf.diagnostics import markup
from bayesclf.diagnostics.finding import SEVERITIES, Finding, Section

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What the checks found of a fitted classifier; printed, it reads as a report.

    Attributes
    ----------
    name
        Name of the classifier's class.
    findings
        One for each check that was run, in the order of the codes.
    """

    name: str
    findings: tuple[Finding, ...]

    @property
    def issues(self) -> tuple[Finding, ...]:
        """What makes answers untrustworthy, the most severe first."""
        return tuple(sorted(self._of("issue"), key=lambda finding: SEVERITIES.index(finding.severity)))

    @property
    def tips(self) -> tuple[Finding, ...]:
        """What is worth knowing."""
        return self._of("tip")

    @property
    def passed(self) -> tuple[Finding, ...]:
        """What is well."""
        return self._of("passed")

    @property
    def not_applicable(self) -> tuple[Finding, ...]:
        """Questions that do not arise, with the reason."""
        return self._of("not applicable")

    @property
    def skipped(self) -> tuple[Finding, ...]:
        """Questions that could not be answered, with what is lacking."""
        return self._of("skipped")

    @property
    def table(self) -> pd.DataFrame:
        """One line a check: code, title, section, severity, reason and next step."""
        import pandas as pd

        names = ["code", "title", "section", "severity", "reason", "next_step"]
        return pd.DataFrame([[getattr(finding, name) for name in names] for finding in self.findings], columns=names)

    def __getitem__(self, code: str) -> Finding:
        """Return the finding of a check that was run."""
        for finding in self.findings:
            if finding.code == code:
                return finding
        raise KeyError(code)

    def __repr__(self) -> str:
        counts = ", ".join(f"{len(found)} {section}" for section, found in self._sections().items() if found)
        return f"Diagnosis({self.name}: {counts})"

    def __str__(self) -> str:
        return markup.text(self.name, self._sections())

    def _repr_html_(self) -> str:
        return markup.html(self.name, self._sections())

    def _of(self, section: Section) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.section == section)

    def _sections(self) -> dict[Section, tuple[Finding, ...]]:
        return {
            "issue": self.issues,
            "tip": self.tips,
            "passed": self.passed,
            "not applicable": self.not_applicable,
            "skipped": self.skipped,
        }
