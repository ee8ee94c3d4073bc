"""Which files are tables, what the user says about how they are read, and how sentences name the option for it."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from shlex import quote
from typing import Any, Literal

from bayesclf.errors import InputError
from bayesclf.wording import did_you_mean, listed

TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".data", ".dat")
"""Endings of files of text with separators."""

SEPARATED = (*TEXT_ENDINGS, ".arff")
PACKED_ENDINGS = tuple(f"{ending}{packed}" for ending in (*SEPARATED, ".jsonl", ".json") for packed in (".gz", ".zip"))
ENDINGS = (*SEPARATED, ".jsonl", ".json", *PACKED_ENDINGS, ".parquet", ".xlsx")

BY_PANDAS = "python -c \"import pandas; pandas.{reader}('{path}').to_csv('{csv}', index=False)\""
CONVERTED = {
    ".sav": "pip install pyreadstat && " + BY_PANDAS.replace("{reader}", "read_spss"),
    ".xls": "pip install xlrd && " + BY_PANDAS.replace("{reader}", "read_excel"),
    ".ods": "pip install odfpy && " + BY_PANDAS.replace("{reader}", "read_excel"),
    ".sas7bdat": BY_PANDAS.replace("{reader}", "read_sas"),
    ".dta": BY_PANDAS.replace("{reader}", "read_stata"),
    ".rds": "Rscript -e \"write.csv(readRDS('{path}'), '{csv}', row.names=FALSE)\"",
}
"""Lines that convert files of other programs."""


@dataclass(frozen=True)
class Wish:
    """What the user says about a table and its columns; None is found in the file.

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
    keep
        Columns that stay although they look useless.
    labels_as_written
        Whether labels that differ in blanks or in case stay different.
    classes
        Bounds that make classes of a label column of numbers.
    signs
        By column, the sign of its numbers in the table of a model, such as "$"; another one gets a warning.
    usual_decimal
        The decimal mark in the table of a model; it decides where all numbers of a file fit both.
    missing
        By column, values that stand for "missing"; by None those of all columns.
    kinds
        Declared kinds of columns.
    known
        Columns that the user has named otherwise, such as the target.
    target
        The column of labels, if it is known.
    surveys
        By column, what the cells of all files are like, where only some of them are read here.
    """

    encoding: str | None = None
    separator: str | None = None
    decimal: str | None = None
    header: bool | None = None
    comment: str | None = None
    skip_rows: tuple[int, ...] = ()
    keep: tuple[str, ...] = ()
    labels_as_written: bool = False
    classes: tuple[float, ...] = ()
    signs: Mapping[str, str] | None = None
    usual_decimal: str | None = None
    missing: Mapping[str | None, Sequence[object]] = field(default_factory=dict)
    kinds: Mapping[str, Any] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    target: str | None = None
    surveys: Mapping[str, Any] = field(default_factory=dict)

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

    @property
    def names(self) -> set[str]:
        """All columns that the user has named."""
        more = () if self.target is None else (self.target,)
        return {*self.kinds, *self.emptied, *self.known, *self.keep, *more}

    @property
    def emptied(self) -> list[str]:
        """Columns for which values that stand for "missing" are given."""
        return [name for name in self.missing if name is not None]

    def codes(self, name: str | None) -> list[str]:
        """Return the words of a column that stand for "missing"; of None those of all columns."""
        own = () if name is None else self.missing.get(name, ())
        return [str(value) for value in (*own, *self.missing.get(None, ()))]

    def as_written(self, name: str) -> bool:
        """Return whether blanks around the words of a column stay."""
        return self.labels_as_written and name == self.target

    def remembered(self) -> dict[str, Any]:
        """Return what the user says that holds for further tables, too, as options of `datasets.read`."""
        usual, of_all_tables = Wish(), ("decimal", "header", "comment", "labels_as_written", "classes")
        own = {name: value for name in of_all_tables if (value := getattr(self, name)) != getattr(usual, name)}
        return own | {"missing": {name: list(map(str, values)) for name, values in self.missing.items() if values}}

    def among(self, columns: Sequence[str]) -> Wish:
        """Return the wish with the name of the label column."""
        return self if self.target is None else replace(self, target=label_among(columns, self.target))


OPTIONS = tuple(own.name for own in fields(Wish) if own.name not in ("kinds", "known", "target", "surveys"))
"""What the user may say about how files are read."""


def wish_of(
    reading: Mapping[str, Any],
    kinds: Mapping[str, Any] | None = None,
    missing: Any = None,
    target: str | None = None,
    known: Iterable[str] = (),
) -> Wish:
    """Return what the user says, checked: `OPTIONS`, kinds, values that stand for "missing", labels."""
    unknown = sorted(reading.keys() - {*OPTIONS})
    if unknown:
        raise InputError(
            f"reading has no option {unknown[0]!r}{did_you_mean(unknown[0], OPTIONS)}; it has {listed(OPTIONS)}"
        )
    given: dict[str, Any] = {name: _many(value) if name in MANY else value for name, value in reading.items()}
    codes: dict[str | None, list[object]] = {}
    for own in (given.pop("missing", None), missing):
        if own is not None and (isinstance(own, str) or not isinstance(own, Iterable)):
            raise InputError(
                f"missing must be a mapping from columns to lists of values, or a list of values, not {own!r}"
            )
        for name, values in (own if isinstance(own, Mapping) else {None: () if own is None else own}).items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise InputError(f"missing must have a list of values for column {name!r}, not {values!r}")
            codes[name] = [*codes.get(name, ()), *values]
    missing = {name: values for name, values in codes.items() if values or name is not None}
    return Wish(**given, missing=missing, kinds=dict(kinds or {}), known=tuple(known), target=target)


def label_among(columns: Sequence[str], target: str) -> str:
    """Return the column that a name, a number from 1, or "last" means; the name itself if there is none."""
    if target in columns or target.strip() in columns:  # blanks around names are left out
        return target if target in columns else target.strip()
    if target.isdecimal() and 1 <= int(target) <= len(columns):
        return columns[int(target) - 1]
    return columns[-1] if target == "last" else target


NUMBERS = ("skip_rows", "classes")
"""Options that are lists of numbers, which the command line takes with commas."""

MANY = (*NUMBERS, "keep")
"""Options that are lists."""


def _many(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, str | int | float) else tuple(value)


type Caller = Literal["command", "read", "stream"]

_CALLER: ContextVar[Caller] = ContextVar("caller", default="read")
"""Who reads a table: the command line, `datasets.read`, or `fit_stream`."""

READING = "bayesclf reading"
"""Where the attributes of a table say how it was read."""

VALUE = object()
"""Stands for whatever value the user chooses."""


@contextmanager
def named_for(caller: Caller) -> Iterator[None]:
    """Let sentences name the options of a caller, unless the command line reads the table."""
    token = _CALLER.set("command" if _CALLER.get() == "command" else caller)
    try:
        yield
    finally:
        _CALLER.reset(token)


def of_memory(name: str, value: Any, said: str) -> str:
    """Return an option of the command line or `fit_stream`, or what is said to who has the whole table in memory."""
    return said if _CALLER.get() == "read" else option(name, value)


def of_command(name: str, value: Any, said: str) -> str:
    """Return an option of the command line, or what is said to a caller in Python."""
    return option(name, value) if _CALLER.get() == "command" else said


def leaving_out(names: Sequence[str]) -> str:
    """Return what leaves columns out."""
    return of_memory("drop", list(names), f"X.drop(columns={list(names)!r})")


def option(name: str, value: Any = VALUE) -> str:
    """Return an option as who reads the table writes it; `value` is a word, a list, a mapping from columns, or True.

    Examples
    --------
    >>> option("keep", ["id"]), option("kind", {"a b": "category"}), option("encoding")
    ("keep=['id']", "kinds={'a b': 'category'}", 'encoding=…')
    >>> with named_for("stream"):
    ...     option("keep", ["id"]), option("kind", {"a b": "category"})
    ("reading={'keep': ['id']}", "kinds={'a b': 'category'}")
    >>> with named_for("command"):
    ...     option("keep", ["id"]), option("kind", {"a b": "category"}), option("missing", {"a": [9, 99]})
    ('--keep id', "--kind 'a b=category'", '--missing a=9 --missing a=99')
    """
    caller = _CALLER.get()
    if caller == "command":
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, dict):
            value = [
                f"{column}={one}" for column, own in value.items() for one in (own if type(own) is list else [own])
            ]
        if name in NUMBERS and isinstance(value, list):
            value = ",".join(map(str, value))
        words = value if isinstance(value, list) else [] if value is True or value is VALUE else [value]
        return " ".join(f"{flag} {quote(str(word))}" for word in words) or flag
    name, shown = "kinds" if name == "kind" else name, "…" if value is VALUE else repr(value)
    in_reading = caller == "stream" and name in OPTIONS
    return f"reading={{{name!r}: {shown}}}" if in_reading else f"{name}={shown}"
