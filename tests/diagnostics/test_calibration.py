"""Checks of held-out predictions: over-confidence is found, and each cause is named where it is the cause."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers.faults import diagnose, few_rows, gaussian, logistic, naive, normal_rows, repeated, word_rows

import bayesclf as bc
from bayesclf.diagnostics import CHECKS
from bayesclf.diagnostics.calibration import _if_calibrated
from bayesclf.diagnostics.causes import Cause, Explanation, Step
from bayesclf.diagnostics.context import Context
from bayesclf.diagnostics.held_out import HeldOut, dependence
from bayesclf.evaluation import scores
from bayesclf.models.generative import independent_groups

NAMES = {
    "rows": "the cause is few rows",
    "prior": "the cause is the prior",
    "independence": "the cause is what the model assumes about its columns, independence",
    "shape": "the cause is what the model assumes about its columns, their shape",
    None: "the cause is not identified",
}


def found(case, code="Y03", **arguments):
    clf, (X, y) = case
    return clf.diagnose(X, y, checks=[code], **arguments)[code]


def named(finding):
    """Return which cause is named; "nothing" where there is no over-confidence."""
    said = [name for name, words in NAMES.items() if words in finding.reason]
    return said[0] if said else "nothing"


def log_normal(rows=400, seed=1):
    X, y = normal_rows(rows, 6, distance=0.6, seed=seed)
    return gaussian(np.exp(1.2 * X), y)


def test_over_confidence_of_dependent_columns_comes_from_their_independence():
    finding = found(repeated())
    assert (finding.section, named(finding)) == ("issue", "independence")
    assert "bayes-optimal" not in finding.next_step
    removed = finding.evidence.set_index("rule")["removed"].dropna()
    assert removed["permuting columns within the classes"] > 0.15
    assert abs(removed["going from half of the rows to all"]) < 0.05


@pytest.mark.slow
def test_over_confidence_of_log_normal_columns_comes_from_their_shape_and_not_from_few_rows():
    finding = found(log_normal())
    assert (finding.section, named(finding)) == ("issue", "shape")
    assert "transform" in finding.next_step


def test_over_confidence_of_one_estimate_is_removed_by_averaging_with_its_error():
    finding = found(few_rows())
    assert finding.section == "issue"
    assert "averaging over the posterior removes +0.0" in finding.reason
    assert "'bayes-optimal'" in finding.next_step
    gap = finding.evidence.set_index("rule")["over_confidence"]
    assert gap["bayes-optimal"] < gap["mean"] - 0.05
    clf, rows = few_rows()
    passed = found((clf.set_params(rule="bayes-optimal"), rows))
    assert passed.section == "passed"
    assert "averaging removes +0.0" in passed.reason


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_few_rows_and_the_prior_of_true_models_are_not_blamed_on_assumptions_nor_one_on_the_other():
    """Logistic regression of 20 independent columns, which averaging leaves over-confident under the default prior."""
    said = [
        named(found(logistic(*normal_rows(60, 20, 0.3, seed), inference=bc.engines.Laplace(draws=500, limit=np.inf))))
        for seed in range(4)
    ]
    assert set(said) <= {None, "nothing"}
    assert None in said


@pytest.mark.slow
def test_the_cause_does_not_change_with_the_seed():
    """Of three kinds of rows, six samples each: the cause that is true, or none."""
    cases = {
        "independence": lambda seed: gaussian(*_repeated(seed)),
        "shape": lambda seed: log_normal(seed=seed),
        None: lambda seed: gaussian(*normal_rows(60, 30, distance=0.2, seed=seed)),
    }
    for true, case in cases.items():
        said = [named(found(case(seed))) for seed in range(6)]
        assert set(said) <= {true, None, "nothing"}, said
        assert true is None or said.count(true) >= 4, said


def _repeated(seed):
    X, y = normal_rows(400, 1, seed=seed)
    noise = np.random.default_rng(seed).normal(0, 0.05, size=(400, 6))
    return pd.DataFrame(X.to_numpy() + noise, columns=list("abcdef")), y


GAP = Step(0.2, 0.01)


@pytest.mark.parametrize(
    ("removed", "cause"),
    [
        ([0.19, 0.01, 0.0], 0),
        ([0.01, 0.19, -0.3], 1),
        ([0.19, 0.19, 0.0], None),  # two would do
        ([0.19, 0.09, 0.0], None),  # the second may be half of it
        ([0.01, 0.02, -0.3], None),  # none is it
        ([0.19, None, 0.0], None),  # one was not tested
    ],
)
def test_a_cause_is_named_only_if_the_others_are_ruled_out(removed, cause):
    steps = [None if mean is None else Step(mean, 0.01) for mean in removed]
    made = tuple(Cause(name, "that", name, step) for name, step in zip("abc", steps, strict=True))
    explanation = Explanation(GAP, made)
    assert explanation.cause is (None if cause is None else made[cause])
    assert ("not identified" in str(explanation)) == (cause is None)
    if cause is None:
        assert "ruled out" not in str(explanation)
        told = sorted(made, key=lambda one: str(explanation).index(str(one)))
        sizes = [-np.inf if one.removed is None else one.removed.mean for one in told]
        assert sizes == sorted(sizes, reverse=True)
        helpful = [one.name for one in told if one.removed is None or one.removed.mean > -0.02]
        assert explanation.next_step == f"try, and compare: {'; '.join(helpful)}"
    else:
        assert explanation.next_step == made[cause].remedy


def test_under_confidence_that_independence_causes_is_not_blamed_on_the_prior():
    """Two columns whose difference tells the class, each with noise that they share."""
    rng = np.random.default_rng(1)
    codes = np.arange(400) % 2
    shared, own = rng.normal(0, 3, size=400), rng.normal(0, 0.5, size=(400, 2))
    X = pd.DataFrame({"a": shared + codes + own[:, 0], "b": shared - codes + own[:, 1]})
    finding = found(gaussian(X, codes), "Y02")
    assert "under-confident" in finding.reason
    assert named(finding) == "independence"
    assert "GaussianDiscriminantAnalysis" in finding.next_step
    assert "prior" not in finding.next_step


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["map", "auto"])
def test_a_prior_that_is_too_narrow_is_tested_under_the_rule_of_the_fit(engine):
    X, y = normal_rows(300)
    clf = bc.LogisticRegression(prior_scale=0.05, inference=engine, random_state=1).fit(X, y)
    found = clf.diagnose(X, y, checks=["Y02"])["Y02"]
    assert found.section == "issue"
    assert "under-confident" in found.reason
    assert "prior" in found.next_step


@pytest.mark.slow
def test_the_pairs_that_independence_is_wrong_about_are_named():
    X, y = normal_rows(400, 3, seed=2)
    noise = np.random.default_rng(2).normal(0, 0.05, size=(400, 2))
    X = X.set_axis(list("abc"), axis=1).assign(d=X.iloc[:, 0] + noise[:, 0], e=X.iloc[:, 0] + noise[:, 1])
    finding = found(gaussian(X, y))
    assert named(finding) == "independence"
    assert "(taken for independent, but probably dependent given the class: " in finding.next_step
    assert all(pair in finding.next_step for pair in ("'a' with 'd'", "'a' with 'e'", "'d' with 'e'"))
    assert "'b' with" not in finding.next_step


@pytest.mark.slow
def test_a_table_without_names_is_refitted_without_a_warning():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = (y + rng.normal(0, 1.5, 200))[:, None] + rng.normal(0, 0.05, (200, 10))
    clf = bc.GaussianNB(random_state=1).fit(X, y)
    assert "permuting columns within the classes" in clf.diagnose(X, y, checks=["Y03"])["Y03"].reason


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


def test_the_folds_are_those_of_a_comparison():
    X, y = normal_rows(60)
    compared = bc.compare(bc.GaussianNB(), X, y, ["map"], repeats=1)
    for seed in (2**40, 2**40 + 1):
        answers = Context.of(bc.GaussianNB(random_state=seed).fit(X, y), X, y, None, None).held_out
        assert answers.numbers.tolist() == np.concatenate([test for _, test in compared.splits]).tolist()


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
    assert "worse than none" in finding.reason
    line = finding.evidence.set_index("score").loc["log_loss"]
    assert line["better"] == "no"


def test_columns_of_noise_have_no_gain_but_are_not_an_issue():
    losses = 0
    for seed in range(10):
        finding = found(gaussian(*normal_rows(100, distance=0.0, seed=seed)), "Y01")
        gain, error = finding.evidence["gain"], finding.evidence["gain_se"]
        losses += (gain <= 0).any()
        assert (finding.section == "issue") == (gain < -1.96 * error).any()
        possible = (gain + 1.96 * error > 0.05 * finding.evidence["frequencies"]).all()
        assert (finding.section == "passed") == possible or finding.section == "issue"
        if finding.section != "issue":
            assert ("the loss in" in finding.reason) == (gain <= 0).any()
            assert ("the gain in" in finding.reason) == (gain > 0).any()
    assert losses >= 5  # as estimates cost something
    assert found(gaussian(*normal_rows(300, distance=0.0)), "Y01").section == "tip"


def test_a_class_that_a_fold_lacks_has_a_small_share():
    X, y = normal_rows(100, distance=3.0)
    y[7] = "maybe"
    finding = found(gaussian(X, y), "Y01")
    assert finding.section == "passed"
    assert "inf" not in finding.reason
    assert np.isfinite(finding.evidence[["frequencies", "gain"]].to_numpy()).all()


def test_too_sure_here_and_not_sure_enough_there_is_not_called_over_confident():
    """Answers of 95 % and of 55 %, three in four of which are right."""
    confidence, right = np.repeat([0.95, 0.55], 200), np.arange(400) % 4 > 0
    scored = scores.score(np.log(np.column_stack([confidence, 1 - confidence])), (~right).astype(int))
    numbers = np.arange(400)
    answers = HeldOut("map", {"map": scored}, (~right).astype(int), numbers, np.full((400, 2), 0.5), (), "told", 320.0)
    finding = CHECKS["Y02"](SimpleNamespace(held_out=answers, seed=1))
    assert finding.section == "issue"
    assert "too sure in some places and not sure enough in others" in finding.reason
    assert "Y03" not in finding.next_step


@pytest.mark.slow
def test_over_and_under_confidence_have_their_own_advice():
    over = found(repeated(), "Y02")
    assert "; over-confident" in over.reason
    assert "Y03" in over.next_step
    timid = logistic(*normal_rows(300, distance=2.0), prior_scale=0.1, inference=bc.engines.Laplace(draws=250))
    under = found(timid, "Y02")
    assert under.section == "issue"
    assert "; under-confident" in under.reason
    assert "the prior (a learned prior removes" in under.reason
    assert "such as prior_scale='learned'" in under.next_step
    assert "prior_scale" not in over.next_step + found(repeated(), "Y03").next_step  # naive Bayes has none
    passed = found(timid, "Y03")
    assert (passed.section, passed.reason.startswith("under-confident")) == ("passed", True)
    assert "under-confident" not in found(gaussian(*normal_rows(300)), "Y03").reason


def test_a_model_that_takes_no_columns_for_independent_is_not_said_to():
    X, y = normal_rows(100)
    joint = bc.GaussianDiscriminantAnalysis(random_state=1).fit(X, y)
    reason = found((joint, (X, y)), "Y03").reason
    assert "the model treats no columns as independent" in reason
    assert "correlate" not in reason


def test_columns_are_independent_but_where_family_or_edges_join_them():
    X, y = word_rows(60)
    words = pd.DataFrame({name: np.roll(X["wind"], shift) for shift, name in enumerate("abcd")})
    numbers = normal_rows(60)[0]

    def groups(clf, table):
        return list(independent_groups(clf.fit(table, y).model_).values())

    assert groups(bc.CategoricalNB(), words) == [0, 1, 2, 3]
    assert groups(bc.JointBayes(), words) == [0, 0, 0, 0]
    assert groups(bc.BayesNetClassifier(), words) == [0, 0, 0, 0]
    assert groups(bc.BayesNetClassifier([("a", "c")]), words) == [0, 1, 0, 2]
    assert groups(bc.GaussianDiscriminantAnalysis(), numbers) == [0, 0]
    assert len(set(groups(bc.NaiveBayes(), words.assign(x=numbers["x0"])))) == 5


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
    assert "treated as independent correlate by at most" in found(gaussian(*normal_rows(300)), "Y03").reason


def test_the_model_to_compare_with_can_be_given_fitted_or_not():
    case = gaussian(*normal_rows(100))
    one, other = (
        found(case, "Y03", against=against).evidence
        for against in (
            bc.LogisticRegression(prior_scale=2.5),
            bc.LogisticRegression(prior_scale=2.5, inference="map").fit(*normal_rows(50)),
        )
    )
    pd.testing.assert_frame_equal(one, other)
    assert one["rule"].iloc[-1] == "reference"


def test_rows_where_the_rules_disagree_are_named():
    X, y = normal_rows(24, 6, distance=0.3)
    evidence = found(gaussian(X, y), "Y05").evidence
    rules = ["map", "mean", "bayes-optimal", "predictive"]
    assert len(evidence)
    assert (evidence[rules].nunique(axis=1) > 1).all()
    assert (y[evidence["row"] - 1] == evidence["label"]).all()  # rows are counted from 1


def test_without_rows_predictions_are_not_judged():
    clf, _ = gaussian(*normal_rows(60))
    sections = {finding.code: finding.section for finding in diagnose((clf,), ["Y"]).findings}
    assert sections.pop("Y06") == "not applicable"  # no rows to be predicted were given
    assert set(sections.values()) == {"skipped"}


def test_the_next_step_of_unlike_data_says_whether_columns_or_classes_are_meant():
    X, y = normal_rows(200)
    skewed = found(gaussian(np.exp(X), y), "Y07")
    assert "another family" in skewed.next_step
    assert "of 'x0' (gaussian) in class" in skewed.reason
    rng = np.random.default_rng(2)
    codes = np.arange(400) % 10 < 3
    wind = np.where(codes == (rng.random(400) < 0.7), "strong", "weak").astype(object)
    X = pd.DataFrame({f"wind{j}": wind for j in range(6)})
    dependent = found(naive(X, codes.astype(int)), "Y07")
    assert set(dependent.evidence["statistic"]) == {"class_count_given_x"}
    assert "dependent columns" in dependent.next_step
    assert "another family" not in dependent.next_step
