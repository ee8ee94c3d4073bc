"""Reports: one self-contained HTML file that makes no requests, or the same without figures as Markdown or JSON."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.inputs import checked_labels
from bayesclf.constraints import OrNone, Text, require
from bayesclf.errors import InputError
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.leave_one_out import NEEDED, training_rows
from bayesclf.files import write_whole
from bayesclf.progress import Progress, shown
from bayesclf.report import document
from bayesclf.report.tree import Report, html, markdown, to_json

__all__ = ["write_classifier", "write_comparison"]

FORMS: dict[str, Callable[[Report], str]] = {".md": markdown, ".json": to_json}
"""How a report is written, by the end of the file's name; as a page of HTML under any other name."""


def write_comparison(
    comparison: Comparison,
    path: str | os.PathLike[str],
    progress: Progress = None,
    *,
    command: str | None = None,
    next_command: str | None = None,
) -> None:
    """Write the report of a comparison.

    The write is atomic: an existing file is replaced only once the new one is complete.

    Parameters
    ----------
    comparison : Comparison
        Result of `bayesclf.compare`.
    path : str or path
        File to write: ``….md`` for Markdown and ``….json`` for JSON, both without figures; HTML under any other name.
    progress : bool, callable or None
        Whether to show progress; or a function that is called with what is being done, steps done and steps in all.
        None shows it in a notebook, and where stderr is a terminal.
    command : str or None
        Command line that made the comparison, to be shown under "How this was made".
    next_command : str or None
        Command line that comes next, to be shown at the verdict; by default a call in Python.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    require(OrNone(Text()), command=command, next_command=next_command)
    target = document.writable(path)
    from bayesclf.report import page

    with shown("report", len(comparison.fits), progress) as tell:
        _write(page.tree(comparison, command, tell, next_command), target)


def write_classifier(
    classifier: BayesClassifier,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    progress: Progress = None,
    *,
    command: str | None = None,
    next_command: str | None = None,
    data: str = "",
) -> None:
    """Write the report of one fitted classifier: its checks, its posterior and, with its rows, its predictions.

    The write is atomic: an existing file is replaced only once the new one is complete.

    Parameters
    ----------
    classifier : BayesClassifier
        Fitted.
    path : str or path
        File to write: ``….md`` for Markdown and ``….json`` for JSON, both without figures; HTML under any other name.
    X, y
        The training rows, in any order: a fit keeps its statistics only, and without rows some checks are undecided.
        For a fit with sample weights, repeat a row of weight w w times; where weights were not whole numbers,
        give the rows as they are.
    progress : bool, callable or None
        Whether to show progress; or a function that is called with what is being done, checks done and checks in all.
        None shows it in a notebook, and where stderr is a terminal.
    command : str or None
        Command line that made the report.
    next_command : str or None
        Command line that comes next; by default a call in Python.
    data : str
        Name of the table, for the methods.

    Raises
    ------
    InputError
        If the file cannot be written, or the rows are not those of the fit.
    """
    written_report(classifier, path, X, y, progress, command, next_command, data)


def written_report(
    classifier: BayesClassifier,
    path: str | os.PathLike[str],
    X: Any,
    y: Any,
    progress: Progress,
    command: str | None,
    next_command: str | None,
    data: str,
) -> Report:
    """Write the report of a classifier, and return it."""
    check_is_fitted(classifier, "classes_")
    require(OrNone(Text()), command=command, next_command=next_command)
    require(Text(), data=data)
    target = document.writable(path)
    if X is not None and y is not None:
        _require_training_rows(classifier, X, y)
    from bayesclf.report import classifier_page as page

    with shown("report", None, progress):
        report = page.tree(classifier, X, y, command, next_command, data)
        _write(report, target)
    return report


def _write(report: Report, target: Path) -> None:
    """Write a report whole, in the form that the file's name says."""
    said = FORMS.get(target.suffix.lower(), html)(report)
    write_whole(target, lambda part: part.write_text(said, encoding="utf-8", newline="\n"))


def _require_training_rows(classifier: BayesClassifier, X: Any, y: Any) -> None:
    """Raise for rows other than those of the fit, unless the fit had weights that repeating rows cannot express."""
    try:
        training_rows(classifier, X, y)
    except InputError as reason:
        if not _weighted(classifier, checked_labels(y, np.size(y))):
            needed = "a report needs the training rows, with a row of weight 2 given twice"
            raise InputError(str(reason).replace(NEEDED, needed)) from None


def _weighted(classifier: BayesClassifier, y: NDArray[Any]) -> bool:
    """Return whether weights are not whole numbers, or balance the classes of the labels `y` (row)."""
    model: Any = classifier.model_
    if not model.generative:
        weight = model.sample_weight if len(model.sample_weight) else model.label_counts
        return bool((weight % 1 != 0).any())
    sums, counts = model.label_counts, np.unique(y, return_counts=True)[1]
    balanced = sums.sum() == counts.sum() and np.ptp(sums) == 0 and np.ptp(counts) > 0
    return bool((sums % 1 != 0).any() or balanced)
