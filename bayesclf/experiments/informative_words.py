"""Which words are evidence for which class: their log-odds under a posterior of Dirichlet distributions."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayesclf.classifiers.predictor import CI_PROB
from bayesclf.families import dirichlet
from bayesclf.typing import Array, Integers

CANDIDATES = 4
"""Words whose log-odds are drawn, for each requested word."""


def informative_words(alpha: Array, most: int, draws: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return, for each class, the words that are the strongest evidence for it against the other classes.

    The log-odds of word j for class k are log θ_kj − log mean_{l≠k} θ_lj: what one occurrence of the word adds to the
    log-odds of the class against one of the others, all equally likely. Words are in the order of the lower end of
    their interval, so that words that occurred only a few times are not first.

    Parameters
    ----------
    alpha
        Hyperparameters of the posterior, θ_k ~ Dirichlet(α_k), (outcome, word).
    most
        Number of words of each class.
    draws
        Number of draws of θ. Only θ of candidates are drawn: (θ_kj for some j, the rest) is Dirichlet, and the
        hyperparameter of the rest is the sum of theirs.
    rng
        Generator of the draws.

    Returns
    -------
    DataFrame
        One row per class and word: `outcome` and `word`, their numbers; `rank` of the word in its class, from 1; and
        `log_odds`, `low` and `high`, posterior mean and bounds of the equal-tailed interval of the log-odds, in nats.
    """
    candidates = _candidates(alpha, CANDIDATES * most)
    chosen = np.unique(candidates)
    some = alpha[:, chosen]
    rest = np.delete(alpha, chosen, axis=1).sum(axis=1, keepdims=True)
    reduced = np.hstack([some, rest]) if rest.any() else some
    theta = dirichlet.draw(reduced, (reduced.shape[1],), rng, draws)
    found = []
    for k, own in enumerate(candidates):
        places = np.searchsorted(chosen, own)
        others = np.delete(theta, k, axis=1)[:, :, places].mean(axis=1)
        log_odds = np.log(theta[:, k, places]) - np.log(others)
        low, high = np.quantile(log_odds, [(1 - CI_PROB) / 2, (1 + CI_PROB) / 2], axis=0)
        first = np.argsort(-low, kind="stable")[:most]
        numbers = {"log_odds": log_odds.mean(axis=0)[first], "low": low[first], "high": high[first]}
        found.append(pd.DataFrame({"outcome": k, "word": own[first], "rank": 1 + np.arange(len(first)), **numbers}))
    return pd.concat(found, ignore_index=True)


def _candidates(alpha: Array, count: int) -> Integers:
    """Return for each class the words whose log-odds are largest less two standard deviations, (outcome, word).

    By the delta method, with variance θ²/α of each θ, as words are many and their probabilities small.
    """
    theta = alpha / alpha.sum(axis=1, keepdims=True)
    variance = theta**2 / alpha
    others = theta.sum(axis=0) - theta
    spread = np.sqrt(1 / alpha + (variance.sum(axis=0) - variance) / others**2)
    score = np.log(theta) - np.log(others) - 2 * spread
    return np.argsort(-score, axis=1, kind="stable")[:, :count]
