"""Checks of held-out predictions: the cause of over-confidence is told, and numbers agree with other routes."""

import numpy as np
import pandas as pd
import pytest
from faults import diagnose, few_rows, gaussian, logistic, missing_by_class, naive, normal_rows, repeated, word_rows
from scipy import stats

import bayesclf as bc
from bayesclf.diagnostics.calibration import _if_calibrated
from bayesclf.diagnostics.context import Context
from bayesclf.diagnostics.distance import leverages
from bayesclf.diagnostics.reference import dependence

FEW = "few rows, which averaging"
MODEL = "what the model assumes of its columns"


def found(case, code, **arguments):
    clf, (X, y) = case
    return clf.diagnose(X, y, checks=[code], **arguments)[code]


def test_over_confidence_of_dependent_columns_comes_from_the_model():
    finding = found(repeated(), "Y03")
    assert finding.section == "issue"
    assert MODEL in finding.reason
    assert FEW not in finding.reason
    assert "bayes-optimal" not in finding.next_step


def test_over_confidence_of_few_rows_is_repaired_by_averaging():
    finding = found(few_rows(), "Y03")
    assert finding.section == "issue"
    assert FEW in finding.reason
    assert MODEL not in finding.reason
    assert "'bayes-optimal'" in finding.next_step
    gap = finding.evidence.set_index("rule")["over_confidence"]
    assert gap["bayes-optimal"] < gap["mean"] - 0.05


def test_the_rule_that_averages_passes_on_the_same_rows():
    clf, rows = few_rows()
    finding = found((clf.set_params(rule="bayes-optimal"), rows), "Y03")
    assert finding.section == "passed"
    assert "averaging repairs" in finding.reason


def test_both_causes_are_told_together():
    rng = np.random.default_rng(4)
    codes = np.arange(40) % 2
    weak = rng.normal(size=(40, 12)) + 0.2 * codes[:, None]
    X = pd.DataFrame(np.hstack([weak + rng.normal(0, 0.05, size=(40, 12)) for _ in range(5)]))
    clf = bc.GaussianNB(rule="map", random_state=1).fit(X, codes)
    steps = found((clf, (X, codes)), "Y03", against=bc.LogisticRegression(prior_scale=0.2)).evidence
    gap = steps.set_index("rule")["over_confidence"]
    assert gap["map"] > gap["bayes-optimal"] > gap["reference"] + 0.1


def test_over_confidence_is_confidence_less_accuracy_of_cross_validation():
    clf, (X, y) = gaussian(*normal_rows(200))
    context = Context.of(clf, X, y, None, None)
    answers = context.held_out
    proba = np.empty((200, 2))
    for fit, asked in answers.fits:
        test = answers.numbers[asked]
        train = np.setdiff1d(np.arange(200), test)
        again = bc.GaussianNB().fit(X.iloc[train], y[train])
        proba[test] = again.predict_proba(X.iloc[test], rule="map")
        assert len(fit.classes_) == 2
    gap = proba.max(axis=1) - (np.array(["no", "yes"])[proba.argmax(axis=1)] == y)
    evidence = found((clf, (X, y)), "Y03").evidence.set_index("rule")
    assert evidence.loc["map", "over_confidence"] == pytest.approx(gap.mean())
    assert evidence.loc["map", "standard_error"] == pytest.approx(gap.std() / np.sqrt(200))


def test_every_row_is_held_out_once_by_cross_validation():
    clf, (X, y) = gaussian(*normal_rows(200))
    answers = Context.of(clf, X, y, None, None).held_out
    assert sorted(answers.numbers) == list(range(200))
    assert answers.setting == "5-fold cross-validation of 200 rows"


def test_of_a_large_table_a_part_is_held_out_once():
    clf, (X, y) = gaussian(*normal_rows(50_000, 12))
    answers = Context.of(clf, X, y, None, None).held_out
    assert answers.setting == "fitted on 41,666 and held out 2,000 of 50,000 rows"
    assert len(np.unique(answers.numbers)) == 2_000
    finding = found((clf, (X, y)), "Y01")
    assert "of 50,000 rows" in finding.reason


def test_a_class_prior_by_label_and_announced_classes_survive_the_folds():
    X, y = normal_rows(60)
    clf = bc.GaussianNB(class_prior={"no": 0.5, "yes": 0.3, "maybe": 0.2}, random_state=1)
    clf.fit(X, y, classes=["no", "yes", "maybe"])
    assert found((clf, (X, y)), "Y01").section in ("passed", "tip", "issue")


def test_a_class_of_one_row_each_cannot_be_held_out():
    X = pd.DataFrame({"x": np.arange(3.0)})
    y = ["a", "b", "c"]
    clf = bc.GaussianNB(random_state=1).fit(X, y)
    assert found((clf, (X, y)), "Y01").section == "skipped"


def test_a_plug_in_that_meets_the_unseen_is_an_issue():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"town": rng.integers(40, size=120).astype(str)}, dtype=object)
    y = rng.integers(2, size=120)
    clf = bc.CategoricalNB(rule="mle", random_state=1).fit(X, y)
    finding = found((clf, (X, y)), "Y01")
    assert (finding.section, finding.severity) == ("issue", "severe")
    assert "probability 0" in finding.reason


def test_calibration_error_of_calibrated_rows_is_as_expected():
    rng = np.random.default_rng(2)
    proba = rng.beta(2, 2, size=2000)
    log_proba = np.log(np.stack([1 - proba, proba], axis=1))
    errors = []
    for _ in range(40):
        y = (rng.random(2000) < proba).astype(int)
        errors.append(bc.diagnostics.calibration.scores.reliability(log_proba, y).error)
    expected, p_value = _if_calibrated(log_proba, float(np.mean(errors)), 1)
    assert abs(expected - np.mean(errors)) < 4 * np.std(errors) / np.sqrt(40)
    assert 0.2 < p_value < 0.8
    assert _if_calibrated(log_proba, 0.2, 1)[1] == pytest.approx(1 / 501)


def test_dependence_is_the_largest_correlation_within_the_classes():
    X, y = normal_rows(300, 3)
    X["x2"] += 0.7 * X["x1"] - 3.0 * (y == "yes")
    clf, _ = gaussian(X, y)
    training = Context.of(clf, X, y, None, None).training
    residuals = X - X.groupby(y).transform("mean")
    expected = np.abs(np.corrcoef(residuals.T) - np.eye(3)).max()
    assert dependence(clf.model_, training) == pytest.approx(expected)
    joint = bc.GaussianDiscriminantAnalysis(random_state=1).fit(X, y)
    assert dependence(joint.model_, training) == 0.0


def test_independent_columns_need_no_other_model():
    assert "taken for independent correlate by at most" in found(gaussian(*normal_rows(300)), "Y03").reason


def test_the_model_to_compare_with_can_be_given_fitted_or_not():
    case = gaussian(*normal_rows(100))
    one, other = (
        found(case, "Y03", against=against).evidence
        for against in (bc.LogisticRegression(), bc.LogisticRegression(inference="map").fit(*normal_rows(50)))
    )
    pd.testing.assert_frame_equal(one, other)
    assert one["rule"].iloc[-1] == "reference"


def test_missing_cells_are_tested_by_class():
    clf, (X, y) = missing_by_class(0.4)
    missing = X["wind"].isna()
    expected = stats.chi2_contingency(pd.crosstab(missing, y), correction=False).pvalue
    evidence = found((clf, (X, y)), "Y04").evidence
    assert evidence["p_value"][0] == pytest.approx(expected)
    assert evidence["most_missing"][0] == pytest.approx(missing[y == "yes"].mean())


def test_missing_cells_that_are_in_the_model_are_not_asked_about():
    _, (X, y) = missing_by_class(0.4)
    assert found(naive(X, y, missing="level"), "Y04").section == "not applicable"
    X["rain"] = X["rain"].mask((y == "yes") & (np.arange(len(y)) % 2 == 0))
    numbers = X[["rain"]]
    assert found(naive(numbers, y), "Y04").section == "issue"
    finding = found(logistic(numbers, y), "Y04")
    assert (finding.section, "indicators" in finding.reason) == ("not applicable", True)
    assert found(logistic(X, y), "Y04").section == "issue"


def test_rows_where_the_rules_disagree_are_named():
    X, y = normal_rows(24, 6, distance=0.3)
    evidence = found(gaussian(X, y), "Y05").evidence
    rules = ["map", "mean", "bayes-optimal", "predictive"]
    assert len(evidence)
    assert (evidence[rules].nunique(axis=1) > 1).all()
    assert (y[evidence["row"]] == evidence["label"]).all()


def test_far_rows_are_those_that_are_far():
    X, y = normal_rows(300)
    new = normal_rows(50, seed=8)[0]
    new.loc[7, "x1"] = 30.0
    finding = found(gaussian(X, y), "Y06", new=new)
    assert finding.evidence["row"].tolist() == [7]
    finding = found(logistic(X, y), "Y06", new=new)
    assert finding.evidence["row"].tolist() == [7]


def test_a_far_cell_counts_where_others_are_missing():
    X, y = normal_rows(300)
    new = normal_rows(4, seed=8)[0]
    new["x0"] = [np.nan, np.nan, 0.5, 0.5]
    new["x1"] = [0.5, 20.0, 0.5, np.nan]
    finding = found(gaussian(X, y), "Y06", new=new)
    assert finding.evidence["row"].tolist() == [1]


def test_levels_that_no_training_row_has_are_counted():
    X, y = word_rows(200)
    new = X[:5].copy()
    new.loc[3, "wind"] = "gale"
    for case in (naive(X, y), logistic(X, y)):
        finding = found(case, "Y06", new=new)
        assert finding.section == "tip"
        assert finding.evidence.query("unseen_levels > 0")["row"].tolist() == [3]


def test_leverage_is_the_mahalanobis_distance():
    X, y = normal_rows(40)
    clf, _ = logistic(X, y)
    new = normal_rows(5, seed=3)[0]
    own, others = leverages(clf.model_, clf.rows(X), clf.rows(new))

    def distance(x, rows):
        centred = rows - rows.mean()
        spread = centred.T @ centred
        deviation = x - rows.mean()
        return 1 / len(rows) + deviation @ np.linalg.solve(spread, deviation)

    np.testing.assert_allclose(others, [distance(new.iloc[i], X) for i in range(5)], rtol=1e-5)
    np.testing.assert_allclose(own, [distance(X.iloc[i], X.drop(i)) for i in range(40)], rtol=1e-5)


def test_a_new_row_that_breaks_a_sum_of_columns_is_far():
    X, y = normal_rows(100)
    X["both"] = X["x0"] + X["x1"]
    new = X[:10].copy()
    new.loc[4, "both"] += 1.0
    assert found(logistic(X, y), "Y06", new=new).evidence["row"].tolist() == [4]


def test_without_rows_predictions_are_not_judged():
    clf, _ = gaussian(*normal_rows(60))
    assert {finding.section for finding in diagnose((clf,), ["Y"]).findings} == {"skipped"}


def test_the_next_step_of_unlike_data_says_whether_columns_or_classes_are_meant():
    X, y = normal_rows(200)
    skewed = found(gaussian(np.exp(X), y), "Y07")
    assert "another family" in skewed.next_step
    rng = np.random.default_rng(2)
    codes = np.arange(400) % 10 < 3
    wind = np.where(codes == (rng.random(400) < 0.7), "strong", "weak").astype(object)
    X = pd.DataFrame({f"wind{j}": wind for j in range(6)})
    dependent = found(naive(X, codes.astype(int)), "Y07")
    assert set(dependent.evidence["statistic"]) == {"class_count_given_x"}
    assert "dependent columns" in dependent.next_step
    assert "another family" not in dependent.next_step
