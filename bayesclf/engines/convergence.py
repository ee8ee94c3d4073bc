"""Whether the draws of a Markov chain can be trusted, in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import boxcox1p, logsumexp, softmax

from bayesclf.arrays import Array, Parameters, Statistics
from bayesclf.wording import named

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

MAX_RHAT = 1.01
"""R-hat up to which chains agree, however many draws there are; of fewer draws chance gives more, see `rhat_limit`."""

RHAT_LEVEL = 0.01
"""Probability that chance takes the largest R-hat of all parameters beyond its limit."""

MIN_ESS_PER_CHAIN = 100
"""Independent draws that the draws of each chain must be worth, for every parameter."""

MIN_BFMI = 0.3
"""E-BFMI below which a chain explores the tails too slowly."""

MAX_SATURATED_SHARE = 0.05
"""Share of draws that may end at the deepest tree: they cost time and not correctness, so a few are no problem."""

SMALLER, NEARLY = (0.95, 0.999), 0.93
"""Acceptance rates that the step size is to be adapted to where draws diverge, the second where more than `NEARLY` were
accepted."""

MIN_DRAWS = 4
"""Split chains need two draws per half."""


NEGLIGIBLE_SPREAD = 1e-9
"""Log ratios that differ by no more than this are equal up to rounding, and have no tail to fit."""

LEAST_TAIL = 5
"""Ratios that a fit of their tail needs."""

PYMC = "pymc.sample"
"""Stands for the name of an engine where the user drew."""


LONGER = "draw longer, such as {}(draws=2000, tune=1000)"
"""What to do about most problems; {} is the name of what takes the settings."""


@dataclass(frozen=True, eq=False)
class Measured:
    """A measure of the draws, and what it says about them.

    `values`: The measure of each parameter, chain or draw. `problem`: What is wrong, in words; empty where nothing is.
    `remedy`: What to do about it, as `LONGER`. `limit`: What the value that decides may be, where that depends on the
    draws.
    """

    values: Array
    problem: str
    remedy: str = LONGER
    limit: float = MAX_RHAT

    def advice(self, engine: str) -> str:
        """Return what to do about it, by the engine whose class has this name; or by `PYMC`."""
        return self.remedy.format(engine if engine == PYMC else f"inference=bc.engines.{engine}")


@dataclass(frozen=True, eq=False)
class Scalars:
    """Single parameters that vary.

    `draws`: (scalar, chain, draw). `of`: Number of all parameters, including those that do not vary. `not_finite`:
    Names of parameters with draws that are not finite.
    """

    names: tuple[str, ...]
    draws: Array
    of: int
    not_finite: tuple[str, ...] = ()

    @property
    def scope(self) -> str:
        """The number of checked parameters, in words."""
        some = len(self.names)
        return f"{some:,} parameters" if some == self.of else f"{some:,} checked parameters ({self.of:,} in all)"

    def broken(self) -> str:
        """Name the parameters with draws that are not finite; empty where there are none."""
        verb = "has" if len(self.not_finite) == 1 else "have"
        return f"{named(self.not_finite)} {verb} draws that are not finite" if self.not_finite else ""

    def worst(self, badness: Array, most: int, **columns: Array) -> pd.DataFrame:
        """Return at most `most` parameters with their numbers (scalar), the worst first."""
        import pandas as pd

        order = np.argsort(-np.nan_to_num(badness, nan=np.inf), kind="stable")[:most]
        names = [self.names[i] for i in order]
        return pd.DataFrame({"parameter": names, **{name: values[order] for name, values in columns.items()}})


def convergence_problems(
    found: Scalars, stats: Statistics | None, max_treedepth: int = 0, engine: str = "NUTS"
) -> tuple[str, ...]:
    """Say what is wrong with the draws of a Markov chain, and what to do about it.

    `stats`: Sample statistics; one that is missing is not checked. `max_treedepth`: The limit that the draws were made
    under. `engine`: Name of the class of the engine's settings, or `PYMC`.

    Returns: One sentence per problem; empty if there is none. Constant variables are not a problem.

    See Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), Rank-normalization, folding, and localization, Bayesian
    Analysis 16(2), doi:10.1214/20-BA1221. Betancourt (2016), Diagnosing suboptimal cotangent disintegrations,
    arXiv:1604.00695.
    """
    measured = measures(found, stats, max_treedepth)
    return tuple(f"{one.problem}; {one.advice(engine)}" for one in measured if one.problem)


def measures(found: Scalars, stats: Statistics | None, max_treedepth: int) -> tuple[Measured, ...]:
    """Return what `convergence_problems` says, problem by problem."""
    return (*_of_draws(found), *(() if stats is None else _of_sampler(stats, max_treedepth)))


def _of_draws(found: Scalars) -> Iterator[Measured]:
    chains, draws = found.draws.shape[1:]
    if chains < 2:
        yield one_chain()
    if draws < MIN_DRAWS:
        yield Measured(found.draws, f"{draws} draws per chain are too few to check")
        return
    yield Measured(found.draws, found.broken(), "look for extreme values in the data")
    if found.names:
        if chains > 1:
            yield rhat(found)
        sizes = np.fmin(ess(found, "bulk"), ess(found, "tail"))
        yield sample_size(found, sizes, "posterior means and limits of credible intervals")


def _of_sampler(stats: Statistics, max_treedepth: int) -> Iterator[Measured]:
    if "diverging" in stats:
        yield divergences(stats["diverging"], stats.get("acceptance_rate"))
    if "reached_max_treedepth" in stats:
        yield saturation(stats["reached_max_treedepth"], max_treedepth)
    if "energy" in stats and stats["energy"].shape[1] >= MIN_DRAWS:
        yield energy(stats["energy"])


def single(posterior: xr.Dataset, variables: Iterable[str]) -> tuple[list[str], Array]:
    """Return single parameters: their names, such as "mu[yes, age]", and their draws (scalar, chain, draw)."""
    sizes = posterior.sizes["chain"], posterior.sizes["draw"]
    found = {name: posterior[name].transpose("chain", "draw", ...) for name in variables}
    parameters = {name: variable.values.reshape(-1, *variable.shape[2:]) for name, variable in found.items()}
    dims = {name: tuple(map(str, variable.dims[2:])) for name, variable in found.items()}
    return of_chains(parameters, dims, {str(dim): posterior[dim].values for dim in posterior.dims}, sizes)


def of_chains(
    parameters: Parameters, dims: Mapping[str, tuple[str, ...]], coords: Mapping[str, Any], sizes: tuple[int, int]
) -> tuple[list[str], Array]:
    """Return what `single` does, of arrays (draw, …), the draws of one chain together; `sizes` are (chain, draw).

    It needs no xarray, whose first data set imports Dask.
    """
    names, draws = list[str](), [np.empty((0, *sizes))]
    for name, axes in dims.items():
        places = product(*(map(str, coords[axis]) for axis in axes))
        names += [f"{name}[{', '.join(place)}]" if place else name for place in places]
        draws.append(parameters[name].reshape(*sizes, -1).transpose(2, 0, 1))
    return names, np.concatenate(draws)


def of_unit_scale(draws: Array) -> Array:
    """Return draws (scalar, …), each divided by a power of two: squares of draws of a variance could overflow."""
    _, power = np.frexp(np.abs(draws).max(axis=tuple(range(1, draws.ndim)), initial=0.0, keepdims=True))
    return np.asarray(np.ldexp(draws, -power))


def scalars(posterior: xr.Dataset, most: int | None = None) -> Scalars:
    """Return the single parameters of a posterior (chain, draw, …), at most `most` of them, evenly spaced."""
    return varying(*single(posterior, map(str, posterior)), most)


def varying(names: list[str], every: Array, most: int | None) -> Scalars:
    """Return the parameters that vary, of their names and draws (scalar, chain, draw); as `scalars`.

    Constant parameters are left out: for example, the probability of the only level of a column never varies. The draws
    of each are divided by a power of two, on which no measure of them depends.
    """
    step = 1 if most is None else max(-(-len(every) // most), 1)
    some, shown = every[::step], names[::step]
    finite = np.isfinite(some).all(axis=(1, 2))
    kept = np.flatnonzero(finite & (some != some[:, :1, :1]).any(axis=(1, 2)))
    wrong = tuple(shown[i] for i in np.flatnonzero(~finite))
    return Scalars(tuple(shown[i] for i in kept), of_unit_scale(some[kept]), len(every), wrong)


def one_chain() -> Measured:
    """Return that a single chain cannot be compared with others."""
    return Measured(np.ones(1), "one chain cannot show whether chains agree", "run more, such as {}(chains=4)")


def rhat(found: Scalars) -> Measured:
    """Return the larger of bulk and tail R-hat of each parameter, infinite for chains that never move.

    The limit is that of the parameter that is furthest beyond its own, see `rhat_limit`.
    """
    from arviz_stats.base import array_stats

    with np.errstate(all="ignore"):  # chains that never move divide by zero
        values = np.asarray(array_stats.rhat(found.draws))
    values = np.where(np.isnan(values), np.inf, values)
    limits = np.full(len(values), MAX_RHAT)
    high = np.flatnonzero((values > MAX_RHAT) & np.isfinite(values))
    if high.size:
        _, chains, draws = found.draws.shape
        limits[high] = rhat_limit(_within_chains(found.draws[high]), chains, draws, len(values))
    above = int((values > limits).sum())
    worst = int((values - limits).argmax())
    value, limit = apart(values[worst], limits[worst])
    problem = (
        f"the chains disagree: R-hat is {value} (limit {limit}) for {found.names[worst]!r}, and above its limit for "
        f"{above} of {found.scope}"
    )
    return Measured(values, problem if above else "", limit=float(limits[int(values.argmax())]))


def apart(value: float, limit: float) -> tuple[str, str]:
    """Return two different numbers with as many decimals as it takes to tell them apart, three at least.

    Examples
    --------
    >>> apart(1.01004, 1.01)
    ('1.01004', '1.01000')
    """
    for decimals in range(3, 16):
        words = f"{value:.{decimals}f}", f"{limit:.{decimals}f}"
        if words[0] != words[1]:
            break
    return words


def rhat_limit(ess: Array, chains: int, draws: int, parameters: int) -> Array:
    """Return what R-hat may be by chance: the 99% point of the largest of many, for chains that agree.

    Let m half chains of n draws be worth n' independent ones. The ratio of the variances between and within them is
    (n/n')F, where F has m − 1 and m(n' − 1) degrees of freedom. R-hat is √(1 − 1/n + F/n'). Bulk and tails of p
    parameters are 2p such numbers.

    `ess`: Effective number of draws of all chains together (scalar), from the dependence within each chain: one that
    took the distance between chains into account would excuse it. At least `MIN_ESS_PER_CHAIN` per chain are assumed,
    as less is a problem of its own. `parameters`: Number p of parameters that are checked.

    Returns: (scalar), at least `MAX_RHAT`.

    See Gelman & Rubin (1992), Inference from iterative simulation using multiple sequences, Statistical Science 7,
    section 3 (the F distribution of the variance ratio).
    """
    from scipy import stats

    halves = 2 * chains
    worth = np.maximum(ess, chains * MIN_ESS_PER_CHAIN) / halves
    ratio = stats.f.isf(RHAT_LEVEL / (2 * parameters), halves - 1, halves * (worth - 1))
    return np.asarray(np.maximum(MAX_RHAT, np.sqrt(1 - 1 / (draws / 2) + ratio / worth)))


def _within_chains(draws: Array) -> Array:
    """Return the sum of each chain's own bulk effective sample size, of draws (scalar, chain, draw)."""
    from arviz_stats.base import array_stats

    with np.errstate(all="ignore"):
        own = [np.asarray(array_stats.ess(draws[:, [chain]], method="bulk")) for chain in range(draws.shape[1])]
    return np.asarray(np.nan_to_num(np.sum(own, axis=0), nan=0.0))


def ess(found: Scalars, method: Literal["bulk", "tail"]) -> Array:
    """Return the effective sample size of each parameter, (scalar), 0 where it is undefined."""
    from arviz_base import rcParams
    from arviz_stats.base import array_stats

    tail = {"prob": rcParams["stats.ci_prob"]} if method == "tail" else {}  # as az.summary has it
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.asarray(array_stats.ess(found.draws, method=method, **tail)), nan=0.0)


def sample_size(found: Scalars, sizes: Array, what: str) -> Measured:
    """Compare effective sample sizes (scalar) with the limit for this number of chains; `what` needs them."""
    limit = MIN_ESS_PER_CHAIN * found.draws.shape[1]
    below = int((sizes < limit).sum())
    problem = (
        f"effective sample sizes are too small for {what}: {sizes.min():.0f} for "
        f"{found.names[int(sizes.argmin())]!r}, and below {limit} for {below} of {found.scope}"
    )
    return Measured(sizes, problem if below else "")


def divergences(diverging: Array, accepted: Array | None = None) -> Measured:
    """Count divergent draws (chain, draw); by acceptance rates (chain, draw), say how small steps should be."""
    count = int(diverging.sum())
    problem = f"{count} of {diverging.size} draws diverged, so the draws may miss a part of the posterior"
    nearer = SMALLER[accepted is not None and bool(accepted.mean() > NEARLY)]
    remedy = f"use smaller steps, {{}}(target_accept={nearer}), or narrower priors"
    return Measured(diverging, problem if count else "", remedy)


def saturation(reached: Array, max_treedepth: int) -> Measured:
    """Compare the share of draws (chain, draw) that reached the maximum tree depth with its limit."""
    problem = (
        f"{100 * reached.mean():.0f}% of the draws reached the maximum tree depth of {max_treedepth} (limit "
        f"{100 * MAX_SATURATED_SHARE:.0f}%), so the draws are more dependent than necessary"
    )
    remedy = f"allow more, {{}}(max_treedepth={max_treedepth + 2}), or scale the data"
    return Measured(reached, problem if reached.mean() > MAX_SATURATED_SHARE else "", remedy)


def energy(energies: Array) -> Measured:
    """Return the Bayesian fraction of missing information of each chain, from energies (chain, draw)."""
    from arviz_stats.base import array_stats

    with np.errstate(all="ignore"):  # the energy of a chain that never moves has variance 0
        bfmi = np.nan_to_num(np.asarray(array_stats.bfmi(energies)), nan=0.0)
    lowest = f"E-BFMI is {bfmi.min():.2f} (limit {MIN_BFMI})"
    problem = f"chain {int(bfmi.argmin())} explores the tails slowly: {lowest}"
    return Measured(bfmi, problem if (bfmi < MIN_BFMI).any() else "", f"{LONGER}, or use narrower priors")


def smoothed(log_density: Array, efficiency: float) -> tuple[Array, Array]:
    """Return log weights proportional to 1/density, Pareto-smoothed, each row adding up to 1, and k̂ of each row.

    `log_density`: log p of each row under each draw (row, draw). `efficiency`: Effective draws over draws. Where the
    ratios have no tail that a Pareto distribution fits, k̂ is ∞; densities of 0 then share all the weight. Where all
    ratios are equal, k̂ is −∞.

    See Vehtari, Simpson, Gelman, Yao & Gabry, *Pareto smoothed importance sampling*, JMLR 25 (2024).
    """
    lowest, highest = log_density.min(axis=1), log_density.max(axis=1)
    log_weight, khat = -log_density, np.full(len(log_density), np.inf)
    flat = highest - lowest <= NEGLIGIBLE_SPREAD
    log_weight[flat], khat[flat] = 0.0, -np.inf
    for row in np.flatnonzero(~flat):
        if np.isneginf(lowest[row]):
            log_weight[row] = np.where(np.isneginf(log_density[row]), 0.0, -np.inf)
        else:
            khat[row] = _smooth_tail(log_weight[row], efficiency)
    return log_weight - logsumexp(log_weight, axis=1, keepdims=True), khat


def _smooth_tail(log_ratio: Array, efficiency: float) -> float:
    """Replace the largest of some log ratios (draw) by quantiles of a Pareto distribution, and return its k̂.

    Where none fits, k̂ is ∞ and the ratios stay. The result is that of ArviZ's `psislw`, whose import would take
    longer than the fit of a small table.

    See Zhang & Stephens, *A new and efficient estimation method for the generalized Pareto distribution*, Technometrics
    51 (2009); the prior of k is worth 10 draws at 0.5.
    """
    draws, largest = len(log_ratio), log_ratio.max()
    tail = int(3 * np.sqrt(draws / efficiency)) if draws * efficiency > 225 else draws // 5
    order = np.argsort(log_ratio)[draws - tail - 1 :]
    ratio = np.exp(log_ratio[order] - largest)
    cutoff, excess = ratio[0], ratio[1:] - ratio[0]
    if tail < LEAST_TAIL or (quartile := excess[int(tail / 4 + 0.5) - 1]) <= excess[0]:
        return np.inf
    points = 30 + int(np.sqrt(tail))
    with np.errstate(all="ignore"):  # ratios may be too far apart for reciprocals
        b = 1 / excess[-1] + (1 - np.sqrt(points / (np.arange(points) + 0.5))) / (3 * quartile)
        k = np.log1p(-b[:, None] * excess).mean(axis=1)
        mean_b = softmax(tail * (np.log(-b / k) - k - 1)) @ b
        k = np.log1p(-mean_b * excess).mean()
        scale, khat = -k / mean_b, (tail * k + 10 * 0.5) / (tail + 10)
        standard = -boxcox1p(-(np.arange(tail) + 0.5) / tail, -khat)  # ((1 − p)^−k̂ − 1)/k̂, and its limit at 0
        quantiles = np.log(cutoff + scale * standard)
    if not (np.isfinite(khat) and scale > 0) or np.isnan(quantiles).any():
        return np.inf
    log_ratio[order[1:]] = largest + np.minimum(quantiles, 0.0)
    return float(khat)
