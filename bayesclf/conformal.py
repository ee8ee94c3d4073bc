"""Split-conformal prediction: sets that hold the true class as often as promised, whatever the model."""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from bayesclf import rules
from bayesclf.arrays import Array
from bayesclf.classifiers import base
from bayesclf.classifiers.base import CI_PROB
from bayesclf.classifiers.inputs import (
    accuracy,
    checked_labels,
    checked_weights,
    number_of_rows,
    possible_labels,
    seed_of,
)
from bayesclf.constraints import INSIDE, Choice, Flag, require
from bayesclf.decisions import PredictionSets
from bayesclf.errors import InputError, PredictionWarning, Refused, warn

KEY_BYTES = 8
"""Bytes of a hash, and of a seed."""
TOLERANCE = 1e-10
"""Difference of two scores, absolute and relative, that rounding can make."""

ROUNDED = 9
"""Digits after the point of a rank that are no rounding errors: 10 · .9 is 9."""

HASHED_DIGITS = 6
"""Digits of log P(k | x) after the point that are hashed."""


class SplitConformal(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Prediction sets whose coverage is at least `level` if rows are exchangeable, for whatever model and data.

    A score s(x, k) says how badly a class fits a row. Let s_1, …, s_n be the scores of n labeled rows that the
    classifier was not fitted on, and q the ⌈(n + 1) level⌉-th smallest. The set of a row is {k : s(x, k) ≤ q}. Then
    P(y in the set) ≥ level, over calibration rows and the new row; without ties it is below level + 1/(n + 1). Given
    the calibration rows it varies, see `coverage_interval`. With too few calibration rows, n < level/(1 − level), each
    set holds all classes, and a warning says so.

    ========= ======================================== ============================================================
    name      s(x, k)                                  sets
    ========= ======================================== ============================================================
    ``"lac"`` 1 − P(k | x)                             smallest on average where P is right; empty where no class fits
    ``"aps"`` P(j more probable than k | x) + u P(k|x) grow with how unsure a row is; u is uniform, by row
    ========= ======================================== ============================================================

    The promise holds for rows like the calibration rows, not for each row or each class, and not after a change of the
    source. The classifier must know all labels that can occur.

    Parameters
    ----------
    classifier : BayesClassifier, Pipeline or FrozenEstimator
        A classifier of bayesclf, or a pipeline whose last step is one: unfitted for `fit`, fitted for `calibrate`.
        A fitted one in a `sklearn.frozen.FrozenEstimator` stays as it is, and `fit` calibrates on all rows.
    level : float
        Least coverage, in (0, 1).
    nonconformity : {"lac", "aps"}
        The score s(x, k).
    by_class : bool
        Whether the promise holds within each class, P(y in the set | y = k) ≥ level, from the calibration rows of
        that class. A class of too few rows is in every set.
    share : float
        Share of the rows that `fit` sets aside for calibration, in (0, 1); drawn without regard to labels, as
        stratified rows are not exchangeable with a new one.
    rule : str, optional
        Rule of the probabilities, any but ``"gibbs"``; by default the classifier's own.
    random_state : int, Generator or None
        Seed of the split and of u, and of the classifier that `fit` fits where that has none of its own. A row has
        the same u whatever other rows are predicted with it.

    Attributes
    ----------
    classifier_ : BayesClassifier, Pipeline or FrozenEstimator
        The fitted classifier, which `predict`, `predict_proba` and `score` ask.
    classes_ : ndarray of shape (outcome,)
        Labels in order.
    n_features_in_, feature_names_in_
        Number of columns and their names, where the classifier has them.
    n_calibration_ : ndarray of shape (outcome,)
        Calibration rows, (outcome): of each class with `by_class`, else all rows.
    thresholds_ : ndarray of shape (outcome,)
        q for each class (outcome), in terms of −log P(k | x) for ``"lac"``, and of −log(1 − s) for ``"aps"``.

    References
    ----------
    Sadinle, Lei & Wasserman, *Least ambiguous set-valued classifiers with bounded error levels*, JASA 114 (2019).
    Romano, Sesia & Candès, *Classification with valid and adaptive coverage*, NeurIPS (2020). Vovk, *Conditional
    validity of inductive conformal predictors*, ACML (2012) (by class; the coverage given the calibration rows).

    Examples
    --------
    >>> import numpy as np, bayesclf as bc
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=4000)
    >>> X = rng.normal(size=(4000, 2)) + 2 * np.eye(3, 2)[y]
    >>> conformal = bc.SplitConformal(bc.GaussianNB(random_state=0), level=0.9, random_state=1)
    >>> sets = conformal.fit(X[:2000], y[:2000]).predict_set(X[2000:])
    >>> round(float(sets.contains(y[2000:]).mean()), 2), round(float(sets.sizes.mean()), 2)
    (0.89, 1.33)
    >>> conformal.coverage_interval()[0].round(2)
    array([0.88, 0.92])
    """

    def __init__(
        self,
        classifier: Any,
        level: float = 0.9,
        nonconformity: str = "lac",
        *,
        by_class: bool = False,
        share: float = 0.25,
        rule: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.level = level
        self.nonconformity = nonconformity
        self.by_class = by_class
        self.share = share
        self.rule = rule
        self.random_state = random_state

    def fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Fit a copy of the classifier on some of the rows, and calibrate on the others.

        Parameters
        ----------
        X, y
            Table (row, feature) and labels (row).
        classes : sequence of labels or None
            All labels that can occur, where the rows may lack some.
        sample_weight : array of shape (row,) or None
            Weights (row) for the fit of the classifier. Calibration rows count once each, as the promise is about
            one new row like them; a row of weight 0 counts as absent.

        Raises
        ------
        InputError
            For options, labels or cells that cannot be used, or a label that is not among `classes`.
        Refused
            For the rule ``"gibbs"``.
        """
        self._check()
        require(INSIDE, share=self.share)
        labels = checked_labels(y, number_of_rows(X))
        known = possible_labels(labels, classes)
        weight = np.ones(len(labels)) if sample_weight is None else checked_weights(sample_weight, len(labels))
        rows = np.flatnonzero(weight > 0)
        if base.is_frozen(self.classifier):
            return self.calibrate(_safe_indexing(X, rows), labels[rows])
        if len(rows) < 2:
            raise InputError("a split needs at least two rows, one to fit and one to calibrate")
        aside = min(max(1, round(self.share * len(rows))), len(rows) - 1)
        self.seed_ = seed_of(self.random_state)
        fit, rest = train_test_split(rows, test_size=aside, random_state=self.seed_)
        given = {"classes": known, "sample_weight": None if sample_weight is None else weight[fit]}
        unfitted = base.seeded(self.classifier, self.seed_)
        fitted = base.fitted_with(unfitted, _safe_indexing(X, fit), labels[fit], **given)
        return self._calibrate(fitted, _safe_indexing(X, rest), labels[rest])

    def calibrate(self, X: Any, y: Any) -> Self:
        """Calibrate the classifier, which is fitted already, on rows that it was not fitted on; errors as in `fit`."""
        self._check()
        check_is_fitted(base.innermost(self.classifier), "classes_")
        self.seed_ = seed_of(self.random_state)
        return self._calibrate(self.classifier, X, checked_labels(y, number_of_rows(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the classifier's label for each row (row)."""
        check_is_fitted(self, "thresholds_")
        return np.asarray(self.classifier_.predict(X, rule=self.rule))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predicted labels; arguments as in `BayesClassifier.score`."""
        return accuracy(self.predict(X), self.classes_, y, sample_weight)

    def predict_proba(self, X: Any) -> Array:
        """Return the classifier's P(y = k | x), (row, outcome)."""
        check_is_fitted(self, "thresholds_")
        return np.asarray(self.classifier_.predict_proba(X, rule=self.rule))

    def predict_set(self, X: Any) -> PredictionSets:
        """Return the set of classes of each row of a table (row, feature)."""
        check_is_fitted(self, "thresholds_")
        # a row that equals a calibration row has its score, but perhaps other last digits: these must not cost coverage
        limit = self.thresholds_ + TOLERANCE * (1 + np.abs(self.thresholds_))
        return PredictionSets(self._scores(self.classifier_, X) <= limit, self.classes_, self.level)

    def coverage_interval(self, ci_prob: float = CI_PROB) -> Array:
        """Return the equal-tailed interval of the coverage given the calibration rows, (outcome, bound).

        Over calibration sets it is Beta(k, n + 1 − k)-distributed, k = ⌈(n + 1) level⌉, or larger where scores have
        ties. Without `by_class` all rows of the result are equal.
        """
        require(INSIDE, ci_prob=ci_prob)
        check_is_fitted(self, "thresholds_")
        ranks = [(n, rank(n, self.level)) for n in self.n_calibration_.tolist()]
        return np.array([beta.interval(ci_prob, k, n + 1 - k) if k <= n else (1.0, 1.0) for n, k in ranks])

    def _check(self) -> None:
        """Raise for options that cannot be used."""
        require(INSIDE, level=self.level)
        require(Flag(), by_class=self.by_class)
        require(Choice(("lac", "aps")), nonconformity=self.nonconformity)
        classifier = base.innermost(self.classifier)
        if classifier is None:
            raise InputError(f"classifier must be one of bayesclf, or a pipeline of one, not {self.classifier!r}")
        rule = classifier.rule if self.rule is None else self.rule
        if rule is not None and rules.resolve(rule)[0].name == "gibbs":
            raise Refused("the rule 'gibbs' draws another hypothesis for each row; use the rule 'bayes-optimal'")

    def _calibrate(self, fitted: Any, X: Any, y: NDArray[Any]) -> Self:
        """Set the thresholds from calibration rows and their labels."""
        if (unknown := y[~np.isin(y, fitted.classes_)]).size:
            remedy = "fit the classifier with classes=[…], all labels that can occur"
            raise InputError(f"label {str(unknown[0])!r} was not among the training labels; {remedy}")
        codes = np.searchsorted(fitted.classes_, y)
        own = self._scores(fitted, X)[np.arange(len(codes)), codes]
        groups = [own[codes == k] if self.by_class else own for k in range(len(fitted.classes_))]
        self.n_calibration_ = np.array([len(group) for group in groups], dtype=np.intp)
        self.thresholds_ = np.array([quantile(group, self.level) for group in groups])
        self.classifier_ = fitted
        base.take_over_attributes(self, fitted)
        pairs = zip(self.n_calibration_.tolist(), self.classes_, strict=True)
        few = [f"{n} of {str(k)!r}" for n, k in pairs if rank(n, self.level) > n]
        if few:
            these = "this class is" if len(few) == 1 else "these classes are"
            there = f"{', '.join(few)}: {these}" if self.by_class else f"{len(own)}: every class is"
            needed = math.ceil(round(self.level / (1 - self.level), ROUNDED))
            wanted = f"a coverage of {self.level} needs at least {needed} calibration rows, but there are {there}"
            warn(f"{wanted} in every set; calibrate on more rows, or lower the level", PredictionWarning)
        return self

    def _scores(self, fitted: Any, X: Any) -> Array:
        """Return how badly each class fits, (row, outcome), on the scale of `thresholds_`."""
        log_proba = fitted.predict_log_proba(X, rule=self.rule)
        if self.nonconformity == "lac":
            return np.asarray(-log_proba)
        return adaptive_scores(log_proba, uniforms(log_proba, self.seed_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base.take_over_input_tags(tags, [self.classifier])
        return tags


def rank(n: int, level: float) -> int:
    """Return ⌈(n + 1) level⌉."""
    return math.ceil(round((n + 1) * level, ROUNDED))


def quantile(scores: Array, level: float) -> float:
    """Return the ⌈(n + 1) level⌉-th smallest of n scores, infinite where there are too few."""
    k = rank(len(scores), level)
    return float(np.partition(scores, k - 1)[k - 1]) if k <= len(scores) else math.inf


def adaptive_scores(log_proba: Array, u: Array) -> Array:
    """Return −log(1 − s) for s = P(more probable classes | x) + u P(k | x), (row, outcome).

    The sum of 1 − s starts at the least probable class: where one class has all but 1e-16 of the probability, the
    others still differ. Among equally probable classes the first counts as more probable.
    """
    ascending = np.argsort(-log_proba, axis=1, kind="stable")[:, ::-1]
    logs = np.take_along_axis(log_proba, ascending, axis=1)
    below = np.logaddexp.accumulate(logs, axis=1)
    less_probable = np.concatenate([np.full((len(logs), 1), -np.inf), below[:, :-1]], axis=1)
    scores = np.empty(log_proba.shape)
    np.put_along_axis(scores, ascending, -np.logaddexp(less_probable, logs + np.log1p(-u)[:, None]), axis=1)
    return scores


def uniforms(log_proba: Array, seed: int) -> Array:
    """Return a number in [0, 1) for each row (row): a hash of its probabilities with a seed.

    It depends on the row alone, so that rows stay exchangeable. The last digits of log P(k | x), which may depend on
    the batch, are left out.
    """
    key = seed.to_bytes(KEY_BYTES, "little")
    rounded = np.ascontiguousarray(np.round(log_proba, HASHED_DIGITS) + 0.0)  # −0 and 0 are other bytes
    digests = [blake2b(row.tobytes(), digest_size=KEY_BYTES, key=key).digest() for row in rounded]
    hashed = np.frombuffer(b"".join(digests), dtype="<u8")
    return np.asarray((hashed >> np.uint64(11)) / 2.0**53)
