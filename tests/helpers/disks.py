"""Disks that are full."""

import contextlib
import signal

import pytest


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
