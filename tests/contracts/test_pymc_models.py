"""The PyMC model of every classifier: a page whose density, names and answers are the classifier's own."""

import warnings
from functools import partial
from inspect import signature
from pathlib import Path

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from helpers.classifiers import CASES, log_likelihoods
from helpers.families import PYTHON
from helpers.suites import NIGHTLY
from pymc.distributions.transforms import log, logodds
from pymc.model.transform.conditioning import remove_value_transforms

import bayesclf as bc
from bayesclf import pymc_models
from bayesclf.errors import InputError, Refused

QUICK = ("nb", "multinomial", "tan")
"""Cases of the main suite: PyTensor needs a second or two for each graph."""

IN_CLOSED_FORM = ("all trees", "all forests", "all trees of numbers")
"""Cases without a PyMC model, as discrete hypotheses are summed over."""

MODELS = tuple(case for case in CASES if case.name not in IN_CLOSED_FORM)
every_model = pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=() if case.name in QUICK else pytest.mark.slow) for case in MODELS]
)
README = Path(bc.__file__).parents[1] / "README.md"


@every_model
def test_the_density_of_rows_is_that_of_the_classifier(case, mixed_table, fitted):
    """Of two draws from the prior; the page has constants that the classifier leaves out, of words and histograms."""
    clf, (X, y) = fitted(case), case.table(mixed_table)
    model, own = clf.to_pymc(X, y), clf.model_
    free = [variable.name for variable in model.free_RVs]
    points = [pm.draw([model[name] for name in free], random_seed=seed, mode=PYTHON) for seed in (1, 2)]
    drawn = {name: np.stack(values) for name, values in zip(free, zip(*points, strict=True), strict=True)}
    parameters = own.from_pymc(drawn)
    for name, values in own.shown(parameters).items():  # and back
        if name in free:
            np.testing.assert_allclose(values, drawn[name], rtol=1e-8, atol=1e-12)
    rows, codes = clf.rows(X), clf.known_codes(y)
    scores = own.log_scores(rows, parameters)
    if not own.generative:
        scores = scores - np.logaddexp.reduce(scores, axis=2, keepdims=True)
    expected = scores[:, np.arange(len(codes)), codes].sum(axis=1)
    plain = remove_value_transforms(model)
    likelihood = plain.compile_logp(vars=plain.observed_RVs, mode=PYTHON)
    found = np.array([float(likelihood({name: drawn[name][at] for name in free})) for at in range(2)])
    if case.name in ("nb histogram", "multinomial"):
        found, expected = np.diff(found), np.diff(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@every_model
def test_the_free_variables_are_those_of_the_posterior(case, mixed_table, fitted):
    clf, (X, y) = fitted(case), case.table(mixed_table)
    model, posterior = clf.to_pymc(X, y), clf.posterior_["posterior"].to_dataset()
    for variable in model.free_RVs:
        name, dims = variable.name, model.named_vars_to_dims.get(variable.name, ())
        assert name in posterior
        assert posterior[name].dims == ("chain", "draw", *dims)  # a scalar has none
        assert posterior[name].shape[2:] == tuple(variable.shape.eval())
        for dim in dims:
            if model.coords.get(dim) is not None:
                assert [str(value) for value in model.coords[dim]] == [str(v) for v in posterior[dim].values]
    assert all(variable.name in pm.model_to_mermaid(model) for variable in model.basic_RVs)


HANDED = ("nb", "nb histogram", "multinomial", "tan", "network of numbers", "gda shared", "lr mixed")
"""Cases of continuous integration: one of each kind of page."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=() if case.name in HANDED else NIGHTLY) for case in MODELS]
)
def test_every_model_in_a_users_hands(case, mixed_table, fitted):
    """Draw from the prior, and rows given the posterior; hand trees to ArviZ and draws back to the classifier."""
    clf, (X, y) = fitted(case), case.table(mixed_table)
    model = clf.to_pymc(X, y)
    observed = {variable.name for variable in model.observed_RVs}
    prior = pm.sample_prior_predictive(5, model=model, random_seed=1)
    assert set(prior["prior_predictive"].data_vars) == observed
    few = xr.DataTree.from_dict({"posterior": clf.posterior_["posterior"].to_dataset().isel(draw=slice(20))})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a free variable that the draws lack is drawn from its prior, with a warning
        predicted = pm.sample_posterior_predictive(few, model=model, random_seed=1, progressbar=False)
    assert set(predicted["posterior_predictive"].data_vars) == observed
    pm.compute_log_likelihood(few, model=model, progressbar=False)
    again = clf.with_posterior(few)
    if case.name not in ("nb histogram", "multinomial"):
        by_row = sum(
            values.values.reshape(len(again.draws_.parameters[next(iter(clf.model_.dims()))]), -1).sum(axis=1)
            for values in few["log_likelihood"].data_vars.values()
        )
        joint, conditional = log_likelihoods(again, X, y)
        own = conditional if joint is None else joint
        np.testing.assert_allclose(by_row, own.reshape(len(by_row), -1).sum(axis=1), rtol=1e-7)
    tree = clf.to_datatree(X, y, draws=20)
    name = next(iter(clf.model_.dims()))
    az.plot_prior_posterior(tree, var_names=[name], backend="matplotlib")
    az.plot_ppc_dist(tree, num_samples=10, kind="ecdf", backend="matplotlib")
    az.plot_ppc_pava(tree, data_type="categorical", backend="matplotlib")
    plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.name, marks=() if case.name == "lr mixed" else NIGHTLY) for case in MODELS]
)
def test_draws_of_pymc_answer_as_the_classifier(case, mixed_table, fitted):
    clf, (X, y) = fitted(case), case.table(mixed_table)
    options = {"progressbar": False, "random_seed": 1, "compute_convergence_checks": False}
    drawn = pm.sample(400, tune=600, chains=2, cores=1, model=clf.to_pymc(X, y), **options)
    given = clf.with_posterior(drawn)
    own = clf.predict_proba(X, "bayes-optimal")
    np.testing.assert_allclose(given.predict_proba(X, "bayes-optimal"), own, atol=0.06)
    assert np.abs(given.predict_proba(X, "bayes-optimal") - own).mean() < 0.012


@pytest.mark.slow
@pytest.mark.parametrize("make", [bc.NaiveBayes, bc.JointBayes, bc.LogisticRegression])
def test_rows_drawn_given_the_posterior_have_the_association_of_the_table(make):
    """θ of the prior would give .5 on average."""
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 200)
    sign = np.where(rng.random(400) < 0.95, y, y[::-1])
    X = pd.DataFrame({"sign": sign})
    clf = make(random_state=1).fit(X, y)
    few, model = clf.posterior_["posterior"].to_dataset().isel(draw=slice(25)), clf.to_pymc(X, y)
    found = pm.sample_posterior_predictive(few, model=model, random_seed=1, progressbar=False)["posterior_predictive"]
    others = [own for own in found.data_vars if own != "y"]
    signs = found[others[0]].values if others else sign == "yes"
    assert (signs == found["y"].values).mean() == pytest.approx(0.95, abs=0.04)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [bc.GaussianNB, pytest.param(bc.CategoricalNB, marks=NIGHTLY), partial(bc.LogisticRegression, prior_scale=1.0)],
)
def test_the_mode_of_pymc_is_that_of_the_classifier(make, mixed_table):
    X, y = mixed_table
    columns = ["ward", "fever"] if make is bc.CategoricalNB else ["age", "dose"]
    whole = X[columns].notna().all(axis=1)
    X, y = X.loc[whole, columns], np.asarray(y)[whole]
    clf = make(random_state=1, **({"alpha": 2.0} if make is bc.CategoricalNB else {})).fit(X, y)
    point = pm.find_MAP(model=clf.to_pymc(X, y), progressbar=False)
    given = clf.with_posterior(clf.posterior_, point)
    np.testing.assert_allclose(given.predict_proba(X, "map"), clf.predict_proba(X, "map"), atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lr scale", "gnb shared"])
def test_other_rows_are_set_by_their_data(name, mixed_table, fitted):
    """The page of other rows has the likelihood that a model of them has; P of logistic regression is its own."""
    case = next(case for case in CASES if case.name == name)
    clf, (X, y) = fitted(case), case.table(mixed_table)
    new = X.dropna().iloc[:7]
    model = clf.to_pymc(X.dropna(), y[X.notna().all(axis=1)])
    with model:
        pm.set_data(clf.pymc_data(new))
    point = {k: v[0, 0].values for k, v in clf.posterior_["posterior"].data_vars.items()}
    one = clf.with_posterior(clf.posterior_["posterior"].to_dataset().isel(chain=[0], draw=[0]))
    if name == "lr scale":
        eta = pm.draw(pm.do(model, {v.name: point[v.name] for v in model.free_RVs})["eta"])
        P = 1 / (1 + np.exp(-eta[:, 0])) if eta.shape[1] == 1 else np.exp(eta - np.logaddexp.reduce(eta, 1)[:, None])
        np.testing.assert_allclose(P, one.predict_proba(new, "mean")[:, -P.ndim if P.ndim == 1 else slice(None)])
    else:
        plain = remove_value_transforms(model)
        log_p = float(plain.compile_logp(vars=plain.observed_RVs, mode=PYTHON)(point))
        first = np.full(7, clf.classes_[0])
        assert log_p == pytest.approx(log_likelihoods(one, new, first)[0].sum(), rel=1e-9)


def test_what_is_refused(mixed_table):
    X, y = mixed_table
    clf = bc.NaiveBayes(random_state=1).fit(X[["age", "ward"]], y)
    with pytest.raises(Refused, match="no weights of rows; repeat a row"):
        clf.to_pymc(X[["age", "ward"]], y, np.ones(len(y)))
    gaps = X[["age", "ward"]].copy()
    gaps.iloc[0, 0] = np.nan
    with pytest.raises(Refused, match="rows with missing cells or with new levels need"):
        clf.pymc_data(gaps)
    with pytest.raises(InputError, match="the posterior lacks 'mu'"):
        clf.with_posterior(clf.posterior_["posterior"].to_dataset()[["pi", "sigma2", "theta_ward"]])


@pytest.mark.parametrize("name", IN_CLOSED_FORM)
def test_sums_over_discrete_hypotheses_have_no_pymc_model(name, mixed_table, fitted):
    case = next(case for case in CASES if case.name == name)
    clf, (X, y) = fitted(case), case.table(mixed_table)
    for make in (clf.model_.pymc, lambda: clf.to_pymc(X, y)):
        with pytest.raises(Refused, match=r"averaged over in closed form and ha(s|ve) no PyMC model"):
            make()


PAGES = {
    "gaussian_nb": (bc.GaussianNB, ["age", "dose"]),
    "categorical_nb": (bc.CategoricalNB, ["ward", "fever"]),
    "naive_bayes": (partial(bc.NaiveBayes, families="gaussian"), ["age", "dose", "ward", "fever"]),
    "joint_bayes": (bc.JointBayes, ["ward", "smoker"]),
    "gaussian_discriminant_analysis": (bc.GaussianDiscriminantAnalysis, ["age", "dose"]),
    "logistic_regression": (bc.LogisticRegression, ["age", "dose"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_density_of_the_fitted_classifier(name, mixed_table):
    """By the page's own defaults, and by those of the fit."""
    make, columns = PAGES[name]
    table = mixed_table[0][columns]
    complete = table.notna().all(axis=1)
    X, y = table[complete], np.asarray(mixed_table[1])[complete]
    options = {} if name in ("gaussian_nb", "gaussian_discriminant_analysis", "logistic_regression") else {"alpha": 2.0}
    clf = make(inference="map", random_state=1, **options).fit(X, y)
    models = [getattr(pymc_models, name)(X, y), clf.to_pymc(X, y)]
    names = [variable.name for variable in models[0].free_RVs]
    assert sorted(names) == sorted(variable.name for variable in models[1].free_RVs)
    point = dict(zip(names, pm.draw([models[0][one] for one in names], random_seed=1, mode=PYTHON), strict=True))
    found = float(remove_value_transforms(models[0]).compile_logp(mode=PYTHON)(point))
    if name == "logistic_regression":  # in the directions of the fit, which may have other signs and another order
        own = pymc_models.Columns.of(X, np.ones(2, dtype=bool)).directions
        point["epsilon"] = clf.model_.weight_prior.directions.T @ own @ point["epsilon"]
    expected = float(remove_value_transforms(models[1]).compile_logp(mode=PYTHON)(point))
    assert found == pytest.approx(expected, rel=1e-10)


def test_many_columns_with_as_many_levels_are_one_variable():
    """With a missing cell, whose density is that of the others; the draws translate back without loss."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"w{i}": rng.choice(list("abc")[: 2 + i % 2], 30) for i in range(70)})
    X.iloc[0, 0] = None
    y = np.arange(30) % 2
    clf = bc.CategoricalNB(alpha=2.0, random_state=1).fit(X, y)
    model, posterior = clf.to_pymc(X, y), clf.posterior_["posterior"]
    free = [variable.name for variable in model.free_RVs]
    assert free == ["pi", "theta_of_2", "theta_of_3"]
    point = {name: posterior[name].values[0, 0] for name in free}
    parameters = clf.model_.from_pymc({name: values[None] for name, values in point.items()})
    np.testing.assert_array_equal(parameters["theta"][0], posterior["theta"].values[0, 0])
    plain = remove_value_transforms(model)
    found = float(plain.compile_logp(vars=plain.observed_RVs, mode=PYTHON)(point))
    scores = clf.model_.log_scores(clf.rows(X), parameters)[0]
    assert found == pytest.approx(scores[np.arange(30), y].sum(), rel=1e-10)


def test_the_model_of_the_readme_is_that_of_the_classifier():
    block = README.read_text(encoding="utf-8").partition("## The model, as code")[2].partition("```python\n")[2]
    names = {}
    exec(block.partition("```")[0], names)
    X, y, free = names["X"], names["table"].y, ("pi", "sigma2", "mu")
    models = names["model"], bc.GaussianNB(inference="map").fit(X, y).to_pymc(X, y)
    drawn = pm.draw([models[0][one] for one in free], random_seed=1, mode=PYTHON)
    point = dict(zip(free, drawn, strict=True))
    found, expected = (float(remove_value_transforms(one).compile_logp(mode=PYTHON)(point)) for one in models)
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("transform", [log, logodds])
def test_coordinates_of_nuts_have_their_inverse_and_its_derivative(transform):
    scaled, shape, step = pymc_models._PerShape(transform), (None, None, pt.constant(9.0)), 1e-6
    z = float(scaled.forward(pt.constant(0.3), *shape).eval())
    below, theta, above = (float(scaled.backward(pt.constant(at), *shape).eval()) for at in (z - step, z, z + step))
    assert theta == pytest.approx(0.3, rel=1e-12)
    slope = float(scaled.log_jac_det(pt.constant(z), *shape).eval())
    assert slope == pytest.approx(np.log((above - below) / (2 * step)), rel=1e-6)


def test_columns_of_arrays_have_names(rng):
    X, y = rng.integers(0, 2, size=(12, 2)), np.arange(12) % 2
    every = [getattr(pymc_models, name) for name in pymc_models.__all__]
    takes_tables = [own for own in every if {"X", "y"} <= signature(own).parameters.keys()]
    for page in takes_tables:
        more = ([("x0", "x1")],) if page is pymc_models.bayes_net else ()
        of_array, of_table = (page(own, y, *more) for own in (X, pd.DataFrame(X, columns=["x0", "x1"])))
        assert of_array.coords == of_table.coords
        assert of_array.named_vars.keys() == of_table.named_vars.keys()
    assert len(takes_tables) == 9
