"""What all classifiers give in addition to answers, such as the posterior, also inside other estimators."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Self, dataclass_transform

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from bayesclf.attached import ClassifierMethods, with_methods
from bayesclf.classifiers.given import PRIOR_OF_FIT, is_given
from bayesclf.classifiers.labels import checked_labels
from bayesclf.classifiers.predictor import LogLikelihood, Predictor
from bayesclf.errors import DoesNotExist, PredictionWarning, Refused, may_be_absent, warn
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import to_constants, to_dataset
from bayesclf.rules import Gibbs

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

    from bayesclf.decisions import PredictionSets


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
    """Add to a class's docstring its bases' entries, as scikit-learn's display reads the class's docstring alone."""
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


NO_PARAMETER = "the model has none, as no column is informative and the class prior is known"
"""What a posterior without a parameter says of itself."""


@with_methods
class BayesClassifier(Predictor, ClassifierMethods):
    """What a fitted model gives beyond answers: its posterior, its PyMC model, checks, explanations, reports, files.

    Attributes
    ----------
    posterior_ : xarray.DataTree
        The draws and the point estimates, as ArviZ reads them.
    """

    def log_likelihood(self, X: Any, y: Any) -> LogLikelihood:
        """Return the log likelihoods of labeled rows under each draw of the posterior."""
        rows = self.rows(X)
        codes = self.known_codes(checked_labels(y, len(rows)))
        hypotheses = self.hypotheses("posterior")
        conditional, joint = [], []
        for block in averaging.blocks(hypotheses, rows):
            answer = averaging.conditional(hypotheses, rows[block])
            own = answer.log_proba[np.arange(len(answer.log_proba)), codes[block]]
            conditional.append(own.T)
            joint.append((own + answer.log_x).T)
        return LogLikelihood(
            np.concatenate(joint, axis=1) if hypotheses.generative else None, np.concatenate(conditional, axis=1)
        )

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
                groups["sample_stats"] = self.draws_.stats
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
            raise self._without_draws()
        coords = self.model_.shown_coords()
        parameters = self.model_.shown(self.draws_.parameters)
        held = {name: axes for name, axes in dims.items() if name in parameters}
        dataset = to_dataset(parameters, held, coords, self.draws_.chains)
        if not dims:
            dataset.attrs["not_held"] = NO_PARAMETER
        elif len(held) < len(dims):
            dataset.attrs["not_held"] = (
                f"{len(self.draws_.seeded or ())} draws of {', '.join(sorted(set(dims) - set(held)))} are too large to "
                "keep in memory; they are made from a seed when predictions need them"
            )
        return dataset

    def _without_draws(self) -> Refused:
        """Return why there are none."""
        return Refused(f"a fit by {type(self.inference_).__name__} is a point estimate and has no draws")

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
            Where PyMC has no such model: for weights, `select=True`, columns that depend on missing cells, a table too
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
            For missing cells, and what `to_pymc` refuses.
        """
        check_is_fitted(self, "classes_")
        rows = self.encode(self.frame(X))
        model = self.model_.page(rows, np.zeros(len(rows), dtype=np.intp))
        axes = [model.named_vars_to_dims.get(variable.name, ()) for variable in model.data_vars]
        if any(own and own[0] not in ("row", "outcome") for own in axes):
            raise Refused("rows with missing cells have other variables in PyMC; leave them out, or call to_pymc anew")
        return {variable.name: variable.get_value() for variable in model.data_vars}

    def with_posterior(self, idata: Any, point: Any = None) -> Self:
        """Return a copy of the fitted classifier that answers from given draws, such as those of `pymc.sample`.

        Parameters and errors are those of `bayesclf.classifiers.given.with_posterior`.
        """
        from bayesclf.classifiers.given import with_posterior

        return with_posterior(self, idata, point)

    def predict_set(
        self, X: Any, level: float = 0.9, rule: str | Gibbs | None = None, class_prior: Any = None
    ) -> PredictionSets:
        """Return for each row the smallest set of classes whose probability is at least `level`, in (0, 1).

        Such a set has the true class as often as its probability says only where the model is right: it promises no
        coverage. `bayesclf.SplitConformal` does. The other arguments are those of `predict`.
        """
        from bayesclf.decisions import posterior_sets

        return posterior_sets(self.predict_log_proba(X, rule, class_prior), self.classes_, level)


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
    while isinstance(estimator, FrozenEstimator) or _is_pipeline(estimator):
        estimator = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator.steps[-1][1]
        yield estimator


def _is_pipeline(estimator: Any) -> bool:
    """Return whether an estimator is a pipeline; no other one makes scikit-learn's module of them be imported."""
    module = sys.modules.get("sklearn.pipeline")
    return module is not None and isinstance(estimator, module.Pipeline)


def is_frozen(estimator: Any) -> bool:
    """Return whether `fit` leaves the classifier as it is."""
    return any(isinstance(one, FrozenEstimator) for one in _nested(estimator))


def fitted_with(estimator: Any, X: Any, y: Any, **given: Any) -> Any:
    """Fit an estimator; what is given besides rows and labels, unless None, goes to the classifier inside it."""
    prefix = "".join(f"{one.steps[-1][0]}__" for one in takewhile(_is_pipeline, _nested(estimator)))
    return estimator.fit(X, y, **{prefix + name: value for name, value in given.items() if value is not None})


def transformed(estimator: Any, X: Any) -> Any:
    """Return rows as the classifier inside a fitted estimator is given them."""
    for one in _nested(estimator):
        if _is_pipeline(one) and len(one) > 1:
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
