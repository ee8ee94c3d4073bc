"""Learning on Dask: one task a partition makes statistics, and a tree of additions merges them where they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayesclf import cluster
from bayesclf.classifiers.labels import require_same_labels
from bayesclf.classifiers.streaming import LeftOutRows
from bayesclf.classifiers.training import Learnt
from bayesclf.errors import InputError

type Found = tuple[Any, Learnt, LeftOutRows] | None
"""The classifier with the names of its columns, what it learned, and the rows that α is learned by; None of no rows."""


def parts_of(source: Any) -> list[Any]:
    """Return each task's delayed partition, file or table; paths are absolute, as a worker may run elsewhere."""
    import os

    from bayesclf.tables import reading

    if isinstance(source, str | os.PathLike):
        return [path.absolute() for path in reading.files_of(os.fspath(source))]
    if hasattr(source, "to_delayed"):
        return list(source.to_delayed())
    if isinstance(source, Sequence):
        if not source:
            raise InputError("the list of tables is empty; give at least one")
        return [os.path.abspath(part) if isinstance(part, str | os.PathLike) else part for part in source]
    raise InputError(
        "with a client the source must have parts that workers can read: files that they all see, a dask.dataframe, or "
        f"a list of tables, not an object of type {type(source).__name__}"
    )


def learned(
    parts: Sequence[Any], learn: Callable[..., Found], kinds_of: Callable[[Any], Mapping[str, str]], client: Any
) -> Found:
    """Return what was learned from all parts.

    Where parts seem to hold different things, as a column may be empty in one, they are asked what they hold. All are
    then read again by the first answer.
    """
    look, task, merge, choose = (of_dask()(own, pure=False) for own in (kinds_of, learn, added, first_of_each))

    def total(kinds: Mapping[str, str] | None) -> Any:
        """Return what all parts teach, whose columns hold what is said."""
        return cluster.computed(tree([task(part, number, kinds) for number, part in enumerate(parts)], merge), client)

    found: Found | Unlike = total(None)
    if isinstance(found, Unlike):
        found = total(cluster.computed(tree([look(part) for part in parts], choose), client))
    if isinstance(found, Unlike):
        raise InputError(found.reason)
    return found


def of_dask() -> Any:
    """Return the function that makes a task of another, or raise where Dask is not installed."""
    try:
        from dask.delayed import delayed
    except ImportError:
        raise InputError("a client needs Dask; install it with: pip install 'bayesclf[dask]'") from None
    return delayed


def tree(found: list[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Return what adding all of them up, pair by pair, gives."""
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=False)
        found = [add(one, other) for one, other in pairs] + found[len(found) // 2 * 2 :]
    return found[0]


def first_of_each(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """Return what columns hold, by the first part that says so."""
    return {**other, **one}


@dataclass(frozen=True)
class Unlike:
    """What is learned from parts whose columns are not alike."""

    reason: str


def added(one: Found | Unlike, other: Found | Unlike) -> Found | Unlike:
    """Return what was learned from two parts."""
    if isinstance(one, Unlike) or isinstance(other, Unlike):
        return one if isinstance(one, Unlike) else other
    if one is None or other is None:
        return one if other is None else other
    names, others = (list(found[0].feature_names_in_) for found in (one, other))
    # words of documents, which are in no column of their own, may differ
    mine, theirs = ([b.names for b in found[1].blocks if set(b.names) <= set(names)] for found in (one, other))
    if names != others or mine != theirs:
        if set(names) == set(others):
            return Unlike(
                "the columns of some parts are in another order, or hold words in one and numbers in another; bring "
                "them into one order, and declare what they hold (kinds={…}, --kind)"
            )
        differing = sorted(set(names).symmetric_difference(others))
        raise InputError(f"column {differing[0]!r} is in one part and not in another; add it, or leave it out")
    require_same_labels(one[1].classes, other[1].classes)
    return one[0], one[1] + other[1], one[2] + other[2]
