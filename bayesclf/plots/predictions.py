"""What predictions are made of and which classes they confuse.

Their uncertainty, rules of a model that disagree, counts that a model predicts, confusion matrices, and what speaks for
and against a class in one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.labels import checked_labels
from bayesclf.classifiers.predictor import CI_PROB
from bayesclf.evaluation.comparison import Comparison
from bayesclf.interpretation.explanation import Explanation
from bayesclf.plots import style
from bayesclf.plots.posterior import INNER_PROB
from bayesclf.plots.style import Axes, Figure

if TYPE_CHECKING:
    import xarray as xr

FULL_COLOR_FROM = 0.1
"""Share of differently decided rows with full color, unless a larger share occurs."""

LONGEST_MODEL = 18
"""Characters of a model's name in a longer title."""

ALEATORIC, EPISTEMIC = "#8fa3bf", "#c8566b"
"""Colors of the entropy that remains, and of the entropy that more data would remove."""

MOST_STEPS = 400
"""Most steps that are drawn; with more rows, neighbors in the order are averaged."""

MARK_HEIGHT = -0.035
"""Where wrong predictions are marked, as a share of the panel's height."""

STATISTIC = "class_count_given_x"

POSTERIOR, PRIOR = "#2f6fd0", "0.62"
"""Colors of data sets simulated from the posterior and from the prior."""

LONGEST_CLASS = 18
"""Characters of a class name next to its line."""

RIGHT, WRONG = "#2f6fd0", "#dd5a22"
"""Colors of the diagonal and of the other cells."""

FAINTEST, DEEPEST = 0.03, 0.62
"""Opacity of a cell of the smallest share above 0, and of one of all rows."""

MANY_CLASSES = 12
"""Number of classes beyond which letters are small and at most two matrices stand side by side."""

LONGEST_NAME = 16
"""Characters of a class name next to the matrices."""

MOST_TERMS = 12
"""Most contributions that are drawn one by one; the remaining, smallest ones are summed in one bar."""

LONGEST_VALUE = 14
"""Characters of a cell next to its column's name."""

FOR, AGAINST = style.CLASS_COLORS[1], style.CLASS_COLORS[0]
"""Colors of what speaks for the first class of the log-odds, and for the second."""


@style.figure
def disagreement(comparison: Comparison, model: str, ax: Axes | None = None) -> Figure:
    """Draw the share of rows that each two rules of a model decide differently.

    Raises
    ------
    InputError
        For a model that the comparison does not have.
    """
    chosen = style.chosen_rules(comparison, model, None)
    figure, ax = style.axes(ax, (4.6, 4.0))
    shares = disagreement_shares(comparison, model)
    shown = np.ma.masked_array(shares, np.triu(np.ones(shares.shape, dtype=bool)))
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    ink = to_rgb(style.RULE_STYLE["bayes-optimal"].color)
    colors = LinearSegmentedColormap.from_list("share", [(*ink, 0.07), (*ink, 0.6)])
    ax.pcolormesh(shown[1:, :-1], cmap=colors, vmin=0, vmax=max(float(shares.max()), FULL_COLOR_FROM))
    for i, j in zip(*np.tril_indices(len(chosen), -1), strict=True):
        ax.text(j + 0.5, i - 0.5, percent(shares[i, j]), ha="center", va="center")
    count = len(chosen) - 1
    ax.set_xticks(np.arange(count) + 0.5, chosen[:-1], rotation=35, ha="right", rotation_mode="anchor")
    ax.set_yticks(np.arange(count) + 0.5, chosen[1:])
    ax.set(xlim=(0, max(count, 1)), ylim=(max(count, 1), 0))
    style.title(ax, f"{style.plain(model, LONGEST_MODEL)}: rows decided differently")
    style.quiet(ax)
    ax.grid(visible=False)
    return figure


def disagreement_shares(comparison: Comparison, model: str) -> Array:
    """Return the share of rows, over all repeats, on which two rules of a model decide differently, (rule, rule)."""
    decided = [comparison.stacked(model, rule)[0].argmax(axis=1) for rule in comparison.rules_of(model)]
    return np.array([[float((one != other).mean()) for other in decided] for one in decided])


def percent(share: float) -> str:
    """Return a share as a percentage that does not round a difference away.

    Examples
    --------
    >>> percent(0), percent(0.0002), percent(0.0345)
    ('0', '< 0.1 %', '3.5 %')
    """
    if share == 0:
        return "0"
    return f"{share:.1%}".replace("%", " %") if share >= 0.001 else "< 0.1 %"


@style.figure
def uncertainty(
    clf: BayesClassifier, X: Any, y: Any = None, rule: str = "bayes-optimal", ax: Axes | None = None
) -> Figure:
    """Draw the entropy of each row's predicted class, the most uncertain first, split into its two parts.

    The aleatoric part would remain if the parameters were known, the epistemic part is what more training rows would
    remove if the model is right: under a false independence assumption it shrinks around a wrong value. Wrong
    predictions are marked below the axis: many on the right mean that the model is certain where it is wrong.

    Parameters
    ----------
    clf : BayesClassifier
        A fitted classifier with a posterior.
    X : table or array of shape (row, feature)
        Table (row, feature); rows that the classifier was not fitted on.
    y : array of shape (row,)
        Their labels (row), to mark wrong predictions.
    rule : str
        ``"bayes-optimal"`` or ``"predictive"``, as in `BayesClassifier.uncertainty`.

    Raises
    ------
    InputError
        For another rule.
    Refused
        If the classifier has no posterior.
    """
    parts = clf.uncertainty(X, rule)
    order = np.argsort(-parts.total, kind="stable")
    bounds = np.linspace(0, len(order), min(len(order), MOST_STEPS) + 1).astype(np.intp)
    total, aleatoric = (_means(values[order], bounds) for values in (parts.total, parts.aleatoric))
    edges = bounds / len(order)
    figure, ax = style.axes(ax, (5.4, 3.4))
    share = float(parts.epistemic.sum() / parts.total.sum()) if parts.total.any() else 0.0
    name = f"epistemic, {100 * share:.0f} % of all"
    ax.stairs(aleatoric, edges, fill=True, color=ALEATORIC, linewidth=0, label="aleatoric")
    ax.stairs(total, edges, baseline=aleatoric, fill=True, color=EPISTEMIC, linewidth=0, label=name)
    ax.set(xlim=(0, 1), xlabel="share of rows, the most uncertain first", ylabel="entropy / nats")
    ax.set_ylim(bottom=0)
    if y is not None:
        wrong = np.flatnonzero((clf.predict(X, rule=rule) != checked_labels(y, len(order)))[order])
        places = (wrong + 0.5) / len(order)
        look: Any = {"color": "0.55", "markersize": 7, "transform": ax.get_xaxis_transform(), "clip_on": False}
        ax.plot(places, np.full(len(places), MARK_HEIGHT), "|", label=f"{len(wrong)} wrong", **look)
        ax.tick_params(axis="x", pad=12)
    style.legend_above(ax)
    ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    style.quiet(ax, "y")
    return figure


def _means(values: Array, bounds: Integers) -> Array:
    """Return the means of the values between neighboring bounds."""
    return np.asarray(np.add.reduceat(values, bounds[:-1]) / np.diff(bounds))


@style.figure
def predictive_counts(tree: xr.DataTree, ax: Axes | None = None) -> Figure:
    """Draw how many rows of each class the model makes, given the rows' features, and how many there were.

    The interval of data sets simulated from the posterior is blue, thick for the inner half; that of the prior, if it
    can be drawn from, is gray above it. Rings are the observed counts: outside the blue interval the model does not
    reproduce the data.

    Parameters
    ----------
    tree : DataTree
        Result of ``predictive_check`` for a classifier.
    """
    observed = tree["observed_statistics"].to_dataset()[STATISTIC]
    labels = [style.plain(label, LONGEST_CLASS) for label in observed["outcome"].values]
    places = np.arange(len(labels), dtype=float)
    figure, ax = style.axes(ax, (5.4, 1.2 + 0.36 * len(labels)))
    for name, color, above, probs in (
        ("prior", PRIOR, 0.2, (CI_PROB,)),
        ("posterior", POSTERIOR, 0.0, (CI_PROB, INNER_PROB)),
    ):
        if f"{name}_statistics" not in tree.children:
            continue
        made = tree[f"{name}_statistics"].to_dataset()[STATISTIC]
        for prob, width in zip(probs, (1.6, 5.0), strict=False):
            low, high = made.quantile([(1 - prob) / 2, (1 + prob) / 2], dim=("chain", "draw")).values
            ax.hlines(places - above, low, high, color=color, linewidth=width, zorder=2, label=f"{name} predictive")
    ax.plot(observed.values, places, "o", color=style.ink(), fillstyle="none", markersize=8, zorder=4, label="observed")
    ax.set_yticks(places, labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.set_xlim(left=0)
    ax.set_xlabel(f"rows; {100 * INNER_PROB:.0f} % and {100 * CI_PROB:.0f} % intervals")
    style.legend_above(ax)
    style.quiet(ax, "x")
    return figure


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
    names = [style.plain(label, LONGEST_NAME) for label in comparison.classes]
    for rule, ax in zip(chosen, places, strict=True):
        counts = confusion_counts(comparison, model, rule)
        _draw_matrix(ax, counts, names)
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


def _draw_matrix(ax: Axes, counts: Array, names: list[str]) -> None:
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


@style.figure
def explanation(found: Explanation, row: int = 0, limit: int = MOST_TERMS, ax: Axes | None = None) -> Figure:
    """Draw what each feature of one row contributes to the log-odds between two classes, largest first.

    Bars to the right speak for the first class, to the left for the second; they add up to the last bar. With a
    posterior, bars are posterior means and thin lines their credible intervals, which do not add up.

    Parameters
    ----------
    found : Explanation
        Result of ``explain`` for a classifier.
    row : int
        Number of the row, from 0, in the explained table.
    limit : int
        Most contributions that are drawn one by one, at least 1.

    Raises
    ------
    InputError
        For a row that was not explained.
    """
    table = found.table(row)
    terms, total = table.iloc[:-1], table.iloc[-1]
    lines: list[tuple[str, Any]] = [(_name(term), term) for _, term in terms.head(limit).iterrows()]
    rest = terms.iloc[limit:]
    if len(rest):
        lines.append((f"{len(rest)} others", {"contribution": rest["contribution"].sum()}))
    lines.append(("sum", total))
    names = [name for name, _ in lines]
    figure, ax = style.axes(ax, (3.6 + style.LETTER * max(map(len, names)), 1.3 + 0.27 * len(lines)))
    ax.axvline(0, color="0.55", linewidth=0.9, zorder=1)
    places = np.append(np.arange(len(lines) - 1.0), len(lines) - 0.6)
    for place, (_, line) in zip(places, lines, strict=True):
        _draw_terms(ax, place, line)
    ax.set_yticks(places, names)
    ax.get_yticklabels()[-1].set_fontweight("bold")
    ax.set_ylim(places[-1] + 0.6, -0.6)
    about = found.rows.iloc[row]
    outcome, against = (style.plain(about[side], LONGEST_CLASS) for side in ("outcome", "against"))
    title = f"Row {row + 1}: P({outcome}) = {about['proba_outcome']:.3g}"
    style.title(ax, f"{title}\nagainst P({against}) = {about['proba_against']:.3g}")
    ax.locator_params(axis="x", nbins=6)
    ax.set_xlabel(f"contribution to the log-odds\n← {against}    {outcome} →")
    style.quiet(ax, "x")
    return figure


def _name(term: pd.Series) -> str:
    """Return a column's name with the (shortened) cell of the row."""
    name, value = style.plain(term["feature"]), term["value"]
    if pd.isna(value):
        return name
    text = f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
    return f"{name} = {style.plain(text, LONGEST_VALUE)}"


def _draw_terms(ax: Axes, place: float, line: Any) -> None:
    """Draw the bar of one line, and its interval where it has one."""
    value = line["contribution"]
    color = FOR if value >= 0 else AGAINST
    ax.barh(place, value, height=0.62, color=color, linewidth=0, alpha=0.85, zorder=2)
    if "low" in line:
        ax.plot([line["low"], line["high"]], [place] * 2, color=style.ink(), linewidth=1.1, zorder=3)
