"""Tables: reading a file into a DataFrame with nothing guessed silently, and showing what was inferred."""

from __future__ import annotations

import contextlib
import csv
import difflib
import gzip
import io
import json
import numbers
import os
import textwrap
import zlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd

from bayesclf.errors import InputError

ColumnKind = Literal["number", "category", "text"]

SEPARATORS = {".csv": ",", ".tsv": "\t"}
TEXT_ENDINGS = (*SEPARATORS, ".jsonl")
ENDINGS = (*TEXT_ENDINGS, *(f"{ending}.gz" for ending in TEXT_ENDINGS), ".parquet")

TEXT_MIN_WORDS = 5.0
"""A column of strings is guessed to be text when its cells have more words than this on average ..."""
TEXT_MIN_DISTINCT = 0.5
"""... and more than this share of them differ."""
TEXT_SAMPLE = 1000
"""Cells whose words are counted for that guess."""
IDENTIFIER = 0.9
MANY_ROWS = 20
"""A column of categories with more different values than this share of the rows, if these are many, gets a note."""

ALMOST_NUMBERS = 0.5
"""A column of categories in which more than this share of the cells are numbers gets a note."""
LISTED_NAMES = 20
LISTED_ROWS = 5
LISTED_LEVELS = 4
SUMMARY_WIDTH = 48


def read_table(path: str | os.PathLike[str], dtypes: Mapping[str, ColumnKind] | None = None) -> pd.DataFrame:
    """Read a table from a csv, tsv, jsonl or parquet file; csv, tsv and jsonl also gzipped.

    Text is UTF-8. pandas infers the type of each column: a column of numbers is numeric, every other one
    holds words. **Only an empty cell is missing** in csv and tsv: "NA", "None", "null", "nan" and "?" are words
    like any other, so one of them in a column of numbers turns that column into categories, and
    `describe_columns` says so. In jsonl (one object a line, lines end at ``\\n`` only) `null`, `NaN` and an absent
    key are missing, and an empty string is a word. Truth values are the words "True" and "False"; in csv and
    tsv as they are written. Blank lines are skipped. The unnamed index that pandas writes into a
    parquet file is left out, a named one is a column.

    Parameters
    ----------
    path : str or path-like
        The file; its ending, one of `ENDINGS`, says what it holds.
    dtypes : mapping of str to {"number", "category", "text"}, optional
        What the named columns are, whatever they look like. "category": words as written in the file ("01" stays
        "01") with a pandas categorical dtype. "text": strings. "number": every cell is empty or a number.

    Returns
    -------
    DataFrame
        One row a record, in the order of the file, indexed from 0. Infinite numbers are kept.

    Raises
    ------
    InputError
        If the file cannot be read as such a table. Rows are counted from 1, without the header; a column without
        a name, such as the index column of a table saved by pandas, is an error.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "weather.csv")
    ...     _ = path.write_text("code,rain,play\\n01,2.5,yes\\n02,,no\\n")
    ...     read_table(path, dtypes={"code": "category"})
      code  rain play
    0   01   2.5  yes
    1   02   NaN   no
    """
    path = Path(path)
    dtypes = dict(dtypes or {})
    ending = _ending(path)
    data = _read_bytes(path)
    if ending in SEPARATORS:
        frame = _parse_delimited(_decode(data, path), SEPARATORS[ending], dtypes, path)
    elif ending == ".jsonl":
        frame = _parse_json_lines(_decode(data, path), path)
    else:
        frame = _parse_parquet(data, path)
    if frame.empty:
        raise InputError(f"{path} has no rows below its column names; add at least one")
    return convert_columns(frame, dtypes, str(path))


def convert_columns(frame: pd.DataFrame, dtypes: Mapping[str, ColumnKind], where: str) -> pd.DataFrame:
    """Make columns of a table that was not read from a file what the user says they are.

    Parameters
    ----------
    frame : DataFrame
        The table; it is not changed.
    dtypes : mapping of str to {"number", "category", "text"}
        As in `read_table`.
    where : str
        How error messages call the table.

    Returns
    -------
    DataFrame
        A table with the same rows and columns.

    Raises
    ------
    InputError
        If a column or a kind is unknown, or a cell of a "number" is not one.

    Examples
    --------
    >>> frame = pd.DataFrame({"grade": [1, 3, 2]})
    >>> convert_columns(frame, {"grade": "category"}, "the example")["grade"].cat.categories.tolist()
    ['1', '2', '3']
    """
    _check_dtypes(dtypes, list(frame.columns), where)
    columns = {name: _converted(column, dtypes.get(str(name)), where) for name, column in frame.items()}
    return pd.DataFrame(columns, index=frame.index)


def column_kind(column: pd.Series) -> ColumnKind:
    """Tell what a column holds, from its dtype and, for strings, from the number of words in a cell.

    Parameters
    ----------
    column : Series of shape (row,)
        The column.

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
    if _is_numeric(column):
        return "number"
    if isinstance(column.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(column):
        return "category"
    cells = column.dropna().astype(str)
    words = cells.head(TEXT_SAMPLE).str.count(r"\S+").mean()
    wordy = len(cells) > 0 and words > TEXT_MIN_WORDS
    return "text" if wordy and cells.nunique() > TEXT_MIN_DISTINCT * len(cells) else "category"


def describe_columns(
    frame: pd.DataFrame, target: str | None = None, dtypes: Mapping[str, ColumnKind] | None = None
) -> pd.DataFrame:
    """Show what each column of a table was taken for, so that a wrong guess is seen before a model is fitted.

    Parameters
    ----------
    frame : DataFrame
        A table, as from `read_table`.
    target : str, optional
        The column with the labels.
    dtypes : mapping of str to {"number", "category", "text"}, optional
        What the user has said the columns are; the others are guessed by `column_kind`.

    Returns
    -------
    DataFrame
        One row a column of `frame`: ``column`` (its name), ``kind`` ("number", "category", "text" or "label"),
        ``dtype``, ``missing`` (number of cells), ``distinct`` (number of different values, missing ones aside),
        ``summary`` (the range, the most frequent levels with their counts, or the start of a text)
        and ``note`` (empty, or one sentence about something that deserves a look).

    Raises
    ------
    InputError
        If `target` or a name in `dtypes` is not a column.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": ["31", "NA", "45"], "rain": [0.5, 2.0, None], "play": ["no", "yes", "yes"]})
    >>> table = describe_columns(frame, target="play")
    >>> table[["column", "kind", "missing", "distinct", "summary"]]
      column      kind  missing  distinct           summary
    0    age  category        0         3  31 1, NA 1, 45 1
    1   rain    number        1         2          0.5 to 2
    2   play     label        0         2       yes 2, no 1
    >>> print(table["note"][0])  # doctest: +NORMALIZE_WHITESPACE
    column 'age' is read as categories because of 'NA' (row 2); leave that cell empty to read the column as
    numbers, or give it the dtype "category" if this is meant
    """
    dtypes = dtypes or {}
    if target is not None:
        require_column(target, list(frame.columns), "the table")
    _check_dtypes(dtypes, list(frame.columns), "the table")
    lines = []
    for name, column in frame.items():
        kind = "label" if name == target else dtypes.get(str(name)) or column_kind(column)
        lines.append(
            {
                "column": name,
                "kind": kind,
                "dtype": str(column.dtype),
                "missing": int(column.isna().sum()),
                "distinct": int(column.nunique()),
                "summary": _summary(column, kind),
                "note": _note(name, column, kind),
            }
        )
    return pd.DataFrame(lines)


def require_column(name: str, columns: Sequence[Hashable], where: str) -> None:
    """Raise an `InputError` that lists the columns, the closest first, if `name` is not one of them.

    Parameters
    ----------
    name : str
        The column that is asked for.
    columns : sequence
        The names there are.
    where : str
        How the message calls the table.

    Raises
    ------
    InputError
        If `name` is not in `columns`.

    Examples
    --------
    >>> require_column("play", ["wind", "play"], "the example")
    """
    if name not in columns:
        names = [str(column) for column in columns]
        raise InputError(f"{where} has no column {name!r}{did_you_mean(name, names)}; its columns are {listing(names)}")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Write a hint at the closest of the known names, or nothing if none is close.

    Parameters
    ----------
    name : str
        What was asked for.
    names : iterable of str
        What there is.

    Returns
    -------
    str
        The hint in brackets, with a space before it; or an empty string.

    Examples
    --------
    >>> did_you_mean("irsi", ["wine", "iris"])
    " (did you mean 'iris'?)"
    """
    close = difflib.get_close_matches(name, list(names), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def listing(items: Iterable[object], limit: int = LISTED_NAMES) -> str:
    """Write the first few of some items, separated by commas, and how many there are if some are left out.

    Parameters
    ----------
    items : iterable
        The items; each is written by `str`.
    limit : int
        The most items that are written.

    Returns
    -------
    str
        For example "1, 2, 3, … (12 in all)".

    Examples
    --------
    >>> listing(["a", "b", "c"]), listing(range(1, 13), limit=3)
    ('a, b, c', '1, 2, 3, … (12 in all)')
    """
    words = [str(item) for item in items]
    shown = ", ".join(words[:limit])
    return shown if len(words) <= limit else f"{shown}, … ({len(words)} in all)"


def flagged_rows(flags: pd.Series) -> str:
    """Write which rows are flagged, counted from 1.

    Parameters
    ----------
    flags : Series of bool, shape (row,)
        The rows in question; at least one is flagged.

    Returns
    -------
    str
        For example "row 3" or "rows 3, 9".

    Examples
    --------
    >>> flagged_rows(pd.Series([False, True, True]))
    'rows 2, 3'
    """
    rows = [position + 1 for position, flag in enumerate(flags) if flag]
    return f"row{'s' if len(rows) > 1 else ''} {listing(rows, limit=LISTED_ROWS)}"


def _ending(path: Path) -> str:
    """Return the ending of a table file without ".gz", after the checks that need no reading."""
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder; give the path of one table in it")
    if not os.path.lexists(path):
        raise InputError(f"{path} does not exist; check the path")
    name = path.name.lower()
    for ending in ENDINGS:
        if name.endswith(ending):
            return ending.removesuffix(".gz")
    raise InputError(f"{path} has an ending that is not known; tables end in {listing(ENDINGS)}")


def _read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except PermissionError:
        raise InputError(f"{path} may not be read; ask its owner for the permission to read it") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path and the disk") from error
    if path.name.lower().endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(f"{path} is not a whole gzip file ({error}); copy or pack it again") from error
    if not data:
        raise InputError(f"{path} is empty; it needs column names and at least one row")
    return data


def _decode(data: bytes, path: Path) -> str:
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        at = f"byte 0x{data[error.start]:02x} at offset {error.start} (line {_line(data, error.start)})"
        raise InputError(f"{path} is not UTF-8 text: {at}; save it as UTF-8") from None
    if "\0" in text:
        # UTF-16 without a byte order mark is valid UTF-8 as long as it is ASCII
        at = f"a NUL character at offset {data.index(0)} (line {_line(data, data.index(0))})"
        raise InputError(f"{path} is not UTF-8 text: {at}; save it as UTF-8")
    if not text.strip():
        raise InputError(f"{path} is empty; it needs column names and at least one row")
    return text


def _line(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _check_names(names: Sequence[str], path: Path) -> None:
    first: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(f"{path}: column {position} has no name; name it, or remove it if it numbers the rows")
        if name in first:
            raise InputError(f"{path}: columns {first[name]} and {position} are both named {name!r}; rename one")
        first[name] = position


def _check_dtypes(dtypes: Mapping[str, str], columns: Sequence[Hashable], where: object) -> None:
    for name, kind in dtypes.items():
        require_column(name, columns, str(where))
        if kind not in get_args(ColumnKind):
            raise InputError(f"the dtype {kind!r} of column {name!r} is not known; use {listing(get_args(ColumnKind))}")


def _parse_delimited(text: str, separator: str, dtypes: Mapping[str, ColumnKind], path: Path) -> pd.DataFrame:
    header, text = _check_layout(text, separator, path)
    _check_dtypes(dtypes, header, path)

    def parse(names: Sequence[str], as_words: Iterable[str]) -> pd.DataFrame:
        return pd.read_csv(
            io.StringIO(text, newline=""),
            sep=separator,
            header=0,
            names=header,
            usecols=list(names),
            index_col=False,
            dtype=dict.fromkeys(as_words, "str"),
            keep_default_na=False,
            na_values=[""],
            skip_blank_lines=False,
            low_memory=False,
        )

    frame = parse(header, [name for name, kind in dtypes.items() if kind != "number"])
    # pandas turns true and TRUE into one truth value; as categories they are what the file says
    truths = [name for name in header if frame[name].dtype == bool or _has_truths(frame[name])]
    if truths:
        frame[truths] = parse(truths, truths)
    return frame


def _has_truths(column: pd.Series) -> bool:
    return column.dtype == object and any(isinstance(value, bool) for value in column)


def _check_layout(text: str, separator: str, path: Path) -> tuple[list[str], str]:
    """Return the column names and the text without its blank lines, once every row has a cell for each name.

    pandas would rename repeated columns, fill up short rows and cut long ones without a word.
    """
    lines = list(io.StringIO(text, newline=""))
    header: list[str] = []
    blank: set[int] = set()
    row = 0
    with _cells_up_to(len(text)):
        for line, cells in _records(lines, separator, path):
            if not cells:
                blank.add(line - 1)
            elif not header:
                header = cells
                _check_names(header, path)
            else:
                row += 1
                if len(cells) != len(header):
                    raise InputError(
                        f"{path}: row {row} (line {line}) has {_count(len(cells), 'cell')} where the header has "
                        f"{len(header)}; quote a cell that contains {separator!r} and leave a missing one empty"
                    )
    if not row:
        raise InputError(f"{path} has no rows below its column names; add at least one")
    if blank:
        text = "".join(line for number, line in enumerate(lines) if number not in blank)
    return header, text


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _records(lines: Sequence[str], separator: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line and the cells of each record."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    line = 1
    try:
        for cells in reader:
            yield line, cells
            line = reader.line_num + 1
    except csv.Error:
        raise InputError(
            f"{path}: the quotes of the row that starts in line {line} do not match; "
            "close each quoted cell and double the quotes inside it"
        ) from None


@contextlib.contextmanager
def _cells_up_to(size: int) -> Iterator[None]:
    """Let csv read cells of this many characters: its own limit, 128 KiB, is too low for documents."""
    limit = csv.field_size_limit()
    csv.field_size_limit(max(size, limit))
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _parse_json_lines(text: str, path: Path) -> pd.DataFrame:
    records = [
        _parse_object(line, f"{path}: line {number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]
    names = list(dict.fromkeys(name for record in records for name in record))
    if not names:
        raise InputError(f"{path} has no columns; each line needs an object such as {{'a': 1}}")
    _check_names(names, path)
    columns = {name: [record.get(name) for record in records] for name in names}
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def _parse_object(line: str, where: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{where} names {twice!r} twice; rename or remove one")
        return record

    try:
        record = json.loads(line, object_pairs_hook=unique)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at character {error.pos + 1}"
        raise InputError(f"{where} is not valid JSON ({problem}); write one object a line") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} cannot be read as JSON ({error}); write one object a line") from None
    if not isinstance(record, dict):
        found = "a list" if isinstance(record, list) else f"the value {textwrap.shorten(repr(record), SUMMARY_WIDTH)}"
        raise InputError(f"{where} holds {found} where an object such as {{'a': 1}} is due; write one object a line")
    if "\\ud" in line.lower():
        try:
            json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])
            raise InputError(f"{where} holds half a character ({half}); write it as UTF-8") from None
    return record


def _parse_parquet(data: bytes, path: Path) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(pa.BufferReader(data)).read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} is not a whole parquet file; copy or write it again") from error
    names = [name for name in table.column_names if not name.startswith("__index_level_")]
    if not names:
        raise InputError(f"{path} has no columns; write the table again")
    _check_names(names, path)
    # without the metadata of pandas an index is a plain column; with objects an integer next to a gap stays one
    frame: pd.DataFrame = table.select(names).to_pandas(ignore_metadata=True, integer_object_nulls=True)
    return frame


def _converted(column: pd.Series, kind: ColumnKind | None, where: str) -> pd.Series:
    _check_flat(column, where)
    if kind == "number":
        return _numbers(column, where)
    if kind == "category":
        return _words(column).astype("category")
    if kind == "text":
        return _words(column)
    if isinstance(column.dtype, (pd.CategoricalDtype, pd.StringDtype)) or _is_numeric(column):
        return column
    cells = column.dropna()
    if all(isinstance(value, numbers.Number) and not isinstance(value, bool) for value in cells):
        return _numbers(column, where)
    return _words(column)


def _check_flat(column: pd.Series, where: str) -> None:
    if column.dtype != object:
        return
    for row, value in enumerate(column, start=1):
        if hasattr(value, "__len__") and not isinstance(value, str):
            raise InputError(
                f"{where}: column {column.name!r} holds a {type(value).__name__} in row {row}; "
                "make it one number or string a cell, or leave the column out"
            )


def _is_numeric(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _words(column: pd.Series) -> pd.Series:
    if isinstance(column.dtype, pd.StringDtype):
        return column
    words = [None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
    return pd.Series(words, index=column.index, name=column.name, dtype="str")


def _numbers(column: pd.Series, where: str) -> pd.Series:
    if _is_numeric(column):
        return column
    words = _words(column)
    bad = _not_numbers(words)
    if bad.any():
        values = listing((repr(value) for value in words[bad].unique()), limit=LISTED_LEVELS)
        raise InputError(
            f"{where}: column {column.name!r} is to be a number but has {values} in {flagged_rows(bad)}; "
            "correct or empty those cells, or make it a category"
        )
    found = pd.to_numeric(words)
    # integers beyond 64 bits come back as objects
    return words.astype(float) if found.dtype == object else found


def _not_numbers(words: pd.Series) -> pd.Series:
    """Flag the cells that are neither missing nor a number; the words "nan" and "NA" are none."""
    return pd.to_numeric(words, errors="coerce").isna() & words.notna()


def _summary(column: pd.Series, kind: str) -> str:
    cells = column.dropna()
    if cells.empty:
        return "no values"
    if kind == "number":
        return f"{cells.min():.6g} to {cells.max():.6g}"
    if kind == "text":
        return textwrap.shorten(str(cells.iloc[0]), SUMMARY_WIDTH, placeholder=" …")
    counts = cells.value_counts()
    counts = counts[counts > 0]
    levels = [
        f"{textwrap.shorten(str(level), SUMMARY_WIDTH, placeholder=' …')} {count}"
        for level, count in counts.head(LISTED_LEVELS).items()
    ]
    return ", ".join(levels) + (", …" if len(counts) > LISTED_LEVELS else "")


def _note(name: Hashable, column: pd.Series, kind: str) -> str:
    if column.isna().all():
        return f"column {name!r} has no values at all; leave it out"
    if kind == "category" and len(column) >= MANY_ROWS and column.nunique() > IDENTIFIER * len(column):
        return f"column {name!r} has a value of its own in almost every row, as the name of a row has; leave it out"
    if kind == "category" and not isinstance(column.dtype, pd.CategoricalDtype):
        return _almost_numbers(name, column)
    return ""


def _almost_numbers(name: Hashable, column: pd.Series) -> str:
    """Say which cells keep a column from being read as numbers, if the others are numbers."""
    words = _words(column)
    bad = _not_numbers(words)
    if not 0 < bad.sum() < (1 - ALMOST_NUMBERS) * column.notna().sum():
        return ""
    found = [f"{word!r} ({flagged_rows(words == word)})" for word in words[bad].unique()]
    cells = "that cell" if bad.sum() == 1 else "those cells"
    return (
        f"column {name!r} is read as categories because of {listing(found, limit=LISTED_LEVELS)}; "
        f'leave {cells} empty to read the column as numbers, or give it the dtype "category" if this is meant'
    )
