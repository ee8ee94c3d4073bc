"""Steps from map to predictive: paired gains, what they add up to, and verdicts that follow from them."""

import numpy as np
import pandas as pd
import pytest

from bayesclf.errors import InputError
from bayesclf.experiments import find, ng_jordan, run
from bayesclf.experiments.small_data import STEPPED, STEPS, judged, verdict, weights

EXPERIMENT = find("small-data")

# The Laplace approximation holds in all splits of this seed: another would take seconds of NUTS.
SETTINGS = EXPERIMENT.Settings(splits=6, logistic_splits=2, problems="play-tennis,iris", largest=16, seed=1)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return run(EXPERIMENT, SETTINGS, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def lines(outcome):
    return outcome.table.set_index(["problem", "m", "model", "rule"])


def test_every_size_model_and_rule_has_its_line(outcome):
    table = outcome.table
    assert {problem: set(own["m"]) for problem, own in table.groupby("problem")} == {
        "play-tennis": {4, 8, 10},
        "iris": {4, 8, 16},
    }
    for (_, _, model), own in table.groupby(["problem", "m", "model"]):
        assert tuple(own["rule"]) == STEPPED[model]
        assert set(own["splits"]) == {6 if model == "nb" else 2}
    assert (table["step"].fillna("") == table["rule"].map(STEPS).fillna("")).all()


def test_scores_are_those_of_the_model_at_its_size():
    """One split by another route: a learner that is given all rows at once."""
    unit, seed = ("iris", 0), np.random.SeedSequence(4)
    settings = EXPERIMENT.Settings(splits=1, logistic_splits=0, largest=16)
    records = pd.DataFrame(EXPERIMENT.measure(settings, unit, seed)).set_index(["m", "rule"])
    encoded = ng_jordan.load("iris")
    train, test = ng_jordan.split_rows(encoded, np.random.default_rng(np.random.SeedSequence(4).spawn(1)[0]), 500)
    learner = ng_jordan.NaiveBayes(encoded)
    learner.extend(train[:16])
    answers = ng_jordan.score(learner, encoded, test, ("map", "mean", "predictive"), 0)
    for rule, answer in answers.items():
        assert records.loc[(16, rule), "log_loss"] == pytest.approx(answer.log_loss.mean())
        assert records.loc[(16, rule), "error"] == pytest.approx(answer.error.mean())
        over = np.exp(answer.log_proba).max(axis=1) - (answer.log_proba.argmax(axis=1) == encoded.y[test])
        assert records.loc[(16, rule), "overconfidence"] == pytest.approx(over.mean())


def test_gains_are_differences_of_the_rules(outcome):
    for _, own in outcome.table.groupby(["problem", "m", "model"]):
        assert own["error_gain"].sum() == pytest.approx(own["error"].iloc[0] - own["error"].iloc[-1])
        if (own["infinite"] == 0).all():
            assert own["log_loss_gain"].sum() == pytest.approx(own["log_loss"].iloc[0] - own["log_loss"].iloc[-1])


def test_errors_of_gains_are_paired():
    scores = np.array([[1.0, 0.4], [2.0, 1.5], [4.0, 3.6]])
    about = {"problem": "iris", "kind": "number", "classes": 3, "columns": 4, "m": 4, "model": "nb"}
    records = [
        {**about, "split": split, "rule": rule, "log_loss": score, "error": 0.5, "overconfidence": 0.1}
        for split, pair in enumerate(scores)
        for rule, score in zip(STEPPED["nb"], [*pair, pair[1], pair[1]], strict=True)
    ]
    line = EXPERIMENT.tabulate(SETTINGS, lambda _: pd.DataFrame(records)).set_index("rule").loc["mean"]
    assert line["log_loss_gain"] == pytest.approx(0.5)
    assert line["log_loss_gain_se"] == pytest.approx(0.1 / np.sqrt(3))
    assert line["log_loss_se"] == pytest.approx(scores[:, 1].std(ddof=1) / np.sqrt(3))


def test_with_categories_the_new_rows_evidence_takes_averaging_back(lines):
    """Predictive is mean: blocks are independent given the data, and a level's predictive is its mean probability."""
    for m in (4, 8, 10):
        mean, predictive = (lines.loc[("play-tennis", m, "nb", rule)] for rule in ("mean", "predictive"))
        averaged = lines.loc[("play-tennis", m, "nb", "bayes-optimal")]
        assert predictive["log_loss"] == pytest.approx(mean["log_loss"], rel=1e-9)
        assert predictive["log_loss_gain"] == pytest.approx(-averaged["log_loss_gain"], rel=1e-6)
        assert abs(averaged["log_loss_gain"]) > 1e-4


def test_verdicts_are_of_two_standard_errors_and_count_infinite_losses():
    line = {"log_loss_gain": 0.1, "log_loss_gain_se": 0.04, "error_gain": -0.1, "error_gain_se": 0.06, "infinite": 0.0}
    assert verdict(line, 0.0, "log_loss") == "gain"
    assert verdict(line | {"log_loss_gain": -0.1}, 0.0, "log_loss") == "loss"
    assert verdict(line | {"log_loss_gain": -0.1}, 0.2, "log_loss") == "gain"
    assert verdict(line, 0.2, "error") == "unclear"
    assert verdict(line | {"error_gain": 1e-16, "error_gain_se": 0.0}, 0.0, "error") == "unclear"
    assert verdict(line | {"log_loss_gain": np.nan}, 0.0, "log_loss") == "unclear"


def test_the_answer_counts_clear_gains(outcome):
    lines = judged(outcome.table, "log_loss")
    own = lines[(lines["model"] == "nb") & (lines["step"] == "smoothing") & (lines["verdict"] == "gain")]
    smallest = int((own["m"] == 4).sum())
    assert f"log loss falls clearly by smoothing on {smallest}" in outcome.answer[0]
    line = outcome.summary.set_index(["metric", "model", "step"]).loc["log_loss", "naive Bayes", "smoothing"]
    assert (line["data sets"], line["falls, smallest"], line["rises, smallest"]) == (2, smallest, 0)
    figure = outcome.draw("gain-log_loss-lr")
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["smoothing", "averaging"]


def test_a_class_that_was_not_observed_makes_maps_log_loss_infinite():
    """Two of 148 rows are normal: one of them or both can be test rows while no training row is."""
    settings = EXPERIMENT.Settings(splits=5, logistic_splits=0, problems="lymphography-all", largest=4)
    seed = np.random.SeedSequence(0)
    records = pd.DataFrame(EXPERIMENT.measure(settings, ("lymphography-all", 0), seed))
    encoded = ng_jordan.load("lymphography-all")
    lacking = []
    for own in np.random.SeedSequence(0).spawn(5):
        train, test = ng_jordan.split_rows(encoded, np.random.default_rng(own), 500)
        lacking.append(bool(set(encoded.y[test]) - set(encoded.y[train[:4]])))
    assert any(lacking)
    assert not all(lacking)
    mapped = records[records["rule"] == "map"].set_index("split")["log_loss"]
    assert mapped.isna().tolist() == lacking
    assert records.loc[records["rule"] != "map", "log_loss"].notna().all()
    table = EXPERIMENT.tabulate(settings, lambda _: records)
    assert (judged(table, "log_loss").set_index("rule")["verdict"].loc["mean"]) == "gain"


def test_first_training_rows_are_of_all_classes():
    encoded = ng_jordan.load("digits")
    for seed in range(5):
        train, test = ng_jordan.split_rows(encoded, np.random.default_rng(seed), 500)
        assert sorted(encoded.y[train[:10]]) == list(range(10))
        assert sorted([*train, *test]) == list(range(len(encoded)))


def test_weights_are_counted_by_level_and_vector():
    assert weights(ng_jordan.load("play-tennis")) == 3 + 3 + 2 + 2
    assert weights(ng_jordan.load("iris")) == 4 * 2


@pytest.mark.parametrize(
    ("wrong", "part"),
    [({"problems": "iris,roses"}, "unknown problem 'roses'"), ({"splits": 1}, "at least 2 splits")],
)
def test_settings_that_cannot_be_are_refused(wrong, part):
    with pytest.raises(InputError, match=part):
        EXPERIMENT.tabulate(EXPERIMENT.Settings(**wrong), None)
