"""How the cells of a column are written: numbers with signs, thousands and decimal commas, codes, padded digits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from bayesclf.tables.options import option
from bayesclf.wording import IN_ALL, counted, listed

if TYPE_CHECKING:
    import pyarrow as pa

CODES = frozenset(("NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "None", "?", "-", ".", "#N/A", "<NA>"))
"""Words that stand for "missing" among numbers."""

SAME_SIGN = 0.95
"""The least share of cells with the same sign, such as %, in a column of numbers; "$70" and "70" are both money."""

PLAIN = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?inf(inity)?", re.IGNORECASE)
"""A number as programs write it."""

MONEY = "$€£¥"
_SIGNED = re.compile(
    rf"(?P<minus>[-+−]?)\s*(?P<before>[{MONEY}]?)\s*(?P<inner>[-+−]?)(?P<body>(?:[0-9]|[.,](?=[0-9]))[0-9.,\s'’]*?)"
    rf"(?P<power>[eE][-+]?[0-9]+)?\s*(?P<after>[%‰{MONEY}]|°[CF]?|[^\W\d_]{{1,6}}(?:/[^\W\d_]{{1,4}})?[²³]?)?"
)
_SHAPES = {
    "whole": r"\d+",
    "point?": r"[1-9]\d{0,2}\.\d{3}",
    "comma?": r"[1-9]\d{0,2},\d{3}",
    "points": r"[1-9]\d{0,2}(\.\d{3}){2,}",
    "commas": r"[1-9]\d{0,2}(,\d{3}){2,}",
    "commas, point": r"[1-9]\d{0,2}(,\d{3})+\.\d+",
    "points, comma": r"[1-9]\d{0,2}(\.\d{3})+,\d+",
    "blanks": r"[1-9]\d{0,2}([\s'’]\d{3})+",
    "blanks, point": r"[1-9]\d{0,2}([\s'’]\d{3})+\.\d+",
    "blanks, comma": r"[1-9]\d{0,2}([\s'’]\d{3})+,\d+",
    "point": r"\d+\.\d*|\.\d+",
    "comma": r"\d*,\d+",
}
"""Shapes of a number without its sign; a point or comma before three digits may be of thousands or decimal."""
_SHAPE = re.compile("|".join(f"(?P<s{place}>{shape})" for place, shape in enumerate(_SHAPES.values())))
_NAMES = tuple(_SHAPES)
_DOTTED = re.compile(r"[-+]?" + _SHAPES["point?"])
COMMA_SHAPES = {"comma", "points, comma", "points", "blanks, comma"}
POINT_SHAPES = {"point", "commas, point", "commas", "blanks, point"}

type Held = Literal["nothing", "whole", "number", "words"]
"""What a column holds."""


def written(word: str) -> tuple[str, str] | None:
    """Return the sign and the shape of a word that is a number as people write it; None for another.

    Examples
    --------
    >>> written("$1,137.00"), written("12.5%"), written("52 kg"), written("1.137,50"), written("rain")
    (('$', 'commas, point'), ('%', 'point'), ('kg', 'whole'), ('', 'points, comma'), None)
    """
    if PLAIN.fullmatch(word):
        return "", "whole" if word.lstrip("+-").isdecimal() else ("point?" if _DOTTED.fullmatch(word) else "point")
    found = _SIGNED.fullmatch(word)
    if not found or (found["minus"] and found["inner"]) or (found["before"] and found["after"]):
        return None
    shape = _SHAPE.fullmatch(found["body"])
    if not shape:
        return None
    name = next(_NAMES[place] for place in range(len(_NAMES)) if shape[f"s{place}"] is not None)
    if found["power"] and name not in ("whole", "point", "point?"):
        return None
    return found["before"] or found["after"] or "", name


@dataclass(frozen=True)
class Style:
    """How the numbers of a column are written: decimal mark, sign such as "%", and thousands set apart."""

    decimal: str = "."
    sign: str = ""
    thousands: bool = False

    def number(self, word: str) -> float:
        """Return the number of a word that `written` knows."""
        if PLAIN.fullmatch(word) and self.decimal == ".":
            return float(word)
        found: Any = _SIGNED.fullmatch(word)
        body = re.sub(r"[\s'’]", "", found["body"])
        body = body.replace(",", "") if self.decimal == "." else body.replace(".", "").replace(",", ".")
        size = float(body + (found["power"] or ""))
        return -size if {found["minus"], found["inner"]} & {"-", "−"} else size

    def __str__(self) -> str:
        parts = [f"without {self.sign!r}"] if self.sign else []
        parts += ["with a decimal comma"] if self.decimal == "," else []
        parts += ["without the marks between thousands"] if self.thousands else []
        return " and ".join(parts)


@dataclass(frozen=True)
class Meaning:
    """What the words of a column mean.

    Attributes
    ----------
    held
        "nothing", "whole" numbers, "number" or "words".
    style
        How numbers are written, where not as programs write them.
    padded
        Whether it holds digits padded with zeros.
    codes
        Words that stand for "missing" among its numbers, or seem to among its words, and in how many cells.
    blanks
        Cells of blanks alone, which are missing.
    stripped
        Cells that had blanks around them, where not all had.
    mixed
        Of numbers that are written in several ways, and so are words, these ways.
    """

    held: Held
    style: Style | None = None
    padded: bool = False
    codes: Mapping[str, int] = field(default_factory=dict)
    blanks: int = 0
    stripped: int = 0
    mixed: str = ""

    def notes(self, name: str, declared: bool) -> list[str]:
        """Return what was done, in sentences, each with the option that undoes it."""
        found = []
        kept = f"{option('kind', {name: 'category'})} keeps what is written"
        if self.style is not None:
            found.append(f"column {name!r} is read as numbers, {self.style} ({kept})")
        if self.mixed:
            found.append(
                f"column {name!r} has numbers {self.mixed} and is read as categories; write all of them one way "
                f"({option('kind', {name: 'category'})} says that categories are meant)"
            )
        if self.padded and not declared:
            found.append(
                f"column {name!r} has digits padded with zeros and is read as categories "
                f"({option('kind', {name: 'number'})} reads numbers)"
            )
        some = [f"{word!r} ({counted(count, 'cell')})" for word, count in self.codes.items()]
        some += [f"blanks ({counted(self.blanks, 'cell')})"] if self.blanks else []
        if some and self.held in ("whole", "number"):
            found.append(f"column {name!r}: {listed(some, 8, IN_ALL)} taken for missing ({kept})")
        elif some and self.held == "words" and not declared:
            codes = list(self.codes)
            if codes:
                empties = f"{option('missing', {name: codes[:1]})} empties it"
                found.append(f"column {name!r}: {listed(some, 8, IN_ALL)} among words is a level ({empties})")
            else:
                found.append(f"column {name!r}: {some[0]} taken for missing")
        if self.stripped > self.blanks and self.held == "words":
            found.append(f"column {name!r}: blanks around {counted(self.stripped - self.blanks, 'word')} are left out")
        return found


@dataclass
class Survey:
    """What the cells of a column are like, batch by batch."""

    missing: Collection[str] = ()
    as_written: bool = False
    whole: bool = True
    plain: bool = True
    words: bool = False
    padded: bool = False
    one_length: set[int] = field(default_factory=set)
    cells: int = 0
    gaps: int = 0
    blanks: int = 0
    stripped: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    signs: Counter[str] = field(default_factory=Counter)
    shapes: set[str] = field(default_factory=set)
    emptied: bool = False

    def add(self, column: pa.Array) -> None:
        """Add some cells."""
        import pyarrow.compute as pc

        bare = stripped(column, self.as_written)
        if bare is not column:
            self.blanks += (
                pc.sum(pc.equal(pc.utf8_length(bare), 0)).as_py() - pc.sum(pc.equal(pc.utf8_length(column), 0)).as_py()
            )
            self.stripped += pc.sum(pc.not_equal(bare, column)).as_py()
        cells = emptied(bare, self.missing)
        self.emptied |= bool(self.missing) and cells.null_count > emptied(bare).null_count
        self.gaps += cells.null_count
        self.cells += len(cells) - cells.null_count
        coded = pc.is_in(cells, _array(sorted(CODES)))
        if pc.any(coded).as_py():
            found = pc.value_counts(cells.filter(coded)).to_pylist()
            self.codes.update({one["values"]: one["counts"] for one in found})
            cells = cells.filter(pc.invert(coded))
        if not self.words and len(cells):
            self._shapes(cells.drop_null())

    def _shapes(self, cells: pa.Array) -> None:
        """Add how numbers are written, until a cell is no number."""
        import pyarrow.compute as pc

        if self.whole and cast(cells, "int64") is not None:
            self._lengths(cells)
            self.shapes.add("whole")
            self.signs[""] += len(cells)
            return
        self.whole = False
        if self.plain and cast(cells, "float64") is not None:
            some = "point" in self.shapes or not pc.all(pc.match_substring_regex(cells, _THOUSANDS)).as_py()
            self.shapes.add("point" if some else "point?")
            self.signs[""] += len(cells)
            return
        self.plain = False
        for pair in pc.value_counts(cells).to_pylist():
            found = written(pair["values"])
            if found is None:
                self.words = True
                return
            sign, shape = found
            self.signs[sign] += pair["counts"]
            self.shapes.add(shape)

    def _lengths(self, cells: pa.Array) -> None:
        import pyarrow.compute as pc

        lengths = pc.utf8_length(cells)
        if len(self.one_length) < 2 and len(cells):
            self.one_length |= {pc.min(lengths).as_py(), pc.max(lengths).as_py()}
        if not self.padded:
            self.padded = bool(pc.any(pc.and_(pc.starts_with(cells, "0"), pc.greater(lengths, 1))).as_py())

    def comma(self) -> bool:
        """Return whether the numbers have decimal commas, or thousands set apart by points, without any doubt."""
        return not self.words and bool(self.shapes & COMMA_SHAPES) and not self.shapes & POINT_SHAPES

    def may_have_commas(self) -> bool:
        """Return whether commas are before three digits alone."""
        return not self.words and "comma?" in self.shapes and not self.shapes & POINT_SHAPES

    def points(self) -> bool:
        """Return whether the numbers have decimal points, without any doubt."""
        return not self.words and bool(self.shapes & POINT_SHAPES)

    def meaning(self, decimal: str | None, kind: str | None = None) -> Meaning:
        """Return what the cells mean."""
        some = self.stripped if self.stripped < self.cells + self.blanks else 0  # of all they follow the separator
        rest = (dict(self.codes), self.blanks, some)
        digits = self.padded and self.whole and len(self.one_length) == 1 and kind != "number" and not self.words
        words, numbers = Meaning("words", None, digits, *rest), Meaning("number", None, False, *rest)
        if kind in ("category", "text") or digits or self.words:
            return words
        if not self.signs:
            return words if self.codes else replace(words, held="nothing")
        shapes, signs = self.shapes, [sign for sign in self.signs if sign]
        sign = signs[0] if signs else ""
        few = self.signs[sign] < SAME_SIGN * self.signs.total() and sign not in MONEY
        if len(signs) > 1 or few:
            counts = self.signs.most_common()
            ways = [f"{f'with {own!r}' if own else 'without a sign'} ({counted(n, 'cell')})" for own, n in counts]
            return replace(words, mixed=listed(ways, 4, last=" and "))
        if self.whole:
            return numbers if self.gaps or self.codes else replace(numbers, held="whole")
        comma, point = shapes & COMMA_SHAPES, shapes & POINT_SHAPES
        if (comma and point) or (decimal and not comma and not point and {"comma?", "point?"} <= shapes):
            return replace(words, mixed="with decimal points and with decimal commas")
        if decimal == "," and point and not self.plain and not comma:
            decimal = "."
        mark = "," if comma or (decimal == "," and not point) else "."
        if self.plain and mark == ".":
            return numbers
        apart = {"commas", "commas, point", "comma?"} if mark == "." else {"points", "points, comma", "point?"}
        thousands = bool(shapes & apart) or any(shape.startswith("blanks") for shape in shapes)
        style = Style(mark, sign, thousands)
        return numbers if style == Style() else replace(numbers, style=style)


_THOUSANDS = r"^[-+]?([1-9]\d{0,2}\.\d{3}|\d+)$"
HEXADECIMAL = "^-?0[xX]"
"""Pattern of words that Arrow reads as integers."""


def _array(words: Iterable[str]) -> Any:
    import pyarrow as pa

    return pa.array(list(words), pa.string())


def stripped(column: pa.Array, as_written: bool = False) -> pa.Array:
    """Return words without the blanks around them."""
    import pyarrow.compute as pc

    if as_written:
        return column
    bare = pc.utf8_trim_whitespace(column)
    return column if bare.equals(column) else bare


def emptied(column: pa.Array, missing: Collection[str] = ()) -> pa.Array:
    """Return words, those that are empty or stand for "missing" as missing cells."""
    import pyarrow.compute as pc

    flags = pc.is_in(column, _array(["", *missing]))
    return pc.if_else(flags, None, column) if pc.any(flags).as_py() else column


def cast(column: pa.Array, kind: str) -> Any:
    """Return words as numbers, or None where one is not written as programs write it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "int64" and pc.any(pc.match_substring_regex(column, HEXADECIMAL)).as_py():
        return None  # Arrow alone takes them for numbers
    try:
        found = column.cast(kind)
    except pa.ArrowInvalid:
        return None
    return None if kind == "float64" and pc.any(pc.is_nan(found)).as_py() else found


def cells_of(column: pa.Array, meaning: Meaning, missing: Collection[str] = (), as_written: bool = False) -> pa.Array:
    """Return words as what they mean: numbers, or words, missing cells empty."""
    import pyarrow as pa

    bare = stripped(column, as_written)
    if meaning.held == "words":
        return emptied(bare, missing)
    cells = emptied(bare, (*missing, *meaning.codes))
    if meaning.held == "whole":
        return cells.cast("int64")
    plain = cast(cells, "float64") if meaning.style is None else None
    if plain is not None:
        return plain
    coded = cells.dictionary_encode()
    style = meaning.style or Style()
    numbers = pa.array([style.number(word) for word in coded.dictionary.to_pylist()], pa.float64())
    return numbers.take(coded.indices)
