"""Logistic regression: design, prior, MAP, MLE, separability, and the PyMC model's density against NumPy's."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy import optimize
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression

from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.models.base import Rows
from bayesclf.models.logistic import likelihood, newton
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.likelihood import LogPosterior
from bayesclf.models.logistic.model import LogisticModel, LogisticPrior
from bayesclf.typing import Array, Integers

INF = float("inf")
FREE = LogisticPrior(standardize=False, intercept_scale=INF, intercept_at="zero")


def encoded(numbers: Any, codes: Any = None) -> Rows:
    numbers = np.asarray(numbers, dtype=float)
    codes = np.zeros((len(numbers), 0)) if codes is None else codes
    return Rows((numbers, np.asarray(codes, dtype=np.intp)), len(numbers))


def model_of(
    numbers: Any,
    y: Any,
    prior: LogisticPrior | None = None,
    *,
    codes: Any = None,
    levels: tuple[tuple[str, ...], ...] = (),
    n_labels: int | None = None,
    weight: Any = None,
) -> LogisticModel:
    rows = encoded(numbers, codes)
    y = np.asarray(y, dtype=np.intp)
    weight = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=float)
    names = tuple(f"x{j}" for j in range(rows.parts[0].shape[1]))
    categories = tuple(f"c{j}" for j in range(len(levels)))
    design = LogisticDesign.fit(*rows.parts, weight, names, categories, levels)
    labels = tuple("abcdefgh"[: n_labels or int(y.max()) + 1])
    return LogisticModel(labels, design, design.matrix(rows), y, weight, prior or LogisticPrior())


def probabilities(model: LogisticModel, rows: Rows, parameters: Any = None) -> Array:
    """P(label | x) of the MAP, or of the first of some hypotheses, (row, outcome)."""
    scores = model.log_scores(rows, model.map() if parameters is None else parameters)[0]
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def mixed(n_labels: int, n: int = 40, seed: int = 0) -> tuple[Array, Integers, Integers, Array]:
    """Two numbers far from 0 and of unlike units, one with gaps, a category of three levels, labels and weights."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 2)) * [3.0, 0.01] + [50.0, -2.0]
    score = (numbers[:, 0] - 50) / 3 + rng.normal(size=n)
    y = np.digitize(score, np.linspace(-0.7, 0.7, n_labels - 1)) if n_labels > 2 else (score > 0).astype(int)
    numbers[rng.random(n) < 0.2, 1] = np.nan
    codes = rng.integers(-1, 3, size=(n, 1))
    return numbers, codes, y.astype(np.intp), rng.uniform(0.2, 3.0, size=n)


LEVELS = (("p", "q", "r"),)


class TestDesign:
    def test_columns_in_their_order(self) -> None:
        numbers = np.array([[1.0, 7.0, np.nan, np.nan], [3.0, 7.0, 2.0, np.nan], [8.0, 7.0, 6.0, np.nan]])
        codes = np.array([[0, 1], [1, -1], [0, 0]])
        weight = np.array([1.0, 2.0, 1.0])
        design = LogisticDesign.fit(
            numbers, codes, weight, ("age", "same", "gappy", "empty"), ("k", "l"), (("u", "v"), ("s", "t"))
        )
        assert design.names == ("age", "gappy", "gappy is missing", "k=u", "k=v", "l=s", "l=t")
        assert design.features == ("age", "gappy", "gappy is missing", "k", "k", "l", "l")
        assert design.constant == ("same", "empty")
        mean, sd = 15 / 4, np.sqrt((1 + 2 * 9 + 64) / 4 - (15 / 4) ** 2)
        np.testing.assert_allclose(design.centre, [mean, 10 / 3, 0, 0, 0, 0, 0])
        np.testing.assert_allclose(design.scale[0], sd)
        np.testing.assert_array_equal(design.scale[2:], 1)
        X = design.matrix(Rows((numbers, codes), 3))
        np.testing.assert_allclose(X[:, 0], (numbers[:, 0] - mean) / sd)
        np.testing.assert_array_equal(X[0, 1:], [0, 1, 1, 0, 0, 1])
        np.testing.assert_array_equal(X[1, 2:], [0, 0, 1, 0, 0])

    def test_weights_are_repetition_and_zero_is_absence(self) -> None:
        rng = np.random.default_rng(0)
        numbers = rng.normal(size=(6, 2)) + 1e6
        numbers[5] = np.nan
        times = np.array([1, 2, 3, 1, 2, 0])
        codes = np.zeros((6, 0), dtype=np.intp)
        weighted = LogisticDesign.fit(numbers, codes, times.astype(float), ("a", "b"), (), ())
        repeated = LogisticDesign.fit(
            np.repeat(numbers, times, axis=0), np.zeros((9, 0), dtype=np.intp), np.ones(9), ("a", "b"), (), ()
        )
        assert weighted.names == repeated.names == ("a", "b")
        np.testing.assert_allclose(weighted.centre, repeated.centre, rtol=1e-15)
        np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-12)

    @pytest.mark.parametrize("value", [0.1, 1e6 + 0.1, -1e300, 0.0])
    def test_a_constant_column_is_constant(self, value: float) -> None:
        assert model_of(np.full((7, 1), value), [0, 1, 0, 1, 1, 0, 1]).design.constant == ("x0",)

    def test_missing_number_is_the_mean_and_missing_category_nothing(self) -> None:
        numbers, codes, y, weight = mixed(2)
        model = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight)
        assert model.design.names == ("x0", "x1", "x1 is missing", "c0=p", "c0=q", "c0=r")
        point = model.map()
        rows = encoded([[np.nan, np.nan], [50.0, -2.0]], [[-1], [1]])
        scores = model.log_scores(rows, point)[0, :, 1]
        assert scores[0] == pytest.approx(point["intercept"][0, 0] + point["weight"][0, 0, 2], abs=1e-12)
        expected = (
            point["intercept"][0, 0]
            + ((np.array([50.0, -2.0]) - model.design.centre[:2]) @ point["weight"][0, 0, :2])
            + point["weight"][0, 0, 4]
        )
        assert scores[1] == pytest.approx(expected, rel=1e-12)

    def test_unseen_level_has_the_priors_weight(self) -> None:
        numbers, codes, y, weight = mixed(3)
        prior = LogisticPrior(prior_mean={"c0": 0.7}, prior_scale={"c0": 0.2})
        model = model_of(numbers, y, prior, codes=codes, levels=LEVELS, weight=weight)
        seen, unseen = encoded([[50.0, -2.0]], [[-1]]), encoded([[50.0, -2.0]], [[-2]])
        shift = model.log_scores(unseen, model.map()) - model.log_scores(seen, model.map())
        np.testing.assert_allclose(shift[0, 0], [0.7, 0.7, 0.0], atol=1e-12)
        drawn = model.unseen_weights(np.random.default_rng(0), 20_000)
        assert drawn.shape == (20_000, 2, 1)
        np.testing.assert_allclose(drawn.mean(axis=0), 0.7, atol=5 * 0.2 / np.sqrt(20_000))
        np.testing.assert_allclose(np.cov(drawn[:, :, 0].T), 0.04 * np.array([[1, 0.5], [0.5, 1]]), atol=0.002)
        with_draw = model.log_scores(unseen, {**model.map(), "unseen": drawn[:1]})
        np.testing.assert_allclose(with_draw[0, 0, :2] - model.log_scores(seen, model.map())[0, 0, :2], drawn[0, :, 0])

    def test_unseen_weight_averages_array_priors_over_the_levels(self) -> None:
        numbers, codes, y, weight = mixed(2)
        means = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 6.0])
        model = model_of(numbers, y, LogisticPrior(prior_mean=means), codes=codes, levels=LEVELS, weight=weight)
        np.testing.assert_allclose(model.weight_prior.unseen_mean, [[3.0]])

    def test_category_without_a_single_level(self) -> None:
        model = model_of(np.zeros((4, 0)), [0, 1, 0, 1], LogisticPrior(prior_mean=0.5), codes=[[-1]] * 4, levels=((),))
        assert model.design.names == ()
        np.testing.assert_array_equal(model.weight_prior.unseen_mean, [[0.5]])


class TestPriorSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"prior_form": "flat"}, "prior_form must be one of 'symmetric', 'reference'"),
            ({"intercept_at": "origin"}, "intercept_at must be one of 'means', 'zero'"),
            ({"prior_mean": np.nan}, "prior_mean must be finite"),
            ({"prior_mean": "big"}, "prior_mean must be a number"),
            ({"prior_scale": 0.0}, "prior_scale must be above 0"),
            ({"prior_scale": {"x0": INF}}, "prior_scale must be above 0 and finite"),
            ({"intercept_mean": INF}, "intercept_mean must be finite"),
            ({"intercept_scale": -1.0}, "intercept_scale must be above 0"),
        ],
    )
    def test_values(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            LogisticPrior(**settings)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"prior_scale": np.ones(3)}, r"prior_scale has shape \(3,\); it must be .* array of 2 columns"),
            ({"prior_mean": {"x9": 1.0}}, "prior_mean names 'x9', which no column of the design has"),
            ({"prior_scale": np.ones((2, 2))}, "needs prior_form='reference'"),
        ],
    )
    def test_shapes_and_names(self, settings: dict[str, Any], message: str) -> None:
        numbers = np.random.default_rng(0).normal(size=(6, 2))
        with pytest.raises(InputError, match=message):
            model_of(numbers, [0, 1, 2, 0, 1, 2], LogisticPrior(**settings))

    def test_one_class_is_refused(self) -> None:
        with pytest.raises(InputError, match="at least two classes"):
            model_of([[1.0], [2.0]], [0, 0])

    def test_mapping_by_column_and_by_category(self) -> None:
        numbers, codes, y, weight = mixed(2)
        prior = LogisticPrior(prior_scale={"x0": 1.0, "c0": 0.5, "c0=q": 0.25})
        model = model_of(numbers, y, prior, codes=codes, levels=LEVELS, weight=weight)
        np.testing.assert_array_equal(model.weight_prior.scale[0], [5.0, 1.0, 2.5, 2.5, 0.5, 0.25, 0.5])

    def test_names_that_a_fold_may_drop_are_known(self) -> None:
        prior = LogisticPrior(prior_scale={"x0": 1.0, "x0 is missing": 1.0})
        assert model_of(np.full((4, 1), 3.0), [0, 1, 0, 1], prior).design.names == ()


PRIORS = {
    "default": LogisticPrior(),
    "reference": LogisticPrior(prior_form="reference", prior_mean=0.3, prior_scale=0.7),
    "zero": LogisticPrior(intercept_at="zero", intercept_mean=1.0, prior_scale=1.5),
    "reference, zero": LogisticPrior(prior_form="reference", intercept_at="zero", intercept_scale=2.0),
    "own units": LogisticPrior(standardize=False, prior_mean=0.1, prior_scale=0.4),
    "free intercept": LogisticPrior(intercept_scale=INF),
}


class TestPymc:
    @pytest.mark.parametrize("n_labels", [2, 3])
    @pytest.mark.parametrize("name", PRIORS)
    def test_logp_is_log_posterior(self, n_labels: int, name: str) -> None:
        numbers, codes, y, weight = mixed(n_labels)
        model = model_of(numbers, y, PRIORS[name], codes=codes, levels=LEVELS, weight=weight)
        assert_same_density(model)

    @pytest.mark.filterwarnings("ignore:Skipping Assert:UserWarning")
    @pytest.mark.parametrize("name", ["default", "reference, zero"])
    def test_jax_can_compile_it(self, name: str) -> None:
        """Of several classes too, which takes shapes that are known: NumPyro needs it."""
        pytest.importorskip("jax")
        numbers, codes, y, weight = mixed(3)
        model = model_of(numbers, y, PRIORS[name], codes=codes, levels=LEVELS, weight=weight)
        point = {parameter: values[0] for parameter, values in model.map().items()}
        logp = float(model.pymc().compile_logp(mode="JAX")(point))
        # JAX computes in single precision, where nobody asks for more.
        assert logp == pytest.approx(float(model.log_posterior(**model.map())[0]), rel=1e-5)

    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_no_rows(self, n_labels: int) -> None:
        design = model_of([[1.0], [2.0]], [0, 1]).design
        model = LogisticModel(
            tuple("abc"[:n_labels]), design, np.zeros((0, 1)), np.zeros(0, dtype=np.intp), np.zeros(0), LogisticPrior()
        )
        assert_same_density(model)
        np.testing.assert_allclose(model.map()["weight"], 0, atol=1e-12)
        np.testing.assert_allclose(model.log_class_prior({}), -np.log(n_labels))

    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_no_columns(self, n_labels: int) -> None:
        y = np.arange(12) % n_labels
        model = model_of(np.zeros((12, 0)), y, weight=np.arange(12.0))
        assert_same_density(model)
        assert model.from_pymc({"intercept": np.zeros((5, n_labels - 1))})["weight"].shape == (5, n_labels - 1, 0)

    @pytest.mark.parametrize("n_labels", [2, 3])
    @pytest.mark.parametrize("form", ["symmetric", "reference"])
    def test_prior_draws_have_the_priors_moments(self, n_labels: int, form: str) -> None:
        import pymc as pm

        numbers, codes, y, _ = mixed(n_labels)
        prior = LogisticPrior(prior_form=form, prior_mean=0.3, intercept_at="zero")
        model = model_of(numbers, y, prior, codes=codes, levels=LEVELS)
        context = model.pymc()
        assert [rv.name for rv in context.free_RVs] == ["intercept", "weight"]
        draws = 2000
        weight, labels = pm.draw([context["weight"], context["y"]], draws=draws, random_seed=1, mode="FAST_COMPILE")
        z = weight[:, :, 0] * model.design.scale[0]
        assert labels.shape == (draws, len(y))
        assert set(np.unique(labels)) == set(range(n_labels))
        off = 0.5 if form == "symmetric" else 0.0
        correlation = np.eye(n_labels - 1) * (1 - off) + off
        np.testing.assert_allclose(z.mean(axis=0), 0.3, atol=5 * 2.5 / np.sqrt(draws))
        np.testing.assert_allclose(np.cov(z.T), 2.5**2 * correlation.squeeze(), atol=5 * 2.5**2 * np.sqrt(2 / draws))

    def test_signature_ignores_data_and_hyperparameters(self) -> None:
        numbers, codes, y, weight = mixed(3)
        first = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight)
        second = model_of(numbers[5:], y[5:], LogisticPrior(prior_scale=9.0), codes=codes[5:], levels=LEVELS)
        third = replace(first, prior=LogisticPrior(prior_form="reference"))
        assert first.signature() == second.signature() != third.signature()


def assert_same_density(model: LogisticModel) -> None:
    context = model.pymc()
    logp = context.compile_logp(mode="FAST_COMPILE")
    rng = np.random.default_rng(3)
    vectors, columns = len(model.labels) - 1, len(model.design)
    intercept = rng.normal(size=(4, vectors))
    weight = rng.normal(size=(4, vectors, columns)) / model.design.scale
    ours = model.log_posterior(intercept, weight)
    for draw in range(4):
        point = {"intercept": intercept[draw], "weight": weight[draw]}
        if not columns:
            del point["weight"]
        assert [v.name for v in context.value_vars] == list(point)
        assert ours[draw] == pytest.approx(float(logp(point)), rel=1e-11, abs=1e-9)


class TestDerivatives:
    @pytest.mark.parametrize("n_labels", [2, 3, 4])
    @pytest.mark.parametrize("name", PRIORS)
    def test_gradient_and_hessian(self, n_labels: int, name: str) -> None:
        numbers, codes, y, weight = mixed(n_labels)
        model = model_of(numbers, y, PRIORS[name], codes=codes, levels=LEVELS, weight=weight)
        objective = LogPosterior(model._likelihood, model.weight_prior)
        theta = 0.3 * np.random.default_rng(1).normal(size=model.weight_prior.mean.shape)

        def gradient(raveled: Array) -> Array:
            return objective.gradient(raveled.reshape(theta.shape))[1].ravel()

        value, slope, curvature = objective.derivatives(theta)
        assert value == pytest.approx(objective.value(theta), rel=1e-13)
        np.testing.assert_allclose(slope.ravel(), gradient(theta.ravel()), rtol=1e-10, atol=1e-10)
        numeric = optimize.approx_fprime(theta.ravel(), lambda t: objective.value(t.reshape(theta.shape)), 1e-6)
        np.testing.assert_allclose(slope.ravel(), numeric, rtol=1e-3, atol=1e-4 * np.abs(slope).max())
        steps = 1e-5 * np.eye(theta.size)
        rows = [(gradient(theta.ravel() - h) - gradient(theta.ravel() + h)) / 2e-5 for h in steps]
        np.testing.assert_allclose(curvature, rows, rtol=1e-6, atol=1e-6 * np.abs(curvature).max())

    def test_value_matches_log_posterior_in_own_units(self) -> None:
        numbers, codes, y, weight = mixed(3)
        model = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight)
        objective = LogPosterior(model._likelihood, model.weight_prior)
        point = model.map()
        jacobian = 2 * np.log(model.design.scale).sum()
        assert model.log_posterior(**point)[0] == pytest.approx(objective.value(model._mode) + jacobian, rel=1e-13)

    def test_log_posterior_in_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        numbers, codes, y, weight = mixed(3)
        model = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight)
        rng = np.random.default_rng(0)
        draws = rng.normal(size=(7, 2)), rng.normal(size=(7, 2, 6))
        whole = model.log_posterior(*draws)
        monkeypatch.setattr(likelihood, "BLOCK_ROWS", 7)
        monkeypatch.setattr(likelihood, "BLOCK_DRAWS", 3)
        np.testing.assert_allclose(model.log_posterior(*draws), whole, rtol=1e-13)
        curvature = model._likelihood.derivatives(model._mode)[2]
        monkeypatch.setattr(likelihood, "HESSIAN_CELLS", 50)
        np.testing.assert_allclose(model._likelihood.derivatives(model._mode)[2], curvature, rtol=1e-10, atol=1e-12)


class TestMap:
    @pytest.mark.parametrize("scale", [0.3, 2.0])
    def test_scikit_learn_two_classes(self, scale: float) -> None:
        X, y = load_breast_cancer(return_X_y=True)
        X = X[:, :8] / X[:, :8].max(axis=0)
        theirs = LogisticRegression(C=scale**2, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(X, y)
        model = model_of(X, y, replace(FREE, prior_scale=scale))
        point = model.map()
        np.testing.assert_allclose(point["weight"][0], theirs.coef_, atol=1e-6)
        at_zero = point["intercept"][0] - point["weight"][0] @ model.design.centre
        np.testing.assert_allclose(at_zero, theirs.intercept_, atol=1e-6)

    @pytest.mark.parametrize("scale", [0.3, 2.0])
    @pytest.mark.parametrize("n_labels", [3, 5])
    def test_scikit_learn_more_classes(self, n_labels: int, scale: float) -> None:
        """Its penalty Σ_k |w_k|²/2C of all K vectors is that of our K − 1 differences from the last, at C = s²/2.

        Given the differences z_k, the smallest Σ_k |w_k|² is Σ z_k² − (Σ z_k)²/K, at Σ w_k = 0; and −2 log of the
        symmetric prior is 2(Σ z_k² − (Σ z_k)²/K)/s².
        """
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 4)) * [1.0, 5.0, 0.3, 1.0]
        y = (X @ rng.normal(size=(4, n_labels)) + rng.gumbel(size=(300, n_labels))).argmax(axis=1)
        weight = rng.uniform(0.5, 2.0, size=300)
        theirs = LogisticRegression(C=scale**2 / 2, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
        theirs.fit(X, y, weight)
        model = model_of(X, y, replace(FREE, prior_scale=scale), weight=weight)
        point = model.map()
        np.testing.assert_allclose(point["weight"][0], theirs.coef_[:-1] - theirs.coef_[-1], atol=1e-6)
        at_zero = point["intercept"][0] - point["weight"][0] @ model.design.centre
        np.testing.assert_allclose(at_zero, theirs.intercept_[:-1] - theirs.intercept_[-1], atol=1e-6)
        np.testing.assert_allclose(probabilities(model, encoded(X)), theirs.predict_proba(X), atol=1e-7)

    @pytest.mark.parametrize("form", ["reference", "symmetric"])
    def test_three_classes_against_another_optimiser(self, form: str) -> None:
        X, y = load_iris(return_X_y=True)
        scale, intercept_scale = 1.3, 4.0
        prior = LogisticPrior(
            prior_scale=scale, prior_form=form, standardize=False, intercept_scale=intercept_scale, intercept_at="zero"
        )
        model = model_of(X, y, prior)
        correlation = np.linalg.inv(np.eye(2) if form == "reference" else 0.5 * (np.eye(2) + 1))

        def negative(raveled: Array) -> float:
            beta = raveled.reshape(2, 5)
            scores = np.column_stack([X @ beta[:, 1:].T + beta[:, 0], np.zeros(len(X))])
            z = beta / np.array([intercept_scale, *[scale] * 4])
            log_norm = np.log(np.exp(scores).sum(axis=1))
            return float((log_norm - scores[np.arange(len(y)), y]).sum() + 0.5 * np.sum(z * (correlation @ z)))

        found = optimize.minimize(negative, np.zeros(10), method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
        beta = np.asarray(found.x).reshape(2, 5)
        point = model.map()
        np.testing.assert_allclose(point["weight"][0], beta[:, 1:], atol=2e-5)
        at_zero = point["intercept"][0] - point["weight"][0] @ model.design.centre
        np.testing.assert_allclose(at_zero, beta[:, 0], atol=5e-5)

    @pytest.mark.parametrize("n_labels", [2, 3])
    @pytest.mark.parametrize("form", ["symmetric", "reference"])
    def test_units_and_origin_change_nothing(self, n_labels: int, form: str) -> None:
        numbers, codes, y, weight = mixed(n_labels)
        settings = {"codes": codes, "levels": LEVELS, "weight": weight, "prior": LogisticPrior(prior_form=form)}
        plain = probabilities(model_of(numbers, y, **settings), encoded(numbers, codes))
        for factor, shift, tolerance in ((1e6, 0.0, 1e-9), (1e-6, 0.0, 1e-9), (1.0, 1e6, 1e-6)):
            other = numbers * [factor, 1.0] + [shift, 0.0]
            again = probabilities(model_of(other, y, **settings), encoded(other, codes))
            np.testing.assert_allclose(again, plain, atol=tolerance, rtol=0)

    def test_intercept_at_zero_feels_a_shift(self) -> None:
        numbers, codes, y, weight = mixed(2)
        prior = LogisticPrior(intercept_at="zero")
        near, far = numbers - [50.0, 0.0], numbers - [20.0, 0.0]
        results = [
            probabilities(model_of(x, y, prior, codes=codes, levels=LEVELS, weight=weight), encoded(x, codes))
            for x in (near, far)
        ]
        assert np.abs(results[0] - results[1]).max() > 0.01

    def test_symmetric_prior_has_no_special_class(self) -> None:
        numbers, codes, y, weight = mixed(3)
        rows = encoded(numbers, codes)
        moved = {}
        for form in ("symmetric", "reference"):
            settings = {"codes": codes, "levels": LEVELS, "weight": weight, "prior": LogisticPrior(prior_form=form)}
            plain = probabilities(model_of(numbers, y, **settings), rows)
            moved[form] = max(
                np.abs(probabilities(model_of(numbers, np.array(order)[y], **settings), rows)[:, order] - plain).max()
                for order in map(list, permutations(range(3)))
            )
        assert moved["symmetric"] < 1e-9
        assert moved["reference"] > 1e-3

    def test_symmetric_prior_has_no_special_class_in_density(self) -> None:
        """The posterior density at θ equals that at θ re-expressed with another reference, exactly."""
        numbers, codes, y, weight = mixed(3)
        order = np.array([2, 0, 1])
        for prior in (LogisticPrior(), LogisticPrior(intercept_at="zero")):
            settings = {"codes": codes, "levels": LEVELS, "weight": weight, "prior": prior}
            plain = model_of(numbers, y, **settings)
            permuted = model_of(numbers, order[y], **settings)
            theta = np.random.default_rng(0).normal(size=(5, 2, 7)) / np.append(1.0, plain.design.scale)
            full = np.concatenate([theta, np.zeros((5, 1, 7))], axis=1)[:, np.argsort(order)]
            other = full[:, :2] - full[:, 2:]
            np.testing.assert_allclose(
                plain.log_posterior(theta[:, :, 0], theta[:, :, 1:]),
                permuted.log_posterior(other[:, :, 0], other[:, :, 1:]),
                rtol=1e-12,
            )

    def test_class_without_rows(self) -> None:
        numbers, codes, y, weight = mixed(2)
        model = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight, n_labels=3)
        p = probabilities(model, encoded(numbers, codes))
        assert np.isfinite(p).all()
        assert p[:, 2].mean() < 0.1
        assert model.log_class_prior(model.map())[0, 2] == -np.inf
        with pytest.raises(DoesNotExist, match="class 'c' has no rows"):
            model.mle()
        with pytest.raises(DoesNotExist, match="take a finite intercept_scale"):
            replace(model, prior=LogisticPrior(intercept_scale=INF)).map()

    def test_weights_are_repetition(self) -> None:
        numbers, codes, y, _ = mixed(3)
        times = np.random.default_rng(5).integers(0, 4, size=len(y))
        weighted = model_of(numbers, y, codes=codes, levels=LEVELS, weight=times)
        repeated = model_of(
            np.repeat(numbers, times, axis=0), np.repeat(y, times), codes=np.repeat(codes, times, axis=0), levels=LEVELS
        )
        rows = encoded(numbers, codes)
        np.testing.assert_allclose(probabilities(weighted, rows), probabilities(repeated, rows), atol=1e-12)

    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_one_row(self, n_labels: int) -> None:
        model = model_of([[3.0]], [1], n_labels=n_labels, codes=[[0]], levels=(("p",),))
        assert model.design.names == ("c0=p",)
        p = probabilities(model, encoded([[3.0]], [[0]]))
        assert p[0].argmax() == 1
        assert p.max() < 1

    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_more_columns_than_rows(self, n_labels: int) -> None:
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(12, 40)), np.arange(12) % n_labels
        model = model_of(X, y)
        objective = LogPosterior(model._likelihood, model.weight_prior)
        assert np.abs(objective.gradient(model._mode)[1]).max() < 1e-9
        with pytest.raises(DoesNotExist, match="completely separable"):
            model.mle()

    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_lbfgs_finds_newtons_mode(self, n_labels: int, monkeypatch: pytest.MonkeyPatch) -> None:
        numbers, codes, y, weight = mixed(n_labels)
        model = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight)
        mode = model._mode
        monkeypatch.setattr(newton, "DENSE_PARAMETERS", 0)
        np.testing.assert_allclose(replace(model)._mode, mode, atol=1e-7)

    def test_few_hessians_are_formed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of many parameters most steps are L-BFGS's, and the last of Newton's share a Hessian."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 70))
        model = model_of(X, (X[:, :4] + rng.gumbel(size=(300, 4))).argmax(axis=1))
        formed = 0
        derivatives = LogPosterior.derivatives

        def counted(self: LogPosterior, theta: Array) -> tuple[float, Array, Array]:
            nonlocal formed
            formed += 1
            return derivatives(self, theta)

        monkeypatch.setattr(LogPosterior, "derivatives", counted)
        objective = LogPosterior(model._likelihood, model.weight_prior)
        assert np.abs(objective.gradient(model._mode)[1]).max() < 1e-9
        few, formed = formed, 0
        newton.newton(*model.objective("map"))
        assert 2 * few <= formed

    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_a_step_that_is_too_long_is_shortened(self, n_labels: int) -> None:
        """Where all rows are on the wrong side by far, the likelihood is straight and a whole step goes too far."""
        numbers, _, y, _ = mixed(n_labels)
        model = model_of(numbers, y, LogisticPrior(prior_scale=100.0))
        objective, start = model.objective("map")
        far = start - 60 * (model._mode - start)
        step = np.linalg.solve(objective.derivatives(far)[2], objective.gradient(far)[1].ravel()).reshape(far.shape)
        assert objective.value(far + step) < objective.value(far)  # so that the test is about something
        optimum = newton.newton(objective, far)
        assert optimum.converged
        np.testing.assert_allclose(optimum.theta, model._mode, atol=1e-7)

    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_a_kept_hessian_leads_to_the_same_mode(self, n_labels: int, monkeypatch: pytest.MonkeyPatch) -> None:
        numbers, codes, y, weight = mixed(n_labels)
        model = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight)
        mode = model._mode
        monkeypatch.setattr(newton, "KEPT_HESSIAN", 0.0)
        np.testing.assert_allclose(replace(model)._mode, mode, atol=1e-9)

    def test_nearly_flat_prior_on_separable_data(self) -> None:
        model = model_of([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], LogisticPrior(prior_scale=1e4))
        objective = LogPosterior(model._likelihood, model.weight_prior)
        assert np.abs(objective.gradient(model._mode)[1]).max() < 1e-10


class TestMle:
    def test_scikit_learn_two_classes(self) -> None:
        numbers, _, y, weight = mixed(2, n=300)
        X = (np.nan_to_num(numbers, nan=-2.0) - [50.0, -2.0]) / [3.0, 0.01]
        model = model_of(X, y, weight=weight)
        theirs = LogisticRegression(C=INF, tol=1e-12, max_iter=10_000).fit(X, y, weight)
        np.testing.assert_allclose(model.mle()["weight"][0], theirs.coef_, atol=1e-5)

    def test_scikit_learn_three_classes(self) -> None:
        numbers, _, y, _ = mixed(3, n=300)
        X = (np.nan_to_num(numbers, nan=-2.0) - [50.0, -2.0]) / [3.0, 0.01]
        theirs = LogisticRegression(C=INF, tol=1e-12, max_iter=10_000).fit(X, y)
        model = model_of(X, y)
        p = probabilities(model, encoded(X), model.mle())
        np.testing.assert_allclose(p, theirs.predict_proba(X), atol=1e-5)

    def test_is_the_limit_of_map(self) -> None:
        numbers, codes, y, weight = mixed(2, n=200)
        model = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight)
        wide = replace(model, prior=LogisticPrior(prior_scale=1e4, intercept_scale=INF))
        for name, values in model.mle().items():
            np.testing.assert_allclose(values * 1.0, wide.map()[name], rtol=1e-4, atol=1e-5)

    def test_collinear_columns(self) -> None:
        numbers, _, y, _ = mixed(3, n=200)
        x = numbers[:, :1]
        noise = np.random.default_rng(2).normal(size=(len(x), 1))
        alone, twice = model_of(np.hstack([x, noise]), y), model_of(np.hstack([x, noise, 32 + 1.8 * x]), y)
        rows, more = encoded(np.hstack([x, noise])), encoded(np.hstack([x, noise, 32 + 1.8 * x]))
        np.testing.assert_allclose(
            probabilities(twice, more, twice.mle()), probabilities(alone, rows, alone.mle()), atol=1e-9
        )
        standardized = twice.mle()["weight"][0] * twice.design.scale
        np.testing.assert_allclose(standardized[:, 0], standardized[:, 2], atol=1e-9)

    def test_levels_are_collinear_with_the_intercept(self) -> None:
        rng = np.random.default_rng(0)
        codes, y = rng.integers(0, 3, size=(200, 1)), rng.integers(0, 2, size=200)
        model = model_of(np.zeros((200, 0)), y, codes=codes, levels=LEVELS)
        p = probabilities(model, encoded(np.zeros((3, 0)), [[0], [1], [2]]), model.mle())
        np.testing.assert_allclose(p[:, 1], [y[codes[:, 0] == level].mean() for level in range(3)], atol=1e-10)

    @pytest.mark.parametrize(
        ("x", "y", "kind"),
        [
            ([0, 1, 2, 3], [0, 0, 1, 1], "completely"),
            ([0, 1, 1, 2], [0, 0, 1, 1], "quasi-completely"),
            ([0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2], "completely"),
            ([0, 1, 1, 2, 3, 4], [0, 0, 1, 1, 2, 2], "quasi-completely"),
            ([0, 1, 0, 1, 8, 9], [0, 0, 1, 1, 2, 2], "quasi-completely"),
        ],
    )
    def test_separable(self, x: list[int], y: list[int], kind: str) -> None:
        rng = np.random.default_rng(0)
        X = np.column_stack([np.zeros(len(x)), x]).astype(float)
        with pytest.raises(DoesNotExist, match=f"are {kind} separable: weights on 'x1'"):
            model_of(X, y).mle()
        noisy = np.column_stack([rng.normal(size=40 * len(x)), np.tile(x, 40)])
        with pytest.raises(DoesNotExist, match=f"are {kind} separable: weights on .*'x1'"):
            model_of(noisy, np.tile(y, 40)).mle()

    def test_one_rare_level_separates(self) -> None:
        rng = np.random.default_rng(0)
        numbers, y = rng.normal(size=(400, 2)), rng.integers(0, 2, size=400)
        codes = rng.integers(0, 2, size=(400, 1))
        codes[np.flatnonzero(y == 1)[:3]] = 2
        model = model_of(numbers, y, codes=codes, levels=LEVELS)
        with pytest.raises(DoesNotExist, match="quasi-completely separable: weights on 'c0=r' put"):
            model.mle()

    @pytest.mark.parametrize("overlap", [1e-2, 1e-4])
    def test_nearly_separable_data_pass(self, overlap: float) -> None:
        x = np.array([0, 1, 2 + overlap, 2, 3, 4])[:, None]
        y = np.array([0, 0, 0, 1, 1, 1])
        model = model_of(x, y)
        _, slope = model._likelihood.gradient(
            np.column_stack([model.mle()["intercept"][0], model.mle()["weight"][0] * model.design.scale])
        )
        assert np.abs(slope).max() < 1e-9

    def test_large_log_odds_are_not_separation(self) -> None:
        x = np.append(np.random.default_rng(0).normal(size=200), [60.0])
        y = (x + np.random.default_rng(1).logistic(size=201) > 0).astype(int)
        model = model_of(x[:, None], y)
        scores = model.log_scores(encoded(x[:, None]), model.mle())
        assert scores.max() > 30


class TestScores:
    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_layout_and_reference(self, n_labels: int) -> None:
        numbers, codes, y, weight = mixed(n_labels)
        model = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight)
        rng = np.random.default_rng(0)
        parameters = {
            "intercept": rng.normal(size=(5, n_labels - 1)),
            "weight": rng.normal(size=(5, n_labels - 1, 6)),
        }
        rows = encoded(numbers, codes)
        scores = model.log_scores(rows, parameters)
        assert scores.shape == (5, len(y), n_labels)
        assert np.moveaxis(scores, 0, 2).flags.c_contiguous
        expected = parameters["intercept"][:, None, :] + np.einsum(
            "rf,dkf->drk", model.X * model.design.scale, parameters["weight"]
        )
        reference = 0 if n_labels == 2 else n_labels - 1
        np.testing.assert_allclose(np.delete(scores, reference, axis=2), expected, rtol=1e-11, atol=1e-11)
        np.testing.assert_array_equal(scores[:, :, reference], 0)
        assert model.coords()["outcome"] == (["b"] if n_labels == 2 else ["a", "b"])
        assert model.log_predictive(rows) is None

    def test_many_unseen_levels_in_draws(self) -> None:
        numbers, codes, y, weight = mixed(3)
        model = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight)
        unseen = model.unseen_weights(np.random.default_rng(0), 5)
        point = {name: np.repeat(values, 5, axis=0) for name, values in model.map().items()}
        rows = encoded(numbers[:2], [[-2], [-1]])
        shift = model.log_scores(rows, {**point, "unseen": unseen}) - model.log_scores(rows, point)
        np.testing.assert_allclose(shift[:, 0, :2], unseen[:, :, 0], atol=1e-12)
        np.testing.assert_allclose(shift[:, 1], 0, atol=1e-12)


class TestLaplaceFactor:
    @pytest.mark.parametrize("n_labels", [2, 3])
    @pytest.mark.parametrize("name", PRIORS)
    def test_inverse_hessian_in_own_units(self, n_labels: int, name: str) -> None:
        numbers, codes, y, weight = mixed(n_labels)
        model = model_of(numbers, y, PRIORS[name], codes=codes, levels=LEVELS, weight=weight)
        approximation = model.laplace()
        size = approximation.center.size
        np.testing.assert_array_equal(np.triu(approximation.factor, 1), 0)
        # Along the factor's columns the log density falls by ½ t², whatever the units.
        step = 1e-2
        directions = np.vstack([np.zeros(size), step * approximation.factor.T, -step * approximation.factor.T])
        values = model.log_posterior(**model.unravel(approximation.center + directions))
        fall = 2 * values[0] - values[1 : 1 + size] - values[1 + size :]
        np.testing.assert_allclose(fall, step**2, rtol=1e-3)

    def test_units_cost_no_digits(self) -> None:
        numbers, codes, y, weight = mixed(2)
        plain = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight).laplace()
        scaled = model_of(numbers * [2.0**20, 1.0], y, codes=codes, levels=LEVELS, weight=weight).laplace()
        unit = np.ones(7)
        unit[1] = 2.0**20
        np.testing.assert_allclose(scaled.factor * unit[:, None], plain.factor, rtol=1e-12, atol=1e-13)

    def test_too_many_parameters(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = model_of([[1.0], [2.0]], [0, 1])
        monkeypatch.setattr("bayesclf.models.logistic.model.DENSE_PARAMETERS", 1)
        with pytest.raises(Refused, match="of 2 parameters is refused"):
            model.laplace()
