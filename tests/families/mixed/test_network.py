"""Conditional Gaussian networks, against quadrature, other families, and enumeration."""

import re

import numpy as np
import pytest
from helpers.cases import MIXED
from helpers.families import ids
from scipy import stats

from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.families import Axes, ConditionalGaussian

NUMBERS = Axes(("a", "b"), ("u", "v", "w"), ((), (), ()))
BOTH = Axes(("a", "b"), ("c", "u", "v"), (("red", "blue"), (), ()))


def numbers(rng, n=40):
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3)) + 3.0 * y[:, None], y


def mixed(rng, n=40):
    y, c = rng.integers(2, size=(2, n))
    u = rng.normal(size=n) + 2 * c
    return np.column_stack([c, u, 0.7 * u * (1 - 2 * c) + y + rng.normal(size=n)]), y


def conditioned(family, X, y, axes):
    statistics = family.statistics(X, y, axes)
    return family.resolve_prior(statistics), statistics


def test_evidence_is_that_of_quadrature():
    rng = np.random.default_rng(0)
    X, y = mixed(rng, 4)
    axes = Axes(("a",), ("u", "v"), ((), ()))
    prior, statistics = conditioned(ConditionalGaussian(kappa=0.8, a=3.0), X[:, 1:], 0 * y, axes)
    (_, of_u), (_, of_v) = prior.parts()
    # Even grids in standardized coefficients and in log σ²: the sums converge faster than any power of the step.
    t, s = np.linspace(-9, 9, 61), np.linspace(-5, 7, 161)
    total = 0.0
    for part, x, on in ((of_u, X[:, 1], X[:, :0]), (of_v, X[:, 2], X[:, 1:2])):
        sd = 1 / np.sqrt(np.diag(part.precision[0, 0]))
        z = np.column_stack([np.ones(len(x)), on - part.centre])
        grids = np.meshgrid(*[t] * len(sd), s, indexing="ij")
        sigma2, standard = np.exp(grids[-1]), np.stack(grids[:-1], axis=-1)
        beta = part.m[0, 0] + np.sqrt(sigma2)[..., None] * sd * standard
        log_joint = stats.norm.logpdf(standard).sum(axis=-1) + grids[-1]
        log_joint += stats.invgamma.logpdf(sigma2, part.a[0, 0], scale=part.b[0, 0])
        log_joint += sum(stats.norm.logpdf(xi, beta @ zi, np.sqrt(sigma2)) for xi, zi in zip(x, z, strict=True))
        total += np.log(np.exp(log_joint).sum() * (t[1] - t[0]) ** len(sd) * (s[1] - s[0]))
    np.testing.assert_allclose(prior.log_evidence(statistics).sum(), total, rtol=1e-6)


@pytest.mark.parametrize("earlier", [False, True], ids=["prior", "posterior of earlier rows"])
@pytest.mark.parametrize("case", **ids(MIXED))
def test_the_words_of_the_prior_are_those_of_its_draws(case, earlier):
    family = case.prior
    if earlier:
        X, y = case.data()
        family = family.posterior(family.statistics(X, y, family.axes))
    draws, names = family.draw(np.random.default_rng(0), 500), family.coords()
    lines = [line for line in family.priors() if line.parameter != "theta"]
    assert {line.parameter for line in lines} == {"beta", "sigma2"}
    of_slopes = [line.prior for line in lines if " on " in line.feature]
    assert all(prior.endswith(", correlated with the other coefficients") == earlier for prior in of_slopes)
    for line in lines:
        k = family.axes.labels.index(line.outcome) if line.outcome else 0
        name, _, where = line.feature.partition(" | ")
        name, _, at = name.partition(" at ")
        axis = names["term" if line.parameter == "beta" else "regression"]
        for place, full in enumerate(axis):
            if full.partition(" | ")[0] != name or (where and full.partition(" | ")[2] != where):
                continue
            regression = names["regression"].index(full.replace(f"{name}", name.partition(" on ")[0], 1))
            sigma2, values = draws["sigma2"][:, k, regression], draws[line.parameter][:, k, place]
            for parent, center in re.findall(r"(\w+)=(\S+?)(?:,|$)", at.replace("−", "-")):
                slope = axis.index(full.replace(name, f"{name} on {parent}", 1))
                values = values + float(center) * draws["beta"][:, k, slope]
            found = [float(number) for number in re.findall(r"[0-9.]+", line.prior.replace("sigma2", ""))]
            sign = -1 if line.prior.startswith("Normal(−") else 1
            if line.parameter == "beta":
                u = stats.norm(sign * found[0], np.sqrt(sigma2 / found[1])).cdf(values)
            else:
                u = stats.invgamma(found[0], scale=found[1]).cdf(values)
            assert stats.kstest(u, "uniform").pvalue > 1e-4


def test_a_missing_number_that_others_depend_on_has_no_closed_form(rng):
    X, y = mixed(rng)
    prior, statistics = conditioned(ConditionalGaussian(), X, y, BOTH)
    posterior = prior.posterior(statistics)
    row = np.array([[0.0, np.nan, 1.0]])
    assert np.isnan(posterior.log_predictive(row)).all()
    gap = np.array([[0.0, np.nan, np.nan], [np.nan, np.nan, np.nan]])
    expected = np.array([posterior.of_categories.log_predictive(np.array([[0]]))[0], [0.0, 0.0]])
    np.testing.assert_allclose(posterior.log_predictive(gap), expected, rtol=1e-12)
    X[0, 1] = np.nan
    with pytest.raises(Refused, match=r"column 'u' has missing cells that others depend on\); leave these rows out"):
        prior.posterior(prior.statistics(X, y, BOTH))
    X[0, 2] = np.nan
    prior, statistics = conditioned(ConditionalGaussian(), X, y, BOTH)
    assert not prior.not_conjugate(statistics)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edges": (("u", "c"),)}, r"edge \('u', 'c'\) leads from a number to a category; reverse it, or cut 'u'"),
        ({"edges": (("u", "x"),)}, "names column 'x', but the table has"),
        ({"edges": "every"}, "edges must be 'all', 'tan' or pairs"),
        ({"class_free": ("u",)}, "class_free is for edges that are given"),
        ({"edges": (), "class_free": ("x",)}, "class_free names column 'x'"),
        ({"kappa": 0.0}, "kappa must be above 0"),
        ({"a": 1.0}, "a must be above 1 and finite, or None"),
    ],
)
def test_options_are_checked(rng, options, message):
    X, y = mixed(rng)
    with pytest.raises(InputError, match=message):
        ConditionalGaussian(**options).informative(ConditionalGaussian().statistics(X, y, BOTH))


LACKING = {
    "collinear parents": (
        lambda X, y: X.__setitem__((y == 0, 1), 2 * X[y == 0, 0] + 1),
        r"class 'a' has collinear or constant columns \('u' and 'v'\), so the .* regression of 'w' is not unique",
    ),
    "a constant number": (
        lambda X, y: X.__setitem__((y == 0, 2), 3.0),
        r"class 'a' has collinear or constant columns \('w'\)",
    ),
    "few rows": (
        lambda X, y: X.__setitem__((np.flatnonzero(y == 0)[3:], 2), np.nan),
        "class 'a' has too few different values in column 'w' for a variance",
    ),
    "a linear function": (
        lambda X, y: X.__setitem__((y == 0, 2), X[y == 0, 0] - X[y == 0, 1]),
        r"class 'a' has collinear or constant columns \('u', 'v' and 'w'\)",
    ),
}
"""What is done to rows (u, v, w), where w depends on u and v, and what is said of it."""


@pytest.mark.parametrize("name", LACKING)
def test_an_estimate_that_does_not_exist_says_why(rng, name):
    X, y = numbers(rng)
    change, said = LACKING[name]
    change(X, y)
    family = ConditionalGaussian(edges=(("u", "w"), ("v", "w")))
    with pytest.raises(DoesNotExist, match=said):
        family.mle(family.statistics(X, y, NUMBERS))


def test_what_is_said_of_collinear_parents_names_these_alone_and_where(rng):
    axes = Axes(("a",), ("c", "u", "v", "t", "w"), (("red", "blue"), (), (), (), ()))
    X, y = np.column_stack([np.arange(60) % 2, rng.normal(size=(60, 4))]), np.zeros(60, dtype=np.intp)
    X[1::2, 3] = -1e6 * X[1::2, 1]
    family = ConditionalGaussian(edges=(("c", "w"), ("u", "w"), ("v", "w"), ("t", "w")))
    with pytest.raises(DoesNotExist, match=r"collinear or constant columns \('u' and 't'\) where c=blue, so"):
        family.mle(family.statistics(X, y, axes))
    X[1::2, 3] = 3.0
    with pytest.raises(DoesNotExist, match=r"collinear or constant columns \('t'\) where c=blue"):
        family.mle(family.statistics(X, y, axes))


def test_other_units_give_the_same_answers(rng):
    X, y = mixed(rng)
    unit = np.array([1.0, 1e90, 1e-90])
    plain, statistics = conditioned(ConditionalGaussian(), X, y, BOTH)
    scaled, small = conditioned(ConditionalGaussian(), X * unit, y, BOTH)
    np.testing.assert_allclose(scaled.log_evidence(small), plain.log_evidence(statistics), rtol=1e-12)
    expected = plain.posterior(statistics).log_predictive(X)
    np.testing.assert_allclose(scaled.posterior(small).log_predictive(X * unit), expected, rtol=1e-11)


def test_too_many_regressions_are_refused():
    codes = np.arange(200)
    X, axes = np.column_stack([codes, codes, codes / 7.0]), Axes(("a", "b"), ("c", "d", "u"), (codes, codes, ()))
    with pytest.raises(Refused, match=r"the regressions have 2 × 40,000 coefficients \(limit 32,768\)"):
        conditioned(ConditionalGaussian(), X, codes % 2, axes)
