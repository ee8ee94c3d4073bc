"""Parameters before and after the rows: densities of the prior and of the posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesclf.arrays import Array
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.constraints import Whole, require
from bayesclf.errors import Refused
from bayesclf.evaluation.predictive_checks import prior_draws
from bayesclf.interpretation.summary import prior_summary
from bayesclf.plots import style
from bayesclf.plots.posterior import (
    LONGEST_PANEL_TITLE,
    Quantity,
    class_axis,
    most_different,
    parameter_count,
    posterior_of,
)
from bayesclf.plots.style import Axes, Figure
from bayesclf.posterior.hypotheses import to_dataset

if TYPE_CHECKING:
    import xarray as xr

DRAWS, FEWEST_DRAWS = 4_000, 400
"""Draws from the prior, and how few are still a density."""
MOST_NUMBERS = 2**25
"""Numbers in all draws from the prior."""
STREAM = 11
"""Number of the random stream, in addition to those of the classifier."""
TAIL = 0.001
"""Posterior probability beyond either end of a panel, in each class."""
WIDEST = 8.0
"""Width of a panel in widths of its posteriors, at most: a prior beyond it is nearly flat where the posterior lies."""
PRIOR_PROB = 0.8
"""Probability of the prior's interval that a panel shows, as far as `WIDEST` allows."""


@style.figure
def prior_posterior(classifier: BayesClassifier, limit: int = 9) -> Figure:
    """Draw densities of parameters before and after the rows were seen, one panel per quantity.

    Where a posterior is as wide as its prior and lies in the same place, the rows say nothing about the parameter, and
    the prior decides; where the posterior lies in the prior's tail, the two disagree. The quantities are those that
    differ most between the classes, in units of their posterior sd. A prior that is the same in all classes is drawn
    once, in gray; others are dashed, in the color of their class. Densities are estimated from draws, of the
    prior 4,000 or as many as memory allows.

    Parameters
    ----------
    classifier : BayesClassifier
        Fitted, with a posterior.
    limit : int
        Most quantities to draw, at least 1.

    Returns
    -------
    Figure
        A new figure.

    Raises
    ------
    Refused
        If the classifier has no posterior, or its prior cannot be drawn from or has too many parameters.

    See Also
    --------
    bayesclf.NaiveBayes.prior_summary : The priors in words, with their numbers.

    References
    ----------
    Gabry et al. (2019), Visualization in Bayesian workflow, Journal of the Royal Statistical Society A 182, section 3.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [2.0], [3.0], [6.0]], ["low", "low", "high", "high"]
    >>> figure = bc.plots.prior_posterior(bc.GaussianNB(random_state=1).fit(X, y), limit=2)
    >>> [ax.get_title(loc="left") for ax in figure.axes]
    ['mu[x0]', 'sigma2[x0]']
    """
    require(Whole(1), limit=limit)
    posterior, model = posterior_of(classifier), classifier.model_
    rng = np.random.default_rng([classifier.seed_, STREAM])
    prior = to_dataset(model.shown(prior_draws(model, rng, _draws(posterior))), model.dims(), model.coords())
    axis = class_axis(posterior, classifier.classes_)
    most = limit * len(classifier.classes_)
    found = most_different(posterior, axis, len(classifier.classes_), most, limit)
    chosen = [quantity for quantity in found if np.ptp(quantity.draws.values) > 0] or found  # not cells no tree has
    apart = _apart(classifier)
    labels = [str(label) for label in posterior[axis].values] if axis else []
    figure, panels = style.panels(len(chosen), (2.5, 1.7), common=False)
    for ax, quantity in zip(panels, chosen, strict=True):
        before = prior[quantity.variable].isel(quantity.place)
        _draw(ax, quantity, before, axis, [] if axis not in before.dims else labels, apart)
    style.headline(figure, "Parameters before and after the rows\ndensities of prior and posterior")
    lines = {text: handle for ax in panels for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", frameon=False, ncols=min(len(lines), 4))
    return figure


def _draws(posterior: xr.Dataset) -> int:
    """Return how many draws from the prior there is room for, or refuse."""
    count = parameter_count(posterior)
    draws = min(DRAWS, MOST_NUMBERS // count)
    if draws < FEWEST_DRAWS:
        raise Refused(f"the prior has {count:,} parameters, too many to draw it often enough for a density")
    return draws


def _apart(classifier: BayesClassifier) -> frozenset[str]:
    """Return the parameters whose prior differs between the classes somewhere."""
    lines = prior_summary(classifier)
    return frozenset(lines.loc[lines["outcome"] != "", "parameter"])


def _draw(
    ax: Axes, quantity: Quantity, before: xr.DataArray, axis: str | None, labels: Sequence[str], apart: frozenset[str]
) -> None:
    """Draw the densities of one quantity."""
    after = _by_class(quantity.draws, axis)
    prior = _by_class(before, axis)
    if quantity.variable not in apart:
        prior = prior.reshape(-1, 1)
    window = _window(after, prior)
    for k, draws in enumerate(prior.T):
        color, dashes = ("0.55", "-") if prior.shape[1] == 1 else (style.class_color(k), "--")
        grid, density = _density(draws, window)
        ax.plot(grid, density, color=color, linestyle=dashes, linewidth=1.2, label="prior" if dashes == "-" else None)
        if dashes == "-":
            ax.fill_between(grid, density, color=color, alpha=0.25, linewidth=0)
    for k, draws in enumerate(after.T):
        color, name = (style.class_color(k), labels[k]) if labels else (style.ink(), "posterior")
        grid, density = _density(draws, window)
        ax.plot(grid, density, color=color, linewidth=1.6, label=style.plain(name))
    ax.set_title(style.plain(quantity.name, LONGEST_PANEL_TITLE), loc="left", fontsize="small")
    ax.set_xlim(*window)
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    ax.locator_params(axis="x", nbins=4)
    ax.tick_params(labelsize="small")
    style.quiet(ax, "x")


def _by_class(draws: xr.DataArray, axis: str | None) -> Array:
    """Return draws (draw, class), or (draw, 1) where the classes share the quantity."""
    shared = axis is None or axis not in draws.dims
    flat = draws.stack(sample=("chain", "draw"))
    values = flat.values[:, None] if shared else flat.transpose("sample", axis).values
    return np.asarray(values, dtype=float)


def _window(after: Array, prior: Array) -> tuple[float, float]:
    """Return the ends of a panel: where the posteriors lie, and as much of the prior as has room."""
    low, high = np.quantile(after, TAIL, axis=0).min(), np.quantile(after, 1 - TAIL, axis=0).max()
    room = (WIDEST - 1) / 2 * (high - low)
    ends = np.quantile(prior, [(1 - PRIOR_PROB) / 2, (1 + PRIOR_PROB) / 2])
    return float(max(min(low, ends[0]), low - room)), float(min(max(high, ends[1]), high + room))


def _density(draws: Array, window: tuple[float, float]) -> tuple[Array, Array]:
    """Return a grid in a window, and the density of draws there: of those inside it, times their share."""
    from arviz_stats.base import array_stats

    inside = draws[(draws >= window[0]) & (draws <= window[1])]
    if len(np.unique(inside)) < 2:  # a constant, or a prior whose mass is elsewhere
        grid = np.linspace(*window, 3)
        return grid, np.zeros(3)
    grid, density, _ = array_stats.kde(inside, bw="silverman", bound_correction=True)
    return np.asarray(grid), np.asarray(density) * len(inside) / len(draws)
