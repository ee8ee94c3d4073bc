"""Learning from rows of which some have no label, and what these changed, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, override

import numpy as np
from numpy.typing import NDArray

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.classifiers.labels import UNLABELED
from bayesclf.classifiers.training import ColumnBlock, about_numbers
from bayesclf.classifiers.updating import Updating
from bayesclf.engines import MLE
from bayesclf.engines.inference import estimate
from bayesclf.engines.unlabeled import PartlyInferred, PartlyLabeled, found_point, infer_partly
from bayesclf.errors import DoesNotExist
from bayesclf.families.base import Family, Statistics
from bayesclf.families.by_evidence import CANDIDATES
from bayesclf.models.base import Model, Rows
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import Hypotheses
from bayesclf.tables import columns
from bayesclf.tables.columns import row_numbers
from bayesclf.wording import AND_MORE, LISTED_NAMES, LISTED_ROWS, counted, listed

if TYPE_CHECKING:
    import pandas as pd


class LearningPartly(Updating):
    """A generative classifier that can learn from rows without a label.

    Estimates are found by EM, and the posterior is sampled by data augmentation, which draws the labels and the
    parameters in turn. Default priors, an α that is learned, trees and families that are chosen are those of the
    labeled rows; where a column of numbers has one value only among these, default priors are those of all rows.
    Estimates that were not requested are found when a rule, `posterior_` or `save` first needs them; until then the
    rows without a label are kept. What fits again, such as checks of `diagnose` that hold rows out, learns from labeled
    rows only, and `partial_fit`, ``+`` and `as_prior` refuse.

    References
    ----------
    Nigam, McCallum, Thrun, Mitchell (2000), *Text classification from labeled and unlabeled documents using EM*,
    Machine Learning 39, doi:10.1023/A:1007692713085.
    """

    _partly: PartlyLabeled | None

    @property
    @override
    def _learns_unlabeled(self) -> bool:
        return True

    def _partly_labeled(self, frame: Any, codes: Integers, weight: Array | None) -> PartlyLabeled:
        """Return prior and rows, of which some have the code `UNLABELED`."""
        self._require_words_in_parts("rows without a label")
        known = codes != UNLABELED
        weight = np.ones(len(codes)) if weight is None else weight
        labeled, others = frame[known], frame[~known]
        y, own = codes[known], weight[known]
        # all rows first, so that what is wrong with a cell is told by its row of the table
        of_one_class = np.zeros(len(frame), dtype=np.intp)
        every = self._learn(frame, of_one_class, weight, None, every_row=False)
        learnt = self._learn(labeled, y, own, every.blocks, every_row=True)
        self._gather(learnt.widened(every))
        if any(block.candidate for block in self._learnt.blocks):
            every = self._learn(frame, of_one_class, weight, self._learnt.blocks, every_row=False)
        model = self._conditioned(every.widened(self._learnt).statistics)
        self.notes_ += about_numbers(self._learnt)
        self.notes_ += about_impossible(self._learnt.blocks, frame, np.flatnonzero(~known))
        return PartlyLabeled(model, self.encode(labeled), y, own, self.encode(others), weight[~known])

    def _require_words_in_parts(self, what: str) -> None:
        """Raise `Refused` where an option looks at all training rows at once; `what` is what it is not for."""

    @override
    def _infer_partly(self, frame: Any, codes: Integers, weight: Array | None) -> None:
        """Set the fitted state that depends on labeled and other rows, engine and seed."""
        partly = self._partly_labeled(frame, codes, weight)
        self._renew(replace(partly.model, unlabeled=len(partly.rows)))
        found = infer_partly(partly, self._requested_engine(), self.seed_)
        self.points_, self.draws_, self.inference_ = found.points, found.draws, found.engine
        self.convergence_problems_ = found.problems
        self.notes_ += about_unlabeled(partly, found, self.classes_)
        self._partly = partly

    @override
    def _renew(self, model: Model) -> None:
        super()._renew(model)
        self._partly = None

    @override
    def _point(self, name: str) -> Parameters:
        """Return the estimate ``"mle"`` or ``"map"``; rows without a label are kept until EM has found both."""
        if self._partly is not None and name not in self.points_:
            self.points_[name], _ = found_point(self._partly, name)
        if {"mle", "map"} <= self.points_.keys():
            self._partly = None
        return super()._point(name)


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
