"""Columns of a table: what each holds, its cells as numbers or level codes, and rows encoded for a model."""

from __future__ import annotations

from ast import literal_eval
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property
from numbers import Number
from typing import Any, Literal, cast, get_args

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from bayesclf.arrays import Array, Integers
from bayesclf.errors import CellTypeError, InputError, PredictionWarning, warn
from bayesclf.tables.levels import MISSING_LEVEL, in_order, require_one_way, word, written_alike
from bayesclf.tables.numbers import LARGEST, SMALLEST, Numbers, blocks_of, out_of_range
from bayesclf.tables.options import READING, leaving_out
from bayesclf.tables.writing import Style, cells_of, meaning_of, written as how_written
from bayesclf.wording import (
    IN_ALL,
    LISTED_NAMES,
    LISTED_ROWS,
    clipped,
    counted,
    did_you_mean,
    flagged_rows,
    listed,
    written,
)

MISSING, UNSEEN = -1, -2
"""Codes of an empty categorical cell, and of a cell with a value that is not among the levels."""

RARE = "other (rare levels)"
"""The level that rare ones are joined to, where a column has many; values that are no levels are of it, too."""

ROW = "row of the table given"
"""Name of the index of a table without some of its rows: their places in the whole table, from 0."""

NOTES = "bayesclf notes"
"""Where the attributes of a table say what was done to read it."""


def notes_of(X: Any) -> tuple[str, ...]:
    """Return what was done to read a table, in sentences; none for another one."""
    return tuple(X.attrs.get(NOTES, ())) if isinstance(X, pd.DataFrame) else ()


def reading_of(X: Any) -> dict[str, Any]:
    """Return how a table was read that was a file, as options of `datasets.read`."""
    return literal_eval(X.attrs.get(READING, "{}")) if isinstance(X, pd.DataFrame) else {}


def warn_of_signs(signs: Mapping[str, str], expected: Mapping[str, str] | None) -> None:
    """Warn of columns whose numbers have other signs than in the table of a model."""
    for name, sign in (expected or {}).items():
        if signs.get(name, sign) != sign:
            here, there = (repr(own) if own else "no sign" for own in (signs[name], sign))
            warn(
                f"column {name!r} has {here} where the training rows have {there}; its numbers are taken as they "
                "are, so convert them if the unit is another",
                PredictionWarning,
            )


def is_described(X: Any, frame: pd.DataFrame) -> bool:
    """Return whether there is no more to say of what columns are for: reading X said it, or all are floats."""
    return NOTES in getattr(X, "attrs", {}) or all(map(pd.api.types.is_float_dtype, set(frame.dtypes)))


def some_rows(frame: pd.DataFrame, kept: NDArray[np.bool_]) -> pd.DataFrame:
    """Return the rows of a table that are kept, (row), with an index that tells where they stood."""
    places = frame.index.to_numpy()[kept] if frame.index.name == ROW else np.flatnonzero(kept)
    return frame[kept].set_axis(pd.Index(places, name=ROW), axis=0)


def row_numbers(table: Any, places: Any) -> Integers:
    """Return the numbers, from 1, of rows in the table that the user gave.

    Examples
    --------
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    >>> row_numbers(table, [1]), row_numbers(some_rows(table, np.array([False, True, True])), [1])
    (array([2]), array([3]))
    """
    own = np.asarray(places, dtype=np.intp)
    if isinstance(table, SparseTable):
        whole = table.rows
    else:
        whole = table.index.to_numpy() if table.index.name == ROW else None
    return np.asarray(own if whole is None else whole[own]) + 1


@dataclass(frozen=True)
class SparseTable:
    """A sparse table, of which only the cells that are not 0 are stored; it stands where a DataFrame would.

    Attributes
    ----------
    cells
        (row, feature).
    columns
        Names of the features.
    rows
        Of some rows of a larger table, their places in it, from 0; None for a whole table.
    """

    cells: sparse.csr_array
    columns: tuple[str, ...]
    rows: Integers | None = None

    def __len__(self) -> int:
        return int(self.cells.shape[0])

    def __getitem__(self, rows: NDArray[np.bool_]) -> SparseTable:
        kept = np.flatnonzero(rows)
        return SparseTable(self.cells[kept], self.columns, kept if self.rows is None else self.rows[kept])


def to_sparse_table(X: Any, names: tuple[str, ...] | None = None) -> SparseTable:
    """Return a SciPy sparse matrix or array (row, feature) as a table with these columns, or x0, x1, …"""
    if X.dtype.kind not in "biuf":
        raise InputError(f"Complex data not supported: the sparse table holds {X.dtype}; give real numbers")
    of_any_size: Any = {"ensure_min_samples": 0, "ensure_min_features": 0}
    given = sparse.csr_array(check_array(X, accept_sparse="csr", dtype=None, ensure_all_finite=False, **of_any_size))
    require_cells(given.shape)
    cells = sparse.csr_array((given.data.astype(np.float64, copy=False), given.indices, given.indptr), given.shape)
    return SparseTable(cells, tuple(f"x{j}" for j in range(cells.shape[1])) if names is None else names)


def require_cells(shape: tuple[int, ...]) -> None:
    """Raise for a table without rows or without columns."""
    rows, columns = shape
    if rows == 0:
        raise InputError("X has no rows (0 sample(s)); give at least one")
    if columns == 0:
        raise InputError(f"X has 0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required; give a column")


def sparse_numbers(table: SparseTable, names: tuple[str, ...]) -> sparse.csr_array:
    """Return the cells of a sparse table (row, feature), all of its columns."""
    wrong = np.flatnonzero(~np.isfinite(table.cells.data))
    if wrong.size:
        row, name = place_of(table, int(wrong[0]), names)
        what = "an infinite" if np.isinf(table.cells.data[wrong[0]]) else "a missing (NaN)"
        raise InputError(
            f"column {name!r} of the sparse table has {what} value (row {row}); replace it, or give a dense table, "
            "where missing cells are allowed"
        )
    sizes = np.abs(table.cells.data)
    if sizes.max(initial=0.0) > LARGEST:
        row, name = place_of(table, int(sizes.argmax()), names)
        raise out_of_range({name: f"{sizes.max():.1e} in row {row}"})
    return table.cells


def place_of(table: SparseTable, entry: int, names: tuple[str, ...]) -> tuple[int, str]:
    """Return the number of the row, from 1 and in the whole table, and the column's name of a stored entry."""
    place = int(np.searchsorted(table.cells.indptr, entry, side="right")) - 1
    return int(row_numbers(table, place)), names[table.cells.indices[entry]]


ColumnKind = Literal["number", "category", "text"]
type Kind = Literal[ColumnKind, "count"]

TEXT_MIN_WORDS = 5.0
TEXT_MIN_DISTINCT = 0.5
"""A column of strings is text if its cells average more words than this, and more than this share of them differ."""

TEXT_SAMPLE = 1000
"""Cells whose words are counted for that decision."""

FLOAT_BYTES = 8
"""Longer numbers, of NumPy's ``longdouble``, become floats at once."""

FEW_CELLS = 2**14
"""Cells of a table that is small."""

FIRST_ROWS = 64
"""Rows in which most columns have a number that is not nearly 0."""

LONGEST_VALUE = 48
"""The most characters of a value that an error message shows."""

LISTED_COLUMNS, LISTED_LEVELS = 20, 4
"""The most columns and values that a sentence lists."""

type Table = pd.DataFrame | SparseTable


def to_pandas(X: Any) -> Any:
    """Return a table of another library, such as Polars or PyArrow, as a pandas one, and anything else as it is."""
    if isinstance(X, pd.DataFrame | np.ndarray) or not nw.dependencies.is_into_dataframe(X):
        return X
    return nw.from_native(X, eager_only=True).to_pandas()


def with_names(X: Any) -> Any:
    """Return a table whose columns have names of several types with words for them; another one as it is."""
    if isinstance(X, pd.DataFrame) and len({isinstance(name, str) for name in X.columns}) > 1:
        return X.set_axis([str(name) for name in X.columns], axis=1)
    return X


def to_frame(X: Any) -> pd.DataFrame:
    """Return `X` (row, feature) as a DataFrame with column names as strings.

    Tables of other libraries are converted. Columns of an array are named x0, x1, …; an array of objects gets its
    columns' own types. Masked cells of a masked array are missing. The bins of `pandas.cut` become words. Decimals and
    fractions become floats.

    Raises
    ------
    InputError
        For duplicate column names or columns of dates.
    """
    X = to_pandas(X)
    if not isinstance(X, pd.DataFrame):
        cells = _array(X)
        require_cells(cells.shape)
        X = pd.DataFrame(cells, columns=_numbered(cells.shape[1]), copy=False)
        if cells.dtype.kind in "fiu":
            return cast("pd.DataFrame", X)
        X = X.infer_objects()
    require_cells(X.shape)
    names = [str(name) for name in X.columns]
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        some = listed([written(name, LONGEST_VALUE) for name in repeated], LISTED_NAMES)
        raise InputError(f"column names must differ; rename columns called {some}")
    frame: pd.DataFrame = X.set_axis(names, axis=1)
    first = dict(zip(reversed(list(frame.dtypes)), reversed(names), strict=True))
    for dtype, name in first.items():
        _check_dtype(dtype, name)
    objects = [
        name for name, dtype in zip(names, frame.dtypes, strict=True) if str(dtype).startswith(("object", "decimal"))
    ]
    exact = {name: column for name in objects if (column := _exact(frame[name])) is not None}
    if exact:
        frame = frame.assign(**exact)
    if any(map(_has_bins, first)):
        bins = {name: frame[name].cat.rename_categories(str) for name in names if _has_bins(frame[name].dtype)}
        frame = frame.assign(**bins)
    return frame


def _exact(column: pd.Series) -> pd.Series | None:
    """Return a column that holds decimals or fractions, and perhaps other numbers, as floats; None of another one."""
    types = {type(cell) for cell in column.dropna()}
    if types.isdisjoint({Decimal, Fraction}):
        return None
    if not all(issubclass(own, Decimal | Fraction | int | float | np.number) for own in types):
        return None
    return pd.Series(column.to_numpy(dtype=float, na_value=np.nan), column.index)


def _has_bins(dtype: object) -> bool:
    """Return whether a dtype is that of the categories that `pandas.cut` makes."""
    return isinstance(dtype, pd.CategoricalDtype) and isinstance(dtype.categories.dtype, pd.IntervalDtype)


@cache
def _numbered(columns: int) -> pd.Index:
    """Return the names of the columns of an array, x0, x1, …"""
    return pd.Index([f"x{j}" for j in range(columns)])


def _array(X: Any) -> NDArray[Any]:
    """Return an array (row, feature), or what can be made one, as such an array."""
    if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "fiu":
        return X
    if hasattr(X, "frame") and hasattr(X, "target"):
        raise InputError("X must be a table, not a data set; give its table and labels, as in fit(data.X, data.y)")
    if isinstance(X, Mapping) and not sparse.issparse(X):  # a sparse table by keys is a dictionary too
        raise InputError(
            "X must be a table, not a mapping; give pandas.DataFrame([X]) if it is one row, pandas.DataFrame(X) if it "
            "has columns"
        )
    if X is None or isinstance(X, str | bytes):
        raise InputError(
            f"X must be a table, a DataFrame or an array of shape (row, feature), not of type {type(X).__name__}"
        )
    if isinstance(X, pd.Series):
        raise InputError(
            "X is a single column, a Series; X.to_frame() makes a table of it, X.to_frame().T if it is one row"
        )
    if not isinstance(X, np.ndarray) and isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame):
        raise InputError(
            f"X is a lazy table of type {type(X).__name__}; collect its rows first, with X.collect() in Polars or "
            "X.compute() in Dask"
        )
    if sparse.issparse(X):
        raise InputError("X is a sparse table, and this classifier takes dense ones; X.toarray() makes one")
    X = without_mask(X)
    if isinstance(X, np.ndarray) and X.dtype.names:
        raise InputError("X is a structured array; pandas.DataFrame(X) makes a table of its fields")
    try:
        of_any_size: Any = {"ensure_min_samples": 0, "ensure_min_features": 0}
        return np.asarray(check_array(X, dtype=None, ensure_all_finite=False, **of_any_size))
    except ValueError as error:
        reason = str(error).partition(":\n")[0].partition("\n")[0]
        if reason.startswith("Complex"):
            raise InputError("Complex data not supported: X holds complex numbers; give their real parts") from error
        raise InputError(
            f"X must be a table of shape (row, feature), but {reason[:1].lower()}{reason[1:].rstrip('.')}; Reshape "
            "your data: one row per example"
        ) from error


def _check_dtype(dtype: Any, name: object) -> None:
    """Raise if the column of that name has a dtype that no column can have, whatever it is wanted for."""
    types = pd.api.types
    dates = types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        if not _has_bins(dtype):
            _check_dtype(dtype.categories.dtype, name)
    elif dates or isinstance(dtype, pd.PeriodDtype):
        raise not_plain("dates or times", name)
    elif isinstance(dtype, pd.IntervalDtype):
        raise not_plain("intervals", name)
    elif types.is_complex_dtype(dtype):
        raise not_plain("complex numbers", name)


def not_plain(cells: str, name: object, where: str = "") -> CellTypeError:
    """Return the error for a column with cells that are neither numbers nor words, which no model file can hold."""
    remedy = "leave the column out" if where else f"leave it out with {leaving_out([str(name)])}"
    return CellTypeError(
        f"{where}column {name!r} holds {clipped(cells, 2 * LONGEST_VALUE)}, but each cell of the table given as "
        f"argument must be a string or a number; convert it, or {remedy}"
    )


def without_mask(values: Any) -> Any:
    """Return a masked array as an array whose masked cells are missing, NaN or None; anything else as it is.

    Examples
    --------
    >>> without_mask(np.ma.masked_equal([1, 2, 9], 9))
    array([ 1.,  2., nan])
    """
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if not np.ma.is_masked(values):
        return values.data
    if values.dtype.kind in "iuf":
        return np.ma.filled(values.astype(float), np.nan)
    cells = values.data.astype(object)
    cells[np.ma.getmaskarray(values)] = None
    return cells


def kind_of(column: pd.Series) -> Kind:
    """Return ``"number"`` or ``"category"``, as `column_kind` decides by the dtype; dates are refused."""
    return _kind_of_dtype(column.dtype, column.name)


def _kind_of_dtype(dtype: Any, name: object) -> Kind:
    _check_dtype(dtype, name)
    types = pd.api.types
    return "number" if types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype) else "category"


def kinds_of(frame: pd.DataFrame) -> dict[str, Kind]:
    """Return the kind of each column, as `kind_of` has it; each dtype is looked at once, as there may be many columns.

    Examples
    --------
    >>> kinds_of(pd.DataFrame({"degrees": [29.0, 17.0], "wind": ["weak", "strong"]}))
    {'degrees': 'number', 'wind': 'category'}
    """
    dtypes = list(frame.dtypes)
    first = dict(zip(reversed(dtypes), reversed(list(frame.columns)), strict=True))
    known = {dtype: _kind_of_dtype(dtype, name) for dtype, name in first.items()}
    return {str(name): known[dtype] for name, dtype in zip(frame.columns, dtypes, strict=True)}


def column_kind(column: pd.Series, text: bool = True) -> ColumnKind:
    """Decide what a column holds: by its dtype and, for strings, by the number of words in a cell.

    Parameters
    ----------
    column : Series of shape (row,)
        The column.
    text : bool
        Whether to look into the cells and tell texts from categories. Without it the dtype alone decides; a
        classifier takes its columns so, whatever their words.

    Returns
    -------
    {"number", "category", "text"}
        "number" for a numeric dtype; "text" for strings that mostly differ (`TEXT_MIN_DISTINCT`) and have several
        words each (`TEXT_MIN_WORDS`); "category" for every other column, truth values included.

    Examples
    --------
    >>> column_kind(pd.Series([1.5, 2.0])), column_kind(pd.Series(["sunny", "rain"]))
    ('number', 'category')
    """
    truths = pd.api.types.is_bool_dtype(column)
    if pd.api.types.is_numeric_dtype(column) and not truths:
        return "number"
    if not text or truths or isinstance(column.dtype, pd.CategoricalDtype):
        return "category"
    cells = column.array[~column.isna().to_numpy()]  # no Series, of which pandas takes far longer for short columns
    words = [len(str(cell).split()) for cell in np.asarray(cells[:TEXT_SAMPLE])]
    wordy = sum(words) > TEXT_MIN_WORDS * len(words)
    return "text" if wordy and len(set(map(str, cells))) > TEXT_MIN_DISTINCT * len(cells) else "category"


def convert_columns(
    frame: pd.DataFrame, kinds: Mapping[str, ColumnKind], where: str, signs: dict[str, str] | None = None
) -> pd.DataFrame:
    """Make columns of a table that was not read from a file what the user says they are.

    The signs of numbers, by column, are those of rows before; those of other columns are added.

    Examples
    --------
    >>> frame = pd.DataFrame({"grade": [1, 3, 2]})
    >>> convert_columns(frame, {"grade": "category"}, "the example")["grade"].cat.categories.tolist()
    ['1', '2', '3']
    """
    if not kinds and all(_is_plain(dtype) for dtype in set(frame.dtypes)):
        return frame.copy(deep=False)  # a table of many columns has each of them made anew otherwise
    columns = {name: _converted(column, kinds.get(str(name)), where, signs) for name, column in frame.items()}
    return pd.DataFrame(columns, index=frame.index)


def _is_plain(dtype: Any) -> bool:
    """Return whether a column of this type is numbers, words or categories as it stands."""
    numeric = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
    return numeric or isinstance(dtype, pd.CategoricalDtype | pd.StringDtype)


def require_column(name: str, columns: Sequence[Hashable], where: str) -> None:
    """Raise an `InputError` that lists the columns, the closest first, if `name` is not one of them.

    Examples
    --------
    >>> require_column("play", ["wind", "play"], "the example")
    """
    if name not in columns:
        names = [str(column) for column in columns]
        known = listed(names, LISTED_COLUMNS, IN_ALL)
        raise InputError(f"{where} has no column {name!r}{did_you_mean(name, names)}; its columns are {known}")


def require_kinds(kinds: Mapping[str, str], columns: Sequence[Hashable], where: str) -> None:
    """Raise an `InputError` if a column or its kind is unknown; `where` is how the message calls the table."""
    for name, kind in kinds.items():
        require_column(name, columns, where)
        if kind not in get_args(ColumnKind):
            raise InputError(f"the kind {kind!r} of column {name!r} is not known; use {listed(get_args(ColumnKind))}")


def _converted(
    column: pd.Series, kind: ColumnKind | None, where: str, signs: dict[str, str] | None = None
) -> pd.Series:
    if column.dtype == object:
        for row, value in enumerate(column, start=1):
            if hasattr(value, "__len__") and not isinstance(value, str):
                raise not_plain(f"{written(value, LONGEST_VALUE)} (row {row})", column.name, f"{where}: ")
    if kind == "number":
        return _to_numbers(column, where, {} if signs is None else signs)
    if kind is not None:
        return as_words(column).astype("category") if kind == "category" else as_words(column)
    if _is_plain(column.dtype):
        return column
    if all(isinstance(value, Number) and not isinstance(value, bool) for value in column.dropna()):
        return _to_numbers(column, where, {})
    return as_words(column)


def as_words(column: pd.Series) -> pd.Series:
    """Return cells as strings, 2.0 as "2": pandas has floats where a cell is missing."""
    if isinstance(column.dtype, pd.StringDtype):
        return column
    if pd.api.types.infer_dtype(column) == "string":
        return column.astype("str")
    cells = zip(column, column.isna(), strict=True)
    words = [None if missing else word(value) for value, missing in cells]
    return pd.Series(words, index=column.index, name=column.name, dtype="str")


def _to_numbers(column: pd.Series, where: str, signs: dict[str, str]) -> pd.Series:
    """Return a column as numbers, if each word tells its own whatever the other rows have, with the sign of others."""
    if column_kind(column, text=False) == "number":
        return column
    words = as_words(column)
    found = meaning_of(words, "number")
    name, style = str(column.name), found.style or Style()
    of_words = found.codes or found.held == "words"
    if of_words or not style.sure or (style.sign and signs.get(name, style.sign) != style.sign):
        bad = not_numbers(words)
        values = listed(map(repr, words[bad].unique()), LISTED_LEVELS, IN_ALL)
        remedy = "correct or empty those cells, or make it a category"
        if not of_words:
            remedy = "write them as in 1234.5, or save the table as .csv, where all rows together say what is meant"
        raise InputError(
            f"{where}: column {name!r} should be a number but contains {values} in {flagged_rows(bad)}; {remedy}"
        )
    if found.held != "nothing":
        warn_of_signs({name: style.sign}, signs)
        signs.setdefault(name, style.sign)
    cells = cells_of(pa.array(words, pa.string(), from_pandas=True), found)
    return pd.Series(cells.to_numpy(zero_copy_only=False), column.index, name=column.name)


def not_numbers(words: pd.Series) -> pd.Series:
    """Flag the cells that keep a column from being numbers: words, or, without any, numbers as people write them.

    The words "nan" and "NA" are no numbers.
    """
    different = pd.Series(words.dropna().unique())
    bad = different[pd.to_numeric(different, errors="coerce").isna()]
    unknown = [word for word in bad if how_written(word.strip()) is None]
    return words.isin(unknown or bad)


def numbers(frame: pd.DataFrame, names: tuple[str, ...]) -> Array:
    """Return columns as floats (row, feature), NaN where a cell is missing, in memory of their own."""
    return read_numbers(frame, names).array()


def read_numbers(frame: pd.DataFrame, names: tuple[str, ...]) -> Numbers:
    """Return columns of numbers as they lie in the table, to be read some rows at a time."""
    cells = _as_they_lie(frame, names)
    if not cells.ordinary:
        _refuse_large(frame, names, cells.columns)
    return cells


def _as_they_lie(frame: pd.DataFrame, names: tuple[str, ...]) -> Numbers:
    """Return the same, whose cells may be of any size."""
    return _together(frame, names) or Numbers(tuple(_real(frame[name], name) for name in names), len(frame))


def _together(frame: pd.DataFrame, names: tuple[str, ...]) -> Numbers | None:
    """Return columns of a small or wide table of numbers, all of which pandas gives in the time of one; else None."""
    if frame.size > FEW_CELLS:
        if len(names) <= len(frame):
            return None
        frame = frame[list(names)]
    cells = frame.to_numpy()
    if cells.dtype.kind not in "iuf" or cells.dtype.itemsize > FLOAT_BYTES:
        return None
    place = {name: j for j, name in enumerate(frame.columns.tolist())}
    return Numbers(tuple(cells[:, place[name]] for name in names), len(frame))


def _refuse_large(frame: pd.DataFrame, names: tuple[str, ...], cells: Iterable[NDArray[Any]]) -> None:
    """Raise for columns (row) with infinite cells, and for those with cells beyond `LARGEST`."""
    far = {}
    for name, column in zip(names, cells, strict=True):
        sizes = np.abs(column, dtype=float)
        if not (sizes > LARGEST).any():
            continue
        infinite = np.flatnonzero(np.isinf(column))
        if infinite.size:
            values = counted(infinite.size, "infinite value", thousands="")
            rows = f"row{'s' * (infinite.size > 1)} {listed(row_numbers(frame, infinite), LISTED_ROWS)}"
            raise InputError(f"column {name!r} has {values} (inf; {rows}); replace or drop them")
        place = int(np.nanargmax(sizes))
        far[name] = f"{sizes[place]:.1e} in row {row_numbers(frame, place)}"
    if far:
        raise out_of_range(far)


def require_not_tiny(X: Any, names: tuple[str, ...]) -> None:
    """Raise for training columns of numbers, cells (row, feature), of which all are nearly 0 and some are not 0."""
    if isinstance(X, sparse.csr_array):
        largest = np.zeros(X.shape[1])
        np.maximum.at(largest, X.indices, np.abs(X.data))
    else:
        largest = np.fmax.reduce(np.abs(X[:FIRST_ROWS]), axis=0, initial=0.0)
        for j in np.flatnonzero(largest < SMALLEST):
            column = X.columns[j] if isinstance(X, Numbers) else X[:, j]
            largest[j] = np.fmax.reduce(np.abs(column), initial=0.0)
    tiny = np.flatnonzero((largest > 0) & (largest < SMALLEST))
    if tiny.size:
        raise out_of_range({names[j]: f"{largest[j]:.1e}" for j in tiny})


def _real(column: pd.Series, name: str) -> NDArray[Any]:
    """Return the cells of a column as real numbers: those of the table, or floats with NaN where one is missing."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf" and column.dtype.itemsize <= FLOAT_BYTES:
        return column.to_numpy()
    return _floats(column, name)


def _floats(column: pd.Series, name: str) -> Array:
    """Return a column as floats (row), NaN where a cell is missing, or raise for a cell that is not a number."""
    try:
        return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
    except (ValueError, TypeError):
        _check_cells(column)
        place = int((pd.to_numeric(column, errors="coerce").isna() & column.notna()).to_numpy().argmax())
        value, row = written(column.iloc[place], LONGEST_VALUE), row_numbers(column, place)
        raise InputError(
            f"column {name!r} holds {value}, which is not a number (row {row}); write a number there, or nothing; "
            "bc.datasets.read(path) reads forms such as $1,200"
        ) from None


def counts(table: Table, names: tuple[str, ...]) -> Array | sparse.csr_array:
    """Return columns as counts (row, feature), real and at least 0; sparse where the table is."""
    if isinstance(table, SparseTable):
        cells = sparse_numbers(table, names)
        negative = np.flatnonzero(cells.data < 0)
        if negative.size:
            row, name = place_of(table, int(negative[0]), names)
            raise InputError(NEGATIVE.format(name=name, value=f"{cells.data[negative[0]]:g}", row=row))
        return cells
    X = numbers(table, names)
    for place, j in np.argwhere(np.isnan(X))[:1]:
        raise InputError(
            f"column {names[j]!r} has a missing count (NaN, row {row_numbers(table, place)}); give the count, 0 for an "
            "absent word, or drop the row"
        )
    for place, j in np.argwhere(X < 0)[:1]:
        at = {"name": names[j], "row": row_numbers(table, place)}
        raise InputError(NEGATIVE.format(**at, value=f"{X[place, j]:g}"))
    return X


NEGATIVE = "Negative values in data: column {name!r} holds {value} (row {row}), and a count is at least 0; correct it"


def levels_of(column: pd.Series, missing: str) -> tuple[Hashable, ...]:
    """Return a categorical's categories, or the sorted values; `MISSING_LEVEL` comes last where it is a level."""
    _check_cells(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = tuple(_plain(value) for value in column.dtype.categories)
    else:
        levels = in_order({_plain(value) for value in pd.unique(column.dropna())})
    return (*levels, MISSING_LEVEL) if missing == "level" and column.isna().any() else levels


PLAIN = (str, int, float, np.bool_, np.integer, np.floating, type(None), type(pd.NA), type(pd.NaT))
"""What the cells of a column of objects may be: words, real numbers, truth values, and what stands for missing."""


def _check_cells(column: pd.Series) -> None:
    """Raise for the first cell that cannot be a level, such as a date or a list."""
    dtype: Any = column.dtype
    is_categorical = isinstance(dtype, pd.CategoricalDtype)
    cells = dtype.categories if is_categorical else column
    if cells.dtype == object:
        for place, value in enumerate(cells):
            if not isinstance(value, PLAIN):
                row = place + 1 if is_categorical else row_numbers(column, place)
                raise not_plain(f"{written(value, LONGEST_VALUE)} (row {row})", column.name)


def _plain(value: Any) -> Hashable:
    """Return a NumPy scalar as the Python value it stands for."""
    plain: Hashable = value.item() if isinstance(value, np.generic) else value
    return plain


def codes(frame: pd.DataFrame, names: tuple[str, ...], levels: tuple[tuple[Hashable, ...], ...]) -> Integers:
    """Return level codes (row, feature); `MISSING` for an empty cell, `UNSEEN` for a value that is not a level.

    A truth value or a number is also the level that is the word for it, and the other way round: files hold words.
    Where rare levels were joined, other values are of the level `RARE`.
    """
    X = np.empty((len(frame), len(names)), dtype=np.intp)
    found = [_coded(frame[name], own) for name, own in zip(names, levels, strict=True)]
    for rows in blocks_of(len(frame), len(names)):  # which stay in the cache until they have all columns
        for j, (places, table) in enumerate(found):
            X[rows, j] = table[places[rows]]
    return X


def codes_of(column: pd.Series, levels: tuple[Hashable, ...]) -> Integers:
    """Return the level codes of one column (row), as `codes` does."""
    places, table = _coded(column, levels)
    return np.asarray(table[places])


def _coded(column: pd.Series, levels: tuple[Hashable, ...], tell: bool = True) -> tuple[NDArray[Any], Integers]:
    """Return the place of each cell among the values of a column (row), −1 where missing, and the code of each."""
    _check_cells(column)
    index = {level: code for code, level in enumerate(levels)}
    if isinstance(column.dtype, pd.CategoricalDtype):
        found, uniques = column.cat.codes.to_numpy(), column.dtype.categories
    else:
        found, uniques = pd.factorize(column)
    values = [_plain(value) for value in uniques]
    alike = written_alike([value for value in values if value not in index], levels)
    other = index.get(RARE, UNSEEN)
    if tell:
        _warn_of_spelling(column.name, [value for value in values if alike.get(value, value) not in index], levels)
    table = np.array([index.get(alike.get(value, value), other) for value in values] + [index.get(None, MISSING)])
    return np.asarray(found), table


def _warn_of_spelling(name: Any, unseen: list[Any], levels: tuple[Hashable, ...]) -> None:
    """Warn of a value that is no level, and is written as one but for case and blanks."""
    known = {_folded(word(level)): level for level in levels if level is not None} if unseen else {}
    for value in unseen:
        if isinstance(value, str) and (level := known.get(_folded(value))) is not None:
            warn(
                f"column {str(name)!r} has {value!r}, which the training rows lack; did you mean {level!r}? Write it "
                "the same way",
                PredictionWarning,
            )


def _folded(word: str) -> str:
    return " ".join(word.split()).casefold()


def unseen_cells(column: pd.Series, levels: tuple[Hashable, ...]) -> str:
    """Return a sentence that names values of a column that are no levels; empty if there is none."""
    places, table = _coded(column, levels, tell=False)
    unseen = table[places] == UNSEEN
    if not unseen.any():
        return ""
    values = sorted({repr(_plain(value)) for value in column[unseen]})[:5]
    return f"column {column.name!r} has levels that the training rows lack: {', '.join(values)}"


type Range = tuple[float, float, float, int]
"""Least cell of a column of numbers, mean, largest cell, and number of cells."""


def ranges(frame: pd.DataFrame, names: tuple[str, ...]) -> dict[str, Range]:
    """Return the ranges of columns of numbers, by name, without columns that have no cell."""
    found = zip(names, *(values.tolist() for values in _as_they_lie(frame, names).ranges), strict=True)
    return {name: (least, cells / known, most, int(known)) for name, least, most, cells, known in found if known}


def _joined(one: Range | None, other: Range | None) -> Range | None:
    """Return the range of the cells of both."""
    if one is None or other is None:
        return one or other
    cells = one[3] + other[3]
    return min(one[0], other[0]), (one[1] * one[3] + other[1] * other[3]) / cells, max(one[2], other[2]), cells


@dataclass(frozen=True)
class Column:
    """A training column.

    Attributes
    ----------
    name, kind
        Its name, and what it holds.
    levels
        Its levels, if it is categorical.
    of_numbers
        Whether it is categorical, and was a column of numbers in the table.
    range
        The range of its numbers, if it has any.
    """

    name: str
    kind: Kind
    levels: tuple[Hashable, ...] = ()
    of_numbers: bool = field(default=False, repr=False, compare=False)
    range: Range | None = field(default=None, repr=False, compare=False)

    def union(self, other: Column) -> Column:
        """Return the column with the levels of both."""
        if self.levels == other.levels and self.of_numbers >= other.of_numbers and other.range is None:
            return self
        of_numbers = self.of_numbers or other.of_numbers
        levels = self.levels
        if levels != other.levels:
            require_one_way(self.name, levels, other.levels)
            levels = in_order({*levels, *other.levels})
        return Column(self.name, self.kind, levels, of_numbers, _joined(self.range, other.range))


def is_missing(X: Array) -> NDArray[np.intp]:
    """Return codes of the two levels (False, True) of "this number is missing"."""
    return np.isnan(X).astype(np.intp)


@dataclass(frozen=True)
class Rows:
    """Rows encoded for a model: an array per block, or numbers and codes; an index selects rows."""

    cells: tuple[Any, ...]
    length: int

    @cached_property
    def parts(self) -> tuple[Any, ...]:
        """The arrays, all of them made."""
        return tuple(part[:] if isinstance(part, Numbers) else part for part in self.cells)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, rows: slice | Integers) -> Rows:
        length = len(range(*rows.indices(self.length))) if isinstance(rows, slice) else len(rows)
        return Rows(tuple(part[rows] for part in self.cells), length)
