"""Which families of numeric columns are averaged: all that the evidence leaves, column by column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress
from typing import ClassVar, override

import numpy as np

from bayesclf.families.averaged import Averaged
from bayesclf.families.averaged_statistics import AveragedStatistics
from bayesclf.families.by_evidence import CANDIDATES, ByEvidence, Choices, Chosen, statistics_of, steps_of
from bayesclf.families.value_counts import ValueCounts
from bayesclf.typing import Array

NEGLIGIBLE = 1e-12
"""Probability of a family given a column below which it is left out of the average.

What is left out of the density of a cell is at most this times the largest density that any family gives it. A column
with one family left is a plain column of that family.
"""


@dataclass(frozen=True)
class AveragedByEvidence(ByEvidence):
    """Numeric columns, each with the average over all families that its evidence leaves, weighted by it."""

    name: ClassVar[str] = "averaged-by-evidence"

    @override
    def choices(self, statistics: ValueCounts) -> Choices:
        """Return the evidence of each family for each column, to be averaged by."""
        return replace(super().choices(statistics), averaged=True)

    @override
    def chosen(self, statistics: ValueCounts, choices: Choices) -> list[Chosen]:
        """Return an average for each set of families that columns have left, and plain families where one is left."""
        most_probable = np.arange(len(self.names)) == choices.chosen[:, None]
        left = most_probable | (choices.probabilities > NEGLIGIBLE)
        blocks: list[Chosen] = []
        for some in np.unique(left, axis=0)[::-1]:
            own = (left == some).all(axis=1)
            columns, names = statistics.select(own), tuple(compress(self.names, some))
            if len(names) == 1:
                candidate, family = names[0], CANDIDATES[names[0]].family
                found = statistics_of(family, columns)
            else:
                log_weights = _log_prior(names, columns, choices.log_evidence[np.ix_(own, some)].T)
                candidate, family = "", Averaged(names, steps_of(columns), log_weights, by_evidence=True)
                found = AveragedStatistics(tuple(statistics_of(CANDIDATES[name].family, columns) for name in names))
            blocks.append((candidate, family, columns.axes.features, found))
        return blocks


def _log_prior(names: tuple[str, ...], columns: ValueCounts, log_evidence: Array) -> Array:
    """Return log P(f) under which the posterior of the families is that of the evidences that compare them.

    It is 0 but for a family that is compared under another prior, (family, feature).
    """
    rows = []
    for name, found in zip(names, log_evidence, strict=True):
        candidate = CANDIDATES[name]
        own = found if candidate.compared is None else replace(candidate, compared=None).log_evidence(columns)
        rows.append(found - own)
    return np.stack(rows)
