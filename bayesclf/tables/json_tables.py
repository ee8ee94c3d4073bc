"""Tables in JSON: an object a line, whole or batch by batch, and lists of objects."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from bayesclf.errors import InputError
from bayesclf.tables import parquet
from bayesclf.tables.batches import ALL, NoRows, Wanted, pieces_of_files, to_table
from bayesclf.tables.columns import LONGEST_VALUE, not_plain
from bayesclf.tables.levels import word
from bayesclf.tables.stream_paths import require_names, too_large
from bayesclf.wording import counted, one_line, written

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

BLOCK = 2**24
"""Bytes of a file whose lines are held at once."""

LONGEST_LINE = 2**28
"""The most bytes of a line: a file that is one array has one line, which need not fit into memory."""

type Record = dict[str, Any]


def json_stream(
    paths: Sequence[Path], where: str, kinds: Mapping[str, str], wanted: Wanted = ALL
) -> tuple[tuple[str, ...], int, frozenset[str], Callable[..., Iterator[tuple[str, pd.DataFrame]]]]:
    """Return the columns of some files, their rows, which are words, and a function that reads columns batch by batch.

    As in `bayesclf.tables.reading.read_table` the columns are the keys of all objects, in the order in which they
    occur, and a key that an object lacks is a missing cell; a column holds numbers where all its other cells are
    numbers, which takes a first pass.

    Parameters
    ----------
    paths
        The files.
    where
        How messages call all of them.
    kinds
        Declared kinds of columns: cells of one of words are written out, each as it is.
    wanted
        Which columns matter; cells of the others may be anything.
    """
    found: dict[str, set[type]] = defaultdict(set)
    filled: Counter[str] = Counter()
    rows = dict.fromkeys(paths, 0)
    for path in paths:
        for records in _blocks(path):
            rows[path] += len(records)
            for record in records:
                for name, cell in record.items():
                    found[name].add(_sort(cell))
                filled.update(name for name, cell in record.items() if cell is not None)
            _require_flat(records, found, wanted, path)
    if not any(rows.values()):
        raise NoRows(f"{where} has no rows; write one object per line, such as {{'a': 1}}")
    names = tuple(found)
    if not names:
        raise InputError(f"{where} has no columns; each line needs an object such as {{'a': 1}}")
    require_names(names, Path(where))
    total = sum(rows.values())
    types = {
        name: str if kinds.get(name, "number") != "number" else _held(found[name], filled[name] < total)
        for name in names
    }

    def read(chosen: tuple[str, ...], after: int = 0) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, after so many rows, each with its file's name."""
        own = {name: types[name] for name in chosen}
        for path, piece in pieces_of_files(paths, rows, lambda path: (_batch(b, own) for b in _blocks(path)), after):
            yield path, to_table(piece)

    return names, total, frozenset(name for name, own in types.items() if own is str), read


def _sort(cell: Any) -> type:
    """Return the type of a cell; whole numbers that need more than 64 bits are reals."""
    return float if type(cell) is int and not -(2**63) <= cell < 2**63 else type(cell)


def _held(sorts: set[type], gaps: bool) -> type:
    """Return what cells of some types are read as; with a gap, whole numbers are reals, as in a table in memory."""
    if not sorts <= {int, float, type(None)}:
        return str
    return float if gaps or float in sorts else int


def _require_flat(records: Sequence[Record], found: Mapping[str, set[type]], wanted: Wanted, path: Path) -> None:
    """Raise for a cell of several values in a column that matters."""
    for name in wanted.of([name for name, sorts in found.items() if sorts & {dict, list}]):
        nested = next(record[name] for record in records if isinstance(record.get(name), dict | list))
        raise not_plain(written(nested, LONGEST_VALUE), name, f"{path}: ")


def _batch(records: Sequence[Record], types: Mapping[str, type]) -> pa.RecordBatch:
    """Return columns of some records, each as what it is to be read as."""
    import pyarrow as pa

    arrays = [_array([record.get(name) for record in records], own) for name, own in types.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(types))


def _array(cells: Sequence[Any], own: type) -> pa.Array:
    import pyarrow as pa

    if own is int:
        return pa.array(cells, pa.int64())
    if own is float:
        return pa.array([None if cell is None else _real(cell) for cell in cells], pa.float64(), from_pandas=False)
    return pa.array([None if cell is None or cell != cell else word(cell) for cell in cells], pa.string())


def _real(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _blocks(path: Path) -> Iterator[list[Record]]:
    """Yield the objects of so many lines as fit into a block, at least one."""
    from bayesclf.files import regular

    records: list[Record] = []
    size = 0
    with regular(path, "a table") as packed:
        file = cast("IO[bytes]", gzip.GzipFile(fileobj=packed)) if path.name.lower().endswith(".gz") else packed
        for number, line in enumerate(_lines(file, path), start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise InputError(f"{path} is not UTF-8 text (line {number}); save it as UTF-8") from None
            if text.strip():
                records.append(parse_object(text, f"{path}: line {number}"))
            size += len(line)
            if size > BLOCK:
                yield records
                records, size = [], 0
    if records:
        yield records


def _lines(file: IO[bytes], path: Path) -> Iterator[bytes]:
    try:
        while line := file.readline(LONGEST_LINE):
            if len(line) == LONGEST_LINE:
                raise InputError(f"{path} has a line of more than {LONGEST_LINE:,} bytes; write one object per line")
            yield line
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a whole gzip file ({error}); copy or pack it again") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path and the disk") from error


def parse_json(text: str, path: Path, max_bytes: int, lines: bool) -> pd.DataFrame:
    """Return the table of a text: an object a line, or, where `lines` is false, a list of objects."""
    import pandas as pd

    if lines or text.lstrip()[:1] == "{":
        records = [
            parse_object(line, f"{path}: line {number}")
            for number, line in enumerate(text.split("\n"), start=1)
            if line.strip()
        ]
    else:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path} is not valid JSON ({one_line(error)}); write a list of objects") from None
        if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
            raise InputError(f"{path} is no list of objects such as [{{'a': 1}}]; write one object for each row")
        records = found
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
        found = "a list" if isinstance(record, list) else f"the value {written(record, LONGEST_VALUE)}"
        raise InputError(f"{where} holds {found} where an object such as {{'a': 1}} is due; write one object per line")
    if "\\ud" in line.lower():
        try:
            json.dumps(record, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = ascii(error.object[error.start])
            raise InputError(f"{where} holds half a character ({half}); write it as UTF-8") from None
    return record
