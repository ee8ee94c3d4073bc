"""Exact errors of linear rules, and the rows that a classifier needs."""

import numpy as np
import pytest

from bayesclf.experiments import find, run
from bayesclf.experiments.convergence import GaussianPair, logistic_line, naive_bayes_line
from bayesclf.experiments.ng_jordan import logistic, naive_bayes

EXPERIMENT = find("convergence")


@pytest.fixture
def pair():
    return GaussianPair(np.array([1.0, -0.5, 0.3]))


def test_the_error_of_a_line_is_what_rows_say(pair, rng):
    encoded = pair.draw(200_000, rng)
    weight, intercept = np.array([0.8, 0.4, -0.2]), 0.3
    wrong = (encoded.X @ weight + intercept > 0) != (encoded.y == 1)
    assert pair.error(intercept, weight) == pytest.approx(wrong.mean(), abs=4 * wrong.std() / np.sqrt(200_000))


def test_the_least_error_is_along_the_means(pair, rng):
    assert pair.error(0.0, pair.delta) == pytest.approx(pair.least_error, abs=1e-15)
    assert all(pair.error(0.1, pair.delta + rng.normal(0, 0.1, 3)) > pair.least_error for _ in range(20))
    assert pair.error(0.0, np.zeros(3)) == 0.5


def test_lines_are_the_models_own_log_odds(pair, rng):
    encoded = pair.draw(60, rng)
    rows = np.arange(60)
    for learn, estimate, line_of in ((naive_bayes, "mle", naive_bayes_line), (logistic, "map", logistic_line)):
        model, encode = learn(encoded, rows)
        scores = model.log_scores(encode(rows), getattr(model, estimate)())[0]
        intercept, weight = line_of(model)
        np.testing.assert_allclose(intercept + encoded.X @ weight, scores[:, 1] - scores[:, 0], atol=1e-10)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EXPERIMENT, "COLUMNS", (4, 8))
        patch.setattr(EXPERIMENT, "SIZES", (16, 64, 256))
        return run(EXPERIMENT, EXPERIMENT.Settings(sets=40), tmp_path_factory.mktemp("convergence"))


@pytest.mark.slow
def test_naive_bayes_is_more_efficient_with_more_columns(outcome):
    growth = outcome.table
    assert len(growth) == 2 * 2 * 3 * 2
    assert (growth["value"] > 0).all()
    wide = growth.pivot_table(index=["setting", "columns"], columns=["model", "m"], values="value")
    assert (wide["nb"][256] < wide["nb"][16]).all()
    assert (wide["lr"][256] < wide["lr"][16]).all()
    assert (wide["nb"][16] < wide["lr"][16]).all()
    assert len(outcome.figure.draw().axes) == 4
