"""Decisions from class probabilities: costs, the option to reject, what decisions turn out to cost, sets of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers
from bayesclf.constraints import INSIDE, Number, OrNone, require
from bayesclf.display import MOST_LINES, Display, Displayed
from bayesclf.errors import InputError
from bayesclf.posterior.averaging import answers
from bayesclf.posterior.hypotheses import HypothesisSet
from bayesclf.tables.columns import Rows
from bayesclf.wording import counted, joined, listed, percent

REJECTED = -1
"""The code of a row that is rejected: it gets no class."""

ROUNDING = 1e-9
"""Share of 1 − level by which a sum of probabilities may miss it: .6 + .3 reaches .9, though not in floating point."""


@dataclass(frozen=True, eq=False)
class Costs:
    """Checked costs ``matrix[true, predicted]`` and the price `reject` of a rejected row, None if none may be."""

    matrix: Array
    reject: float | None = None

    @classmethod
    def checked(cls, labels: int, cost: Any = None, reject: float | None = None) -> Self:
        """Return the costs of a problem with this number of labels, 0-1 loss by default; arguments as in `decide`."""
        if not OrNone(Number(least=0, infinite=True)).allows(reject):
            raise InputError(f"reject is an expected cost and must be a number of at least 0, not {reject!r}")
        return cls(_matrix(cost, labels), reject)

    def expected(self, log_proba: Array) -> Array:
        """Return Σ_k P(k | x) matrix[k, predicted] of each decision, (row, outcome), from log P(k | x)."""
        return np.asarray(np.exp(log_proba) @ self.matrix)

    def decide(self, log_proba: Array) -> Integers:
        """Return label codes (row) of the smallest expected cost, `REJECTED` where that cost exceeds the limit."""
        expected = self.expected(log_proba)
        best = np.asarray(expected.argmin(axis=1))
        return best if self.reject is None else np.where(expected.min(axis=1) > self.reject, REJECTED, best)

    def paid(self, decided: Integers, y: Integers) -> Array:
        """Return what decided codes cost (row); at the price `reject` Chow's rule has the smallest expected cost."""
        paid = self.matrix[y, decided]
        return paid if self.reject is None else np.where(decided == REJECTED, self.reject, paid)


def decide(log_proba: Array, cost: Any = None, reject: float | None = None) -> Integers:
    """Return label codes (row) of the smallest expected cost, `REJECTED` where that cost exceeds the limit.

    Parameters
    ----------
    log_proba
        log P(k | x), (row, outcome).
    cost
        Costs ``cost[true, predicted]``, finite, (outcome, outcome); 0-1 loss by default.
    reject
        Largest acceptable expected cost: a row whose best decision is expected to cost more is rejected (Chow's
        rule). Under 0-1 loss the expected cost is 1 − max P(k | x).

    Raises
    ------
    InputError
        For a cost matrix of the wrong shape or with values that are not finite, or a negative `reject`.
    """
    if cost is None and reject is None:
        return np.asarray(log_proba.argmax(axis=1))
    return Costs.checked(log_proba.shape[1], cost, reject).decide(log_proba)


def _matrix(cost: Any, labels: int) -> Array:
    if cost is None:
        return 1 - np.eye(labels)
    try:
        matrix = np.asarray(cost, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"cost must be a matrix of numbers cost[true, predicted], not {cost!r}") from None
    if matrix.shape != (labels, labels):
        raise InputError(
            f"cost must be a finite matrix cost[true, predicted] of shape ({labels}, {labels}), "
            f"not of shape {matrix.shape}"
        )
    wrong = np.argwhere(~np.isfinite(matrix))
    if len(wrong):
        true, predicted = wrong[0]
        raise InputError(
            f"cost must be a finite matrix cost[true, predicted], but cost[{true}, {predicted}] is "
            f"{matrix[true, predicted]}"
        )
    return matrix


def named(codes: Integers, classes: NDArray[Any]) -> NDArray[Any]:
    """Return class labels (row); None, in an array of objects, where a row was rejected."""
    if not (codes == REJECTED).any():
        return np.asarray(classes[codes])
    labels = np.empty(len(codes), dtype=object)
    kept = codes != REJECTED
    labels[kept] = classes[codes[kept]]
    return labels


@dataclass(frozen=True, eq=False)
class DecisionCosts:
    """Costs of labeled rows and whether each is rejected, in expectation over the Gibbs classifier's hypothesis."""

    cost: Array
    rejected: Array


def decision_costs(log_proba: Array, y: Integers, costs: Costs) -> DecisionCosts:
    """Return what deciding by log P(k | x), (row, outcome), costs given label codes `y` (row)."""
    decided = costs.decide(log_proba)
    return DecisionCosts(costs.paid(decided, y), (decided == REJECTED).astype(float))


def gibbs_decision_costs(hypotheses: HypothesisSet, rows: Rows, y: Integers, costs: Costs) -> DecisionCosts:
    """Return the expected costs of the Gibbs classifier: each hypothesis decides by its own probabilities."""
    shares = decision_shares(hypotheses, rows, costs)
    rejected = shares[:, REJECTED]
    cost = (shares[:, :REJECTED] * costs.matrix[y]).sum(axis=1)
    return DecisionCosts(cost if costs.reject is None else cost + costs.reject * rejected, rejected)


def decision_shares(hypotheses: HypothesisSet, rows: Rows, costs: Costs) -> Array:
    """Return Σ_s w_s [h_s decides for k], (row, outcome + 1); the last entry is for `REJECTED`."""
    labels = len(hypotheses.labels)
    shares = np.zeros((len(rows), labels + 1))
    for part in hypotheses.parts():
        weights = np.exp(part.log_weights) * (len(part) / len(hypotheses))
        for some in answers(part, rows):
            decided, own = _decided(some.log_proba, costs), slice(some.first, some.first + len(some))
            for code in (*range(labels), REJECTED):
                shares[own, code] += (decided == code) @ weights
    return shares


def _decided(log_proba: Array, costs: Costs) -> Integers:
    """Return the decision of each hypothesis, (row, draw), from log P(k | x, h), (row, outcome, draw)."""
    rows, labels, draws = log_proba.shape
    return costs.decide(log_proba.transpose(0, 2, 1).reshape(rows * draws, labels)).reshape(rows, draws)


@dataclass(frozen=True, eq=False, repr=False)
class PredictionSets(Displayed):
    """A set of classes for each row.

    Attributes
    ----------
    member
        Whether a class is in the set, (row, outcome).
    classes
        Labels (outcome).
    level
        The requested posterior probability, or share of rows with the true label in their set.
    """

    member: NDArray[np.bool_]
    classes: NDArray[Any]
    level: float

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of classes in each set, (row)."""
        return np.asarray(self.member.sum(axis=1), dtype=np.intp)

    @property
    def labels(self) -> tuple[tuple[Any, ...], ...]:
        """The labels of each set, in the order of `classes`, one tuple per row."""
        names = self.classes.tolist()
        return tuple(tuple(name for name, inside in zip(names, row, strict=True) if inside) for row in self.member)

    def _display(self) -> Display:
        sizes, counts = np.unique(self.sizes, return_counts=True)
        rows = max(len(self.member), 1)
        of_sizes = (f"{counted(size, 'label')} in {percent(n / rows)}" for size, n in zip(sizes, counts, strict=True))
        shown = PredictionSets(self.member[:MOST_LINES], self.classes, self.level)
        return Display(
            f"Prediction sets at level {self.level:g} of {counted(rows, 'row')}: {joined(of_sizes)}",
            ("row", "labels"),
            [(row, "{" + listed(labels) + "}") for row, labels in enumerate(shown.labels)],
            left_out=len(self.member) - len(shown.member),
        )

    def contains(self, y: Any) -> NDArray[np.bool_]:
        """Return whether each set has the label `y` of its row, (row); their mean is the coverage on these rows."""
        labels = np.asarray(y)
        if labels.shape != (len(self.member),):
            raise InputError(f"y must have one label for each of the {len(self.member)} rows, not shape {labels.shape}")
        return np.asarray((self.member & (labels[:, None] == self.classes)).any(axis=1))


def posterior_sets(log_proba: Array, classes: NDArray[Any], level: float = 0.9) -> PredictionSets:
    """Return the smallest sets of classes whose probability is at least the level.

    They promise nothing about how often they hold the true class: they do so in a share `level` of the rows only if the
    probabilities are calibrated. A wrong model, such as naive Bayes on dependent columns, has probabilities too close
    to 0 and 1, and its sets are too small; `bayesclf.SplitConformal` makes that promise for any model.

    Parameters
    ----------
    log_proba
        log P(k | x), (row, outcome).
    classes
        Labels (outcome).
    level
        Least probability of a set, in (0, 1).

    Returns
    -------
    PredictionSets
        At least one class per row; among equally probable classes, the first.

    Raises
    ------
    InputError
        For a level that is not between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> posterior_sets(np.log([[0.6, 0.3, 0.1], [0.01, 0.95, 0.04]]), np.array(["a", "b", "c"])).labels
    (('a', 'b'), ('b',))
    """
    require(INSIDE, level=level)
    ascending = np.argsort(-log_proba, axis=1, kind="stable")[:, ::-1]
    left_out = np.cumsum(np.exp(np.take_along_axis(log_proba, ascending, axis=1)), axis=1)
    member = np.empty(log_proba.shape, dtype=bool)
    np.put_along_axis(member, ascending, left_out > (1 - level) * (1 + ROUNDING), axis=1)
    return PredictionSets(member, classes, level)
