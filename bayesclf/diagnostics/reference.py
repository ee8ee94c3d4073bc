"""The model that a classifier's confidence is compared with, where none is given."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.sparse.csgraph import connected_components

from bayesclf.classifiers import LogisticRegression
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.columns import SparseTable
from bayesclf.diagnostics import thresholds
from bayesclf.diagnostics.check import Skipped
from bayesclf.diagnostics.labelled import Labelled
from bayesclf.families.generative import GenerativeModel
from bayesclf.families.network import BayesianNetwork
from bayesclf.typing import Array

NONE = "no model to compare with was given, as in clf.diagnose(X, y, against=…)"


def reference_for(classifier: BayesClassifier, training: Labelled) -> BayesClassifier:
    """Return logistic regression for a generative model whose independent columns are not.

    Parameters
    ----------
    classifier
        Fitted.
    training
        Its rows, or some of them.

    Raises
    ------
    Skipped
        Where no model suggests itself.
    """
    model = classifier.model_
    if not isinstance(model, GenerativeModel):
        raise Skipped(NONE)
    if isinstance(training.table, SparseTable) or classifier.columns_[0].kind == "text":
        raise Skipped(NONE)
    if len(set(independent_groups(model).values())) < 2:
        raise Skipped("the model takes no columns for independent")
    strongest = dependence(model, training)
    if strongest < thresholds.MIN_DEPENDENCE:
        raise Skipped(f"columns taken for independent correlate by at most {strongest:.2f} within the classes")
    return LogisticRegression()


def independent_groups(model: GenerativeModel) -> dict[str, int]:
    """Return a number for each column in use: columns of different numbers are independent given the class.

    Columns of one block share a number where its family models their dependence, those of a network where edges
    connect them.
    """
    groups: dict[str, int] = {}
    for block in model.blocks:
        features = block.statistics.axes.features
        own: Iterable[int] = range(len(features))
        if block.family.name in ("multivariate-gaussian", "joint"):
            own = [0] * len(features)
        elif isinstance(block.family, BayesianNetwork):
            edges = block.family.edges
            assert not isinstance(edges, str)  # those that were learnt, by now
            joined = np.zeros((len(features), len(features)))
            for parent, child in edges:
                joined[features.index(parent), features.index(child)] = 1.0
            own = connected_components(joined, directed=False)[1].tolist()
        groups |= dict(zip(features, (len(groups) + number for number in own), strict=True))
    return groups


def dependence(model: GenerativeModel, training: Labelled) -> float:
    """Return the largest correlation, within the classes, of two columns that the model takes for independent.

    A category counts as the indicators of its levels. Columns of one of the `independent_groups` are not compared, nor
    are columns beyond the first `CORRELATED_COLUMNS`.
    """
    parts: list[Array] = []
    groups: list[int] = []
    group_of = independent_groups(model)
    for block, cells in zip(model.blocks, training.rows.parts, strict=True):
        for j, name in enumerate(block.statistics.axes.features):
            sizes = block.statistics.axes.sizes
            column = cells[:, [j]]
            of_column = np.where(column < 0, np.nan, column == np.arange(sizes[j])) if sizes else column
            parts.append(of_column)
            groups += [group_of[name]] * of_column.shape[1]
    if not parts:
        return 0.0
    X = np.hstack(parts)[:, : thresholds.CORRELATED_COLUMNS]
    group = np.array(groups)[: X.shape[1]]
    seen = ~np.isnan(X)
    members = (np.arange(len(training.classes))[:, None] == training.y).astype(float)
    with np.errstate(invalid="ignore"):
        means = (members @ np.where(seen, X, 0.0)) / (members @ seen.astype(float))
    residuals = np.where(seen, X - means[training.y], 0.0)
    length = np.sqrt((residuals**2).sum(axis=0))
    scaled = np.divide(residuals, length, out=np.zeros_like(residuals), where=length > 0)
    correlation = np.abs(scaled.T @ scaled)
    correlation[group[:, None] == group] = 0.0
    return float(correlation.max(initial=0.0))
