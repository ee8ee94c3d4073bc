"""Reading ahead: the next batch is read while the one before is used."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress


def read_ahead[T](items: Generator[T]) -> Iterator[T]:
    """Yield what a generator does; another thread makes the next item while one is used, and no more than that.

    Parameters
    ----------
    items
        Must not depend on which thread it runs in; closed at the end.

    Examples
    --------
    >>> list(read_ahead(2 * number for number in range(3)))
    [0, 2, 4]
    """
    end = object()
    try:
        with ThreadPoolExecutor(1, "bayesclf reads ahead") as thread:
            made = thread.submit(next, items, end)
            while (item := made.result()) is not end:
                made = thread.submit(next, items, end)
                yield item  # type: ignore[misc]
    finally:
        with suppress(ValueError):  # the thread still makes an item, where a second interruption ended the wait for it
            items.close()
