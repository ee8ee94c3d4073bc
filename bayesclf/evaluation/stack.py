"""The stack of a comparison: its lines mixed by the weights that score best on held-out rows.

The out-of-fold answers of a comparison are all that is needed, so that a stack costs no further fit.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesclf.arrays import Array, Integers
from bayesclf.constraints import Instance, require
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation.cross_validation import Answers, pooled, scored
from bayesclf.evaluation.leave_one_out import stacking_weights
from bayesclf.evaluation.peers import NO_RULE, line_name
from bayesclf.evaluation.score_table import HeldOut, Key
from bayesclf.evaluation.scores import RowScores
from bayesclf.wording import joined

STACK = "stack"
"""The name of the stack among the models of a comparison."""

DRAWN = "its probabilities are those of one drawn hypothesis for each row, and have no log score"

NESTING = (
    "each fold is scored with weights learned from the answers to the rows outside it; the models that gave these "
    "answers were trained on rows of the fold, too"
)


@dataclass(frozen=True)
class Stack:
    """Weights of a comparison's lines, P(y | x) = Σ_m w_m P_m(y | x) for lines m.

    Attributes
    ----------
    weights
        Weight of each line, which is a model and a rule, learned from the answers to all rows; they add up to 1.
    fold_weights
        Weights by which each fold was scored, (fold, line), learned from the answers to the rows outside the fold.
    left_out
        Why a line is not in the stack, by model and rule.
    """

    weights: dict[Key, float]
    fold_weights: Array
    left_out: dict[Key, str]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know, one sentence each."""
        used = sorted(((weight, key) for key, weight in self.weights.items() if weight > 0), reverse=True)
        parts = [f"{weight:.2f} × {line_name(*key)}" for weight, key in used]
        return f"the mixture {' + '.join(parts)}", NESTING


def chosen_lines(answers: Mapping[Key, Answers], lines: Iterable[Key] | None) -> tuple[list[Key], dict[Key, str]]:
    """Return the lines that a stack mixes, and why others are left out.

    Raises
    ------
    InputError
        For a line that the comparison does not have.
    Refused
        For one that has no log scores, or where none is left.
    """
    left_out = {key: DRAWN if key[1] == "gibbs" else answer.reason for key, answer in answers.items()}
    left_out = {key: reason for key, reason in left_out.items() if reason}
    if lines is None:
        chosen = [key for key in answers if key not in left_out and key[0] != STACK]
    else:
        require(Instance(Iterable, "lines, such as [('nb', 'map')]"), lines=lines)
        chosen = _checked(list(lines), answers)
        for key in chosen:
            if key in left_out:
                raise Refused(f"{line_name(*key)} cannot be part of a stack: {left_out[key]}")
        left_out = {}
    if not chosen:
        key, reason = next(iter(left_out.items()))
        raise Refused(f"no line can be part of a stack; {line_name(*key)}: {reason}")
    return chosen, left_out


def _checked(lines: Sequence[Key], answers: Mapping[Key, Answers]) -> list[Key]:
    """Return the lines that were given, each once."""
    known = [key for key in answers if key[0] != STACK]
    wrong = [repr(line) for line in lines if not isinstance(line, tuple) or line not in known]
    if wrong or not lines:
        allowed = joined(map(str, known))
        found = wrong[0] if wrong else "empty"
        raise InputError(f"lines must be pairs of a model and a rule of this comparison, {allowed}, not {found}")
    return list(dict.fromkeys(lines))


def stacked(held_out: HeldOut, lines: Iterable[Key] | None = None) -> tuple[Stack, list[Array]]:
    """Return the stack of a comparison, and its own out-of-fold answers.

    The weights of a fold maximize the log score of the answers to rows outside the fold, in all repeats. So no label of
    the fold enters its weights, other than through the models that gave these answers, whose training rows it was
    among: this is cross-validation of the weights given the models' answers, not a cross-validation inside each
    training set, which would fit every model once more for each pair of folds.

    Raises
    ------
    InputError, Refused
        As `chosen_lines` does; and for a row to which every line gives probability 0.
    """
    keys, left_out = chosen_lines(held_out.answers, lines)
    weights, scores = best_weights(held_out, keys)
    rows = np.concatenate(held_out.tested)
    fold_weights = np.empty((len(held_out.splits), len(keys)))
    answers: list[Array] = [np.empty(0)] * len(held_out.splits)
    for number, (_, test) in enumerate(held_out.splits):
        outside = ~np.isin(rows, test)
        if not outside.any():
            raise Refused("a stack is scored with weights from the rows outside each fold, and there are none")
        fold_weights[number] = _best(scores[outside], rows[outside])
    for repeat, (run, tested) in enumerate(zip(held_out.runs, held_out.tested, strict=True)):
        parts = [held_out.answers[key].scores[repeat] for key in keys]
        for number in run:
            answers[number] = _mixed(parts, fold_weights[number], np.searchsorted(tested, held_out.splits[number][1]))
    return Stack(dict(zip(keys, weights.tolist(), strict=True)), fold_weights, left_out), answers


def stack_line(held_out: HeldOut) -> tuple[Stack | None, Answers]:
    """Return the stack of a comparison and its scores; or none, and the reason why it cannot answer."""
    try:
        mixture, log_proba = stacked(held_out)
    except Refused as reason:
        return None, Answers((), str(reason))
    folds = zip(log_proba, held_out.splits, strict=True)
    parts: list[RowScores | str] = [scored(mixed, held_out.y[test], held_out.costs) for mixed, (_, test) in folds]
    return mixture, pooled(parts, tuple(held_out.splits), held_out.runs)


def with_line(held_out: HeldOut, notes: Mapping[str, Sequence[str]], seconds: Mapping[str, float]) -> dict[str, Any]:
    """Return the fields of a comparison that change with the line of its stack, or with the reason why it is silent."""
    start = time.perf_counter()
    mixture, answers = stack_line(held_out)
    return {
        "answers": {**held_out.answers, (STACK, NO_RULE): answers},
        "notes": {**notes, STACK: () if mixture is None else mixture.notes},
        "seconds": {**seconds, STACK: (time.perf_counter() - start) / len(held_out.splits)},
        "mixture": mixture,
    }


def best_weights(held_out: HeldOut, lines: Sequence[Key]) -> tuple[Array, Array]:
    """Return the weights that score best on all held-out rows, (line), and log P_m(y_i | x_i), (answer, line).

    Raises
    ------
    Refused
        For a row to which every line gives probability 0.
    """
    losses = [np.concatenate([part.log_loss for part in held_out.answers[key].scores]) for key in lines]
    log_scores = -np.column_stack(losses)
    return _best(log_scores, np.concatenate(held_out.tested)), log_scores


def _best(log_scores: Array, rows: Integers) -> Array:
    """Return the weights of the best mixture, (line), from scores (answer, line) of these rows (answer)."""
    impossible = np.flatnonzero(np.isneginf(log_scores).all(axis=1))
    if impossible.size:
        row = rows[impossible[0]] + 1
        raise Refused(f"every line gave the label of row {row} the probability 0, so that no mixture of them is best")
    return stacking_weights(log_scores)


def _mixed(parts: Sequence[RowScores], weights: Array, places: Integers) -> Array:
    """Return log Σ_m w_m P_m(k | x) of the rows at these places, (row, outcome)."""
    used = np.flatnonzero(weights)
    mixed: Array = np.log(weights[used[0]]) + parts[used[0]].log_proba[places]
    for line in used[1:]:
        np.logaddexp(mixed, np.log(weights[line]) + parts[line].log_proba[places], out=mixed)
    return mixed
