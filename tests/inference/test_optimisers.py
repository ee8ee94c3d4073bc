"""Optimisers of logistic regression: they arrive, their way is kept, and where they do not they say so."""

import numpy as np
import pytest

import bayesclf as bc
from bayesclf.errors import ConvergenceWarning, DoesNotExist, InputError, Refused
from bayesclf.inference import optimisers
from bayesclf.inference.optimisers import OPTIMISERS, largest_curvature

DETERMINISTIC = {
    "gradient-ascent": bc.GradientAscent(passes=100_000, tolerance=1e-8),
    "conjugate-gradient": bc.ConjugateGradient(),
    "l-bfgs": bc.LBFGSOptimiser(),
    "newton": bc.Newton(),
}


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def rows(request):
    rng = np.random.default_rng(request.param)
    X = rng.normal(size=(120, 3)) @ np.diag([1.0, 10.0, 0.1]) + 5
    scores = (X - 5) @ rng.normal(size=(3, request.param)) * [1, 0.1, 1, 1][: request.param]
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return X, y


def test_every_optimiser_is_tested():
    assert set(DETERMINISTIC) == set(OPTIMISERS)


@pytest.mark.parametrize("point", ["map", "mle"])
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_deterministic_optimisers_reach_the_unique_optimum(rows, name, point):
    engine = {"map": bc.MAP, "mle": bc.MLE}[point](DETERMINISTIC[name])
    watched = bc.LogisticRegression(prior_scale=2.5, inference=engine, random_state=0).fit(*rows)
    plain = bc.LogisticRegression(prior_scale=2.5, inference=point).fit(*rows)
    np.testing.assert_allclose(watched.predict_proba(rows[0]), plain.predict_proba(rows[0]), atol=1e-7)
    certificate = watched.trace_.certificate
    assert certificate.converged
    assert certificate.definite
    assert certificate.gradient_norm == watched.trace_.gradient_norm[-1]
    assert len(watched.trace_.objective) == certificate.steps + 1


@pytest.mark.parametrize("name", ["gradient-ascent", "newton"])
def test_the_objective_rises_at_every_step(rows, name):
    trace = bc.LogisticRegression(prior_scale=2.5, inference=bc.MAP(DETERMINISTIC[name])).fit(*rows).trace_
    assert (np.diff(trace.objective) > -1e-9).all()


def test_newton_needs_far_fewer_steps_than_ascent(rows):
    steps = {
        name: bc.LogisticRegression(prior_scale=2.5, inference=bc.MAP(DETERMINISTIC[name]))
        .fit(*rows)
        .trace_.certificate.steps
        for name in ("newton", "gradient-ascent")
    }
    assert 5 * steps["newton"] < steps["gradient-ascent"]


def test_the_curvature_bound_holds_at_random_points(rows):
    model = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(*rows).model_
    objective, start = model.objective("map")
    bound = largest_curvature(objective)
    rng = np.random.default_rng(0)
    for _ in range(20):
        curvature = objective.derivatives(start + rng.normal(size=start.shape))[2]
        assert np.linalg.eigvalsh(curvature)[-1] <= bound * (1 + 1e-12)


def test_the_curvature_bound_is_attained(rows):
    """Without a prior: where two classes are equally probable, and a third, the reference, is not."""
    objective, start = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(*rows).model_.objective("mle")
    theta = np.zeros_like(start)
    theta[:, 0] = 40.0 if len(theta) > 1 else 0.0
    curvature = objective.derivatives(theta)[2]
    assert largest_curvature(objective) == pytest.approx(np.linalg.eigvalsh(curvature)[-1], rel=1e-9)


def test_a_diverging_step_is_stopped_and_named():
    """A strong prior's objective is nearly quadratic with curvature L, so that any step above 2/L diverges."""
    X, y = np.array([[-1.0], [1.0], [0.5], [-0.5]]), [0, 1, 0, 1]
    ascent = bc.GradientAscent(step=1.0)
    clf = bc.LogisticRegression(prior_scale=0.1, intercept_scale=0.1, inference=bc.MAP(ascent))
    with pytest.warns(ConvergenceWarning, match=r"the step 1 diverges .* take one below 2/L = 0\.0"):
        clf.fit(X, y)
    assert not clf.trace_.certificate.converged
    assert clf.trace_.certificate.steps < 20


@pytest.mark.slow
@pytest.mark.parametrize("batch", [1, 16])
def test_fixed_step_on_some_rows_settles_near_the_optimum_and_a_decaying_one_nearer(batch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + rng.logistic(size=200) > 0).astype(int)
    model = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, y).model_
    objective, start = model.objective("map")
    mode = model.map()
    best = objective.value(np.column_stack([mode["intercept"][0], mode["weight"][0] * model.design.scale]))
    gaps = []
    for decay in (0.0, 0.05):
        step = 0.005 * batch / largest_curvature(objective)
        ascent = bc.GradientAscent(step=step, batch=batch, decay=decay, passes=200)
        with pytest.warns(ConvergenceWarning, match="above the tolerance"):
            clf = bc.LogisticRegression(prior_scale=2.5, inference=bc.MAP(ascent), random_state=1).fit(X, y)
        gaps.append(best - clf.trace_.objective[-20:].mean())
    assert 0 < gaps[1] < gaps[0] < (best - objective.value(start)) / 4


def test_stochastic_ascent_is_the_same_for_the_same_seed(rows):
    ascent = bc.GradientAscent(batch=10, passes=3)
    ways = []
    for seed in (1, 1, 2):
        with pytest.warns(ConvergenceWarning):
            ways.append(
                bc.LogisticRegression(prior_scale=2.5, inference=bc.MAP(ascent), random_state=seed)
                .fit(*rows)
                .trace_.objective
            )
    np.testing.assert_array_equal(ways[0], ways[1])
    assert not np.array_equal(ways[0], ways[2])


def test_separable_classes_stop_an_optimiser_before_it_starts():
    with pytest.raises(DoesNotExist, match="separable"):
        bc.LogisticRegression(prior_scale=2.5, inference=bc.MLE(bc.GradientAscent())).fit([[0.0], [1.0]], [0, 1])


def test_closed_forms_have_no_optimiser():
    with pytest.raises(Refused, match="closed forms"):
        bc.GaussianNB(inference=bc.MAP(bc.Newton())).fit([[0.0], [1.0], [2.0]], [0, 1, 1])


def test_a_watched_fit_can_be_saved(rows, tmp_path):
    clf = bc.LogisticRegression(prior_scale=2.5, inference=bc.MAP(bc.Newton()), random_state=0).fit(*rows)
    clf.save(tmp_path / "model.nc")
    loaded = bc.load(tmp_path / "model.nc")
    np.testing.assert_array_equal(loaded.trace_.objective, clf.trace_.objective)
    assert loaded.trace_.certificate == clf.trace_.certificate


def test_the_trace_is_plotted(rows):
    traces = {
        name: bc.LogisticRegression(prior_scale=2.5, inference=bc.MAP(optimiser)).fit(*rows).trace_
        for name, optimiser in DETERMINISTIC.items()
    }
    gap, norm = bc.plots.optimiser_trace(traces).axes
    assert [text.get_text() for text in gap.get_legend().get_texts()] == list(DETERMINISTIC)
    assert all(
        len(line.get_xdata()) == len(trace.objective) for line, trace in zip(norm.lines, traces.values(), strict=True)
    )


@pytest.mark.parametrize("settings", [{"step": 0.0}, {"step": np.inf}, {"batch": 0}, {"decay": -1.0}, {"passes": 0}])
def test_settings_that_cannot_be(settings):
    with pytest.raises(InputError):
        bc.GradientAscent(**settings)


@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_the_step_shrinks_with_the_passes(rows, decay):
    objective, start = bc.LogisticRegression(inference="map").fit(*rows).model_.objective("map")
    theta = start
    for number in range(3):
        theta = theta + 1e-3 / (1 + decay * number) * objective.gradient(theta)[1]
    ascent = bc.GradientAscent(step=1e-3, decay=decay, passes=3)
    np.testing.assert_allclose(ascent.run(objective, start, np.random.default_rng(0)).theta, theta, rtol=1e-12)


def test_curvature_is_not_looked_at_where_that_is_expensive_or_impossible(rows, monkeypatch):
    objective, start = bc.LogisticRegression(inference="map").fit(*rows).model_.objective("map")
    certificates = []
    for limit, step in ((start.size, None), (start.size - 1, None), (start.size, 1e308)):
        monkeypatch.setattr(optimisers, "DENSE_PARAMETERS", limit)
        ascent = bc.GradientAscent(step=step, passes=2)
        certificates.append(ascent.run(objective, start, np.random.default_rng(0)).certificate.definite)
    assert certificates == [True, None, None]
