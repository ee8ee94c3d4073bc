"""Parts of a block's log density: columns with weights, terms of features, and parameters with priors."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from bayesclf.arrays import Array, Integers
from bayesclf.families import dirichlet


@dataclass(frozen=True)
class LinearDesign:
    """The columns z(x) of a block: a number minus its center, or a 0/1 column per level.

    log p(x | y = k, θ) = Σ_c [offset_kc + weight_kc z_c(x)] + terms that all classes share. A generative classifier
    made of such blocks *is* a logistic regression, whose weights follow from θ.

    `features`, `levels`: Those of the block's `Axes`. `centre`: Where a number's column is 0, (column). Levels and
    counts have 0.
    """

    features: tuple[str, ...]
    levels: tuple[tuple[Hashable, ...], ...]
    centre: Array

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, those that `LogisticRegression` gives them."""
        if not self.levels:
            return self.features
        pairs = zip(self.features, self.levels, strict=True)
        return tuple(f"{name}={value}" for name, values in pairs for value in values)

    def from_zero(self) -> LinearDesign:
        """Return the same columns with numbers measured from 0."""
        return replace(self, centre=np.zeros_like(self.centre))

    def __str__(self) -> str:
        names = ", ".join(map(repr, self.features[:3])) + (", …" if len(self.features) > 3 else "")
        return f"the block of {names}"


@dataclass(frozen=True)
class LinearTerms:
    """A block's part of the scores of all classes.

    `weight`: (draw, outcome, column). `offset`: What a column adds to the intercept where its cell is not missing,
    (draw, outcome, column).
    """

    weight: Array
    offset: Array

    @classmethod
    def of_logs(cls, theta: Array) -> Self:
        """Return one weight per probability, its logarithm, and no offset."""
        weight = dirichlet.logs(theta)
        return cls(weight, np.zeros_like(weight))


@dataclass(frozen=True, eq=False)
class Pair:
    """The two classes of each row whose log-odds are requested, as label codes (row)."""

    outcome: Integers
    against: Integers

    def __getitem__(self, rows: slice | Integers) -> Pair:
        return Pair(self.outcome[rows], self.against[rows])

    def __iter__(self) -> Iterator[Integers]:
        return iter((self.outcome, self.against))

    def differences(self, values: Array) -> Array:
        """Return v_k − v_k′ of values (draw, outcome, …), (draw, row, …)."""
        return difference(values[:, self.outcome], values[:, self.against])

    def log_ratios_of_cells(self, theta: Array, row: Integers, cell: Integers) -> Array:
        """Return log θ_k/θ_k′ of cells (…) of θ (draw, outcome, cell), in the classes of their rows (…)."""
        one, other = (dirichlet.logs(theta[:, codes[row], cell]) for codes in self)
        return difference(one, other)


def difference(one: Array, other: Array) -> Array:
    """Return the difference of logs; NaN where both are −∞: impossible under either class."""
    with np.errstate(invalid="ignore"):
        return np.asarray(one - other)


@dataclass(frozen=True, eq=False)
class Contributions:
    """Terms of the log-odds, one for each entry.

    `features`: The columns of each feature: one, or those of a block. `row`, `feature`: Row and position among
    `features` of each entry, (entry). `values`: (draw, entry). `counts`: The value of the cell in a table of counts or
    events, (entry); NaN where there is no such cell.
    """

    features: tuple[tuple[str, ...], ...]
    row: Integers
    feature: Integers
    values: Array
    counts: Array

    @classmethod
    def of_rows(cls, features: tuple[tuple[str, ...], ...], values: Array) -> Self:
        """Return terms (draw, row, feature) of rows that have all features."""
        draws, rows, width = values.shape
        row, feature = np.indices((rows, width))
        flat = values.reshape(draws, rows * width)
        return cls(features, row.ravel(), feature.ravel(), flat, np.full(rows * width, np.nan))

    @classmethod
    def joined(cls, blocks: Sequence[Contributions], draws: int) -> Self:
        """Return the terms of several blocks, or of none, as those of one."""
        nothing = np.empty(0, dtype=np.intp)
        starts = np.cumsum([0, *(len(block.features) for block in blocks)])
        return cls(
            tuple(columns for block in blocks for columns in block.features),
            np.concatenate([nothing, *(block.row for block in blocks)]),
            np.concatenate([nothing, *(block.feature + start for block, start in zip(blocks, starts, strict=False))]),
            np.concatenate([np.empty((draws, 0)), *(block.values for block in blocks)], axis=1),
            np.concatenate([np.empty(0), *(block.counts for block in blocks)]),
        )


def each(names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return names as features of one column each."""
    return tuple((name,) for name in names)


@dataclass(frozen=True, eq=False)
class Density:
    """Log densities of parts of a block's parameters: each has parameters of its own, independent of all others.

    A power of a density depends on the measure. Densities of variances are here with respect to log σ², and those of
    covariances to |Σ|^(−(d + 1)/2) dΣ, which do not depend on units. So the power α of InvGamma(a, b) is InvGamma(αa,
    αb), a prior worth α times as many rows. Other densities are with respect to the parameter itself.

    `log_density`: (draw, part), up to a constant. `part_of`: For each parameter the number of the part of each of its
    values, in the shape of its axes without the draw. `scaled`: The density by whose power the prior's strength is
    varied, (draw, part), where it is another: of a learned prior that of what is learned. The prior of the other
    parameters given these is then a part of the model.
    """

    log_density: Array
    part_of: Mapping[str, Integers]
    scaled: Array | None = None

    @classmethod
    def of_cells(cls, name: str, log_density: Array) -> Self:
        """Return log densities (draw, outcome, …) of single values of a parameter, each a part of its own."""
        part_of = np.arange(log_density[0].size).reshape(log_density.shape[1:])
        return cls(log_density.reshape(len(log_density), -1), {name: part_of})

    @classmethod
    def of_simplexes(cls, name: str, theta: Array, alpha: Array, sizes: tuple[int, ...]) -> Self:
        """Return Σ (α − 1) log θ of simplexes along one axis, one part for each class and simplex."""
        densities = dirichlet.log_density(theta, alpha, sizes)
        table = np.repeat(np.arange(len(sizes)), sizes)
        part_of = np.arange(alpha.shape[0])[:, None] * len(sizes) + table if alpha.ndim == 2 else table
        return cls(densities.reshape(len(theta), -1), {name: part_of})

    def with_same_parts(self, name: str, other: str) -> Self:
        """Return the densities as those of one more parameter too, whose values belong to the parts of another's."""
        return replace(self, part_of={**self.part_of, name: self.part_of[other]})

    @classmethod
    def joined(cls, one: Density, other: Density) -> Self:
        """Return the densities of both, whose parameters have other names."""
        start = one.log_density.shape[1]
        moved = {name: parts + start for name, parts in other.part_of.items()}
        return cls(np.hstack([one.log_density, other.log_density]), {**one.part_of, **moved})

    def ratio(self, other: Density) -> Density:
        """Return the log of the ratio to another density of the same parts."""
        return Density(self.log_density - other.log_density, self.part_of)
