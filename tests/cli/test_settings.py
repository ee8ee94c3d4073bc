"""What Python sets, the command line sets: parameters of models and engines."""

import json

import pytest
from helpers.commands import GOOD, command, table

import bayesclf as bc
from bayesclf.cli.options import settings

pytestmark = pytest.mark.usefixtures("own_folder")


def chosen(*written, models="nb,lr,categorical", inference="auto"):
    return settings(models, None, inference, (5, 1, 0, 1), list(written)).classifiers()


def test_values_are_python_literals_or_words():
    found = chosen(
        "lr.prior_scale={'age': 0.5}",
        "lr.intercept_scale=inf",
        "lr.prior_form=reference",
        "lr.standardize=False",
        "categorical.alpha=2",
        "nb.class_prior=[0.2, 0.8]",
        "nb.missing='level'",
    )
    assert found["lr"].prior_scale == {"age": 0.5}
    assert chosen("lr.prior_scale=learned")["lr"].prior_scale == "learned"
    assert found["lr"].intercept_scale == float("inf")
    assert (found["lr"].prior_form, found["lr"].standardize) == ("reference", False)
    assert found["categorical"].alpha == 2
    assert (found["nb"].class_prior, found["nb"].missing) == ([0.2, 0.8], "level")


def test_settings_of_an_engine_are_those_of_all_models_that_it_infers():
    found = chosen("nuts.draws=20", "nuts.chains=2", inference="nuts,nb=exact")
    assert found["lr"].inference == found["categorical"].inference == bc.engines.NUTS(draws=20, chains=2)
    assert found["nb"].inference == "exact"
    auto = chosen("nuts.draws=20", "laplace.limit=0.1")["lr"].inference
    assert (auto.nuts.draws, auto.laplace.limit) == (20, 0.1)
    assert chosen()["lr"].inference == "auto"


def test_a_fit_and_a_comparison_have_what_was_set():
    table("t.csv", GOOD)
    fit = ["fit", "t.csv", "--target", "class", "--model", "lr", "--inference", "laplace", "--output", "m.nc"]
    command(*fit, "--set", "lr.prior_scale=0.01", "--set", "laplace.draws=30", "--set", "laplace.chains=2")
    clf = bc.load("m.nc")
    assert clf.prior_scale == 0.01
    assert dict(clf.posterior_["posterior"].sizes)["draw"] == 30
    assert abs(clf.summary()["coefficient"]["q", "a"]) < 0.05
    compare = ["compare", "t.csv", "--target", "class", "--models", "lr", "--rules", "map", "--cv", "2", "--json", "-"]
    found = json.loads(command(*compare, "--inference", "map", "--set", "lr.prior_scale=0.01").out)
    assert found["settings"]["set"] == {"lr": {"prior_scale": 0.01}}
    python = bc.compare(
        {"lr": bc.LogisticRegression(prior_scale=0.01, inference="map")},
        *_features("t.csv"),
        rules=["map"],
        cv=2,
    )
    assert found["table"][0]["log_loss"] == pytest.approx(python.table["log_loss"][0])


def _features(path):
    dataset = bc.datasets.load(path, "class")
    return dataset.X, dataset.y


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("lr.prior_scale", "write MODEL.NAME=VALUE"),
        ("prior_scale=1", "write MODEL.NAME=VALUE"),
        ("lr.prior_scal=1", "--set lr has no 'prior_scal' (did you mean 'prior_scale'?); its names are prior_mean, "),
        (
            "gnb.variance=shared",
            "--set has no 'gnb' (did you mean 'nb'?); its models and engines are exact, augmentation, nuts, laplace",
        ),
        ("lr.random_state=1", "--set lr has no 'random_state'"),
        ("lr.standardize=1", "--set lr.standardize must be True or False, not 1"),
        ("lr.intercept_mean=high", "--set lr.intercept_mean must be a number, as its default 0.0 is, not 'high'"),
        ("exact.draws=5", "sets nothing, as no model is inferred by it; say --inference exact"),
        ("nuts.draws=0", "draws must be"),
    ],
)
def test_what_cannot_be_set(written, said, refused):
    table("t.csv", GOOD)
    assert said in refused("compare", "t.csv", "--target", "class", "--set", written)


def test_all_trees_are_a_structure_of_the_network():
    found = chosen("tan.structure=all-trees", "tan.equivalent_rows=[1, 4]", models="tan,aode")
    assert (found["tan"].structure, found["tan"].equivalent_rows) == ("all-trees", [1, 4])
    assert isinstance(found["aode"], bc.AODE)
