"""The Gibbs classifier errs at most twice as often as the Bayes-optimal one: where that holds and where it fails.

That Gaussian naive Bayes breaks it even with label draws is shown by `tests/experiments/test_gibbs_bound.py`.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from bayesclf.finite import FiniteSpace
from bayesclf.posterior import averaging
from bayesclf.rules import Gibbs


@pytest.fixture
def rng():
    return np.random.default_rng(77)


@dataclass(frozen=True)
class Errors:
    """Expected 0-1 errors where the target is drawn from the posterior, over all x of a finite space."""

    bayes_optimal: float
    predictive: float
    gibbs: float
    gibbs_label: float
    gibbs_given_x: float
    gibbs_label_given_x: float


def expected_errors(space: FiniteSpace, points: int) -> Errors:
    """Work the errors out; x is uniform where the space has no p(x | h)."""
    rows = space.rows(np.arange(points))
    plain, given_x = (averaging.average(space, rows, given) for given in (False, True))
    joint = space.log_predictive(rows) if space.generative else plain.log_proba - np.log(points)
    p = np.exp(joint)

    def error_of(answers: np.ndarray) -> float:
        """Σ p(x, k) times the probability that the answer to x is not k."""
        return float((p * (1 - answers)).sum())

    best, best_given_x = (np.eye(p.shape[1])[a.log_proba.argmax(axis=1)] for a in (plain, given_x))
    return Errors(
        bayes_optimal=error_of(best),
        predictive=error_of(best_given_x),
        gibbs=error_of(plain.votes),
        gibbs_label=error_of(np.exp(plain.log_proba)),
        gibbs_given_x=error_of(given_x.votes),
        gibbs_label_given_x=error_of(np.exp(given_x.log_proba)),
    )


def named_space(prior: np.ndarray, table, labels: int, generative: bool = False) -> FiniteSpace:
    names = tuple(f"h{h}" for h in range(len(prior)))
    return FiniteSpace(names, tuple("abcdefghij"[:labels]), prior, table, generative)


def random_space(rng: np.random.Generator, deterministic: bool, generative: bool, points: int = 6) -> FiniteSpace:
    """Return 4 hypotheses on 3 labels; deterministic ones know the label of each x, not its probability."""
    table = rng.dirichlet(np.full(3, 0.5), size=(4, points))
    if deterministic:
        table = np.eye(3)[table.argmax(axis=2)]
    if generative:
        table = table * rng.dirichlet(np.full(points, 0.3), size=4)[..., None]
    return named_space(rng.dirichlet(np.ones(4)), table, 3, generative)


class TestTwofoldBoundHolds:
    """E[error of Gibbs] ≤ 2 E[error of the Bayes-optimal classifier], targets drawn from the prior."""

    SPACES = 200

    def ratios(self, rng, deterministic, generative, gibbs: str, optimal: str = "bayes_optimal") -> np.ndarray:
        errors = [expected_errors(random_space(rng, deterministic, generative), 6) for _ in range(self.SPACES)]
        return np.array([getattr(e, gibbs) / getattr(e, optimal) for e in errors])

    def test_for_deterministic_hypotheses(self, rng):
        ratios = self.ratios(rng, deterministic=True, generative=False, gibbs="gibbs")
        assert 1.3 < ratios.max() <= 2 + 1e-12

    def test_for_label_draws_of_probabilistic_hypotheses(self, rng):
        ratios = self.ratios(rng, deterministic=False, generative=False, gibbs="gibbs_label")
        assert 1.3 < ratios.max() <= 2 + 1e-12

    @pytest.mark.parametrize(("deterministic", "gibbs"), [(True, "gibbs_given_x"), (False, "gibbs_label_given_x")])
    def test_for_generative_hypotheses_drawn_given_data_and_x(self, rng, deterministic, gibbs):
        """And then against the predictive, which is the least error there is."""
        ratios = self.ratios(rng, deterministic, True, gibbs, "predictive")
        assert 1.3 < ratios.max() <= 2 + 1e-12

    def test_for_label_draws_of_logistic_regressions(self, rng):
        """P(x) does not depend on the weights."""
        x = np.linspace(-3, 3, 40)
        for scale in (0.3, 1.0, 10.0):
            log_odds = scale * (rng.standard_normal((30, 1)) + rng.standard_normal((30, 1)) * x)
            plus = 1 / (1 + np.exp(-log_odds))
            errors = expected_errors(named_space(np.full(30, 1 / 30), np.stack([plus, 1 - plus], axis=2), 2), 40)
            assert errors.bayes_optimal < errors.gibbs_label <= 2 * errors.bayes_optimal

    def test_no_rule_beats_the_predictive(self, rng):
        for _ in range(self.SPACES):
            errors = expected_errors(random_space(rng, deterministic=False, generative=True), 6)
            others = (errors.bayes_optimal, errors.gibbs, errors.gibbs_label, errors.gibbs_given_x)
            assert errors.predictive <= min(others) + 1e-12


class TestTwofoldBoundFails:
    @pytest.mark.parametrize("a", [0.1, 0.5, 0.9, 0.999])
    def test_for_the_most_probable_class_of_a_probabilistic_hypothesis(self, a):
        """h1 of weight 1 − a has P(+) just under ½, h2 has P(+) = 1: ratio 1 + 2a, up to 3."""
        tiny = 1e-12
        errors = expected_errors(named_space((1 - a, a), [[[0.5 - tiny, 0.5 + tiny]], [[1, 0]]], 2), 1)
        assert errors.bayes_optimal == pytest.approx((1 - a) / 2, rel=1e-6)
        assert errors.gibbs == pytest.approx((1 - a) * (1 + 2 * a) / 2, rel=1e-6)
        assert errors.gibbs / errors.bayes_optimal == pytest.approx(1 + 2 * a, rel=1e-6)

    def test_label_draws_keep_it_in_that_case(self):
        errors = expected_errors(named_space((0.1, 0.9), [[[0.5 - 1e-12, 0.5 + 1e-12]], [[1, 0]]], 2), 1)
        assert errors.gibbs_label <= 2 * errors.bayes_optimal

    @pytest.fixture
    def telling(self):
        """Return two hypotheses, weights .51 and .49: one says +, the other −, and x tells which is true.

        P(x = 0 | h) is .99 under the one and .01 under the other.
        """
        return named_space((0.51, 0.49), [[[0.99, 0], [0.01, 0]], [[0, 0.01], [0, 0.99]]], 2, generative=True)

    def test_without_bound_for_a_generative_posterior_drawn_given_the_data_alone(self, telling):
        """Gibbs 2 · .51 · .49 = .4998, predictive .01: a ratio of nearly 50, and of 1/(2ε) for P(x | h) = 1 − ε, ε."""
        errors = expected_errors(telling, 2)
        assert errors.gibbs == pytest.approx(0.4998)
        assert errors.gibbs_label == pytest.approx(0.4998)
        assert errors.predictive == pytest.approx(0.01)

    def test_drawing_given_data_and_x_repairs_it(self, telling):
        errors = expected_errors(telling, 2)
        assert errors.predictive < errors.gibbs_given_x <= 2 * errors.predictive

    def test_the_gibbs_classifier_itself_errs_so_often(self, telling):
        """Rows drawn from the space, answered by the rule."""
        rng = np.random.default_rng(8)
        true = rng.choice(2, size=20_000, p=[0.51, 0.49])
        x = np.where(rng.random(20_000) < 0.99, true, 1 - true)
        wrong = {}
        for given in ("data", "data and x"):
            said = np.array(telling.answers(Gibbs(given=given), x))
            wrong[given] = int((said != np.array(["a", "b"])[true]).sum())
        assert stats.binomtest(wrong["data"], 20_000, 0.4998).pvalue > 0.001
        assert stats.binomtest(wrong["data and x"], 20_000, expected_errors(telling, 2).gibbs_given_x).pvalue > 0.001
