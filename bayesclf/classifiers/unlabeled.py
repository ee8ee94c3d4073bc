"""What training rows without labels changed, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import DoesNotExist
from bayesclf.families.base import Family, Statistics
from bayesclf.inference import MLE, PartlyInferred, estimate
from bayesclf.models.base import Rows
from bayesclf.models.partly_labeled import PartlyLabeled
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import Hypotheses
from bayesclf.typing import Array
from bayesclf.wording import AND_MORE, LISTED_NAMES, listed

UNLABELED = -1
"""Code of a label that is missing."""

ONE_VALUE_LABELED = (
    "column {names} has one value only, or none, in the rows with a label, so that its default prior, and that of other "
    "columns of its family, is set by all rows"
)
"""Remark on columns that vary in rows without a label only."""


def varying_elsewhere(family: Family[Any], labeled: Statistics) -> tuple[str, ...]:
    """Return which numbers, of features that vary among all rows, do not vary enough among labeled ones for a prior."""
    if family.kind != "number":
        return ()
    return tuple(np.asarray(labeled.axes.features, dtype=object)[~family.informative(labeled)])


def about_unlabeled(partly: PartlyLabeled, found: PartlyInferred, classes: NDArray[np.generic]) -> Iterator[str]:
    """Say how many rows have no label, and how far they moved class shares and predictions from the labeled rows'.

    Compared are averages over the posterior or, of point estimates, the requested one.

    Parameters
    ----------
    partly
        Model and rows.
    found
        What was inferred.
    classes
        The labels (outcome).
    """
    rows = len(partly.rows) + len(partly.y)
    yield f"{len(partly.rows):,} of {rows:,} training rows have no label, and count in each class by its probability"
    before, after = _alone(partly, found), _together(partly, found)
    if before is None or after is None:
        return
    if partly.model.class_prior.learnt:
        shares = [_shares(one) for one in (before, after)]
        moved = [
            f"{str(label)!r} {mine:.2g} instead of {theirs:.2g}"
            for label, theirs, mine in zip(classes, *shares, strict=True)
        ]
        yield f"by the rows without a label the class shares are {listed(moved, LISTED_NAMES, AND_MORE)}"
    alone, all_rows = (_proba(one, partly.rows).argmax(axis=1) for one in (before, after))
    changed = int(np.count_nonzero(alone != all_rows))
    right = [
        float(np.average(_proba(one, partly.labeled).argmax(axis=1) == partly.y, weights=partly.labeled_weight))
        for one in (before, after)
    ]
    yield (
        f"by the rows without a label {changed:,} of these get another most probable label than by the labeled rows "
        f"alone, and of the labeled rows {right[1]:.1%} are predicted right instead of {right[0]:.1%}"
    )


def _together(partly: PartlyLabeled, found: PartlyInferred) -> Hypotheses | None:
    """Return the hypotheses that were inferred; None where a point does not exist."""
    if found.draws is not None:
        return Hypotheses(partly.model, found.draws.parameters)
    point = found.points[_name(found)]
    return None if isinstance(point, DoesNotExist) else Hypotheses(partly.model, point)


def _alone(partly: PartlyLabeled, found: PartlyInferred) -> Hypotheses | None:
    """Return the same from the labeled rows alone."""
    if found.draws is not None:
        number = len(next(iter(found.draws.parameters.values())))
        return Hypotheses(partly.model, partly.model.draw(np.random.default_rng(0), number))
    try:
        return Hypotheses(partly.model, estimate(partly.model, _name(found)))
    except DoesNotExist:
        return None


def _name(found: PartlyInferred) -> str:
    return "mle" if isinstance(found.engine, MLE) else "map"


def _shares(hypotheses: Hypotheses) -> Array:
    """Return the expected class shares, (outcome)."""
    return np.asarray(np.exp(hypotheses.log_class_prior()).mean(axis=0))


def _proba(hypotheses: Hypotheses, rows: Rows) -> Array:
    """Return P(k | x) averaged over hypotheses, (row, outcome)."""
    return np.exp(averaging.average(hypotheses, rows, given_x=False).log_proba)
