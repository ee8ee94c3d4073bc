"""Draws by data augmentation: missing cells or labels given parameters, and parameters given whole rows, in turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import softmax

from bayesclf.arrays import Array, Parameters
from bayesclf.constraints import Whole, require
from bayesclf.display import Concise
from bayesclf.errors import Refused
from bayesclf.families.base import Alternation
from bayesclf.progress import Progress, Tell, checked, shown

TOLD = 100
"""Steps of the chains between two reports of progress."""


@dataclass(frozen=True, repr=False)
class Augmentation(Concise):
    """Markov chain Monte Carlo by data augmentation, for generative models of rows with missing cells.

    A step draws the missing cells given the parameters, and then the parameters given the completed rows. Both draws
    are exact where the model is conjugate given complete rows: for networks of categories and numbers, joint tables and
    Gaussian discriminant analysis with their Dirichlet, normal-inverse-gamma and normal-inverse-Wishart priors. The
    draws of a chain depend on each other, the more so the more cells are missing. Chains start far apart, and their
    convergence is checked. Parameters on which no missing cell depends are drawn independently, as by `Exact`. Rows of
    categories with equal cells are drawn together.

    Parameters
    ----------
    draws : int
        Number of draws that each chain keeps.
    tune : int
        Number of draws before them, which are dropped: a chain forgets where it started.
    chains : int
        Number of chains; fewer than two cannot show whether they agree.
    progress : bool, callable or None
        As in `NUTS`.

    References
    ----------
    Tanner and Wong (1987), *The calculation of posterior distributions by data augmentation*, JASA 82.

    Examples
    --------
    >>> Augmentation(draws=500).chains
    4
    """

    draws: int = 1000
    tune: int = 200
    chains: int = 4
    progress: Progress = field(default=None, compare=False, metadata={"saved": False})

    def __post_init__(self) -> None:
        checked(self.progress)
        require(Whole(1), draws=self.draws, chains=self.chains)
        require(Whole(0), tune=self.tune)


def sample(model: Any, settings: Augmentation, seed: int) -> dict[str, Array]:
    """Draw from the posterior of a model that is conjugate given complete rows.

    Returns: Draws by name, (draw, ...), those of one chain together.

    Raises `Refused` for a model that is not conjugate given complete rows, or too many completions.
    """
    if reason := model.not_augmentable():
        raise Refused(f"data augmentation does not sample this posterior ({reason}); use inference='nuts' instead")
    rng, total = np.random.default_rng(seed), settings.draws * settings.chains
    parameters = dict(model.class_prior.posterior(model.label_counts).draw(rng, total))
    with shown("sampling", None, settings.progress) as tell:
        for block in model.blocks:
            if block.family.not_conjugate(block.statistics):
                alternation = block.family.alternation(block.statistics, settings.chains)
                own = _alternated(alternation, settings, rng, tell)
            else:
                own = block.family.posterior(block.statistics).draw(rng, total)
            parameters |= block.named(own)
    return parameters


def sample_labels(partly: Any, settings: Augmentation, seed: int) -> dict[str, Array]:
    """Draw from the posterior of rows of which some have no label: labels given parameters, and these given all labels.

    `partly`: The rows, as `bayesclf.engines.unlabeled.PartlyLabeled` has them.

    Both draws are exact where the model is conjugate given labels. Each chain starts at parameters drawn given the
    labeled rows alone, whose posterior is wider. Weights are numbers of repetitions, of which each has its own label.

    Returns: Draws by name, (draw, ...), those of one chain together.
    """
    rng, steps = np.random.default_rng(seed), settings.tune + settings.draws
    times = partly.weight.astype(np.int64)
    kept: list[Parameters] = []
    with shown("sampling", None, settings.progress) as tell:
        for chain in range(settings.chains):
            parameters = partly.model.draw(rng, 1)
            for number in range(steps):
                labels = rng.multinomial(times, softmax(partly.scores(parameters), axis=1))
                parameters = partly.completed(labels.astype(float)).draw(rng, 1)
                if number >= settings.tune:
                    kept.append(parameters)
                if number % TOLD == 0:
                    tell("sampling", chain * steps + number, settings.chains * steps)
    return {name: np.concatenate([one[name] for one in kept]) for name in kept[0]}


def _alternated(alternation: Alternation, settings: Augmentation, rng: np.random.Generator, tell: Tell) -> Parameters:
    state = alternation.start(rng)
    kept = {name: np.empty((len(values), settings.draws, *values.shape[1:])) for name, values in state.items()}
    steps = settings.tune + settings.draws
    for number in range(steps):
        state = alternation.step(state, rng)
        if number >= settings.tune:
            for name, values in state.items():
                kept[name][:, number - settings.tune] = values
        if number % TOLD == 0:
            tell("sampling", settings.chains * number, settings.chains * steps)
    total = settings.draws * settings.chains
    return alternation.parameters({name: values.reshape(total, *values.shape[2:]) for name, values in kept.items()})
