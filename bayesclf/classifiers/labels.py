"""Labels of rows: what they can be, which rows have one, and all that can occur."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from bayesclf.constraints import Choice
from bayesclf.errors import InputError, PredictionWarning, warn
from bayesclf.wording import LISTED_ROWS, listed, one_line

if TYPE_CHECKING:
    import pandas as pd

UNLABELED_CHOICE, UNLABELED_IN_PARTS = Choice(("error", "drop", "use")), Choice(("error", "drop"))
"""What may be done with training rows without a label: refuse them, leave them out, learn from them."""

UNLABELED = -1
"""Code of a label that is missing."""

LABEL_TYPES = {"b": "truth values", "i": "numbers", "u": "numbers", "f": "numbers"}
"""What labels are, by the kind of their array; others are words."""


def series_of(y: Any) -> pd.Series:
    """Return labels of any kind as a series that keeps their type; raise for what is not one column of labels."""
    import pandas as pd

    if y is None:
        raise InputError("fit requires y to be passed, but the target y is None; give one label per row")
    if isinstance(y, str):
        raise InputError(f"y must be the labels, one per row, not the name {y!r}; give the column itself, table[{y!r}]")
    try:
        if isinstance(y, np.ma.MaskedArray):
            hidden, cells = np.ma.getmaskarray(y), y.data.astype(object)
            cells[hidden] = None
            y = cells.tolist()
        if isinstance(y, list | tuple):  # NumPy would make words of numbers beside words, and "nan" of a missing label
            labels = pd.Series(column_or_1d(np.array(y, dtype=object)), dtype=object)
            return labels if labels.hasnans else labels.infer_objects()
        if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
            y = y.iloc[:, 0]
        typed = isinstance(y, pd.Series | pd.api.extensions.ExtensionArray)
        labels = pd.Series(y if typed else column_or_1d(y, warn=True))
    except (ValueError, TypeError) as error:
        raise InputError(f"y must hold one label per row, text or whole numbers ({one_line(error)})") from error
    plain = getattr(labels.dtype, "numpy_dtype", None)  # integers of a nullable type would become floats otherwise
    return labels if plain is None or labels.hasnans else labels.astype(plain)


def checked_labels(y: Any, rows: int) -> NDArray[Any]:
    """Return labels (row) as an array, or raise for missing, continuous or too few ones."""
    labels = series_of(y)
    if len(labels) != rows:
        raise InputError(f"X has {rows} rows but y has inconsistent length {len(labels)}; give one label per row")
    empty = np.flatnonzero(labels.isna())
    if empty.size:
        where = listed(empty + 1, LISTED_ROWS)
        raise InputError(f"y has {empty.size} missing labels (rows {where}); drop these rows or label them")
    values = np.asarray(labels)
    if values.dtype == object and all(isinstance(label, str) for label in values):
        values = values.astype(str)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError("y has infinite labels; a label must be a class")
    if values.dtype.kind in "mM":
        raise InputError("y holds dates or durations; a label must be a class, such as a month: y.dt.month")
    if values.dtype.kind not in "biufUO":
        values = values.astype(object)
    try:
        with warnings.catch_warnings():  # many classes of few rows each are no sign of a regression
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(_different(values))
    except (ValueError, TypeError) as error:
        reason = one_line(error).partition(". ")[0]
        remedy = "turn them into text, as by y.astype(str)" if values.dtype == object else "turn them into classes"
        raise InputError(f"y must hold labels, text or whole numbers: {reason}; {remedy}") from error
    return values


def warn_of_order(X: Any, **others: Any) -> None:
    """Warn if labels or weights have the row names of a table in another order: rows are matched by position."""
    import pandas as pd

    for name, other in others.items():
        if isinstance(X, pd.DataFrame) and isinstance(other, pd.Series) and len(X) == len(other):
            same = X.index.equals(other.index) or X.index.has_duplicates
            if not same and X.index.sort_values().equals(other.index.sort_values()):
                warn(
                    f"X and {name} have the same row labels in another order, and rows are matched by position; give "
                    f"{name}.loc[X.index] to match them by their labels",
                    PredictionWarning,
                )


def labeled_rows(y: Any) -> tuple[NDArray[np.bool_], pd.Series] | None:
    """Return which rows have a label, (row), and those labels; None where all have, or none has, or they are none."""
    try:
        labels = series_of(y)
    except InputError:
        return None
    there = labels.notna().to_numpy()
    if there.all() or not there.any():
        return None
    return there, labels[there].infer_objects()


def about_unlabeled_rows(there: NDArray[np.bool_]) -> str:
    """Say which rows have no label, given which have one (row)."""
    rows = np.flatnonzero(~there) + 1
    some = f"{len(rows)} of {len(there)} rows {'has' if len(rows) == 1 else 'have'} no label"
    return f"{some} (row{'s' * (len(rows) > 1)} {listed(rows, LISTED_ROWS)})"


def about_dropped_rows(there: NDArray[np.bool_]) -> str:
    """Say the same of rows that are left out."""
    return f"{about_unlabeled_rows(there)} and {'is' if np.sum(~there) == 1 else 'are'} left out"


def only_labeled(X: Any, y: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Return the rows (row, feature) of a DataFrame that have a label, the labels, and a sentence about the others."""
    found = labeled_rows(y)
    if found is None or len(found[0]) != len(X):
        return X, y, ()
    there, labels = found
    return X[there], labels, (about_dropped_rows(there),)


def _different(y: NDArray[Any]) -> NDArray[Any]:
    """Return the different numbers among labels (row), in a time that does not count; words as they are."""
    import pandas as pd

    return pd.unique(y) if y.dtype.kind in "biuf" and y.dtype.isnative else y


def possible_labels(y: NDArray[Any], classes: Any) -> NDArray[Any]:
    """Return all labels that can occur, in order, (outcome); raise for labels (row) that are not among `classes`."""
    if classes is None:
        return np.unique(_different(y))
    announced = np.ravel(np.asarray(classes))
    possible = np.unique(checked_labels(announced, len(announced)))
    unknown = ~np.isin(y, possible)
    if unknown.any():
        raise InputError(
            f"y has the label {str(y[unknown][0])!r}, which is not among the classes given, "
            f"{', '.join(map(repr, possible.tolist()))}; name all labels that can occur"
        )
    return possible


def require_labels_as(classes: NDArray[Any], y: Any) -> None:
    """Raise `InputError` for labels (row) of another type than the classes of a fit, as False where that is "False"."""
    labels = np.ravel(np.asarray(y))
    found, own = (LABEL_TYPES.get(one.dtype.kind, "words") for one in (labels, classes))
    if found != own and "words" in (found, own) and not set(labels.tolist()).intersection(classes.tolist()):
        remedy = ", as by y.astype(str)" if own == "words" else ""
        known = listed(map(repr, classes.tolist()), LISTED_ROWS)
        raise InputError(
            f"y holds {found}, but the classes of the fit are {own} ({known}); give labels of that type{remedy}"
        )


def joined_labels(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Return all labels in order; raise `InputError` for two types: 0, False and "0" are names of different classes."""
    if LABEL_TYPES.get(one.dtype.kind) != LABEL_TYPES.get(other.dtype.kind):
        raise InputError(
            f"labels are of one type here and of another there, {one.tolist()} and {other.tolist()}; give labels of "
            "one type"
        )
    kind = np.result_type(one, other)  # where some rows have 1 and others 1.0, all have 1.0, as in one table
    return np.union1d(one.astype(kind), other.astype(kind))
