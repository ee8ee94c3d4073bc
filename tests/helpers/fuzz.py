"""What may come out of a call, whatever goes in: an answer, or one sentence; and how often that is tried.

The exceptions of the package are allowed, each with one line of text, and scikit-learn's `NotFittedError` from a
classifier that is not fitted, as its documentation of estimators wants it. Warnings are those of the package, and two
of scikit-learn's contract. All else fails, whatever it is: another library's exception or warning, or one of Python's.
"""

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from sklearn.exceptions import NotFittedError

from bayesclf import errors

OF_SCIKIT_LEARN = "X (has feature names|does not have valid feature names)|A column-vector y was passed"
"""The warnings that scikit-learn's contract of estimators wants: for names that are lacking, and a column of labels."""
ALLOWED = (errors.InputError, errors.DoesNotExist, errors.Refused, NotFittedError)
WARNINGS = (errors.ConvergenceWarning, errors.PredictionWarning)
LONGEST_SENTENCE = 2_000
"""Characters: a message may list columns, levels or reasons, but not the table."""


@dataclass(frozen=True)
class Refusal:
    """The sentence that a call was refused with."""

    kind: str
    sentence: str


def answer(call: Callable[[], Any]) -> Any:
    """Return what a call returns, or its `Refusal`; anything else than one of these fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in WARNINGS:
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", OF_SCIKIT_LEARN)
        try:
            return call()
        except ALLOWED as error:
            check_sentence(str(error))
            return Refusal(type(error).__name__, str(error))


def check_sentence(text: str) -> None:
    """Check that a message is one line of some length, without characters that steer a terminal."""
    assert text.strip(), "a refusal without a word"
    assert "\n" not in text, text
    assert len(text) <= LONGEST_SENTENCE, text


@dataclass
class Effort:
    """How many examples one test tries, from which seed, and what came of them."""

    name: str
    examples: int
    seed: int
    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def settings(self) -> settings:
        """Return the settings of Hypothesis: so many examples, the same at each run, and none kept."""
        return settings(
            max_examples=self.examples,
            derandomize=False,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )

    def explore(self, check: Callable[..., Any], **strategies: Any) -> None:
        """Run `check` on examples of the strategies, the same at each run; it returns a word for what happened."""

        @seed(self.seed)
        @self.settings
        @given(**strategies)
        def tried(**values: Any) -> None:
            self.outcomes[check(**values)] += 1

        tried()


def efforts(short: int, ci: int, full: int, parts: int = 4) -> pytest.MarkDecorator:
    """Return the examples of a test: few, more in a slow test, and all of them nightly, in `parts` for processes."""
    sample = [pytest.param(short, 0, id="short"), pytest.param(ci, 1, marks=pytest.mark.slow, id="sample")]
    share = -(-full // parts)
    whole = [pytest.param(share, 2 + part, marks=pytest.mark.nightly, id=f"full{part}") for part in range(parts)]
    return pytest.mark.parametrize(("examples", "seed"), [*sample, *whole])
