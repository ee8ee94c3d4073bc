"""Which columns a generative model takes for independent of each other given the class."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.sparse.csgraph import connected_components

from bayesclf.families.mixed.network import ALL, ConditionalGaussian
from bayesclf.families.networks.network import BayesianNetwork
from bayesclf.models.generative import GenerativeModel


def independent_groups(model: GenerativeModel) -> dict[str, int]:
    """Return a group number for each column in use: columns of different groups are independent given the class.

    Columns of one block share a group where its family models their dependence, those of a network where edges
    connect them.
    """
    groups: dict[str, int] = {}
    for block in model.blocks:
        features = block.statistics.axes.features
        own: Iterable[int] = range(len(features))
        if block.family.name in ("multivariate-gaussian", "joint", "every-tree", "one-dependence"):
            own = [0] * len(features)
        elif isinstance(block.family, BayesianNetwork | ConditionalGaussian):
            edges = block.family.edges
            if edges == ALL:
                edges = tuple((features[0], other) for other in features[1:])
            assert not isinstance(edges, str)  # a fit has replaced "tan" by the edges that it learned
            joined = np.zeros((len(features), len(features)))
            for parent, child in edges:
                joined[features.index(parent), features.index(child)] = 1.0
            own = connected_components(joined, directed=False)[1].tolist()
        groups |= dict(zip(features, (len(groups) + number for number in own), strict=True))
    return groups
