"""Whether data sets that the model makes look like the observed one."""

from __future__ import annotations

import pandas as pd

from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import check
from bayesclf.diagnostics.context import Context
from bayesclf.diagnostics.finding import Answer, NotApplicable, part_of, passed, tip
from bayesclf.evaluation.predictive_checks import p_value_table, predictive_check


@check("Y07", "Replicated data", "posteriors whose draws are held")
def replicated_data(context: Context) -> Answer:
    """Name the statistics that no replicated data set shows, by posterior predictive p-values.

    The statistics are class counts, and those of each column within each class; p-values are adjusted for their number.
    """
    _ = context.posterior, context.training  # raise where there is none
    if context.classifier.hypotheses("posterior").in_parts:
        raise NotApplicable("the draws are too large to hold, and to make data from")
    tree = predictive_check(context.classifier, context.X, context.y, thresholds.PREDICTIVE_DRAWS, prior=False)
    table = p_value_table(tree)
    found = table[table["adjusted_p_value"] < thresholds.SIGNIFICANCE]
    scope = f"{len(table)} statistics of {part_of(tree.attrs['rows'], tree.attrs['of_rows'], 'rows')}"
    if len(found):
        shown = "; ".join(_said(line) for _, line in found.head(thresholds.SHOWN).iterrows())
        return tip(
            f"{len(found)} of {scope} are unlike {thresholds.PREDICTIVE_DRAWS} replicated data sets: {shown}",
            f"{_next_step(found)}; see clf.predictive_check(X, y)",
            found,
        )
    least = table["adjusted_p_value"].min()
    return passed(
        f"{scope} are like those of {thresholds.PREDICTIVE_DRAWS} replicated data sets (least adjusted p-value "
        f"{least:.2f})",
        table.head(1),
    )


def _next_step(found: pd.DataFrame) -> str:
    steps = []
    if found["column"].any():
        steps.append("transform the column, or choose another family for it")
    if not found["column"].all():
        steps.append("look for dependent columns and over-confidence (Y03), by which a class is predicted too often")
    return "; ".join(steps)


def _said(line: pd.Series) -> str:
    what = f"{line['statistic']} of {line['column']!r} in class" if line["column"] else f"{line['statistic']} of"
    return (
        f"{what} {line['outcome']!r} is {line['observed']:.3g}, replicated {line['replicated']:.3g} ± {line['sd']:.2g}"
    )
