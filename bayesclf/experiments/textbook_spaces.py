"""The finite hypothesis spaces of the textbooks, and what MAP and Bayes-optimal answer on them."""

from __future__ import annotations

import numpy as np

from bayesclf.experiments.experiment import Record
from bayesclf.hypotheses import FiniteSpace
from bayesclf.typing import Array

SIGNS = ("+", "−")

THRESHOLDS = 5
"""Hypotheses of the version space: h_t says + from x = t on, t = 0, …; it is told that x = 0 is − and x = 3 is +."""

DISAGREED = (1, 2)
"""Values of x about which the consistent thresholds disagree."""


def answers() -> list[Record]:
    """Return what was asked of each example, the answer, its probability and the textbook's."""
    return [*_three_hypotheses(), *_weather(), *_version_space()]


def three_hypotheses() -> FiniteSpace:
    """Return Aberdeen's example: P(h | D) = (.4, .3, .3), h1 says +, the others −."""
    plus, minus = [[1.0, 0.0]], [[0.0, 1.0]]
    return FiniteSpace(("h1", "h2", "h3"), SIGNS, (0.4, 0.3, 0.3), [plus, minus, minus])


def weather() -> FiniteSpace:
    """Return rain and dry as hypotheses, equally probable before anything is seen."""
    return FiniteSpace(("rain", "dry"), ("rain", "dry"), (0.5, 0.5), [[[1, 0]], [[0, 1]]])


WEATHER = {"a cloudy day in spring": (0.1, 0.5), "a fine day otherwise": (0.001, 0.9)}
"""P(seen | rain), P(seen | dry)."""


def version_space() -> FiniteSpace:
    """Return the thresholds that agree with − at x = 0 and + at x = 3, each as probable."""
    x = np.arange(THRESHOLDS)
    plus = (x >= x[:, None]).astype(float)
    space = FiniteSpace(tuple(f"h{t}" for t in x), SIGNS, np.full(THRESHOLDS, 1 / THRESHOLDS), binary(plus))
    return space.version_space((plus[:, 0] == 0) & (plus[:, 3] == 1))


def binary(plus: Array) -> Array:
    """Return P(y | x, h), (hypothesis, x, outcome), from P(+ | x, h)."""
    return np.stack([plus, 1 - plus], axis=-1)


def _example(example: str, asked: str, answer: str, probability: float, textbook: float) -> Record:
    about = {"part": "example", "example": example, "asked": asked}
    return {**about, "answer": answer, "probability": probability, "textbook": textbook}


def _three_hypotheses() -> list[Record]:
    """Ask MAP and Bayes-optimal; MAP's probability is that of its hypothesis."""
    space, name = three_hypotheses(), "three hypotheses"
    probability = float(space.proba("bayes-optimal", 0).max())
    return [
        _example(name, "map", space.answers("map", 0)[0], space.posterior[space.map], 0.4),
        _example(name, "bayes-optimal", space.answers("bayes-optimal", 0)[0], probability, 0.6),
    ]


def _weather() -> list[Record]:
    """Ask for rain after what was seen."""
    found = []
    for (seen, likelihood), textbook in zip(WEATHER.items(), (1 / 6, 1 / 901), strict=True):
        space = weather().update(likelihood)
        found.append(_example("weather", f"rain, {seen}", space.map, space.posterior["rain"], textbook))
    return found


def _version_space() -> list[Record]:
    """Ask the Bayes-optimal classifier of the version space for + at each x; h1, h2, h3 are consistent."""
    space, x = version_space(), np.arange(THRESHOLDS)
    proba, answers = space.proba("bayes-optimal", x)[:, 0], space.answers("bayes-optimal", x)
    shares = (0, 1 / 3, 2 / 3, 1, 1)
    return [
        _example("version space", f"bayes-optimal, + at x = {place}", answer, float(plus), share)
        for place, answer, plus, share in zip(x, answers, proba, shares, strict=True)
    ]
