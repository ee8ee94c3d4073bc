"""What settings may be: constraints that say themselves in words, checked before any work starts.

A truth value is not a number here, although Python takes True for 1; scalars of NumPy are numbers like Python's.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, override

import numpy as np

from bayesclf.errors import InputError
from bayesclf.wording import listed, written

LONGEST_VALUE = 60
"""The most characters of a refused value that a message shows."""


class Constraint(ABC):
    """What a value may be; `str` says it, as in "must be …"."""

    @abstractmethod
    def allows(self, value: Any) -> bool:
        """Return whether a value is allowed."""

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Whole(Constraint):
    """A whole number from `least` to `most`.

    Examples
    --------
    >>> str(Whole(1)), Whole(1).allows(2), Whole(1).allows(2.0), Whole(0).allows(False)
    ('a whole number of at least 1', True, False, False)
    """

    least: int
    most: int | None = None

    @override
    def allows(self, value: Any) -> bool:
        """Return whether a value is an integer within the bounds; True and False are not."""
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        return whole and value >= self.least and (self.most is None or value <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"a whole number of at least {self.least}"
        return f"a whole number between {self.least} and {self.most:,}"


@dataclass(frozen=True)
class Number(Constraint):
    """A number within bounds, or an array of such numbers.

    Attributes
    ----------
    above, least
        Lower bound, excluded or included.
    below, most
        Upper bound, excluded or included; it goes with a lower one.
    infinite
        Whether positive infinity is allowed.
    array
        Whether an array is allowed.

    Examples
    --------
    >>> str(Number(above=0)), Number(above=0).allows(float("nan")), Number(above=0).allows("1")
    ('above 0 and finite', False, False)
    """

    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None
    infinite: bool = False
    array: bool = False

    @override
    def allows(self, value: Any) -> bool:
        """Return whether a value is a number, or where allowed an array of them, within the bounds."""
        numbers = self._numbers(value)
        if numbers is None or not numbers.size:
            return False
        low, high = numbers.min(), numbers.max()  # NaN where a number is, of which no comparison holds
        return bool(
            -np.inf < low
            and (self.infinite or high < np.inf)
            and (self.above is None or low > self.above)
            and (self.least is None or low >= self.least)
            and (self.below is None or high < self.below)
            and (self.most is None or high <= self.most)
        )

    def _numbers(self, value: Any) -> Any:
        """Return what was given as floats, or None where it is something else."""
        if _is_number(value):
            return np.float64(value)
        if not self.array:
            return None
        try:
            given = np.asarray(value)
            return None if given.dtype.kind not in "iufO" or _has_others(given) else given.astype(float, copy=False)
        except (ValueError, TypeError, OverflowError):
            return None

    def __str__(self) -> str:
        bounds = [f"above {self.above}"] if self.above is not None else []
        bounds += [f"at least {self.least}"] if self.least is not None else []
        highest = self.most if self.below is None else self.below
        if highest is not None:
            return f"a number between {self.least if self.above is None else self.above} and {highest}"
        if self.infinite:
            return f"{' and '.join(bounds) or 'a number'}, infinity allowed"
        return " and ".join([*bounds, "finite"]) if bounds else "a finite number"


def _has_others(given: Any) -> bool:
    """Return whether an array of objects holds something else than numbers."""
    return given.dtype == object and not all(map(_is_number, given.ravel()))


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


@dataclass(frozen=True)
class Flag(Constraint):
    """True or False."""

    @override
    def allows(self, value: Any) -> bool:
        """Return whether a value is True or False."""
        return isinstance(value, bool | np.bool_)

    def __str__(self) -> str:
        return "True or False"


@dataclass(frozen=True)
class Choice(Constraint):
    """One of some words.

    Examples
    --------
    >>> str(Choice(("tan", "full"))), Choice(("tan",)).allows(["tan"])
    ("one of 'tan', 'full'", False)
    """

    words: tuple[str, ...]

    def __init__(self, words: Iterable[str]) -> None:
        object.__setattr__(self, "words", tuple(words))

    @override
    def allows(self, value: Any) -> bool:
        """Return whether a value is one of the words."""
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return f"one of {listed(map(repr, self.words))}"


@dataclass(frozen=True)
class Instance(Constraint):
    """An object of a class, or of one of several.

    Attributes
    ----------
    of
        The class or classes.
    words
        What such an object is, for messages; by default the name of the class says it.

    Examples
    --------
    >>> str(Instance(dict)), Instance(dict).allows({}), Instance(dict).allows(dict)
    ('a dict object', True, False)
    """

    of: type | tuple[type, ...]
    words: str = ""

    @override
    def allows(self, value: Any) -> bool:
        """Return whether a value is an instance of the class."""
        return isinstance(value, self.of)

    def __str__(self) -> str:
        name = getattr(self.of, "__name__", "")
        return self.words or f"{'an' if name.startswith(tuple('AEIOU')) else 'a'} {name} object"


@dataclass(frozen=True)
class OrNone(Constraint):
    """What another constraint allows, or None."""

    other: Constraint

    @override
    def allows(self, value: Any) -> bool:
        """Return whether a value is None, or allowed by the other constraint."""
        return value is None or self.other.allows(value)

    def __str__(self) -> str:
        return f"{self.other}, or None"


@dataclass(frozen=True)
class Text(Constraint):
    """Any text."""

    @override
    def allows(self, value: Any) -> bool:
        """Return whether a value is a string."""
        return isinstance(value, str)

    def __str__(self) -> str:
        return "text"


@dataclass(frozen=True)
class Several(Constraint):
    """A list, a tuple or an array of names or labels, at least so many; of `pairs` of them where that is said.

    `what` says in messages what they are.

    Examples
    --------
    >>> str(Several("columns")), Several("columns").allows(["a", ("b", "c")]), Several("columns").allows("a")
    ('a list of columns', True, False)
    """

    what: str
    least: int = 0
    pairs: bool = False

    @override
    def allows(self, value: Any) -> bool:
        """Return whether a value has items that can be looked up; the letters of a word are none."""
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
            return False
        items = [tuple(item) if self.pairs and isinstance(item, list) else item for item in value]
        return len(items) >= self.least and all(map(_is_plain, items))

    def __str__(self) -> str:
        return f"a list of {self.what}"


def _is_plain(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@dataclass(frozen=True)
class FileName(Constraint):
    """A path of one character or more; `what` says in messages what it is to be."""

    what: str = "the name of a file"

    @override
    def allows(self, value: Any) -> bool:
        """Return whether a value is a path; the empty one is none."""
        return isinstance(value, str | os.PathLike) and bool(os.fspath(value))

    def __str__(self) -> str:
        return self.what


PATH = FileName()
"""A path."""

PROBABILITIES = Number(least=0, most=1, array=True)
"""A probability, or an array of them."""


def require(constraint: Constraint, /, **given: object) -> None:
    """Raise `InputError` for the first setting that is not what the constraint says.

    Parameters
    ----------
    constraint
        What each of them may be.
    given
        Settings by name.

    Examples
    --------
    >>> require(Whole(1), draws=2.5)
    Traceback (most recent call last):
    bayesclf.errors.InputError: draws must be a whole number of at least 1, not 2.5
    """
    for name, value in given.items():
        if not constraint.allows(value):
            raise InputError(f"{name} must be {constraint}, not {written(value, LONGEST_VALUE)}")


def constraint_like(default: object) -> Constraint:
    """Return the constraint of settings that are of the same kind as their default."""
    match default:
        case bool():
            return Flag()
        case int():
            return Whole(0)
        case float():
            return Number()
        case _:
            return Text()
