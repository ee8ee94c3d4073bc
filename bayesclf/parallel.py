"""How many processes share some work."""

from __future__ import annotations

from numbers import Integral

from bayesclf.constraints import LONGEST_VALUE, Whole
from bayesclf.errors import InputError
from bayesclf.wording import clipped

JOBS_PER_CORE = 4
"""The most processes that are started for each core: each takes memory and seconds to start, and more are no faster."""


def require_jobs(**given: object) -> None:
    """Raise `InputError` for what is not a number of processes, as joblib counts them.

    Examples
    --------
    >>> require_jobs(n_jobs=0)
    Traceback (most recent call last):
    bayesclf.errors.InputError: n_jobs must be a whole number of at least 1, or −1 for as many as there are cores, not 0
    """
    for name, jobs in given.items():
        whole = isinstance(jobs, Integral) and not isinstance(jobs, bool)
        if jobs is not None and not (whole and jobs):
            said = f"{Whole(1)}, or −1 for as many as there are cores"
            raise InputError(f"{name} must be {said}, not {clipped(repr(jobs), LONGEST_VALUE)}")


def processes(jobs: int | None, tasks: int) -> int:
    """Return how many processes to start: not more than there are tasks, or than `JOBS_PER_CORE` for each core.

    Parameters
    ----------
    jobs
        As the user says it: a number of processes; −1 for as many as there are cores, −2 for one less; None for one.
    tasks
        Units of work.

    Examples
    --------
    >>> processes(2000, tasks=3), processes(None, tasks=3), processes(-1, tasks=1), processes(2, tasks=0)
    (3, 1, 1, 1)
    """
    from joblib import cpu_count, effective_n_jobs

    return int(max(1, min(effective_n_jobs(jobs), tasks, JOBS_PER_CORE * cpu_count())))
