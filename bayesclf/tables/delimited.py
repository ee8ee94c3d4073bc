"""Tables of text with separators: how a file is laid out, what its cells mean, and its rows, batch by batch."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from bayesclf.errors import InputError
from bayesclf.files import regular
from bayesclf.tables.columns import warn_of_signs
from bayesclf.tables.options import Wish, option
from bayesclf.tables.streams import ALL, NoRows, Stream, Wanted, names_of, pieces, reader
from bayesclf.tables.writing import CODES, PLAIN, Meaning, Survey, cells_of, written
from bayesclf.wording import LISTED_ROWS, clipped, counted, listed, one_line

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATORS = (",", ";", "\t", "|", " ")
"""What may be between cells; " " is any number of blanks and tabs."""

NAMES_OF = {"\t": "a tab", " ": "blanks"}
"""How sentences call separators that cannot be seen."""

HEAD_BYTES, HEAD_ROWS = 2**18, 200
"""The part of a file by which its layout is found."""

LONGEST_CELL = 2**31 - 1
"""The most characters of a cell that csv can be told to read everywhere."""

BLOCK = 2**24
"""Bytes of a file that are read at once."""

MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
"""Bytes at the start of a file that name its encoding."""

NO_TEXT = {
    b"PK\x03\x04": "an Excel file or an archive; end its name in .xlsx or .zip",
    b"\xd0\xcf\x11\xe0": "an old Excel file; save it as .xlsx or as csv",
    b"\x1f\x8b": "packed by gzip; end its name in .gz",
    b"PAR1": "a Parquet file; end its name in .parquet",
    b"%PDF": "a PDF; save the table as csv",
    b"<!doctype html": "a web page; download the file itself",
    b"<html": "a web page; download the file itself",
}
"""What a file is that has the ending of a text, by its first bytes in any case, and what to do."""

OTHER_TEXTS = {
    re.compile(r"[-+]?\d+(\.\d+)?( qid:\d+)?( \d+:[-+.\deE]+){2,}\s*"): "in the format of svmlight; "
    "sklearn.datasets.load_svmlight_file reads it",
    re.compile(r"\+(-+\+)+\s*"): "a table drawn with lines; export it as csv, as psql --csv and mysql --batch do",
}
"""What a file of text is, by its first line, and what to do."""

MOST_TITLES = 0.1
"""The largest share of lines, besides one, that are taken for titles where no separator is sure."""

COMMENTS = ("#", "%")
"""What comments begin with."""

RULE = re.compile(r"[|+:\s]*-{3}[|+:\s-]*")
"""A line of dashes, as between the names and the rows of a table in Markdown."""

SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
WORD = re.compile(r'"(?:[^"]|"")*"|\S+')
"""A cell where blanks are between cells: a word, or several in quotes."""

LONE_RETURN = re.compile(r"\r(?!\n)")
COMMA_NUMBER = re.compile(r"[-+]?\d*,\d+%?")
LAST_LINE = re.compile(r"(grand )?totals?|sum|sums|summe|gesamt|somme|mean|average", re.IGNORECASE)
"""First cells of lines below a table that are about all rows."""

DECLARED = re.compile(r"@attribute\s+('(?:[^'\\]|\\.)*'|\"[^\"]*\"|\S+)\s+(.*)", re.IGNORECASE)
DATA = re.compile(r"@data\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Found:
    """The layout of a file.

    Attributes
    ----------
    encoding, separator, comment
        As in `Wish`.
    names
        Names of the columns; c1, c2, … where the file has none.
    unnamed
        Those of them that the file has no name for, although it has for others, and what they hold: "nothing", or
        "rows" where they number or name these.
    first
        Number of the line in which rows begin, from 1.
    quoted
        Whether each line is in quotes as a whole.
    quote
        What quotes cells.
    skipped
        Numbers of lines that are left out.
    spaced
        Whether blanks stand between a separator and a quote.
    plain
        Whether the bytes can be parsed as they are, once the lines before the first row are left out.
    kinds
        Kinds of columns that the file declares.
    notes
        What was found that is not the usual.
    sum_below
        Whether a note says that the last row may be a sum.
    """

    encoding: str
    separator: str
    names: tuple[str, ...]
    first: int
    comment: str | None = None
    unnamed: dict[str, str] = field(default_factory=dict)
    quoted: bool = False
    quote: str = '"'
    skipped: frozenset[int] = frozenset()
    spaced: bool = False
    plain: bool = True
    kinds: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sum_below: bool = False

    @property
    def between(self) -> str:
        """What is between cells once lines are cleaned."""
        return "\t" if self.separator == " " else self.separator

    def rows(self, lines: Iterable[str], left_out: str = "\n") -> Iterator[str]:
        """Yield the lines of a file, with a blank one for each that is left out, so that numbers stay."""
        for number, line in enumerate(lines, 1):
            yield left_out if number < self.first else self.row(number, line, left_out)

    def row(self, number: int, line: str, left_out: str = "\n") -> str:
        """Return a line of which the number is given, with the separator between its cells."""
        if number in self.skipped or (self.comment and line.lstrip().startswith(self.comment)):
            return left_out
        if self.quoted:
            line = _without_quotes(line)
        return "\t".join(WORD.findall(line)) + "\n" if self.separator == " " else line

    def records(self, text: Iterable[str], strict: bool = False) -> Any:
        """Return a csv reader of lines."""
        return csv.reader(
            text, delimiter=self.between, quotechar=self.quote, skipinitialspace=self.spaced, strict=strict
        )


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
    raise InputError(f"{path} is neither UTF-8 nor cp1252 text: {at}; say its {option('encoding')}")


def decoded(data: bytes, encoding: str, path: Path, whole: bool = True) -> str:
    """Return the text of a file, or of its start."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(data, final=whole).removeprefix("\ufeff")
    except (UnicodeDecodeError, UnicodeError) as error:
        at = f" at offset {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise InputError(f"{path} is not {encoding} text{at}; say another {option('encoding')}") from None
    if "\0" in text:
        raise InputError(
            f"{path} is no text: a NUL character is in line {text.count(chr(10), 0, text.index(chr(0))) + 1}; say its "
            f"{option('encoding')}"
        )
    if not text.strip():
        raise InputError(f"{path} is empty; it needs column names and at least one row")
    return text


def laid_out(head: str, encoding: str, asked: Wish, path: Path, default: str = ",") -> Found:
    """Return the layout of a text; a first row with a column that the user names has names."""
    usual = encoding in ("utf-8", "utf-8-sig")
    notes = [] if usual else [f"the text is {encoding} ({option('encoding')} says another one)"]
    if DATA.search(head) and DECLARED.search(head):
        return _arff(list(io.StringIO(head, newline="")), encoding, path)
    skipped = set(asked.skip_rows)
    separator = asked.separator
    lines = enumerate(io.StringIO(head, newline=""), 1)
    used = list(islice(((n, line) for n, line in lines if line.strip() and n not in skipped), 4 * HEAD_ROWS))
    for form, what in OTHER_TEXTS.items():
        if used and form.fullmatch(used[0][1]):
            raise InputError(f"{path} is {what}")
    if len(used) > 1 and RULE.fullmatch(used[1][1]):
        skipped.add(used.pop(1)[0])
    own = SEPARATOR_LINE.fullmatch(used[0][1]) if used else None
    if own:
        skipped.add(used.pop(0)[0])
        separator = separator or own[1]
    comment = asked.comment or _comment([line for _, line in used])
    if comment:
        used = [(number, line) for number, line in used if not line.lstrip().startswith(comment)]
        if asked.comment is None:
            notes.append(f"lines that begin with {comment!r} are left out ({option('comment')} says another mark)")
    texts = [line for _, line in used]
    quoted = _whole_lines_quoted(texts, asked.names)
    if quoted:
        texts = [_without_quotes(line) for line in texts]
        notes.append("the quotes around each line are left out")
    if separator is None:
        separator = _separator(texts, default)
        if separator != default:
            said = NAMES_OF.get(separator, repr(separator))
            notes.append(f"the separator is {said} ({option('separator')} says another one)")
    found = Found(encoding, separator, (), 1, comment, quoted=quoted, skipped=frozenset(skipped))
    lines_used, their_numbers = [found.row(0, line) for line in texts], [number for number, _ in used]
    unsure = asked.separator is None and own is None and _width(texts, separator) == 1
    for sign in () if asked.header is not None else SEPARATORS[:-1] if unsure else (found.between,):
        _refuse_titles(*_records_of(lines_used, their_numbers, sign), path, sign != separator)
    numbers, rows = _records_of(lines_used, their_numbers, found.between)
    if not rows:
        raise InputError(f"{path} is empty; it needs column names and at least one row")
    cleaned = bool(comment or quoted or skipped or separator == " " or not usual)
    found = replace(found, plain=not cleaned and not LONE_RETURN.search(head))  # lines of bytes end in \n only
    return _named(found, asked, path, numbers, rows, notes)


def _named(found: Found, asked: Wish, path: Path, numbers: list[int], rows: list[list[str]], notes: list[str]) -> Found:
    """Return a layout with the names of its columns, which the first of some rows may have."""
    top, rest = [cell.strip() for cell in rows[0]], rows[1:]
    has_header = asked.header
    if has_header is None:
        has_header = bool(asked.names & set(top)) or not _looks_like_rows(top, rest)
        if not has_header:
            notes.append(
                f"the first row has no names, so columns are c1, c2, … ({option('header', True)} takes it for names)"
            )
    unnamed: dict[str, str] = {}
    if not has_header:
        names, first = [f"c{place}" for place in range(1, len(top) + 1)], numbers[0]
        if not any(row[-1].strip() for row in rows):
            unnamed[names[-1]] = "nothing"
    else:
        if {len(row) for row in rest} == {len(top) + 1}:
            if not any(row[-1].strip() for row in rest):
                top = [*top, ""]
            elif _holds_row_names([row[0] for row in rest], any(not row[1].strip().isdecimal() for row in rest)):
                top = ["", *top]  # as R writes the names of rows
            else:
                raise InputError(
                    f"{path}: line {numbers[0]} has {counted(len(top), 'cell')}, each row below it {len(top) + 1}; "
                    f"name every column, quote cells with {found.between!r}, or leave a title out with "
                    f"{option('skip_rows', numbers[:1])}"
                )
        names = [name or f"c{place}" + "_" * (f"c{place}" in top) for place, name in enumerate(top, 1)]
        lines_of_names = len(list(io.StringIO(rows[0][0] + ".", newline="")))
        first = numbers[1] if rest and len(names) > 1 else numbers[0] + lines_of_names
        _refuse_second_header(top, rest, numbers, path)
        for place, (name, own) in enumerate(zip(names, top, strict=True)):
            if not own:
                cells = [row[place] for row in rest if len(row) == len(names)]
                unnamed[name] = _unnamed(cells, place, name, asked, path)
    return replace(found, names=tuple(names), first=first, unnamed=unnamed, notes=tuple(notes))


def _unnamed(cells: Sequence[str], place: int, name: str, asked: Wish, path: Path) -> str:
    """Return what a column without a name holds: "nothing", or "rows" if it numbers or names them."""
    if not any(cell.strip() for cell in cells):
        return "nothing"
    if _holds_row_names(cells, place == 0):
        return "rows"
    if name in asked.keep:
        return "kept"
    raise InputError(
        f"{path}: column {place + 1} has no name; name it in the file, or read it as {name!r} with "
        f"{option('keep', [name])}"
    )


def _comment(lines: Sequence[str]) -> str | None:
    """Return what begins the comments at the start of a file, if it has some."""
    quotes = accumulate((line.count('"') for line in lines), initial=0)  # odd inside a cell of several lines
    outside = [line for line, before in zip(lines, quotes, strict=False) if before % 2 == 0]
    for mark in COMMENTS:
        own = [line for line in outside if line.lstrip().startswith(mark)]
        others = [line for line in lines if not line.lstrip().startswith(mark)]
        if own and len(others) > 1:
            sign = _separator(others, ",")
            widths = {line.count(sign) for line in others}
            if not any(line.count(sign) in widths - {0} for line in own):
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
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
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


def check_rows(found: Found, text: str, path: Path) -> tuple[str, ...]:
    """Return a sentence where the last row is about all of them.

    Raise for rows with other numbers of cells than the header has, and for quotes that do not match.
    """
    reader = found.records(found.rows(io.StringIO(text, newline="")), strict=True)
    row, line, alone = 0, 1, len(found.names) == 1  # a blank line is a missing cell of a column that is alone
    wrong: list[tuple[int, int, int]] = []
    start, begins, alike = "", 0, 0
    try:
        with cells_of_any_length():
            for cells in reader:
                row += bool(cells) or (alone and line >= found.first)
                if wrong and ((cells and len(cells) == len(found.names)) or len(wrong) == LISTED_ROWS):
                    break
                if cells and len(cells) != len(found.names):
                    wrong.append((row, line, len(cells)))
                if cells:
                    start, begins = cells[0].strip(), line
                    alike += bool(LAST_LINE.fullmatch(start))
                line = reader.line_num + 1
    except csv.Error:
        raise InputError(
            f"{path}: the quotes of the row that starts in line {line} do not match; "
            "close each quoted cell and double the quotes inside it"
        ) from None
    if not row:
        raise NoRows(f"{path} has no rows below its column names; add at least one")
    if wrong:
        number, line, size = wrong[0]
        lines = [own for _, own, _ in wrong]
        those = f"line{'s' * (len(lines) > 1)} {listed(lines)}"
        few = number > 1 and len(lines) < LISTED_ROWS
        also = f", or leave {those} out with {option('skip_rows', lines)}" if few else ""
        raise InputError(
            f"{path}: row {number} (line {line}) has {counted(size, 'cell', thousands='')} where the header has "
            f"{len(found.names)}; quote a cell that contains {found.between!r} and leave a missing one empty{also}"
        )
    if alike != 1 or not LAST_LINE.fullmatch(start):
        return ()
    remedy = f"{option('skip_rows', [begins])} leaves it out"
    return (f"the last row (line {begins}) begins with {start!r}, like a line about all rows; {remedy}",)


def _width(lines: Sequence[str], separator: str) -> int:
    """Return the number of cells that each row has; 1 where they differ, one cell more and few last rows aside."""
    rows = [WORD.findall(line) for line in lines] if separator == " " else _cells(lines, separator)
    while len(lines) - LISTED_ROWS < len(rows) > 2 and len(rows[-1]) == 1:  # sources and remarks below
        rows.pop()
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
        # of "0,5;1,2" each cell has a comma too, which is then that of a number; tabs are in few cells of words
        for sign in others:
            pieces = [cell.strip() for row in _cells(lines, sign)[1:] for cell in row if default in cell]
            if (sign == "\t" and widths[sign] >= widths[default]) or (
                pieces and all(COMMA_NUMBER.fullmatch(piece) for piece in pieces)
            ):
                return sign
        return default
    if others:
        return max(others, key=lambda sign: widths[sign])
    if any(default in line for line in lines):
        return default  # rows of several lengths, about which the reader has a sentence
    cells = [cell for line in lines[1:] for cell in WORD.findall(line)]
    told = sum(bool(PLAIN.fullmatch(cell)) or cell[0] == '"' for cell in cells) > len(cells) / 3
    return " " if widths[" "] > 2 and told else default


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
        numeric = bool(below) and sum(written(word) is not None for word in below) >= 0.9 * len(below)
        if not written(cell):
            if numeric and cell not in CODES:
                return False
            alike += below.count(cell) > 0 and len(set(below)) < len(below)
        elif numeric:
            values = [float(word) for word in below if PLAIN.fullmatch(word)]
            plain = bool(PLAIN.fullmatch(cell))
            inside = plain and values and min(values) <= float(cell) <= max(values) and cell in below
            alike += bool(inside or not cell.lstrip("+-").isdecimal())
    return alike > 0 and 2 * alike >= sum(map(bool, top))


def _holds_row_names(cells: Sequence[str], drawn: bool) -> bool:
    """Return whether cells count up from 0 or 1, are different words, or, of rows that may be `drawn`, numbers."""
    found = [cell.strip() for cell in cells]
    if found in ([str(n) for n in range(len(found))], [str(n) for n in range(1, len(found) + 1)]):
        return True
    numbered = drawn and all(cell.isdecimal() for cell in found)
    return len(found) == len(set(found)) > 1 and (numbered or not any(map(written, found)))


def _refuse_second_header(top: Sequence[str], rows: Sequence[Sequence[str]], numbers: list[int], path: Path) -> None:
    """Raise for a row of words below the first one, which may have gaps, where most cells below it are numbers."""
    if len(rows) < 5 or any(written(cell.strip()) for cell in rows[0]):
        return
    words = []
    for word, *below in zip(*([cell.strip() for cell in row] for row in rows), strict=False):
        if word and word not in below and 2 * sum(written(cell) is not None for cell in below) > len(below):
            words.append(word)
    if len(words) > 1 and not CODES.intersection(words):
        merged = any(cell.strip() and not name for name, cell in zip(top[1:], rows[0][1:], strict=False))
        leave = f"leave line {numbers[1]} out with {option('skip_rows', [numbers[1]])}"
        if merged:  # cells that name groups of columns
            leave = f"leave line {numbers[0]} out with {option('skip_rows', [numbers[0]])}"
        if merged and not (top[0] and all(cell.strip() for cell in rows[0])):
            leave = "write the name of each column into one line"
        raise InputError(
            f"{path}: line {numbers[1]} has {listed([repr(clipped(word, 20)) for word in words], 4)} where the rows "
            f"below it have numbers, like a second row of names; {leave}"
        )


def _refuse_titles(numbers: list[int], rows: list[list[str]], path: Path, guessed: bool) -> None:
    """Raise for lines of one cell above a row of names; of a separator that is guessed, few lines."""
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    first = next((place for place, cells in enumerate(filled) if cells > 1), 0)
    if not first or not rows[0][0].strip() or (guessed and first > max(1, MOST_TITLES * len(rows))):
        return
    names, below = rows[first], rows[first + 1 :]
    if {len(row) for row in below} == {len(names)} and not (
        any(written(cell.strip()) for cell in names) or _looks_like_rows(names, below)
    ):
        raise InputError(
            f"{path}: line {numbers[0]} has only {clipped(rows[0][0], 40)!r}, which may be a title; leave it out with "
            f"{option('skip_rows', numbers[:first])}, or read it as a column name with "
            f"{option('header', True)}"
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
            types = {
                name: "number" if kind.startswith(numeric) else "category"
                for name, kind in kinds.items()
                if not kind.startswith(("string", "date"))
            }
            found = Found(encoding, ",", tuple(names), number + 1, kinds=types)
            return replace(found, comment="%", quote="'", plain=False)
    raise InputError(f"{path} has no line @data; an ARFF file needs it before its rows")


class _Lines:
    """Lines of text as the UTF-8 bytes of a file."""

    closed = False

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Read the next bytes."""
        pieces, total = [self._rest], len(self._rest)
        while total < size and (line := next(self._lines, "")):
            pieces.append(line.encode())
            total += len(pieces[-1])
        data = b"".join(pieces)
        self._rest = data[size:]
        return data[:size]

    def close(self) -> None:
        """Leave the file, which its owner closes."""


def _quoted(found: Found, lines: Iterable[str]) -> Iterator[str]:
    """Yield rows with each cell in quotes, as Arrow takes a quote after a blank for a part of the cell."""
    with cells_of_any_length():
        for row in found.records(lines):
            cells = (cell.replace(found.quote, 2 * found.quote) for cell in row)
            yield found.between.join(f"{found.quote}{cell}{found.quote}" for cell in cells) + "\n"


def require_names(names: Sequence[str], path: Path) -> None:
    """Raise `InputError` for a column without a name, and for two of the same."""
    first: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(f"{path}: column {position} has no name; name it, or remove it if it numbers the rows")
        if name in first:
            raise InputError(f"{path}: columns {first[name]} and {position} are both named {name!r}; rename one")
        first[name] = position


def text_stream(
    paths: Sequence[Path], where: str, wish: Wish, wanted: Wanted = ALL, data: bytes | None = None
) -> Stream:
    """Return the stream of files of text, after a first pass that finds what the cells of each column mean.

    The bytes of one file may be given as `data`: they are checked row by row, and the first pass keeps the rows. Where
    the wish says what the cells of all files are like, that decides, and no other first pass is made.
    """
    import pyarrow as pa

    layouts = {path: _layout(path, wish, data) for path in paths}
    first = layouts[paths[0]]
    wish = wish.among(_kept(first, wish))
    names = names_of({path: _kept(found, wish) for path, found in layouts.items()}, wanted)
    own = wanted.of(names)
    surveys = {name: Survey(wish.codes(name), wish.as_written(name)) for name in own}
    rows: int | None = None
    held: list[pa.RecordBatch] = []
    if data is not None or not wish.surveys.keys() >= {*own}:
        rows = 0
        for batch in (batch for path in paths for batch in _batches(path, layouts[path], own or names[:1], data)):
            rows += batch.num_rows
            held += [] if data is None else [batch]
            for name, survey in surveys.items():
                survey.add(batch.column(name))
    if rows == 0:
        raise NoRows(f"{where} has no rows below its column names; add at least one")
    surveys |= {name: wish.surveys[name] for name in own if name in wish.surveys}
    written_as = dict.fromkeys(wanted.of_rows(own), "text")
    decimal, meanings = _settled(surveys, first, replace(wish, kinds={**written_as, **wish.kinds}))
    numbers = {name: meaning for name, meaning in meanings.items() if meaning.held in ("whole", "number")}
    signs = {name: "" if meaning.style is None else meaning.style.sign for name, meaning in numbers.items()}
    warn_of_signs(signs, wish.signs)

    def batches(path: Path, chosen: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield batches of some columns of a file, their words as what they mean."""
        for words in held or _batches(path, layouts[path], chosen):
            for piece in pieces(words):
                arrays = [
                    cells_of(piece.column(name), meanings[name], wish.codes(name), wish.as_written(name))
                    for name in chosen
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=chosen)

    read = reader(lambda: ((str(path), partial(batches, path)) for path in paths))
    of_words = frozenset(name for name, meaning in meanings.items() if meaning.held == "words")
    return Stream(
        *(where, names, rows, read),
        from_file=True,
        kinds=cast("Any", first.kinds),
        written=of_words,
        files=tuple(paths),
        notes=_notes_of(first, meanings, wish),
        sum_below=first.sum_below,
        emptied={name for name, survey in surveys.items() if survey.emptied},
        reading={**wish.remembered(), "decimal": decimal, "signs": signs},
        surveys=surveys,
    )


def _kept(found: Found, wish: Wish) -> list[str]:
    """Return the columns that are read: not those without a name, unless the user keeps them."""
    return [name for name in found.names if name not in found.unnamed or name in wish.keep]


def _settled(surveys: Mapping[str, Survey], layout: Found, wish: Wish) -> tuple[str | None, dict[str, Meaning]]:
    """Return the decimal mark, if it is known, and what cells mean; commas in one column speak for the others."""
    decimal = wish.decimal
    marks = [survey.marks() for survey in (wish.surveys or surveys).values()]
    if decimal is None and not any({".", ","} & own for own in marks):
        decimal = wish.usual_decimal
    if decimal is None and not any("." in own for own in marks):
        commas = {",", ",?"} if layout.separator == ";" else {","}
        decimal = "," if any(commas & own for own in marks) else None
    elif decimal is None and not any("," in own for own in marks):
        decimal = "."
    declared = {**layout.kinds, **wish.kinds}
    return decimal, {name: survey.meaning(decimal, declared.get(name)) for name, survey in surveys.items()}


def _notes_of(found: Found, meanings: Mapping[str, Meaning], wish: Wish) -> tuple[str, ...]:
    """Return what was done, in sentences."""
    notes = list(found.notes)
    for name, what in found.unnamed.items():
        if name not in wish.keep:
            said = "is empty" if what == "nothing" else "numbers or names the rows"
            place, keep = found.names.index(name) + 1, f"{option('keep', [name])} reads it as {name!r}"
            notes.append(f"the column without a name at place {place} {said} and is left out ({keep})")
    for name, meaning in meanings.items():
        own = replace(meaning, mixed=()) if name == wish.target else meaning  # labels need not be numbers
        notes += own.notes(name, name in wish.kinds)
    return tuple(notes)


def _layout(path: Path, wish: Wish, data: bytes | None) -> Found:
    """Return the layout of a file by its first bytes; where all are given, its rows are checked too."""
    head, whole = data or b"", True
    if data is None:
        with opened(path) as file:
            head = file.read(HEAD_BYTES)
        whole = len(head) < HEAD_BYTES
    for first, what in NO_TEXT.items():
        of_text = first[:1] in b"<%"  # others have bytes 0, unlike a column called PAR1
        if head.lstrip()[: len(first)].lower() == first.lower() and (of_text or b"\0" in head):
            raise InputError(f"{path} is {what}")
    encoding = wish.encoding or encoding_of(head, whole, path)
    text = decoded(head, encoding, path, whole)
    start = text if whole and len(text) <= HEAD_BYTES else text[: text.rfind("\n", 0, HEAD_BYTES) + 1] or text
    of_tsv = re.search(r"\.tsv(\.gz|\.zip)?$", path.name, re.IGNORECASE)
    found = laid_out(start, encoding, wish, path, "\t" if of_tsv else ",")
    blank_before_quote = re.compile(f"{re.escape(found.between)} +{found.quote}(?!{found.quote})")
    if blank_before_quote.search(text) and any(
        cell[:1] == " " and cell.lstrip()[:1] == found.quote
        for row in found.records(found.rows(io.StringIO(text, newline="")))
        for cell in row
    ):
        said = "the blanks before cells in quotes are left out"
        found = replace(found, spaced=True, plain=False, notes=(*found.notes, said))
    require_names(found.names, path)
    of_rows = () if data is None else check_rows(found, text, path)
    return replace(found, notes=(*found.notes, *of_rows), sum_below=bool(of_rows))


DAMAGE = {
    ".gz": ("gzip", (gzip.BadGzipFile, EOFError, zlib.error)),
    ".zip": ("zip", (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError)),
}
"""By their ending, how packed files are called, and what reading a damaged one raises."""


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, unpacked where it is packed."""
    ending = path.suffix.lower()
    kind, errors = DAMAGE.get(ending, ("", ()))
    with regular(path, "a table") as file, ExitStack() as stack:
        try:
            if ending == ".zip":
                archive = stack.enter_context(zipfile.ZipFile(file))
                members = [one for one in archive.infolist() if not one.is_dir() and "__MACOSX" not in one.filename]
                if len(members) != 1:
                    raise InputError(f"{path} holds {len(members)} files; unpack it and give one of them")
                yield stack.enter_context(archive.open(members[0]))
            else:
                yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if ending == ".gz" else file
        except errors as error:
            raise InputError(f"{path} is not a whole {kind} file ({one_line(error)}); copy or pack it again") from error


def _batches(path: Path, found: Found, names: Sequence[str], data: bytes | None = None) -> Iterator[pa.RecordBatch]:
    """Yield batches of columns of a file, whose bytes may be given, all cells as words."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    convert = arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), include_columns=list(names))
    parse = arrow.ParseOptions(
        delimiter=found.between,
        quote_char=found.quote,
        newlines_in_values=True,
        ignore_empty_lines=len(found.names) > 1,  # in a column that is alone they are missing cells
    )
    size = max(BLOCK, len(data or b"") + 1)  # a cell must end in the block in which it begins
    read = arrow.ReadOptions(block_size=min(size, 2**31 - 1), column_names=list(found.names))
    try:
        with opened(path) if data is None else nullcontext(io.BytesIO(data)) as file, ExitStack() as stack:
            source: Any = file
            if found.plain:
                file.read(3) if found.encoding == "utf-8-sig" else None
                for _ in range(found.first - 1):
                    file.readline()
            else:
                text = stack.enter_context(io.TextIOWrapper(file, found.encoding, newline=""))
                rows = filter(None, found.rows(text, left_out=""))
                source = _Lines(_quoted(found, rows) if found.spaced else rows)
            with arrow.open_csv(pa.PythonFile(source, "r"), read, parse, convert) as reader:
                yield from (batch for batch in reader if batch.num_rows)
    except InputError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = one_line(error)
        if "mpty CSV" in reason:
            return
        if "UTF8" in reason.upper().replace("-", ""):
            raise InputError(f"{path} is not {found.encoding} text; say its {option('encoding')}") from None
        raise InputError(
            f"{path} cannot be read as a table ({reason}); quote a cell that contains {found.between!r} and leave "
            "a missing one empty"
        ) from None
