"""Checks of held-out predictions: over-confidence is found, and each cause is named where it is the cause."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers.faults import gaussian, logistic, naive, normal_rows, repeated

import bayesclf as bc
from bayesclf.diagnostics import CHECKS
from bayesclf.diagnostics.context import Context
from bayesclf.diagnostics.held_out import HeldOut
from bayesclf.evaluation import scores
from bayesclf.evaluation.cross_validation import Answers
from bayesclf.evaluation.score_table import calibration
from bayesclf.report.facts import facts
from bayesclf.wording import pair


def found(case, code="Y02", **arguments):
    clf, (X, y) = case
    return clf.diagnose(X, y, checks=[code], **arguments)[code]


def test_over_confidence_of_dependent_columns_has_a_cure_and_names_the_pairs():
    finding = found(repeated())
    assert (finding.section, finding.severity) == ("issue", "severe")
    assert "rule 'tempered' leaves" in finding.reason
    assert "clf.predict_proba(X, rule='tempered')" in finding.next_step
    assert "taken for independent, but probably dependent given the class: " in finding.reason
    assert "dependent_pairs(clf, X, y).blocks" in finding.next_step
    evidence = finding.evidence.set_index("rule")
    assert f"log loss {evidence.loc['bayes-optimal', 'log_loss']:.3f} → " in finding.reason
    clf, (X, y) = repeated()
    tempered = found((clf.set_params(rule="tempered"), (X, y)))
    assert tempered.section == "passed" or "leaves" not in tempered.reason


@pytest.mark.slow
def test_under_confidence_is_called_so():
    timid = logistic(*normal_rows(300, distance=2.0), prior_scale=0.1, inference=bc.engines.Laplace(draws=250))
    finding = found(timid)
    assert (finding.section, finding.severity) == ("issue", "moderate")
    assert finding.reason.startswith("under-confident")


def test_over_confidence_is_confidence_less_accuracy_of_cross_validation():
    clf, (X, y) = gaussian(*normal_rows(500))
    context = Context.of(clf, X, y, None)
    answers = context.held_out
    assert answers.tested[0].tolist() == list(range(500))
    assert answers.setting == "one 5-fold cross-validation of 500 rows"
    proba = np.empty((500, 2))
    for fit, (train, test) in zip(context.fits, answers.splits, strict=True):
        again = bc.GaussianNB().fit(X.iloc[train], y[train])
        proba[test] = again.predict_proba(X.iloc[test], rule="map")
        assert len(fit.classes_) == 2
    gap = proba.max(axis=1) - (np.array(["no", "yes"])[proba.argmax(axis=1)] == y)
    evidence = found((clf, (X, y)), "Y02").evidence.set_index("rule")
    assert evidence.loc["map", "over_confidence"] == pytest.approx(gap.mean())
    assert evidence.loc["map", "over_confidence_se"] == pytest.approx(gap.std(ddof=1) * np.sqrt(1 / 500 + 1 / 400))


def test_of_a_large_table_a_part_is_held_out_once():
    clf, (X, y) = gaussian(*normal_rows(50_000, 12))
    answers = Context.of(clf, X, y, None).held_out
    assert answers.setting == "fitted on 41,666 and held out 2,000 of 50,000 rows"
    assert len(answers.tested[0]) == 2_000
    finding = found((clf, (X, y)), "Y01")
    assert "of 50,000 rows" in finding.reason


def test_folds_are_not_repeated_where_a_fit_takes_long(monkeypatch):
    X, y = normal_rows(60, distance=3.0)
    clf = bc.GaussianNB(random_state=1).fit(X, y)
    assert Context.of(clf, X, y, None).held_out.repeats == 4
    monkeypatch.setattr("bayesclf.diagnostics.held_out.NUTS", type(clf.inference_))
    assert Context.of(clf, X, y, None).held_out.repeats == 1


def test_folds_of_a_fit_with_the_largest_seed_have_seeds():
    X, y = normal_rows(60)
    assert found((bc.GaussianNB(random_state=2**32 - 1).fit(X, y), (X, y)), "Y01").section == "passed"


def test_a_class_of_one_row_each_cannot_be_held_out():
    X = pd.DataFrame({"x": np.arange(3.0)})
    y = ["a", "b", "c"]
    clf = bc.GaussianNB(random_state=1).fit(X, y)
    assert found((clf, (X, y)), "Y01").section == "undecided"


def test_a_plug_in_that_meets_an_unseen_level_is_an_issue():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"town": rng.integers(40, size=120).astype(str)}, dtype=object)
    y = rng.integers(2, size=120)
    clf = bc.CategoricalNB(rule="mle", random_state=1).fit(X, y)
    finding = found((clf, (X, y)), "Y01")
    assert (finding.section, finding.severity) == ("issue", "severe")
    assert "probability 0" in finding.reason


def test_probabilities_are_worse_than_none_where_that_is_beyond_its_error():
    finding = found(repeated(), "Y01")
    assert (finding.section, finding.severity) == ("issue", "severe")
    assert "the class shares alone are better" in finding.reason
    line = finding.evidence.set_index("score").loc["log_loss"]
    assert line["better"] == "no"


def test_columns_of_noise_have_no_gain_but_are_not_an_issue():
    losses = 0
    for seed in range(10):
        finding = found(gaussian(*normal_rows(100, distance=0.0, seed=seed)), "Y01")
        gain, error = finding.evidence["gain"], finding.evidence["gain_se"]
        losses += (gain <= 0).any()
        assert (finding.section == "issue") == (gain < -1.96 * error).any()
        possible = (gain + 1.96 * error > 0.05 * finding.evidence["class_shares"]).all()
        assert (finding.section == "undecided") == possible or finding.section == "issue"
        if finding.section != "issue":
            assert ("is not clear" in finding.reason) == (finding.evidence["better"] != "yes").any()
    assert losses >= 5  # as estimates cost something
    assert found(gaussian(*normal_rows(300, distance=0.0)), "Y01").section == "tip"
    line = found(gaussian(*normal_rows(40, distance=0.9, seed=9)), "Y01").evidence.iloc[0]
    assert line["gain"] > 2 * line["gain_se"]
    assert line["better"] == "undecided"  # as in the verdict: other folds may change it


def test_a_class_that_a_fold_lacks_has_a_small_share():
    X, y = normal_rows(100, distance=3.0)
    y[7] = "maybe"
    finding = found(gaussian(X, y), "Y01")
    assert finding.section == "passed"
    assert "inf" not in finding.reason
    assert np.isfinite(finding.evidence[["class_shares", "gain"]].to_numpy()).all()


def test_a_copy_of_the_label_and_repeated_rows_make_held_out_scores_too_good():
    X, y = normal_rows(60)
    finding = found(naive(pd.concat([X.assign(code=y == "yes")] * 2), np.tile(y, 2)), "Y01")
    assert (finding.section, finding.severity) == ("issue", "severe")
    assert "column 'code' determines the label on every row" in finding.reason
    assert "held-out rows equal a training row" in finding.reason
    assert "X.drop(columns=['code'])" in finding.next_step


def answers_of(scored, y):
    """Return the answers of one rule to all rows, held out once."""
    rows = np.arange(len(y))
    return HeldOut("map", {("", "map"): Answers((scored,))}, y, ((rows, rows),), 1, "told")


def test_too_sure_here_and_not_sure_enough_there_is_not_called_over_confident():
    """Answers of 95% and of 55%, three in four of which are right."""
    confidence, right = np.repeat([0.95, 0.55], 200), np.arange(400) % 4 > 0
    scored = scores.score(np.log(np.column_stack([confidence, 1 - confidence])), (~right).astype(int))
    finding = CHECKS["Y02"](SimpleNamespace(held_out=answers_of(scored, (~right).astype(int)), seed=1))
    assert finding.section == "issue"
    assert "too sure in some places and not sure enough in others" in finding.reason
    scored = scores.score(np.log(np.tile([0.82, 0.18], (400, 1))), (~right).astype(int))
    clf, (X, y) = logistic(*normal_rows(60))
    held_out = answers_of(scored, (~right).astype(int))
    again = CHECKS["Y02"](SimpleNamespace(held_out=held_out, classifier=clf, X=X, y=y))
    assert again.reason.startswith("over-confident: ")
    assert again.severity == "moderate"  # not clear from the mean alone
    assert "compare models" in again.next_step


def test_calibration_error_of_calibrated_rows_is_as_expected():
    rng = np.random.default_rng(2)
    proba = rng.beta(2, 2, size=2000)
    log_proba = np.log(np.stack([1 - proba, proba], axis=1))
    found = []
    for _ in range(40):
        y = (rng.random(2000) < proba).astype(int)
        found.append(calibration(answers_of(scores.score(log_proba, y), y), ("", "map")))
    errors, stated, expected, p_values = np.transpose(found)
    assert abs(expected[0] - np.mean(errors)) < 4 * np.std(errors) / np.sqrt(40)
    assert 0.2 < np.median(p_values) < 0.8
    assert np.std(errors) < np.mean(stated) < 3 * np.std(errors)
    y = (rng.random(2000) < 0.5).astype(int)
    assert calibration(answers_of(scores.score(log_proba, y), y), ("", "map")).p_value == pytest.approx(1 / 201)


def test_labels_are_simulated_once_for_the_table_and_the_facts(monkeypatch):
    times = []
    simulated = scores.errors_if_calibrated
    monkeypatch.setattr(scores, "errors_if_calibrated", lambda *a, **k: times.append(1) or simulated(*a, **k))
    clf, (X, y) = gaussian(*normal_rows(60))
    comparison = bc.compare({"nb": clf}, X, y, repeats=1)
    line = comparison.table.set_index("rule").loc[comparison.best[1]]
    shown = {fact.name: fact.value for fact in facts(comparison, comparison.best, comparison.classes, (0, 1))}
    own = pair(line["calibration_error"], line["calibration_error_se"])
    assert f"{own} (chance alone: {line['calibration_expected']:.3f})" == shown["Calibration error"]
    assert len(times) == len(comparison.table)


def test_the_pages_of_a_comparison_and_of_a_classifier_have_the_same_numbers():
    X, y = normal_rows(60, distance=3.0)
    models = {"lr": bc.LogisticRegression(inference="map"), "nb": bc.NaiveBayes(families="gaussian")}
    comparison = bc.compare(models, X, y)
    clf = bc.NaiveBayes(families="gaussian", random_state=0).fit(X, y)
    own = Context.of(clf, X, y, None).held_out
    for rule in comparison.rules_of("nb"):
        of_comparison = comparison.answers["nb", rule].scores[0].log_proba
        np.testing.assert_array_equal(own.answers["", rule].scores[0].log_proba, of_comparison)
    np.testing.assert_array_equal(clf.predict_proba(X), comparison.fits["nb"].predict_proba(X))


def test_rows_where_the_rules_disagree_are_named():
    X, y = normal_rows(24, 6, distance=0.3)
    evidence = found(gaussian(X, y), "Y05").evidence
    rules = ["map", "bayes-optimal", "predictive"]
    assert len(evidence)
    assert "mean" not in evidence  # which comparisons show only on request
    assert (evidence[rules].nunique(axis=1) > 1).all()
    assert (y[evidence["row"] - 1] == evidence["label"]).all()  # rows are counted from 1


def test_the_next_step_of_unlike_data_says_whether_columns_or_classes_are_meant():
    X, y = normal_rows(200)
    skewed = found(gaussian(np.exp(X), y), "Y07")
    assert "families='auto'" in skewed.next_step
    assert "(gaussian) in class" in skewed.reason
    rng = np.random.default_rng(2)
    codes = np.arange(400) % 10 < 3
    wind = np.where(codes == (rng.random(400) < 0.7), "strong", "weak").astype(object)
    X = pd.DataFrame({f"wind{j}": wind for j in range(6)})
    dependent = found(naive(X, codes.astype(int)), "Y07")
    assert set(dependent.evidence["statistic"]) == {"class_count_given_x"}
    assert "dependent columns" in dependent.next_step
    assert "families=" not in dependent.next_step
