"""The table that one prints first: odds ratios, or parameters."""

import arviz as az
import numpy as np
import pandas as pd
import pytest
from helpers.suites import mainly

import bayesclf as bc
from bayesclf.errors import InputError, Refused
from bayesclf.inference import Exact, Laplace
from bayesclf.interpretation.weights import INTERCEPT

COLUMNS = ["age", "dose", "ward"]


@pytest.fixture(scope="module")
def drawn(mixed_table):
    X, y = mixed_table
    return bc.LogisticRegression(prior_scale=2.5, inference=Laplace(draws=250), random_state=2).fit(X[COLUMNS], y)


def draws(clf, name):
    return clf.posterior_["posterior"][name].stack(sample=("chain", "draw")).transpose("sample", ...)


def test_odds_are_those_of_the_draws(drawn):
    table = drawn.summary(ci_prob=0.8)
    weight = draws(drawn, "weight").sel(feature="age")
    for outcome in ("ill", "mild"):
        line, own = table.loc[(outcome, "age")], weight.sel(outcome=outcome).values
        assert line["odds_ratio"] == pytest.approx(np.median(np.exp(own)), rel=1e-3)
        bounds = np.quantile(np.exp(own), [0.1, 0.9], method="median_unbiased")
        assert line[["odds_ratio_low", "odds_ratio_high"]].tolist() == pytest.approx(bounds.tolist(), rel=0.01)
        assert line["p_positive"] == np.count_nonzero(own > 0) / own.size
        assert line["coefficient"] == pytest.approx(own.mean())
        assert line["sd"] == pytest.approx(np.sqrt(own.size / (own.size - 1)) * own.std())


def test_a_coefficient_per_sd_is_that_of_a_fit_to_standardized_columns(mixed_table):
    X, y = mixed_table
    X = X[["age", "dose"]].fillna(X[["age", "dose"]].mean())
    z = (X - X.mean()) / X.std(ddof=0)
    table, standardized = (
        bc.LogisticRegression(prior_scale=2.5, inference="map").fit(rows, y).summary() for rows in (X, z)
    )
    np.testing.assert_allclose(table["coefficient_per_sd"], standardized["coefficient"], rtol=1e-6)
    np.testing.assert_allclose(table["odds_ratio"], np.exp(table["coefficient"]))


def test_an_odds_ratio_is_what_one_unit_more_multiplies_the_odds_by(mixed_table):
    X, y = mixed_table
    clf = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X[COLUMNS], y)
    row = pd.DataFrame({"age": [40.0, 41.0], "dose": 1.0, "ward": "north"})
    ill, _, well = clf.predict_proba(row).T
    assert (ill / well)[1] / (ill / well)[0] == pytest.approx(clf.summary()["odds_ratio"]["ill", "age"])
    wards = pd.DataFrame({"age": 40.0, "dose": 1.0, "ward": ["east", "north", "west"]})
    ill, _, well = clf.predict_proba(wards).T
    levels = clf.summary()["odds_ratio"]["ill"][["ward=east", "ward=north", "ward=west"]].to_numpy()
    np.testing.assert_allclose(levels[1:] / levels[0], (ill / well)[1:] / (ill / well)[0])
    assert np.prod(levels) == pytest.approx(1)


def test_lines_are_classes_by_columns_and_attributes_say_what_of(drawn):
    table = drawn.summary()
    assert table.index.names == ["outcome", "feature"]
    names = [INTERCEPT, *drawn.model_.design.names]
    assert table.index.tolist() == [(outcome, name) for outcome in ("ill", "mild") for name in names]
    about = {"classifier": "LogisticRegression", "engine": "Laplace", "ci_prob": 0.89, "reference": "well"}
    assert table.attrs == about


def test_a_point_fit_has_no_intervals(mixed_table):
    X, y = mixed_table
    clf = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X[COLUMNS], y)
    assert clf.summary().columns.tolist() == ["odds_ratio", "coefficient", "coefficient_per_sd"]
    assert "MAP" in clf.summary().attrs["no_intervals"]
    point = bc.GaussianNB(inference="mle").fit(X[["age"]], y).summary()
    assert point.columns.tolist() == ["estimate"]
    assert point["estimate"]["mu", "ill", "age"] == pytest.approx(X["age"][y == "ill"].mean())


def test_odds_of_a_generative_classifier_are_the_implied_ones(mixed_table):
    X, y = mixed_table
    clf = bc.GaussianNB("feature", random_state=3, inference=Exact(draws=50)).fit(X[["age", "dose"]], y)
    table = clf.summary(of="odds")
    mu, sigma2 = draws(clf, "mu"), draws(clf, "sigma2")
    weight = (mu.sel(outcome="ill") - mu.sel(outcome="well")) / sigma2
    assert table["coefficient"]["ill", "dose"] == pytest.approx(float(weight.sel(feature="dose").mean()))
    assert "coefficient_per_sd" not in table
    with pytest.raises(Refused, match="a variance for each class"):
        bc.GaussianNB(inference=Exact(draws=5)).fit(X[["age"]], y).summary(of="odds")


@pytest.mark.parametrize(
    ("clf", "columns"),
    [
        (bc.NaiveBayes(inference=Exact(draws=50)), ["age", "ward"]),
        (bc.GaussianDiscriminantAnalysis(inference=Exact(draws=50)), ["visits", "calls"]),
        pytest.param(
            bc.GaussianNB("shared", inference=bc.NUTS(draws=100, tune=200, chains=2, sampler="pymc")),
            ["visits"],
            marks=pytest.mark.slow,
        ),
        (bc.LogisticRegression(prior_scale=2.5, inference=bc.NUTS(draws=100, tune=100, chains=2)), ["age", "visits"]),
    ],
    ids=["nb", "gda", "gnb by nuts", "lr by nuts"],
)
@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_parameters_are_those_that_arviz_prints(clf, columns, mixed_table):
    X, y = mixed_table
    clf = clf.set_params(random_state=1).fit(X[columns], y)
    found = clf.summary(of="parameters")
    expected = az.summary(clf.posterior_, ci_prob=0.89, ci_kind="eti", round_to="none")
    assert len(found) == len(expected)
    names = {"mean": "mean", "sd": "sd", "low": "eti89_lb", "high": "eti89_ub"}
    if isinstance(clf.inference, bc.NUTS):
        names |= {"ess_bulk": "ess_bulk", "ess_tail": "ess_tail", "r_hat": "r_hat"}
    assert list(found.columns) == list(names)
    own = {f"{name}[{', '.join(filter(None, at))}]".replace("[]", ""): line for (name, *at), line in found.iterrows()}
    for name, line in expected.iterrows():
        for column, theirs in names.items():
            assert own[name][column] == pytest.approx(float(line[theirs]), rel=1e-6), (name, column)


def test_draws_that_are_not_held_are_named(monkeypatch):
    monkeypatch.setattr("bayesclf.posterior.hypotheses.POSTERIOR_BYTES", 100)
    X = pd.DataFrame({"message": ["buy now", "see you", "buy it", "you too"] * 5})
    table = bc.TextNB(random_state=1).fit(X, ["spam", "ham", "spam", "ham"] * 5).summary()
    assert "too large" in table.attrs["not_held"]
    assert set(table.index.get_level_values("parameter")) == {"pi"}


@pytest.mark.parametrize(
    ("options", "said"), [({"of": "weights"}, "'odds', 'parameters'"), ({"ci_prob": 1}, "ci_prob")]
)
def test_options_that_cannot_be_used(drawn, options, said):
    with pytest.raises(InputError, match=said):
        drawn.summary(**options)


@pytest.mark.usefixtures("unwritten_figures")
@pytest.mark.parametrize("structure", mainly(["all-trees", "all-forests"], "all-trees"))
def test_trees_of_one_column_have_no_edge_to_summarize(structure, tmp_path):
    X, y = pd.DataFrame({"wind": list("xyxyxxyyxyxyyyxx")}), np.arange(16) % 2
    clf = bc.BayesNetClassifier(structure=structure, random_state=3).fit(X, y)
    assert clf.posterior_draws()["tree"].size == 0
    lines = clf.summary()
    assert {name for name, *_ in lines.index} == {"pi", "theta"}
    assert not clf.diagnose(X, y).issues
    clf.report(tmp_path / "report.html", X, y)
    assert "wind" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("unwritten_figures")
@pytest.mark.parametrize("kind", ["no parameter", "none in memory"])
def test_where_no_draw_is_at_hand_the_table_says_why_and_the_rest_works(kind, tmp_path, monkeypatch):
    y = np.arange(20) % 2
    if kind == "no parameter":
        X, clf = np.full((20, 1), 3.0), bc.NaiveBayes(class_prior="uniform", random_state=3)
        why = "the model has none, as no column is informative"
    else:
        monkeypatch.setattr("bayesclf.posterior.hypotheses.POSTERIOR_BYTES", 0)
        X = np.random.default_rng(1).poisson(2.0, (20, 4))
        clf, why = bc.MultinomialNB(2.0, class_prior="uniform", random_state=3), "draws of theta are too large to keep"
    clf.fit(X, y)
    with pytest.raises(Refused, match=f"there is no parameter to summarize: .*{why}"):
        clf.summary()
    with pytest.raises(Refused, match=r"too large to keep in memory|the model has none"):
        clf.to_datatree(X, y)
    with pytest.raises(Refused, match=f"there is no posterior to draw: .*{why}"):
        bc.plots.posterior_forest(clf)
    assert "P01" not in {finding.code for finding in clf.diagnose(X, y).issues}
    clf.report(tmp_path / "report.html", X, y)
    assert why in (tmp_path / "report.html").read_text(encoding="utf-8")
