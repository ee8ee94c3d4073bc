"""Draws of logistic regression by elliptical slice sampling around a normal that has the posterior's moments."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bayesclf.arrays import Array, Parameters, Statistics
from bayesclf.constraints import Whole, require
from bayesclf.display import Concise
from bayesclf.errors import Refused
from bayesclf.models import Model
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.posterior.averaging import available

if TYPE_CHECKING:
    from bayesclf.models.logistic.density import LogisticDensity

LOOKS = 10
"""Evaluations of the density for each step of a chain."""
MOST_WORK = 6e10
"""Multiplications that chains may take, half a minute."""
SHORTENED, THIN, FEWEST = 8e10, 4, 25
"""Multiplications of chains where the usual ones take too long, their steps for each draw, and fewest draws."""
LONGER = 2, 4
"""How many times as long as at first chains become that have not converged, one after the other."""
MOST_CLASSES, LEAST_MOVED = 4, 0.25
"""Classes up to which a few points average the likelihood of a row well, and the share of draws at which s and ρ must
move. Beyond either, the normals are too far from the posterior, and NUTS is worth more for its time."""
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
        Steps of a chain for each draw that is kept; twice or four times as many where the chains have not
        converged, if this takes less than about half a minute.

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
    thin: int = 2

    def __post_init__(self) -> None:
        require(Whole(1), draws=self.draws, chains=self.chains, thin=self.thin)
        require(Whole(0), tune=self.tune)


def work(model: Model, settings: Slice) -> float:
    """Return how many multiplications the chains are taken to need: of the rows, and of the nodes' roots."""
    model = _logistic(model)
    size = (len(model.labels) - 1) * (1 + model.weight_prior.seen)
    steps = settings.chains * (settings.tune + settings.draws) * settings.thin
    return LOOKS * steps * (len(model.y) * size + 2.0 * size**2)


def shortened(model: Model, settings: Slice) -> Slice:
    """Return settings of chains that take `SHORTENED` multiplications; half of their draws forget where they started.

    On digits (10 classes × 64 columns, 1,437 rows) the log loss of the others was then 0.11, and 0.33 where draws
    around the mode were weighted instead, of which few are effective.
    """
    step = work(model, replace(settings, draws=1, tune=0, thin=THIN))
    draws = min(max(int(SHORTENED / step / 2), FEWEST), settings.draws)
    return replace(settings, draws=draws, tune=draws, thin=THIN)


def density_of(model: Model) -> LogisticDensity:
    """Return the log density in coordinates in which it is nearly standard normal.

    Raises `Refused` for other models than logistic regression, and for one that does not hold its rows.
    """
    model = _logistic(model)
    model.require_rows()
    return model.propagated().density()


def _logistic(model: Model) -> LogisticModel:
    if not isinstance(model, LogisticModel):
        raise Refused("inference='slice' is for logistic regression; use inference='auto' instead")
    return model


class Chains:
    """Markov chains of a log density in coordinates in which it is nearly standard normal.

    `moved`: Share of the draws that are dropped at which s and ρ moved; 1 where neither is learned. `x`: Draws (chain,
    draw, 2 + coordinate), as `LogisticDensity.slices` has them.
    """

    def __init__(self, density: LogisticDensity, settings: Slice, seed: int) -> None:
        self.density, self.settings, self._thin = density, settings, settings.thin
        seeds = np.random.SeedSequence(seed).spawn(settings.chains + 1)
        self._rng, *self._rngs = map(np.random.default_rng, seeds)
        self._states = [density.proposed(rng) for rng in self._rngs]
        dropped = self._next(settings.tune)
        known = density.scaled and settings.tune > 1
        self.moved = float(np.mean(np.diff(dropped[:, :, 2], axis=1) != 0)) if known else 1.0
        self.x = np.empty((settings.chains, 0, dropped.shape[2]))

    def lengthen(self) -> None:
        """Make the first draws, or chains twice as long, with as many draws as before."""
        if not self.x.size:
            self.x = self._next(self.settings.draws)
            return
        kept = self.settings.draws // 2
        x = self.x[:, : 2 * kept].reshape(len(self.x), kept, 2, self.x.shape[2])
        x[:, :, 1, 1] += x[:, :, 0, 1]
        self._thin *= 2
        self.x = np.hstack([x[:, :, 1], self._next(self.settings.draws - kept)])

    def _next(self, draws: int) -> Array:
        with ThreadPoolExecutor(available()) as pool:  # the chains hold no lock
            return np.stack(list(pool.map(partial(self._chain, draws), self._states, self._rngs)))

    def _chain(self, number: int, state: Array, rng: np.random.Generator) -> Array:
        draws = np.empty((number, 2 + self.density.size))
        for first in range(0, number, DRAWS_AT_ONCE):
            self.density.slices(state, draws[first : first + DRAWS_AT_ONCE], self._thin, rng)
        return draws

    def sample(self) -> tuple[Parameters, Statistics]:
        """Return the parameters (draw, …), one chain after the other, and sample statistics (chain, draw)."""
        stats = {"lp": self.x[:, :, 0], "n_steps": self.x[:, :, 1].astype(np.int64)}
        return self.density.parameters(np.concatenate(self.x)[:, 2:], self._rng), stats
