"""The normal by expectation propagation has the moments of the posterior, and its evidence."""

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.logistic import mixed_model
from scipy.special import logsumexp

import bayesclf as bc
from bayesclf.engines import inference
from bayesclf.models.logistic.prior import LogisticPrior
from bayesclf.models.logistic.propagation import Propagation

SEPARABLE = np.array([[-2.0], [-1.5], [-0.5], [0.4], [1.0], [2.2]]), np.array([0, 0, 0, 1, 1, 1])


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_two_weights_have_the_moments_and_the_evidence_of_a_dense_grid(scale: float) -> None:
    """Where rows are separable Laplace's evidence is off by more, as the mode lies at the edge of the posterior."""
    model = bc.LogisticRegression(prior_scale=scale, inference="map").fit(*SEPARABLE).model_
    found = model.propagated().lattice.best
    axes = np.linspace(-40, 40, 801), np.linspace(-30, 90, 1201)
    theta = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 1, 2)
    log_p = model._likelihood.values(theta) + model.weight_prior.log_density(theta)
    exact = logsumexp(log_p) + np.log(0.1 * 0.1)
    p = np.exp(log_p - logsumexp(log_p))
    mean = p @ theta[:, 0]
    sd = np.sqrt(p @ (theta[:, 0] - mean) ** 2)
    assert found.log_evidence == pytest.approx(exact, abs=0.15)
    assert abs(found.log_evidence - exact) < abs(model.lattice.best.log_evidence - exact)
    np.testing.assert_allclose(found.gamma[0], mean, atol=0.2 * sd.max())
    own = np.sqrt(np.diag(found.root @ found.root.T))
    np.testing.assert_allclose(own, sd, rtol=0.3)


@pytest.mark.parametrize("form", ["symmetric", "reference"])
def test_of_three_classes_it_has_the_moments_of_a_chain(form: str) -> None:
    model = mixed_model(3, LogisticPrior(prior_scale=2.0, prior_form=form))
    node = model.propagated().lattice.best
    draws = inference.draw(model, bc.engines.Slice(draws=2_000), seed=1)
    assert draws is not None
    theta = model._theta(draws.parameters["intercept"], draws.parameters["weight"])
    sd = theta.std(axis=0)
    assert (np.abs(theta.mean(axis=0) - model.weight_prior.theta(node.gamma)) < 0.2 * sd).all()


def test_points_stand_for_a_standard_normal_or_are_too_few() -> None:
    for contrasts in (2, 10, 64):
        points, log_weight = Propagation(None, SimpleNamespace(contrast=np.eye(contrasts))).points  # type: ignore[arg-type]
        np.testing.assert_allclose(points.T @ (np.exp(log_weight)[:, None] * points), np.eye(contrasts), atol=1e-9)
    with pytest.raises(np.linalg.LinAlgError, match="too few points"):
        _ = Propagation(None, SimpleNamespace(contrast=np.eye(65))).points  # type: ignore[arg-type]
