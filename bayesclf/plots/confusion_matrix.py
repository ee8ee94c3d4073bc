"""Confusion matrices: predicted against true classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesclf.evaluation.comparison import Comparison
from bayesclf.plots import style
from bayesclf.plots.style import Axes, Figure
from bayesclf.typing import Array

RIGHT, WRONG = "#2f6fd0", "#dd5a22"
"""Colors of the diagonal and of the other cells."""

FAINTEST, DEEPEST = 0.03, 0.62
"""Opacity of a cell of the smallest share above 0, and of one of all rows."""

MANY_CLASSES = 12
"""Number of classes beyond which letters are small and at most two matrices stand side by side."""

LONGEST_CLASS = 16
"""Characters of a class name next to the matrices."""


@style.figure
def confusion(comparison: Comparison, model: str, rules: Sequence[str] | None = None) -> Figure:
    """Draw true against most probable class, one matrix per rule.

    Cells hold numbers of rows. Their opacity is the square root of the share in the rows of the true class, so that
    rare confusions are visible: blue where the prediction is right, orange where it is wrong. With several repeats the
    numbers are means over repeats. The name of the rule stands above with its share of wrong predictions.

    Raises
    ------
    InputError
        For a model or rule that the comparison does not have.
    """
    chosen = style.chosen_rules(comparison, model, rules)
    count = len(comparison.classes)
    side = max(2.0, 0.21 * count + 0.5)
    figure, places = style.panels(len(chosen), (side, side), columns=3 if count <= MANY_CLASSES else 2)
    names = [style.plain(label, LONGEST_CLASS) for label in comparison.classes]
    for rule, ax in zip(chosen, places, strict=True):
        counts = confusion_counts(comparison, model, rule)
        _draw(ax, counts, names)
        ax.set_title(f"{rule}  {1 - np.trace(counts) / counts.sum():.3f}", loc="left", fontsize="medium")
    style.headline(figure, f"{style.plain(model)}: which class is taken for which (share wrong)")
    figure.supxlabel("predicted", fontsize="medium")
    figure.supylabel("true", fontsize="medium")
    return figure


def confusion_counts(comparison: Comparison, model: str, rule: str) -> Array:
    """Return how many rows of each true class are predicted as each class, mean over repeats, (outcome, outcome)."""
    log_proba, y = comparison.stacked(model, rule)
    classes = len(comparison.classes)
    cells = np.bincount(y * classes + log_proba.argmax(axis=1), minlength=classes**2)
    return np.asarray(cells.reshape(classes, classes) / comparison.repeats)


def _draw(ax: Axes, counts: Array, names: list[str]) -> None:
    """Draw one matrix, counts (true outcome, predicted outcome)."""
    from matplotlib.colors import to_rgb

    classes = len(counts)
    rows = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, rows, out=np.zeros_like(counts), where=rows > 0)
    depth = np.where(share > 0, FAINTEST + (DEEPEST - FAINTEST) * np.sqrt(share), 0.0)
    image = np.where(np.eye(classes, dtype=bool)[..., None], to_rgb(RIGHT), to_rgb(WRONG))
    # Squares rather than an image: they stay sharp on paper, and a page of figures needs no embedded files.
    ax.pcolormesh(np.concatenate([image, depth[..., None]], axis=2), linewidth=0)
    ax.set(aspect="equal", xlim=(0, classes), ylim=(classes, 0))
    size = 10.0 if classes <= 3 else 8.0 if classes <= MANY_CLASSES else 5.5
    for i, j in zip(*np.nonzero(counts), strict=True):
        ax.text(j + 0.5, i + 0.5, f"{counts[i, j]:.0f}", ha="center", va="center", fontsize=size)
    ax.set_xticks(np.arange(classes) + 0.5, names, rotation=90 if classes > 2 else 0, fontsize=min(size, 8.0) + 0.5)
    ax.set_yticks(np.arange(classes) + 0.5, names, fontsize=min(size, 8.0) + 0.5)
    style.quiet(ax)
    ax.grid(visible=False)
