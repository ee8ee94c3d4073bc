"""The Laplace engine: against quadrature, at its limits, and from its seed."""

import numpy as np
import pytest
from scipy import integrate, stats

from bayesclf.arrays import Array
from bayesclf.engines import laplace
from bayesclf.engines.laplace import Laplace, sample
from bayesclf.errors import Refused
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.model import LogisticModel, LogisticPrior
from bayesclf.tables.columns import Column, Rows


def model_of(X: Array, y: Array, prior: LogisticPrior, labels: tuple[str, ...] = ("a", "b")) -> LogisticModel:
    n, p = X.shape
    codes, weight = np.zeros((n, 0), dtype=np.intp), np.ones(n)
    design = LogisticDesign.fit(X, weight, tuple(Column(f"x{j}", "number") for j in range(p)))
    return LogisticModel(labels, design, design.matrix(Rows((X, codes), n)), y.astype(np.intp), weight, prior)


def intercept_only() -> LogisticModel:
    """One parameter and few rows, nine of twelve in the second class: a skewed posterior."""
    return model_of(np.zeros((12, 0)), np.arange(12) >= 3, LogisticPrior(intercept_scale=3.0))


def test_agrees_with_quadrature() -> None:
    model = intercept_only()
    grid = np.linspace(-4, 8, 20_001)
    density = np.exp(model.log_posterior(grid[:, None], np.zeros((grid.size, 1, 0))))
    density /= density.sum()
    cumulative = np.cumsum(density)
    mean = float(grid @ density)
    sd = float(np.sqrt((grid - mean) ** 2 @ density))
    parameters, stats = sample(model, Laplace(), seed=1)
    draws, ess = parameters["intercept"].ravel(), float(stats["importance_ess"])
    assert draws.size == 4000
    assert ess == pytest.approx(1.5 * 4000, rel=0.1)
    # Draws stand for at most 4,000 independent ones, and for no more than the proposals' effective number.
    effective = 1 / (1 / draws.size + 1 / ess)
    fourth = float((grid - mean) ** 4 @ density)
    assert abs(draws.mean() - mean) < 4.5 * sd / np.sqrt(effective)
    assert abs(draws.var() - sd**2) < 4.5 * np.sqrt((fourth - sd**4) / effective)
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        below = np.mean(draws < grid[np.searchsorted(cumulative, level)])
        assert abs(below - level) < 4.5 * np.sqrt(level * (1 - level) / effective)
    # The correction is needed: the normal's mean, the mode, lies outside the error of the draws' mean.
    mode = float(model.map()["intercept"][0, 0])
    assert abs(mode - mean) > 4.5 * sd / np.sqrt(effective)


def test_shapes_statistics_and_seed() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0] + rng.logistic(size=300), [-1, 1])
    model = model_of(X, y, LogisticPrior(), ("a", "b", "c"))
    settings = Laplace(draws=50, chains=2)
    (first, own), (again, _), (other, _) = (sample(model, settings, seed) for seed in (3, 3, 4))
    assert first["intercept"].shape == (100, 3)
    assert first["weight"].shape == (100, 3, 2)
    assert own["log_weight"].shape == (2, 50)
    assert float(own["pareto_k"]) < 0.7
    assert float(own["importance_ess"]) > 200
    np.testing.assert_array_equal(first["weight"], again["weight"])
    assert not np.array_equal(first["weight"], other["weight"])


def test_log_weights_of_several_parameters() -> None:
    """log q is that of a multivariate t with as many degrees of freedom as parameters, where these are many."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 12))
    model = model_of(X, (X[:, 0] + rng.logistic(size=100) > 0).astype(int), LogisticPrior())
    center, root = model.lattice.modes[0, 0], model.lattice.roots[0, 0]
    proposals = laplace.propose(model, 200, np.random.default_rng(1))
    weight = proposals.parameters["weight"][:, 0] * model.design.scale
    theta = np.column_stack([proposals.parameters["intercept"], weight])
    density = stats.multivariate_t(center, root @ root.T, df=13)
    difference = model.log_posterior(**proposals.parameters) - density.logpdf(theta) - proposals.log_weight
    np.testing.assert_allclose(difference, difference[0], atol=1e-8)


def test_a_normal_posterior_costs_what_the_tails_of_t_cost() -> None:
    """Without rows the posterior is the prior, and the share of effective proposals is 1/∫ p²/q."""
    model = model_of(np.zeros((0, 0)), np.zeros(0), LogisticPrior())
    proposals = laplace.propose(model, 40_000, np.random.default_rng(0))
    normal, t = stats.norm(), stats.t(laplace.LEAST_DEGREES)
    inefficiency, _ = integrate.quad(lambda z: normal.pdf(z) ** 2 / t.pdf(z), -12, 12)
    assert proposals.khat < 0
    assert proposals.ess / 40_000 == pytest.approx(1 / inefficiency, rel=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_the_long_side_of_a_skewed_posterior_is_reached(seed: int) -> None:
    """Eight separable rows under a wide prior: of proposals from a normal, too few come there, and none says so."""
    x = np.random.default_rng(9).normal(size=8)
    model = model_of(x[:, None], x > 0, LogisticPrior(prior_scale=5.0))
    noise = np.stack(np.meshgrid(*[np.linspace(-7, 20, 600)] * 2), axis=-1).reshape(-1, 2)
    gamma, _ = model.lattice.moved(np.zeros((len(noise), 2)), noise * np.sign(model.lattice.modes[0, 0]))
    points = model.hypotheses(model.weight_prior.theta(gamma))
    grid = np.column_stack([points["intercept"], points["weight"][:, 0]])
    density = np.exp(model.log_posterior(**points) - model.log_posterior(**model.map()))
    density /= density.sum()
    parameters, own = sample(model, Laplace(draws=4000), seed)
    draws = np.column_stack([parameters["intercept"].ravel(), parameters["weight"].ravel()])
    effective = 1 / (1 / len(draws) + 1 / float(own["importance_ess"]))
    for j in range(2):
        mean = grid[:, j] @ density
        deviation = grid[:, j] - mean
        variance, fourth = deviation**2 @ density, deviation**4 @ density
        assert abs(draws[:, j].mean() - mean) < 4.5 * np.sqrt(variance / effective)
        assert abs(draws[:, j].var() - variance) < 4.5 * np.sqrt((fourth - variance**2) / effective)
        order = np.argsort(grid[:, j])
        cumulative = np.cumsum(density[order])
        for level in (0.05, 0.95):
            edge = grid[order[np.searchsorted(cumulative, level)], j]
            assert abs(np.mean(draws[:, j] < edge) - level) < 4.5 * np.sqrt(level * (1 - level) / effective)


def test_skewed_rows_are_refused() -> None:
    X = np.random.default_rng(0).normal(size=(20, 12))
    model = model_of(X, np.arange(20) > 9, LogisticPrior(prior_scale=1000.0))
    with pytest.raises(Refused, match=r"k̂ = .* is above 0.7, .*; use inference='slice'"):
        sample(model, Laplace(), seed=0)
