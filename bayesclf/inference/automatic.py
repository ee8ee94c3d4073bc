"""What `auto` chooses: the cheapest engine whose draws are as good as exact ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from bayesclf.errors import DoesNotExist, Refused
from bayesclf.inference import laplace
from bayesclf.inference.laplace import LEAST_PROPOSALS, Laplace, LaplaceSample
from bayesclf.inference.nuts import NUTS
from bayesclf.models.base import Model

FINITE_VARIANCE = 0.5
"""k̂ above which importance weights have no variance, and averages over them no standard error."""
AMPLE, HOPELESS = 1.5, 0.8
"""Multiples of the effective number that is needed: where a few proposals promise less than the first, twice as many as
usual are drawn, and where even these promise less than the second, none. (Of heavy tails, a few promise too much.)"""
PILOT_STREAM = 3
"""Number of the random stream of the pilot, next to those of predictions."""


@dataclass(frozen=True)
class Auto:
    """Exact where the posterior has a closed form, else Laplace where that is as good as exact, else NUTS.

    Laplace is as good where the k̂ of its importance weights is within the limit, and their effective number at least
    the number of draws kept: the error of an average is then at most √2 times that of independent draws.

    Parameters
    ----------
    laplace
        Its settings; at a limit up to 0.5 the weights have a finite variance.
    nuts
        Its settings.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao, Gabry, *Pareto smoothed importance sampling*, JMLR 25 (2024): k̂ and what it bounds.

    Examples
    --------
    >>> Auto(nuts=NUTS(sampler="numpyro")).laplace.limit
    0.5
    """

    laplace: Laplace = field(default_factory=lambda: Laplace(limit=FINITE_VARIANCE))
    nuts: NUTS = field(default_factory=NUTS)


WORK_LIMIT = 500_000
"""Rows × columns × weight vectors beyond which `auto` never samples logistic regression by NUTS in a comparison."""

COMPARISON_NUTS = NUTS(draws=500, tune=300)
"""NUTS where only predictions are wanted: 2,000 draws put the Monte Carlo error of P at 1/45 of its posterior sd."""

COMPARISON_AUTO = Auto(replace(Auto().laplace, draws=COMPARISON_NUTS.draws), COMPARISON_NUTS)
"""`auto` for the same purpose, with as many draws from whichever engine it takes."""

COMPARISON_LAPLACE = Laplace(draws=250)
"""Laplace for the same purpose, beyond the limit: each proposal costs a pass over all rows."""


def for_predictions(work: int) -> Auto | Laplace:
    """Return the engine that `auto` stands for where only predictions are wanted, by the cost of one gradient."""
    return COMPARISON_AUTO if work <= WORK_LIMIT else COMPARISON_LAPLACE


@dataclass(frozen=True, eq=False)
class Attempt:
    """What came of the attempt to do without a Markov chain.

    Attributes
    ----------
    sample
        The draws; None where they would not have been as good as exact ones.
    note
        A sentence for the user: how the posterior was drawn, and why so.
    """

    sample: LaplaceSample | None
    note: str


def attempt(model: Model, settings: Laplace, seed: int) -> Attempt:
    """Draw by Laplace where that is as good as exact; a few proposals first say how many it would take."""
    wanted = settings.draws * settings.chains
    try:
        pilot = laplace.propose(model, LEAST_PROPOSALS, np.random.default_rng([seed, PILOT_STREAM]))
    except (DoesNotExist, Refused) as reason:
        return Attempt(None, f"the posterior was sampled by NUTS: {reason}")
    share, number = pilot.ess / len(pilot), settings.proposals
    if share * number < AMPLE * wanted:
        number *= 2
    if share * number >= HOPELESS * wanted:
        rng = np.random.default_rng(seed)
        proposals = laplace.propose(model, number, rng)
        if proposals.khat <= settings.limit and proposals.ess >= wanted:
            how = "the posterior was drawn around its mode (Laplace), corrected by importance weights"
            quality = f"k̂ = {proposals.khat:.2f}, {proposals.ess:,.0f} effective of {number:,} proposals"
            return Attempt(laplace.resample(proposals, settings, rng), f"{how}: {quality}")
    return Attempt(None, "the posterior was sampled by NUTS, as draws around its mode (Laplace) would not be as good")
