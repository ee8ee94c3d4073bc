"""Whether a loaded classifier can answer: for rows of its own columns, each category at its last level or unknown."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.errors import DoesNotExist, InputError

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.classifiers import BayesClassifier
    from bayesclf.posterior.hypotheses import HypothesisSet
    from bayesclf.tables.columns import Column


def check(clf: BayesClassifier) -> None:
    """Raise ValueError where columns, levels and parameters of a loaded classifier do not fit together.

    One hypothesis scores a row or two: what a file says of sizes is then found wrong here, not at a prediction.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for unknown, table in enumerate(_tables(clf)):
            try:
                rows = clf.rows(table)
                for hypotheses in _sets(clf):
                    scores = hypotheses.log_scores(rows)
                    if scores.shape != (1, len(rows), len(clf.classes_)) or np.isnan(scores).any():
                        raise ValueError("its scores are no numbers of a row and a class")
            except InputError:
                if not unknown:
                    raise ValueError("it refuses a row of its own columns") from None
            except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
                raise ValueError(f"its parts do not fit together: {error}") from None


def _tables(clf: BayesClassifier) -> Iterator[Any]:
    """Yield a table of one row with all that the classifier knows, and, of dense columns, one with what it does not."""
    from scipy import sparse
    from sklearn.utils import get_tags

    columns = clf.columns_
    if get_tags(clf).input_tags.sparse and all(column.kind == "number" for column in columns):
        yield sparse.csr_array((1, len(columns)))
        return
    yield _table(columns, {c.name: c.levels[-1] for c in columns if c.levels})
    yield _table(columns, {c.name: "\N{REPLACEMENT CHARACTER}" for c in columns if c.levels})


def _table(columns: tuple[Column, ...], cells: dict[str, Any]) -> pd.DataFrame:
    """Return a row of ones, empty texts and the given cells."""
    import pandas as pd

    others = {"text": "", "category": None}
    words = {c.name: cells.get(c.name, others[c.kind]) for c in columns if c.kind in others}
    numbers = [c.name for c in columns if c.kind not in others]
    frame = pd.DataFrame(np.ones((1, len(numbers))), columns=numbers)
    frame = pd.concat([frame, pd.DataFrame([words], dtype=object)], axis=1) if words else frame
    return frame[[column.name for column in columns]]


def _sets(clf: BayesClassifier) -> Iterator[HypothesisSet]:
    """Return one hypothesis of each set that the file holds, or has made again."""
    from bayesclf.posterior.hypotheses import SeededHypotheses

    names = [name for name, point in clf.points_.items() if not isinstance(point, DoesNotExist)]
    if clf.draws_ is not None:
        names.append("posterior")
    for name in names:
        found = clf.hypotheses(name)
        if isinstance(found, SeededHypotheses):
            found = replace(found, seeded=replace(found.seeded, draws=1, block=1), _last={})
        yield found.take(np.zeros(1, dtype=np.intp))
