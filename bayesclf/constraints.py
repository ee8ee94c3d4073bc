"""What settings may be, and how much memory work may take, said in words and checked before any work starts.

A truth value is not a number here, although Python takes True for 1; scalars of NumPy are numbers like Python's.
"""
# ruff: noqa: N802 - a constraint is written as the kind of value that it allows

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from bayesclf.errors import InputError, Refused
from bayesclf.wording import did_you_mean, written

LONGEST_VALUE = 60
"""The most characters of a refused value that a message shows."""


@dataclass(frozen=True)
class Constraint:
    """What a value may be: `words` say it, as in "must be …". `names` are the words that it can be, where it is one."""

    words: str
    allows: Callable[[Any], bool]
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.words


def Whole(least: int, most: int | None = None) -> Constraint:
    """A whole number from `least` to `most`; True and False are none.

    Examples
    --------
    >>> str(Whole(1)), Whole(1).allows(2), Whole(1).allows(2.0), Whole(0).allows(False)
    ('a whole number of at least 1', True, False, False)
    """

    def allows(value: Any) -> bool:
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        return bool(whole and value >= least and (most is None or value <= most))

    bounds = f"of at least {least}" if most is None else f"between {least} and {most:,}"
    return Constraint(f"a whole number {bounds}", allows)


def Number(
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
    *,
    infinite: bool = False,
    array: bool = False,
) -> Constraint:
    """A number within bounds, or an array of such numbers.

    Examples
    --------
    >>> str(Number(above=0)), Number(above=0).allows(float("nan")), Number(above=0).allows("1")
    ('above 0 and finite', False, False)
    """

    def allows(value: Any) -> bool:
        numbers = _numbers(value, array)
        if numbers is None or not numbers.size:
            return False
        low, high = numbers.min(), numbers.max()  # NaN where a number is, of which no comparison holds
        return bool(
            -np.inf < low
            and (infinite or high < np.inf)
            and (above is None or low > above)
            and (least is None or low >= least)
            and (below is None or high < below)
            and (most is None or high <= most)
        )

    lowest, highest = least if above is None else above, most if below is None else below
    bound = "" if lowest is None else f"above {lowest}" if least is None else f"at least {lowest}"
    if highest is not None:
        return Constraint(f"a number between {lowest} and {highest}", allows)
    if infinite:
        return Constraint(f"{bound or 'a number'}, infinity allowed", allows)
    return Constraint(f"{bound} and finite" if bound else "a finite number", allows)


def _numbers(value: Any, array: bool) -> Any:
    """Return what was given as floats, or None where it is something else."""
    if _is_number(value):
        return np.float64(value)
    try:
        given = np.asarray(value) if array else np.empty(0)
        others = given.dtype == object and not all(map(_is_number, given.ravel()))
        return None if given.dtype.kind not in "iufO" or others else given.astype(float, copy=False)
    except (ValueError, TypeError, OverflowError):
        return None


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def Flag() -> Constraint:
    """True or False."""
    return Constraint("True or False", lambda value: isinstance(value, bool | np.bool_))


def Choice(words: Iterable[str]) -> Constraint:
    """One of some words.

    Examples
    --------
    >>> str(Choice(("tan", "full"))), Choice(("tan",)).allows(["tan"])
    ("one of 'tan', 'full'", False)
    """
    known = tuple(words)
    said = ", ".join(map(repr, known))
    return Constraint(f"one of {said}", lambda value: isinstance(value, str) and value in known, known)


def Instance(of: type | tuple[type, ...], words: str = "") -> Constraint:
    """An object of a class, or of one of several; `words` say what it is, by default the name of the class.

    Examples
    --------
    >>> str(Instance(dict)), Instance(dict).allows({}), Instance(dict).allows(dict)
    ('a dict object', True, False)
    """
    name = getattr(of, "__name__", "")
    article = "an" if name.startswith(tuple("AEIOU")) else "a"
    return Constraint(words or f"{article} {name} object", lambda value: isinstance(value, of))


def OrNone(other: Constraint) -> Constraint:
    """What another constraint allows, or None."""
    return Constraint(f"{other}, or None", lambda value: value is None or other.allows(value), other.names)


def Text() -> Constraint:
    """Any text."""
    return Constraint("text", lambda value: isinstance(value, str))


def Several(what: str, least: int = 0) -> Constraint:
    """A list, a tuple or an array of names or labels, at least so many; `what` says in messages what they are.

    Examples
    --------
    >>> str(Several("columns")), Several("columns").allows(["a", ("b", "c")]), Several("columns").allows("a")
    ('a list of columns', True, False)
    """

    def allows(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
            return False  # the letters of a word are no items
        return len(value) >= least and all(map(_is_plain, value))

    return Constraint(f"a list of {what}", allows)


def _is_plain(value: object) -> bool:
    """Return whether a value can be looked up; a tuple only if its items can."""
    return all(map(_is_plain, value)) if isinstance(value, tuple) else isinstance(value, Hashable)


def FileName(what: str = "the name of a file") -> Constraint:
    """A path of one character or more; `what` says in messages what it is to be."""
    return Constraint(what, lambda value: isinstance(value, str | os.PathLike) and bool(os.fspath(value)))


PATH = FileName()
"""A path."""

INSIDE = Number(above=0, below=1)
"""A probability other than 0 and 1, such as a level."""


def require(constraint: Constraint, /, **given: object) -> None:
    """Raise `InputError` for the first setting that is not what the constraint says.

    Examples
    --------
    >>> require(Whole(1), draws=2.5)
    Traceback (most recent call last):
    bayesclf.errors.InputError: draws must be a whole number of at least 1, not 2.5
    """
    for name, value in given.items():
        if not constraint.allows(value):
            hint = did_you_mean(value, constraint.names) if isinstance(value, str) else ""
            raise InputError(f"{name} must be {constraint}, not {written(value, LONGEST_VALUE)}{hint}")


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


MOST_BYTES = 4 * 2**30
"""Bytes that one step of a fit may take; the environment variable `SETTING` is another number."""

SETTING = "BAYESCLF_MAX_BYTES"


def most_bytes() -> int:
    """Return the bytes that one step may take: those of the environment variable, or `MOST_BYTES`."""
    given = os.environ.get(SETTING, "").strip()
    if not given:
        return MOST_BYTES
    try:
        allowed = int(float(given))
    except (ValueError, OverflowError):
        allowed = 0
    if allowed < 1:
        raise InputError(f"the environment variable {SETTING} must be a number of bytes, such as 16e9, not {given!r}")
    return allowed


def require_bytes(needed: float, what: str, remedy: str) -> None:
    """Raise `Refused` before work that would take more memory than it may.

    Examples
    --------
    >>> require_bytes(2**40, "a matrix of 370,728 × 370,728 numbers", "use fewer columns")
    Traceback (most recent call last):
        ...
    bayesclf.errors.Refused: a matrix of 370,728 × 370,728 numbers would take about 1,024 GiB of memory (limit 4 GiB); \
use fewer columns, or raise the limit by the environment variable BAYESCLF_MAX_BYTES
    """
    allowed = most_bytes()
    if needed > allowed:
        raise Refused(
            f"{what} would take about {_gibibytes(needed)} of memory (limit {_gibibytes(allowed)}); {remedy}, or raise "
            f"the limit by the environment variable {SETTING}"
        )


def require_number(each: int, error: type[Exception] = InputError, /, **given: int) -> None:
    """Raise for the first number of things that would take more memory than they may.

    Examples
    --------
    >>> require_number(80, draws=10**9)
    Traceback (most recent call last):
        ...
    bayesclf.errors.InputError: draws=1,000,000,000 would take about 74.5 GiB of memory (limit 4 GiB); at most \
53,687,091 fit, or raise the limit by the environment variable BAYESCLF_MAX_BYTES
    """
    allowed = most_bytes()
    for name, number in given.items():
        needed = int(number) * each
        if needed > allowed:
            raise error(
                f"{name}={number:,} would take about {_gibibytes(needed)} of memory (limit {_gibibytes(allowed)}); at "
                f"most {allowed // each:,} fit, or raise the limit by the environment variable {SETTING}"
            )


def _gibibytes(size: float) -> str:
    return f"{size / 2**30:,.3g} GiB" if size < 100 * 2**30 else f"{size / 2**30:,.0f} GiB"
