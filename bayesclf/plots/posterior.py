"""Posterior means and intervals, drawn by ArviZ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.classifiers.base import CI_PROB, BayesClassifier
from bayesclf.errors import Refused
from bayesclf.plots import parameters, style
from bayesclf.plots.parameters import Quantity

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_PANEL_TITLE, LONGEST_CLASS = 26, 18
"""Characters of a quantity's name above its panel, and of a class beside it."""

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
    posterior = posterior_of(classifier)
    axis = parameters.class_axis(posterior, classifier.classes_)
    chosen = parameters.most_different(posterior, axis, len(classifier.classes_), limit, most_panels())
    labels = [str(label) for label in posterior[axis].values] if axis else []
    figure = _forest(chosen, axis, labels)
    headline = how_many(sum(quantity.size for quantity in chosen), posterior, "those that differ most between classes")
    intervals = f"mean, {100 * INNER_PROB:.0f} % and {100 * CI_PROB:.0f} % intervals"
    style.headline(figure, f"{headline}\n{intervals}")
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


def posterior_of(classifier: BayesClassifier) -> xr.Dataset:
    """Return the posterior's draws, (chain, draw, …), or refuse where there are none."""
    tree = classifier.posterior_
    if "posterior" not in tree.children or not tree["posterior"].data_vars:
        raise Refused(
            f"inference={classifier.inference!r} leaves no posterior to draw; fit with 'auto', 'exact' or 'nuts'"
        )
    return tree["posterior"].to_dataset()


def most_panels() -> int:
    """Return how many panels ArviZ draws at most."""
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


def how_many(shown: int, posterior: xr.Dataset, which: str) -> str:
    """Return how many of the posterior's parameters a figure shows, and which."""
    total = parameters.parameter_count(posterior)
    return f"All {total} parameters" if shown == total else f"{shown} of {total} parameters: {which}"
