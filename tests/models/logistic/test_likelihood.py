"""The log posterior of logistic regression: its derivatives, and its Laplace approximation."""

from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from helpers.logistic import LEVELS, PRIORS, mixed, mixed_model, model_of
from scipy import optimize

import bayesclf as bc
from bayesclf.arrays import Array
from bayesclf.engines import laplace
from bayesclf.errors import Refused
from bayesclf.models.logistic import likelihood
from bayesclf.models.logistic.likelihood import LogPosterior


class TestDerivatives:
    @pytest.mark.parametrize("n_labels", [2, 3, 4])
    @pytest.mark.parametrize("name", PRIORS)
    def test_gradient_and_hessian(self, n_labels: int, name: str) -> None:
        model = mixed_model(n_labels, PRIORS[name])
        objective = LogPosterior(model._likelihood, model.weight_prior)
        theta = 0.3 * np.random.default_rng(1).normal(size=model.weight_prior.mean.shape)

        def gradient(raveled: Array) -> Array:
            return objective.gradient(raveled.reshape(theta.shape))[1].ravel()

        value, slope, curvature = objective.derivatives(theta)
        assert value == pytest.approx(objective.gradient(theta)[0], rel=1e-13)
        np.testing.assert_allclose(slope.ravel(), gradient(theta.ravel()), rtol=1e-10, atol=1e-10)

        def log_p(raveled: Array) -> float:
            return float(objective.gradient(raveled.reshape(theta.shape))[0])

        numeric = optimize.approx_fprime(theta.ravel(), log_p, 1e-6)
        np.testing.assert_allclose(slope.ravel(), numeric, rtol=1e-3, atol=1e-4 * np.abs(slope).max())
        steps = 1e-5 * np.eye(theta.size)
        rows = [(gradient(theta.ravel() - h) - gradient(theta.ravel() + h)) / 2e-5 for h in steps]
        np.testing.assert_allclose(curvature, rows, rtol=1e-6, atol=1e-6 * np.abs(curvature).max())

    def test_value_matches_log_posterior_in_own_units(self) -> None:
        model = mixed_model(3)
        objective = LogPosterior(model._likelihood, model.weight_prior)
        point = model.map()
        jacobian = 2 * np.log(model.design.scale).sum()
        value, _ = objective.gradient(model._mode)
        assert model.log_posterior(**point)[0] == pytest.approx(value + jacobian, rel=1e-13)

    def test_log_posterior_in_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = mixed_model(3)
        rng = np.random.default_rng(0)
        draws = model.hypotheses(rng.normal(size=(7, 2, 7)))
        whole = model.log_posterior(**draws)
        monkeypatch.setattr(likelihood, "BLOCK_ROWS", 7)
        monkeypatch.setattr(likelihood, "BLOCK_DRAWS", 3)
        np.testing.assert_allclose(model.log_posterior(**draws), whole, rtol=1e-13)
        curvature = model._likelihood.derivatives(model._mode)[2]
        monkeypatch.setattr(likelihood, "PART_CELLS", 50)
        parts = replace(model._likelihood)
        assert len(parts._parts) > 1
        largest = np.abs(parts.log_odds(model._mode)).max()
        assert parts.largest(model._mode) == pytest.approx(largest)
        assert likelihood.StreamedLikelihood(InParts(parts)).largest(model._mode) == pytest.approx(largest)
        np.testing.assert_allclose(parts.derivatives(model._mode)[2], curvature, rtol=1e-10, atol=1e-12)


class InParts:
    """The parts of a likelihood, as those of a stream."""

    def __init__(self, whole: Any) -> None:
        self.whole = whole

    def summed(self, work: Any) -> Any:
        """Return the sum over the parts."""
        return reduce(add, map(work, self.whole._parts))


class TestNode:
    @pytest.mark.parametrize("n_labels", [2, 3])
    @pytest.mark.parametrize("name", PRIORS)
    def test_its_root_is_that_of_the_inverse_hessian(self, n_labels: int, name: str) -> None:
        model = mixed_model(n_labels, PRIORS[name])
        lattice, root = model.lattice, model.lattice.roots[0, 0]
        np.testing.assert_array_equal(np.triu(root, 1), 0)
        # Along the root's columns the log density falls by ½ t².
        step = 1e-2
        z = step * np.vstack([np.zeros(len(root)), np.eye(len(root)), -np.eye(len(root))])
        gamma, log_determinant = lattice.moved(np.zeros((len(z), 2)), z)
        values = model.log_posterior(**model.hypotheses(model.weight_prior.theta(gamma)))
        fall = 2 * values[0] - values[1 : 1 + len(root)] - values[1 + len(root) :]
        np.testing.assert_allclose(fall, step**2, rtol=1e-3)
        np.testing.assert_allclose(log_determinant, np.log(np.diag(root)).sum())

    def test_units_cost_no_digits(self) -> None:
        numbers, codes, y, weight = mixed(2)
        roots = [
            model_of(numbers * [unit, 1.0], y, codes=codes, levels=LEVELS, weight=weight).lattice.roots
            for unit in (1.0, 2.0**20)
        ]
        np.testing.assert_allclose(*roots, rtol=1e-12, atol=1e-13)

    def test_too_many_parameters(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for limit in (1, 2):
            monkeypatch.setattr("bayesclf.models.logistic.model.DENSE_PARAMETERS", limit)
            model = model_of([[1.0], [2.0]], [0, 1])
            if limit == 1:
                with pytest.raises(Refused, match="of 2 parameters is refused: the limit is 1"):
                    _ = model.lattice
            else:
                assert model.lattice.modes.size == 2


@pytest.mark.parametrize(("classes", "rare"), [(2, 0), (3, 0), (2, 6)])
def test_log_likelihoods_by_some_rows_are_off_by_no_more_than_the_noise_that_is_stated(classes: int, rare: int) -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_t(6, size=(20_000, 4))  # some rows are far out
    y = (X @ rng.normal(size=(4, classes)) + rng.gumbel(size=(20_000, classes))).argmax(axis=1)
    if rare:  # a level of one class only, whose weight may be large
        X[:, 3], y[:rare] = np.arange(20_000) < rare, 1
    model = bc.LogisticRegression(inference="map").fit(X, y).model_
    near = model._near
    assert near is not None
    assert near.chance.sum() < 5_000
    draw = laplace.Proposal(1.0).draw
    _, estimated, z = model.propose(4_000, draw, np.random.default_rng(0))
    vars(model)["_near"] = None
    _, exact, same = model.propose(4_000, draw, np.random.default_rng(0))
    np.testing.assert_array_equal(z, same)
    error, of_blocks = estimated - exact, (estimated - exact).reshape(-1, likelihood.DRAWS_OF_ROWS).mean(axis=1)
    assert abs(error.mean()) < 4 * of_blocks.std(ddof=1) / np.sqrt(len(of_blocks))
    assert 0 < error.std() < likelihood.NOISE
    assert np.abs(error).max() < 10 * likelihood.NOISE
    again = near.values(np.repeat(near.at[None] + 0.01, 2 * likelihood.DRAWS_OF_ROWS, axis=0), rng)
    assert len(np.unique(again)) == 2  # each group of draws has rows of its own
    elsewhere = laplace.Proposal(30.0, center=1.5).draw  # whose expansion at the mode is not so good
    _, exact, _ = model.propose(200, elsewhere, np.random.default_rng(0))
    vars(model)["_near"] = near
    _, found, _ = model.propose(200, elsewhere, np.random.default_rng(0))
    np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_the_normalizer_is_precise_for_log_odds_of_any_size() -> None:
    eta = np.array([[-800.0, -900.0], [-40.0, -41.0], [0.3, -2.0], [709.0, 709.5], [1e5, -1e5]])
    exact = np.logaddexp.reduce([np.zeros(len(eta)), *eta.T])
    exact[1] = np.exp(-40.0) + np.exp(-41.0)
    np.testing.assert_allclose(likelihood.log_normalizer(eta), exact, rtol=1e-14)
    np.testing.assert_allclose(likelihood.log_normalizer(eta[:, :1]), np.logaddexp(0, eta[:, 0]), rtol=1e-14)
