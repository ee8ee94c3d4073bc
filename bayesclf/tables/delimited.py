"""csv and tsv files of any size: read twice, first to find what each column holds, then batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bayesclf.errors import InputError
from bayesclf.tables.batches import ALL, NoRows, Wanted, lacking_or_other, pieces_of_files
from bayesclf.tables.limits import require_names
from bayesclf.wording import one_line

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

BLOCK = 2**24
"""Bytes of a file that are read at once."""

HEXADECIMAL = "^-?0[xX]"
"""Pattern of words that Arrow reads as integers."""

type Held = Literal["whole", "number", "words"]


def stream(
    paths: Sequence[Path],
    where: str,
    kinds: Mapping[str, str],
    missing: Mapping[str, Sequence[str]],
    wanted: Wanted = ALL,
) -> tuple[tuple[str, ...], int, frozenset[str], Callable[..., Iterator[tuple[str, pd.DataFrame]]]]:
    """Return the columns of some files, their rows, which are words, and a function that reads columns batch by batch.

    As in `bayesclf.tables.reading.read_table` only an empty cell is missing, and a column holds numbers where all its
    other cells are numbers, which takes a first pass.

    Parameters
    ----------
    paths
        The files.
    where
        How messages call all of them.
    kinds
        Declared kinds of columns: one of words is not looked at.
    missing
        By column, words that stand for "missing", as an empty cell does.
    wanted
        Which columns matter; of the others the files may have different ones.
    """
    from bayesclf.tables.arrow import to_table

    names = _header(paths[0])
    own = wanted.of(names)
    for path in paths[1:]:
        found = _header(path)
        lacking_or_other(found, names, str(path), str(paths[0]), wanted)
        names = (*names, *(name for name in found if name not in names))
    held: dict[str, Held] = {name: "words" if kinds.get(name, "number") != "number" else "whole" for name in own}
    gaps = dict.fromkeys(own, False)
    rows = dict.fromkeys(paths, 0)
    for path in paths:
        for batch in _words(path, own or names[:1], missing):
            rows[path] += batch.num_rows
            for name in own:
                column = batch.column(name)
                gaps[name] |= column.null_count > 0
                held[name] = _narrowed(column, held[name])
    if not sum(rows.values()):
        raise NoRows(f"{where} has no rows below its column names; add at least one")
    types = {name: "number" if own == "whole" and gaps[name] else own for name, own in held.items()}

    def read(chosen: tuple[str, ...], after: int = 0) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, after so many rows, each with its file's name."""
        import pyarrow as pa

        for path, piece in pieces_of_files(paths, rows, lambda path: _words(path, chosen, missing), after):
            arrays = [_of_type(piece.column(name), types[name]) for name in chosen]
            yield path, to_table(pa.RecordBatch.from_arrays(arrays, names=list(chosen)))

    return names, sum(rows.values()), frozenset(name for name, own in types.items() if own == "words"), read


def _narrowed(column: pa.Array, held: Held) -> Held:
    """Return what a column of words holds, given what it held so far."""
    if held == "words":
        return held
    if held == "whole" and _cast(column, "int64") is not None:
        return held
    return "words" if _numbers(column) is None else "number"


def _cast(column: pa.Array, kind: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "int64" and pc.any(pc.match_substring_regex(column, HEXADECIMAL)).as_py():
        return None  # Arrow alone takes them for numbers
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return None


def _numbers(column: pa.Array) -> Any:
    """Return words as floats, or None where one is not a number; the word "nan" is none."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    from bayesclf.tables.kinds import not_numbers

    cells = _cast(column, "float64")
    if cells is None:
        coded = pc.dictionary_encode(column)
        words = pd.Series(coded.dictionary.to_pylist(), dtype="str")
        if not_numbers(words).any():
            return None
        numbers = pa.array(pd.to_numeric(words).to_numpy(dtype=float), from_pandas=False)
        cells = numbers.take(coded.indices)
    return None if pc.any(pc.is_nan(cells)).as_py() else cells


def _of_type(column: pa.Array, held: str) -> Any:
    if held == "words":
        return column
    return column.cast("int64") if held == "whole" else _numbers(column)


def _header(path: Path) -> tuple[str, ...]:
    """Return the names of a file's columns."""
    with _opened(path, None) as reader:
        names = tuple(reader.schema.names)
    require_names(names, path)
    return names


def _words(path: Path, names: Sequence[str], missing: Mapping[str, Sequence[str]]) -> Iterator[pa.RecordBatch]:
    """Yield batches of columns, all cells as words, and those that stand for missing ones empty."""
    import pyarrow as pa
    import pyarrow.compute as pc

    with _opened(path, names) as reader:
        for batch in reader:
            if not batch.num_rows:
                continue
            for name in missing.keys() & set(names):
                column = batch.column(name)
                kept = pc.if_else(pc.is_in(column, pa.array(missing[name], pa.string())), None, column)
                batch = batch.set_column(batch.schema.get_field_index(name), name, kept)
            yield batch


@contextmanager
def _opened(path: Path, names: Sequence[str] | None) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv

    from bayesclf.files import regular

    separator = "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","
    convert = csv.ConvertOptions(
        column_types=None if names is None else dict.fromkeys(names, pa.string()),
        include_columns=None if names is None else list(names),
        null_values=[""],
        strings_can_be_null=True,
    )
    parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    try:
        with regular(path, "a table") as file:
            packed = path.name.lower().endswith(".gz")
            source = pa.CompressedInputStream(pa.PythonFile(file), "gzip") if packed else pa.PythonFile(file)
            with csv.open_csv(source, csv.ReadOptions(block_size=BLOCK), parse, convert) as reader:
                yield reader
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = one_line(error)
        if "UTF8" in reason.upper().replace("-", ""):
            raise InputError(f"{path} is not UTF-8 text; save it as UTF-8") from None
        if "mpty" in reason:
            raise InputError(f"{path} is empty; it needs column names and at least one row") from None
        raise InputError(
            f"{path} cannot be read as a table ({reason}); quote a cell that contains {separator!r} and leave "
            "a missing one empty"
        ) from None
