"""Figures of posteriors, drawn by ArviZ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.classifiers.base import CI_PROB, BayesClassifier
from bayesclf.errors import Refused
from bayesclf.inference import NUTS
from bayesclf.plots import parameters, style
from bayesclf.plots.parameters import Quantity

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_TITLE = 44
"""Characters of a parameter's name above its trace."""

LONGEST_PANEL_TITLE, LONGEST_CLASS = 26, 18
"""The same above a panel of the forest plot, and of a class beside it."""

INNER_PROB = 0.5
"""Probability of the thick inner interval."""


def posterior_forest(classifier: BayesClassifier, limit: int = 30) -> Figure:
    """Draw posterior means and intervals, one panel a quantity, one line a class.

    Where there are more parameters than `limit`, those are drawn that differ most between the classes in units of
    their posterior sd. Each panel has its own scale, the unit of its quantity.

    Parameters
    ----------
    classifier
        A fitted classifier.
    limit
        Most parameters to draw; the classes of one quantity stay together.

    Returns
    -------
    Figure
        A new figure.

    Raises
    ------
    Refused
        If the classifier has no posterior.
    """
    posterior = _posterior(classifier)
    axis = parameters.class_axis(posterior, classifier.classes_)
    chosen = parameters.most_different(posterior, axis, len(classifier.classes_), limit, _most_panels())
    labels = [str(label) for label in posterior[axis].values] if axis else []
    figure = _forest(chosen, axis, labels)
    title = _title(sum(quantity.size for quantity in chosen), posterior, "those that differ most between classes")
    intervals = f"mean, {100 * INNER_PROB:.0f} % and {100 * CI_PROB:.0f} % intervals"
    figure.suptitle(f"{title}\n{intervals}", ha="left", x=0.01, fontsize="medium")
    figure.set_layout_engine("constrained")
    return figure


def _forest(chosen: list[Quantity], axis: str | None, labels: list[str]) -> Figure:
    """Draw means and intervals, one panel a quantity."""
    import arviz_plots as azp
    import matplotlib.pyplot as plt
    import xarray as xr

    shown = xr.Dataset({f"p{index}": quantity.draws for index, quantity in enumerate(chosen)})
    columns = min(3, len(chosen))
    rows = -(-len(chosen) // columns)
    panels = azp.PlotCollection.wrap(
        shown,
        cols=["__variable__"],
        col_wrap=columns,
        backend="matplotlib",
        figure_kwargs={"figsize": (2.4 * columns + 0.4, _height(rows, len(labels))), "sharex": False},
        **_looks(chosen, axis, len(labels)),
    )
    for name, prob, width in (("trunk", INNER_PROB, 4.0), ("twig", CI_PROB, 1.3)):
        bounds = shown.quantile([(1 - prob) / 2, (1 + prob) / 2], dim=parameters.SAMPLE_DIMS)
        panels.map(azp.visuals.line_x, name, data=bounds, width=width)
    panels.map(azp.visuals.scatter_x, "point", data=shown.mean(parameters.SAMPLE_DIMS), size=22)
    figure: Figure = panels.viz["figure"].item()
    plt.close(figure)
    for index, quantity in enumerate(chosen):
        _finish(panels.viz["plot"][f"p{index}"].item(), quantity, axis, labels, index % columns == 0)
    return figure


def posterior_trace(classifier: BayesClassifier, limit: int = 8) -> Figure:
    """Draw the draws of each chain in their order, for the parameters whose chains agree least (largest R-hat).

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
    import matplotlib.pyplot as plt
    import xarray as xr
    from arviz_base.labels import MapLabeller

    posterior = _posterior(classifier)
    if not isinstance(classifier.inference_, NUTS):
        raise Refused(
            f"the draws of {type(classifier.inference_).__name__} are independent of each other, so a trace says "
            "nothing; look at the forest plot instead"
        )
    chosen = parameters.least_mixed(posterior, min(limit, _most_panels()))
    names: dict[Any, Any] = {
        f"p{index}": style.plain(quantity.name, LONGEST_TITLE) for index, quantity in enumerate(chosen)
    }
    columns = min(2, len(chosen))
    panels = azp.plot_trace(
        xr.DataTree.from_dict({"posterior": xr.Dataset({n: q.draws for n, q in zip(names, chosen, strict=True)})}),
        backend="matplotlib",
        labeller=MapLabeller(var_name_map=names),
        col_wrap=columns,
        color=list(style.CLASS_COLORS),
        visuals={"ticklabels": False},
        figure_kwargs={"figsize": (3.6 * columns, 0.7 + 1.35 * (-(-len(chosen) // columns)))},
    )
    figure: Figure = panels.viz["figure"].item()
    plt.close(figure)
    for ax in figure.axes:
        _thin(ax)
    title = _title(len(chosen), posterior, "those whose chains agree least")
    figure.suptitle(title, ha="left", x=0.01, fontsize="medium")
    figure.set_layout_engine("constrained")
    return figure


def _posterior(classifier: BayesClassifier) -> xr.Dataset:
    tree = classifier.posterior_
    if "posterior" not in tree.children or not tree["posterior"].data_vars:
        raise Refused(
            f"inference={classifier.inference!r} leaves no posterior to draw; fit with 'auto', 'exact' or 'nuts'"
        )
    return tree["posterior"].to_dataset()


def _most_panels() -> int:
    import arviz as az

    return int(az.rcParams["plot.max_subplots"] or 40)


def _height(rows: int, classes: int) -> float:
    return 0.7 + rows * (0.55 + 0.17 * max(classes, 1))


def _looks(chosen: list[Quantity], axis: str | None, classes: int) -> dict[str, Any]:
    """Return aesthetics: a height and colour for each class; ArviZ gives the first to what has no class axis."""
    with_axis = [axis is not None and axis in quantity.draws.dims for quantity in chosen]
    if not any(with_axis):
        return {}
    heights = [-float(index) for index in range(classes)]
    colors = [style.CLASS_COLORS[index % len(style.CLASS_COLORS)] for index in range(classes)]
    if not all(with_axis):
        heights, colors = [-(classes - 1) / 2, *heights], ["0.5", *colors]
    return {"aes": {"y": [axis], "color": [axis]}, "y": heights, "color": colors}


def _finish(ax: Axes, quantity: Quantity, axis: str | None, labels: list[str], named: bool) -> None:
    """Title a panel and name its classes on the left."""
    ax.set_title(style.plain(quantity.name, LONGEST_PANEL_TITLE), loc="left", fontsize="small")
    classes = axis is not None and axis in quantity.draws.dims
    ax.set_yticks(
        -np.arange(len(labels)) if classes else [], [style.plain(label, LONGEST_CLASS) for label in labels] * classes
    )
    if not named:
        ax.tick_params(labelleft=False)
    if labels and classes:
        ax.set_ylim(-len(labels) + 0.4, 0.6)
    ax.tick_params(labelsize="small")
    ax.locator_params(axis="x", nbins=4)
    style.quiet(ax, "x")


def _thin(ax: Axes) -> None:
    """Draw chains as thin lines, as pixels in vector images: a chain has thousands of points."""
    style.quiet(ax, "y")
    text = ax.get_title()
    ax.set_title("")
    ax.set_title(text, loc="left", fontsize="small")
    ax.set(xlabel="", ylabel="")
    ax.tick_params(labelsize="small")
    for line in ax.get_lines():
        line.set(linewidth=0.5, alpha=0.7, rasterized=True)


def _title(shown: int, posterior: xr.Dataset, which: str) -> str:
    total = parameters.parameter_count(posterior)
    return f"All {total} parameters" if shown == total else f"{shown} of {total} parameters: {which}"
