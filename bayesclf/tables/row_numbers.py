"""Numbers of rows in sentences: those of the table that the user gave, also where some of its rows were left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.typing import Integers

if TYPE_CHECKING:
    import pandas as pd

ROW = "row of the table given"
"""Name of the index of a table without some of its rows: their places in the whole table, from 0."""


def some_rows(frame: pd.DataFrame, kept: NDArray[np.bool_]) -> pd.DataFrame:
    """Return the rows of a table that are kept, (row), with an index that tells where they stood."""
    import pandas as pd

    return frame[kept].set_axis(pd.Index(np.flatnonzero(kept), name=ROW), axis=0)


def row_numbers(table: Any, places: Any) -> Integers:
    """Return the numbers, from 1, of rows in the table that the user gave.

    Parameters
    ----------
    table
        A table or a column, with all rows or some.
    places
        Places of the rows in it, from 0.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    >>> row_numbers(table, [1]), row_numbers(some_rows(table, np.array([False, True, True])), [1])
    (array([2]), array([3]))
    """
    own = np.asarray(places, dtype=np.intp)
    known = table.index.name == ROW
    return np.asarray(table.index.to_numpy()[own] if known else own) + 1
