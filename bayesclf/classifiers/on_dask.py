"""Learning on Dask: one task a partition makes statistics, and a tree of additions merges them where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bayesclf import cluster
from bayesclf.classifiers.merging import require_same_labels
from bayesclf.classifiers.streaming import LeftOutRows
from bayesclf.classifiers.training import Learnt
from bayesclf.errors import InputError

type Found = tuple[Any, Learnt, LeftOutRows] | None
"""The classifier with the names of its columns, what it learned, and the rows that α is learned by; None of no rows."""


def parts_of(source: Any) -> list[Any]:
    """Return what each task reads: delayed partitions of a dask.dataframe, files, or tables of a list.

    Raises
    ------
    InputError
        For a source that is no such thing: it could be read in one place only.
    """
    import os

    from bayesclf.tables.stream_paths import files_of

    if isinstance(source, str | os.PathLike):
        return [str(path) for path in files_of(os.fspath(source))]
    if hasattr(source, "to_delayed"):
        return list(source.to_delayed())
    if isinstance(source, Sequence):
        return list(source)
    raise InputError(
        "with a client the source must have parts that workers can read: files that they all see, a dask.dataframe, or "
        f"a list of tables, not an object of type {type(source).__name__}"
    )


def learned(parts: Sequence[Any], learn: Callable[[Any, int], Found], client: Any) -> Found:
    """Return what was learned from all parts.

    Parameters
    ----------
    parts
        What `parts_of` returned.
    learn
        Learns from one part, given its number too; it can be pickled.
    client
        A client of Dask, or the address of a scheduler.
    """
    try:
        from dask.delayed import delayed
    except ImportError:
        raise InputError("a client needs Dask; install it with: pip install 'bayesclf[dask]'") from None
    task, add = delayed(learn, pure=False), delayed(added, pure=False)
    found = [task(part, number) for number, part in enumerate(parts)]
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2], strict=False)
        found = [add(one, other) for one, other in pairs] + found[len(found) // 2 * 2 :]
    total: Found = cluster.computed(found[0], client)
    return total


def added(one: Found, other: Found) -> Found:
    """Return what was learned from two parts."""
    if one is None or other is None:
        return one if other is None else other
    names, others = (list(found[0].feature_names_in_) for found in (one, other))
    # words of documents, which are in no column of their own, may differ
    mine, theirs = ([b.names for b in found[1].blocks if set(b.names) <= set(names)] for found in (one, other))
    if names != others or mine != theirs:
        if set(names) == set(others):
            raise InputError(
                "the columns of some parts are in another order, or hold words in one and numbers in another; bring "
                "them into one order, and declare what they hold (kinds={…}, --kind)"
            )
        differing = sorted(set(names).symmetric_difference(others))
        raise InputError(f"column {differing[0]!r} is in one part and not in another; add it, or leave it out")
    require_same_labels(one[1].classes, other[1].classes)
    return one[0], one[1] + other[1], one[2] + other[2]
