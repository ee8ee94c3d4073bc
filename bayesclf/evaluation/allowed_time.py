"""The fits of a comparison within the time that is allowed: a model slower than was expected is left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bayesclf.evaluation.cross_validation import Evaluation, Question, Split
from bayesclf.evaluation.forecast import Forecast, Limits, of_comparison
from bayesclf.progress import Progress, shown
from bayesclf.typing import Integers
from bayesclf.wording import duration

type Unit = tuple[str, int]
"""A model and the number of a fold, or −1 for its fit on all rows."""

SLACK = 1.1
"""Times the allowed time that a comparison may seem to take before a model is left out for it."""


def planned(
    models: Mapping[str, Any],
    table: tuple[Any, Integers, Any],
    splits: Sequence[Split],
    question: Question,
    seed: int,
    limits: Limits,
    progress: Progress,
) -> tuple[AllowedTime, dict[Unit, Any]]:
    """Return the forecast of a comparison, which is held to, and the folds that were made for it."""
    begun = time.perf_counter()
    with shown("estimating the time", None, progress):
        ahead, tried = of_comparison(models, table, splits, question, seed, limits)
    allowed = AllowedTime(ahead, limits, len(splits) + 1, begun)
    return allowed, {(name, 0): answers for name, answers in tried.items()}


@dataclass
class AllowedTime:
    """Watches over the time of a comparison while its fits are made.

    Attributes
    ----------
    ahead
        What was expected; `left_out` gains the models that were too slow.
    limits
        Processes, and the seconds allowed.
    units
        Fits of each model.
    begun
        When the comparison began, by the clock.
    clock
        Returns the seconds.
    """

    ahead: Forecast
    limits: Limits
    units: int
    begun: float
    clock: Callable[[], float] = time.perf_counter

    def results(
        self, run: Callable[[list[Unit]], Generator[tuple[Unit, Any]]], waiting: Sequence[Unit]
    ) -> Generator[tuple[Unit, Any]]:
        """Yield units with their results, as `run` makes them; those of a model that is left out are not made.

        Of several models the one with most work left is given up as soon as all of it seems to take beyond `SLACK`
        times the allowed seconds, by the folds so far or, for a model without any, by the forecast.
        """
        left, took = list(waiting), dict[str, list[float]]()
        while left:
            made = run(list(left))
            for unit, result in made:
                left.remove(unit)
                if isinstance(result, Evaluation):
                    took.setdefault(unit[0], []).append(result.seconds)
                yield unit, result
                if slow := self._too_slow(left, took):
                    self._leave_out(slow, took.get(slow, []))
                    left = [unit for unit in left if unit[0] != slow]
                    break
            made.close()

    def _too_slow(self, left: Sequence[Unit], took: dict[str, list[float]]) -> str:
        """Return the model to give up; empty where the others fit, or it is the last."""
        allowed = self.limits.max_seconds
        if allowed is None or not left or len(self.ahead.seconds) < 2:
            return ""
        work = dict[str, float]()
        for name, _ in left:
            each = float(np.mean(took[name])) if name in took else self.ahead.seconds[name] / self.units
            work[name] = work.get(name, 0.0) + each
        expected = self.clock() - self.begun + sum(work.values()) / self.limits.processes
        return max(work, key=lambda name: work[name]) if expected > SLACK * allowed else ""

    def _leave_out(self, name: str, took: Sequence[float]) -> None:
        """Take a model out of what is expected, with the reason."""
        assert self.limits.max_seconds is not None
        pace = f"a fold took {duration(float(np.mean(took)))}" if took else "the others took longer than expected"
        reason = (
            f"it was left out after {len(took)} of its folds, as {pace} and {duration(self.limits.max_seconds)} are "
            "allowed in all; allow more, or take fewer folds, rules or rows"
        )
        seconds = {other: time for other, time in self.ahead.seconds.items() if other != name}
        self.ahead = replace(self.ahead, seconds=seconds, left_out={**self.ahead.left_out, name: reason})
