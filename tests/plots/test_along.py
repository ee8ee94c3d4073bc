"""The rules along one column: the lines are the classifier's answers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf import plots
from bayesclf.errors import InputError, Refused
from bayesclf.rules import Gibbs


def test_lines_are_answers_to_rows_that_differ_in_one_column_alone():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = bc.GaussianNB(random_state=1).fit(X, y)
    name = X.columns[2]
    ax = plots.rules_along(clf, X, y, name, outcome=1, rules=["map", "bayes-optimal"], hypotheses=5).axes[0]
    lines = {line.get_label(): line for line in ax.lines}
    assert sum(label.startswith("_") for label in lines) == 5
    for rule in ("map", "bayes-optimal"):
        x, shown = lines[rule].get_data()
        rows = X.mean().to_frame().T.iloc[[0] * len(x)].assign(**{name: x})
        np.testing.assert_allclose(shown, clf.predict_proba(rows, rule=rule)[:, 1], rtol=1e-12)


def test_the_outcome_is_the_last_class_in_its_order():
    X, y = np.arange(6.0)[:, None], pd.Series(pd.Categorical(list("aabbcc"), ["b", "c", "a"], ordered=True))
    clf = bc.GaussianNB(inference="map").fit(X, y)
    assert plots.rules_along(clf, X, y, rules=["map"]).axes[0].get_ylabel() == "P(a | x)"


def test_a_hypothesis_has_a_line_and_a_boundary_and_gibbs_has_none():
    X, y = np.arange(6.0)[:, None], list("aaabbb")
    clf = bc.GaussianNB(random_state=1).fit(X, y)
    (line,) = plots.rules_along(clf, X, y, rules=[Gibbs(draw=7)], hypotheses=0).axes[0].lines
    assert line.get_label() == "gibbs, hypothesis 7"
    x, shown = line.get_data()
    np.testing.assert_allclose(shown, clf.predict_proba(x[:, None], rule=Gibbs(draw=7))[:, 1])
    drawn = plots.decision_boundary(clf, X, y, rules=[Gibbs(draw=7)]).axes[0]
    assert "gibbs, hypothesis 7" in drawn.get_legend_handles_labels()[1]
    for draw, what in ((plots.rules_along, "line"), (plots.decision_boundary, "boundary")):
        with pytest.raises(InputError, match=f"no single {what}"):
            draw(clf, X, y, rules=[Gibbs()])


def test_a_column_that_is_no_number_is_refused(play_tennis):
    X = play_tennis.X.assign(degrees=np.arange(14.0))
    clf = bc.NaiveBayes(inference="map").fit(X, play_tennis.y)
    with pytest.raises(InputError, match="feature must be a column of numbers, not 'outlook'"):
        plots.rules_along(clf, X, play_tennis.y, "outlook")
    assert len(plots.rules_along(clf, X, play_tennis.y, rules=["map"]).axes[0].lines) == 1


def test_a_rule_that_cannot_answer_is_named_below():
    X, y = load_iris(return_X_y=True)
    clf = bc.GaussianNB(random_state=1).fit(X, y)
    given = clf.with_posterior(clf.posterior_)  # whose mode is not known
    assert plots.rules_along(given, X, y).axes[0].get_xlabel().endswith("n/a: map")
    with pytest.raises(Refused, match="the mode of a posterior"):
        plots.rules_along(given, X, y, rules=["map"])
