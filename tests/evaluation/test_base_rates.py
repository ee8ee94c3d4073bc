"""Other base rates: answers adjusted by Bayes' theorem, and scores of rows weighted by class."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, log_loss, precision_score, recall_score

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.evaluation.base_rates import other_base_rates
from bayesclf.report.base_rates import of_base_rates


@pytest.fixture(scope="module")
def answers():
    """Return true log P(y | x) of two normal classes, 1.5 sd apart, of which the second has 30 % of the rows."""
    rng = np.random.default_rng(1)
    y = (rng.random(4_000) < 0.3).astype(int)
    x = rng.normal(size=len(y)) + 1.5 * y
    return truth(x, 0.3), y, x


def truth(x, rate):
    joint = np.column_stack([np.log1p(-rate) + stats.norm(0).logpdf(x), np.log(rate) + stats.norm(1.5).logpdf(x)])
    return joint - np.logaddexp(*joint.T)[:, None]


def test_scores_are_those_of_scikit_learn_for_the_true_posterior_at_the_new_rate_and_weighted_rows(answers):
    log_proba, y, x = answers
    rate = 0.05
    found = other_base_rates(log_proba, y, np.array([0.7, 0.3]), rates=[rate]).iloc[0]
    risk = np.exp(truth(x, rate)[:, 1])
    weight = np.where(y == 1, rate / y.sum(), (1 - rate) / (1 - y).sum())
    named = risk > 0.5
    assert found["found"] == pytest.approx(recall_score(y, named))
    assert found["right"] == pytest.approx(precision_score(y, named, sample_weight=weight))
    assert found["accuracy"] == pytest.approx(accuracy_score(y, named, sample_weight=weight))
    assert found["log_loss"] == pytest.approx(log_loss(y, risk, sample_weight=weight))
    assert found["log_loss_without"] == pytest.approx(stats.bernoulli(rate).entropy())


def test_at_the_rate_of_the_rows_nothing_changes(answers):
    log_proba, y, _ = answers
    share = y.mean()
    found = other_base_rates(log_proba, y, np.array([1 - share, share]), rates=[share]).iloc[0]
    assert found["log_loss"] == pytest.approx(-log_proba[np.arange(len(y)), y].mean())
    assert found["accuracy"] == pytest.approx((log_proba.argmax(axis=1) == y).mean())


def test_the_first_class_may_be_the_one_that_changes(answers):
    log_proba, y, _ = answers
    shares = np.array([0.7, 0.3])
    first = other_base_rates(log_proba, y, shares, outcome=0, rates=[0.2])
    second = other_base_rates(log_proba, y, shares, outcome=1, rates=[0.8])
    np.testing.assert_allclose(first[["accuracy", "log_loss"]], second[["accuracy", "log_loss"]])


def test_a_class_that_is_never_named_is_never_named_rightly():
    log_proba = np.log([[0.9, 0.1], [0.8, 0.2]])
    found = other_base_rates(log_proba, np.array([0, 1]), np.array([0.5, 0.5]), rates=[0.01]).iloc[0]
    assert np.isnan(found["right"])
    assert found["found"] == 0


@pytest.mark.parametrize(
    ("y", "shares", "rates", "said"),
    [
        ([0, 0], [0.5, 0.5], [0.1], "two classes"),
        ([0, 1], [0.0, 1.0], [0.1], "two classes"),
        ([0, 1], [0.5, 0.5], [0.1, 1.0], r"rates\[1\] must be"),
    ],
)
def test_what_cannot_be_looked_at_is_one_sentence(y, shares, rates, said):
    with pytest.raises(InputError, match=said):
        other_base_rates(np.log(np.full((2, 2), 0.5)), np.array(y), np.array(shares), rates=rates)


@pytest.mark.slow
def test_a_report_looks_at_the_rarer_of_two_classes_whatever_the_models_base_rates():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(100) % 4 == 0, "rare", "often")
    X = rng.normal(size=(100, 1)) + (y == "rare")[:, None]
    clf = bc.GaussianNB(random_state=1).fit(X, y)
    held_out = clf.diagnose(X, y).held_out
    found = of_base_rates(clf, held_out, "bayes-optimal")
    assert found.caption.startswith("If rare were")
    assert found.lines[0][0] == "25.0 % (these rows)"
    assert float(found.lines[0][4]) == pytest.approx(held_out.answered["bayes-optimal"].log_loss.mean(), abs=5e-4)
    given = bc.GaussianNB(class_prior="uniform", random_state=1).fit(X, y)
    found, other = (of_base_rates(one, one.diagnose(X, y).held_out, "predictive") for one in (clf, given))
    for line, same in zip(found.lines[1:], other.lines[1:], strict=True):  # under any base rates of the model
        assert float(line[4]) == pytest.approx(float(same[4]), abs=2e-3)
    three = bc.datasets.load("sklearn:iris")
    assert of_base_rates(bc.GaussianNB().fit(three.X, three.y), held_out, "bayes-optimal") is None
