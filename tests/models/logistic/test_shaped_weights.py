"""Student-t weights and the horseshoe: densities by three routes, draws against SciPy's, posteriors by quadrature."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from arviz_stats.base import array_stats
from helpers.logistic import LEVELS, mixed, model_of
from helpers.suites import mainly
from scipy import optimize, sparse, stats
from scipy.special import expit

import bayesclf as bc
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.inference import engines
from bayesclf.models.logistic.centered import CenteredRows
from bayesclf.models.logistic.learned_scale import HorseshoeWeights, LearnedScale, StudentTWeights
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.prior import LogisticPrior
from bayesclf.models.logistic.shaped_model import ShapedScaleModel
from bayesclf.typing import Array

STUDENT = LearnedScale(0.7, 0.4, shape=StudentTWeights(degrees=3))
HORSESHOE = LearnedScale(shape=HorseshoeWeights(nonzero=2, slab_scale=1.5, slab_degrees=5))
SOME = {"x1": 0.4, "c0=q": 2.0}
PRIORS = {
    "student-t": LogisticPrior(prior_scale=STUDENT),
    "horseshoe": LogisticPrior(prior_scale=HORSESHOE),
    "zero": LogisticPrior(prior_scale=HORSESHOE, intercept_at="zero", intercept_mean=1.0),
    "reference": LogisticPrior(prior_scale=STUDENT, prior_form="reference"),
    "some given": LogisticPrior(prior_scale=replace(HORSESHOE, given=SOME)),
    "free": LogisticPrior(prior_scale=replace(STUDENT, given={"x0": np.inf}), intercept_scale=np.inf),
}


def shaped(model: LogisticModel, prior: LogisticPrior) -> ShapedScaleModel:
    return ShapedScaleModel(model.labels, model.design, model.X, model.y, model.sample_weight, prior)


def mixed_model(n_labels: int, name: str) -> ShapedScaleModel:
    numbers, codes, y, weight = mixed(n_labels, 40)
    return shaped(model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight), PRIORS[name])


def points(model: ShapedScaleModel, number: int = 4) -> dict[str, Array]:
    rng = np.random.default_rng(3)
    vectors, columns = len(model.labels) - 1, len(model.design)
    at = {
        "intercept": rng.normal(size=(number, vectors)),
        "weight": rng.normal(size=(number, vectors, columns)) / model.design.scale,
        "prior_scale": np.exp(rng.normal(size=number)),
        "local_scale": np.exp(rng.normal(size=(number, len(model.scale_prior)))),
    }
    return at | ({"slab_scale": np.exp(rng.normal(size=number))} if "slab_scale" in model.dims() else {})


def scale_of(at: dict[str, Array], draw: int) -> Array:
    """Scales of the columns that have local ones, as the documentation has them."""
    free = at["prior_scale"][draw] * at["local_scale"][draw]
    if "slab_scale" not in at:
        return np.asarray(free)
    c = at["slab_scale"][draw]
    return np.asarray(np.sqrt(c**2 * free**2 / (c**2 + free**2)))


def log_prior_of_scales(model: ShapedScaleModel, at: dict[str, Array], draw: int) -> float:
    """Log density of the scales' logarithms, by SciPy."""
    s, local = at["prior_scale"][draw], at["local_scale"][draw]
    log_jacobian = float(np.log(s) + np.log(local).sum())
    if "slab_scale" not in at:
        of_local = stats.invgamma.logpdf(local**2, 1.5, scale=1.5) + np.log(2 * local)
        return log_jacobian + stats.lognorm.logpdf(s, 0.4, scale=0.7) + of_local.sum()
    c, columns = at["slab_scale"][draw], len(model.scale_prior)
    tau0 = 2 / (columns - 2) * 2 / np.sqrt(model.sample_weight.sum())
    of_slab = stats.invgamma.logpdf(c**2, 2.5, scale=2.5 * 1.5**2) + np.log(2 * c) + np.log(c)
    return log_jacobian + stats.halfcauchy.logpdf(s, scale=tau0) + stats.halfcauchy.logpdf(local).sum() + of_slab


def given(model: ShapedScaleModel, scales: Array) -> LogisticModel:
    """The model in which the scales of the columns are numbers."""
    sds = model.weight_prior.scale[0, 1:].copy()
    sds[model.scale_prior.learned[1:]] *= scales
    assert isinstance(model.prior, LogisticPrior)
    prior = replace(model.prior, prior_scale=sds)
    return LogisticModel(model.labels, model.design, model.X, model.y, model.sample_weight, prior)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("name", PRIORS)
def test_the_density_given_scales(name: str, n_labels: int) -> None:
    """log p(θ, log scales, D) is that of the model with these scales given, and SciPy's priors of the scales."""
    model = mixed_model(n_labels, name)
    at = points(model)
    ours, parts = model.log_posterior(**at), model.log_prior(at)
    log_likelihoods = ours - sum(parts.values())
    for draw in range(len(ours)):
        theta = {axis: at[axis][[draw]] for axis in ("intercept", "weight")}
        other = given(model, scale_of(at, draw))
        of_scales = log_prior_of_scales(model, at, draw)
        assert ours[draw] == pytest.approx(other.log_posterior(**theta)[0] + of_scales, rel=1e-10)
        likelihood = other.log_posterior(**theta)[0] - other.log_prior(theta)["weights"][0]
        assert log_likelihoods[draw] == pytest.approx(likelihood, rel=1e-10)


@pytest.mark.parametrize(
    ("name", "n_labels"),
    mainly([("student-t", 2), ("horseshoe", 3), ("zero", 2), ("some given", 3), ("free", 2)], ("horseshoe", 3)),
)
def test_pymc_has_the_same_density(name: str, n_labels: int) -> None:
    model = mixed_model(n_labels, name)
    at = points(model, 2)
    ours, shown = model.log_posterior(**at), model.shown(at)
    context = model.pymc()
    logp = context.compile_logp(mode="FAST_COMPILE")
    learned = model.scale_prior.learned[1:]
    for draw in range(2):
        times = np.ones(len(learned))
        times[learned] = scale_of(at, draw)
        point = {
            "prior_scale_log__": np.log(at["prior_scale"][draw]),
            "intercept": shown["intercept"][draw],
            "unscaled_weight": at["weight"][draw] / times,
        }
        jacobian = (n_labels - 1) * np.log(times).sum()
        if "slab_scale" in at:
            point["local_scale_log__"] = np.log(at["local_scale"][draw])
            point["slab_variance_log__"] = 2 * np.log(at["slab_scale"][draw])
            jacobian -= np.log(2)  # of log c² instead of log c
        else:
            point["local_variance_log__"] = 2 * np.log(at["local_scale"][draw])
            jacobian -= len(at["local_scale"][draw]) * np.log(2)
        assert float(logp(point)) == pytest.approx(ours[draw] + jacobian, rel=1e-10)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("name", PRIORS)
def test_machine_code(name: str, n_labels: int) -> None:
    """Its value is log p(θ, log scales, D) of the weights in units of their scales, and its gradient the slope."""
    model = mixed_model(n_labels, name)
    density = model.density()
    z = np.random.default_rng(1).normal(scale=2, size=(3, density.size))
    at = model.from_pymc(density.parameters(z))
    times = np.array([scale_of(dict(at), draw) for draw in range(3)])
    ours = model.log_posterior(**at) + (n_labels - 1) * np.log(times).sum(axis=1)
    values = np.array([density(one)[0] for one in z])
    np.testing.assert_allclose(values - values[0], ours - ours[0], atol=1e-9)
    for one in z:
        slope = optimize.approx_fprime(one, lambda at: density(at)[0], 1e-6)
        np.testing.assert_allclose(density(one)[1], slope, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["student-t", "horseshoe"])
def test_machine_code_far_out(name: str) -> None:
    """Scales of e^±300 overflow nowhere."""
    density = mixed_model(2, name).density()
    for far in (-300.0, 300.0):
        z = np.zeros(density.size)
        z[:4] = far
        if name == "student-t":
            z[:4] = [far / 2, 0.5, 0.5, 0.5]
        value, gradient = density(z)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()


def assert_drawn_from(draws: Array, cdf: Any) -> None:
    assert stats.kstest(np.ravel(draws), cdf).pvalue > 1e-3


@pytest.mark.parametrize("n_labels", [2, 3])
def test_prior_draws_are_those_of_scipy(n_labels: int) -> None:
    draws, rng = 4_000, np.random.default_rng(5)
    model = mixed_model(n_labels, "student-t")
    drawn = model.prior_draw(rng, draws)
    z = drawn["weight"] * model.design.scale / drawn["prior_scale"][:, None, None]
    assert_drawn_from(z[:, :, 1], stats.t(3).cdf) if n_labels == 2 else assert_drawn_from(z[:, 0, 1], stats.t(3).cdf)
    if n_labels == 3:  # no class is special
        assert_drawn_from(z[:, 0, 4] - z[:, 1, 4], stats.t(3).cdf)
    assert_drawn_from(drawn["prior_scale"], stats.lognorm(0.4, scale=0.7).cdf)
    model = mixed_model(n_labels, "some given")
    drawn = model.prior_draw(rng, draws)
    tau0 = 2 / (len(model.scale_prior) - 2) * 2 / np.sqrt(model.sample_weight.sum())
    assert len(model.scale_prior) == 3  # x0 and two levels; "x1 is missing" has the scale of x1
    assert_drawn_from(drawn["prior_scale"], stats.halfcauchy(scale=tau0).cdf)
    assert_drawn_from(drawn["local_scale"], stats.halfcauchy.cdf)
    assert_drawn_from(drawn["slab_scale"] ** 2, stats.invgamma(2.5, scale=2.5 * 1.5**2).cdf)
    every = np.array([scale_of(dict(drawn), draw) for draw in range(draws)])
    learned = model.scale_prior.learned[1:]
    z = drawn["weight"][:, 0] * model.design.scale
    assert_drawn_from(z[:, learned] / every, stats.norm.cdf)
    assert_drawn_from(z[:, 1], stats.norm(scale=0.4).cdf)


@pytest.mark.parametrize("name", mainly(["student-t", "horseshoe"], "student-t"))
def test_pymc_draws_the_same_prior(name: str) -> None:
    """Two samples, of the weights and of the scales."""
    import pymc as pm

    model = mixed_model(3, name)
    ours = model.prior_draw(np.random.default_rng(0), 2_000)
    context = model.pymc()
    names = [*model.dims()]
    drawn = dict(zip(names, pm.draw([context[name] for name in names], 2_000, random_seed=1), strict=True))
    for axis in names:
        a, b = (values.reshape(2_000, -1)[:, 0] for values in (ours[axis], drawn[axis]))
        assert stats.ks_2samp(a, b).pvalue > 1e-3, axis


def test_unseen_levels_are_drawn_from_the_same_prior() -> None:
    model = mixed_model(2, "student-t")
    drawn = model.prior_draw(np.random.default_rng(0), 4_000)
    unseen = model.unseen_prior(drawn).draw(np.random.default_rng(1), 4_000)
    assert_drawn_from(unseen[:, 0, 0] / drawn["prior_scale"], stats.t(3).cdf)


def one_column(settings: LearnedScale) -> ShapedScaleModel:
    """Ten rows, which say little: the shape of the prior matters."""
    x = [[-1.6], [-1.1], [-0.6], [-0.2], [0.0], [0.3], [0.5], [0.9], [1.4], [2.0]]
    base = model_of(x, [0, 0, 1, 0, 0, 1, 0, 1, 1, 1])
    return shaped(base, LogisticPrior(prior_scale=settings, intercept_scale=1.0))


def density_of_student(w: Array) -> Array:
    """∫ t₃(w/s)/s LogNormal(s) ds, of the settings `STUDENT`."""
    log_s = np.log(0.7) + 0.4 * np.linspace(-8, 8, 2_001)
    mass = stats.norm.pdf(log_s, np.log(0.7), 0.4) * (log_s[1] - log_s[0])
    s = np.exp(log_s)
    return np.array([mass @ (stats.t.pdf(one / s, 3) / s) for one in w])


def density_of_horseshoe(w: Array, tau0: float) -> Array:
    """∫∫ N(w; 0, x²c²/(x² + c²)) p(x) p(c) dx dc; x/τ₀ is a product of half-Cauchys, 4 log x/(π² (x² − 1))."""
    log_x = np.linspace(-18, 18, 721)  # at no point is x = 1
    log_x += (log_x[1] - log_x[0]) / 3
    of_x = 4 * log_x / (np.pi**2 * np.expm1(2 * log_x)) * np.exp(log_x) * (log_x[1] - log_x[0])
    log_c = np.linspace(-3, 5, 321)
    c2 = np.exp(2 * log_c)
    of_c = stats.invgamma.pdf(c2, 2.5, scale=2.5 * 1.5**2) * 2 * c2 * (log_c[1] - log_c[0])
    x2 = (tau0 * np.exp(log_x)) ** 2
    sd = np.sqrt(1 / (1 / x2[:, None] + 1 / c2)).ravel()
    mass = (of_x[:, None] * of_c).ravel()
    assert mass.sum() == pytest.approx(1, abs=1e-4)
    return np.array([mass @ stats.norm.pdf(one, scale=sd) for one in w])


@pytest.mark.parametrize("shape", mainly(["student-t", "horseshoe"], "student-t"))
def test_the_posterior_of_one_weight_is_that_of_quadrature(shape: str) -> None:
    """Over intercept and weight on a grid; the prior of the weight with its scales integrated out by quadrature."""
    settings = {"student-t": STUDENT, "horseshoe": LearnedScale(shape=HorseshoeWeights(0.5, 1.5, 5))}[shape]
    model = one_column(settings)
    drawn = engines.draw(model, bc.NUTS(draws=2_500, progress=False), 1)
    assert drawn is not None
    assert not drawn.problems
    w = np.geomspace(1e-6, 12, 400)  # the horseshoe's density is unbounded at 0
    w = np.concatenate([-w[::-1], w]) if shape == "horseshoe" else np.linspace(-8, 12, 2_001)
    prior = density_of_student(w) if shape == "student-t" else density_of_horseshoe(w, 2 / np.sqrt(10))
    b = np.linspace(-5, 5, 201)
    eta = b[:, None, None] + w[:, None] * np.asarray(model.X)[:, 0]
    likelihood = np.prod(np.where(model.y == 1, expit(eta), expit(-eta)), axis=2)
    joint = likelihood * stats.norm.pdf(b)[:, None]
    density = np.trapezoid(joint, b, axis=0) * prior
    density /= np.trapezoid(density, w)
    values = drawn.parameters["weight"][:, 0, 0] * model.design.scale[0]
    chains = values.reshape(4, -1)
    for function in (lambda v: v, np.square, lambda v: expit(8 * (v - 1)), lambda v: np.exp(-(v**2) / 0.02)):
        exact = np.trapezoid(function(w) * density, w)
        error = float(array_stats.mcse(function(chains), method="mean"))
        assert error < 0.05
        assert abs(function(values).mean() - exact) < 4.5 * error


def test_shrinkage_is_what_scales_do_to_weights() -> None:
    """Of many rows and small weights, the mode given scales is about 1 − κ times the estimate without a prior."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 3)) * [1.0, 5.0, 0.1]
    y = (0.1 * X[:, 0] + 0.02 * X[:, 1] - 1.5 * X[:, 2] + rng.logistic(size=4_000) > 0).astype(int)
    model = shaped(model_of(X, y), PRIORS["horseshoe"])
    at = {
        "prior_scale": np.array([0.02]),
        "local_scale": np.array([[0.5, 2.0, 20.0]]),
        "slab_scale": np.array([0.1]),
    }
    kappa = model.shrinkage(at)[0]
    np.testing.assert_allclose(kappa, 1 / (1 + 1_000 * scale_of(at, 0) ** 2), rtol=1e-12)
    ratio = given(model, scale_of(at, 0)).map()["weight"] / model.mle()["weight"]
    np.testing.assert_allclose(ratio[0, 0], 1 - kappa, atol=0.03)
    np.testing.assert_allclose(model.effective_columns(at), (1 - kappa).sum())


def test_the_global_scale() -> None:
    """τ₀ = p₀/(p − p₀) · 2/√n, n the weight of all rows; by default a tenth of the columns, one at least."""
    X, y = np.random.default_rng(0).normal(size=(25, 40)), np.arange(25) % 2

    def tau0(columns: int, **settings: float) -> float:
        prior = LogisticPrior(prior_scale=LearnedScale(shape=HorseshoeWeights(**settings)))
        base = model_of(X[:, :columns], y, weight=np.full(25, 4.0))
        found: Any = shaped(base, prior).scale_prior
        return float(found.global_scale)

    assert tau0(40, nonzero=5) == pytest.approx(5 / 35 * 2 / 10)
    assert tau0(40) == pytest.approx(4 / 36 * 2 / 10)
    assert tau0(5) == pytest.approx(1 / 4 * 2 / 10)
    assert tau0(1) == pytest.approx(2 / 10)
    with pytest.raises(InputError, match="nonzero=5 must be below the number of columns whose scale is learned"):
        tau0(5, nonzero=5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shape": "laplace"}, "shape must be 'normal', 'student-t', 'horseshoe' or its settings"),
        ({"shape": 4.0}, "shape must be 'normal'"),
        ({"shape": "student-t", "power": 1.0}, "leave power out"),
        ({"shape": "horseshoe", "median": 2.0}, "the horseshoe has no median and spread"),
        ({"shape": HorseshoeWeights(), "spread": 1.0}, "the horseshoe has no median and spread"),
    ],
)
def test_settings_that_do_not_go_together(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LearnedScale(**settings)


@pytest.mark.parametrize(
    ("make", "values"),
    [
        (StudentTWeights, {"degrees": 0}),
        (HorseshoeWeights, {"nonzero": 0}),
        (HorseshoeWeights, {"slab_scale": np.inf}),
        (HorseshoeWeights, {"slab_degrees": -1.0}),
    ],
)
def test_settings_of_a_shape(make: Any, values: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(values))} must be above 0"):
        make(**values)


def test_what_there_is_not() -> None:
    model = mixed_model(2, "horseshoe")
    for refused in (model.map, model.laplace, lambda: model.objective("map")):
        with pytest.raises(DoesNotExist, match=r"no useful mode .* take inference='nuts'"):
            refused()
    with pytest.raises(Refused, match="no useful mode"):
        model.components()
    with pytest.raises(Refused, match=r"the evidence .* is not computed; compare models by loo\(\)"):
        model.log_evidence()
    with pytest.raises(Refused, match="fit all rows at once"):
        model.log_posterior(*(points(model)[name] for name in ("intercept", "weight")))
    base = model_of([[1.0, 0.0], [2.0, 1.0]], [0, 1])
    cells = sparse.csr_array(np.asarray(base.X))
    with pytest.raises(Refused, match="the table is sparse"):
        shaped(
            replace(base, X=CenteredRows(cells.data, cells.indices, cells.indptr, np.zeros(2))),
            LogisticPrior(prior_scale=STUDENT),
        )


def test_maximum_likelihood_has_no_prior() -> None:
    numbers, codes, y, weight = mixed(3, 200)
    base = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight)
    found, plain = shaped(base, PRIORS["some given"]).mle(), base.mle()
    for name in ("intercept", "weight"):
        np.testing.assert_allclose(found[name], plain[name], rtol=1e-4, atol=1e-6)
    assert {name: found[name].shape for name in ("prior_scale", "local_scale", "slab_scale")} == {
        "prior_scale": (1,),
        "local_scale": (1, 3),
        "slab_scale": (1,),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["student-t", "horseshoe"])
def test_nuts_of_pymc_agrees_with_machine_code(name: str) -> None:
    model = mixed_model(3, name)
    ours = engines.draw(model, bc.NUTS(draws=2_000, progress=False), 0)
    pymc = engines.draw(model, bc.NUTS(draws=1_000, tune=800, sampler="pymc", progress=False), 0)
    assert ours is not None
    assert pymc is not None
    for axis, values in ours.parameters.items():
        a, b = (np.log(part) if "scale" in axis else part for part in (values, pymc.parameters[axis]))
        error = 4.5 / np.sqrt(400)
        np.testing.assert_allclose(b.mean(axis=0), a.mean(axis=0), atol=error * a.std(axis=0).max())
        np.testing.assert_allclose(b.std(axis=0), a.std(axis=0), rtol=0.2)
