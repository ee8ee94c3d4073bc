"""What the same answers would be worth where a class is rarer or more common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayesclf.constraints import Number, require
from bayesclf.errors import InputError
from bayesclf.typing import Array, Integers

RATES = (0.01, 0.05, 0.1, 0.25, 0.5)
"""Base rates that are looked at, where none are given."""


def other_base_rates(
    log_proba: Array, y: Integers, shares: Array, outcome: int = 1, rates: Sequence[float] = RATES
) -> pd.DataFrame:
    """Return scores of answers to held-out rows, for other base rates π′ of one of two classes.

    If only the base rates change, and p(x | class) stays, then

        P′(k | x) ∝ P(k | x) π′_k/π_k,

    and every expectation is the mean over the rows of each class, weighted by π′. The rule is to name the class of
    P′(k | x) above ½: the rarer a class, the more evidence is needed to name it. Of answers that are averaged over
    hypotheses this is exact for the rule "predictive" and approximate for "bayes-optimal", whose hypotheses have base
    rates of their own; `predict_proba` with `class_prior` changes these in each of them.

    Parameters
    ----------
    log_proba
        log P(k | x) of held-out rows, (row, outcome).
    y
        Their label codes (row), of both classes.
    shares
        Base rates π that the answers were given under, (outcome) or (row, outcome): those of the training rows.
    outcome
        Code of the class whose base rate changes, 0 or 1.
    rates
        Its new base rates, each in (0, 1).

    Returns
    -------
    DataFrame
        One row per base rate: `rate`; `found`, the share of the class that is named (sensitivity); `right`, the
        probability that a row is of the class if it is named (positive predictive value; NaN if none is); `accuracy`;
        `log_loss`, and `log_loss_without`, that of giving π′ to every row.

    Raises
    ------
    InputError
        Unless there are two classes with rows and base rates of both, and each new rate is in (0, 1).

    References
    ----------
    Saerens, Latinne & Decaestecker, Neural Computation 14 (2002), eq. 2.4. Elkan, *The foundations of cost-sensitive
    learning* (2001), theorem 2.

    Examples
    --------
    >>> import numpy as np
    >>> risk, y = np.array([0.9, 0.6, 0.2, 0.1]), np.array([1, 1, 0, 0])
    >>> log_proba = np.log(np.column_stack([1 - risk, risk]))
    >>> other_base_rates(log_proba, y, np.array([0.5, 0.5]), rates=[0.1, 0.5]).round(2)
       rate  found  right  accuracy  log_loss  log_loss_without
    0   0.1    0.5    1.0      0.95      0.15              0.33
    1   0.5    1.0    1.0      1.00      0.24              0.69
    """
    require(Number(above=0, below=1), **{f"rates[{place}]": rate for place, rate in enumerate(rates)})
    if log_proba.shape[1] != 2 or len(np.unique(y)) < 2 or not np.all(shares > 0):
        raise InputError("other base rates are looked at for two classes, with training rows and held-out rows of both")
    is_class = y == outcome
    lines = []
    for rate in rates:
        new = np.where(np.arange(2) == outcome, rate, 1 - rate)
        scores = log_proba + np.log(new / shares)
        scores = scores - logsumexp(scores, axis=1, keepdims=True)
        weight = np.where(is_class, rate / is_class.sum(), (1 - rate) / (~is_class).sum())
        named = scores[:, outcome] > scores[:, 1 - outcome]
        of_named = weight[named].sum()
        lines.append(
            (
                rate,
                named[is_class].mean(),
                weight[named & is_class].sum() / of_named if of_named else np.nan,
                weight[named == is_class].sum(),
                -(weight * scores[np.arange(len(y)), y]).sum(),
                -(new * np.log(new)).sum(),
            )
        )
    return pd.DataFrame(lines, columns=["rate", "found", "right", "accuracy", "log_loss", "log_loss_without"])
