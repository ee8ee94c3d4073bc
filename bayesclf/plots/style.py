"""The look of figures: rules and classes that look the same in all of them, names, axes and panels."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesclf.arrays import Array
from bayesclf.constraints import Constraint, Flag, Number, Several, Text, Whole, require
from bayesclf.errors import InputError
from bayesclf.wording import clipped

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

    from bayesclf.evaluation.comparison import Comparison

type Axes = matplotlib.axes.Axes
type Figure = matplotlib.figure.Figure
"""Of matplotlib, which is loaded when a figure is drawn."""

LONGEST_NAME = 32
"""Characters of a name from the user's table that a figure shows."""

LETTER = 0.083
"""Width in inches of a letter next to an axis."""


@dataclass(frozen=True)
class RuleStyle:
    """Color, marker and line of one rule."""

    color: str
    marker: str
    line: str | tuple[float, tuple[float, ...]]


RULE_STYLE = {
    "mle": RuleStyle("#d08700", "s", "--"),
    "map": RuleStyle("#3d9fd6", "v", "-."),
    "mean": RuleStyle("#0f9d76", "P", (0, (5, 1, 1, 1, 1, 1))),
    "bayes-optimal": RuleStyle("#2f6fd0", "o", "-"),
    "predictive": RuleStyle("#bf5fa0", "D", (0, (7, 2))),
    "tempered": RuleStyle("#5b4bb8", "X", (0, (3, 1, 1, 1))),
    "gibbs": RuleStyle("#dd5a22", "^", ":"),
}
"""Colors that color-blind readers can distinguish, on white and dark backgrounds (after Okabe and Ito)."""

PEER_STYLE = RuleStyle("#8c8c8c", "o", "-")
"""The look of a classifier of scikit-learn, which has no rules."""

CLASS_COLORS = ("#c8566b", "#2f9e94", "#b5952b", "#8a6bbf", "#7d8b3a", "#a5694f")
"""Colors of classes, distinct from those of rules (after Tol's muted scheme); classes are also named in figures."""

CLASS_MARKERS = ("o", "^", "s", "D", "v")
"""Markers of classes: one fewer than colors, so that thirty classes differ in color or marker."""


def look_of(rule: str) -> RuleStyle:
    """Return the look of a rule, or of a classifier without rules."""
    return RULE_STYLE.get(rule, PEER_STYLE)


def class_color(k: int) -> str:
    """Return the color of class number k."""
    return CLASS_COLORS[k % len(CLASS_COLORS)]


def class_marker(k: int) -> str:
    """Return the marker of class number k."""
    return CLASS_MARKERS[k % len(CLASS_MARKERS)]


def plain(name: object, longest: int = LONGEST_NAME) -> str:
    """Return a name from the user's table as one short line that matplotlib does not read as mathematics.

    Examples
    --------
    >>> print(plain("cost in $"))
    cost in \\$
    """
    return clipped(name, longest).replace("$", r"\$")


ARGUMENTS = {
    "comparison": ("Comparison", "Result of `bayesclf.compare`."),
    "model": ("str", "Name of one of its models."),
    "rules": ("sequence of str or None", "Rules to draw, by default all that the model could answer under."),
    "clf": ("BayesClassifier", "A fitted classifier."),
    "classifier": ("BayesClassifier", "A fitted classifier."),
    "ax": ("matplotlib Axes or None", "Axes to draw on."),
}
"""Types and descriptions of arguments that several figures share, unless a figure has its own."""


SETTINGS: dict[str, Constraint] = {
    **{name: Text() for name in ("feature", "metric", "model", "rule", "xlabel", "ylabel")},
    **{name: Whole(1) for name in ("limit", "most")},
    **{name: Flag() for name in ("log", "labels")},
    **{name: Whole(0) for name in ("draws", "hypotheses")},
    "least": Number(),
    "features": Several("columns, and pairs of columns, such as ['age', ('age', 'bmi')]", pairs=True),
    "outcomes": Several("labels"),
    "rules": Several("names of rules, such as ['map', 'predictive'], at least one", 1),
}
"""What arguments of figures may be, by name, besides their defaults."""


def figure[**P](function: Callable[P, Figure]) -> Callable[P, Figure]:
    """Make a function that draws one of the public plotting functions: complete its docstring, clean up after errors.

    A figure that was begun before an error is closed, as a notebook would show it empty.
    """

    signature = inspect.signature(function)

    @wraps(function)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> Figure:
        """Check the arguments and draw; close what a failed call has opened."""
        import matplotlib.pyplot as plt

        _check_arguments(signature, args, kwargs)
        before = plt.get_fignums()
        try:
            return function(*args, **kwargs)
        except BaseException:
            for number in set(plt.get_fignums()).difference(before):
                plt.close(number)
            raise

    drawn.__doc__ = _complete(function)
    return drawn


def _check_arguments(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise `InputError` for an argument of another kind than its name says; defaults are right."""
    import pandas as pd
    import xarray as xr
    from arviz_stats import ELPDData
    from matplotlib.axes import Axes

    from bayesclf.classifiers.base import BayesClassifier
    from bayesclf.classifiers.implied import ImpliedLogistic
    from bayesclf.classifiers.logistic import LogisticRegression
    from bayesclf.evaluation.comparison import Comparison
    from bayesclf.interpretation.dependence import DependentPairs
    from bayesclf.interpretation.explanation import Explanation

    kinds: dict[str, tuple[type, str]] = {
        "comparison": (Comparison, "the result of bayesclf.compare"),
        "clf": (BayesClassifier, "a fitted classifier"),
        "classifier": (BayesClassifier, "a fitted classifier"),
        "lr": (LogisticRegression, "a fitted LogisticRegression"),
        "implied": (ImpliedLogistic, "the result of clf.to_logistic()"),
        "pairs": (DependentPairs, "the result of bayesclf.dependent_pairs"),
        "found": (Explanation, "the result of clf.explain(X)"),
        "elpd": (ELPDData, "the result of bayesclf.loo"),
        "table": (pd.DataFrame, "a DataFrame"),
        "tree": (xr.DataTree, "the result of bayesclf.predictive_check"),
        "ax": (Axes, "axes of matplotlib, such as plt.gca()"),
    }
    for name, value in signature.bind_partial(*args, **kwargs).arguments.items():
        if value is signature.parameters[name].default:
            continue
        kind, meaning = kinds.get(name, (object, ""))
        if not isinstance(value, kind):
            given = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
            raise InputError(f"{name} must be {meaning}, not {given}")
        if name in SETTINGS:
            require(SETTINGS[name], **{name: value})


def _complete(function: Callable[..., Figure]) -> str:
    """Return a docstring with the shared `ARGUMENTS` that it does not describe, and the result.

    A function's own descriptions stand between the shared ones and that of the axes.
    """
    text = inspect.cleandoc(function.__doc__ or "")  # python -OO leaves no docstring
    head, *sections = re.split(r"\n\n(?=[A-Z]\w+\n---)", text)
    own = sections.pop(0).split("\n")[2:] if "\n\nParameters\n---" in text else []
    names = inspect.signature(function).parameters
    described = {line.partition(" : ")[0] for line in own}
    shared = {name: ARGUMENTS[name] for name in names if name in ARGUMENTS and name not in described}
    entries = {name: [f"{name} : {kind}", f"    {meaning}"] for name, (kind, meaning) in shared.items()}
    last = entries.pop("ax", [])
    parameters = ["Parameters", "----------", *chain(*entries.values()), *own, *last]
    if "\n\nReturns\n---" not in text:
        returned = "The figure of `ax`, or a new one." if "ax" in names else "A new figure."
        sections.insert(0, f"Returns\n-------\nFigure\n    {returned}")
    return "\n\n".join([head, "\n".join(parameters), *sections])


def axes(ax: Axes | None, size: tuple[float, float]) -> tuple[Figure, Axes]:
    """Return the figure and axes to draw on: those given, or new ones of a size in inches."""
    import matplotlib.pyplot as plt

    if ax is None:
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        return shown_once(figure), ax
    return shown_once(ax.get_figure(root=True)), ax  # type: ignore[arg-type]


def shown_once(figure: Figure) -> Figure:
    """Return a figure after arranging that a notebook shows it once.

    A figure is open in pyplot, so that ``plt.show()`` finds it, and a notebook shows open figures at the end of a cell:
    without this, one that is also the value of the cell would be shown twice.
    """
    figure._ipython_display_ = partial(_leave_pyplot, figure)  # type: ignore[attr-defined]
    return figure


def _leave_pyplot(figure: Figure) -> None:
    """Close a figure that a notebook is about to show; the usual display follows."""
    import matplotlib.pyplot as plt

    if "inline" in plt.get_backend():
        plt.close(figure)
    raise NotImplementedError  # IPython's sign that this is not how the object is displayed


def of_arviz(panels: Any) -> Figure:
    """Return the figure that ArviZ drew, with room for titles."""
    figure: Figure = panels.viz["figure"].item()
    figure.set_layout_engine("constrained")
    return shown_once(figure)


def panels(
    count: int, size: tuple[float, float], columns: int = 3, left: float = 0.4, common: bool = True
) -> tuple[Figure, list[Axes]]:
    """Return a new figure of equal panels, and its panels, row by row.

    Parameters
    ----------
    count
        Number of panels.
    size
        Of one panel, in inches.
    columns
        Most panels per row.
    left
        Inches for labels on the left.
    common
        Whether the panels have the same scales.
    """
    import matplotlib.pyplot as plt

    width = min(count, columns)
    height = -(-count // width)
    inches = (size[0] * width + left, size[1] * height + 0.7)
    figure, grid = plt.subplots(
        height, width, figsize=inches, sharex=common, sharey=common, squeeze=False, layout="constrained"
    )
    shown_once(figure)
    every = list(grid.flat)
    for spare in every[count:]:
        spare.remove()
    for ax in every[max(count - width, 0) : count]:
        # The lowest panel of each column has the tick labels, even if the last row is not full.
        ax.tick_params(labelbottom=True)
    return figure, every[:count]


def legend_above(ax: Axes, **options: Any) -> None:
    """Draw a legend of three columns above the axes, each name once."""
    handles, labels = ax.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    ax.legend(
        named.values(),
        named.keys(),
        loc="lower left",
        bbox_to_anchor=(0, 1),
        borderaxespad=0.2,
        ncols=3,
        frameon=False,
        fontsize="small",
        **options,
    )


def name_ends(ax: Axes, ends: list[tuple[float, float, str, str]]) -> None:
    """Write the names of curves to the right of their ends, moved up or down where they would overlap.

    Parameters
    ----------
    ax
        Axes with their final limits and scales.
    ends
        x and y of each end, name and color.
    """
    size = 9.0
    ax.autoscale_view()  # otherwise the limits are computed only on drawing
    points = 72 / ax.get_figure(root=True).dpi  # type: ignore[union-attr]
    heights = np.array([ax.transData.transform(end[:2])[1] * points for end in ends])
    floor = ax.transAxes.transform((0, 0))[1] * points + 0.5 * size
    for (x, y, name, color), height, place in zip(ends, heights, apart(heights, 1.25 * size, floor), strict=True):
        ax.annotate(
            name,
            (x, y),
            (6, place - height),
            textcoords="offset points",
            color=color,
            fontsize=size,
            va="center",
            annotation_clip=False,
        )


def apart(heights: Array, gap: float, floor: float = 0.0) -> Array:
    """Return the heights nearest to given ones, in their order, that keep a gap from each other and stay above a floor.

    Examples
    --------
    >>> import numpy as np
    >>> print(apart(np.array([0.0, 10.0, 11.0]), 4.0))
    [ 0.   8.5 12.5]
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    placed = np.empty(len(heights))
    placed[order] = np.maximum(isotonic_regression(heights[order] - steps).x, floor) + steps
    return placed


def ink() -> str:
    """Return the color of text under the current settings, which follow the background."""
    import matplotlib as mpl

    return str(mpl.rcParams["text.color"])


def title(ax: Axes, text: str) -> None:
    """Write the title of a figure of one panel, left-aligned."""
    ax.set_title(text, loc="left", fontsize="medium", fontweight="bold")


def headline(figure: Figure, text: str) -> None:
    """Write the title of a figure of several panels, left-aligned."""
    figure.suptitle(text, ha="left", x=0.01, fontsize="medium", fontweight="bold")


def quiet(ax: Axes, grid: str = "both") -> None:
    """Remove spines and tick marks, which carry no information; keep a faint grid."""
    ax.spines[["top", "right", "left", "bottom"]].set_visible(False)
    ax.tick_params(which="both", length=0)
    ax.set_axisbelow(True)
    which: Any = grid
    ax.grid(True, axis=which, linewidth=0.6, alpha=0.5)


def chosen_rules(comparison: Comparison, model: str, rules: Sequence[str] | None) -> tuple[str, ...]:
    """Return the rules to draw: the requested ones, or all that the model could answer under.

    Raises
    ------
    InputError
        For a model or rule that the comparison does not have, or where no rule could answer.
    """
    if model not in comparison.models:
        raise InputError(f"the comparison has no model {model!r}; its models are {', '.join(comparison.models)}")
    answered = comparison.rules_of(model)
    if not answered:
        raise InputError(f"{model!r} has no answers under any rule; the comparison's `table` says why")
    if rules is None:
        return answered
    unknown = [rule for rule in rules if rule not in answered]
    if unknown:
        raise InputError(f"{model!r} has no answers under the rule {unknown[0]!r}; it has {', '.join(answered)}")
    return tuple(rules)
