"""A Dask scheduler, whose workers learn from parts of a table."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

from bayesclf.errors import InputError, Stopped

CONNECT_SECONDS, WORKER_SECONDS = 10.0, 60.0
"""How long a Dask scheduler has to answer, and its first worker to register."""


def computed(graph: Any, client: Any) -> Any:
    """Return what a delayed object of Dask evaluates to; other workers do the tasks of a worker that dies."""
    if isinstance(client, str):
        with connected(client) as own:
            return computed(graph, own)
    if not hasattr(client, "compute"):
        raise InputError(
            f"client must be a client of Dask or the address of a scheduler, not an object of type "
            f"{type(client).__name__}"
        )
    if (status := getattr(client, "status", "running")) != "running":
        raise InputError(f"the client of Dask is {status}; connect again, client = distributed.Client(address)")
    address = getattr(getattr(client, "scheduler", None), "address", "")
    future = client.compute(graph)
    try:
        return _result(future, client, address)
    finally:  # of an error too, which keeps this frame: workers go on as long as anybody has the future
        future.release()


def _result(future: Any, client: Any, address: str) -> Any:
    """Return what a task has returned, or raise `Stopped` where the workers or the scheduler ended before it."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        raise Stopped(f"the workers of {address} die during the work ({_line(error)})") from None
    except (CancelledError, OSError) as error:
        if not future.cancelled() and client.status == "running":
            raise  # an error of the work itself
        raise Stopped(f"the connection to the Dask scheduler {address} was lost") from error


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a scheduler that has workers."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError("a scheduler needs Dask; install it with: pip install 'bayesclf[dask]'") from None
    with _silenced():
        try:
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            reason = _line(error)
            raise InputError(f"no Dask scheduler answers at {address} ({reason}); start one: dask scheduler") from None
        with client:
            try:
                client.wait_for_workers(1, timeout=WORKER_SECONDS)
            except TimeoutError:
                raise InputError(f"{address} has no workers; start some: dask worker {address}") from None
            yield client


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Let Dask's client log nothing, as what it has tracebacks for is told in a sentence."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _line(error: BaseException) -> str:
    """Return the first line of a message."""
    return str(error).partition("\n")[0]
