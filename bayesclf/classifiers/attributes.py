"""Fitted attributes under scikit-learn's names, and the logistic regression that a linear generative model implies.

Attributes are the parameters of one hypothesis, computed on first use, and nothing is stored. Where one does not apply,
or does not exist, it raises an AttributeError that says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayesclf import rules
from bayesclf.arrays import Array, Parameters
from bayesclf.constraints import Choice, require
from bayesclf.display import MOST_LINES, Display, Displayed
from bayesclf.errors import DoesNotExist, Refused
from bayesclf.families import Categorical
from bayesclf.families.terms import LinearDesign
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import Hypotheses, to_dataset
from bayesclf.wording import pair

if TYPE_CHECKING:
    import xarray as xr


def predict_joint_log_proba(self: Any, X: Any, rule: str | None = None, class_prior: Any = None) -> Array:
    """Return log p(x, y = k), (row, outcome), in the order of `classes_`.

    Under ``"mle"``, ``"map"`` and ``"mean"`` it is log p(x, y | θ) of that θ; under averaging rules it is log p(x,
    y | D) = log ∫ p(x, y | θ) p(θ | D) dθ. Its conditional is the rule ``"predictive"``.

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
            "the rule 'gibbs' draws another hypothesis for each row, so its densities cannot be compared; use the rule "
            "'predictive'"
        )
    rows = self.rows(X)
    hypotheses = self.hypotheses("posterior" if resolved.averages else resolved.source, class_prior)
    if not resolved.averages:
        return np.array(hypotheses.log_scores(rows)[0])
    joint: Array | None = hypotheses.log_predictive(rows)
    if joint is None:
        return averaging.log_joint(hypotheses, rows)
    by_draws = np.flatnonzero(np.isnan(joint).any(axis=1))
    if len(by_draws):
        joint[by_draws] = averaging.log_joint(hypotheses, rows[by_draws])
    return joint


def fitted_model(self: Any, attribute: str) -> GenerativeModel:
    """Return the model, or raise an AttributeError where there has been no fit."""
    if "model_" not in vars(self):
        raise AttributeError(f"{attribute} exists after fit only; call fit first")
    model: GenerativeModel = self.model_
    return model


def are_all(self: Any, attribute: str, kinds: tuple[type, ...]) -> bool:
    """Return whether the blocks all are of some families."""
    return all(isinstance(block.family, kinds) for block in fitted_model(self, attribute).blocks)


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
        designs = tuple(design.from_zero() for design in _designs(model))
        found = _weights(model, self.hypotheses(self._source).parameters, designs)
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
    (block,) = (b for b in self.model_.blocks if "Sigma" in b.family.dims())
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
        if not isinstance(block.family, kinds):
            wanted = " or ".join(kind.name for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
            raise AttributeError(
                f"{attribute} exists only if all columns are {wanted}, but column "
                f"{block.statistics.axes.features[0]!r} is {block.family.name}; posterior_ has all parameters"
            )
    if not model.blocks:
        raise AttributeError(f"{attribute} does not exist: no column of the training rows has more than one value")


SOURCES = ("posterior", "map", "mle")


@dataclass(frozen=True, eq=False)
class Weights:
    """Log-odds against the reference class."""

    intercept: Array
    weight: Array


@dataclass(frozen=True, eq=False, repr=False)
class ImpliedLogistic(Displayed):
    """log P(y = k | x, θ)/P(y = reference | x, θ) = intercept_k + weight_k · (x − centre), for each θ.

    It is exact for each hypothesis, not for averages over them: the mean of logistic functions is not logistic.
    For a feature with variance σ_i² the weight is (μ_ik − μ_i,ref)/σ_i² (Mitchell, eqs 21, 22), for a level
    log θ_kjl/θ_ref,jl.

    Attributes
    ----------
    labels
        Names of the classes.
    reference
        The class with weights 0: the last, or the first of two, as in `LogisticRegression`.
    columns
        Names of the columns: numbers, and "column=level".
    centre
        Where the intercept is taken, (feature), in each column's units.
    weights
        Weights by source, ``"posterior"``, ``"map"`` and ``"mle"``; or why there are none.
    chains
        Number of chains of the posterior's draws.

    References
    ----------
    Mitchell, eqs 16 to 22 (of the opposite sign) and exercise 3; CS4780; Ng & Jordan.
    """

    labels: tuple[str, ...]
    reference: str
    columns: tuple[str, ...]
    centre: Array
    weights: Mapping[str, Weights | DoesNotExist]
    chains: int = 1

    def _display(self) -> Display:
        others = [label for label in self.labels if label != self.reference]
        sources = {name: found for name, found in self.weights.items() if isinstance(found, Weights)}
        source = next(iter(sources), "")
        lines: list[tuple[str, ...]] = []
        if source:
            found = sources[source]
            values = np.concatenate([found.intercept[:, :, None], found.weight], axis=2)[:, :, :MOST_LINES]
            means, spreads = values.mean(axis=0), values.std(axis=0)
            lines = [
                (name, *(pair(float(means[k, j]), float(spreads[k, j]) or np.nan) for k in range(len(others))))
                for j, name in enumerate(("(intercept)", *self.columns)[:MOST_LINES])
            ]
        what = "posterior mean ± standard deviation" if source == "posterior" else source
        return Display(
            f"Implied logistic regression, log-odds against {self.reference}: {what or 'no weights'}",
            ("column", *others),
            lines,
            left_out=1 + len(self.columns) - len(lines),
            sentences=tuple(f"{name}: {why}" for name, why in self.weights.items() if isinstance(why, DoesNotExist)),
        )

    @cached_property
    def posterior_(self) -> xr.DataTree:
        """The weights as those of `LogisticRegression`: groups `posterior`, `map` and `mle`, as far as they exist."""
        import xarray as xr

        dims = {"intercept": ("outcome",), "weight": ("outcome", "feature")}
        others = [label for label in self.labels if label != self.reference]
        coords = {"outcome": others, "feature": list(self.columns)}
        groups: dict[str, xr.Dataset] = {}
        for source, found in self.weights.items():
            if isinstance(found, DoesNotExist):
                groups[source] = xr.Dataset(attrs={"does_not_exist": str(found)})
                continue
            values = {"intercept": found.intercept, "weight": found.weight}
            groups[source] = to_dataset(values, dims, coords, self.chains if source == "posterior" else 1)
        return xr.DataTree.from_dict(groups)


def to_logistic(self: Any, intercept_at: str = "means") -> ImpliedLogistic:
    """Return the logistic weights that a linear model implies: a posterior over θ is one over them.

    Parameters
    ----------
    intercept_at : {"means", "zero"}
        ``"means"``: log-odds at the training means, as in `LogisticRegression`; ``"zero"``: at x = 0.

    Raises
    ------
    Refused
        For a block whose log-odds are not linear; the message says why.

    Examples
    --------
    >>> import bayesclf as bc
    >>> X, y = [[1.0], [2.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> clf = bc.GaussianNB("feature", random_state=1).fit(X, y)
    >>> clf.to_logistic().posterior_["mle"]["weight"].values.ravel()  # (μ_low − μ_high)/σ², against "high"
    array([-4.])
    """
    require(Choice(("means", "zero")), intercept_at=intercept_at)
    check_is_fitted(self, "classes_")
    model: GenerativeModel = self.model_
    designs = _designs(model)
    if intercept_at == "zero":
        designs = tuple(design.from_zero() for design in designs)
    weights: dict[str, Weights | DoesNotExist] = {}
    for source in SOURCES if self.draws_ is not None else SOURCES[1:]:
        try:
            found = self.hypotheses(source)
            if not isinstance(found, Hypotheses):
                what = f"{len(found)} draws of the weights are too large to keep in memory"
                raise DoesNotExist(f"{what}; fit with fewer, as in Exact(draws=10)")
            weights[source] = _weights(model, found.parameters, designs)
        except DoesNotExist as reason:
            weights[source] = reason
    return ImpliedLogistic(
        labels=model.labels,
        reference=model.labels[_reference(len(model.labels))],
        columns=tuple(name for design in designs for name in design.names),
        centre=np.concatenate([design.centre for design in designs] or [np.zeros(0)]),
        weights=weights,
        chains=1 if self.draws_ is None else self.draws_.chains,
    )


def _designs(model: GenerativeModel) -> tuple[LinearDesign, ...]:
    """Return the columns of each block, numbers measured from their training means."""
    return tuple(
        LinearDesign(block.statistics.axes.features, block.statistics.axes.levels, block.statistics.centre())
        for block in model.blocks
    )


def _weights(model: GenerativeModel, parameters: Parameters, designs: tuple[LinearDesign, ...]) -> Weights:
    """Return the log-odds of one source's hypotheses."""
    log_prior = model.log_class_prior(parameters)
    labels = log_prior.shape[1]
    terms = [
        block.family.linear_terms(block.own(parameters), design)
        for block, design in zip(model.blocks, designs, strict=True)
    ]
    nothing = np.zeros((len(log_prior), labels, 0))
    weight = np.concatenate([term.weight for term in terms] or [nothing], axis=2)
    offset = np.concatenate([term.offset for term in terms] or [nothing], axis=2)
    reference = _reference(labels)
    others = np.arange(labels) != reference
    with np.errstate(invalid="ignore"):
        prior, weight, offset = (values[:, others] - values[:, [reference]] for values in (log_prior, weight, offset))
    if not all(np.isfinite(values).all() for values in (prior, weight, offset)):
        raise DoesNotExist(
            "a class or a level of probability 0 makes a logistic weight infinite; use the rule 'map' with α above 1, "
            "or the posterior"
        )
    return Weights(prior + offset.sum(axis=2), weight)


def _reference(labels: int) -> int:
    return 0 if labels == 2 else labels - 1
