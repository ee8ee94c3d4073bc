"""Learning curves of one's own table: nested training rows, the same test rows, corrected errors."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.evaluation.learning import METRICS
from bayesclf.evaluation.peers import NO_RULE
from bayesclf.evaluation.scores import standard_error_of_rows
from bayesclf.rules import RULES

SIZES = [6, 30, 0.5, 100]


@pytest.fixture(scope="module")
def models():
    return {"gnb": bc.GaussianNB(), "peer": GaussianNB(var_smoothing=1e-2)}


@pytest.fixture(scope="module")
def curve(models, iris):
    return bc.learning_curve(models, *iris, "all", sizes=SIZES, cv=3, repeats=2, random_state=4)


def test_one_line_a_model_rule_and_size(curve):
    keys = [("gnb", rule) for rule in RULES] + [("peer", NO_RULE)]
    expected = [(*key, m) for key in keys for m in (6, 30, 50, 100)]
    assert list(curve.table[["model", "rule", "m"]].itertuples(index=False, name=None)) == expected


def test_all_training_rows_have_the_scores_of_a_comparison(curve, models, iris):
    other = bc.compare(models, *iris, "all", cv=3, repeats=2, random_state=4).table.set_index(["model", "rule"])
    own = curve.table[curve.table["m"] == 100].set_index(["model", "rule"])
    for key in [("gnb", "mle"), ("gnb", "map"), ("gnb", "predictive"), ("peer", NO_RULE)]:
        for metric in ("log_loss", "log_loss_se", "brier", "brier_se"):
            assert own.loc[key, metric] == pytest.approx(other.loc[key, metric], rel=1e-6)
        assert own.loc[key, "error"] == pytest.approx(1 - other.loc[key, "accuracy"])


def test_a_size_is_that_of_nested_stratified_training_rows_with_the_folds_test_rows(iris, monkeypatch):
    X, y = iris
    seen = []

    class Watched(GaussianNB):
        def fit(self, X, y):
            seen.append((X.index.to_numpy(), y))
            return super().fit(X, y)

        def predict_proba(self, X):
            seen[-1] = (*seen[-1], X.index.to_numpy())
            return super().predict_proba(X)

    found = bc.learning_curve(Watched(), X, y, sizes=[9, 31], cv=3, random_state=2)
    tests = [test for _, test in RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=2).split(X, y)]
    losses = {9: [], 31: []}
    for number, (small, large) in enumerate(zip(seen[::2], seen[1::2], strict=True)):
        assert [len(small[0]), len(large[0])] == [9, 31]
        assert (large[0][:9] == small[0]).all()
        assert not np.intersect1d(large[0], large[2]).size
        assert (small[2] == large[2]).all()
        assert np.unique(small[1], return_counts=True)[1].tolist() == [3, 3, 3]
        assert np.ptp(np.unique(large[1], return_counts=True)[1]) <= 1
        for rows, _, test in (small, large):
            proba = GaussianNB().fit(X.loc[rows], y[rows]).predict_proba(X.loc[test])
            losses[len(rows)].append(-np.log(proba[np.arange(50), np.unique(y, return_inverse=True)[1][test]]))
        assert (small[2] == tests[number]).all()
    for m, line in found.table.set_index("m").iterrows():
        assert line["log_loss"] == pytest.approx(np.mean(losses[m]))
        assert line["log_loss_se"] == pytest.approx(standard_error_of_rows(np.concatenate(losses[m]), 100))


def test_sizes_are_six_up_to_all_where_none_are_given(iris):
    found = bc.learning_curve(bc.GaussianNB("shared"), *iris, rules=["map"], cv=2)
    m = found.table["m"].to_numpy()
    assert len(m) == 6
    assert (m[0], m[-1]) == (10, 75)
    ratios = m[1:] / m[:-1]
    assert ratios.max() / ratios.min() < 1.15


def test_what_has_no_score_has_its_reason_and_is_not_drawn(curve, iris):
    X, y = iris
    found = bc.learning_curve(
        bc.LogisticRegression(prior_scale=2.5, inference="map"), X, y, ["mle", "map"], [10, 60], cv=2
    )
    lines = found.table.set_index("rule")
    assert "separable" in lines["reason"]["mle"].iloc[0]
    assert (lines["reason"]["map"] == "").all()
    assert set(found.of("error")["rule"]) == {"map"}
    for metric, label in METRICS.items():
        figure = curve.plot(metric)
        assert figure.axes[0].get_ylabel() == label
        drawn = {line.get_label() for line in figure.axes[0].get_lines()}
        assert "peer" in drawn
        plt.close(figure)


def test_progress_and_processes(iris):
    told = []
    found = bc.learning_curve([GaussianNB()], *iris, sizes=[20, 40], cv=2, progress=lambda *news: told.append(news))
    assert told == [("GaussianNB", done, 4) for done in range(1, 5)]
    assert found.notes == {"GaussianNB": ()}
    assert isinstance(bc.learning_curve(GaussianNB(), *iris, sizes=[20], cv=2, random_state=None).seed, int)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": [1]}, "training sizes must lie between 2 and 75"),
        ({"sizes": [76]}, "training sizes must lie between 2 and 75"),
        ({"sizes": [1.5]}, "a number of rows or a share between 0 and 1, not 1.5"),
        ({"sizes": ["ten"]}, "a number of rows or a share between 0 and 1, not 'ten'"),
        ({"sizes": []}, "names no training size"),
        ({"rules": "map"}, "rules must be a list of names"),
        ({"cv": 1}, "cv must lie between 2"),
    ],
)
def test_options_that_cannot_be(options, message, iris):
    with pytest.raises(InputError, match=message):
        bc.learning_curve(bc.GaussianNB(), *iris, **{"cv": 2, **options})
