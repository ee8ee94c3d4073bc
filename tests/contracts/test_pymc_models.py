"""The PyMC models of every classifier: of statistics and of rows, one density, and data drawn from either."""

import warnings
from functools import cache

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from helpers.classifiers import CASES, WORDS
from helpers.families import PYTHON
from pymc.model.transform.conditioning import remove_value_transforms

import bayesclf as bc
from bayesclf.errors import Refused
from bayesclf.families import LearntAlpha

QUICK = ("nb", "multinomial", "tan")
"""Cases of the main suite: PyTensor needs a second or two for each graph."""

IN_CLOSED_FORM = ("nb selected", "all trees", "all forests")
"""Cases without a PyMC model, as discrete hypotheses are summed over."""

LIKE_OTHERS = ("categorical", "gnb feature", "gnb class", "gnb class-feature", "lr mixed")
"""Cases whose models consist of what those of others do: blocks of "nb" and "gnb shared", columns of "lr scale"."""

MODELS = tuple(case for case in CASES if case.name not in IN_CLOSED_FORM)
every_model = pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=() if case.name in QUICK else pytest.mark.slow) for case in MODELS],
)


@cache
def fitted(case, mixed):
    X, y = case.table(mixed.table)
    return case.make().fit(X, y), X, y


class Held:
    """The table of a session, hashable."""

    def __init__(self, table):
        self.table = table


@pytest.fixture(scope="module")
def mixed(mixed_table):
    return Held(mixed_table)


def one_draw(model, seed=1):
    names = [variable.name for variable in model.free_RVs]
    return dict(zip(names, pm.draw([model[name] for name in names], random_seed=seed, mode=PYTHON), strict=True))


def densities_at(point, *models):
    return [float(remove_value_transforms(model).compile_logp(mode=PYTHON)(point)) for model in models]


@every_model
def test_the_model_of_rows_has_the_density_of_that_of_statistics(case, mixed):
    clf, X, y = fitted(case, mixed)
    of_rows = clf.to_pymc(X, y)
    found, expected = densities_at(one_draw(clf.pymc_model_), of_rows, clf.pymc_model_)
    assert found == pytest.approx(expected, rel=1e-9)


@every_model
def test_the_density_of_rows_is_that_of_the_classifier(case, mixed):
    """log p(θ, D) − log p(θ′, D) is that of priors and of `log_likelihood`, where the draws are the two points."""
    clf, X, y = fitted(case, mixed)
    model, at = clf.to_pymc(X, y), clf.model_
    points = [one_draw(model, seed) for seed in (1, 2)]
    values = at.from_pymc({name: np.stack([point[name] for point in points]) for name in points[0]})
    rows, codes = clf.rows(X), clf.known_codes(y)
    scores = at.log_scores(rows, values)
    if not at.generative:
        scores = scores - np.logaddexp.reduce(scores, axis=2, keepdims=True)
    expected = scores[:, np.arange(len(codes)), codes].sum(axis=1)
    plain = remove_value_transforms(model)
    likelihood = plain.compile_logp(vars=plain.observed_RVs, mode=PYTHON)
    found = np.array([float(likelihood(point)) for point in points])
    if case.name == "nb histogram":  # where the model is of the bins that values are in, not of the values
        found, expected = found - found[0], expected - expected[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@every_model
def test_names_and_dims_are_those_of_the_posterior(case, mixed):
    if case.name == "nb histogram":
        pytest.skip("the probabilities of bins are the parameters in PyMC, those of cells in the posterior")
    clf, X, y = fitted(case, mixed)
    for model in (clf.pymc_model_, clf.to_pymc(X, y)):
        for name, dims in clf.model_.dims().items():
            assert model.named_vars_to_dims.get(name, ()) == dims  # a scalar is not in it
            for dim in dims:
                assert list(model.coords[dim]) == clf.model_.coords()[dim]


@every_model
def test_models_generate_data_like_the_observed(case, mixed):
    """What is drawn has the shape of the data, the same rows of each class, and nothing where a cell is missing."""
    clf, X, y = fitted(case, mixed)
    for model in (clf.pymc_model_, clf.to_pymc(X, y)):
        assert all(variable.name in pm.model_to_mermaid(model) for variable in model.basic_RVs)
        names = [variable.name for variable in model.observed_RVs]
        drawn = dict(zip(names, pm.draw(model.observed_RVs, draws=3, random_seed=1, mode=PYTHON), strict=True))
        for variable in model.observed_RVs:
            name, observed = variable.name, model.rvs_to_values[variable].eval(mode=PYTHON)
            assert drawn[name].shape == (3, *observed.shape)
            assert np.isfinite(drawn[name]).all()
            if name.startswith(("label_counts", "counts", "words")):
                totals = np.broadcast_to(observed.sum(axis=-1), (3, *observed.shape[:-1]))
                np.testing.assert_array_equal(drawn[name].sum(axis=-1), totals)
            if name.startswith("x_scatter"):
                assert (np.diagonal(drawn[name], axis1=-2, axis2=-1) >= 0).all()
            if f"{name}_weight" in model and model[f"{name}_weight"].ndim == observed.ndim:
                assert not drawn[name][:, model[f"{name}_weight"].get_value() == 0].any()


def test_weights_are_repetitions_in_the_model_of_rows(mixed_table):
    X, y = mixed_table
    X = X[["age", "ward", "fever", "visits"]]
    weight = np.random.default_rng(3).integers(0, 3, len(y))
    clf = bc.NaiveBayes({"visits": "poisson"}, random_state=1).fit(X, y, sample_weight=weight)
    point = one_draw(clf.pymc_model_)
    repeated = np.repeat(np.arange(len(y)), weight)
    weighted, other = clf.to_pymc(X, y, weight), clf.to_pymc(X.iloc[repeated], y[repeated])
    found, expected, of_statistics = densities_at(point, weighted, other, clf.pymc_model_)
    assert found == pytest.approx(expected, rel=1e-9)
    assert found == pytest.approx(of_statistics, rel=1e-9)


def test_statistics_of_fractional_weights_refuse_to_generate(mixed_table):
    X, y = mixed_table
    clf = bc.GaussianNB(random_state=1).fit(X[["age"]], y, sample_weight=np.full(len(y), 0.5))
    with pytest.raises(Refused, match="fractional weights"):
        pm.draw(clf.pymc_model_["x_mean"], mode=PYTHON)


@pytest.mark.parametrize("name", IN_CLOSED_FORM)
def test_sums_over_discrete_hypotheses_have_no_pymc_model(name, mixed):
    clf, X, y = fitted(next(case for case in CASES if case.name == name), mixed)
    for make in (lambda: clf.pymc_model_, lambda: clf.to_pymc(X, y)):
        with pytest.raises(Refused, match=r"averaged over in closed form and ha(s|ve) no PyMC model"):
            make()


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["block", "feature"])
def test_learned_concentrations_integrate_theta_out_of_the_model_of_rows(scope, mixed_table):
    """p(α, D) = p(α, θ, D)/p(θ | α, D), Bayes' rule at any θ."""
    X, y = mixed_table[0][WORDS], mixed_table[1]
    settings = LearntAlpha("posterior", scope)
    clf = bc.CategoricalNB(settings, inference="map", random_state=1).fit(X, y)
    of_rows = clf.to_pymc(X, y)
    point = one_draw(of_rows)
    joint = densities_at(point, of_rows)[0]
    collapsed = densities_at({name: point[name] for name in ("pi", "alpha")}, clf.pymc_model_)[0]
    statistics = clf.model_.blocks[0].statistics
    log_conditional = 0.0
    for size in (2, 3):
        place = np.flatnonzero(np.asarray(statistics.axes.sizes) == size)
        for j, feature in enumerate(place):
            start = int(np.sum(statistics.axes.sizes[:feature]))
            alpha = point["alpha"] if scope == "block" else point["alpha"][feature]
            for k in range(3):
                concentration = statistics.counts[k, start : start + size] + alpha
                log_conditional += pm.logp(pm.Dirichlet.dist(concentration), point[f"theta_{size}"][k, j]).eval(
                    mode=PYTHON
                )
    assert joint - log_conditional == pytest.approx(collapsed, rel=1e-9)


def test_naming_a_column_does_not_rename_the_parameters_of_others(mixed_table):
    X, y = mixed_table
    X = X[["age", "dose", "visits"]]
    plain, named = (bc.NaiveBayes(blocks, random_state=1).fit(X, y) for blocks in (None, {"visits": "poisson"}))
    assert {"mu", "sigma2"} <= set(plain.model_.dims())
    assert named.model_.dims()["mu"] == ("outcome", "feature")
    assert named.model_.dims()["rate_2"] == ("outcome", "feature_2")
    assert named.model_.coords()["feature"] == ["age", "dose"]
    assert named.model_.coords()["feature_2"] == ["visits"]


@pytest.mark.slow
# A grid of shapes that are summed over is a factor of the density; what is drawn from the prior does not show it.
@pytest.mark.filterwarnings("ignore:The effect of Potentials:UserWarning")
@pytest.mark.parametrize("case", [case for case in MODELS if case.name not in LIKE_OTHERS], ids=lambda case: case.name)
def test_every_model_in_a_users_hands(case, mixed):
    """Fit, look at the graphs, sample statistics given the prior and rows given draws, hand the tree to ArviZ.

    PyMC compiles both as it does for a user. The tests above look at the densities and draws of both models.
    """
    clf, X, y = fitted(case, mixed)
    of_statistics, of_rows = clf.pymc_model_, clf.to_pymc(X, y)
    for model in (of_statistics, of_rows):
        assert "graph" in pm.model_to_mermaid(model)
    prior = pm.sample_prior_predictive(20, model=of_statistics, random_seed=1)
    assert set(prior["prior_predictive"].data_vars) == {variable.name for variable in of_statistics.observed_RVs}
    draws = xr.DataTree.from_dict({"posterior": prior["prior"]})
    of_both = [variable.name for variable in of_statistics.free_RVs]
    options = {"freeze_vars": of_both, "random_seed": 1, "progressbar": False}
    predicted = pm.sample_posterior_predictive(draws, model=of_rows, **options)
    assert set(predicted["posterior_predictive"].data_vars) == {variable.name for variable in of_rows.observed_RVs}
    tree = clf.to_datatree(X, y, draws=20)
    name = next(iter(clf.model_.dims()))
    if "no_log_prior" not in tree.attrs:
        assert {"prior", "likelihood"} <= set(az.psense_summary(tree, var_names=[name]).columns)
    az.plot_prior_posterior(tree, var_names=[name], backend="matplotlib")
    az.plot_ppc_dist(tree, num_samples=10, kind="ecdf", backend="matplotlib")
    az.plot_ppc_pava(tree, data_type="categorical", backend="matplotlib")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # k̂ of twenty draws
        az.plot_loo_pava(tree, data_type="categorical", backend="matplotlib")
    plt.close("all")


@pytest.mark.slow
def test_sampling_rows_gives_the_exact_posterior(mixed_table):
    X, y = mixed_table
    clf = bc.NaiveBayes(random_state=1).fit(X[["age", "ward"]], y)
    model = clf.to_pymc(X[["age", "ward"]], y)
    options = {"draws": 1000, "tune": 500, "chains": 4, "cores": 1, "random_seed": 1, "progressbar": False}
    idata = pm.sample(**options, quiet=True, model=model)
    exact = clf.model_.mean()
    for name, expected in exact.items():
        draws = idata.posterior[name].values
        error = az.mcse(idata.posterior.to_dataset()[[name]])[name].values
        assert (np.abs(draws.mean(axis=(0, 1)) - expected[0]) <= 5 * error).all(), name
    pm.compute_log_likelihood(idata, model=model, progressbar=False)
    by_row = sum(values.sum(values.dims[3:]) for values in idata.log_likelihood.data_vars.values())
    own = clf.with_posterior(idata).log_likelihood(X[["age", "ward"]], y).joint
    np.testing.assert_allclose(by_row.values.reshape(own.shape), own, rtol=1e-9)
