"""Inference from rows of which some have no label: EM for estimates, data augmentation for the posterior."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.engines.augmentation import Augmentation, sample_labels
from bayesclf.engines.inference import (
    MAP,
    MLE,
    Auto,
    Draws,
    Engine,
    checked,
    estimate,
    named_engine,
    require_room,
    warned,
)
from bayesclf.errors import ConvergenceWarning, DoesNotExist, Refused, warn
from bayesclf.families.base import Statistics
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.progress import shown
from bayesclf.tables.columns import Rows

TOLERANCE, ITERATIONS = 1e-9, 5_000
"""EM ends when no probability of a label changes by more than this, or after this many steps."""

NEGLIGIBLE = 1e-16
"""A label of at most this probability adds no more than rounding to sums over rows, and is left out."""


@dataclass(frozen=True, eq=False)
class PartlyLabeled:
    """P(D) = Π_labeled P(x, y | θ) Π_others Σ_k P(x, k | θ), each row to the power of its weight.

    `model`: The prior, conditioned on the labeled rows. `labeled`, `y`, `labeled_weight`: The labeled rows, their label
    codes and weights (row). `rows`, `weight`: The rows without a label, and their weights (row).
    """

    model: GenerativeModel
    labeled: Rows
    y: Integers
    labeled_weight: Array
    rows: Rows
    weight: Array

    def completed(self, shares: Array) -> GenerativeModel:
        """Return the model conditioned on all rows, those without a label counting in each class by `shares`.

        `shares`: Weight of each row without a label in each class, (row, outcome).
        """
        place, label = np.nonzero(shares)
        weight = shares[place, label]
        some = self.rows[place]
        blocks = []
        for block, X in zip(self.model.blocks, some.parts, strict=True):
            own: Statistics = block.family.statistics(X, label, block.statistics.axes, weight)
            blocks.append(Block(block.family, block.statistics + own, block.suffix))
        counts = self.model.label_counts + np.bincount(label, weight, minlength=len(self.model.labels))
        return replace(self.model, label_counts=counts, blocks=tuple(blocks))

    def scores(self, parameters: Parameters) -> Array:
        """Return log p(x, k | θ) of the rows without a label under one hypothesis, (row, outcome)."""
        return np.asarray(self.model.log_scores(self.rows, parameters)[0])


@dataclass(frozen=True, eq=False)
class PartlyInferred:
    """What is known of the parameters given labeled and other rows.

    `engine`: The engine that was used. `draws`: Its draws; None for point estimates. `points`: The estimate that was
    requested, or why it does not exist; empty where draws were. `problems`: Why these cannot be trusted yet, one
    sentence each.
    """

    engine: Engine
    draws: Draws | None
    points: dict[str, Parameters | DoesNotExist]
    problems: tuple[str, ...]


def expectation_maximization(partly: PartlyLabeled, name: str) -> tuple[Parameters, bool]:
    """Maximize P(D | θ), or P(D | θ) p(θ), over θ.

    The E step finds P(k | x, θ) of each row without a label. The M step estimates θ from all rows, each counted in each
    class by that probability. No step lowers the objective. As in Nigam et al., EM starts from what the MAP estimate of
    the labeled rows predicts, and the maximum is one near that estimate. From the posterior average, which predicts
    worse for long documents under Laplace's rule, EM arrives at a lower maximum.

    `name`: ``"mle"`` or ``"map"``.

    Returns: The estimate, draw axis of length 1, and whether EM ended before the largest number of steps.

    Raises `DoesNotExist` where an estimate along the way does not exist.

    See Dempster, Laird and Rubin (1977); Nigam, McCallum, Thrun, Mitchell (2000), *Text classification from labeled and
    unlabeled documents using EM*, Machine Learning 39, doi:10.1023/A:1007692713085.
    """
    shares = _by_labeled(partly)
    with shown(f"EM ({name})", ITERATIONS) as tell:
        for number in range(1, ITERATIONS + 1):
            counted = np.where(shares > NEGLIGIBLE, shares, 0.0)
            parameters = estimate(partly.completed(partly.weight[:, None] * counted), name)
            before, shares = shares, softmax(partly.scores(parameters), axis=1)
            change = float(np.abs(shares - before).max())
            tell(f"EM ({name}), labels' probabilities change by {change:.0e}", number, ITERATIONS)
            if change <= TOLERANCE:
                return parameters, True
    return parameters, False


def _by_labeled(partly: PartlyLabeled) -> Array:
    """Return P(k | x, θ) of rows without a label at the MAP estimate of the labeled ones, (row, outcome).

    Where that estimate does not exist, it is P(k | x), averaged over the posterior; equal where that has no closed
    form.
    """
    try:
        scores = partly.scores(estimate(partly.model, "map"))
    except DoesNotExist:
        joint = partly.model.log_predictive(partly.rows)
        scores = np.zeros((len(partly.rows), len(partly.model.labels))) if joint is None else joint
    scores[~np.isfinite(scores).any(axis=1)] = 0.0  # impossible by the labeled rows: no class is more probable
    return np.asarray(softmax(scores, axis=1))


def infer_partly(partly: PartlyLabeled, inference: str | Engine, seed: int) -> PartlyInferred:
    """Infer the parameters by an engine given or, for ``"auto"``, by data augmentation.

    Raises `Refused` for engines and families that cannot.
    """
    engine = _engine(partly, inference)
    if isinstance(engine, Augmentation):
        require_room(partly.model, engine)
        if not partly.model.dims():
            return PartlyInferred(engine, Draws({}, engine.chains), {}, ())
        draws = warned(checked(partly.model, sample_labels(partly, engine, seed), None, engine))
        return PartlyInferred(engine, draws, {}, draws.problems)
    name = "mle" if isinstance(engine, MLE) else "map"
    point, problems = found_point(partly, name)
    return PartlyInferred(engine, None, {name: point}, problems)


def found_point(partly: PartlyLabeled, name: str) -> tuple[Parameters | DoesNotExist, tuple[str, ...]]:
    """Return the estimate ``"mle"`` or ``"map"``, or why it does not exist, and why it cannot be trusted yet.

    Warns with `ConvergenceWarning` where EM has not converged.
    """
    try:
        parameters, converged = expectation_maximization(partly, name)
    except DoesNotExist as reason:
        return reason, ()
    if converged:
        return parameters, ()
    problem = f"EM has not converged after {ITERATIONS:,} steps (rule {name!r})"
    warn(problem, ConvergenceWarning)
    return parameters, (problem,)


def _engine(partly: PartlyLabeled, inference: str | Engine) -> Engine:
    for block in partly.model.blocks:
        if block.family.name.startswith("every-tree"):
            raise Refused(
                "averages over structures take labeled rows only, which set the weights of the structures; "
                "drop rows without a label, or fit BayesNetClassifier with edges"
            )
    if inference == "auto" or isinstance(inference, Auto):
        engine: Engine = Augmentation() if isinstance(inference, str) else inference.augmentation
    else:
        engine = named_engine(inference)
    if isinstance(engine, MAP | MLE):
        if engine.optimizer is not None:
            raise Refused("this model's estimates are found by EM: there is no optimizer to choose or to watch")
        return engine
    if not isinstance(engine, Augmentation):
        raise Refused(
            f"some training rows have no label, and {type(engine).__name__} does not sum over their classes; use "
            "inference='augmentation', 'map' or 'mle', or drop these rows"
        )
    if reason := partly.model.not_conjugate():
        estimated = all(block.family.name != "conditional-gaussian" for block in partly.model.blocks)
        remedy = (
            "use inference='map' or 'mle', or drop these rows" if estimated else "fill these cells in, or drop the rows"
        )
        raise Refused(
            f"some training rows have no label, and given labels the posterior has no closed form ({reason}); {remedy}"
        )
    if (partly.weight != np.floor(partly.weight)).any():
        raise Refused(
            "labels cannot be drawn for rows whose weights are not whole numbers; give whole weights, or use "
            "inference='map' or 'mle'"
        )
    return engine
