"""How far the answers would move under other samples, and what more rows would give, as a report shows it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from scipy import sparse

from bayesclf import plots
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.given import is_given
from bayesclf.diagnostics.held_out import HeldOut
from bayesclf.errors import DoesNotExist, InputError, PredictionWarning, Refused
from bayesclf.evaluation.instability import Instability, instability
from bayesclf.evaluation.leave_one_out.refits import conjugate
from bayesclf.evaluation.leave_one_out.training import training_rows
from bayesclf.evaluation.more_rows import HALVINGS, MoreRows, more_rows
from bayesclf.report import figures
from bayesclf.wording import duration, first_upper

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REFITS = 25
"""Resampled tables of a report: their mean is known well enough for a sentence."""

FOLDS = 5
"""Of the learning curve."""

NOT_REPEATABLE = (
    "Other samples and more rows are not looked at: that needs the rows in a dense table, each with a label and "
    "counting once, and a posterior that other rows would give again rather than given draws."
)
"""What is said where refits were requested and cannot be made."""

QUICK_CELLS = 30_000
"""Rows × columns × classes up to which a model in closed form is fitted again without being told to, in seconds."""

MEANING = (
    "The posterior says how uncertain a probability is if the model is true; fits to other samples say how it varies "
    "with the rows, whether the model is true or not. Where these move further than the posterior allows, it "
    "understates how much an answer depends on the rows."
)
"""What instability is."""

ERROR = (
    "The curve is a power law from fits to parts of the rows; where it is noisy, the expected gain is too large, in a "
    "simulation up to 1.4 times the true one, which the intervals held."
)
"""How wrong a continued learning curve is."""


@dataclass(frozen=True, eq=False)
class OtherSamples:
    """What refits told.

    Attributes
    ----------
    sentences
        What was found and what it means, or why nothing was.
    moved, more
        The results; None where there is none.
    """

    sentences: tuple[str, ...]
    moved: Instability | None = None
    more: MoreRows | None = None

    def drawn(self) -> list[tuple[Markup | str, str]]:
        """Return the figures with their captions."""
        found: list[tuple[Markup | str, str]] = []
        moved, more = self.moved, self.more
        if moved is not None:
            found.append(
                _drawn(
                    lambda: plots.instability(moved),
                    "instability",
                    "Probabilities under other samples, by refits and by the posterior",
                    "Each row's interval over refits and over the posterior, by its probability under all rows.",
                )
            )
        if more is not None:
            found.append(
                _drawn(
                    lambda: plots.more_rows(more),
                    "more-rows",
                    "Log loss by training rows, and its continuation",
                    "Observed log loss, and with more rows the expected one with its interval; the bracket is what the "
                    "same continuation expected from a quarter of the rows.",
                )
            )
        return found


def of_other_samples(
    classifier: BayesClassifier, X: Any, y: Any, held_out: HeldOut | None, rule: str, refits: bool | None
) -> OtherSamples | None:
    """Fit a classifier again, to resampled tables and to parts of the rows.

    None without training rows, and for fits that other rows of the table would not repeat: with weights, or with rows
    that have no label.

    Parameters
    ----------
    classifier
        Fitted.
    X, y
        Its training rows.
    held_out
        Answers to held-out rows.
    rule
        That the answers are of.
    refits
        Whether to do it; None where it is quick, see `quick`, else what it would take is said.
    """
    if held_out is None or refits is False:
        return None
    if not _repeatable(classifier, X, y):
        return OtherSamples((NOT_REPEATABLE,)) if refits else None
    if refits is None and not quick(classifier, len(held_out.y)):
        return OtherSamples((_offer(held_out.seconds),))
    sentences: list[str] = []
    moved = _tried(
        lambda: instability(classifier, X, y, rule, refits=REFITS, random_state=classifier.seed_),
        "how far the answers would move under other samples",
        sentences,
    )
    if moved is not None:
        sentences += [f"{first_upper(moved.sentence)}.", MEANING]
    more = _tried(
        lambda: more_rows([classifier], X, y, [rule], cv=FOLDS, random_state=classifier.seed_),
        "what more rows would give",
        sentences,
    )
    if more is not None and more.table["log_loss"].isna().all():
        sentences.append(f"What more rows would give cannot be said: {more.table['reason'].iloc[0]}.")
        more = None
    if more is not None:
        sentences += [f"{first_upper(more.sentence())}.", ERROR]
    return OtherSamples(tuple(sentences), moved, more)


def quick(classifier: BayesClassifier, rows: int) -> bool:
    """Return whether a classifier can be fitted again and again in seconds: in closed form, to a small table.

    Texts are not counted on, as a column of them may have any number of words.
    """
    cells = rows * len(classifier.columns_) * len(classifier.classes_)
    texts = any(column.kind == "text" for column in classifier.columns_)
    return conjugate(classifier.model_) and cells <= QUICK_CELLS and not texts


def _repeatable(classifier: BayesClassifier, X: Any, y: Any) -> bool:
    """Return whether rows are those of a fit without weights, all labeled, in a dense table, that has its own draws."""
    unlabeled: int = getattr(classifier.model_, "unlabeled", 0)
    if X is None or sparse.issparse(X) or unlabeled or is_given(classifier):
        return False
    try:
        training_rows(classifier, X, y)
    except InputError:
        return False
    return True


def _offer(seconds: float) -> str:
    """Say what the refits would take, from the seconds of one."""
    fits = REFITS + 1 + FOLDS * (HALVINGS + 1)
    takes = f" of about {duration(seconds)} each, {duration(fits * seconds)} in all" if np.isfinite(seconds) else ""
    return (
        "How far the answers would move under other samples, and what more rows would give, was not computed. It takes "
        f"{fits} fits{takes}: report(…, refits=True), on the command line --refits."
    )


def _tried[T](work: Callable[[], T], what: str, sentences: list[str]) -> T | None:
    """Return the result of some work, or None, and why in a further sentence."""
    try:
        with warnings.catch_warnings():
            # A level or word that only a part of the rows has is to be expected.
            warnings.simplefilter("ignore", PredictionWarning)
            return work()
    except (Refused, DoesNotExist, InputError) as reason:
        sentences.append(f"{first_upper(what)} cannot be said: {reason}.")
        return None


def _drawn(draw: Callable[[], Figure], name: str, title: str, caption: str) -> tuple[Markup | str, str]:
    """Return a figure and its caption."""
    return figures.drawn(draw, name, title, caption), caption
