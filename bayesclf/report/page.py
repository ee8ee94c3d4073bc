"""The page of a comparison: everything the template shows, computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from sklearn.base import clone

from bayesclf import plots
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.diagnostics import Diagnosis, diagnose
from bayesclf.engines.inference import Auto
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.peers import BOOSTING, last_step
from bayesclf.evaluation.score_table import BASELINE
from bayesclf.evaluation.scores import CALIBRATION_BINS, reliability
from bayesclf.evaluation.stack import STACK
from bayesclf.interpretation.summary import READING, Priors, priors_of, together
from bayesclf.plots.calibration import BAND
from bayesclf.plots.predictions import disagreement_shares
from bayesclf.plots.scores import draw as draw_scores
from bayesclf.plots.scores import draw_standings
from bayesclf.progress import Tell, silent
from bayesclf.report import document, methods, names, table, verdict
from bayesclf.report.classifier_page import groups
from bayesclf.report.facts import confusion, errors
from bayesclf.report.text import Part, TextReport, of_checks, of_facts, of_priors
from bayesclf.rules import RULES
from bayesclf.tables.columns import row_numbers
from bayesclf.wording import NEGLIGIBLE, counted, first_upper, listed, number, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = ("reliability", "by_class", "disagreement", "confusion", "thresholds", "forest", "trace")
"""Names of the figures of a model."""

MOST_PRIORS = 20
"""Lines of priors that are shown for each model."""

MOST_DISAGREEMENTS = 20
"""Rows on which rules disagree that are listed for each model."""

MOST_CLASSES = 6
"""Classes whose shares are shown at the top."""

CHECKED = ("P0", "M")
"""Checks of a comparison's fits; those of predictions are what the comparison itself is about."""


def render(comparison: Comparison, command: str | None = None, tell: Tell = silent) -> str:
    """Return the page of a comparison; `tell` is told of the checks and of the section of each model."""
    done = _Steps(tell, 2 * len(comparison.models))
    content = Content.of(comparison, done)
    scores, judged, anchors = content.scores, content.verdict, content.anchors
    disagreements = comparison.disagreements
    return document.fill(
        "comparison.html.j2",
        title=_title(comparison),
        subtitle=_size(comparison),
        verdict=judged,
        defined=verdict.DEFINED,
        error=verdict.ERROR,
        band=BAND,
        reading=verdict.READING,
        standing=_standing_figure(comparison, judged),
        errors=_errors(comparison) if judged.models else "",
        scores=_scores_figure(scores),
        headings=table.headings(comparison),
        lines=table.score_lines(comparison, scores, anchors),
        infinite="log_loss" in scores and np.isinf(scores["log_loss"]).any(),
        costs=table.cost_table(comparison),
        rules=[(rule, names.RULES[rule]) for rule in RULES if any(name == rule for _, name in comparison.answers)],
        bins=CALIBRATION_BINS,
        models=[
            done(
                f"figures of {name}",
                _section(comparison, name, anchor, disagreements[disagreements["model"] == name], content),
            )
            for name, anchor in anchors.items()
        ],
        columns=table.column_summaries(comparison.X),
        column_count=comparison.X.shape[1],
        read=[first_upper(note) for note in comparison.read],
        rows=len(comparison.y),
        classes=table.class_counts(comparison.y, comparison.classes),
        reading_priors=READING,
        most=MOST_PRIORS,
        paragraph=content.paragraph,
        made=_made(comparison, command),
    )


def text(comparison: Comparison, command: str | None = None, tell: Tell = silent) -> TextReport:
    """Return the report of a comparison without figures; `tell` is told of the checks of each model."""
    content = Content.of(comparison, _Steps(tell, len(comparison.models)))
    judged = content.verdict
    said = [judged.headline, *([_errors(comparison)] if judged.models else []), *judged.findings]
    missing = [
        f"{model} under {listed(rules)}: n/a: {why}" for (model, why), rules in table.failures(comparison).items()
    ]
    said_of_scores = [f"Columns that end in se are {verdict.ERROR}."] if judged.models else []
    parts = [
        Part("Verdict", [*filter(None, said), verdict.DEFINED], table=of_facts(judged.facts)),
        Part("What not to trust here", items=judged.cautions),
        Part("Scores", said_of_scores, items=missing, table=content.scores.map(_rounded)),
    ]
    for name in content.anchors:
        full = first_upper(names.full_name(comparison, name))
        parts.append(Part(full, items=[*map(first_upper, comparison.notes.get(name, ()))]))
        if name in content.diagnoses:
            parts.append(of_priors(content.priors[name], f"{full}: model and priors"))
            parts.append(of_checks(content.diagnoses[name], full))
    if (costs := table.cost_table(comparison)) is not None:
        lines = pd.DataFrame(
            [[name, *values] for name, values in costs["lines"]], columns=["true class", *costs["classes"]]
        )
        rejected = [f"A rejected row costs {costs['reject']}."] if costs["reject"] else []
        parts.insert(3, Part("Costs", ["By true class (lines) and predicted class (columns).", *rejected], table=lines))
    columns = pd.DataFrame([asdict(column) for column in table.column_summaries(comparison.X)])
    parts += [
        Part("Data", items=[*map(first_upper, comparison.read)], table=columns),
        Part("In a paragraph", [content.paragraph]),
    ]
    used = [part for part in parts if part.sentences or part.items or len(part.table)]
    return TextReport(_title(comparison), _size(comparison), used, _made(comparison, command))


class _Steps:
    """Tells of parts of a report as they are done, and hands them on."""

    def __init__(self, tell: Tell, number: int) -> None:
        self._tell, self._number, self._done = tell, number, 0

    def __call__[T](self, what: str, part: T) -> T:
        self._done += 1
        self._tell(what, self._done, self._number)
        return part


@dataclass(frozen=True, eq=False)
class Content:
    """What every form of the report says.

    Attributes
    ----------
    scores
        The table of the comparison.
    diagnoses, priors
        Checks, and what was assumed before any row was seen, of the fits on all rows, by model.
    verdict
        What to conclude.
    anchors
        Of the models' sections, by model, the best one first.
    paragraph
        The report in a few sentences.
    """

    scores: pd.DataFrame
    diagnoses: dict[str, Diagnosis]
    priors: dict[str, Priors]
    verdict: verdict.Verdict
    anchors: dict[str, str]
    paragraph: str

    @classmethod
    def of(cls, comparison: Comparison, done: Callable[[str, Diagnosis], Diagnosis]) -> Content:
        """Check the fits, and gather what there is to say; `done` is told of each fit."""
        scores, labels = comparison.table, comparison.classes[comparison.y]
        diagnoses = {
            name: done(f"checks of {name}", diagnose(fit, comparison.X, labels, checks=CHECKED))
            for name, fit in comparison.fits.items()
        }
        judged = verdict.verdict(comparison, scores, diagnoses)
        order = [model for model in (standing.model for standing in judged.models) if model in comparison.models]
        order += [model for model in comparison.models if model not in order]
        anchors = {model: f"model-{index}" for index, model in enumerate(order, 1)}
        priors = {name: priors_of(fit) for name, fit in comparison.fits.items()}
        paragraph = methods.of_comparison(comparison, judged, priors)
        return cls(scores, diagnoses, priors, judged, anchors, paragraph)


def _rounded(value: Any) -> Any:
    """Return 0 for a number that is 0 but for rounding."""
    return 0.0 if isinstance(value, float) and abs(value) < NEGLIGIBLE else value


def _made(comparison: Comparison, command: str | None) -> list[tuple[str, str]]:
    """Return how the report was made."""
    return document.made(
        command,
        ("Date", comparison.date),
        ("Data", f"{comparison.data or 'a table'}, hash {_hash(comparison)}"),
        ("Folds", _folds(comparison)),
        ("Seed", str(comparison.seed)),
        ("Models", "; ".join(f"{name}: {_as_given(name, fit)}" for name, fit in _fitted(comparison))),
    )


def _as_given(name: str, fit: Any) -> str:
    """Return a classifier as one writes it, without what a comparison gives it: engine, seed, and codes of words."""
    if name == BOOSTING:
        fit = last_step(fit)
    if isinstance(fit, BayesClassifier):
        fit = clone(fit).set_params(random_state=None)
        if isinstance(fit.inference, Auto):
            fit.set_params(inference="auto")
    return " ".join(str(fit).split())


def _fitted(comparison: Comparison) -> list[tuple[str, Any]]:
    """Return the fitted classifiers by name, in the order of the comparison."""
    fitted = {**comparison.fits, **comparison.peers}
    return [(name, fitted[name]) for name in comparison.models if name in fitted]


def _folds(comparison: Comparison) -> str:
    """Say how the rows were split."""
    times = counted(comparison.repeats, "repeat")
    if comparison.splitter:
        return f"{comparison.cv}, {comparison.splitter}; {times}"
    return f"{comparison.cv}, stratified by class; {times}"


def _title(comparison: Comparison) -> str:
    """Say what is predicted, and from which table."""
    return f"Predicting {comparison.target or 'the class'}{f' in {comparison.data}' if comparison.data else ''}"


def _hash(comparison: Comparison) -> str:
    """Return the first digits of a hash of the columns and labels, by which equal tables are recognized."""
    hashed = sha256("\x00".join(map(str, comparison.X.columns)).encode())
    hashed.update(pd.util.hash_pandas_object(comparison.X.astype(object).astype(str), index=False).to_numpy().tobytes())
    hashed.update("\x00".join(map(str, comparison.classes)).encode())
    hashed.update(np.ascontiguousarray(comparison.y, dtype=np.int64).tobytes())
    return hashed.hexdigest()[:12]


def _size(comparison: Comparison) -> str:
    """Say how large the table is, how frequent the classes are, how the rows were split, and when."""
    rows, features = comparison.X.shape
    folds = counted(comparison.cv, "split") if comparison.splitter else f"{comparison.cv}-fold cross-validation"
    if comparison.repeats > 1:
        folds += f", repeated {comparison.repeats} times"
    shares = [f"{label} {share}" for label, _, share in table.class_counts(comparison.y, comparison.classes)]
    classes = f"{counted(len(shares), 'class', 'classes')}: {listed(shares, MOST_CLASSES, ', …')}"
    parts = [counted(rows, "row"), counted(features, "column"), classes, folds, comparison.date]
    return " · ".join(part for part in parts if part)


def _standing_figure(comparison: Comparison, judged: verdict.Verdict) -> Markup | str:
    """Draw the log loss of each model, and of the baseline."""
    if not judged.models:
        return ""
    called = [
        "Baseline: class shares"
        if (standing.model, standing.rule) == BASELINE
        else names.full_name(comparison, standing.model)
        for standing in judged.models
    ]
    return document.svg(
        lambda: draw_standings(judged.models, [first_upper(name) for name in called]),
        "standing",
        "Log loss of each model",
        "Dots from the smallest log loss down; bars are standard errors of the difference, over the rows.",
    )


def _errors(comparison: Comparison) -> str:
    """Name the errors of the recommended entry."""
    counts = confusion(*comparison.stacked(*comparison.best))
    return errors(counts / len(comparison.tested), comparison.classes)


def _scores_figure(scores: pd.DataFrame) -> Markup | str:
    if "log_loss" not in scores:
        return "There are no scores to draw."
    return document.svg(
        lambda: draw_scores(scores, "log_loss"),
        "scores",
        "Log loss of every model under every rule",
        "Dots with standard errors, one row per model and rule; the table below has the numbers.",
    )


def _section(
    comparison: Comparison, name: str, anchor: str, disagreeing: pd.DataFrame, content: Content
) -> dict[str, Any]:
    """Return what the template shows of one model; one that was refused has no figures, only a sentence for each."""
    section = {
        "name": name,
        "full_name": first_upper(names.full_name(comparison, name)),
        "anchor": anchor,
        "engine": "refused",
        "seconds": f"{number(comparison.seconds.get(name, 0.0), 2)} s",
        "notes": comparison.notes.get(name, ()),
        "rules": comparison.rules_of(name),
        "figures": dict.fromkeys(FIGURES, "The model was refused, so there is nothing to show."),
        "rows": (),
        "disagreeing": 0,
        "groups": (),
        "model": (),
        "priors": (),
    }
    if name in comparison.peers:
        peer = type(comparison.peers[name]).__name__
        return section | {
            "engine": f"{peer}, without rules",
            "rules": (),
            "figures": _figures(comparison, name, anchor),
        }
    if name == STACK and comparison.mixture is not None:
        used = sum(weight > 0 for weight in comparison.mixture.weights.values())
        return section | {
            "engine": f"Mixture of {counted(used, 'line')} of this comparison",
            "rules": (),
            "figures": _figures(comparison, name, anchor),
        }
    if name in comparison.left_out:
        reason = next(answer.reason for (model, _), answer in comparison.answers.items() if model == name)
        nothing = dict.fromkeys(FIGURES, "The model was left out, so there is nothing to show.")
        return section | {"engine": "left out", "notes": (reason,), "figures": nothing}
    if name not in content.diagnoses:
        return section
    priors = content.priors[name]
    fit, rows = comparison.fits[name], disagreeing["row"].to_numpy(dtype=int)
    return section | {
        "engine": f"{type(fit).__name__}, {names.engine_name(fit)}",
        "figures": _figures(comparison, name, anchor),
        "rows": _disagreeing_rows(comparison, name, rows[:MOST_DISAGREEMENTS]),
        "disagreeing": len(rows),
        "groups": groups(content.diagnoses[name], f"{anchor}-"),
        "model": priors.model,
        "priors": together(priors.lines),
    }


def _figures(comparison: Comparison, name: str, anchor: str) -> dict[str, Markup | str]:
    """Return the figures of a model's posterior and of its answers, or sentences that say why there are none."""
    fit, rules = comparison.fits.get(name), comparison.rules_of(name)
    found: dict[str, Markup | str] = {
        "reliability": "No rule could answer, so there are no probabilities to judge.",
        "disagreement": "Fewer than two rules could answer, so there is nothing that could disagree.",
        "by_class": "",
        "confusion": "",
        "thresholds": "",
    }
    if fit is None:
        found |= {"disagreement": "", "forest": "It has no posterior of its own.", "trace": ""}

    def add(kind: str, draw: Callable[[], Figure], title: str, text: str) -> None:
        """Add one figure, or the reason that there is none."""
        found[kind] = document.drawn(draw, f"{anchor}-{kind}", title, text)

    if fit is not None:
        add(
            "forest",
            partial(plots.posterior_forest, fit),
            f"Posterior of {name}",
            "Posterior means and intervals of parameters, one panel per quantity, one row per class.",
        )
        add(
            "trace",
            partial(plots.posterior_trace, fit),
            f"Trace of {name}",
            "Draws of each chain in their order; well-mixed chains look alike and show no trend.",
        )
    if rules:
        errors = [f"{rule} {number(reliability(*comparison.stacked(name, rule)).error)}".lstrip(" —") for rule in rules]
        add(
            "reliability",
            partial(plots.reliability, comparison, name),
            f"Reliability of {name}",
            f"Share of right predictions against predicted probability. Calibration errors: {listed(errors)}.",
        )
        add(
            "by_class",
            partial(plots.class_calibration, comparison, name),
            f"Calibration of each class by {name}",
            "Share of held-out rows of a class against its predicted probability, one panel per class.",
        )
        add(
            "confusion",
            partial(plots.confusion, comparison, name),
            f"Confusion of the classes by {name}",
            "Counts of rows by true and predicted class, one panel per rule, shaded by the share of the true class.",
        )
        add(
            "thresholds",
            partial(plots.threshold_curve, comparison, name),
            f"Answers of {name} that pass a threshold",
            "One curve per rule. Left: accuracy against the share of rows that are decided, the least certain rejected "
            "first. Right: net benefit by the largest expected cost.",
        )
    if len(rules) > 1:
        shares = disagreement_shares(comparison, name)
        pairs = zip(*np.triu_indices(len(rules), 1), strict=True)
        said = listed(f"{rules[i]} and {rules[j]} {percent(float(shares[i, j]))}" for i, j in pairs)
        add(
            "disagreement",
            partial(plots.disagreement, comparison, name),
            f"Disagreement between the rules of {name}",
            f"Share of rows decided differently: {said}.",
        )
    return found


def _disagreeing_rows(
    comparison: Comparison, name: str, rows: np.ndarray[Any, np.dtype[np.intp]]
) -> list[dict[str, Any]]:
    """Return rows on which the rules decide differently: number in the user's table, true label, which are right."""
    rules, truth = comparison.rules_of(name), comparison.y[rows]
    places = np.searchsorted(comparison.tested[0], rows)
    decided = [comparison.answers[name, rule].scores[0].log_proba[places].argmax(axis=1) for rule in rules]
    labels = [str(label) for label in comparison.classes]
    return [
        {
            "row": int(number),
            "label": labels[true],
            "answers": [{"label": labels[code], "right": bool(code == true)} for code in codes],
        }
        for number, true, codes in zip(row_numbers(comparison.X, rows), truth, np.transpose(decided), strict=True)
    ]
