"""Exact errors of linear rules, Efron's efficiency, and the rows that a classifier needs."""

import numpy as np
import pandas as pd
import pytest

from bayesclf.experiments import find, run
from bayesclf.experiments.convergence import (
    GaussianPair,
    discriminant_line,
    efficiency,
    logistic_line,
    naive_bayes_line,
)
from bayesclf.experiments.ng_jordan import Logistic, NaiveBayes
from bayesclf.models.logistic.model import LogisticPrior

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
    naive, logistic = NaiveBayes(encoded), Logistic(encoded, LogisticPrior())
    for learner, estimates in ((naive, {"mle": naive_bayes_line}), (logistic, {"mle": None, "map": None})):
        learner.extend(rows)
        model, encode = learner.model()
        for estimate in estimates:
            scores = model.log_scores(encode(rows), getattr(model, estimate)())[0]
            line = naive_bayes_line(naive) if learner is naive else logistic_line(logistic, estimate)
            np.testing.assert_allclose(line[0] + encoded.X @ line[1], scores[:, 1] - scores[:, 0], atol=1e-10)


def test_discriminant_analysis_is_scikit_learns(pair, rng):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    encoded = pair.draw(60, rng)
    intercept, weight = discriminant_line(encoded, np.arange(60))
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(encoded.X, encoded.y)
    np.testing.assert_allclose(weight, peer.coef_[0], rtol=1e-8)
    assert intercept == pytest.approx(peer.intercept_[0], rel=1e-8)


def test_efficiency_is_efrons():
    """His table at equal base rates."""
    table = {0.5: 1.0, 1.0: 0.995, 1.5: 0.968, 2.0: 0.899, 2.5: 0.786, 3.0: 0.641, 3.5: 0.486, 4.0: 0.343}
    found = {delta: round(efficiency(delta, 7, independent=False), 3) for delta in table}
    assert found == table


def test_naive_bayes_is_more_efficient_with_more_columns():
    found = [efficiency(2.0, columns, independent=True) for columns in (1, 2, 10)]
    assert found[0] == pytest.approx(efficiency(2.0, 1, independent=False))
    assert found == sorted(found, reverse=True)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("convergence")
    patch = pytest.MonkeyPatch()
    patch.setattr("bayesclf.experiments.convergence.COLUMNS", (4, 8))
    patch.setattr("bayesclf.experiments.convergence.SIZES", (16, 64, 256))
    try:
        return run(EXPERIMENT, EXPERIMENT.Settings(sets=40, efficiency_sets=40), folder)
    finally:
        patch.undo()


@pytest.mark.slow
def test_the_table_has_every_curve_and_every_efficiency(outcome):
    growth = outcome.table[outcome.table["part"] == "growth"]
    assert len(growth) == 2 * 2 * 3 * 2
    assert (growth["value"] > 0).all()
    wide = growth.pivot_table(index=["setting", "columns"], columns=["model", "m"], values="value")
    assert (wide["nb"][256] < wide["nb"][16]).all()
    assert (wide["lr"][256] < wide["lr"][16]).all()
    ratios = outcome.table[outcome.table["part"] == "efficiency"]
    assert len(ratios) == 6


@pytest.mark.slow
def test_simulated_efficiency_is_the_quadratures():
    settings = EXPERIMENT.Settings(efficiency_sets=1200)

    def measured(units):
        some = [unit for unit in units if unit[0] == "efficiency" and unit[1] < 3]
        seeds = np.random.SeedSequence(4).spawn(len(some))
        records = [EXPERIMENT.measure(settings, *own)[0] for own in zip(some, seeds, strict=True)]
        frame = pd.DataFrame(records + [record | {"setting": 3.0} for record in records])
        return pd.concat([frame, frame.assign(part="growth")])

    table = EXPERIMENT.tabulate(settings, measured)
    ratios = table[(table["part"] == "efficiency") & (table["setting"] < 3)]
    assert len(ratios) == 4
    z = (ratios["value"] - ratios["expected"]) / ratios["se"]
    assert (np.abs(z) < 4).all()
    assert (ratios["se"] < 0.02).all()
