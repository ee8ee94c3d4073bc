"""Remarks about columns: what each was taken for, and what is odd in it, such as codes for missing and row names."""

from __future__ import annotations

import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.arrays import Array
from bayesclf.errors import InputError
from bayesclf.tables.columns import (
    LISTED_LEVELS,
    ColumnKind,
    as_words,
    column_kind,
    kind_of,
    not_numbers,
    require_column,
    require_kinds,
    row_numbers,
)
from bayesclf.tables.levels import word
from bayesclf.tables.options import Wish, leaving_out, of_command, of_memory, option
from bayesclf.tables.writing import PLAIN, Style, meaning_of, written
from bayesclf.wording import AND_MORE, IN_ALL, LISTED_NAMES, counted, flagged_rows, listed

RARE = 0.05
"""The largest share, of a class's usual spelling, of one that is taken for a slip."""

MOST_WHOLE = 30
"""The most whole numbers that are taken for classes; more are a quantity."""


def alike(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return pairs of words that differ in case and blanks alone, the usual spelling first.

    Examples
    --------
    >>> alike({"no": 60, "NO": 2, "yes": 30, "Yes": 20})
    [('no', 'NO'), ('yes', 'Yes')]
    """
    found: dict[str, list[str]] = defaultdict(list)
    for level in sorted(counts, key=lambda level: (-counts[level], level)):
        found[" ".join(level.casefold().split())].append(level)
    return [(usual, other) for usual, *others in found.values() for other in others]


def _both(pair: tuple[str, str], counts: Mapping[str, int]) -> str:
    """Return two words with the number of rows of each."""
    return " and ".join(f"{word!r} ({counted(counts[word], 'row')})" for word in pair)


def mended_labels(y: pd.Series[Any]) -> tuple[dict[str, str], list[str]]:
    """Return the usual spelling of each label that is a slip, and sentences about labels that differ in case."""
    counts = {str(label): int(count) for label, count in as_words(y).value_counts().items()}
    pairs = alike(counts)
    slips = {other: usual for usual, other in pairs if counts[other] <= RARE * counts[usual]}
    kept = f"{option('labels_as_written', True)} keeps both"
    notes = [
        f"label {slip!r} ({counted(counts[slip], 'row')}) is taken for {usual!r} ({kept})"
        for slip, usual in slips.items()
    ]
    unsure = [_both(pair, counts) for pair in pairs if pair[1] not in slips]
    notes += [f"labels {pair} are two classes that differ only in case; write them one way if not" for pair in unsure]
    return slips, notes


def renamed(y: pd.Series[Any], names: Mapping[str, str]) -> pd.Series[Any]:
    """Return labels with other names."""
    words = y.astype(object).map(lambda label: names.get(label, label), na_action="ignore")
    return words.astype("category") if isinstance(y.dtype, pd.CategoricalDtype) else words.astype(y.dtype)


def cut(y: pd.Series[Any], bounds: Sequence[float]) -> pd.Series[Any]:
    """Return classes of a column of numbers: below the first bound, from each to the next, and from the last on.

    Examples
    --------
    >>> cut(pd.Series([17.0, 22.0, 31.0], name="bmi"), [18.5, 25]).tolist()
    ['below 18.5', '18.5 to 25', 'from 25']
    """
    edges = [float(bound) for bound in bounds]
    if edges != sorted(set(edges)):
        raise InputError(f"{option('classes')} must rise, as in 18.5,25,30, not {', '.join(map(str, bounds))}")
    if y.dtype.kind not in "iuf":
        raise InputError(f"{option('classes')} makes classes of numbers, but the label column {y.name!r} holds words")
    shown = [f"{edge:g}" for edge in edges]
    names = [f"below {shown[0]}", *(f"{a} to {b}" for a, b in pairwise(shown)), f"from {shown[-1]}"]
    codes = np.where(y.isna(), -1, np.digitize(y.to_numpy(dtype=float, na_value=np.nan), edges)).astype(np.intp)
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(names), ordered=True), y.index, name=y.name)


def require_classes(y: pd.Series[Any]) -> None:
    """Raise for labels that are a quantity: numbers with fractions, or many different whole ones."""
    if y.dtype.kind not in "iuf":
        return
    values = y.dropna()
    fractions = y.notna() & (~np.isfinite(y) | (y != y.round()))
    if fractions.any() or values.nunique() > MOST_WHOLE:
        what = (
            f"{y[fractions].iloc[0]} ({flagged_rows(fractions)})" if fractions.any() else f"{values.nunique()} numbers"
        )
        middle = f"{values[np.isfinite(values)].median():g}"
        raise InputError(
            f"the label column {y.name!r} holds {what}: this is a quantity, not a class; make classes with "
            f"{option('classes', [float(middle)])}, choose another {option('target')}, or give "
            f"{option('kind', {y.name: 'category'})}"
        )


CODE = re.compile(r"-1|-9+|99+")
"""Numbers that stand for "missing" in many tables, besides 0."""

CODES_OF_ANSWERS = (9.0, 8.0, 7.0, 99.0, 98.0, 97.0, 88.0, 77.0, 999.0, 998.0, 997.0, 888.0, 777.0)
"""Numbers that stand for answers such as "refused" in tables of surveys, often several in a column."""

MIN_SPIKE, MAX_SHARE, MAX_ZEROS = 3, 0.97, 0.5
"""The fewest cells at the spike, and the largest share of them; 0 in most cells is the usual case, not a gap."""

MIN_OTHERS, MIN_DISTINCT = 20, 10
"""The fewest other cells, and different values among them: of ranks and grades any may be far from the others."""

MIN_RANGES = 2
"""How many ranges of the others a code is away that needs nothing else, however many values: 9999 among years is."""

MIN_GAP = 0.5
"""The least distance of the spike from the other cells, in their standard deviations."""

MIN_RATIO = 3
"""How many times the cells at the spike outnumber those of the nearest value; a natural tail has fewer."""

MIN_STEPS, MIN_DISPERSION = 5, 1.5
"""For whole numbers: the least distance, and the least variance over mean of the others. Counts, in which 0 is natural,
come close to 0, or are about as variable as Poisson's, whose ratio is 1."""

NO_ZERO, FAR = 30, 5
"""The mean, and the distance from 0 in standard deviations, from which on 0 is natural for no count: Poisson's with
that mean has it once in 10¹³ cells."""


@dataclass(frozen=True)
class Spike:
    """A value that probably stands for "missing", as values of `more` do."""

    value: float
    cells: int
    nearest: float
    more: tuple[float, ...] = ()

    def sentence(self, name: object) -> str:
        """Say what was found, where, and what to do."""
        values = [f"{value:.15g}" for value in (self.value, *self.more)]
        return (
            f"column {name!r} is {listed(values, last=' or ')} in {counted(self.cells, 'cell')}, far from the nearest "
            f"other value ({self.nearest:g}); if that means missing, read the table with "
            f"{option('missing', {name: [int(value) for value in (self.value, *self.more)]})}"
        )


def spike(column: pd.Series[Any]) -> Spike | None:
    """Return an isolated spike of a column of numbers at a value that often stands for "missing".

    The value is a large code above all others, or 0 or a negative code below others that are positive (for a code, not
    negative). At least `MIN_SPIKE` cells have it, at most a share of `MAX_SHARE` or `MAX_ZEROS`, and `MIN_RATIO` times
    as many as the nearest value. Except for negative codes, it is further from that value than `MIN_GAP` standard
    deviations of the others. Zeros among whole numbers must not look like zeros of a count. Among few different values,
    such as answers from 1 to 5, the spike is a code other than 0, `MIN_RANGES` ranges away, or several such codes.
    Above all answers from 0 or 1 on, codes may be nearer. Codes above the answers come first.

    Examples
    --------
    >>> weight = pd.Series([0.0] * 5 + [48.0 + 0.7 * k for k in range(60)])
    >>> spike(weight)
    Spike(value=0.0, cells=5, nearest=48.0, more=())
    >>> spike(pd.Series([0, 0, 0, 0, 1, 1, 2, 3, 5, 8] * 10)) is None
    True
    """
    if len(column) < MIN_OTHERS + MIN_SPIKE or column_kind(column, text=False) != "number":
        return None
    cells = column.to_numpy(dtype=float, na_value=np.nan)
    cells = cells[np.isfinite(cells)]
    if len(cells) < MIN_OTHERS + MIN_SPIKE:
        return None
    low, high = float(cells.min()), float(cells.max())
    if answers := _answers(cells):
        return answers
    found = _isolated(cells, low) if low == 0 or (low < 0 and CODE.fullmatch(f"{low:.15g}")) else None
    return found or (_isolated(cells, high) if high > 0 and CODE.fullmatch(f"{high:.15g}") else None)


def _answers(cells: Array) -> Spike | None:
    """Return the codes above few different values, if they are those of answers and far from the others.

    Above answers from 0 or 1 to some number, without a gap, codes are also apart if chance would have filled the gap
    below them: if values become rarer, m cells are all at k codes, of k + g places, with probability (k/(k + g))ᵐ at
    most.
    """
    if cells.max() not in CODES_OF_ANSWERS:
        return None
    values, counts = np.unique(cells, return_counts=True)
    size = next((place for place, value in enumerate(values[::-1]) if value not in CODES_OF_ANSWERS), 0)
    codes, others, coded = values[len(values) - size :], values[: len(values) - size], int(counts[-size:].sum())
    if not size or len(others) > 2 * MIN_DISTINCT or coded < MIN_SPIKE or len(cells) - coded < MIN_OTHERS:
        return None
    nearest = float(others[-1])
    far = 0 < MIN_RANGES * np.ptp(others) < codes[0] - nearest
    all_answers = len(others) > 1 and others[0] in (0, 1) and (np.diff(others) == 1).all()
    apart = far or (all_answers and (size / (size + codes[0] - nearest - 1)) ** coded < CHANCE)
    return Spike(float(codes[0]), coded, nearest, tuple(codes[1:].tolist())) if apart else None


def _isolated(cells: Array, value: float) -> Spike | None:
    """Return the spike at the smallest or largest value of a column, if it is isolated."""
    others = cells[cells != value]
    size = len(cells) - len(others)
    share = MAX_SHARE if value else MAX_ZEROS
    if size < MIN_SPIKE or size > share * len(cells) or len(others) < MIN_OTHERS:
        return None
    values, counts = np.unique(others, return_counts=True)
    end = 0 if value < values[0] else -1
    nearest = float(values[end])
    far = value != 0 and 0 < MIN_RANGES * np.ptp(values) < abs(nearest - value)
    if far or len(values) < MIN_DISTINCT:
        return Spike(value, size, nearest) if far else None
    if size < MIN_RATIO * counts[end]:
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # numbers too large to be squared have no spike
        sd = float(others.std())
    alone = nearest >= 0 if value < 0 else abs(nearest - value) >= MIN_GAP * sd
    if alone and value == 0 and (values == np.round(values)).all():
        mean = float(others.mean())
        of_no_count = sd * (sd / mean) >= MIN_DISPERSION or (mean >= NO_ZERO and nearest >= FAR * sd)
        alone = nearest >= MIN_STEPS and of_no_count
    return Spike(value, size, nearest) if alone else None


def emptied(
    frame: pd.DataFrame, missing: Mapping[str, Sequence[object]], found: set[str] | None = None
) -> pd.DataFrame:
    """Return a table in which the cells with some values are empty, and note in `found` which columns had some.

    Examples
    --------
    >>> emptied(pd.DataFrame({"weight": [61.5, 0.0]}), {"weight": [0]})["weight"].tolist()
    [61.5, nan]
    """
    columns = {}
    for name, values in missing.items():
        column, words = frame[name], [str(value) for value in values]
        if column_kind(column, text=False) == "number":
            flags = column.isin(pd.to_numeric(pd.Series(words, dtype=object), errors="coerce").dropna())
        else:
            flags = as_words(column).isin(words)
        if not flags.any():
            continue
        if found is not None:
            found.add(name)
        emptied_column = column.mask(flags)
        if isinstance(column.dtype, pd.CategoricalDtype):
            # what stands for "missing" is no level
            gone = column.cat.categories[np.unique(column.cat.codes[flags & column.notna()])]
            emptied_column = emptied_column.cat.remove_categories(gone)
        columns[name] = emptied_column
    return frame.assign(**columns) if columns else frame


def require_emptied(wish: Wish, names: Collection[str], found: Collection[str], where: str) -> None:
    """Raise where no cell of one of some columns, or of the table, had a value that the user calls missing."""
    if wish.signs is not None:  # the user has said so of the table of a model
        return
    for name in wish.emptied:
        if name in names and name not in found:
            said = " or ".join(map(str, wish.missing[name])) or "no value"
            raise InputError(
                f"{where}: no cell of column {name!r} is {said}, the value given as missing; check the value"
            )
    if (codes := wish.codes(None)) and not found:
        said = " or ".join(codes)
        of_one = option("missing", {"COL": ["VALUE"]})
        raise InputError(f"{where}: no cell is {said}, the value given as missing; check it, or write {of_one}")


FEWEST_ROWS = 20
"""The fewest rows that tell: in fewer ones the values of any column may all be equal, or all be different."""

MOST_DIFFERENT = 0.9
"""The share of cells of words with a value of their own from which on a column names rows."""

CHANCE = 0.01
"""The largest probability that chance alone makes all of some numbers different, or leaves a gap below some."""

ROW_NAMES = re.compile(r"(?i:id|uuid|guid|row_?names?|index)|.+[_ .-](?i:id|uuid)|.*[a-z](Id|ID)")
"""Names of columns that name rows, where their values are all different."""

FEW_ROWS_EACH = 5
"""The mean number of rows for each value below which a column that is called an identifier says little of new rows."""

FEWEST_VALUES = 2
"""The fewest equal values of a column that are no chance, where all other cells are empty."""

LOOKED_AT = 1000
"""Rows that are looked at first, so that most columns of a table in memory take no time."""

MONTH = r"(?:jan|f[eé][bv]|m[aä]r|mrz|a[pv]r|ma[iy]|jui?[nl]|aug|ao[uû]|sep|o[ck]t|nov|d[eé][cz])[^\W\d_]*\.?"
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T]\d.*)?|\d{1,2}[-/.]\d{1,2}[-/.](\d{2}|\d{4})([ T]\d.*)?"
    rf"|{MONTH} \d{{1,2}},? \d{{4}}|\d{{1,2}}\.?[- ]{MONTH}[- ](\d{{2}}|\d{{4}})"
    rf"|(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])|{MONTH}[- ]\d{{4}}|(19|20)\d\d-(0[1-9]|1[0-2])"
    r"|(19|20)\d\d[- ]?(Q[1-4]|W[0-5]\d)",
    re.IGNORECASE,
)
TIME = re.compile(
    r"\d{1,3}:[0-5]\d(:[0-5]\d)?([.,]\d+)?( ?[ap]\.?m\.?)?|\d{1,3} ?(?-i:h|m|min) ?\d{1,2}( ?(m|min|s|sec))?",
    re.IGNORECASE,
)
MOMENTS = {
    "holds dates": (DATE, "derive numbers, such as pandas.to_datetime(column).dt.year"),
    "holds times": (TIME, "derive numbers, such as pandas.to_datetime(column).dt.hour"),
}
"""What columns of dates and of times hold, the form of each value, and what to do with them."""

MANY_MOMENTS, SOME_MOMENTS = 20, 3
"""A column with at least so many values, all of one form, holds dates or times; or there is a note that it may."""


def useless(
    frame: pd.DataFrame, target: str | None = None, keep: Collection[str] = (), every_row: bool = True
) -> dict[str, str]:
    """Return the columns that say nothing about new rows, and why; `keep` has columns that are not looked at.

    The first rows of more, without `every_row`, do not tell whether a column has one value only, or none.

    Examples
    --------
    >>> table = pd.DataFrame({"id": range(40), "unit": "kg", "weight": [61.5, 70.0] * 20})
    >>> useless(table)
    {'id': 'numbers the rows', 'unit': 'has one value only'}
    """
    names = [str(name) for name in frame.columns if name != target]
    kept = set(keep)
    looked_at = [name for name in names if name not in kept]
    found = {name: why for name in looked_at if (why := why_useless(frame[name], every_row))}
    texts = [name for name in looked_at if name not in found and column_kind(frame[name]) == "text"]
    some_stay = len(found) + len(texts) < len(names)
    return found | dict.fromkeys(texts if some_stay else [], FREE_TEXT)


FREE_TEXT, EACH_ROW = "holds free text", "has a different value in almost every row"
"""Why columns of words are left out beside others; a text model can fit one whose cells have several words."""

MOST_WORDS_OF_NUMBERS = 20
"""Levels that are written as numbers and still taken for codes without a remark."""


def about_columns(frame: pd.DataFrame, named: bool = True) -> list[str]:
    """Say of a table in memory which columns hold numbers as words or, if it has names, are useless, and what to do.

    Examples
    --------
    >>> prices = [f"${number / 2:.2f}" for number in range(40)]
    >>> said = about_columns(pd.DataFrame({"id": range(40), "x": 0.5, "price": prices}))
    >>> print(*said, sep="\\n")  # doctest: +NORMALIZE_WHITESPACE
    column 'id' numbers the rows; X.drop(columns=['id']) leaves it out
    column 'price' holds numbers as words; X['price'].replace(r"[eE](?![-+]?[0-9])|[^0-9.eE+-]", "",
    regex=True).astype(float) reads them
    """
    names = [str(name) for name in frame.columns]
    whole, said = frame.set_axis(names, axis=1), list[str]()
    keep = {name for name, dtype in zip(names, frame.dtypes, strict=True) if pd.api.types.is_float_dtype(dtype)}
    found: dict[str, str] = {}
    for part in [whole.head(LOOKED_AT), whole] if len(whole) > LOOKED_AT else [whole]:
        found = useless(part, None, keep, every_row=False) if named else {}
        keep = set(names).difference(found)
    if found:
        whys = listed([f"column {name!r} {why}" for name, why in found.items()], LISTED_NAMES, AND_MORE)
        derive = "".join(f"; {advice}" for why, (_, advice) in MOMENTS.items() if why in found.values())
        said.append(f"{whys}; {leaving_out([*found])} leaves {'it' if len(found) == 1 else 'them'} out{derive}")
    for name in names:
        if name in found or (style := numbers_as_words(whole[name])) is None or style.decimal != ".":
            continue
        plain = not not_numbers(whole[name]).any()
        minus = '.replace("[(−]", "-", regex=True)' if whole[name].str.contains("[(−]", na=False).any() else ""
        clean = f'X[{name!r}]{minus}.replace(r"[eE](?![-+]?[0-9])|[^0-9.eE+-]", "", regex=True).astype(float)'
        reads = f"X.astype({{{name!r}: float}})" if plain else clean
        reads = of_memory("kind", {name: "number"}, reads) if style.sure else reads
        said.append(f"column {name!r} holds numbers as words; {reads} reads them")
    return said


def numbers_as_words(column: pd.Series[Any]) -> Style | None:
    """Return how a column with many different words writes numbers, if these are all numbers; else None."""
    if isinstance(column.dtype, pd.CategoricalDtype) or pd.api.types.is_numeric_dtype(column.dtype):
        return None
    cells = column.dropna()
    if not len(cells) or not isinstance(cells.iloc[0], str) or not written(cells.iloc[0].strip()):
        return None
    values = cells.unique()
    if len(values) <= MOST_WORDS_OF_NUMBERS or not all(isinstance(value, str) for value in values):
        return None
    found = meaning_of(values)
    return None if found.codes or found.held not in ("whole", "number") else found.style or Style()


def why_useless(column: pd.Series[Any], every_row: bool = True) -> str:
    """Return why a column says nothing about new rows; empty for one that may."""
    values = column.dropna()
    different = (values != values.iloc[0]).any() if len(values) else False
    if not different and not every_row:
        return ""
    if not len(values):
        return "has no values"
    if len(column) < FEWEST_ROWS:
        return ""
    if not different:  # whether a cell is missing may say something
        return "" if column.isna().any() else "has one value only"
    if moments := holds_moments(column):
        return moments
    if not isinstance(column.dtype, pd.CategoricalDtype) and column_kind(column) == "text":
        return ""
    why = names_rows(column)
    mixed = meaning_of(as_words(values)).mixed if why else ()
    return "has {} ({})".format(*mixed) if mixed else why


def holds_moments(column: pd.Series[Any], least: int = MANY_MOMENTS) -> str:
    """Return which of `MOMENTS` a column holds, if it has many values that are all written so."""
    if pd.api.types.is_float_dtype(column.dtype):
        return ""
    values = pd.unique(column.dropna())
    if len(values) < least:
        return ""
    words = list(map(str, values))
    return next((what for what, (form, _) in MOMENTS.items() if all(map(form.fullmatch, words))), "")


def names_rows(column: pd.Series[Any]) -> str:
    """Return how a column names or numbers the rows; empty if it does neither.

    Words name the rows if nearly all are different and they are no numbers. Whole numbers do if they only rise or fall.
    Different ones do if chance would have made two of them equal: n independent numbers of a range of R whole numbers
    are all different with probability Π(1 − i/R) over i < n at most, which is below exp(−n(n − 1)/2R); the range of the
    cells is taken to be wider by (n + 1)/(n − 1), as the extremes of uniform numbers lie inside it. Both do if the
    column is called an identifier and has few rows for each value, such as those of one patient.
    """
    values = column.dropna()
    if len(values) < FEWEST_ROWS:
        return ""
    words, x = kind_of(column) == "category", np.empty(0)
    if not words:
        x = values.to_numpy(dtype=float)
        if not (np.isfinite(x) & (x == np.floor(x))).all():
            return ""
    different = values.nunique()
    named = FEW_ROWS_EACH * different > len(values) and ROW_NAMES.fullmatch(str(column.name)) is not None
    identifier = f"is an identifier with fewer than {FEW_ROWS_EACH} rows for each value" if named else ""
    if words:
        if different <= MOST_DIFFERENT * len(values) or (_mostly_numbers(values) and not named):
            return identifier
        return EACH_ROW
    if different < len(x):
        return identifier
    steps, n = np.diff(x), len(x)
    by_chance = np.exp(-n * (n - 1) ** 2 / (2 * (n + 1) * (np.ptp(x) + 1)))
    counts = by_chance < CHANCE or (steps > 0).all() or (steps < 0).all()
    return "numbers the rows" if counts or named else ""


def _mostly_numbers(values: pd.Series[Any]) -> bool:
    plain = sum(bool(PLAIN.fullmatch(str(value).strip())) for value in values)
    return plain >= MOST_DIFFERENT * len(values) or numbers_as_words(values) is not None


@dataclass(frozen=True)
class Decided:
    """What is decided about the columns of a file: those left out and why, labels that are slips, and what is said."""

    left_out: dict[str, str]
    slips: dict[str, str]
    notes: list[str]


def decided(
    frame: pd.DataFrame,
    target: str | None,
    as_written: bool,
    known: Collection[str],
    where: str,
    every_row: bool = True,
    sum_below: bool = False,
) -> Decided:
    """Return what is decided about the columns of a file by all of its rows, or by the first ones.

    Columns that are `known`, as the user has said what they are, stay. With `sum_below`, the reader has already said
    that the last row may be a sum.
    """
    for name in known:
        require_column(name, [str(column) for column in frame.columns], where)
    if target is not None and (why := names_rows(frame[target].rename("label"))):
        raise InputError(
            f"{where}: the label column {target!r} {why}, and so does not say a class; choose another "
            f"{option('target')}"
        )
    found = useless(frame, target, known, every_row)
    if found and len(found) == len(frame.columns) - (target is not None):
        raise InputError(
            f"{where}: no column is left, as {listed(f'{name!r} {why}' for name, why in found.items())}; "
            + next(
                (_undone(name, why, frame[name]) for name, why in found.items() if _of_words(why, frame[name])),
                f"{option('keep', list(found))} keeps them",
            )
        )
    notes, slips = [], dict[str, str]()
    for name, why in found.items():
        values = f"{frame[name].nunique()}{'' if every_row else ' or more'}"
        words = f" as {values} categories" if kind_of(frame[name]) == "category" else ""
        derived = f"{words}; {MOMENTS[why][1]}" if why in MOMENTS else ""
        notes.append(f"column {name!r} {why} and is left out ({_undone(name, why, frame[name])}{derived})")
    rest = [name for name in map(str, frame.columns) if name != target and name not in found]
    if not every_row:  # a column that is empty here may have values in later rows
        rest = [name for name in rest if frame[name].notna().any()]
    notes += oddities(frame, rest, known, sum_below)
    if target is not None and not as_written and frame[target].dtype.kind not in "iufb":
        slips, said = mended_labels(frame[target].dropna())
        notes += said
    return Decided(found, slips, notes)


def about_kept(frame: pd.DataFrame, names: Iterable[str]) -> Iterator[str]:
    """Say which columns that the user keeps are categories with hardly more than one row each."""
    for name in names:
        why = why_useless(frame[name]) or FREE_TEXT * (column_kind(frame[name]) == "text")
        if why in (FREE_TEXT, EACH_ROW):
            yield f"column {name!r} {why} and is kept as {frame[name].nunique()} categories"


def _of_words(why: str, column: pd.Series[Any]) -> bool:
    """Return whether a text model can fit a column that is left out: whether its cells have several words."""
    return why in (FREE_TEXT, EACH_ROW) and bool(column.astype(str).str.count(r"\S\s+\S").mean() >= 1)


def _undone(name: str, why: str, column: pd.Series[Any]) -> str:
    """Say which option uses a column that is left out."""
    kept = f"{option('keep', [name])} keeps it"
    if not _of_words(why, column):
        return kept
    return f"{of_command('text', [name], f'{kept}; bc.TextNB')} fits a text model to {name!r} alone"


ALMOST_NUMBERS = 0.5
"""A column of categories in which more than this share of the cells are numbers gets a note."""

NUMERIC = re.compile(r"\d|inf", re.IGNORECASE)
"""What every number has."""

SUMMARY_WIDTH = 48
"""The most characters of a cell in a summary."""


def describe_columns(
    frame: pd.DataFrame,
    target: str | None = None,
    kinds: Mapping[str, ColumnKind] | None = None,
) -> pd.DataFrame:
    """Show what each column of a table was taken for, so that a wrong guess is noticed before a model is fitted.

    Parameters
    ----------
    frame : DataFrame
        A table, as from `read_table`.
    target : str, optional
        The column with the labels.
    kinds : mapping of str to {"number", "category", "text"}, optional
        What the user has said the columns are; the others are guessed by `column_kind`.

    Returns
    -------
    DataFrame
        One row per column of `frame`: ``column`` (its name); ``kind`` ("number", "category", "text" or "label");
        ``dtype``; ``missing`` (number of cells); ``distinct`` (number of different values, missing ones aside);
        ``summary`` (the range, the most frequent levels with their counts, or the start of a text).

    Raises
    ------
    InputError
        If `target` or a name in `kinds` is not a column.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": ["31", "old", "45"], "rain": [0.5, 2.0, None], "play": ["no", "yes", "yes"]})
    >>> table = describe_columns(frame, target="play")
    >>> table[["column", "kind", "missing", "distinct", "summary"]]
      column      kind  missing  distinct            summary
    0    age  category        0         3  31 1, old 1, 45 1
    1   rain    number        1         2           0.5 to 2
    2   play     label        0         2        yes 2, no 1
    """
    kinds = kinds or {}
    if target is not None:
        require_column(target, list(frame.columns), "the table")
    require_kinds(kinds, list(frame.columns), "the table")
    lines = []
    for name, column in frame.items():
        kind = "label" if name == target else kinds.get(str(name)) or column_kind(column)
        missing = column.isna().to_numpy()
        cells = column.to_numpy()[~missing].tolist() if missing.any() else column.tolist()
        levels = Counter(cells)  # pandas counts a short column in a hundred times as long
        lines.append(
            {
                "column": name,
                "kind": kind,
                "dtype": str(column.dtype),
                "missing": len(column) - len(cells),
                "distinct": len(levels),
                "summary": _summary(cells, levels, kind),
            }
        )
    return pd.DataFrame(lines)


def _summary(cells: list[Any], levels: Counter[Any], kind: str) -> str:
    if not cells:
        return "no values"
    if kind == "number":
        return f"{min(levels):.6g} to {max(levels):.6g}"
    if kind == "text":
        return _start(cells[0])
    return listed((f"{_start(level)} {count}" for level, count in levels.most_common()), LISTED_LEVELS)


def _start(cell: object) -> str:
    return textwrap.shorten(str(cell), SUMMARY_WIDTH, placeholder=" …")


def oddities(
    frame: pd.DataFrame, names: Iterable[str], known: Collection[str] = (), sum_below: bool = False
) -> list[str]:
    """Say what is odd in some columns, of which the user knows some. With `sum_below`, no word in the last row is odd.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": ["31", "old", "45"]})
    >>> print(*oddities(frame, ["age"]))  # doctest: +NORMALIZE_WHITESPACE
    column 'age' is read as categories because of 'old' (row 2); leave that cell empty (missing={'age': ['old']}) to
    read the column as numbers, or declare that this is meant, with kinds={'age': 'category'}
    """
    return list(filter(None, (_odd(name, frame[name], name in known, sum_below) for name in names)))


def _odd(name: str, column: pd.Series, declared: bool, sum_below: bool) -> str:
    """Say what is odd in a column; empty if nothing is."""
    values = column.dropna()
    if not len(values):
        return f"column {name!r} has no values at all; leave it out"
    if len(column) > len(values) >= FEWEST_VALUES and (values == values.iloc[0]).all():
        cells = f"is {word(values.iloc[0])!r} in {counted(len(values), 'cell')} and empty in the others"
        return f"column {name!r} {cells}; an empty cell is taken for unknown, so write it out if it means another value"
    if column_kind(column) != "category":
        found = spike(column)
        return found.sentence(name) if found else ""
    place, different = pd.factorize(values)
    levels = Counter(dict(zip(different.tolist(), np.bincount(place).tolist(), strict=True)))
    if what := holds_moments(column, SOME_MOMENTS):
        each = f"{len(levels)} categories, one for each {what.removeprefix('holds ').removesuffix('s')}"
        return f"column {name!r} {what} and is read as {each}; {MOMENTS[what][1]}"
    declared |= isinstance(column.dtype, pd.CategoricalDtype)
    if not declared and (almost := _almost_numbers(name, column, levels, sum_below)):
        return almost
    counts = {str(level): count for level, count in levels.items()}
    pairs = listed((_both(pair, counts) for pair in alike(counts)), LISTED_LEVELS, AND_MORE)
    return f"levels {pairs} of column {name!r} differ only in case; write them one way if they are one" if pairs else ""


LIMIT = re.compile(r"([<>≤≥])=? ?(\d+\.?\d*)")
"""A measurement of which only a bound is known, such as <3.0."""


def _almost_numbers(name: str, column: pd.Series, levels: Counter[Any], sum_below: bool) -> str:
    """Say which cells keep a column from being read as numbers, if the others are numbers; not a known sum below."""
    if sum(count for level, count in levels.items() if NUMERIC.search(str(level))) <= ALMOST_NUMBERS * levels.total():
        return ""
    words = as_words(column)
    if (style := numbers_as_words(words)) is not None:
        remedy = f"{option('kind', {name: 'number'})} reads" if style.sure else "save the table as .csv to read"
        return f"column {name!r} holds numbers as words; {remedy} them"
    bad = not_numbers(words)
    of_last_row = bad.sum() == bad.iloc[-1]
    if not 0 < bad.sum() < (1 - ALMOST_NUMBERS) * column.notna().sum() or (of_last_row and sum_below):
        return ""
    if meaning_of(words[~bad]).held not in ("whole", "number"):
        return ""
    rows, bad_words = row_numbers(column, range(len(column))), [str(word) for word in words[bad].unique()]
    found = [f"{word!r} ({flagged_rows(words == word, rows)})" for word in bad_words]
    cells = "that cell" if bad.sum() == 1 else "those cells"
    remedy = f"write numbers into {cells}, or leave them empty,"
    limits = [limit for bad_word in bad_words if (limit := LIMIT.fullmatch(bad_word))]
    others = [bad_word for bad_word in bad_words if not LIMIT.fullmatch(bad_word)]
    if 0 < len(others) <= LISTED_LEVELS:
        remedy = f"leave {cells} empty ({option('missing', {name: others})})"
        if of_last_row:
            remedy = f"leave the last line out ({option('skip_rows')}) if it is a sum, or {remedy}"
    if limits:
        value = float(limits[0][2]) / (2 if limits[0][1] in "<≤" else 1)
        bounds = f"write a number for each bound, such as {value:g} for {limits[0][0]!r},"
        remedy = f"{bounds} and {remedy.replace('those', 'the other')}" if others else bounds
    return (
        f"column {name!r} is read as categories because of {listed(found, LISTED_LEVELS, IN_ALL)}; {remedy} to "
        f"read the column as numbers, or declare that this is meant, with {option('kind', {name: 'category'})}"
    )
