"""Draws by the No-U-Turn sampler: from a PyMC model, or from a log density that is machine code."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.arrays import Array, Statistics
from bayesclf.constraints import Number, OrNone, Whole, require
from bayesclf.display import Concise
from bayesclf.engines.compiled import LogDensity, compiled, finite_or_nan, start
from bayesclf.errors import InputError
from bayesclf.posterior.averaging import available
from bayesclf.progress import Progress, Tell, checked, shown

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

    from bayesclf.models.logistic.density import LogisticDensity

__all__ = ["NUTS", "Sample", "sample", "sample_machine_code", "sample_statistics"]

TARGET_ACCEPT, TARGET_ACCEPT_SCALED = 0.8, 0.9
"""Mean acceptance rate that the step size is adapted to, and that of logistic regression whose scale is learned."""
OPTIONS: Mapping[str, Any] = {"adaptation": "draw_diag", "max_energy_error": 1e5}
"""Of the latter too. Where weights separate the classes, the likelihood is a wall behind which the log density falls
linearly, by all rows together. A step across it is a proposal that is rejected, and no sign of a part that is not
explored."""
TUNE = 500
TUNE_STANDARDISED = 300
"""Draws that adapt the step size and, in coordinates that are not standardized, the scale of each."""
JITTER = 1.0
"""Chains start uniformly within this distance of the starting point, in the coordinates that are sampled."""

DEEPEST_TREE = 20
"""Trees are at most this deep: a draw of the deepest takes a million steps."""

UPDATE_SECONDS = 0.2
"""How often progress is told while nutpie samples."""

STATISTICS = {
    "diverging": bool,
    "tree_depth": np.int64,
    "reached_max_treedepth": bool,
    "lp": np.float64,
    "acceptance_rate": np.float64,
    "energy": np.float64,
    "step_size": np.float64,
    "n_steps": np.int64,
}
"""Sample statistics that every sampler answers with, under ArviZ's names."""

NO_START = "the log density is not finite near its starting point; look for data outside the support of a distribution"

NUTPIE_NAMES = {
    "depth": "tree_depth",
    "maxdepth_reached": "reached_max_treedepth",
    "logp": "lp",
    "mean_tree_accept": "acceptance_rate",
}


@dataclass(frozen=True, repr=False)
class NUTS(Concise):
    """Markov chain Monte Carlo by the No-U-Turn sampler of nutpie, compiled once for each model structure.

    For another sampler, give ``pymc.sample`` the model that ``clf.to_pymc(X, y)`` returns, and its draws to
    ``clf.with_posterior``.

    Parameters
    ----------
    draws : int
        Number of draws that each chain keeps.
    tune : int or None
        Number of draws before them, which adapt the step size and are dropped. None is 500, or 300 for logistic
        regression, which is sampled in coordinates in which its posterior is nearly standard normal.
    chains : int
        Number of independent chains; fewer than two cannot show whether they agree.
    target_accept : float or None
        Mean acceptance rate that the step size is adapted to, in (0, 1); nearer to 1 means smaller steps. None is 0.8,
        or 0.9 for logistic regression whose prior scale is learned.
    max_treedepth : int
        A draw takes at most 2 to this power leapfrog steps.
    cores : int or None
        Chains that run at once, without effect on the draws. None is as many as there are cores for logistic
        regression, else one: threads take turns at a gradient that Python calls, so that more seldom help.
    progress : bool, callable or None
        Whether to show progress; or a function that is called with what is being done, draws done and draws in all.
        None shows it in a notebook, and where stderr is a terminal. It is not saved with a model.

    References
    ----------
    Hoffman and Gelman (2014), The No-U-Turn Sampler, JMLR 15.

    Examples
    --------
    >>> NUTS(draws=500, target_accept=0.9).chains
    4
    """

    draws: int = 1000
    tune: int | None = None
    chains: int = 4
    target_accept: float | None = None
    max_treedepth: int = 10
    cores: int | None = None
    progress: Progress = field(default=None, compare=False, metadata={"saved": False})

    def __post_init__(self) -> None:
        checked(self.progress)
        require(Whole(1), draws=self.draws, chains=self.chains)
        require(OrNone(Whole(1)), tune=self.tune, cores=self.cores)
        require(Whole(1, DEEPEST_TREE), max_treedepth=self.max_treedepth)
        require(OrNone(Number(above=0, below=1)), target_accept=self.target_accept)


@dataclass(frozen=True)
class Sample:
    """Draws and their sample statistics.

    `draws`: Each parameter, or free random variable of a PyMC model, in its own space, (chain, draw, ...). `stats`:
    Sample statistics.
    """

    draws: Mapping[str, Array]
    stats: Statistics


def sample(model: pm.Model, settings: NUTS, seed: int, *, signature: Hashable) -> Sample:
    """Draw from the posterior of a PyMC model.

    `model`: Its data, and everything else that varies under one signature, are `pm.Data`. `signature`: Says the
    structure of the model: models of one signature are compiled once and differ only in their data.

    Raises `InputError` where the sampler is not installed, or the log density is not finite at the start. A discrete
    parameter, or another structure than the first of the signature, raises it too.
    """
    with shown("compiling the model", None, settings.progress) as tell:
        functions = compiled(model, signature)
        log_density = functions.log_density(model)
        origin = start(model)
        log_density(origin)  # compiles in this thread, before those of the sampler call it
        x, stats = _run_nutpie(_python_model(finite_or_nan(log_density), origin), settings, seed, tell)
        return Sample(functions.constrain(model, x), stats)


def sample_machine_code(density: LogisticDensity, settings: NUTS, seed: int) -> Sample:
    """Draw from the target of a log density that is machine code, by nutpie.

    `density`: The log density, in coordinates in which its target is nearly standard normal.

    Raises `InputError` where the log density is not finite at the start.
    """
    settings = replace(
        settings,
        tune=settings.tune or TUNE_STANDARDISED,
        cores=settings.cores or available(),
        target_accept=settings.target_accept or (TARGET_ACCEPT_SCALED if density.scaled else TARGET_ACCEPT),
    )
    model = nutpie_model(density, _jittered(np.zeros(density.size)))
    with shown("sampling", None, settings.progress) as tell:
        x, stats = _run_nutpie(model, settings, seed, tell, OPTIONS if density.scaled else {})
    return Sample(density.parameters(x, np.random.default_rng(seed)), stats)


def _python_model(log_density: LogDensity, origin: Array) -> Any:
    """Return what `nutpie.sample` takes; its draws are named ``x``, and are the points of each chain as they are."""
    from nutpie.compiled_pyfunc import from_pyfunc

    return from_pyfunc(
        origin.size,
        lambda: log_density,
        lambda *_: lambda x: {"x": x},
        [np.dtype(np.float64)],
        [origin.shape],
        ["x"],
        make_initial_point_fn=_jittered(origin),
    )


def nutpie_model(density: LogisticDensity, initial_point: Any) -> Any:
    """Return what `nutpie.sample` takes; its draws are named ``x``.

    nutpie has no public way to sample compiled functions that do not come from PyMC. So this function fills the fields
    of its ``CompiledPyMCModel``, private ones too; no other place knows them.

    `initial_point`: From a chain's seed to the point where it starts.
    """
    from nutpie.compile_pymc import CompiledPyMCModel

    size = density.size
    return CompiledPyMCModel(
        dims={},
        compiled_logp_func=density.function,
        compiled_expand_func=_identity(),
        initial_point_func=initial_point,
        shared_data={},
        shared_var_keys={},
        user_data=density.addresses,
        n_expanded=size,
        shape_info=(["x"], [slice(0, size)], [(size,)]),
        logp_func=density,  # keeps the arrays alive that the addresses point to
        expand_func=None,
        _n_dim=size,
        _shapes={"x": (size,)},
        _coords={},
    )


@cache
def _identity() -> Any:
    """Return the C function that nutpie turns draws into parameters by: here they are the same."""
    import numba as nb
    from numba import types

    numbers = types.CPointer(types.double)
    signature = types.int32(types.uintp, types.uintp, numbers, numbers, numbers)
    return nb.cfunc(signature, cache=True)(copy)


def copy(size: Any, expanded: Any, x: Any, out: Any, data: Any) -> int:
    """Copy `size` numbers from `x` to `out`."""
    for i in range(size):
        out[i] = x[i]
    return 0


def _jittered(origin: Array) -> Callable[[int], Array]:
    """Return the function from a chain's seed to the point where it starts."""
    return lambda seed: origin + np.random.default_rng(seed).uniform(-JITTER, JITTER, origin.size)


def _run_nutpie(
    model: Any,
    settings: NUTS,
    seed: int,
    tell: Tell,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Array, Statistics]:
    """Return nutpie's draws of its one variable, (chain, draw, coordinate), and their statistics."""
    import nutpie

    chains: list[Any] = []
    total = settings.chains * (settings.draws + (settings.tune or TUNE))

    def keep(now: list[Any]) -> None:  # called by another thread, where notebooks would not show what it says
        """Keep what nutpie says of each chain."""
        chains[:] = now

    run = nutpie.sample(
        model,
        draws=settings.draws,
        tune=settings.tune or TUNE,
        chains=settings.chains,
        cores=settings.cores or 1,
        seed=seed,
        target_accept=settings.target_accept or TARGET_ACCEPT,
        maxdepth=settings.max_treedepth,
        progress_bar=False,
        progress_callback=keep,
        **options,
        blocking=False,  # a blocking run answers Ctrl-C with the draws so far, as if they were all
    )
    try:
        trace: Any = None
        while trace is None:
            with suppress(TimeoutError):
                trace = run.wait(timeout=UPDATE_SECONDS)
            tell("sampling", sum(chain.finished_draws for chain in chains) if trace is None else total, total)
        return trace["posterior"]["x"].values, sample_statistics(trace, settings)
    except BaseException as error:
        run.cancel()
        if "initialization points failed" in str(error):
            raise InputError(NO_START) from error
        raise


def sample_statistics(tree: xr.DataTree, settings: NUTS) -> Statistics:
    """Return the statistics that all samplers share, under one set of names, from a tree of nutpie's or PyMC's."""
    stats = tree["sample_stats"].to_dataset()
    stats = stats.rename({old: new for old, new in NUTPIE_NAMES.items() if old in stats})
    if "reached_max_treedepth" not in stats:
        stats["reached_max_treedepth"] = stats["n_steps"] >= 2**settings.max_treedepth - 1
    return {name: stats[name].transpose("chain", "draw").values.astype(kind) for name, kind in STATISTICS.items()}
