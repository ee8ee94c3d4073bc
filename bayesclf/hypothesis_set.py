"""Weighted sets of hypotheses: what rules and averages need to know of a posterior, and the draws of one model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from bayesclf.families.base import Model, Rows
from bayesclf.families.linear_scores import LinearModel, LinearScores
from bayesclf.typing import Array, Integers, Parameters


class HypothesisSet(Protocol):
    """A weighted set of hypotheses: a posterior's draws, one point estimate, or a finite space."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""

    @property
    def generative(self) -> bool:
        """Whether a hypothesis has a p(x | y)."""

    @property
    def exact(self) -> bool:
        """Whether the set is the whole posterior rather than draws from it."""

    @property
    def in_parts(self) -> bool:
        """Whether the hypotheses are too large to be held at once, so that `parts` yields them block by block."""

    @property
    def log_weights(self) -> Array:
        """Log weights (draw), adding up to 1 outside the logs."""

    def __len__(self) -> int: ...

    def parts(self) -> Iterator[HypothesisSet]:
        """Yield blocks of hypotheses, in order; weights are equal where there is more than one."""

    def take(self, draws: Integers) -> HypothesisSet:
        """Return some of the hypotheses, equally weighted."""

    def log_scores(self, rows: Rows) -> Array:
        """Return (draw, row, outcome), log p(x, y | h) or, for discriminative models, log P(y | x, h) + constant."""

    def log_class_prior(self) -> Array:
        """Return log P(y | h), (draw, outcome) or (1, outcome)."""

    def log_predictive(self, rows: Rows) -> Array | None:
        """Return log p(x, y | D), (row, outcome), in closed form, or None."""


@dataclass(frozen=True)
class Hypotheses:
    """Equally weighted parameter values of one model.

    Attributes
    ----------
    offset
        Log odds (outcome) added to the scores, for other base rates.
    """

    model: Model
    parameters: Parameters
    offset: Array | None = None
    exact: ClassVar[bool] = False
    in_parts: ClassVar[bool] = False

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.model.labels

    @property
    def generative(self) -> bool:
        """Whether the model has a p(x | y)."""
        return self.model.generative

    @property
    def log_weights(self) -> Array:
        """Log weights (draw)."""
        return np.full(len(self), -np.log(len(self)))

    def __len__(self) -> int:
        return max((len(values) for values in self.parameters.values()), default=1)

    def parts(self) -> Iterator[Hypotheses]:
        """Yield itself."""
        yield self

    def take(self, draws: Integers) -> Hypotheses:
        """Return some of the hypotheses, equally weighted."""
        chosen = {name: values[draws] for name, values in self.parameters.items()}
        return Hypotheses(self.model, chosen, self.offset)

    def log_scores(self, rows: Rows) -> Array:
        """Return the model's scores (draw, row, outcome)."""
        if self.linear_scores is not None:
            return self.linear_scores.scores(rows)
        scores = self.model.log_scores(rows, self.parameters)
        return scores if self.offset is None else scores + self.offset

    @cached_property
    def linear_scores(self) -> LinearScores | None:
        """The scores as what is linear in columns of the rows, made once; None where they are not linear."""
        if self.generative or not isinstance(self.model, LinearModel):
            return None
        scores = self.model.linear_scores(self.parameters)
        if self.offset is None:
            return scores
        # A base rate of 0 has no log-odds to the others.
        return scores.plus(self.offset) if np.isfinite(self.offset).all() else None

    def log_class_prior(self) -> Array:
        """Return the model's log class prior."""
        prior = self.model.log_class_prior(self.parameters)
        return prior if self.offset is None else prior + self.offset

    def log_predictive(self, rows: Rows) -> Array | None:
        """Return the model's closed-form predictive, if it has one."""
        joint = self.model.log_predictive(rows)
        return joint if joint is None or self.offset is None else joint + self.offset
