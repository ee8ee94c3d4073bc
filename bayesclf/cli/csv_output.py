"""Tables as csv, with words that a spreadsheet would run quoted by choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""How cells begin that a spreadsheet takes for a formula."""


def safe_cell(cell: object) -> object:
    """Return a cell as a spreadsheet shows it: a word that it would take for a formula gets an apostrophe.

    Examples
    --------
    >>> safe_cell("=1+1"), safe_cell("yes"), safe_cell(-0.5)
    ("'=1+1", 'yes', -0.5)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def csv_text(table: pd.DataFrame, safe: bool) -> str:
    """Return a table as csv, missing cells empty; if `safe`, with words and names by `safe_cell`."""
    if safe:
        table = table.astype(object).map(safe_cell).rename(columns=safe_cell)
    return table.to_csv(index=False, lineterminator="\n")
