"""The log-odds between two classes as a sum over features: log p(x_j | y = k, θ) − log p(x_j | y = k′, θ).

A block whose features are independent given the class has a term for each; any other has one term, that of the block.
In a table of counts only the words that a row has get one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Self

import numpy as np
from scipy import sparse

from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Family, Model, Rows
from bayesclf.families.bernoulli import Bernoulli
from bayesclf.families.categorical import Categorical
from bayesclf.families.cells import canonical
from bayesclf.families.gaussian import VARIANCE_DIMS, Gaussian
from bayesclf.families.generative import GenerativeModel
from bayesclf.families.logistic import LogisticModel
from bayesclf.families.multinomial import Multinomial
from bayesclf.families.selection import Selected
from bayesclf.families.smoothing import Smoothed
from bayesclf.typing import Array, Integers, Parameters

ABSENT = "(all that is absent)"
"""Stands for the features that a row of a sparse table of events does not have."""


@dataclass(frozen=True, eq=False)
class Pair:
    """The two classes of each row whose log-odds are asked for, as label codes (row)."""

    outcome: Integers
    against: Integers

    def __getitem__(self, rows: slice) -> Pair:
        return Pair(self.outcome[rows], self.against[rows])

    def differences(self, values: Array) -> Array:
        """Return v_k − v_k′ of values (draw, outcome, …), (draw, row, …)."""
        return _difference(values[:, self.outcome], values[:, self.against])


@dataclass(frozen=True, eq=False)
class Contributions:
    """Terms of the log-odds, entry by entry.

    Attributes
    ----------
    features
        What each feature is made of: one column, or the columns of a block.
    row, feature
        Row and position among `features` of each entry, (entry).
    values
        (draw, entry).
    counts
        What the row's cell of a table of counts or events holds, (entry); NaN where there is no such cell.
    """

    features: tuple[tuple[str, ...], ...]
    row: Integers
    feature: Integers
    values: Array
    counts: Array

    @classmethod
    def joined(cls, blocks: Sequence[Contributions], draws: int) -> Self:
        """Return the terms of several blocks, or of none, as those of one."""
        nothing = np.empty(0, dtype=np.intp)
        starts = np.cumsum([0, *(len(block.features) for block in blocks)])
        return cls(
            tuple(columns for block in blocks for columns in block.features),
            np.concatenate([nothing, *(block.row for block in blocks)]),
            np.concatenate([nothing, *(block.feature + start for block, start in zip(blocks, starts, strict=False))]),
            np.concatenate([np.empty((draws, 0)), *(block.values for block in blocks)], axis=1),
            np.concatenate([np.empty(0), *(block.counts for block in blocks)]),
        )


@singledispatch
def contributions(family: Family[Any], X: Any, parameters: Parameters, pair: Pair) -> Contributions:
    """Return the terms of one block; by default one for the whole block, in the family's own density.

    Parameters
    ----------
    family
        The block's family, its prior resolved.
    X
        Encoded cells (row, feature), dense or sparse. A missing cell is integrated out and contributes 0.
    parameters
        The family's parameters, with a leading draw axis.
    pair
        The two classes of each row.
    """
    log_density = family.log_density(X, parameters)
    rows = np.arange(len(X))
    values = _difference(log_density[:, rows, pair.outcome], log_density[:, rows, pair.against])
    names: tuple[str, ...] = family.axes.features  # type: ignore[attr-defined]
    return Contributions((names,), rows, np.zeros(len(X), dtype=np.intp), values, np.full(len(X), np.nan))


@contributions.register
def _(family: Gaussian, X: Array, parameters: Parameters, pair: Pair) -> Contributions:
    """log σ_k′/σ_k − (x − μ_k)²/2σ_k² + (x − μ_k′)²/2σ_k′²."""
    sigma2, dims = parameters["sigma2"], VARIANCE_DIMS[family.variance]
    sigma2 = sigma2 if "outcome" in dims else sigma2[:, None]
    sigma2 = sigma2 if "feature" in dims else sigma2[..., None]
    log_density: list[Array] = []
    for codes in (pair.outcome, pair.against):
        variance = np.broadcast_to(sigma2, parameters["mu"].shape)[:, codes]
        log_density.append(-0.5 * (np.log(variance) + (X - parameters["mu"][:, codes]) ** 2 / variance))
    return _dense(_each(family.axes.features), np.where(np.isnan(X), 0.0, log_density[0] - log_density[1]))


@contributions.register
def _(family: Categorical, X: Integers, parameters: Parameters, pair: Pair) -> Contributions:
    """log θ_kl/θ_k′l of the level that is seen."""
    cells = np.where(X >= 0, X + dirichlet.starts(family.axes.sizes), 0)
    theta = parameters["theta"]
    seen = [theta[:, codes[:, None], cells] for codes in (pair.outcome, pair.against)]
    return _dense(_each(family.axes.features), np.where(X >= 0, _log_ratio(*seen), 0.0))


@contributions.register
def _(family: Bernoulli, X: Any, parameters: Parameters, pair: Pair) -> Contributions:
    """log θ_k/θ_k′ of a feature that is there, log (1 − θ_k)/(1 − θ_k′) of one that is not."""
    theta = parameters["theta"]
    if sparse.issparse(X):
        return _events(family, X, theta, pair)
    present = _log_ratio(theta[:, pair.outcome], theta[:, pair.against])
    absent = _log_ratio(1 - theta[:, pair.outcome], 1 - theta[:, pair.against])
    values = np.where(np.isnan(X), 0.0, np.where(family.threshold < X, present, absent))
    return _dense(_each(family.axes.features), values)


@contributions.register
def _(family: Multinomial, X: Any, parameters: Parameters, pair: Pair) -> Contributions:
    """x_j log θ_kj/θ_k′j of each word that is there."""
    counts = canonical(sparse.csr_array(X)).tocoo()
    kept = counts.data != 0
    row, word, count = counts.row[kept].astype(np.intp), counts.col[kept].astype(np.intp), counts.data[kept]
    values = count * _log_ratio_of_entries(parameters["theta"], row, word, pair)
    return Contributions(_each(family.axes.features), row, word, values, count)


@contributions.register
def _(family: Selected, X: Any, parameters: Parameters, pair: Pair) -> Contributions:
    """The wrapped family's; a feature left out has one distribution for all classes."""
    return contributions(family.family, X, parameters, pair)


@contributions.register
def _(family: Smoothed, X: Any, parameters: Parameters, pair: Pair) -> Contributions:
    """The wrapped family's, given θ."""
    return contributions(family.family, X, parameters, pair)


@dataclass(frozen=True, eq=False)
class LogOdds:
    """log P(k | x, θ)/P(k′ | x, θ) of each row under each hypothesis, as a sum.

    Attributes
    ----------
    constant
        What does not depend on x: log π_k/π_k′, or logistic regression's intercept, (draw, row).
    terms
        The rest: the terms of the blocks, or of the columns of logistic regression.
    """

    constant: Array
    terms: Contributions


def log_odds(model: Model, rows: Rows, parameters: Parameters, pair: Pair) -> LogOdds:
    """Return the terms of the log-odds between the two classes of each row."""
    if isinstance(model, LogisticModel):
        constant = pair.differences(_with_reference(parameters["intercept"]))
        return LogOdds(constant, _of_columns(model, rows, parameters, pair))
    if not isinstance(model, GenerativeModel):
        raise Refused(f"the log-odds of a {type(model).__name__} are not taken apart into features")
    blocks = [
        contributions(block.family, part, block.own(parameters), pair)
        for block, part in zip(model.blocks, rows.parts, strict=True)
    ]
    draws = max((len(values) for values in parameters.values()), default=1)
    constant = pair.differences(model.log_class_prior(parameters))
    return LogOdds(np.broadcast_to(constant, (draws, len(rows))), Contributions.joined(blocks, draws))


def _of_columns(model: LogisticModel, rows: Rows, parameters: Parameters, pair: Pair) -> Contributions:
    """Return (w_k − w_k′)·(x − centre) of each column of logistic regression's design.

    A missing number is at its mean; a level that the training rows lack adds its weight, as in `log_scores`.
    """
    design = model.design
    matrix, unseen = design.matrix(rows), design.unseen(rows).astype(float)
    levels = parameters.get("unseen", model.weight_prior.unseen_mean[None])
    levels = np.broadcast_to(levels, (len(parameters["weight"]), *levels.shape[1:]))
    weights = np.concatenate([parameters["weight"] * design.scale, levels], axis=2)
    values = pair.differences(_with_reference(weights)) * np.concatenate([matrix, unseen], axis=1)
    return _dense(_each((*design.features, *design.category_names)), values)


def _with_reference(values: Array) -> Array:
    """Return logistic regression's parameters (draw, outcome, …) with the 0 of the reference class in its place."""
    nothing = np.zeros_like(values[:, :1])
    parts = (nothing, values) if values.shape[1] == 1 else (values, nothing)
    return np.concatenate(parts, axis=1)


def _events(family: Bernoulli, X: Any, theta: Array, pair: Pair) -> Contributions:
    """Return a term for each feature that a row of a sparse table has, and one for all that it has not."""
    events = canonical(sparse.csr_array(X)).tocoo()
    kept = events.data > family.threshold
    row, word = events.row[kept].astype(np.intp), events.col[kept].astype(np.intp)
    present = _log_ratio_of_entries(theta, row, word, pair)
    log_absent = [_log_absent(theta, row, word, codes) for codes in (pair.outcome, pair.against)]
    rows = np.arange(X.shape[0])
    features = len(family.axes.features)
    return Contributions(
        (*_each(family.axes.features), (ABSENT,)),
        np.concatenate([row, rows]),
        np.concatenate([word, np.full(len(rows), features)]),
        np.concatenate([present, _difference(*log_absent)], axis=1),
        np.concatenate([np.ones(len(row)), np.full(len(rows), np.nan)]),
    )


def _log_absent(theta: Array, row: Integers, word: Integers, codes: Integers) -> Array:
    """Return Σ log (1 − θ) over the features that a row has not, (draw, row); −∞ where one of them has θ = 1."""
    certain = theta == 1
    with np.errstate(divide="ignore"):
        logs = np.where(certain, 0.0, np.log1p(-theta))
    there = sparse.csr_array((np.ones(len(row)), (row, np.arange(len(row)))), shape=(len(codes), len(row)))
    of_all, of_present = logs.sum(axis=2)[:, codes], (there @ logs[:, codes[row], word].T).T
    lacking = certain.sum(axis=2)[:, codes] - (there @ certain[:, codes[row], word].T.astype(float)).T
    return np.where(lacking > 0, -np.inf, of_all - of_present)


def _log_ratio_of_entries(theta: Array, row: Integers, word: Integers, pair: Pair) -> Array:
    """Return log θ_k/θ_k′ of the word of each entry, (draw, entry)."""
    return _log_ratio(theta[:, pair.outcome[row], word], theta[:, pair.against[row], word])


def _log_ratio(one: Array, other: Array) -> Array:
    with np.errstate(divide="ignore"):
        return _difference(np.log(one), np.log(other))


def _difference(one: Array, other: Array) -> Array:
    """Return the difference of logs; NaN where both are −∞, and so impossible under either class."""
    with np.errstate(invalid="ignore"):
        return np.asarray(one - other)


def _dense(features: tuple[tuple[str, ...], ...], values: Array) -> Contributions:
    """Return terms (draw, row, feature) of rows that have all features."""
    draws, rows, width = values.shape
    row, feature = np.indices((rows, width))
    flat = values.reshape(draws, rows * width)
    return Contributions(features, row.ravel(), feature.ravel(), flat, np.full(rows * width, np.nan))


def _each(names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple((name,) for name in names)
