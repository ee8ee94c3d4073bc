"""Checks of the draws: whether chains agree, their effective sample sizes, and what NUTS recorded."""

from __future__ import annotations

import numpy as np
import xarray as xr
from arviz_stats.base import array_stats

from bayesclf import inference
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.finding import Answer, Evidence, NotApplicable, Severity, Skipped, issue, passed
from bayesclf.inference import convergence
from bayesclf.inference.convergence import Measured, Scalars
from bayesclf.typing import Array

CHAINS = "draws of Markov chains"


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
        return issue(alone.problem, alone.advice(context.engine), {"chains": 1}, "moderate")
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
        return issue(measured.problem, measured.advice(context.engine), evidence, severity)
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
        more = convergence.remedy_of(convergence.LONGER, context.engine)
    else:
        if not posterior.data_vars:
            raise Skipped(f"no draw can be looked at: {posterior.attrs['not_held']}")
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
    assert isinstance(engine, inference.NUTS)  # else nothing was recorded
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
    if not isinstance(context.classifier.inference_, inference.NUTS):
        raise NotApplicable(f"draws by {context.engine}; the question is about NUTS")
    if stats is None or name not in stats:
        raise Skipped(f"the sampler did not record {name!r}")
    return np.asarray(stats[name].transpose("chain", "draw").values)


def _checkable(posterior: xr.Dataset) -> Scalars:
    """Return the single parameters, or raise `Skipped` where there are too few draws to check."""
    if posterior.sizes["draw"] < thresholds.MIN_DRAWS:
        raise Skipped(f"{posterior.sizes['draw']} draws per chain are too few to check; draw longer")
    found = convergence.scalars(posterior, thresholds.MAX_SCALARS)
    if not found.names:
        raise Skipped("no parameter varies")
    return found
