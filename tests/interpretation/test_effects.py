"""Average effects: against predictions by hand, hypothesis by hypothesis."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf.errors import InputError, Refused
from bayesclf.posterior import averaging
from bayesclf.rules import Gibbs


def test_they_are_mean_differences_of_predictions_draw_by_draw():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = bc.GaussianDiscriminantAnalysis(inference=bc.engines.Exact(draws=40), random_state=1).fit(X, y)
    name = X.columns[3]
    found = clf.effects(X, name, values=[0.5, 1.5], ci_prob=0.9).set_index("outcome")
    moved = [X.assign(**{name: value}) for value in (0.5, 1.5)]
    draws = clf.posterior_["posterior"].sizes["chain"] * 40
    means = [[clf.predict_proba(rows, rule=Gibbs(draw=s)).mean(axis=0) for s in range(draws)] for rows in moved]
    each = np.subtract(means[1], means[0])  # (draw, outcome)
    np.testing.assert_allclose(found["effect"], each.mean(axis=0), atol=1e-12)
    expected = np.quantile(each, [0.05, 0.95], axis=0, method="inverted_cdf")
    np.testing.assert_allclose(found[["low", "high"]].T, expected, atol=1e-12)
    assert abs(found["effect"].sum()) < 1e-12


def test_a_tempered_interval_spreads_over_the_parameters_too():
    table = bc.datasets.load("breast_cancer_ljubljana")
    clf = bc.NaiveBayes(random_state=1).fit(table.X, table.y)
    assert clf.requested_rule(None) == "tempered"
    found = clf.effects(table.X, "irradiat", ci_prob=0.89).iloc[0]
    of_temper, means = clf.hypotheses("tempered"), []  # which are values of T and b alone
    for level in ("no", "yes"):
        rows = clf.rows(table.X.assign(irradiat=level))
        means.append(np.exp(averaging.conditional(of_temper, rows).log_proba[:, 0]).mean(axis=0))
    alone = np.ptp(np.quantile(means[1] - means[0], [0.055, 0.945]))
    assert found["effect"] == pytest.approx(np.mean(means[1] - means[0]), abs=0.02)
    assert found["high"] - found["low"] > 1.5 * alone


def test_levels_are_compared_with_the_most_frequent_and_a_point_has_no_interval(play_tennis):
    clf = bc.CategoricalNB(inference="map", alpha=2.0).fit(play_tennis.X, play_tennis.y)
    found = clf.effects(play_tennis.X, "humidity")
    assert found["low"].isna().all()
    assert len(found) == 2 * (play_tennis.X["humidity"].nunique() - 1)
    assert (found["from"] == play_tennis.X["humidity"].value_counts().index[0]).all()


def test_ranges_come_in_their_order():
    X, y = pd.DataFrame({"age": ["5-9"] * 4 + ["10-14"] * 3 + ["0-4"] * 2}), ["a", "b"] * 4 + ["a"]
    clf = bc.CategoricalNB(inference="map").fit(X, y)
    assert clf.effects(X, "age")["to"].drop_duplicates().tolist() == ["0-4", "10-14"]


def test_what_has_no_effect_is_refused():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = bc.GaussianNB(random_state=1).fit(X, y)
    with pytest.raises(InputError, match="there is no column 'petal'"):
        clf.effects(X, "petal")
    with pytest.raises(InputError, match="needs two values to compare"):
        clf.effects(X, X.columns[0], values=[1.0])
    nb = bc.NaiveBayes(inference="map").fit(pd.DataFrame({"wind": ["weak", "strong"] * 5}), [0, 1] * 5)
    with pytest.raises(InputError, match=r"levels that the training rows lack: 'wek' \(did you mean 'weak'\?\)"):
        nb.effects(pd.DataFrame({"wind": ["weak"]}), "wind", values=["strong", "wek"])
    texts = pd.DataFrame({"text": ["one two", "two three", "three four", "one four"]})
    with pytest.raises(Refused, match="not of words or counts"):
        bc.TextNB().fit(texts, [0, 1, 0, 1]).effects(texts, "text")
