"""Scores of a block of rows, normalised over the labels, and weighted means over the hypotheses.

Exponentials are taken of scores less the largest one, and once; means are of probabilities, and where these are too
small for that, of their logarithms.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.typing import Array

UNDERFLOW = 1e-280
"""Means of probabilities below this are taken again in logs."""


class Memory(threading.local):
    """Arrays that a thread uses again: the system takes longer to hand out new ones than it takes to fill them."""

    def __init__(self) -> None:
        self._held: dict[str, Array] = {}

    def array(self, name: str, shape: tuple[int, ...]) -> Array:
        """Return an array of this shape; it is the memory of the last one of this name."""
        size = math.prod(shape)
        if name not in self._held or len(self._held[name]) < size:
            self._held[name] = np.empty(size)
        return self._held[name][:size].reshape(shape)


@dataclass(frozen=True)
class Normalised:
    """Scores of some rows and the probabilities that follow.

    Attributes
    ----------
    scores
        Less the largest of a row and draw, (row, outcome, draw); draws are next to each other in memory.
    proba
        P(k | x, h_s), (row, outcome, draw).
    total
        Σ_k exp(score), (row, draw).
    top
        What was taken off, (row, draw); −inf where x is impossible.
    impossible
        (row, draw): x has density 0 under every class; the scores are then those of the class prior.
    """

    scores: Array
    proba: Array
    total: Array
    top: Array
    impossible: NDArray[np.bool_]

    @classmethod
    def of(cls, scores: Array, log_class_prior: Callable[[], Array], memory: Memory) -> Normalised:
        """Normalise scores; the arrays hold until the memory is used again.

        Parameters
        ----------
        scores
            (row, outcome, draw).
        log_class_prior
            Returns (draw, outcome), or (1, outcome): the answer where every class is impossible.
        memory
            What the large arrays are in.
        """
        less, top, impossible = less_the_largest(scores, log_class_prior, memory.array("scores", scores.shape))
        proba = np.exp(less, out=memory.array("proba", scores.shape))
        total = proba.sum(axis=1)
        proba *= (1 / total)[:, None]
        return cls(less, proba, total, top, impossible)

    def log_proba(self) -> Array:
        """Return log P(k | x, h_s), (row, outcome, draw)."""
        return self.scores - self.log_total()[:, None]

    def log_total(self) -> Array:
        """Return the logarithm of `total`, (row, draw)."""
        return np.log(self.total)

    @property
    def log_x(self) -> Array:
        """log p(x | h_s), (row, draw), up to a constant for discriminative models."""
        return self.top + self.log_total()

    def log_mean(self, log_weights: Array) -> Array:
        """Return log Σ_s w_s P(k | x, h_s), (row, outcome), from log w_s, (draw) or (row, draw)."""
        mean = weighted(self.proba, np.exp(log_weights))
        logs = logarithms(mean)
        small = (mean < UNDERFLOW).any(axis=1)
        if small.any():
            by_row = np.broadcast_to(log_weights, (len(mean), log_weights.shape[-1]))[small]
            log_proba = self.scores[small] - np.log(self.total[small])[:, None]
            logs[small] = logsumexp(log_proba + by_row[:, None], axis=2)
        return logs


def less_the_largest(
    scores: Array, log_class_prior: Callable[[], Array], out: Array
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return `out` with the scores less the largest, that, and where x is impossible, so that the prior scores there.

    Parameters and returned arrays are those of `Normalised`.
    """
    top = largest = scores.max(axis=1)
    impossible = top == -np.inf
    if impossible.any():
        scores = np.where(impossible[:, None], log_class_prior().T, scores)
        largest = scores.max(axis=1)
    return np.subtract(scores, largest[:, None], out=out), top, impossible


def logarithms(proba: Array) -> Array:
    """Return log P (row, outcome) of probabilities whose small ones are precise: the largest is one less the others."""
    with np.errstate(divide="ignore"):
        logs = np.log(proba)
    rows, largest = np.arange(len(proba)), proba.argmax(axis=1)
    others = proba.copy()
    others[rows, largest] = 0.0
    logs[rows, largest] = np.log1p(-others.sum(axis=1))
    return logs


def weighted(values: Array, weights: Array) -> Array:
    """Return Σ_s w_s v_s over the last axis; hypotheses of weight 0 count for nothing, infinite v_s included.

    Parameters
    ----------
    values
        (row, …, draw).
    weights
        (draw) or (row, draw).
    """
    if weights.ndim == 1:
        kept = weights > 0
        return np.asarray(values @ weights if kept.all() else values[..., kept] @ weights[kept])
    shaped = weights.reshape(len(weights), *(1,) * (values.ndim - 2), -1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(shaped > 0, values * shaped, 0.0).sum(axis=-1))
