"""Small tables and files for tests of the command line."""

import csv
from pathlib import Path

QUICK = ["--inference", "lr=map"]


def table(name, text):
    Path(name).write_text(text, encoding="utf-8")
    return name


GOOD = "a,b,class\n" + "".join(f"{i},{'xy'[i % 2]},{'pq'[i % 3 % 2]}\n" for i in range(12))


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
