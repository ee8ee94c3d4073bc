"""Checks of the draws: whether chains agree, their effective sample sizes, and what NUTS recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from arviz_base import rcParams
from arviz_stats.base import array_stats

from bayesclf import inference
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context, check
from bayesclf.diagnostics.finding import Answer, Evidence, Skipped, issue, named, part_of, passed
from bayesclf.diagnostics.power_scaling import single
from bayesclf.typing import Array

LONGER = "draw longer, such as inference=NUTS(draws=2000, tune=1000)"
CHAINS = "draws of Markov chains"


@check("P01", "Agreement of chains (R-hat)", CHAINS)
def rhat(context: Context) -> Answer:
    """Compare the largest rank-normalized split R-hat, of bulk and tails, with its limit.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021), Rank-normalization, folding, and localization: an improved
    R-hat, Bayesian Analysis 16, doi:10.1214/20-BA1221.
    """
    posterior, _ = context.chains
    wrong = scalars(posterior).not_finite
    if wrong:
        return issue(
            f"{named(wrong)} ha{'s' if len(wrong) == 1 else 've'} draws that are not finite",
            "look for extreme values in the data",
            {"parameters": len(wrong)},
        )
    found = _checkable(posterior)
    if found.draws.shape[1] < 2:
        return issue(
            "one chain cannot show whether chains agree",
            "run more of them, such as inference=NUTS(chains=4)",
            {"chains": 1},
            "moderate",
        )
    with np.errstate(all="ignore"):  # chains that never move divide by zero
        values = np.asarray(array_stats.rhat(found.draws))
    values = np.where(np.isnan(values), np.inf, values)
    evidence = found.worst(values, r_hat=values)
    above = int((values > thresholds.MAX_RHAT).sum())
    if above:
        return issue(
            f"the chains disagree: R-hat is {values.max():.3f} for {found.names[int(values.argmax())]!r}, and above "
            f"{thresholds.MAX_RHAT} for {above} of {found.scope}",
            LONGER,
            evidence,
        )
    return passed(f"largest R-hat {values.max():.3f} (limit {thresholds.MAX_RHAT}) of {found.scope}", evidence)


@check("P02", "Effective sample size, bulk", CHAINS)
def bulk_size(context: Context) -> Answer:
    """Compare the smallest bulk effective sample size with its limit (reference as for R-hat)."""
    found = _checkable(context.chains[0])
    with np.errstate(all="ignore"):
        return _size(found, np.asarray(array_stats.ess(found.draws, method="bulk")), "posterior means")


@check("P03", "Effective sample size, tails", CHAINS)
def tail_size(context: Context) -> Answer:
    """Compare the smallest tail effective sample size with its limit (reference as for R-hat)."""
    found = _checkable(context.chains[0])
    with np.errstate(all="ignore"):
        ess = np.asarray(array_stats.ess(found.draws, method="tail", prob=rcParams["stats.ci_prob"]))
    return _size(found, ess, "limits of credible intervals")


def _size(found: Scalars, ess: Array, what: str) -> Answer:
    limit = thresholds.MIN_ESS_PER_CHAIN * found.draws.shape[1]
    ess = np.nan_to_num(ess, nan=0.0)
    evidence = found.worst(limit - ess, ess=ess)
    below = int((ess < limit).sum())
    if below:
        return issue(
            f"the draws are too dependent for {what}: they are worth {ess.min():.0f} independent draws for "
            f"{found.names[int(ess.argmin())]!r}, and fewer than {limit} for {below} of {found.scope}",
            LONGER,
            evidence,
            "moderate",
        )
    return passed(f"smallest {ess.min():.0f} (limit {limit}) of {found.scope}", evidence)


@check("P04", "Monte Carlo error of posterior means", "draws by any engine")
def monte_carlo_error(context: Context) -> Answer:
    """Compare the largest Monte Carlo standard error of a posterior mean with the posterior sd of the same parameter.

    For S independent draws the error of every mean is 1/√S posterior sds.
    """
    posterior = context.posterior
    if isinstance(context.classifier.inference_, inference.NUTS):
        found = _checkable(posterior)
        sd = found.draws.reshape(len(found.names), -1).std(axis=1, ddof=1)
        with np.errstate(all="ignore"):
            share = np.asarray(array_stats.mcse(found.draws, method="mean")) / sd
        share = np.where(np.isnan(share), np.inf, share)
        evidence: Evidence = found.worst(share, mcse_over_sd=share)
        largest, what, more = float(share.max()), f"for {found.names[int(share.argmax())]!r}", LONGER
    else:
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
    """Count divergent draws: their trajectory did not conserve energy, as NUTS could not follow the posterior there."""
    diverging = _recorded(context, "diverging")
    count = int(diverging.sum())
    evidence = {"divergences": count, "draws": diverging.size}
    if count:
        return issue(
            f"{count} of {diverging.size} draws diverged, so the draws may miss a part of the posterior",
            "take smaller steps, inference=NUTS(target_accept=0.95), or narrower priors",
            evidence,
        )
    return passed(f"none of {diverging.size} draws", evidence)


@check("P06", "Tree depth", CHAINS)
def tree_depth(context: Context) -> Answer:
    """Compare the share of draws that reached the maximum tree depth with its limit."""
    saturated = _recorded(context, "reached_max_treedepth")
    share, limit = float(saturated.mean()), thresholds.MAX_SATURATED_SHARE
    evidence = {"saturated": int(saturated.sum()), "draws": saturated.size, "share": share}
    if share > limit:
        engine = context.classifier.inference_
        assert isinstance(engine, inference.NUTS)  # else there are no chains
        deepest = engine.max_treedepth
        return issue(
            f"{share:.0%} of the draws stopped at the deepest tree, 2^{deepest} steps (limit {limit:.0%}), before "
            "the trajectory turned back: they are more dependent than necessary",
            f"allow more, inference=NUTS(max_treedepth={deepest + 2}), or scale the data",
            evidence,
            "moderate",
        )
    return passed(f"{share:.1%} of the draws at the deepest tree (limit {limit:.0%})", evidence)


@check("P07", "Energy (E-BFMI)", CHAINS)
def energy(context: Context) -> Answer:
    """Compare each chain's estimated Bayesian fraction of missing information with its limit.

    References
    ----------
    Betancourt (2016), Diagnosing suboptimal cotangent disintegrations in Hamiltonian Monte Carlo, arXiv:1604.00695.
    """
    energies = _recorded(context, "energy")
    if energies.shape[1] < thresholds.MIN_DRAWS:
        raise Skipped(f"{energies.shape[1]} draws per chain are too few to check; draw longer")
    with np.errstate(all="ignore"):  # the energy of a chain that never moves has variance 0
        bfmi = np.nan_to_num(np.asarray(array_stats.bfmi(energies)), nan=0.0)
    evidence = {f"chain {chain}": float(value) for chain, value in enumerate(bfmi)}
    if (bfmi < thresholds.MIN_BFMI).any():
        return issue(
            f"chain {int(bfmi.argmin())} explores the tails slowly: E-BFMI is {bfmi.min():.2f} (limit "
            f"{thresholds.MIN_BFMI})",
            f"{LONGER}, or use narrower priors",
            evidence,
        )
    return passed(f"smallest E-BFMI {bfmi.min():.2f} (limit {thresholds.MIN_BFMI})", evidence)


def _recorded(context: Context, name: str) -> Array:
    """Return a statistic that the sampler recorded, (chain, draw)."""
    _, stats = context.chains
    if name not in stats:
        raise Skipped(f"the sampler did not record {name!r}")
    return np.asarray(stats[name].transpose("chain", "draw").values)


@dataclass(frozen=True, eq=False)
class Scalars:
    """Single parameters that vary.

    Attributes
    ----------
    names
        Such as "weight[yes, age]".
    draws
        (scalar, chain, draw).
    of
        Number of all parameters, including those that do not vary.
    not_finite
        Names of parameters with draws that are not finite.
    """

    names: tuple[str, ...]
    draws: Array
    of: int
    not_finite: tuple[str, ...] = ()

    @property
    def scope(self) -> str:
        """The number of checked parameters, in words."""
        return part_of(len(self.names), self.of, "parameters")

    def worst(self, badness: Array, **columns: Array) -> pd.DataFrame:
        """Return at most `SHOWN` parameters with their numbers (scalar), the worst first."""
        order = np.argsort(-np.nan_to_num(badness, nan=np.inf), kind="stable")[: thresholds.SHOWN]
        names = [self.names[i] for i in order]
        return pd.DataFrame({"parameter": names, **{name: values[order] for name, values in columns.items()}})


def scalars(posterior: xr.Dataset) -> Scalars:
    """Return the single parameters of a posterior (chain, draw, …), at most `MAX_SCALARS` of them.

    Constant parameters are left out: for example, the probability of the only level of a column never varies.
    """
    names, every = single(posterior, map(str, posterior))
    step = max(-(-len(every) // thresholds.MAX_SCALARS), 1)
    some, shown = every[::step], names[::step]
    finite = np.isfinite(some).all(axis=(1, 2))
    kept = np.flatnonzero(finite & (np.ptp(some, axis=(1, 2)) > 0))
    wrong = tuple(shown[i] for i in np.flatnonzero(~finite))
    return Scalars(tuple(shown[i] for i in kept), some[kept], len(every), wrong)


def _checkable(posterior: xr.Dataset) -> Scalars:
    """Return the single parameters, or raise `Skipped` where there are too few draws to check."""
    if posterior.sizes["draw"] < thresholds.MIN_DRAWS:
        raise Skipped(f"{posterior.sizes['draw']} draws per chain are too few to check; draw longer")
    found = scalars(posterior)
    if not found.names:
        raise Skipped("no parameter varies")
    return found
