"""Prior scales of groups of columns: their posterior by quadrature, densities and gradients by two routes, the mode."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from helpers.logistic import LEVELS, mixed, mixed_of_kind, model_of, of_kind, scaled_points
from scipy import integrate, optimize, stats
from scipy.special import expit, logsumexp

import bayesclf as bc
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.inference import Laplace, engines, laplace
from bayesclf.models.logistic.grouped_model import GroupedScaleModel
from bayesclf.models.logistic.learned_model import LearnedScaleModel
from bayesclf.models.logistic.learned_scale import LearnedScale
from bayesclf.models.logistic.prior import LogisticPrior
from bayesclf.models.logistic.scale_groups import groups_of
from bayesclf.models.logistic.scales_proposal import Slice
from bayesclf.typing import Array

KINDS = LearnedScale(groups="kinds")
PRIORS = {
    "default": LogisticPrior(prior_scale=KINDS),
    "reference": LogisticPrior(prior_scale=LearnedScale(0.5, 0.7, groups="kinds"), prior_form="reference"),
    "zero": LogisticPrior(prior_scale=KINDS, intercept_at="zero", intercept_mean=1.0),
    "three": LogisticPrior(prior_scale=LearnedScale(groups=[["x1"], ["x0"]])),
    "some given": LogisticPrior(prior_scale=LearnedScale(given={"x1": 0.4, "c0=q": 2.0}, groups="kinds")),
    "free weight": LogisticPrior(prior_scale=LearnedScale(given={"x0": np.inf}, groups={"own": ["x1"]})),
}


def grouped(model: Any, prior: LogisticPrior) -> GroupedScaleModel:
    return of_kind(GroupedScaleModel, model, prior)


def mixed_model(n_labels: int, name: str = "default", n: int = 40) -> GroupedScaleModel:
    return mixed_of_kind(GroupedScaleModel, n_labels, PRIORS[name], n)


def test_groups_of_columns() -> None:
    """The columns are x0, x1, "x1 is missing", and three levels of c0."""
    design = mixed_model(2).design

    def groups(given: Any) -> tuple[tuple[str, ...], list[int]]:
        names, of_column = groups_of(LearnedScale(groups=given), design)
        return names, of_column.tolist()

    assert groups("kinds") == (("numbers", "c0"), [0, 0, 0, 1, 1, 1])
    assert groups({"own": ["x1"]}) == (("own", "other columns"), [1, 0, 0, 1, 1, 1])
    assert groups([["c0", "x0"], ["x1"]]) == (("c0, x0", "x1"), [0, 1, 1, 0, 0, 0])
    assert groups({"other columns": ["x1"]})[0] == ("other columns", "other columns (all)")
    taken = {"other columns": ["x0"], "other columns (all)": ["x1"]}
    assert groups(taken) == ((*taken, "other columns (all) (all)"), [0, 1, 1, 2, 2, 2])
    assert mixed_model(2, "some given").scale_prior.group.tolist() == [-1, 0, -1, -1, 1, -1, 1]
    with pytest.raises(InputError, match="groups names 'age', which is not a column; the columns are 'c0', 'x0', 'x1'"):
        groups([["age"]])


def test_a_category_with_the_name_of_a_number() -> None:
    base = model_of([[1.0], [2.0], [4.0], [3.0]], [0, 1, 1, 0], codes=[[0], [1], [0], [1]], levels=(("p", "q"),))
    design = replace(base.design, category_names=("numbers",), features=("x0", "numbers", "numbers"))
    assert groups_of(KINDS, design)[0] == ("numbers (all)", "numbers")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("numbers", "groups must be None, 'kinds', or lists"),
        ([["a"], []], "groups must be None, 'kinds', or lists"),
        (["ab"], "groups must be None, 'kinds', or lists"),
        ([[1]], "groups must be None, 'kinds', or lists"),
        ([], "groups must be None, 'kinds', or lists"),
        ({"one": ["a"], "two": ["b", "a"]}, "groups names the column 'a' twice"),
    ],
)
def test_groups_that_are_none(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        LearnedScale(groups=given)


def test_groups_are_for_independent_weights() -> None:
    with pytest.raises(InputError, match="only where power is 0"):
        LearnedScale(groups="kinds", power=0.5)


@pytest.mark.parametrize(
    ("name", "n_labels"), [("default", 2), *((name, 3) for name in ("zero", "some given", "free weight"))]
)
def test_densities_agree(name: str, n_labels: int) -> None:
    """log p(θ, log s, D) is that of the model with these s given, the priors of log s, and PyMC's log density."""
    model = mixed_model(n_labels, name)
    settings, at = model.scale_prior.settings, scaled_points(model, 4)
    ours, shown = model.log_posterior(**at), model.shown(at)
    context = model.pymc()
    logp = context.compile_logp(mode="FAST_COMPILE")
    assert {variable.name for variable in context.free_RVs} == {"prior_scale", "intercept", "unscaled_weight"}
    group = model.scale_prior.group[1:]
    times = np.where(group >= 0, at["prior_scale"][:, group], 1.0)
    for draw, scale in enumerate(at["prior_scale"]):
        theta = {axis: at[axis][[draw]] for axis in ("intercept", "weight")}
        log_prior = stats.norm.logpdf(np.log(scale), np.log(settings.median), settings.spread).sum()
        assert ours[draw] == pytest.approx(model.given(scale).log_posterior(**theta)[0] + log_prior, rel=1e-10)
        unscaled = at["weight"][draw] / times[draw]
        point = {"prior_scale_log__": np.log(scale), "intercept": shown["intercept"][draw], "unscaled_weight": unscaled}
        jacobian = (n_labels - 1) * np.log(times[draw]).sum()
        # PyMC counts the flat prior of an unscaled weight as 1, and so do we, each in its unit
        assert float(logp(point)) == pytest.approx(ours[draw] + jacobian, rel=1e-10)
    draws = {"prior_scale": at["prior_scale"], "intercept": shown["intercept"]}
    back = model.from_pymc({**draws, "unscaled_weight": at["weight"] / times[:, None, :]})
    for axis, values in at.items():
        np.testing.assert_allclose(back[axis], values, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("name", PRIORS)
def test_the_gradient_of_the_evidence(n_labels: int, name: str) -> None:
    """By differences of evidences of models in which the scales are given."""
    model = mixed_model(n_labels, name)
    evidence, settings = model.evidence, model.scale_prior.settings
    at = np.linspace(-0.9, 0.6, len(model.scale_prior))

    def value(log_scale: Array) -> float:
        return model.given(np.exp(log_scale)).log_evidence() + float(settings.log_density(log_scale).sum())

    node, slope = evidence.gradient(at, np.zeros_like(model.weight_prior.mean))
    assert node.log_density == pytest.approx(value(at), abs=1e-7)
    np.testing.assert_allclose(slope, optimize.approx_fprime(at, value, 1e-6), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("name", "n_labels"), [("default", 2), ("zero", 3)])
def test_the_modes(name: str, n_labels: int) -> None:
    """The scales maximize Laplace's evidence times their prior, and the weights are the mode given these scales."""
    model = mixed_model(n_labels, name)
    settings = model.scale_prior.settings

    def negative(log_scale: Array) -> float:
        return -model.given(np.exp(log_scale)).log_evidence() - float(settings.log_density(log_scale).sum())

    start = np.full(len(model.scale_prior), 0.3)
    best = optimize.minimize(negative, start, method="L-BFGS-B").x
    mode = model.map()
    np.testing.assert_allclose(np.log(mode["prior_scale"][0]), best, atol=2e-3)
    for axis, values in model.given(mode["prior_scale"][0]).map().items():
        np.testing.assert_allclose(mode[axis], values, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("name", PRIORS)
def test_machine_code(n_labels: int, name: str) -> None:
    """It is log p(θ, log s, D) and the log determinant of the coordinates; its gradient by differences."""
    model = mixed_model(n_labels, name)
    density = model.density()
    z = np.random.default_rng(1).normal(size=(4, density.size))

    def parameters(point: Array) -> Array:
        found = model.from_pymc({axis: values[None] for axis, values in density.parameters(point).items()})
        return np.concatenate(
            [np.log(found["prior_scale"]).ravel(), found["intercept"].ravel(), found["weight"].ravel()]
        )

    found = [density(point) for point in z]
    expected = []
    for point in z:
        at = model.from_pymc({axis: values[None] for axis, values in density.parameters(point).items()})
        columns = optimize.approx_fprime(point, parameters, 1e-6)
        expected.append(model.log_posterior(**at)[0] + np.linalg.slogdet(columns)[1])
    differences = np.array([value for value, _ in found]) - expected
    np.testing.assert_allclose(differences, differences[0], atol=2e-4)
    for point, (_, slope) in zip(z, found, strict=True):
        by_differences = optimize.approx_fprime(point, lambda at: density(at)[0], 1e-6)
        np.testing.assert_allclose(slope, by_differences, rtol=1e-3, atol=1e-3)


def small() -> GroupedScaleModel:
    """Twelve rows of two numbers, each a group: the first tells much of the label, the second little."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12, 2))
    y = 1.5 * X[:, 0] + rng.logistic(size=12) > 0
    settings = LearnedScale(0.8, 0.7, groups=[["x0"], ["x1"]])
    return grouped(model_of(X, y), LogisticPrior(prior_scale=settings, intercept_scale=1.0))


def quadrature(model: GroupedScaleModel, inner: int) -> dict[str, Any]:
    """Return moments of log s and of the weights given D, and log p(D): sums over both scales, intercept and weights.

    Weights are in units of their scales, and these and the intercept at the nodes of Gauss–Hermite rules.
    """
    t, mass_of_t = np.polynomial.hermite_e.hermegauss(15)
    v, mass_of_v = np.polynomial.hermite_e.hermegauss(inner)
    mass_of_t, mass_of_v = mass_of_t / mass_of_t.sum(), mass_of_v / mass_of_v.sum()
    log_scale = np.log(0.8) + 0.7 * t
    b, first, second = (part.ravel() for part in np.meshgrid(v, v, v, indexing="ij"))
    mass = np.einsum("i,j,k->ijk", mass_of_v, mass_of_v, mass_of_v).ravel()
    x, signs = model.X, 2.0 * model.y - 1
    total, moments = 0.0, np.zeros(6)
    for i, j in product(range(len(t)), repeat=2):
        one, two = np.exp(log_scale[[i, j]])
        joint = mass * mass_of_t[i] * mass_of_t[j]
        for (left, right), sign in zip(x, signs, strict=True):
            joint = joint * expit(sign * (b + one * first * left + two * second * right))
        whole = joint.sum()
        total += whole
        squares = (log_scale[i] ** 2 * whole, log_scale[j] ** 2 * whole)
        weights = (one * first @ joint, two * second @ joint)
        moments += [log_scale[i] * whole, log_scale[j] * whole, *squares, *weights]
    moments /= total
    return {
        "mean": moments[:2],
        "sd": np.sqrt(moments[2:4] - moments[:2] ** 2),
        "weight": moments[4:],
        "log_evidence": np.log(total),
    }


def test_draws_agree_with_quadrature() -> None:
    """Both scales, the weights and the evidence, by both engines."""
    model = small()
    exact, coarser = quadrature(model, 28), quadrature(model, 24)
    for name, values in exact.items():
        np.testing.assert_allclose(coarser[name], values, atol=4e-3)
    assert model.log_evidence() == pytest.approx(exact["log_evidence"], abs=0.05)
    proposals = laplace.propose(model, 20_000, np.random.default_rng(0))
    log_scale = np.log(proposals.parameters["prior_scale"])
    weight = proposals.parameters["weight"][:, 0] * model.design.scale
    assert proposals.share > 0.3
    assert proposals.khat < 0.7
    error = 4.5 / np.sqrt(proposals.ess)
    np.testing.assert_allclose(proposals.weight @ log_scale, exact["mean"], atol=error * exact["sd"].max())
    sd = np.sqrt(proposals.weight @ (log_scale - exact["mean"]) ** 2)
    np.testing.assert_allclose(sd, exact["sd"], rtol=error)
    np.testing.assert_allclose(proposals.weight @ weight, exact["weight"], atol=error * weight.std(axis=0).max())
    drawn = engines.draw(model, bc.NUTS(draws=1_500, progress=False), 1)
    assert drawn is not None
    assert not drawn.problems
    log_scale = np.log(drawn.parameters["prior_scale"])
    error = 4.5 / np.sqrt(1_500)  # of 6,000 draws
    np.testing.assert_allclose(log_scale.mean(axis=0), exact["mean"], atol=error * exact["sd"].max())
    np.testing.assert_allclose(log_scale.std(axis=0), exact["sd"], rtol=error)
    weight = drawn.parameters["weight"][:, 0] * model.design.scale
    np.testing.assert_allclose(weight.mean(axis=0), exact["weight"], atol=error * weight.std(axis=0).max())


@pytest.mark.parametrize("n_labels", [2, 3])
def test_one_group_is_one_scale(n_labels: int) -> None:
    """Evidence, scale and weights are those of the grid over one scale, within Monte Carlo error."""
    numbers, codes, y, weight = mixed(n_labels, 120)
    base = model_of(numbers, y, codes=codes, levels=LEVELS, weight=3 * weight)
    of_group = grouped(base, LogisticPrior(prior_scale=LearnedScale(groups=[["x0", "x1", "c0"]])))
    prior = LogisticPrior(prior_scale=LearnedScale(power=0))
    single = of_kind(LearnedScaleModel, base, prior)
    assert of_group.scale_prior.names == ("x0, x1, c0",)
    np.testing.assert_allclose(of_group.map()["prior_scale"][0], single.map()["prior_scale"], rtol=1e-3)
    ours, others = (laplace.propose(m, 6_000, np.random.default_rng(0)) for m in (of_group, single))
    error = 4.5 * np.sqrt(1 / ours.ess + 1 / others.ess)
    for name in ("prior_scale", "intercept", "weight"):
        a, b = (np.asarray(part.parameters[name]).reshape(6_000, -1) for part in (ours, others))
        if name == "prior_scale":
            a, b = np.log(a), np.log(b)
        mean = others.weight @ b
        sd = np.sqrt(others.weight @ (b - mean) ** 2)
        assert (np.abs(ours.weight @ a - mean) < error * sd).all()
        np.testing.assert_allclose(np.sqrt(ours.weight @ (a - mean) ** 2), sd, rtol=2 * error)
    # Laplace's evidence given s, of rows that count as some 500, is off by a few hundredths
    assert of_group.log_evidence() == pytest.approx(single.log_evidence(), abs=0.06)


@pytest.mark.slow
def test_nuts_of_pymc_agrees_with_machine_code() -> None:
    """Non-centered in PyMC's model, and in the coordinates of the machine code: shares of the draws below quantiles.

    Weights of unknown scale have heavy tails, with a kurtosis of 10 to 20, so that their sds are known to tens of
    percent only. A share has the error of its level and of the effective number of draws, whatever the tails.
    """
    from arviz_stats.base import array_stats

    model = mixed_model(3)
    settings = (
        bc.NUTS(draws=2_000, progress=False),
        bc.NUTS(draws=1_000, tune=1_000, sampler="pymc", target_accept=0.95, progress=False),
    )
    ours, pymc = (engines.draw(model, each, 0) for each in settings)
    assert ours is not None
    assert pymc is not None
    for name, values in ours.parameters.items():
        pairs = [part.reshape(4, len(part) // 4, -1) for part in (values, pymc.parameters[name])]
        for both in zip(*(np.moveaxis(part, 2, 0) for part in pairs), strict=True):
            for level in (0.05, 0.25, 0.5, 0.75, 0.95):
                edge = np.quantile(np.concatenate([draws.ravel() for draws in both]), level)
                below = [(draws < edge).astype(float) for draws in both]
                effective = np.array([min(array_stats.ess(share, method="mean"), share.size) for share in below])
                assert effective.min() > 400
                error = 4.5 * np.sqrt(level * (1 - level) * np.sum(1 / effective))
                assert abs(below[0].mean() - below[1].mean()) < error


def test_the_prior_of_the_weights_alone() -> None:
    """log p(θ) is the log of the average of p(θ | s) over draws of s, and integrates over each group by itself."""
    prior = mixed_model(2).scale_prior
    theta = 0.5 * np.random.default_rng(0).normal(size=(3, 1, 1 + len(mixed_model(2).design)))
    nodes = np.linspace(-7, 7, 141)
    first, second = np.meshgrid(nodes, nodes)
    scale = np.exp(1.5 * np.column_stack([first.ravel(), second.ravel()]))
    log_mass = stats.norm.logpdf(first.ravel()) + stats.norm.logpdf(second.ravel()) + 2 * np.log(nodes[1] - nodes[0])
    for one, found in zip(theta, prior.log_marginal(theta), strict=True):
        every = prior.log_density(np.repeat(one[None], len(scale), axis=0), scale)
        assert found == pytest.approx(logsumexp(every + log_mass), abs=1e-3)


def test_prior_draws_have_the_priors_moments() -> None:
    settings = LearnedScale(0.7, 0.3, given={"x1": 0.4}, groups="kinds")
    model = mixed_of_kind(GroupedScaleModel, 3, LogisticPrior(prior_scale=settings, intercept_at="zero"))
    drawn = model.prior_draw(np.random.default_rng(0), 40_000)
    scale, z = drawn["prior_scale"], drawn["weight"] * model.design.scale
    np.testing.assert_allclose(np.log(scale).mean(axis=0), np.log(0.7), atol=5 * 0.3 / 200)
    np.testing.assert_allclose(np.log(scale).std(axis=0), 0.3, rtol=5 / 280)
    assert abs(np.corrcoef(np.log(scale).T)[0, 1]) < 5 / 200
    np.testing.assert_allclose((z[:, :, 0] / scale[:, [0]]).std(axis=0), 1, rtol=5 / 280)
    np.testing.assert_allclose((z[:, :, 3:] / scale[:, 1, None, None]).std(axis=0), 1, rtol=5 / 280)
    np.testing.assert_allclose(z[:, :, 1:3].std(axis=0), 0.4, rtol=5 / 280)
    np.testing.assert_allclose(model.shown(drawn)["intercept"].std(axis=0), 5, rtol=5 / 280)


def test_without_rows_the_posterior_is_the_prior() -> None:
    base = model_of([[1.0, 3.0], [2.0, 0.0]], [0, 1])
    none: dict[str, Any] = {"X": np.zeros((0, 2)), "y": np.zeros(0, dtype=np.intp), "sample_weight": np.zeros(0)}
    settings = LearnedScale(0.5, 1.5, groups=[["x0"], ["x1"]])
    model = grouped(replace(base, **none), LogisticPrior(prior_scale=settings))
    assert model.log_evidence() == pytest.approx(0, abs=0.02)
    np.testing.assert_allclose(model.map()["prior_scale"], [[0.5, 0.5]], rtol=1e-4)
    sampled = laplace.sample(model, Laplace(), seed=0)
    np.testing.assert_allclose(np.log(sampled.parameters["prior_scale"]).std(axis=(0, 1)), 1.5, rtol=0.08)
    assert sampled.khat < 0.5


def test_a_slice_has_the_density_of_its_draws() -> None:
    points = np.array([-5.0, -3, -2, -1, 0, 1, 2, 3.5])
    one = Slice.through(points, -0.5 * points**2 - 0.05 * points**3)
    at, log_density = one.draw(np.random.default_rng(0), 200_000)
    edges = np.linspace(-5, 3.5, 35)
    shares = np.histogram(at, edges)[0] / len(at)
    inside = np.clip(np.digitize(at, edges) - 1, 0, len(edges) - 2)
    # the average of 1/density over the draws in a bin is its width, where the density covers all of it
    widths = np.bincount(inside, np.exp(-log_density), minlength=len(edges) - 1) / len(at)
    kept = shares > 0.01  # none of them at an end, where tails begin
    np.testing.assert_allclose(widths[kept], np.diff(edges)[kept], rtol=0.1)
    total = integrate.quad(lambda x: np.exp(-0.5 * x**2 - 0.05 * x**3), -5, 3.5)[0]
    expected = integrate.quad(lambda x: np.exp(-0.5 * x**2 - 0.05 * x**3), -1, 1)[0] / total
    assert np.mean(np.abs(at) < 1) == pytest.approx(expected, abs=0.03)


def test_without_a_mode() -> None:
    base = model_of([[1.0, 0.0], [2.0, 1.0], [4.0, 0.5]], [0, 1, 1], n_labels=3)
    settings = LearnedScale(groups=[["x0"], ["x1"]])
    model = grouped(base, LogisticPrior(prior_scale=settings, intercept_scale=np.inf))
    with pytest.raises(DoesNotExist, match="take a finite intercept_scale"):
        model.map()


def test_sparse_rows_are_refused() -> None:
    from scipy import sparse

    from bayesclf.models.logistic.centered import CenteredRows

    base = model_of([[1.0, 0.0], [2.0, 1.0]], [0, 1])
    cells = sparse.csr_array(base.X)
    X = CenteredRows(cells.data, cells.indices, cells.indptr, np.zeros(2))
    with pytest.raises(Refused, match="the table is sparse"):
        grouped(replace(base, X=X), LogisticPrior(prior_scale=LearnedScale(groups=[["x0"], ["x1"]])))
