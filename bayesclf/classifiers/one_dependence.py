"""Averaged one-dependence estimators, which have no posterior."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, NoReturn, override

import numpy as np

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.bayes_net import categories
from bayesclf.classifiers.generative import GenerativeClassifier, own_options_first
from bayesclf.classifiers.training import ColumnBlock
from bayesclf.engines import MAP, MLE, Auto
from bayesclf.engines.inference import ENGINES, Engine
from bayesclf.errors import Refused
from bayesclf.families.trees.one_dependence import NO_POSTERIOR, OneDependence
from bayesclf.posterior.hypotheses import Hypotheses, SeededHypotheses
from bayesclf.progress import Progress
from bayesclf.rules import Gibbs
from bayesclf.tables.columns import Rows

if TYPE_CHECKING:
    import pandas as pd
    from arviz_stats import ELPDData


@own_options_first
@dataclass(eq=False, repr=False)
class AODE(GenerativeClassifier):
    """P(x, y) = π_y (1/d) Σ_i P(x_i | y) Π_{j ≠ i} P(x_j | x_i, y): averaged one-dependence estimators.

    Each of the d columns takes its turn as the parent of all others, and the d networks count equally. As these weights
    are fixed, and not inferred, there is no posterior: the rules ``"map"`` (the default), ``"mean"`` and
    ``"predictive"`` plug in posterior means, ``"mle"`` relative frequencies, and ``"bayes-optimal"`` and ``"gibbs"``
    are refused. `BayesNetClassifier` with ``structure="all-trees"`` has a posterior over structures. Columns are
    categories. A missing cell is left out: of training rows the pairs that it is in, at prediction its factors.

    Parameters
    ----------
    equivalent_rows : float
        Weight of the prior of each conditional distribution in rows, above 0, spread evenly over the values.
    inference : {"auto", "map", "mle"} or Engine
        ``"auto"`` (MAP), ``"map"``, ``"mle"``; there is no posterior to sample.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X = [["a", "a"], ["b", "b"], ["a", "b"], ["b", "a"]]
    >>> print(bc.AODE().fit(X, ["equal", "equal", "not", "not"]).predict(X))
    ['equal' 'equal' 'not' 'not']

    References
    ----------
    Webb, Boughton and Wang (2005), *Not so naive Bayes: aggregating one-dependence estimators*, Machine Learning 58.
    """

    equivalent_rows: float = 1.0
    _: KW_ONLY

    def _blocks(self, frame: pd.DataFrame) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns, which must hold categories."""
        return (ColumnBlock(OneDependence(self.equivalent_rows), categories(frame, "AODE")),)

    @property
    @override
    def _learns_unlabeled(self) -> bool:
        return False

    @override
    def _requested_engine(self) -> str | Engine:
        if self.inference == "auto" or isinstance(self.inference, Auto):
            return "map"
        kind = ENGINES.get(self.inference) if isinstance(self.inference, str) else type(self.inference)
        if kind in ENGINES.values() and kind not in (MAP, MLE):
            raise Refused(NO_POSTERIOR)
        return self.inference

    @override
    def hypotheses(self, source: str, class_prior: Any = None) -> Hypotheses | SeededHypotheses:
        """Return the one set of tables that there is, as fitted, with the mean class prior for rules that average."""
        if source not in ("mean", "posterior"):
            return super().hypotheses(source, class_prior)
        point = super().hypotheses("map", class_prior)
        of_labels = self.model_.class_prior.posterior(self.model_.label_counts).mean()
        return (Hypotheses if source == "mean" else PlugIn)(point.model, {**point.parameters, **of_labels})

    @override
    def loo(
        self, X: Any, y: Any, rule: str | Gibbs = "map", method: str = "auto", progress: Progress = None
    ) -> ELPDData:
        """Return the leave-one-out log scores of the training rows; parameters are those of `bayesclf.loo`."""
        return super().loo(X, y, "mean" if rule == "predictive" else rule, method, progress)


class PlugIn(Hypotheses):
    """One set of estimates that answers as the predictive, and is no hypothesis that could be drawn."""

    @override
    def take(self, draws: Integers) -> NoReturn:
        """Refuse, as there are no draws to take some of."""
        raise Refused(NO_POSTERIOR)

    @override
    def log_scores(self, rows: Rows) -> NoReturn:
        """Refuse, as there are no draws to score rows with."""
        raise Refused(NO_POSTERIOR)

    @override
    def log_predictive(self, rows: Rows) -> Array:
        """Return log P(x, y) of rows, (row, outcome), by the tables as they are."""
        return np.asarray(super().log_scores(rows)[0])
