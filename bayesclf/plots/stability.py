"""How far probabilities move under other samples of the same size."""

from __future__ import annotations

import numpy as np

from bayesclf.evaluation.instability import Instability
from bayesclf.plots import style
from bayesclf.plots.style import Figure

REFITS, POSTERIOR = "#c8566b", "#8fa3bf"
"""Colors of the two intervals."""

SIZE = (6.0, 4.2)
"""Inches of the figure."""


@style.figure
def instability(found: Instability) -> Figure:
    """Draw each row's interval over refits, and that of its posterior, against its probability under all rows.

    Both surround the diagonal, where refits agree with the fit to all rows. Where the intervals over refits are wider
    than those of the posterior, it understates how much answers depend on the sample.

    Parameters
    ----------
    found : Instability
        Result of `bayesclf.instability`.
    """
    import matplotlib.pyplot as plt

    table = found.table
    kinds = [("refit", REFITS, f"{found.refits} refits to other samples"), ("posterior", POSTERIOR, "posterior")]
    kinds = [kind for kind in kinds if table[f"{kind[0]}_low"].notna().any()]
    figure, panels = plt.subplots(1, len(kinds), figsize=SIZE, layout="constrained", sharey=True, squeeze=False)
    ends = np.array([0.0, 1.0])
    for ax, (name, color, title) in zip(panels[0], kinds, strict=True):
        ax.vlines(
            table["probability"], table[f"{name}_low"], table[f"{name}_high"], color=color, alpha=0.5, linewidth=1
        )
        ax.plot(ends, ends, color=style.ink(), linewidth=0.9)
        ax.set(xlabel="probability, fitted to all rows", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        style.title(ax, title)
        style.quiet(ax)
    panels[0, 0].set_ylabel("probability under other samples")
    return style.shown_once(figure)
