"""Tables as arrays and plain values, which files can hold, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

type PlainTable = dict[str, Any]


def plain(table: pd.DataFrame) -> PlainTable:
    """Return the columns of a table, in their order: codes and levels, or cells with their type."""
    return {str(name): _plain_column(table[name]) for name in table.columns}


def table_of(columns: PlainTable) -> pd.DataFrame:
    """Return the table whose columns `plain` returned."""
    return pd.DataFrame({name: _column(**parts) for name, parts in columns.items()})


def _plain_column(column: pd.Series) -> dict[str, Any]:
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = column.cat.categories
        return {
            "type": str(levels.dtype),
            "cells": levels.to_numpy(dtype=object),
            "codes": column.cat.codes.to_numpy(),
            "ordered": bool(column.cat.ordered),
        }
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return {"type": "", "cells": column.to_numpy()}
    cells = [None if cell is pd.NA or cell is pd.NaT else cell for cell in column]
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    return {"type": str(column.dtype), "cells": values}


def _column(type: str, cells: Any, codes: Any = None, ordered: bool = False) -> Any:
    if codes is not None:
        return pd.Categorical.from_codes(codes, pd.Index(cells, dtype=type), ordered=ordered)
    return cells if not type else pd.array(cells, dtype=type) if type != "object" else pd.Series(cells, dtype=object)
