"""Tables: reading a file into a DataFrame, without silent guesses."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import textwrap
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bayesclf.errors import InputError
from bayesclf.tables.columns import ColumnKind
from bayesclf.tables.kinds import convert_columns, require_kinds
from bayesclf.wording import counted, listed

SEPARATORS = {".csv": ",", ".tsv": "\t"}
TEXT_ENDINGS = (*SEPARATORS, ".jsonl")
ENDINGS = (*TEXT_ENDINGS, *(f"{ending}.gz" for ending in TEXT_ENDINGS), ".parquet")

LONGEST_VALUE = 48
"""The most characters of a value that an error message shows."""


def read_table(path: str | os.PathLike[str], dtypes: Mapping[str, ColumnKind] | None = None) -> pd.DataFrame:
    """Read a table from a csv, tsv, jsonl or parquet file; csv, tsv and jsonl also gzipped.

    Text is UTF-8. pandas infers the type of each column: a column of numbers is numeric, every other one
    holds words. **Only an empty cell is missing** in csv and tsv: "NA", "None", "null", "nan" and "?" are words
    like any other, so one of them in a column of numbers turns that column into categories, and
    `describe_columns` says so. In jsonl (one object per line, lines end at ``\\n`` only) `null`, `NaN` and an absent
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
        One row per record, in the order of the file, indexed from 0. Infinite numbers are kept.

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
    raise InputError(f"{path} has an ending that is not known; tables end in {listed(ENDINGS)}")


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


def _parse_delimited(text: str, separator: str, dtypes: Mapping[str, ColumnKind], path: Path) -> pd.DataFrame:
    header, text = _check_layout(text, separator, path)
    require_kinds(dtypes, header, str(path))

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
                    found = counted(len(cells), "cell", thousands="")
                    raise InputError(
                        f"{path}: row {row} (line {line}) has {found} where the header has {len(header)}; "
                        f"quote a cell that contains {separator!r} and leave a missing one empty"
                    )
    if not row:
        raise InputError(f"{path} has no rows below its column names; add at least one")
    if blank:
        text = "".join(line for number, line in enumerate(lines) if number not in blank)
    return header, text


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
        raise InputError(f"{where} is not valid JSON ({problem}); write one object per line") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} cannot be read as JSON ({error}); write one object per line") from None
    if not isinstance(record, dict):
        found = "a list" if isinstance(record, list) else f"the value {textwrap.shorten(repr(record), LONGEST_VALUE)}"
        raise InputError(f"{where} holds {found} where an object such as {{'a': 1}} is due; write one object per line")
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
