"""One peer in a process of its own, so that no peer warms another up: what an import, a fit and a refit take.

`run` starts that process, which is this file: fresh.py PEER SETTING PROBLEM SEED FITS OUT
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from imports import ImportClock
from peers import peer
from problems import Array, read


@dataclass(frozen=True)
class Task:
    """What a fresh process does: a peer fits a saved problem in one of its `SETTINGS`."""

    peer: str
    setting: dict[str, Any]
    problem: Path
    caches: Path
    """A folder for everything that the peer compiles."""
    limit: float
    """Seconds after which the process is ended."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What the fits of a process took, and their draws."""

    imports: float
    """Seconds of all imports, those inside the first fit included."""
    fits: list[float]
    """Seconds of each fit, without imports."""
    draws: list[Array]
    """Of each fit, (chain, draw, vector, 1 + column)."""


class Failed(Exception):
    """A process that ended without an answer, and why."""


def run(task: Task, seed: int, fits: int) -> Measured:
    """Fit `fits` times, with seeds from `seed` on, in a new process.

    Raises
    ------
    Failed
        If it takes too long, or fails.
    """
    out = task.problem.with_name("measured.npz")
    command = [sys.executable, __file__, task.peer, json.dumps(task.setting), task.problem, seed, fits, out]
    process = subprocess.Popen(
        [str(word) for word in command],
        env=os.environ | caches(task.caches),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, errors = process.communicate(timeout=task.limit)
    except BaseException as error:
        os.killpg(process.pid, signal.SIGKILL)  # with the processes that it started, such as R's
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Failed(f"over {task.limit:.0f} s") from None
        raise
    if process.returncode:
        raise Failed(f"failed: {(errors.strip().splitlines() or ['no message'])[-1]}")
    with np.load(out) as file:
        return Measured(float(file["imports"]), file["fits"].tolist(), list(file["draws"]))


def caches(folder: Path) -> dict[str, str]:
    """Return an environment in which everything that outlives a process lies in a folder."""
    flags = [os.environ.get("PYTENSOR_FLAGS", ""), f"base_compiledir={folder / 'pytensor'}"]
    return {
        "PYTENSOR_FLAGS": ",".join(filter(None, flags)),
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "XDG_CACHE_HOME": str(folder / "others"),
        "JAX_COMPILATION_CACHE_DIR": str(folder / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def main(name: str, setting: str, problem: str, seed: str, fits: str, out: str) -> None:
    """Measure in this process."""
    who, options, posterior = peer(name), json.loads(setting), read(Path(problem))
    start = time.perf_counter()
    who.load()
    imports, seconds, draws = time.perf_counter() - start, [], []
    for number in range(int(fits)):
        start = time.perf_counter()
        with ImportClock() as late:
            fitted = who.fit(posterior.X, posterior.y, posterior.prior, int(seed) + number, **options)
        seconds.append(time.perf_counter() - start - late.seconds)
        imports += late.seconds
        draws.append(who.draws(fitted))
    np.savez(out, imports=imports, fits=seconds, draws=draws)


if __name__ == "__main__":
    main(*sys.argv[1:])
