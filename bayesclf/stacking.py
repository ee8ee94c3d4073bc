"""Stacking: fitted classifiers mixed by the weights that predict left-out rows best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import check_is_fitted

from bayesclf import decisions
from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import (
    BayesClassifier,
    fitted_with,
    innermost,
    take_over_attributes,
    take_over_input_tags,
    transformed,
)
from bayesclf.classifiers.inputs import accuracy, checked_labels, checked_weights, number_of_rows, seed_of
from bayesclf.constraints import Whole, require_bytes
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation import cross_validation, peers
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.cross_validation import as_table
from bayesclf.evaluation.leave_one_out import loo, scored, stacking_weights
from bayesclf.evaluation.score_table import Key
from bayesclf.progress import shown
from bayesclf.wording import joined

PREFIT = "prefit"

DRAWN = "it answers each row by one drawn hypothesis, so its log score is random"
"""Why the Gibbs classifier is not part of a stack."""

ROW_BYTES = 64
"""Memory that a repeated row takes at least."""


class StackedClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """P(y | x) = Σ_m w_m P_m(y | x): each model averages over its hypotheses, and stacking over the models.

    The weights maximize Σ_i log Σ_m w_m P_m(y_i | x_i, rows without i), the log score of left-out rows. They are not
    the models' posterior probabilities: those depend much on the priors of the models' parameters, and concentrate on
    one model as rows are added. A mixture of wrong models may predict better than any of them. A stacked classifier
    cannot be saved to a file; its models can. `Comparison.stack` makes one of the lines of a comparison, from the
    answers that it has already.

    Parameters
    ----------
    models : mapping from str to BayesClassifier, Pipeline or FrozenEstimator
        Classifiers of bayesclf, or pipelines whose last step is one, by name. `fit` fits copies of them, and leaves
        them as they are. Where rows are left out in folds, other classifiers with `predict_proba` take part as they
        are, without a rule. ``set_params(name__parameter=…)`` reaches into the model `name`.
    rule : str or mapping, optional
        Rule by which each model answers, any but ``"gibbs"``: one for all models, or a mapping from their names to a
        rule or a list of rules. Each rule is a part of the mixture, such as ``{"nb": ["map", "predictive"]}``. None, or
        no entry, takes the model's own, Bayes-optimal by default.
    cv : int, "prefit", splitter, iterable or None
        How rows are left out. None: one by one, as `bayesclf.loo` does. A number: in so many folds, stratified by
        label. A splitter of scikit-learn, or pairs of training and test rows: in its folds, in which each row is a test
        row once. ``"prefit"``: one by one, from models that are fitted already, to the rows that `fit` is given. One
        by one, the transformers of a pipeline are those fitted on all rows; in folds they are fitted anew.
    random_state : int
        Seed of the folds.

    Attributes
    ----------
    weights_ : dict
        Weight of each part of the mixture, by name; they add up to 1. A part is called as its model is, or
        ``"nb under map"`` where a list of rules was given for the model.
    models_ : dict
        The fitted models, by name.
    parts_ : dict
        The model of each part and the rule by which it answers, by the name of the part; the rule is "—" for a
        classifier without rules.
    log_scores_ : ndarray of shape (row, part)
        log P_m(y_i | x_i) of rows left out; of a comparison whose folds were repeated, all repeats one after another.
    left_out_ : dict
        Why a line of a comparison is not a part, by its name; empty after `fit`.
    classes_ : ndarray of shape (outcome,)
        Labels in order.
    n_features_in_, feature_names_in_
        Number of columns and their names, where the first model has them.

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
    models_: dict[str, Any]
    parts_: dict[str, Key]
    weights_: dict[str, float]
    log_scores_: Array
    left_out_: dict[str, str]

    def __init__(
        self,
        models: Mapping[str, Any],
        *,
        rule: str | Mapping[str, str | Sequence[str]] | None = None,
        cv: Any = None,
        random_state: int = 0,
    ) -> None:
        self.models = models
        self.rule = rule
        self.cv = cv
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with `deep` also the models by their names, and theirs as ``name__parameter``."""
        params: dict[str, Any] = super().get_params(deep=deep)
        own = set(params)
        for name, model in self.models.items() if deep and isinstance(self.models, Mapping) else ():
            if name not in own and "__" not in name:
                params[name] = model
                params |= {f"{name}__{key}": value for key, value in model.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters: own ones, whole models by their names, and those of models as ``name__parameter``."""
        if "models" in params:
            self.models = params.pop("models")
        if isinstance(self.models, Mapping):
            whole = set(params).intersection(self.models).difference(super().get_params(deep=False))
            if whole:
                self.models = {**self.models, **{name: params.pop(name) for name in whole}}
        super().set_params(**params)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit every model, and weight them by their predictions of left-out rows.

        Parameters
        ----------
        X : table or array of shape (row, feature)
            Table (row, feature), as all models take it.
        y : array of shape (row,)
            Labels (row).
        sample_weight : array of shape (row,) or None
            Weights (row), at least 0: how often each row counts. Where rows are left out one by one they must be
            whole numbers.

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
        labels = checked_labels(y, number_of_rows(X))
        if len(np.unique(labels)) == 1:
            raise InputError(f"y has one class only, {str(labels[0])!r}; give rows of at least two classes")
        prefit = self.cv == PREFIT
        one_by_one = prefit or self.cv is None
        weight = None if sample_weight is None else checked_weights(sample_weight, len(labels))
        if weight is not None and one_by_one:
            X, y, weight = *_repeated(X, y, weight), None
        self.models_ = {
            name: model if prefit else self._fitted(model, X, y, weight) for name, model in self.models.items()
        }
        first = next(iter(self.models_.values()))
        for name, model in self.models_.items():
            check_is_fitted(innermost(model) or model, "classes_")
            if not np.array_equal(model.classes_, first.classes_):
                raise InputError(f"model {name!r} knows other classes than the first; fit all with the same classes")
        take_over_attributes(self, first)
        self.parts_ = dict(self._parts())
        self.left_out_ = {}
        self.log_scores_ = self._one_by_one(X, y) if one_by_one else self._fold_by_fold(X, y, weight)
        self.weights_ = dict(zip(self.parts_, stacking_weights(self.log_scores_, weight).tolist(), strict=True))
        return self

    def summary(self) -> pd.DataFrame:
        """Return the parts of the mixture, largest weight first.

        Columns: `weight`, `model`, `rule` and `log_score`, the mean of log P(y | x) over rows left out; the name of the
        part is the index.
        """
        check_is_fitted(self, "weights_")
        names = list(self.parts_)
        table = pd.DataFrame(list(self.parts_.values()), index=names, columns=["model", "rule"])
        table.insert(0, "weight", [self.weights_[name] for name in names])
        return table.assign(log_score=self.log_scores_.mean(axis=0)).sort_values(
            "weight", ascending=False, kind="stable"
        )

    def predict(self, X: Any, cost: Any = None, reject: float | None = None) -> NDArray[Any]:
        """Return the label of the smallest expected cost for each row.

        Parameters
        ----------
        X : table or array of shape (row, feature)
            Table (row, feature).
        cost : array, DataFrame, dict or None
            Costs ``cost[true, predicted]`` in the order of `classes_`; 0-1 loss by default.
        reject : float or None
            Largest acceptable expected cost; rows above it get None.

        Returns
        -------
        ndarray
            Labels (row).
        """
        return decisions.named(decisions.decide(self.predict_log_proba(X), cost, reject), self.classes_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predicted labels; arguments as in `BayesClassifier.score`."""
        return accuracy(self.predict(X), self.classes_, y, sample_weight)

    def predict_proba(self, X: Any) -> Array:
        """Return Σ_m w_m P_m(y = k | x), (row, outcome), in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Return log Σ_m w_m P_m(y = k | x), (row, outcome), never clipped."""
        check_is_fitted(self, "weights_")
        used = {name: weight for name, weight in self.weights_.items() if weight > 0}
        answers = [_log_proba(self.models_, self.parts_[name], X, self.classes_) for name in used]
        return np.asarray(logsumexp(np.stack(answers), axis=0, b=np.array(list(used.values()))[:, None, None]))

    def _one_by_one(self, X: Any, y: Any) -> Array:
        """Return the log scores of rows, each left out by itself, (row, part)."""
        fits = {
            name: (cast(BayesClassifier, innermost(model)), transformed(model, X))
            for name, model in self.models_.items()
        }
        return np.column_stack([loo(*fits[name], y, rule).elpd_i for name, rule in self.parts_.values()])

    def _fold_by_fold(self, X: Any, y: Any, weight: Array | None) -> Array:
        """Return the log scores of rows, left out fold by fold, (row, part)."""
        X, y = indexable(X, y)
        codes = np.searchsorted(self.classes_, checked_labels(y, len(y)))
        splits = self._splits(X, codes)
        scores = np.empty((len(codes), len(self.parts_)))
        units = [(name, *split) for name in self.models for split in splits]
        with shown("stacking", len(units)) as tell:
            for done, (name, train, test) in enumerate(units, 1):
                rows = (_safe_indexing(X, train), _safe_indexing(y, train))
                of_train = None if weight is None else weight[train]
                fits = {name: self._fitted(self.models[name], *rows, of_train, self.classes_)}
                for place, part in enumerate(self.parts_.values()):
                    if part[0] == name:
                        log_proba = _log_proba(fits, part, _safe_indexing(X, test), self.classes_)
                        scores[test, place] = log_proba[np.arange(len(test)), codes[test]]
                tell(name, done, len(units))
        return scores

    def _fitted(self, model: Any, X: Any, y: Any, weight: Array | None, classes: Any = None) -> Any:
        """Return a fitted copy of a model."""
        if innermost(model) is not None:
            return fitted_with(clone(model), X, y, classes=classes, sample_weight=weight)
        if weight is not None:
            raise InputError(f"{type(model).__name__} is not a bayesclf classifier and takes no sample_weight here")
        return peers.fit(model, as_table(X), y, seed_of(self.random_state))[0]

    def _parts(self) -> Iterator[tuple[str, Key]]:
        """Yield the name of each part, and its model and rule."""
        for name, model in self.models_.items():
            inside = innermost(model)
            if inside is None:
                yield name, (name, peers.NO_RULE)
                continue
            given = self.rule.get(name) if isinstance(self.rule, Mapping) else self.rule
            if given is None or isinstance(given, str):
                yield name, (name, scored(inside.requested_rule(given)))
            else:
                rules = dict.fromkeys(scored(inside.requested_rule(rule)) for rule in given)
                yield from ((peers.line_name(name, rule), (name, rule)) for rule in rules)

    def _splits(self, X: Any, codes: Integers) -> list[tuple[Integers, Integers]]:
        """Return training and test rows of each fold."""
        if Whole(0).allows(self.cv):
            return list(cross_validation.split(codes, int(self.cv), 1, seed_of(self.random_state))[0])
        splits = list(cross_validation.given_splits(self.cv, X, codes))
        times = np.bincount(np.concatenate([test for _, test in splits]), minlength=len(codes))
        if (times != 1).any():
            row = int(np.flatnonzero(times != 1)[0])
            raise InputError(
                f"cv has row {row + 1} {times[row]} times among its test rows; give folds in which each row is one once"
            )
        return splits

    def _check_options(self) -> None:
        """Raise for arguments of the wrong kind."""
        if not isinstance(self.models, Mapping) or not self.models:
            raise InputError("models must be a mapping from names to classifiers, such as {'nb': NaiveBayes()}")
        in_folds = self.cv is not None and not isinstance(self.cv, str)
        for name, model in self.models.items():
            if innermost(model) is None and not (in_folds and hasattr(model, "predict_proba")):
                raise InputError(
                    f"model {name!r} is not a bayesclf classifier but {model!r}; other classifiers with predict_proba "
                    "can be stacked over folds, such as cv=5"
                )
        rules = self.rule if isinstance(self.rule, Mapping) else dict.fromkeys(self.models, self.rule)
        for name, given in rules.items():
            if name not in self.models:
                raise InputError(f"rule names {name!r}, which is not one of the models, {joined(self.models)}")
            if not (given is None or isinstance(given, str) or (isinstance(given, Iterable) and list(given))):
                raise InputError(f"rule must be a rule such as 'map', or several of them, not {given!r}")
        seed_of(self.random_state)
        number = Whole(0).allows(self.cv)
        folds = hasattr(self.cv, "split") or isinstance(self.cv, Iterable)
        if (isinstance(self.cv, str) and self.cv != PREFIT) or not (self.cv is None or number or folds):
            raise InputError(f"cv must be None, {PREFIT!r} or a number of folds, not {self.cv!r}; or give the folds")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        take_over_input_tags(tags, self.models.values())
        return tags


def of_comparison(comparison: Comparison) -> StackedClassifier:
    """Return a classifier that mixes the lines, P(y | x) = Σ_m w_m P_m(y | x), by the weights that score best.

    Lines that have no log score, such as that of the Gibbs classifier, are left out, as `left_out_` says.

    The weights maximize the log score of the answers to held-out rows, which the comparison has. The models are its
    fits on all rows. To see how well such a mixture predicts, compare a `StackedClassifier` like any other model.

    To fit the classifier anew, `fit` fits copies of the models on all rows and in the folds of the comparison; in the
    first repeat of several.

    Parameters
    ----------
    comparison : Comparison
        Result of `bayesclf.compare`.

    Raises
    ------
    Refused
        Where no line has log scores, or the label of a row has probability 0 under every line.

    Examples
    --------
    >>> import bayesclf as bc
    >>> iris = bc.datasets.load("iris")
    >>> found = bc.compare([bc.GaussianNB(), bc.GaussianDiscriminantAnalysis()], iris.X, iris.y, ["predictive"])
    >>> {line: round(weight, 2) for line, weight in found.stack().weights_.items()}
    {'gnb under predictive': 0.0, 'gda under predictive': 1.0}
    """
    fits = {**comparison.fits, **comparison.peers}
    left_out = {key: DRAWN if key[1] == "gibbs" else answer.reason for key, answer in comparison.answers.items()}
    left_out |= {key: "the model cannot be fitted to all rows" for key in left_out if key[0] not in fits}
    left_out = {key: reason for key, reason in left_out.items() if reason}
    keys = [key for key in comparison.answers if key not in left_out]
    if not keys:
        key, reason = next(iter(left_out.items()))
        raise Refused(f"no model can be stacked; {peers.line_name(*key)}: {reason}")
    losses = [np.concatenate([part.log_loss for part in comparison.answers[key].scores]) for key in keys]
    log_scores = -np.column_stack(losses)
    impossible = np.flatnonzero(np.isneginf(log_scores).all(axis=1))
    if impossible.size:
        row = np.concatenate(comparison.tested)[impossible[0]] + 1
        raise Refused(f"every model gave the label of row {row} the probability 0, so no mixture is best")
    weights = stacking_weights(log_scores)
    models = {name: fits[name] for name, _ in keys}
    rules = {name: [rule for model, rule in keys if model == name] for name in models}
    stack = StackedClassifier(
        models,
        rule={name: own for name, own in rules.items() if own != [peers.NO_RULE]},
        cv=list(comparison.splits) if comparison.splitter else comparison.cv,
        random_state=comparison.seed,
    )
    stack.models_, stack.log_scores_ = models, log_scores
    stack.parts_ = {peers.line_name(*key): key for key in keys}
    stack.weights_ = dict(zip(stack.parts_, weights.tolist(), strict=True))
    stack.left_out_ = {peers.line_name(*key): reason for key, reason in left_out.items()}
    take_over_attributes(stack, next(iter(models.values())))
    return stack


def _log_proba(fits: Mapping[str, Any], part: Key, X: Any, classes: NDArray[Any]) -> Array:
    """Return log P(k | x) of a model under a rule, (row, outcome)."""
    name, rule = part
    if rule == peers.NO_RULE:
        return peers.log_proba(fits[name], as_table(X), classes)
    return np.asarray(fits[name].predict_log_proba(X, rule=rule))


def _repeated(X: Any, y: Any, weight: Array) -> tuple[Any, Any]:
    """Return rows and labels, each as often as its weight says."""
    if (weight != np.round(weight)).any():
        raise InputError(
            "leaving out rows one by one needs weights that are whole numbers, how often each row counts; use "
            "cv=5 for others"
        )
    X, y = indexable(X, y)
    require_bytes(ROW_BYTES * weight.sum(), f"{weight.sum():,.0f} rows, each as often as it counts,", "use cv=5")
    rows = np.repeat(np.arange(len(weight)), weight.astype(np.intp))
    return _safe_indexing(X, rows), _safe_indexing(y, rows)
