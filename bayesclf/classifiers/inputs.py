"""What a fit is given: a table, labels, weights, base rates, a seed; what they can be, and which rows have a label."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, _num_samples, column_or_1d

from bayesclf.arrays import Array, Integers
from bayesclf.constraints import Choice, Constraint, Number, Whole, require
from bayesclf.errors import InputError, PredictionWarning, warn
from bayesclf.families.base import broadcast
from bayesclf.families.class_prior import ClassPrior, KnownClassPrior, LearntClassPrior
from bayesclf.tables.columns import SparseTable, some_rows
from bayesclf.tables.numbers import LARGEST, SMALLEST
from bayesclf.wording import LISTED_ROWS, LONGEST_NAME, flagged_rows, listed, named, one_line, written

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
    different, place = different_labels(y, rows)
    return np.asarray(different[place])


def different_labels(y: Any, rows: int) -> tuple[NDArray[Any], Integers]:
    """Return the different labels, in the order of their first rows, and the place of each row's among them.

    Errors are those of `checked_labels`. Hashing words takes less time than sorting or comparing them.
    """
    import pandas as pd

    labels = series_of(y)
    if len(labels) != rows:
        raise InputError(f"X has {rows} rows but y has inconsistent length {len(labels)}; give one label per row")
    if labels.hasnans:
        raise InputError(f"y has no label in {flagged_rows(labels.isna())}; label these rows or drop them")
    if isinstance(labels.dtype, np.dtype) and not labels.dtype.isnative:  # which pandas has no hash of
        labels = labels.astype(labels.dtype.newbyteorder("="))
    try:
        place, found = pd.factorize(labels.array)
    except TypeError as error:
        raise InputError(f"y must hold labels, text or whole numbers ({one_line(error)})") from error
    values = np.asarray(found)
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
            check_classification_targets(values)
    except (ValueError, TypeError) as error:
        reason = one_line(error).partition(". ")[0]
        remedy = "turn them into text, as by y.astype(str)" if values.dtype == object else "turn them into classes"
        raise InputError(f"y must hold labels, text or whole numbers: {reason}; {remedy}") from error
    return values, place


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


def possible_labels(y: NDArray[Any], classes: Any) -> NDArray[Any]:
    """Return all labels that can occur, in order, (outcome); raise for labels (row) that are not among `classes`."""
    if classes is None:
        return np.unique(y)
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


MOST_ROWS = 5_000
"""Rows that are left out, one at a time; of more rows, as many at even distances."""


@dataclass(frozen=True, eq=False)
class Training:
    """Rows to learn from: cells (row, feature), label codes, `UNLABELED` where there is none, and weights (row).

    Without weights each row counts once.
    """

    frame: Any
    y: Integers
    weight: Array | None = None

    @classmethod
    def of(cls, frame: Any, y: Integers, sample_weight: Any) -> Self:
        """Return rows without those of weight 0."""
        if sample_weight is None:
            return cls(frame, y)
        weight = checked_weights(sample_weight, len(frame))
        return cls(frame, y, weight).kept(weight > 0)

    @property
    def labeled(self) -> NDArray[np.bool_]:
        """Which rows have a label, (row)."""
        return np.asarray(self.y != UNLABELED)

    @property
    def weights(self) -> Array:
        """How often each row counts, (row)."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    def left_out(self) -> Integers:
        """Return the numbers of the rows that are left out, one at a time, to see how they are then predicted.

        A row of weight w is w rows, and one of them is left out. All other rows count.
        """
        whole = np.arange(len(self.y)) if self.weight is None else np.flatnonzero(self.weight >= 1)
        if len(whole) <= MOST_ROWS:
            return whole
        return whole[np.linspace(0, len(whole) - 1, MOST_ROWS).astype(np.intp)]

    def kept(self, rows: NDArray[np.bool_]) -> Self:
        """Return some of the rows, given which (row)."""
        if rows.all():
            return self
        frame = self.frame[rows] if isinstance(self.frame, SparseTable) else some_rows(self.frame, rows)
        return replace(self, frame=frame, y=self.y[rows], weight=None if self.weight is None else self.weight[rows])


def checked_weights(sample_weight: Any, rows: int) -> Array:
    """Return weights (row), 0 or from `SMALLEST` to `LARGEST`, so that squares neither vanish nor overflow."""
    try:
        weight = _check_sample_weight(sample_weight, np.empty(rows), ensure_non_negative=True)
        if weight.dtype.kind == "c":
            raise ValueError("Complex data not supported")
    except (ValueError, TypeError, OverflowError) as error:
        reason = one_line(error).partition(" [")[0]
        raise InputError(f"sample_weight must be a number of at least 0 per row ({reason})") from error
    if not weight.any():
        raise InputError("all sample weights are zero; give some row a weight above 0")
    with np.errstate(over="ignore"):
        total, least = weight.sum(dtype=float), weight.min(where=weight > 0, initial=LARGEST)
    if total > LARGEST or least < SMALLEST:
        what = f"a sum of {total:.1e}" if total > LARGEST else f"one of {least:.1e}"
        raise InputError(
            f"sample_weight has {what}; positive weights and their sum must be between {SMALLEST:g} and {LARGEST:g}, "
            "so rescale them, or set negligible ones to 0"
        )
    return np.asarray(weight, dtype=float)


def about_constant(names: Sequence[str]) -> list[str]:
    """Say in one note which columns have at most one value, if any has."""
    if len(names) < 2:
        return [f"column {name!r} has at most one value and contributes nothing" for name in names]
    return [f"columns {named(names)} have at most one value and contribute nothing"]


def number_of_rows(X: Any) -> int:
    """Return the number of rows of a table (row, feature) of any kind."""
    try:
        return int(_num_samples(X))
    except TypeError:
        raise InputError(f"X must be a table (row, feature), not {written(X, LONGEST_NAME)}") from None


def accuracy(predicted: NDArray[Any], classes: NDArray[Any], y: Any, sample_weight: Any) -> float:
    """Return the weighted share of rows whose label y (row) is the predicted one (row)."""
    require_labels_as(classes, y)
    labels = checked_labels(y, len(predicted))
    weight = None if sample_weight is None else checked_weights(sample_weight, len(predicted))
    return float(np.average(labels == predicted, weights=weight))


def known_class_prior(class_prior: Any, classes: NDArray[Any]) -> KnownClassPrior:
    """Return given base rates: an array in the order of `classes`, a mapping from label to probability, "uniform"."""
    if isinstance(class_prior, str) and class_prior == "uniform":
        return KnownClassPrior(np.full(len(classes), 1 / len(classes)))
    if isinstance(class_prior, dict):
        if set(class_prior) != set(classes.tolist()):
            raise InputError(
                f"class_prior must have one probability for each of the classes {_listed(classes)}, not for "
                f"{_listed(class_prior)}"
            )
        class_prior = [class_prior[label] for label in classes.tolist()]
    try:
        pi = np.asarray(class_prior, dtype=float)
    except (ValueError, TypeError):
        raise InputError(
            f"class_prior must be {len(classes)} probabilities or 'uniform', not {class_prior!r}"
        ) from None
    if pi.shape != (len(classes),) or not (pi >= 0).all() or not np.isclose(pi.sum(), 1):
        raise InputError(f"class_prior must be {len(classes)} probabilities that add up to 1, not {class_prior}")
    return KnownClassPrior(pi / pi.sum())


CLASS_PRIOR = Constraint(
    "'dirichlet', 'empirical', 'uniform', a concentration above 0 or probabilities",
    lambda value: value == "uniform" if isinstance(value, str | Real) else True,
    ("dirichlet", "empirical", "uniform"),
)
"""What a class prior can be that is no concentration: "uniform", or probabilities, which are checked later."""


def resolved_class_prior(class_prior: Any, counts: Array, classes: NDArray[Any]) -> ClassPrior:
    """Return the class prior in numbers, given `classes` (outcome) and the weight of each."""
    if isinstance(class_prior, LearntClassPrior):
        return LearntClassPrior(broadcast("alpha", class_prior.alpha, classes.shape, "outcome"))
    if isinstance(class_prior, str) and class_prior == "empirical":
        return KnownClassPrior(counts / counts.sum())
    alpha = 1.0 if isinstance(class_prior, str) and class_prior == "dirichlet" else class_prior
    if Number(above=0).allows(alpha):
        return LearntClassPrior(np.full(len(classes), float(alpha)))
    require(CLASS_PRIOR, class_prior=class_prior)
    return known_class_prior(class_prior, classes)


def _listed(classes: Iterable[Any]) -> str:
    return ", ".join(repr(str(label)) for label in classes)


GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence)

SEED = Whole(0, 2**32 - 1)
"""A seed, as scikit-learn takes it."""


def seed_of(random_state: Any) -> int:
    """Return the seed of a fit: the integer given, or one drawn from the generator given or from fresh entropy."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None or isinstance(random_state, GENERATORS):
        return int(np.random.default_rng(random_state).integers(2**31 - 1))
    require(SEED, random_state=random_state)
    return int(random_state)
