"""What the rules answer along one column, and what speaks for and against an answer to one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.labels import checked_labels
from bayesclf.constraints import Whole, require
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation.cross_validation import checked_rules, class_order
from bayesclf.evaluation.thresholds import code_of
from bayesclf.interpretation.explanation import Explanation
from bayesclf.plots import boundary, style
from bayesclf.plots.style import Axes, Figure
from bayesclf.rules import Gibbs
from bayesclf.tables.columns import SparseTable, kind_of, numbers
from bayesclf.wording import did_you_mean

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
    rules: Sequence[str] = ("map", "bayes-optimal"),
    hypotheses: int = HYPOTHESES,
    ax: Axes | None = None,
) -> Figure:
    """Draw P(outcome | x) along a column of numbers under several rules, over some hypotheses of the posterior.

    Each thin line is what one hypothesis says: the Gibbs classifier answers by one of them, drawn at random. MAP is
    the line of the most probable hypothesis, Bayes-optimal the average of all. The other columns of numbers are at
    their means, and categories at their most frequent levels. Points are the rows, at 1 if they are of the class.

    Parameters
    ----------
    clf : BayesClassifier
        Fitted.
    X, y
        Rows to draw, such as the training rows: table (row, feature) and labels (row).
    feature : str or None
        Column of numbers; by default the first.
    outcome : label or None
        The class; of two classes by default the second.
    rules : sequence of str
        Names of rules.
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
        For text and sparse tables, and for a rule that cannot answer.
    """
    require(Whole(0), hypotheses=hypotheses)
    names = checked_rules(rules) or ()
    frame = clf.frame(X)
    if isinstance(frame, SparseTable) or clf.columns_[0].kind == "text":
        raise Refused("rules are drawn along a column of numbers, not along words or counts")
    along = [str(name) for name in frame.columns if kind_of(frame[name]) == "number"]
    if not along:
        raise Refused("rules are drawn along a column of numbers, and there is none")
    feature = along[0] if feature is None else feature
    if feature not in along:
        raise InputError(f"feature must be a column of numbers, not {feature!r}{did_you_mean(str(feature), along)}")
    code, codes = code_of(clf.classes_, outcome), clf.known_codes(checked_labels(y, len(frame)))
    if outcome is None:
        code = class_order(y, clf.classes_)[1]
    own = numbers(frame[[feature]], (feature,))[:, 0]
    x = boundary.places(own[~np.isnan(own)])
    table = pd.DataFrame({name: np.repeat(boundary.middle(frame[name]), len(x)) for name in frame}).assign(
        **{feature: x}
    )
    rows = table if hasattr(clf, "feature_names_in_") else table.to_numpy()  # names that the fit had, or none
    figure, ax = style.axes(ax, (5.4, 3.4))
    if clf.draws_ is not None and hypotheses:
        count = len(clf.hypotheses("posterior"))
        for draw in np.unique(np.linspace(0, count - 1, hypotheses).astype(int)).tolist():
            proba = clf.predict_proba(rows, rule=Gibbs(draw=draw))[:, code]
            ax.plot(x, proba, color=style.look_of("gibbs").color, linewidth=0.6, alpha=0.45, zorder=1)
        ax.plot([], [], color=style.look_of("gibbs").color, linewidth=0.6, label="single hypotheses")
    for rule in names:
        look = style.look_of(rule)
        proba = clf.predict_proba(rows, rule=rule)[:, code]
        ax.plot(x, proba, color=look.color, linewidth=2, label=rule, zorder=3)
    ax.scatter(own, np.where(codes == code, 1.03, -0.03), s=14, color=style.ink(), alpha=0.5, marker="|", zorder=2)
    ax.set(xlabel=style.plain(feature), ylabel=f"P({style.plain(clf.classes_[code])} | x)", ylim=(-0.06, 1.06))
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
