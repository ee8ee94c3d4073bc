"""Stacking: fitted classifiers mixed by the weights that predict left-out rows best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import check_is_fitted

from bayesclf import decisions
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.training import checked_labels
from bayesclf.errors import InputError
from bayesclf.evaluation import cross_validation
from bayesclf.evaluation.leave_one_out import loo, scored, stacking_weights
from bayesclf.progress import shown
from bayesclf.typing import Array

PREFIT = "prefit"


class StackedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """P(y | x) = Σ_m w_m P_m(y | x): each model averages over its hypotheses, and stacking over the models.

    The weights maximize Σ_i log Σ_m w_m P_m(y_i | x_i, rows without i), the log score of left-out rows. They are not
    the models' posterior probabilities: those concentrate on one model as the number of rows grows, although a
    mixture of wrong models may predict better than any of them, and depend much on the priors of the models'
    parameters. A stacked classifier cannot be saved to a file; its models can.

    Parameters
    ----------
    models
        Classifiers by name. `fit` fits copies of them, and leaves them as they are.
    rule
        Rule by which each model answers, any but ``"gibbs"``; None is each model's own, Bayes-optimal by default.
    cv
        How rows are left out. None: one by one, as `bayesclf.loo` does. A number: in so many folds, stratified by
        label. ``"prefit"``: one by one, from models that are fitted already, to the rows that `fit` is given.
    random_state
        Seed of the folds.

    Attributes
    ----------
    weights_
        Weight of each model, by name; they add up to 1.
    models_, rules_
        The fitted models, and the rule by which each answers, by name.
    log_scores_
        log P_m(y_i | x_i) of rows left out, (row, model).
    classes_
        Labels in order.

    References
    ----------
    Yao, Vehtari, Simpson & Gelman (2018), *Using stacking to average Bayesian predictive distributions*, Bayesian
    Analysis 13, doi:10.1214/17-BA1091.

    Examples
    --------
    >>> import bayesclf as bc
    >>> days = bc.datasets.load("play_tennis")
    >>> models = {"naive": bc.CategoricalNB(), "joint": bc.JointBayes()}
    >>> clf = bc.StackedClassifier(models, rule="predictive").fit(days.X, days.y)
    >>> {name: round(weight, 3) for name, weight in clf.weights_.items()}
    {'naive': 0.597, 'joint': 0.403}
    """

    classes_: NDArray[Any]
    models_: dict[str, BayesClassifier]
    rules_: dict[str, str]
    weights_: dict[str, float]
    log_scores_: Array

    def __init__(
        self,
        models: Mapping[str, BayesClassifier],
        *,
        rule: str | None = None,
        cv: int | str | None = None,
        random_state: int = 0,
    ) -> None:
        self.models = models
        self.rule = rule
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit every model, and weight them by their predictions of left-out rows.

        Parameters
        ----------
        X
            Table (row, feature), as all models take it.
        y
            Labels (row).

        Returns
        -------
        StackedClassifier
            Itself.

        Raises
        ------
        InputError
            For models, folds, rows or labels that cannot be used, or a row of probability 0 under every model.
        Refused
            Where a model has no leave-one-out scores under its rule, as `bayesclf.loo` says.
        """
        self._check_options()
        prefit = self.cv == PREFIT
        models = {name: model if prefit else clone(model).fit(X, y) for name, model in self.models.items()}
        first = next(iter(models.values()))
        for name, model in models.items():
            check_is_fitted(model, "classes_")
            if not np.array_equal(model.classes_, first.classes_):
                raise InputError(f"model {name!r} knows other classes than the first; fit all with the same classes")
        self.models_, self.classes_, self.n_features_in_ = models, first.classes_, first.n_features_in_
        if hasattr(first, "feature_names_in_"):
            self.feature_names_in_ = first.feature_names_in_
        self.rules_ = {name: scored(model.requested_rule(self.rule)) for name, model in models.items()}
        self.log_scores_ = self._one_by_one(X, y) if prefit or self.cv is None else self._fold_by_fold(X, y)
        self.weights_ = dict(zip(models, stacking_weights(self.log_scores_).tolist(), strict=True))
        return self

    def predict(self, X: Any, cost: Any = None, reject: float | None = None) -> NDArray[Any]:
        """Return the label of the smallest expected cost for each row.

        Parameters
        ----------
        X
            Table (row, feature).
        cost
            Costs ``cost[true, predicted]`` in the order of `classes_`; 0-1 loss by default.
        reject
            Largest acceptable expected cost; rows above it get None.

        Returns
        -------
        ndarray
            Labels (row).
        """
        return decisions.named(decisions.decide(self.predict_log_proba(X), cost, reject), self.classes_)

    def predict_proba(self, X: Any) -> Array:
        """Return Σ_m w_m P_m(y = k | x), (row, outcome), in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Return log Σ_m w_m P_m(y = k | x), (row, outcome), never clipped."""
        check_is_fitted(self, "weights_")
        used = {name: weight for name, weight in self.weights_.items() if weight > 0}
        answers = [self.models_[name].predict_log_proba(X, rule=self.rules_[name]) for name in used]
        return np.asarray(logsumexp(np.stack(answers), axis=0, b=np.array(list(used.values()))[:, None, None]))

    def _one_by_one(self, X: Any, y: Any) -> Array:
        """Return the log scores of rows, each left out by itself, (row, model)."""
        return np.column_stack([loo(model, X, y, self.rules_[name]).elpd_i for name, model in self.models_.items()])

    def _fold_by_fold(self, X: Any, y: Any) -> Array:
        """Return the log scores of rows, left out fold by fold, (row, model)."""
        X, y = indexable(X, y)
        codes = np.searchsorted(self.classes_, checked_labels(y, len(y)))
        assert isinstance(self.cv, int)
        splits, _ = cross_validation.split(codes, self.cv, 1, self.random_state)
        scores = np.empty((len(codes), len(self.models)))
        units = [(m, name, *split) for m, name in enumerate(self.models) for split in splits]
        with shown("stacking", len(units)) as tell:
            for done, (m, name, train, test) in enumerate(units, 1):
                parts = (_safe_indexing(X, train), _safe_indexing(y, train))
                fitted = clone(self.models[name]).fit(*parts, classes=self.classes_)
                log_proba = fitted.predict_log_proba(_safe_indexing(X, test), rule=self.rules_[name])
                scores[test, m] = log_proba[np.arange(len(test)), codes[test]]
                tell(name, done, len(units))
        return scores

    def _check_options(self) -> None:
        """Raise for arguments of the wrong kind."""
        if not isinstance(self.models, Mapping) or not self.models:
            raise InputError("models must be a mapping from names to classifiers, such as {'nb': NaiveBayes()}")
        for name, model in self.models.items():
            if not isinstance(model, BayesClassifier):
                raise InputError(f"model {name!r} is not a bayesclf classifier but {model!r}")
        if self.cv not in (None, PREFIT) and (not isinstance(self.cv, int) or isinstance(self.cv, bool)):
            raise InputError(f"cv must be None, {PREFIT!r} or a number of folds, not {self.cv!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        of_models = [model.__sklearn_tags__().input_tags for model in self.models.values()]
        for name in ("allow_nan", "categorical", "sparse", "string", "two_d_array"):
            setattr(tags.input_tags, name, all(getattr(one, name) for one in of_models))
        tags.input_tags.positive_only = any(one.positive_only for one in of_models)
        return tags
