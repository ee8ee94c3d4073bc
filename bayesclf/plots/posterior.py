"""Posterior means and intervals, drawn by ArviZ, of as many parameters as a figure has room for."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.arrays import Array
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.predictor import CI_PROB
from bayesclf.engines import Auto
from bayesclf.engines.convergence import MAX_RHAT, MIN_ESS_PER_CHAIN, scaled_draws
from bayesclf.errors import Refused
from bayesclf.plots import style
from bayesclf.plots.style import Axes, Figure

if TYPE_CHECKING:
    import xarray as xr


SAMPLE_DIMS = ("chain", "draw")

LONGEST_PANEL_TITLE, LONGEST_CLASS = 26, 18
"""Characters of a quantity's name above its panel, and of a class name next to it."""

INNER_PROB = 0.5
"""Probability of the thick inner interval."""


@style.figure
def posterior_forest(classifier: BayesClassifier, limit: int = 30) -> Figure:
    """Draw posterior means and intervals, one panel per quantity, one line per class.

    If there are more parameters than `limit`, the ones that differ most between the classes, in units of their
    posterior sd, are drawn. Each panel has its own scale, the unit of its quantity.

    Parameters
    ----------
    limit : int
        Most parameters to draw; the classes of one quantity stay together.

    Raises
    ------
    Refused
        If the classifier has no posterior.
    """
    posterior = posterior_of(classifier)
    axis = class_axis(posterior, classifier.classes_)
    chosen = most_different(posterior, axis, len(classifier.classes_), limit, most_panels())
    labels = [str(label) for label in posterior[axis].values] if axis else []
    figure = _forest(chosen, axis, labels)
    headline = how_many(sum(quantity.size for quantity in chosen), posterior, "those that differ most between classes")
    intervals = f"mean, {100 * INNER_PROB:.0f} % and {100 * CI_PROB:.0f} % intervals"
    style.headline(figure, f"{headline}\n{intervals}")
    return figure


def _forest(chosen: list[Quantity], axis: str | None, labels: list[str]) -> Figure:
    """Draw means and intervals, one panel per quantity."""
    import arviz_plots as azp
    import xarray as xr

    shown = xr.Dataset({f"p{index}": quantity.draws for index, quantity in enumerate(chosen)})
    columns = min(3, len(chosen))
    height = 0.7 + -(-len(chosen) // columns) * (0.55 + 0.17 * max(len(labels), 1))
    panels = azp.PlotCollection.wrap(
        shown,
        cols=["__variable__"],
        col_wrap=columns,
        backend="matplotlib",
        figure_kwargs={"figsize": (2.4 * columns + 0.4, height), "sharex": False},
        **_looks(chosen, axis, len(labels)),
    )
    for name, prob, width in (("trunk", INNER_PROB, 4.0), ("twig", CI_PROB, 1.3)):
        bounds = shown.quantile([(1 - prob) / 2, (1 + prob) / 2], dim=SAMPLE_DIMS)
        panels.map(azp.visuals.line_x, name, data=bounds, width=width)
    panels.map(azp.visuals.scatter_x, "point", data=shown.mean(SAMPLE_DIMS), size=22)
    figure = style.of_arviz(panels)
    for index, quantity in enumerate(chosen):
        _finish(panels.viz["plot"][f"p{index}"].item(), quantity, axis, labels, index % columns == 0)
    return figure


def posterior_of(classifier: BayesClassifier) -> xr.Dataset:
    """Return the posterior's draws, (chain, draw, …), of what has a density, or refuse where there are none."""
    tree = classifier.posterior_
    if "posterior" not in tree.children:
        if classifier.inference == "auto" or isinstance(classifier.inference, Auto):
            raise Refused(
                f"{type(classifier).__name__} is a plug-in of estimates, which no engine gives a posterior to draw; "
                "take a classifier that has one, such as NaiveBayes"
            )
        raise Refused(f"inference={classifier.inference!r} leaves no posterior to draw; fit with inference='auto'")
    drawn = tree["posterior"].to_dataset()
    posterior = drawn[[name for name in classifier.model_.dims() if name in drawn]]
    if not posterior.data_vars:
        raise Refused(f"there is no posterior to draw: {posterior.attrs['not_held']}")
    return posterior


def most_panels() -> int:
    """Return how many panels ArviZ draws at most."""
    import arviz as az

    return int(az.rcParams["plot.max_subplots"] or 40)


NO_CLASS = 0.01
"""Distance from the middle of the panel of what belongs to no class: ArviZ gives its height to no class."""


def _looks(chosen: list[Quantity], axis: str | None, classes: int) -> dict[str, Any]:
    """Return aesthetics: a height and color for each class; ArviZ takes the first where there is no class axis."""
    with_axis = [axis is not None and axis in quantity.draws.dims for quantity in chosen]
    if not any(with_axis):
        return {}
    heights, colors = [-float(k) for k in range(classes)], [style.class_color(k) for k in range(classes)]
    if not all(with_axis):
        heights, colors = [NO_CLASS - (classes - 1) / 2, *heights], ["0.5", *colors]
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
    total = parameter_count(posterior)
    return f"All {total} parameters" if shown == total else f"{shown} of {total} parameters: {which}"


type Place = tuple[float, str, dict[Hashable, int]]
"""The spread of a quantity, its variable, and where it stands along the variable's axes."""


@dataclass(frozen=True)
class Quantity:
    """One quantity of the model, for example the mean of one feature, in all classes.

    Attributes
    ----------
    name
        Variable and place, such as ``mu[petal length]``.
    draws
        (chain, draw) or (chain, draw, class axis).
    spread
        What the quantity was chosen by: the range of the posterior means over the classes in posterior sds, −1 if the
        classes share the quantity; or how badly its chains mix.
    variable, place
        The variable, and the index along each of its other axes.
    """

    name: str
    draws: xr.DataArray
    spread: float
    variable: str
    place: dict[Hashable, int]

    @property
    def size(self) -> int:
        """Number of parameters."""
        return int(np.prod([self.draws.sizes[dim] for dim in self.draws.dims if dim not in SAMPLE_DIMS]))


def class_axis(dataset: xr.Dataset, labels: Iterable[object]) -> str | None:
    """Return the axis whose coordinates are classes, or None."""
    names = {str(label) for label in labels}
    for variable in dataset.data_vars.values():
        for dim in variable.dims:
            if dim not in SAMPLE_DIMS and dim in dataset.coords and {*map(str, dataset[dim].values)} <= names:
                return str(dim)
    return None


def parameter_count(dataset: xr.Dataset) -> int:
    """Return how many numbers one draw has."""
    draws = dataset.sizes["chain"] * dataset.sizes["draw"]
    return sum(variable.size for variable in dataset.data_vars.values()) // draws


def most_different(dataset: xr.Dataset, axis: str | None, classes: int, limit: int, panels: int) -> list[Quantity]:
    """Return the quantities that differ most between classes, in decreasing order; then those that classes share.

    Parameters
    ----------
    dataset
        A posterior.
    axis
        Its class axis.
    classes
        Number of classes. Where the axis has fewer, the missing one is a reference at 0.
    limit
        Most parameters in all; one quantity is always returned.
    panels
        Most quantities.
    """
    found = []
    for name, variable in dataset.data_vars.items():
        others = [dim for dim in variable.dims if dim not in SAMPLE_DIMS and dim != axis]
        found += _places(str(name), others, _spreads(variable, axis, classes).transpose(*others).values)
    chosen: list[Quantity] = []
    for place in sorted(found, key=itemgetter(0), reverse=True)[:panels]:
        quantity = _quantity(dataset, *place)
        if chosen and sum(other.size for other in chosen) + quantity.size > limit:
            break
        chosen.append(quantity)
    return chosen


def _spreads(variable: xr.DataArray, axis: str | None, classes: int) -> xr.DataArray:
    """Return the range of the means over the class axis in posterior sds, over the variable's other axes."""
    import xarray as xr

    mean = variable.mean(SAMPLE_DIMS)
    if axis is None or axis not in variable.dims:
        return mean * 0.0 - 1.0
    high, low = mean.max(axis), mean.min(axis)
    if variable.sizes[axis] < classes:
        high, low = high.clip(min=0.0), low.clip(max=0.0)
    scaled, power = scaled_draws(variable, axis)
    sd: xr.DataArray = xr.ufuncs.ldexp(scaled.var(SAMPLE_DIMS).mean(axis) ** 0.5, power)
    return ((high - low) / sd.where(sd > 0)).fillna(0.0)


def least_mixed(dataset: xr.Dataset, limit: int) -> list[Quantity]:
    """Return the single parameters whose chains mix worst, worst first.

    `spread` is R-hat or the effective sample size, relative to its limit, whichever is worse; −1 for a constant.
    """
    import arviz as az

    needed = MIN_ESS_PER_CHAIN * dataset.sizes["chain"]
    with np.errstate(all="ignore"):  # chains that never move divide by zero
        rhat = (az.rhat(dataset) - 1) / (MAX_RHAT - 1)
        shortage = [needed / az.ess(dataset, method=method) for method in ("bulk", "tail")]
    found = []
    for name, variable in dataset.data_vars.items():
        others = [dim for dim in variable.dims if dim not in SAMPLE_DIMS]
        measures = [np.nan_to_num(part[name].transpose(*others).values, nan=-1.0) for part in (rhat, *shortage)]
        moving = scaled_draws(dataset[name])[0].std(SAMPLE_DIMS).transpose(*others).values > 0
        found += _places(str(name), others, np.where(moving, np.max(measures, axis=0), -1.0))
    return [_quantity(dataset, *place) for place in sorted(found, key=itemgetter(0), reverse=True)[:limit]]


def _places(name: str, dims: Sequence[Hashable], spreads: Array) -> list[Place]:
    """Return the places of a variable along some of its axes, with their spreads (these axes)."""
    return [(float(spreads[index]), name, dict(zip(dims, index, strict=True))) for index in np.ndindex(spreads.shape)]


def _quantity(dataset: xr.Dataset, spread: float, name: str, place: dict[Hashable, int]) -> Quantity:
    """Return the quantity at one place of a variable."""
    parts = [str(dataset[dim].values[index]) if dim in dataset.coords else str(index) for dim, index in place.items()]
    draws = dataset[name].isel(place).reset_coords(drop=True)
    return Quantity(f"{name}[{', '.join(parts)}]" if parts else name, draws, spread, name, place)
