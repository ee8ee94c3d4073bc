"""Processes that work for another: they end with it, however it ends, and leave Ctrl-C to it."""

import os
import signal
import subprocess
import sys

import joblib
import pytest

from bayesclf import workers
from bayesclf.errors import Stopped

PROGRAM = """
import os, signal, sys
from bayesclf import workers
from bayesclf.cli.console import interrupt

def work_on(number):
    import threading

    held = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    os.write(1, b"interruptions held\\n" if held else b"open to interruptions\\n")
    threading.Event().wait(900)

signal.signal(signal.SIGINT, interrupt)
list(workers.each(work_on, [(0,)], 2))
"""
"""Two processes, one of them idle; as they inherit its stdout, that ends when they and it have ended."""


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("SIGKILL", -9, ""),
        pytest.param("SIGTERM", -15, "", marks=pytest.mark.slow),
        pytest.param("SIGINT", 130, "bayesclf: interrupted\n", marks=pytest.mark.slow),
    ],
)
def test_workers_end_with_the_process_that_they_work_for(name, status, said):
    if not hasattr(signal, name):
        pytest.skip(f"this system has no {name}")
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        started = process.stdout.readline()
        # Ctrl-C at a terminal reaches all processes that were started there
        (os.killpg if name == "SIGINT" else os.kill)(process.pid, getattr(signal, name))
        assert process.communicate(timeout=300) == ("", said)
    assert started == "interruptions held\n"
    assert process.returncode == status


def test_results_come_in_the_order_of_the_tasks_in_this_process_too():
    assert list(workers.each(divmod, ((number, 3) for number in range(5)), 1)) == [divmod(n, 3) for n in range(5)]


def test_results_that_nobody_wants_any_more_end_the_work_without_a_word():
    results = workers.each(divmod, ((number, 3) for number in range(1000)), 2, ordered=False)
    next(results)
    results.close()
    assert list(results) == []


@pytest.mark.parametrize("jobs", [None, 1, 2, 3, 2000, 10**9, -1, -2, -(10**9)])
@pytest.mark.parametrize("tasks", [0, 1, 3, 10**6])
def test_never_more_than_tasks_or_a_multiple_of_the_cores(jobs, tasks):
    found = workers.processes(jobs, tasks)
    assert 1 <= found <= max(1, tasks)
    assert found <= workers.JOBS_PER_CORE * joblib.cpu_count()
    if jobs is None or jobs > 0:
        assert found <= (jobs or 1)


def test_a_worker_that_is_killed_is_told_in_a_sentence():
    with pytest.raises(Stopped, match="a process that did part of the work was ended, perhaps because memory ran out"):
        list(workers.each(_die, [(), ()], 2))


def _die():
    os.kill(os.getpid(), signal.SIGKILL)
