"""A comparison in the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.console import Console

from bayesclf.cli.console import wrapped
from bayesclf.engines.inference import ENGINES
from bayesclf.evaluation.score_table import BASELINE, mean
from bayesclf.report.facts import area_under_roc
from bayesclf.report.tree import plain
from bayesclf.report.verdict import NOTHING, defined, overview, verdict
from bayesclf.wording import duration, printable

if TYPE_CHECKING:
    from bayesclf.classifiers import BayesClassifier
    from bayesclf.cli.inputs import Training
    from bayesclf.diagnostics import Diagnosis, Finding
    from bayesclf.evaluation.comparison import Comparison

OF_COLUMNS = ("M07", "M08", "M09")
"""Checks that are about the columns, not about a model."""

Record = dict[Any, Any]


def show_comparison(
    console: Console, comparison: Comparison, diagnoses: Mapping[str, Diagnosis], seconds: float
) -> None:
    """Print what a comparison shows of itself, its notes, the verdict and the time taken.

    Parameters
    ----------
    console
        The terminal.
    comparison
        The comparison; at least one rule has an answer.
    diagnoses
        As `bayesclf.report.verdict.checks_of_fits` returns them.
    seconds
        Time that the command took.
    """
    display, said = overview(comparison), verdict(comparison, diagnoses)
    scores = replace(display, sentences=())  # the verdict says more
    console.print(scores.text(console.width, most_lines=None), soft_wrap=True)
    sentences = [f"{models}: {note}" for models, note in _notes(comparison)]
    sentences.append(" ".join([said.headline, *said.findings]))
    if said.next_step and not said.useful:
        sentences.append(f"Next: {said.next_step}.")
    sentences += ["What not to trust here:", *(f"- {caution}" for caution in said.cautions or (NOTHING,))]
    sentences += [
        f"{one.finding.code} {one.finding.title}: {one.finding.reason}; {one.finding.next_step}."
        for one in findings_of(diagnoses)
        if one.finding.code in OF_COLUMNS and one.finding.section == "tip"  # issues are among what not to trust
    ]
    for sentence in [*sentences, defined(comparison), _time(comparison, seconds)]:
        console.print(wrapped(printable(sentence), console.width), soft_wrap=True)


@dataclass(frozen=True)
class Found:
    """An issue or a tip, and the models that have it; the words are the first model's."""

    finding: Finding
    models: list[str]


def findings_of(diagnoses: Mapping[str, Diagnosis]) -> list[Found]:
    """Return the issues and tips of the checks of the fits on all rows, each once."""
    found: dict[str, Found] = {}
    for model, diagnosis in diagnoses.items():
        for one in (*diagnosis.issues, *diagnosis.tips):
            found.setdefault(one.code, Found(one, [])).models.append(model)
    return [found[code] for code in sorted(found)]


def engine_name(classifier: BayesClassifier) -> str:
    """Return the name of the engine that fitted a classifier."""
    return next(name for name, cls in ENGINES.items() if isinstance(classifier.inference_, cls))


def _notes(comparison: Comparison) -> list[tuple[str, str]]:
    """Return each note once, with its models."""
    models: dict[str, list[str]] = {}
    for model, notes in comparison.notes.items():
        for note in notes:
            models.setdefault(note, []).append(model)
    return [(", ".join(names), note) for note, names in models.items()]


def _time(comparison: Comparison, seconds: float) -> str:
    engines = {model: f", {engine_name(fit)}" for model, fit in comparison.fits.items()}
    folds = ", ".join(
        f"{duration(spent)} ({model}{engines.get(model, '')})" for model, spent in comparison.seconds.items()
    )
    splits = f"{comparison.cv} folds" + (f", {comparison.repeats} times" if comparison.repeats > 1 else "")
    return f"{duration(seconds)} in all; {splits}, seed {comparison.seed}; a fold took {folds}."


def comparison_json(comparison: Comparison, diagnoses: Mapping[str, Diagnosis], training: Training) -> str:
    """Return all results of a comparison as JSON.

    Undefined numbers are null; infinite ones the strings "inf" and "-inf". Times are left out, so that the same command
    on the same machine writes the same text.
    """
    table = comparison.table
    said = verdict(comparison, diagnoses)
    labels = enumerate(comparison.classes)
    area = dict(zip(("auc", "auc_se"), area_under_roc(comparison, comparison.best), strict=True))
    shares = {"accuracy": 1 - mean(comparison, BASELINE, "error"), "log_loss": mean(comparison, BASELINE, "log_loss")}
    document = {
        "rows": len(training.y),
        "labels": [{"label": str(label), "rows": (comparison.y == code).sum()} for code, label in labels],
        "read": comparison.read,
        "columns": training.columns.to_dict("records"),
        "engines": {model: engine_name(classifier) for model, classifier in comparison.fits.items()},
        "table": table.to_dict("records"),
        "best": {**dict(zip(("model", "rule"), comparison.best, strict=True)), **area, "useful": said.useful},
        "baseline": shares,
        "folds": {"cv": comparison.cv, "repeats": comparison.repeats, "seed": comparison.seed},
        "verdict": [said.headline, *said.findings],
        "cautions": said.cautions,
        "notes": comparison.notes,
        "checks": [_check(one) for one in findings_of(diagnoses)],
    }
    return json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _check(one: Found) -> Record:
    """Return a finding without the numbers behind it, which the report has."""
    said = {name: getattr(one.finding, name) for name in ("code", "title", "severity", "reason", "next_step")}
    return {**said, "models": one.models}
