"""Logistic regression updated in steps: yesterday's posterior, as a normal, is today's prior."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesclf as bc
from bayesclf.engines import Laplace
from bayesclf.errors import InputError, Refused

EXPLICIT = {"prior_scale": 2.0, "standardize": False, "intercept_at": "zero", "random_state": 1}
"""A prior that does not depend on the rows, so that both ways to the posterior have the same."""


def rows_of(rng, n):
    X = rng.normal(size=(n, 2)) * [1, 3] + [0, 10]
    return X, np.where(X[:, 0] - 0.4 * (X[:, 1] - 10) + rng.logistic(size=n) > 0, "ill", "well")


@pytest.fixture(scope="module")
def batches():
    X, y = rows_of(np.random.default_rng(3), 600)
    first = bc.LogisticRegression(**EXPLICIT).fit(X[:300], y[:300])
    return X, y, first, first.as_prior().fit(X[300:], y[300:])


def test_two_steps_come_near_all_rows_at_once(batches):
    """Draws leave each mean an error of sd/√4000 twice, and the covariance one of √(1/4000): 0.05 sd is three of them.

    What is left is the skewness of the first posterior, which the normal lacks; halving the rows doubles its square.
    """
    X, y, first, second = batches
    both = bc.LogisticRegression(**EXPLICIT).fit(X, y)
    found, expected, before = (clf.summary(of="parameters") for clf in (second, both, first))
    # the intercepts are at different means, those of the first rows and of all
    found, expected, before = (table.drop("intercept") for table in (found, expected, before))
    assert (np.abs(found["mean"] - expected["mean"]) < 0.1 * expected["sd"]).all()
    np.testing.assert_allclose(found["sd"], expected["sd"], rtol=0.08)
    # far less than what the second rows taught
    assert (np.abs(before["mean"] - expected["mean"]).max() / expected["sd"]).max() > 0.3
    np.testing.assert_allclose(second.predict_proba(X), both.predict_proba(X), atol=0.02)


def test_the_second_posterior_is_prior_times_likelihood_by_quadrature():
    X, y = rows_of(np.random.default_rng(4), 80)
    X = X[:, :1]
    first = bc.LogisticRegression(inference=Laplace(), **EXPLICIT).fit(X[:40], y[:40])
    second = first.as_prior().set_params(inference=Laplace()).fit(X[40:], y[40:])
    prior, center = second.prior, second.prior.design.centre[0]
    b, w = np.meshgrid(np.linspace(-5, 5, 400), np.linspace(-6, 6, 400), indexing="ij")
    log_p = stats.multivariate_normal(prior.mean[0], prior.covariance).logpdf(np.stack([b, w], axis=-1))
    for x, label in zip(X[40:, 0] - center, y[40:], strict=True):
        log_p -= np.logaddexp(0, (b + w * x) * (-1 if label == "well" else 1))
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    table = second.summary(of="parameters")
    for name, values in (("intercept", b), ("weight", w)):
        mean = (p * values).sum()
        sd = np.sqrt((p * (values - mean) ** 2).sum())
        line = table.loc[name].iloc[0]
        assert line["mean"] == pytest.approx(mean, abs=4 * sd / np.sqrt(4000))
        assert line["sd"] == pytest.approx(sd, rel=4 / np.sqrt(8000))


@pytest.mark.slow
def test_nuts_and_laplace_agree_on_the_second_posterior(batches):
    X, y, first, second = batches
    chains = first.as_prior().set_params(inference=bc.engines.NUTS(draws=500)).fit(X[300:], y[300:])
    one, other = (clf.summary(of="parameters") for clf in (second, chains))
    assert (np.abs(one["mean"] - other["mean"]) < 4.5 * one["sd"] * np.sqrt(1 / 4000 + 1 / other["ess_bulk"])).all()


def test_saved_and_loaded_the_prior_is_the_same(batches, tmp_path):
    X, y, first, second = batches
    first.save(tmp_path / "monday.nc")
    again = bc.load(tmp_path / "monday.nc").as_prior().fit(X[300:], y[300:])
    np.testing.assert_array_equal(again.predict_proba(X), second.predict_proba(X))
    second.save(tmp_path / "tuesday.nc")
    loaded = bc.load(tmp_path / "tuesday.nc")
    np.testing.assert_array_equal(loaded.predict_proba(X), second.predict_proba(X))
    assert loaded.prior.khat == second.prior.khat
    third, other = (clf.as_prior().set_params(inference="map").fit(X[:20], y[:20]) for clf in (second, loaded))
    np.testing.assert_array_equal(third.predict_proba(X), other.predict_proba(X))


def test_it_says_that_it_is_approximate_and_how_much(batches):
    _, _, first, second = batches
    assert f"(k̂ = {first.as_prior().prior.khat:.2f})" in second.notes_[0]
    assert "approximation" in second.notes_[0]
    assert not any("far from a normal" in note for note in second.notes_)
    assert not any("approximation of an earlier" in note for note in first.notes_)


def test_a_posterior_far_from_a_normal_is_told(batches, monkeypatch):
    X, y, first, _ = batches
    monkeypatch.setattr("bayesclf.engines.laplace.khat_at_draws", lambda log_ratio: 0.8)
    notes = first.as_prior().set_params(inference="map").fit(X[300:], y[300:]).notes_
    assert "far from a normal (k̂ = 0.80, limit 0.7); fit all rows at once" in notes[1]


def test_levels_columns_and_classes_are_those_of_the_first_rows(mixed_table):
    X, y = mixed_table
    X = X[["age", "ward"]]
    first = bc.LogisticRegression(prior_scale=2.5, inference=Laplace(draws=250), random_state=1).fit(X, y)
    new = pd.DataFrame({"ward": ["south", "east"] * 3, "other": 1.0, "age": 40.0})
    second = first.as_prior().fit(new, ["ill", "mild", "well"] * 2)
    assert second.model_.design.names == first.model_.design.names
    assert any("column 'ward' has levels or words that the prior does not know" in note for note in second.notes_)
    only = first.as_prior().set_params(inference="map").fit(new[:2], ["ill", "mild"], classes=["ill", "mild", "well"])
    assert only.classes_.tolist() == ["ill", "mild", "well"]
    assert second.predictive_check(new, ["ill", "mild", "well"] * 2, draws=20)["prior_statistics"].data_vars


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, np.where(y == "ill", "ill", "fine")), "the prior is about the classes ill, mild, well, but"),
        (
            lambda X, y: (X.drop(columns="age"), y),
            "the prior has a column 'age' of kind number, which here is not there",
        ),
        (lambda X, y: (X.assign(age="old"), y), "'age' of kind number, which here is category"),
    ],
)
def test_rows_of_another_problem(change, message, mixed_table):
    X, y = mixed_table
    first = bc.LogisticRegression(prior_scale=2.5, inference=Laplace(draws=250), random_state=1).fit(
        X[["age", "ward"]], y
    )
    with pytest.raises(InputError, match=message):
        first.as_prior().fit(*change(X[["age", "ward"]], y))


def test_a_point_fit_has_no_covariance(mixed_table):
    X, y = mixed_table
    with pytest.raises(Refused, match="a fit by MAP is a point estimate and has no covariance"):
        bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X[["age"]], y).as_prior()
