"""The textbook's examples to the last digit, and exercise 4's statements on random cases."""

import numpy as np
import pytest
from scipy import stats

from bayesclf.experiments import find, run
from bayesclf.experiments.hypotheses import BLOCK, NOISE, NOISY, SETUPS

EXPERIMENT = find("hypotheses")
CASES = 200


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return run(EXPERIMENT, EXPERIMENT.Settings(cases=CASES), tmp_path_factory.mktemp("hypotheses"))


def measured(*unit, seed=1):
    return EXPERIMENT.measure(EXPERIMENT.Settings(), unit, np.random.SeedSequence(seed))


def test_every_example_is_the_textbooks():
    examples = measured("examples", 0)
    assert len(examples) == 9
    found, expected = ([line[name] for line in examples] for name in ("probability", "textbook"))
    np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("kind", SETUPS)
def test_exercise_4_holds_in_every_case(kind):
    """The share of .088 is that of 400,000 independent cases."""
    (probabilistic, same), (record,) = SETUPS[kind], measured(kind, 0)
    assert record["map_as_expected"] == BLOCK
    assert 0 < record["map_is_h3"] < 1
    assert record["changed"] == 0 if same else record["changed"] > 0
    assert probabilistic or record["sure_changed"] == 0
    if probabilistic and not same:
        assert record["changed"] == pytest.approx(0.088, abs=0.04)


def test_gibbs_asks_consistent_hypotheses_equally_often():
    """Thresholds 1, 2, 3 are consistent: + is said by none, one, two, three, three of them."""
    said = {record["x"]: round(100 * record["plus"]) for record in measured("version space", 0, seed=5)}
    assert (said[0], said[3], said[4]) == (0, 100, 100)
    assert stats.binomtest(said[1], 100, 1 / 3).pvalue > 0.001
    assert stats.binomtest(said[2], 100, 2 / 3).pvalue > 0.001


@pytest.mark.slow
def test_the_answer_is_what_was_observed(outcome):
    assert outcome.answer[0].endswith("the most probable classification is − with 0.6.")
    figure = outcome.figure.draw()
    np.testing.assert_allclose(figure.axes[0].lines[1].get_ydata(), [0, 1 / 3, 2 / 3, 1, 1])


@pytest.mark.slow
def test_a_noisy_prior_moves_the_average_no_further_than_the_posterior_and_map_at_once(outcome):
    noisy = outcome.table[outcome.table["part"] == NOISY]
    assert noisy["noise"].tolist() == list(NOISE)
    assert (noisy["beyond"] == 0).all()
    assert (noisy["map_beyond"] > 0).all()  # where another hypothesis becomes the most probable one
    assert noisy["map_changed"].is_monotonic_increasing
    assert noisy["optimal_changed"].is_monotonic_increasing
    assert (noisy["optimal_moved"] < noisy["map_moved"]).all()


def test_weights_under_a_noisy_prior_are_those_of_bayes_rule():
    """With log noise of at most δ, odds change by at most e^(2δ), so that the distance is at most tanh(δ/2)."""
    for record in measured("noisy prior", 0, seed=3):
        assert 0 < record["distance"] < np.tanh(4 * record["noise"] / 2)
        assert record["optimal_moved"] <= record["distance"]
