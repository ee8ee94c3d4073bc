"""Processes on this machine that work for this one, and do not outlive it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from numbers import Integral
from typing import Any

from bayesclf.constraints import Constraint, Whole
from bayesclf.errors import Stopped

JOBS_PER_CORE = 4
"""The most processes that are started for each core: each takes memory and seconds to start, and more are no faster."""

WATCH_SECONDS = 0.5
"""How often a worker looks whether the process that started it is still there."""


def _are_jobs(jobs: object) -> bool:
    whole = isinstance(jobs, Integral) and not isinstance(jobs, bool)
    return jobs is None or bool(whole and jobs)


JOBS = Constraint(f"{Whole(1)}, or −1 for as many as there are cores", _are_jobs)
"""A number of processes, as joblib counts them; None for one."""


def processes(jobs: int | None, tasks: int) -> int:
    """Return how many processes to start: at most as many as tasks, or `JOBS_PER_CORE` for each core.

    Examples
    --------
    >>> processes(2000, tasks=3), processes(None, tasks=3), processes(-1, tasks=1), processes(2, tasks=0)
    (3, 1, 1, 1)
    """
    from joblib import cpu_count, effective_n_jobs

    return int(max(1, min(effective_n_jobs(jobs), tasks, JOBS_PER_CORE * cpu_count())))


def each(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], jobs: int, ordered: bool = True
) -> Generator[Any]:
    """Yield what a function returns for each of some tasks; raise `Stopped` if a process ends before its task does.

    The processes are joblib's, which `joblib.parallel_config` chooses. On POSIX they end soon after this process, and
    they leave Ctrl-C to it.
    """
    from concurrent.futures.process import BrokenProcessPool

    from joblib import Parallel, delayed, effective_n_jobs

    parallel = Parallel(
        n_jobs=jobs,
        return_as="generator" if ordered else "generator_unordered",
        batch_size="auto" if ordered else 1,  # single tasks, where each result is to be told at once
        pre_dispatch="3*n_jobs",
        initializer=_watch,
        initargs=(os.getpid(),),
    )
    with _quiet_end(), _interrupts_held(starting=effective_n_jobs(jobs) != 1):  # the processes that start inherit both
        results = parallel(delayed(function)(*task) for task in tasks)
    try:
        for result in results:  # noqa: UP028 - `yield from` would close it with the warning
            yield result
    except BrokenProcessPool as error:
        raise Stopped(
            "a process that did part of the work was ended, perhaps because memory ran out; use fewer"
        ) from error
    finally:
        with _without_a_word():
            results.close()


def _watch(owner: int) -> None:
    """Let this process, if it is a child of its owner, end with it."""
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid == owner and os.name == "posix":
        threading.Thread(target=_end_with, args=(owner,), daemon=True).start()


def _end_with(owner: int) -> None:
    """End this process once its parent is another one, as the system gives orphans to."""
    while os.getppid() == owner:
        time.sleep(WATCH_SECONDS)
    os._exit(1)


@contextmanager
def _interrupts_held(starting: bool) -> Iterator[None]:
    """Let an interruption wait, in this thread and in the processes that it starts meanwhile."""
    if not starting or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    with suppress(ImportError, AttributeError):
        # these processes would end the wait for all, as they start, if they did not run yet
        import_module("multiprocessing.resource_tracker").ensure_running()
        import_module("joblib.externals.loky.backend.resource_tracker").ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _quiet_end() -> Iterator[None]:
    """Let the process that removes what a killed one has left in memory not warn of it."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (before, "ignore:resource_tracker:UserWarning")))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


@contextmanager
def _without_a_word() -> Iterator[None]:
    """Let joblib drop what it has not done without a warning, and without tracebacks of the thread that does so."""
    before = threading.excepthook
    threading.excepthook = lambda _: None  # loky's thread can stumble over work that was dropped meanwhile
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"\d+ tasks ", UserWarning)
            yield
    finally:
        threading.excepthook = before
