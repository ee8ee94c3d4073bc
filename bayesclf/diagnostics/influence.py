"""Whether influential rows are unusual ones: with few rows, each can matter although none is."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from bayesclf import inference
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.diagnostics import thresholds
from bayesclf.errors import ConvergenceWarning, DoesNotExist, Refused
from bayesclf.evaluation.leaving_out import TrainingRows, exact, row_khat
from bayesclf.evaluation.predictive_checks import replicated_cells
from bayesclf.inference import Exact, Laplace
from bayesclf.models.base import Model, Rows
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.posterior.hypotheses import Hypotheses
from bayesclf.typing import Integers

STREAM = 6
"""Number of the random stream, next to those of the classifier and of predictive checks."""


def unusual(clf: BayesClassifier, training: TrainingRows, influential: Integers) -> bool | None:
    """Return whether influential rows are more unusual than chance explains.

    For logistic regression, the label of one of them is improbable given all other rows. For a conjugate model, one
    has a larger k̂ than any row in data sets that the model makes.

    Parameters
    ----------
    clf
        A classifier with a posterior.
    training
        All training rows, each of weight 1.
    influential
        Numbers of the rows, the most influential first.

    Returns
    -------
    bool or None
        None where it is not known: it would take Markov chains, or counts of words are not whole numbers.
    """
    model, hypotheses = clf.model_, clf.hypotheses("posterior")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of normal approximations, good enough for a comparison
        try:
            if isinstance(model, LogisticModel):
                return _improbable(clf, training, influential[: thresholds.SHOWN])
            conjugate = isinstance(model, GenerativeModel) and not model.not_conjugate()
            if conjugate and isinstance(hypotheses, Hypotheses):
                return _above_replicates(hypotheses, training, clf.seed_)
        except (DoesNotExist, Refused):
            pass
    return None


def _improbable(clf: BayesClassifier, training: TrainingRows, wanted: Integers) -> bool:
    """Return whether P(y_i | x_i, all other rows) of a row is below the level, corrected for the number of rows.

    A label of probability p or less has probability (K − 1)p at most.
    """
    fit = copy.copy(clf)
    fit.inference_ = Laplace(draws=thresholds.INFLUENCE_DRAWS, limit=np.inf, chains=1)
    probability = np.exp(exact(fit, training, "bayes-optimal", wanted).min())
    return bool(len(training) * (len(clf.classes_) - 1) * probability < thresholds.SIGNIFICANCE)


def _above_replicates(hypotheses: Hypotheses, training: TrainingRows, seed: int) -> bool:
    """Return whether a row has a larger k̂ than any row of `INFLUENCE_REPLICATES` data sets that the model makes.

    A data set has cells drawn from one hypothesis given the labels, and documents as long as the observed ones. Of
    exchangeable data sets the observed one has the largest k̂ with probability 1/(replicates + 1).
    """
    draws = min(len(hypotheses), max(thresholds.INFLUENCE_DRAWS, thresholds.INFLUENCE_CELLS // len(training)))
    rng = np.random.default_rng([seed, STREAM])
    some = np.sort(rng.permutation(len(hypotheses))[:draws])
    observed = row_khat(hypotheses.take(some), training).max()
    for number in range(thresholds.INFLUENCE_REPLICATES):
        model, rows = _replicated(hypotheses.take(rng.integers(len(hypotheses), size=1)), training, rng)
        drawn = inference.draw(model, Exact(draws, 1), seed + number)
        assert drawn is not None  # exact inference is not a point estimate
        if row_khat(Hypotheses(model, drawn.parameters), rows).max() >= observed:
            return False
    return True


def _replicated(one: Hypotheses, training: TrainingRows, rng: np.random.Generator) -> tuple[Model, TrainingRows]:
    """Return a data set that one hypothesis makes, and the model conditioned on it under the same prior."""
    model: Any = one.model
    parts = [
        replicated_cells(block, part, training.y, one.parameters, rng)
        for block, part in zip(model.blocks, training.rows.parts, strict=True)
    ]
    blocks = tuple(
        replace(block, statistics=block.family.statistics(part, training.y, block.statistics.axes))
        for block, part in zip(model.blocks, parts, strict=True)
    )
    return replace(model, blocks=blocks), TrainingRows(Rows(tuple(parts), len(training)), training.y)
