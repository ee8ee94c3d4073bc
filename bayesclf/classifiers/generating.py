"""Rows that a generative classifier generates, and how long the documents among them are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.classifiers.inputs import checked_labels, seed_of
from bayesclf.constraints import Whole, require, require_number
from bayesclf.errors import InputError
from bayesclf.families import Axes, Multinomial

if TYPE_CHECKING:
    import pandas as pd

CELL_BYTES = 64
"""Memory that a cell of generated rows takes, with its copies on the way."""

LONGEST = 2**53
"""Length from which whole numbers are no longer told apart."""


def sample(
    self: Any, n: int, y: Any = None, random_state: Any = 0, lengths: Any = None
) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Generate labeled rows, each from a hypothesis of its own drawn from the posterior.

    The words of a document are drawn independently given its class, as the model has it, in this order. How many
    there are the model does not say: their number is drawn from the training documents of the class, those behind
    a prior included, or given.

    Parameters
    ----------
    n : int
        Number of rows.
    y : array of shape (row,)
        Labels (row) to generate rows for; drawn from the class prior where None.
    random_state : int, Generator or None
        Seed.
    lengths : int, array of shape (row,) or None
        Of `MultinomialNB` and `TextNB`: number of words, one for all documents or (row); drawn where None.

    Returns
    -------
    tuple
        The table (row, feature), columns that the model does not use left empty, and the labels (row). Of documents
        it is a table of counts (row, word), or of one column of text.

    Raises
    ------
    InputError
        For lengths that are no whole numbers, and for those of a model of which words a document has.

    Examples
    --------
    >>> import bayesclf as bc
    >>> texts = ["win a prize now", "claim the prize", "see you at lunch", "lunch now?"]
    >>> clf = bc.TextNB(random_state=1).fit(texts, ["spam", "spam", "ham", "ham"])
    >>> table, labels = clf.sample(2, ["spam", "ham"], lengths=[3, 5])
    >>> [len(document.split()) for document in table["text"]]
    [3, 5]
    """
    require(Whole(1), n=n)
    require_number(CELL_BYTES * len(self.columns_), n=n)
    if lengths is not None and not self._draws_lengths:
        raise InputError(
            "lengths cannot be given: this model does not draw words one by one; leave them out, or use "
            "MultinomialNB, or TextNB with event_model='multinomial'"
        )
    own_lengths = None if lengths is None else given_lengths(lengths, n)
    hypotheses = self.hypotheses("posterior" if self.draws_ is not None else "map")
    rng = np.random.default_rng(seed_of(random_state))
    drawn = rng.integers(len(hypotheses), size=n)
    labels = np.empty(n, dtype=np.intp) if y is None else self.known_codes(checked_labels(y, n))
    parts: list[list[NDArray[Any]]] = [[] for _ in self.model_.blocks]
    order = []
    for value in np.unique(drawn):
        one = hypotheses.take(np.array([value]))
        rows = np.flatnonzero(drawn == value)
        if y is None:
            labels[rows] = rng.choice(len(self.classes_), size=len(rows), p=np.exp(one.log_class_prior()[0]))
        own = None if own_lengths is None else own_lengths[rows]
        for part, values in zip(parts, _cells(self, one.parameters, labels[rows], rng, own), strict=True):
            part.append(values)
        order.append(rows)
    back = np.argsort(np.concatenate(order))
    table: dict[str, Any] = {}
    for block, part in zip(self.model_.blocks, parts, strict=True):
        table |= decoded(block.statistics.axes, np.concatenate(part)[back])
    return self._generated(table, n, rng), self.classes_[labels]


def _cells(
    self: Any, parameters: Parameters, y: Integers, rng: np.random.Generator, lengths: Integers | None
) -> tuple[NDArray[Any], ...]:
    """Draw each block's cells (row, feature) of rows with label codes y (row), from one hypothesis."""
    if not self._draws_lengths:
        drawn: tuple[NDArray[Any], ...] = self.model_.sample(parameters, y, rng)
        return drawn
    if lengths is None:
        known = self._document_lengths
        assert known is not None  # whoever draws lengths has learned them
        lengths = known.draw(y, rng)
    (block,) = self.model_.blocks
    assert isinstance(block.family, Multinomial)  # the others do not draw lengths
    return (block.family.sample_lengths(lengths, y, block.own(parameters), rng),)


def decoded(axes: Axes, X: NDArray[Any]) -> dict[str, Any]:
    """Return the cells (row, feature) of a block as columns by name, level codes turned back into levels."""
    if not axes.levels:
        return dict(zip(axes.features, X.T, strict=True))
    levels = [np.asarray([*values, None], dtype=object)[:-1] for values in axes.levels]
    return {
        name: values[X[:, j].astype(np.intp)] if len(values) else X[:, j]
        for j, (name, values) in enumerate(zip(axes.features, levels, strict=True))
    }


@dataclass(frozen=True, eq=False)
class DocumentLengths:
    """Weight (outcome, length) of the training documents by length, rounded to whole numbers; two of them add up."""

    lengths: Integers
    weight: Array

    def __post_init__(self) -> None:
        lengths, weight = self.lengths, self.weight
        if lengths.ndim != 1 or weight.ndim != 2 or weight.shape[1] != len(lengths):
            raise ValueError(f"lengths of shape {lengths.shape} do not go with weights of shape {weight.shape}")
        if not ((lengths >= 0).all() and np.isfinite(weight).all() and (weight >= 0).all()):
            raise ValueError("lengths and their weights must be finite and at least 0")
        if not weight.any():
            raise ValueError("some weight of the lengths must be above 0")

    @classmethod
    def of(cls, totals: Array, y: Integers, weight: Array | None, classes: int) -> Self:
        """Count documents of `totals` words (row), with label codes and weights (row)."""
        found = np.minimum(np.rint(totals), LONGEST).astype(np.int64)
        lengths, places = np.unique(found, return_inverse=True)
        counts = np.zeros((classes, len(lengths)))
        np.add.at(counts, (y, places), 1.0 if weight is None else weight)
        return cls(lengths, counts)

    def moved(self, places: Integers, classes: int) -> Self:
        """Return the same among more classes, of which these have the given places."""
        weight = np.zeros((classes, len(self.lengths)))
        weight[places] = self.weight
        return type(self)(self.lengths, weight)

    def __add__(self, other: Self) -> Self:
        """Return the lengths of both sets of documents, of the same classes."""
        lengths = np.union1d(self.lengths, other.lengths)
        weight = np.zeros((len(self.weight), len(lengths)))
        for part in (self, other):
            weight[:, np.searchsorted(lengths, part.lengths)] += part.weight
        return type(self)(lengths, weight)

    def draw(self, y: Integers, rng: np.random.Generator) -> Integers:
        """Draw a length for each label code (row); a class without documents has the lengths of all."""
        out = np.zeros(len(y), dtype=np.int64)
        for label in np.unique(y):
            weight = self.weight[label] if self.weight[label].any() else self.weight.sum(axis=0)
            rows = np.flatnonzero(y == label)
            out[rows] = rng.choice(self.lengths, size=len(rows), p=weight / weight.sum())
        return out


def given_lengths(lengths: Any, rows: int) -> Integers:
    """Return the numbers of words (row) that a user gave, one for all documents or one for each."""
    values = np.asarray(lengths)
    whole = values.dtype.kind in "iu" or (values.dtype.kind == "f" and bool((values == np.floor(values)).all()))
    if not whole or values.shape not in ((), (rows,)) or (values < 0).any() or (values > LONGEST).any():
        raise InputError(
            f"lengths must be a whole number of at least 0, or one for each of the {rows} documents, not {lengths!r}"
        )
    return np.broadcast_to(values.astype(np.int64), (rows,))
