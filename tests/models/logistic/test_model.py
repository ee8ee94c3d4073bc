"""Logistic regression: MAP, MLE, separability and scores, against scikit-learn and other optimizers."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from helpers.logistic import INF, LEVELS, encoded, mixed, mixed_model, model_of, probabilities
from sklearn.linear_model import LogisticRegression

import bayesclf as bc
from bayesclf.errors import DoesNotExist
from bayesclf.models.logistic import newton
from bayesclf.models.logistic.likelihood import LogPosterior
from bayesclf.models.logistic.model import LogisticPrior

FREE = LogisticPrior(standardize=False, intercept_scale=INF, intercept_at="zero")


class TestMap:
    @pytest.mark.parametrize("scale", [0.3, 2.0])
    @pytest.mark.parametrize("n_labels", [3, 5])
    def test_scikit_learn_more_classes(self, n_labels: int, scale: float) -> None:
        """Its penalty Σ_k |w_k|²/2C of K vectors is that of our K vectors that add up to 0, at C = s²/2.

        Given the differences z_k from the last, the smallest Σ_k |w_k|² is Σ z_k² − (Σ z_k)²/K, at Σ w_k = 0; and
        −2 log of the symmetric prior is 2(Σ z_k² − (Σ z_k)²/K)/s².
        """
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 4)) * [1.0, 5.0, 0.3, 1.0]
        y = (X @ rng.normal(size=(4, n_labels)) + rng.gumbel(size=(300, n_labels))).argmax(axis=1)
        weight = rng.uniform(0.5, 2.0, size=300)
        theirs = LogisticRegression(C=scale**2 / 2, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
        theirs.fit(X, y, weight)
        model = model_of(X, y, replace(FREE, prior_scale=scale), weight=weight)
        point = model.map()
        np.testing.assert_allclose(point["weight"][0], theirs.coef_, atol=1e-6)
        at_zero = point["intercept"][0] - point["weight"][0] @ model.design.centre
        np.testing.assert_allclose(at_zero, theirs.intercept_ - theirs.intercept_.mean(), atol=1e-6)
        np.testing.assert_allclose(probabilities(model, encoded(X)), theirs.predict_proba(X), atol=1e-7)

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

    def test_class_without_rows(self) -> None:
        numbers, codes, y, weight = mixed(2)
        model = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight, n_labels=3)
        p = probabilities(model, encoded(numbers, codes))
        assert np.isfinite(p).all()
        assert p[:, 2].mean() < 0.1
        assert model.log_class_prior(model.map())[0, 2] == -np.inf
        with pytest.raises(DoesNotExist, match="class 'c' has no rows"):
            model.mle()
        with pytest.raises(DoesNotExist, match="use a finite intercept_scale"):
            replace(model, prior=LogisticPrior(intercept_scale=INF)).map()

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
        with pytest.raises(DoesNotExist, match="are separable"):
            model.mle()

    @pytest.mark.parametrize("n_labels", [2, 3])
    @pytest.mark.parametrize(
        ("constant", "value", "tolerance"), [("DENSE_PARAMETERS", 0, newton.ROUNDING), ("KEPT_HESSIAN", 0.0, 1e-9)]
    )
    def test_shortcuts_find_newtons_mode(
        self, n_labels: int, constant: str, value: float, tolerance: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """L-BFGS, which takes over for many parameters, and steps by a Hessian that is kept; in posterior sds.

        A search along a line compares values of the objective, whose rounding hides smaller steps.
        """
        model = mixed_model(n_labels)
        mode, objective = model._mode, LogPosterior(model._likelihood, model.weight_prior)
        sd = np.sqrt(np.diag(np.linalg.inv(objective.derivatives(mode)[2]))).reshape(mode.shape)
        monkeypatch.setattr(newton, constant, value)
        np.testing.assert_allclose(replace(model)._mode / sd, mode / sd, rtol=0, atol=tolerance)

    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_a_step_that_is_too_long_is_shortened(self, n_labels: int) -> None:
        """Where all rows are on the wrong side by far, the likelihood is straight and a whole step goes too far."""
        numbers, _, y, _ = mixed(n_labels)
        model = model_of(numbers, y, LogisticPrior(prior_scale=100.0))
        objective, start = model.objective("map")
        far = start - 60 * (model._mode - start)
        step = np.linalg.solve(objective.derivatives(far)[2], objective.gradient(far)[1].ravel()).reshape(far.shape)
        assert objective.gradient(far + step)[0] < objective.gradient(far)[0]  # so that the test is about something
        optimum = newton.newton(objective, far[None])
        assert optimum.converged
        np.testing.assert_allclose(optimum.theta[0], model._mode, atol=1e-7)

    def test_nearly_flat_prior_on_separable_data(self) -> None:
        model = model_of([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], LogisticPrior(prior_scale=1e4))
        objective = LogPosterior(model._likelihood, model.weight_prior)
        assert np.abs(objective.gradient(model._mode)[1]).max() < 1e-10


class TestMle:
    def test_scikit_learn_three_classes(self) -> None:
        numbers, _, y, _ = mixed(3, n=300)
        X = (np.nan_to_num(numbers, nan=-2.0) - [50.0, -2.0]) / [3.0, 0.01]
        theirs = LogisticRegression(C=INF, tol=1e-12, max_iter=10_000).fit(X, y)
        model = model_of(X, y)
        p = probabilities(model, encoded(X), model.mle())
        np.testing.assert_allclose(p, theirs.predict_proba(X), atol=1e-5)

    def test_levels_are_collinear_with_the_intercept(self) -> None:
        rng = np.random.default_rng(0)
        codes, y = rng.integers(0, 3, size=(200, 1)), rng.integers(0, 2, size=200)
        model = model_of(np.zeros((200, 0)), y, codes=codes, levels=LEVELS)
        p = probabilities(model, encoded(np.zeros((3, 0)), [[0], [1], [2]]), model.mle())
        np.testing.assert_allclose(p[:, 1], [y[codes[:, 0] == level].mean() for level in range(3)], atol=1e-10)

    @pytest.mark.parametrize(
        ("x", "y"),
        [
            ([0, 1, 2, 3], [0, 0, 1, 1]),
            ([0, 1, 1, 2], [0, 0, 1, 1]),
            ([0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 2, 2]),
            ([0, 1, 1, 2, 3, 4], [0, 0, 1, 1, 2, 2]),
            ([0, 1, 0, 1, 8, 9], [0, 0, 1, 1, 2, 2]),
        ],
    )
    def test_separable(self, x: list[int], y: list[int]) -> None:
        rng = np.random.default_rng(0)
        X = np.column_stack([np.zeros(len(x)), x]).astype(float)
        with pytest.raises(DoesNotExist, match="are separable: weights on 'x1'"):
            model_of(X, y).mle()
        noisy = np.column_stack([rng.normal(size=40 * len(x)), np.tile(x, 40)])
        with pytest.raises(DoesNotExist, match=r"are separable: weights on .*'x1'"):
            model_of(noisy, np.tile(y, 40)).mle()

    def test_one_class_that_is_separable_from_the_others_is_named(self) -> None:
        X, y = np.array([0.0, 1, 0, 1, 8, 9])[:, None], ["a", "a", "c", "c", "b", "b"]
        with pytest.raises(DoesNotExist, match="weights on 'x0' put class 'b' on one side or on the boundary, and all"):
            bc.LogisticRegression(inference="map").fit(X, y).predict(X, rule="mle")

    def test_one_rare_level_separates(self) -> None:
        rng = np.random.default_rng(0)
        numbers, y = rng.normal(size=(400, 2)), rng.integers(0, 2, size=400)
        codes = rng.integers(0, 2, size=(400, 1))
        codes[np.flatnonzero(y == 1)[:3]] = 2
        model = model_of(numbers, y, codes=codes, levels=LEVELS)
        with pytest.raises(DoesNotExist, match="are separable: weights on 'c0=r' put"):
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
        theta = rng.normal(size=(5, n_labels - 1, 7))
        parameters = model.hypotheses(theta)
        rows = encoded(numbers, codes)
        scores = model.log_scores(rows, parameters)
        assert scores.shape == (5, len(y), n_labels)
        assert np.moveaxis(scores, 0, 2).flags.c_contiguous
        expected = theta[:, None, :, 0] + np.einsum("rf,dkf->drk", model.X, theta[:, :, 1:])
        reference = 0 if n_labels == 2 else n_labels - 1
        np.testing.assert_allclose(np.delete(scores, reference, axis=2), expected, rtol=1e-11, atol=1e-11)
        np.testing.assert_array_equal(scores[:, :, reference], 0)
        assert model.coords()["outcome"] == (["b"] if n_labels == 2 else ["a", "b", "c"])
        assert model.log_predictive(rows) is None

    def test_unseen_levels_of_every_class_differ_by_the_scale(self) -> None:
        numbers, codes, y, weight = mixed(3)
        prior = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight).weight_prior
        drawn = prior.draw_levels(np.random.default_rng(0), np.ones(20_000))[:, :, 0]  # against the last class
        variance = prior.unseen_scale[0] ** 2
        expected = variance * np.array([[1, 0.5], [0.5, 1]])
        np.testing.assert_allclose(np.cov(drawn.T), expected, atol=0.05 * variance)

    def test_many_unseen_levels_in_draws(self) -> None:
        numbers, codes, y, weight = mixed(3)
        model = model_of(numbers, y, codes=codes, levels=LEVELS, weight=weight)
        unseen = model.weight_prior.draw_levels(np.random.default_rng(0), np.ones(5))
        point = {name: np.repeat(values, 5, axis=0) for name, values in model.map().items()}
        rows = encoded(numbers[:2], [[-2], [-1]])
        shift = model.log_scores(rows, {**point, "unseen": unseen}) - model.log_scores(rows, point)
        np.testing.assert_allclose(shift[:, 0, :2], unseen[:, :, 0], atol=1e-12)
        np.testing.assert_allclose(shift[:, 1], 0, atol=1e-12)
