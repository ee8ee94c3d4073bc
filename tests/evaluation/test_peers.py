"""Classifiers of scikit-learn in a comparison, and other splits than stratified folds."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import (
    GroupKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.evaluation.peers import NO_RULE, named
from bayesclf.evaluation.scores import standard_error_of_rows
from bayesclf.report.verdict import verdict

RULES = ["map", "predictive"]
PEER = make_pipeline(StandardScaler(), LogisticRegression())


@pytest.fixture(scope="module")
def comparison(iris):
    models = {"gnb": bc.GaussianNB(), "peer": PEER, "knn": KNeighborsClassifier()}
    return bc.compare(models, *iris, RULES, cv=3, repeats=2, random_state=4, reject=0.2)


def test_a_network_is_called_by_its_structure():
    networks = [
        bc.BayesNetClassifier(),
        bc.BayesNetClassifier([("a", "b")]),
        bc.BayesNetClassifier((("a", "b"),)),
        bc.BayesNetClassifier("all-trees"),
        make_pipeline(bc.BayesNetClassifier([])),
    ]
    assert list(named(networks)) == ["tan", "network", "network 2", "all-trees", "network 3"]


def test_a_peer_is_one_line_with_the_scores_that_scikit_learn_computes(comparison, iris):
    X, y = iris
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=4)
    lines = comparison.table.set_index(["model", "rule"])
    assert list(lines.index) == [("gnb", "map"), ("gnb", "predictive"), ("peer", NO_RULE), ("knn", NO_RULE)]
    line = lines.loc["peer", NO_RULE]
    for metric, scoring in (("accuracy", "accuracy"), ("log_loss", "neg_log_loss")):
        theirs = np.abs(cross_val_score(PEER, X, y, cv=folds, scoring=scoring))
        assert line[metric] == pytest.approx(theirs.mean())
    splits = list(folds.split(X, y))
    briers = [
        brier_score_loss(y[test], clone(PEER).fit(X.iloc[train], y[train]).predict_proba(X.iloc[test]))
        for train, test in splits
    ]
    assert line["brier"] == pytest.approx(np.mean(briers))
    proba = cross_val_predict(PEER, X, y, cv=splits[:3], method="predict_proba")
    first = comparison.predictions.query("model == 'peer' and repeat == 0")
    np.testing.assert_allclose(first.filter(like="P("), proba, atol=1e-12)
    assert line["rejected"] == pytest.approx(comparison.predictions.query("model == 'peer'")["decided"].isna().mean())


def test_a_class_that_was_never_probable_makes_the_log_loss_infinite_and_is_counted(comparison):
    line = comparison.table.set_index("model").loc["knn"]
    assert np.isinf(line["log_loss"])
    missed = comparison.predictions.query("model == 'knn'")
    own = missed.apply(lambda row: row[f"P({row['label']})"], axis=1)
    assert line["log_loss_infinite"] == missed[own == 0]["row"].nunique() > 0


def test_boosting_shows_what_a_black_box_gains_and_is_never_the_model_to_use(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"n": rng.normal(size=200), "c": rng.choice(["a", "b", None], 200), "d": rng.choice(["a", "b"], 200)}
    )
    y = (X["n"] > 0) ^ (X["d"] == "b")
    monkeypatch.setattr("bayesclf.evaluation.comparison.BOOSTING_SECONDS", np.inf)
    found = bc.compare([bc.NaiveBayes()], X, y, boosting=True)
    table = found.table.set_index("model")["log_loss"]
    assert table["boosting"] < table["nb"].min() - 0.3
    assert found.best[0] == "nb"
    headline = verdict(found).headline
    assert "is clearly ahead: its log loss is smaller by" in headline
    assert "Its accuracy is " in headline
    assert (
        "boosting"
        not in bc.compare(
            [bc.TextNB()], ["to be", "or not", "be it", "or no"] * 3, [0, 1] * 6, cv=2, boosting=True
        ).models
    )
    monkeypatch.setattr("bayesclf.evaluation.comparison.BOOSTING_SECONDS", -np.inf)
    late = bc.compare([bc.GaussianNB()], X[["n"]], y, cv=2, repeats=1, boosting=True, max_seconds=1e-9)
    assert late.left_out == ("gnb",)
    with pytest.raises(InputError, match="'boosting'"):
        bc.compare({"boosting": bc.NaiveBayes()}, X, y, boosting=True)


def test_numbers_of_a_peer_depend_on_the_seed_alone(iris):
    forest = RandomForestClassifier(5)
    one, two, other = (bc.compare({"rf": forest}, *iris, cv=2, random_state=seed, n_jobs=1).table for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(one, two)
    assert one["brier"][0] != other["brier"][0]


def test_what_a_peer_warns_of_is_a_note_and_why_it_fails_a_reason(iris):
    X, y = iris
    X = X.assign(word=np.where(np.arange(150) % 2, "a", "b"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = bc.compare([LogisticRegression(max_iter=2)], iris[0], y, cv=2)
        failed = bc.compare([GaussianNB(), bc.NaiveBayes()], X, y, ["map"], cv=2)
    assert issubclass(ConvergenceWarning, UserWarning)
    assert any(note.startswith("fitting warned: lbfgs failed") for note in found.notes["LogisticRegression"])
    lines = failed.table.set_index("model")
    assert lines["reason"]["GaussianNB"].startswith("GaussianNB cannot be fitted: could not convert string")
    assert np.isfinite(lines["log_loss"]["nb"])
    assert verdict(failed).cautions[0].startswith("GaussianNB has no answer: GaussianNB cannot")


def test_a_class_that_a_fold_lacks_has_probability_zero(iris):
    X, y = iris
    rows = np.r_[0:20, 50:70, 100]
    train, test = rows[:-1], np.r_[101:110]
    found = bc.compare([GaussianNB()], X, y, cv=[(train, test)])
    assert found.table["log_loss_infinite"][0] == 9


def test_classifiers_without_names_get_theirs():
    models = [bc.GaussianNB(), GaussianNB(), PEER, GaussianNB(var_smoothing=1e-3)]
    assert list(named(models)) == ["gnb", "GaussianNB", "LogisticRegression", "GaussianNB 2"]
    assert list(named(bc.NaiveBayes())) == ["nb"]


def test_scores_of_any_splitter_are_means_over_the_rows_that_it_tests(iris):
    """Some are tested several times, and some never."""
    X, y = iris
    cv = ShuffleSplit(5, test_size=0.3, random_state=1)
    found = bc.compare([GaussianNB()], X, y, cv=cv)
    losses = []
    for train, test in cv.split(X):
        proba = GaussianNB().fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])
        own = np.searchsorted(np.unique(y), y[test])
        losses.append(pd.Series(-np.log(proba[np.arange(len(test)), own]), index=test))
    rows = pd.concat(losses)
    (line,) = found.table.itertuples()
    assert line.log_loss == pytest.approx(rows.mean(), rel=1e-6)
    by_row = rows.groupby(level=0).mean().to_numpy()
    assert line.log_loss_se == pytest.approx(standard_error_of_rows(by_row, 105), rel=1e-6)
    assert sorted(found.predictions["row"]) == sorted(rows.index)
    assert (found.cv * found.repeats, found.repeats) == (5, 1)


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ({"svc": SVC()}, {}, r"'svc' \(SVC\) has no predict_proba"),
        ([GaussianNB], {}, "models must be classifiers, .* 'GaussianNB' is <class"),
        ([], {}, "at least one classifier"),
        ("nb", {}, "models must be classifiers"),
        (GaussianNB(), {"cv": "five"}, "cv must be a number of folds, a splitter or pairs"),
        (GaussianNB(), {"cv": GroupKFold(3)}, r"does not split these rows \(.*groups.*list\(splitter.split"),
        (GaussianNB(), {"cv": [([0, 1, 2], [2, 3])]}, "split 1 of cv tests on training rows"),
        (GaussianNB(), {"cv": [([0, 1, 2], [])]}, "split 1 of cv has no test rows"),
        (GaussianNB(), {"cv": []}, "cv has no splits"),
        (GaussianNB(), {"cv": [([0, 999], [2])]}, "does not split these rows"),
        (GaussianNB(), {"cv": ShuffleSplit(2), "repeats": 3}, "repeats=3 goes with a number of folds"),
        (GaussianNB(), {"random_state": -1}, "random_state must be a whole number between 0 and 4,294,967,295"),
    ],
)
def test_what_cannot_be_compared(models, options, message, iris):
    with pytest.raises(InputError, match=message):
        bc.compare(models, *iris, **options)
