"""Values that an argument cannot have, a small table for calls with them, and files that cannot be read."""

import os
import socket

import numpy as np
import pandas as pd

LABELS = np.array(["a", "b"] * 10)
NUMBERS = pd.DataFrame({"u": np.arange(20) % 7 / 7, "v": np.arange(20) % 3 / 3})

NO_NUMBERS = ["x", b"x", np.nan, [], {}, {1, 2}, object(), ["x", "y"], [np.nan, 1.0], 1j, True, -np.inf]
"""What no number, no array of numbers and no choice can be."""

NO_COUNTS = [*NO_NUMBERS, 2.5, np.float32(1.5), np.inf, 0, -1, 1e300]
NO_FLAGS = ["x", np.nan, 2.5, [], {}, object(), 0, 1, None]
"""What no whole number of at least 1, and no truth value, can be."""


def odd_files(folder):
    """Make files that are not ordinary ones in the current folder; return their names with what a refusal says."""
    os.mkfifo(folder / "pipe.csv")
    os.mkfifo(folder / "pipe")
    (folder / "folder.csv").mkdir()
    (folder / "zero.csv").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as here:
        here.bind("socket.csv")  # a longer path may be longer than a socket's can be
    return {
        "pipe.csv": "is a pipe",
        "pipe": "is a pipe",
        "folder.csv": "is a folder",
        "zero.csv": "is a device",
        "socket.csv": "is not an ordinary file",
        "gone.csv": "does not exist",
    }
