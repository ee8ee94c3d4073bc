"""Averaged one-dependence estimators: what they generate."""

import itertools

import numpy as np

from bayesclf.families import Axes, OneDependence

AXES = Axes(("no", "yes"), ("u", "v", "w"), (("a", "b"), (1, 2, 3), (False, True)))


def test_sampled_rows_come_up_with_their_density(rng):
    """The averaged networks contradict each other, so that a wrong share of any of them shows."""
    family = OneDependence()
    X = rng.integers(AXES.sizes, size=(12, 3))
    statistics = family.statistics(X, np.arange(12) % 2, AXES)
    prior = family.resolve_prior(statistics)
    point = {name: rng.gamma(0.5, size=values.shape) for name, values in prior.map(statistics).items()}
    starts = np.cumsum([0, *AXES.sizes])
    for values in point.values():
        for first, end in itertools.pairwise(starts):
            values[..., first:end] /= values[..., first:end].sum(axis=-1, keepdims=True)
    rows = np.array(list(itertools.product(*map(range, AXES.sizes))))
    (expected,) = np.exp(prior.log_density(rows, point))
    np.testing.assert_allclose(expected.sum(axis=0), 1.0, rtol=1e-12)
    draws = 40_000
    for k in range(2):
        sampled = prior.sample(point, np.full(draws, k), rng)
        found = (sampled[:, None] == rows).all(axis=2).mean(axis=0)
        assert (np.abs(found - expected[:, k]) < 5 * np.sqrt(expected[:, k] / draws) + 5 / draws).all()
