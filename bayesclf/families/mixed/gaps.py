"""Which missing cells of training rows matter: those that an observed cell depends on couple the parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesclf.errors import DoesNotExist, Refused
from bayesclf.families.base import Axes
from bayesclf.families.mixed import marginals
from bayesclf.families.mixed.groups import GroupedMoments, are_categories
from bayesclf.families.mixed.regressions import Regression
from bayesclf.families.networks.factors import Layout
from bayesclf.families.patterns import Booleans, by_pattern
from bayesclf.tables.columns import UNSEEN
from bayesclf.typing import Array, Integers


@dataclass(frozen=True)
class Network:
    """The tables of the categories and the regressions of the numbers.

    Attributes
    ----------
    axes
        Of the block.
    layout
        The tables; None without categories.
    regressions
        Parents first.
    """

    axes: Axes
    layout: Layout | None
    regressions: tuple[Regression, ...]

    def hidden(self, seen: Booleans) -> Booleans:
        """Return which features (feature) are missing and matter, as an observed one depends on them."""
        return marginals.needed(seen, self.layout, self.regressions, self.axes) & ~seen

    def split(self, statistics: GroupedMoments) -> tuple[GroupedMoments, GroupedMoments]:
        """Return the moments of the rows without missing cells that matter, and those of the others."""
        gaps = np.zeros(len(statistics.groups), dtype=bool)
        for pattern, groups in by_pattern(~statistics.seen):
            gaps[groups] = self.hidden(pattern).any()
        return statistics.where(~gaps), statistics.where(gaps)

    def coupling(self, codes: Array | Integers, seen: Booleans) -> str:
        """Return the first column with missing cells that matter, as a clause; empty where none does.

        Of cells (row, feature), by their codes of categories, and which are observed.
        """
        for pattern, rows in by_pattern(~seen):
            for j in np.flatnonzero(self.hidden(pattern)):
                unseen = are_categories(self.axes)[j] and (codes[rows, j] == UNSEEN).any()
                lacking = "levels that the prior lacks, so that they count as missing cells," if unseen else ""
                return f"column {self.axes.features[j]!r} has {lacking or 'missing cells'} that others depend on"
        return ""


def require_conjugate(reason: str, remedy: str = "use inference='augmentation', or leave these rows out") -> None:
    """Raise `Refused` for a reason why the posterior has no closed form; nothing where it is empty."""
    if reason:
        raise Refused(f"this posterior has no closed form ({reason}); {remedy}")


def require_estimate(reason: str) -> None:
    """Raise `DoesNotExist` for the same reason: estimates are not computed there."""
    if reason:
        raise DoesNotExist(
            f"{reason}, where the estimates of a network with numbers are not computed; take inference='augmentation' "
            "and a rule that averages over the posterior, such as 'bayes-optimal'"
        )
