"""Checks of what NUTS says of its own way through the posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesclf import inference
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.chains import CHAINS, LONGER
from bayesclf.diagnostics.check import Check, Skipped
from bayesclf.diagnostics.finding import Finding

if TYPE_CHECKING:
    import xarray as xr

    from bayesclf.diagnostics.context import Context


def _of(context: Context, name: str) -> xr.DataArray:
    _, stats = context.chains
    if name not in stats:
        raise Skipped(f"the sampler did not record {name!r}")
    return stats[name].transpose("chain", "draw")


class Divergences(Check):
    """Trajectories that left the energy they should keep: the sampler could not follow the posterior there."""

    code = "P05"
    title = "Divergences"
    applies_to = CHAINS

    def run(self, context: Context) -> Finding:
        """Count the draws that diverged."""
        diverging = _of(context, "diverging").values
        count = int(diverging.sum())
        evidence = {"divergences": count, "draws": diverging.size}
        if count:
            return self.issue(
                f"{count} of {diverging.size} draws diverged, so that a part of the posterior may be missing",
                "take smaller steps, inference=NUTS(target_accept=0.95), or narrower priors",
                evidence,
            )
        return self.passed(f"none of {diverging.size} draws", evidence)


class TreeDepth(Check):
    """Trajectories cut off at the deepest tree, by whatever name the sampler gives them."""

    code = "P06"
    title = "Tree depth"
    applies_to = CHAINS

    def run(self, context: Context) -> Finding:
        """Compare the share of draws at the deepest tree with its limit."""
        saturated = _of(context, "reached_max_treedepth").values
        share, limit = float(saturated.mean()), thresholds.MAX_SATURATED_SHARE
        evidence = {"saturated": int(saturated.sum()), "draws": saturated.size, "share": share}
        if share > limit:
            engine = context.classifier.inference_
            assert isinstance(engine, inference.NUTS)  # else there are no chains
            deepest = engine.max_treedepth
            return self.issue(
                f"{share:.0%} of the draws stopped at the deepest tree, 2^{deepest} steps (limit {limit:.0%}), before "
                "the trajectory turned back: they are more dependent than they need be",
                f"allow more, inference=NUTS(max_treedepth={deepest + 2}), or scale the data",
                evidence,
                "moderate",
            )
        return self.passed(f"{share:.1%} of the draws at the deepest tree (limit {limit:.0%})", evidence)


class Energy(Check):
    """Estimated Bayesian fraction of missing information (Betancourt 2016, arXiv:1604.00695)."""

    code = "P07"
    title = "Energy (E-BFMI)"
    applies_to = CHAINS

    def run(self, context: Context) -> Finding:
        """Compare each chain's E-BFMI with its limit."""
        from arviz_stats.base import array_stats

        energy = _of(context, "energy").values
        if energy.shape[1] < thresholds.MIN_DRAWS:
            raise Skipped(f"{energy.shape[1]} draws a chain are too few to check; draw longer")
        with np.errstate(all="ignore"):  # a chain that never moves has no energy to compare
            bfmi = np.nan_to_num(np.asarray(array_stats.bfmi(energy)), nan=0.0)
        evidence = {f"chain {chain}": float(value) for chain, value in enumerate(bfmi)}
        if (bfmi < thresholds.MIN_BFMI).any():
            return self.issue(
                f"chain {int(bfmi.argmin())} explores the tails slowly: E-BFMI is {bfmi.min():.2f} (limit "
                f"{thresholds.MIN_BFMI})",
                f"{LONGER}, or use narrower priors",
                evidence,
            )
        return self.passed(f"smallest E-BFMI {bfmi.min():.2f} (limit {thresholds.MIN_BFMI})", evidence)
