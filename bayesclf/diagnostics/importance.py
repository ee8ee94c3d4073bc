"""Checks of importance weights: those that made the draws, and those that leave a row out."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np

from bayesclf import inference
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import Check, NotApplicable, Skipped
from bayesclf.diagnostics.finding import Finding
from bayesclf.diagnostics.words import counted
from bayesclf.errors import InputError
from bayesclf.hypothesis_set import parameter_count
from bayesclf.leave_one_out.elpd import good_k
from bayesclf.leave_one_out.importance import reweighted
from bayesclf.leave_one_out.training import TrainingRows, training_rows

if TYPE_CHECKING:
    from bayesclf.classifiers.base import BayesClassifier
    from bayesclf.diagnostics.context import Context


class LaplaceWeights(Check):
    """Pareto k̂ of the weights that correct a normal approximation (Vehtari et al. 2024, JMLR 25)."""

    code = "P08"
    title = "Normal approximation (Pareto k̂)"
    applies_to = "Laplace draws"

    def run(self, context: Context) -> Finding:
        """Compare the k̂ that the engine recorded with its limit."""
        context.posterior  # noqa: B018  raises where there is none
        if not isinstance(context.classifier.inference_, inference.Laplace):
            raise NotApplicable(f"draws by {context.engine} need no importance weights")
        stats = context.statistics
        assert stats is not None  # the engine has recorded its weights
        khat, ess = float(stats["pareto_k"]), float(stats["importance_ess"])
        limit = thresholds.MAX_KHAT
        evidence = {"pareto_k": khat, "limit": limit, "importance_ess": ess}
        if not khat <= limit:
            return self.issue(
                f"k̂ = {khat:.2f} is above {limit}: the posterior is too far from a normal for its draws to be "
                "corrected by weights",
                "sample it, inference='nuts'",
                evidence,
            )
        return self.passed(f"k̂ = {khat:.2f} (limit {limit}), worth {ess:.0f} independent draws", evidence)


class InfluentialRows(Check):
    """Pareto k̂ of leaving single rows out: large where the posterior hangs on one row (Vehtari et al. 2024)."""

    code = "P09"
    title = "Influential rows (leave-one-out k̂)"
    applies_to = "posteriors whose draws are held, with the training rows"

    def run(self, context: Context) -> Finding:
        """Reweight the draws to leave out each row, or each of a random part of them; rows are counted from 1."""
        import pandas as pd

        context.posterior  # noqa: B018  raises where there is none
        labelled = context.training
        classifier = context.classifier
        if classifier.hypotheses("posterior").in_parts:
            raise NotApplicable("the draws are too large to hold, and to reweight for each row")
        try:
            training = training_rows(classifier, context.X, context.y)
        except InputError as reason:
            raise Skipped(str(reason)) from None
        size = max(1, thresholds.LEFT_OUT_CELLS // parameter_count(classifier.model_))
        numbers = context.some_rows(min(thresholds.LEFT_OUT_ROWS, size))
        some = TrainingRows(training.rows[numbers], training.y[numbers])
        khat = reweighted(_with_draws_alone(context), some, given_x=False).khat
        limit = good_k(len(classifier.hypotheses("posterior")))
        order = np.argsort(-khat, kind="stable")
        above = int((~(khat <= limit)).sum())
        labels = labelled.labels[numbers]
        evidence = pd.DataFrame({"row": 1 + numbers[order], "label": labels[order], "pareto_k": khat[order]})
        scope = f"{len(khat):,} rows" if len(khat) == len(labelled) else f"{len(khat):,} of {len(labelled):,} rows"
        if above:
            named = counted(evidence["row"][:above].tolist())
            return self.tip(
                f"{above} of {scope} (k̂ above {limit:.2f}; counted from 1: {named}) move the posterior so much that "
                "its draws cannot stand for one without the row",
                "look at these rows: errors in the data, a model whose tails are too light, or few rows; leave-one-out "
                "scores need method='exact', or cross-validation",
                evidence.head(max(above, 1)),
            )
        return self.passed(f"largest k̂ {khat.max():.2f} (limit {limit:.2f}) of {scope}", evidence.head(1))


def _with_draws_alone(context: Context) -> BayesClassifier:
    """Return the same fit with nothing but draws in its `posterior_`: the estimates beside them may take long."""
    import xarray as xr

    fit = copy.copy(context.classifier)
    fit.__dict__["posterior_"] = xr.DataTree.from_dict({"posterior": context.posterior})
    return fit
