"""Comparisons of classifiers and rules on the same folds."""

from itertools import count
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers.suites import mainly
from scipy import sparse
from sklearn.model_selection import RepeatedStratifiedKFold

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.evaluation import comparison as of_models, cross_validation
from bayesclf.evaluation.judgments import label_copies, too_good
from bayesclf.report.verdict import verdict
from bayesclf.rules import RULES, Gibbs

COST = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 4.0, 0.0]])
"""Taking virginica for versicolor costs four times any other mistake."""


@pytest.fixture(scope="module")
def models():
    return {"gnb": bc.GaussianNB(), "lr": bc.LogisticRegression(prior_scale=2.5, inference="map")}


@pytest.fixture(scope="module")
def comparison(iris, models):
    return bc.compare(models, *iris, "all", cv=3, repeats=2, random_state=4)


def test_predictions_are_those_of_refits_on_the_same_folds(comparison, iris):
    X, y = iris
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=4)
    expected = np.empty((2, len(y), 3))
    for index, (train, test) in enumerate(folds.split(X, y)):
        clf = bc.GaussianNB().fit(X.iloc[train], y[train])
        expected[index // 3, test] = clf.predict_proba(X.iloc[test], rule="predictive")
    for repeat in range(2):
        scored = comparison.answers["gnb", "predictive"].scores[repeat]
        np.testing.assert_allclose(np.exp(scored.log_proba), expected[repeat], rtol=0, atol=1e-12)


def test_table_means_are_means_over_rows_and_repeats(comparison, iris):
    frame = comparison.predictions
    lines = frame[(frame["model"] == "gnb") & (frame["rule"] == "bayes-optimal")]
    own = lines[[f"P({name})" for name in comparison.classes]].to_numpy()
    truth = np.searchsorted(comparison.classes, lines["label"])
    line = comparison.table.set_index(["model", "rule"]).loc[("gnb", "bayes-optimal")]
    assert line["log_loss"] == pytest.approx(-np.log(own[np.arange(len(own)), truth]).mean())
    assert line["accuracy"] == pytest.approx((lines["predicted"] == lines["label"]).mean())
    drawn, best = (comparison.stacked("gnb", rule)[0].argmax(axis=1) for rule in ("gibbs", "bayes-optimal"))
    found = comparison.table.set_index(["model", "rule"])["disagreement"]["gnb", "gibbs"]
    assert found == pytest.approx((drawn != best).mean(), abs=0.03)  # the expectation, and one draw of each row


def test_a_rule_that_cannot_answer_has_its_reason(comparison):
    table = comparison.table.set_index(["model", "rule"])
    assert "no posterior" in table.loc[("lr", "gibbs"), "reason"]
    assert "separable" in table.loc[("lr", "mle"), "reason"]
    assert np.isnan(table.loc[("lr", "gibbs"), "accuracy"])
    assert comparison.rules_of("lr") == ("map",)


def test_differences_are_paired_on_rows_with_the_best_line(comparison):
    table = comparison.table.set_index(["model", "rule"])
    assert table.loc[comparison.best, "log_loss_diff"] == 0
    best, mle = (comparison.answers[key].scores for key in (comparison.best, ("gnb", "mle")))
    difference = np.array([one.log_loss - other.log_loss for one, other in zip(mle, best, strict=True)])
    # each fold's part of its repeat's deviation, two repeats of three folds
    left = difference - difference.mean(axis=0)
    parts = [left[index // 3][test].sum() / 150 for index, (_, test) in enumerate(comparison.splits)]
    of_folds = 2 * np.sum(np.square(parts)) / 2**2
    of_rows = difference.mean(axis=0).var(ddof=1) * (1 / 150 + 1 / 100)
    assert table.loc[("gnb", "mle"), "log_loss_diff_se"] == pytest.approx(np.sqrt(of_rows + of_folds))


@pytest.fixture(scope="module")
def with_costs(iris, models):
    return bc.compare({"gnb": models["gnb"]}, *iris, "all", cv=3, repeats=2, random_state=4, cost=COST, reject=0.2)


@pytest.mark.parametrize("rule", ["mle", "map", "mean", "bayes-optimal", "predictive"])
def test_the_cost_is_that_of_chows_decisions_a_rejection_at_its_limit(with_costs, rule):
    frame = with_costs.predictions[lambda lines: lines["rule"] == rule]
    truth = np.searchsorted(with_costs.classes, frame["label"])
    expected = frame[[f"P({name})" for name in with_costs.classes]].to_numpy() @ COST
    kept = expected.min(axis=1) <= 0.2
    paid = np.where(kept, COST[truth, expected.argmin(axis=1)], 0.2)
    line = with_costs.table.set_index("rule").loc[rule]
    assert line["cost"] == pytest.approx(paid.mean())
    assert line["rejected"] == pytest.approx((~kept).mean())
    assert 0 < line["rejected"] < 0.5
    assert frame["decided"].isna().to_numpy().tolist() == (~kept).tolist()
    assert frame["decided"][kept].tolist() == with_costs.classes[expected.argmin(axis=1)[kept]].tolist()
    of_rows = paid.reshape(2, 150).mean(axis=0)
    assert line["cost_se"] == pytest.approx(np.sqrt((1 / 150 + 1 / 100) * of_rows.var(ddof=1)))


def test_disagreements_have_probabilities_and_cells_and_the_largest_gap_first(comparison):
    frame = comparison.disagreements
    frame = frame[frame["model"] == "gnb"]
    assert frame["gap"].is_monotonic_decreasing
    line = frame.iloc[0]
    proba = np.exp([comparison.answers["gnb", r].scores[0].log_proba[line["row"]] for r in RULES if r != "gibbs"])
    assert line["gap"] == pytest.approx(np.ptp(proba, axis=0).max())
    assert line["P(map)"] == pytest.approx(np.exp(-comparison.answers["gnb", "map"].scores[0].log_loss[line["row"]]))
    pd.testing.assert_series_equal(
        line[comparison.X.columns], comparison.X.iloc[line["row"]], check_names=False, check_dtype=False
    )


def test_cells_come_last_where_a_later_model_has_rules_of_its_own(rng):
    X, y = (
        pd.DataFrame({"u": rng.normal(size=80)}).assign(v=lambda X: X["u"] + rng.normal(size=80) / 5),
        np.arange(80) % 2,
    )
    found = bc.compare({"gnb": bc.GaussianNB(), "nb": bc.NaiveBayes()}, X, y, cv=2, repeats=1).disagreements
    assert "P(tempered)" in found
    assert found.columns[-2:].tolist() == ["u", "v"]


@pytest.mark.slow
def test_numbers_do_not_depend_on_the_number_of_workers(comparison, iris, models):
    again = bc.compare(models, *iris, "all", cv=3, repeats=2, random_state=4, n_jobs=2)
    pd.testing.assert_frame_equal(again.table, comparison.table)
    pd.testing.assert_frame_equal(again.predictions, comparison.predictions)


def test_progress_is_told_after_each_unit(iris, models):
    told = []
    bc.compare({"gnb": models["gnb"]}, *iris, cv=3, repeats=1, progress=lambda *news: told.append(news))
    assert told == [("gnb", done, 4) for done in range(1, 5)]


@pytest.mark.parametrize("jobs", mainly([1, 2], 1))
def test_models_whose_fits_remain_once_the_time_is_over_are_left_out(comparison, iris, models, monkeypatch, jobs):
    """The numbers of the others are those of a comparison without a limit."""
    ticks = count()
    monkeypatch.setattr(of_models, "time", SimpleNamespace(perf_counter=lambda: 60.0 * next(ticks)))
    options = {"rules": ["map", "predictive"], "cv": 3, "repeats": 2, "random_state": 4, "n_jobs": jobs}
    found = bc.compare(models, *iris, max_seconds=600.0, **options)
    assert found.left_out == ("lr",)
    assert list(found.fits) == list(found.seconds) == ["gnb"]
    for rule in options["rules"]:
        np.testing.assert_array_equal(found.stacked("gnb", rule)[0], comparison.stacked("gnb", rule)[0])
        assert found.answers["lr", rule].reason == "the time limit of 10 minutes was reached"
    assert "the time limit of 10 minutes was reached" in " ".join(verdict(found).cautions)


def test_no_fold_is_repeated_once_the_time_is_over(monkeypatch):
    rng, told, y = np.random.default_rng(0), [], np.arange(120) % 2
    models = {"own": bc.GaussianNB("class-feature"), "shared": bc.GaussianNB("shared")}
    options = {"rules": ["map"], "progress": lambda *news: told.append(news)}
    X = rng.normal(size=(120, 2)) + 0.25 * y[:, None]
    ticks = count()
    monkeypatch.setattr(of_models, "time", SimpleNamespace(perf_counter=lambda: 1.0 * next(ticks)))
    found = bc.compare(models, X, y, max_seconds=12.5, **options)  # a fit a second, twelve in a repeat
    assert (found.repeats, found.left_out, len(told)) == (1, (), 12)
    found = bc.compare(models, X, y, max_seconds=14.5, boosting=True, **options)  # over in the second repeat
    assert (found.repeats, found.left_out) == (1, ("boosting",))
    assert [counts for _, *counts in told[23:]] == [[12, 12], [13, 42], [14, 42], [15, 20]]


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), "an hour", True])
def test_times_that_cannot_be(iris, models, seconds):
    with pytest.raises(InputError, match="max_seconds must be above 0"):
        bc.compare(models, *iris, max_seconds=seconds)


def test_a_note_that_only_folds_have_says_so():
    sampled = "the posterior was sampled by slice sampling, because importance weights would be less accurate"
    laplace = "the posterior was sampled by Laplace approximation, corrected by importance weights: k̂ = 0.01"
    notes = cross_validation.gathered([laplace], [[sampled], [laplace, "a 1", "a 2"], [sampled, "a 3"]])
    assert notes == [laplace, f"in 2 of 3 folds, {sampled}", "in 2 of 3 folds, a 1"]


def test_where_laplace_is_refused_only_the_point_is_left_and_the_note_says_so(iris):
    clf = bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.Laplace(limit=0.01))
    comparison = bc.compare({"lr": clf}, *iris, "all", cv=2, repeats=1)
    assert isinstance(comparison.fits["lr"].inference_, bc.engines.MAP)
    assert any("there is no posterior" in note for note in comparison.notes["lr"])
    assert comparison.rules_of("lr") == ("map",)


def test_its_fits_are_those_without_a_comparison(iris):
    found = bc.compare([bc.LogisticRegression(prior_scale=2.5)], *iris, ["map"], cv=2, repeats=1, random_state=7)
    alone = bc.LogisticRegression(prior_scale=2.5, random_state=7).fit(*iris)
    np.testing.assert_array_equal(found.fits["lr"].predict_proba(iris[0]), alone.predict_proba(iris[0]))


def test_a_class_with_fewer_rows_than_folds_is_remarked_on(iris):
    X, y = iris
    y = np.where(np.arange(len(y)) < 2, "rare", y)
    comparison = bc.compare({"gnb": bc.GaussianNB()}, X, y, cv=5, rules=["map", "predictive"])
    assert any("2 rows, fewer than the 5 folds" in note for note in comparison.notes["gnb"])
    assert np.isfinite(comparison.table["log_loss"]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rules": ["bayes"]}, "unknown rule 'bayes'; the rules are mle, map"),
        ({"rules": [Gibbs(draw=7)]}, r"rules must be names, not Gibbs\(draw=7, given='data'\); 'gibbs' has"),
        ({"models": bc.GaussianNB(rule=Gibbs(draw=7))}, r"not rule=Gibbs\(draw=7, given='data'\); give rule='gibbs'"),
        ({"cv": 1}, "cv must lie between 2 and the number of rows, 150"),
        ({"cv": 60}, "cv=60 needs a class with at least 60 rows, but the largest has 50"),
        ({"cost": np.ones((2, 2))}, r"cost must be a finite matrix .* of shape \(3, 3\)"),
        ({"cost": np.full((3, 3), np.nan)}, r"cost must be a finite matrix .*, but cost\[0, 0\] is nan"),
        ({"reject": -0.5}, "reject is an expected cost"),
        ({"groups": [1, 2]}, "groups must have one value for each of 150 rows"),
        ({"groups": np.arange(150) % 3}, r"the rows of 3 groups do not fill 5 folds; use fewer, cv=3"),
        ({"groups": np.zeros(150), "cv": 2}, "do not fill 2 folds; give groups of at least two values"),
        ({"groups": np.where(np.arange(150) == 2, np.nan, 1.0)}, "groups must name .* and has none in row 3"),
        ({"groups": np.arange(150), "cv": [(range(50), range(50, 150))]}, "groups go with a number of folds"),
    ],
)
def test_options_that_cannot_be(iris, models, arguments, message):
    with pytest.raises(InputError, match=message):
        bc.compare(**{"models": models, "X": iris[0], "y": iris[1]} | arguments)


def test_groups_that_say_which_folds_there_are(rng):
    """As many groups as folds have one way to be folds; a class of one group is not in training rows and test rows."""
    group, y = np.repeat(np.arange(5), 12), np.where(np.arange(60) < 12, "r", np.where(np.arange(60) % 2, "p", "q"))
    X, rules = rng.normal(size=(60, 2)), ["predictive"]
    found = bc.compare({"nb": bc.GaussianNB()}, X, y, rules=rules, repeats=3, groups=group)
    assert found.repeats == 1
    assert "a class has 1 group, fewer than the 5 folds" in found.notes["nb"][0]


def test_repeated_rows_are_told_unless_folds_keep_them_together_or_rows_are_alike_by_nature(rng):
    noise, drawn, person = pd.DataFrame(rng.normal(size=(60, 4))), rng.integers(2, size=60), np.tile(np.arange(60), 4)
    X, y = pd.concat([noise] * 4, ignore_index=True), pd.Series(np.tile(drawn, 4))
    told = {}
    for way, groups in {"spread": None, "grouped": person}.items():
        told[way] = bc.compare({"nb": bc.GaussianNB()}, X, y, rules=["map"], repeats=2, groups=groups)
    ((reason, remedy),) = told["spread"].too_good
    assert "bc.compare(models, X, y, groups=groups)" in remedy
    twins = sum(np.isin(person[test], person[train]).sum() for train, test in told["spread"].splits[:5])
    assert not any(np.isin(person[test], person[train]).any() for train, test in told["grouped"].splits)
    assert reason.startswith(f"{twins} of 240 held-out rows equal a training row, label included")
    assert f"{twins} of 240 held-out rows" in " ".join(str(told["spread"]).split())
    assert told["grouped"].too_good == []
    once = ~X.assign(label=y).duplicated()
    assert bc.compare({"nb": bc.GaussianNB()}, X[once], y[once], rules=["map"]).too_good == []
    number = X[[0]].assign(sex=np.tile(rng.choice(["m", "f"], 60), 4))  # without the number, all rows are alike
    assert len(too_good(number, y.to_numpy(), told["spread"].splits[:5])) == 1
    rounded = pd.DataFrame({"age": rng.normal(50, 10, 300).round(), "sex": rng.choice(["m", "f"], 300)})
    assert too_good(rounded, rng.integers(2, size=300), [(np.arange(200), np.arange(200, 300))]) == []
    alike, answers = pd.DataFrame(rng.integers(3, size=(300, 4))).astype(str), rng.integers(2, size=300)
    assert alike.assign(y=answers).duplicated().mean() > 0.2
    assert bc.compare({"nb": bc.CategoricalNB()}, alike, answers, rules=["map"]).too_good == []


def test_columns_that_give_the_label_away_are_named_and_informative_ones_are_not(rng):
    y = rng.integers(3, size=90)
    street = [f"{label}{number}" for label, number in zip(y, rng.integers(3, size=90), strict=True)]
    numbers, words = rng.normal(size=90) + 9 * y, np.array(list("aab"))[y]
    X = pd.DataFrame({"far": numbers, "code": np.array([7.0, 3.0, np.nan])[y], "street": street, "some": words})
    assert label_copies(X, y) == ["code", "street"]
    assert label_copies(X[:5], y[:5]) == []  # which may be by chance
    found = bc.compare({"nb": bc.NaiveBayes(inference="map")}, X, y, cv=3, rules=["map"])
    judged = verdict(found)
    caution = judged.cautions[0]
    assert judged.headline.endswith("But these scores may be too good, as explained below.")
    assert caution.startswith("Columns 'code' and 'street' each determine the label on every row")
    assert "X.drop(columns=['code', 'street'])" in caution


def test_a_sparse_table_is_refused(iris):
    with pytest.raises(InputError, match="needs a dense table, not a sparse one"):
        bc.compare({"counts": bc.MultinomialNB()}, sparse.csr_array(iris[0].to_numpy()), iris[1])


def test_a_clear_gain_that_does_not_matter_is_called_that(rng):
    x = rng.normal(size=40_000)
    y = (rng.logistic(size=len(x)) < 0.2 * x).astype(int)  # .005 nats, and .0005 its error
    found = bc.compare([bc.GaussianNB(inference="map")], x[:, None], y, cv=2, repeats=1, rules=["map"])
    judged = verdict(found)
    assert judged.headline.startswith(
        "No model is better, by enough to matter, than always predicting the class shares: "
    )
    assert not judged.useful
    assert judged.next_step.startswith("gather rows, or columns")
