"""Groups of columns, each with a prior scale of its own that is learned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, override

import numpy as np
from scipy.special import logsumexp

from bayesclf.errors import InputError
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.learned_scale import KINDS, LearnedScale
from bayesclf.models.logistic.prior import LogisticPrior
from bayesclf.models.logistic.scale_prior import MARGINAL_NODES, MARGINAL_SPREADS, LearnedWeightPrior, ScaledWeightPrior
from bayesclf.typing import Array, Integers
from bayesclf.wording import LISTED_NAMES, listed

NUMBERS, OTHERS = "numbers", "other columns"
"""Names of the groups of all numbers, and of the columns that no group names."""


def groups_of(settings: LearnedScale, design: LogisticDesign) -> tuple[tuple[str, ...], Integers]:
    """Return the names of the groups, and which one each column of a design is in (column).

    The indicator "… is missing" is in the group of its number. A group without a column is left out.

    Raises
    ------
    InputError
        For a name that no column has.
    """
    indicator = {f"{design.number_names[j]} is missing": design.number_names[j] for j in design.gaps}
    categories = set(design.category_names)
    # A category may have the name of a number; its levels come after the numbers.
    first = len(design) - sum(design.sizes)
    owners = [name if position >= first else indicator.get(name, name) for position, name in enumerate(design.features)]
    if settings.groups == KINDS:
        numbers = _unlike(NUMBERS, categories)
        names = [numbers, *design.category_names]
        found = [name if position >= first else numbers for position, name in enumerate(owners)]
    else:
        every = _named(settings.groups)
        known = {*design.number_names, *categories}
        unknown = [name for columns in every.values() for name in columns if name not in known]
        if unknown:
            some, columns = (listed(map(repr, part), LISTED_NAMES) for part in (unknown, sorted(known)))
            raise InputError(f"groups names {some}, which is not a column; the columns are {columns or 'none'}")
        of_owner = {name: group for group, columns in every.items() for name in columns}
        others = _unlike(OTHERS, every)
        names = [*every, others]
        found = [of_owner.get(owner, others) for owner in owners]
    kept = [name for name in dict.fromkeys(names) if name in set(found)]
    return tuple(kept), np.array([kept.index(name) for name in found], dtype=np.intp)


def _unlike(name: str, taken: Collection[str]) -> str:
    """Return a name that no other group has."""
    while name in taken:
        name += " (all)"
    return name


def _named(groups: Any) -> Mapping[str, Sequence[str]]:
    """Return groups of columns by name; one without a name has those of its columns."""
    if isinstance(groups, Mapping):
        return groups
    every: dict[str, Sequence[str]] = {}
    for columns in groups:
        name = ", ".join(columns)
        every[name if name not in every else f"{name} (group {len(every) + 1})"] = columns
    return every


@dataclass(frozen=True, eq=False)
class GroupedWeightPrior(LearnedWeightPrior):
    """log s_g ~ N(log median, spread²) of each group g, and given s the normal prior of θ = (intercept, weights).

    The sds of a group's weights are proportional to its scale; those of the intercept and of some columns are given.

    Attributes
    ----------
    settings
        The prior of each s_g.
    unit
        The prior of θ where all scales are 1.
    names
        Of the groups.
    group
        Which scale the sd is proportional to, (1 + column), the intercept first; −1 where it is given.
    unseen_slope
        How much the sd of an unseen level's weight increases with its scale, (outcome, category).
    unseen_group
        Which scale that is, (category); −1 for a category none of whose levels the rows have.
    """

    names: tuple[str, ...]
    group: Integers
    unseen_slope: Array
    unseen_group: Integers

    @classmethod
    def of(cls, prior: LogisticPrior, design: LogisticDesign, vectors: int) -> GroupedWeightPrior:
        """Resolve settings for the columns of a design and a number of weight vectors."""
        assert isinstance(prior.prior_scale, LearnedScale)
        settings = prior.prior_scale
        one = ScaledWeightPrior.of(prior, design, vectors)
        every, of_column = groups_of(settings, design)
        group = np.where(one.learned[1:], of_column, -1)
        kept = [g for g in range(len(every)) if g in group]
        group = np.array([-1 if g < 0 else kept.index(g) for g in group], dtype=np.intp)
        first = len(design) - sum(design.sizes)
        starts = first + np.cumsum([0, *design.sizes])[:-1]
        unseen = [group[start : start + size].max(initial=-1) for start, size in zip(starts, design.sizes, strict=True)]
        return cls(
            settings,
            one.unit,
            tuple(every[g] for g in kept),
            np.concatenate([[-1], group]).astype(np.intp),
            one.unseen_slope,
            np.array(unseen, dtype=np.intp),
        )

    def __len__(self) -> int:
        return len(self.names)

    @override
    @property
    def median(self) -> Array:
        """Medians of the scales (group)."""
        return np.full(len(self), self.settings.median)

    @property
    def sizes(self) -> Array:
        """Number of weights of each group (group)."""
        return len(self.unit.mean) * self._members.sum(axis=0)

    @property
    def _members(self) -> Array:
        """Whether a column is in a group, (1 + column, group)."""
        return np.asarray(self.group[:, None] == np.arange(len(self)), dtype=float)

    @override
    def of_columns(self, scale: Array) -> Array:
        """Return what the sds at scale 1 are multiplied by, (…, 1 + column), given the scales (…, group)."""
        return np.asarray(np.where(self.group >= 0, scale[..., self.group], 1.0))

    def log_density_of_scales(self, log_scale: Array) -> Array:
        """Return Σ log p(log s_g), (draw), of log s (draw, group)."""
        return np.asarray(self.settings.log_density(log_scale).sum(axis=-1))

    def log_density(self, theta: Array, scale: Array) -> Array:
        """Return log p(θ | s), (draw), of θ (draw, outcome, 1 + column) and s (draw, group)."""
        return np.asarray(self.unit.log_density(theta) - self._given(np.log(scale), self.squares(theta)).sum(axis=-1))

    def log_marginal(self, theta: Array) -> Array:
        """Return log p(θ) = log ∫ p(θ | s) p(s) ds, (draw): the groups' integrals are independent given θ."""
        middle, reach = np.log(self.settings.median), MARGINAL_SPREADS * self.settings.spread
        log_scale = np.linspace(middle - reach, middle + reach, MARGINAL_NODES)
        log_prior = self.settings.log_density(log_scale) + np.log(log_scale[1] - log_scale[0])
        total = self.unit.log_density(theta)
        for size, square in zip(self.sizes, self.squares(theta).T, strict=True):
            ratio = size * log_scale + 0.5 * np.expm1(-2 * log_scale) * square[:, None]
            total = total + logsumexp(log_prior - ratio, axis=1)
        return np.asarray(total)

    def squares(self, theta: Array) -> Array:
        """Return |z|² of each group (draw, group), z its weights in sds at scale 1, in the metric of the labels."""
        return self.unit.squares(theta) @ self._members

    def _given(self, log_scale: Array, squares: Array) -> Array:
        """Return log p(θ_g | 1) − log p(θ_g | s) of each group, (…, group)."""
        return np.asarray(self.sizes * log_scale + 0.5 * np.expm1(-2 * log_scale) * squares)

    @override
    def _unseen_scale(self, scale: Array) -> Array:
        """Return the sds of unseen levels' weights, (draw, outcome, category)."""
        own = np.where(self.unseen_group >= 0, scale[:, self.unseen_group], self.settings.median)
        return np.asarray(self.unit.unseen_scale + (own - 1)[:, None, :] * self.unseen_slope)
