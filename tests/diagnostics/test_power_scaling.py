"""Power scaling: ArviZ's numbers, closed-form power-scaled posteriors, and densities by SciPy and by rows."""

from dataclasses import replace

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from arviz_stats.base import array_stats
from helpers.faults import gaussian, logistic, normal_rows, word_rows
from scipy import integrate, stats

import bayesclf as bc
from bayesclf.diagnostics.context import Context
from bayesclf.diagnostics.power_scaling import _parts, _weights, sensitivities

GENERATIVE = {
    **{
        variance: lambda variance=variance: (bc.GaussianNB(variance), *normal_rows(50))
        for variance in ("class-feature", "feature", "class", "shared")
    },
    "gda": lambda: (bc.GaussianDiscriminantAnalysis(), *normal_rows(50)),
    "gda by class": lambda: (bc.GaussianDiscriminantAnalysis("class"), *normal_rows(50)),
    "mixed": lambda: (bc.NaiveBayes(), *word_rows(50)),
    "bernoulli": lambda: (bc.BernoulliNB(binarize=0.5), *normal_rows(50)),
    "multinomial": lambda: (bc.MultinomialNB(), *counts()),
    "poisson": lambda: (bc.NaiveBayes({("x0", "x1"): "poisson"}), *counts()),
    "negative-binomial": lambda: (bc.NaiveBayes({("x0", "x1"): "negative-binomial"}), *counts()),
    "exponential": lambda: (bc.NaiveBayes({("x0", "x1"): "exponential"}), *positive()),
    "gamma": lambda: (bc.NaiveBayes({("x0", "x1"): "gamma"}), *above_zero()),
    "hurdle": lambda: (bc.NaiveBayes({("x0", "x1"): "hurdle"}), *positive()),
    "joint": lambda: (bc.JointBayes(), *words()),
    "tan": lambda: (bc.BayesNetClassifier("tan"), *words()),
}


def counts():
    X, y = normal_rows(50)
    return X.round().abs(), y


def positive():
    X, y = normal_rows(50)
    return np.maximum(X, 0.0), y


def above_zero():
    X, y = normal_rows(50)
    return np.exp(X), y


def words():
    X, y = word_rows(50)
    return X[["wind"]].assign(rain=np.where(X["rain"] > 0.5, "yes", "no").astype(object)), y


def inputs(clf):
    """Return a fit's model and draws, and no rows, as `sensitivities` takes them."""
    return clf.model_, Context.of(clf, None, None, None).posterior, None


@pytest.mark.parametrize("name", GENERATIVE)
def test_likelihood_of_the_parts_is_that_of_the_rows(name):
    clf, X, y = GENERATIVE[name]()
    clf.set_params(random_state=1).fit(X, y)
    of_parts = sum(part.log_likelihood for part in _parts(*inputs(clf))).ravel()
    of_rows = clf.log_likelihood(X, y).joint.sum(axis=1)
    np.testing.assert_allclose(of_parts - of_parts[0], of_rows - of_rows[0], atol=1e-8)


def log_prior_by_scipy(family, draw):
    """Return log p(θ) of one draw, variances per log σ² and covariances per |Σ|^(−(d + 1)/2) dΣ."""
    match family.name:
        case "categorical" | "joint" | "network" | "multinomial":
            sizes = {
                "categorical": lambda: family.axes.sizes,
                "multinomial": lambda: (len(family.axes.features),),
            }.get(family.name, lambda: family.layout(family.axes).simplexes)()
            ends = np.cumsum(sizes)[:-1]
            pairs = zip(draw["theta"], np.asarray(family.alpha), strict=True)
            return sum(
                stats.dirichlet.logpdf(theta / theta.sum(), alpha)
                for row, of_row in pairs
                for theta, alpha in zip(np.split(row, ends), np.split(of_row, ends), strict=True)
                if len(theta) > 1
            )
        case "bernoulli":
            return stats.beta.logpdf(draw["theta"], family.alpha, family.beta).sum()
        case "poisson" | "exponential":
            rate = draw["rate"]
            return (stats.gamma.logpdf(rate, family.a, scale=1 / family.b) + np.log(rate)).sum()
        case "gaussian" | "log-normal":
            sigma2 = np.broadcast_to(draw["sigma2"], np.shape(family.m))
            of_mu = stats.norm.logpdf(draw["mu"], family.m, np.sqrt(sigma2 / family.kappa)).sum()
            per_log = stats.invgamma.logpdf(sigma2, family.a, scale=family.b) + np.log(sigma2)
            return of_mu + per_log.sum()
        case "negative-binomial":
            r, theta = draw["dispersion"], draw["theta"]
            of_r = stats.lognorm.logpdf(r, family.spread, scale=family.median) + np.log(r)
            of_theta = stats.beta.logpdf(theta, 1 + family.kappa * r, 1 + family.kappa * family.m)
            return (of_r + of_theta).sum()
        case "gamma":
            shape, rate = draw["shape"], draw["rate"]
            of_shape = stats.lognorm.logpdf(shape, family.spread, scale=family.median) + np.log(shape)
            of_rate = stats.gamma.logpdf(rate, 1 + family.kappa * shape, scale=1 / family.kappa / family.m)
            return (of_shape + of_rate + np.log(rate)).sum()
        case "hurdle":
            of_zeros = stats.beta.logpdf(draw["theta"], family.alpha, family.beta).sum()
            return of_zeros + log_prior_by_scipy(family.family, draw)
        case "multivariate-gaussian":
            Sigma, d = draw["Sigma"], len(draw["Sigma"])
            of_mu = sum(
                stats.multivariate_normal.logpdf(mu, m, Sigma / kappa)
                for mu, m, kappa in zip(draw["mu"], family.m, family.kappa, strict=True)
            )
            measure = (d + 1) / 2 * np.linalg.slogdet(Sigma)[1]
            c = draw["nu"] - d - 1
            of_nu = stats.lognorm.logpdf(c, 1, scale=d) + np.log(c)
            return of_mu + stats.invwishart.logpdf(Sigma, draw["nu"], c * np.diag(family.scale[0])) + of_nu + measure


CASES = {
    "categorical": "mixed",
    "gaussian": "class-feature",
    "bernoulli": "bernoulli",
    "multinomial": "multinomial",
    "poisson": "poisson",
    "negative-binomial": "negative-binomial",
    "exponential": "exponential",
    "gamma": "gamma",
    "hurdle": "hurdle",
    "multivariate-gaussian": "gda",
    "joint": "joint",
    "network": "tan",
}


@pytest.mark.parametrize("family", CASES)
def test_prior_densities_are_those_of_scipy(family):
    clf, X, y = GENERATIVE[CASES[family]]()
    clf.set_params(random_state=1).fit(X, y)
    block = next(block for block in clf.model_.blocks if block.family.name == family)
    draws = block.family.draw(np.random.default_rng(2), 5)
    found = block.family.log_prior(draws).log_density.sum(axis=1)
    expected = np.array(
        [log_prior_by_scipy(block.family, {name: values[s] for name, values in draws.items()}) for s in range(5)]
    )
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-9, atol=1e-8)


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


@pytest.mark.parametrize("power", [0.8, 1.25])
def test_weights_agree_with_the_power_scaled_dirichlet(power):
    X, y = word_rows(40)
    X = X[["wind"]]
    clf = bc.CategoricalNB(alpha=5.0, inference=bc.engines.Exact(draws=5_000), random_state=1).fit(X, y)
    n = clf.model_.blocks[0].statistics.counts[0]
    part = next(part for part in _parts(*inputs(clf)) if "theta[no, wind=weak]" in part.names)
    for log_density, alpha in (
        (part.log_prior, power * (5.0 - 1) + 1 + n),
        (part.log_likelihood, 5.0 + power * n),
    ):
        level = clf.model_.blocks[0].statistics.axes.levels[0].index("weak")
        mean, error = weighted(part, "theta[no, wind=weak]", log_density, power)
        assert abs(mean - alpha[level] / alpha.sum()) < 5 * error
        assert abs(alpha[level] / alpha.sum() - part.draws[part.names.index("theta[no, wind=weak]")].mean()) > 1e-4


@pytest.mark.parametrize("power", [0.8, 1.25])
def test_weights_agree_with_the_power_scaled_normal_inverse_gamma(power):
    m, kappa, a, b = 2.0, 5.0, 4.0, 8.0
    X, y = normal_rows(30, 1)
    family = bc.families.Gaussian(m=m, kappa=kappa, a=a, b=b)
    clf = bc.NaiveBayes({"x0": family}, inference=bc.engines.Exact(draws=5_000), random_state=1).fit(X, y)
    part = next(part for part in _parts(*inputs(clf)) if "mu[no, x0]" in part.names)
    x = X["x0"][y == "no"].to_numpy()

    def posterior_means(kappa, a, b, weight):
        """Return E[μ] and E[σ²] by the conjugate update with rows of this weight."""
        n, scatter = weight * len(x), weight * ((x - x.mean()) ** 2).sum()
        b_n = b + 0.5 * (scatter + kappa * n / (kappa + n) * (x.mean() - m) ** 2)
        return (kappa * m + n * x.mean()) / (kappa + n), b_n / (a + n / 2 - 1)

    # [σ^(−2a − 1) exp(−(b + κ(μ − m)²/2)/σ²)]^α per dμ d log σ² is of the same family with these.
    scaled = power * kappa, power * a + (power - 1) / 2, power * b
    for log_density, expected in (
        (part.log_prior, posterior_means(*scaled, 1.0)),
        (part.log_likelihood, posterior_means(kappa, a, b, power)),
    ):
        for name, value in zip(("mu[no, x0]", "sigma2[no, x0]"), expected, strict=True):
            mean, error = weighted(part, name, log_density, power)
            assert abs(mean - value) < 5 * error


def test_sensitivity_agrees_with_the_distance_between_closed_forms():
    X, y = word_rows(40)
    X = X[["wind"]]
    clf = bc.CategoricalNB(alpha=5.0, inference=bc.engines.Exact(draws=10_000), random_state=1).fit(X, y)
    n = clf.model_.blocks[0].statistics.counts[0]
    levels = clf.model_.blocks[0].statistics.axes.levels[0]
    first = f"theta[no, wind={levels[0]}]"
    draws = clf.posterior_["posterior"]["theta"].sel(outcome="no").isel(level=0)
    grid = np.linspace(float(draws.min()), float(draws.max()), 20_001)  # where ArviZ integrates, too

    def distance(alpha):
        """Return the cumulative Jensen-Shannon distance from the posterior's first θ to Beta(α), by quadrature."""

        def one_sided(P, Q):
            def divergence(P, Q):
                with np.errstate(divide="ignore", invalid="ignore"):
                    return np.where(P > 0, P * np.log2(P / (0.5 * (P + Q))), 0.0) + 0.5 / np.log(2) * (Q - P)

            total = integrate.trapezoid(divergence(P, Q) + divergence(Q, P), grid)
            return np.sqrt(max(total, 0.0) / integrate.trapezoid(P + Q, grid))

        P, Q = stats.beta.cdf(grid, *(5.0 + n)), stats.beta.cdf(grid, *alpha)
        return max(one_sided(P, Q), one_sided(1 - P, 1 - Q))

    lower, upper = distance(0.99 * 4 + 1 + n), distance(1.01 * 4 + 1 + n)
    expected = 0.5 * (upper / np.log2(1.01) - lower / np.log2(0.99))
    table = sensitivities(*inputs(clf)).set_index("parameter")
    assert table.loc[first, "prior"] == pytest.approx(expected, rel=0.05)


def test_units_do_not_matter():
    X, y = normal_rows(50)
    one, other = (sensitivities(*inputs(gaussian(X * unit, y)[0])) for unit in (1.0, 1000.0))
    pd.testing.assert_frame_equal(one, other)


def test_a_prior_without_a_density_is_not_applicable():
    X, y = word_rows(60)
    clf = bc.NaiveBayes(select=True, random_state=1).fit(X, y)
    finding = clf.diagnose(checks=["M03"])["M03"]
    assert finding.section == "not applicable"
    assert "Selected" in finding.reason


@pytest.mark.slow
def test_a_prior_that_is_not_conjugate_needs_the_rows():
    X, y = words()
    X = X.mask(np.random.default_rng(2).random(X.shape) < 0.2)
    clf = bc.JointBayes(random_state=1).fit(X, y)
    assert clf.diagnose(checks=["M03"])["M03"].section == "skipped"
    assert clf.diagnose(X, y, checks=["M03"])["M03"].section in ("passed", "tip")


def test_few_draws_are_not_weighed():
    clf = bc.GaussianNB(inference=bc.engines.Exact(draws=5), random_state=1).fit(*normal_rows(50))
    assert "20 draws are too few" in clf.diagnose(checks=["M03"])["M03"].reason


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
    assert "learns its scale" in clf.diagnose(*rows, checks=["M03"])["M03"].reason
