"""The logistic regression that a linear generative classifier implies: a posterior over θ is one over its weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_softmax

from bayesclf.arrays import Array, Parameters
from bayesclf.constraints import Choice, require
from bayesclf.display import MOST_LINES, Display, Displayed
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families.terms import LinearDesign, LinearTerms
from bayesclf.models.generative import GenerativeModel
from bayesclf.posterior.hypotheses import to_dataset
from bayesclf.tables.columns import Rows
from bayesclf.wording import pair

if TYPE_CHECKING:
    import xarray as xr

SOURCES = ("posterior", "map", "mle")


@dataclass(frozen=True, eq=False)
class Weights:
    """Log-odds against the reference class; `offset` leaves the intercept where a cell is missing."""

    intercept: Array
    weight: Array
    offset: Array


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
    _designs: tuple[LinearDesign, ...] = field(default=(), repr=False)
    _encode: Callable[[Any], Rows] | None = field(default=None, repr=False)

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

    def predict_log_proba(self, X: Any, source: str = "posterior") -> Array:
        """Return log P(y = k | x, θ) of each hypothesis, (draw, row, outcome).

        Parameters
        ----------
        X
            Table (row, feature). A missing number takes its part of the intercept with it, as it is integrated out.
        source
            ``"posterior"``, ``"map"`` or ``"mle"``.

        Raises
        ------
        DoesNotExist
            For weights that do not exist, or are infinite.
        """
        if source not in self.weights:
            raise InputError(f"source must be one of {', '.join(map(repr, self.weights))}, not {source!r}")
        found = self.weights[source]
        if isinstance(found, DoesNotExist):
            raise DoesNotExist(str(found))
        assert self._encode is not None
        rows = self._encode(X)
        scores = np.zeros((len(found.intercept), len(rows), len(self.labels)))
        others = [k for k, label in enumerate(self.labels) if label != self.reference]
        log_odds = np.repeat(found.intercept[:, None], len(rows), axis=1)
        start = 0
        for design, part in zip(self._designs, rows.parts, strict=True):
            cells = slice(start, start := start + len(design.centre))
            terms = LinearTerms(found.weight[:, :, cells], found.offset[:, :, cells])
            log_odds += design.scores(part, terms)
        scores[:, :, others] = log_odds
        return np.asarray(log_softmax(scores, axis=2))


def implied_logistic(
    model: GenerativeModel,
    hypotheses: Callable[[str], Parameters],
    encode: Callable[[Any], Rows],
    *,
    intercept_at: str,
    chains: int,
) -> ImpliedLogistic:
    """Return the logistic regression that a generative model implies, at the training means or at x = 0."""
    require(Choice(("means", "zero")), intercept_at=intercept_at)
    designs = tuple(block.family.linear_design(block.statistics, intercept_at == "means") for block in model.blocks)
    weights = {source: _weights_of(source, model, hypotheses, designs) for source in SOURCES}
    return ImpliedLogistic(
        labels=model.labels,
        reference=model.labels[_reference(len(model.labels))],
        columns=tuple(name for design in designs for name in design.names),
        centre=np.concatenate([design.centre for design in designs] or [np.zeros(0)]),
        weights={source: found for source, found in weights.items() if found is not None},
        chains=chains,
        _designs=designs,
        _encode=encode,
    )


def linear_weights(model: GenerativeModel, parameters: Parameters) -> tuple[Weights, tuple[LinearDesign, ...]]:
    """Return the log-odds at x = 0 of hypotheses of a linear model, and the columns of its blocks."""
    designs = tuple(block.family.linear_design(block.statistics, False) for block in model.blocks)
    return _weights(model, parameters, designs), designs


def _weights_of(
    source: str, model: GenerativeModel, hypotheses: Callable[[str], Parameters], designs: tuple[LinearDesign, ...]
) -> Weights | DoesNotExist | None:
    """Return the weights of a source, or why they do not exist; None for the posterior of a fit by a point engine."""
    try:
        parameters = hypotheses(source)
    except DoesNotExist as reason:
        return reason
    except Refused:
        return None
    try:
        return _weights(model, parameters, designs)
    except DoesNotExist as reason:
        return reason


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
            "a class or a level of probability 0 makes a logistic weight infinite; take the rule 'map' with α above 1, "
            "or the posterior"
        )
    return Weights(prior + offset.sum(axis=2), weight, offset)


def _reference(labels: int) -> int:
    return 0 if labels == 2 else labels - 1
