"""How an engine ran: whether the chains of a sampler agree, drawn by ArviZ, and the trajectory of an optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.errors import Refused
from bayesclf.inference import NUTS
from bayesclf.inference.convergence import MIN_BFMI
from bayesclf.inference.optimisers import Trace
from bayesclf.plots import style
from bayesclf.plots.posterior import how_many, least_mixed, most_panels, posterior_of
from bayesclf.plots.style import Axes, Figure

LONGEST_TITLE = 44
"""Characters of a parameter's name above its panel."""

MARGINAL, TRANSITION = "#2f9e94", "#c8566b"
"""Colours of the two densities of energies."""


@style.figure
def posterior_trace(classifier: BayesClassifier, limit: int = 8) -> Figure:
    """Draw the draws of each chain in their order, for the parameters whose chains mix worst.

    Chains that agree look alike and show no trend. How badly a parameter mixes is its R-hat or its effective sample
    size, each against its limit, whichever is worse.

    Parameters
    ----------
    classifier
        A classifier fitted by NUTS.
    limit
        Most parameters to draw.

    Returns
    -------
    Figure
        A new figure; its lines are rasterised when it is saved as a vector image.

    Raises
    ------
    Refused
        If the draws have no order to look at: those of an exact posterior or a Laplace approximation are independent.
    """
    import arviz_plots as azp

    figure = _worst(classifier, limit, azp.plot_trace, {"ticklabels": False})
    for ax in figure.axes:
        ax.set(xlabel="", ylabel="")
        for line in ax.get_lines():
            # A chain has thousands of points, which a vector image would hold one by one.
            line.set(linewidth=0.5, alpha=0.7, rasterized=True)
    return figure


@style.figure
def posterior_rank(classifier: BayesClassifier, limit: int = 8) -> Figure:
    """Draw, for the parameters whose chains mix worst, how each chain's ranks among all draws differ from uniform.

    A chain that explores the same distribution as the others stays near the line at 0; one above it at small ranks
    sits lower than the others. Each panel has the p-value of the test that all chains' ranks are uniform, and marks
    what speaks against it.

    Parameters
    ----------
    classifier
        A classifier fitted by NUTS.
    limit
        Most parameters to draw.

    Raises
    ------
    Refused
        If the draws are not those of chains.

    References
    ----------
    Säilynoja, Bürkner & Vehtari, *Graphical test for discrete uniformity*, Statistics and Computing 32 (2022).
    """
    import arviz_plots as azp

    figure = _worst(classifier, limit, azp.plot_rank, {"xlabel": False, "remove_axis": False})
    for ax in figure.axes:
        ax.set_yticks([])
        # ArviZ takes no settings for these two, and draws them in black whatever the paper.
        for text in ax.texts:
            text.set(color=style.ink(), fontsize=8, text=text.get_text().split("(")[0].replace("=", " = "))
        for points in ax.collections:
            points.set_color(style.ink())
        for line in ax.get_lines():
            line.set(linewidth=1.2, rasterized=True)
        ax.axhline(0, color="0.55", linewidth=0.8, zorder=1)
    figure.supxlabel("rank of a draw among all, as a share", fontsize="medium")
    return figure


@style.figure
def energy(classifier: BayesClassifier) -> Figure:
    """Draw the energies that the chains visited and the changes of energy that their steps made.

    Where the changes are much narrower than the energies, the sampler crosses the posterior's tails slowly; E-BFMI is
    their ratio of variances, by chain.

    Parameters
    ----------
    classifier
        A classifier fitted by NUTS.

    Raises
    ------
    Refused
        If the draws are not those of NUTS.

    References
    ----------
    Betancourt, *Diagnosing suboptimal cotangent disintegrations with the energy transition*, arXiv:1604.00695.
    """
    import arviz as az
    import arviz_plots as azp

    _sampled(classifier)
    tree = classifier.posterior_
    if "sample_stats" not in tree.children or "energy" not in tree["sample_stats"]:
        raise Refused("the sampler kept no energies to draw; nutpie and PyMC's own do")
    panels = azp.plot_energy(
        tree,
        show_bfmi=False,
        backend="matplotlib",
        color=[MARGINAL, TRANSITION],
        visuals={"title": False, "legend": False},
        figure_kwargs={"figsize": (5.0, 3.0)},
    )
    figure = style.of_arviz(panels)
    (ax,) = figure.axes
    for name, color in (("energies, from their mean", MARGINAL), ("changes in one step", TRANSITION)):
        ax.plot([], [], color=color, linewidth=2, label=name)
    ax.legend(loc="upper right", frameon=False, fontsize="small")
    style.quiet(ax, "x")
    fractions = az.bfmi(tree)["energy"].values
    values = ", ".join(f"{value:.2f}" for value in fractions)
    style.headline(figure, f"E-BFMI of the chains: {values} (limit {MIN_BFMI})")
    return figure


def _worst(classifier: BayesClassifier, limit: int, plot: Callable[..., Any], visuals: dict[str, Any]) -> Figure:
    """Let ArviZ draw one panel a parameter, of those whose chains mix worst."""
    import xarray as xr
    from arviz_base.labels import MapLabeller

    posterior = _sampled(classifier)
    chosen = least_mixed(posterior, min(limit, most_panels()))
    names: dict[Any, Any] = {
        f"p{index}": style.plain(quantity.name, LONGEST_TITLE) for index, quantity in enumerate(chosen)
    }
    columns = min(2, len(chosen))
    panels = plot(
        xr.DataTree.from_dict({"posterior": xr.Dataset({n: q.draws for n, q in zip(names, chosen, strict=True)})}),
        backend="matplotlib",
        labeller=MapLabeller(var_name_map=names),
        col_wrap=columns,
        color=list(style.CLASS_COLORS),
        visuals=visuals,
        figure_kwargs={"figsize": (3.6 * columns, 0.7 + 1.35 * (-(-len(chosen) // columns)))},
    )
    figure = style.of_arviz(panels)
    for ax in figure.axes:
        _finish(ax)
    style.headline(figure, how_many(len(chosen), posterior, "those whose chains mix worst"))
    return figure


def _sampled(classifier: BayesClassifier) -> Any:
    """Return the draws of a sampler, whose order means something."""
    posterior = posterior_of(classifier)
    if not isinstance(classifier.inference_, NUTS):
        raise Refused(
            f"the draws of {type(classifier.inference_).__name__} are independent of each other, so a trace says "
            "nothing; look at the forest plot instead"
        )
    return posterior


def _finish(ax: Axes) -> None:
    """Write a panel's title small and on the left, and take away what says nothing."""
    style.quiet(ax, "y")
    text = ax.get_title()
    ax.set_title("")
    ax.set_title(text, loc="left", fontsize="small")
    ax.tick_params(labelsize="small")


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
