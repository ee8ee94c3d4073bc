"""The page of one fitted classifier: its checks, its posterior, its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from bayesclf import plots
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.logistic import LogisticRegression
from bayesclf.classifiers.training import checked_labels
from bayesclf.diagnostics import Diagnosis, Finding, diagnose
from bayesclf.diagnostics.diagnosis import MOST_LINES, TITLES
from bayesclf.diagnostics.finding import as_table
from bayesclf.report import document, figures, table
from bayesclf.report.verdict import in_sentence
from bayesclf.tables.columns import SparseTable
from bayesclf.wording import counted, joined

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTIONS = {
    "forest": (
        "Posterior means and intervals of parameters",
        "Means and intervals given the model; each panel has its own unit.",
    ),
    "weights": (
        "Posterior of logistic weights",
        "Log-odds per standard deviation of a column, own or implied, with posterior intervals.",
    ),
    "trace": (
        "Draws of each chain in their order",
        "Chains of draws: similar and without trend where the sampler has converged.",
    ),
    "rank": ("Ranks of each chain's draws among all", "Level within the band where the chains agree."),
    "energy": ("Energy of the draws and its changes", "Similar widths where the sampler reaches the tails."),
    "replicated": (
        "Class counts of replicated data sets and of the rows",
        "The observed counts lie among the replicated ones where the model can generate data like these.",
    ),
    "entropy": (
        "Entropy of predictions, aleatoric and epistemic",
        "Epistemic entropy is what more rows would remove, given the model.",
    ),
}
"""Title and caption of each figure."""


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
        classes=[]
        if labels is None
        else table.class_counts(np.searchsorted(classifier.classes_, labels), classifier.classes_),
        columns=[] if frame is None else table.column_summaries(frame),
        column_count=len(classifier.columns_),
        rows=0 if frame is None else len(frame),
        made=document.made(
            command,
            ("Classifier", " ".join(str(classifier).split())),
            ("Inference", str(classifier.inference_)),
            ("Seed", str(classifier.seed_)),
        ),
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


def headline(diagnosis: Diagnosis) -> str:
    """Summarize the checks in one sentence."""
    if not diagnosis.issues:
        return (
            f"No issue was found: {counted(len(diagnosis.passed), 'check')} passed"
            + (f", with {counted(len(diagnosis.tips), 'tip')}" if diagnosis.tips else "")
            + (f"; {counted(len(diagnosis.skipped), 'check')} could not be run." if diagnosis.skipped else ".")
        )
    named = (f"{in_sentence(finding.title)} ({finding.severity})" for finding in diagnosis.issues)
    return f"Not to be trusted as it is: {joined(named)}."


def _subtitle(classifier: BayesClassifier, frame: Any) -> str:
    sizes = [] if frame is None else [counted(len(frame), "row")]
    sizes += [counted(len(classifier.columns_), "column"), counted(len(classifier.classes_), "class", "classes")]
    return " · ".join([*sizes, f"inferred by {classifier.inference_}"])


def groups(diagnosis: Diagnosis, prefix: str = "") -> list[dict[str, Any]]:
    """Return the checks by section, empty sections left out; anchors are the codes, with a prefix."""
    found = (diagnosis.issues, diagnosis.tips, diagnosis.passed, diagnosis.not_applicable, diagnosis.skipped)
    return [
        {"title": title, "section": section, "checks": [_check(finding, prefix) for finding in findings]}
        for (section, title), findings in zip(TITLES.items(), found, strict=True)
        if findings
    ]


def _check(finding: Finding, prefix: str) -> dict[str, Any]:
    """Return what the template shows of one check: what it found, and the first rows of its evidence."""
    evidence = as_table(finding.evidence)
    lines = evidence.head(MOST_LINES).itertuples(index=False, name=None)
    return {
        "finding": finding,
        "anchor": f"{prefix}{finding.code}",
        "headings": [str(name).replace("_", " ") for name in evidence],
        "lines": [[table.cell(value) for value in line] for line in lines],
        "more": max(0, len(evidence) - MOST_LINES),
    }


def _posterior_figures(classifier: BayesClassifier) -> list[tuple[Markup | str, str]]:
    """Return the figures of the posterior, as far as it has them."""
    wanted: dict[str, Callable[..., Figure]] = {"forest": plots.posterior_forest}
    if isinstance(classifier, LogisticRegression):
        wanted["weights"] = plots.posterior_weights
    wanted |= {"trace": plots.posterior_trace, "rank": plots.posterior_rank, "energy": plots.energy}
    return _drawn({name: partial(draw, classifier) for name, draw in wanted.items()})


def _prediction_figures(classifier: BayesClassifier, X: Any, y: Any) -> list[tuple[Markup | str, str]]:
    """Return figures of replicated labels and of the entropy of predictions."""
    return _drawn(
        {
            "replicated": lambda: plots.predictive_counts(classifier.predictive_check(X, y)),
            "entropy": lambda: plots.uncertainty(classifier, X, y),
        }
    )


def _drawn(wanted: Mapping[str, Callable[[], Figure]]) -> list[tuple[Markup | str, str]]:
    """Draw what can be drawn, and return it with its captions.

    A refusal without a sentence is left out; the sentence of several is shown once.
    """
    shown: list[tuple[Markup | str, str]] = []
    for name, draw in wanted.items():
        title, caption = CAPTIONS[name]
        content = figures.drawn(draw, name, title, caption)
        caption = caption if isinstance(content, Markup) else ""
        if content and (content, caption) not in shown:
            shown.append((content, caption))
    return shown
