"""Fitted attributes under scikit-learn's names: the parameters of one hypothesis, computed on first use.

Nothing is stored. Where an attribute does not apply, or does not exist, it raises an AttributeError that says why.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesclf import rules
from bayesclf.arrays import Array, Parameters
from bayesclf.classifiers.implied import linear_weights
from bayesclf.classifiers.predictor import Predictor
from bayesclf.errors import DoesNotExist, Refused
from bayesclf.families import Categorical, MultivariateGaussian
from bayesclf.families.selected import plain
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import HypothesisSet
from bayesclf.tables.columns import Rows


def joint_log_proba(self: Any, X: Any, rule: str | None, class_prior: Any) -> Array:
    """Return log p(x, y = k), (row, outcome); see `GenerativeClassifier.predict_joint_log_proba`."""
    resolved, _ = rules.resolve(self.requested_rule(rule))
    if resolved.name == "gibbs":
        raise Refused(
            "the rule 'gibbs' draws a hypothesis for each row, whose densities do not compare; take 'predictive', "
            "the average of all"
        )
    frame = self.frame(X)
    rows = self.encode(frame)
    hypotheses = self.hypotheses("posterior" if resolved.averages else resolved.source, class_prior)
    if not resolved.averages:
        return np.array(hypotheses.log_scores(rows)[0])
    return _averaged_joint(hypotheses, rows, frame)


def fitted_model(self: Any, attribute: str) -> GenerativeModel:
    """Return the model, or raise an AttributeError where there has been no fit."""
    if "model_" not in vars(self):
        raise AttributeError(f"{attribute} exists after fit only; call fit first")
    model: GenerativeModel = self.model_
    return model


def are_all(self: Any, attribute: str, kinds: tuple[type, ...]) -> bool:
    """Return whether the blocks all are of some families."""
    return all(isinstance(plain(block.family), kinds) for block in fitted_model(self, attribute).blocks)


def of_blocks(self: Any, attribute: str, kinds: Any, values: Any) -> Array:
    """Return an array (outcome, feature) from the blocks, which must be of some families; NaN if not used."""
    model = fitted_model(self, attribute)
    _require(model, attribute, kinds)
    parameters = self._point_parameters(attribute)
    parts = [(np.asarray(values(b, b.own(parameters))), b.statistics.axes.features) for b in model.blocks]
    found = np.concatenate([part for part, _ in parts], axis=1)
    by_column: Array = self._by_column(found, [name for _, names in parts for name in names], np.nan)
    return by_column


def of_levels(self: Any, attribute: str, values: Any) -> list[Array]:
    """Return an array (outcome, level) for each column, all of which must be categorical; empty if not used."""
    model = fitted_model(self, attribute)
    _require(model, attribute, Categorical)
    parameters = self._point_parameters(attribute)
    found: dict[str, Array] = {}
    for block in model.blocks:
        axes, own = block.statistics.axes, np.asarray(values(block, block.own(parameters)))
        found |= zip(axes.features, np.split(own, np.cumsum(axes.sizes)[:-1], axis=1), strict=True)
    return [found.get(column.name, np.zeros((len(self.classes_), 0))) for column in self.columns_]


def linear(self: Any, attribute: str) -> tuple[Array, Array]:
    """Return weights and intercept at x = 0, or say why there are none."""
    model = fitted_model(self, attribute)
    try:
        found, designs = linear_weights(model, self.hypotheses(self._source).parameters)
    except (DoesNotExist, Refused) as reason:
        raise AttributeError(f"{attribute} does not exist: {reason}") from reason
    levels = [design.features[0] for design in designs if design.levels]
    if levels:
        raise AttributeError(
            f"{attribute} has one number for each column, but {levels[0]!r} has a weight for each level; "
            "to_logistic() returns them all"
        )
    names = [name for design in designs for name in design.features]
    weight = self._by_column(found.weight.mean(axis=0), names, 0.0)
    return symmetric(weight, len(self.classes_)), symmetric(found.intercept.mean(axis=0), len(self.classes_))


def covariance(self: Any) -> Array:
    """Return the covariance of jointly Gaussian columns, NaN where a column is not used."""
    means = self.means_  # says what is wrong where there is no covariance
    used = np.flatnonzero(~np.isnan(means[0]))
    (block,) = (b for b in self.model_.blocks if isinstance(b.family, MultivariateGaussian))
    values = block.own(self._point_parameters("covariance_"))["Sigma"][0]
    out = np.full((*values.shape[:-2], means.shape[1], means.shape[1]), np.nan)
    out[..., used[:, None], used] = values
    return out


def means(block: Block, own: Parameters) -> Array:
    """Return the means of a block (outcome, feature)."""
    return np.asarray(own["mu"][0])


def variances(block: Block, own: Parameters) -> Array:
    """Return the variances of a block (outcome, feature)."""
    axes, values = block.family.dims()["sigma2"], own["sigma2"][0]
    return np.broadcast_to(values[:, None] if axes == ("outcome",) else values, own["mu"][0].shape)


def occurrences(block: Block, own: Parameters) -> Array:
    """Return the weight of the occurrences of a block's events, words or levels."""
    arrays = block.statistics.arrays()
    return arrays["successes"] if "successes" in arrays else arrays["counts"]


def log_theta(block: Block, own: Parameters) -> Array:
    """Return the logarithm of the probabilities of the one hypothesis there is."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(own["theta"][0]))


class LogisticAttributes(Predictor):
    """Those of logistic regression, whose log-odds are linear in the columns."""

    @property
    def coef_(self) -> Array:
        """Weights per unit of a column, (1, feature) for two classes, else (outcome, feature) that add up to 0.

        The posterior mean or the requested point; 0 for a column of one value.
        """
        model, weight = self._numbers("coef_")
        names = model.design.names[: weight.shape[1]]
        return symmetric(self._by_column(weight, names, 0.0), len(self.classes_))

    @property
    def intercept_(self) -> Array:
        """Log-odds at x = 0 in the columns' own units, (1) for two classes, else (outcome) that add up to 0."""
        model, weight = self._numbers("intercept_")
        at_means = self._point_parameters("intercept_")["intercept"][0]
        at_zero = at_means - weight @ model.design.centre[: weight.shape[1]]
        return symmetric(at_zero, len(self.classes_))

    def _numbers(self, attribute: str) -> tuple[LogisticModel, Array]:
        """Return the model, and the weights of the numbers that vary, (outcome, feature)."""
        if "model_" not in vars(self):
            raise AttributeError(f"{attribute} exists after fit only; call fit first")
        model: Any = self.model_
        if model.design.category_names:
            raise AttributeError(
                f"{attribute} has one number for each column, but {model.design.category_names[0]!r} has a weight for "
                "each level; posterior_ has them all"
            )
        return model, self._point_parameters(attribute)["weight"][0][:, : len(model.design.varying)]


def symmetric(values: Array, labels: int) -> Array:
    """Return log-odds (outcome, …) against the reference class as scikit-learn shows them.

    Two classes keep the log-odds of the second, (1, …). For more classes, the mean over all classes is subtracted.
    """
    if labels == 2 or len(values) == labels:
        return values
    every = np.concatenate([values, np.zeros((1, *values.shape[1:]))])
    return np.asarray(every - every.mean(axis=0))


def _require(model: GenerativeModel, attribute: str, kinds: Any) -> None:
    """Raise an AttributeError unless there are blocks, all of some families."""
    for block in model.blocks:
        if not isinstance(plain(block.family), kinds):
            wanted = " or ".join(kind.name for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
            raise AttributeError(
                f"{attribute} is an attribute of models whose columns all are {wanted}, but column "
                f"{block.statistics.axes.features[0]!r} is {plain(block.family).name}; posterior_ has all parameters"
            )
    if not model.blocks:
        raise AttributeError(f"{attribute} does not exist: no column of the training rows has more than one value")


def _averaged_joint(hypotheses: HypothesisSet, rows: Rows, frame: Any) -> Array:
    """Return log p(x, k | D), (row, outcome), by the draws where missing cells leave no closed form."""
    try:
        joint = hypotheses.log_predictive(rows)
    except Refused:
        joint = None
        _, pattern = np.unique(np.asarray(frame.isna()), axis=0, return_inverse=True)
        if pattern.any():  # no row's answer depends on the gaps of others
            joint = np.empty((len(rows), len(hypotheses.labels)))
            for number in range(pattern.max() + 1):
                own = np.flatnonzero(pattern == number)
                joint[own] = _averaged_joint(hypotheses, rows[own], frame.iloc[own])
    return averaging.log_joint(hypotheses, rows) if joint is None else joint
