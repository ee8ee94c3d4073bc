"""Draws of logistic regression by elliptical slice sampling around a normal that has the posterior's moments."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bayesclf.arrays import Array
from bayesclf.constraints import Whole, require
from bayesclf.display import Concise
from bayesclf.engines.nuts import Sample
from bayesclf.errors import Refused
from bayesclf.models import Model
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.posterior.averaging import available

if TYPE_CHECKING:
    from bayesclf.models.logistic.density import LogisticDensity

LOOKS = 5
"""Evaluations of the density for each step of a chain."""
MOST_WORK = 6e10
"""Multiplications that chains may take, half a minute."""
PATIENT = 4
"""How many times as many steps there are for each draw of a second run."""
DRAWS_AT_ONCE = 50
"""Draws of a chain for which random numbers are made at once."""


@dataclass(frozen=True, repr=False)
class Slice(Concise):
    """Markov chain Monte Carlo of logistic regression by elliptical slice sampling.

    The weights move on ellipses around a normal distribution that has the moments of their posterior, by expectation
    propagation, given s and ρ. Where these are learned, they are proposed from an approximation of their posterior. It
    takes no step size: where weights separate the classes, the posterior ends at walls, at which the steps of NUTS
    become short.

    Parameters
    ----------
    draws : int
        Number of draws that each chain keeps.
    tune : int
        Number of draws before them, which are dropped: a chain forgets where it started.
    chains : int
        Number of independent chains; fewer than two cannot show whether they agree.
    thin : int
        Steps of a chain for each draw that is kept.

    References
    ----------
    Murray, Adams and MacKay (2010), *Elliptical slice sampling*, AISTATS. Fagan, Bhandari and Cunningham (2016),
    *Elliptical slice sampling with expectation propagation*, UAI.

    Examples
    --------
    >>> Slice(draws=500).chains
    4
    """

    draws: int = 1000
    tune: int = 100
    chains: int = 4
    thin: int = 5

    def __post_init__(self) -> None:
        require(Whole(1), draws=self.draws, chains=self.chains, thin=self.thin)
        require(Whole(0), tune=self.tune)


def work(model: Model, settings: Slice) -> float:
    """Return how many multiplications the chains are taken to need: of the rows, and of the nodes' roots."""
    model = _logistic(model)
    size = (len(model.labels) - 1) * (1 + model.weight_prior.seen)
    steps = settings.chains * (settings.tune + settings.draws) * settings.thin
    return LOOKS * steps * (len(model.y) * size + 2.0 * size**2)


def longer(model: Model, settings: Slice) -> Slice | None:
    """Return settings with more steps for each draw, for chains that have not converged; None if they take too long."""
    more = replace(settings, thin=PATIENT * settings.thin)
    return more if work(model, more) <= MOST_WORK else None


def density_of(model: Model) -> LogisticDensity:
    """Return the log density in coordinates in which it is nearly standard normal.

    Raises `Refused` for other models than logistic regression, and for one that does not hold its rows.
    """
    model = _logistic(model)
    model.require_rows()
    return model.propagated().density()


def _logistic(model: Model) -> LogisticModel:
    if not isinstance(model, LogisticModel):
        raise Refused("slices are for logistic regression; use inference='auto' instead")
    return model


def sample(density: LogisticDensity, settings: Slice, seed: int) -> Sample:
    """Draw from the target of a log density, in coordinates in which that is nearly standard normal."""
    import xarray as xr

    seeds = np.random.SeedSequence(seed).spawn(settings.chains + 1)
    with ThreadPoolExecutor(available()) as pool:  # the chains hold no lock
        x = np.stack(list(pool.map(partial(_chain, density, settings), seeds[1:])))[:, settings.tune :]
    stats = xr.Dataset(
        {"lp": (("chain", "draw"), x[:, :, 0]), "n_steps": (("chain", "draw"), x[:, :, 1].astype(np.int64))},
        {"chain": np.arange(settings.chains), "draw": np.arange(settings.draws)},
    )
    return Sample(density.parameters(x[:, :, 2:], np.random.default_rng(seeds[0])), stats)


def _chain(density: LogisticDensity, settings: Slice, seed: np.random.SeedSequence) -> Array:
    """Return the draws of a chain (draw, 2 + coordinate), as `LogisticDensity.slices` has them."""
    rng = np.random.default_rng(seed)
    draws, state = np.empty((settings.tune + settings.draws, 2 + density.size)), density.proposed(rng)
    for first in range(0, len(draws), DRAWS_AT_ONCE):
        density.slices(state, draws[first : first + DRAWS_AT_ONCE], settings.thin, rng)
    return draws
