"""Leaving rows out by reweighting: draws of the posterior of all rows, with Pareto-smoothed importance weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.errors import Refused
from bayesclf.evaluation.leave_one_out.smoothing import smoothed
from bayesclf.evaluation.leave_one_out.training import TrainingRows
from bayesclf.inference import Exact
from bayesclf.inference.convergence import scaled_draws
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import HypothesisSet
from bayesclf.typing import Array, Integers

LEAST_DRAWS = 25
"""Draws below which the largest fifth of their weights is too short a tail to fit."""


@dataclass(frozen=True)
class RowElpd:
    """Leave-one-out probabilities of training rows, and their log scores.

    Attributes
    ----------
    log_proba
        log P(k | x_i, all rows but i), (row, outcome).
    y
        Label codes (row).
    with_all
        log P(y_i | x_i, all rows), (row).
    khat
        Pareto shape k̂ (row) of the importance ratios; 0 where a row was left out exactly, as `arviz.reloo` has it.
    """

    log_proba: Array
    y: Integers
    with_all: Array
    khat: Array

    @property
    def without(self) -> Array:
        """The terms of elpd, log P(y_i | x_i, all rows but i), (row)."""
        return np.asarray(self.log_proba[np.arange(len(self.y)), self.y])

    def replaced(self, rows: NDArray[np.bool_], log_proba: Array) -> RowElpd:
        """Return a copy with exact probabilities of some rows."""
        own, khat = self.log_proba.copy(), self.khat.copy()
        own[rows], khat[rows] = log_proba, 0.0
        return RowElpd(own, self.y, self.with_all, khat)


def reweighted(clf: BayesClassifier, training: TrainingRows, given_x: bool) -> RowElpd:
    """Return the leave-one-out probabilities of all rows, blocks of rows at a time.

    The posterior was conditioned on p(x_i, y_i | θ), of a discriminative model on P(y_i | x_i, θ): without row i its
    draws have weights r_s proportional to the inverse of that density, whatever the score is.

    Parameters
    ----------
    clf
        A classifier with a posterior.
    training
        Its training rows.
    given_x
        Whether a row's x is evidence about θ when its label is predicted, as under the rule ``"predictive"``.

    References
    ----------
    Vehtari, Gelman & Gabry, *Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC*,
    Statistics and Computing 27 (2017), doi:10.1007/s11222-016-9696-4.
    """
    hypotheses = clf.hypotheses("posterior")
    if clf.draws_ is None:
        raise Refused("a point estimate has no draws to weight; take the rule 'map', 'mean' or 'mle'")
    if len(hypotheses) < LEAST_DRAWS:
        raise Refused(
            f"{len(hypotheses)} draws are too few for Pareto-smoothed importance weights, which need {LEAST_DRAWS}; "
            "fit with more draws"
        )
    efficiency = _relative_efficiency(clf, len(hypotheses))
    parts = [
        _block(hypotheses, training, block, given_x and hypotheses.generative, efficiency)
        for block in averaging.blocks(hypotheses, training.rows)
    ]
    log_proba, with_all, khat = (np.concatenate(column) for column in zip(*parts, strict=True))
    return RowElpd(log_proba, training.y, with_all, khat)


def row_khat(hypotheses: HypothesisSet, training: TrainingRows) -> Array:
    """Return the Pareto k̂ (row) of the weights that leave out each row, of draws as good as independent."""
    blocks = averaging.blocks(hypotheses, training.rows)
    return np.concatenate([_weighted(hypotheses, training, block, 1.0).khat for block in blocks])


def _block(
    hypotheses: HypothesisSet, training: TrainingRows, block: slice, given_x: bool, efficiency: float
) -> tuple[Array, Array, Array]:
    """Return log P(k | x) without the row (row, outcome), that of its label with it (row), and k̂ (row) of some rows."""
    found = _weighted(hypotheses, training, block, efficiency)
    log_proba, y = found.answer.log_proba, training.y[block]
    own = log_proba[np.arange(len(y)), y]
    # Under "predictive" a draw counts as far as x is probable under it; under the other rules x is no evidence.
    log_x = found.answer.log_x if given_x else np.zeros_like(own)
    without, with_all = found.log_weight + log_x, log_x
    left_out = logsumexp(without[:, None] + log_proba, axis=2) - logsumexp(without, axis=1)[:, None]
    return left_out, logsumexp(with_all + own, axis=1) - logsumexp(with_all, axis=1), found.khat


class _Weighted(NamedTuple):
    """Answers of all draws to some rows, and the log weights (row, draw) that leave each row out, with k̂ (row)."""

    answer: averaging.Conditional
    log_weight: Array
    khat: Array


def _weighted(hypotheses: HypothesisSet, training: TrainingRows, block: slice, efficiency: float) -> _Weighted:
    """Answer some rows, and weight the draws as if each had been left out."""
    answer = averaging.conditional(hypotheses, training.rows[block])
    y = training.y[block]
    own = answer.log_proba[np.arange(len(y)), y]
    return _Weighted(answer, *smoothed(own + answer.log_x if hypotheses.generative else own, efficiency))


def _relative_efficiency(clf: BayesClassifier, draws: int) -> float:
    """Return effective draws over draws, averaged over the parameters, as ArviZ's `loo` takes it."""
    posterior: Any = None if isinstance(clf.inference_, Exact) else clf.posterior_["posterior"].to_dataset()
    if posterior is None or posterior.sizes["chain"] == 1:
        return 1.0
    from arviz_stats import ess

    found = ess(posterior.map(lambda variable: scaled_draws(variable)[0]), method="mean")
    return float(np.nanmean(np.concatenate([values.to_numpy().ravel() for values in found.data_vars.values()])) / draws)
