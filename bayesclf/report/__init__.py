"""Reports: one HTML file that holds everything it shows and requests nothing."""

from __future__ import annotations

import os
from typing import Any

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.comparison import Comparison
from bayesclf.files import write_whole
from bayesclf.report import document

__all__ = ["write_classifier", "write_comparison"]


def write_comparison(comparison: Comparison, path: str | os.PathLike[str], command: str | None = None) -> None:
    """Write the report of a comparison.

    The file appears under its name when it is complete; one that was there before stays whole until then.

    Parameters
    ----------
    comparison
        Result of `bayesclf.compare`.
    path
        File to write, usually ``….html``.
    command
        Command line that made the comparison, to be shown under "How this was made".

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    target = document.writable(path)
    from bayesclf.report.page import render

    write_whole(target, lambda part: part.write_text(render(comparison, command), encoding="utf-8", newline="\n"))


def write_classifier(
    classifier: BayesClassifier,
    path: str | os.PathLike[str],
    X: Any = None,
    y: Any = None,
    command: str | None = None,
) -> None:
    """Write the report of one fitted classifier: its checks, its posterior and, with its rows, its predictions.

    The file appears under its name when it is complete; one that was there before stays whole until then.

    Parameters
    ----------
    classifier
        Fitted.
    path
        File to write, usually ``….html``.
    X, y
        The training rows: a fit keeps its statistics only, and checks that need rows are skipped without them.
    command
        Command line that made the report.

    Raises
    ------
    InputError
        If the file cannot be written, or the rows are not those of the fit.
    """
    target = document.writable(path)
    from bayesclf.report.classifier_page import render

    write_whole(target, lambda part: part.write_text(render(classifier, X, y, command), encoding="utf-8", newline="\n"))
