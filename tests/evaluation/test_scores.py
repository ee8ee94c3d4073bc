"""Scores of class probabilities."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss, log_loss

import bayesclf as bc
from bayesclf.evaluation import scores
from bayesclf.posterior.averaging import Averages
from bayesclf.report.facts import facts


@pytest.fixture
def predictions():
    rng = np.random.default_rng(5)
    proba = rng.dirichlet([1.0, 2.0, 0.5], size=400)
    y = np.array([rng.choice(3, p=p) for p in proba])
    return np.log(proba), y


def test_row_scores_agree_with_scikit_learn(predictions):
    log_proba, y = predictions
    scored = scores.score(log_proba, y)
    proba = np.exp(log_proba)
    assert scored.log_loss.mean() == pytest.approx(log_loss(y, proba), rel=1e-12)
    assert scored.brier.mean() == pytest.approx(brier_score_loss(y, proba, scale_by_half=False), rel=1e-12)
    assert scored.error.mean() == np.mean(proba.argmax(axis=1) != y)


def test_gibbs_scores_are_expectations_over_the_hypotheses():
    rng = np.random.default_rng(6)
    proba = rng.dirichlet([0.7, 1.0, 1.3], size=(50, 20))  # (draw, row, outcome)
    y = rng.integers(3, size=20)
    by_draw = [scores.score(np.log(p), y) for p in proba]
    votes = np.eye(3)[proba.argmax(axis=2)].mean(axis=0)
    averages = Averages(
        np.log(proba.mean(axis=0)), votes, np.log(proba).mean(axis=0), (proba**2).sum(axis=2).mean(axis=0), y, y
    )
    gibbs = scores.score_gibbs(np.log(proba[0]), averages, y)
    for name in ("error", "log_loss", "brier"):
        expected = np.mean([getattr(one, name) for one in by_draw], axis=0)
        np.testing.assert_allclose(getattr(gibbs, name), expected, rtol=1e-12)


def test_a_share_of_all_rows_has_an_uncertainty():
    """It is below that of one error, and near that of the rule of three: 3/n is the upper bound without errors."""
    none, one = (scores.standard_error_of_rows(np.arange(40) < k, 32, share=True) for k in (0, 1))
    assert 1 / 40 < none < one == scores.standard_error_of_rows(np.arange(40) < 1, 32) < 3 / 40
    X, y = np.arange(40.0)[:, None] + 100 * (np.arange(40) % 2)[:, None], np.arange(40) % 2
    found = bc.compare({"gnb": bc.GaussianNB()}, X, y, rules=["map"])
    assert found.table["accuracy_se"].iloc[0] == pytest.approx(none, rel=1e-12)
    assert facts(found, found.best, found.classes, found.order)[0].value == "100.0 ± 2.6%"


def test_the_calibration_error_is_the_mean_gap_in_bins_weighted_by_their_rows(predictions):
    log_proba, y = predictions
    confidence, right = np.exp(log_proba.max(axis=1)), log_proba.argmax(axis=1) == y
    bins = pd.Series(right - confidence).groupby(np.floor(confidence * scores.CALIBRATION_BINS).clip(max=9))
    expected = (bins.mean().abs() * bins.size()).sum() / len(y)
    assert scores.calibration_gaps(log_proba, y).mean() == pytest.approx(expected, rel=1e-12)


def test_repeated_answers_to_a_row_are_right_together(predictions):
    log_proba, _ = predictions
    once = scores.errors_if_calibrated(log_proba, 0, 50)
    np.testing.assert_allclose(scores.errors_if_calibrated(np.tile(log_proba, (3, 1)), 0, 50, repeats=3), once)
