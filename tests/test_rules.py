"""Each rule against a naive evaluation of its formula, for hypotheses given by their scores."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from bayesclf import rules
from bayesclf.errors import InputError, PredictionWarning, Refused
from bayesclf.posterior import averaging
from bayesclf.rules import Gibbs
from bayesclf.tables.columns import Rows

FIELDS = ("log_proba", "votes", "mean_log_proba", "mean_square", "entropy", "impossible")


def one_row_a_block(monkeypatch):
    for name in ("BLOCK_BYTES", "LEAST_ROWS"):
        monkeypatch.setattr(averaging, name, 1)


@dataclass(frozen=True, eq=False)
class Scores:
    """Hypotheses given by their scores (draw, row, outcome); a row is encoded as its number."""

    scores: np.ndarray
    log_weights: np.ndarray
    class_prior: np.ndarray
    generative: bool = True
    exact: bool = True
    closed_form: bool = False
    in_parts: bool = False
    linear_scores = linear_odds = None
    draw_bytes = np.inf

    @property
    def labels(self):
        return tuple("abcdefghij"[: self.scores.shape[2]])

    def __len__(self):
        return len(self.scores)

    def parts(self):
        yield self

    def take(self, draws):
        return replace(
            self,
            scores=self.scores[draws],
            log_weights=np.full(len(draws), -np.log(len(draws))),
            class_prior=self.class_prior[draws],
        )

    def log_scores(self, rows):
        return self.scores[:, rows.parts[0]]

    def log_class_prior(self):
        return np.log(self.class_prior)

    def log_predictive(self, rows):
        if not self.closed_form:
            return None
        return logsumexp(self.log_weights[:, None, None] + self.log_scores(rows), axis=0)


def numbered(length: int) -> Rows:
    return Rows((np.arange(length),), length)


def log(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(values)


def random_scores(rng: np.random.Generator, draws: int = 7, rows: int = 9, labels: int = 3, scale: float = 2.0):
    """Return hypotheses of unequal weight."""
    return Scores(
        scale * rng.standard_normal((draws, rows, labels)),
        np.log(rng.dirichlet(np.ones(draws))),
        rng.dirichlet(np.ones(labels), size=draws),
    )


def with_zeros(rng: np.random.Generator):
    """Return hypotheses with zeros everywhere: of weight, of a class's density, of a whole row's."""
    hypotheses = random_scores(rng)
    hypotheses.scores[rng.random(hypotheses.scores.shape) < 0.2] = -np.inf
    hypotheses.scores[2, 4] = -np.inf
    hypotheses.log_weights[1] = -np.inf
    return replace(hypotheses, log_weights=hypotheses.log_weights - logsumexp(hypotheses.log_weights))


def impossible_rows(rng: np.random.Generator, closed_form: bool = False):
    """Return hypotheses under all of which rows 3 and 5 have density 0 in every class."""
    hypotheses = random_scores(rng)
    hypotheses.scores[:, [3, 5]] = -np.inf
    return replace(hypotheses, closed_form=closed_form)


@pytest.fixture
def rng():
    return np.random.default_rng(77)


def answer_of(hypotheses: Scores, s: int, row: int) -> np.ndarray:
    """P(· | x, h_s), by definition."""
    scores = hypotheses.scores[s, row]
    if np.isneginf(scores).all():
        return hypotheses.class_prior[s]
    joint = np.exp(scores)
    return joint / joint.sum()


def weights_of(hypotheses: Scores, row: int, given_x: bool) -> np.ndarray:
    """P(h_s | D) or P(h_s | D, x), by definition."""
    weights = np.exp(hypotheses.log_weights)
    if given_x and hypotheses.generative:
        evidence = weights * np.exp(hypotheses.scores[:, row]).sum(axis=1)
        weights = evidence / evidence.sum() if evidence.any() else weights
    return weights


def naive_averages(hypotheses: Scores, row: int, given_x: bool) -> dict[str, np.ndarray]:
    """The fields of `Averages` for one row, one hypothesis after the other."""
    proba, votes, mean_log, square, entropy, impossible = np.zeros(3), np.zeros(3), np.zeros(3), 0.0, 0.0, 0.0
    for s, weight in enumerate(weights_of(hypotheses, row, given_x)):
        if weight == 0:
            continue
        p = answer_of(hypotheses, s, row)
        proba += weight * p
        votes[p.argmax()] += weight
        mean_log += weight * log(p)
        square += weight * sum(p**2)
        entropy -= weight * sum(x * np.log(x) for x in p if x > 0)
        impossible += weight * np.isneginf(hypotheses.scores[s, row]).all()
    return dict(zip(FIELDS, (log(proba), votes, mean_log, square, entropy, impossible), strict=True))


class TestAverages:
    @pytest.mark.parametrize("given_x", [False, True])
    @pytest.mark.parametrize("make", [random_scores, with_zeros, impossible_rows])
    @pytest.mark.parametrize("field", FIELDS)
    def test_each_is_a_weighted_sum_over_hypotheses(self, rng, make, field, given_x):
        hypotheses = make(rng)
        averages = getattr(averaging.average(hypotheses, numbered(9), given_x), field)
        for row in range(9):
            expected = naive_averages(hypotheses, row, given_x)[field]
            np.testing.assert_allclose(averages[row], expected, rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("labels", [2, 5])
    def test_averages_of_extreme_scores_are_exact_in_logs(self, rng, labels):
        """Scores of ± 1e4, as naive Bayes has over long documents, on which the hypotheses nearly agree."""
        hypotheses = random_scores(rng, draws=20, rows=50, labels=labels, scale=100)
        hypotheses.scores[:] += 1e4 * rng.uniform(-1, 1, size=(50, labels))
        scores = hypotheses.scores
        conditional = scores - logsumexp(scores, axis=2, keepdims=True)
        expected = logsumexp(hypotheses.log_weights[:, None, None] + conditional, axis=0)
        found = averaging.average(hypotheses, numbered(50)).log_proba
        assert expected.min() < -1e3
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


class TestRules:
    @pytest.mark.parametrize("closed_form", [False, True])
    def test_predictive_is_the_averaged_joint_normalised(self, rng, closed_form):
        """Σ_s w_s p(x, k | h_s) / Σ_s w_s p(x | h_s)."""
        hypotheses = replace(random_scores(rng), closed_form=closed_form)
        joint = np.einsum("s,srk->rk", np.exp(hypotheses.log_weights), np.exp(hypotheses.scores))
        expected = joint / joint.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(np.exp(rules.predictive(hypotheses, numbered(9))), expected)

    def test_predictive_of_a_discriminative_model_is_bayes_optimal(self, rng):
        hypotheses = replace(random_scores(rng), generative=False, closed_form=True)
        np.testing.assert_array_equal(
            rules.predictive(hypotheses, numbered(9)), rules.bayes_optimal(hypotheses, numbered(9))
        )


class TestImpossible:
    """Rows that have density 0 in every class: the class prior answers, a warning counts them, nothing is NaN."""

    @pytest.mark.parametrize("closed_form", [False, True])
    @pytest.mark.parametrize("rule", ["bayes-optimal", "predictive"])
    def test_averages_answer_with_the_averaged_class_prior(self, rng, rule, closed_form):
        hypotheses = impossible_rows(rng, closed_form)
        with pytest.warns(PredictionWarning, match="2 of 9 rows get the class prior"):
            found = np.exp(rules.log_proba(rule, hypotheses, numbered(9)))
        expected = np.exp(hypotheses.log_weights) @ hypotheses.class_prior
        np.testing.assert_allclose(found[[3, 5]], [expected] * 2)
        np.testing.assert_allclose(found.sum(axis=1), 1)

    @pytest.mark.parametrize("given", ["data", "data and x"])
    def test_gibbs_answers_with_the_drawn_hypothesis_class_prior(self, rng, given):
        hypotheses = impossible_rows(rng)
        with pytest.warns(PredictionWarning, match="2 of 9 rows"):
            found = np.exp(rules.log_proba(Gibbs(given=given), hypotheses, numbered(9)))
        for row in (3, 5):
            assert any(np.allclose(found[row], prior) for prior in hypotheses.class_prior)
        np.testing.assert_allclose(found.sum(axis=1), 1)

    def test_rows_are_counted_once_over_all_blocks(self, rng, monkeypatch):
        one_row_a_block(monkeypatch)
        with pytest.warns(PredictionWarning) as caught:
            rules.log_proba("bayes-optimal", impossible_rows(rng), numbered(9))
        assert len(caught) == 1

    def test_a_row_that_some_hypothesis_allows_needs_no_warning(self, rng):
        """Warnings are errors in this suite."""
        hypotheses = impossible_rows(rng)
        hypotheses.scores[0] = 0.0
        found = rules.log_proba("predictive", hypotheses, numbered(9))
        np.testing.assert_allclose(np.exp(found[3]), 1 / 3)


class TestEffectiveDraws:
    """P(θ | D, x) from draws of P(θ | D) is refused where few of them carry the weight."""

    @staticmethod
    def degenerate(rng: np.random.Generator, exact: bool) -> Scores:
        """Return 400 draws of which row 6 leaves a single one."""
        hypotheses = random_scores(rng, draws=400, scale=0.1)
        hypotheses = replace(hypotheses, exact=exact, log_weights=np.full(400, -np.log(400)))
        hypotheses.scores[17, 6] += 50
        return hypotheses

    @pytest.mark.parametrize("by_row", [False, True])
    @pytest.mark.parametrize("rule", ["predictive", Gibbs(given="data and x")])
    def test_the_refusal_names_the_row(self, rng, monkeypatch, rule, by_row):
        if by_row:
            one_row_a_block(monkeypatch)
        with pytest.raises(Refused, match=r"^row 7 leaves 1\.0 effective draws of 400"):
            rules.log_proba(rule, self.degenerate(rng, exact=False), numbered(9))

    def test_a_whole_posterior_is_never_refused(self, rng):
        hypotheses = self.degenerate(rng, exact=True)
        found = rules.log_proba("predictive", hypotheses, numbered(9))
        np.testing.assert_allclose(np.exp(found[6]), answer_of(hypotheses, 17, 6), rtol=1e-12)


class TestInterval:
    @staticmethod
    def smallest_reaching(values: np.ndarray, weights: np.ndarray, tail: float) -> float:
        """The weighted quantile by definition: the smallest v with Σ w [value ≤ v] ≥ tail."""
        return min(v for v in values if weights[values <= v].sum() >= tail)

    @pytest.mark.parametrize("given_x", [False, True])
    @pytest.mark.parametrize("ci_prob", [0.3, 0.89, 0.999])
    @pytest.mark.parametrize("make", [random_scores, with_zeros])
    def test_the_bounds_are_weighted_quantiles(self, rng, make, ci_prob, given_x):
        hypotheses = make(rng)
        found = averaging.interval(hypotheses, numbered(9), ci_prob, given_x)
        for row, label, bound in product(range(9), range(3), range(2)):
            weights = weights_of(hypotheses, row, given_x)
            values = np.array([answer_of(hypotheses, s, row)[label] for s in range(7)])
            tail = (1 + (2 * bound - 1) * ci_prob) / 2
            expected = self.smallest_reaching(values[weights > 0], weights[weights > 0], tail)
            assert found[row, label, bound] == pytest.approx(expected, rel=1e-12)


class TestGibbs:
    """One hypothesis drawn for each row (Mitchell 1997 §6.8)."""

    ROWS = 3000
    GIVENS = ("data", "data and x")

    @staticmethod
    def told_apart(rng: np.random.Generator, rows: int) -> Scores:
        """Return 6 hypotheses with the same answers to every row, each another, so that an answer shows its draw."""
        hypotheses = random_scores(rng, draws=6, rows=1)
        return replace(hypotheses, scores=np.repeat(hypotheses.scores, rows, axis=1))

    def test_one_hypothesis_can_be_named_and_must_be_there(self, rng):
        hypotheses = random_scores(rng)
        found = np.exp(Gibbs(draw=6).log_proba(hypotheses, numbered(9), seed=1))
        np.testing.assert_allclose(found, [answer_of(hypotheses, 6, row) for row in range(9)])
        with pytest.raises(InputError, match="there is no hypothesis 7: the posterior has 0 to 6"):
            Gibbs(draw=7).log_proba(hypotheses, numbered(9), seed=1)
        with pytest.raises(InputError, match=r"Gibbs\(7\) draws nothing"):
            Gibbs(7, given="data and x")

    @pytest.mark.parametrize("given", GIVENS)
    def test_hypotheses_are_drawn_as_often_as_their_weights_say(self, rng, given):
        hypotheses = self.told_apart(rng, self.ROWS)
        found = Gibbs(given=given).log_proba(hypotheses, numbered(self.ROWS), seed=2)
        own = log(np.array([answer_of(hypotheses, s, 0) for s in range(6)]))
        drawn = np.abs(found[:, None] - own).sum(axis=2).argmin(axis=1)
        expected = self.ROWS * weights_of(hypotheses, 0, given == "data and x")
        assert stats.chisquare(np.bincount(drawn, minlength=6), expected).pvalue > 0.001

    def test_the_label_is_drawn_independently_of_the_hypothesis(self, rng):
        """Two hypotheses, two labels: all four pairs occur as often as the product says."""
        hypotheses = self.told_apart(rng, self.ROWS).take(np.array([0, 1]))
        gibbs = Gibbs(draw="label")
        found = gibbs.log_proba(hypotheses, numbered(self.ROWS), seed=6)
        own = np.array([answer_of(hypotheses, s, 0) for s in range(2)])
        drawn = np.isclose(np.exp(found), own[1]).all(axis=1).astype(int)
        pairs = np.bincount(3 * drawn + gibbs.decide(found, seed=6), minlength=6)
        assert stats.chisquare(pairs, self.ROWS * own.ravel() / 2).pvalue > 0.001
