"""Checks of what the prior does to the posterior, by power scaling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import Check, Skipped
from bayesclf.diagnostics.finding import Finding
from bayesclf.diagnostics.words import named

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.diagnostics.context import Context


class StrongPrior(Check):
    """Parameters that follow the prior and not the likelihood (Kallioinen et al. 2024)."""

    code = "M03"
    title = "Prior sensitivity"
    applies_to = "posteriors whose draws are held"

    def run(self, context: Context) -> Finding:
        """Name the parameters that move with the power of the prior only."""
        table, limit = _table(context), thresholds.MAX_SENSITIVITY
        found = table[(table["prior"] >= limit) & (table["likelihood"] < limit)]
        if len(found):
            return self.tip(
                f"{_count(found, table)} follow the prior and hardly the rows: it is strong there, or they say little",
                "see that the prior says what is known of the problem, or gather rows that tell",
                found.head(thresholds.SHOWN),
            )
        return self.passed(_largest(table), table.head(1))


class Conflict(Check):
    """Parameters that prior and likelihood pull in different directions (Kallioinen et al. 2024)."""

    code = "M04"
    title = "Prior-data conflict"
    applies_to = "posteriors whose draws are held"

    def run(self, context: Context) -> Finding:
        """Name the parameters that are sensitive to both, and moved by the prior beyond their posterior's width."""
        table, limit = _table(context), thresholds.MAX_SENSITIVITY
        both = (table["prior"] >= limit) & (table["likelihood"] >= limit)
        found = table[both & (table["pull"].abs() > thresholds.MAX_PULL)]
        if len(found):
            return self.tip(
                f"{_count(found, table)} lie between what the prior and what the rows say, moved by the prior by more "
                f"than {thresholds.MAX_PULL:g} posterior sds",
                "compare the prior with the rows, clf.predictive_check(X, y); widen it where it was not meant so "
                "firmly",
                found.head(thresholds.SHOWN),
            )
        furthest = table["pull"].abs().max()
        return self.passed(
            f"{_largest(table)}; it moves no mean by more than {furthest:.2f} posterior sds", table.head(1)
        )


def _table(context: Context) -> pd.DataFrame:
    """Return the sensitivities, the most sensitive to the prior first."""
    table = context.sensitivities
    if not len(table):
        raise Skipped("no parameter varies, or the draws are too large to hold")
    return table.sort_values("prior", ascending=False, ignore_index=True)


def _largest(table: pd.DataFrame) -> str:
    return f"largest sensitivity to the prior {table['prior'].iloc[0]:.3f} of {_scope(table)}"


def _count(found: pd.DataFrame, table: pd.DataFrame) -> str:
    return f"{len(found)} of {_scope(table)} ({named(found['parameter'].tolist())})"


def _scope(table: pd.DataFrame) -> str:
    checked, of = len(table), table.attrs["of"]
    return f"{of:,} parameters" if checked == of else f"{checked:,} of {of:,} parameters"
