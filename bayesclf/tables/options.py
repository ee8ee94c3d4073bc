"""What the user says about how a table is read, and how sentences name the option for it."""

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
    signs
        By column, the sign of its numbers in the table of a model, such as "$"; another one gets a warning.
    usual_decimal
        The decimal mark in the table of a model; it decides where all numbers of a file fit both.
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
    signs: Mapping[str, str] | None = None
    usual_decimal: str | None = None

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
    """

    options: ReadOptions = field(default_factory=ReadOptions)
    kinds: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, Sequence[object]] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    target: str | None = None

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

    def remembered(self) -> dict[str, Any]:
        """Return what the user says that holds for further tables, too, as options of `datasets.read`."""
        of_one_table = ("encoding", "separator", "skip_rows", "keep", "missing", "signs", "usual_decimal")
        usual = vars(ReadOptions())
        own = {name: value for name, value in vars(self.options).items() if value != usual[name]}
        missing = [(None, self.options.missing), *self.missing.items()]
        codes = {name: list(map(str, values)) for name, values in missing if values}
        return {name: value for name, value in own.items() if name not in of_one_table} | {"missing": codes}

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


NUMBERS = ("skip_rows", "classes")
"""Options that are lists of numbers, which the command line takes with commas."""

MANY = (*NUMBERS, "missing", "keep")
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
    """Return an option of `fit_stream`, or what is said to who has the whole table in memory."""
    return option(name, value) if _CALLER.get() == "stream" else said


def option(name: str, value: Any = VALUE) -> str:
    """Return an option as who reads the table writes it; `value` is a word, a list, a mapping from columns, or True.

    Examples
    --------
    >>> option("keep", ["id"]), option("kind", {"a b": "category"}), option("encoding")
    ("keep=['id']", "dtypes={'a b': 'category'}", 'encoding=…')
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
    shown = "…" if value is VALUE else repr(value)
    if name == "kind":
        return f"{'kinds' if caller == 'stream' else 'dtypes'}={shown}"
    in_reading = caller == "stream" and name in {own.name for own in fields(ReadOptions)} - {"missing"}
    return f"reading={{{name!r}: {shown}}}" if in_reading else f"{name}={shown}"
