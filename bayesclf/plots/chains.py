"""How an engine ran: whether the chains of a sampler agree, drawn by ArviZ, and the trajectory of an optimizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.engines.convergence import MIN_BFMI
from bayesclf.engines.inference import MARKOV_CHAINS
from bayesclf.engines.optimizers import Trace
from bayesclf.errors import InputError, Refused
from bayesclf.plots import style
from bayesclf.plots.posterior import how_many, least_mixed, most_panels, posterior_of
from bayesclf.plots.style import Figure

LONGEST_TITLE = 44
"""Characters of a parameter's name above its panel."""

MARGINAL, TRANSITION = "#2f9e94", "#c8566b"
"""Colors of the two densities of energies."""


@style.figure
def posterior_trace(classifier: BayesClassifier, limit: int = 8) -> Figure:
    """Draw the trace of each chain for the parameters with the worst mixing.

    Chains that agree look alike and show no trend. Mixing is measured by R-hat or the effective sample size,
    each relative to its limit, whichever is worse.

    Parameters
    ----------
    classifier : BayesClassifier
        A classifier fitted by NUTS or data augmentation.
    limit : int
        Most parameters to draw.

    Returns
    -------
    Figure
        A new figure; its lines are rasterized if it is saved as a vector image.

    Raises
    ------
    Refused
        If the draws are not those of chains: draws of an exact posterior or a Laplace approximation have no order.
    """
    import arviz_plots as azp

    figure = _worst(classifier, limit, azp.plot_trace, {"ticklabels": False})
    for ax in figure.axes:
        ax.set(xlabel="", ylabel="")
        for line in ax.get_lines():
            # A chain has thousands of points, which a vector image would store one by one.
            line.set(linewidth=0.5, alpha=0.7, rasterized=True)
    return figure


@style.figure
def posterior_rank(classifier: BayesClassifier, limit: int = 8) -> Figure:
    """Draw how the ranks of each chain among all draws differ from uniform, for the parameters with the worst mixing.

    A chain that explores the same distribution as the others stays near the line at 0; a chain above the line at small
    ranks has lower values than the others. Each panel shows the p-value of the test that the ranks of all chains are
    uniform, and marks deviations.

    Parameters
    ----------
    classifier : BayesClassifier
        A classifier fitted by NUTS or data augmentation.
    limit : int
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
        # ArviZ has no settings for these two and draws them in black on any background.
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
    """Draw the energies that the chains visited and the changes of energy in their steps.

    If the changes are much narrower than the energies, the sampler explores the posterior's tails slowly; E-BFMI is
    the ratio of their variances, by chain.

    Parameters
    ----------
    classifier : BayesClassifier
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
        raise Refused("the sampler recorded no energies to draw; nutpie and PyMC's sampler do")
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
    """Let ArviZ draw one panel per parameter, for those with the worst mixing."""
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
        style.quiet(ax, "y")
        # The title moves to the left; an empty one takes away what ArviZ wrote in the middle.
        text = ax.get_title()
        ax.set_title("")
        ax.set_title(text, loc="left", fontsize="small")
        ax.tick_params(labelsize="small")
    style.headline(figure, how_many(len(chosen), posterior, "those whose chains mix worst"))
    return figure


def _sampled(classifier: BayesClassifier) -> Any:
    """Return the draws of a sampler, or refuse where their order has no meaning."""
    posterior = posterior_of(classifier)
    if not isinstance(classifier.inference_, MARKOV_CHAINS):
        raise Refused(
            f"the draws of {type(classifier.inference_).__name__} are independent of each other, so a trace shows "
            "nothing; draw the forest plot instead"
        )
    return posterior


SIZE = (7.0, 4.6)


@style.figure
def optimizer_trace(traces: dict[str, Trace]) -> Figure:
    """Plot the distance to the best objective and the gradient norm of each optimizer, after each step.

    Parameters
    ----------
    traces : mapping from str to Trace
        Traces by name, of the same objective, such as ``{"gradient": clf.trace_}``.

    Returns
    -------
    Figure
        Two panels, one above the other, both axes logarithmic.

    Raises
    ------
    InputError
        For anything else than traces by name.
    """
    import matplotlib.pyplot as plt

    _check_traces(traces)
    best = max(float(np.max(trace.objective[np.isfinite(trace.objective)])) for trace in traces.values())
    figure, (gap, norm) = plt.subplots(2, 1, figsize=SIZE, sharex=True, layout="constrained")
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
    return style.shown_once(figure)


def _check_traces(traces: Any) -> None:
    """Raise for anything else than traces by name."""
    if not isinstance(traces, Mapping) or not traces:
        raise InputError(
            f"traces must be a mapping from names to traces, such as {{'gradient': clf.trace_}}, not "
            f"{'empty' if isinstance(traces, Mapping) else type(traces).__name__}"
        )
    for name, trace in traces.items():
        if trace is None:
            raise InputError(
                f"{name!r} has no trace, as its optimizer was not watched; fit with "
                "inference=bc.engines.MAP(bc.engines.GradientAscent())"
            )
        if not isinstance(trace, Trace):
            raise InputError(f"{name!r} must be a trace, such as clf.trace_, not {type(trace).__name__}")
