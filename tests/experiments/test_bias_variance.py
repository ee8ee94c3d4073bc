"""Noise, bias and variance: they add up, and are those of other routes."""

from itertools import product

import numpy as np
import pytest

from bayesclf.experiments import find, run
from bayesclf.experiments.assumptions import POPULATIONS
from bayesclf.experiments.bias_variance import LOSSES, PARTS, RULES, decompose

EXPERIMENT = find("bias-variance")

SETTINGS = EXPERIMENT.Settings(sets=3, seed=1)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EXPERIMENT, "POINTS", 64)
        patch.setattr(EXPERIMENT, "SIZES", (8,))
        return run(EXPERIMENT, SETTINGS, tmp_path_factory.mktemp("bias"))


def random_answers(seed, outcomes):
    rng = np.random.default_rng(seed)
    return np.log(rng.dirichlet(np.ones(outcomes), size=(5, 6))), rng.dirichlet(np.ones(outcomes), size=6)


@pytest.mark.parametrize(("seed", "outcomes"), list(product(range(4), (2, 3))))
def test_the_parts_add_up_to_the_expected_loss(seed, outcomes):
    log_proba, target = random_answers(seed, outcomes)
    error = loss = 0.0
    for own in log_proba:
        for point, k in product(range(6), range(outcomes)):
            share = target[point, k] / log_proba[..., 0].size
            error += share * (own[point].argmax() != k)
            loss -= share * own[point, k]
    for name, expected in zip(LOSSES, (error, loss), strict=True):
        parts = decompose(name, log_proba, target)
        assert parts["noise"] + parts["bias"] + parts["variance"] == pytest.approx(expected, abs=1e-12)
        assert parts["bias"] >= 0


def test_error_of_two_classes_is_that_of_domingos():
    """E L = (2 P(right) − 1) N + B + c V, c = 1 where the main prediction is the best one and −1 where not."""
    log_proba, target = random_answers(7, 2)
    said = log_proba.argmax(axis=2)
    for point in range(6):
        best, main = target[point].argmax(), np.bincount(said[:, point], minlength=2).argmax()
        right, noise = (said[:, point] == best).mean(), 1 - target[point].max()
        bias, variance = float(main != best), (said[:, point] != main).mean()
        expected = (2 * right - 1) * noise + bias + (1 if main == best else -1) * variance
        parts = decompose("error", log_proba[:, [point]], target[[point]])
        assert parts["noise"] + parts["bias"] + parts["variance"] == pytest.approx(expected)
        # James's effects are Domingos's parts where errors that the label alone causes are taken out
        assert parts["bias"] == pytest.approx(bias * (1 - 2 * noise))
        assert parts["variance"] == pytest.approx((1 - 2 * noise) * variance * (1 if main == best else -1))


def test_log_loss_is_split_into_divergences():
    log_proba, target = random_answers(3, 3)
    parts = decompose("log_loss", log_proba, target)
    main = np.exp(log_proba.mean(axis=0))
    main /= main.sum(axis=1, keepdims=True)
    divergence = (target * np.log(target / main)).sum(axis=1)
    spread = (main * (np.log(main) - log_proba)).sum(axis=2).mean(axis=0)
    assert parts["noise"] == pytest.approx(-(target * np.log(target)).sum(axis=1).mean())
    assert parts["bias"] == pytest.approx(divergence.mean())
    assert parts["variance"] == pytest.approx(spread.mean())


@pytest.mark.slow
def test_the_experiment_has_a_line_for_each_rule_and_averaging_takes_variance(outcome):
    table = outcome.table
    assert set(table["source"]) == {"both hold", "variance holds", "neither holds"}
    for (source, model), own in table.groupby(["source", "model"]):
        assert set(own["rule"]) >= set(RULES[model]) - {"mle"}, (source, model)
    np.testing.assert_allclose(table[list(PARTS)].sum(axis=1), table["expected"])
    lines = table[(table["loss"] == "log_loss") & (table["model"] == "gnb")].set_index(["source", "rule"])["variance"]
    for source in ("both hold", "variance holds", "neither holds"):
        assert lines[source, "bayes-optimal"] < lines[source, "map"]
        assert lines[source, "bayes-optimal"] < lines[source, "gibbs"]


@pytest.mark.parametrize("source", POPULATIONS)
def test_the_test_points_have_the_least_losses_of_their_population(source):
    """By quadrature; each class's points are a Sobol' sequence from its start, as a stride through one is a slice."""
    rng = np.random.default_rng(0)
    _, target, _ = EXPERIMENT._rows(source, 4, 2, rng)
    assert len(target) == EXPERIMENT.POINTS
    for loss, least in zip(LOSSES, POPULATIONS[source].least(), strict=True):
        truth = np.log(target)[None]
        assert decompose(loss, truth, target)["noise"] == pytest.approx(least, abs=0.004)
