"""Command lines, in this process or one of their own, and the small tables and files that they read and write."""

import contextlib
import csv
import io
import logging
import re
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import pytest

from bayesclf import progress
from bayesclf.__main__ import main

QUICK = ("--inference", "lr=map")
GOOD = "a,b,class\n" + "".join(f"{i},{'xy'[i % 2]},{'pq'[i % 3 % 2]}\n" for i in range(12))


@dataclass(frozen=True)
class Ended:
    """What a command left: its exit status, and what it wrote to stdout and stderr."""

    status: int
    out: str
    err: str

    @property
    def sentences(self):
        """What was written to stderr, without lines that say which fits or units are done."""
        return re.sub(r"(?m)^(bayesclf: [^\n]+: done, \d+ of \d+ fits|[a-z-]+: \d+ of \d+)\n", "", self.err)


def command(*words, status=0, columns=120, **streams):
    """Run ``bayesclf`` in this process; check its exit status, and return what it left.

    Parameters
    ----------
    words
        What a user writes after the program's name.
    status
        The exit status that it must have.
    columns
        Width of the terminal.
    streams
        Where `stdout` or `stderr` goes, if its text is not asked for: a stream, or None for a closed one.
    """
    written = {name: io.TextIOWrapper(io.BytesIO(), "utf-8", line_buffering=True) for name in ("stdout", "stderr")}
    with _as_in_a_process() as patch:
        for name, stream in (written | streams).items():
            patch.setattr(sys, name, stream)
        patch.setattr(sys, "argv", ["bayesclf", *map(str, words)])
        patch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as end:
            main()
    out, err = (stream.buffer.getvalue().decode() for stream in written.values())
    ended = Ended(end.value.code, out, err)
    assert ended.status == status, ended.err
    return ended


def process(*words, status=0, program=None, stdout=subprocess.PIPE):
    """Run ``python -m bayesclf``, or the code of a program, in a process of its own; otherwise like `command`."""
    python = [sys.executable, *(("-m", "bayesclf") if program is None else ("-c", program))]
    ended = subprocess.run([*python, *map(str, words)], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == status, ended.stderr
    return Ended(ended.returncode, ended.stdout or "", ended.stderr)


@contextlib.contextmanager
def _as_in_a_process():
    """Yield a patch; at the end all is as before that a process would take with it."""
    handler = signal.getsignal(signal.SIGINT)
    loggers = [logging.root, *(logging.getLogger(name) for name in logging.root.manager.loggerDict)]
    before = [(logger, logger.level, logger.handlers[:]) for logger in loggers]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(), mpl.rc_context():
        patch.setattr(sys, "excepthook", sys.excepthook)
        patch.setattr(progress, "_default", None)
        try:
            yield patch
        finally:
            signal.signal(signal.SIGINT, handler)
            for logger, level, handlers in before:
                logger.setLevel(level)
                logger.handlers[:] = handlers


def table(name, text):
    Path(name).write_text(text, encoding="utf-8")
    return name


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@contextlib.contextmanager
def full_after(size):
    """Let no file of this process grow beyond some bytes, which it learns as it does that a disk is full."""
    resource = pytest.importorskip("resource", reason="this system has no limits of that kind")
    assert signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN  # as Python sets it
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
