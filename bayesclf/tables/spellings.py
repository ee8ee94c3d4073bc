"""How truth values and numbers are written in files that hold words only."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable

from bayesclf.errors import InputError


def written_alike(values: Collection[Hashable], levels: Iterable[Hashable]) -> dict[Hashable, Hashable]:
    """Return, by value, the level that a file would write in the same way, for the values that have one.

    Of several, as "True" and "true", it is the one that Python writes.

    Parameters
    ----------
    values : collection
        Cells that are no levels as they stand.
    levels : iterable
        The levels of their column.

    Examples
    --------
    >>> written_alike([True, 2.0, "maybe"], ["False", "True", "1", "2"])
    {True: 'True', 2.0: '2'}
    >>> written_alike(["false", "1"], [False, True])
    {'false': False}
    """
    if not values:
        return {}
    levels = list(levels)
    words = {level for level in levels if isinstance(level, str)}
    spelled = {word: level for level in levels for word in spellings(level)}
    found = {value: spelled[value] for value in values if isinstance(value, str) and value in spelled}
    return found | {value: word for value in values for word in reversed(spellings(value)) if word in words}


def require_one_way(name: str, levels: Collection[Hashable], others: Collection[Hashable]) -> None:
    """Raise `InputError` where a level of some rows is written as another one of other rows is, as True and "True"."""
    for one, two in ((levels, others), (others, levels)):
        for value, level in written_alike([value for value in one if value not in two], two).items():
            if level not in one:
                raise InputError(
                    f"column {name!r} holds {value!r} in some rows and {level!r} in others, which would be two levels; "
                    "give all rows as files, or all as tables with the same types"
                )


def spellings(value: Hashable) -> tuple[str, ...]:
    """Return the words that a truth value or a number may be written as; none for what is a word, or neither."""
    if isinstance(value, bool):
        return str(value), str(value).lower(), str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(value), f"{value:.0f}"
    return (str(value),) if isinstance(value, int | float) else ()
