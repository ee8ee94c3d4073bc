"""The design matrix of logistic regression: numbers standardized, one 0/1 column per level.

Training rows with weights, in which duplicate rows are merged, and their columns as a table has them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf import constraints
from bayesclf.arrays import Array, Integers
from bayesclf.errors import InputError
from bayesclf.families.base import Axes
from bayesclf.families.gaussian import Moments
from bayesclf.models.linear import Matrix
from bayesclf.tables import columns
from bayesclf.tables.columns import UNSEEN, Column, Rows, SparseTable, Table, row_numbers, sparse_numbers
from bayesclf.tables.numbers import BLOCK_CELLS, Numbers, blocks_of, in_each_row
from bayesclf.wording import LISTED_ROWS, listed

if TYPE_CHECKING:
    import pandas as pd


COPIES = 7
"""Arrays of the size of the design that a fit holds at once, measured."""


@dataclass(frozen=True, eq=False)
class LogisticDesign:
    """How encoded rows become columns, resolved from the training rows.

    Encoded rows are ``Rows((numbers, codes), length)``. Numbers, (row, number), are NaN where missing. Level codes,
    (row, category), are −1 where missing and −2 for a level that the training rows do not have. The columns are, in
    this order,

    1. the numbers, (x − mean)/sd over the training rows; a missing cell is the mean, 0;
    2. "AGE is missing", 0/1, for each number that had gaps in the training rows;
    3. "workclass=Private", 0/1, one column per level and no reference level; a missing category is 0 throughout.

    A number that is constant or empty in the training rows has no column; an empty one has no indicator either.
    Numbers may come as a sparse table, without missing cells and without categories.

    `features`: What each column belongs to: the category of a level, else the column itself. `centre`, `scale`: Origin
    and unit of each column, in the units of the data: mean and sd of a number, 0 and 1 for a 0/1 column. `constant`:
    Names of the numbers without a column. `number_names`, `category_names`: Names of the encoded columns. `sizes`:
    Number of levels of each category. `varying`, `gaps`: Positions of the numbers that have a column, and of those that
    have an indicator.
    """

    names: tuple[str, ...]
    features: tuple[str, ...]
    centre: Array
    scale: Array
    constant: tuple[str, ...]
    number_names: tuple[str, ...]
    category_names: tuple[str, ...]
    sizes: tuple[int, ...]
    varying: Integers
    gaps: Integers

    @classmethod
    def fit(
        cls, numbers: Array | Numbers | sparse.csr_array, sample_weight: Array, known: tuple[Column, ...]
    ) -> LogisticDesign:
        """Resolve means, sds and columns from training rows; rows of weight 0 count as absent.

        `numbers`: Of encoded rows, (row, number). `sample_weight`: Weights (row), at least 0. `known`: The columns.
        """
        if not (sample_weight > 0).all():
            present = np.flatnonzero(sample_weight > 0)
            numbers, sample_weight = numbers[present], sample_weight[present]
        if isinstance(numbers, np.ndarray | Numbers):
            found = moments_of(numbers, sample_weight, names_of(known, "number"))
            return cls.of_moments(found, gaps_of(numbers), known)
        return cls._of(*sparse_moments(numbers, sample_weight), np.empty(0, dtype=np.intp), known)

    @classmethod
    def of_moments(cls, found: Moments, gaps: NDArray[np.bool_], known: tuple[Column, ...]) -> LogisticDesign:
        """Resolve columns from the moments of the numbers, and whether these have missing cells (number)."""
        n = found.n[0]
        sd = np.sqrt(found.without_rounding()[0] / np.where(n > 0, n, 1.0))
        return cls._of(found.mean[0], sd, np.flatnonzero(gaps & (n > 0)), known)

    @classmethod
    def _of(cls, mean: Array, sd: Array, gaps: Integers, known: tuple[Column, ...]) -> LogisticDesign:
        number_names, category_names = names_of(known, "number"), names_of(known, "category")
        levels, varying = levels_of(known), np.flatnonzero(sd > 0)
        level_names = [f"{name}={v}" for name, values in zip(category_names, levels, strict=True) for v in values]
        indicators = [f"{number_names[j]} is missing" for j in gaps]
        own = [number_names[j] for j in varying] + indicators
        sizes = tuple(len(values) for values in levels)
        zero_one = len(indicators) + len(level_names)
        return cls(
            names=(*own, *level_names),
            features=(*own, *np.repeat(np.array(category_names, dtype=object), sizes)),
            centre=np.concatenate([mean[varying], np.zeros(zero_one)]),
            scale=np.concatenate([sd[varying], np.ones(zero_one)]),
            constant=tuple(name for name, spread in zip(number_names, sd, strict=True) if not spread > 0),
            number_names=number_names,
            category_names=category_names,
            sizes=sizes,
            varying=varying,
            gaps=gaps,
        )

    def __len__(self) -> int:
        return len(self.names)

    def require_memory(self, rows: int) -> None:
        """Raise `Refused` where the columns of that many training rows would take too much memory, unless sparse."""
        what = f"the {len(self):,} columns of {rows:,} rows"
        remedy = "leave columns out (--drop on the command line) or use another model"
        if self.sizes and max(self.sizes) > len(self) / 2:
            widest = int(np.argmax(self.sizes))
            name = self.category_names[widest]
            what = f"column {name!r} has {self.sizes[widest]:,} levels, a weight for each, so that {what}"
            remedy = f"leave {name!r} out (--drop on the command line) or use another model, such as naive Bayes"
        constraints.require_bytes(COPIES * 8.0 * rows * (1 + len(self)), what, remedy)

    def matrix(self, rows: Rows) -> Matrix:
        """Return the columns of encoded rows, standardized, shape (row, column)."""
        numbers, codes = rows.cells
        if isinstance(numbers, sparse.csr_array):
            cells = numbers if len(self.varying) == numbers.shape[1] else sparse.csr_array(numbers[:, self.varying])
            return sparse.csr_array((cells.data / self.scale[cells.indices], cells.indices, cells.indptr), cells.shape)
        whole, start = np.zeros((len(rows), 1 + len(self))), len(self.varying) + len(self.gaps)
        for some in blocks_of(len(rows), 1 + start):
            self._fill(whole[some], numbers[some])
        out = whole[:, 1:]
        for category, size in enumerate(self.sizes):
            seen = np.flatnonzero(codes[:, category] >= 0)
            out[seen, start + codes[seen, category]] = 1.0
            start += size
        return out

    def _fill(self, out: Array, numbers: Array) -> None:
        """Put 1, for `with_ones`, and numbers (row, number) into rows of the matrix, as few as stay in the cache."""
        n_numbers, n_gaps = len(self.varying), len(self.gaps)
        own = out if n_numbers == len(self) else np.empty((len(out), 1 + n_numbers))  # one row after the other
        own[:, 0] = 1.0
        own[:, 1:] = numbers if n_numbers == numbers.shape[1] else numbers[:, self.varying]
        in_each_row(np.subtract, own, np.append(0.0, self.centre[:n_numbers]))
        in_each_row(np.divide, own, np.append(1.0, self.scale[:n_numbers]))
        missing = np.isnan(own)
        if missing.any():
            own[missing] = 0.0
        if own is not out:
            out[:, : 1 + n_numbers] = own
        if n_gaps:
            out[:, 1 + n_numbers : 1 + n_numbers + n_gaps] = np.isnan(numbers[:, self.gaps])

    def shift(self, X: Matrix) -> Array | None:
        """Return what is to be subtracted from the columns of `matrix`, (column); None where they have mean 0."""
        return None if isinstance(X, np.ndarray) else self.centre / self.scale

    def standardized(self, X: Matrix) -> Array:
        """Return what `matrix` returns as an array of standardized columns."""
        return X if isinstance(X, np.ndarray) else np.asarray(X.toarray() - self.shift(X))

    def unseen(self, rows: Rows) -> NDArray[np.bool_]:
        """Return whether a category has a level that the training rows do not have, shape (row, category)."""
        return np.asarray(rows.parts[1] == UNSEEN)


def moments_of(numbers: Array | Numbers, weight: Array, names: tuple[str, ...]) -> Moments:
    """Return the moments of the observed cells of numbers, (row, number), over all rows with their weights (row)."""
    return Moments.of(numbers, np.zeros(len(weight), dtype=np.intp), Axes(("all",), names), weight)


def gaps_of(numbers: Array | Numbers) -> NDArray[np.bool_]:
    """Return whether a cell of a number is missing, (number)."""
    if isinstance(numbers, Numbers):
        if numbers.ordinary:
            return np.zeros(len(numbers.columns), dtype=bool)
        return np.array([np.isnan(column).any() for column in numbers.columns], dtype=bool)
    return np.asarray(np.isnan(numbers).any(axis=0))


def sparse_moments(cells: sparse.csr_array, weight: Array) -> tuple[Array, Array]:
    """Return weighted mean and sd of each column of a sparse table, cells that are not stored being 0.

    An sd of exactly 0 means that a column is constant.
    """
    if not cells.shape[0]:
        return np.zeros(cells.shape[1]), np.zeros(cells.shape[1])
    most, least = (found(axis=0).toarray().ravel() for found in (cells.max, cells.min))
    columns, by_cell = cells.indices, np.repeat(weight, np.diff(cells.indptr))
    data = cells.data
    width, total = cells.shape[1], weight.sum()
    mean = np.bincount(columns, by_cell * data, width) / total
    stored = np.bincount(columns, by_cell, width)
    squares = np.bincount(columns, by_cell * (data - mean[columns]) ** 2, width)
    full = np.bincount(columns, minlength=width) == cells.shape[0]  # total − stored is not 0 to the last digit then
    variance = (squares + np.where(full, 0.0, np.maximum(total - stored, 0.0)) * mean**2) / total
    return mean, np.where(most > least, np.sqrt(variance), 0.0)


WORTHWHILE = 0.9
"""Duplicate rows are merged where at most this share of the rows remains; otherwise the rows stay as they are."""

PROBED_ROWS = 2**14
"""Rows of many that are looked at first: where they all differ in a column, so do most of the others."""


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Encoded rows with their labels and weights.

    `rows`: Cells in the encoding of a model: arrays (row, feature), numbers with NaN where missing, or level codes.
    `y`: Label codes (row). `weight`: (row).
    """

    rows: Rows
    y: Integers
    weight: Array

    def merged(self) -> WeightedRows:
        """Merge duplicate rows, with the same cells and label, into one with the sum of their weights.

        A likelihood Π P(y_i | x_i)^w_i is the same function of the parameters before and after, so that results
        change by rounding only. Rows are compared by hashes of 64 bits. They are in the order in which each first
        occurs. Where there are few duplicates, the rows are returned as they are, and so are those of a sparse table.

        Examples
        --------
        >>> cells = np.array([[1.0], [2.0], [1.0], [np.nan], [np.nan]])
        >>> rows = WeightedRows(Rows((cells,), 5), np.array([0, 0, 0, 1, 1]), np.array([1.0, 1.0, 2.0, 1.0, 1.0]))
        >>> rows.merged().rows.parts[0].ravel()
        array([ 1.,  2., nan])
        >>> rows.merged().weight
        array([3., 1., 2.])
        """
        import pandas as pd

        if any(sparse.issparse(part) for part in self.rows.cells):
            return self
        parts = (part.columns if isinstance(part, Numbers) else part.T for part in self.rows.cells)
        columns = list(chain.from_iterable(parts))
        some = np.random.default_rng(0).choice(len(self.y), min(len(self.y), PROBED_ROWS), replace=False)
        if any(len(pd.unique(column[some])) == len(some) for column in columns):
            return self
        if any(len(pd.unique(column)) > WORTHWHILE * len(column) for column in columns):
            return self
        every = enumerate([self.y, *columns])
        cells = pd.DataFrame({place: column + 0 for place, column in every}, copy=False)  # −0 is 0
        kind, kinds = pd.factorize(pd.util.hash_pandas_object(cells, index=False))
        if len(kinds) > WORTHWHILE * len(kind):
            return self
        # Kinds are numbered by first occurrence, so that a row with a new number is the first of its kind.
        first = np.flatnonzero(np.diff(np.maximum.accumulate(kind), prepend=-1))
        return WeightedRows(self.rows[first], self.y[first], np.bincount(kind, self.weight, minlength=len(kinds)))


MOST_LEVELS, MANY_LEVELS = 100, 20
"""Levels that have a weight of their own in a column that has more; a column with more than the second, most of which
are of one row, counts as such a one."""


def training_columns(frame: Table, join: bool = False) -> tuple[Column, ...]:
    """Return the columns of a training table, with the levels of the categorical ones.

    With `join`, a column of more than `MOST_LEVELS` levels, or with mostly levels of one row, keeps at most
    `MOST_LEVELS`: the most frequent, with two rows or more. The others are one level, `columns.RARE`.
    """
    if isinstance(frame, SparseTable):
        return tuple(Column(name, "number") for name in frame.columns)
    kinds = columns.kinds_of(frame)
    known = columns.ranges(frame, tuple(name for name, kind in kinds.items() if kind == "number"))
    return tuple(
        Column(name, kind, _levels(frame[name], join) if kind == "category" else (), range=known.get(name))
        for name, kind in kinds.items()
    )


def _levels(column: pd.Series, join: bool) -> tuple[Hashable, ...]:
    levels = columns.levels_of(column, "ignore")
    if not join or len(levels) <= MANY_LEVELS:
        return levels
    codes = columns.codes_of(column, levels)
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    if len(levels) <= MOST_LEVELS and 2 * (counts == 1).sum() <= len(levels):
        return levels
    places = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
    kept = sorted(place for place in places if counts[place] > 1)
    return (*(levels[place] for place in kept), columns.RARE)


def about_joined(frame: Any, known: tuple[Column, ...]) -> list[str]:
    """Return a sentence about each column whose rare levels were joined."""
    if isinstance(frame, SparseTable):
        return []
    joined = [column for column in known if column.levels[-1:] == (columns.RARE,)]
    return [
        f"column {column.name!r} has {len(columns.levels_of(frame[column.name], 'ignore')):,} levels, "
        + (
            f"of which the {len(column.levels) - 1} most frequent have their own weights; rare and new levels share one"
            if len(column.levels) > 1
            else "each in one row; they and new levels share one weight"
        )
        for column in joined
    ]


def names_of(known: tuple[Column, ...], kind: str) -> tuple[str, ...]:
    """Return the names of the columns of one kind, "number" or "category"."""
    return tuple(column.name for column in known if column.kind == kind)


def levels_of(known: tuple[Column, ...]) -> tuple[tuple[Hashable, ...], ...]:
    """Return the levels of each categorical column."""
    return tuple(column.levels for column in known if column.kind == "category")


def encoded(known: tuple[Column, ...], frame: Table, missing: str) -> Rows:
    """Return rows of checked columns as (numbers, level codes), by the columns that were fitted.

    Raises `InputError` for a sparse table where a column is a category, and for a missing cell with
    ``missing="error"``.
    """
    numbers, categories = names_of(known, "number"), names_of(known, "category")
    if isinstance(frame, SparseTable):
        if categories:
            raise InputError(
                f"column {categories[0]!r} is a category, and a sparse table holds numbers only; give a dense table"
            )
        return Rows((sparse_numbers(frame, numbers), np.empty((len(frame), 0), dtype=np.intp)), len(frame))
    if missing == "error":
        refuse_missing(frame)
    of_frame = columns.read_numbers if len(frame) * len(numbers) > BLOCK_CELLS else columns.numbers
    return Rows((of_frame(frame, numbers), columns.codes(frame, categories, levels_of(known))), len(frame))


def refuse_missing(frame: pd.DataFrame) -> None:
    """Raise for the first column with missing cells."""
    for name in frame:
        empty = np.flatnonzero(frame[name].isna())
        if empty.size:
            rows = f"row{'s' * (empty.size > 1)} {listed(row_numbers(frame, empty), LISTED_ROWS)}"
            raise InputError(f"column {name!r} has missing cells ({rows}); fill them in, or fit with missing='impute'")
