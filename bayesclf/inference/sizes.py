"""How much memory the draws of an engine take, known before any is made."""

from __future__ import annotations

from typing import Protocol

from bayesclf.errors import Refused
from bayesclf.inference.augmentation import Augmentation
from bayesclf.inference.laplace import MOST_PER_DRAW, Laplace
from bayesclf.inference.nuts import NUTS, STATISTICS, TUNE
from bayesclf.memory import require_number
from bayesclf.models.base import Model
from bayesclf.posterior.hypotheses import POSTERIOR_BYTES, parameter_count

NUMBER = 8
"""Bytes of a number."""


class Sampler(Protocol):
    """Settings of an engine that draws."""

    @property
    def draws(self) -> int:
        """Draws per chain."""

    @property
    def chains(self) -> int:
        """Number of chains."""


def require_room(model: Model, engine: Sampler) -> None:
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
