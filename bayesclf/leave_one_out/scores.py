"""Log scores of rows with and without themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayesclf.typing import Array


@dataclass(frozen=True)
class RowElpd:
    """Log scores of training rows, each (row).

    Attributes
    ----------
    without
        log P(y_i | x_i, all rows but i): what is added up to elpd.
    with_all
        log P(y_i | x_i, all rows).
    khat
        Pareto shape k̂ of the importance ratios; 0 where a row was left out exactly, as `arviz.reloo` has it.
    """

    without: Array
    with_all: Array
    khat: Array

    def replaced(self, rows: NDArray[np.bool_], without: Array) -> RowElpd:
        """Return the same with exact scores of some rows."""
        own, khat = self.without.copy(), self.khat.copy()
        own[rows], khat[rows] = without, 0.0
        return RowElpd(own, self.with_all, khat)
