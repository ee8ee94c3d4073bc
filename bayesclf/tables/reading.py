"""Files of tables: read whole into a DataFrame, or batch by batch, as their owner means them; what was done is said."""

from __future__ import annotations

import glob
import io
import json
import os
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesclf.constraints import PATH, Instance, OrNone, most_bytes, require, require_bytes
from bayesclf.errors import InputError
from bayesclf.files import regular
from bayesclf.tables.columns import LONGEST_VALUE, ColumnKind, not_plain, require_column, require_kinds
from bayesclf.tables.delimited import decoded, encoding_of, opened, require_names, text_stream
from bayesclf.tables.options import (
    CONVERTED,
    ENDINGS,
    READING,
    SEPARATED,
    TEXT_ENDINGS,
    Wish,
    named_for,
    option,
    wish_of,
)
from bayesclf.tables.remarks import cut, require_emptied
from bayesclf.tables.streams import (
    ALL,
    NoRows,
    Stream,
    Wanted,
    batch_rows,
    changed,
    is_of_source,
    is_words,
    names_of,
    of_frame,
    reader,
    stream_of,
    written_out,
)
from bayesclf.wording import LISTED_NAMES, counted, did_you_mean, listed, one_line, written

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

STREAMED_ENDINGS = (".parquet", *TEXT_ENDINGS, *(f"{ending}.gz" for ending in TEXT_ENDINGS))
"""Endings of files that are read in batches."""

CELL = 8
"""Bytes of a number, and of a reference to a word."""

AT_ONCE = 2**24
"""Bytes of a file of text up to which it is read at once, and its rows are checked."""

BATCH_WORDS = 2**25
"""Bytes of words, as they are stored in a Parquet file, that are read at once."""

HEAD_LINES = 10
"""First rows of a sheet of Excel that may have the names of columns."""

INDEX = "__index_level_"
"""How the names of columns begin that pandas writes for an index without a name."""


def read_table(
    path: str | os.PathLike[str],
    kinds: Mapping[str, ColumnKind] | None = None,
    **reading: Any,
) -> pd.DataFrame:
    """Read a table from a file of text, JSON, Parquet, ARFF or Excel; text and JSON also packed by gzip or zip.

    Unless they are given, it finds encoding, separator, comments, header, decimal commas and signs such as % and
    $. It also finds codes for missing cells among numbers. A column of numbers is numeric, every other one holds words.
    Among words only an empty cell is missing: "NA" and "?" are words like any other. Blanks around words are left out.
    In JSON `null`, `NaN` and an absent key are missing, an empty string is a word, and strings stay words. Truth values
    are the words "True" and "False"; in text as they are written. The unnamed index that pandas writes into a parquet
    file is left out, a named one is a column. `bayesclf.datasets.read` also says what was done.

    Parameters
    ----------
    path : str or path-like
        The file; its ending, one of `ENDINGS`, says what it holds.
    kinds : mapping of str to {"number", "category", "text"}, optional
        What the named columns are, whatever they look like. "category": words as written in the file ("01" stays
        "01") with a pandas categorical dtype. "text": strings. "number": every cell is missing or a number.
    **reading : object
        What the user says about the layout of the file, as in `bayesclf.datasets.read`.

    Returns
    -------
    DataFrame
        One row per record, in the order of the file, indexed from 0. Infinite numbers are kept.

    Raises
    ------
    InputError
        If the file is not such a table, is a pipe or other special file, or needs more memory than BAYESCLF_MAX_BYTES
        (environment variable). Rows are counted from 1, without the header.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "weather.csv")
    ...     _ = path.write_text("code;rain;play\\n01;2,5;yes\\n02;;no\\n")
    ...     read_table(path, kinds={"code": "category"})
      code  rain play
    0   01   2.5  yes
    1   02   NaN   no
    """
    require(OrNone(Instance(Mapping, "a mapping from columns to kinds")), kinds=kinds)
    return read_file(path, wish_of(reading, kinds))[0]


def read_file(path: str | os.PathLike[str], wish: Wish) -> tuple[pd.DataFrame, Stream]:
    """Return the table of a file, and the stream that says what was done to read it; errors as in `read_table`."""
    require(PATH, path=path)
    path = Path(path)
    with regular(path, "a table"):
        ending = _ending(path)
    if ending == ".parquet":
        with _parquet(path) as parquet:
            about = parquet.metadata
            groups = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
            size = max(groups, CELL * about.num_rows * about.num_columns)
        require_bytes(size, str(path), "read it in batches, as fit_stream does")
        stream = _parquet_stream([path], str(path))
    else:
        stream = _whole_file(path, wish)
    table = whole(stream, wish)
    # as text, since pandas copies the attributes deeply with each column that it takes out of a table
    table.attrs[READING] = repr(stream.reading or {**wish.remembered(), "signs": stream.signs})
    return table, stream


def _whole_file(path: Path, wish: Wish, wanted: Wanted = ALL) -> Stream:
    """Return the stream of a file that is read at once, its rows checked."""
    ending, data = _ending(path), _read_bytes(path)
    where, notes = str(path), tuple[str, ...]()
    if ending == ".xlsx":
        data, sheet, others = _of_excel(data, path, wish.names)
        ending, wish = ".csv", replace(wish, usual_decimal=None)  # its numbers have points
        if others:
            said = f"the sheet {sheet!r} is read, and not {listed(map(repr, others), LISTED_NAMES)}"
            where, notes = f"{path} ({said})", (f"{said}; save another one as csv",)
    if ending in SEPARATED:
        stream = text_stream([path], where, wish, wanted, data)
        return replace(stream, notes=(*notes, *stream.notes))
    encoding = wish.encoding or encoding_of(data, True, path)
    frame = _parse_json(decoded(data, encoding, path), path)
    return replace(of_frame(str(path), frame), from_file=True, files=(path,))


def wished(stream: Stream, wish: Wish) -> Stream:
    """Return a stream with the kinds of columns, and the values that stand for "missing", that the user gives."""
    require_kinds(wish.kinds, stream.names, stream.where)
    for name in wish.emptied:
        require_column(name, stream.names, stream.where)
    codes = {name: own for name in stream.names if (own := wish.codes(name))}
    stream.signs.update(wish.signs or {})
    return replace(
        stream,
        kinds={**stream.kinds, **wish.kinds},
        missing={**stream.missing, **codes},
        reading=stream.reading or {**wish.remembered(), "signs": stream.signs},
    )


def whole(stream: Stream, wish: Wish) -> pd.DataFrame:
    """Return all rows of a table, with the cells emptied and the kinds of columns that the user asks for."""
    found = wished(stream, wish)
    table = found.whole()
    require_emptied(wish, found.names, found.emptied, found.where)
    return table


def _ending(path: Path) -> str:
    """Return the ending of a table file without that of its packing."""
    if (found := _among(ENDINGS, path)) is not None:
        return found
    for ending, line in CONVERTED.items():
        if path.name.lower().endswith(ending):
            said = line.format(path=path, csv=path.with_suffix(".csv").name)
            raise InputError(f"{path} is a file of another program; convert it by {said}")
    raise InputError(f"{path} has an ending that is not known; tables end in {listed(ENDINGS)}")


def _among(endings: Sequence[str], path: Path) -> str | None:
    """Return the ending of a file, one of some, without that of its packing."""
    name = path.name.lower()
    found = next((ending for ending in endings if name.endswith(ending)), None)
    return None if found is None else found.removesuffix(".gz").removesuffix(".zip")


def _read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, unpacked as far as memory may be taken."""
    packed = path.suffix.lower() in (".gz", ".zip")
    try:
        with opened(path) as file:
            data = file.read(most_bytes() + 1 if packed else -1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path and the disk") from error
    if packed:
        require_bytes(len(data), f"{path}, unpacked,", "give a part of it")
    return data


def _of_excel(data: bytes, path: Path, asked: Collection[str]) -> tuple[bytes, str, list[str]]:
    """Return the first sheet of an Excel file with a requested column, as csv, its name, and other names."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            require_bytes(sum(one.file_size for one in packed.infolist()), f"{path}, unpacked,", "give a part of it")
        with pd.ExcelFile(io.BytesIO(data), engine="openpyxl") as book:
            sheets = book.parse(None, header=None, dtype=str, keep_default_na=False, na_values=[""])
    except ImportError:
        raise InputError(f"{path} is an Excel file, which needs openpyxl; install it by pip install openpyxl") from None
    except (zipfile.BadZipFile, ValueError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not a whole Excel file ({one_line(error)}); save it again, or as csv") from error
    headers = {name: sheet.dropna(thresh=2).head(1) for name, sheet in sheets.items()}
    heads = {name: sheet.head(HEAD_LINES) for name, sheet in sheets.items()}
    known = [name for part in (headers, heads) for name, cells in part.items() if cells.isin(asked).any(axis=None)]
    chosen, *others = map(str, dict.fromkeys([*known, *sheets]))
    return sheets[chosen].to_csv(index=False, header=False).encode(), chosen, others


def _parse_json(text: str, path: Path) -> pd.DataFrame:
    """Return the table of a text: an object a line, or a list of objects."""
    whole = text.lstrip()[:1] != "{" and ".jsonl" not in path.name.lower()
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    records = _json(text, str(path)) if whole else [_json(line, f"{path}: line {number}") for number, line in lines]
    for place, record in enumerate(records if isinstance(records, list) else [records]):
        if not isinstance(record, dict):
            where = f"item {place + 1}" if whole else f"line {lines[place][0]}"
            found = "a list" if isinstance(record, list) else f"the value {written(record, LONGEST_VALUE)}"
            raise InputError(f"{path}: {where} holds {found} where an object such as {{'a': 1}} is due; write one")
    names = list(dict.fromkeys(name for record in records for name in record))
    if not names:
        raise InputError(f"{path} has no columns; each line needs an object such as {{'a': 1}}")
    require_names(names, path)
    size = f"{path} with {counted(len(records), 'row')} of {counted(len(names), 'key')} in all"
    require_bytes(CELL * len(records) * len(names), size, "use the same keys in all rows")
    return pd.DataFrame({name: pd.Series([row.get(name) for row in records], dtype=object) for name in names})


def _json(text: str, where: str) -> Any:
    """Return what a text of JSON holds; `where` is how messages call it."""
    try:
        found = json.loads(text)
        if "\\ud" in text.lower():
            json.dumps(found, ensure_ascii=False).encode()  # which fails for half a character
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at character {error.pos + 1}"
        raise InputError(f"{where} is not valid JSON ({problem}); write one object per line") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} cannot be read as JSON ({one_line(error)}); write one object per line") from None
    return found


def _parquet_stream(paths: Sequence[Path], where: str, wanted: Wanted = ALL) -> Stream:
    """Return the stream of Parquet files.

    Only the headers are read at first: they say what each column holds and how many rows there are. Each file must have
    all wanted columns, in any order, with numbers, or words, everywhere.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = dict[Path, tuple[str, ...]]()
    rows, plain = 0, frozenset[str]()
    for path in paths:
        with _parquet(path) as file:
            schema = file.schema_arrow
            own = tuple(name for name in schema.names if not name.startswith(INDEX))
            if not own:
                raise InputError(f"{path} has no columns; write the table again")
            require_names(own, path)
            for one in schema:
                if one.name in wanted.of(own) and pa.types.is_nested(one.type):
                    raise not_plain(f"cells of the type {one.type}", one.name, f"{path}: ")
            columns[path] = own
            plain |= written_out(schema)
            rows += file.metadata.num_rows
    names = names_of(columns, wanted)
    if not rows:
        raise NoRows(f"{where} has no rows; give at least one")

    def batches(path: Path, chosen: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield batches of some columns of a file."""
        with _parquet(path) as file:
            # words that are not stored as a dictionary by choice are read as codes, which takes far less time
            words = sorted(written_out(file.schema_arrow).intersection(chosen))
            size = _rows_at_once(file, chosen)
        with pq.ParquetFile(path, read_dictionary=words) as coded, _damage(path):
            yield from coded.iter_batches(size, columns=chosen)

    read = reader(lambda: ((str(path), partial(batches, path)) for path in paths))
    return Stream(where, names, rows, read, from_file=True, written=plain, files=tuple(paths))


def _rows_at_once(file: pq.ParquetFile, chosen: Sequence[str]) -> int:
    """Return how many rows of some columns are read at once: fewer where words, such as documents, are long."""
    about = file.metadata
    long = {name for name in chosen if is_words(file.schema_arrow.field(name).type)}
    places = [place for place in range(about.num_columns) if about.schema.column(place).path in long] if long else []
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    words = sum(int(group.column(place).total_uncompressed_size) for group in groups for place in places)
    return max(1, min(batch_rows(len(chosen)), BATCH_WORDS * int(about.num_rows) // max(1, words)))


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Say in a sentence that a file is damaged."""
    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # names and metadata of damaged files are not UTF-8
        raise InputError(f"{path} is not a whole parquet file; copy or write it again") from error


@contextmanager
def _parquet(path: Path) -> Iterator[pq.ParquetFile]:
    import pyarrow.parquet as pq

    with regular(path, "a table") as file, _damage(path), pq.ParquetFile(file) as found:
        yield found


@named_for("stream")
def open_stream(source: Any, wish: Wish | None = None, wanted: Wanted = ALL) -> Stream:
    """Return a table as a stream.

    Parameters
    ----------
    source
        A file that `read_table` takes; a folder of Parquet or text files (also gzipped), or a glob; a pyarrow data set,
        table or reader; a polars LazyFrame, a DuckDB relation, a dask.dataframe; any table that offers Arrow's stream
        interface; a DataFrame; an iterable of tables; or a function without arguments that returns one.
    wish
        What the user says about the table and its columns.
    wanted
        The columns that matter, in their order; parts of the stream may differ in others.

    Raises
    ------
    InputError
        If it is not one of these, or cannot be read.
    """
    wish = replace(wish or Wish(), known=(*wanted.needed, *wanted.drop))
    try:
        found = _opened(source, wish, wanted)
    except Exception as error:
        if not is_of_source(error):
            raise
        raise InputError(f"the source cannot be read ({one_line(error)}); look at what it reads") from error
    lacking = [name for name in wanted.needed if name not in found.names]
    if lacking:
        some = listed(map(repr, lacking), LISTED_NAMES)
        remedy = "add it, empty where unknown"
        if separator := wish.separator:
            remedy += f", or give another separator than {option('separator', separator)}"
        meant = did_you_mean(lacking[0], found.names)
        raise InputError(f"{found.where} lacks column {some}{meant}, which is needed; {remedy}")
    target = wish.among(found.names).target
    if wish.classes and target in found.names and found is not source:
        found = changed(found, str(target), lambda y: cut(y, wish.classes))
    for name in wanted.drop:
        require_column(name, found.names, found.where)
    found = wished(found, wish)
    return found.select([*wanted.of_rows(found.names), *(wanted.needed or wanted.of(found.names))])


def _opened(source: Any, wish: Wish, wanted: Wanted) -> Stream:
    """Return the stream of a source of any kind."""
    if isinstance(source, Stream):
        return source
    if not isinstance(source, str | os.PathLike):
        return stream_of(source, wanted)
    path = os.fspath(source)
    if os.path.isfile(path):
        ending = _streamed_ending(Path(path))
        if ending is None or (ending != ".parquet" and os.path.getsize(path) <= AT_ONCE):
            return _whole_file(Path(path), wish, wanted)
    paths = files_of(path)
    endings = {_streamed_ending(one) or one.suffix for one in paths}
    if len(endings) > 1:
        raise InputError(f"{path} has files of several kinds, {listed(sorted(map(str, endings)))}; choose by a glob")
    return _parquet_stream(paths, path, wanted) if endings == {".parquet"} else text_stream(paths, path, wish, wanted)


def is_streamed(table: str, most_bytes: int | None) -> bool:
    """Return whether a path is one to read in batches: a folder, a glob, or files of more bytes, if given."""
    if most_bytes is None or not os.path.isfile(table):
        return os.path.isdir(table) or (not os.path.exists(table) and glob.has_magic(table))
    return _streamed_ending(Path(table)) is not None and os.path.getsize(table) > most_bytes


def is_name(table: str) -> bool:
    """Return whether what a command is given is no path, but the name of a data set."""
    return not os.path.exists(table) and not glob.has_magic(table) and _streamed_ending(Path(table)) is None


def files_of(path: str) -> list[Path]:
    """Return the files of a path: itself, those in a folder or those that a glob matches, sorted."""
    known = listed(STREAMED_ENDINGS)
    if os.path.isdir(path):
        inside = [file for file in sorted(Path(path).rglob("*")) if file.is_file() and _streamed_ending(file)]
        parts = {file: file.relative_to(path).parts for file in inside}
        found = [file for file in inside if not any(part.startswith((".", "_")) for part in parts[file])]
        if not found:
            raise InputError(f"{path} is a folder, and no file in it ends in {known}; choose another")
        keyed = next((part for file in found for part in parts[file][:-1] if "=" in part), None)
        if keyed is not None:
            raise InputError(
                f"{path} has folders such as {keyed}, whose names are cells; give "
                f"pyarrow.dataset.dataset({path!r}, partitioning='hive') in Python"
            )
        return found
    if os.path.exists(path) or not glob.has_magic(path):
        found = [Path(path)]
        if not os.path.exists(path):
            raise InputError(f"{path} does not exist; check the path")
    else:
        found = [Path(file) for file in sorted(glob.glob(path, recursive=True)) if os.path.isfile(file)]
        if not found:
            raise InputError(f"no file matches {path}; check the pattern")
        for file in found:
            if _streamed_ending(file) is None:
                raise InputError(f"{file} has an ending that is not read in batches; such tables end in {known}")
    return found


def _streamed_ending(path: Path) -> str | None:
    """Return the ending of a file without ".gz"; None for one that is not read in batches."""
    return _among(STREAMED_ENDINGS, path)


def require_elsewhere(output: Path, source: Any, option: str) -> None:
    """Raise `InputError` if a result would replace a file of a stream, or become one when it is read again."""
    own = Path(os.path.realpath(output))
    if isinstance(source, list | tuple):
        for part in source:
            require_elsewhere(output, part, option)
        return
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if os.path.isdir(path):
            if _streamed_ending(own) is not None and own.is_relative_to(os.path.realpath(path)):
                raise InputError(f"{option} {output} is in the folder {path}, which is read; choose another folder")
        elif not os.path.exists(path) and fnmatch(str(own), os.path.abspath(path)):
            raise InputError(f"{option} {output} matches {path}, which is read; choose another name")
        files: list[Any] = [*files_of(path)] if os.path.exists(path) or glob.has_magic(path) else []
    else:
        files = [file for file in getattr(source, "files", None) or () if isinstance(file, str)]
    for file in files:
        if own.exists() and os.path.exists(file) and own.samefile(file):
            raise InputError(f"{option} {output} is also {file}, which is read; choose another name")
