"""How the cells of a column are written: numbers with signs, thousands and decimal commas, codes, padded digits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bayesclf.tables.options import option
from bayesclf.wording import IN_ALL, counted, first_upper, listed

if TYPE_CHECKING:
    import pyarrow as pa

ERRORS = ("#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?", "#NULL!", "#NV", "#WERT!")
"""What spreadsheets write where a formula has no value."""

ANSWERS = ("k.A.", "k. A.", "n.a.", "keine Angabe", "don't know", "don’t know", "no answer", "prefer not to say")
"""What people write, perhaps with a capital, where there is no answer."""

SHORT = ("NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "None", "?", "-", "--", "–", "—", ".", "<NA>")
CODES = frozenset((*SHORT, *ERRORS, *ANSWERS, *map(first_upper, ANSWERS)))
"""Words that stand for "missing" among numbers."""

SAME_SIGN = 0.95
"""The least share of cells with the same sign, such as %, in a column of numbers; "$70" and "70" are both money."""

PLAIN = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?inf(inity)?", re.IGNORECASE)
"""A number as programs write it."""

MONEY = "$€£¥₹₩₽₺"
_CURRENCY = (
    rf"(?:US|CA|A|R)?[{MONEY}]"
    r"|(?:AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HUF|INR|JPY|KRW|MXN|NOK|NZD|PLN|SEK|TRY|USD|ZAR)(?=\s|[-+−]?\d*[.,])"
)
"""Signs and codes of currencies; letters alone, as in the level EUR4, are no code before a whole number."""

_SIGNED = re.compile(
    rf"(?P<minus>[-+−]?)\s*(?P<before>(?:{_CURRENCY})?)\s*(?P<inner>[-+−]?)(?P<body>(?:[0-9]|[.,](?=[0-9]))[0-9.,\s'’]*?)"
    rf"(?P<power>[eE][-+]?[0-9]+)?\s*(?P<after>[%‰″\"{MONEY}]|° ?[CFNESW]?|[^\W\d_]{{1,6}}(?:/[^\W\d_]{{1,4}})?[²³]?)?"
)
_BRACKETS = re.compile(rf"^([{MONEY}]?)\(([^-+−()]+)\)(%?)$")
"""A negative number as accountants write it, such as (210.99)."""

_TRAILING = re.compile(rf"^([{MONEY}]?[0-9.,\s'’]*[0-9][.,][0-9][0-9])\s?[-−]$")
"""A negative number as some business software writes it, such as 210.99-; not "2-", a mark of a school."""

_BLANKS = re.compile(r"^[1-9]\d{0,2}([\s'’]\d{3})+(?=[.,]|$)")
"""Thousands set apart by blanks."""

_FORMS = {
    ".": re.compile(r"(\d+|[1-9]\d{0,2}(,\d{3})+|[1-9]\d?(,\d{2})+,\d{3})(\.\d*)?|\.\d+"),
    ",": re.compile(r"(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d+)?|,\d+"),
}
"""A number without its sign, by its decimal mark; 1,137,000 is 11,37,000 in India."""

ONE_WAY = "write all of them one way"
"""What to do about numbers that are written in several ways."""

PAIR = r"^\d{1,3} ?/ ?\d{1,3}$"
"""Two numbers in one cell, such as a blood pressure of 120/80."""

type Held = Literal["nothing", "whole", "number", "words"]
"""What a column holds."""


class Written(NamedTuple):
    """How a word writes a number: its sign, such as "%", what may be its decimal mark, and the marks in it."""

    sign: str
    decimal: str
    marks: str


def written(word: str) -> Written | None:
    """Return how a word writes a number as people do; None for another word.

    Examples
    --------
    >>> [tuple(written(word)) for word in ("$1,137.00", "12.5%", "52 kg", "1,137", "(1.137,50)")]
    [('$', '.', ',.'), ('%', '.', '.'), ('kg', '.,', ''), ('', '.,', ','), ('', ',', '(,.')]
    >>> written("rain")
    """
    opened = _opened(word)
    marks = ("(" if "(" in word else "-") * (opened != word)
    if PLAIN.fullmatch(opened):
        bare = opened.lstrip("+-")
        point = "." * (not bare.isdecimal())
        return Written("", ".," if _FORMS[","].fullmatch(bare) else ".", marks + point)
    found = _SIGNED.fullmatch(opened)
    if not found or (found["minus"] and found["inner"]) or (found["before"] and found["after"]):
        return None
    body = _BLANKS.sub(lambda blanks: re.sub(r"[\s'’]", "", blanks[0]), found["body"])
    decimal = "".join(mark for mark, form in _FORMS.items() if form.fullmatch(body))
    if found["power"]:  # which follows a number without marks between thousands
        decimal = "," if re.fullmatch(r"\d*,\d+", body) else "." * bool(re.fullmatch(r"\d+\.?\d*|\.\d+", body))
    marks += "".join(sorted({*body} & {".", ","})) + " " * (body != found["body"])
    feet = found["after"] in ('"', "″") and {*"'’"} & {*found["body"]}  # such as 5'100"
    if not decimal or feet or (found["power"] and " " in marks):
        return None
    return Written(found["before"] or found["after"] or "", decimal, marks)


def _opened(word: str) -> str:
    """Return a number with the minus sign in front."""
    return _TRAILING.sub(r"-\1", _BRACKETS.sub(r"-\1\2\3", word))


@dataclass(frozen=True)
class Style:
    """How the numbers of a column are written: decimal mark, sign such as "%", and the marks between and around.

    It is sure where each word says by itself that its decimal mark is a point; of "1,137" others must tell.
    """

    decimal: str = "."
    sign: str = ""
    marks: str = ""
    sure: bool = True

    def number(self, word: str) -> float:
        """Return the number of a word that `written` knows."""
        opened = _opened(word)
        if PLAIN.fullmatch(opened) and self.decimal == ".":
            return float(opened)
        found: Any = _SIGNED.fullmatch(opened)
        body = re.sub(r"[\s'’]", "", found["body"])
        body = body.replace(",", "") if self.decimal == "." else body.replace(".", "").replace(",", ".")
        size = float(body + (found["power"] or ""))
        return -size if {found["minus"], found["inner"]} & {"-", "−"} else size

    def __str__(self) -> str:
        parts = [f"without {self.sign!r}"] if self.sign else []
        parts += ["with a decimal comma"] if self.decimal == "," else []
        parts += ["without the marks between thousands"] if self.marks.strip("(-") else []
        parts += ["those in parentheses as negative ones"] if "(" in self.marks else []
        parts += ["those that end in a minus sign as negative ones"] if "-" in self.marks else []
        return listed(parts, last=" and ")


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
        Of numbers that are written in several ways, and so are words, these ways, and what to do.
    """

    held: Held
    style: Style | None = None
    padded: bool = False
    codes: Mapping[str, int] = field(default_factory=dict)
    blanks: int = 0
    stripped: int = 0
    mixed: tuple[str, ...] = ()

    def notes(self, name: str, declared: bool) -> list[str]:
        """Return what was done, in sentences, each with the option that undoes it."""
        found = []
        kept = f"{option('kind', {name: 'category'})} keeps what is written"
        if self.style is not None:
            found.append(f"column {name!r} is read as numbers, {self.style} ({kept})")
        if self.mixed:
            what, remedy = self.mixed
            found.append(
                f"column {name!r} has {what} and is read as categories; {remedy} "
                f"({option('kind', {name: 'category'})} says that categories are meant)"
            )
        if self.padded and not declared:
            found.append(
                f"column {name!r} has digits padded with zeros and is read as categories "
                f"({option('kind', {name: 'number'})} reads numbers)"
            )
        codes = [f"{word!r} ({counted(count, 'cell')})" for word, count in self.codes.items()]
        blanks = [f"blanks ({counted(self.blanks, 'cell')})"] if self.blanks else []
        if self.held == "words" and codes and not declared:
            are, them = ("is a level", "it") if len(codes) == 1 else ("are levels", "them")
            empties = f"{option('missing', {name: list(self.codes)})} empties {them}"
            found.append(f"column {name!r}: {listed(codes, 8, IN_ALL)} among words {are} ({empties})")
        if self.held == "words" and blanks:
            found.append(f"column {name!r}: {blanks[0]} taken for missing")
        elif self.held != "words" and codes + blanks:
            found.append(f"column {name!r}: {listed(codes + blanks, 8, IN_ALL)} taken for missing ({kept})")
        if self.stripped > self.blanks and self.held == "words":
            found.append(f"column {name!r}: blanks around {counted(self.stripped - self.blanks, 'word')} are left out")
        return found


@dataclass
class Survey:
    """What the cells of a column are like, batch by batch.

    Numbers are `fractional` unless all are whole, and `styled` where programs would write one in another way. Among
    `words` that are no numbers there may be others than `PAIR`.
    """

    missing: Collection[str] = ()
    as_written: bool = False
    fractional: bool = False
    styled: bool = False
    words: bool = False
    no_pairs: bool = False
    padded: bool = False
    one_length: set[int] = field(default_factory=set)
    cells: int = 0
    gaps: int = 0
    blanks: int = 0
    stripped: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    signs: Counter[str] = field(default_factory=Counter)
    forms: set[tuple[str, str]] = field(default_factory=set)
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

        if not self.fractional and cast(cells, "int64") is not None:
            self._lengths(cells)
            self.forms.add((".,", ""))
            self.signs[""] += len(cells)
            return
        self.fractional = True
        if not self.styled and cast(cells, "float64") is not None:
            sure = (".", ".") in self.forms or not pc.all(pc.match_substring_regex(cells, _THOUSANDS)).as_py()
            self.forms.add(("." if sure else ".,", "."))
            self.signs[""] += len(cells)
            return
        self.styled = True
        for pair in pc.value_counts(cells).to_pylist():
            found = written(pair["values"])
            if found is None:
                self.words, self.no_pairs = True, not pc.all(pc.match_substring_regex(cells, PAIR)).as_py()
                return
            self.signs[found.sign] += pair["counts"]
            self.forms.add((found.decimal, found.marks))

    def _lengths(self, cells: pa.Array) -> None:
        import pyarrow.compute as pc

        lengths = pc.utf8_length(cells)
        if len(self.one_length) < 2 and len(cells):
            self.one_length |= {pc.min(lengths).as_py(), pc.max(lengths).as_py()}
        if not self.padded:
            self.padded = bool(pc.any(pc.and_(pc.starts_with(cells, "0"), pc.greater(lengths, 1))).as_py())

    def __add__(self, other: Survey) -> Survey:
        """Return what the cells of two parts of a column are like."""
        added = {}
        for name in (own.name for own in fields(self) if own.name not in ("missing", "as_written")):
            one, two = getattr(self, name), getattr(other, name)
            added[name] = one | two if isinstance(one, bool | set) else one + two
        return replace(self, **added)

    def marks(self) -> set[str]:
        """Return what is a decimal mark without doubt, "." or ",", or what may be, ".?" or ",?"; of numbers only."""
        sure = {decimal for decimal, _ in self.forms} & {".", ","}
        maybe = {f"{mark}?" for mark in ",." if not sure and any(mark in marks for _, marks in self.forms)}
        return set() if self.words else sure | maybe

    def meaning(self, decimal: str | None, kind: str | None = None) -> Meaning:
        """Return what the cells mean."""
        some = self.stripped if self.stripped < self.cells + self.blanks else 0  # of all they follow the separator
        rest = (dict(self.codes), self.blanks, some)
        digits = (
            self.padded and not self.fractional and len(self.one_length) == 1 and kind != "number" and not self.words
        )
        words, numbers = Meaning("words", None, digits, *rest), Meaning("number", None, False, *rest)
        if kind is None and self.words and not self.no_pairs:
            return replace(words, mixed=("pairs of numbers such as 120/80", "write them into two columns"))
        if kind in ("category", "text") or digits or self.words:
            return words
        if not self.signs:
            return words if self.codes else replace(words, held="nothing")
        signs = [sign for sign in self.signs if sign]
        if kind is None and not signs and all(marks == "(" for _, marks in self.forms):
            return words  # such as (1), (2) and (3), which count and are not negative
        sign = signs[0] if signs else ""
        money = re.match(_CURRENCY, f"{sign} ")
        few = self.signs[sign] < SAME_SIGN * self.signs.total() and not money
        if len(signs) > 1 or few:
            counts = self.signs.most_common()
            ways = [f"{f'with {own!r}' if own else 'without a sign'} ({counted(n, 'cell')})" for own, n in counts]
            return replace(words, mixed=(f"numbers {listed(ways, 4, last=' and ')}", ONE_WAY))
        if not self.fractional:
            return numbers if self.gaps or self.codes else replace(numbers, held="whole")
        marks = self.marks()
        if {".", ","} <= marks or (decimal and {".?", ",?"} <= marks):
            return replace(words, mixed=("numbers with decimal points and with decimal commas", ONE_WAY))
        mark = "," if "," in marks or (decimal == "," and "." not in marks) else "."
        if not self.styled and mark == ".":
            return numbers
        others = {mark for _, some in self.forms for mark in some} - {mark}
        sure = all(own == "." or (own == ".," and "," not in some) for own, some in self.forms)
        style = Style(mark, sign, "".join(sorted(others)), sure)
        return numbers if style == Style() else replace(numbers, style=style)


def meaning_of(words: Iterable[Any], kind: str | None = None) -> Meaning:
    """Return what words mean that are all of a column, None where one is missing."""
    import pyarrow as pa

    survey = Survey()
    survey.add(pa.array(words, pa.string(), from_pandas=True))
    return survey.meaning(None, kind)


_THOUSANDS = r"^[-+]?([1-9]\d{0,2}\.\d{3}|\d+)$"
FIRST_CELLS = 64
"""Cells of a column by which most columns of words or of fractions are told."""

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

    try:
        column[:FIRST_CELLS].cast(kind)  # Arrow takes a hundred times as long for a long column that it cannot cast
        if kind == "int64" and pc.any(pc.match_substring_regex(column, HEXADECIMAL)).as_py():
            return None  # Arrow alone takes them for numbers
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
