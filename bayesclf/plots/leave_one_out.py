"""Leave-one-out scores, drawn by ArviZ: whether they can be trusted, and how models compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesclf.errors import InputError
from bayesclf.plots import style
from bayesclf.plots.style import Figure

if TYPE_CHECKING:
    from arviz_stats import ELPDData

NAMED_ROWS = 8
"""Most rows beyond the limit that are labeled, those with the largest k̂."""

POINT, BEYOND = "#2f6fd0", "#dd5a22"
"""Colors of rows, and of rows beyond the limit."""


@style.figure
def pareto_k(elpd: ELPDData) -> Figure:
    """Draw Pareto k̂ of each row: how much leaving it out changes the posterior.

    Beyond the limit, reweighted draws do not represent the posterior without the row, and its score cannot be trusted;
    such rows are numbered from 1. Rows that were left out exactly have k̂ 0.

    Parameters
    ----------
    elpd : ELPDData
        Result of `bayesclf.loo`, or of `arviz.loo` for a logistic regression.

    References
    ----------
    Vehtari, Gelman & Gabry (2017), doi:10.1007/s11222-016-9696-4.
    """
    import arviz_plots as azp

    khat = np.asarray(elpd.pareto_k.values, dtype=float)
    panels = azp.plot_khat(
        elpd,
        backend="matplotlib",
        hline_values=[elpd.good_k],
        color=POINT,
        visuals={
            "khat": {"size": 14, "alpha": 0.7, "width": 0},
            "hlines": {"color": "0.55", "linestyle": "-", "width": 1},
            "xlabel": {"text": "row"},
            "ylabel": {"text": "Pareto k̂"},
        },
        figure_kwargs={"figsize": (5.6, 3.2)},
    )
    figure = style.of_arviz(panels)
    (ax,) = figure.axes
    bad = np.flatnonzero(~(khat <= elpd.good_k))
    drawn = bad[np.isfinite(khat[bad])]
    ax.scatter(drawn, khat[drawn], s=22, color=BEYOND, linewidths=0, zorder=3)
    for row in drawn[np.argsort(-khat[drawn], kind="stable")][:NAMED_ROWS]:
        ax.annotate(str(row + 1), (row, khat[row]), (4, 3), textcoords="offset points", fontsize="small")
    ax.set_ylim(top=max(ax.get_ylim()[1], 1.08 * elpd.good_k))
    style.quiet(ax, "y")
    style.headline(figure, f"{len(bad)} of {len(khat)} rows beyond k̂ = {elpd.good_k:.2f}")
    return figure


@style.figure
def elpd_compare(table: pd.DataFrame) -> Figure:
    """Draw how far each model's leave-one-out log score lies below the best one's, with one standard error.

    Both numbers are written next to each model.

    Parameters
    ----------
    table : DataFrame
        Result of `arviz.compare`, of fits that `bayesclf.loo` scored.

    References
    ----------
    Vehtari, Gelman & Gabry (2017), doi:10.1007/s11222-016-9696-4. Sivula et al., *Uncertainty in Bayesian
    leave-one-out cross-validation based model comparison* (2025), arXiv:2008.10296: differences below 4 nats are small.
    """
    import arviz_plots as azp

    if not {"elpd", "elpd_diff", "dse"} <= {*table.columns}:
        raise InputError("table must be the result of arviz.compare, with columns elpd, elpd_diff and dse")
    ink = style.ink()
    look: dict[str, Any] = {"color": ink}
    panels = azp.plot_compare(
        table.set_axis([style.plain(name) for name in table.index]),
        backend="matplotlib",
        visuals={
            "title": False,
            "labels": False,
            "point_estimate": look | {"size": 40},
            "error_bar": look | {"width": 1.8},
            "ref_line": {"color": "0.55", "linestyle": "-", "width": 1},
        },
        figure_kwargs={"figsize": (5.6, 1.1 + 0.34 * len(table))},
    )
    figure = style.of_arviz(panels)
    (ax,) = figure.axes
    for place, difference, error in zip(range(len(table), 0, -1), table["elpd_diff"], table["dse"], strict=True):
        text = f"{difference:.1f} ± {error:.1f}".replace("-", "−") if error else "best"
        ax.annotate(text, (1.02, place), xycoords=ax.get_yaxis_transform(), va="center", annotation_clip=False)
    ax.set_ylim(0.4, len(table) + 0.6)
    ax.set_xlabel("leave-one-out log score minus the best one / nats")
    style.quiet(ax, "x")
    return figure
