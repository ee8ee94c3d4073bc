"""Optimizers of logistic regression: they arrive, their way is kept, and where they do not they say so."""

import numpy as np
import pytest
from scipy import sparse

import bayesclf as bc
from bayesclf.engines.optimizers import OPTIMIZERS, in_own_units, largest_curvature
from bayesclf.errors import ConvergenceWarning, Refused

DETERMINISTIC = {
    "gradient-ascent": bc.engines.GradientAscent(passes=100_000, tolerance=1e-8),
    "conjugate-gradient": bc.engines.ConjugateGradient(),
    "newton": bc.engines.Newton(),
}


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def rows(request):
    rng = np.random.default_rng(request.param)
    X = rng.normal(size=(120, 3)) @ np.diag([1.0, 10.0, 0.1]) + 5
    scores = (X - 5) @ rng.normal(size=(3, request.param)) * [1, 0.1, 1, 1][: request.param]
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return X, y


def test_every_optimizer_is_tested():
    assert set(map(type, DETERMINISTIC.values())) == set(OPTIMIZERS)


@pytest.mark.parametrize("point", ["map", "mle"])
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_deterministic_optimizers_reach_the_unique_optimum(rows, name, point):
    engine = {"map": bc.engines.MAP, "mle": bc.engines.MLE}[point](DETERMINISTIC[name])
    watched = bc.LogisticRegression(prior_scale=2.5, inference=engine, random_state=0).fit(*rows)
    plain = bc.LogisticRegression(prior_scale=2.5, inference=point).fit(*rows)
    np.testing.assert_allclose(watched.predict_proba(rows[0]), plain.predict_proba(rows[0]), atol=1e-7)
    certificate = watched.trace_.certificate
    assert certificate.converged
    assert certificate.definite
    assert certificate.gradient_norm == watched.trace_.gradient_norm[-1]
    assert len(watched.trace_.objective) == certificate.steps + 1


def test_the_curvature_bound_is_attained(rows):
    """Without a prior: where two classes are equally probable, and a third, the reference, is not."""
    objective, start = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(*rows).model_.objective("mle")
    theta = np.zeros_like(start)
    theta[:, 0] = 40.0 if len(theta) > 1 else 0.0
    curvature = objective.derivatives(theta)[2]
    assert largest_curvature(objective) == pytest.approx(np.linalg.eigvalsh(curvature)[-1], rel=1e-9)


@pytest.mark.parametrize("start", ["log-odds", "zero"])
def test_a_diverging_step_is_stopped_and_named(start):
    """A strong prior's objective is nearly quadratic with curvature L, so that any step above 2/L diverges."""
    X, y = np.array([[-1.0], [1.0], [0.5], [-0.5]]), [0, 1, 0, 1]
    engine = bc.engines.MAP(bc.engines.GradientAscent(step=1.0, start=start))
    prior = {"prior_scale": 0.1, "intercept_scale": 0.1, "intercept_mean": float(start == "zero")}
    clf = bc.LogisticRegression(**prior, inference=engine)
    with pytest.warns(ConvergenceWarning, match=r"the step 1 diverges .* use one below 2/L = 0\.0"):
        clf.fit(X, y)
    assert not clf.trace_.certificate.converged
    assert clf.trace_.certificate.steps < 20


def test_ascent_on_some_rows_at_a_time_settles_near_the_optimum(rows):
    some = bc.engines.GradientAscent(batch=20, decay=0.05, passes=200)
    with pytest.warns(ConvergenceWarning, match="above the tolerance"):
        trace, best = (
            bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.MAP(how), random_state=1).fit(*rows).trace_
            for how in (some, bc.engines.Newton())
        )
    gap = best.objective[-1] - trace.objective
    assert -1e-9 < gap[-20:].mean() < 0.02 * gap[0]


def test_closed_forms_have_no_optimizer():
    with pytest.raises(Refused, match="closed forms"):
        bc.GaussianNB(inference=bc.engines.MAP(bc.engines.Newton())).fit([[0.0], [1.0], [2.0]], [0, 1, 1])


STEP = 0.003


def from_zero(point, passes, decay=0.0, **settings):
    ascent = bc.engines.GradientAscent(step=STEP, passes=passes, start="zero", decay=decay)
    engine = {"map": bc.engines.MAP, "mle": bc.engines.MLE}[point](ascent)
    return bc.LogisticRegression(inference=engine, random_state=0, **settings)


def softmax_with_reference(scores, reference):
    """Return P(y = k | x) of linear scores of all classes but the reference, whose score is 0."""
    scores = np.insert(scores, reference, 0.0, axis=1)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def test_one_step_from_zero_is_that_of_mitchells_eq_26():
    """From w = 0, P(y = 1 | x) = 1/2, so that w = η Σ x (y − ½), in the units of the table."""
    X, y = np.array([[1.0, 20.0], [2.0, -10.0], [3.0, 40.0], [4.0, 5.0], [-2.0, 0.0]]), np.array([0, 1, 1, 0, 1])
    with pytest.warns(ConvergenceWarning, match="above the tolerance"):
        clf = from_zero("mle", 1).fit(X, y)
    w = STEP * np.column_stack([np.ones(5), X]).T @ (y - 0.5)
    np.testing.assert_allclose([clf.intercept_[0], *clf.coef_[0]], w, rtol=1e-12)
    assert clf.trace_.objective[0] == pytest.approx(5 * np.log(0.5), rel=1e-12)
    assert clf.trace_.gradient_norm[0] == pytest.approx(np.linalg.norm(w) / STEP, rel=1e-12)


@pytest.mark.parametrize("point", ["mle", "map"])
@pytest.mark.parametrize("classes", [2, 3])
def test_many_steps_from_zero_are_those_of_the_textbooks_loop(point, classes):
    """Eqs 26 and 29, with the term −ηλw under MAP: λ = 1/s² for weights per unit and the intercept at x = 0."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(60, 2)) * [1.0, 3.0] + [2.0, -1.0]
    y = rng.integers(classes, size=60)
    prior = {"prior_scale": 0.5, "intercept_scale": 4.0, "prior_form": "reference"}
    with pytest.warns(ConvergenceWarning, match="above the tolerance"):
        clf = from_zero(point, 25, 0.1, intercept_at="zero", standardize=False, **prior).fit(X, y)
    reference = 0 if classes == 2 else classes - 1
    rows, others = np.column_stack([np.ones(60), X]), np.delete(np.arange(classes), reference)
    shrink = (point == "map") * np.array([1 / 4.0**2, 1 / 0.5**2, 1 / 0.5**2])
    w = np.zeros((classes - 1, 3))
    for t in range(25):
        P, step = softmax_with_reference(rows @ w.T, reference)[:, others], STEP / (1 + 0.1 * t)
        w = w + step * ((y[:, None] == others) - P).T @ rows - step * shrink * w
    parameters = clf.posterior_[point]
    np.testing.assert_allclose(parameters["weight"].values[0, 0], w[:, 1:], rtol=1e-10)
    np.testing.assert_allclose(parameters["intercept"].values[0, 0], w[:, 0], rtol=1e-10)


@pytest.mark.parametrize("batch", [None, 7])
def test_an_ascent_from_zero_is_the_same_for_sparse_and_for_dense_rows(batch):
    rng = np.random.default_rng(5)
    X = rng.poisson(0.5, size=(50, 4)).astype(float)
    y = rng.integers(2, size=50)
    ascent = bc.engines.GradientAscent(step=1e-2, batch=batch, passes=4, start="zero")
    traces = []
    for rows in (X, sparse.csr_array(X)):
        with pytest.warns(ConvergenceWarning, match="above the tolerance"):
            clf = bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.MAP(ascent), random_state=3).fit(rows, y)
        traces.append(clf.trace_)
    np.testing.assert_allclose(traces[0].theta, traces[1].theta, rtol=1e-10)
    np.testing.assert_allclose(traces[0].objective, traces[1].objective, rtol=1e-10)


def test_the_curvature_in_the_columns_own_units_bounds_the_step(rows):
    """And minus the Hessian is the change of the gradient."""
    model = bc.LogisticRegression(prior_scale=0.01, intercept_scale=0.01, inference="map").fit(*rows).model_
    objective, start = model.objective("map")
    own = in_own_units(objective, model.design.centre, model.design.scale)
    rng, w = np.random.default_rng(1), np.zeros_like(start)
    H = own.derivatives(w)[2]
    for _ in range(5):
        step = rng.normal(size=w.shape) * 1e-4
        change = own.gradient(w + step)[1] - own.gradient(w - step)[1]
        np.testing.assert_allclose(-change.ravel() / 2, H @ step.ravel(), rtol=1e-4)
    assert np.linalg.eigvalsh(H)[-1] <= largest_curvature(own) * (1 + 1e-12)


SEPARABLE = np.array([[-1.0], [1.0]]), [0, 1]


@pytest.mark.slow
def test_on_separable_classes_the_weights_grow_like_the_log_of_the_steps_and_the_result_says_so():
    """Of x = ±1 the gradient is 2/(1 + e^w), so that e^w + w is near 2ηt + 1; the trace has w in its objective."""
    ascent = bc.engines.GradientAscent(step=0.1, passes=20_000, start="zero")
    with pytest.warns(
        ConvergenceWarning,
        match="after 20,000 steps the weights have not converged, and cannot: "
        "the classes are separable: weights on 'x0' put every training row",
    ):
        clf = bc.LogisticRegression(inference=bc.engines.MLE(ascent)).fit(*SEPARABLE)
    trace = clf.trace_
    assert len(trace.objective) == 20_001
    assert not trace.certificate.converged
    assert "separable" in trace.certificate.message
    w = -np.log(np.expm1(-trace.objective / 2))
    assert clf.coef_[0, 0] == pytest.approx(w[-1], rel=1e-9)
    assert (np.diff(w) > 0).all()
    steps = np.array([2_000, 20_000])
    np.testing.assert_allclose(np.exp(w[steps]) + w[steps], 0.2 * steps + 1, rtol=2e-3)
    assert w[20_000] - w[2_000] == pytest.approx(np.log(10), abs=2e-2)


def test_a_growth_without_bound_never_counts_as_convergence():
    """The gradient falls like 1/t below any tolerance."""
    ascent = bc.engines.GradientAscent(step=1.0, passes=10_000, tolerance=1e-2, start="zero")
    with pytest.warns(ConvergenceWarning, match="separable"):
        trace = bc.LogisticRegression(inference=bc.engines.MLE(ascent)).fit(*SEPARABLE).trace_
    assert trace.gradient_norm[-1] <= 1e-2
    assert trace.certificate.steps < 10_000
    assert not trace.certificate.converged
