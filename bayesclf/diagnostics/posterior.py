"""Checks of the posterior: of its draws, and by importance weights, of Laplace draws, left-out rows and the prior."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from arviz_stats.base import array_stats

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.diagnosis import Answer, Evidence, Severity, issue, passed, tip
from bayesclf.diagnostics.held_out import NotApplicable, Skipped
from bayesclf.engines import NUTS, Exact, Laplace, convergence, inference
from bayesclf.engines.convergence import Measured, Scalars
from bayesclf.errors import ConvergenceWarning, DoesNotExist, InputError, Refused
from bayesclf.evaluation.leave_one_out import good_k
from bayesclf.evaluation.leaving_out import TrainingRows, exact, reweighted, row_khat, training_rows
from bayesclf.evaluation.predictive_checks import replicated_cells
from bayesclf.families.multivariate.gaussian import INVERSE_WISHART
from bayesclf.models.base import Model, Rows
from bayesclf.posterior.hypotheses import Hypotheses, parameter_count
from bayesclf.tables.columns import row_numbers
from bayesclf.wording import listed, named, part_of

CHAINS = "draws of Markov chains"

HELD = "posteriors with draws in memory"

STREAM = 6
"""Number of the random stream, next to those of the classifier and of predictive checks."""


@check("P01", "Agreement of chains (R-hat)", CHAINS)
def rhat(context: Context) -> Answer:
    """Compare the largest rank-normalized split R-hat, of bulk and tails, with its limit.

    The limit is 1.01, or where the draws are too few for that what chance gives the largest R-hat of so many parameters
    in one of a hundred posteriors. R-hat compares the variance of all draws with that within the chains: where it is
    above 1, some chain has not been where others have, and no average over the draws can be trusted.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Rank-normalization, folding, and localization: an improved
    R-hat, Bayesian Analysis 16, doi:10.1214/20-BA1221.
    """
    posterior, _ = context.chains
    broken = convergence.scalars(posterior, thresholds.MAX_SCALARS)
    if broken.not_finite:
        lost = {"parameters": len(broken.not_finite)}
        return issue(broken.broken(), "look for extreme values in the data", lost)
    found = _checkable(posterior)
    if found.draws.shape[1] < 2:
        alone = convergence.one_chain()
        return issue(alone.problem, alone.advice(context.sampler), {"chains": 1}, "moderate")
    measured = convergence.rhat(found)
    value, limit = convergence.apart(measured.values.max(), measured.limit)
    good = f"largest R-hat {value} (limit {limit}) of {found.scope}"
    evidence = found.worst(measured.values, thresholds.SHOWN, r_hat=measured.values)
    return _answer(context, measured, good, evidence)


@check("P02", "Effective sample size, bulk", CHAINS)
def bulk_size(context: Context) -> Answer:
    """Compare the smallest bulk effective sample size with its limit, 100 for each chain (reference as for R-hat).

    Draws of a chain depend on each other. The effective sample size is the number of independent draws that would give
    a posterior mean as exactly; with too few, R-hat cannot be trusted either.
    """
    found = _checkable(context.chains[0])
    return _size(context, found, convergence.ess(found, "bulk"), "posterior means")


@check("P03", "Effective sample size, tails", CHAINS)
def tail_size(context: Context) -> Answer:
    """Compare the smallest tail effective sample size with its limit, 100 for each chain (reference as for R-hat).

    It is that of the 5 % and 95 % quantiles, which often mix more slowly than the mean: limits of credible intervals
    rest on the few draws beyond them.
    """
    found = _checkable(context.chains[0])
    return _size(context, found, convergence.ess(found, "tail"), "limits of credible intervals")


def _size(context: Context, found: Scalars, ess: Array, what: str) -> Answer:
    limit = thresholds.MIN_ESS_PER_CHAIN * found.draws.shape[1]
    measured = convergence.sample_size(found, ess, what)
    good = f"smallest {ess.min():.0f} (limit {limit}) of {found.scope}"
    return _answer(context, measured, good, found.worst(-ess, thresholds.SHOWN, ess=ess), "moderate")


def _answer(
    context: Context, measured: Measured, good: str, evidence: Evidence, severity: Severity = "severe"
) -> Answer:
    """Return the issue that a measure shows, or else that it is good."""
    if measured.problem:
        return issue(measured.problem, measured.advice(context.sampler), evidence, severity)
    return passed(good, evidence)


@check("P04", "Monte Carlo error of posterior means", "draws by any engine")
def monte_carlo_error(context: Context) -> Answer:
    """Compare the largest Monte Carlo standard error of a posterior mean with the posterior sd of the same parameter.

    For S independent draws the error of every mean is 1/√S posterior sds. An answer cannot be more exact than the
    draws that it averages; more of them are the remedy, at no cost but time.
    """
    posterior = context.posterior
    if isinstance(context.classifier.inference_, inference.MARKOV_CHAINS):
        found = _checkable(posterior)
        sd = found.draws.reshape(len(found.names), -1).std(axis=1, ddof=1)
        with np.errstate(all="ignore"):
            share = np.asarray(array_stats.mcse(found.draws, method="mean")) / sd
        share = np.where(np.isnan(share), np.inf, share)
        evidence: Evidence = found.worst(share, thresholds.SHOWN, mcse_over_sd=share)
        largest, what = float(share.max()), f"for {found.names[int(share.argmax())]!r}"
        more = convergence.LONGER.by(context.sampler)
    else:
        _require_held(posterior)
        draws = float(posterior.sizes["chain"] * posterior.sizes["draw"])
        stats = context.statistics
        if stats is not None and "importance_ess" in stats:
            draws = min(draws, float(stats["importance_ess"]))
        largest, what, more = draws**-0.5, "throughout", f"take more draws, such as {context.engine}(draws=1000)"
        evidence = {"mcse_over_sd": largest, "independent_draws": draws}
    if not np.isfinite(largest):
        raise Skipped("the draws of a parameter do not vary")
    if largest > thresholds.MAX_MCSE:
        return issue(
            f"posterior means are uncertain by {largest:.2f} posterior sds {what} (limit {thresholds.MAX_MCSE})",
            more,
            evidence,
            "moderate",
        )
    return passed(f"at most {largest:.3f} posterior sds (limit {thresholds.MAX_MCSE})", evidence)


@check("P05", "Divergences", CHAINS)
def divergences(context: Context) -> Answer:
    """Count divergent draws: their trajectory did not conserve energy, as NUTS could not follow the posterior there.

    One is reported already: draws are lacking where the posterior is curved more than the steps are small, so that all
    averages may be biased, and more draws do not help.
    """
    diverging = _recorded(context, "diverging")
    evidence = {"divergences": int(diverging.sum()), "draws": diverging.size}
    found = convergence.divergences(diverging, _recorded(context, "acceptance_rate"))
    return _answer(context, found, f"none of {diverging.size} draws", evidence)


@check("P06", "Tree depth", CHAINS)
def tree_depth(context: Context) -> Answer:
    """Compare the share of draws that reached the maximum tree depth with its limit.

    NUTS doubles a trajectory until it turns back. One that is stopped before costs time, not correctness: the draws are
    right but depend on each other more than necessary.
    """
    reached, engine = _recorded(context, "reached_max_treedepth"), context.classifier.inference_
    assert isinstance(engine, NUTS)  # else nothing was recorded
    share = float(reached.mean())
    evidence = {"saturated": int(reached.sum()), "draws": reached.size, "share": share}
    good = f"{100 * share:.1f} % of the draws at the deepest tree (limit {100 * thresholds.MAX_SATURATED_SHARE:.0f} %)"
    return _answer(context, convergence.saturation(reached, engine.max_treedepth), good, evidence, "moderate")


@check("P07", "Energy (E-BFMI)", CHAINS)
def energy(context: Context) -> Answer:
    """Compare each chain's estimated Bayesian fraction of missing information with its limit.

    It is the variance of the changes of energy between draws over the variance of the energies. Where it is small, the
    sampler moves slowly between energies, and so seldom reaches the posterior's tails.

    References
    ----------
    Betancourt (2016), Diagnosing suboptimal cotangent disintegrations in Hamiltonian Monte Carlo, arXiv:1604.00695.
    """
    energies = _recorded(context, "energy")
    if energies.shape[1] < thresholds.MIN_DRAWS:
        raise Skipped(f"{energies.shape[1]} draws per chain are too few to check; draw longer")
    measured = convergence.energy(energies)
    good = f"smallest E-BFMI {measured.values.min():.2f} (limit {thresholds.MIN_BFMI})"
    return _answer(
        context, measured, good, {f"chain {chain}": float(bfmi) for chain, bfmi in enumerate(measured.values)}
    )


def _recorded(context: Context, name: str) -> Array:
    """Return a statistic that the sampler recorded, (chain, draw)."""
    _, stats = context.chains
    if not isinstance(context.classifier.inference_, NUTS):
        raise NotApplicable(f"draws by {context.engine}; the question is about NUTS")
    if stats is None or name not in stats:
        raise Skipped(f"the sampler did not record {name!r}")
    return np.asarray(stats[name].transpose("chain", "draw").values)


def _require_held(posterior: xr.Dataset) -> None:
    """Raise `Skipped` where no draw is in memory, or there is no parameter to draw."""
    if not posterior.data_vars:
        raise Skipped(f"no draw can be looked at: {posterior.attrs['not_held']}")


def _checkable(posterior: xr.Dataset) -> Scalars:
    """Return the single parameters, or raise `Skipped` where there are too few draws to check."""
    _require_held(posterior)
    if posterior.sizes["draw"] < thresholds.MIN_DRAWS:
        raise Skipped(f"{posterior.sizes['draw']} draws per chain are too few to check; draw longer")
    found = convergence.scalars(posterior, thresholds.MAX_SCALARS)
    if not found.names:
        raise Skipped("no parameter varies")
    return found


@check("P08", "Normal approximation (Pareto k̂)", "Laplace draws")
def laplace_weights(context: Context) -> Answer:
    """Compare the Pareto k̂ of the weights that correct a normal approximation with its limit.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao, Gabry (2024), Pareto smoothed importance sampling, JMLR 25.
    """
    _ = context.posterior  # raises where there is none
    stats = context.statistics
    if not isinstance(context.classifier.inference_, Laplace):
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
    evidence = pd.DataFrame(
        {"row": row_numbers(labelled.table, numbers[order]), "label": labels[order], "pareto_k": khat[order]}
    )
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


OF_THE_PRIOR = ("prior_scale", "prior_correlation")
"""Parameters of logistic regression that are hyperparameters of its weights."""


@check("M03", "Prior sensitivity", HELD)
def strong_prior(context: Context) -> Answer:
    """Name the parameters that are sensitive to the power of the prior, but not to that of the likelihood.

    The draws are reweighted as if the prior, and then the likelihood, were raised to powers of 0.99 and 1.01. A
    parameter that moves with the first alone is what the prior says it is; that may be intended. A learned prior scale
    and correlation are parts of the prior, about which a few weights say little, and are not reported.
    """
    context.require_all_labeled()
    context.require_own_posterior()
    table, limit = _table(context), thresholds.MAX_SENSITIVITY
    found = table[(table["prior"] >= limit) & (table["likelihood"] < limit) & ~table["parameter"].isin(OF_THE_PRIOR)]
    if len(found):
        return tip(
            f"{_count(found, table)} follow the prior more than the rows: a strong prior, or rows that say little",
            "check that the prior expresses what is known about the problem, or gather informative rows",
            found.head(thresholds.SHOWN),
        )
    return passed(_largest(table), table.head(1))


LEARN_NU = "; the prior of a covariance may also be too weak: leave nu and psi out, and the rows choose its strength"


@check("M04", "Prior-data conflict", HELD)
def conflict(context: Context) -> Answer:
    """Name the parameters that are sensitive to both, and that the prior moves by over `MAX_PULL` posterior sds.

    Prior and rows then say different things, and the posterior is a compromise that neither supports: a mistaken unit,
    or a prior that is narrower than meant. Powers of a density depend on its coordinates: those of rates λ and
    variances σ² are of their densities per log λ and log σ², in which a power of a prior is one worth so many rows.
    """
    context.require_all_labeled()
    context.require_own_posterior()
    table, limit = _table(context), thresholds.MAX_SENSITIVITY
    both = (table["prior"] >= limit) & (table["likelihood"] >= limit)
    found = table[both & (table["pull"].abs() > thresholds.MAX_PULL)]
    if len(found):
        return tip(
            f"{_count(found, table)} are moved by the prior by more than {thresholds.MAX_PULL:g} posterior sds",
            "compare the prior with the rows, clf.predictive_check(X, y); widen it where it is narrower than intended"
            + (LEARN_NU if _has_given_nu(context.classifier.model_) else ""),
            found.head(thresholds.SHOWN),
        )
    furthest = table["pull"].abs().max()
    return passed(f"{_largest(table)}; it moves no mean by more than {furthest:.2f} posterior sds", table.head(1))


def _has_given_nu(model: Model) -> bool:
    """Return whether a covariance has an inverse Wishart prior of given degrees of freedom."""
    return any(block.family.variant == INVERSE_WISHART for block in model.blocks)


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


def unusual(clf: BayesClassifier, training: TrainingRows, influential: Integers) -> bool | None:
    """Return whether influential rows are more unusual than chance explains.

    For logistic regression, the label of one of them is improbable given all other rows. For a conjugate model, one
    has a larger k̂ than any row in data sets that the model makes.

    Parameters
    ----------
    clf
        A classifier with a posterior.
    training
        All training rows, each of weight 1.
    influential
        Numbers of the rows, the most influential first.

    Returns
    -------
    bool or None
        None where it is not known: it would take Markov chains, or counts of words are not whole numbers.
    """
    model, hypotheses = clf.model_, clf.hypotheses("posterior")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of normal approximations, good enough for a comparison
        try:
            if not model.generative:
                return _improbable(clf, training, influential[: thresholds.SHOWN])
            if not model.not_conjugate() and isinstance(hypotheses, Hypotheses):
                return _above_replicates(hypotheses, training, clf.seed_)
        except (DoesNotExist, Refused):
            pass
    return None


def _improbable(clf: BayesClassifier, training: TrainingRows, wanted: Integers) -> bool:
    """Return whether P(y_i | x_i, all other rows) of a row is below the level, corrected for the number of rows.

    A label of probability p or less has probability (K − 1)p at most.
    """
    fit = copy.copy(clf)
    fit.inference_ = Laplace(draws=thresholds.INFLUENCE_DRAWS, limit=np.inf, chains=1)
    probability = np.exp(exact(fit, training, "bayes-optimal", wanted).min())
    return bool(len(training) * (len(clf.classes_) - 1) * probability < thresholds.SIGNIFICANCE)


def _above_replicates(hypotheses: Hypotheses, training: TrainingRows, seed: int) -> bool:
    """Return whether a row has a larger k̂ than any row of `INFLUENCE_REPLICATES` data sets that the model makes.

    A data set has cells drawn from one hypothesis given the labels, and documents as long as the observed ones. Of
    exchangeable data sets the observed one has the largest k̂ with probability 1/(replicates + 1).
    """
    draws = min(len(hypotheses), max(thresholds.INFLUENCE_DRAWS, thresholds.INFLUENCE_CELLS // len(training)))
    rng = np.random.default_rng([seed, STREAM])
    some = np.sort(rng.permutation(len(hypotheses))[:draws])
    observed = row_khat(hypotheses.take(some), training).max()
    for number in range(thresholds.INFLUENCE_REPLICATES):
        model, rows = _replicated(hypotheses.take(rng.integers(len(hypotheses), size=1)), training, rng)
        drawn = inference.draw(model, Exact(draws, 1), seed + number)
        assert drawn is not None  # exact inference is not a point estimate
        if row_khat(Hypotheses(model, drawn.parameters), rows).max() >= observed:
            return False
    return True


def _replicated(one: Hypotheses, training: TrainingRows, rng: np.random.Generator) -> tuple[Model, TrainingRows]:
    """Return a data set that one hypothesis makes, and the model conditioned on it under the same prior."""
    model: Any = one.model
    parts = [
        replicated_cells(block, part, training.y, one.parameters, rng)
        for block, part in zip(model.blocks, training.rows.parts, strict=True)
    ]
    blocks = tuple(
        replace(block, statistics=block.family.statistics(part, training.y, block.statistics.axes))
        for block, part in zip(model.blocks, parts, strict=True)
    )
    return replace(model, blocks=blocks), TrainingRows(Rows(tuple(parts), len(training)), training.y)
