"""What all classifiers do: condition a model on training rows, infer its hypotheses, answer under any rule."""

from __future__ import annotations

import inspect
import re
from abc import ABCMeta, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from itertools import takewhile
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self, cast, dataclass_transform

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import entr
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesclf import decisions, rules
from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.classifiers.given import PRIOR_OF_FIT, is_given, with_posterior
from bayesclf.classifiers.inputs import (
    UNLABELED,
    UNLABELED_CHOICE,
    UNLABELED_IN_PARTS,
    Training,
    about_dropped_rows,
    about_unlabeled_rows,
    accuracy,
    checked_labels,
    different_labels,
    known_class_prior,
    labeled_rows,
    possible_labels,
    require_labels_as,
    seed_of,
    series_of,
    warn_of_order,
)
from bayesclf.classifiers.passes import StreamedTable, fit_stream
from bayesclf.constraints import INSIDE, Choice, Instance, require
from bayesclf.display import Display, Displayed
from bayesclf.engines import MAP, MLE, Exact, Trace, inference
from bayesclf.engines.inference import Draws, Engine
from bayesclf.engines.optimizers import Optimizer
from bayesclf.errors import (
    ConvergenceWarning,
    DoesNotExist,
    InputError,
    PredictionWarning,
    Refused,
    may_be_absent,
    warn,
)
from bayesclf.methods import ClassifierMethods, with_methods
from bayesclf.models import Model
from bayesclf.models.generative import GenerativeModel
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import Hypotheses, HypothesisSet, SeededHypotheses, to_constants, to_dataset
from bayesclf.rules import Gibbs
from bayesclf.tables import columns
from bayesclf.tables.columns import Column, Rows, Table, to_sparse_table
from bayesclf.tables.remarks import about_columns
from bayesclf.wording import LISTED_NAMES, counted, listed, number

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr


PARAMETERS, ATTRIBUTES = "Parameters", "Attributes"


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def classifier[C: type](cls: C) -> C:
    """Return a class as a dataclass whose own options come first, with its bases' entries in its docstring."""
    made: Any = dataclass(eq=False, repr=False)(cls)
    shared = {option.name for base in cls.__mro__[1:] if is_dataclass(base) for option in fields(base)}
    signature = inspect.signature(made.__init__)
    ordered = sorted(signature.parameters.values(), key=lambda option: (option.kind, option.name in shared))
    made.__init__.__signature__ = signature.replace(parameters=ordered)
    complete_docstring(made)
    return made  # type: ignore[no-any-return]


def complete_docstring(cls: type) -> None:
    """Add to a class's docstring its bases' entries, as `help` reads the class's docstring alone."""
    own = _sections(cls.__doc__)
    accepted = set(inspect.signature(cls).parameters)
    for heading in (PARAMETERS, ATTRIBUTES):
        known: dict[str, str] = {}
        for base in cls.__mro__:
            if base.__module__.startswith("bayesclf."):
                known = {**known, **_entries(_sections(base.__doc__).get(heading, "")), **known}  # own ones first
        kept = [entry for name, entry in known.items() if heading == ATTRIBUTES or name in accepted]
        own[heading] = "\n".join([heading, "-" * len(heading), *kept])
    first = ("", PARAMETERS, ATTRIBUTES)
    cls.__doc__ = "\n\n".join(own[heading] for heading in (*first, *(name for name in own if name not in first)))


def _sections(docstring: str | None) -> dict[str, str]:
    """Return the sections of a numpydoc docstring by their headings; what comes first has the heading ""."""
    first, *others = re.split(r"\n\n(?=[^\n]+\n-{3,}\n)", inspect.cleandoc(docstring or ""))
    return {"": first, **{section.partition("\n")[0]: section for section in others}}


def _entries(section: str) -> dict[str, str]:
    """Return the entries of a section, ``name : type`` and the indented lines after it, by their names."""
    found = re.split(r"^(?=\S)", "\n".join(section.splitlines()[2:]), flags=re.MULTILINE)
    return {entry.partition(" :")[0]: entry.strip("\n") for entry in found if entry}


SHOWN = 5
"""Rows that a display of uncertainties names."""


@dataclass(frozen=True, repr=False)
class Uncertainty(Displayed):
    """Entropy of the predicted class in nats, each (row).

    Attributes
    ----------
    total
        H of the rule's answer: of Σ_s w_s P(y | x, h_s), under ``"tempered"`` of that with densities p(x | k, D).
    aleatoric
        Σ_s w_s H[P(y | x, h_s)], at most the total: what would remain if θ were known.
    epistemic
        Their difference, the mutual information of y and θ: what more data would remove. Conditional on the model:
        under a false independence assumption it shrinks around a wrong value.
    """

    total: Array
    aleatoric: Array
    epistemic: Array

    def _display(self) -> Display:
        rows = len(self.total)
        most = np.argsort(-self.epistemic, kind="stable")[:SHOWN]
        parts = (self.total, self.aleatoric, self.epistemic)
        lines = [("mean", *(number(float(part.mean())) for part in parts))] if rows else []
        lines += [(f"row {row}", *(number(float(part[row])) for part in parts)) for row in most]
        return Display(
            f"Entropy of {counted(rows, 'row')} in nats, the largest epistemic uncertainty first",
            ("", "total", "aleatoric", "epistemic"),
            lines,
            left_out=rows - len(most),
        )


SOURCES = ("mle", "map", "mean", "posterior", "tempered")
"""What rules take hypotheses from."""

INTERVAL_RULES = ("bayes-optimal", "predictive", "tempered")
"""Rules whose hypotheses have probabilities of their own, which spread."""

CI_PROB = 0.89
"""Default probability of credible intervals, ArviZ's."""


FOR_ROOMS = frozenset(
    [
        *("encode", "frame", "hypotheses", "known_codes", "posterior_draws", "requested_rule"),
        *("interval_rule", "rows", "spread", "get_metadata_routing"),
    ]
)
"""Methods that other rooms of the package or scikit-learn call, and few users: `dir` leaves them out."""

NO_PARAMETER = "the model has no parameters, because no column is informative and the class prior is known"
"""What a posterior without a parameter says of itself."""


@with_methods
class BayesClassifier(ClassifierMixin, BaseEstimator, ClassifierMethods, metaclass=ABCMeta):  # type: ignore[misc]
    """A scikit-learn classifier whose parameters have a posterior. Subclasses make the model and encode its rows.

    Its cached properties are computed on explicit access only. scikit-learn's display of a fitted estimator, and its
    ``dir``, read every attribute. That would build the posterior's data sets, which takes seconds, can be refused, and
    leaves objects that cannot be pickled.

    Attributes
    ----------
    classes_ : ndarray of shape (outcome,)
        Labels in order.
    n_features_in_ : int
        Number of columns of the training table.
    feature_names_in_ : ndarray of shape (feature,)
        Their names, where all are strings.
    columns_ : tuple of Column
        The training columns, with what each holds and its levels.
    reading_ : dict
        How the table was read, if it was a file: `predict_stream` and reports read files in the same way.
    notes_ : list of str
        What the user should know of the fit, one sentence each.
    inference_ : Engine
        The engine that was used, with its settings.
    convergence_problems_ : tuple of str
        Why the draws cannot be trusted yet, one sentence each; empty where they can.
    draws_ : Draws or None
        The draws of the posterior; None for point estimates.
    points_ : dict
        The point estimates found so far.
    model_ : Model
        The model, conditioned on the training rows.
    seed_ : int
        Seed of the draws and of the Gibbs classifier.
    trace_ : Trace or None
        Trajectory of the optimizer, where one was given.
    """

    inference: str | inference.Engine
    rule: str | Gibbs | None
    random_state: Any
    missing: str
    notes_: list[str]
    classes_: NDArray[Any]
    target_name_: str | None
    reading_: dict[str, Any]
    model_: Model
    trace_: Trace | None
    draws_: Draws | None
    points_: dict[str, Parameters | DoesNotExist]
    inference_: Engine
    seed_: int
    convergence_problems_: tuple[str, ...]
    n_features_in_: int

    _takes_text = False
    _takes_words = True
    """Whether cells can be words."""
    fit_stream = fit_stream
    with_posterior = with_posterior

    @property
    @abstractmethod
    def columns_(self) -> tuple[Column, ...]:
        """The training columns, with what each holds and its levels."""

    @abstractmethod
    def _make_model(self, rows: Training) -> Model:
        """Return the model conditioned on training rows; sets whatever `encode` needs."""

    @abstractmethod
    def _learn_stream(self, table: StreamedTable) -> None:
        """Condition the model on a table that is read batch by batch, for `fit_stream`."""

    @abstractmethod
    def encode(self, frame: Any) -> Rows:
        """Return the rows of a checked table, that of `frame`, in the model's encoding."""

    @property
    def _learns_unlabeled(self) -> bool:
        """Whether `fit` can learn from rows without a label."""
        return False

    def fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None, unlabeled: str = "error") -> Self:
        """Condition the model on training rows and infer its parameters.

        Parameters
        ----------
        X : table or array of shape (row, feature)
            Table (row, feature); a DataFrame, or an array.
        y : array of shape (row,)
            Labels (row), at least two different ones.
        sample_weight : array of shape (row,) or None
            Weights (row), at least 0: how often each row counts.
        classes : sequence of labels or None
            All labels that can occur, where the training rows may lack some; these must have no others.
        unlabeled : {"error", "drop", "use"}
            What to do with rows whose label is None, NaN or `pandas.NA`: refuse them; leave them out; or, which
            generative classifiers can, learn from them what the columns of some class look like. That helps where the
            model is about right, and can do harm where it is not: compare both on held-out rows with labels.

        Returns
        -------
        BayesClassifier
            Itself.

        Raises
        ------
        InputError
            For labels or cells that cannot be used.
        Refused
            Where the engine cannot infer this model.
        """
        with self._rollback_on_error():
            warn_of_order(X, y=y, sample_weight=sample_weight)
            rows, remarks = self._training(X, y, sample_weight, classes, unlabeled)
            if rows.labeled.all():
                self._infer(self._make_model(rows))
            else:
                self._infer_partly(rows)
            if self.draws_ is not None:
                self.hypotheses("posterior")  # made here, so that predictions leave a fitted classifier as it is
            words: list[str] = []
            if not sparse.issparse(X) and not columns.is_described(X, rows.frame):
                words = about_columns(rows.frame, hasattr(self, "feature_names_in_"))
            self.notes_ = [*columns.notes_of(X), *words, *self.notes_, *remarks]
        return self

    def predict(
        self,
        X: Any,
        rule: str | Gibbs | None = None,
        cost: Any = None,
        reject: float | None = None,
        class_prior: Any = None,
    ) -> NDArray[Any]:
        """Return the label of the smallest expected cost for each row.

        Parameters
        ----------
        X : table or array of shape (row, feature)
            Table (row, feature).
        rule : str, Gibbs or None
            One of `bayesclf.rules.RULES`; by default that of the constructor, else Bayes-optimal, tempered for
            `NaiveBayes` and `BayesNetClassifier`, or the point estimate that was requested. The hypothesis of
            ``"gibbs"`` depends on `random_state` and the row's position in X alone; ``Gibbs(draw=i)`` is hypothesis i
            for all rows.
        cost : array, DataFrame, dict or None
            Costs ``cost[true, predicted]`` in the order of `classes_`; 0-1 loss by default.
        reject : float or None
            Largest acceptable expected cost; rows above it get None.
        class_prior : str, array, dict or None
            Other base rates than the training rows': (outcome), by label, or ``"uniform"``.

        Returns
        -------
        ndarray
            Labels (row).
        """
        return decided(self, self.predict_log_proba(X, rule, class_prior), rule, cost, reject)

    def predict_proba(self, X: Any, rule: str | Gibbs | None = None, class_prior: Any = None) -> Array:
        """Return P(y = k given x), (row, outcome), in the order of `classes_`; arguments as in `predict`."""
        return np.exp(self.predict_log_proba(X, rule, class_prior))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the predicted labels.

        Parameters
        ----------
        X : table or array of shape (row, feature)
            Rows to predict (row, feature).
        y : array of shape (row,)
            Their labels (row).
        sample_weight : array of shape (row,) or None
            Weights (row); by default all rows count the same.

        Raises
        ------
        InputError
            If a row has no label, or the labels are of another type than those of the fit.
        """
        predicted = self.predict(X)
        warn_of_order(X, y=y, sample_weight=sample_weight)
        return accuracy(predicted, self.classes_, y, sample_weight)

    def predict_log_proba(self, X: Any, rule: str | Gibbs | None = None, class_prior: Any = None) -> Array:
        """Return log P(y = k given x), (row, outcome), never clipped; arguments as in `predict`."""
        rows = self.rows(X)
        rule = self.requested_rule(rule)
        resolved, _ = rules.resolve(rule)
        hypotheses = self.hypotheses(resolved.source, class_prior)
        return rules.log_proba(rule, hypotheses, rows, self.seed_)

    def decision_function(self, X: Any, rule: str | Gibbs | None = None, class_prior: Any = None) -> Array:
        """Return log-odds: of two classes those of the second, (row), else each class's, (row, outcome).

        They are those of `predict_proba` under the same rule; of more than two classes, log P(k | x) less the mean
        over classes. Where the model is linear and the rule plugs in a point (``"map"``, ``"mle"``, ``"mean"``), they
        are ``X @ coef_.T + intercept_``; averages over hypotheses are not linear in x. Arguments as in `predict`.
        """
        log_proba = self.predict_log_proba(X, rule, class_prior)
        if log_proba.shape[1] == 2:
            return np.asarray(log_proba[:, 1] - log_proba[:, 0])
        possible = np.isfinite(log_proba)
        return log_proba - log_proba.mean(axis=1, keepdims=True, where=possible)

    def predict_interval(
        self, X: Any, ci_prob: float = CI_PROB, rule: str | None = None, class_prior: Any = None
    ) -> Array:
        """Return the equal-tailed credible interval of P(y = k | x, θ), (row, outcome, bound).

        It is conditional on the model: under a false independence assumption it shrinks around a wrong value, less so
        under ``"tempered"``. The answer of that rule has predictive densities, p(x | k, D). Where it lies outside the
        draws' interval, the interval is widened to hold it.

        Parameters
        ----------
        X : table or array of shape (row, feature)
            Table (row, feature).
        ci_prob : float
            Posterior probability between the bounds, in (0, 1).
        rule : str or None
            By default the classifier's own, or ``"bayes-optimal"`` where that is a point or a draw. Weights of the
            hypotheses: ``"bayes-optimal"`` P(θ | D), ``"predictive"`` P(θ | D, x); ``"tempered"`` P(θ | D), each θ with
            one draw of T and b, by which log p(x | k, θ) is believed.
        class_prior : str, array, dict or None
            Other base rates than the training rows': (outcome), by label, or ``"uniform"``.
        """
        require(INSIDE, ci_prob=ci_prob)
        rows, rule = self.rows(X), self.interval_rule(rule)
        found = averaging.interval(self.spread(rule, class_prior), rows, ci_prob, given_x=rule == "predictive")
        if rule == "tempered":
            answer = self.predict_proba(X, rule, class_prior)
            np.minimum(found[..., 0], answer, out=found[..., 0])
            np.maximum(found[..., 1], answer, out=found[..., 1])
        return found

    def uncertainty(self, X: Any, rule: str | None = None, class_prior: Any = None) -> Uncertainty:
        """Split the entropy of the rule's answer into aleatoric and epistemic parts; arguments as in intervals."""
        rows, rule = self.rows(X), self.interval_rule(rule)
        averages = averaging.average(self.spread(rule, class_prior), rows, given_x=rule == "predictive")
        log_proba = self.predict_log_proba(X, rule, class_prior) if rule == "tempered" else averages.log_proba
        total = np.asarray(entr(np.exp(log_proba)).sum(axis=1), dtype=float)
        aleatoric = np.minimum(averages.entropy, total)
        return Uncertainty(total, aleatoric, total - aleatoric)

    def interval_rule(self, rule: str | None) -> str:
        """Return a rule that intervals can have; by default the own one, or Bayes-optimal."""
        if rule is None:
            own, _ = rules.resolve(self.requested_rule(None))
            return own.name if own.name in INTERVAL_RULES else "bayes-optimal"
        require(Choice(INTERVAL_RULES), rule=rule)
        return rule

    def spread(self, rule: str, class_prior: Any = None) -> HypothesisSet:
        """Return the hypotheses whose probabilities spread around the answer of a rule that averages over them."""
        return self.hypotheses("posterior", class_prior)

    @contextmanager
    def _rollback_on_error(self) -> Iterator[None]:
        """Restore the previous state if a fit fails."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _renew(self, model: Model) -> None:
        """Set the fitted state that does not depend on the engine."""
        for name in ("posterior_", "_drawn"):
            self.__dict__.pop(name, None)
        self.seed_ = seed_of(self.random_state)
        if self.rule is not None:
            rules.resolve(self.rule)
        self.model_ = model
        self._notes_of_draws: list[str] = []
        self.points_ = {}
        self.trace_ = None

    def _infer(self, model: Model) -> None:
        """Set the fitted state that depends on model, engine and seed."""
        self._renew(model)
        engine = inference.resolve(self.inference, model)
        if isinstance(engine, MAP | MLE) and engine.optimizer is not None:
            self._watch(type(engine).__name__.lower(), engine.optimizer)
        inferred = inference.infer(model, engine, self.seed_)
        self.draws_, self.inference_ = inferred.draws, inferred.engine
        self._note_draws(*inferred.notes)
        self.convergence_problems_ = self.draws_.problems if self.draws_ else ()

    def _note_draws(self, *notes: str) -> None:
        """Add notes about the draws of the posterior, which do not hold for draws that are given instead."""
        self.notes_ += notes
        self._notes_of_draws += notes

    def _watch(self, name: str, optimizer: Optimizer) -> None:
        """Find a point by the requested optimizer and keep its trajectory; warn if it did not converge."""
        self.trace_, self.points_[name] = inference.watch(self.model_, name, optimizer, self.seed_)
        if not self.trace_.certificate.converged:
            warn(self.trace_.certificate.message, ConvergenceWarning)

    def _point(self, name: str) -> Parameters:
        """Return the estimate ``"mle"`` or ``"map"``, computed on first use; one that does not exist says why."""
        if name not in self.points_:
            try:
                self.points_[name] = inference.estimate(self.model_, name)
            except DoesNotExist as reason:
                self.points_[name] = reason
        point = self.points_[name]
        if isinstance(point, DoesNotExist):
            raise DoesNotExist(str(point))
        return point

    def hypotheses(self, source: str, class_prior: Any = None) -> Hypotheses | SeededHypotheses:
        """Return a set of hypotheses, for use with `bayesclf.rules`.

        Parameters
        ----------
        source : str
            ``"mle"``, ``"map"`` or ``"mean"``, one hypothesis each, ``"posterior"``, or ``"tempered"``: values of T and
            b, for discriminative models the posterior.
        class_prior : str, array, dict or None
            Other base rates than the training rows': (outcome), by label, or ``"uniform"``.

        Raises
        ------
        DoesNotExist
            For a point that the data do not define.
        Refused
            For the posterior of a fit that has none.
        """
        check_is_fitted(self, "classes_")
        if not isinstance(source, str) or source not in SOURCES:
            require(Choice(SOURCES), source=source)
        model, offset = self._with_class_prior(class_prior)
        if source in ("mle", "map"):
            return Hypotheses(model, self._point(source), offset=offset)
        if self.draws_ is None:
            raise Refused(
                f"a fit by {type(self.inference_).__name__} has no posterior to average over; fit with "
                "inference='auto', or use the rule 'map' or 'mle'"
            )
        if source == "mean":
            return Hypotheses(model, self._mean(), offset=offset)
        if self.draws_.seeded is not None:
            assert isinstance(model, GenerativeModel)
            assert isinstance(self.model_, GenerativeModel)
            return SeededHypotheses(model, self.model_.posterior(), self.draws_.seeded)
        return replace(self._drawn, model=model, offset=offset) if class_prior is not None else self._drawn

    @cached_property
    def _drawn(self) -> Hypotheses:
        """The draws with the base rates of the training rows, which keep what predictions share."""
        return Hypotheses(self.model_, self._posterior_parameters())

    def _posterior_parameters(self) -> Parameters:
        assert self.draws_ is not None
        return self.draws_.parameters

    def _mean(self) -> Parameters:
        """Return E[θ | D]: in closed form after exact inference, else the average of the draws."""
        assert self.draws_ is not None
        if isinstance(self.inference_, Exact):
            return self.model_.mean()  # type: ignore[attr-defined, no-any-return]
        return {name: values.mean(axis=0, keepdims=True) for name, values in self.draws_.parameters.items()}

    def _with_class_prior(self, class_prior: Any) -> tuple[Model, Array | None]:
        """Return the model, and the log odds to add to its scores, for other base rates than the training rows'."""
        if class_prior is None:
            return self.model_, None
        pi = known_class_prior(class_prior, self.classes_).pi
        presumed = self.model_.log_class_prior({})[0]
        if np.isneginf(presumed).any():
            lacking = self.classes_[int(presumed.argmin())]
            raise Refused(f"class {str(lacking)!r} had no training rows, so its base rate cannot be replaced")
        with np.errstate(divide="ignore"):
            return self.model_, np.asarray(np.log(pi) - presumed)

    def requested_rule(self, rule: str | Gibbs | None) -> str | Gibbs:
        """Return the rule to answer by: the one given, that of the constructor, or the natural one of the engine."""
        check_is_fitted(self, "classes_")
        if rule is not None:
            return rule
        if self.rule is not None:
            return self.rule
        if self.draws_ is not None:
            return self._rule_of_posterior
        return "mle" if isinstance(self.inference_, MLE) else "map"

    @property
    def _rule_of_posterior(self) -> str:
        """The rule by which a fit with a posterior answers where none is requested."""
        return "bayes-optimal"

    def rows(self, X: Any) -> Rows:
        """Return a table's rows in the encoding of the model, for use with `bayesclf.rules`."""
        return self.encode(self.frame(X))

    def frame(self, X: Any) -> Table:
        """Return rows to predict as a checked table, with the columns of the training table in their order."""
        check_is_fitted(self, "classes_")
        table: Table = self._validated(X, reset=False)
        columns.warn_of_signs(columns.reading_of(X).get("signs") or {}, self.reading_.get("signs"))
        return table

    def _validated(self, X: Any, reset: bool) -> Any:
        """Check a table; at prediction it may have its needed columns in any order, and others."""
        import pandas as pd

        if sparse.issparse(X) and get_tags(self).input_tags.sparse:
            self._check_columns(X, reset)
            return to_sparse_table(X, None if reset else self._column_names)
        X = columns.with_names(columns.to_pandas(X))
        if isinstance(X, pd.DataFrame) and not reset and hasattr(self, "feature_names_in_"):
            if not any(isinstance(name, str) for name in X.columns):
                X = X.set_axis(X.columns.map(str), axis=1)  # whole numbers count as their words
            lacking = [name for name in self.feature_names_in_ if name not in X.columns]
            if lacking:
                some = listed(map(repr, lacking), LISTED_NAMES)
                raise InputError(
                    f"the table lacks column {some}, which the model was fitted with; add it, empty where unknown"
                )
            names = list(self.feature_names_in_)
            if names != list(X.columns):  # picking columns costs more than all other checks of a small table
                X = X[names]
        frame = columns.to_frame(X)
        self._check_columns(X, reset)
        if not reset and not (isinstance(X, pd.DataFrame) and hasattr(self, "feature_names_in_")):
            # One side has no names of its own: scikit-learn has warned, and the columns count by their places.
            names = list(self._column_names)
            frame = frame if list(frame.columns) == names else frame.set_axis(names, axis=1)
        return frame

    def _check_columns(self, X: Any, reset: bool) -> None:
        """Note the number and names of a table's columns, or compare them, in the words of scikit-learn's contract."""
        try:
            validate_data(self, X, reset=reset, skip_check_array=True)
        except ValueError as error:
            raise InputError(" ".join(str(error).split())) from None

    def _training(
        self, X: Any, y: Any, sample_weight: Any, classes: Any, unlabeled: str, in_parts: bool = False
    ) -> tuple[Training, tuple[str, ...]]:
        """Return the rows to learn from, those of a fit or further ones, and what to say of others."""
        require(UNLABELED_IN_PARTS if in_parts else UNLABELED_CHOICE, unlabeled=unlabeled)
        more = in_parts and "classes_" in vars(self)
        frame = self._validated(X, reset=not more)
        if not more:
            self.reading_ = columns.reading_of(X)
        codes_of = self._codes_of_more if more else self._label_codes
        labels, remarks = series_of(y), tuple[str, ...]()
        found = labeled_rows(labels)
        if found is None or len(labels) != len(frame):
            codes = codes_of(labels, len(frame), classes)
        else:
            there, known = found
            if unlabeled == "error":
                use = ", or learn from them (unlabeled='use')" if self._learns_unlabeled and not in_parts else ""
                raise InputError(f"{about_unlabeled_rows(there)}; label them or leave them out (unlabeled='drop'){use}")
            codes = np.full(len(frame), UNLABELED)
            codes[there] = codes_of(known, len(known), classes)
            remarks = (about_dropped_rows(there),) * (unlabeled == "drop")
        rows = Training.of(frame, codes, sample_weight)
        if not rows.labeled.any():
            raise InputError("all rows with a label have weight zero; give some of them a weight above 0")
        return rows.kept(rows.labeled) if unlabeled == "drop" else rows, remarks

    def _infer_partly(self, rows: Training) -> None:
        """Learn from rows of which some have no label, where a classifier can."""
        name = type(self).__name__
        raise Refused(f"{name} does not learn from rows without a label; pass unlabeled='drop' to leave them out")

    def _label_codes(self, y: Any, rows: int, classes: Any) -> Integers:
        """Check training labels, set `classes_` and `target_name_`, their Series's name; return their codes (row)."""
        name = getattr(y, "name", None)
        self.target_name_ = None if name is None else str(name)
        different, place = different_labels(y, rows)
        self.classes_ = possible_labels(different, classes)
        if len(self.classes_) < 2:
            raise InputError(
                f"y has one class only, {str(self.classes_[0])!r}; give rows of at least two classes, or name all that "
                "can occur (classes=[…])"
            )
        return np.asarray(np.searchsorted(self.classes_, different)[place])

    def _codes_of_more(self, y: Any, rows: int, classes: Any) -> Integers:
        """Return the codes (row) of labels of further rows; `classes`, where given again, must be the same."""
        labels = checked_labels(y, rows)
        if classes is not None and not np.array_equal(possible_labels(labels, classes), self.classes_):
            raise InputError(
                f"classes={np.ravel(np.asarray(classes)).tolist()} is not the same as on the last call of partial_fit, "
                f"{self.classes_.tolist()}; name the same classes, or none after the first call"
            )
        try:
            return self.known_codes(labels)
        except InputError as error:
            reason = str(error).partition(";")[0]
            remedy = "name all that can occur at the first call, classes=[…]"
            raise InputError(f"{reason}; {remedy}") from None

    def known_codes(self, y: Any) -> Integers:
        """Return the codes (row) of labels, which must be among `classes_`."""
        y = np.asarray(y)
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            require_labels_as(self.classes_, y)
            raise InputError(f"label {str(y[unknown][0])!r} was not among the training labels; leave such rows out")
        return np.asarray(np.searchsorted(self.classes_, y))

    @property
    def _column_names(self) -> tuple[str, ...]:
        """The names of the training columns."""
        return tuple(column.name for column in self.columns_)

    @property
    def _labels(self) -> tuple[str, ...]:
        return tuple(str(label) for label in self.classes_)

    @cached_property
    @may_be_absent
    def posterior_(self) -> xr.DataTree:
        """The hypotheses as an `xarray.DataTree`: `posterior`, `sample_stats`, `map`, `mle`, as far as they exist."""
        import xarray as xr

        check_is_fitted(self, "classes_")
        dims, coords = self.model_.shown_dims(), self.model_.shown_coords()
        groups: dict[str, xr.Dataset] = {}
        if self.draws_ is not None:
            groups["posterior"] = self._draws_of(dims)
            if self.draws_.stats is not None:
                groups["sample_stats"] = self.draws_.sample_stats
        for name in ("map", "mle"):
            try:
                groups[name] = to_dataset(self.model_.shown(self._point(name)), dims, coords)
            except DoesNotExist as reason:
                groups[name] = xr.Dataset(attrs={"does_not_exist": str(reason)})
        constants = to_constants(coords)
        if constants:
            groups["constant_data"] = constants
        return xr.DataTree.from_dict(groups)

    def posterior_draws(self) -> xr.Dataset:
        """Return the parameters' draws in memory as `posterior_` has them, and a sentence about the others.

        Unlike `posterior_` it computes no point estimates, which can take a while, and has no variables of the PyMC
        model that follow from the parameters.
        """
        return self._draws_of(self.model_.dims())

    def _draws_of(self, dims: dict[str, tuple[str, ...]]) -> xr.Dataset:
        """Return the draws of what has these axes by name."""
        if self.draws_ is None:
            raise Refused(f"a fit by {type(self.inference_).__name__} is a point estimate and has no draws")
        coords = self.model_.shown_coords()
        seeded = self.draws_.seeded
        drawn = self.draws_.parameters if seeded is None else seeded.class_prior(cast("Any", self.model_).posterior())
        parameters = self.model_.shown(drawn)
        held = {name: axes for name, axes in dims.items() if name in parameters}
        dataset = to_dataset(parameters, held, coords, self.draws_.chains)
        if not dims:
            dataset.attrs["not_held"] = NO_PARAMETER
        elif len(held) < len(dims):
            dataset.attrs["not_held"] = (
                f"{len(seeded or ())} draws of {', '.join(sorted(set(dims) - set(held)))} are too large to "
                "keep in memory; they are made from a seed when predictions need them"
            )
        return dataset

    def to_pymc(self, X: Any, y: Any, sample_weight: None = None) -> pm.Model:
        """Return the PyMC model of labels and rows, to read, to sample and to extend.

        It is made of the functions of `bayesclf.pymc_models`, with the priors of this fit. Its free variables are in
        `posterior_` under the same names, so that `pymc.sample_posterior_predictive` and
        `pymc.compute_log_likelihood` take ``posterior_``, and `with_posterior` takes the draws of `pymc.sample`.
        `pymc_data` returns what `pymc.set_data` needs for other rows.

        Parameters
        ----------
        X, y
            Labeled rows, usually those of the fit; priors are those of the fit.
        sample_weight : None
            Rows have no weights in PyMC.

        Raises
        ------
        Refused
            Where PyMC has no such model: for weights, columns that depend on missing cells, a table too
            large for its rows to be dense.

        Warns
        -----
        PredictionWarning
            For draws that were given, whose prior is not known.
        """
        if sample_weight is not None:
            raise Refused(
                "a PyMC model has no weights of rows; repeat a row as often as it counts: "
                "at = np.repeat(np.arange(len(y)), sample_weight), then X.iloc[at] and y[at]"
            )
        table = self.frame(X)
        if is_given(self):
            warn(PRIOR_OF_FIT, PredictionWarning)
        return self.model_.page(self.encode(table), self.known_codes(checked_labels(y, len(table))))

    def pymc_data(self, X: Any) -> dict[str, Any]:
        """Return what `pymc.set_data` needs to give the model of `to_pymc` other rows.

        Parameters
        ----------
        X : table or array of shape (row, feature)
            Rows with the columns of the fit, without missing cells.

        Returns
        -------
        dict
            Arrays by the names of the model's data; ``labels`` are those of the first class, as they are to be drawn.

        Raises
        ------
        InputError
            For a classifier that is not fitted, and other columns.
        Refused
            For missing cells, new levels, and what `to_pymc` refuses.
        """
        check_is_fitted(self, "classes_")
        rows = self.encode(self.frame(X))
        model = self.model_.page(rows, np.zeros(len(rows), dtype=np.intp))
        axes = [model.named_vars_to_dims.get(variable.name, ()) for variable in model.data_vars]
        if any(own and own[0] not in ("row", "outcome") for own in axes):
            raise Refused(
                "rows with missing cells or with new levels need other variables in PyMC; leave these rows out, or "
                "call to_pymc again"
            )
        return {variable.name: variable.get_value() for variable in model.data_vars}

    def predict_set(
        self, X: Any, level: float = 0.9, rule: str | Gibbs | None = None, class_prior: Any = None
    ) -> decisions.PredictionSets:
        """Return for each row the smallest set of classes whose probability is at least `level`, in (0, 1).

        Such a set has the true class as often as its probability says only where the model is right: it promises no
        coverage. `bayesclf.SplitConformal` does. The other arguments are those of `predict`.
        """
        return decisions.posterior_sets(self.predict_log_proba(X, rule, class_prior), self.classes_, level)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = self._takes_words
        tags.non_deterministic = isinstance(self.rule, Gibbs) or self.rule == "gibbs"
        return tags

    @property
    def _source(self) -> str:
        """The parameters of the default rule: those of the posterior where it averages."""
        resolved, _ = rules.resolve(self.requested_rule(None))
        return "posterior" if resolved.averages else resolved.source

    def _point_parameters(self, attribute: str) -> Parameters:
        """Return the parameters of one hypothesis, the posterior mean where the rule averages; for an attribute."""
        source = "mean" if self._source == "posterior" else self._source
        try:
            return self.hypotheses(source).parameters
        except (DoesNotExist, Refused) as reason:
            raise AttributeError(f"{attribute} does not exist: {reason}") from reason

    def _by_column(self, values: Array, names: Sequence[str], fill: float) -> Array:
        """Return values (…, feature) of some columns on all columns of the training table, or of words as they are."""
        if self.columns_[0].kind == "text":  # the model's features are the words of this one column
            return values
        place = {column.name: position for position, column in enumerate(self.columns_)}
        out = np.full((*values.shape[:-1], len(place)), fill)
        out[..., [place[name] for name in names]] = values
        return out

    def __dir__(self) -> list[str]:
        # not BaseEstimator's, which looks each attribute up; what a fit finds is offered after it only
        fitted = "classes_" in vars(self)
        names = (
            name
            for name in object.__dir__(self)
            if name not in FOR_ROOMS and not (name.startswith("set_") and name.endswith("_request"))
        )
        return [name for name in names if fitted or name.startswith("_") or not name.endswith("_")]

    def __getstate__(self) -> dict[str, Any]:
        members = (member for cls in type(self).__mro__ for member in vars(cls).items())
        computed = {name for name, value in members if isinstance(value, cached_property)}
        return {name: value for name, value in super().__getstate__().items() if name not in computed}

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """Return what a notebook shows of the fitted attributes: those that `fit` has set."""
        fitted = SimpleNamespace(**self.__getstate__())
        shown = BaseEstimator._get_fitted_attr_html(fitted, doc_link)  # noqa: SLF001 - scikit-learn has no public hook
        shown.estimator_class = type(self)
        return shown


FITTED = Instance(BayesClassifier, "a fitted bayesclf classifier")
"""What functions of a classifier take."""


def decided(
    classifier: BayesClassifier,
    log_proba: Array,
    rule: str | Gibbs | None = None,
    cost: Any = None,
    reject: float | None = None,
) -> NDArray[Any]:
    """Return labels (row) from log P(y = k | x), (row, outcome); the other arguments are those of `predict`."""
    resolved, gibbs = rules.resolve(classifier.requested_rule(rule))
    if resolved.name == "gibbs" and gibbs.draw == "label":
        if cost is not None or reject is not None:
            raise Refused("a Gibbs classifier that draws labels cannot use costs; use draw='hypothesis'")
        return np.asarray(classifier.classes_[gibbs.decide(log_proba, classifier.seed_)])
    return decisions.named(decisions.decide(log_proba, cost, reject), classifier.classes_)


def innermost(estimator: Any) -> BayesClassifier | None:
    """Return the classifier of bayesclf in a pipeline or frozen estimator; None where another estimator answers.

    Examples
    --------
    >>> import bayesclf as bc
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> innermost(make_pipeline(StandardScaler(), FrozenEstimator(bc.GaussianNB())))
    GaussianNB()
    """
    *_, inside = _nested(estimator)
    return inside if isinstance(inside, BayesClassifier) else None


def _nested(estimator: Any) -> Iterator[Any]:
    """Yield an estimator, the one that it freezes or the last step of the pipeline that it is, and so on."""
    yield estimator
    while isinstance(estimator, FrozenEstimator | Pipeline):
        estimator = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator.steps[-1][1]
        yield estimator


def is_frozen(estimator: Any) -> bool:
    """Return whether `fit` leaves the classifier as it is."""
    return any(isinstance(one, FrozenEstimator) for one in _nested(estimator))


def fitted_with(estimator: Any, X: Any, y: Any, **given: Any) -> Any:
    """Fit an estimator; what is given besides rows and labels, unless None, goes to the classifier inside it."""
    pipelines = takewhile(lambda one: isinstance(one, Pipeline), _nested(estimator))
    prefix = "".join(f"{one.steps[-1][0]}__" for one in pipelines)
    return estimator.fit(X, y, **{prefix + name: value for name, value in given.items() if value is not None})


def transformed(estimator: Any, X: Any) -> Any:
    """Return rows as the classifier inside a fitted estimator is given them."""
    for one in _nested(estimator):
        if isinstance(one, Pipeline) and len(one) > 1:
            X = one[:-1].transform(X)
    return X


def take_over_input_tags(tags: Any, estimators: Iterable[Any]) -> None:
    """Set in `tags`, scikit-learn's, the kinds of tables that all the estimators take."""
    inside = [get_tags(estimator) for estimator in estimators]
    for name in ("allow_nan", "categorical", "sparse", "string", "two_d_array"):
        setattr(tags.input_tags, name, all(getattr(one.input_tags, name) for one in inside))
    tags.input_tags.positive_only = any(one.input_tags.positive_only for one in inside)
    tags.non_deterministic = any(one.non_deterministic for one in inside)


def take_over_attributes(outer: Any, fitted: Any) -> None:
    """Let an estimator know the classes and columns that a fitted one inside it knows."""
    for name in ("classes_", "n_features_in_", "feature_names_in_"):
        if hasattr(fitted, name):
            setattr(outer, name, getattr(fitted, name))


def seeded(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy in which each `random_state` that is None, in pipeline steps too, follows a seed."""
    copy, rng = clone(estimator), np.random.default_rng(seed)
    lacking = sorted(
        name
        for name, value in copy.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    return copy.set_params(**{name: int(rng.integers(2**31 - 1)) for name in lacking})
