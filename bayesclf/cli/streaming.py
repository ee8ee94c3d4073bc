"""`bayesclf fit` of a table that is read batch by batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesclf.errors import InputError
from bayesclf.storage import save
from bayesclf.tables import datasets
from bayesclf.tables.columns import ColumnKind
from bayesclf.tables.limits import MAX_BYTES
from bayesclf.tables.stream_paths import is_name

if TYPE_CHECKING:
    from bayesclf.classifiers import LogisticRegression
    from bayesclf.classifiers.updating import Updating


def fit_stream(
    classifier: Updating | LogisticRegression,
    table: str,
    target: str | None,
    drop: Sequence[str] | None,
    kinds: Mapping[str, ColumnKind],
    missing: Mapping[str, Sequence[object]],
    path: Path,
    scheduler: str | None = None,
    max_bytes: int = MAX_BYTES,
    unlabeled: str = "refuse",
) -> list[str]:
    """Fit a classifier to a table that is read batch by batch, save it, and return what is to be said.

    Parameters
    ----------
    classifier
        Not fitted.
    table
        A file, folder or glob, or the name of a data set, which is read as a whole.
    target
        The label column.
    drop, kinds, missing
        As on the command line.
    path
        File for the fitted model.
    scheduler
        Address of a Dask scheduler, whose workers read the files.
    max_bytes
        The most bytes that a packed data set may be unpacked to.
    unlabeled
        What to do with rows without a label, "refuse" or "drop".
    """
    source: Any = table
    if is_name(table):
        dataset = datasets.load(table, target, kinds, missing, max_bytes, unlabeled != "refuse")
        frame, target, kinds, missing = dataset.frame, dataset.target, {}, {}
        source = frame if scheduler is None else [frame]
    if target is None:
        raise InputError(f"{table} does not say which column is the label; name it with --target COL")
    given = {name: values for name, values in missing.items() if name not in (drop or ())}
    columns: Any = {"drop": tuple(drop or ()), "kinds": kinds, "missing": given, "unlabeled": unlabeled}
    classifier.fit_stream(source, target, **columns, client=scheduler)
    save(classifier, path)
    model: Any = classifier.model_
    labeled = " with a label" if unlabeled == "drop" else ""
    rows = f"{model.label_counts.sum():,.0f} rows{labeled} in {len(classifier.classes_)} classes were read in batches"
    return [rows, *classifier.notes_]
