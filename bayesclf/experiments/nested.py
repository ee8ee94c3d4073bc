"""Naive Bayes and logistic regression on growing training sets, without encoding a table at every size.

Rows are encoded once, and the statistics of naive Bayes are updated with the rows that each size adds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayesclf import inference
from bayesclf.errors import Refused
from bayesclf.evaluation import cross_validation
from bayesclf.evaluation.scores import RowScores
from bayesclf.experiments.problems import Encoded
from bayesclf.families import Categorical, Gaussian
from bayesclf.families.base import Axes, Family, Statistics
from bayesclf.families.class_prior import LearntClassPrior
from bayesclf.inference import NUTS, Exact, Laplace, engines, laplace, nuts
from bayesclf.models.base import Model, Rows
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.model import LogisticModel, LogisticPrior
from bayesclf.posterior.hypotheses import Hypotheses
from bayesclf.rules import RULES
from bayesclf.typing import Integers, Parameters

PLUG_IN = ("mle", "map")
AVERAGED = tuple(rule for rule in RULES if rule not in PLUG_IN)

CHAINS, DRAWS = 2, 250
"""Size of a posterior: the Monte Carlo error of an averaged probability is then about 1/20 of its posterior sd."""


def split(encoded: Encoded, rng: np.random.Generator, most_test: int) -> tuple[Integers, Integers]:
    """Return training rows in the order in which sizes take them, and test rows: a third, at most `most_test`.

    The first training rows are of different classes, so that every size has as many classes as possible.
    """
    order = rng.permutation(len(encoded))
    n_test = min(max(1, len(encoded) // 3), most_test)
    test, train = order[:n_test], order[n_test:]
    for place in range(1, len(encoded.labels)):
        new = np.flatnonzero(~np.isin(encoded.y[train], encoded.y[train[:place]]))
        if not new.size:
            break
        train[[place, new[0]]] = train[[new[0], place]]
    return train, test


def sizes_of(encoded: Encoded, sizes: Sequence[int], most_test: int) -> tuple[int, ...]:
    """Return the training sizes that the rows allow, ending with all of the training rows or the largest size."""
    available = len(encoded) - min(max(1, len(encoded) // 3), most_test)
    kept = [size for size in sizes if size < available]
    return (*kept, available) if len(kept) < len(sizes) else tuple(kept)


class NaiveBayes:
    """Naive Bayes on an order of training rows: Dirichlet priors for categories, normal-inverse-gamma for numbers.

    Parameters
    ----------
    encoded
        The rows.
    variance
        Variance structure of numbers, as in `GaussianNB`.
    """

    def __init__(self, encoded: Encoded, variance: str = "feature") -> None:
        self._encoded = encoded
        self._axes = Axes(encoded.labels, encoded.features, encoded.levels)
        self._family: Family[Any] = Gaussian(variance) if encoded.problem.kind == "number" else Categorical()
        self._statistics: Statistics | None = None
        self._counts = np.zeros(len(encoded.labels))

    def extend(self, rows: Integers) -> None:
        """Learn further rows."""
        X, y = self._encoded.X[rows], self._encoded.y[rows]
        added = self._family.statistics(X, y, self._axes)
        self._statistics = added if self._statistics is None else self._statistics + added
        self._counts = self._counts + np.bincount(y, minlength=len(self._counts))

    def model(self) -> tuple[GenerativeModel, Callable[[Integers], Rows]]:
        """Return the model of the rows so far, and the encoding of other rows for it."""
        assert self._statistics is not None
        keep = self._family.informative(self._statistics)
        statistics = self._statistics.select(keep)
        blocks = (Block(self._family.resolve_prior(statistics), statistics),) if keep.any() else ()
        prior = LearntClassPrior(np.ones(len(self._encoded.labels)))

        def encode(rows: Integers) -> Rows:
            """Return the rows' cells in the features that are kept."""
            return Rows((self._encoded.X[rows][:, keep],) if blocks else (), len(rows))

        return GenerativeModel(self._encoded.labels, prior, self._counts, blocks), encode


class Logistic:
    """Logistic regression on an order of training rows, with a symmetric prior per sd of a column.

    Parameters
    ----------
    encoded
        The rows.
    prior
        Its prior.
    """

    def __init__(self, encoded: Encoded, prior: LogisticPrior) -> None:
        self._encoded = encoded
        self._prior = prior
        self._rows = np.empty(0, dtype=np.intp)

    def extend(self, rows: Integers) -> None:
        """Learn further rows."""
        self._rows = np.concatenate([self._rows, rows])

    def model(self) -> tuple[LogisticModel, Callable[[Integers], Rows]]:
        """Return the model of the rows so far, and the encoding of other rows for it."""
        encoded, weight = self._encoded, np.ones(len(self._rows))
        numbers = encoded.features if encoded.problem.kind == "number" else ()
        categories = encoded.features if encoded.problem.kind == "category" else ()

        def encode(rows: Integers) -> Rows:
            """Return the rows' numbers and level codes."""
            return Rows((encoded.numbers[rows], encoded.codes[rows]), len(rows))

        training = encode(self._rows)
        cells, codes = training.parts
        design = LogisticDesign.fit(cells, codes, weight, numbers, categories, encoded.levels)
        y = encoded.y[self._rows]
        return LogisticModel(encoded.labels, design, design.matrix(training), y, weight, self._prior), encode


type Learner = NaiveBayes | Logistic
"""A model that learns training rows in a given order."""


@dataclass
class Sources:
    """The hypotheses of one model by source, each inferred on first use."""

    model: Model
    seed: int
    _found: dict[str, Parameters] = field(default_factory=dict, init=False)

    def __call__(self, source: str) -> Hypotheses:
        """Return the hypotheses of a source, or raise `DoesNotExist`."""
        if source not in self._found:
            self._found[source] = self._infer(source)
        return Hypotheses(self.model, self._found[source])

    def _infer(self, source: str) -> Parameters:
        if source in PLUG_IN:
            return inference.estimate(self.model, source)
        if source == "posterior":
            return posterior(self.model, self.seed)
        if isinstance(self.model, GenerativeModel):
            return self.model.mean()
        return {name: values.mean(axis=0, keepdims=True) for name, values in self("posterior").parameters.items()}


def posterior(model: Model, seed: int) -> Parameters:
    """Return draws: exact, else by importance-weighted Laplace where its check allows it, else by NUTS.

    Chains are not checked one by one, which would take another quarter of the time.
    """
    if not model.not_conjugate():
        drawn = engines.draw(model, Exact(DRAWS, CHAINS), seed)
        assert drawn is not None
        return drawn.parameters
    assert isinstance(model, LogisticModel)
    with contextlib.suppress(Refused):
        return engines.joined(laplace.sample(model, Laplace(DRAWS, CHAINS), seed).parameters)
    return engines.joined(nuts.sample_machine_code(model.density(), NUTS(draws=DRAWS, chains=CHAINS), seed).draws)


def answers(
    learner: Learner, encoded: Encoded, test: Integers, rules: Sequence[str], seed: int
) -> dict[str, RowScores | str]:
    """Score a learner on the test rows, under each rule; for a rule that cannot answer, say why."""
    model, encode = learner.model()
    return cross_validation.score_rules(Sources(model, seed), seed, encode(test), encoded.y[test], rules)


def growing(
    learners: Mapping[str, Learner], train: Integers, sizes: Sequence[int]
) -> Iterator[tuple[int, str, Learner]]:
    """Yield, for each training size, the name of each learner and the learner after that many training rows."""
    for known, size in zip((0, *sizes), sizes, strict=False):
        for model, learner in learners.items():
            learner.extend(train[known:size])
            yield size, model, learner


def metrics(answer: RowScores) -> dict[str, float]:
    """Return error, log loss, Brier score and over-confidence, as means over the test rows.

    Over-confidence is mean P(predicted class) minus accuracy: above 0 a classifier is over-confident.
    """
    error = float(answer.error.mean())
    confidence = float(np.exp(answer.log_proba.max(axis=1)).mean())
    return {
        "error": error,
        "log_loss": float(answer.log_loss.mean()),
        "brier": float(answer.brier.mean()),
        "overconfidence": confidence - (1 - error),
    }
