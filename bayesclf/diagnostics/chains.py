"""Checks of the draws themselves: whether chains agree, and how many independent draws they are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesclf import inference
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import Check, Skipped
from bayesclf.diagnostics.draws import Scalars, checkable, scalars, worst
from bayesclf.diagnostics.finding import Evidence, Finding
from bayesclf.diagnostics.words import named
from bayesclf.typing import Array

if TYPE_CHECKING:
    from bayesclf.diagnostics.context import Context

LONGER = "draw longer, such as inference=NUTS(draws=2000, tune=1000)"
CHAINS = "draws of Markov chains"


class Rhat(Check):
    """Rank-normalised split R-hat, the worst of bulk and tails (Vehtari et al. 2021, doi:10.1214/20-BA1221)."""

    code = "P01"
    title = "Agreement of chains (R-hat)"
    applies_to = CHAINS

    def run(self, context: Context) -> Finding:
        """Compare the largest R-hat with its limit."""
        from arviz_stats.base import array_stats

        posterior, _ = context.chains
        wrong = scalars(posterior).not_finite
        if wrong:
            return self.issue(
                f"{named(wrong)} ha{'s' if len(wrong) == 1 else 've'} draws that are not finite",
                "look for extreme values in the data",
                {"parameters": len(wrong)},
            )
        found = checkable(posterior)
        if found.draws.shape[1] < 2:
            return self.issue(
                "one chain cannot show whether chains agree",
                "run more of them, such as inference=NUTS(chains=4)",
                {"chains": 1},
                "moderate",
            )
        with np.errstate(all="ignore"):  # chains that never move divide by zero
            rhat = np.asarray(array_stats.rhat(found.draws))
        rhat = np.where(np.isnan(rhat), np.inf, rhat)
        evidence = worst(found, r_hat=rhat)
        above = int((rhat > thresholds.MAX_RHAT).sum())
        if above:
            return self.issue(
                f"the chains disagree: R-hat is {rhat.max():.3f} for {found.names[int(rhat.argmax())]!r}, and above "
                f"{thresholds.MAX_RHAT} for {above} of {found.scope}",
                LONGER,
                evidence,
            )
        return self.passed(f"largest R-hat {rhat.max():.3f} (limit {thresholds.MAX_RHAT}) of {found.scope}", evidence)


class BulkSize(Check):
    """Effective sample size of the centre of the posterior (Vehtari et al. 2021)."""

    code = "P02"
    title = "Effective sample size, bulk"
    applies_to = CHAINS

    def run(self, context: Context) -> Finding:
        """Compare the smallest bulk ESS with its limit."""
        from arviz_stats.base import array_stats

        found = checkable(context.chains[0])
        with np.errstate(all="ignore"):
            return _size(self, found, np.asarray(array_stats.ess(found.draws, method="bulk")), "posterior means")


class TailSize(Check):
    """Effective sample size of the limits of credible intervals (Vehtari et al. 2021)."""

    code = "P03"
    title = "Effective sample size, tails"
    applies_to = CHAINS

    def run(self, context: Context) -> Finding:
        """Compare the smallest tail ESS with its limit."""
        from arviz_base import rcParams
        from arviz_stats.base import array_stats

        found = checkable(context.chains[0])
        with np.errstate(all="ignore"):
            ess = array_stats.ess(found.draws, method="tail", prob=rcParams["stats.ci_prob"])
        return _size(self, found, np.asarray(ess), "limits of credible intervals")


def _size(check: Check, found: Scalars, ess: Array, what: str) -> Finding:
    limit = thresholds.MIN_ESS_PER_CHAIN * found.draws.shape[1]
    ess = np.nan_to_num(ess, nan=0.0)
    evidence = worst(found, shortage=limit - ess, ess=ess).drop(columns="shortage")
    below = int((ess < limit).sum())
    if below:
        return check.issue(
            f"the draws are too dependent for {what}: they are worth {ess.min():.0f} independent ones for "
            f"{found.names[int(ess.argmin())]!r}, and fewer than {limit} for {below} of {found.scope}",
            LONGER,
            evidence,
            "moderate",
        )
    return check.passed(f"smallest {ess.min():.0f} (limit {limit}) of {found.scope}", evidence)


class MonteCarloError(Check):
    """Monte Carlo standard error of posterior means, in posterior sds."""

    code = "P04"
    title = "Monte Carlo error of posterior means"
    applies_to = "draws by whatever engine"

    def run(self, context: Context) -> Finding:
        """Compare the largest error with the posterior sd it belongs to; independent draws have 1/√S throughout."""
        from arviz_stats.base import array_stats

        posterior = context.posterior
        engine = context.classifier.inference_
        if isinstance(engine, inference.NUTS):
            found = checkable(posterior)
            flat = found.draws.reshape(len(found.names), -1)
            with np.errstate(all="ignore"):
                share = np.asarray(array_stats.mcse(found.draws, method="mean")) / flat.std(axis=1, ddof=1)
            share = np.where(np.isnan(share), np.inf, share)
            evidence: Evidence = worst(found, mcse_over_sd=share)
            largest, what, more = float(share.max()), f"for {found.names[int(share.argmax())]!r}", LONGER
        else:
            draws = float(posterior.sizes["chain"] * posterior.sizes["draw"])
            stats = context.statistics
            if stats is not None and "importance_ess" in stats:
                draws = min(draws, float(stats["importance_ess"]))
            largest, what, more = draws**-0.5, "throughout", f"take more draws, such as {context.engine}(draws=1000)"
            evidence = {"mcse_over_sd": largest, "independent_draws": draws}
        if not np.isfinite(largest):
            raise Skipped("a parameter's draws do not move")
        if largest > thresholds.MAX_MCSE:
            return self.issue(
                f"posterior means are uncertain by {largest:.2f} posterior sds {what} (limit {thresholds.MAX_MCSE})",
                more,
                evidence,
                "moderate",
            )
        return self.passed(f"at most {largest:.3f} posterior sds (limit {thresholds.MAX_MCSE})", evidence)
