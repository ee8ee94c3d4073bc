"""Generating rows from the posterior of a generative classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.labels import checked_labels
from bayesclf.classifiers.training import MISSING_SUFFIX, decoded, seed_of
from bayesclf.constraints import Whole, require
from bayesclf.memory import require_number
from bayesclf.models.generative import GenerativeModel
from bayesclf.typing import Integers, Parameters

if TYPE_CHECKING:
    import pandas as pd

CELL_BYTES = 64
"""Memory that a cell of generated rows takes, with its copies on the way."""


class Generating(BayesClassifier):
    """A classifier whose model generates rows and labels."""

    model_: GenerativeModel

    def sample(self, n: int, y: Any = None, random_state: Any = 0) -> tuple[pd.DataFrame, NDArray[Any]]:
        """Generate labeled rows, each from a hypothesis of its own drawn from the posterior.

        Parameters
        ----------
        n : int
            Number of rows.
        y : array of shape (row,)
            Labels (row) to generate rows for; drawn from the class prior where None.
        random_state : int, Generator or None
            Seed.

        Returns
        -------
        tuple
            The table (row, feature), columns that the model does not use left empty, and the labels (row).
        """
        return self._sampled(n, y, random_state)

    def _sampled(
        self, n: int, y: Any, random_state: Any, lengths: Integers | None = None
    ) -> tuple[pd.DataFrame, NDArray[Any]]:
        """Generate labeled rows as `sample` does; documents may have given lengths (row)."""
        require(Whole(1), n=n)
        require_number(CELL_BYTES * len(self.columns_), n=n)
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
            own = None if lengths is None else lengths[rows]
            for part, values in zip(parts, self._cells(one.parameters, labels[rows], rng, own), strict=True):
                part.append(values)
            order.append(rows)
        back = np.argsort(np.concatenate(order))
        table: dict[str, Any] = {}
        for block, part in zip(self.model_.blocks, parts, strict=True):
            table |= decoded(block.statistics.axes, np.concatenate(part)[back])
        return self._generated(table, rng), self.classes_[labels]

    def _cells(
        self, parameters: Parameters, y: Integers, rng: np.random.Generator, lengths: Integers | None
    ) -> tuple[NDArray[Any], ...]:
        """Draw each block's cells (row, feature) of rows with label codes y (row), from one hypothesis."""
        return self.model_.sample(parameters, y, rng)

    def _generated(self, table: dict[str, Any], rng: np.random.Generator) -> pd.DataFrame:
        """Return generated columns as a table like the training one, numbers missing where their indicator says so."""
        import pandas as pd

        known = [column.name for column in self.columns_]
        for name in set(table).difference(known):
            number = name.removesuffix(MISSING_SUFFIX)
            if number in table:
                table[number] = np.where(table[name].astype(bool), np.nan, table[number])
        unused = np.full(len(next(iter(table.values()))) if table else 0, np.nan)
        return pd.DataFrame({name: table.get(name, unused) for name in known})
