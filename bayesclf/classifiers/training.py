"""What a fit is given beside the table: labels, weights, base rates and a seed, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from bayesclf.errors import InputError
from bayesclf.families.class_prior import KnownClassPrior
from bayesclf.typing import Array, Integers

if TYPE_CHECKING:
    import pandas as pd

GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence)


def checked_labels(y: Any, rows: int) -> NDArray[Any]:
    """Return labels (row) as an array, or raise for missing, continuous or too few ones."""
    import pandas as pd

    if y is None:
        raise InputError("fit requires y to be passed, but the target y is None; give one label a row")
    labels = pd.Series(column_or_1d(y, warn=True))
    empty = np.flatnonzero(labels.isna())
    if empty.size:
        where = ", ".join(str(row + 1) for row in empty[:5]) + (", …" if empty.size > 5 else "")
        raise InputError(f"y has {empty.size} missing labels (rows {where}); drop these rows or label them")
    if len(labels) != rows:
        raise InputError(f"X has {rows} rows but y has inconsistent length {len(labels)}; give one label a row")
    values = labels.to_numpy()
    if values.dtype == object and all(isinstance(label, str) for label in values):
        values = values.astype(str)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InputError("y has infinite labels; a label must be a class")
    if values.dtype.kind not in "biufUO":
        values = values.astype(object)
    check_classification_targets(values)
    return values


def weighted(frame: pd.DataFrame, y: Integers, sample_weight: Any) -> tuple[pd.DataFrame, Integers, Array | None]:
    """Return training rows, label codes and weights (row), without the rows of weight 0, which are as if absent."""
    if sample_weight is None:
        return frame, y, None
    weight = _check_sample_weight(sample_weight, frame, ensure_non_negative=True)
    kept = weight > 0
    if not kept.any():
        raise InputError("all sample weights are zero; give some row a weight above 0")
    return (frame, y, weight) if kept.all() else (frame[kept], y[kept], weight[kept])


def known_class_prior(class_prior: Any, classes: NDArray[Any]) -> KnownClassPrior:
    """Return given base rates, an array in the order of `classes` or a mapping from label to probability."""
    if isinstance(class_prior, dict):
        unknown = [label for label in class_prior if label not in classes]
        if unknown:
            raise InputError(
                f"class_prior names {str(unknown[0])!r}, which is no class; the classes are {_listed(classes)}"
            )
        lacking = [label for label in classes if label not in class_prior]
        if lacking:
            raise InputError(f"class_prior lacks a probability for class {str(lacking[0])!r}; give one for each class")
        class_prior = [class_prior[label] for label in classes]
    try:
        pi = np.asarray(class_prior, dtype=float)
    except (ValueError, TypeError):
        raise InputError(f"class_prior must be {len(classes)} probabilities, not {class_prior!r}") from None
    if pi.shape != (len(classes),) or not (pi >= 0).all() or not np.isclose(pi.sum(), 1):
        raise InputError(f"class_prior must be {len(classes)} probabilities that add up to 1, not {class_prior}")
    return KnownClassPrior(pi / pi.sum())


def _listed(classes: NDArray[Any]) -> str:
    return ", ".join(repr(str(label)) for label in classes)


def seed_of(random_state: Any) -> int:
    """Return the seed of a fit: the integer given, or one drawn from the generator given or from fresh entropy."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None or isinstance(random_state, GENERATORS):
        return int(np.random.default_rng(random_state).integers(2**31 - 1))
    raise InputError(f"random_state must be an integer of at least 0, a generator or None, not {random_state!r}")
