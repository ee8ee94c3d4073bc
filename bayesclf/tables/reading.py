"""Tables: reading a file into a DataFrame, without silent guesses."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import json
import os
import textwrap
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pandas as pd

from bayesclf.constraints import PATH, Instance, OrNone, Whole, require
from bayesclf.errors import InputError
from bayesclf.files import regular
from bayesclf.tables import parquet
from bayesclf.tables.columns import ColumnKind
from bayesclf.tables.kinds import convert_columns, require_kinds
from bayesclf.tables.stream_paths import MAX_BYTES, require_names, too_large
from bayesclf.wording import counted, listed

SEPARATORS = {".csv": ",", ".tsv": "\t"}
TEXT_ENDINGS = (*SEPARATORS, ".jsonl")
ENDINGS = (*TEXT_ENDINGS, *(f"{ending}.gz" for ending in TEXT_ENDINGS), ".parquet")

PIECE = 2**20
"""Bytes that are unpacked at once."""

LONGEST_VALUE = 48
"""The most characters of a value that an error message shows."""


def read_table(
    path: str | os.PathLike[str], dtypes: Mapping[str, ColumnKind] | None = None, max_bytes: int = MAX_BYTES
) -> pd.DataFrame:
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
    max_bytes : int, optional
        The most bytes that a gzip file is unpacked to, and that a parquet file declares for its cells; without effect
        on other files, whose size everyone sees.

    Returns
    -------
    DataFrame
        One row per record, in the order of the file, indexed from 0. Infinite numbers are kept.

    Raises
    ------
    InputError
        If the file cannot be read as such a table, is not an ordinary file, such as a pipe, or is larger than allowed.
        Rows are counted from 1, without the header; a column without a name, such as the index column of a table saved
        by pandas, is an error.

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
    require(PATH, path=path)
    require(OrNone(Instance(Mapping, "a mapping from columns to kinds")), dtypes=dtypes)
    require(Whole(1), max_bytes=max_bytes)
    path = Path(path)
    dtypes = dict(dtypes or {})
    with regular(path, "a table") as file:
        ending = _ending(path)
        data = _read_bytes(file, path, max_bytes)
    if ending in SEPARATORS:
        frame = _parse_delimited(_decode(data, path), SEPARATORS[ending], dtypes, path)
    elif ending == ".jsonl":
        frame = _parse_json_lines(_decode(data, path), path, max_bytes)
    else:
        frame = parquet.read(data, path, max_bytes)
    if frame.empty:
        raise InputError(f"{path} has no rows below its column names; add at least one")
    return convert_columns(frame, dtypes, str(path))


def _ending(path: Path) -> str:
    """Return the ending of a table file without ".gz"."""
    name = path.name.lower()
    for ending in ENDINGS:
        if name.endswith(ending):
            return ending.removesuffix(".gz")
    raise InputError(f"{path} has an ending that is not known; tables end in {listed(ENDINGS)}")


def _read_bytes(file: IO[bytes], path: Path, max_bytes: int) -> bytes:
    """Return the bytes of a file, unpacked; at most `max_bytes` of what was packed."""
    try:
        data = _unpacked(file, path, max_bytes) if path.name.lower().endswith(".gz") else file.read()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path and the disk") from error
    if not data:
        raise InputError(f"{path} is empty; it needs column names and at least one row")
    return data


def _unpacked(file: IO[bytes], path: Path, max_bytes: int) -> bytes:
    """Return what a gzip file holds, whose size is found first without keeping any of it."""
    try:
        size = 0
        with gzip.GzipFile(fileobj=file) as packed:
            while size <= max_bytes and (piece := packed.read(PIECE)):
                size += len(piece)
        if size > max_bytes:
            raise InputError(too_large(f"{path} is packed and holds", max_bytes))
        file.seek(0)
        with gzip.GzipFile(fileobj=file) as packed:
            return packed.read()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a whole gzip file ({error}); copy or pack it again") from error


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


def _parse_delimited(text: str, separator: str, dtypes: Mapping[str, ColumnKind], path: Path) -> pd.DataFrame:
    header, text = _check_layout(text, separator, path)
    require_kinds(dtypes, header, str(path))

    def parse(names: Sequence[str], as_words: Iterable[str]) -> pd.DataFrame:
        """Return some columns as pandas reads them, some of them as words."""
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
    types = pd.api.types
    # pandas turns true and TRUE into one truth value; as categories they are what the file says
    truths = [
        name
        for name, dtype in zip(header, frame.dtypes, strict=True)
        if types.is_bool_dtype(dtype)
        or (types.is_object_dtype(dtype) and any(isinstance(value, bool) for value in frame[name]))
    ]
    if truths:
        frame[truths] = parse(truths, truths)
    # pandas keeps each column by itself, so that whatever is done to a wide table takes longer for each of them
    return frame.copy() if frame.shape[1] > len(frame) else frame


def _check_layout(text: str, separator: str, path: Path) -> tuple[list[str], str]:
    """Return the column names and the text without its blank lines, once every row has a cell for each name.

    pandas would rename repeated columns, fill up short rows and cut long ones without a word.
    """
    header: list[str] = []
    blank = bytearray()
    row = 0
    with _cells_up_to(len(text)):
        for first, last, cells in _records(io.StringIO(text, newline=""), separator, path):
            blank.extend([not cells] * (last - first + 1))
            if cells and not header:
                header = cells
                require_names(header, path)
            elif cells:
                row += 1
                if len(cells) != len(header):
                    found = counted(len(cells), "cell", thousands="")
                    raise InputError(
                        f"{path}: row {row} (line {first}) has {found} where the header has {len(header)}; "
                        f"quote a cell that contains {separator!r} and leave a missing one empty"
                    )
    if not row:
        raise InputError(f"{path} has no rows below its column names; add at least one")
    if any(blank):
        kept = io.StringIO(newline="")
        kept.writelines(itertools.compress(io.StringIO(text, newline=""), (not one for one in blank)))
        text = kept.getvalue()
    return header, text


def _records(lines: Iterable[str], separator: str, path: Path) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the numbers of the first and the last line, and the cells, of each record."""
    reader = csv.reader(lines, delimiter=separator, strict=True)
    line = 1
    try:
        for cells in reader:
            yield line, reader.line_num, cells
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


def _parse_json_lines(text: str, path: Path, max_bytes: int) -> pd.DataFrame:
    records = [
        parse_object(line, f"{path}: line {number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]
    names = list(dict.fromkeys(name for record in records for name in record))
    if not names:
        raise InputError(f"{path} has no columns; each line needs an object such as {{'a': 1}}")
    require_names(names, path)
    absent = len(records) * len(names) - sum(map(len, records))
    if absent > max_bytes // parquet.CELL:
        size = f"{counted(len(records), 'line')} of {counted(len(names), 'key')} in all"
        raise InputError(too_large(f"{path} has {size}, whose absent cells take", max_bytes))
    columns = {name: [record.get(name) for record in records] for name in names}
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


def parse_object(line: str, where: str) -> dict[str, Any]:
    """Return the object that a line of JSON holds; `where` is how messages call the line."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Return a record of pairs, or refuse a name that stands twice."""
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
