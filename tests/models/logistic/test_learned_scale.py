"""A learned prior scale and correlation: posterior by dense grids, densities by two routes, modes, the PyMC page."""

import warnings
from dataclasses import replace
from itertools import product
from typing import Any

import arviz as az
import numpy as np
import pytest
from helpers import logistic
from helpers.logistic import LEVELS, mixed, model_of, scaled_points
from helpers.suites import mainly
from scipy import stats
from scipy.special import expit, logit

import bayesclf as bc
from bayesclf.arrays import Array
from bayesclf.engines import Laplace, inference, laplace
from bayesclf.errors import ConvergenceWarning, DoesNotExist, InputError, Refused
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.models.logistic.prior import LearnedScale, LogisticPrior

INF = float("inf")
PRIORS = {
    "default": LogisticPrior(prior_scale=LearnedScale()),
    "independent": LogisticPrior(prior_scale=LearnedScale(correlation=0)),
    "correlation": LogisticPrior(prior_scale=LearnedScale(correlation=0.7)),
    "reference": LogisticPrior(prior_scale=LearnedScale(0.5, 0.7), prior_form="reference"),
    "zero": LogisticPrior(prior_scale=LearnedScale(), intercept_at="zero"),
    "free intercept": LogisticPrior(prior_scale=LearnedScale(), intercept_scale=INF),
    "some given": LogisticPrior(prior_scale=LearnedScale(given={"x1": 0.4, "c0=q": 2.0})),
}


def mixed_model(n_labels: int, name: str = "default", n: int = 40) -> LogisticModel:
    return logistic.mixed_model(n_labels, PRIORS[name], n)


def complete_model(n_labels: int) -> LogisticModel:
    """Rows whose category has no gap."""
    numbers, codes, y, weight = mixed(n_labels)
    return model_of(numbers, y, PRIORS["default"], codes=np.maximum(codes, 0), levels=LEVELS, weight=weight)


TABLES = {"some": (1, 30), "separable": (2, 12), "three": (3, 12), "more": (4, 60), "few": (5, 8), "unrelated": (6, 20)}
"""Seeds and numbers of rows of tables of two dependent numbers; the second and "few" are separable."""


def two_columns(name: str) -> tuple[Array, Any]:
    """Return one of these tables: rows and label codes."""
    seed, size = TABLES[name]
    rng = np.random.default_rng(seed)
    z = rng.normal(size=size)
    X = np.column_stack([z + 0.5 * rng.normal(size=size), 3 * (z + 0.5 * rng.normal(size=size)) + 2])
    if name == "three":
        return X, np.digitize(z + 0.5 * rng.normal(size=size), [-0.4, 0.4])
    if name in ("separable", "few"):
        return X, (X[:, 0] > 0 if name == "separable" else X[:, 1] > np.median(X[:, 1])) * 1
    slope = 0.0 if name == "unrelated" else 2.0
    return X, (rng.random(size) < expit(slope * (X[:, 0] - X[:, 1] / 3))) * 1


def by_prior_draws(X: Array, y: Any, at: Array) -> tuple[dict[str, float], dict[str, float]]:
    """Return E log s, its sd, E ρ and P of the last class at a row, and their errors, by a million prior draws.

    Each counts by its likelihood; nothing is shared with the package.
    """
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    C = np.cov(z, rowvar=False, ddof=0)
    e, U = np.linalg.eigh(C / np.diag(C).mean())
    labels = int(y.max()) + 1
    draws = stats.qmc.Sobol(2 + 3 * (labels - 1), seed=0).random_base2(20)
    normal = stats.norm.ppf(np.clip(draws, 1e-12, 1 - 1e-12))
    log_s, rho = 1.5 * normal[:, 0], draws[:, 1]
    sd = np.exp(log_s)[:, None] * np.sqrt(1 - rho[:, None] + rho[:, None] * e)
    epsilon = normal[:, 2:].reshape(-1, labels - 1, 3)
    if labels > 2:  # contrasts of vectors that add up to 0
        B = np.array([[1, 1], [-1, 1], [0, -2]]) / np.sqrt([2, 6]) / np.sqrt(2)
        epsilon = np.einsum("kc,dcj->dkj", B, epsilon)
    w = np.einsum("ij,dj,dkj->dki", U, sd, epsilon[:, :, 1:])
    b = 5 * epsilon[:, :, 0]

    def log_p(rows: Array) -> Array:
        eta = b[:, None, :] + np.einsum("ri,dki->drk", rows, w)
        if labels == 2:
            eta = np.concatenate([np.zeros_like(eta), eta], axis=2)
        top = eta.max(axis=2, keepdims=True)
        return np.asarray(eta - top - np.log(np.exp(eta - top).sum(axis=2, keepdims=True)))

    total = sum(log_p(z[[i]])[:, 0, label] for i, label in enumerate(y))
    mass = np.exp(total - total.max())
    mass /= mass.sum()
    P = np.exp(log_p(((at - X.mean(axis=0)) / X.std(axis=0))[None])[:, 0, -1])
    found = {"log s": log_s, "rho": rho, "P": P}
    sd_log_s = float(np.sqrt(mass @ (log_s - mass @ log_s) ** 2))
    means = {name: float(mass @ values) for name, values in found.items()}
    effective = 1 / np.sum(mass**2)  # of pseudo-random draws; quasi-random ones are worth more
    sds = {name: float(np.sqrt(mass @ (values - means[name]) ** 2)) for name, values in found.items()}
    errors = {name: sd / np.sqrt(effective) for name, sd in sds.items()} | {"sd log s": sd_log_s / np.sqrt(effective)}
    return means | {"sd log s": sd_log_s}, errors


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "name"),
    [*product(["nuts", "slice", "laplace"], TABLES), ("propagation", "separable"), ("propagation", "few")],
)
def test_twenty_thousand_draws_agree_with_a_million_prior_draws(
    engine: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E log s, sd log s, E ρ and P, within four of their stated Monte Carlo errors and the reference's own.

    The bounds hold for NUTS at its own `target_accept` of .9 too. There the warning says that some ten of 20,000 draws
    diverge where rows are separable: a step across the wall of the likelihood throws log s out of range. They do not
    move the averages. Steps at .97 are short enough that no more than two diverge.
    """
    X, y = two_columns(name)
    at = np.array([1.5, -3.0])
    exact, reference = by_prior_draws(X, y, at)
    engines = {"nuts": bc.engines.NUTS(draws=5000, target_accept=0.97), "slice": bc.engines.Slice(draws=5000)}
    settings = engines.get(engine, Laplace(draws=5000, limit=1.0))
    if engine == "propagation":
        settings = bc.engines.Auto(settings)
        monkeypatch.setattr(inference, "LOST_OF_TWO", 1.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "[12] of 20000 draws diverged", ConvergenceWarning)
        clf = bc.LogisticRegression(inference=settings, random_state=3).fit(X, y)
    assert engine != "propagation" or "expectation propagation, corrected by importance weights" in clf.notes_[0]
    tree = clf.posterior_
    posterior = tree["posterior"].to_dataset()
    log_s = np.log(posterior["prior_scale"])
    share = 1.0
    if "importance_ess" in tree["sample_stats"]:
        share = min(1.0, float(tree["sample_stats"]["importance_ess"]) / log_s.size)
    P = clf.predict_proba(at[None], rule="bayes-optimal")[0, -1]
    interval = clf.predict_interval(at[None], ci_prob=0.6827)
    width = float(np.diff(np.asarray(interval)[0, -1]).item()) / 2
    ess = float(az.ess(log_s)) * share
    errors = {
        "log s": (float(log_s.mean()) - exact["log s"], float(log_s.std()) / np.sqrt(ess)),
        "sd log s": (float(log_s.std()) - exact["sd log s"], float(log_s.std()) / np.sqrt(ess)),
        "rho": (
            float(posterior["prior_correlation"].mean()) - exact["rho"],
            float(posterior["prior_correlation"].std()) / np.sqrt(ess),
        ),
        "P": (P - exact["P"], width / np.sqrt(ess)),
    }
    for what, (error, own) in errors.items():
        assert abs(error) < 4 * np.hypot(own, reference[what]), (what, error, own)
        assert reference[what] < 0.03


@pytest.mark.parametrize("n_labels", mainly([2, 3], 3))
@pytest.mark.parametrize("name", PRIORS)
def test_densities_agree(n_labels: int, name: str) -> None:
    """log p(θ | s, ρ) is SciPy's, of the covariance written out, and its gradient is the slope."""
    model = mixed_model(n_labels, name)
    prior = model.weight_prior
    log_s, rho = 0.3, 0.6 if prior.correlation is None else prior.correlation
    of_rho = float(logit(np.clip(rho, 1e-9, 1 - 1e-9)))
    own = prior.given(log_s, of_rho)
    theta = np.random.default_rng(0).normal(size=(3, n_labels - 1, 1 + len(model.design)))
    values = own.log_density(theta)
    step = 1e-5
    for one in np.ndindex(theta[0].shape):
        moved = np.stack([theta[0], theta[0]])
        moved[0][one] += step
        moved[1][one] -= step
        slope = np.diff(own.log_density(moved)[::-1])[0] / (2 * step)
        assert own.gradient(theta[0])[one] == pytest.approx(slope, rel=1e-5, abs=1e-6)
    if prior.flat:
        return
    given, _ = model.prior.scales(model.design, np.nan)
    is_learned = np.isnan(given)
    C = np.cov(model.X[:, is_learned], rowvar=False, aweights=model.sample_weight, ddof=0)
    C /= np.diag(C).mean()
    columns = np.diag(np.append(model.prior.intercept_scale, np.where(is_learned, 1.0, given)) ** 2)
    chosen = 1 + np.flatnonzero(is_learned)
    columns[np.ix_(chosen, chosen)] = np.exp(2 * log_s) * ((1 - rho) * np.eye(len(C)) + rho * C)
    to_theta = np.eye(len(columns))  # the intercept of θ = that of the prior + weights times the shift
    to_theta[0, 1:] = -prior.offset
    between = 0.5 * (np.eye(n_labels - 1) + 1) if prior.symmetric else np.eye(n_labels - 1)
    covariance = np.kron(between, to_theta @ columns @ to_theta.T)
    expected = stats.multivariate_normal((prior.mean @ to_theta.T).ravel(), covariance).logpdf(theta.reshape(3, -1))
    np.testing.assert_allclose(values, expected, rtol=1e-7)


@pytest.mark.parametrize("n_labels", mainly([2, 3], 3))
@pytest.mark.parametrize("name", [*PRIORS, "complete"])
def test_the_machine_code_is_the_joint_density(n_labels: int, name: str) -> None:
    """Between nodes, at them and beyond the outermost; the gradient is the slope."""
    model = mixed_model(n_labels, name) if name != "complete" else complete_model(n_labels)
    density, lattice, prior = model.density(), model.lattice, model.weight_prior
    assert prior.seen == len(prior.values) - (name == "complete")  # levels that add up to 1 have one sum without rows
    rng = np.random.default_rng(1)
    x = rng.normal(size=(5, density.size))
    x[0, :2], x[1, :2] = [4.0, 3.0], [-5.0, -4.0]
    center, unit = lattice.density.moments
    at = center + unit * x[:, :2]
    gamma, log_determinant = lattice.moved(at, x[:, 2:])
    parameters = density.parameters(x, rng)
    theta = model._theta(parameters["intercept"], parameters["weight"])
    log_prior = prior.given(*at.T).log_density(theta)
    rest = prior.coordinates(theta)[..., 1 + prior.seen :]  # drawn from their prior
    sd = (prior.sd * prior.scales(at[:, 0], at[:, 1]))[:, None, 1 + prior.seen :]
    log_prior = log_prior - stats.norm.logpdf(rest, 0, sd).sum(axis=(1, 2))
    expected = model._likelihood.values(theta) + log_prior + prior.log_density_of_scales(*at.T) + log_determinant
    if prior.correlation is not None:
        expected = expected - 0.5 * x[:, 1] ** 2
    values = np.array([density(one)[0] for one in x])
    np.testing.assert_allclose(np.diff(values), np.diff(expected), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(prior.coordinates(theta)[..., : 1 + prior.seen], gamma, atol=1e-8)
    for one in x:
        steps = 1e-5 * np.eye(density.size)
        slopes = [(density(one + h)[0] - density(one - h)[0]) / 2e-5 for h in steps]
        np.testing.assert_allclose(density(one)[1], slopes, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n_labels", mainly([2, 3], 2))
def test_posterior_given_is_that_of_the_pymc_page(n_labels: int) -> None:
    """log p(θ, s, ρ, D) changes as the page's density does, between draws with the same s and ρ."""
    model = replace(mixed_model(n_labels), sample_weight=np.ones(40))
    point = scaled_points(model, 4)
    point |= {name: np.full(4, point[name][0]) for name in ("prior_scale", "prior_correlation")}
    ours = model.log_posterior(**point)
    page, shown = model.pymc(), model.shown(point)
    from models.logistic.test_pymc import point_of

    logp = page.compile_logp(mode="FAST_COMPILE")
    names = [rv.name for rv in page.free_RVs]
    assert names == ["log_prior_scale", "prior_correlation", "epsilon", "intercept"]
    theirs = [float(logp(point_of(page, {name: shown[name][draw] for name in names}))) for draw in range(4)]
    np.testing.assert_allclose(np.diff(theirs), np.diff(ours), rtol=1e-8, atol=1e-7)
    back = model.from_pymc({name: shown[name] for name in names})
    for name, values in point.items():
        np.testing.assert_allclose(back[name], values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("intercept_at", ["means", "zero"])
def test_prior_draws_have_the_priors_moments(intercept_at: str) -> None:
    settings = LearnedScale(0.7, 0.3, given={"x1": 0.4}, correlation=0)
    model = logistic.mixed_model(3, LogisticPrior(prior_scale=settings, intercept_at=intercept_at))
    drawn = model.prior_draw(np.random.default_rng(0), 40_000)
    scale, z = drawn["prior_scale"], drawn["weight"] * model.design.scale
    differences = z[:, :2] - z[:, 2:]
    assert np.log(scale).mean() == pytest.approx(np.log(0.7), abs=5 * 0.3 / 200)
    assert np.log(scale).std() == pytest.approx(0.3, rel=5 / 280)
    np.testing.assert_allclose((differences[:, :, 0] / scale[:, None]).std(axis=0), 1, rtol=5 / 280)
    # x1, and the indicator of its missing cells, have the scale that was given
    np.testing.assert_allclose(differences[:, :, 1:3].std(axis=0), 0.4, rtol=5 / 280)
    shown = model.shown(drawn)["intercept"]
    np.testing.assert_allclose((shown[:, 0] - shown[:, 1]).std(), 5, rtol=5 / 280)
    np.testing.assert_allclose(z.sum(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("n_labels", mainly([2, 3], 3))
@pytest.mark.parametrize("name", ["default", "independent", "some given", "zero"])
def test_the_modes(n_labels: int, name: str) -> None:
    """(log s, logit ρ) is where Laplace's evidence times its prior is largest, and the weights are the mode there."""
    model = mixed_model(n_labels, name)
    lattice, best = model.lattice, model.lattice.best
    for shift in ([0.05, 0.0], [-0.05, 0.0], [0.0, 0.15], [0.0, -0.15]):
        if model.weight_prior.correlation is not None and shift[1]:
            continue
        (beside,), _ = lattice.made((best.at + shift)[None], [lattice.normals.start(best.gamma)])
        assert lattice.log_density(beside) <= lattice.log_density(best) + 1e-6
    objective, _ = model.objective("map")
    mode = model.map()
    _, slope = objective.gradient(model._theta(mode["intercept"], mode["weight"])[0])
    assert np.abs(slope).max() < 1e-6
    assert np.log(mode["prior_scale"]) == pytest.approx([best.at[0]])


def test_nodes_near_each_other_share_one_look_at_many_rows() -> None:
    lattice = mixed_model(3, n=3_000).lattice
    top = max(lattice.nodes.values(), key=lattice.log_density)
    at = top.at + np.array([[0.0, 0.3], [0.0, -0.3], [0.5, 0.0]])
    exact, looked = lattice.made(at, [lattice.from_top] * 3)
    rough, shared = lattice.made(at, [lattice.from_top] * 3, rough=True)
    assert all(start is lattice.from_top for start in shared)
    assert not any(start is lattice.from_top for start in looked)
    for node, other in zip(rough, exact, strict=True):
        assert node.log_evidence == pytest.approx(other.log_evidence, abs=0.04)
        np.testing.assert_allclose(node.gamma, other.gamma, atol=0.01)
        np.testing.assert_allclose(node.root, other.root, atol=0.01 * np.abs(other.root).max())


def test_maximum_likelihood_has_no_prior() -> None:
    model = mixed_model(2, n=300)
    expected = replace(model, prior=LogisticPrior()).mle()
    found = model.mle()
    assert found.pop("prior_scale") == [INF]
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-7, atol=1e-9)


def test_without_rows_the_posterior_is_the_prior() -> None:
    base = model_of([[1.0, 0.3], [2.0, 0.1]], [0, 1])
    none: dict[str, Any] = {"X": np.zeros((0, 2)), "y": np.zeros(0, dtype=np.intp), "sample_weight": np.zeros(0)}
    model = replace(base, **none, prior=LogisticPrior(prior_scale=LearnedScale(0.5, 1.5)))
    assert model.log_evidence() == pytest.approx(0, abs=0.02)
    assert model.map()["prior_scale"] == pytest.approx([0.5], rel=1e-3)
    parameters, _ = laplace.sample(model, Laplace(), seed=0)
    assert np.log(parameters["prior_scale"]).std() == pytest.approx(1.5, rel=0.08)


def test_without_a_mode() -> None:
    model = model_of([[1.0], [2.0], [4.0]], [0, 1, 1], PRIORS["free intercept"], n_labels=3)
    with pytest.raises(DoesNotExist, match="has no rows"):
        model.map()


class TestRefusals:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                {"prior_mean": 0.5, "prior_scale": LearnedScale()},
                "cannot be learned, because a learned scale needs",
            ),
            (
                {"standardize": False, "prior_scale": LearnedScale()},
                "which standardize=False leaves in different units",
            ),
            (
                {"prior_scale": "leant"},
                "prior_scale must be 'learned', .*, a mapping or a LearnedScale, .* not 'leant'",
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
        "options", [{"median": 0.0}, {"spread": INF}, {"given": 2.0}, {"correlation": -0.1}, {"correlation": "learnt"}]
    )
    def test_the_priors_own(self, options: dict[str, Any]) -> None:
        with pytest.raises(InputError, match=f"{next(iter(options))} must be"):
            LearnedScale(**options)

    def test_tables_that_are_sparse_or_too_wide(self) -> None:
        from scipy import sparse

        X, y = np.eye(4)[[0, 1, 2, 3, 0, 1]], [0, 1, 0, 1, 0, 1]
        clf = bc.LogisticRegression(prior_scale=LearnedScale(), inference="map")
        with pytest.raises(Refused, match=r"not learned, because the table is sparse; use a number"):
            clf.fit(sparse.csr_array(X), y)
        wide = np.random.default_rng(0).normal(size=(4, 3_100))
        with pytest.raises(Refused, match=r"the model has 3,101 weights and the limit is 3,000; use a number"):
            clf.fit(wide, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("options", "sparse", "reason"),
    [
        ({}, True, "the table is sparse"),
        ({"prior_mean": {"x1": 1.0}}, False, "a learned scale needs weights around 0, and prior_mean is not 0"),
        ({"standardize": False}, False, "which standardize=False leaves in different units"),
    ],
)
def test_where_the_scale_cannot_be_learned_it_is_the_default(
    options: dict[str, Any], sparse: bool, reason: str
) -> None:
    from scipy.sparse import csr_array

    cells = np.eye(4)[[0, 1, 2, 3, 0, 1]]
    X, y = csr_array(cells) if sparse else cells, [0, 1, 0, 1, 0, 1]
    clf = bc.LogisticRegression(prior_scale="learned", inference="map", **options).fit(X, y)
    given = bc.LogisticRegression(prior_scale=2.5, inference="map", **options).fit(X, y)
    np.testing.assert_array_equal(clf.predict_proba(X), given.predict_proba(X))
    [note] = [note for note in clf.notes_ if note not in given.notes_]
    assert note.startswith("the prior scale of the weights is 2.5, and not learned, because")
    assert reason in note
