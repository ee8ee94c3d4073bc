"""A learned prior scale: its posterior by quadrature, its densities by two routes, its mode, its PyMC model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.logistic import mixed_of_kind, model_of, of_kind, scaled_points
from helpers.suites import mainly
from scipy import integrate, linalg, optimize, stats

import bayesclf as bc
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.inference import Laplace, laplace
from bayesclf.models.logistic.learned_model import LearnedScaleModel
from bayesclf.models.logistic.learned_scale import LearnedScale
from bayesclf.models.logistic.prior import LogisticPrior
from bayesclf.models.logistic.scale_grid import ScaleGrid
from bayesclf.typing import Array

INF = float("inf")
PRIORS = {
    "default": LogisticPrior(prior_scale=LearnedScale(power=0)),
    "power": LogisticPrior(prior_scale=LearnedScale(power=0.5)),
    "as columns": LogisticPrior(prior_scale=LearnedScale(power=1)),
    "reference": LogisticPrior(prior_scale=LearnedScale(0.5, 0.7, power=0), prior_form="reference"),
    "zero": LogisticPrior(prior_scale=LearnedScale(power=0), intercept_at="zero", intercept_mean=1.0),
    "reference, zero": LogisticPrior(prior_scale=LearnedScale(power=1), intercept_at="zero", prior_form="reference"),
    "free intercept": LogisticPrior(prior_scale=LearnedScale(power=0), intercept_scale=INF),
    "some given": LogisticPrior(prior_scale=LearnedScale(given={"x1": 0.4, "c0=q": 2.0}, power=0)),
    "free weight": LogisticPrior(prior_scale=LearnedScale(given={"x0": INF}, power=0)),
}


def learned(model: Any, prior: LogisticPrior) -> LearnedScaleModel:
    return of_kind(LearnedScaleModel, model, prior)


def mixed_model(n_labels: int, name: str = "default", n: int = 40) -> LearnedScaleModel:
    return mixed_of_kind(LearnedScaleModel, n_labels, PRIORS[name], n)


def small(separable: bool) -> LearnedScaleModel:
    """Ten rows of one number."""
    x = np.random.default_rng(9).normal(size=10)
    y = x > 0 if separable else x + np.array([0, 0, 2, 0, -2, 0, 0, 1, 0, 0]) > 0
    return learned(model_of(x[:, None], y), LogisticPrior(prior_scale=LearnedScale(power=0)))


def quadrature(model: LearnedScaleModel) -> tuple[Array, Array, Array, float]:
    """Return values of log s, their posterior, E[weight | s, D], and log p(D), summed over intercepts and weights.

    Weights are in units of s, so that one grid of them serves every s.
    """
    t, b = np.linspace(-8, 8, 97), np.linspace(-22, 22, 101)
    v = np.linspace(-6, 6, 121)
    intercept, unit = (a.ravel() for a in np.meshgrid(b, v, indexing="ij"))
    log_prior = stats.norm.logpdf(intercept, 0, 5) + stats.norm.logpdf(unit)
    cell = (b[1] - b[0]) * (v[1] - v[0])
    x, signs = model.X[:, 0], 2.0 * model.y - 1
    evidence, mean = [], []
    for log_scale in t:
        log_odds = intercept[:, None] + np.exp(log_scale) * unit[:, None] * x
        joint = np.exp(log_prior - np.logaddexp(0, -signs * log_odds).sum(axis=1))
        evidence.append(joint.sum() * cell)
        mean.append(np.exp(log_scale) * unit @ joint / joint.sum())
    mass = np.array(evidence) * stats.norm.pdf(t, 0, 1.5) * (t[1] - t[0])
    return t, mass / mass.sum(), np.array(mean), float(np.log(mass.sum()))


@pytest.mark.parametrize("separable", mainly([False, True], True))
def test_draws_agree_with_quadrature(separable: bool) -> None:
    """The scale's posterior and the weight's mean, by both engines; on separable rows too."""
    model = small(separable)
    t, posterior, mean, log_evidence = quadrature(model)
    assert model.log_evidence() == pytest.approx(log_evidence, abs=0.25)  # Laplace's, of ten rows
    clf = bc.LogisticRegression(prior_scale="learned", random_state=1)
    rows = model.X * model.design.scale, model.y
    for engine in (Laplace(draws=2000), bc.NUTS(draws=2000, target_accept=0.95)):
        drawn = clf.set_params(inference=engine).fit(*rows)
        group = drawn.posterior_["posterior"].to_dataset()
        log_scale = np.log(group["prior_scale"].values)
        if isinstance(engine, Laplace):
            effective = float(drawn.posterior_["sample_stats"]["importance_ess"])
        else:
            from arviz_stats.base import array_stats

            effective = float(array_stats.ess(log_scale, method="bulk"))
        effective = min(effective, log_scale.size) / 2
        assert effective > 200
        middle = t @ posterior
        sd = np.sqrt((t - middle) ** 2 @ posterior)
        assert abs(log_scale.mean() - middle) < 4.5 * sd / np.sqrt(effective)
        assert log_scale.std() == pytest.approx(sd, rel=4.5 / np.sqrt(effective) + 0.01)
        for level in (0.05, 0.25, 0.5, 0.75, 0.95):
            edge = np.interp(level, np.cumsum(posterior) - posterior / 2, t)
            below = np.mean(log_scale < edge)
            assert abs(below - level) < 4.5 * np.sqrt(level * (1 - level) / effective) + 0.005
        if not separable:  # else the weight's variance is that of e^(2t), too large for its mean
            weight = group["weight"].values.ravel() * model.design.scale[0]
            assert abs(weight.mean() - mean @ posterior) < 4.5 * weight.std() / np.sqrt(effective)


def test_importance_weights_correct_the_evidence_of_the_scales() -> None:
    """Few rows: the scale's posterior by Laplace's evidences alone is off, and that of the draws is not."""
    model = small(separable=True)
    t, posterior, _, _ = quadrature(model)
    grid = model.scale_grid
    by_laplace, exact = grid.weights @ grid.log_scales, t @ posterior
    proposals = laplace.propose(model, 100_000, np.random.default_rng(0))
    corrected = proposals.weight @ np.log(proposals.parameters["prior_scale"])
    assert abs(corrected - exact) < 0.02 < abs(by_laplace - exact)


def test_importance_weights_count_the_stretches_of_an_uneven_grid() -> None:
    """Of the nodes above the mode every second one is left out: each of the others stands for twice as much."""
    model = small(separable=True)
    t, posterior, _, _ = quadrature(model)
    grid = model.scale_grid
    number = len(grid.nodes)
    kept = [i for i in range(number) if i <= grid.best or (i - grid.best) % 2 == 0 or i == number - 1]
    uneven = small(separable=True)
    uneven.__dict__["scale_grid"] = ScaleGrid(tuple(grid.nodes[i] for i in kept))
    proposals = laplace.propose(uneven, 100_000, np.random.default_rng(0))
    corrected = proposals.weight @ np.log(proposals.parameters["prior_scale"])
    cells = uneven.scale_grid.cells
    mass = np.exp(np.interp([cell.center for cell in cells], t, np.log(posterior))) * [cell.width for cell in cells]
    expected = mass @ [(cell.low + cell.high) / 2 for cell in cells] / mass.sum()
    assert abs(corrected - expected) < 0.02


@pytest.mark.parametrize(
    ("name", "n_labels"), mainly([("default", 2), *((name, 3) for name in PRIORS)], ("default", 2), ("default", 3))
)
def test_densities_agree(name: str, n_labels: int) -> None:
    """log p(θ, log s, D) is that of the model with this s given, the prior of log s, and PyMC's log density."""
    model = mixed_model(n_labels, name)
    settings = model.scale_prior.settings
    at = scaled_points(model, 4)
    ours = model.log_posterior(**at)
    context = model.pymc()
    logp = context.compile_logp(mode="FAST_COMPILE")
    assert {variable.name for variable in context.free_RVs} == {"prior_scale", "intercept", "unscaled_weight"}
    assert "weight" in context.named_vars
    is_learned = model.scale_prior.learned[1:]
    covariance, sd = model.weight_prior.covariance, model.design.scale
    lower = np.eye(len(sd)) if covariance is None else covariance.lower
    back_to_z, log_determinant = np.linalg.inv(lower), float(np.linalg.slogdet(lower)[1])
    shown = model.shown(at)
    for draw, scale in enumerate(at["prior_scale"]):
        theta = {axis: at[axis][[draw]] for axis in ("intercept", "weight")}
        log_prior = stats.norm.logpdf(np.log(scale), np.log(settings.median), settings.spread)
        assert ours[draw] == pytest.approx(model.given(scale).log_posterior(**theta)[0] + log_prior, rel=1e-10)
        times = np.where(is_learned, scale, 1.0)
        unscaled = (at["weight"][draw] * sd / times) @ back_to_z.T / sd
        point = {"prior_scale_log__": np.log(scale), "intercept": shown["intercept"][draw], "unscaled_weight": unscaled}
        jacobian = (n_labels - 1) * (np.log(times).sum() + log_determinant)
        assert float(logp(point)) == pytest.approx(ours[draw] + jacobian, rel=1e-10)
    draws = {"prior_scale": at["prior_scale"], "intercept": shown["intercept"]}
    times = np.where(is_learned, at["prior_scale"][:, None], 1.0)[:, None, :]
    unscaled = (at["weight"] * sd / times) @ back_to_z.T / sd
    back = model.from_pymc({**draws, "unscaled_weight": unscaled})
    for axis, values in at.items():
        np.testing.assert_allclose(back[axis], values, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("name", ["power", "as columns", "reference, zero", "some given"])
def test_the_weights_have_the_covariance_of_the_columns(n_labels: int, name: str) -> None:
    """Density, gradient and precision of the prior are SciPy's, of the covariance written out."""
    model, s = mixed_model(n_labels, name), 0.7
    prior, X, w = model.scale_prior.at(s), model.X, model.sample_weight
    learned = model.scale_prior.learned[1:]
    sigma = np.cov(X[:, learned], rowvar=False, aweights=w, ddof=0)
    sigma = linalg.fractional_matrix_power(sigma + 1e-13 * np.eye(len(sigma)), model.scale_prior.settings.power)
    sigma = 0.99 * sigma / np.diag(sigma).mean() + 0.01 * np.eye(len(sigma))
    scales = np.where(learned, s, prior.scale[0, 1:])
    between = 0.5 * (np.eye(n_labels - 1) + 1) if prior.symmetric else np.eye(n_labels - 1)
    columns = np.zeros((1 + len(learned),) * 2)
    columns[0, 0] = 25
    columns[1:, 1:] = np.diag(scales**2)
    chosen = 1 + np.flatnonzero(learned)
    columns[np.ix_(chosen, chosen)] = s**2 * sigma
    to_theta = np.eye(1 + len(learned))  # intercept at the means = that at zero + weights times the means
    to_theta[0, 1:] = prior.shift
    whole = stats.multivariate_normal(
        (prior.mean @ to_theta.T).ravel(), np.kron(between, to_theta @ columns @ to_theta.T), allow_singular=False
    )
    theta = np.random.default_rng(0).normal(size=(3, *prior.mean.shape))
    np.testing.assert_allclose(prior.log_density(theta), whole.logpdf(theta.reshape(3, -1)), rtol=1e-9)
    precision = prior.precision()
    np.testing.assert_allclose(precision @ whole.cov, np.eye(len(precision)), atol=1e-8)
    slope = -precision @ (theta[0].ravel() - whole.mean)
    np.testing.assert_allclose(prior.gradient(theta[0]).ravel(), slope, rtol=1e-8, atol=1e-8)
    drawn = prior.draw(np.random.default_rng(1), 40_000).reshape(40_000, -1)
    sds = np.sqrt(np.diag(whole.cov))
    np.testing.assert_allclose(np.cov(drawn.T) / np.outer(sds, sds), whole.cov / np.outer(sds, sds), atol=0.03)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("name", PRIORS)
def test_machine_code_is_that_of_the_model_with_this_scale(n_labels: int, name: str) -> None:
    """What is sampled at a node is log p(θ, D | s), whitened by the normal approximation there."""
    model = mixed_model(n_labels, name)
    node = model.node(-0.7, model.scale_grid.nodes[0].theta)
    density, normal = model.density_at(node), model.approximation(node)
    z = np.random.default_rng(1).normal(size=(4, density.size))
    parameters = model.unravel(normal.center + z @ normal.factor.T)
    expected = model.given(np.exp(-0.7)).log_posterior(**parameters)
    values = np.array([density(point)[0] for point in z])
    np.testing.assert_allclose(values - values[0], expected - expected[0], rtol=0, atol=1e-8)
    assert np.abs(density(np.zeros(density.size))[1]).max() < 1e-6


def test_the_prior_of_the_weights_alone() -> None:
    prior = mixed_model(3).scale_prior
    theta = np.random.default_rng(0).normal(size=(3, 2, 1 + len(mixed_model(3).design)))
    for one, found in zip(theta, prior.log_marginal(theta), strict=True):

        def ratio(t: float, one: Array = one, found: float = found) -> float:
            log_scale = np.array([t])
            log_density = prior.log_density(one[None], np.exp(log_scale)) + prior.settings.log_density(log_scale)
            return float(np.exp(log_density[0] - found))

        assert integrate.quad(ratio, -6, 6, limit=200)[0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("intercept_at", ["means", "zero"])
def test_prior_draws_have_the_priors_moments(intercept_at: str) -> None:
    settings = LearnedScale(0.7, 0.3, given={"x1": 0.4}, power=0)
    model = mixed_of_kind(LearnedScaleModel, 3, LogisticPrior(prior_scale=settings, intercept_at=intercept_at))
    drawn = model.prior_draw(np.random.default_rng(0), 40_000)
    scale, z = drawn["prior_scale"], drawn["weight"] * model.design.scale
    assert np.log(scale).mean() == pytest.approx(np.log(0.7), abs=5 * 0.3 / 200)
    assert np.log(scale).std() == pytest.approx(0.3, rel=5 / 280)
    np.testing.assert_allclose((z[:, :, 0] / scale[:, None]).std(axis=0), 1, rtol=5 / 280)
    assert np.corrcoef(z[:, :, 0].T)[0, 1] == pytest.approx(0.5, abs=5 * 0.75 / 200)
    # x1, and the indicator of its missing cells, have the scale that was given.
    np.testing.assert_allclose(z[:, :, 1:3].std(axis=0), 0.4, rtol=5 / 280)
    shown = model.shown(drawn)["intercept"]
    np.testing.assert_allclose(shown.std(axis=0), 5, rtol=5 / 280)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("name", ["default", "some given", "zero"])
def test_the_modes(n_labels: int, name: str) -> None:
    """The scale maximizes Laplace's evidence times its prior, and the weights are the mode given this scale."""
    model = mixed_model(n_labels, name)
    settings = model.scale_prior.settings

    def negative(t: float) -> float:
        return -model.given(np.exp(t)).log_evidence() - float(settings.log_density(np.array(t)))

    best = optimize.minimize_scalar(negative, bounds=(-3, 3), method="bounded", options={"xatol": 1e-6}).x
    mode = model.map()
    assert np.log(mode["prior_scale"]) == pytest.approx([best], abs=1e-3)
    given = model.given(mode["prior_scale"][0]).map()
    for axis, values in given.items():
        np.testing.assert_allclose(mode[axis], values, rtol=1e-8, atol=1e-9)


def test_maximum_likelihood_has_no_prior() -> None:
    model = mixed_model(2, n=300)
    expected = replace(model.given(1.0), prior=LogisticPrior()).mle()
    found = model.mle()
    assert found.pop("prior_scale") == [INF]
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-7, atol=1e-9)


def test_without_rows_the_posterior_is_the_prior() -> None:
    base = model_of([[1.0], [2.0]], [0, 1])
    none: dict[str, Any] = {"X": np.zeros((0, 1)), "y": np.zeros(0, dtype=np.intp), "sample_weight": np.zeros(0)}
    model = learned(replace(base, **none), LogisticPrior(prior_scale=LearnedScale(0.5, 1.5, power=0)))
    assert model.log_evidence() == pytest.approx(0, abs=2e-3)
    assert model.map()["prior_scale"] == pytest.approx([0.5], rel=1e-6)
    sampled = laplace.sample(model, Laplace(), seed=0)
    assert np.log(sampled.parameters["prior_scale"]).std() == pytest.approx(1.5, rel=0.08)


def test_without_a_mode() -> None:
    model = learned(model_of([[1.0], [2.0], [4.0]], [0, 1, 1], n_labels=3), PRIORS["free intercept"])
    with pytest.raises(DoesNotExist, match="has no rows"):
        model.map()


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"prior_mean": 0.5, "prior_scale": LearnedScale()},
                "cannot be learned, because a learned scale is that of",
            ),
            (
                {"standardize": False, "prior_scale": LearnedScale()},
                "which standardize=False leaves in different units",
            ),
            (
                {"prior_scale": "leant"},
                "prior_scale must be 'learned', .*, a mapping or a LearnedScale, .* not 'leant'",
            ),
            ({"prior_scale": "horseshoe"}, r"such as LearnedScale\(shape='horseshoe'\), not 'horseshoe'"),
            (
                {"prior_scale": bc.HorseshoeWeights()},
                r"such as LearnedScale\(shape='horseshoe'\), not HorseshoeWeights",
            ),
            ({"prior_scale": bc.LearnedScale}, "a LearnedScale, .* not <class"),
            ({"prior_scale": LearnedScale(given={"nobody": 1.0})}, "names 'nobody', which no column of the design has"),
            ({"prior_scale": LearnedScale(given={"x0": -1.0})}, r"prior_scale\['x0'\] must be above 0"),
        ],
    )
    def test_settings(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            bc.LogisticRegression(**{"prior_scale": "learned", **options}).fit([[1.0], [2.0], [1.5]], [0, 1, 1])

    @pytest.mark.parametrize(
        "options",
        [{"median": 0.0}, {"spread": INF}, {"given": 2.0}, {"power": -1.0}, {"power": (1.0, 1.0)}, {"power": ()}],
    )
    def test_the_priors_own(self, options: dict[str, Any]) -> None:
        with pytest.raises(InputError, match=f"{next(iter(options))} must be"):
            LearnedScale(**options)

    def test_tables_that_are_sparse_or_too_wide(self) -> None:
        from scipy import sparse

        X, y = np.eye(4)[[0, 1, 2, 3, 0, 1]], [0, 1, 0, 1, 0, 1]
        clf = bc.LogisticRegression(prior_scale=LearnedScale(), inference="map")
        with pytest.raises(Refused, match=r"not learned, because the table is sparse; take a number"):
            clf.fit(sparse.csr_array(X), y)
        wide = np.random.default_rng(0).normal(size=(4, 3_100))
        with pytest.raises(Refused, match=r"the model has 3,101 weights and the limit is 3,000; take a number"):
            clf.fit(wide, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("options", "sparse", "reason"),
    [
        ({}, True, "the table is sparse"),
        ({"prior_mean": {"x1": 1.0}}, False, "a learned scale is that of weights around 0, and prior_mean is not 0"),
        ({"standardize": False}, False, "which standardize=False leaves in different units"),
    ],
)
def test_where_the_scale_cannot_be_learned_it_is_the_default(
    options: dict[str, Any], sparse: bool, reason: str
) -> None:
    from scipy.sparse import csr_array

    cells = np.eye(4)[[0, 1, 2, 3, 0, 1]]
    X, y = csr_array(cells) if sparse else cells, [0, 1, 0, 1, 0, 1]
    learned = bc.LogisticRegression(prior_scale="learned", inference="map", **options).fit(X, y)
    given = bc.LogisticRegression(prior_scale=2.5, inference="map", **options).fit(X, y)
    np.testing.assert_array_equal(learned.predict_proba(X), given.predict_proba(X))
    [note] = [note for note in learned.notes_ if note not in given.notes_]
    assert note.startswith("the prior scale of the weights is 2.5, and not learned, because")
    assert reason in note
