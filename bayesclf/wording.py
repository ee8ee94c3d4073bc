"""Wording of numbers, counts and lists in messages and reports."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Iterable
from itertools import count

NEGLIGIBLE = 1e-12
"""Rounding errors of sums of floats lie below this."""

MOST_DECIMALS = 6
"""The most decimals to which a small standard error extends a number."""

LISTED_ROWS = 5
"""The most row numbers that a sentence lists."""

LISTED_NAMES = 5
"""The most names that a sentence lists."""

LONGEST_NAME = 200
"""The most characters of a name, a value or a path that a message shows."""

LONGEST_MESSAGE = 4000
"""The most characters of a message."""

UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal obeys rather than prints: controls, line separators, changes of the writing direction."""

QUOTED = r"""(?<!\w)'(?:[^'\\]|\\.)*'(?!\w)|(?<!\w)"(?:[^"\\]|\\.)*"(?!\w)"""
LONG = re.compile(rf"{QUOTED}|\S{{{LONGEST_NAME + 1},}}")
"""What a message may shorten: anything in quotes, and a word that is too long."""

NUMBER = re.compile(rf"({QUOTED})|(?<![\w.])[-−]?[\d.,]*\d")
"""A number outside of quotes, or what is in quotes, its group."""

IN_ALL = ", … ({total} in all)"
"""End of a shortened list that also says how many items there are."""

AND_MORE = " and {left} more"
"""End of a shortened list that counts the items left out."""


def listed(items: Iterable[object], limit: int | None = None, more: str = ", …", last: str = ", ") -> str:
    """List items in a sentence, at most `limit`; `more` ends a shortened list, and `last` separates the last item.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], last=" and "), listed(range(9), 2), listed([])
    ('a, b, c', 'a, b and c', '0, 1, …', '')
    >>> listed(range(9), 2, IN_ALL), listed(range(9), 2, AND_MORE)
    ('0, 1, … (9 in all)', '0, 1 and 7 more')
    """
    words = [str(item) for item in items]
    if limit is not None and len(words) > limit:
        return ", ".join(words[:limit]) + more.format(total=len(words), left=len(words) - limit)
    return last.join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def without_numbers(sentence: str) -> str:
    """Return a sentence with one sign for each of its numbers but those in quotes."""
    return NUMBER.sub(lambda found: found[1] or "#", sentence)


def joined(items: Iterable[object]) -> str:
    """List items in a sentence, separated by commas and a final "and".

    Examples
    --------
    >>> joined(["a"]), joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return listed(items, last=" and ")


def named(names: Iterable[str], limit: int = LISTED_NAMES) -> str:
    """List names in quotes, separated by commas and a final "and".

    Examples
    --------
    >>> named(["a", "b"]), named(["a", "b", "c", "d", "e", "f", "g"])
    ("'a' and 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    return listed(map(repr, names), limit, AND_MORE, last=" and ")


def part_of(some: int, of: int, noun: str) -> str:
    """Return how many things were used, and of how many if not all were; `noun` is a plural.

    Examples
    --------
    >>> part_of(12, 12, "rows"), part_of(1000, 1202, "parameters")
    ('12 rows', '1,000 of 1,202 parameters')
    """
    return f"{some:,} {noun}" if some == of else f"{some:,} of {of:,} {noun}"


def flagged_rows(flags: Iterable[object], numbers: Iterable[int] | None = None) -> str:
    """List the rows that are flagged, at least one, by their numbers, which otherwise count from 1.

    Examples
    --------
    >>> flagged_rows([False, True, True]), flagged_rows([True]), flagged_rows([True, False], [3, 4])
    ('rows 2, 3', 'row 1', 'row 3')
    """
    rows = [number for flag, number in zip(flags, count(1) if numbers is None else numbers, strict=False) if flag]
    return f"row{'s' * (len(rows) > 1)} {listed(rows, LISTED_ROWS, IN_ALL)}"


def one_line(text: object) -> str:
    """Return text on one line, without characters that would move the cursor.

    Examples
    --------
    >>> one_line("a\\nb\\x1b[2J")
    'a b [2J'
    """
    return "".join(character if character.isprintable() else " " for character in str(text)).strip()


def clipped(text: object, longest: int) -> str:
    """Return text on one line of at most so many characters, its middle left out: names often differ at their end.

    Examples
    --------
    >>> clipped("the longest name of them all", 12)
    'the lon… all'
    """
    line = one_line(text)
    if len(line) <= longest:
        return line
    tail = longest // 3
    return f"{line[: longest - tail - 1]}…{line[-tail:]}"


def written(value: object, longest: int) -> str:
    """Return any value as Python writes it, `clipped`; one that cannot be written, as it is too deep, by its type.

    Examples
    --------
    >>> written("the longest name of them all", 12)
    "'the lo…all'"
    """
    try:
        return clipped(repr(value), longest)
    except Exception:  # whatever the object's own method raises
        return f"a {type(value).__name__} object"


def visible(text: str, kept: str = "") -> str:
    """Return text whose control characters, except for those kept, are escapes that a terminal does not obey.

    Examples
    --------
    >>> print(visible("red\\x1b[31m\\nline", kept="\\n"))
    red\\x1b[31m
    line
    """
    return UNSAFE.sub(lambda found: found[0] if found[0] in kept else ascii(found[0])[1:-1], text)


def printable(text: str) -> str:
    """Return a message fit to print: control characters are visible, and quoted or long words are shortened.

    Examples
    --------
    >>> printable("column '" + "a" * 10_000 + "' is empty") == "column '" + "a" * 131 + "…" + "a" * 66 + "' is empty"
    True
    """
    text = visible(text)
    if len(text) <= LONGEST_NAME:
        return text
    return clipped(LONG.sub(_shortened, text), LONGEST_MESSAGE)


def _shortened(found: re.Match[str]) -> str:
    """Return a name of at most `LONGEST_NAME` characters, in its quotes if it has some."""
    text = found[0]
    if len(text) <= LONGEST_NAME:
        return text
    quote = text[0] if text[0] in "'\"" and text[-1] == text[0] else ""
    return f"{quote}{clipped(text.strip(quote) if quote else text, LONGEST_NAME - 2 * len(quote))}{quote}"


def did_you_mean(name: object, names: Iterable[str]) -> str:
    """Return a hint at the closest of the known names, in brackets after a space; empty if none is close.

    Examples
    --------
    >>> did_you_mean("irsi", ["wine", "iris"])
    " (did you mean 'iris'?)"
    """
    known = {own.casefold(): own for own in reversed([*names])}
    close = difflib.get_close_matches(str(name).casefold(), known, n=1)
    return f" (did you mean {known[close[0]]!r}?)" if close else ""


def counted(size: int, noun: str, plural: str = "", thousands: str = ",") -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(12000, "row"), counted(12000, "row", thousands=""), counted(2, "class", "classes")
    ('1 row', '12,000 rows', '12000 rows', '2 classes')
    """
    return f"{size:{thousands}} {noun if size == 1 else plural or noun + 's'}"


def number(value: float, digits: int = 3) -> str:
    """Return a number with a fixed number of decimals; only zero itself is written as 0.

    Examples
    --------
    >>> number(0.1234), number(-0.02), number(0.0), number(float("inf"))
    ('0.123', '−0.020', '0', '∞')
    """
    if math.isnan(value):
        return "n/a"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) < NEGLIGIBLE:
        return "0"
    text = f"{abs(value):.{digits}f}"
    return f"−{text}" if value < 0 and float(text) else text


def duration(seconds: float) -> str:
    """Return a time in words.

    Examples
    --------
    >>> duration(0.013), duration(1.34), duration(59.96), duration(125), duration(7300)
    ('0.01 s', '1.3 s', '1 min 0 s', '2 min 5 s', '2 h 1 min')
    """
    if seconds < 0.95:
        return f"{max(seconds, 0.01):.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def pair(value: float, error: float, digits: int = 3) -> str:
    """Return "value ± standard error" with enough decimals for the error, or the value alone where it is NaN.

    Examples
    --------
    >>> pair(0.1234, 0.05), pair(0.1234, float("nan")), pair(0.00021, 0.00004)
    ('0.123 ± 0.050', '0.123', '0.00021 ± 0.00004')
    """
    if math.isnan(error):
        return number(value, digits)
    if NEGLIGIBLE < error < 0.5 * 10**-digits:
        digits = min(MOST_DECIMALS, math.ceil(-math.log10(error)))
    return f"{number(value, digits)} ± {number(error, digits)}"


def percent(share: float, error: float = float("nan")) -> str:
    """Return a share in percent.

    Examples
    --------
    >>> percent(0.9733), percent(0.9733, 0.0105)
    ('97.3%', '97.3 ± 1.1%')
    """
    return f"{pair(100 * share, 100 * error, 1)}%" if math.isfinite(share) else "n/a"


def first_upper(sentence: str) -> str:
    """Return a sentence that begins with a capital letter, unless it begins with a symbol such as k̂.

    Examples
    --------
    >>> first_upper("the rows"), first_upper("k̂ = 0.3")
    ('The rows', 'k̂ = 0.3')
    """
    symbol = unicodedata.combining(sentence[1:2] or " ") > 0
    return sentence if symbol else sentence[:1].upper() + sentence[1:]


def sentences(clauses: Iterable[str]) -> list[str]:
    """Return clauses as sentences.

    Examples
    --------
    >>> sentences(["the rows are few"])
    ['The rows are few.']
    """
    return [f"{first_upper(clause)}." for clause in clauses]


def in_names(column: str) -> str:
    """Return a column's name as part of a variable's: "/" is a path in a DataTree, "_2" marks a second block.

    Examples
    --------
    >>> in_names("km/h"), in_names("2")
    ('km|h', 'column_2')
    """
    return f"column_{column}" if column.isdecimal() else column.replace("/", "|")
