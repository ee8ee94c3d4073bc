"""Tables of text with separators, whole or batch by batch: the same layout, and the same meaning of cells, in both."""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from bayesclf.errors import InputError
from bayesclf.tables.batches import ALL, NoRows, Wanted, lacking_or_other, pieces_of_files
from bayesclf.tables.kinds import require_kinds
from bayesclf.tables.layout import HEAD_BYTES, Cleaned, Found, ReadOptions, check_rows, decoded, encoding_of, laid_out
from bayesclf.tables.stream import Stream
from bayesclf.tables.stream_paths import require_names
from bayesclf.tables.writing import Meaning, Survey, cells_of
from bayesclf.wording import did_you_mean, listed, one_line

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

BLOCK = 2**24
"""Bytes of a file that are read at once."""


@dataclass(frozen=True)
class Wish:
    """What the user says about a table, and about its columns.

    Attributes
    ----------
    options
        How the file is to be read.
    kinds
        Declared kinds of columns.
    missing
        By column, values that stand for "missing".
    known
        Columns that the user has named otherwise, such as the target.
    target
        The column of labels, if it is known.
    required
        Whether a column must have one of the values at least that stand for "missing" in it.
    """

    options: ReadOptions = field(default_factory=ReadOptions)
    kinds: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, Sequence[object]] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    target: str | None = None
    required: bool = True

    @property
    def names(self) -> set[str]:
        """All columns that the user has named."""
        more = () if self.target is None else (self.target,)
        return {*self.kinds, *self.missing, *self.known, *self.options.keep, *more}

    def codes(self, name: str) -> list[str]:
        """Return the words of a column that stand for "missing"."""
        return [str(value) for value in (*self.missing.get(name, ()), *self.options.missing)]

    def as_written(self, name: str) -> bool:
        """Return whether blanks around the words of a column stay."""
        return self.options.labels_as_written and name == self.target

    def among(self, columns: Sequence[str]) -> Wish:
        """Return the wish with the name of the label column."""
        return self if self.target is None else replace(self, target=label_among(columns, self.target))


def wish_of(
    reading: Mapping[str, Any],
    kinds: Mapping[str, Any] | None = None,
    missing: Any = None,
    target: str | None = None,
    known: Iterable[str] = (),
) -> Wish:
    """Return what the user says, checked: options of `ReadOptions`, kinds, values that stand for "missing", labels."""
    unknown = sorted(reading.keys() - {option.name for option in fields(ReadOptions)})
    if unknown:
        names = [option.name for option in fields(ReadOptions)]
        raise InputError(
            f"reading has no option {unknown[0]!r}{did_you_mean(unknown[0], names)}; it has {listed(names)}"
        )
    given: dict[str, Any] = {name: _many(value) if name in MANY else value for name, value in reading.items()}
    options = ReadOptions(**given)
    if not (missing is None or isinstance(missing, Mapping)):
        if isinstance(missing, str) or not isinstance(missing, Iterable):
            raise InputError(
                f"missing must be a mapping from columns to lists of values, or a list of values, not {missing!r}"
            )
        options, missing = replace(options, missing=(*options.missing, *missing)), None
    missing = dict(missing or {})
    options = replace(options, missing=(*options.missing, *missing.pop(None, ())))
    return Wish(options, dict(kinds or {}), missing, tuple(known), target)


def label_among(columns: Sequence[str], target: str) -> str:
    """Return the column that a name, a number from 1, or "last" means; the name itself if there is none."""
    if target in columns or target.strip() in columns:  # blanks around names are left out
        return target if target in columns else target.strip()
    if target.isdecimal() and 1 <= int(target) <= len(columns):
        return columns[int(target) - 1]
    return columns[-1] if target == "last" else target


MANY = ("skip_rows", "missing", "keep", "classes")
"""Options that are lists."""


def _many(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, str | int | float) else tuple(value)


@dataclass(frozen=True)
class Read:
    """A table that was read, and what was done; `emptied` lists columns with words that the user calls missing."""

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    emptied: frozenset[str] = frozenset()
    kinds: Mapping[str, str] = field(default_factory=dict)


def read_delimited(data: bytes, path: Path, default: str, wish: Wish) -> Read:
    """Return the table of a text with separators."""
    import pandas as pd
    import pyarrow as pa

    encoding = wish.options.encoding or encoding_of(data, True, path)
    text = decoded(data, encoding, path)
    cut = text.rfind("\n", 0, HEAD_BYTES) + 1 if len(text) > HEAD_BYTES else 0
    found = laid_out(text[:cut] if cut else text, encoding, wish.options, path, wish.names, default)
    require_names(found.names, path)
    require_kinds(wish.kinds, found.names, str(path))
    check_rows(found, text, path)
    del text
    names = _kept(found, wish)
    wish = wish.among(names)
    table = pa.Table.from_batches(_batches(path, found, names, max(len(data) + 1, BLOCK), io.BytesIO(data)))
    surveys = _surveys(names, wish)
    columns = {name: table[name].combine_chunks() for name in names}
    for name, survey in surveys.items():
        survey.add(columns[name])
    meanings = settled(surveys, [found], wish)
    cells = {}
    for name in names:
        own = cells_of(columns.pop(name), meanings[name], wish.codes(name), wish.as_written(name))
        cells[name] = own.to_pandas() if meanings[name].held == "words" else own.to_numpy(zero_copy_only=False)
    emptied = frozenset(name for name, survey in surveys.items() if survey.emptied)
    return Read(pd.DataFrame(cells), notes_of(found, meanings, wish), emptied, found.kinds)


def _surveys(names: Iterable[str], wish: Wish) -> dict[str, Survey]:
    return {name: Survey(wish.codes(name), wish.as_written(name)) for name in names}


def _kept(found: Found, wish: Wish) -> list[str]:
    """Return the columns that are read: not those without a name, unless the user keeps them."""
    return [name for name in found.names if name not in found.unnamed or name in wish.options.keep]


def settled(surveys: Mapping[str, Survey], layouts: Sequence[Found], wish: Wish) -> dict[str, Meaning]:
    """Return what the cells of each column mean; decimal commas in one column speak for the others."""
    decimal = wish.options.decimal
    if decimal is None and not any(survey.points() for survey in surveys.values()):
        sure = any(survey.comma() for survey in surveys.values())
        likely = layouts[0].separator == ";" and any(survey.may_have_commas() for survey in surveys.values())
        decimal = "," if sure or likely else None
    declared = {**layouts[0].kinds, **wish.kinds}
    return {name: survey.meaning(decimal, declared.get(name)) for name, survey in surveys.items()}


def notes_of(found: Found, meanings: Mapping[str, Meaning], wish: Wish) -> tuple[str, ...]:
    """Return what was done, in sentences."""
    notes = list(found.notes)
    for name, what in found.unnamed.items():
        if name not in wish.options.keep:
            said = "is empty" if what == "nothing" else "numbers or names the rows"
            notes.append(f"the column without a name at place {found.names.index(name) + 1} {said} and is left out "
                         f"(--keep {name} reads it as {name!r})")  # fmt: skip
    for name, meaning in meanings.items():
        notes += meaning.notes(name, name in wish.kinds)
    return tuple(notes)


def csv_stream(paths: Sequence[Path], where: str, wish: Wish, wanted: Wanted = ALL) -> Stream:
    """Return the stream of some files, after a first pass that finds what the cells of each column mean."""
    from bayesclf.tables.batches import to_table

    layouts = {path: _layout(path, wish) for path in paths}
    first = layouts[paths[0]]
    names = tuple(_kept(first, wish))
    own, wish = wanted.of(names), wish.among(names)
    for path in paths[1:]:
        found = _kept(layouts[path], wish)
        lacking_or_other(found, names, str(path), str(paths[0]), wanted)
        names = (*names, *(name for name in found if name not in names))
    surveys = _surveys(own, wish)
    rows = dict.fromkeys(paths, 0)
    for path in paths:
        for batch in _batches(path, layouts[path], own or names[:1]):
            rows[path] += batch.num_rows
            for name, survey in surveys.items():
                survey.add(batch.column(name))
    if not sum(rows.values()):
        raise NoRows(f"{where} has no rows below its column names; add at least one")
    meanings = settled(surveys, [first], wish)

    def read(chosen: tuple[str, ...], after: int = 0) -> Iterator[tuple[str, pd.DataFrame]]:
        """Yield batches of some columns, after so many rows, each with its file's name."""
        import pyarrow as pa

        def words(path: Path) -> Iterator[pa.RecordBatch]:
            """Return the batches of one file."""
            return _batches(path, layouts[path], chosen)

        for path, piece in pieces_of_files(paths, rows, words, after):
            arrays = [
                cells_of(piece.column(name), meanings[name], wish.codes(name), wish.as_written(name)) for name in chosen
            ]
            yield path, to_table(pa.RecordBatch.from_arrays(arrays, names=list(chosen)))

    of_words = frozenset(name for name, meaning in meanings.items() if meaning.held == "words")
    total, notes = sum(rows.values()), notes_of(first, meanings, wish)
    return Stream(where, names, total, read, from_file=True, written=of_words, files=tuple(paths), notes=notes)


def _layout(path: Path, wish: Wish) -> Found:
    """Return the layout of a file by its first bytes."""
    with _bytes(path) as file:
        head = file.read(HEAD_BYTES)
        whole = len(head) < HEAD_BYTES
    if not head.strip(b"\xef\xbb\xbf \r\n\t"):
        raise InputError(f"{path} is empty; it needs column names and at least one row")
    encoding = wish.options.encoding or encoding_of(head, whole, path)
    cut = len(head) if whole else head.rfind(b"\n") + 1 or len(head)
    if not whole and encoding.startswith("utf-16"):
        cut -= cut % 2
        text = head[:cut].decode(encoding, errors="ignore")
    else:
        text = decoded(head[:cut], encoding, path)
    found = laid_out(text, encoding, wish.options, path, wish.names, default_separator(path))
    require_names(found.names, path)
    return found


def default_separator(path: Path) -> str:
    """Return the usual separator of files with this ending."""
    return "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","


@contextmanager
def _bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, unpacked where it is packed."""
    from bayesclf.files import regular

    with regular(path, "a table") as file:
        packed = path.name.lower().endswith(".gz")
        try:
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if packed else file
        except (EOFError, gzip.BadGzipFile) as error:
            raise InputError(f"{path} is not a whole gzip file ({error}); copy or pack it again") from error


def _batches(
    path: Path, found: Found, names: Sequence[str], block: int = BLOCK, data: IO[bytes] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield batches of columns of a file, whose bytes may be given, all cells as words."""
    import pyarrow as pa
    from pyarrow import csv

    convert = csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), include_columns=list(names))
    parse = csv.ParseOptions(delimiter=found.between, quote_char=found.quote, newlines_in_values=True)
    read = csv.ReadOptions(block_size=min(block, 2**31 - 1), column_names=list(found.names))
    opened = _bytes(path) if data is None else contextlib.nullcontext(data)
    with opened as file, _readable(path, found), contextlib.ExitStack() as stack:
        if found.plain:
            file.read(3) if found.encoding == "utf-8-sig" else None
            for _ in itertools.repeat(None, found.first - 1):
                file.readline()
        else:
            file = cast("IO[bytes]", stack.enter_context(Cleaned(file, found)))
        try:
            with csv.open_csv(pa.PythonFile(file, "r"), read, parse, convert) as reader:
                yield from (batch for batch in reader if batch.num_rows)
        except pa.ArrowInvalid as error:
            if "mpty CSV" not in str(error):
                raise


@contextmanager
def _readable(path: Path, found: Found) -> Iterator[None]:
    """Say in a sentence why a file cannot be read."""
    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = one_line(error)
        if "UTF8" in reason.upper().replace("-", ""):
            raise InputError(f"{path} is not {found.encoding} text; say its --encoding (encoding=…)") from None
        raise InputError(
            f"{path} cannot be read as a table ({reason}); quote a cell that contains {found.between!r} and leave "
            "a missing one empty"
        ) from None
