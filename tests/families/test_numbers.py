"""Families of counts and of positive numbers: SciPy and quadrature, whole classifiers, cells that they refuse."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from helpers.suites import mainly
from numpy.testing import assert_allclose
from scipy import integrate, special, stats

import bayesclf as bc
from bayesclf.engines import Exact
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families import Axes, Exponential, Gamma, Hurdle, LogNormal, NegativeBinomial, Poisson
from bayesclf.rules import RULES

ONE, TWO = Axes(("k",), ("u",)), Axes(("k",), ("u", "v"))
N = 60
Y = np.array(["no", "perhaps", "yes"])[np.arange(N) % 3]
RNG = np.random.default_rng(8)
POSITIVE = pd.DataFrame(RNG.gamma(2.0, 1 + (np.arange(N) % 3)[:, None], (N, 2)), columns=["u", "v"])
COUNTS = np.floor(2 * POSITIVE)
ZEROS = POSITIVE.mask(RNG.random((N, 2)) < 0.3, 0.0)
FAMILIES = {
    "poisson": (Poisson(), COUNTS),
    "negative-binomial": (NegativeBinomial(), COUNTS**2),
    "exponential": (Exponential(), ZEROS),
    "gamma": (Gamma(), POSITIVE),
    "log-normal": (LogNormal(), POSITIVE),
    "log-normal, one variance": (LogNormal("shared"), POSITIVE),
    "hurdle log-normal": (Hurdle(), ZEROS),
    "hurdle log-normal, one variance": (Hurdle(LogNormal("shared")), ZEROS),
    "hurdle gamma": (Hurdle(Gamma()), ZEROS),
    "hurdle exponential": (Hurdle(Exponential()), ZEROS),
}
every_family = pytest.mark.parametrize("name", mainly(FAMILIES, "poisson", "gamma", "hurdle log-normal"))
MEASURED = ("exponential", "gamma", "log-normal", "hurdle log-normal", "hurdle gamma", "hurdle exponential")
"""Families of numbers that have a unit."""


def table(name):
    """Return a table with missing cells."""
    X = FAMILIES[name][1]
    return X.mask(np.random.default_rng(1).random(X.shape) < 0.1)


def make(name, **options):
    return bc.NaiveBayes(
        {("u", "v"): FAMILIES[name][0]}, **{"inference": Exact(draws=60), "random_state": 1, **options}
    )


@cache
def fitted(name):
    return make(name).fit(table(name), Y)


# Closed forms


def one_class(family, x):
    statistics = family.statistics(np.array(x)[:, None], np.zeros(len(x), dtype=int), ONE)
    return family.resolve_prior(statistics), statistics


def test_the_default_prior_of_an_exponential_is_worth_one_row():
    family, _ = one_class(Exponential(), [0.5, 3.5])
    assert family.a.item() == 2.0
    assert family.b.item() == 2.0  # E[1/λ] = b/(a − 1) is the mean


@pytest.mark.parametrize("x", [[3], [0, 0, 7, 1], [40, 1000, 3, 0, 0], [10**4, 3]])
def test_the_evidence_of_a_negative_binomial_is_that_of_quadrature(x):
    """Over log r, θ integrated out, by rows rather than by interpolation."""
    family, statistics = one_class(NegativeBinomial(median=2.0, spread=1.2, kappa=0.7, m=1.5), np.array(x, dtype=float))

    def log_joint(t):
        r = np.exp(t)
        of_theta = special.betaln(1 + (0.7 + len(x)) * r, 1 + 1.05 + sum(x)) - special.betaln(1 + 0.7 * r, 1 + 1.05)
        of_rows = sum(special.gammaln(one + r) - special.gammaln(r) - special.gammaln(one + 1) for one in x)
        return stats.norm.logpdf(t, np.log(2.0), 1.2) + of_theta + of_rows

    found = family.log_evidence(statistics)[0]
    total = integrate.quad(lambda t: np.exp(log_joint(t) - found), -9, 9, limit=400, epsabs=1e-11, epsrel=1e-10)[0]
    assert_allclose(total, 1.0, rtol=1e-8)


def test_a_negative_binomial_of_large_dispersion_is_a_poisson():
    x = np.array([3.0, 0.0, 2.0, 2.0])
    family, statistics = one_class(NegativeBinomial(median=1e6, spread=1e-2), x)
    other, of_other = one_class(Poisson(), x)
    assert_allclose(family.log_evidence(statistics), other.log_evidence(of_other), rtol=1e-5)


def test_counts_as_variable_as_poissons_have_no_dispersion_by_maximum_likelihood():
    X, y = pd.DataFrame({"u": [1.0, 2.0, 0.0, 9.0]}), [0, 0, 1, 1]
    clf = bc.NaiveBayes({"u": "negative-binomial"}, random_state=1).fit(X, y)
    with pytest.raises(DoesNotExist, match="class '0' has counts that vary no more than Poisson's in column 'u'"):
        clf.predict(X, rule="mle")
    assert np.isfinite(clf.predict_proba(X, rule="map")).all()


def test_the_default_prior_of_a_hurdle_has_the_share_of_zeros_as_its_mode():
    family, _ = one_class(Hurdle(), [0.0, 1.0, 2.0, 3.0])
    assert_allclose([family.alpha.item(), family.beta.item()], [1.25, 1.75])


# Classifiers


@every_family
def test_every_rule_answers_and_a_saved_model_answers_as_before(name, tmp_path):
    clf, X = fitted(name), table(name)
    clf.save(tmp_path / "model.nc")
    loaded = bc.load(tmp_path / "model.nc")
    for rule in RULES:
        proba = clf.predict_proba(X, rule=rule)
        assert_allclose(proba.sum(axis=1), 1.0)
        assert (proba.argmax(axis=1) == np.arange(N) % 3).mean() > 0.4
        np.testing.assert_array_equal(loaded.predict_proba(X, rule=rule), proba)


@pytest.mark.parametrize("scale", [1e-95, 1e95])
@pytest.mark.parametrize("name", MEASURED)
def test_no_answer_depends_on_the_unit(name, scale):
    X = table(name)
    clf = make(name).fit(X * scale, Y)
    for rule in RULES:
        found, expected = clf.predict_proba(X * scale, rule=rule), fitted(name).predict_proba(X, rule=rule)
        assert_allclose(found, expected, rtol=1e-7, atol=1e-10)
    density = clf.model_.log_predictive(clf.rows(X * scale)) - fitted(name).model_.log_predictive(fitted(name).rows(X))
    above = (X.notna() & (X > 0) if "hurdle" in name else X.notna()).sum(axis=1)
    assert_allclose(density, np.tile(-np.log(scale) * above.to_numpy()[:, None], 3), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["log-normal", "hurdle exponential"])
def test_other_log_odds_are_not_linear(name):
    with pytest.raises(Refused, match=r"log-odds are (linear in log x|not a sum)"):
        fitted(name).to_logistic()


# What they refuse


@pytest.mark.parametrize(
    ("family", "cells", "message"),
    [
        ("exponential", [1.0, -2.0], r"column 'u' has -2 in row 2, but the family 'exponential' is for numbers of at"),
        ("log-normal", [1.0, 0.0], r"column 'u' has 0 in row 2, .* for numbers above 0; use the family 'hurdle'"),
        ("log-normal", [1.0, -2.0], r"column 'u' has -2 in row 2, .* at least 0; use the family 'gaussian' for it"),
        ("hurdle", [0.0, -2.0], r"column 'u' has -2 in row 2, but the family 'log-normal'"),
        ("hurdle", [0.0, 3.0], "column 'u' has only one value above 0"),
        (Exponential(a=0.5), [1.0, 2.0], "a is at most 1, where 1/λ has no prior mean"),
    ],
)
def test_other_cells_are_refused(family, cells, message):
    with pytest.raises(InputError, match=message):
        bc.NaiveBayes({"u": family}).fit(pd.DataFrame({"u": cells}), [0, 1])


@pytest.mark.parametrize("cells", [[5.0, 5.0, 5.0, 5.0], [1e7, 1e7, 1e7 + 1e-2, 1e7], [np.nan] * 4])
def test_equal_cells_tell_nothing_of_a_shape(cells):
    clf = bc.NaiveBayes({"u": "gamma"}, random_state=1).fit(
        pd.DataFrame({"u": cells, "v": [1.0, 2.0, 3.0, 5.0]}), [0, 1] * 2
    )
    assert any("column 'u' has at most one value" in note for note in clf.notes_)


@pytest.mark.parametrize("n", [50, 100_000])
def test_very_regular_and_very_irregular_cells_have_finite_answers(n):
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"regular": rng.normal(1e4, 1 + np.arange(n) % 2), "irregular": rng.gamma(0.01, size=n) + 1e-300})
    clf = bc.NaiveBayes(dict.fromkeys(X.columns, "gamma"), random_state=1).fit(X, np.arange(n) % 2)
    for rule in RULES:
        assert np.isfinite(clf.predict_log_proba(X[:50], rule=rule)).all()
    shapes = clf.model_.posterior().blocks[0].family.mean()["shape"].ravel()
    assert_allclose(shapes, [1e8, 2.5e7], rtol=0.5 if n == 50 else 0.02)


@pytest.mark.parametrize("name", ["exponential", "hurdle"])
def test_a_column_of_zeros_contributes_nothing(name):
    X = pd.DataFrame({"u": np.zeros(6), "v": [1.0, 2.0, 0.0, 4.0, 6.0, 5.0]})
    clf = bc.NaiveBayes({"u": name, "v": name}, random_state=1).fit(X, [0, 0, 0, 1, 1, 1])
    assert any("column 'u' has at most one value" in note for note in clf.notes_)


def test_a_class_without_a_positive_number_has_no_maximum_likelihood():
    X = pd.DataFrame({"u": [0.0, 0.0, 2.0, 5.0]})
    for family, message in ((Exponential(), "has no value above 0"), (Hurdle(), "has too few different values")):
        with pytest.raises(DoesNotExist, match=f"class '0' {message} in column 'u'"):
            bc.NaiveBayes({"u": family}, random_state=1).fit(X, [0, 0, 1, 1]).predict(X, rule="mle")


def test_a_rate_of_zero_makes_counts_impossible():
    family = Poisson(1.0, 1.0).resolve_prior(Poisson().statistics(np.ones((1, 2)), np.zeros(1, dtype=int), TWO))
    X = np.array([[0.0, 2.0], [3.0, 2.0], [np.nan, 2.0]])
    found = family.log_density(X, {"rate": np.array([[[0.0, 2.0]]])})
    assert_allclose(found[0, :, 0], np.array([0, -np.inf, 0]) + stats.poisson.logpmf(2, 2.0), rtol=1e-12)


def test_a_flat_prior_of_a_rate_without_events_has_its_mode_at_zero():
    statistics = Poisson().statistics(np.array([[0.0], [0.0]]), np.zeros(2, dtype=int), ONE)
    assert Poisson(1.0, 1.0).resolve_prior(statistics).map(statistics)["rate"].item() == 0
    with pytest.raises(DoesNotExist, match="no most probable rate"):
        Poisson(0.9, 1.0).resolve_prior(statistics).map(statistics)


@pytest.mark.parametrize("family", [Gamma(), NegativeBinomial()])
def test_a_posterior_is_no_prior_of_a_pymc_model(family):
    prior, statistics = one_class(family, [1.0, 4.0, 2.0])
    with pytest.raises(Refused, match="the posterior of other rows, which has no PyMC model; fit all rows together"):
        prior.posterior(statistics).pymc(statistics, "")


def test_the_mode_of_a_rate_at_zero_does_not_exist():
    clf = bc.NaiveBayes({"u": Exponential(0.5, 1.0)}, random_state=1)
    X = pd.DataFrame({"u": [1.0, 2.0, np.nan]})
    with pytest.raises(DoesNotExist, match=r"class '1' has no most probable rate above 0"):
        clf.fit(X, [0, 0, 1]).predict(X, rule="map")
