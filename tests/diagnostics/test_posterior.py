"""Checks of draws: they say what the fit's own warnings say, and what ArviZ computes."""

import arviz as az
import numpy as np
import pytest
from helpers.faults import (
    chains,
    diagnose,
    disagreeing,
    gaussian,
    laplace,
    logistic,
    normal_rows,
    outlier,
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

OF_CHAINS = ["P01", "P02", "P03", "P05", "P06", "P07"]


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
    issues = clf.diagnose(checks=OF_CHAINS).issues
    assert bool(problems) == bool(issues)
    assert tree is None or set(tree["posterior"].data_vars) == set(posterior.data_vars)


def test_numbers_are_those_of_arviz():
    clf = chains()
    summary = az.summary(clf.posterior_["posterior"].to_dataset(), round_to="none")
    found = clf.diagnose(checks=["P"])
    assert found["P01"].evidence["r_hat"][0] == pytest.approx(summary["r_hat"].max())
    assert found["P02"].evidence["ess"][0] == pytest.approx(summary["ess_bulk"].min())
    assert found["P03"].evidence["ess"][0] == pytest.approx(summary["ess_tail"].min())
    assert found["P04"].evidence["mcse_over_sd"][0] == pytest.approx((summary["mcse_mean"] / summary["sd"]).max())
    assert min(found["P07"].evidence.values()) == pytest.approx(float(az.bfmi(clf.posterior_)["energy"].min()))


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
    found = clf.diagnose(checks=OF_CHAINS)
    assert {finding.section for finding in found.findings} == {"not applicable"}
    assert {finding.reason for finding in found.findings} == {"independent draws from the closed-form posterior"}


@pytest.mark.parametrize(("draws", "section"), [(250, "passed"), (5, "issue")])
def test_monte_carlo_error_of_exact_draws_is_one_over_the_root_of_their_number(draws, section):
    clf = bc.GaussianNB(inference=bc.engines.Exact(draws=draws), random_state=1).fit(*normal_rows(60))
    finding = clf.diagnose(checks=["P04"])["P04"]
    assert finding.section == section
    assert finding.evidence["mcse_over_sd"] == pytest.approx(1 / np.sqrt(4 * draws))


def test_laplace_draws_are_worth_their_importance_sample_size():
    (clf, _) = laplace(0.3)
    found = clf.diagnose(checks=["P01", "P04"])
    worth = min(float(clf.draws_.stats["importance_ess"]), 400)
    assert found["P04"].evidence["mcse_over_sd"] == pytest.approx(worth**-0.5)
    assert found["P01"].section == "not applicable"


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
    assert (finding.section, finding.evidence["parameters"]) == ("issue", 10)


def test_influential_rows_are_those_of_leave_one_out():
    clf, (X, y) = outlier()
    finding = diagnose((clf, (X, y)), ["P09"])["P09"]
    with pytest.warns(bc.errors.PredictionWarning, match="Pareto"):
        khat = bc.loo(clf, X, y, method="psis").pareto_k.values
    assert finding.evidence["row"][0] == 1 + khat.argmax() == 1
    assert "counted from 1: 1)" in finding.reason
    assert "few rows" not in finding.next_step  # as other data sets of 60 rows have no such row
    assert finding.evidence["pareto_k"][0] == pytest.approx(khat.max())


def test_other_rows_than_the_training_rows_cannot_be_left_out():
    clf, (X, y) = gaussian(*normal_rows(60))
    finding = diagnose((clf, (X + 1.0, y)), ["P09"])["P09"]
    assert finding.section == "skipped"
    assert "training rows" in finding.reason
