"""Leave-one-out scores by refits to all rows but one, for tests of the shorter ways."""

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from bayesclf.classifiers.training import FrozenPrior

STANDARD_ERRORS = 5.0
"""A right number is further off once in two million comparisons."""


def with_resolved_prior(clf):
    """Return an unfitted copy whose prior is the one that the rows of a fit resolved, in numbers."""
    families = iter(clf.model_.blocks)
    prior = FrozenPrior(
        learnt=replace(clf._learnt, counts=np.zeros(len(clf.classes_)), statistics=()),
        families=tuple(
            next(families).family if kept.any() else block.family
            for block, kept in zip(clf._learnt.blocks, clf._kept, strict=True)
        ),
        kept=clf._kept,
        class_prior=clf.model_.class_prior,
    )
    return clone(clf).set_params(prior=prior)


def by_refits(clf, X, y, rule):
    """Return log P(y_i | x_i) after a fit to all rows but one, under the same prior, (row)."""
    scores = []
    for i, label in enumerate(np.searchsorted(clf.classes_, y)):
        others = np.arange(len(y)) != i
        fitted = with_resolved_prior(clf).fit(X[others], y[others], classes=clf.classes_)
        scores.append(fitted.predict_log_proba(X[~others], rule=rule)[0, label])
    return np.array(scores)
