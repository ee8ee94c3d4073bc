"""A generative model of rows of which some have no label: their classes are missing cells like others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from bayesclf.families.base import Statistics
from bayesclf.models.base import Rows
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.typing import Array, Integers, Parameters


@dataclass(frozen=True, eq=False)
class PartlyLabeled:
    """P(D) = Π_labeled P(x, y | θ) Π_others Σ_k P(x, k | θ), each row to the power of its weight.

    Attributes
    ----------
    model
        The prior, conditioned on the labeled rows.
    labeled, y, labeled_weight
        The labeled rows, their label codes and weights (row).
    rows, weight
        The rows without a label, and their weights (row).
    """

    model: GenerativeModel
    labeled: Rows
    y: Integers
    labeled_weight: Array
    rows: Rows
    weight: Array

    def completed(self, shares: Array) -> GenerativeModel:
        """Return the model conditioned on all rows, those without a label counting in each class by `shares`.

        Parameters
        ----------
        shares
            Weight of each row without a label in each class, (row, outcome).
        """
        place, label = np.nonzero(shares)
        weight = shares[place, label]
        some = self.rows[place]
        blocks = []
        for block, X in zip(self.model.blocks, some.parts, strict=True):
            own: Statistics = block.family.statistics(X, label, block.statistics.axes, weight)
            blocks.append(Block(block.family, block.statistics + own, block.suffix))
        counts = self.model.label_counts + np.bincount(label, weight, minlength=len(self.model.labels))
        return replace(self.model, label_counts=counts, blocks=tuple(blocks))

    def scores(self, parameters: Parameters) -> Array:
        """Return log p(x, k | θ) of the rows without a label under one hypothesis, (row, outcome)."""
        return np.asarray(self.model.log_scores(self.rows, parameters)[0])

    def log_likelihood(self, parameters: Parameters, scores: Array | None = None) -> float:
        """Return log P(D | θ) of one hypothesis, of observed cells and labels of all rows; `scores` may be given."""
        known = self.model.log_scores(self.labeled, parameters)[0][np.arange(len(self.y)), self.y]
        unknown = logsumexp(self.scores(parameters) if scores is None else scores, axis=1)
        return float(self.labeled_weight @ known + self.weight @ unknown)
