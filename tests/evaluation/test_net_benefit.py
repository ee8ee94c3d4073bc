"""Decision curves: net benefits by hand, probabilities by drawing the four shares, and what is refused."""

import numpy as np
import pytest
from scipy import stats

import bayesclf as bc
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation.net_benefit import PRIOR_COUNT, THRESHOLDS, decision_curve


@pytest.fixture
def risks(rng):
    risk = rng.beta(1, 2, size=200)
    return np.log(np.column_stack([1 - risk, risk])), (rng.random(200) < risk).astype(int)


@pytest.fixture(scope="module")
def comparison():
    rng = np.random.default_rng(3)
    y = np.array(["well", "ill"])[(rng.random(150) < 0.3).astype(int)]
    X = rng.normal(size=(150, 2)) + 1.5 * (y == "ill")[:, None]
    models = {"nb": bc.GaussianNB(random_state=1), "lr": bc.LogisticRegression(inference="map", random_state=1)}
    return bc.compare(models, X, y, rules=["map", "predictive"], cv=3, repeats=2)


def test_net_benefits_are_those_of_the_counts(risks):
    """From Vickers and Elkin's definition, row by row."""
    log_proba, y = risks
    table = decision_curve(log_proba, y, 1, [0.1, 0.25, 0.8])
    for line in table.itertuples():
        odds = line.threshold / (1 - line.threshold)
        acted = np.exp(log_proba[:, 1]) >= line.threshold
        assert line.net_benefit == pytest.approx(np.where(acted, np.where(y == 1, 1, -odds), 0).mean())
        assert line.treat_all == pytest.approx(np.where(y == 1, 1, -odds).mean())
        assert line.low < line.net_benefit < line.high


def test_probabilities_are_those_of_drawn_shares(risks):
    """The closed form against draws of the Dirichlet distribution that it is about."""
    log_proba, y = risks
    table = decision_curve(log_proba, y, 1, [0.05, 0.3, 0.6, 0.85])
    rng = np.random.default_rng(1)
    for line in table.itertuples():
        acted, given = np.exp(log_proba[:, 1]) >= line.threshold, y == 1
        counts = [(acted & given).sum(), (acted & ~given).sum(), (~acted & given).sum(), (~acted & ~given).sum()]
        tp, fp, fn, tn = rng.dirichlet(np.array(counts) + PRIOR_COUNT, size=40_000).T
        odds = line.threshold / (1 - line.threshold)
        model, everyone = tp - fp * odds, tp + fn - (fp + tn) * odds
        drawn = (model > 0).mean(), (model > everyone).mean(), ((model > 0) & (model > everyone)).mean()
        np.testing.assert_allclose((line.beats_none, line.beats_all, line.useful), drawn, atol=0.012)
        np.testing.assert_allclose((line.low, line.high), np.quantile(model, (0.055, 0.945)), atol=0.012 * (1 + odds))


def test_a_useful_model_is_found_and_a_useless_one_is_not(rng):
    y = (rng.random(2000) < 0.3).astype(int)
    sharp = np.where(y == 1, 0.8, 0.1)
    flat = np.full(2000, 0.3)
    found = [decision_curve(np.log(np.column_stack([1 - p, p])), y, 1, [0.2, 0.5]) for p in (sharp, flat)]
    assert (found[0]["useful"] > 0.999).all()
    assert (found[1]["useful"] < 0.55).all()


@pytest.mark.slow
def test_the_probability_is_calibrated_over_data_sets():
    """Where P(better than none) is 90 % or more, the model is indeed better in about as many data sets or more.

    Risks from which one acts lie near the share at which acting is worth nothing, so that both answers occur.
    """
    rng = np.random.default_rng(8)
    stated, true = [], []
    for _ in range(150):
        precision = rng.random()
        y = (rng.random(40) < precision).astype(int)
        stated.append(decision_curve(np.log(np.full((40, 2), 0.5)), y, 1, [0.5])["beats_none"].iloc[0])
        true.append(precision > 0.5)
    stated, true = np.array(stated), np.array(true)
    for low, high in ((0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.0)):
        own = (stated >= low) & (stated <= high)
        error = np.sqrt(stated[own].mean() * (1 - stated[own].mean()) / own.sum())
        assert abs(true[own].mean() - stated[own].mean()) < 3 * error + 0.01


def test_answers_of_several_repeats_are_one_row_each(risks):
    log_proba, y = risks
    once = decision_curve(log_proba, y)
    thrice = decision_curve(np.tile(log_proba, (3, 1)), np.tile(y, 3), repeats=3)
    np.testing.assert_allclose(thrice, once)


def test_a_model_that_acts_on_no_row_is_neither_better_nor_surely_worse_than_none():
    y = np.arange(100) % 2
    table = decision_curve(np.log(np.full((100, 2), [0.99, 0.01])), y, 1, [0.02, 0.1, 0.5, 0.9])
    assert (table["net_benefit"] == 0).all()
    assert (table["beats_none"] == 0.5).all()
    on_all = decision_curve(np.log(np.full((100, 2), [0.01, 0.99])), y, 1, [0.1, 0.5, 0.9])
    assert (on_all["beats_all"] == 0.5).all()
    high = decision_curve(np.log(np.full((100, 2), [0.99, 0.01])), y, 1, [0.9])
    assert high["low"].iloc[0] == pytest.approx(-9 * stats.gamma.ppf(0.945, PRIOR_COUNT) / 101, rel=0.2)


def test_neighboring_thresholds_have_nearly_the_same_interval(risks):
    table = decision_curve(*risks)
    np.testing.assert_array_equal(table["threshold"], THRESHOLDS)
    for name in ("low", "high"):
        steps = np.diff(table[name][10:60])
        assert np.abs(steps).max() < 0.03


def test_of_a_comparison_the_class_is_named(comparison):
    table = comparison.decision_curve("nb", "map", "ill", [0.3])
    log_proba, y = comparison.stacked("nb", "map")
    acted, given = np.exp(log_proba[:, 0]) >= 0.3, y == 0  # "ill" is the first label
    tp, fp = (acted & given).sum() / 2, (acted & ~given).sum() / 2
    assert table["beats_none"].iloc[0] == pytest.approx(stats.beta.sf(0.3, tp + PRIOR_COUNT, fp + PRIOR_COUNT))
    assert comparison.decision_curve("nb", "map")["threshold"].size == 99
    with pytest.raises(InputError, match="outcome must be one of the classes ill, well, not 'dead'"):
        comparison.decision_curve("nb", "map", "dead")
    with pytest.raises(InputError, match="the comparison has no row nb mle"):
        comparison.decision_curve("nb", "mle")
    with pytest.raises(Refused, match="lr has no answers under the rule predictive"):
        comparison.decision_curve("lr", "predictive")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"thresholds": [0.0, 0.5]}, "thresholds are risks between 0 and 1"),
        ({"thresholds": []}, "thresholds are risks between 0 and 1"),
        ({"thresholds": ["a"]}, "thresholds are risks between 0 and 1"),
        ({"outcome": 2}, "a whole number from 0 to 1, not 2"),
        ({"repeats": 0}, "repeats is the number of answers to each row"),
    ],
)
def test_what_cannot_be_used_is_refused(risks, arguments, message):
    with pytest.raises(InputError, match=message):
        decision_curve(*risks, **arguments)


def test_no_rows_are_refused():
    with pytest.raises(InputError, match="at least one row"):
        decision_curve(np.empty((0, 2)), np.empty(0, dtype=int))


def test_of_three_classes_one_must_be_named():
    from bayesclf.evaluation.net_benefit import code_of

    with pytest.raises(InputError, match="say which class matters, as outcome='c': one of a, b, c"):
        code_of(np.array(["a", "b", "c"]), None)
    assert code_of(np.array([3, 5, 9]), 5) == 1
