"""The ladder of scales: ratios of evidences, masses against quadrature, chains that mix where the rows separate."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.logistic import model_of, of_kind
from scipy import stats

import bayesclf as bc
from bayesclf.inference import NUTS, ladder
from bayesclf.inference.convergence import convergence_problems
from bayesclf.models.logistic.learned_model import LearnedScaleModel
from bayesclf.models.logistic.learned_scale import LearnedScale
from bayesclf.models.logistic.prior import LogisticPrior
from bayesclf.models.logistic.scale_grid import END_MASS, Node, ScaleGrid
from bayesclf.posterior.hypotheses import to_dataset


@pytest.mark.parametrize(("sizes", "shift"), [((4000, 4000), 0.3), ((8000, 1000), -30.0), ((50, 50), 1000.0)])
def test_the_ratio_of_two_evidences(rng, sizes, shift):
    """f = N(0, 1), g = e^shift N(1, 0.8²): the log ratio of their integrals is the shift."""
    f, g = stats.norm(0, 1), stats.norm(1, 0.8)
    draws = f.rvs(sizes[0], random_state=rng), g.rvs(sizes[1], random_state=rng)
    ratio = ladder.log_evidence_ratio(*(g.logpdf(x) + shift - f.logpdf(x) for x in draws))
    assert ratio == pytest.approx(shift, abs=5 / np.sqrt(min(sizes)))


def separable(columns: int = 4, rows: int = 20) -> LearnedScaleModel:
    X = np.random.default_rng(5).normal(size=(rows, columns))
    model = model_of(X, X[:, 0] + X[:, 1] > 0)
    prior = LogisticPrior(prior_scale=LearnedScale(power=0))
    return of_kind(LearnedScaleModel, model, prior)


def test_chains_mix_where_the_rows_separate_the_classes():
    """The posterior of the scale has a long tail, in which one step size for all scales would be too large."""
    model, settings = separable(), NUTS(draws=300, progress=False)
    sampled = ladder.sample(model, settings, 1)
    drawn = {name: values.reshape(-1, *values.shape[2:]) for name, values in sampled.draws.items()}
    posterior = to_dataset(drawn, model.dims(), model.coords(), 4)
    assert convergence_problems(posterior, sampled.stats, settings.max_treedepth) == ()
    assert sampled.stats["diverging"].shape == sampled.draws["prior_scale"].shape == (4, 300)
    again = ladder.sample(model, settings, 1)
    np.testing.assert_array_equal(again.draws["weight"], sampled.draws["weight"])


def test_the_ends_of_a_ladder_have_their_mean_mass_over_the_chains():
    masses = np.array([[0.1, 0.2, 0.7], [0.3, 0.2, 0.5]])
    (low, first), (high, last) = ladder._ends(["a", "b", "c"], masses)
    assert (low, high) == (("a", "b"), ("c", "b"))
    np.testing.assert_allclose((first, last), (0.2, 0.6))


def test_scales_are_added_where_the_grid_ends_too_early(monkeypatch):
    """A grid without its upper end and with wrong masses gives the posterior of the whole grid.

    No scale lacks more than a share of the draws that its mass calls for, and no end has more than a little mass.
    """
    mixture = ladder._mixture

    def watched(model, ladders, masses, draws, rng):
        for of_one, mass in zip(ladders, masses, strict=True):
            for rung, most in zip(of_one, mass.max(axis=0), strict=True):
                assert rung.draws >= (1 - ladder.REPEATED) * most * draws
            assert max(end for _, end in ladder._ends(of_one, mass)) <= ladder.OPEN_END
        return mixture(model, ladders, masses, draws, rng)

    monkeypatch.setattr(ladder, "_mixture", watched)
    whole, settings = separable(2, 12), NUTS(draws=500, progress=False)
    cut = dataclasses.replace(whole)
    nodes = whole.scale_grid.nodes
    vars(cut)["scale_grid"] = ScaleGrid(
        tuple(dataclasses.replace(node, log_density=node.log_density - node.log_scale) for node in nodes[:-4])
    )
    expected, found = (np.log(ladder.sample(model, settings, 2).draws["prior_scale"]) for model in (whole, cut))
    assert found.mean() == pytest.approx(expected.mean(), abs=0.15 * expected.std())
    for level in (0.05, 0.5, 0.95):
        assert np.mean(found < np.quantile(expected, level)) == pytest.approx(level, abs=0.04)


@pytest.mark.slow
def test_joint_draws_have_the_weights_of_their_scale():
    """z = weights in sds of their prior: of many weights about which the rows say little, |z|² is that of normals."""
    X = np.random.default_rng(1).normal(size=(12, 40))
    settings = LearnedScale(power=0)
    clf = bc.LogisticRegression(prior_scale=settings, inference=NUTS(draws=500, progress=False), random_state=1)
    clf.fit(X, np.arange(12) % 2)
    drawn = clf.draws_.parameters
    z = drawn["weight"] * clf.model_.design.scale / drawn["prior_scale"][:, None, None]
    square = (z**2).sum(axis=(1, 2))
    assert square.mean() == pytest.approx(40, rel=0.1)
    assert square.std() == pytest.approx(np.sqrt(80), rel=0.15)


def test_a_power_whose_mass_is_spread_too_thin_has_no_ladder():
    def grid(log_densities):
        return ScaleGrid(tuple(Node(float(i), np.zeros((1, 2)), value) for i, value in enumerate(log_densities)))

    thick, thin = grid([-2.0, 0.0, -2.0]), grid([np.log(3e-4)] * 8)
    shares = np.exp([g.log_evidence for g in (thick, thin)])
    assert shares[1] / shares.sum() > END_MASS
    model = SimpleNamespace(grids=[("thick", thick), ("thin", thin)])
    assert [member for member, _, _ in ladder._planned(model)] == ["thick"]
