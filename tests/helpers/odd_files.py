"""Files that a reader would wait for, or that are none."""

import os
import socket


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
        "socket.csv": "is a socket",
        "gone.csv": "does not exist",
    }
