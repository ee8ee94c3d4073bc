"""Engines: from a model with its data to point estimates or draws from the posterior.

`Auto` chooses the cheapest engine whose draws are as good as exact ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from bayesclf.arrays import Array, Parameters, require_number
from bayesclf.constraints import Instance, OrNone, Whole, require
from bayesclf.display import Concise, Sized
from bayesclf.engines import augmentation, laplace, nuts
from bayesclf.engines.augmentation import Augmentation
from bayesclf.engines.convergence import MIN_ESS_PER_CHAIN, convergence_problems
from bayesclf.engines.laplace import MOST_PER_DRAW, Laplace, LaplaceSample
from bayesclf.engines.nuts import NUTS, STATISTICS, TUNE
from bayesclf.engines.optimizers import OPTIMIZERS, ZERO, GradientAscent, Optimizer, Trace, in_own_units
from bayesclf.errors import ConvergenceWarning, DoesNotExist, InputError, Refused, warn
from bayesclf.models import Model
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.posterior.hypotheses import POSTERIOR_BYTES, SeededDraws, parameter_count, seeded_if_large, to_dataset
from bayesclf.wording import counted, did_you_mean

if TYPE_CHECKING:
    import xarray as xr


FINITE_VARIANCE = 0.5
"""k̂ above which importance weights have no variance, and averages over them no standard error."""


@dataclass(frozen=True, repr=False)
class Auto(Concise):
    """Exact where the posterior has a closed form, else data augmentation, else Laplace if as good as exact, else NUTS.

    Data augmentation is for models that have a closed form but for missing cells of the training rows. Laplace is as
    good as exact if the k̂ of its importance weights is within the limit, with at least one effective proposal per
    draw: the error of an average is then at most √2 times that of independent draws. A chain has 250 draws where NUTS
    would take more than about half a minute for logistic regression with a learned scale. If these take too long, draws
    are from a normal distribution, of which too few are effective: `notes_` has their k̂, and `convergence_problems_`
    their number.

    Parameters
    ----------
    laplace : Laplace
        Its settings; at a limit up to 0.5 the weights have a finite variance.
    nuts, augmentation
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
    augmentation: Augmentation = field(default_factory=Augmentation)

    def __post_init__(self) -> None:
        require(Instance(Laplace), laplace=self.laplace)
        require(Instance(NUTS), nuts=self.nuts)
        require(Instance(Augmentation), augmentation=self.augmentation)


WORK_LIMIT = 500_000
"""Rows × columns × weight vectors beyond which `auto` never samples logistic regression by NUTS in a comparison."""

COMPARISON_NUTS = NUTS(draws=500, tune=300, target_accept=0.9)
"""NUTS where only predictions are wanted: 2,000 draws put the Monte Carlo error of P at 1/45 of its posterior sd."""

COMPARISON_AUTO = Auto(
    replace(Auto().laplace, draws=COMPARISON_NUTS.draws), COMPARISON_NUTS, Augmentation(draws=COMPARISON_NUTS.draws)
)
"""`auto` for the same purpose, with as many draws from whichever engine it takes."""

COMPARISON_LAPLACE = Laplace(draws=250)
"""Laplace for the same purpose, beyond the limit: each proposal costs a pass over all rows."""


def for_predictions(work: int) -> Auto | Laplace:
    """Return the engine that `auto` stands for where only predictions are wanted, by the cost of one gradient."""
    return COMPARISON_AUTO if work <= WORK_LIMIT else COMPARISON_LAPLACE


def _learns(model: Model) -> TypeGuard[LogisticModel]:
    return isinstance(model, LogisticModel) and model.learns


def attempt(model: Model, settings: Laplace, nuts_settings: NUTS, seed: int) -> tuple[LaplaceSample | NUTS, str]:
    """Draw by Laplace where that is as good as exact; a few proposals first say how many it would take.

    Returns: The draws, or with which settings NUTS should draw; and for the user, how the posterior is drawn and why.
    """
    wanted = settings.draws * settings.chains
    try:
        require_room(model, settings)
        rng = np.random.default_rng(seed)
        pilot = laplace.pilot(model, rng)
    except (DoesNotExist, Refused) as reason:
        return nuts_settings, f"the posterior was sampled by NUTS: {reason}"
    if laplace.promises(pilot):
        proposals = laplace.enough(model, settings, rng, pilot)
        if proposals.khat <= settings.limit and proposals.ess >= wanted:
            how = "the posterior was drawn around its mode (Laplace), corrected by importance weights"
            return laplace.resample(proposals, settings, rng), f"{how}: {_worth(proposals)}"
    how = "the posterior was sampled by NUTS, as draws around its mode (Laplace) would not be as good"
    if not _learns(model):
        return nuts_settings, how
    affordable = shortened(model, nuts_settings)
    if affordable is None:
        return roughly(model, settings, seed)
    if affordable.draws < nuts_settings.draws:
        how += f"; by {affordable.draws} draws a chain, as {nuts_settings.draws:,} would take too long"
    return affordable, how


def roughly(model: LogisticModel, settings: Laplace, seed: int) -> tuple[LaplaceSample, str]:
    """Draw around the modes or from the nearest normal, whichever is better, where NUTS would take too long."""
    rng = np.random.default_rng(seed)
    ways = [(own, laplace.pilot(own, rng)) for own in (model, model.near_normal())]
    own, pilot = min(ways, key=lambda way: way[1].khat)
    proposals = laplace.propose(own, ROUGH * settings.draws * settings.chains, rng, pilot.of_z)
    how = "the posterior was drawn from a normal (Laplace), as NUTS would take too long, and may be off"
    return laplace.resample(proposals, settings, rng, COUNTING), f"{how}: {_worth(proposals)}"


def _worth(proposals: laplace.Proposals) -> str:
    return f"worth {proposals.ess:,.0f} independent draws"


ROUGH, COUNTING = 2, 0.5
"""Proposals for each draw of the posterior where a power of their weights counts, and the share that then counts."""
STEPS_OF_A_DRAW = 15
"""Gradients for each draw that NUTS is taken to need before it has run."""
SHORTER = 250, 200
"""Draws of a chain, and draws before them, where more would take too long."""


def shortened(model: LogisticModel, settings: NUTS) -> NUTS | None:
    """Return settings with which NUTS takes no more than `MOST_WORK`: those given, or fewer draws, or None."""
    draws, tune = SHORTER
    fewer = replace(settings, draws=min(draws, settings.draws), tune=min(tune, settings.tune or tune))
    return next((own for own in (settings, fewer) if nuts_work(model, own) <= MOST_WORK), None)


def nuts_work(model: LogisticModel, settings: NUTS) -> float:
    """Return how many multiplications NUTS is taken to need."""
    draws = settings.chains * (settings.draws + (settings.tune or nuts.TUNE_STANDARDISED))
    return draws * STEPS_OF_A_DRAW * gradient_work(model)


MOST_CHECKED = 500
"""Parameters whose convergence is checked after data augmentation: to check thousands takes longer than their draws."""

MOST_NUTS_PARAMETERS = 5_000
"""Parameters of a model beyond which NUTS refuses: it would take hours, and its draws would not fit in memory."""


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


type Engine = MLE | MAP | Exact | Augmentation | NUTS | Laplace | Auto

ENGINES: dict[str, type[Engine]] = {
    "mle": MLE,
    "map": MAP,
    "exact": Exact,
    "augmentation": Augmentation,
    "nuts": NUTS,
    "laplace": Laplace,
}
"""Engines by name; `auto` takes one of them for each model (`Auto`)."""

MARKOV_CHAINS = (Augmentation, NUTS)
"""Engines whose draws depend on each other, so that convergence has to be checked."""


@dataclass(frozen=True, repr=False)
class Draws(Sized):
    """Equally weighted draws from a posterior.

    `parameters`: Arrays (draw, ...), the draws of one chain together. `stats`: Sample statistics of each draw, (chain,
    draw), under ArviZ's names; None for independent draws. `problems`: Why the draws cannot be trusted yet, in plain
    words. `seeded`: How to make the draws, where they are too large to keep in memory; `parameters` is then empty.
    """

    parameters: Mapping[str, Array]
    chains: int
    stats: xr.Dataset | None = None
    problems: tuple[str, ...] = ()
    seeded: SeededDraws | None = None


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
        return auto if isinstance(model, laplace.LaplaceModel) else auto.nuts
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
    if isinstance(inference, MLE | MAP | Exact | Augmentation | NUTS | Laplace | Auto):
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
    sample, note = attempt(model, engine.laplace, engine.nuts, seed)
    if isinstance(sample, NUTS):
        try:
            return Inferred(sample, draw(model, sample, seed, bounded=True), (note,))
        except nuts.TooLongError:
            assert _learns(model)
            sample, note = roughly(model, engine.laplace, seed)
    return Inferred(engine.laplace, _laplace(sample, engine.laplace), (note,))


def draw(model: Model, engine: Engine, seed: int, bounded: bool = False) -> Draws | None:
    """Draw from the posterior; None for the engines that are point estimates.

    With `bounded`, `nuts.TooLongError` is raised where NUTS takes more than `MOST_WORK` for a scale that is learned.
    """
    if isinstance(engine, Laplace | NUTS) and (reason := model.improper()):
        raise Refused(reason)
    if isinstance(engine, NUTS):
        _require_few(model)
    if isinstance(engine, Exact | Augmentation | Laplace | NUTS):
        require_room(model, engine)
    if isinstance(engine, MARKOV_CHAINS) and not model.dims():  # a known class prior and no informative column
        return Draws({}, engine.chains)
    match engine:
        case Exact():
            return _exact(model, engine, seed)
        case Laplace():
            return _laplace(laplace.sample(model, engine, seed), engine)
        case Augmentation():
            parameters = augmentation.sample(model, engine, seed)
            return checked_chains(model, parameters, engine, engine.chains)
        case NUTS():
            return _nuts(model, engine, seed, bounded)
        case Auto():
            return infer(model, engine, seed).draws
        case _:
            return None


def _laplace(sampled: LaplaceSample, engine: Laplace) -> Draws:
    """Return the draws, with a warning where they stand for too few independent ones."""
    limit, problems = MIN_ESS_PER_CHAIN * engine.chains, []
    if sampled.ess < limit:
        size = f"{sampled.ess:.0f} effective draws (limit {limit})"
        problems.append(f"the importance weights of the Laplace approximation leave {size}; take inference='nuts'")
        warn(problems[0], ConvergenceWarning)
    return Draws(joined(sampled.parameters), engine.chains, sampled.stats, tuple(problems))


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


def _require_few(model: Model) -> None:
    """Raise `Refused` where NUTS would take hours; said before its memory, which fewer draws would not save."""
    count = parameter_count(model)
    if count > MOST_NUTS_PARAMETERS:
        others = "'map'" if model.not_conjugate() else "'exact' or 'map'"
        size = f"{count:,} parameters, and NUTS samples at most {MOST_NUTS_PARAMETERS:,}"
        raise Refused(f"the model has {size}; take inference={others}, or fewer columns")


def _nuts(model: Model, engine: NUTS, seed: int, bounded: bool) -> Draws:
    """Sample by NUTS and always check convergence: its warnings matter most where nobody expects them."""
    most = MOST_WORK / gradient_work(model) if bounded and _learns(model) else np.inf
    sampled, parameters = _sampled(model, engine, seed, most)
    if _learns(model) and engine.target_accept is None:
        work = int(sampled.stats["n_steps"].sum()) * gradient_work(model)
        if _problems(model, parameters, engine, sampled.stats) and KEPT * STEEPER * work <= MOST_WORK:
            sampled, parameters = _sampled_patiently(model, engine, seed)
    return checked_chains(model, parameters, engine, engine.chains, sampled.stats)


PATIENT, KEPT, STEEPER = 0.97, 3, 2
"""If the first run has not converged: acceptance rate of a second, one in how many of its draws is kept, and how much
more work each draw is likely to be. Where weights separate the classes, a larger scale makes the likelihood steeper:
steps that suit most scales are too long for the largest."""
MOST_WORK = 6e10
"""Multiplications that NUTS may take, half a minute, and a second run thereafter."""


def gradient_work(model: LogisticModel) -> float:
    """Return multiplications for one gradient of the joint density: of the rows, and of the nodes' roots."""
    size = (len(model.labels) - 1) * (1 + model.weight_prior.seen)
    return 2.0 * len(model.y) * size + 6.0 * size**2


def _sampled_patiently(model: Model, engine: NUTS, seed: int) -> tuple[nuts.Sample, Parameters]:
    """Return every `KEPT`-th draw of a longer run in smaller steps."""
    longer = replace(engine, target_accept=PATIENT, draws=KEPT * engine.draws, tune=engine.tune or nuts.TUNE)
    sampled, _ = _sampled(model, longer, seed)
    kept = {name: values[:, ::KEPT] for name, values in sampled.draws.items()}
    stats = sampled.stats.isel(draw=slice(None, None, KEPT))
    return nuts.Sample(kept, stats.assign_coords(draw=np.arange(engine.draws))), joined(kept)


def checked_chains(
    model: Model, parameters: Parameters, engine: Augmentation | NUTS, chains: int, stats: xr.Dataset | None = None
) -> Draws:
    """Return the draws of Markov chains, with warnings where these have not converged."""
    problems = _problems(model, parameters, engine, stats)
    for problem in problems:
        warn(problem, ConvergenceWarning)
    return Draws(parameters, chains, stats, problems)


def _problems(
    model: Model, parameters: Parameters, engine: Augmentation | NUTS, stats: xr.Dataset | None
) -> tuple[str, ...]:
    posterior = to_dataset(parameters, model.dims(), model.coords(), engine.chains)
    name = type(engine).__name__
    if isinstance(engine, NUTS):
        return convergence_problems(posterior, stats, engine.max_treedepth, name)
    return convergence_problems(posterior, stats, engine=name, most=MOST_CHECKED)


def _sampled(model: Model, engine: NUTS, seed: int, most_steps: float = np.inf) -> tuple[nuts.Sample, Parameters]:
    """Return the draws as NUTS has them, and as the model's parameters."""
    if isinstance(model, LogisticModel):
        sampled = nuts.sample_machine_code(model.density(), engine, seed, most_steps)
        return sampled, joined(sampled.draws)
    assert isinstance(model, GenerativeModel)
    sampled = nuts.sample(model.pymc(), engine, seed, signature=model.signature())
    return sampled, model.from_pymc(joined(sampled.draws))


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
    return trace, {**model.unmoved(name), **model.parameters(trace.theta)}


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
        grown = f"after {counted(end.steps, 'step')} the weights have not settled, and never would: {reason}"
        return replace(trace, certificate=replace(end, converged=False, message=grown))
    return trace


NUMBER = 8
"""Bytes of a number."""


def require_room(model: Model, engine: Exact | Augmentation | Laplace | NUTS) -> None:
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
        case Augmentation():
            each = 2 * parameters
        case _:
            seeded = NUMBER * parameters * engine.draws * engine.chains > POSTERIOR_BYTES
            each = len(model.coords()["outcome"]) + 1 if seeded else parameters
    require_number(NUMBER * each * engine.chains, Refused, draws=engine.draws)
