"""Settings in which the twofold bound on the Gibbs classifier's error holds, and in which it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesclf import averaging, rules
from bayesclf.families import Gaussian
from bayesclf.families.base import Axes, Rows
from bayesclf.families.class_prior import KnownClassPrior
from bayesclf.families.generative import Block, GenerativeModel
from bayesclf.hypotheses import FiniteSpace
from bayesclf.hypothesis_set import Hypotheses, HypothesisSet
from bayesclf.typing import Array

RULES = ("bayes-optimal", "predictive", "gibbs", "gibbs label", "gibbs given x", "gibbs label given x")
"""What is compared: a Gibbs classifier predicts its hypothesis's most probable class, or draws a label from it; the
hypothesis is drawn given the data, or given data and x."""

POINTS = 8
"""Values of x in a finite space."""

PRECISE = 1e6
"""Shape of the inverse gamma that holds σ² at 1, to one part in a thousand."""

type Errors = Array
"""Expected error of each rule, in the order of `RULES`."""


@dataclass(frozen=True)
class Case:
    """One setting.

    Attributes
    ----------
    name, title
        Short and in words.
    says
        What theory says of it.
    compared
        Gibbs classifiers and references whose ratios can differ.
    holds
        Gibbs classifiers whose ratios theory bounds by 2.
    errors
        Draws a target from the prior, data and new rows, and returns the rules' expected errors.
    """

    name: str
    title: str
    says: str
    compared: tuple[tuple[str, str], ...]
    holds: tuple[str, ...]
    errors: Callable[[np.random.Generator], Errors]


def expected_errors(hypotheses: HypothesisSet, rows: Rows) -> Errors:
    """Return each rule's expected error over the labels of rows, whose probabilities are the predictive's.

    A rule that answers k with probability a_k errs with probability Σ_k P(k | x, D)(1 − a_k).
    """
    truth = np.exp(rules.predictive(hypotheses, rows))
    plain, given = averaging.average(hypotheses, rows), averaging.average(hypotheses, rows, given_x=True)
    labels = truth.shape[1]
    answers = (
        np.eye(labels)[plain.log_proba.argmax(axis=1)],
        np.eye(labels)[truth.argmax(axis=1)],
        plain.votes,
        np.exp(plain.log_proba),
        given.votes,
        np.exp(given.log_proba),
    )
    return np.array([(truth * (1 - answer)).sum(axis=1).mean() for answer in answers])


def _space(prior: Array, table: Array, generative: bool = False) -> FiniteSpace:
    names = tuple(f"h{index}" for index in range(len(prior)))
    return FiniteSpace(names, tuple("+-"), prior, table, generative)


def _conditioned(space: FiniteSpace, rng: np.random.Generator, rows: int) -> FiniteSpace:
    """Draw a target from the prior and rows from it; return the posterior."""
    table = np.asarray(space.table)
    target = table[rng.choice(len(space), p=np.asarray(space.prior))]
    joint = target if space.generative else target / len(target)
    drawn = rng.choice(joint.size, size=rows, p=joint.ravel() / joint.sum())
    return space.update(x=drawn // 2, y=drawn % 2)


def _weighted_by_x(space: FiniteSpace, rng: np.random.Generator) -> Rows:
    """Draw new rows x given the data; uniform where there is no P(x)."""
    if not space.generative:
        return space.rows(np.arange(POINTS))
    x = np.exp(space.log_weights) @ np.asarray(space.table).sum(axis=2)
    return space.rows(rng.choice(POINTS, size=4 * POINTS, p=x / x.sum()))


def _finite(deterministic: bool, generative: bool) -> Callable[[np.random.Generator], Errors]:
    """Return a draw from random spaces of six hypotheses on `POINTS` values of x, after three rows."""

    def errors(rng: np.random.Generator) -> Errors:
        plus = rng.random((6, POINTS))
        plus = np.round(plus) if deterministic else plus
        table = np.stack([plus, 1 - plus], axis=2)
        if generative:
            table = table * rng.dirichlet(np.full(POINTS, 0.3), size=6)[..., None]
        space = _conditioned(_space(rng.dirichlet(np.ones(6)), table, generative), rng, 3)
        return expected_errors(space, _weighted_by_x(space, rng))

    return errors


def _logistic(rng: np.random.Generator) -> Errors:
    """Logistic regressions in two dimensions, 200 drawn from N(0, 2²I) as the prior, after six rows."""
    weight = 2 * rng.standard_normal((200, 2))

    def table(x: NDArray[np.intp]) -> Array:
        plus = 1 / (1 + np.exp(-np.einsum("hj,...j->h...", weight, points[x])))
        return np.stack([plus, 1 - plus], axis=-1)

    points = rng.standard_normal((26, 2))
    space = FiniteSpace(tuple(map(str, range(200))), tuple("+-"), np.full(200, 1 / 200), table(np.arange(26)))
    y = (rng.random(6) > np.asarray(space.table)[rng.integers(200), :6, 0]).astype(np.intp)
    return expected_errors(space.update(x=np.arange(6), y=y), space.rows(np.arange(6, 26)))


def _doubtful(rng: np.random.Generator) -> Errors:
    """h1 of weight .1 has P(+) just under ½, h2 of weight .9 has P(+) = 1."""
    space = _space(np.array([0.1, 0.9]), np.array([[[0.5 - 1e-12, 0.5 + 1e-12]], [[1.0, 0.0]]]))
    return expected_errors(space, space.rows(0))


def _telling(rng: np.random.Generator) -> Errors:
    """Two hypotheses, one says +, the other −; P(x = 0 | h) is .99 under the one and .01 under the other."""
    table = np.array([[[0.99, 0], [0.01, 0]], [[0, 0.01], [0, 0.99]]])
    space = _space(np.array([0.51, 0.49]), table, generative=True)
    # Both values of x are enumerated: each error counts by the probability of its x.
    weight = np.exp(space.log_weights) @ table.sum(axis=2)
    return np.asarray(weight @ np.stack([expected_errors(space, space.rows(x)) for x in (0, 1)]))


def _gaussian(tau: float, counts: tuple[int, int]) -> Callable[[np.random.Generator], Errors]:
    """Return a draw from two classes of equal probability, x_i | y = k ~ N(μ_ik, 1), μ_ik ~ N(0, τ²), d = 10."""

    def errors(rng: np.random.Generator) -> Errors:
        mu = tau * rng.standard_normal((2, 10))
        y = np.repeat([0, 1], counts)
        axes = Axes(("0", "1"), tuple(map(str, range(10))))
        family = Gaussian("shared", 0.0, tau**-2, PRECISE, PRECISE)
        statistics: Any = family.statistics(mu[y] + rng.standard_normal((len(y), 10)), y, axes)
        block = Block(family.resolve_prior(statistics), statistics)
        model = GenerativeModel(("0", "1"), KnownClassPrior(np.full(2, 0.5)), np.array(counts, dtype=float), (block,))
        new = Rows((mu[rng.integers(2, size=10)] + rng.standard_normal((10, 10)),), 10)
        found = np.full(len(RULES), np.nan)
        hypotheses = Hypotheses(model, model.draw(rng, 300))
        plain, truth = averaging.average(hypotheses, new), np.exp(rules.predictive(hypotheses, new))
        answers = (
            np.eye(2)[plain.log_proba.argmax(axis=1)],
            np.eye(2)[truth.argmax(axis=1)],
            plain.votes,
            np.exp(plain.log_proba),
            # A label drawn from a hypothesis that is drawn given data and x is a label drawn from the predictive.
            None,
            truth,
        )
        for place, answer in enumerate(answers):
            if answer is not None:
                found[place] = (truth * (1 - answer)).sum(axis=1).mean()
        return found

    return errors


BAYES, PREDICTIVE, *GIBBS = RULES
# Where p(x | h) is the same for all h, x tells nothing of h: predictive is Bayes-optimal, given x is given the data.
DISCRIMINATIVE = (("gibbs", BAYES), ("gibbs label", BAYES))
GENERATIVE = tuple((gibbs, reference) for gibbs in GIBBS for reference in (BAYES, PREDICTIVE))
# Draws cannot be weighted by p(x | θ) in ten dimensions, so that one classifier is missing.
GAUSSIAN = tuple(pair for pair in GENERATIVE if pair[0] != "gibbs given x")

CASES = {
    case.name: case
    for case in (
        Case(
            "deterministic",
            "Hypotheses that label without doubt, p(x) the same under all",
            "the bound holds for both Gibbs classifiers",
            DISCRIMINATIVE,
            ("gibbs", "gibbs label"),
            _finite(True, False),
        ),
        Case(
            "probabilistic",
            "Hypotheses with probabilities, p(x) the same under all",
            "it holds where labels are drawn",
            DISCRIMINATIVE,
            ("gibbs label",),
            _finite(False, False),
        ),
        Case(
            "logistic",
            "Logistic regressions",
            "a discriminative model says nothing of p(x), so it holds where labels are drawn",
            DISCRIMINATIVE,
            ("gibbs label",),
            _logistic,
        ),
        Case(
            "generative",
            "Hypotheses with a p(x | h) that label without doubt",
            "it holds where the hypothesis is drawn given data and x",
            GENERATIVE,
            ("gibbs given x", "gibbs label given x"),
            _finite(True, True),
        ),
        Case(
            "doubtful",
            "One hypothesis just undecided, the other certain",
            "asking for the most probable class breaks it, up to a ratio of 3",
            DISCRIMINATIVE,
            ("gibbs label",),
            _doubtful,
        ),
        Case(
            "telling",
            "Two hypotheses that x tells apart",
            "drawing given the data alone breaks it, without limit",
            GENERATIVE,
            ("gibbs given x", "gibbs label given x"),
            _telling,
        ),
        Case(
            "gaussian-2",
            "Gaussian naive Bayes, ten columns, two rows, τ = 2",
            "labels drawn given the data alone break it even against Bayes-optimal",
            GAUSSIAN,
            ("gibbs label given x",),
            _gaussian(2.0, (1, 1)),
        ),
        Case(
            "gaussian-1",
            "Gaussian naive Bayes, ten columns, one row, τ = 3",
            "against predictive the ratio has no limit",
            GAUSSIAN,
            ("gibbs label given x",),
            _gaussian(3.0, (1, 0)),
        ),
    )
}
"""The settings by name."""
