"""The page of one fitted classifier: its checks, its posterior, its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from bayesclf import plots
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.logistic import LogisticRegression
from bayesclf.classifiers.training import checked_labels
from bayesclf.diagnostics import Diagnosis, Finding, diagnose
from bayesclf.diagnostics.diagnosis import MOST_LINES, TITLES
from bayesclf.diagnostics.finding import Evidence
from bayesclf.errors import Refused
from bayesclf.report import document, figures, table
from bayesclf.report.verdict import in_sentence
from bayesclf.tables.columns import SparseTable
from bayesclf.wording import counted, joined

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Shown:
    """A figure, or a sentence that says why there is none, and how to read it."""

    content: Markup | str
    caption: str


def render(classifier: BayesClassifier, X: Any = None, y: Any = None, command: str | None = None) -> str:
    """Return the page of a fitted classifier; without its training rows `X`, `y` some checks are skipped."""
    diagnosis = diagnose(classifier, X, y)
    name = type(classifier).__name__
    frame = None if X is None else _shown_columns(classifier, X)
    labels = None if frame is None else checked_labels(y, len(frame))
    return document.fill(
        "classifier.html.j2",
        title=name,
        subtitle=_subtitle(classifier, frame),
        headline=headline(diagnosis),
        issues=diagnosis.issues,
        tips=diagnosis.tips,
        notes=classifier.notes_,
        groups=groups(diagnosis),
        figures=_posterior_figures(classifier),
        predictions=[] if X is None else _prediction_figures(classifier, X, labels),
        classes=[] if labels is None else _class_counts(classifier, labels),
        columns=[] if frame is None else table.column_summaries(frame),
        column_count=len(classifier.columns_),
        rows=0 if frame is None else len(frame),
        made=_made(classifier, command),
    )


def _shown_columns(classifier: BayesClassifier, X: Any) -> pd.DataFrame:
    """Return the columns that the classifier uses and the page shows, texts as one; of a sparse table the first."""
    used: pd.DataFrame | SparseTable = classifier.frame(X)
    if isinstance(used, pd.DataFrame):
        return used
    names = used.columns[: table.MOST_COLUMNS]
    sparse_columns: Any = pd.DataFrame.sparse  # whose constructor pandas' type hints lack
    frame: pd.DataFrame = sparse_columns.from_spmatrix(used.cells[:, : len(names)], columns=list(names))
    return frame


def _class_counts(classifier: BayesClassifier, labels: NDArray[Any]) -> list[tuple[str, int, str]]:
    return table.class_counts(np.searchsorted(classifier.classes_, labels), classifier.classes_)


def headline(diagnosis: Diagnosis) -> str:
    """Return what the checks come to, in one sentence."""
    if not diagnosis.issues:
        return (
            f"No issue was found: {counted(len(diagnosis.passed), 'check')} passed"
            + (f", with {counted(len(diagnosis.tips), 'tip')}" if diagnosis.tips else "")
            + (f"; {counted(len(diagnosis.skipped), 'check')} could not be made." if diagnosis.skipped else ".")
        )
    return f"Not to be trusted as it is: {joined(map(_named, diagnosis.issues))}."


def _named(finding: Finding) -> str:
    return f"{in_sentence(finding.title)} ({finding.severity})"


def _subtitle(classifier: BayesClassifier, frame: Any) -> str:
    sizes = [] if frame is None else [counted(len(frame), "row")]
    sizes += [counted(len(classifier.columns_), "column"), counted(len(classifier.classes_), "class", "classes")]
    return " · ".join([*sizes, f"inferred by {classifier.inference_}"])


@dataclass(frozen=True)
class CheckView:
    """One check of a page.

    Attributes
    ----------
    finding
        What it found.
    anchor
        Its place in the page.
    headings, lines
        The evidence, its first lines.
    more
        Lines that are left out.
    """

    finding: Finding
    anchor: str
    headings: tuple[str, ...]
    lines: tuple[tuple[table.Cell, ...], ...]
    more: int


@dataclass(frozen=True)
class CheckGroup:
    """The checks of one section: issues, tips, and so on."""

    title: str
    section: str
    checks: tuple[CheckView, ...]


def groups(diagnosis: Diagnosis, prefix: str = "") -> tuple[CheckGroup, ...]:
    """Return the checks by section, empty sections left out; anchors are the codes, with a prefix."""
    found = (diagnosis.issues, diagnosis.tips, diagnosis.passed, diagnosis.not_applicable, diagnosis.skipped)
    return tuple(
        CheckGroup(title, section, tuple(_view(finding, prefix) for finding in findings))
        for (section, title), findings in zip(TITLES.items(), found, strict=True)
        if findings
    )


def _view(finding: Finding, prefix: str) -> CheckView:
    headings, rows = _evidence(finding.evidence)
    lines = tuple(tuple(table.cell(value) for value in row) for row in rows[:MOST_LINES])
    return CheckView(finding, f"{prefix}{finding.code}", headings, lines, max(0, len(rows) - MOST_LINES))


def _evidence(evidence: Evidence) -> tuple[tuple[str, ...], Sequence[Sequence[object]]]:
    """Return headings and rows; a mapping is one row."""
    if isinstance(evidence, Mapping):
        return tuple(str(name).replace("_", " ") for name in evidence), [list(evidence.values())] if evidence else []
    names = tuple(str(name).replace("_", " ") for name in evidence)
    return names, [list(row) for row in evidence.itertuples(index=False)]


def _posterior_figures(classifier: BayesClassifier) -> list[Shown]:
    """Return the figures of the posterior, as far as it has them."""
    return _drawn(
        (
            "forest",
            partial(plots.posterior_forest, classifier),
            "Posterior means and intervals of parameters",
            "Means and intervals given the model; each panel has its own unit.",
        ),
        (
            "weights",
            partial(_weights, classifier),
            "Posterior of logistic weights",
            "Log-odds per standard deviation of a column, own or implied, with posterior intervals.",
        ),
        (
            "trace",
            partial(plots.posterior_trace, classifier),
            "Draws of each chain in their order",
            "Chains of draws: alike and without trend where the sampler has converged.",
        ),
        (
            "rank",
            partial(plots.posterior_rank, classifier),
            "Ranks of each chain's draws among all",
            "Level within the band where the chains agree.",
        ),
        (
            "energy",
            partial(plots.energy, classifier),
            "Energy of the draws and its changes",
            "Alike in width where the sampler reaches the tails.",
        ),
    )


def _weights(classifier: BayesClassifier) -> Figure:
    """Draw logistic weights, of logistic regression; other classifiers are refused."""
    if not isinstance(classifier, LogisticRegression):
        raise Refused("")
    return plots.posterior_weights(classifier)


def _prediction_figures(classifier: BayesClassifier, X: Any, y: Any) -> list[Shown]:
    """Return figures of replicated labels and of the entropy of predictions."""
    return _drawn(
        (
            "replicated",
            lambda: plots.predictive_counts(classifier.predictive_check(X, y)),
            "Class counts of replicated data sets and of the rows",
            "The observed counts lie among the replicated ones where the model can make data like these.",
        ),
        (
            "entropy",
            lambda: plots.uncertainty(classifier, X, y),
            "Entropy of predictions, aleatoric and epistemic",
            "Epistemic entropy is what more rows would remove, given the model.",
        ),
    )


def _drawn(*wanted: tuple[str, Callable[[], Figure], str, str]) -> list[Shown]:
    """Draw what can be drawn; a refusal without a sentence is left out, one with a sentence is shown once."""
    shown: list[Shown] = []
    for name, draw, title, caption in wanted:
        content = figures.drawn(draw, name, title, caption)
        if isinstance(content, Markup):
            shown.append(Shown(content, caption))
        elif content and all(content != other.content for other in shown):
            shown.append(Shown(content, ""))
    return shown


def _made(classifier: BayesClassifier, command: str | None) -> list[tuple[str, str]]:
    """Return what is needed to make the fit again."""
    return document.made(
        command,
        ("Classifier", " ".join(str(classifier).split())),
        ("Inference", str(classifier.inference_)),
        ("Seed", str(classifier.seed_)),
    )
