"""Comparison of the draws of two samplers."""

import numpy as np
from arviz_stats.base import array_stats


def assert_same_shares(one, other, chains, least=100):
    """Compare draws of a parameter, (draw, ...), by the shares of both that are below quantiles of all.

    A share has the error of its level and of its effective number of draws, whatever the tails, where sds of draws with
    heavy tails are known to tens of percent only. `chains` are the numbers of chains of both.
    """
    pairs = [part.reshape(count, len(part) // count, -1) for part, count in zip((one, other), chains, strict=True)]
    for both in zip(*(np.moveaxis(part, 2, 0) for part in pairs), strict=True):
        for level in (0.05, 0.25, 0.5, 0.75, 0.95):
            edge = np.quantile(np.concatenate([draws.ravel() for draws in both]), level)
            below = [(draws < edge).astype(float) for draws in both]
            effective = np.array([min(array_stats.ess(share, method="mean"), share.size) for share in below])
            assert effective.min() > least
            error = 4.5 * np.sqrt(level * (1 - level) * np.sum(1 / effective))
            assert abs(below[0].mean() - below[1].mean()) < error
