"""Naive Bayes against logistic regression: the rows of each problem, the curves by other routes, and what is said."""

import math

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.experiments import find, ng_jordan
from bayesclf.experiments.ng_jordan import averaging, tempering
from bayesclf.experiments.runner import last_crossing
from bayesclf.models.logistic.model import LogisticPrior

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


@pytest.fixture
def others(monkeypatch):
    """Add problems that are not in the figure."""
    for name, kind in (("iris", "number"), ("wine", "number"), ("play_tennis", "category")):
        monkeypatch.setitem(ng_jordan.PROBLEMS, name, ng_jordan.Problem(name, kind))


def log_proba(learn, encoded, train, test, rule, **options):
    learned = learn(encoded, train, **options)
    return ng_jordan.score(learned, encoded, train, test, [rule], 0)[rule].log_proba


@pytest.mark.parametrize("name", ng_jordan.PROBLEMS)
def test_a_problem_has_its_rows_columns_and_classes(name, request):
    if name in ng_jordan.NOT_SHIPPED:
        request.getfixturevalue("data_folder")
    ng_jordan.load.cache_clear()
    encoded = ng_jordan.load(name)
    assert (len(encoded), len(encoded.features), len(encoded.labels)) == ROWS[name]


CLASSIFIERS = {
    "wine": (ng_jordan.naive_bayes, {"variance": "class-feature"}, "mle", bc.GaussianNB("class-feature")),
    "play_tennis": (ng_jordan.naive_bayes, {}, "map", bc.CategoricalNB(2.0)),
    "iris": (
        ng_jordan.logistic,
        {"prior": LogisticPrior(prior_scale=2.0, intercept_scale=math.inf)},
        "map",
        bc.LogisticRegression(prior_scale=2.0, intercept_scale=math.inf, inference="map"),
    ),
}


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_what_is_learned_is_that_of_the_classifier(name, rng):
    learn, options, rule, clf = CLASSIFIERS[name]
    encoded = ng_jordan.load(name)
    train, test = ng_jordan.split_rows(encoded, rng, len(encoded) // 3)
    X = pd.DataFrame(encoded.X)
    if encoded.kind == "category":
        levels = enumerate(map(len, encoded.levels))
        X = X.astype({j: pd.CategoricalDtype(range(size)) for j, size in levels})
    expected = clf.fit(X.iloc[train], encoded.y[train]).predict_log_proba(X.iloc[test], rule=rule)
    np.testing.assert_allclose(log_proba(learn, encoded, train, test, rule, **options), expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("others")
def test_draws_of_nuts_and_laplace_give_the_same_answers(rng, monkeypatch):
    monkeypatch.setattr(ng_jordan.Sources, "DRAWS", 2500)
    encoded = ng_jordan.load("wine")
    train, test = ng_jordan.split_rows(encoded, rng, 60)
    asked = ng_jordan.logistic, encoded, train, test, "bayes-optimal"
    prior = LogisticPrior(prior_scale=0.3, intercept_scale=1.0)
    one = np.exp(log_proba(*asked, prior=prior))

    def refused(*_):
        raise ng_jordan.Refused("taken away")

    monkeypatch.setattr(ng_jordan.laplace, "sample", refused)
    other = np.exp(log_proba(*asked, prior=prior))
    assert np.abs(one - other).max() > 0  # another engine indeed
    # The posterior sd of a probability is at most 0.21, so that averages of 5,000 draws each differ by 0.0042 (sd).
    np.testing.assert_allclose(one, other, atol=0.02)


@pytest.fixture(scope="module")
def results():
    """Return settings, the records of all units, and the table."""
    settings = EXPERIMENT.Settings(splits=20, posterior_splits=10, problems="lenses")
    frames = []

    def each(units):
        records = [
            EXPERIMENT.measure(settings, unit, np.random.SeedSequence([7, place])) for place, unit in enumerate(units)
        ]
        frames.append(pd.DataFrame([record for part in records for record in part]))
        return frames[0]

    table = EXPERIMENT.tabulate(settings, each)
    return settings, frames[0], table


def test_sums_are_those_of_single_splits(results):
    _, frame, _ = results
    encoded = ng_jordan.load("lenses")
    errors = []
    for seed in np.random.SeedSequence([7, 0]).spawn(10):
        train, test = ng_jordan.split_rows(encoded, np.random.default_rng(seed), ng_jordan.MOST_TEST)
        found = log_proba(ng_jordan.naive_bayes, encoded, train[:4], test, "map")
        errors.append(np.mean(found.argmax(axis=1) != encoded.y[test]))
    own = frame.query("block == 0 and m == 4 and model == 'nb' and rule == 'map'").iloc[0]
    assert own["splits"] == own["answered"] == 10
    assert own["error"] == pytest.approx(sum(errors))
    assert own["error_2"] == pytest.approx(np.square(errors).sum())


def test_means_and_standard_errors_are_over_the_splits(results):
    _, frame, table = results
    which = "m == 4 and model == 'nb' and rule == 'map'"
    line = table.query(f"part == 'all splits' and {which}").iloc[0]
    own = frame.query(which)
    mean = own["error"].sum() / 20
    assert line["splits"] == 20
    assert line["error"] == pytest.approx(mean)
    assert line["error_se"] == pytest.approx(math.sqrt((own["error_2"].sum() - 20 * mean**2) / 19 / 20))


def test_every_rule_is_compared_on_the_splits_that_all_answered(results):
    _, frame, table = results
    assert set(frame["block"]) == {0, 10}
    assert set(table.loc[table["part"] == ng_jordan.SHARED, "splits"]) == {10}
    assert set(table.loc[(table["part"] == ng_jordan.ALL) & (table["rule"] == "map"), "splits"]) == {20}


def test_separable_splits_have_no_maximum_likelihood(results):
    table = results[2].query("part == 'all splits'").set_index(["m", "model", "rule"])
    assert (table.loc[(slice(None), "lr", "map"), "undefined"] == 0).all()
    assert (table.loc[(slice(None), "lr", "mle"), "undefined"] > 0.5).all()


def test_answer_and_figure_are_of_the_table(results):
    settings, _, table = results
    assert "the paper's claim holds on" in EXPERIMENT.answer(settings, table)[0]
    assert EXPERIMENT.summary(settings, table)["few rows"].tolist() == [4]
    assert EXPERIMENT.figure(settings, table).draw().axes


@pytest.fixture
def no_folder(monkeypatch):
    """Name no folder of data; there is no network in tests either."""
    monkeypatch.delenv("BAYESCLF_DATA", raising=False)
    ng_jordan.load.cache_clear()
    yield
    ng_jordan.load.cache_clear()


def test_without_folder_and_network_thirteen_of_fifteen_problems_run(no_folder):
    known = set(ng_jordan.PROBLEMS) - {"pima", "boston"}
    assert set(ng_jordan.at_hand("")) == known
    assert ng_jordan.at_hand("pima,lenses,boston") == ["lenses"]
    (said,) = ng_jordan.left_out("pima,lenses,boston", ["lenses"])
    assert "pima and boston" in said
    assert "BAYESCLF_DATA" in said
    assert ng_jordan.left_out("lenses", ["lenses"]) == ()


def test_no_problem_at_hand_is_an_error(no_folder):
    with pytest.raises(InputError, match="the problem pima is not available: pima does not ship"):
        EXPERIMENT.tabulate(EXPERIMENT.Settings(problems="pima,boston"), None)


def test_curves_cross_where_they_do():
    sizes = np.array([4.0, 16.0, 64.0, 256.0])
    assert last_crossing(sizes, np.array([-1.0, -1.0, 1.0, 1.0])) == pytest.approx(32)
    assert last_crossing(sizes, np.array([1.0, -1.0, -1.0, 3.0])) == pytest.approx(64 * 4 ** (1 / 4))
    assert last_crossing(sizes, np.array([1.0, 1.0, 1.0, 1.0])) == 4
    assert last_crossing(sizes, np.array([1.0, 1.0, 1.0, -1.0])) == math.inf


@pytest.mark.usefixtures("others")
def test_tempered_is_that_of_the_classifier(rng):
    encoded = ng_jordan.load("wine")
    train, test = ng_jordan.split_rows(encoded, rng, 60)
    clf = bc.GaussianNB("feature", random_state=1).fit(encoded.X[train[:80]], encoded.y[train[:80]])
    expected = clf.predict_proba(encoded.X[test], rule="tempered")
    found = np.exp(log_proba(ng_jordan.naive_bayes, encoded, train[:80], test, "tempered"))
    np.testing.assert_allclose(found, expected, atol=0.02)
    few = ng_jordan.naive_bayes(encoded, train[:9])
    few = ng_jordan.score(few, encoded, train[:9], test, ["tempered"], 0)
    assert few["tempered"] == "T needs at least 20 training rows"


def test_what_averaging_gains_is_split_into_smoothing_and_averaging():
    losses = {"map": 1.0, "mean": 0.7, "bayes-optimal": 0.6}
    table = pd.DataFrame(
        {"problem": "a", "m": m, "model": "nb", "rule": rule, "log_loss": value * m, "infinite": 0.0}
        for rule, value in losses.items()
        for m in (1, 3)
    )
    sentence = averaging(table, "nb")
    assert "at 100.0% of the 2 pairs" in sentence
    assert "smaller by 0.800 nats on average, by 0.600 from map to mean (smoothing)" in sentence
    assert "and by 0.200 from mean to bayes-optimal (averaging)" in sentence
    table = table.replace({"map": "tempered"}).assign(m=20 * table["m"])
    assert "at 0% of the 2 pairs with at least 20 rows. Its mean gain is −0.800 nats" in tempering(table)[0]
