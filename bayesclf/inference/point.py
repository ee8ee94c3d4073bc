"""Point estimates: maximum likelihood and the posterior mode."""

from __future__ import annotations

from dataclasses import dataclass

from bayesclf.families.base import Model, Parameters


@dataclass(frozen=True)
class MLE:
    """Maximum likelihood only: no posterior is drawn."""


@dataclass(frozen=True)
class MAP:
    """The posterior mode only: no posterior is drawn."""


def estimate(model: Model, name: str) -> Parameters:
    """Return the estimate `name`, ``"mle"`` or ``"map"``, or raise `DoesNotExist`."""
    return model.mle() if name == "mle" else model.map()
