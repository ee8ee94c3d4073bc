"""Checks of the columns of a table, and of what a fit can and cannot learn from them."""

import numpy as np
import pandas as pd
import pytest
from helpers.faults import diagnose, logistic, missing_by_class, naive, normal_rows, word_rows
from scipy import stats

import bayesclf as bc
from bayesclf.diagnostics.columns import independence
from bayesclf.errors import DoesNotExist


def found(case, code):
    return diagnose(case, [code])[code]


def three_classes(rows=300, distance=1.0):
    """Return rows of three classes, each `distance` from the others along its own column."""
    rng = np.random.default_rng(1)
    codes = rng.integers(3, size=rows)
    X = rng.normal(size=(rows, 3)) + distance * np.eye(3)[codes]
    return pd.DataFrame(X, columns=["x0", "x1", "x2"]), np.array(["a", "b", "c"])[codes]


@pytest.mark.parametrize("distance", [0.0, 1.0, 3.0, 6.0, 12.0])
@pytest.mark.parametrize("make", [lambda d: normal_rows(60, distance=d), lambda d: three_classes(60, d)])
def test_classes_are_separable_where_the_estimate_does_not_exist(make, distance):
    clf, rows = logistic(*make(distance))
    try:
        clf.hypotheses("mle")
        exists = True
    except DoesNotExist:
        exists = False
    assert (found((clf, rows), "M01").section == "passed") == exists


@pytest.mark.parametrize(("rows", "lacking"), [(word_rows(200), "no"), (three_classes(), "b")])
def test_a_level_that_one_class_lacks_separates(rows, lacking):
    X, y = rows
    for last, few in ((60, False), (np.flatnonzero(y != lacking)[1], True)):
        X["ward"] = np.where((y != lacking) & (np.arange(len(y)) <= last), "east", "west").astype(object)
        finding = found(logistic(X, y, inference="laplace"), "M01")
        assert "ward=east" in finding.evidence["columns"]
        assert ("trust the signs, not the sizes, of 'ward=east'" in finding.next_step) != few
        assert ("no column gives the class away" in finding.next_step) != few
    learned = found(logistic(X, y, prior_scale="learned"), "M01")
    assert learned.reason.startswith("'ward=east' lacks rows of a class")
    assert "prior_summary" not in learned.next_step  # all columns tell the scale


def test_classes_that_a_column_separates_are_named_as_they_are():
    X, _ = normal_rows(60)
    y = np.where(X["x0"] > 0, "{a}", "b{c")
    assert "separates classes 'b{c' and '{a}'" in found(logistic(X, y), "M01").reason


def test_no_weight_is_named_that_separates_two_rows_alone():
    X, y = normal_rows(60)
    X.iloc[:2, 0], y = 9.0, np.where(np.arange(60) < 2, "rare", y)
    finding = found(logistic(X, y), "M01")
    assert finding.reason.startswith("class 'rare' has few rows (M05)")
    assert "trust the signs" not in finding.next_step
    few = found(logistic(X.iloc[:12], y[:12]), "M01")
    assert "from the others" not in few.reason  # as no class has many rows
    X["side"], y = X["x0"] * (np.arange(60) > 1), np.where(y == "rare", y, np.where(X["x0"] + X["x1"] > 0, "a", "b"))
    finding = found(logistic(X, y), "M01")
    assert "weights on" in finding.reason  # which others need, too
    assert "use rule" not in finding.reason
    assert "gives the class away" not in finding.next_step


def test_levels_are_collinear_only_with_other_columns():
    X, y = word_rows(200)
    assert found(logistic(X, y), "M02").section == "passed"
    again = X.assign(gale=X["wind"].map({"weak": "no", "strong": "yes"}).astype(object))
    finding = found(logistic(again, y), "M02")
    assert finding.evidence["columns"] == "wind, gale"


@pytest.mark.parametrize("covariance", ["shared", "class"])
def test_collinear_columns_of_discriminant_analysis(covariance):
    X, y = normal_rows(100)
    clf = bc.GaussianDiscriminantAnalysis(covariance, random_state=1)
    assert found((clf.fit(X, y), (X, y)), "M02").section == "passed"
    X["both"] = X["x0"] - 2 * X["x1"]
    finding = found((clf.fit(X, y), (X, y)), "M02")
    assert finding.evidence["count"] == 3


@pytest.mark.parametrize("fit", [naive, logistic])
def test_rows_of_classes_and_levels_are_counted(fit):
    X, y = word_rows(60)
    y = np.where(np.arange(60) < 3, "maybe", y)
    evidence = found(fit(X, y), "M05").evidence
    assert evidence.iloc[0].tolist() == ["class", "maybe", 3.0]
    X["ward"] = np.where(np.arange(60) < 2, "east", "west").astype(object)
    evidence = found(fit(X, y), "M05").evidence
    assert evidence["rows"].tolist() == [2.0, 3.0]
    assert evidence["name"].tolist() == ["ward=east", "maybe"]


@pytest.mark.parametrize(
    ("clf", "X"),
    [
        (bc.CategoricalNB(), pd.DataFrame({"wind": ["weak", "strong"] * 20, "site": "here"}, dtype=object)),
        (bc.JointBayes(), pd.DataFrame({"wind": ["weak", "strong"] * 20, "site": "here"}, dtype=object)),
        (bc.BernoulliNB(), pd.DataFrame({"wind": [0, 1] * 20, "site": 1})),
        (bc.MultinomialNB(), pd.DataFrame({"wind": [0, 1] * 20, "site": 0})),
        (bc.GaussianNB(), pd.DataFrame({"wind": np.arange(40.0), "site": 1.0})),
        (bc.LogisticRegression(prior_scale=2.5, inference="map"), pd.DataFrame({"wind": np.arange(40.0), "site": 1.0})),
    ],
    ids=["categorical", "joint", "bernoulli", "multinomial", "gaussian", "logistic"],
)
def test_constant_columns_are_named_whatever_the_family(clf, X):
    y = np.repeat(["a", "b"], 20)
    finding = found((clf.set_params(random_state=1).fit(X, y),), "M06")
    assert (finding.evidence["columns"], finding.evidence["count"]) == ("site", 1)


@pytest.mark.parametrize(
    "cells",
    [
        lambda X: X["x0"],
        lambda X: -3e6 * X["x0"] + 5e8,
        lambda X: X["grade"].map({1.0: "low", 2.0: "high"}).astype(object),
    ],
    ids=["copy", "units", "words"],
)
def test_duplicates_are_found_in_other_units_and_words(cells):
    X, y = normal_rows(200)
    X["grade"] = np.where(np.arange(200) % 3 == 0, 1.0, 2.0)
    assert found(naive(X, y), "M07").section == "passed"
    assert found(naive(pd.concat([X] * 2, ignore_index=True), np.tile(y, 2)), "M07").section == "passed"
    evidence = found(naive(X.assign(again=cells(X)), y), "M07").evidence
    assert evidence["column"].tolist() == ["again"]


@pytest.mark.parametrize("classifier", [bc.JointBayes, bc.BayesNetClassifier, bc.GaussianDiscriminantAnalysis])
def test_duplicates_that_the_model_takes_together_are_not_an_issue(classifier):
    X, y = word_rows(200)
    X = X[["rain"]] if classifier is bc.GaussianDiscriminantAnalysis else X[["wind"]]
    X["again"] = X.iloc[:, 0]
    finding = found((classifier(random_state=1).fit(X, y), (X, y)), "M07")
    assert (finding.section, "does not treat them as independent" in finding.reason) == ("tip", True)


def test_duplicates_of_unjoined_columns_are_counted_twice():
    X, y = word_rows(200)
    X = X[["wind"]].assign(other=np.roll(X["wind"], 1), again=X["wind"], more=np.roll(X["wind"], 1))
    clf = bc.BayesNetClassifier([("wind", "again")], random_state=1).fit(X, y)
    finding = found((clf, (X, y)), "M07")
    assert (finding.section, finding.severity) == ("issue", "moderate")
    assert finding.evidence.set_index("column")["counted_twice"].to_dict() == {"again": False, "more": True}
    assert "'again'" not in finding.reason


def test_columns_that_lack_different_cells_are_not_duplicates():
    X, y = normal_rows(200)
    X["again"] = X["x0"].mask(np.arange(200) == 3)
    assert found(naive(X, y), "M07").section == "passed"


@pytest.mark.parametrize(
    ("cells", "section"),
    [
        (lambda rows: [f"patient {i}" for i in range(rows)], "issue"),
        (lambda rows: np.random.default_rng(0).permutation(rows) + 7, "issue"),
        (lambda rows: np.sort(np.random.default_rng(0).choice(10**6, rows, replace=False)), "issue"),
        (lambda rows: np.random.default_rng(0).choice(10**6, rows, replace=False), "passed"),
        (lambda rows: np.random.default_rng(0).normal(size=rows), "passed"),
        (lambda rows: np.arange(rows) // 2, "passed"),
    ],
    ids=["names", "shuffled numbers", "growing numbers", "large numbers", "measurements", "pairs"],
)
def test_identifiers(cells, section):
    X, y = normal_rows(200)
    finding = found(naive(X.assign(patient=cells(200)), y), "M08")
    assert finding.section == section
    assert ("no column looks like" in finding.reason) == (section == "passed")


def test_missing_cells_are_tested_by_class():
    clf, (X, y) = missing_by_class(0.4)
    missing = X["wind"].isna()
    expected = stats.chi2_contingency(pd.crosstab(missing, y), correction=False).pvalue
    evidence = found((clf, (X, y)), "Y04").evidence
    assert evidence["p_value"][0] == pytest.approx(expected)
    assert evidence["most_missing"][0] == pytest.approx(missing[y == "yes"].mean())


@pytest.mark.slow
@pytest.mark.parametrize("rows", [(297, 3), (290, 7, 3)])
def test_false_alarms_about_missing_cells_of_rare_classes_are_rare(rows):
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(len(rows)), rows)
    alarms = 0
    for seed in range(300):
        missing = rng.random(len(labels)) < 0.02
        table = np.array([np.bincount(labels[missing == state], minlength=len(rows)) for state in (True, False)])
        alarms += missing.any() and independence(table, seed) < 0.01
    assert alarms <= stats.binom.isf(1e-3, 300, 0.01)


def test_missing_cells_of_a_rare_class_are_found():
    X, y = normal_rows(300)
    y[:6], y[6:12] = "rare", "rarer"
    X["x0"] = X["x0"].mask((np.arange(300) < 6) | (np.arange(300) % 50 == 20))
    assert found(naive(X, y), "Y04").section == "issue"


def test_missing_cells_that_are_in_the_model_are_not_checked():
    _, (X, y) = missing_by_class(0.4)
    assert found(naive(X, y, missing="level"), "Y04").section == "not applicable"
    X["rain"] = X["rain"].mask((y == "yes") & (np.arange(len(y)) % 2 == 0))
    numbers = X[["rain"]]
    assert found(naive(numbers, y), "Y04").section == "issue"
    assert found(logistic(numbers.fillna(0.0), y), "Y04").reason == "no cell is missing"
    finding = found(logistic(numbers, y), "Y04")
    assert (finding.section, "indicators" in finding.reason) == ("not applicable", True)
    assert found(logistic(X, y), "Y04").section == "issue"


@pytest.mark.parametrize(("low", "high", "section"), [(0.10, 0.24, "differ"), (0.2, 0.2, "close")])
def test_shares_of_missing_cells_are_not_called_equal_where_there_are_too_few_rows_to_tell(low, high, section):
    X, y = normal_rows(100)
    order = np.argsort(y, kind="stable")
    empty = np.concatenate([np.arange(50) < 50 * low, np.arange(50) < 50 * high])
    X["x0"] = X["x0"].mask(empty[np.argsort(order)])
    finding = found(naive(X, y), "Y04")
    assert finding.section == "passed"
    assert f"{100 * low:.0f}% to {100 * high:.0f}%" in finding.reason
    assert section in finding.reason
    assert ("chance" in finding.reason) == (section == "differ")
