"""Averages over equally weighted hypotheses whose scores are linear in columns of the rows; intervals; answers."""

from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
import pytest
import threadpoolctl
from helpers.effort import peak
from scipy.special import log_expit, log_softmax, logsumexp

import bayesclf as bc
from bayesclf import rules
from bayesclf.errors import Refused
from bayesclf.families.gaussian import NormalScores
from bayesclf.models import linear as linear_scores
from bayesclf.models.linear import LinearScores
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import Hypotheses
from bayesclf.tables.columns import Rows


@dataclass(frozen=True, eq=False)
class Linear:
    """A discriminative model given by its log-odds; rows are numbers, and a row's column is its own."""

    labels: tuple[str, ...]
    rows: int
    reference: int = 0
    seen: list[int] = field(default_factory=list)
    generative = False

    def linear_odds(self, parameters):
        log_odds = np.moveaxis(parameters["log_odds"], 0, 2)
        intercept = np.zeros((1, *log_odds.shape[1:]))
        return LinearScores(self._columns, np.concatenate([intercept, log_odds]), self.reference)

    def log_scores(self, rows, parameters):
        return self.linear_odds(parameters).scores(rows)

    def _columns(self, rows):
        self.seen.append(len(rows))
        return np.concatenate([np.ones((len(rows), 1)), np.eye(self.rows)[rows.parts[0]]], axis=1)

    def log_class_prior(self, parameters):
        return np.full((1, len(self.labels)), -np.log(len(self.labels)))


def numbered(length: int) -> Rows:
    return Rows((np.arange(length),), length)


def linear(log_odds: np.ndarray, reference: int = 0, offset: np.ndarray | None = None) -> Hypotheses:
    """Return hypotheses with these log-odds against the reference, (draw, row, outcome)."""
    labels = tuple("abcdefghij"[: log_odds.shape[2] + 1])
    return Hypotheses(Linear(labels, log_odds.shape[1], reference), {"log_odds": log_odds}, offset)


def predicted(hypotheses: Hypotheses) -> np.ndarray:
    return rules.log_proba("bayes-optimal", hypotheses, numbered(hypotheses.model.rows))


def mean_of_two(log_odds: np.ndarray) -> np.ndarray:
    """log of the mean of 1/(1 + e^(∓η)), (row, outcome)."""
    logs = logsumexp(np.stack([log_expit(-log_odds), log_expit(log_odds)], axis=2), axis=0) - np.log(len(log_odds))
    return one_less(logs, logs[:, ::-1])


def mean_of_many(log_odds: np.ndarray, reference: int) -> np.ndarray:
    """The same of softmax."""
    scores = np.insert(log_odds, reference, 0.0, axis=2)
    logs = logsumexp(log_softmax(scores, axis=2), axis=0) - np.log(len(scores))
    others = [logsumexp(np.delete(logs, k, axis=1), axis=1) for k in range(logs.shape[1])]
    return one_less(logs, np.stack(others, axis=1))


def one_less(logs: np.ndarray, others: np.ndarray) -> np.ndarray:
    """A probability near 1 is precise as one less that of the others."""
    likely = logs > np.log(0.5)
    return np.where(likely, np.log1p(-np.exp(np.where(likely, others, -np.inf))), logs)


def misleading_mean(rng, draws, rows):
    """Nearly all hypotheses say +5, and one −1e5, which is the sign of the mean."""
    log_odds = np.full((draws, rows), 5.0) + 0.1 * rng.standard_normal((draws, rows))
    log_odds[3] = -1e5
    return log_odds


REGIMES = {
    "moderate": lambda rng, draws, rows: 3 * rng.standard_normal((draws, rows)),
    "certain": lambda rng, draws, rows: 40 + rng.standard_normal((draws, rows)),
    "wide": lambda rng, draws, rows: rng.uniform(-800, 800, (draws, rows)),
    "far": lambda rng, draws, rows: 800 * rng.choice([-1, 1], rows) + rng.standard_normal((draws, rows)),
    "divided": lambda rng, draws, rows: rng.choice([-800.0, 800.0], (draws, rows)),
    "beyond": lambda rng, draws, rows: rng.uniform(-9000, 9000, (draws, rows)),
    "misleading": misleading_mean,
}


@pytest.fixture
def rng():
    return np.random.default_rng(12)


class TestMixture:
    """The answers of linear scores, by powers of two in tiles, are the averages in logs."""

    @pytest.mark.parametrize("regime", REGIMES)
    @pytest.mark.parametrize("reference", [0, 1])
    def test_of_two_labels_is_the_average_in_logs(self, rng, regime, reference):
        log_odds = REGIMES[regime](rng, 700, 300)
        found = predicted(linear(log_odds[:, :, None], reference))
        expected = mean_of_two(log_odds)
        np.testing.assert_allclose(found, expected if reference == 0 else expected[:, ::-1], rtol=1e-12)

    @pytest.mark.parametrize("regime", REGIMES)
    @pytest.mark.parametrize(("labels", "reference"), [(3, 2), (3, 0), (5, 1)])
    def test_of_more_labels_is_the_average_in_logs(self, rng, regime, labels, reference):
        log_odds = np.stack([REGIMES[regime](rng, 600, 150) for _ in range(labels - 1)], axis=2)
        np.testing.assert_allclose(
            predicted(linear(log_odds, reference)), mean_of_many(log_odds, reference), rtol=1e-12
        )

    @pytest.mark.parametrize("labels", [2, 3])
    def test_few_rows_alone_are_answered_in_logs(self, rng, labels):
        """The fast route is what answers: of the rows here, only those of odds beyond e^(±645) need another look."""
        log_odds = 3 * rng.standard_normal((50, 400, labels - 1))
        log_odds[:, :7] = -900
        hypotheses = linear(log_odds)
        predicted(hypotheses)
        assert hypotheses.model.seen == [400, 7]

    @pytest.mark.parametrize("labels", [2, 3])
    def test_other_base_rates_add_to_the_log_odds(self, rng, labels):
        log_odds = rng.standard_normal((40, 30, labels - 1))
        offset = rng.standard_normal(labels)
        shifted = log_odds + np.delete(offset - offset[1], 1)
        np.testing.assert_allclose(
            predicted(linear(log_odds, 1, offset)), predicted(linear(shifted, 1)), rtol=1e-12, atol=1e-15
        )

    @pytest.mark.parametrize("nowhere", [0, 1, 2])
    def test_a_label_of_base_rate_zero_has_none(self, rng, nowhere):
        log_odds = rng.standard_normal((40, 30, 2))
        found = predicted(linear(log_odds, 1, np.where(np.arange(3) == nowhere, -np.inf, 0.0)))
        others = np.delete(np.insert(log_odds, 1, 0.0, axis=2), nowhere, axis=2)
        expected = logsumexp(log_softmax(others, axis=2), axis=0) - np.log(40)
        assert np.isneginf(found[:, nowhere]).all()
        np.testing.assert_allclose(np.delete(found, nowhere, axis=1), expected, rtol=1e-12)


class TestTilesAndThreads:
    """Neither tiles nor threads change an answer."""

    @pytest.fixture
    def hypotheses(self, rng):
        log_odds = 3 * rng.standard_normal((90, 200, 2))
        log_odds[:, 11:14] = 900
        return linear(log_odds, 1)

    @pytest.fixture
    def of_two(self, rng):
        return linear(3 * rng.standard_normal((90, 200, 1)))

    QUESTIONS = (
        lambda h: rules.log_proba("bayes-optimal", h, numbered(200)),
        lambda h: averaging.average(h, numbered(200)).mean_log_proba,
        lambda h: averaging.interval(h, numbered(200), 0.8),
    )

    @pytest.mark.parametrize("question", QUESTIONS)
    def test_answers_are_the_same_bits_for_any_number_of_threads(self, hypotheses, of_two, monkeypatch, question):
        monkeypatch.setattr(averaging, "LEAST_WORK", 0)
        monkeypatch.setattr(averaging, "TASK_ROWS", 16)
        monkeypatch.setattr(averaging, "BLOCK_BYTES", 1)
        for asked in (hypotheses, of_two):
            alone, *shared = (
                monkeypatch.setattr(averaging, "available", lambda count=count: count) or question(asked)
                for count in (1, 2, 5)
            )
            for found in shared:
                np.testing.assert_array_equal(found, alone)

    @pytest.mark.parametrize("question", QUESTIONS)
    @pytest.mark.parametrize(
        "sizes", [{"TASK_ROWS": 7}, {"TILE_DRAWS": 11, "CACHED": 40}, {"BLOCK_BYTES": 1, "LEAST_ROWS": 5}]
    )
    def test_answers_do_not_depend_on_the_size_of_blocks(self, hypotheses, of_two, monkeypatch, question, sizes):
        whole = [question(asked) for asked in (hypotheses, of_two)]
        for name, size in sizes.items():
            monkeypatch.setattr(linear_scores if hasattr(linear_scores, name) else averaging, name, size)
        for asked, expected in zip((hypotheses, of_two), whole, strict=True):
            np.testing.assert_allclose(question(asked), expected, rtol=1e-12, atol=1e-300)

    def test_memory_is_far_below_draws_times_rows(self, rng):
        """1,000 draws of 20,000 rows are 160 MB; a thread holds a few tiles, whatever the rows."""
        model = Spread()
        hypotheses = Hypotheses(model, {"weight": rng.standard_normal((1000, 5))})
        rows = Rows((rng.standard_normal((20_000, 5)),), 20_000)
        rules.log_proba("bayes-optimal", hypotheses, rows[:10])  # what is compiled and cached does not count
        taken = peak(rules.log_proba, "bayes-optimal", hypotheses, rows)
        assert taken < 2e6 * averaging.available() + 10 * 8 * 2 * len(rows)


class Spread:
    """Two labels; the log-odds are x·weight."""

    labels = ("a", "b")
    generative = False

    def linear_odds(self, parameters):
        weight = parameters["weight"].T[:, None]
        coefficient = np.concatenate([np.zeros((1, *weight.shape[1:])), weight])
        return LinearScores(lambda rows: np.insert(rows.parts[0], 0, 1.0, axis=1), coefficient, 0)


class TestThreads:
    @pytest.mark.parametrize("count", [1, 3])
    def test_the_blas_has_one_thread_meanwhile_and_its_own_number_after(self, monkeypatch, count):
        def blas_threads(_=None) -> set[int]:
            return {library["num_threads"] for library in averaging._blas().info()}

        before = blas_threads()
        monkeypatch.setattr(averaging, "available", lambda: count)
        assert all(found == {1} for found in averaging.each(blas_threads, range(4), averaging.LEAST_WORK))
        assert blas_threads() == before

    def test_no_more_threads_than_the_blas_may_have(self):
        with threadpoolctl.threadpool_limits(1, user_api="blas"):
            assert averaging.available() == 1


class TestInterval:
    """Of equally weighted hypotheses: the smallest value that enough of them do not exceed."""

    @pytest.mark.parametrize("labels", [2, 3])
    @pytest.mark.parametrize("draws", [1, 7, 200])
    @pytest.mark.parametrize("ci_prob", [0.5, 0.89, 0.999])
    def test_bounds_are_the_smallest_values_with_enough_hypotheses_up_to_them(self, rng, labels, draws, ci_prob):
        scores = np.insert(10 * rng.standard_normal((draws, 20, labels - 1)), 0, 0.0, axis=2)
        scores[:, 3, 1:] = rng.choice([-1.0, 0.0, 1.0], (draws, labels - 1))
        found = averaging.interval(linear(scores[..., 1:]), numbered(20), ci_prob)
        proba = np.sort(np.exp(log_softmax(scores, axis=2)), axis=0)
        for bound, tail in enumerate(((1 - ci_prob) / 2, (1 + ci_prob) / 2)):
            enough = next(n for n in range(1, draws + 1) if n >= tail * draws - 1e-9)
            np.testing.assert_allclose(found[..., bound], proba[enough - 1], rtol=1e-12)


class TestGibbs:
    @pytest.mark.parametrize("size", [1, linear_scores.OWN_BYTES])
    @pytest.mark.parametrize("labels", [2, 3])
    def test_linear_scores_answer_each_row_by_its_own_hypothesis(self, rng, monkeypatch, labels, size):
        monkeypatch.setattr(linear_scores, "OWN_BYTES", size)
        hypotheses = linear(3 * rng.standard_normal((30, 200, labels - 1)), 1)
        each = averaging.conditional(hypotheses, numbered(200)).log_proba
        drawn = rules._pick(np.exp(hypotheses.log_weights), np.random.default_rng([5, 0]).random(200))
        found = rules.log_proba("gibbs", hypotheses, numbered(200), seed=5)
        np.testing.assert_allclose(found, each[np.arange(200), :, drawn], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("effective", "enough"), [(1.0, True), (0.5, False)])
def test_one_of_two_draws_is_enough(effective, enough):
    """At least half of the draws must count where there are few: Σ w = 1 and Σ w² = 1/effective."""
    two = linear(np.zeros((2, 1, 1)))
    with nullcontext() if enough else pytest.raises(Refused, match=r"row 4 leaves 0\.5 effective draws of 2 "):
        averaging.require_effective_draws(two, np.zeros(1), -np.log([effective]), first=3)


class TestLogOdds:
    @pytest.mark.parametrize("rule", ["posterior", "tempered"])
    def test_those_in_columns_are_differences_of_the_scores(self, rng, rule):
        X, y = rng.normal(1e5, size=(60, 3)), rng.integers(3, size=60)
        X[::7, 1] = np.nan
        clf = bc.GaussianNB(random_state=1).fit(X, y)
        hypotheses, rows = clf.hypotheses(rule), clf.rows(X)
        scores = hypotheses.log_scores(rows)
        np.testing.assert_allclose(hypotheses.linear_odds.scores(rows), scores - scores[..., :1], atol=1e-10)

    def test_classes_that_are_far_apart_have_none(self):
        mu = np.array([[[0.0], [1e4]]])
        assert NormalScores(mu, np.ones_like(mu)).coefficient() is None
