"""Fitted attributes under scikit-learn's names: the parameters of one hypothesis, computed on first use."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesclf import rules
from bayesclf.arrays import Array, Parameters
from bayesclf.classifiers.implied import linear_weights
from bayesclf.classifiers.predictor import Predictor
from bayesclf.errors import DoesNotExist, Refused
from bayesclf.families import Bernoulli, Categorical, Gaussian, Multinomial, MultivariateGaussian
from bayesclf.families.selected import plain
from bayesclf.models.base import Block
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import HypothesisSet
from bayesclf.tables.columns import Rows


class GenerativeAttributes(Predictor):
    """Those of generative classifiers: class prior and counts, means, variances, and the weights of linear models.

    Nothing is stored. Where an attribute does not apply, or does not exist, it raises an AttributeError that says why.
    """

    model_: GenerativeModel

    def predict_joint_log_proba(self, X: Any, rule: str | None = None, class_prior: Any = None) -> Array:
        """Return log p(x, y = k), (row, outcome), in the order of `classes_`.

        Under ``"mle"``, ``"map"`` and ``"mean"`` it is log p(x, y | θ) of that θ; under the rules that average it is
        log p(x, y | D) = log ∫ p(x, y | θ) p(θ | D) dθ, whose conditional is the rule ``"predictive"``.

        Parameters
        ----------
        X : table or array of shape (row, feature)
            Table (row, feature); what is missing is integrated out.
        rule : str or None
            As in `predict`, any but ``"gibbs"``.
        class_prior : str, array, dict or None
            Other base rates than the training rows': (outcome), by label, or ``"uniform"``.
        """
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

    @property
    def class_count_(self) -> Array:
        """Weight of the training rows of each class, (outcome)."""
        return np.array(self._fitted_model("class_count_").label_counts)

    @property
    def class_prior_(self) -> Array:
        """P(y = k), (outcome): the posterior mean, the requested point, or what was given."""
        model = self._fitted_model("class_prior_")
        return np.array(model.class_prior.probabilities(self._point_parameters("class_prior_"))[0])

    @property
    def theta_(self) -> Array:
        """Mean of each column in each class, (outcome, feature), of independent Gaussian columns."""
        return self._of_blocks("theta_", Gaussian, _means)

    @property
    def var_(self) -> Array:
        """Variance of each column in each class, (outcome, feature), of independent Gaussian columns."""

        def variances(block: Block, own: Parameters) -> Array:
            """Return a block's variances (outcome, feature)."""
            shape = (len(self.classes_), len(block.statistics.axes.features))
            axes = block.family.dims()["sigma2"]
            values = own["sigma2"][0]
            return np.broadcast_to(values[:, None] if axes == ("outcome",) else values, shape)

        return self._of_blocks("var_", Gaussian, variances)

    @property
    def means_(self) -> Array:
        """Mean of each column in each class, (outcome, feature), of columns that are jointly Gaussian."""
        return self._of_blocks("means_", MultivariateGaussian, _means)

    @property
    def covariance_(self) -> Array:
        """Covariance of jointly Gaussian columns, (feature, feature), or of each class, (outcome, feature, feature)."""
        means = self.means_  # says what is wrong where there is no covariance
        used = np.flatnonzero(~np.isnan(means[0]))
        (block,) = (b for b in self.model_.blocks if isinstance(b.family, MultivariateGaussian))
        values = block.own(self._point_parameters("covariance_"))["Sigma"][0]
        out = np.full((*values.shape[:-2], means.shape[1], means.shape[1]), np.nan)
        out[..., used[:, None], used] = values
        return out

    @property
    def feature_count_(self) -> Array:
        """Weight of the occurrences of each feature in each class, (outcome, feature), of events or counts."""
        return self._of_blocks("feature_count_", (Bernoulli, Multinomial), lambda block, own: _occurrences(block))

    @property
    def feature_log_prob_(self) -> Array | list[Array]:
        """log θ of each feature in each class, (outcome, feature), of events or counts.

        Of categorical columns it is a list of arrays (outcome, level), one for each column.
        """
        if not _holds(self._fitted_model("feature_log_prob_"), Categorical):
            return self._of_blocks("feature_log_prob_", (Bernoulli, Multinomial), lambda block, own: _log(own["theta"]))
        levels = self._of_levels("feature_log_prob_", lambda block, own: _log(own["theta"]))
        return [levels.get(column.name, np.zeros((len(self.classes_), 0))) for column in self.columns_]

    @property
    def category_count_(self) -> list[Array]:
        """Weight of each level in each class, one array (outcome, level) for each categorical column."""
        self._fitted_model("category_count_")
        levels = self._of_levels("category_count_", lambda block, own: block.statistics.arrays()["counts"])
        return [levels.get(column.name, np.zeros((len(self.classes_), 0))) for column in self.columns_]

    @property
    def coef_(self) -> Array:
        """Weights of a linear model, (1, feature) for two classes, else (outcome, feature) that add up to 0.

        Those that `to_logistic` gives, averaged over the posterior or of the requested point; 0 for a column that is
        not used. Of `BernoulliNB` they are weights of presence.
        """
        return self._linear("coef_")[0]

    @property
    def intercept_(self) -> Array:
        """Log-odds of a linear model at x = 0, (1) for two classes, else (outcome) that add up to 0."""
        return self._linear("intercept_")[1]

    def _linear(self, attribute: str) -> tuple[Array, Array]:
        """Return weights and intercept at x = 0, or say why there are none."""
        model, source = self._fitted_model(attribute), self._source
        try:
            found, designs = linear_weights(model, self.hypotheses(source).parameters)
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

    def _fitted_model(self, attribute: str) -> GenerativeModel:
        """Return the model, or raise an AttributeError where there has been no fit."""
        if "model_" not in vars(self):
            raise AttributeError(f"{attribute} exists after fit only; call fit first")
        return self.model_

    def _of_blocks(self, attribute: str, kinds: Any, values: Any) -> Array:
        """Return an array (outcome, feature) from the blocks, which must be of some families; NaN if not used."""
        model = self._fitted_model(attribute)
        _require(model, attribute, kinds)
        parameters = self._point_parameters(attribute)
        parts = [(np.asarray(values(b, b.own(parameters))), b.statistics.axes.features) for b in model.blocks]
        found = np.concatenate([part for part, _ in parts], axis=1)
        return self._by_column(found, [name for _, names in parts for name in names], np.nan)

    def _of_levels(self, attribute: str, values: Any) -> dict[str, Array]:
        """Return arrays (outcome, level) of the columns that are used, which must all be categorical."""
        model = self._fitted_model(attribute)
        _require(model, attribute, Categorical)
        parameters = self._point_parameters(attribute)
        found: dict[str, Array] = {}
        for block in model.blocks:
            axes, own = block.statistics.axes, np.asarray(values(block, block.own(parameters)))
            pieces = np.split(own, np.cumsum(axes.sizes)[:-1], axis=1)
            found |= dict(zip(axes.features, pieces, strict=True))
        return found


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

    Of two classes they stay those of the second, (1, …). Of more, of which the last may be the reference, each class
    has its own, (outcome, …), less the mean of all: log-odds against the geometric mean of the classes' probabilities.
    """
    if labels == 2 or len(values) == labels:
        return values
    every = np.concatenate([values, np.zeros((1, *values.shape[1:]))])
    return np.asarray(every - every.mean(axis=0))


def _means(block: Block, own: Parameters) -> Array:
    """Return the means of a block (outcome, feature)."""
    return np.asarray(own["mu"][0])


def _holds(model: GenerativeModel, kind: type) -> bool:
    return any(isinstance(plain(block.family), kind) for block in model.blocks)


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


def _occurrences(block: Block) -> Array:
    arrays = block.statistics.arrays()
    return arrays["successes"] if "successes" in arrays else arrays["counts"]


def _log(theta: Array) -> Array:
    """Return the logarithm of the one hypothesis there is."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(theta[0]))
