"""The report of a comparison, as a tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import pandas as pd
from sklearn.base import clone

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.diagnostics import Diagnosis
from bayesclf.engines.inference import Auto
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.peers import BOOSTING, last_step
from bayesclf.evaluation.score_table import BASELINE
from bayesclf.interpretation.summary import Priors, priors_of
from bayesclf.plots.scores import draw_standings
from bayesclf.progress import Tell, silent
from bayesclf.report import document, methods, names, table, verdict
from bayesclf.report.classifier_page import checks, data, model_and_priors, reliability
from bayesclf.report.facts import MOST_CLASSES, decided, errors, facts, facts_table
from bayesclf.report.tree import Beside, Figure, Findings, Items, Part, Report, Section, Table, Text
from bayesclf.rules import RULES
from bayesclf.tables.columns import row_numbers
from bayesclf.wording import counted, first_upper, listed, number, sentences

MOST_DISAGREEMENTS = 20
"""Rows on which the rules of a model disagree that are listed."""


def tree(
    comparison: Comparison, command: str | None = None, tell: Tell = silent, next_command: str | None = None
) -> Report:
    """Return the report of a comparison; `tell` is told of the checks of each model."""
    scores, diagnoses = comparison.table, verdict.checks_of_fits(comparison, tell)
    judged = verdict.verdict(comparison, diagnoses)
    order = [one.model for one in judged.models if one.model in comparison.models]
    order += [model for model in comparison.models if model not in order]
    priors = {name: priors_of(fit) for name, fit in comparison.fits.items()}
    shared = _of_all(comparison)
    return Report(
        _title(comparison),
        _size(comparison),
        [
            Section("Verdict", _first(comparison, judged, next_command), "first"),
            Section("Scores", _scores(comparison, scores, shared, judged.useful)),
            *(_section(comparison, name, shared, diagnoses.get(name), priors.get(name)) for name in order),
            Section(
                "Data",
                data(comparison.X, comparison.y, comparison.classes, comparison.order, comparison.read),
                "folded",
            ),
            Section("Methods, to paste", [Text(methods.of_comparison(comparison, judged, priors))], "folded"),
        ],
        _made(comparison, command),
    )


def _first(comparison: Comparison, judged: verdict.Verdict, next_command: str | None) -> list[Part]:
    """Return the answer, what comes next, how clear the answer is, and what not to trust."""
    said = [errors(comparison, comparison.best, comparison.classes)] if judged.models else []
    cautions: list[Part] = [Items(judged.cautions) if judged.cautions else Text(verdict.NOTHING)]
    if read := verdict.read(comparison):
        cautions.append(Section(f"How the table was read ({counted(len(read), 'note')})", [Items(read)], "more"))
    below: list[Part] = [Section("What not to trust here", cautions, "box")]
    findings = [*filter(None, said), *judged.findings]
    if findings:
        below.insert(0, Items(findings))
    first, *rest = re.split(r"(?<=\.) (?=[A-Z])", judged.headline, maxsplit=1)  # what is read in a few seconds
    parts: list[Part] = [Text(first, "headline"), *map(Text, rest)]
    if step := judged.next_step if next_command is None or not judged.useful else next_command:
        parts.append(Text(f"Next: {step}", "call" if judged.useful else ""))
    if judged.models:
        mean = f", a mean over {comparison.repeats} repeats" * (comparison.repeats > 1)
        found = facts(comparison, comparison.best, comparison.classes, comparison.order)
        parts.append(Beside([facts_table(found, f"This model on held-out rows{mean}"), _standing(comparison, judged)]))
    return [*parts, Beside(below), Text(verdict.defined(comparison), "quiet")]


def _standing(comparison: Comparison, judged: verdict.Verdict) -> Figure:
    """Return the figure of the log loss of each model, and of the baseline."""
    called = [
        "baseline: class shares" if one.key == BASELINE else names.full_name(comparison, one.model)
        for one in judged.models
    ]
    return Figure(
        partial(draw_standings, judged.models, [first_upper(name) for name in called]),
        "standing",
        "Log loss of each model",
        "Each model under its leading rule. Bars show one standard error of the difference from the first.",
    )


def _of_all(comparison: Comparison) -> list[str]:
    """Return the notes that all of several models have, as those about the folds."""
    first, *others = comparison.notes.values() or ((),)
    return [note for note in first if others and all(note in own for own in others)]


def _scores(comparison: Comparison, scores: pd.DataFrame, shared: Sequence[str], useful: bool) -> list[Part]:
    """Return the notes on all models, the table of scores, and that of costs."""
    shown, used = table.scores(comparison, scores), {name for _, name in comparison.answers}
    parts: list[Part] = [Items(sentences(shared))] if shared else []
    if len(shown):
        drawn = "Scores of gibbs are expectations over the posterior" * ("gibbs" in used)
        parts.append(Table(scores, shown, drawn, 0 if useful else None, table.MEANINGS))
    rules = [f"{rule.name}: {rule.summary}" for rule in RULES.values() if rule.name in used]
    parts.append(Section("What the rules are", [Items(rules)], "more"))
    if comparison.costs is not None:
        reject = comparison.costs.reject
        rejected = "" if reject is None else f"; a rejected row costs {reject:g}"
        caption = f"Costs of decisions, by true class (rows) and predicted class (columns){rejected}"
        costs = table.by_class(comparison.costs.matrix, comparison.classes, comparison.order)
        parts.append(Table(costs, costs, caption=caption))
    return parts


def _section(
    comparison: Comparison, name: str, shared: Sequence[str], diagnosis: Diagnosis | None, priors: Priors | None
) -> Section:
    """Return what there is of one model: how it was fitted, its probabilities and decisions, checks and priors."""
    about = [_engine(comparison, name), f"{number(comparison.seconds.get(name, 0.0), 2)} s per fold"]
    own = sentences(note for note in comparison.notes.get(name, ()) if note not in shared)
    parts: list[Part] = [Text(" · ".join(about), "quiet"), Items(own)]
    if comparison.rules_of(name):
        parts += _answers(comparison, name)
    if diagnosis is not None and priors is not None:
        parts += [Findings([*diagnosis.issues, *diagnosis.tips]), checks(diagnosis)]
        parts += model_and_priors(priors, comparison.classes, comparison.order)
    return Section(first_upper(names.full_name(comparison, name)), parts, "folded")


def _engine(comparison: Comparison, name: str) -> str:
    """Return how a model was fitted, or why it was not."""
    if name in comparison.peers:
        return f"{type(last_step(comparison.peers[name])).__name__}, without rules"
    if name in comparison.fits:
        fit = comparison.fits[name]
        return f"Fitted to all rows: {type(fit).__name__}, {names.engine_name(fit)}"
    return next(answer.reason for (model, _), answer in comparison.answers.items() if model == name)


def _answers(comparison: Comparison, name: str) -> list[Part]:
    """Return which classes a model confuses, how far its probabilities hold, and where its rules disagree."""
    rule = comparison.leader(name)[1]
    place = comparison.models.index(name)
    parts: list[Part] = [reliability(comparison, (name, rule), f"reliability-{place}", name)]
    if len(comparison.classes) <= MOST_CLASSES:
        parts.insert(0, decided(comparison, (name, rule), comparison.classes, comparison.order))
    found = comparison.disagreements
    found = found[found["model"] == name].drop(columns="model").iloc[:, : -comparison.X.shape[1]]
    if len(found):
        found = found.assign(row=row_numbers(comparison.X, found["row"]))
        found = found.dropna(axis=1, how="all")  # without rules of other models
        heading = "Rows on which the rules disagree, counted from 1, the largest gap first"
        caption = (
            "gap is the largest difference of a class's probability between rules; gibbs, one draw, does not count. "
            "P(rule) is the probability that a rule gives the true class of the row."
        )
        shown = Table(found, caption=caption, most=MOST_DISAGREEMENTS)
        where = f" in the first of {comparison.repeats} repeats" if comparison.repeats > 1 else ""
        parts.append(Section(f"{heading} ({len(found)}{where})", [shown], "more"))
    return [Beside(parts[:2]), *parts[2:]]


def _made(comparison: Comparison, command: str | None) -> list[tuple[str, str]]:
    """Return how the report was made."""
    fitted = {**comparison.fits, **comparison.peers}
    models = [f"{name}: {_as_given(name, fitted[name])}" for name in comparison.models if name in fitted]
    folds = f"{comparison.cv}, {comparison.splitter or 'stratified by class'}; {counted(comparison.repeats, 'repeat')}"
    return document.made(
        command,
        ("Date", comparison.date),
        ("Data", f"{comparison.data or 'a table'}, hash of its cells and labels {_hash(comparison)}"),
        ("Folds", folds),
        ("Seed", str(comparison.seed)),
        ("Models", "; ".join(models)),
    )


def _as_given(name: str, fit: Any) -> str:
    """Return a classifier as one writes it, without what a comparison gives it: engine, seed, and codes of words."""
    if name == BOOSTING:
        fit = last_step(fit)
        declared = ", with its categorical columns declared" * bool(fit.categorical_features)
        return f"{clone(fit).set_params(categorical_features='from_dtype')}{declared}"
    if isinstance(fit, BayesClassifier):
        fit = clone(fit).set_params(random_state=None)
        if isinstance(fit.inference, Auto):
            fit.set_params(inference="auto")
    return " ".join(str(fit).split())


def _title(comparison: Comparison) -> str:
    """Say what is predicted, and from which table."""
    return f"Predicting {comparison.target or 'the class'}{f' in {comparison.data}' if comparison.data else ''}"


def _hash(comparison: Comparison) -> str:
    """Return the first digits of a hash of the columns and labels, by which equal tables are recognized."""
    rows = pd.util.hash_pandas_object(comparison.X.astype(object).astype(str), index=False).to_numpy()
    names = "\x00".join(map(str, [*comparison.X.columns, *comparison.classes[comparison.y]]))
    return sha256(rows.tobytes() + names.encode()).hexdigest()[:12]


def _size(comparison: Comparison) -> str:
    """Say how large the table is, how frequent the classes are, how the rows were split, and when."""
    rows, features = comparison.X.shape
    folds = counted(comparison.cv, "split") if comparison.splitter else f"{comparison.cv}-fold cross-validation"
    if comparison.repeats > 1:
        folds += f", repeated {comparison.repeats} times"
    shares = [
        f"{label} {share}" for label, _, share in table.class_counts(comparison.y, comparison.classes, comparison.order)
    ]
    classes = f"{counted(len(shares), 'class', 'classes')}: {listed(shares, MOST_CLASSES, ', …')}"
    parts = [counted(rows, "row"), counted(features, "column"), classes, folds, comparison.date]
    return " · ".join(part for part in parts if part)
