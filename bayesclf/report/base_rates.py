"""What the answers would be worth where a class is rarer or more common, as a report shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.diagnostics.held_out import HeldOut
from bayesclf.evaluation.base_rates import RATES, other_base_rates
from bayesclf.wording import number, percent

HEADINGS = ("base rate", "found", "right if named", "accuracy", "log loss", "without a model")
"""Headings of the table."""


@dataclass(frozen=True)
class BaseRates:
    """A line for each base rate, and what the lines mean."""

    caption: str
    lines: list[tuple[str, ...]]
    headings: ClassVar[tuple[str, ...]] = HEADINGS


def of_base_rates(classifier: BayesClassifier, held_out: HeldOut | None, rule: str) -> BaseRates | None:
    """Return what answers to held-out rows would be worth for other base rates of the rarer of two classes.

    None for other than two classes, and where a class lacks rows.
    """
    if held_out is None or len(classifier.classes_) != 2:
        return None
    counts = np.bincount(held_out.y, minlength=2)
    if not (counts.all() and (held_out.base_rates > 0).all()):
        return None
    rarer = int(counts.argmin())
    here = counts[rarer] / counts.sum()
    log_proba = held_out.answered[rule].log_proba
    found = other_base_rates(log_proba, held_out.y, held_out.base_rates, rarer, (here, *RATES))
    lines: list[tuple[str, ...]] = []
    for place, (rate, named, right, accuracy, log_loss, without) in enumerate(found.to_numpy()):
        lines.append(
            (
                percent(rate) + (" (these rows)" if place == 0 else ""),
                percent(named),
                percent(right) if np.isfinite(right) else "none named",
                percent(accuracy),
                number(log_loss),
                number(without),
            )
        )
    caption = (
        f"If {classifier.classes_[rarer]} were rarer or more common, and nothing else changed: held-out rows weighted "
        "by class, their probabilities adjusted to the base rate."
    )
    return BaseRates(caption, lines)
