"""Whether cells are missing more often in one class than in another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from bayesclf.columns import kind_of
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import Check, NotApplicable
from bayesclf.diagnostics.finding import Finding
from bayesclf.diagnostics.words import named
from bayesclf.families.logistic import LogisticModel
from bayesclf.typing import Integers

if TYPE_CHECKING:
    from bayesclf.diagnostics.context import Context


class MissingByClass(Check):
    """P(missing | class) of each column: where it differs, being missing is evidence that is not used."""

    code = "Y04"
    title = "Missing cells and the class"
    applies_to = "tables with missing cells that the fit leaves out"

    def run(self, context: Context) -> Finding:
        """Test each column's missing cells against the class, with Bonferroni's correction."""
        import pandas as pd

        frame, y = context.frame, context.training.y
        if context.classifier.missing == "level":
            raise NotApplicable("missing cells are levels of their own in this fit (missing='level')")
        by_category = isinstance(context.classifier.model_, LogisticModel)  # its numbers have indicators
        names = [
            str(name)
            for name in frame
            if frame[name].isna().any()
            and not frame[name].isna().all()
            and not (by_category and kind_of(frame[name]) == "number")
        ]
        if not names:
            but = ", but for numbers, whose indicators are in the model" if by_category else ""
            raise NotApplicable(f"no cell is missing{but}")
        lines = []
        for name in names:
            missing = frame[name].isna().to_numpy()
            table = np.array([np.bincount(y[missing == state], minlength=y.max() + 1) for state in (True, False)])
            table = table[:, table.sum(axis=0) > 0]
            shares = table[0] / table.sum(axis=0)
            p_value = independence(table, context.seed)
            lines.append((name, shares.min(), shares.max(), min(1.0, len(names) * p_value)))
        evidence = pd.DataFrame(lines, columns=["column", "least_missing", "most_missing", "p_value"])
        evidence = evidence.sort_values("p_value", ignore_index=True)
        differs = evidence["most_missing"] - evidence["least_missing"] > thresholds.MIN_MISSING_DIFFERENCE
        found = evidence[differs & (evidence["p_value"] < thresholds.SIGNIFICANCE)]
        if len(found):
            first = found.iloc[0]
            return self.issue(
                f"{named(found['column'].tolist())} {'is' if len(found) == 1 else 'are'} missing more often in one "
                f"class than in another ({first['column']!r}: {first['least_missing']:.0%} and "
                f"{first['most_missing']:.0%}), but the fit leaves missing cells out as if that said nothing",
                f"ask why cells are missing; where new rows will lack them for the same reason, {_remedy(by_category)}",
                evidence,
                "moderate",
            )
        return self.passed(
            f"{named(names)} lack{'s' * (len(names) == 1)} cells, about as often in each class", evidence
        )


def independence(table: Integers, seed: int) -> float:
    """Return the p-value of a table of two rows and a column for each class whose shares are all the same.

    Of χ², or, where an expected count is below `MIN_LEVEL_ROWS`, of Fisher's exact test for two classes, and of χ² in
    tables with the same margins, at random, for more.
    """
    if table.shape[1] < 2:
        return 1.0
    asymptotic = stats.chi2_contingency(table, correction=False)
    expected = asymptotic.expected_freq
    if expected.min() >= thresholds.MIN_LEVEL_ROWS:
        return float(asymptotic.pvalue)
    if table.shape[1] == 2:
        return float(stats.fisher_exact(table).pvalue)
    rng = np.random.default_rng(seed)
    missing = rng.multivariate_hypergeometric(table.sum(axis=0), table[0].sum(), thresholds.RANDOM_TABLES)
    # χ² is Σ(n − e)²(1/e + 1/e') over the classes, as the two rows deviate by the same; tables that tie with the one
    # that was seen must count whatever the rounding.
    statistic = ((missing - expected[0]) ** 2 * (1 / expected).sum(axis=0)).sum(axis=1)
    extreme = statistic >= asymptotic.statistic * (1 - 1e-9)
    return float((1 + extreme.sum()) / (1 + len(extreme)))


def _remedy(logistic: bool) -> str:
    if logistic:
        return "write 'missing' into the cells of these categories"
    return "fit with missing='level'"
