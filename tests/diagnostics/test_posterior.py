"""Checks of draws: they say what the fit's own warnings say, and what ArviZ computes."""

import arviz as az
import numpy as np
import pytest
from helpers.faults import (
    chains,
    diagnose,
    disagreeing,
    gaussian,
    logistic,
    normal_rows,
    saturated,
    sluggish,
    wandering,
    with_draws,
    with_statistics,
    word_rows,
)

import bayesclf as bc
from bayesclf.diagnostics.thresholds import MAX_SCALARS
from bayesclf.engines.convergence import convergence_problems, scalars


@pytest.mark.parametrize(
    "fit",
    [
        chains,
        saturated,
        lambda: with_draws(disagreeing),
        lambda: with_draws(sluggish),
        lambda: with_statistics(energy=wandering),
        lambda: with_statistics(diverging=lambda values: ~values),
    ],
    ids=["healthy", "saturated", "disagreeing", "sluggish", "wandering", "diverging"],
)
def test_there_are_issues_where_the_fit_would_warn(fit):
    clf = fit()
    tree = clf.posterior_ if clf is chains() else None
    posterior = clf.posterior_draws()
    problems = convergence_problems(posterior, clf.draws_.stats, clf.inference_.max_treedepth)
    issues = clf.diagnose(checks=["P01"]).issues
    assert bool(problems) == bool(issues)
    assert tree is None or set(tree["posterior"].data_vars) == set(posterior.data_vars)


def test_numbers_are_those_of_arviz():
    clf = chains()
    summary = az.summary(clf.posterior_["posterior"].to_dataset(), round_to="none")
    worst = clf.diagnose(checks=["P01"])["P01"].evidence.set_index("parameter")
    expected = summary.loc[worst.index, ["r_hat", "ess_bulk", "ess_tail"]].astype(float)
    np.testing.assert_allclose(worst[list(expected)], expected)
    assert worst["r_hat"].iloc[0] == pytest.approx(summary["r_hat"].max())


def test_single_parameters_are_named_as_arviz_names_them():
    posterior = chains().posterior_["posterior"].to_dataset()
    assert list(scalars(posterior).names) == list(az.summary(posterior).index)


def test_parameters_that_cannot_vary_are_left_out():
    X, y = word_rows(60)
    clf = bc.CategoricalNB(random_state=1).fit(X[["wind"]].assign(site="here"), y)
    found = scalars(clf.posterior_draws())
    assert found.of == len(found.names) + 2
    assert not any("site" in name for name in found.names)


def test_of_many_parameters_some_are_checked():
    X, y = normal_rows(40, 300)
    clf, _ = gaussian(X, y)
    found = scalars(clf.posterior_["posterior"].to_dataset(), MAX_SCALARS)
    assert found.of == 1202
    assert 500 < len(found.names) <= 1000
    assert found.scope == f"{len(found.names)} of 1,202 parameters"


def test_exact_draws_have_no_checks_of_chains():
    clf, _ = gaussian(*normal_rows(60))
    found = clf.diagnose(checks=["P01"])
    assert {finding.section for finding in found.findings} == {"not applicable"}
    assert {finding.reason for finding in found.findings} == {"independent draws from the closed-form posterior"}


def test_point_estimates_have_no_draws():
    clf, rows = logistic(*normal_rows(60))
    found = diagnose((clf, rows), ["P"])
    assert {finding.section for finding in found.findings} == {"not applicable"}
    assert "MAP is a point estimate" in found["P01"].reason


def test_one_chain_is_an_issue():
    def first(values):
        return values[:1]

    clf = with_draws(lambda values: values)
    clf.draws_ = type(clf.draws_)(
        {name: values[:400] for name, values in clf.draws_.parameters.items()}, 1, clf.draws_.stats.isel(chain=[0])
    )
    assert "one chain" in clf.diagnose(checks=["P01"])["P01"].reason


def test_draws_that_are_not_finite_are_an_issue():
    def broken(values):
        return np.where(np.arange(values.shape[1]).reshape(1, -1, *[1] * (values.ndim - 2)) == 3, np.nan, values)

    finding = with_draws(broken).diagnose(checks=["P01"])["P01"]
    assert finding.section == "issue"
    assert "not finite" in finding.reason
