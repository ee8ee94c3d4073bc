"""Naive Bayes against logistic regression: the rows of each problem, the curves by other routes, and what is said."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.preprocessing import StandardScaler

from bayesclf.errors import InputError
from bayesclf.experiments import find, nested, ng_jordan, problems
from bayesclf.experiments.curves import Crossing, crossing, last_crossing
from bayesclf.experiments.ng_jordan import averaging, judge, with_every_rule
from bayesclf.models.logistic.model import LogisticPrior
from bayesclf.tables import shipped

EXPERIMENT = find("ng-jordan")

ROWS = {
    "pima": (768, 8, 2),
    "adult": (48842, 6, 2),
    "boston": (506, 13, 2),
    "optdigits-0-1": (1125, 64, 2),
    "optdigits-2-3": (1129, 64, 2),
    "ionosphere": (351, 34, 2),
    "liver": (345, 6, 2),
    "sonar": (208, 60, 2),
    "adult-discrete": (48842, 8, 2),
    "promoters": (106, 57, 2),
    "lymphography": (142, 18, 2),
    "breast-cancer": (286, 9, 2),
    "lenses": (9, 4, 2),
    "sick": (3772, 22, 2),
    "votes": (435, 16, 2),
}


def learnt(learner, rows):
    """Return predictions of a point estimate's learner after it was given rows in two parts."""
    learner.extend(rows[: len(rows) // 2])
    learner.extend(rows[len(rows) // 2 :])
    return learner


def log_proba(learner, encoded, test, rule):
    return nested.answers(learner, encoded, test, [rule], 0)[rule].log_proba


@pytest.mark.parametrize("name", problems.PROBLEMS)
def test_a_problem_has_its_rows_columns_and_classes(name, request):
    if problems.PROBLEMS[name].dataset in shipped.NAMED:
        request.getfixturevalue("data_folder")
    problems.load.cache_clear()
    encoded = problems.load(name)
    assert (len(encoded), len(encoded.features), len(encoded.labels)) == ROWS[name]


def test_a_split_is_disjoint_and_starts_with_every_class(rng):
    encoded = problems.load("iris")
    train, test = nested.split(encoded, rng, 40)
    assert len(test) == 40
    assert sorted([*train, *test]) == list(range(150))
    assert set(encoded.y[train[:3]]) == {0, 1, 2}
    assert nested.sizes_of(encoded, (4, 9, 500), 40) == (4, 9, 110)
    assert nested.sizes_of(encoded, (4, 9), 40) == (4, 9)


def test_gaussian_naive_bayes_learnt_in_parts_is_that_of_another_library(rng):
    encoded = problems.load("wine")
    train, test = nested.split(encoded, rng, 60)
    learner = learnt(nested.NaiveBayes(encoded, "class-feature"), train[:80])
    other = GaussianNB(var_smoothing=0.0).fit(encoded.X[train[:80]], encoded.y[train[:80]])
    np.testing.assert_allclose(
        log_proba(learner, encoded, test, "mle"), other.predict_log_proba(encoded.X[test]), rtol=1e-8, atol=1e-12
    )


def test_categorical_naive_bayes_learnt_in_parts_is_that_of_another_library(rng):
    encoded = problems.load("play-tennis")
    train, test = nested.split(encoded, rng, 4)
    learner = learnt(nested.NaiveBayes(encoded), train[:9])
    other = CategoricalNB(alpha=1.0, min_categories=[len(values) for values in encoded.levels])
    other.fit(encoded.X[train[:9]], encoded.y[train[:9]])
    np.testing.assert_allclose(
        log_proba(learner, encoded, test, "map"), other.predict_log_proba(encoded.X[test]), rtol=1e-10
    )


def test_logistic_regression_learnt_in_parts_is_that_of_another_library(rng):
    encoded = problems.load("iris")
    two = np.flatnonzero(encoded.y < 2)
    encoded = problems.Encoded(
        encoded.problem, encoded.X[two], encoded.y[two], encoded.labels[:2], encoded.features, encoded.levels
    )
    train, test = nested.split(encoded, rng, 30)
    prior = LogisticPrior(prior_scale=2.0, intercept_scale=math.inf)
    learner = learnt(nested.Logistic(encoded, prior), train[:40])
    scaler = StandardScaler().fit(encoded.X[train[:40]])
    other = LogisticRegression(C=4.0, tol=1e-10, max_iter=10_000)
    other.fit(scaler.transform(encoded.X[train[:40]]), encoded.y[train[:40]])
    theirs = other.predict_log_proba(scaler.transform(encoded.X[test]))
    np.testing.assert_allclose(log_proba(learner, encoded, test, "map"), theirs, atol=1e-6)


def test_draws_of_nuts_and_laplace_give_the_same_answers(rng, monkeypatch):
    encoded = problems.load("wine")
    train, test = nested.split(encoded, rng, 60)
    learner = learnt(nested.Logistic(encoded, LogisticPrior(prior_scale=0.3, intercept_scale=1.0)), train)
    one = np.exp(log_proba(learner, encoded, test, "bayes-optimal"))

    def refused(*_):
        raise nested.Refused("taken away")

    monkeypatch.setattr(nested.laplace, "sample", refused)
    other = np.exp(log_proba(learner, encoded, test, "bayes-optimal"))
    assert np.abs(one - other).max() > 0  # another engine indeed
    # Where the posterior sd of a probability is 0.1, averages of 500 draws each differ by 0.008 (sd); 177 are compared.
    np.testing.assert_allclose(one, other, atol=0.03)


@pytest.fixture(scope="module")
def records():
    settings = EXPERIMENT.Settings(splits=20, posterior_splits=10, problems="lenses")
    parts = [
        EXPERIMENT.measure(settings, unit, np.random.SeedSequence([7, place]))
        for place, unit in enumerate(EXPERIMENT.units(settings))
    ]
    return settings, pd.DataFrame([record for part in parts for record in part])


def test_sums_are_those_of_single_splits(records):
    _, frame = records
    encoded = problems.load("lenses")
    errors = []
    for seed in np.random.SeedSequence([7, 0]).spawn(10):
        train, test = nested.split(encoded, np.random.default_rng(seed), ng_jordan.MOST_TEST)
        learner = learnt(nested.NaiveBayes(encoded), train[:4])
        errors.append(np.mean(log_proba(learner, encoded, test, "map").argmax(axis=1) != encoded.y[test]))
    own = frame.query("block == 0 and m == 4 and model == 'nb' and rule == 'map'").iloc[0]
    assert own["splits"] == own["answered"] == 10
    assert own["error"] == pytest.approx(sum(errors))
    assert own["error_2"] == pytest.approx(np.square(errors).sum())


def test_rules_that_need_a_posterior_take_every_other_size_and_the_largest(monkeypatch):
    asked = []

    def answers(learner, encoded, test, rules, seed):
        asked.append(tuple(rules))
        return {}

    monkeypatch.setattr(nested, "answers", answers)
    settings = EXPERIMENT.Settings(splits=20, posterior_splits=10, largest=30)
    assert EXPERIMENT.measure(settings, ("iris", 0), np.random.SeedSequence(0)) == []
    every, plug_in = nested.PLUG_IN + nested.AVERAGED, nested.PLUG_IN
    by_size = asked[: 2 * 6 : 2]  # of naive Bayes, at 4, 6, 9, 13, 20 and 30 rows
    assert by_size == [every, plug_in, every, plug_in, every, every]
    asked.clear()
    EXPERIMENT.measure(settings, ("iris", 10), np.random.SeedSequence(0))
    assert set(asked) == {plug_in}


def test_means_and_standard_errors_are_over_the_splits(records):
    settings, frame = records
    line = EXPERIMENT.summarise(settings, frame).query("m == 4 and model == 'nb' and rule == 'map'").iloc[0]
    own = frame.query("m == 4 and model == 'nb' and rule == 'map'")
    mean = own["error"].sum() / 20
    assert line["splits"] == 20
    assert line["error"] == pytest.approx(mean)
    assert line["error_se"] == pytest.approx(math.sqrt((own["error_2"].sum() - 20 * mean**2) / 19 / 20))


def test_every_rule_is_shown_on_the_splits_that_all_answered(records):
    _, frame = records
    assert set(frame["block"]) == {0, 10}
    assert set(with_every_rule(frame)["block"]) == {0}
    plain = frame[frame["rule"].isin(["mle", "map"])]
    assert with_every_rule(plain) is plain


def test_separable_splits_have_no_maximum_likelihood(records):
    settings, frame = records
    table = EXPERIMENT.summarise(settings, frame).set_index(["m", "model", "rule"])
    assert (table.loc[(slice(None), "lr", "map"), "undefined"] == 0).all()
    assert (table.loc[(slice(None), "lr", "mle"), "undefined"] > 0.5).all()


def test_the_page_says_what_the_table_says(records):
    settings, frame = records
    table = EXPERIMENT.summarise(settings, frame)
    results = EXPERIMENT.present(settings, frame, table)
    assert any("lenses: with 4 rows" in sentence for section in results.sections for sentence in section.sentences)
    for section in results.sections:
        for figure in section.figures:
            assert figure.draw().axes


@pytest.fixture
def no_folder(monkeypatch):
    """Name no folder of data; there is no network in tests either."""
    monkeypatch.delenv("BAYESCLF_DATA", raising=False)
    problems.load.cache_clear()
    yield
    problems.load.cache_clear()


def test_without_folder_and_network_thirteen_of_fifteen_problems_run(no_folder):
    names = {problem for problem, _ in EXPERIMENT.units(EXPERIMENT.Settings())}
    assert names == set(problems.PROBLEMS) - {"pima", "boston"}
    further = find("small-data")
    assert {problem for problem, _ in further.units(further.Settings())} == set(problems.ALL_PROBLEMS) - {
        "pima",
        "boston",
    }


def test_the_page_says_which_problems_were_left_out(no_folder, records):
    settings, frame = records
    settings = replace(settings, problems="pima,lenses,boston")
    assert {problem for problem, _ in EXPERIMENT.units(settings)} == {"lenses"}
    results = EXPERIMENT.present(settings, frame, EXPERIMENT.summarise(settings, frame))
    (said,) = [sentence for sentence in results.findings if "Left out" in sentence]
    assert "not available: pima and boston." in said
    assert "BAYESCLF_DATA" in said
    assert "of 1 problem:" in results.headline
    whole = EXPERIMENT.present(replace(settings, problems="lenses"), frame, EXPERIMENT.summarise(settings, frame))
    assert not [sentence for sentence in whole.findings if "Left out" in sentence]


def test_no_problem_at_hand_is_an_error(no_folder):
    with pytest.raises(InputError, match="the problem pima is not available: pima does not ship"):
        EXPERIMENT.units(EXPERIMENT.Settings(problems="pima,boston"))


@pytest.mark.parametrize("name", sorted(set(problems.PROBLEMS) - {"pima", "boston"}))
def test_a_problem_has_the_same_bits_with_and_without_the_folder(name, data_folder, no_folder, monkeypatch):
    shipped = problems.load(name)
    there = {"breast_cancer_ljubljana": "breast_cancer"}.get(shipped.problem.dataset, shipped.problem.dataset)
    if not list(data_folder.glob(f"{there}.csv*")):
        pytest.skip(f"the folder has no {there}")
    monkeypatch.setenv("BAYESCLF_DATA", str(data_folder))
    problems.load.cache_clear()
    monkeypatch.setitem(problems.ALL_PROBLEMS, name, replace(shipped.problem, dataset=f"folder:{there}"))
    folder = problems.load(name)
    np.testing.assert_array_equal(shipped.X, folder.X)
    np.testing.assert_array_equal(shipped.y, folder.y)
    assert (shipped.labels, shipped.features, shipped.levels) == (folder.labels, folder.features, folder.levels)


def test_curves_cross_where_they_do():
    sizes = np.array([4.0, 16.0, 64.0, 256.0])
    assert last_crossing(sizes, np.array([-1.0, -1.0, 1.0, 1.0])) == pytest.approx(32)
    assert last_crossing(sizes, np.array([1.0, -1.0, -1.0, 3.0])) == pytest.approx(64 * 4 ** (1 / 4))
    assert last_crossing(sizes, np.array([1.0, 1.0, 1.0, 1.0])) == 4
    assert last_crossing(sizes, np.array([1.0, 1.0, 1.0, -1.0])) == math.inf


@pytest.mark.slow
def test_intervals_of_a_crossing_hold_it_as_often_as_they_say(rng):
    sizes = np.array([4.0, 16.0, 64.0, 256.0])
    found = [crossing(sizes, np.log(sizes / 30) + rng.normal(0, 1.0, (50, 4)), rng) for _ in range(100)]
    assert all(one.low <= one.m <= one.high for one in found)
    # 90 % of 100, give or take three standard errors
    assert 81 <= sum(one.low < 30 < one.high for one in found) <= 99


def test_one_block_has_no_interval(rng):
    found = crossing(np.array([4.0, 16.0]), np.array([[-1.0, 1.0]]), rng)
    assert found.m == pytest.approx(8)
    assert np.isnan([found.low, found.high]).all()


@pytest.mark.slow
def test_level_curves_are_seldom_judged():
    """Of pairs of level curves one in twenty, at most, is called apart."""
    rng = np.random.default_rng(3)
    sizes = np.array([4, 9, 20, 45, 100, 225])
    judged = []
    for _ in range(200):
        wide = 0.3 + rng.normal(0, 0.02, (30, 2, len(sizes)))
        wide[:, 1, -1] -= 0.1  # logistic regression overtakes at the end
        block, model, m = np.indices(wide.shape).reshape(3, -1)
        frame = pd.DataFrame(
            {
                "problem": "a",
                "block": block,
                "m": sizes[m],
                "model": np.array(["nb", "lr"])[model],
                "rule": "map",
                "answered": 10,
                "error": 10 * wide.ravel(),
            }
        )
        overtaken = Crossing(last_crossing(sizes, (wide[:, 0] - wide[:, 1]).mean(axis=0)), math.nan, math.nan)
        judged.append(judge("a", frame, overtaken, 1000).ahead_first)
    assert sum(judged) <= 0.05 * 200 + 3 * math.sqrt(200 * 0.05 * 0.95)


def curve(nb, lr, blocks=20, problem="made"):
    """Return records of error curves with a little noise over the blocks."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"problem": problem, "block": block, "m": m, "model": model, "rule": "map", "answered": 10, "error": 10 * value}
        for block in range(blocks)
        for model, values in (("nb", nb), ("lr", lr))
        for m, value in zip((4, 20, 100), np.array(values) + rng.normal(0, 0.002, 3), strict=True)
    )


@pytest.mark.parametrize(
    ("nb", "lr", "agrees", "words"),
    [
        ((0.3, 0.2, 0.2), (0.4, 0.25, 0.1), True, "in agreement with the paper"),
        ((0.4, 0.3, 0.2), (0.3, 0.2, 0.1), False, "no clear lead"),
        (
            (0.3, 0.2, 0.1),
            (0.4, 0.3, 0.2),
            False,
            "ahead at the largest size too, which the paper expects of small data",
        ),
        ((0.3, 0.3, 0.1), (0.3, 0.3, 0.2), False, "no clear lead with few rows, but has one at the largest size"),
        ((0.3, 0.2, 0.2), (0.2, 0.25, 0.1), True, "in agreement with the paper"),
        ((0.3, 0.3, 0.2), (0.2, 0.2, 0.25), False, "no clear lead with few rows"),
    ],
)
def test_a_problem_is_judged_by_its_curves(nb, lr, agrees, words):
    frame = curve(nb, lr)
    judged = judge("made", frame, ng_jordan.crossings(frame, 0)["made", "map"], 1000)
    assert judged.agrees == agrees
    assert words in judged.sentence
    assert judged.sentence.startswith("made: with 4 rows naive Bayes and logistic regression err in")


def test_what_averaging_gains_is_split_into_smoothing_and_averaging():
    losses = {"map": 1.0, "mean": 0.7, "bayes-optimal": 0.6}
    table = pd.DataFrame(
        {"problem": "a", "m": m, "model": "nb", "rule": rule, "log_loss": value * m, "infinite": 0.0}
        for rule, value in losses.items()
        for m in (1, 3)
    )
    (sentence,) = averaging(table)
    assert "at 100.0 % of the 2 pairs" in sentence
    assert "smaller by 0.800 on average: by 0.600 in the step from map to mean (smoothing)" in sentence
    assert "and by 0.200 in the step from mean to bayes-optimal (averaging)" in sentence


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"problems": "pima,x"}, "unknown problem 'x'"),
        ({"splits": 10}, "at least 20 of them"),
        ({"splits": 25}, "splits come by 10"),
        ({"posterior_splits": 4}, "splits come by 10"),
        ({"largest": 3}, "at least 4 rows"),
    ],
)
def test_settings_that_cannot_be_are_named(settings, words):
    with pytest.raises(InputError, match=words):
        EXPERIMENT.units(EXPERIMENT.Settings(**settings))
