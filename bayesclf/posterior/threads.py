"""Work shared among threads: NumPy and the BLAS release the interpreter while they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

LEAST_WORK = 2**21
"""Numbers to compute below which threads cost more than they save."""


def each[Item, Result](function: Callable[[Item], Result], items: Sequence[Item], work: int) -> list[Result]:
    """Return ``function(item)`` of each item, in order, computed by as many threads as there are cores.

    The BLAS computes with one thread meanwhile, so that its threads and ours do not wait for each other, and so that
    results depend on the items alone. Where it was limited before, by ``OMP_NUM_THREADS``, threadpoolctl or joblib,
    no more threads than that are taken here.

    Parameters
    ----------
    function
        Safe to call from several threads at once.
    items
        What each call is given.
    work
        How many numbers all calls compute together; below `LEAST_WORK` no threads are started.
    """
    threads = min(available(), len(items)) if work >= LEAST_WORK else 1
    with _blas().limit(limits=1):
        if threads < 2:
            return [function(item) for item in items]
        # Some BLAS libraries keep their limit by thread, so each thread sets its own.
        with ThreadPoolExecutor(threads, initializer=_limit_blas) as pool:
            return list(pool.map(function, items))


def available() -> int:
    """Return the number of cores that this process may use, or of threads that the BLAS may, if these are fewer."""
    import joblib

    cores = int(joblib.cpu_count())
    return min((int(library["num_threads"]) for library in _blas().info()), default=cores) if cores > 1 else 1


def _limit_blas() -> None:
    _blas().limit(limits=1)


@cache
def _blas() -> Any:
    """Return the BLAS libraries of this process, as what sets their numbers of threads."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")
