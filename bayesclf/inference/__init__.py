"""Engines: from a model with its data to a posterior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayesclf.errors import ConvergenceWarning, DoesNotExist, InputError, Refused, warn
from bayesclf.families.base import Array, Model
from bayesclf.families.generative import GenerativeModel
from bayesclf.families.logistic import LogisticModel
from bayesclf.inference import exact, laplace, nuts
from bayesclf.inference.convergence import convergence_problems
from bayesclf.inference.exact import Exact
from bayesclf.inference.laplace import Laplace
from bayesclf.inference.nuts import NUTS, Whitening
from bayesclf.inference.optimisers import ConjugateGradient, GradientAscent, LBFGSOptimiser, Newton, Trace
from bayesclf.inference.point import MAP, MLE, Optimiser, estimate, watch
from bayesclf.inference.seeded import SeededDraws, parameter_count

if TYPE_CHECKING:
    import xarray as xr

type Engine = MLE | MAP | Exact | NUTS | Laplace

ENGINES: dict[str, type[Engine]] = {"mle": MLE, "map": MAP, "exact": Exact, "nuts": NUTS, "laplace": Laplace}
"""Engines by name; `auto` is `exact` where the model is conjugate and `nuts` where it is not."""

__all__ = [
    "ENGINES",
    "MAP",
    "MLE",
    "NUTS",
    "ConjugateGradient",
    "Draws",
    "Engine",
    "Exact",
    "GradientAscent",
    "LBFGSOptimiser",
    "Laplace",
    "Newton",
    "Optimiser",
    "SeededDraws",
    "Trace",
    "draw",
    "estimate",
    "resolve",
    "watch",
]

MOST_NUTS_PARAMETERS = 5_000
"""Parameters of a model beyond which NUTS refuses: it would take hours, and its draws would not fit in memory."""


@dataclass(frozen=True)
class Draws:
    """Equally weighted draws from a posterior.

    Attributes
    ----------
    parameters
        Arrays (draw, ...), the draws of one chain together.
    chains
        Number of chains.
    stats
        What the sampler says of each draw, (chain, draw), under ArviZ's names; None for independent draws.
    problems
        Why the draws cannot be trusted yet, in plain words.
    seeded
        How to make the draws, where they are too large to hold; `parameters` then has the class prior's only.
    """

    parameters: Mapping[str, Array]
    chains: int
    stats: xr.Dataset | None = None
    problems: tuple[str, ...] = ()
    seeded: SeededDraws | None = None


def resolve(inference: str | Engine, model: Model) -> Engine:
    """Return the engine that `inference` names for this model."""
    if not isinstance(inference, str):
        return _checked(inference)
    if inference == "auto":
        return NUTS() if model.not_conjugate() else Exact()
    if inference not in ENGINES:
        raise InputError(f"unknown inference {inference!r}; it is one of auto, {', '.join(ENGINES)}, or their settings")
    return ENGINES[inference]()


def _checked(engine: Engine) -> Engine:
    if not isinstance(engine, tuple(ENGINES.values())):
        raise InputError(f"inference must be a name or an engine's settings, such as NUTS(), not {engine!r}")
    return engine


def draw(model: Model, engine: Engine, seed: int) -> Draws | None:
    """Draw from the posterior; None for the engines that are point estimates."""
    match engine:
        case Exact():
            return _exact(model, engine, seed)
        case Laplace():
            sampled = laplace.sample(model, engine, seed)
            return Draws(_flat(sampled.parameters), engine.chains, sampled.stats)
        case NUTS():
            return _nuts(model, engine, seed)
        case _:
            return None


def _exact(model: Model, engine: Exact, seed: int) -> Draws:
    """Draw from the exact posterior, or keep the seed where the draws are too large to hold."""
    drawn = exact.sample(model, engine, seed)
    if not isinstance(drawn, SeededDraws):
        return Draws(drawn, engine.chains)
    assert isinstance(model, GenerativeModel)
    return Draws(drawn.class_prior(model.posterior()), engine.chains, seeded=drawn)


def _nuts(model: Model, engine: NUTS, seed: int) -> Draws:
    """Sample by NUTS and check convergence, always: a warning that nobody asked for is the point of it."""
    from bayesclf.posterior import to_dataset

    count = parameter_count(model)
    if count > MOST_NUTS_PARAMETERS:
        raise Refused(
            f"the model has {count:,} parameters, and NUTS samples at most {MOST_NUTS_PARAMETERS:,}; take "
            "inference='exact' where the model is conjugate, 'map', or fewer columns"
        )

    whitening = _whitening(model)
    sampled = nuts.sample(model.pymc(), engine, seed, signature=model.signature(), whitening=whitening)
    chains = len(next(iter(sampled.draws.values())))
    parameters = model.from_pymc(_flat(sampled.draws))
    posterior = to_dataset(parameters, model.dims(), model.coords(), chains)
    problems = convergence_problems(posterior, sampled.stats, engine.max_treedepth)
    for problem in problems:
        warn(problem, ConvergenceWarning)
    return Draws(parameters, chains, sampled.stats, problems)


def _whitening(model: Model) -> Whitening | None:
    """Return coordinates in which the posterior is nearly standard normal, from the curvature at the mode."""
    if not isinstance(model, LogisticModel):
        return None
    try:
        approximation = model.laplace()
    except (DoesNotExist, Refused):
        return None
    return Whitening(approximation.centre, approximation.factor)


def _flat(draws: Mapping[str, Any]) -> dict[str, Array]:
    """Join (chain, draw, ...) to (draw, ...)."""
    return {
        name: values.reshape(values.shape[0] * values.shape[1], *values.shape[2:]) for name, values in draws.items()
    }
