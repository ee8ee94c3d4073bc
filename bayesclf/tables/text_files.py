"""Tables in JSON: an object a line, whole or batch by batch, and lists of objects."""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from bayesclf.errors import InputError
from bayesclf.tables import parquet
from bayesclf.tables.batches import ALL, NoRows, Wanted, pieces_of_files
from bayesclf.tables.columns import LONGEST_VALUE, not_plain
from bayesclf.tables.levels import word
from bayesclf.tables.stream_paths import require_names, too_large
from bayesclf.tables.writing import Held
from bayesclf.wording import counted, one_line, written

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

BLOCK = 2**24
"""Bytes of a file that are read at once."""

LONGEST_LINE = 2**28
"""The most bytes of a line: a file that is one array has one line, which need not fit into memory."""

DEEPEST = 500
"""How deep the values of a line may be nested where Arrow reads it; deeper ones are read more slowly."""

FIRST_CHARACTER = re.compile(rb"^[ \t\r]*([^ \t\r\n])", re.MULTILINE)
"""What begins a line that is not blank."""

TYPES: dict[Held, str] = {
    "nothing": "null",
    "whole": "int64",
    "digits": "int64",
    "number": "float64",
    "truth": "bool",
    "words": "string",
}
"""As what Arrow reads the cells of a column."""


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
    from bayesclf.tables.batches import to_table

    keys = _Keys()
    rows = dict.fromkeys(paths, 0)
    for path in paths:
        for block in _blocks(path):
            size, found = block.keys(wanted)
            keys.add(size, found)
            rows[path] += size
    if not keys.rows:
        raise NoRows(f"{where} has no rows; write one object per line, such as {{'a': 1}}")
    names = tuple(keys.held)
    if not names:
        raise InputError(f"{where} has no columns; each line needs an object such as {{'a': 1}}")
    require_names(names, Path(where))
    types = {name: keys.type_of(name, kinds.get(name, "number") == "number") for name in names}

    def read(chosen: tuple[str, ...], after: int = 0) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, after so many rows, each with its file's name."""
        own = {name: types[name] for name in chosen}
        found = pieces_of_files(paths, rows, lambda path: (block.cells(own) for block in _blocks(path)), after)
        for path, piece in found:
            yield path, to_table(piece)

    words = frozenset(name for name, own in types.items() if own in ("words", "digits", "truth"))
    return names, keys.rows, words, read


@dataclass
class _Keys:
    """The keys of all objects so far.

    Attributes
    ----------
    rows
        Number of objects.
    held
        What cells of each key hold.
    gaps
        Keys of which a cell is missing.
    """

    rows: int = 0
    held: dict[str, Held] = field(default_factory=dict)
    gaps: set[str] = field(default_factory=set)

    def add(self, rows: int, found: Mapping[str, tuple[Held, bool]]) -> None:
        """Add some rows: what each of their keys holds, and whether some of its cells are missing."""
        if not rows:
            return
        self.gaps.update(self.held.keys() - found.keys(), found.keys() - self.held.keys() if self.rows else ())
        self.gaps.update(name for name, (_, gaps) in found.items() if gaps)
        for name, (own, _) in found.items():
            self.held[name] = _united(self.held.get(name, "nothing"), own)
        self.rows += rows

    def type_of(self, name: str, undeclared: bool) -> Held:
        """Return as what a column is read: with a gap, whole numbers are reals, as in a table in memory."""
        own = self.held[name]
        if not undeclared:
            return "digits" if own == "whole" else own if own == "truth" else "words"
        return "number" if own == "whole" and name in self.gaps else own


def _united(one: Held, other: Held) -> Held:
    """Return what a column holds of which parts hold these."""
    if "nothing" in (one, other):
        return one if other == "nothing" else other
    if one == other:
        return one
    return "number" if {one, other} == {"whole", "number"} else "words"


@dataclass(frozen=True)
class _Block:
    """Some lines of a file.

    Attributes
    ----------
    path
        The file.
    data
        The lines.
    first
        Number of the first one.
    """

    path: Path
    data: bytes
    first: int

    def keys(self, wanted: Wanted) -> tuple[int, dict[str, tuple[Held, bool]]]:
        """Return how many objects there are, what each key holds, and whether some of its cells are missing."""
        table = self._table()
        if table is not None and self._one_object_per_line(table.num_rows):
            found = {}
            for column in table.schema:
                own = _held_by(column.type)
                if own is None and wanted.of([column.name]):
                    raise not_plain(f"cells of the type {column.type}", column.name, f"{self.path}: ")
                found[column.name] = (own or "words", table[column.name].null_count > 0)
            return table.num_rows, found
        records = self._records()
        columns = {name: [record.get(name) for record in records] for name in _names(records)}
        for name in wanted.of(columns):
            nested = next((cell for cell in columns[name] if isinstance(cell, dict | list)), None)
            if nested is not None:
                raise not_plain(written(nested, LONGEST_VALUE), name, f"{self.path}: ")
        return len(records), {name: (_held(cells), None in cells) for name, cells in columns.items()}

    def cells(self, types: Mapping[str, Held]) -> pa.RecordBatch:
        """Return columns, each as what it is to be read as; truth values as words."""
        import pyarrow as pa
        import pyarrow.compute as pc

        table = self._table(pa.schema([(name, TYPES[own]) for name, own in types.items()]))
        if table is None:
            records = self._records()
            arrays = [_array([record.get(name) for record in records], own) for name, own in types.items()]
            return pa.RecordBatch.from_arrays(arrays, names=list(types))
        arrays = []
        for name, own in types.items():
            column = table[name].combine_chunks()
            if own == "truth":
                column = pc.if_else(column, "True", "False")
            arrays.append(column.cast({"nothing": "float64", "digits": "string"}.get(own, column.type)))
        return pa.RecordBatch.from_arrays(arrays, names=list(types))

    def _one_object_per_line(self, objects: int) -> bool:
        """Return whether each line that is not blank begins an object: Arrow also takes several of them, or a part."""
        begun = FIRST_CHARACTER.findall(self.data)
        return len(begun) == objects and set(begun) <= {b"{"}

    def _table(self, schema: pa.Schema | None = None) -> pa.Table | None:
        """Return what Arrow reads: all columns, or those of a schema; None of cells of several types, and of damage."""
        import pyarrow as pa
        from pyarrow import json

        if self._deep():
            return None
        once = json.ReadOptions(use_threads=False, block_size=len(self.data))
        parse = json.ParseOptions(
            explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"
        )
        try:
            table = json.read_json(pa.BufferReader(self.data), once, parse)
            table.validate(full=True)  # text that is not UTF-8 is found only now
        except pa.ArrowInvalid:
            return None
        return table

    def _deep(self) -> bool:
        """Return whether brackets, those in words too, open so deep that Arrow's recursion could end the process."""
        objects = self.data.count(b"\n") + 1
        if self.data.count(b"[") + self.data.count(b"{") <= objects + DEEPEST:
            return False
        step = np.zeros(256, dtype=np.int8)
        step[[*b"[{"]], step[[*b"]}"]] = 1, -1
        return bool(step[np.frombuffer(self.data, dtype=np.uint8)].cumsum(dtype=np.int32).max() > DEEPEST)

    def _records(self) -> list[dict[str, Any]]:
        """Return the objects of the lines, as `read_table` reads them; what is wrong is said with its line."""
        try:
            text = self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = self.first + self.data.count(b"\n", 0, error.start)
            raise InputError(f"{self.path} is not UTF-8 text (line {line}); save it as UTF-8") from None
        lines = enumerate(text.split("\n"), start=self.first)
        return [parse_object(line, f"{self.path}: line {number}") for number, line in lines if line.strip()]


def _blocks(path: Path) -> Iterator[_Block]:
    """Yield whole lines of a file, so many as fit into a block, at least one."""
    from bayesclf.files import regular

    first = 1
    with regular(path, "a table") as packed:
        file = cast("IO[bytes]", gzip.GzipFile(fileobj=packed)) if path.name.lower().endswith(".gz") else packed
        while data := _lines(file, path):
            yield _Block(path, data.removeprefix(b"\xef\xbb\xbf") if first == 1 else data, first)
            first += data.count(b"\n")


def _lines(file: IO[bytes], path: Path) -> bytes:
    """Return the next lines; empty at the end."""
    try:
        data = file.read(BLOCK)
        rest = file.readline(LONGEST_LINE) if data else b""
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a whole gzip file ({error}); copy or pack it again") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the path and the disk") from error
    if len(rest) == LONGEST_LINE:
        raise InputError(f"{path} has a line of more than {LONGEST_LINE:,} bytes; write one object per line")
    return data + rest


def _names(records: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for record in records for name in record))


def _held_by(kind: pa.DataType) -> Held | None:
    """Return what cells of a type are; None of several values. Arrow takes words that look like times for times."""
    import pyarrow as pa

    types = pa.types
    if types.is_nested(kind):
        return None
    if types.is_null(kind):
        return "nothing"
    if types.is_boolean(kind):
        return "truth"
    return "whole" if types.is_integer(kind) else "number" if types.is_floating(kind) else "words"


def _held(cells: Sequence[Any]) -> Held:
    """Return what values of JSON are."""
    found = [cell for cell in cells if cell is not None]
    if not found:
        return "nothing"
    if any(isinstance(cell, bool) for cell in found):
        return "truth" if all(isinstance(cell, bool) for cell in found) else "words"
    if not all(isinstance(cell, Real) for cell in found):
        return "words"
    return "whole" if all(isinstance(cell, int) and -(2**63) <= cell < 2**63 for cell in found) else "number"


def _array(cells: Sequence[Any], own: Held) -> pa.Array:
    """Return values of JSON as cells of a column."""
    import pyarrow as pa

    if own == "whole":
        return pa.array(cells, pa.int64())
    if own in ("nothing", "number"):
        return pa.array([None if cell is None else _real(cell) for cell in cells], pa.float64(), from_pandas=False)
    return pa.array([None if cell is None or cell != cell else word(cell) for cell in cells], pa.string())


def _real(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, number)


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
