"""What rows without a label changed in a fit, in words, and the statistics that set its default priors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.training import ColumnBlock
from bayesclf.engines import MLE
from bayesclf.engines.inference import estimate
from bayesclf.engines.unlabeled import PartlyInferred, PartlyLabeled
from bayesclf.errors import DoesNotExist
from bayesclf.families.base import Family, Statistics
from bayesclf.families.by_evidence import CANDIDATES
from bayesclf.models.base import Rows
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import Hypotheses
from bayesclf.tables import columns
from bayesclf.tables.columns import row_numbers
from bayesclf.wording import AND_MORE, LISTED_NAMES, LISTED_ROWS, counted, listed

if TYPE_CHECKING:
    import pandas as pd


def varying(family: Family[Any], labeled: Statistics, every: Statistics) -> tuple[Statistics, list[str]]:
    """Return the statistics by which to set a default prior, and a remark if they are not those of labeled rows.

    Parameters
    ----------
    family
        Of features that vary among all rows.
    labeled, every
        Statistics of the labeled rows, and of all rows as if of one class: priors of numbers are set by pooled rows.
    """
    lacking = np.asarray(labeled.axes.features, dtype=object)[~family.informative(labeled)]
    if family.kind != "number" or not lacking.size:
        return labeled, []
    remark = (
        f"column {listed(map(repr, lacking), LISTED_NAMES, AND_MORE)} has one value only, or none, in the rows with a "
        "label, so that its default prior, and that of other columns of its family, is set by all rows"
    )
    return every, [remark]


def about_impossible(blocks: Iterable[ColumnBlock], frame: pd.DataFrame, unlabeled: Integers) -> Iterator[str]:
    """Say which cells of rows without a label the family that was chosen for their column by evidence cannot have.

    Parameters
    ----------
    blocks
        The blocks, their families chosen.
    frame
        All training rows.
    unlabeled
        The rows without a label, from 0.
    """
    for block in blocks:
        if block.candidate:
            X = columns.numbers(frame, block.names)[unlabeled]
            impossible = ~(CANDIDATES[block.candidate].possible(X) | np.isnan(X))
            for j in np.flatnonzero(impossible.any(axis=0)):
                rows = unlabeled[impossible[:, j]]
                yield (
                    f"column {block.names[j]!r} has {counted(len(rows), 'cell')} without a label that its family "
                    f"{block.candidate!r}, chosen by the labeled rows, cannot have (rows "
                    f"{listed(row_numbers(frame, rows), LISTED_ROWS)}); there it counts as missing"
                )


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
        f"alone, and of the labeled rows {100 * right[1]:.1f} % are predicted right instead of {100 * right[0]:.1f} %"
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
        number = len(Hypotheses(partly.model, found.draws.parameters))
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
