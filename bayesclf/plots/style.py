"""The look of figures: rules and classes that look the same in all of them, names, axes and panels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from bayesclf.constraints import Constraint, Several, Text, Whole, require
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
    "tempered": RuleStyle("#7d5bd0", "X", (0, (3, 1, 1, 1))),
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


SETTINGS: dict[str, Constraint] = {
    **{name: Text() for name in ("feature", "metric", "model", "rule", "xlabel", "ylabel")},
    "limit": Whole(1),
    **{name: Whole(0) for name in ("draws", "hypotheses")},
    "features": Several("columns, such as ['age', 'bmi']"),
    "rules": Several("names of rules, such as ['map', 'predictive'], at least one", 1),
}
"""What arguments of figures may be, by name, besides their defaults."""


def figure[**P](function: Callable[P, Figure]) -> Callable[P, Figure]:
    """Make a function that draws check its arguments, and close a figure that was begun before an error."""
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

    return drawn


def _check_arguments(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise `InputError` for an argument of another kind than its name says; defaults are right."""
    import pandas as pd
    from matplotlib.axes import Axes

    from bayesclf.classifiers.base import BayesClassifier
    from bayesclf.evaluation.comparison import Comparison
    from bayesclf.evaluation.learning import LearningCurve
    from bayesclf.interpretation.explanation import Explanation

    kinds: dict[str, tuple[type | tuple[type, ...], str]] = {
        "comparison": (Comparison, "the result of bayesclf.compare"),
        "clf": (BayesClassifier, "a fitted classifier"),
        "found": (Explanation, "the result of clf.explain(X)"),
        "curve": ((LearningCurve, pd.DataFrame), "the result of bayesclf.learning_curve, or a DataFrame"),
        "ax": (Axes, "axes of matplotlib, such as plt.gca()"),
    }
    for name, value in signature.bind_partial(*args, **kwargs).arguments.items():
        every = name == "rules" and isinstance(value, str) and value == "all"
        if every or value is signature.parameters[name].default:
            continue
        kind, meaning = kinds.get(name, (object, ""))
        if not isinstance(value, kind):
            given = f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
            raise InputError(f"{name} must be {meaning}, not {given}")
        if name in SETTINGS:
            require(SETTINGS[name], **{name: value})


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


def panels(count: int, size: tuple[float, float], columns: int = 3, common: bool = True) -> tuple[Figure, list[Axes]]:
    """Return a new figure of equal panels of a size in inches, and its panels, row by row.

    Where `common`, they have the same scales.
    """
    import matplotlib.pyplot as plt

    width = min(count, columns)
    height = -(-count // width)
    inches = (size[0] * width + 0.4, size[1] * height + 0.7)
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


def chosen_rules(comparison: Comparison, model: str, rules: Sequence[str] | str | None) -> tuple[str, ...]:
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
    if rules is None or isinstance(rules, str):
        return answered
    unknown = [rule for rule in rules if rule not in answered]
    if unknown:
        raise InputError(f"{model!r} has no answers under the rule {unknown[0]!r}; it has {', '.join(answered)}")
    return tuple(rules)
