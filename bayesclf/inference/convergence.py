"""Whether the draws of a Markov chain can be trusted, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayesclf.typing import Array

if TYPE_CHECKING:
    import xarray as xr

MAX_RHAT = 1.01
MIN_ESS_PER_CHAIN = 100
MIN_BFMI = 0.3
MAX_SATURATED_SHARE = 0.05
"""Share of draws that may end at the deepest tree: they cost time and not correctness, so a few are no problem."""

MIN_DRAWS = 4
"""Split chains need two draws per half."""


def convergence_problems(posterior: xr.Dataset, stats: xr.Dataset, max_treedepth: int) -> tuple[str, ...]:
    """Say what is wrong with the draws of a Markov chain, and what to do about it.

    Parameters
    ----------
    posterior
        Draws, every variable with dims (chain, draw, ...).
    stats
        Sample statistics (chain, draw) under ArviZ's names; what is not there is not checked.
    max_treedepth
        The limit that the draws were made under.

    Returns
    -------
    tuple of str
        One sentence per problem; empty if there is none. Constant variables are not a problem.

    References
    ----------
    Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), Rank-normalization, folding, and localization, Bayesian
    Analysis 16(2), doi:10.1214/20-BA1221. Betancourt (2016), Diagnosing suboptimal cotangent disintegrations,
    arXiv:1604.00695.
    """
    return (*_draw_problems(posterior), *_sampler_problems(stats, max_treedepth))


def _draw_problems(posterior: xr.Dataset) -> Iterator[str]:
    from arviz_base import rcParams
    from arviz_stats.base import array_stats

    x = _scalars(posterior)
    n_chains, n_draws = x.shape[1:]
    if n_chains < 2:
        yield "one chain cannot show whether chains agree; run more of them (NUTS(chains=4))"
    if n_draws < MIN_DRAWS:
        yield f"{n_draws} draws per chain are too few to check; draw longer (NUTS(draws=…))"
        return
    finite = np.isfinite(x).all(axis=(1, 2))
    if not finite.all():
        yield f"{_worst(posterior, ~finite)} has draws that are not finite; look for extreme values in the data"
    checked = np.flatnonzero(finite & (np.ptp(x, axis=(1, 2)) > 0))
    if not checked.size:
        return
    x = x[checked]
    with np.errstate(all="ignore"):  # chains that never move divide by zero
        rhat = array_stats.rhat(x) if n_chains > 1 else np.ones(len(x))
        bulk = array_stats.ess(x, method="bulk")
        tail = array_stats.ess(x, method="tail", prob=rcParams["stats.ci_prob"])  # as az.summary has it
    excess = np.zeros(len(finite))
    excess[checked] = np.where(np.isnan(rhat), np.inf, rhat) - MAX_RHAT
    if (excess > 0).any():
        yield (
            f"the chains disagree: R-hat is {excess.max() + MAX_RHAT:.3f} for {_worst(posterior, excess)} "
            f"(limit {MAX_RHAT}); draw longer (NUTS(draws=…, tune=…))"
        )
    limit = MIN_ESS_PER_CHAIN * n_chains
    shortage = np.zeros(len(finite))
    shortage[checked] = limit - np.fmin(bulk, tail)
    if (shortage > 0).any():
        yield (
            f"the draws are too dependent: the effective sample size is {limit - shortage.max():.0f} for "
            f"{_worst(posterior, shortage)} (limit {limit}); draw longer (NUTS(draws=…))"
        )


def _sampler_problems(stats: xr.Dataset, max_treedepth: int) -> Iterator[str]:
    from arviz_stats.base import array_stats

    if "diverging" in stats and (diverging := int(stats["diverging"].sum())):
        yield (
            f"{diverging} of {stats['diverging'].size} draws diverged, so that a part of the posterior may be missing; "
            "take smaller steps (NUTS(target_accept=0.95)) or narrower priors"
        )
    if "reached_max_treedepth" in stats:
        share = float(stats["reached_max_treedepth"].mean())
        if share > MAX_SATURATED_SHARE:
            yield (
                f"{share:.0%} of the draws stopped at the deepest tree, 2^{max_treedepth} steps (limit "
                f"{MAX_SATURATED_SHARE:.0%}); allow more (NUTS(max_treedepth={max_treedepth + 2})) or scale the data"
            )
    if "energy" in stats and stats.sizes["draw"] >= MIN_DRAWS:
        with np.errstate(all="ignore"):  # a chain that never moves has no energy to compare
            bfmi = array_stats.bfmi(stats["energy"].transpose("chain", "draw").values)
        if (bfmi < MIN_BFMI).any():
            yield (
                f"chain {int(np.nanargmin(bfmi))} explores the tails slowly: E-BFMI is {np.nanmin(bfmi):.2f} (limit "
                f"{MIN_BFMI}); draw longer (NUTS(draws=…, tune=…)) or use narrower priors"
            )


def _scalars(posterior: xr.Dataset) -> Array:
    """Return every number of every variable as (scalar, chain, draw)."""
    sizes = posterior.sizes["chain"], posterior.sizes["draw"]
    parts = [variable.transpose(..., "chain", "draw").values.reshape(-1, *sizes) for variable in posterior.values()]
    return np.concatenate([np.empty((0, *sizes)), *parts])


def _worst(posterior: xr.Dataset, badness: Array | NDArray[np.bool_]) -> str:
    """Name the scalar of the greatest badness with its coordinates, and count the others above zero."""
    position = int(np.argmax(badness))
    others = int((badness > 0).sum()) - 1
    return f"{_name(posterior, position)}" + (f" and {others} more" if others else "")


def _name(posterior: xr.Dataset, position: int) -> str:
    for name, variable in posterior.items():
        one = variable.isel(chain=0, draw=0, drop=True)
        if position < one.size:
            index = np.unravel_index(position, one.shape)
            labels = [str(one[dim].values[i]) for dim, i in zip(one.dims, index, strict=True)]
            return f"'{name}[{', '.join(labels)}]'" if labels else f"'{name}'"
        position -= one.size
    raise IndexError(position)
