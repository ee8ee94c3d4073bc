"""Engines: from a model with its data to point estimates or draws from the posterior.

`Auto` chooses the cheapest engine whose draws are as good as exact ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.arrays import Array, Parameters, Statistics
from bayesclf.constraints import Instance, OrNone, Whole, require, require_number
from bayesclf.display import Concise, Sized
from bayesclf.engines import augmentation, laplace, nuts, slices
from bayesclf.engines.augmentation import Augmentation
from bayesclf.engines.convergence import MIN_ESS_PER_CHAIN, convergence_problems, of_chains, varying
from bayesclf.engines.laplace import MOST_PER_DRAW, Laplace
from bayesclf.engines.nuts import NUTS, STATISTICS, TUNE
from bayesclf.engines.optimizers import OPTIMIZERS, ZERO, GradientAscent, Optimizer, Trace, in_own_units
from bayesclf.engines.slices import Slice
from bayesclf.errors import ConvergenceWarning, DoesNotExist, InputError, Refused, warn
from bayesclf.models import Model
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.posterior.hypotheses import SeededDraws
from bayesclf.wording import counted, did_you_mean

if TYPE_CHECKING:
    import xarray as xr


FINITE_VARIANCE = 0.5
"""k̂ above which importance weights have no variance, and averages over them no standard error."""


@dataclass(frozen=True, repr=False)
class Auto(Concise):
    """Exact where the posterior has a closed form, else augmentation, else Laplace if as good as exact, else chains.

    Data augmentation is for models that have a closed form but for missing cells of the training rows. Laplace is as
    good as exact if the k̂ of its importance weights is within the limit, with at least one effective proposal per
    draw: the error of an average is then at most √2 times that of independent draws. Where few draws around the mode
    would be effective, normals with the moments of the posterior, by expectation propagation, take their place.
    Otherwise logistic regression is sampled by `Slice`, or by `NUTS` for more than four classes and where the draws of
    `Slice` hardly move. Where that would take more than about half a minute, chains of `Slice` are as short as takes
    about that time, and warn where they have not converged. Other models are sampled by `NUTS`.

    Parameters
    ----------
    laplace : Laplace
        Its settings; at a limit up to 0.5 the weights have a finite variance.
    nuts, slice, augmentation
        Their settings.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao, Gabry, *Pareto smoothed importance sampling*, JMLR 25 (2024): k̂ and what it bounds.

    Examples
    --------
    >>> Auto(nuts=NUTS(draws=500)).laplace.limit
    0.5
    """

    laplace: Laplace = field(default_factory=lambda: Laplace(limit=FINITE_VARIANCE))
    nuts: NUTS = field(default_factory=NUTS)
    slice: Slice = field(default_factory=Slice)
    augmentation: Augmentation = field(default_factory=Augmentation)

    def __post_init__(self) -> None:
        require(Instance(Laplace), laplace=self.laplace)
        require(Instance(NUTS), nuts=self.nuts)
        require(Instance(Slice), slice=self.slice)
        require(Instance(Augmentation), augmentation=self.augmentation)


def attempt(model: LogisticModel, settings: Auto, seed: int) -> tuple[Draws, Engine, str]:
    """Draw by Laplace where that is as good as exact, which a few proposals say first, else by chains.

    Returns: The draws, the engine that made them, and for the user, how the posterior is drawn and why.
    """
    _require_proper(model)
    engine = settings.laplace
    require_room(model, engine)
    rng = np.random.default_rng(seed)
    model, approximation, pilot = _placed(model, rng)
    if laplace.promises(pilot):
        proposals = laplace.enough(model, engine, rng, pilot)
        if proposals.khat <= engine.limit and proposals.ess >= engine.draws * engine.chains:
            how = f"the posterior was sampled by {approximation}, corrected by importance weights"
            return _laplace(*laplace.resample(proposals, engine, rng), engine), engine, f"{how}: {_worth(proposals)}"
    how, instead = "the posterior was sampled by", "because the Laplace approximation would be less accurate"
    if (work := slices.work(model, settings.slice)) <= slices.MOST_WORK:
        if len(model.labels) <= slices.MOST_CLASSES:
            chains = slices.Chains(slices.density_of(model), settings.slice, seed)
            if chains.moved >= slices.LEAST_MOVED:
                return warned(_sliced(model, chains)), settings.slice, f"{how} slice sampling, {instead}"
        if NUTS_PER_SLICE * work <= slices.MOST_WORK:
            return _chains(model, settings.nuts, seed), settings.nuts, f"{how} NUTS, {instead}"
    short = slices.shortened(model, settings.slice)
    chains = slices.Chains(model.density(), short, seed)
    chains.lengthen()
    draws = warned(checked(model, *chains.sample(), short))
    return draws, short, f"{how} short chains of slice sampling, because longer ones would take minutes"


LOST, LOST_OF_TWO = 0.01, 0.2
"""Shares of effective proposals around the mode, of several and of two classes, below which the posterior is not there:
expectation propagation then takes less time than proposals that are placed by their weights."""


def _placed(model: LogisticModel, rng: np.random.Generator) -> tuple[LogisticModel, str, laplace.Proposals]:
    """Return the model with normals near its posterior, what they are, and a few proposals from them.

    Where few proposals around the mode are effective, these are normals with the moments of the posterior.
    """
    first = laplace.propose(model, laplace.LEAST_PROPOSALS, rng)
    least = LOST_OF_TWO if len(model.labels) == 2 else LOST
    near = model.propagated() if first.share < least else model
    if near is not model:
        first = laplace.propose(near, laplace.MOVED_PROPOSALS, rng)
        return near, "expectation propagation", laplace.moved(near, rng, first, times=1)
    return model, "Laplace approximation", laplace.moved(model, rng, first)


def _worth(proposals: laplace.Proposals) -> str:
    return f"the draws come from a weighted sample that is as accurate as {proposals.ess:,.0f} independent draws"


NUTS_PER_SLICE = 2.0
"""Work of NUTS, over that of as many draws on slices."""


def _sliced(model: Model, chains: slices.Chains) -> Draws:
    """Return the draws of chains on slices, which become longer where they have not converged."""
    engine = chains.settings
    usual = replace(engine, draws=max(engine.draws, Slice.draws))  # fewer draws allow no longer chains
    for longer in (*slices.LONGER, np.inf):
        chains.lengthen()
        draws = checked(model, *chains.sample(), engine)
        if not draws.problems or longer * slices.work(model, usual) > slices.MOST_WORK:
            break
    return draws


MOST_CHECKED = 100
"""Parameters whose convergence is checked after slices and data augmentation: more take longer than their draws."""

MOST_NUTS_PARAMETERS = 5_000
"""Parameters of a model beyond which NUTS refuses: it would take hours, and its draws would not fit in memory."""


POSTERIOR_BYTES = 2**26
"""Largest size of an exact posterior's draws in memory; a larger posterior is stored as a seed."""

DRAW_BLOCK_BYTES = 2**22
"""Draws that are made at once, at least one of them. It is part of what a seed means: other sizes, other draws."""

NUMBER = 8
"""Bytes of a number."""

FEWEST_EXACT = 50
"""Draws per chain that `auto` takes at least where the default number does not fit in memory."""


@dataclass(frozen=True, repr=False)
class Exact(Concise):
    """Settings of exact inference: independent draws, without tuning and without convergence to check.

    Parameters
    ----------
    draws : int
        Draws per chain.
    chains : int
        Chains; they serve ArviZ's between-chain checks only, as all draws are independent.
    """

    draws: int = 250
    chains: int = 4

    def __post_init__(self) -> None:
        require(Whole(1), draws=self.draws, chains=self.chains)


OPTIMIZER = OrNone(Instance(OPTIMIZERS, "an optimizer, such as bc.engines.GradientAscent()"))


@dataclass(frozen=True, repr=False)
class MLE(Concise):
    """Maximum likelihood only: no posterior is drawn.

    Parameters
    ----------
    optimizer : Optimizer or None
        For logistic regression, an optimizer of `bayesclf.engines.optimizers` whose trajectory is kept; None takes
        Newton's method without a trace.
    """

    optimizer: Optimizer | None = None

    def __post_init__(self) -> None:
        require(OPTIMIZER, optimizer=self.optimizer)


@dataclass(frozen=True, repr=False)
class MAP(Concise):
    """The posterior mode only: no posterior is drawn.

    Parameters
    ----------
    optimizer : Optimizer or None
        As for `MLE`.
    """

    optimizer: Optimizer | None = None

    def __post_init__(self) -> None:
        require(OPTIMIZER, optimizer=self.optimizer)


type Engine = MLE | MAP | Exact | Augmentation | NUTS | Slice | Laplace | Auto

ENGINES: dict[str, type[Engine]] = {
    "mle": MLE,
    "map": MAP,
    "exact": Exact,
    "augmentation": Augmentation,
    "nuts": NUTS,
    "slice": Slice,
    "laplace": Laplace,
}
"""Engines by name; `auto` takes one of them for each model (`Auto`)."""

MARKOV_CHAINS = (Augmentation, NUTS, Slice)
"""Engines whose draws depend on each other, so that convergence has to be checked."""


@dataclass(frozen=True, repr=False)
class Draws(Sized):
    """Equally weighted draws from a posterior.

    `parameters`: Arrays (draw, ...), the draws of one chain together. `stats`: Sample statistics, None for exact draws.
    `problems`: Why the draws cannot be trusted yet, in plain words. `seeded`: How to make the draws, where they are too
    large to keep in memory; `parameters` is then empty.
    """

    parameters: Mapping[str, Array]
    chains: int
    stats: Statistics | None = None
    problems: tuple[str, ...] = ()
    seeded: SeededDraws | None = None

    @property
    def sample_stats(self) -> xr.Dataset:
        """The sample statistics with named axes."""
        import xarray as xr

        assert self.stats is not None
        axes = ("chain", "draw")
        found = xr.Dataset({name: (axes[: values.ndim], values) for name, values in self.stats.items()})
        return found.assign_coords({axis: np.arange(size) for axis, size in found.sizes.items()})


@dataclass(frozen=True, eq=False)
class Inferred:
    """What is known of the parameters, and how.

    `engine`: The engine that was used. `draws`: Its draws; None for the engines that are point estimates. `notes`: What
    the user should know of the choice, one sentence each.
    """

    engine: Engine
    draws: Draws | None
    notes: tuple[str, ...] = ()


def resolve(inference: str | Engine, model: Model) -> Engine:
    """Return the engine that `inference` names for this model; `Auto` where only the attempt can decide."""
    if inference == "auto" or isinstance(inference, Auto):
        if not model.not_conjugate():
            return _exact_in_memory(model)
        auto = Auto() if isinstance(inference, str) else inference
        if not model.not_augmentable():
            return auto.augmentation
        return auto if isinstance(model, LogisticModel) else auto.nuts
    return named_engine(inference)


def _exact_in_memory(model: Model) -> Exact:
    """Return the default, or fewer draws that are kept in memory: made again at every prediction some take seconds."""
    engine = Exact()
    if not any("other_feature" in axes for axes in model.dims().values()):
        return engine
    fitting = POSTERIOR_BYTES // (NUMBER * parameter_count(model) * engine.chains or 1)
    return Exact(fitting) if FEWEST_EXACT <= fitting < engine.draws else engine


def named_engine(inference: str | Engine) -> Engine:
    """Return the engine of a name, or the one given; raises `InputError` for others."""
    if isinstance(inference, MLE | MAP | Exact | Augmentation | NUTS | Slice | Laplace | Auto):
        return inference
    if not isinstance(inference, str):
        raise InputError(
            f"inference must be a name or an engine's settings, such as bc.engines.NUTS(), not {inference!r}"
        )
    if inference not in ENGINES:
        hint = did_you_mean(inference, ["auto", *ENGINES])
        names = ", ".join(ENGINES)
        raise InputError(f"unknown inference {inference!r}{hint}; it is one of auto, {names}, or their settings")
    return ENGINES[inference]()


def infer(model: Model, engine: Engine, seed: int) -> Inferred:
    """Draw from the posterior by the engine given, or by the one that `Auto` chooses."""
    if not isinstance(engine, Auto):
        return Inferred(engine, draw(model, engine, seed))
    assert isinstance(model, LogisticModel)  # `resolve` has chosen for the others
    draws, chosen, note = attempt(model, engine, seed)
    return Inferred(chosen, draws, (note,))


def draw(model: Model, engine: Engine, seed: int) -> Draws | None:
    """Draw from the posterior; None for the engines that are point estimates."""
    match engine:
        case Exact():
            require_room(model, engine)
            return _exact(model, engine, seed)
        case Laplace():
            _require_proper(model)
            require_room(model, engine)
            return _laplace(*laplace.sample(model, engine, seed), engine)
        case Augmentation() | NUTS() | Slice():
            return _chains(model, engine, seed)
        case Auto():
            return infer(model, engine, seed).draws
        case _:
            return None


def _chains(model: Model, engine: Augmentation | NUTS | Slice, seed: int) -> Draws:
    """Return the draws of Markov chains; their convergence is always checked: nobody expects its warnings."""
    if not isinstance(engine, Augmentation):
        _require_proper(model)
        _require_few(model)
    require_room(model, engine)
    if not model.dims():  # a known class prior and no informative column
        return Draws({}, engine.chains)
    match engine:
        case Augmentation():
            draws = checked(model, augmentation.sample(model, engine, seed), None, engine)
        case NUTS():
            draws = checked(model, *_nuts(model, engine, seed), engine)
        case Slice():
            draws = _sliced(model, slices.Chains(slices.density_of(model), engine, seed))
    return warned(draws)


def _require_proper(model: Model) -> None:
    if reason := model.improper():
        raise Refused(reason)


def _laplace(parameters: Parameters, stats: Statistics, engine: Laplace) -> Draws:
    """Return the draws, with a warning where they stand for too few independent ones."""
    ess, limit, problems = float(stats["importance_ess"]), MIN_ESS_PER_CHAIN * engine.chains, []
    if ess < limit:
        size = f"{ess:.0f} effective draws (limit {limit})"
        problems.append(f"the importance weights of the Laplace approximation leave {size}; use inference='slice'")
        warn(problems[0], ConvergenceWarning)
    return Draws(parameters, engine.chains, stats, tuple(problems))


def _exact(model: Model, engine: Exact, seed: int) -> Draws:
    """Draw from the exact posterior, or keep the seed where the draws are too large to keep in memory."""
    if reason := model.not_conjugate():
        other = "nuts" if model.not_augmentable() else "augmentation"
        raise Refused(f"this posterior has no closed form ({reason}); use inference={other!r} instead of 'exact'")
    assert isinstance(model, GenerativeModel)
    draws = engine.draws * engine.chains
    seeded = seeded_if_large(model, draws, seed)
    parameters = model.draw(np.random.default_rng(seed), draws) if seeded is None else {}
    return Draws(parameters, engine.chains, seeded=seeded)


def seeded_if_large(model: Model, draws: int, seed: int) -> SeededDraws | None:
    """Return how to make draws of a model that would exceed `POSTERIOR_BYTES`; None where they fit."""
    size = NUMBER * parameter_count(model)
    return None if size * draws <= POSTERIOR_BYTES else SeededDraws(seed, draws, max(1, DRAW_BLOCK_BYTES // size))


def _require_few(model: Model) -> None:
    """Raise `Refused` where NUTS would take hours; said before its memory, which fewer draws would not save."""
    count = parameter_count(model)
    if count > MOST_NUTS_PARAMETERS:
        others = "'map'" if model.not_conjugate() else "'exact' or 'map'"
        size = f"{count:,} parameters, and chains sample at most {MOST_NUTS_PARAMETERS:,}"
        raise Refused(f"the model has {size}; use inference={others}, or fewer columns")


def _nuts(model: Model, engine: NUTS, seed: int) -> tuple[Parameters, Statistics]:
    """Sample by NUTS; logistic regression in coordinates in which its posterior is nearly normal."""
    if isinstance(model, LogisticModel):
        sampled = nuts.sample_machine_code(model.density(), engine, seed)
        return joined(sampled.draws), sampled.stats
    assert isinstance(model, GenerativeModel)
    sampled = nuts.sample(model.pymc(), engine, seed, signature=model.signature())
    return model.from_pymc(joined(sampled.draws)), sampled.stats


def checked(
    model: Model, parameters: Parameters, stats: Statistics | None, engine: Augmentation | NUTS | Slice
) -> Draws:
    """Return the draws of Markov chains, and why they cannot be trusted yet."""
    deepest, most = (engine.max_treedepth, None) if isinstance(engine, NUTS) else (0, MOST_CHECKED)
    dims, draws = model.dims(), max(map(len, parameters.values()), default=0)
    named = of_chains(parameters, dims, model.coords(), (engine.chains, draws // engine.chains))
    problems = convergence_problems(varying(*named, most), stats, deepest, type(engine).__name__)
    return Draws(parameters, engine.chains, stats, problems)


def warned(draws: Draws) -> Draws:
    """Return the draws, with a warning for each problem."""
    for problem in draws.problems:
        warn(problem, ConvergenceWarning)
    return draws


def joined(draws: Mapping[str, Any]) -> dict[str, Array]:
    """Join (chain, draw, ...) to (draw, ...)."""
    return {name: np.concatenate(values) for name, values in draws.items()}


def estimate(model: Model, name: str) -> Parameters:
    """Return the estimate `name`, ``"mle"`` or ``"map"``, or raise `DoesNotExist`."""
    return model.mle() if name == "mle" else model.map()


def watch(model: Model, name: str, optimizer: Optimizer, seed: int) -> tuple[Trace, Parameters]:
    """Optimize step by step; return the trajectory and the parameters where it ended.

    Raises `DoesNotExist` where the estimate does not exist: an optimizer would run forever. An ascent from zero runs,
    and says so; `Refused` for models whose estimates are closed forms.
    """
    if not isinstance(model, LogisticModel):
        raise Refused("this model's estimates are closed forms: there is no optimizer to choose or to watch")
    rng = np.random.default_rng(seed)
    if isinstance(optimizer, GradientAscent) and optimizer.start == ZERO:
        trace = _from_zero(model, name, optimizer, rng)
    else:
        estimate(model, name)  # raises
        trace = optimizer.run(*model.objective(name), rng)
    return trace, {**model.unmoved(name), **model.hypotheses(trace.theta[None])}


def _from_zero(model: LogisticModel, name: str, ascent: GradientAscent, rng: np.random.Generator) -> Trace:
    """Ascend from w = 0 in the columns' own units, and afterward look whether there is a maximum to arrive at."""
    objective, start = model.objective(name)
    centre, scale = model.design.centre, model.design.scale
    trace = ascent.run(in_own_units(objective, centre, scale), np.zeros_like(start), rng)
    w = trace.theta
    trace = replace(trace, theta=np.column_stack([w[:, 0] + w[:, 1:] @ centre, w[:, 1:] * scale]))
    if not trace.certificate.converged and trace.certificate.steps < ascent.passes:
        return trace  # the step is too large, as the certificate says
    try:
        estimate(model, name)
    except DoesNotExist as reason:
        end = trace.certificate
        grown = f"after {counted(end.steps, 'step')} the weights have not converged, and cannot: {reason}"
        return replace(trace, certificate=replace(end, converged=False, message=grown))
    return trace


def parameter_count(model: Model) -> int:
    """Return how many numbers one hypothesis has."""
    coords = model.coords()
    return sum(int(np.prod([len(coords[axis]) for axis in axes])) for axes in model.dims().values())


def require_room(model: Model, engine: Exact | Augmentation | Laplace | NUTS | Slice) -> None:
    """Raise `Refused` where the draws of an engine would take too much memory; the message says how many would not.

    Exact draws that are stored as a seed keep the class prior alone. Laplace draws proposals, and NUTS also those by
    which it adapts; both have each point in two coordinates, and data augmentation its states besides the parameters.
    """
    parameters = parameter_count(model)
    match engine:
        case Laplace():
            each = MOST_PER_DRAW * parameters
        case NUTS():
            each = 2 * parameters + len(STATISTICS)
            require_number(NUMBER * each * engine.chains, Refused, tune=engine.tune or TUNE)
        case Augmentation() | Slice():
            each = 2 * parameters
        case _:
            seeded = NUMBER * parameters * engine.draws * engine.chains > POSTERIOR_BYTES
            each = len(model.coords()["outcome"]) + 1 if seeded else parameters
    require_number(NUMBER * each * engine.chains, Refused, draws=engine.draws)
