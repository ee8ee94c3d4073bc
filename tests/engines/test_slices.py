"""Chains on slices against a dense grid, where rows are separable and the scale of the weight is learned."""

import arviz as az
import numpy as np
from scipy.special import log_expit, logsumexp

import bayesclf as bc

X, Y = np.array([[-2.0], [-1.5], [-0.5], [0.4], [1.0], [2.2]]), np.array([0, 0, 0, 1, 1, 1])


def test_draws_agree_with_a_dense_grid_within_their_stated_errors() -> None:
    """The grid is over log s, the intercept at the means, and w/s."""
    log_s, b, epsilon = np.linspace(-7.5, 7.5, 91), np.linspace(-25, 25, 161), np.linspace(-6, 6, 161)
    z = (X[:, 0] - X.mean()) / X.std()
    S, B, E = np.meshgrid(log_s, b, epsilon, indexing="ij")
    log_p = -0.5 * ((S / 1.5) ** 2 + (B / 5) ** 2 + E**2)
    for place, label in zip(z, 2 * Y - 1, strict=True):
        log_p += log_expit(label * (B + np.exp(S) * E * place))
    p = np.exp(log_p - logsumexp(log_p))
    found = bc.LogisticRegression(inference=bc.engines.Slice(draws=4000), random_state=1).fit(X, Y)
    posterior = found.posterior_["posterior"]
    drawn = {"log s": np.log(posterior["prior_scale"].values), "e": posterior["epsilon"].values[:, :, 0, 0]}
    for name, values in {"log s": S, "e": E}.items():
        for power in (1, 2):
            own = drawn[name] ** power
            error = own.std() / np.sqrt(float(az.ess(own)))
            assert abs(own.mean() - np.sum(p * values**power)) < 4 * error, (name, power)
            assert error < 0.05
