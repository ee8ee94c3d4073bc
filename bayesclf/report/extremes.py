"""Rows whose true class got almost no probability, and the columns that spoke against it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesclf.errors import DoesNotExist, Refused
from bayesclf.evaluation.score_table import MOST_NATS
from bayesclf.wording import counted, named, percent

if TYPE_CHECKING:
    from bayesclf.evaluation.comparison import Comparison

LARGE_SHARE = 0.5
"""Share of a log loss from which on the rows that make it up are worth a sentence."""

MOST_ROWS = 100
"""Rows whose log-odds are taken apart, the worst ones."""

MOST_COLUMNS = 3
"""Columns that are named at most."""

NAMED_SHARE = 0.1
"""Share of what speaks against the true classes from which on a column is named."""


def extremes(comparison: Comparison, model: str, rule: str) -> str:
    """Return sentences on the rows that make up most of a log loss, and on their columns; empty if there are none.

    Such a row had a probability below 1/1000 for its true class when it was held out. The columns are those of the fit
    on all rows whose contributions to the log-odds of the decided class against the true one are largest.
    """
    log_proba, y = comparison.stacked(model, rule)
    losses = -log_proba[np.arange(len(y)), y]
    order = np.argsort(-losses, kind="stable")
    worst = order[: int((losses > MOST_NATS).sum())]
    with np.errstate(invalid="ignore"):
        share = 1.0 if np.isinf(losses).any() else losses[worst].sum() / losses.sum()
    if not len(worst) or share < LARGE_SHARE:
        return ""
    rows = np.concatenate(comparison.tested)[worst]
    large = "all" if share > 1 - 1e-9 else percent(float(share))
    said = (
        f"it gave the true class of {counted(len(np.unique(rows)), 'row')} a probability below 1/1000, which makes up "
        f"{large} of its log loss"
    )
    blamed = _columns(comparison, model, rows[:MOST_ROWS], log_proba[worst[:MOST_ROWS]].argmax(axis=1))
    return (
        f"{said}; there {named(blamed)} speak{'s' * (len(blamed) == 1)} most against the true class" if blamed else said
    )


def _columns(comparison: Comparison, model: str, rows: np.ndarray, decided: np.ndarray) -> list[str]:
    """Return the columns that contribute most to the decided classes of rows, against the true ones."""
    fit = comparison.fits.get(model)
    if fit is None:
        return []
    labels = comparison.classes
    try:
        found = fit.explain(comparison.X.iloc[rows], labels[decided], labels[comparison.y[rows]], rule="map")
    except (Refused, DoesNotExist):
        return []
    terms = found.terms[~found.terms["feature"].str.startswith("(")]
    against = terms.groupby("feature", sort=False)["contribution"].sum()
    against = against[against > 0].sort_values(ascending=False, kind="stable")
    return [str(name) for name in against[against >= NAMED_SHARE * against.sum()].index[:MOST_COLUMNS]]
