"""Checks by importance weights: of Laplace draws, of leaving a row out, and of scaling the prior (`power_scaling`)."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import xarray as xr

from bayesclf import inference
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.finding import Answer, NotApplicable, Skipped, issue, passed, tip
from bayesclf.diagnostics.influence import unusual
from bayesclf.errors import InputError
from bayesclf.evaluation.leave_one_out import good_k
from bayesclf.evaluation.leaving_out import TrainingRows, reweighted, training_rows
from bayesclf.posterior.hypotheses import parameter_count
from bayesclf.wording import listed, named, part_of


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
            f"k̂ = {khat:.2f} is above {limit}: the posterior is too far from a normal one for weights to correct draws",
            "sample the posterior, inference='nuts'",
            evidence,
        )
    return passed(f"k̂ = {khat:.2f} (limit {limit}), worth {ess:.0f} independent draws", evidence)


@check("P09", "Influential rows (leave-one-out k̂)", "posteriors with draws in memory, with the training rows")
def influential_rows(context: Context) -> Answer:
    """Reweight the draws to leave out each row, or each of a random subset of them; rows are counted from 1.

    The Pareto k̂ of the weights is large where the posterior depends on that one row (reference as for P08). The limit
    is min(0.7, 1 − 1/log10 S) with S draws, as few draws do not settle even where k̂ is below 0.7: 0.67 with the 1,000
    draws that an exact posterior has by default. With few rows it depends on each of them: rows with a large k̂ are
    reported only if one is unusual too, that is, if k̂ is larger than in data sets that a conjugate model makes, or if
    its label is improbable under logistic regression.
    """
    _ = context.posterior  # raises where there is none
    labelled = context.training
    classifier = context.classifier
    if classifier.hypotheses("posterior").in_parts:
        raise NotApplicable("the draws are too large to keep in memory, so they are not reweighted for each row")
    try:
        training = training_rows(classifier, context.X, context.y)
    except InputError as reason:
        raise Skipped(str(reason)) from None
    size = max(1, thresholds.LEFT_OUT_CELLS // max(1, parameter_count(classifier.model_)))
    numbers = context.some_rows(min(thresholds.LEFT_OUT_ROWS, size))
    some = TrainingRows(training.rows[numbers], training.y[numbers])
    khat = reweighted(_with_draws_alone(context), some, given_x=False).khat
    limit = good_k(len(classifier.hypotheses("posterior")))
    order = np.argsort(-khat, kind="stable")
    above = int((~(khat <= limit)).sum())
    labels = labelled.labels[numbers]
    evidence = pd.DataFrame({"row": 1 + numbers[order], "label": labels[order], "pareto_k": khat[order]})
    scope = part_of(len(khat), len(labelled), "rows")
    if not above:
        return passed(f"largest k̂ {khat.max():.2f} (limit {limit:.2f}) of {scope}", evidence.head(1))
    named_rows = listed(evidence["row"][:above], thresholds.SHOWN)
    which = f"{above} of {scope} (k̂ above {limit:.2f}; counted from 1: {named_rows})"
    odd = unusual(classifier, training, order[:above]) if len(numbers) == len(labelled) else None
    if odd is False:
        return passed(
            f"{which} change the posterior much, but none is unusual under the model: there are few rows for "
            f"{parameter_count(classifier.model_)} parameters, and loo(method='psis') cannot be trusted",
            evidence.head(above),
        )
    more = ", and more than rows of this model do" if odd else ""
    causes = "errors in these rows or too light tails" if odd else "few rows, errors in these rows or too light tails"
    return tip(
        f"{which} change the posterior so much that its draws cannot represent the posterior without the row{more}",
        f"{causes} cause this; look at them, and take loo(method='exact')",
        evidence.head(above),
    )


def _with_draws_alone(context: Context) -> BayesClassifier:
    """Return the fit with only draws in its `posterior_`: the point estimates may take long to compute."""
    fit = copy.copy(context.classifier)
    fit.__dict__["posterior_"] = xr.DataTree.from_dict({"posterior": context.posterior})
    return fit


HELD = "posteriors with draws in memory"


@check("M03", "Prior sensitivity", HELD)
def strong_prior(context: Context) -> Answer:
    """Name the parameters that are sensitive to the power of the prior, but not to that of the likelihood.

    The draws are reweighted as if the prior, and then the likelihood, were raised to powers of 0.99 and 1.01. A
    parameter that moves with the first alone is what the prior says it is; that may be intended.
    """
    context.require_all_labeled()
    context.require_own_posterior()
    table, limit = _table(context), thresholds.MAX_SENSITIVITY
    found = table[(table["prior"] >= limit) & (table["likelihood"] < limit)]
    if len(found):
        return tip(
            f"{_count(found, table)} follow the prior more than the rows: a strong prior, or rows that say little",
            "check that the prior expresses what is known about the problem, or gather informative rows",
            found.head(thresholds.SHOWN),
        )
    return passed(_largest(table), table.head(1))


@check("M04", "Prior-data conflict", HELD)
def conflict(context: Context) -> Answer:
    """Name the parameters that are sensitive to both, and that the prior moves by over `MAX_PULL` posterior sds.

    Prior and rows then say different things, and the posterior is a compromise that neither supports: a mistaken unit,
    or a prior that is narrower than meant.
    """
    context.require_all_labeled()
    context.require_own_posterior()
    table, limit = _table(context), thresholds.MAX_SENSITIVITY
    both = (table["prior"] >= limit) & (table["likelihood"] >= limit)
    found = table[both & (table["pull"].abs() > thresholds.MAX_PULL)]
    if len(found):
        return tip(
            f"{_count(found, table)} are moved by the prior by more than {thresholds.MAX_PULL:g} posterior sds",
            "compare the prior with the rows, clf.predictive_check(X, y); widen it where it is narrower than intended",
            found.head(thresholds.SHOWN),
        )
    furthest = table["pull"].abs().max()
    return passed(f"{_largest(table)}; it moves no mean by more than {furthest:.2f} posterior sds", table.head(1))


def _table(context: Context) -> pd.DataFrame:
    """Return the sensitivities, the most sensitive to the prior first."""
    table = context.sensitivities
    if not len(table):
        raise Skipped("no parameter varies, or the draws are too large to keep in memory")
    return table.sort_values("prior", ascending=False, ignore_index=True)


def _largest(table: pd.DataFrame) -> str:
    return f"largest sensitivity to the prior {table['prior'].iloc[0]:.3f} of {_scope(table)}"


def _count(found: pd.DataFrame, table: pd.DataFrame) -> str:
    return f"{len(found)} of {_scope(table)} ({named(found['parameter'].tolist())})"


def _scope(table: pd.DataFrame) -> str:
    return part_of(len(table), table.attrs["of"], "parameters")
