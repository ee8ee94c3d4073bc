"""Boundaries and their limits: integrals against formulas and fresh rows, limits against Bayes's rule and theory."""

import numpy as np
import pytest
from scipy import optimize, special
from scipy.stats import norm

from bayesclf.experiments import find, run
from bayesclf.experiments.assumptions import CLASSIFIERS, LEAST, POINTS, POPULATIONS, THREE_POINTS, limit_scores

EXPERIMENT = find("assumptions")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bayesclf.plots.answers.GRID", 41)
        yield run(EXPERIMENT, EXPERIMENT.Settings(picture_rows=30), tmp_path_factory.mktemp("assumptions"))


@pytest.fixture(scope="module")
def limits(outcome):
    return outcome.table.set_index(["population", "classifier"])


def separation(population):
    difference = population.mu[1] - population.mu[0]
    return float(np.sqrt(difference @ np.linalg.solve(population.Sigma[0], difference)))


@pytest.mark.parametrize("name", ["both hold", "variance holds"])
def test_the_least_error_of_equal_covariances_is_that_of_the_mahalanobis_distance(name):
    population = POPULATIONS[name]
    assert population.least()[0] == pytest.approx(norm.cdf(-separation(population) / 2), abs=1e-5)


@pytest.mark.parametrize("name", POPULATIONS)
def test_cells_and_the_grid_agree_on_the_least_scores(name):
    population = POPULATIONS[name]
    cells = population.cells()
    answer = np.log(special.softmax(population.log_density(cells.x), axis=1))
    np.testing.assert_allclose(cells.scores(answer), population.least(), atol=1e-4)


@pytest.mark.slow
def test_where_both_assumptions_hold_all_limits_are_the_best_classifier(limits):
    for own in CLASSIFIERS:
        np.testing.assert_allclose(
            limits.loc[("both hold", own), ["error", "log_loss"]].to_numpy(float),
            limits.loc[("both hold", LEAST), ["error", "log_loss"]].to_numpy(float),
            atol=1e-4,
        )


@pytest.mark.slow
def test_with_dependent_columns_only_logistic_regression_reaches_the_least_error(limits):
    """Naive Bayes puts its line at right angles to the difference δ of the means: its error is Φ(−|δ|²/2√(δ'Σδ))."""
    own = limits.loc["variance holds", "error"]
    population = POPULATIONS["variance holds"]
    difference = population.mu[1] - population.mu[0]
    naive = norm.cdf(-(difference @ difference) / 2 / np.sqrt(difference @ population.Sigma[0] @ difference))
    assert own["LR"] == pytest.approx(own[LEAST], abs=1e-4)
    assert own["GNB"] == pytest.approx(naive, abs=2e-4)
    assert own["GNB2"] == pytest.approx(naive, abs=2e-4)


@pytest.mark.slow
def test_the_limit_of_logistic_regression_never_has_the_larger_log_loss(limits):
    loss = limits["log_loss"].unstack()
    assert len(loss) == 4
    assert (loss["LR"] <= loss["GNB2"] + 1e-6).all()
    assert (loss["LR"] < loss["GNB2"] - 5e-4).sum() == 3


@pytest.mark.slow
def test_three_points_on_which_it_has_the_larger_error(limits):
    assert limits.loc[(POINTS, "GNB2"), "error"] == pytest.approx(0.385, abs=5e-4)
    assert limits.loc[(POINTS, "LR"), "error"] == pytest.approx(0.730, abs=5e-4)


def test_the_limit_on_three_points_minimises_the_expected_log_loss():
    """By another optimizer, without the library."""
    x, joint = THREE_POINTS.x[:, 0], THREE_POINTS.joint

    def loss(line):
        return -(joint * special.log_expit(np.outer(line[0] + line[1] * x, (-1.0, 1.0)))).sum()

    found = optimize.minimize(loss, (0.0, 0.0), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    assert limit_scores("LR", THREE_POINTS)[1] == pytest.approx(found.fun, abs=1e-9)


@pytest.mark.slow
def test_the_answer_is_that_of_the_limits_and_all_pictures_are_drawn(outcome):
    assert outcome.answer[0].startswith("Errors in the limit of GNB/GNB2/LR")
    assert "the limit of LR has the error 0.730, and GNB2's 0.385" in outcome.answer[1]
    assert outcome.answer[2] == "LR's limit has a larger log loss than GNB2's in 0 of 4 populations."
    figure = outcome.figure.draw()
    assert [ax.get_title(loc="left") for ax in figure.axes] == list(CLASSIFIERS) * len(POPULATIONS)
    names = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"map", "bayes-optimal", "50 hypotheses", "least error"} <= names
