"""What the rules answer in the plane of two features and along one column, and what speaks for an answer to one row."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.inputs import checked_labels
from bayesclf.constraints import Whole, require
from bayesclf.errors import DoesNotExist, InputError, PredictionWarning, Refused
from bayesclf.evaluation.scores import code_of
from bayesclf.interpretation.explanation import Explanation
from bayesclf.plots import style
from bayesclf.plots.style import Axes, Figure
from bayesclf.posterior import averaging
from bayesclf.rules import RULES, Gibbs, resolve
from bayesclf.tables import columns
from bayesclf.tables.columns import SparseTable
from bayesclf.tables.levels import class_order
from bayesclf.wording import did_you_mean

GRID = 121
"""Points of the plane along each axis at which probabilities are computed."""

MARGIN = 0.04
"""Room around the rows, as a share of their range."""

MOST_ROWS = 1_000
"""Most rows that are drawn; a longer table is thinned evenly."""

DEEPEST = 0.45
"""Opacity of a class's color where its probability is 1; at 1/K it is 0."""

CLASS = "(class)"
"""Vertical axis where the model has one column."""

LOWEST_LOG_PROBA = -1e6
"""Stands for log 0 where differences of logs are taken."""


@style.figure
def decision_boundary(
    clf: BayesClassifier,
    X: Any,
    y: Any,
    features: tuple[str, str] | None = None,
    rules: Sequence[str | Gibbs] | str = ("map", "bayes-optimal"),
    draws: int = 50,
    ax: Axes | None = None,
) -> Figure:
    """Draw where each rule changes its prediction, over the plane of two numeric features, or along one.

    The opacity of a class's color shows its probability under the last of `rules`; it is 0 where all classes are
    equally probable. Thin gray lines are the boundaries of single hypotheses of the posterior, from which a Gibbs
    classifier draws: their spread shows the remaining uncertainty. If the model has other columns, the plane is the
    slice at their means or most frequent values. Rows may lie off this slice, and thus in the region of another class
    than is predicted for them. Of a model of one column, each row is drawn at the height of its class. Rules that
    cannot answer are named below the figure.

    Parameters
    ----------
    clf : BayesClassifier
        Fitted.
    X, y
        Rows to draw, (row, feature) with the columns of the training table, and their labels (row).
    features : pair of str or None
        Two numeric columns, horizontal and vertical; needed where the model has more than two.
    rules : sequence of str or Gibbs, or "all"
        Rules whose boundaries are drawn. ``Gibbs(draw=7)`` has that of hypothesis 7; ``"gibbs"`` has none, as it draws
        one for each row, and ``"all"`` leaves it out.
    draws : int
        Most hypotheses of the posterior whose boundaries are drawn; 0 for none.
    ax : matplotlib Axes or None
        Axes to draw on.

    Returns
    -------
    Figure
        The figure of `ax`, or a new one.

    Raises
    ------
    InputError
        For columns, labels or rules that the classifier does not have, or columns that are not numbers.
    Refused
        If no rule can answer.

    References
    ----------
    Wehbe, CMU 10-701 lecture 6, draws these pictures for single estimates; the spread is the posterior's.
    """
    check_is_fitted(clf, "classes_")
    codes = clf.known_codes(checked_labels(y, columns.to_frame(X).shape[0]))
    order = class_order(y, clf.classes_)
    plane = plane_of(clf, X, features, np.argsort(order)[codes])
    named = _named(rules, "boundary")
    fields, silent = _answers(clf, plane, named)
    figure, ax = style.axes(ax, (5.4, 5.0))
    _shade(ax, plane, list(fields.values())[-1])
    hypotheses = _hypotheses(clf, plane, draws)
    for log_proba in hypotheses:
        _draw(ax, plane, log_proba, color="0.55", linewidth=0.5, alpha=0.5, zorder=2, rasterized=True)
    _scatter(ax, plane, codes, clf.classes_, order)
    for place, (name, log_proba) in enumerate(fields.items()):
        # Boundaries often lie on each other: the first rule is the thinnest, and on top.
        look = style.look_of(resolve(named[name])[0].name)
        width, height = 1.4 + 1.6 * place / max(len(fields) - 1, 1), 5 - place / len(fields)
        _draw(ax, plane, log_proba, color=look.color, linestyle=look.line, linewidth=width, zorder=height, label=name)
    if hypotheses:
        ax.plot([], [], color="0.55", linewidth=0.7, label=f"{len(hypotheses)} hypotheses")
    ax.set(xlabel=style.plain(plane.features[0]) + _note(plane, silent), ylabel=style.plain(plane.features[1]))
    if len(clf.columns_) == 1:
        ax.set_yticks(range(len(order)), [style.plain(clf.classes_[code]) for code in order])
    style.legend_above(ax, markerscale=1.6)
    style.quiet(ax)
    ax.grid(visible=False)
    return figure


@dataclass(frozen=True)
class Plane:
    """The plane of two features through a table.

    Attributes
    ----------
    features
        The two columns, horizontal and vertical; of a model of one column, the column and `CLASS`.
    rows
        The table's rows on it, (row, 2); NaN where a cell is missing.
    x, y
        Places along the axes, (place).
    points
        One row per point of the plane, in the order of y, in the table format of the fit; other columns have their mean
        or most frequent value.
    """

    features: tuple[str, str]
    rows: Array
    x: Array
    y: Array
    points: pd.DataFrame | NDArray[Any]

    def field(self, values: Array) -> Array:
        """Return values of the points (row, …) on the plane, (y, x, …)."""
        return values.reshape(len(self.y), len(self.x), *values.shape[1:])


def plane_of(clf: BayesClassifier, X: Any, features: tuple[str, str] | None, heights: Integers) -> Plane:
    """Return the plane of two features through a table, in the table format that the classifier was fitted with.

    Of a model of one column, it is the plane of this column and of heights (row), on which no answer depends.
    """
    frame = columns.to_frame(X)
    names = [column.name for column in clf.columns_]
    if not isinstance(X, pd.DataFrame) and frame.shape[1] == len(names):
        frame = frame.set_axis(names, axis=1)
    lacking = [name for name in names if name not in frame]
    if lacking:
        raise InputError(f"the table lacks column {lacking[0]!r}, which the model was fitted with; add it")
    if len(names) == 1 and features is None:
        frame, names = frame.assign(**{CLASS: heights}), [*names, CLASS]
    first, second = _features(frame, names, features)
    rows = columns.numbers(frame, (first, second))
    x, y = (places_along(values) for values in rows.T)
    points = pd.DataFrame({name: [middle(frame[name])] * (len(x) * len(y)) for name in names})
    points[first], points[second] = np.tile(x, len(y)), np.repeat(y, len(x))
    points = points[[column.name for column in clf.columns_]]
    table = points if hasattr(clf, "feature_names_in_") else points.to_numpy()
    return Plane((first, second), rows, x, y, table)


def _features(frame: pd.DataFrame, names: list[str], features: tuple[str, str] | None) -> tuple[str, str]:
    """Check the two features."""
    if features is None and len(names) != 2:
        raise InputError(f"the model has {len(names)} columns; name the two to draw, such as features={(*names[:2],)}")
    chosen = tuple(map(str, names if features is None else features))
    if len(set(chosen)) != 2 or len(chosen) != 2:
        raise InputError(f"features must be two different columns, not {features!r}")
    for name in chosen:
        if name not in names:
            raise InputError(f"there is no column {name!r}; the columns are {', '.join(map(repr, names))}")
        if columns.kind_of(frame[name]) != "number":
            raise InputError(f"column {name!r} holds words; a plane needs two columns of numbers")
    return chosen[0], chosen[1]


def places_along(values: Array) -> Array:
    """Return evenly spaced places over the range of a column plus a margin."""
    known = values[~np.isnan(values)]
    low, high = (known.min(), known.max()) if known.size else (0.0, 1.0)
    room = MARGIN * (high - low) or 1.0
    return np.linspace(low - room, high + room, GRID)


def middle(column: pd.Series) -> Any:
    """Return the mean of a column of numbers, or the most frequent value of one of words or of two numbers."""
    if columns.kind_of(column) == "number" and column.nunique() > 2:
        return float(column.mean())
    modes = column.mode()
    return modes.iloc[0] if len(modes) else np.nan


def boundaries(x: Array, y: Array, log_proba: Array) -> list[Array]:
    """Return the lines along which the most probable class changes, each (point, 2).

    The boundary between classes j < k is the zero line of log P(j | x) − max_{l > j} log P(l | x), without the
    parts where a class before j is more probable. Each line is drawn once, so that dashes stay dashes.
    """
    from contourpy import contour_generator

    found: list[Array] = []
    scores = np.maximum(log_proba, LOWEST_LOG_PROBA)
    for k in range(scores.shape[2] - 1):
        later = scores[..., k + 1 :].max(axis=2)
        field: Any = scores[..., k] - later
        if k:
            field = np.ma.masked_where(scores[..., :k].max(axis=2) > np.maximum(scores[..., k], later), field)
        lines: Any = contour_generator(x, y, field).lines(0.0)
        found += [line for line in lines if len(line) > 1]
    return found


def _named(rules: Sequence[str | Gibbs] | str, what: str) -> dict[str, str | Gibbs]:
    """Return rules by their names in a legend; raises `InputError` for one that draws a hypothesis for each row."""
    found: dict[str, str | Gibbs] = {}
    for rule in [rule for rule in RULES if rule != "gibbs"] if isinstance(rules, str) else rules:
        resolved, gibbs = resolve(rule)
        if resolved.name != "gibbs":
            found[resolved.name] = rule
        elif isinstance(gibbs.draw, str):
            raise InputError(f"the rule 'gibbs' has no single {what}; the thin lines are those that it draws from")
        else:
            found[f"gibbs, hypothesis {gibbs.draw}"] = rule
    return found


def _answers(clf: BayesClassifier, plane: Plane, named: dict[str, str | Gibbs]) -> tuple[dict[str, Array], list[str]]:
    """Return log P(k | x) on the plane, (y, x, outcome), by name of a rule, and the names of those that cannot."""
    fields: dict[str, Array] = {}
    silent: dict[str, str] = {}
    for name, rule in named.items():
        try:
            with warnings.catch_warnings():
                # Far from all rows every class may have probability 0; predictions there are the class prior.
                warnings.simplefilter("ignore", PredictionWarning)
                fields[name] = plane.field(clf.predict_log_proba(plane.points, rule=rule))
        except (DoesNotExist, Refused) as reason:
            silent[name] = str(reason)
    if not fields:
        raise Refused("; ".join(silent.values()))
    return fields, list(silent)


def _hypotheses(clf: BayesClassifier, plane: Plane, draws: int) -> list[Array]:
    """Return log P(k | x, h) on the plane, (y, x, outcome), of hypotheses evenly spaced in the posterior."""
    try:
        posterior = clf.hypotheses("posterior")
    except Refused:
        return []
    chosen = np.linspace(0, len(posterior) - 1, min(draws, len(posterior))).astype(np.intp)
    if not chosen.size:
        return []
    answer = averaging.conditional(posterior.take(chosen), clf.rows(plane.points))
    return list(np.moveaxis(plane.field(answer.log_proba), 3, 0))


def _shade(ax: Axes, plane: Plane, log_proba: Array) -> None:
    """Color each point by its most probable class, with opacity by its probability."""
    from matplotlib.colors import to_rgb

    best, classes = log_proba.argmax(axis=2), log_proba.shape[2]
    palette = np.array([to_rgb(style.class_color(k)) for k in range(classes)])
    depth = (np.exp(log_proba.max(axis=2)) - 1 / classes) / (1 - 1 / classes)
    image = np.concatenate([palette[best], DEEPEST * depth[..., None]], axis=2)
    edges = (plane.x[0], plane.x[-1], plane.y[0], plane.y[-1])
    ax.imshow(np.clip(image, 0, 1), extent=edges, origin="lower", aspect="auto", interpolation="bilinear", zorder=1)


def _draw(ax: Axes, plane: Plane, log_proba: Array, label: str | None = None, **look: Any) -> None:
    """Draw the boundaries of one field as one artist, which has a label even without any boundary."""
    lines = boundaries(plane.x, plane.y, log_proba)
    gap = np.full((1, 2), np.nan)
    path = np.concatenate([piece for line in lines for piece in (line, gap)] or [gap])
    ax.plot(*path.T, label=label, **look)


def _scatter(ax: Axes, plane: Plane, codes: Integers, classes: NDArray[Any], order: Sequence[int]) -> None:
    """Draw the rows, evenly thinned, one marker per class."""
    shown = np.zeros(len(codes), dtype=bool)
    shown[:: -(-len(codes) // MOST_ROWS)] = True
    for k in order:
        own = plane.rows[shown & (codes == k)]
        look: Any = {"color": style.class_color(k), "marker": style.class_marker(k), "label": style.plain(classes[k])}
        ax.scatter(own[:, 0], own[:, 1], s=11, linewidths=0, alpha=0.85, zorder=3, **look)


def _note(plane: Plane, silent: list[str]) -> str:
    """Return a note for the axis label: which columns are fixed, and which rules could not answer."""
    parts = []
    if (others := plane.points.shape[1] - 2) > 0:
        parts.append(f"{'the other column' if others == 1 else f'the {others} other columns'} held at mean or mode")
    if silent:
        parts.append(f"n/a: {', '.join(silent)}")
    return "\n" + "; ".join(parts) if parts else ""


HYPOTHESES = 20
"""Hypotheses that are drawn as thin lines."""

LONGEST_CLASS, LONGEST_VALUE = 18, 14
"""Characters of a class name, and of a cell next to its column's name."""

MOST_TERMS = 12
"""Most contributions that are drawn one by one; the remaining, smallest ones are summed in one bar."""

FOR, AGAINST = style.CLASS_COLORS[1], style.CLASS_COLORS[0]
"""Colors of what speaks for the first class of the log-odds, and for the second."""


@style.figure
def rules_along(
    clf: BayesClassifier,
    X: Any,
    y: Any,
    feature: str | None = None,
    outcome: Any = None,
    rules: Sequence[str | Gibbs] | str = ("map", "bayes-optimal"),
    hypotheses: int = HYPOTHESES,
    ax: Axes | None = None,
) -> Figure:
    """Draw P(outcome | x) along a column of numbers under several rules, over some hypotheses of the posterior.

    Each thin line is what one hypothesis says: the Gibbs classifier answers by one of them, drawn at random. MAP is
    the line of the most probable hypothesis, Bayes-optimal the average of all. The other columns of numbers are at
    their means, and categories at their most frequent levels. Ticks are the rows: those of the class at the top, others
    at the bottom.

    Parameters
    ----------
    clf : BayesClassifier
        Fitted.
    X, y
        Rows to draw, such as the training rows: table (row, feature) and labels (row).
    feature : str or None
        Column of numbers; by default the first.
    outcome : label or None
        The class; by default the last.
    rules : sequence of str or Gibbs, or "all"
        Rules. ``Gibbs(draw=7)`` is the line of hypothesis 7; ``"gibbs"`` has none, as it draws one for each row, and
        ``"all"`` leaves it out.
    hypotheses : int
        Number of thin lines, 0 for none; a point estimate has none.
    ax : matplotlib Axes or None
        Axes to draw on.

    Returns
    -------
    Figure
        The figure of `ax`, or a new one.

    Raises
    ------
    InputError
        For a column, class or rule that there is not.
    Refused
        For text and sparse tables, and where no rule can answer.
    """
    require(Whole(0), hypotheses=hypotheses)
    named = _named(rules, "line")
    frame = clf.frame(X)
    if isinstance(frame, SparseTable) or clf.columns_[0].kind == "text":
        raise Refused("rules are drawn along a column of numbers, not along words or counts")
    along = [str(name) for name in frame.columns if columns.kind_of(frame[name]) == "number"]
    if not along:
        raise Refused("rules are drawn along a column of numbers, and there is none")
    feature = along[0] if feature is None else feature
    if feature not in along:
        raise InputError(f"feature must be a column of numbers, not {feature!r}{did_you_mean(str(feature), along)}")
    code = class_order(y, clf.classes_)[-1] if outcome is None else code_of(clf.classes_, outcome)
    codes = clf.known_codes(checked_labels(y, len(frame)))
    own = columns.numbers(frame[[feature]], (feature,))[:, 0]
    x = places_along(own[~np.isnan(own)])
    table = pd.DataFrame({name: np.repeat(middle(frame[name]), len(x)) for name in frame}).assign(**{feature: x})
    rows = table if hasattr(clf, "feature_names_in_") else table.to_numpy()  # names that the fit had, or none
    figure, ax = style.axes(ax, (5.4, 3.4))
    if clf.draws_ is not None and hypotheses:
        count = len(clf.hypotheses("posterior"))
        for draw in np.unique(np.linspace(0, count - 1, hypotheses).astype(int)).tolist():
            proba = clf.predict_proba(rows, rule=Gibbs(draw=draw))[:, code]
            ax.plot(x, proba, color=style.look_of("gibbs").color, linewidth=0.6, alpha=0.45, zorder=1)
        ax.plot([], [], color=style.look_of("gibbs").color, linewidth=0.6, label="single hypotheses")
    silent: dict[str, str] = {}
    for name, rule in named.items():
        look = style.look_of(resolve(rule)[0].name)
        try:
            proba = clf.predict_proba(rows, rule=rule)[:, code]
        except (DoesNotExist, Refused) as reason:
            silent[name] = str(reason)
        else:
            ax.plot(x, proba, color=look.color, linestyle=look.line, linewidth=2, label=name, zorder=3)
    if len(silent) == len(named):
        raise Refused("; ".join(silent.values()))
    ax.scatter(own, np.where(codes == code, 1.03, -0.03), s=14, color=style.ink(), alpha=0.5, marker="|", zorder=2)
    missing = f"\nn/a: {', '.join(silent)}" if silent else ""
    label = f"P({style.plain(clf.classes_[code])} | x)"
    ax.set(xlabel=style.plain(feature) + missing, ylabel=label, ylim=(-0.06, 1.06))
    ax.legend(frameon=False, fontsize="small")
    style.quiet(ax)
    return figure


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
    ax : matplotlib Axes or None
        Axes to draw on.

    Returns
    -------
    Figure
        The figure of `ax`, or a new one.

    Raises
    ------
    InputError
        For a row that was not explained.
    """
    table = found.of(row)
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
    averaged = "" if found.ci_prob is None else "\nP and log-odds are each averaged over the posterior"
    ax.set_xlabel(f"contribution to the log-odds\n← {against}    {outcome} →{averaged}")
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
