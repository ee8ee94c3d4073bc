"""The page of a comparison: everything the template shows, computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from bayesclf import plots
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.diagnostics import Diagnosis, diagnose
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.scores import CALIBRATION_BINS, reliability
from bayesclf.plots.predictions import disagreement_shares
from bayesclf.plots.scores import draw as draw_scores
from bayesclf.report import document, figures, table, verdict
from bayesclf.report.classifier_page import CheckGroup, groups
from bayesclf.rules import RULES
from bayesclf.wording import counted, listed, number, percent

FIGURES = ("reliability", "disagreement", "confusion", "coverage", "forest", "trace")
"""Names of the figures of a model."""

MOST_DISAGREEMENTS = 20
"""Rows on which rules disagree that are listed for each model."""


@dataclass(frozen=True)
class Answer:
    """What a rule predicted for a row, and whether that was right."""

    label: str
    right: bool


@dataclass(frozen=True)
class Disagreement:
    """A row, counted from 1, on which rules decide differently: its true label and the answers by rule."""

    row: int
    label: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class ModelSection:
    """What the page shows of one model.

    Attributes
    ----------
    name, anchor, engine
        Its name, its place in the page, and how its posterior was inferred.
    seconds
        Mean time of a fold.
    rules
        Rules it could answer under.
    notes
        Sentences on its fits.
    figures
        By name, each a figure or a sentence that says why there is none.
    rows, disagreeing
        The first rows on which its rules disagree, and how many there are.
    groups
        Checks of the fit on all rows.
    """

    name: str
    anchor: str
    engine: str
    seconds: str
    rules: tuple[str, ...]
    notes: tuple[str, ...]
    figures: dict[str, Markup | str]
    rows: tuple[Disagreement, ...]
    disagreeing: int
    groups: tuple[CheckGroup, ...]


def render(comparison: Comparison, command: str | None = None) -> str:
    """Return the page of a comparison."""
    return document.fill("comparison.html.j2", **context(comparison, command))


def context(comparison: Comparison, command: str | None = None) -> dict[str, Any]:
    """Return the values of the template's names."""
    scores = comparison.table
    anchors = {model: f"model-{index}" for index, model in enumerate(comparison.models, 1)}
    disagreements = comparison.disagreements
    diagnoses = {name: _diagnosis(comparison, fit) for name, fit in comparison.fits.items()}
    return {
        "title": f"Comparison of {' and '.join(comparison.models)}"
        if len(anchors) < 3
        else "Comparison of classifiers",
        "subtitle": _size(comparison),
        "verdict": verdict.verdict(comparison, scores, diagnoses),
        "reading": verdict.READING,
        "scores": _scores_figure(scores),
        "headings": table.headings(comparison),
        "lines": table.score_lines(comparison, scores, anchors),
        "costs": table.cost_table(comparison),
        "rules": [rule for rule in RULES.values() if any(name == rule.name for _, name in comparison.answers)],
        "bins": CALIBRATION_BINS,
        "most": MOST_DISAGREEMENTS,
        "models": [
            _section(comparison, name, anchor, disagreements, diagnoses.get(name)) for name, anchor in anchors.items()
        ],
        "columns": table.column_summaries(comparison.X),
        "column_count": comparison.X.shape[1],
        "rows": len(comparison.y),
        "classes": table.class_counts(comparison.y, comparison.classes),
        "made": _made(comparison, command),
    }


def _size(comparison: Comparison) -> str:
    rows, features = comparison.X.shape
    folds = f"{comparison.cv}-fold cross-validation"
    if comparison.repeats > 1:
        folds += f", repeated {comparison.repeats} times"
    classes = counted(len(comparison.classes), "class", "classes")
    return " · ".join([counted(rows, "row"), counted(features, "column"), classes, folds])


def _scores_figure(scores: pd.DataFrame) -> Markup | str:
    if "log_loss" not in scores:
        return "There are no scores to draw."
    return figures.svg(
        lambda: draw_scores(scores, "log_loss"),
        "scores",
        "Log loss of every model under every rule",
        "Dots with Nadeau–Bengio standard errors, one line a model and rule; the table that follows has the numbers.",
    )


CHECKED = ("P0", "M")
"""Checks of a comparison's fits; those of predictions are what the comparison itself is about."""


def _diagnosis(comparison: Comparison, fit: BayesClassifier) -> Diagnosis:
    return diagnose(fit, comparison.X, comparison.classes[comparison.y], checks=CHECKED)


def _section(
    comparison: Comparison, name: str, anchor: str, disagreements: pd.DataFrame, diagnosis: Diagnosis | None
) -> ModelSection:
    """Return all that the page shows of one model."""
    if diagnosis is None:
        return _refused_section(comparison, name, anchor)
    fit, rules = comparison.fits[name], comparison.rules_of(name)
    rows = disagreements.loc[disagreements["model"] == name, "row"].to_numpy(dtype=int)
    return ModelSection(
        name,
        anchor,
        f"{type(fit).__name__}, inferred by {fit.inference_}",
        f"{number(comparison.seconds[name], 2)} s",
        rules,
        comparison.notes.get(name, ()),
        _posterior_figures(fit, name, anchor) | _answer_figures(comparison, name, anchor),
        _disagreeing_rows(comparison, name, rules, rows[:MOST_DISAGREEMENTS]),
        len(rows),
        groups(diagnosis, f"{anchor}-"),
    )


def _refused_section(comparison: Comparison, name: str, anchor: str) -> ModelSection:
    """Return the section of a model that could not be made of the table at all."""
    none = dict.fromkeys(FIGURES, "The model was refused, so there is nothing to show.")
    seconds = f"{number(comparison.seconds[name], 2)} s"
    return ModelSection(name, anchor, "refused", seconds, (), comparison.notes[name], none, (), 0, ())


def _posterior_figures(fit: BayesClassifier, name: str, anchor: str) -> dict[str, Markup | str]:
    return {
        "forest": figures.drawn(
            partial(plots.posterior_forest, fit),
            f"{anchor}-forest",
            f"Posterior of {name}",
            "Posterior means and intervals of parameters, one panel a quantity, one line a class.",
        ),
        "trace": figures.drawn(
            partial(plots.posterior_trace, fit),
            f"{anchor}-trace",
            f"Trace of {name}",
            "Draws of each chain in their order; well-mixed chains look alike and show no trend.",
        ),
    }


def _answer_figures(comparison: Comparison, name: str, anchor: str) -> dict[str, Markup | str]:
    """Return the figures of the answers under each rule."""
    rules = comparison.rules_of(name)
    found: dict[str, Markup | str] = {
        "reliability": "No rule could answer, so there are no probabilities to judge.",
        "disagreement": "Fewer than two rules could answer, so there is nothing that could disagree.",
        "confusion": "",
        "coverage": "",
    }
    if rules:
        errors = [f"{rule} {number(reliability(*comparison.stacked(name, rule)).error)}" for rule in rules]
        found["reliability"] = figures.svg(
            partial(plots.reliability, comparison, name),
            f"{anchor}-reliability",
            f"Reliability of {name}",
            f"Share of right predictions against predicted probability. Calibration errors: {listed(errors)}.",
        )
        found["confusion"] = figures.svg(
            partial(plots.confusion, comparison, name),
            f"{anchor}-confusion",
            f"Confusion of the classes by {name}",
            "Counts of rows by true and predicted class, one panel a rule, shaded by the share of the true class.",
        )
        found["coverage"] = figures.svg(
            partial(plots.coverage_curve, comparison, name),
            f"{anchor}-coverage",
            f"Accuracy of {name} against the share of rows that it answers",
            "One curve a rule: the least certain rows are rejected first.",
        )
    if len(rules) > 1:
        shares = disagreement_shares(comparison, name)
        pairs = zip(*np.triu_indices(len(rules), 1), strict=True)
        said = listed(f"{rules[i]} and {rules[j]} {percent(float(shares[i, j]))}" for i, j in pairs)
        found["disagreement"] = figures.svg(
            partial(plots.disagreement, comparison, name),
            f"{anchor}-disagreement",
            f"Disagreement between the rules of {name}",
            f"Share of rows decided differently: {said}.",
        )
    return found


def _disagreeing_rows(
    comparison: Comparison, name: str, rules: tuple[str, ...], rows: np.ndarray[Any, np.dtype[np.intp]]
) -> tuple[Disagreement, ...]:
    decided = [comparison.answers[name, rule].scores[0].log_proba[rows].argmax(axis=1) for rule in rules]
    truth = comparison.y[rows]
    return tuple(
        Disagreement(
            int(row) + 1,
            str(comparison.classes[truth[index]]),
            tuple(
                Answer(str(comparison.classes[codes[index]]), bool(codes[index] == truth[index])) for codes in decided
            ),
        )
        for index, row in enumerate(rows)
    )


def _made(comparison: Comparison, command: str | None) -> list[tuple[str, str]]:
    """Return what is needed to make the comparison again."""
    return document.made(
        command,
        ("Folds", f"{comparison.cv}, stratified by class; {counted(comparison.repeats, 'repeat')}"),
        ("Seed", str(comparison.seed)),
        ("Models", "; ".join(f"{name}: {' '.join(str(fit).split())}" for name, fit in comparison.fits.items())),
    )
