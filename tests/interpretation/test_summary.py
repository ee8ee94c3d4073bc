"""The table that one prints first: odds ratios, or parameters."""

import re

import arviz as az
import numpy as np
import pytest
from helpers.cases import CASES, EVERY, MIXED
from helpers.families import MAIN_SUITE, ids
from helpers.suites import mostly_slow
from scipy import stats
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf.engines import Exact, Laplace
from bayesclf.errors import Refused
from bayesclf.families.categorical import SimplexFamily
from bayesclf.interpretation.summary import priors_of

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
    weight = weight - weight.sel(outcome="well")
    for outcome in ("ill", "mild"):
        line, own = table.loc[(outcome, "age")], weight.sel(outcome=outcome).values
        assert line["odds_ratio"] == pytest.approx(np.median(np.exp(own)), rel=1e-3)
        bounds = np.quantile(np.exp(own), [0.1, 0.9], method="median_unbiased")
        assert line[["odds_ratio_low", "odds_ratio_high"]].tolist() == pytest.approx(bounds.tolist(), rel=0.01)
        assert line["p_positive"] == np.count_nonzero(own > 0) / own.size
        assert line["coefficient"] == pytest.approx(own.mean())
        assert line["sd"] == pytest.approx(np.sqrt(own.size / (own.size - 1)) * own.std())


def test_coefficients_per_sd_are_those_of_a_fit_to_standardized_columns(mixed_table):
    X, y = mixed_table
    X = X[["age", "dose"]].fillna(X[["age", "dose"]].mean())
    z = (X - X.mean()) / X.std(ddof=0)
    own, standardized = (bc.LogisticRegression(prior_scale=2.5, inference="map").fit(rows, y) for rows in (X, z))
    table = own.summary(of="odds_per_sd")
    centered = standardized.summary()["coefficient"].unstack("outcome").assign(well=0.0)
    centered = centered.sub(centered.mean(axis=1), axis=0)
    np.testing.assert_allclose(table["coefficient_per_sd"].unstack("outcome"), centered, rtol=1e-6)
    np.testing.assert_allclose(table["odds_ratio_per_sd"], np.exp(table["coefficient_per_sd"]))


def test_a_point_fit_has_no_intervals(mixed_table):
    X, y = mixed_table
    clf = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X[COLUMNS], y)
    assert clf.summary().columns.tolist() == ["odds_ratio", "coefficient"]
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
    with pytest.raises(Refused, match="odds per standard deviation are of logistic regression"):
        clf.summary(of="odds_per_sd")
    with pytest.raises(Refused, match="a variance for each class"):
        bc.GaussianNB(inference=Exact(draws=5)).fit(X[["age"]], y).summary(of="odds")


@pytest.mark.parametrize(
    ("clf", "columns"),
    [
        (bc.NaiveBayes(inference=Exact(draws=50)), ["age", "ward"]),
        (bc.GaussianDiscriminantAnalysis(inference=Exact(draws=50)), ["visits", "calls"]),
        (
            bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.NUTS(draws=100, tune=100, chains=2)),
            ["age", "visits"],
        ),
    ],
    ids=["nb", "gda", "lr by nuts"],
)
@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_parameters_are_those_that_arviz_prints(clf, columns, mixed_table):
    X, y = mixed_table
    clf = clf.set_params(random_state=1).fit(X[columns], y)
    found = clf.summary(of="parameters")
    if clf.requested_rule(None) == "tempered":
        T = az.summary(clf.temper_, var_names=["T"], ci_prob=0.89, ci_kind="eti", round_to="none").iloc[0]
        own = found.loc["T"].iloc[0]
        np.testing.assert_allclose(own, T[["mean", "sd", "eti89_lb", "eti89_ub"]].astype(float), rtol=1e-6)
        found = found[found.index.get_level_values("parameter") != "T"]
    names = list(clf.model_.dims())
    expected = az.summary(clf.posterior_, var_names=names, ci_prob=0.89, ci_kind="eti", round_to="none")
    assert len(found) == len(expected)
    names = {"mean": "mean", "sd": "sd", "low": "eti89_lb", "high": "eti89_ub"}
    if isinstance(clf.inference, bc.engines.NUTS):
        names |= {"ess_bulk": "ess_bulk", "ess_tail": "ess_tail", "r_hat": "r_hat"}
    assert list(found.columns) == list(names)
    own = {f"{name}[{', '.join(filter(None, at))}]".replace("[]", ""): line for (name, *at), line in found.iterrows()}
    for name, line in expected.iterrows():
        for column, theirs in names.items():
            assert own[name][column] == pytest.approx(float(line[theirs]), rel=1e-6), (name, column)


@pytest.mark.usefixtures("unwritten_figures")
@pytest.mark.parametrize("kind", ["no parameter", "none in memory"])
def test_where_no_draw_is_at_hand_the_table_says_why_and_the_rest_works(kind, tmp_path, monkeypatch):
    y = np.arange(20) % 2
    if kind == "no parameter":
        X, clf = np.full((20, 1), 3.0), bc.NaiveBayes(class_prior="uniform", random_state=3)
        why = "the model has no parameters, because no column is informative"
    else:
        monkeypatch.setattr("bayesclf.engines.inference.POSTERIOR_BYTES", 0)
        X = np.random.default_rng(1).poisson(2.0, (20, 4))
        clf, why = bc.MultinomialNB(2.0, class_prior="uniform", random_state=3), "draws of theta are too large to keep"
    clf.fit(X, y)
    with pytest.raises(Refused, match=f"there is no parameter to summarize: .*{why}"):
        clf.summary()
    with pytest.raises(Refused, match=r"too large to keep in memory|the model has no parameters"):
        clf.to_datatree(X, y)
    assert "P01" not in {finding.code for finding in clf.diagnose(X, y).issues}
    clf.report(tmp_path / "report.html", X, y)
    assert why in (tmp_path / "report.html").read_text(encoding="utf-8")


DRAWS = 400
DISTRIBUTIONS = {
    "log": np.log,
    "Normal": lambda mean, variance: stats.norm(mean, np.sqrt(variance)),
    "LogNormal": lambda mean, sd, least=0: stats.lognorm(sd, loc=least, scale=np.exp(mean)),
    "Gamma": lambda shape, rate: stats.gamma(shape, scale=1 / np.asarray(rate)),
    "InvGamma": lambda shape, scale: stats.invgamma(shape, scale=scale),
    "Beta": stats.beta,
    "Uniform": lambda least, most: stats.uniform(least, most - least),
}
"""Distributions as the words name them, with the same numbers in the same order."""


def at(draws, dims, outcome, feature):
    """Return the draws of one number; of a covariance matrix the variance."""
    place = {"outcome": outcome, "feature": feature, "other_feature": feature}
    return draws[(slice(None), *(place[dim] for dim in dims))]


def meant(prior, parameters):
    """Return the SciPy distribution that the words of a prior state, given the draws of other parameters."""
    text = prior.replace("−", "-").replace("·", "*").replace("²", "**2")
    text = re.sub(r"log ([0-9.e+-]+)", r"log(\1)", text)
    text = re.sub(r"^(\d+) \+ (.*)\)$", r"\2, \1)", text)
    return eval(text, {"__builtins__": {}}, DISTRIBUTIONS | parameters)


def dirichlet_alpha(prior, size):
    """Return the concentrations that the words state."""
    if found := re.fullmatch(r"Dirichlet\((\S+) in each of (\d+) cells\)", prior):
        assert int(found[2]) == size
        return np.full(size, float(found[1]))
    return np.array([float(value) for value in re.fullmatch(r"Dirichlet\((.*)\)", prior)[1].split(", ")])


@mostly_slow([case for case in CASES if case not in MIXED], MAIN_SUITE)
def test_draws_from_the_prior_follow_its_words(case):
    family, axes = case.prior, case.axes
    draws, lines, dims = family.draw(np.random.default_rng(0), DRAWS), family.priors(), family.dims()
    p_values = []
    starts = np.concatenate([[0], np.cumsum(family.simplexes()[1])]) if isinstance(family, SimplexFamily) else None
    simplexes = list(dict.fromkeys(line.feature for line in lines))
    for line in lines:
        outcomes = [axes.labels.index(line.outcome)] if line.outcome else range(len(axes.labels))
        features = [axes.features.index(line.feature)] if line.feature in axes.features else range(len(axes.features))
        for outcome in outcomes:
            if line.prior.startswith("Dirichlet"):
                place = simplexes.index(line.feature)
                theta = draws["theta"][:, outcome, starts[place] : starts[place + 1]]
                alpha = dirichlet_alpha(line.prior, theta.shape[1])
                np.testing.assert_allclose(theta.sum(axis=1), 1, atol=1e-12)
                uniform = [stats.beta(a, alpha.sum() - a).cdf(cell) for a, cell in zip(alpha, theta.T, strict=True)]
            elif line.prior.startswith("InvWishart"):
                first, *diagonal = map(float, re.findall(r"[0-9.]+(?:e[+-]\d+)?", line.prior))
                nu, factor = first, 1.0
                if line.prior.startswith("InvWishart(nu"):
                    nu = draws["nu"].reshape(DRAWS, -1)[:, outcome if draws["nu"].ndim > 1 else 0]
                    factor = nu - first
                entries = (at(draws["Sigma"], dims["Sigma"], outcome, feature) for feature in range(len(diagonal)))
                shape = (nu - len(diagonal) + 1) / 2
                uniform = [
                    stats.invgamma(shape, scale=factor * own / 2).cdf(entry)
                    for own, entry in zip(diagonal, entries, strict=True)
                ]
            else:
                uniform = []
                for feature in features:
                    given = {name: at(values, dims[name], outcome, feature) for name, values in draws.items()}
                    uniform.append(meant(line.prior, given).cdf(given[line.parameter]))
            p_values += [stats.kstest(u, "uniform").pvalue for u in uniform]
    assert {line.parameter for line in lines} == set(dims)
    assert min(p_values) > 1e-4 / len(p_values)


@pytest.mark.parametrize("case", **ids(EVERY))
def test_every_family_states_its_prior_and_its_likelihood(case):
    family = case.family.resolve_prior(case.statistics(*case.complete()))
    assert {line.parameter for line in family.priors()} >= set(family.dims())
    assert family.likelihood != family.name


def test_the_prior_of_logistic_regression_is_that_of_its_settings():
    X, y = load_iris(return_X_y=True, as_frame=True)
    given = {"sepal length (cm)": 1.0, "petal width (cm)": 3.0}
    clf = bc.LogisticRegression(prior_scale=given, prior_form="reference", inference="map").fit(X, y)
    table = clf.prior_summary().set_index(["parameter", "feature"])["prior"]
    assert table["prior_scale", ""] == "LogNormal(log 1, 1.5)"
    assert table["prior_correlation", ""] == "Uniform(0, 1)"
    assert table["intercept", ""] == "Normal(0, 5²)"
    assert table["weight", "sepal length (cm)"] == "Normal(0, 1²)"
    assert table["weight", "sepal width (cm)"] == "Normal(0, C·prior_scale²)"
    assert table["weight", "petal width (cm)"] == "Normal(0, 3²)"
    assert "C = (1 − prior_correlation)·I + prior_correlation·the columns'" in clf.prior_summary().attrs["model"][-1]
    settings = bc.LearnedScale(given=given, correlation=0)
    clf = bc.LogisticRegression(prior_scale=settings, prior_form="reference", inference="map").fit(X, y)
    independent = clf.prior_summary()
    table = independent.set_index(["parameter", "feature"])["prior"]
    assert "prior_correlation" not in table
    assert len(independent.attrs["model"]) == 2
    assert table["weight", "sepal width (cm)"] == "Normal(0, prior_scale²)"
    flat = {"prior_scale": np.array([1.0, 2.0, 3.0, 4.0]), "prior_mean": 0.5, "intercept_scale": np.inf}
    clf = bc.LogisticRegression(**flat, prior_form="reference", inference="map").fit(X, y)
    table = clf.prior_summary().set_index(["parameter", "feature"])["prior"]
    assert table["weight", "petal width (cm)"] == "Normal(0.5, 4²)"
    assert table["intercept", ""] == "flat"


def test_blocks_of_one_family_keep_the_names_of_their_parameters():
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = bc.NaiveBayes(dict.fromkeys(X, "gamma")).fit(X, y)
    table = clf.prior_summary()
    assert set(table["parameter"]) - {"pi"} == set(clf.posterior_["map"].data_vars) - {"pi"}
    assert "sepal width (cm) | outcome ~ Gamma(shape_2, rate_2)" in table.attrs["model"]
    assert any("·shape_2," in prior for prior in table["prior"])


def test_what_the_rows_have_set_is_said():
    X, y = load_iris(return_X_y=True)
    table = bc.BernoulliNB().fit(X > 2, y).prior_summary()
    assert table.attrs["learned"]
    assert table.attrs["model"][-1].startswith("the concentration was learned by leaving out one row at a time: α = ")
    assert not bc.BernoulliNB(alpha=2.0).fit(X > 2, y).prior_summary().attrs["learned"]


def test_known_class_probabilities_keep_their_numbers():
    X, y = load_iris(return_X_y=True)
    line = priors_of(bc.GaussianNB(class_prior=[0.2, 0.3, 0.5]).fit(X, y)).lines[0]
    assert line.numbers == {"pi_1": 0.2, "pi_2": 0.3, "pi_3": 0.5}
    assert line.prior == "fixed at 0.2, 0.3, 0.5"
