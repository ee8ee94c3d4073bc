"""Checks of importance weights: those that made the draws, and those that leave a row out."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import xarray as xr

from bayesclf import inference
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import check
from bayesclf.diagnostics.context import Context
from bayesclf.diagnostics.finding import Answer, NotApplicable, Skipped, counted, issue, part_of, passed, tip
from bayesclf.errors import InputError
from bayesclf.evaluation.leave_one_out.elpd import good_k
from bayesclf.evaluation.leave_one_out.importance import reweighted
from bayesclf.evaluation.leave_one_out.training import TrainingRows, training_rows
from bayesclf.posterior.hypotheses import parameter_count


@check("P08", "Normal approximation (Pareto k̂)", "Laplace draws")
def laplace_weights(context: Context) -> Answer:
    """Compare the Pareto k̂ of the weights that correct a normal approximation with its limit.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao, Gabry (2024), Pareto smoothed importance sampling, JMLR 25.
    """
    _ = context.posterior  # raises where there is none
    stats = context.statistics
    if not isinstance(context.classifier.inference_, inference.Laplace):
        raise NotApplicable(f"draws by {context.engine} need no importance weights")
    assert stats is not None  # the engine has recorded its weights
    khat, ess = float(stats["pareto_k"]), float(stats["importance_ess"])
    limit = thresholds.MAX_KHAT
    evidence = {"pareto_k": khat, "limit": limit, "importance_ess": ess}
    if not khat <= limit:
        return issue(
            f"k̂ = {khat:.2f} is above {limit}: the posterior is too far from a normal for its draws to be corrected "
            "by weights",
            "sample it, inference='nuts'",
            evidence,
        )
    return passed(f"k̂ = {khat:.2f} (limit {limit}), worth {ess:.0f} independent draws", evidence)


@check("P09", "Influential rows (leave-one-out k̂)", "posteriors whose draws are held, with the training rows")
def influential_rows(context: Context) -> Answer:
    """Reweight the draws to leave out each row, or each of a random subset of them; rows are counted from 1.

    The Pareto k̂ of the weights is large where the posterior depends on that one row (reference as for P08).
    """
    _ = context.posterior  # raises where there is none
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
    scope = part_of(len(khat), len(labelled), "rows")
    if above:
        which = counted(evidence["row"][:above].tolist())
        return tip(
            f"{above} of {scope} (k̂ above {limit:.2f}; counted from 1: {which}) move the posterior so much that its "
            "draws cannot stand for one without the row",
            "look at these rows: errors in the data, a model whose tails are too light, or few rows; leave-one-out "
            "scores need method='exact', or cross-validation",
            evidence.head(above),
        )
    return passed(f"largest k̂ {khat.max():.2f} (limit {limit:.2f}) of {scope}", evidence.head(1))


def _with_draws_alone(context: Context) -> BayesClassifier:
    """Return the same fit with nothing but draws in its `posterior_`: the estimates next to them may take long."""
    fit = copy.copy(context.classifier)
    fit.__dict__["posterior_"] = xr.DataTree.from_dict({"posterior": context.posterior})
    return fit
