"""The way of an optimiser: objective and gradient norm, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesclf.inference.optimisers import Trace
from bayesclf.plots import style
from bayesclf.plots.style import Figure

SIZE = (7.0, 4.6)


@style.figure
def optimiser_trace(traces: dict[str, Trace]) -> Figure:
    """Plot how far below the best objective each optimiser was, and its gradient's norm, after each step.

    Parameters
    ----------
    traces
        Traces by name, of the same objective.

    Returns
    -------
    Figure
        Two panels above each other, both axes logarithmic.
    """
    from matplotlib.figure import Figure

    best = max(float(np.max(trace.objective[np.isfinite(trace.objective)])) for trace in traces.values())
    figure = Figure(figsize=SIZE, layout="constrained")
    gap, norm = figure.subplots(2, 1, sharex=True)
    for place, (name, trace) in enumerate(traces.items()):
        steps = np.arange(1, len(trace.objective) + 1)
        below = best - trace.objective
        look: Any = {"color": style.class_color(place), "linewidth": 1.5}
        gap.plot(steps, np.where(below > 0, below, np.nan), label=style.plain(name), **look)
        norm.plot(steps, trace.gradient_norm, **look)
    gap.set(ylabel="below the best objective", xscale="log", yscale="log")
    norm.set(xlabel="step (stochastic ascent: pass), counted from 1", ylabel="gradient norm", yscale="log")
    gap.legend(frameon=False)
    for ax in (gap, norm):
        style.quiet(ax)
    return figure


optimizer_trace = optimiser_trace
"""The same, in American spelling."""
