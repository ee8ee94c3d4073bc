import math
from itertools import product

import numpy as np
import pytest

from bayesclf import rules
from bayesclf.errors import InputError, Refused
from bayesclf.experiments.sample_size import METHODS, examples_needed, interval
from bayesclf.families import Axes, Categorical, KnownClassPrior
from bayesclf.finite import FiniteSpace, extended_with_bayes_optimal
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.posterior.hypotheses import Hypotheses
from bayesclf.rules import Gibbs

SIGNS = ("+", "-")
PLUS, MINUS = [1.0, 0.0], [0.0, 1.0]


def binary(p: np.ndarray) -> np.ndarray:
    """P(y | x, h), (hypothesis, x, outcome), from P(+ | x, h)."""
    return np.stack([p, 1 - np.asarray(p)], axis=-1)


@pytest.fixture
def rng():
    return np.random.default_rng(20240)


@pytest.fixture
def aberdeen():
    """P(h | D) = (.4, .3, .3); h1 says +, h2 and h3 say − (Aberdeen, lecture 3)."""
    return FiniteSpace(("h1", "h2", "h3"), SIGNS, (0.4, 0.3, 0.3), [[PLUS], [MINUS], [MINUS]])


class TestTextbook:
    def test_a_version_space_is_the_posterior_of_deterministic_hypotheses(self, rng):
        """All 8 classifiers of 3 values of x under a uniform prior, two rows seen: 2 remain (Mitchell 1997 §6.3)."""
        table = binary(np.array(list(product((0.0, 1.0), repeat=3))))
        space = FiniteSpace(tuple(f"h{i}" for i in range(8)), SIGNS, np.full(8, 1 / 8), table)
        seen = space.update(x=[0, 2], y=[0, 1])
        consistent = (table[:, 0, 0] == 1) & (table[:, 2, 1] == 1)
        assert seen.posterior == pytest.approx(space.version_space(consistent).posterior)
        assert sum(p > 0 for p in seen.posterior.values()) == 2


class TestUpdate:
    def test_the_posterior_is_prior_times_likelihood(self, aberdeen):
        likelihood = np.array([0.2, 0.5, 0.1])
        weights = np.array([0.4, 0.3, 0.3]) * likelihood
        posterior = list(aberdeen.update(likelihood).posterior.values())
        np.testing.assert_allclose(posterior, weights / weights.sum())

    def test_ten_thousand_rows_do_not_underflow(self):
        space = FiniteSpace(("h1", "h2"), SIGNS, (0.5, 0.5), [[[0.5, 0.5]], [[0.4, 0.6]]])
        seen = space.update(x=np.zeros(10_000, dtype=int), y=np.tile([0, 1], 5_000))
        log_odds = np.diff(seen.log_weights)[0]
        assert log_odds == pytest.approx(5_000 * (math.log(0.8) + math.log(1.2)))

    def test_mle_ignores_the_prior(self, aberdeen):
        seen = aberdeen.update((0.3, 0.3, 0.35))
        assert (seen.map, seen.mle) == ("h1", "h3")
        assert (seen.answers("map", 0), seen.answers("mle", 0)) == (("+",), ("-",))


class TestSameRules:
    def test_equally_weighted_hypotheses_answer_as_draws_of_a_model_do(self, rng):
        """Categorical naive Bayes over 3 × 2 levels, its draws written out as a table of P(x, y | h)."""
        axes = Axes(SIGNS, ("u", "v"), (("0", "1", "2"), ("0", "1")))
        family = Categorical(axes=axes)
        statistics = family.statistics(np.empty((0, 2), dtype=int), np.empty(0, dtype=int), axes)
        pi = np.array([0.3, 0.7])
        model = GenerativeModel(SIGNS, KnownClassPrior(pi), np.zeros(2), (Block(family, statistics),))
        theta = np.concatenate([rng.dirichlet(np.ones(3), (7, 2)), rng.dirichlet(np.ones(2), (7, 2))], axis=2)
        table = np.einsum("k,hku,hkv->huvk", pi, theta[..., :3], theta[..., 3:]).reshape(7, 6, 2)
        space = FiniteSpace(tuple("abcdefg"), SIGNS, np.full(7, 1 / 7), table, generative=True)
        cells = np.array(list(product(range(3), range(2))))
        rows = rules.Rows((cells,), 6)
        for rule in ("bayes-optimal", "gibbs", Gibbs(given="data and x")):
            expected = rules.log_proba(rule, _Exact(model, {"theta": theta}), rows, seed=5)
            np.testing.assert_allclose(np.log(space.proba(rule, np.arange(6), seed=5)), expected)
        mixture = table.mean(axis=0)  # Σ_h P(h | D) P(x, k | h)
        expected = mixture / mixture.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(space.proba("predictive", np.arange(6)), expected)
        with pytest.raises(Refused, match="classifier"):
            extended_with_bayes_optimal(space, 0.5)
        with pytest.raises(Refused, match="no mean"):
            space.answers("mean", 0)


class _Exact(Hypotheses):
    """Draws that are the whole posterior."""

    exact = True


class TestExercise4:
    """H = {h1, h2}, h3 the Bayes-optimal classifier of H, H' = H ∪ {h3} (Mitchell, exercise 4)."""

    def test_a_probabilistic_h3_with_more_than_half_of_the_posterior_can_be_outvoted(self):
        """h3 says + with .51; h2, sure of −, has all of the rest: P(+) = .51² < ½."""
        space = FiniteSpace(("h1", "h2"), SIGNS, (0.51, 0.49), [[PLUS], [MINUS]])
        extended = extended_with_bayes_optimal(space, (0.0, 0.49, 0.51), probabilistic=True)
        assert space.answers("bayes-optimal", 0) == ("+",)
        assert extended.posterior["h3"] > 0.5
        assert extended.answers("bayes-optimal", 0) == ("-",)


class TestExercise1:
    """Examples until the 95% interval of a Bernoulli's estimate is ± .02 (Mitchell, exercise 1)."""

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("p", [0.03, 0.3, 0.5])
    def test_it_is_the_first_n_that_is_enough(self, method, p):
        """By trying all n in turn."""
        first = next(n for n in range(1, 1000) if np.ptp(interval(method, n * p, n, 0.9)) <= 0.1)
        assert examples_needed(0.05, p, 0.9, method) == first


class TestBadInput:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"prior": (0.4, 0.3, 0.4)}, "prior must be 3 probabilities"),
            ({"prior": (1.4, -0.2, -0.2)}, "prior must be 3 probabilities"),
            ({"table": [PLUS, MINUS, MINUS]}, "table must be"),
            ({"table": [[PLUS], [MINUS], [[0.5, 0.6]]]}, "the labels for each hypothesis and x"),
            ({"table": [[PLUS] * 2, [MINUS] * 2, [MINUS] * 2], "generative": True}, "x and label for each hypothesis"),
            ({"log_likelihood": -np.inf}, "no hypothesis is possible"),
        ],
    )
    def test_bad_spaces_are_refused(self, changes, message):
        given = {"prior": (0.4, 0.3, 0.3), "table": [[PLUS], [MINUS], [MINUS]]} | changes
        with pytest.raises(InputError, match=message):
            FiniteSpace(("h1", "h2", "h3"), SIGNS, **given)

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ({}, "either the likelihoods"),
            ({"likelihood": (1, 1, 1), "x": [0], "y": [0]}, "either the likelihoods"),
            ({"x": [0]}, "either the likelihoods"),
            ({"likelihood": (1, 1)}, "likelihood must be 3"),
            ({"likelihood": (1, -1, 1)}, "likelihood must be 3"),
            ({"likelihood": (0, 0, 0)}, "no hypothesis is possible"),
            ({"x": [1], "y": [0]}, "x must be whole numbers from 0 to 0"),
            ({"x": [0], "y": [2]}, "y must be whole numbers from 0 to 1"),
            ({"x": [0, 0], "y": [0]}, "x has 2 rows but y has 1"),
        ],
    )
    def test_bad_data_are_refused(self, aberdeen, data, message):
        with pytest.raises(InputError, match=message):
            aberdeen.update(**data)
