"""Leave-one-out scores by refits to all rows but one, for tests of the shorter ways."""

from dataclasses import replace

import numpy as np
from sklearn.base import clone

STANDARD_ERRORS = 5.0
"""A right number is further off once in two million comparisons."""


def with_resolved_prior(clf):
    """Return an unfitted copy whose prior is the one that the rows of a fit resolved, in numbers."""
    posterior, blocks = clf.as_prior().prior, iter(clf.model_.blocks)
    families = tuple(
        next(blocks).family if kept.any() else family
        for family, kept in zip(posterior.families, posterior.kept, strict=True)
    )
    return clone(clf).set_params(prior=replace(posterior, families=families, class_prior=clf.model_.class_prior))


def refits(clf, X, y):
    """Return classifiers fitted to all rows but one, under the same prior, one for each row."""
    unfitted, rows = with_resolved_prior(clf), np.arange(len(y))
    return [clone(unfitted).fit(X[rows != i], y[rows != i], classes=clf.classes_) for i in rows]


def by_refits(clf, X, y, rule, fitted=None):
    """Return log P(y_i | x_i) after a fit to all rows but one, under the same prior, (row)."""
    fitted = refits(clf, X, y) if fitted is None else fitted
    labels, rows = np.searchsorted(clf.classes_, y), np.arange(len(y))
    return np.array([fitted[i].predict_log_proba(X[rows == i], rule=rule)[0, labels[i]] for i in rows])
