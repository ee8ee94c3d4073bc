"""Power scaling: ArviZ's numbers, closed-form power-scaled posteriors, and densities by SciPy and by rows."""

import re
from dataclasses import replace

import arviz as az
import numpy as np
import pytest
import xarray as xr
from arviz_stats.base import array_stats
from helpers.classifiers import log_likelihoods
from helpers.faults import gaussian, logistic, normal_rows, word_rows

import bayesclf as bc
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.context import Context
from bayesclf.diagnostics.power_scaling import _parts, _weights, sensitivities


def inputs(clf):
    """Return a fit's model and draws, and no rows, as `sensitivities` takes them."""
    return clf.model_, Context.of(clf, None, None, None).posterior, None


def test_likelihood_of_the_parts_is_that_of_the_rows():
    clf, (X, y) = gaussian(*normal_rows(50))
    of_parts = sum(part.log_likelihood for part in _parts(*inputs(clf))).ravel()
    of_rows = log_likelihoods(clf, X, y)[0].sum(axis=1)
    np.testing.assert_allclose(of_parts - of_parts[0], of_rows - of_rows[0], atol=1e-8)


def tree_of(part):
    """Return a part as ArviZ takes it."""
    scalars = {name: (("chain", "draw"), draws) for name, draws in zip(part.names, part.draws, strict=True)}
    groups = {
        "posterior": xr.Dataset(scalars),
        "log_prior": xr.Dataset({"all": (("chain", "draw"), part.log_prior)}),
        "log_likelihood": xr.Dataset({"all": (("chain", "draw"), part.log_likelihood)}),
    }
    return xr.DataTree.from_dict(groups)


def test_sensitivities_are_those_of_arviz():
    clf, _ = gaussian(*normal_rows(50))
    parts = list(_parts(*inputs(clf)))
    table = sensitivities(*inputs(clf)).set_index("parameter")
    for part in parts:
        if np.ptp(part.log_prior) == 0:
            assert (table.loc[list(part.names), "prior"] == 0).all()
            continue
        for group in ("prior", "likelihood"):
            expected = az.psense(tree_of(part), group=group)
            for name in part.names:
                assert table.loc[name, group] == pytest.approx(float(expected[name]), rel=1e-9)


def weighted(part, name, log_density, power, function=lambda draws: draws):
    """Return the mean under the power-scaled posterior by importance weights, and its standard error."""
    draws = function(part.draws[part.names.index(name)].ravel())
    log_weight = (power - 1) * log_density.ravel()
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = weight @ draws
    return mean, np.sqrt(weight**2 @ (draws - mean) ** 2)


def test_of_many_parameters_the_number_checked_is_told_apart(monkeypatch):
    monkeypatch.setattr(thresholds, "MAX_SCALARS", 4)
    clf, _ = gaussian(*normal_rows(50))
    reason = clf.diagnose(checks=["M03"])["M03"].reason
    assert re.search(r" of 4 parameters; 4 of \d+ parameters were checked$", reason)


def test_a_prior_without_a_density_is_not_applicable():
    X, y = word_rows(60)
    clf = bc.BayesNetClassifier("all-trees", random_state=1).fit(X[["wind"]], y)
    finding = clf.diagnose(checks=["M03"])["M03"]
    assert finding.section == "not applicable"
    assert "EveryTree" in finding.reason


def test_one_draw_that_was_resampled_often_can_be_weighed():
    clf, (X, y) = gaussian(*normal_rows(50))
    held = clf.draws_.parameters
    clf.draws_ = replace(clf.draws_, parameters={name: values[np.arange(1000) % 3] for name, values in held.items()})
    part = list(_parts(*inputs(clf)))[-1]
    with pytest.raises(ValueError, match="tail values are the same"):
        array_stats.power_scale_lw(part.log_prior, 1.01, axis=[-2, -1])
    np.testing.assert_allclose(_weights(part.log_prior, 1.01).sum(), 1.0)
    assert clf.diagnose(X, y, checks=["M03"])["M03"].section in ("passed", "tip")


def test_pull_is_the_derivative_of_the_mean_by_the_power_of_the_prior():
    family = bc.families.Gaussian(m=3.0, kappa=5.0, a=4.0, b=8.0)
    clf = bc.NaiveBayes({("x0", "x1"): family}, inference=bc.engines.Exact(draws=5_000), random_state=1)
    part = next(one for one in _parts(*inputs(clf.fit(*normal_rows(50)))) if "mu[no, x0]" in one.names)
    name, step = "mu[no, x0]", 0.02
    (up, _), (down, _) = (weighted(part, name, part.log_prior, 1 + sign * step) for sign in (1, -1))
    sd = part.draws[part.names.index(name)].std()
    found = dict(zip(part.names, part.pull(), strict=True))[name]
    assert found == pytest.approx((up - down) / (2 * step) / sd, rel=0.02)


def test_logistic_regression_learns_its_prior():
    clf, rows = logistic(*normal_rows(50), inference=bc.engines.Laplace(draws=100))
    assert "share a prior" in clf.diagnose(*rows, checks=["M03"])["M03"].reason
