"""Leaving rows out by reweighting: draws of the posterior of all rows, with Pareto-smoothed importance weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from bayesclf.classifiers.base import BayesClassifier
from bayesclf.errors import Refused
from bayesclf.evaluation.leave_one_out.training import TrainingRows
from bayesclf.inference import Exact
from bayesclf.inference.convergence import scaled_draws
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import HypothesisSet
from bayesclf.typing import Array

LEAST_DRAWS = 25
"""Draws below which the largest fifth of their weights is too short a tail to fit."""

NEGLIGIBLE_SPREAD = 1e-9
"""Log ratios that differ by no more than this are equal up to rounding and have no tail to fit."""


@dataclass(frozen=True)
class RowElpd:
    """Log scores of training rows, each (row).

    Attributes
    ----------
    without
        log P(y_i | x_i, all rows but i): the terms of elpd.
    with_all
        log P(y_i | x_i, all rows).
    khat
        Pareto shape k̂ of the importance ratios; 0 where a row was left out exactly, as `arviz.reloo` has it.
    """

    without: Array
    with_all: Array
    khat: Array

    def replaced(self, rows: NDArray[np.bool_], without: Array) -> RowElpd:
        """Return a copy with exact scores of some rows."""
        own, khat = self.without.copy(), self.khat.copy()
        own[rows], khat[rows] = without, 0.0
        return RowElpd(own, self.with_all, khat)


def reweighted(clf: BayesClassifier, training: TrainingRows, given_x: bool) -> RowElpd:
    """Return the leave-one-out log scores of all rows, blocks of rows at a time.

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
    return RowElpd(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def row_khat(hypotheses: HypothesisSet, training: TrainingRows) -> Array:
    """Return the Pareto k̂ (row) of the weights that leave out each row, of draws as good as independent."""
    blocks = averaging.blocks(hypotheses, training.rows)
    return np.concatenate([_block(hypotheses, training, block, False, 1.0)[2] for block in blocks])


def _block(
    hypotheses: HypothesisSet, training: TrainingRows, block: slice, given_x: bool, efficiency: float
) -> tuple[Array, Array, Array]:
    """Return log score without the row, log score with it, and k̂ of some rows, (row)."""
    answer = averaging.conditional(hypotheses, training.rows[block])
    y = training.y[block]
    own = answer.log_proba[np.arange(len(y)), y]
    joint = own + answer.log_x if hypotheses.generative else own
    smoothed = [_smoothed(row, efficiency) for row in joint]
    log_weight = np.stack([weights for weights, _ in smoothed])
    khat = np.array([k for _, k in smoothed])
    if not given_x:
        return logsumexp(log_weight + own, axis=1), logsumexp(own, axis=1) - np.log(own.shape[1]), khat
    return _ratio(log_weight, joint, answer.log_x), _ratio(np.zeros(1), joint, answer.log_x), khat


def _ratio(log_weight: Array, joint: Array, log_x: Array) -> Array:
    """Return log [Σ w_s p(x, y | θ_s) / Σ w_s p(x | θ_s)], (row)."""
    return np.asarray(logsumexp(log_weight + joint, axis=1) - logsumexp(log_weight + log_x, axis=1))


def _smoothed(log_density: Array, efficiency: float) -> tuple[Array, float]:
    """Return the log weights (draw) of one row, proportional to 1/density with its tail smoothed, and k̂.

    Where the density is 0 under some draws, these have all the weight and k̂ is infinite; where it is equal under all
    draws there is nothing to smooth and k̂ is −∞.
    """
    impossible = np.isneginf(log_density)
    if impossible.any():
        with np.errstate(divide="ignore"):
            return np.log(impossible / impossible.sum()), np.inf
    if not np.ptp(log_density) > NEGLIGIBLE_SPREAD:
        return np.full(log_density.size, -np.log(log_density.size)), -np.inf
    from arviz_stats.base import array_stats

    try:
        log_weight, khat = array_stats.psislw(log_density, r_eff=efficiency)
    except ValueError:  # the largest ratios are all equal, as those of a chain that is stuck
        return -log_density - logsumexp(-log_density), np.inf
    return log_weight, float(khat)


def _relative_efficiency(clf: BayesClassifier, draws: int) -> float:
    """Return effective draws over draws, averaged over the parameters, as ArviZ's `loo` takes it."""
    posterior: Any = None if isinstance(clf.inference_, Exact) else clf.posterior_["posterior"].to_dataset()
    if posterior is None or posterior.sizes["chain"] == 1:
        return 1.0
    from arviz_stats import ess

    found = ess(posterior.map(lambda variable: scaled_draws(variable)[0]), method="mean")
    return float(np.nanmean(np.concatenate([values.to_numpy().ravel() for values in found.data_vars.values()])) / draws)
