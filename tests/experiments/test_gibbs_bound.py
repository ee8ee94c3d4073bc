"""Ratios of the Gibbs classifier's error: at most 2 where that is promised, and the constructed cases' own figures."""

import numpy as np
import pytest
from scipy import stats

from bayesclf.experiments import find, run
from bayesclf.experiments.gibbs_bound import CASES, RULES, expected_errors, ratio_of_means
from bayesclf.finite import FiniteSpace
from bayesclf.rules import Gibbs

EXPERIMENT = find("gibbs-bound")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return run(EXPERIMENT, EXPERIMENT.Settings(targets=100), tmp_path_factory.mktemp("gibbs"))


@pytest.mark.slow
def test_promised_ratios_are_at_most_two_within_their_error(outcome):
    promised = outcome.table[outcome.table["promised"]]
    assert len(promised) == 16
    assert (promised["ratio"] <= 2 + 3 * promised["ratio_se"] + 1e-12).all()
    assert set(promised["case"]) == set(CASES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "reference", "expected", "error"),
    [("gaussian-2", "bayes-optimal", 3.62, 0.02), ("gaussian-1", "predictive", 44.5, 0.5)],
)
def test_gaussian_naive_bayes_breaks_it(case, reference, expected, error):
    """Figures from 600,000 draws without this library."""
    seed = np.random.SeedSequence(1)
    records = [EXPERIMENT.measure(EXPERIMENT.Settings(), (case, 0), own)[0] for own in seed.spawn(120)]
    above, below = (np.array([record[name] for record in records]) for name in ("gibbs label", reference))
    found, found_error = ratio_of_means(above, below, np.ones(120))
    assert found_error < 0.08 * expected
    assert abs(found - expected) < 4 * np.hypot(found_error, error)
    assert found - 3 * found_error > 2


def errors(space, points):
    """Return the expected error of each rule over all x of a space; x is uniform where it has no p(x | h)."""
    table = np.asarray(space.table)
    weight = np.exp(space.log_weights) @ table.sum(axis=2) if space.generative else np.full(points, 1 / points)
    found = [expected_errors(space, space.rows(x)) for x in range(points)]
    return dict(zip(RULES, weight @ np.stack(found), strict=True))


def spaces(rng, deterministic, generative, points=6, number=40):
    """Yield random spaces of 4 hypotheses on 3 labels; deterministic ones know the label of each x."""
    for _ in range(number):
        table = rng.dirichlet(np.full(3, 0.5), size=(4, points))
        table = np.eye(3)[table.argmax(axis=2)] if deterministic else table
        if generative:
            table = table * rng.dirichlet(np.full(points, 0.3), size=4)[..., None]
        yield FiniteSpace(tuple("efgh"), tuple("abc"), rng.dirichlet(np.ones(4)), table, generative)


@pytest.mark.parametrize(
    ("deterministic", "generative", "gibbs", "reference"),
    [
        (True, False, "gibbs", "bayes-optimal"),
        (False, False, "gibbs label", "bayes-optimal"),
        (True, True, "gibbs given x", "predictive"),
        (False, True, "gibbs label given x", "predictive"),
    ],
)
def test_the_bound_holds_in_every_space_where_it_is_promised(deterministic, generative, gibbs, reference, rng):
    found = [errors(space, 6) for space in spaces(rng, deterministic, generative)]
    assert 1.3 < max(one[gibbs] / one[reference] for one in found) <= 2 + 1e-12
    assert all(one["predictive"] <= min(one.values()) + 1e-12 for one in found)


@pytest.mark.parametrize("a", [0.1, 0.5, 0.9, 0.999])
def test_the_most_probable_class_of_a_doubtful_hypothesis_breaks_it(a):
    """h1 of weight 1 − a has P(+) just under ½, h2 has P(+) = 1: ratio 1 + 2a, up to 3; label draws keep the bound."""
    table = [[[0.5 - 1e-12, 0.5 + 1e-12]], [[1.0, 0.0]]]
    found = errors(FiniteSpace(("h1", "h2"), ("+", "-"), (1 - a, a), table), 1)
    assert found["gibbs"] / found["bayes-optimal"] == pytest.approx(1 + 2 * a, rel=1e-6)
    assert found["gibbs label"] <= 2 * found["bayes-optimal"]


def test_drawing_given_the_data_alone_breaks_it_and_the_rule_itself_errs_so_often(rng):
    """One hypothesis says a, the other b, and x tells which is true: .4998 = 2 · .51 · .49, against .01."""
    table = [[[0.99, 0], [0.01, 0]], [[0, 0.01], [0, 0.99]]]
    telling = FiniteSpace(("h1", "h2"), ("a", "b"), (0.51, 0.49), table, generative=True)
    found = errors(telling, 2)
    assert found["gibbs"] == found["gibbs label"] == pytest.approx(0.4998)
    assert found["predictive"] == pytest.approx(0.01)
    assert found["predictive"] < found["gibbs given x"] <= 2 * found["predictive"]
    true = rng.choice(2, size=20_000, p=[0.51, 0.49])
    x = np.where(rng.random(20_000) < 0.99, true, 1 - true)
    for given, rule in (("data", "gibbs"), ("data and x", "gibbs given x")):
        wrong = np.array(telling.answers(Gibbs(given=given), x)) != np.array(["a", "b"])[true]
        assert stats.binomtest(int(wrong.sum()), 20_000, found[rule]).pvalue > 0.001


def test_the_error_of_a_ratio_is_the_spread_of_ratios():
    rng = np.random.default_rng(0)
    simulated = []
    for _ in range(400):
        below = rng.gamma(2, size=80)
        simulated.append(ratio_of_means(3 * below + rng.normal(size=80), below, np.ones(80)))
    ratios, errors = np.transpose(simulated)
    assert ratios.mean() == pytest.approx(3, abs=4 * ratios.std() / 20)
    assert errors.mean() == pytest.approx(ratios.std(), rel=0.12)


@pytest.mark.slow
def test_the_answer_and_the_figure_have_each_case(outcome):
    assert outcome.answer[0].startswith("Where theory promises at most 2, the largest of 16 ratios is 1.980 (telling,")
    assert {text.get_text() for text in outcome.figure.draw().axes[0].get_yticklabels()} == set(CASES)
