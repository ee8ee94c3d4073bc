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
    problems = convergence_problems(scalars(posterior), clf.draws_.stats, clf.inference_.max_treedepth)
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
    assert found.scope == f"{len(found.names)} checked parameters (1,202 in all)"


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
