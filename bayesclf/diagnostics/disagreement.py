"""Rows that the rules decide differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import Check, NotApplicable
from bayesclf.diagnostics.finding import Finding

if TYPE_CHECKING:
    from bayesclf.diagnostics.context import Context


class Disagreement(Check):
    """Held-out rows where MAP, the mean, the average and the predictive have different most probable classes."""

    code = "Y05"
    title = "Rows where the rules disagree"
    applies_to = "fits with a posterior"

    def run(self, context: Context) -> Finding:
        """Name the rows, counted from 1, with each rule's decision."""
        import pandas as pd

        answers = context.held_out
        decided = {rule: found.log_proba.argmax(axis=1) for rule, found in answers.answered.items() if rule != "gibbs"}
        if len(decided) < 2:
            raise NotApplicable("one rule alone could answer")
        codes = np.column_stack(list(decided.values()))
        differ = np.flatnonzero((codes != codes[:, :1]).any(axis=1))
        classes = context.training.classes
        labels = {"row": 1 + answers.numbers[differ], "label": classes[answers.y[differ]]}
        chosen = {rule: classes[code[differ]] for rule, code in decided.items()}
        evidence = pd.DataFrame(labels | chosen).sort_values("row", ignore_index=True)
        share = len(differ) / len(codes)
        says = (
            f"{', '.join(map(repr, decided))} decide {len(differ)} of {len(codes)} held-out rows differently "
            f"({answers.setting})"
        )
        if share > thresholds.MAX_DISAGREEMENT:
            return self.tip(
                f"{says}: which rule is asked matters there",
                "look at these rows and their intervals, clf.predict_interval(X); more rows would settle them",
                evidence,
            )
        return self.passed(says, evidence)
