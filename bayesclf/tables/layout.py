"""How a text file is laid out: its encoding, separator, comments and names; found, unless said."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO

from bayesclf.errors import InputError
from bayesclf.tables.writing import CODES, PLAIN, written
from bayesclf.wording import clipped, counted, listed

SEPARATORS = (",", ";", "\t", "|", " ")
"""What may be between cells; " " is any number of blanks and tabs."""

NAMES_OF = {"\t": "a tab", " ": "blanks"}
"""How sentences call separators that cannot be seen."""

HEAD_BYTES, HEAD_ROWS = 2**18, 200
"""The part of a file by which its layout is found."""

LONGEST_CELL = 2**31 - 1
"""The most characters of a cell that csv can be told to read everywhere."""

MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""Bytes at the start of a file that name its encoding."""

COMMENTS = ("#", "%")
"""What comments begin with."""

SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
LONE_RETURN = re.compile(r"\r(?!\n)")
COMMA_NUMBER = re.compile(r"[-+]?\d*,\d+%?")
DECLARED = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"[^\"]*\"|\S+)\s+(.*)", re.IGNORECASE)
DATA = re.compile(r"@data\s*", re.IGNORECASE)


@dataclass(frozen=True)
class ReadOptions:
    """What the user says about how a file is read; None is found.

    Attributes
    ----------
    encoding
        Name of an encoding that Python knows, such as "cp1252".
    separator
        The character between cells; " " stands for any number of blanks.
    decimal
        "." or ",".
    header
        Whether the first row has names.
    comment
        What the lines begin with that are left out.
    skip_rows
        Numbers of lines that are left out, from 1.
    missing
        Words and numbers that stand for "missing" in every column.
    keep
        Columns that stay although they look useless.
    labels_as_written
        Whether labels that differ in blanks or in case stay different.
    classes
        Bounds that make classes of a label column of numbers.
    """

    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    header: bool | None = None
    comment: str | None = None
    skip_rows: tuple[int, ...] = ()
    missing: tuple[object, ...] = ()
    keep: tuple[str, ...] = ()
    labels_as_written: bool = False
    classes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise InputError(f"the encoding {self.encoding!r} is not known; use utf-8, cp1252 or utf-16") from None
        if self.separator is not None and len(self.separator) != 1:
            raise InputError(f"the separator must be one character, such as ';' or '\\t', not {self.separator!r}")
        if self.decimal not in (None, ".", ","):
            raise InputError(f"the decimal mark must be '.' or ',', not {self.decimal!r}")
        if any(line < 1 for line in self.skip_rows):
            raise InputError(f"lines are counted from 1, so that none is {min(self.skip_rows)}")


@dataclass(frozen=True)
class Found:
    """The layout of a file.

    Attributes
    ----------
    encoding, separator, decimal, comment
        As in `ReadOptions`; the decimal mark where the user says it.
    names
        Names of the columns; c1, c2, … where the file has none.
    unnamed
        Those of them that the file has no name for, although it has for others, and what they hold: "nothing", or
        "rows" where they number or name these.
    first
        Number of the line in which rows begin, from 1.
    width
        Cells of a row.
    quoted
        Whether each line is in quotes as a whole.
    quote
        What quotes cells.
    skipped
        Numbers of lines that are left out.
    plain
        Whether the bytes can be parsed as they are, once the lines before the first row are left out.
    kinds
        Kinds of columns that the file declares.
    notes
        What was found that is not the usual.
    """

    encoding: str
    separator: str
    names: tuple[str, ...]
    first: int
    width: int
    decimal: str | None = None
    comment: str | None = None
    unnamed: dict[str, str] = field(default_factory=dict)
    quoted: bool = False
    quote: str = '"'
    skipped: frozenset[int] = frozenset()
    plain: bool = True
    kinds: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def between(self) -> str:
        """What is between cells once lines are cleaned."""
        return "\t" if self.separator == " " else self.separator

    def rows(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines of a file, with a blank one for each that holds no cells, so that numbers stay."""
        for number, line in enumerate(lines, 1):
            yield "\n" if number < self.first else self.row(number, line)

    def row(self, number: int, line: str) -> str:
        """Return a line of which the number is given, with the separator between its cells; blank if it is left out."""
        if number in self.skipped or (self.comment and line.lstrip().startswith(self.comment)):
            return "\n"
        if self.quoted:
            line = _without_quotes(line)
        return "\t".join(line.split()) + "\n" if self.separator == " " else line


def _without_quotes(line: str) -> str:
    text = line.strip()
    return f"{text[1:-1]}\n".replace('""', '"') if text[:1] == text[-1:] == '"' else line


def encoding_of(data: bytes, whole: bool, path: Path) -> str:
    """Return the encoding of a file by its mark, or by decoding: UTF-8 first, then UTF-16 by its zeros, then cp1252."""
    for mark, name in MARKS.items():
        if data.startswith(mark):
            return name
    zeros = data[1::2].count(0), data[::2].count(0)
    if max(zeros) > len(data) / 8 and min(zeros) < max(zeros) / 8:
        return "utf-16-le" if zeros[0] > zeros[1] else "utf-16-be"
    for name in ("utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(name)().decode(data, final=whole)
        except UnicodeDecodeError as wrong:
            error = wrong
        else:
            return name
    line = data.count(b"\n", 0, error.start) + 1
    at = f"byte 0x{data[error.start]:02x} at offset {error.start} (line {line})"
    raise InputError(f"{path} is neither UTF-8 nor cp1252 text: {at}; say its --encoding (encoding=…)")


def decoded(data: bytes, encoding: str, path: Path) -> str:
    """Return the text of a file."""
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
    except (UnicodeDecodeError, UnicodeError) as error:
        at = f" at offset {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise InputError(f"{path} is not {encoding} text{at}; say another --encoding (encoding=…)") from None
    if "\0" in text:
        raise InputError(
            f"{path} is no text: a NUL character is in line {text.count(chr(10), 0, text.index(chr(0))) + 1}; say its "
            "--encoding (encoding=…)"
        )
    if not text.strip():
        raise InputError(f"{path} is empty; it needs column names and at least one row")
    return text


def laid_out(
    head: str, encoding: str, asked: ReadOptions, path: Path, known: Collection[str] = (), default: str = ","
) -> Found:
    """Return the layout of a text; a first row with one of the `known` columns has names."""
    notes = [] if encoding in ("utf-8", "utf-8-sig") else [f"the text is {encoding} (--encoding says another one)"]
    if DATA.search(head) and DECLARED.search(head):
        return _arff(list(io.StringIO(head, newline="")), encoding, path)
    skipped = set(asked.skip_rows)
    separator = asked.separator
    lines = enumerate(io.StringIO(head, newline=""), 1)
    used = list(islice(((n, line) for n, line in lines if line.strip() and n not in skipped), 4 * HEAD_ROWS))
    own = SEPARATOR_LINE.fullmatch(used[0][1]) if used else None
    if own:
        skipped.add(used.pop(0)[0])
        separator = separator or own[1]
    comment = asked.comment or _comment([line for _, line in used])
    if comment:
        left = [(number, line) for number, line in used if not line.lstrip().startswith(comment)]
        if asked.comment is None:
            notes.append(f"lines that begin with {comment!r} are left out (--comment says another mark)")
        used = left
    texts = [line for _, line in used]
    quoted = _whole_lines_quoted(texts, known)
    if quoted:
        texts = [_without_quotes(line) for line in texts]
        notes.append("the quotes around each line are left out")
    if separator is None:
        separator = _separator(texts, default)
        if separator != default:
            notes.append(f"the separator is {shown(separator)} (--separator says another one)")
    found = Found(encoding, separator, (), 1, 0, asked.decimal, comment, quoted=quoted, skipped=frozenset(skipped))
    numbers, rows = _records_of([found.row(0, line) for line in texts], [number for number, _ in used], found.between)
    if not rows:
        raise InputError(f"{path} is empty; it needs column names and at least one row")
    cleaned = bool(comment or quoted or skipped or separator == " " or encoding not in ("utf-8", "utf-8-sig"))
    found = replace(found, plain=not cleaned and not LONE_RETURN.search(head))  # lines of bytes end in \n only
    return _named(found, asked, path, numbers, rows, known, notes)


def _named(
    found: Found,
    asked: ReadOptions,
    path: Path,
    numbers: list[int],
    rows: list[list[str]],
    known: Collection[str],
    notes: list[str],
) -> Found:
    """Return a layout with the names of its columns, which the first of some rows may have."""
    top, rest = [cell.strip() for cell in rows[0]], rows[1:]
    has_header = asked.header
    if has_header is None:
        has_header = bool(set(known) & set(top)) or not _looks_like_rows(top, rest)
        if not has_header:
            notes.append("the first row has no names, so columns are c1, c2, … (--header takes it for names)")
    unnamed: dict[str, str] = {}
    if not has_header:
        names, first = [f"c{place}" for place in range(1, len(top) + 1)], numbers[0]
        if not any(row[-1].strip() for row in rows):
            unnamed[names[-1]] = "nothing"
    else:
        if {len(row) for row in rest} == {len(top) + 1}:
            if not any(row[-1].strip() for row in rest):
                top = [*top, ""]
            elif _holds_row_names([row[0] for row in rest]):
                top = ["", *top]  # as R writes the names of rows
        names = [name or _free(f"c{place}", top) for place, name in enumerate(top, 1)]
        first = numbers[1] if rest else numbers[0] + 1
        _refuse_second_header(names, rest, numbers[1:], path)
        for place, (name, own) in enumerate(zip(names, top, strict=True)):
            if not own:
                cells = [row[place] for row in rest if len(row) == len(names)]
                unnamed[name] = _unnamed(cells, place, name, asked, path)
    return replace(found, names=tuple(names), first=first, width=len(names), unnamed=unnamed, notes=tuple(notes))


def _unnamed(cells: Sequence[str], place: int, name: str, asked: ReadOptions, path: Path) -> str:
    """Return what a column without a name holds: "nothing", or "rows" if it numbers or names them."""
    if not any(cell.strip() for cell in cells):
        return "nothing"
    if _holds_row_names(cells):
        return "rows"
    if name in asked.keep:
        return "kept"
    raise InputError(
        f"{path}: column {place + 1} has no name; name it in the file, or read it as {name!r} with --keep {name} "
        f"(keep=[{name!r}])"
    )


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def shown(separator: str) -> str:
    """Return how a sentence calls a separator."""
    return NAMES_OF.get(separator, repr(separator))


def _comment(lines: Sequence[str]) -> str | None:
    """Return what begins the comments at the start of a file, if it has some."""
    for mark in COMMENTS:
        own = [line for line in lines if line.lstrip().startswith(mark)]
        others = [line for line in lines if not line.lstrip().startswith(mark)]
        if own and len(others) > 1:
            widths = {line.count(_separator(others, ",")) for line in others}
            if not any(line.count(_separator(others, ",")) in widths - {0} for line in own):
                return mark
    return None


def _whole_lines_quoted(lines: Sequence[str], known: Collection[str]) -> bool:
    """Return whether each line is in quotes, with several cells inside; not of a column whose name is known."""
    inside = [line.strip() for line in lines]
    if len(inside) < 2 or not all(len(line) > 1 and line[0] == line[-1] == '"' for line in inside):
        return False
    separators = SEPARATORS[:-1]
    if any(len(row) != 1 for sign in separators for row in _cells(inside, sign)):
        return False
    opened = [_without_quotes(line).strip() for line in inside]
    if opened[0] in {name.strip() for name in known}:
        return False
    return any(_width(opened, sign) == len(_cells(opened[:1], sign)[0]) > 1 for sign in separators)


def _cells(lines: Iterable[str], separator: str) -> list[list[str]]:
    """Return the cells of the first records."""
    return _records_of(list(lines), None, separator)[1]


def _records_of(lines: list[str], numbers: Sequence[int] | None, separator: str) -> tuple[list[int], list[list[str]]]:
    """Return the number of the first line, and the cells, of the first records; those after a wrong quote are none."""
    reader = csv.reader(lines, delimiter=separator)
    firsts, rows, line = [], [], 0
    with suppress(csv.Error), cells_of_any_length():
        for cells in reader:
            if cells:
                firsts.append(line if numbers is None else numbers[line])
                rows.append(cells)
            line = reader.line_num
            if len(rows) > HEAD_ROWS:
                break
    return firsts, rows


@contextmanager
def cells_of_any_length() -> Iterator[None]:
    """Let csv read long cells: its own limit, 128 KiB, is too low for documents."""
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def check_rows(found: Found, text: str, path: Path) -> None:
    """Raise for rows with other numbers of cells than the header has, and for quotes that do not match."""
    lines = found.rows(io.StringIO(text, newline=""))
    row = last = 0
    wrong: tuple[int, int, int] | None = None
    with cells_of_any_length():
        for first, cells in _records(lines, found, path):
            if cells:
                row += 1
                if wrong is not None:
                    last = row
                    break
                if len(cells) != found.width:
                    wrong = (row, first, len(cells))
    if not row:
        raise InputError(f"{path} has no rows below its column names; add at least one")
    if wrong is not None:
        number, line, size = wrong
        ends = not last and number > 1
        also = f", or leave line {line} out with --skip-rows {line} (skip_rows=[{line}])" if ends else ""
        raise InputError(
            f"{path}: row {number} (line {line}) has {counted(size, 'cell', thousands='')} where the header has "
            f"{found.width}; quote a cell that contains {found.between!r} and leave a missing one empty{also}"
        )


def _records(lines: Iterable[str], found: Found, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line, and the cells, of each record."""
    reader = csv.reader(lines, delimiter=found.between, quotechar=found.quote, strict=True)
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


def _width(lines: Sequence[str], separator: str) -> int:
    """Return the number of cells that each row has; 1 where they differ, one cell more in each row aside."""
    rows = [line.split() for line in lines] if separator == " " else _cells(lines, separator)
    widths = [len(row) for row in rows]
    if len(rows) < 2:
        return widths[0] if widths else 1
    same = set(widths[1:]) == {widths[0]} or (widths[0] > 1 and set(widths[1:]) == {widths[0] + 1})
    return widths[1] if same else 1


def _separator(lines: Sequence[str], default: str) -> str:
    """Return the separator with which the rows have the same number of cells, the usual one if it does."""
    widths = {sign: _width(lines, sign) for sign in SEPARATORS}
    others = [sign for sign in SEPARATORS[:-1] if sign != default and widths[sign] > 1]
    if widths[default] > 1:
        # of "0,5;1,2" each cell has a comma too, which is then that of a number
        for sign in others:
            pieces = [cell.strip() for row in _cells(lines, sign)[1:] for cell in row if default in cell]
            if pieces and all(COMMA_NUMBER.fullmatch(piece) for piece in pieces):
                return sign
        return default
    if others:
        return max(others, key=lambda sign: widths[sign])
    if any(default in line for line in lines):
        return default  # rows of several lengths, about which the reader has a sentence
    most = [line for line in lines if line.strip()]
    return " " if widths[" "] > 2 and not any('"' in line for line in most) and _numbers_mostly(most) else default


def _numbers_mostly(lines: Sequence[str]) -> bool:
    cells = [cell for line in lines[1:] for cell in line.split()]
    return sum(bool(PLAIN.fullmatch(cell)) for cell in cells) > len(cells) / 3


def _is_number(cell: str) -> bool:
    return bool(PLAIN.fullmatch(cell)) or written(cell) is not None


def _looks_like_rows(top: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    """Return whether a first row holds cells like those below it: numbers in their range, words that recur."""
    if not rest:
        return False
    alike = 0
    for place, cell in enumerate(top):
        if not cell:
            continue
        below = [row[place].strip() for row in rest if len(row) > place]
        below = [word for word in below if word and word not in CODES]
        numeric = bool(below) and sum(map(_is_number, below)) >= 0.9 * len(below)
        if not _is_number(cell):
            if numeric and cell not in CODES:
                return False
            alike += below.count(cell) > 0 and len(set(below)) < len(below)
        elif numeric:
            values = [float(word) for word in below if PLAIN.fullmatch(word)]
            plain = bool(PLAIN.fullmatch(cell))
            inside = plain and values and min(values) <= float(cell) <= max(values) and cell in below
            alike += bool(inside or not cell.lstrip("+-").isdecimal())
    return alike > 0 and 2 * alike >= sum(map(bool, top))


def _holds_row_names(cells: Sequence[str]) -> bool:
    """Return whether cells count up from 0 or 1, or are different words."""
    found = [cell.strip() for cell in cells]
    if found in ([str(n) for n in range(len(found))], [str(n) for n in range(1, len(found) + 1)]):
        return True
    return len(found) == len(set(found)) > 1 and not any(map(_is_number, found))


def _refuse_second_header(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: list[int], path: Path) -> None:
    """Raise for a row of words below the names where the rows below it have numbers."""
    if len(rows) < 5 or any(_is_number(cell.strip()) for cell in rows[0]):
        return
    numeric = [
        place
        for place in range(min(len(names), *map(len, rows)))
        if all(_is_number(row[place].strip()) for row in rows[1:])
    ]
    words = [rows[0][place].strip() for place in numeric]
    if len(numeric) > 1 and all(word and word not in CODES for word in words):
        raise InputError(
            f"{path}: line {numbers[0]} has {listed([repr(clipped(word, 20)) for word in words], 4)} where the rows "
            f"below it have numbers, like a second row of names; leave it out with --skip-rows {numbers[0]} "
            f"(skip_rows=[{numbers[0]}])"
        )


def _arff(lines: list[str], encoding: str, path: Path) -> Found:
    """Return the layout of an ARFF file: its columns are declared before the rows."""
    names, kinds = [], {}
    for number, line in enumerate(lines, 1):
        declared = DECLARED.match(line.strip())
        if declared:
            name = declared[1].strip("'\"")
            names.append(name)
            kinds[name] = declared[2].strip().lower()
        elif DATA.fullmatch(line.strip()):
            if any(row.lstrip().startswith("{") for row in lines[number : number + HEAD_ROWS]):
                raise InputError(f"{path} is a sparse ARFF file; write its cells out, as scipy.io.arff.loadarff does")
            numeric = ("numeric", "real", "integer")
            types = {name: "number" if kind.startswith(numeric) else "category" for name, kind in kinds.items()}
            types = {name: kind for name, kind in types.items() if not kinds[name].startswith(("string", "date"))}
            return Found(
                *(encoding, ",", tuple(names), number + 1, len(names)),
                **{"comment": "%", "quote": "'", "plain": False, "kinds": types},  # type: ignore[arg-type]
            )
    raise InputError(f"{path} has no line @data; an ARFF file needs it before its rows")


class Cleaned(io.RawIOBase):
    """The rows of a file of text as UTF-8 bytes, cleaned as a layout says."""

    def __init__(self, file: IO[bytes], found: Found) -> None:
        self._text = io.TextIOWrapper(file, found.encoding, newline="")
        self._lines = found.rows(self._text)
        self._rest = b""

    def readable(self) -> bool:
        """Return whether bytes can be read."""
        return True

    def close(self) -> None:
        """Leave the file, which stays open."""
        if not self.closed:
            self._text.detach()
        super().close()

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Read the next bytes."""
        pieces, size = [self._rest], len(self._rest)
        while size < len(buffer) and (line := next(self._lines, "")):
            pieces.append(line.encode())
            size += len(pieces[-1])
        data = b"".join(pieces)
        some, self._rest = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(some)] = some
        return len(some)
