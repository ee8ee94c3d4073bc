"""The look of figures: one entry a rule, the same in all of them, told apart by colour, marker and line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_NAME = 32
"""Characters of a name from the user's table that a figure shows."""


@dataclass(frozen=True)
class RuleStyle:
    """Colour, marker and line of one rule."""

    color: str
    marker: str
    line: str | tuple[float, tuple[float, ...]]


RULE_STYLE = {
    "mle": RuleStyle("#d08700", "s", "--"),
    "map": RuleStyle("#3d9fd6", "v", "-."),
    "mean": RuleStyle("#0f9d76", "P", (0, (5, 1, 1, 1, 1, 1))),
    "bayes-optimal": RuleStyle("#2f6fd0", "o", "-"),
    "predictive": RuleStyle("#bf5fa0", "D", (0, (7, 2))),
    "gibbs": RuleStyle("#dd5a22", "^", ":"),
}
"""Colours that stay apart for colour-blind readers, on white and on dark paper (after Okabe and Ito)."""

CLASS_COLORS = ("#2f6fd0", "#dd5a22", "#0f9d76", "#bf5fa0", "#d08700", "#3d9fd6")
"""Colours of classes, which are also named beside their marks; they repeat beyond six."""


def plain(name: object, longest: int = LONGEST_NAME) -> str:
    """Return a name from the user's table as one short line that matplotlib does not read as mathematics.

    Examples
    --------
    >>> print(plain("cost in $"))
    cost in \\$
    """
    text = "".join(character if character.isprintable() else " " for character in str(name)).strip()
    if len(text) > longest:
        # Names of parameters often differ at their end only, for example in a level.
        tail = longest // 3
        text = f"{text[: longest - tail - 1]}…{text[-tail:]}"
    return text.replace("$", r"\$")


def axes(ax: Axes | None, size: tuple[float, float]) -> tuple[Figure, Axes]:
    """Return the figure and axes to draw on: those given, or new ones of a size in inches.

    A new figure does not stay open in pyplot, so that a notebook shows it once and nothing has to be closed.
    """
    if ax is not None:
        return ax.get_figure(root=True), ax  # type: ignore[return-value]
    import matplotlib.pyplot as plt

    figure, new = plt.subplots(figsize=size, layout="constrained")
    plt.close(figure)
    return figure, new


def quiet(ax: Axes, grid: str = "both") -> None:
    """Take away what carries no information: upper and right spines, tick marks; keep a faint grid."""
    ax.spines[["top", "right", "left", "bottom"]].set_visible(False)
    ax.tick_params(length=0)
    ax.set_axisbelow(True)
    which: Any = grid
    ax.grid(True, axis=which, linewidth=0.6, alpha=0.5)
