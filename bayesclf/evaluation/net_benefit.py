"""Decision curves: what acting on the risk of a class is worth, at each threshold, and how sure that is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bayesclf.classifiers.predictor import CI_PROB
from bayesclf.errors import InputError
from bayesclf.typing import Array, Integers

THRESHOLDS = np.arange(1, 100) / 100
"""Risks from which one acts, where none are given."""

PRIOR_COUNT = 0.25
"""Rows that the prior adds to each of the four counts: one in all.

More would matter at high thresholds, where a false positive has a large weight: four rows of a flat prior would let a
model that acts on no row lose to acting on none.
"""

DRAWS = 1_000
"""Draws from the posterior of the four shares behind an interval, whose probabilities are in closed form."""

SLACK = 1e-12
"""By how much a risk may miss a threshold: rounding decides about nothing."""


def decision_curve(
    log_proba: Array,
    y: Integers,
    outcome: int = 1,
    thresholds: ArrayLike | None = None,
    repeats: float = 1,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the net benefit of acting on rows whose risk P(k | x) of one class reaches a threshold t.

    Of n rows let TP have the class and reach the threshold, and FP reach it without having the class. Who acts from a
    risk of t on holds one missed row of the class to be as bad as (1 − t)/t needless acts, so that acting is worth

        NB(t) = TP/n − FP/n · t/(1 − t),

    in rows of the class found per row. Acting on none is worth 0, and acting on all is worth π − (1 − π) t/(1 − t),
    with π the share of the class. The four shares (TP, FP, FN, TN)/n have the posterior
    Dirichlet(TP + ¼, FP + ¼, FN + ¼, TN + ¼). A model is better than acting on none where TP/(TP + FP) > t, and better
    than acting on all where FN/(FN + TN) < t. These two ratios are independent with Beta posteriors, so that the
    probabilities of both, and of their conjunction, are in closed form.

    They hold for each threshold on its own, for new rows like these, and for the answers as they are: how answers would
    vary with the training rows is not in them.

    Parameters
    ----------
    log_proba
        log P(k | x), (row, outcome), of rows that the classifier was not fitted on.
    y
        Label codes (row).
    outcome
        Code k of the class of interest.
    thresholds
        Risks from which one acts, each in (0, 1), (threshold); 1 % to 99 % by default.
    repeats
        Number of answers to each row, on average, as by repeated cross-validation: a row counts once.
    seed
        Of the draws behind the intervals.

    Returns
    -------
    DataFrame
        One row per threshold: `threshold`; `net_benefit` of these rows, with its 89 % credible interval (`low`,
        `high`); `treat_all`, that of acting on all rows; `beats_none`, `beats_all` and `useful`: the probabilities that
        the model is better than acting on none, than acting on all, and than both.

    Raises
    ------
    InputError
        Without rows, or for thresholds, a class or repeats that cannot be used.

    References
    ----------
    Vickers & Elkin, *Decision curve analysis*, Medical Decision Making 26 (2006). Cruz & Korthauer, *Bayesian decision
    curve analysis with bayesDCA*, Statistics in Medicine 43 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> risk = np.array([0.9, 0.8, 0.6, 0.3, 0.2, 0.1])
    >>> found = decision_curve(np.log(np.column_stack([1 - risk, risk])), np.array([1, 1, 0, 1, 0, 0]), 1, [0.25, 0.5])
    >>> found[["threshold", "net_benefit", "treat_all", "beats_none", "beats_all"]].round(2)
       threshold  net_benefit  treat_all  beats_none  beats_all
    0       0.25         0.44       0.33        0.98       0.86
    1       0.50         0.17       0.00        0.73       0.73
    """
    risk, given, at = _checked(log_proba, y, outcome, thresholds, repeats)
    acted = risk >= at[:, None] - SLACK
    cells = acted & given, acted & ~given, ~acted & given, ~acted & ~given
    counts = np.stack([cell.sum(axis=1) for cell in cells])
    shares = counts / len(given)
    tp, fp, fn, tn = posterior = counts / repeats + PRIOR_COUNT
    weight = at / (1 - at)
    # Where the model acts on no row, or on all, it is one of the two, whatever the prior says about rows unseen.
    beats_none = np.where(acted.any(axis=1), stats.beta.sf(at, tp, fp), 0.5)
    beats_all = np.where(acted.all(axis=1), 0.5, stats.beta.cdf(at, fn, tn))
    tails = (1 - CI_PROB) / 2, (1 + CI_PROB) / 2
    low, high = np.quantile(_drawn(posterior, weight, seed), tails, axis=0)
    return pd.DataFrame(
        {
            "threshold": at,
            "net_benefit": shares[0] - shares[1] * weight,
            "low": low,
            "high": high,
            "treat_all": shares[0] + shares[2] - (shares[1] + shares[3]) * weight,
            "beats_none": beats_none,
            "beats_all": beats_all,
            "useful": beats_none * beats_all,
        }
    )


def code_of(classes: NDArray[Any], outcome: Any) -> int:
    """Return the code of the class of interest; of two classes the second where none is named.

    Raises
    ------
    InputError
        For a label that is not one of the classes, and for None with more than two classes.
    """
    labels = [str(label) for label in classes]
    if outcome is None and len(classes) == 2:
        return 1
    if outcome is None:
        raise InputError(f"say which class matters, as outcome={classes.tolist()[-1]!r}: one of {', '.join(labels)}")
    found = np.flatnonzero(classes == outcome)
    if not found.size:
        raise InputError(f"outcome must be one of the classes {', '.join(labels)}, not {outcome!r}")
    return int(found[0])


def _checked(
    log_proba: Array, y: Integers, outcome: int, thresholds: Any, repeats: float
) -> tuple[Array, NDArray[np.bool_], Array]:
    """Return the risk of each row, whether it has the class, (row), and the thresholds (threshold)."""
    if not len(y):
        raise InputError("a decision curve needs at least one row with its label")
    labels = log_proba.shape[1]
    if outcome not in range(labels):
        raise InputError(f"outcome is the code of a class, a whole number from 0 to {labels - 1}, not {outcome!r}")
    if not 1 <= repeats <= len(y):
        raise InputError(f"repeats is the number of answers to each row, from 1 to {len(y)} here, not {repeats!r}")
    try:
        at = THRESHOLDS if thresholds is None else np.atleast_1d(np.asarray(thresholds, dtype=float))
    except (TypeError, ValueError):
        at = np.empty(0)
    if at.ndim != 1 or not at.size or not ((at > 0) & (at < 1)).all():
        raise InputError(f"thresholds are risks between 0 and 1, such as [0.1, 0.2], not {thresholds!r}")
    return np.exp(log_proba[:, outcome]), np.asarray(y) == outcome, at


def _drawn(posterior: Array, weight: Array, seed: int) -> Array:
    """Return draws of the net benefit, (draw, threshold).

    Thresholds share their random numbers, so that neighboring ones have nearly the same interval: a gamma variable is
    the quantile function of its own shape at a common uniform number.
    """
    uniform = np.random.default_rng(seed).random((DRAWS, 4, 1))
    shapes, place = np.unique(posterior.T, axis=0, return_inverse=True)
    gammas = np.asarray(stats.gamma.ppf(uniform, shapes.T))
    shares = (gammas[:, :2] / gammas.sum(axis=1, keepdims=True))[..., place.ravel()]
    return np.asarray(shares[:, 0] - shares[:, 1] * weight)
