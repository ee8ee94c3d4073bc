"""Naive Bayes for tables of counts, dense or sparse: how often a word occurs, or whether it does."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import sparse

from bayesclf.arrays import Array
from bayesclf.classifiers.base import classifier
from bayesclf.classifiers.generative import GenerativeClassifier
from bayesclf.classifiers.training import (
    LEARNED,
    ColumnBlock,
    Concentration,
    concentration,
)
from bayesclf.constraints import Number, OrNone, require
from bayesclf.errors import InputError
from bayesclf.families import Bernoulli, LearntAlpha, Multinomial
from bayesclf.families.learned_alpha import TEXTBOOK
from bayesclf.tables import columns
from bayesclf.tables.columns import SparseTable, Table


def of_counts(tags: Any, missing: str) -> Any:
    """Return scikit-learn's tags of a classifier of a table of counts, which may be sparse and is never made dense."""
    tags.input_tags.sparse = missing != "level"  # a sparse table has no missing cells
    tags.input_tags.categorical = False
    tags.classifier_tags.poor_score = True  # on the normal clusters of scikit-learn's checks, which are no counts
    return tags


@classifier
class BernoulliNB(GenerativeClassifier):
    """Naive Bayes with every feature present or absent: P(x_i = 1 | y = k) = θ_ik, θ_ik ~ Beta(α, β).

    Absent features count too. A missing cell (NaN, dense tables only) is integrated out.

    Parameters
    ----------
    alpha : float, array, "learned" or LearntAlpha
        First shape of the prior, above 0: a number, or an array that broadcasts to (outcome, feature). MAP adds α − 1
        presences and β − 1 absences: α = β = 2 is Laplace's rule, `sklearn.naive_bayes.BernoulliNB(alpha=1)`.
        ``"learned"``: the number α = β that best predicts the label of each training row from all other rows,
        ``bayesclf.families.LearntAlpha()``; MAP then adds α. `partial_fit` keeps the α of an earlier `fit`, or 1.
    beta : float, array or None
        Second shape of the prior, likewise; None for 2, or for α where that is learned.
    binarize : float or None
        Cells above it are present; None demands a table of 0 and 1 only.

    Attributes
    ----------
    feature_count_ : ndarray of shape (outcome, feature)
        Weight of the occurrences of each feature in each class.
    feature_log_prob_ : ndarray of shape (outcome, feature)
        log θ, of the posterior mean or the requested point.
    coef_ : ndarray of shape (1, feature) or (outcome, feature)
        Weights of the log-odds of a linear model: of the second of two classes, or of each of more, adding up to
        0. The average of `to_logistic` over the posterior, or that of the requested point.
    intercept_ : ndarray of shape (1,) or (outcome,)
        The log-odds at x = 0, likewise.

    Examples
    --------
    >>> import bayesclf as bc
    >>> clf = bc.BernoulliNB(random_state=1).fit([[1, 0], [1, 1], [0, 1]], ["spam", "spam", "ham"])
    >>> clf.predict_proba([[1, 0]], rule="map").round(3)
    array([[0.045, 0.955]])

    References
    ----------
    Abu-El-Haija 3.2.2.
    """

    alpha: Concentration = LEARNED
    beta: float | Array | None = None
    _: KW_ONLY
    binarize: float | None = 0.0
    _of_counts = True

    def _blocks(self, frame: Any) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns."""
        alpha, beta = concentration(self.alpha), TEXTBOOK if self.beta is None else self.beta
        family = Bernoulli(alpha, beta, 0.0 if self.binarize is None else self.binarize)
        return (ColumnBlock(family, tuple(map(str, frame.columns))),)

    def _check_options(self) -> None:
        super()._check_options()
        require(OrNone(Number()), binarize=self.binarize)
        if self.beta is not None and isinstance(self.alpha, str | LearntAlpha):
            raise InputError(f"beta={self.beta!r} has no effect where alpha is learned; leave it out, or give both")

    def __sklearn_tags__(self) -> Any:
        return of_counts(super().__sklearn_tags__(), self.missing)

    def _validated(self, X: Any, reset: bool) -> Any:
        if sparse.issparse(X) and str(self.missing) == "level":
            raise InputError("missing='level' needs a dense table: a sparse one has no missing cells")
        table = super()._validated(X, reset)
        if self.binarize is None:
            _require_events(table)
        return table


@classifier
class MultinomialNB(GenerativeClassifier):
    """Naive Bayes on counts of words: the words of a document are drawn from θ_k ~ Dirichlet(α), one by one.

    The predictive of a document is Pólya's in closed form, which is not the density at the posterior mean.

    Parameters
    ----------
    alpha : float, array, "learned" or LearntAlpha
        Concentration, above 0: a number, or an array that broadcasts to (outcome, word). MAP adds l = α − 1 to every
        count: 2 is Laplace's rule, `sklearn.naive_bayes.MultinomialNB(alpha=1)`, and with ``class_prior="empirical"``
        Naive_Bayes_text of Mitchell 1997 Table 6.2. ``"learned"``: the number that best predicts the label of each
        training row from all other rows, ``bayesclf.families.LearntAlpha()``; MAP then adds α.
        `partial_fit` keeps the α of an earlier `fit`, or 1.
    missing : {"ignore", "level"}
        Without effect: a missing count is always refused.

    Attributes
    ----------
    feature_count_ : ndarray of shape (outcome, feature)
        Weight of the occurrences of each feature in each class.
    feature_log_prob_ : ndarray of shape (outcome, feature)
        log θ, of the posterior mean or the requested point.
    coef_ : ndarray of shape (1, feature) or (outcome, feature)
        Weights of the log-odds of a linear model: of the second of two classes, or of each of more, adding up to
        0. The average of `to_logistic` over the posterior, or that of the requested point.
    intercept_ : ndarray of shape (1,) or (outcome,)
        The log-odds at x = 0, likewise.

    Examples
    --------
    >>> import bayesclf as bc
    >>> clf = bc.MultinomialNB(random_state=1).fit([[2, 0], [1, 1], [0, 3]], ["a", "a", "b"])
    >>> clf.predict_proba([[1, 0]], rule="map").round(3)
    array([[0.918, 0.082]])

    References
    ----------
    Abu-El-Haija 3.2.1, 3.4; Aberdeen; CS4780; Mitchell 1997 Table 6.2.
    """

    alpha: Concentration = LEARNED
    _of_counts = _draws_lengths = True

    def _blocks(self, frame: Any) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns, which must hold counts."""
        return (ColumnBlock(Multinomial(concentration(self.alpha)), tuple(map(str, frame.columns))),)

    def __sklearn_tags__(self) -> Any:
        tags = of_counts(super().__sklearn_tags__(), self.missing)
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = False
        return tags


def _require_events(table: Table) -> None:
    """Raise for a cell that is neither 0 nor 1 nor missing."""
    if isinstance(table, SparseTable):
        cells = table.cells.data
    else:
        cells = columns.numbers(table, tuple(map(str, table.columns)))
    wrong = cells[~(np.isnan(cells) | (cells == 0) | (cells == 1))]
    if wrong.size:
        raise InputError(f"binarize=None takes 0 and 1 only, but the table holds {wrong[0]:g}; give binarize a number")
