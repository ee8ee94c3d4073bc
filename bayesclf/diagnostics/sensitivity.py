"""Checks of what the prior does to the posterior, by power scaling.

References
----------
Kallioinen, Paananen, Bürkner, Vehtari (2024), Detecting and diagnosing prior and likelihood sensitivity with
power-scaling, Statistics and Computing 34, doi:10.1007/s11222-023-10366-5.
"""

from __future__ import annotations

import pandas as pd

from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import check
from bayesclf.diagnostics.context import Context
from bayesclf.diagnostics.finding import Answer, Skipped, named, part_of, passed, tip

HELD = "posteriors whose draws are held"


@check("M03", "Prior sensitivity", HELD)
def strong_prior(context: Context) -> Answer:
    """Name the parameters that move with the power of the prior, and not with that of the likelihood."""
    table, limit = _table(context), thresholds.MAX_SENSITIVITY
    found = table[(table["prior"] >= limit) & (table["likelihood"] < limit)]
    if len(found):
        return tip(
            f"{_count(found, table)} follow the prior and hardly the rows: it is strong there, or they say little",
            "see that the prior says what is known of the problem, or gather rows that tell",
            found.head(thresholds.SHOWN),
        )
    return passed(_largest(table), table.head(1))


@check("M04", "Prior-data conflict", HELD)
def conflict(context: Context) -> Answer:
    """Name the parameters that are sensitive to both, and moved by the prior by more than their posterior's width."""
    table, limit = _table(context), thresholds.MAX_SENSITIVITY
    both = (table["prior"] >= limit) & (table["likelihood"] >= limit)
    found = table[both & (table["pull"].abs() > thresholds.MAX_PULL)]
    if len(found):
        return tip(
            f"{_count(found, table)} lie between what the prior and what the rows say, moved by the prior by more "
            f"than {thresholds.MAX_PULL:g} posterior sds",
            "compare the prior with the rows, clf.predictive_check(X, y); widen it where it was not meant so firmly",
            found.head(thresholds.SHOWN),
        )
    furthest = table["pull"].abs().max()
    return passed(f"{_largest(table)}; it moves no mean by more than {furthest:.2f} posterior sds", table.head(1))


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
    return part_of(len(table), table.attrs["of"], "parameters")
