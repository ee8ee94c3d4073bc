"""Leaving rows out exactly: models conditioned on all rows but one, under the prior that was derived from all rows."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import replace
from math import isqrt
from typing import Any, TypeGuard

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from bayesclf import inference, rules
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.errors import DoesNotExist, PredictionWarning, Refused
from bayesclf.evaluation.leave_one_out.training import TrainingRows, kinds_of_rows
from bayesclf.families import Axes, Multinomial
from bayesclf.families.base import Statistics
from bayesclf.families.hierarchical import Smoothed
from bayesclf.families.multinomial import MultinomialStatistics
from bayesclf.inference import NUTS, Augmentation, Engine, Exact, Laplace
from bayesclf.models.base import Model, Rows
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.models.logistic.model import LogisticModel
from bayesclf.posterior.hypotheses import parameter_count
from bayesclf.progress import shown
from bayesclf.rules import RULES
from bayesclf.typing import Array, Integers

MOST_NUMBERS = 5 * 10**9
"""Most random numbers (rows × draws × parameters) for exact draws: some minutes of work."""

QUICK_NUMBERS = 2 * 10**7
"""The same up to which rows are left out exactly without being told to: at most a few seconds of work."""

MOST_RUNS: dict[type, int] = {NUTS: 200, Augmentation: 500, Laplace: 5_000}
"""Most rows that are left out by one run of the engine each: NUTS takes seconds, Laplace some milliseconds."""

REST = "all other words"


def exact(clf: BayesClassifier, training: TrainingRows, rule: str, wanted: Integers) -> Array:
    """Return log P(y_i | x_i, all rows but i) of some rows, (wanted); see `exact_log_proba`."""
    return exact_log_proba(clf, training, rule, wanted)[np.arange(len(wanted)), training.y[wanted]]


def exact_log_proba(clf: BayesClassifier, training: TrainingRows, rule: str, wanted: Integers) -> Array:
    """Return log P(k | x_i, all rows but i) of some rows, (wanted, outcome).

    In closed form where the rule is ``"predictive"`` and the model conjugate, else from a model without the row: its
    estimate, or draws of its posterior, made by the classifier's engine with the same seed for every row.

    Parameters
    ----------
    clf
        A fitted classifier.
    training
        Its training rows.
    rule
        A rule other than ``"gibbs"``.
    wanted
        Numbers of the rows.

    Raises
    ------
    Refused
        Where it would be too much work, or the engine refuses the rows without one of them.
    DoesNotExist
        For a plug-in rule whose estimate does not exist without one of the rows.
    """
    without = np.full((len(wanted), len(clf.classes_)), np.nan)
    if rule == "predictive" and conjugate(clf.model_):
        joint = log_joint_without(clf.model_, training.rows[wanted], training.y[wanted])
        without = joint - logsumexp(joint, axis=1, keepdims=True)
    left = np.isnan(without).any(axis=1)
    if left.any():
        without[left] = _refitted(clf, training, rule, wanted[left])
    return without


def conjugate(model: Model) -> TypeGuard[GenerativeModel]:
    """Return whether a model's posterior has a closed form."""
    return isinstance(model, GenerativeModel) and not model.not_conjugate()


def too_much_work(clf: BayesClassifier, training: TrainingRows, rule: str, rows: int) -> str:
    """Return why so many rows are not left out one by one, as a clause; empty where they can be."""
    if isinstance(clf.model_, GenerativeModel) and clf.model_.unlabeled:
        return (
            "a model that also learned from rows without a label does not keep these, to be fitted again without a row"
        )
    engine = _engine(clf, rule)
    if engine is None:
        return ""
    if not isinstance(engine, Exact):
        limit, name = MOST_RUNS.get(type(engine), MOST_RUNS[NUTS]), type(engine).__name__
        return f"leaving out {rows:,} rows would take as many runs of {name} (limit {limit:,})" if rows > limit else ""
    numbers = _random_numbers(clf, training, rows)
    if numbers <= MOST_NUMBERS:
        return ""
    return f"leaving out {rows:,} rows would take {numbers:.0e} random numbers (limit {MOST_NUMBERS:.0e})"


def quick(clf: BayesClassifier, training: TrainingRows) -> bool:
    """Return whether all rows can be left out one by one in seconds, by draws of a conjugate model's posteriors.

    On few rows, weights are optimistic even where every k̂ is good: a row draws the posterior of all rows towards
    itself, and finitely many weighted draws do not take back all of it.
    """
    drawn = clf.draws_ is not None and conjugate(clf.model_)
    return drawn and _random_numbers(clf, training, len(training)) <= QUICK_NUMBERS


def _random_numbers(clf: BayesClassifier, training: TrainingRows, rows: int) -> int:
    """Return how many random numbers it takes to draw from the posteriors of a conjugate model without each row."""
    model = clf.model_
    assert isinstance(model, GenerativeModel)
    return rows * len(clf.hypotheses("posterior")) * _numbers(model, training)


def _numbers(model: GenerativeModel, training: TrainingRows) -> int:
    """Return how many parameters bear on one row, on average."""
    whole, numbers = [], 0
    for block, part in zip(model.blocks, training.rows.parts, strict=True):
        if isinstance(block.family, Multinomial):
            numbers += len(model.labels) * (1 + int(sparse.csr_array(part).nnz) // len(training))
        else:
            whole.append(block)
    return numbers + parameter_count(replace(model, blocks=tuple(whole)))


def _engine(clf: BayesClassifier, rule: str) -> Engine | None:
    """Return what draws from the posterior without a row; None where the rule needs no draws."""
    closed_form = conjugate(clf.model_)
    if rule in ("map", "mle") or (closed_form and rule in ("mean", "predictive")):
        return None
    return Exact(len(clf.hypotheses("posterior")), 1) if closed_form else clf.inference_


def _refitted(clf: BayesClassifier, training: TrainingRows, rule: str, wanted: Integers) -> Array:
    """Return log P(k | x_i) under models conditioned on all rows but one each, (wanted, outcome)."""
    if reason := too_much_work(clf, training, rule, len(wanted)):
        raise Refused(f"{reason}; take method='psis', or K-fold cross-validation")
    engine = _engine(clf, rule)
    scores = []
    with shown("leaving rows out", len(wanted)) as tell:
        for i, model, row in models_without(clf.model_, training, wanted, narrow=rule not in ("map", "mle")):
            try:
                hypotheses = _fitted(clf, model, engine).hypotheses(RULES[rule].source)
            except (DoesNotExist, Refused) as error:
                raise type(error)(f"without row {i + 1}: {error}") from None
            with warnings.catch_warnings():
                # A row that is impossible under the model without it shows in its score.
                warnings.simplefilter("ignore", PredictionWarning)
                scores.append(rules.log_proba(rule, hypotheses, row)[0])
            tell("leaving rows out", len(scores), len(wanted))
    return np.array(scores)


def _fitted(clf: BayesClassifier, model: Model, engine: Engine | None) -> BayesClassifier:
    """Return the classifier after inference of another model; without an engine, for rules that need no draws."""
    fit = copy.copy(clf)
    fit.model_, fit.points_ = model, {}
    if engine is None:
        # The mean and the predictive have closed forms; draws of the fit with all rows must not stand in for them.
        fit.inference_, fit.draws_ = Exact(), inference.Draws({}, chains=1)
    else:
        fit.inference_, fit.draws_ = engine, inference.draw(model, engine, clf.seed_)
    return fit


def models_without(
    model: Model, training: TrainingRows, wanted: Integers, *, narrow: bool
) -> Iterator[tuple[int, Model, Rows]]:
    """Yield the number of a row, the model conditioned on all others, and the row in its encoding.

    The prior that was derived from all rows stays fixed, and so do the columns in use, levels, vocabulary and edges.

    Parameters
    ----------
    model
        Conditioned on the rows.
    training
        The rows.
    wanted
        Numbers of the rows to leave out.
    narrow
        Whether a document's model need only have its own words, all others as one: their shares, means and Dirichlet
        draws are those of the whole vocabulary, but not its mode.
    """
    if isinstance(model, LogisticModel):
        yield from _logistic_without(model, training, wanted)
        return
    assert isinstance(model, GenerativeModel)
    for i, statistics in _statistics_without(model, training, wanted, narrow):
        row = training.rows[np.array([i])]
        blocks, parts = [], []
        for block, without, part in zip(model.blocks, statistics, row.parts, strict=True):
            if without is None:
                narrowed, cells = _of_own_words(block, part, int(training.y[i]))
                blocks.append(narrowed)
                parts.append(cells)
            else:
                # A family that draws θ given α holds the statistics too.
                smoothed = isinstance(block.family, Smoothed)
                family = block.family.resolve_prior(without) if smoothed else block.family
                blocks.append(replace(block, family=family, statistics=without))
                parts.append(part)
        counts = model.label_counts - (np.arange(len(model.labels)) == training.y[i])
        yield i, replace(model, label_counts=counts, blocks=tuple(blocks)), Rows(tuple(parts), 1)


def _logistic_without(
    model: LogisticModel, training: TrainingRows, wanted: Integers
) -> Iterator[tuple[int, LogisticModel, Rows]]:
    """Yield the same for logistic regression, where the weight of the row's duplicates decreases by one."""
    matrix = model.design.matrix(training.rows)
    kind = kinds_of_rows((training.y, matrix))
    _, first, counts = np.unique(kind, return_index=True, return_counts=True)
    different, labels = matrix[first], training.y[first]
    for i in wanted.tolist():
        weight = counts - (np.arange(len(counts)) == kind[i]).astype(float)
        yield i, model.of_rows(different, labels, weight), training.rows[np.array([i])]


def _statistics_without(
    model: GenerativeModel, training: TrainingRows, wanted: Integers, narrow: bool
) -> Iterator[tuple[int, list[Statistics | None]]]:
    """Yield the statistics of all rows but one, one entry per block; None for blocks that can be narrowed.

    Statistics are added, never subtracted, so that no digits cancel: those of the rows outside a stretch of √n rows,
    computed once per stretch, plus those of the other rows in it.
    """
    n, y = len(training), training.y
    size = max(1, isqrt(n))
    blocks = [
        None if narrow and isinstance(block.family, Multinomial) else (block, part)
        for block, part in zip(model.blocks, training.rows.parts, strict=True)
    ]

    def of(rows: Integers) -> list[Any]:
        """Return the statistics of some rows, block by block; None for a block that rows do not enter."""
        return [
            None if b is None else b[0].family.statistics(b[1][rows], y[rows], b[0].statistics.axes) for b in blocks
        ]

    for start in range(0, n, size):
        stretch = np.arange(start, min(start + size, n))
        inside = wanted[(wanted >= start) & (wanted < start + size)]
        if not inside.size:
            continue
        outside = of(np.concatenate([np.arange(start), np.arange(stretch[-1] + 1, n)]))
        for i in inside.tolist():
            others = of(stretch[stretch != i])
            yield i, [None if b is None else b + rest for b, rest in zip(outside, others, strict=True)]


def _of_own_words(block: Block, row: Any, label: int) -> tuple[Block, Array]:
    """Return a block of a document's own words and one for all others, without the document, and its counts.

    If θ is Dirichlet, so is θ with some of its components summed, and α and the counts are summed alike.
    """
    family: Any = block.family
    document = sparse.csr_array(row)
    counts = block.statistics.arrays()["counts"].copy()
    counts[label, document.indices] -= document.data
    own = np.zeros(counts.shape[1], dtype=bool)
    own[document.indices] = True
    words = np.flatnonzero(own)
    names = [family.axes.features[j] for j in words]
    cells = np.bincount(np.searchsorted(words, document.indices), document.data, minlength=len(words))
    alpha = np.asarray(family.alpha)
    tables = [values[:, own] for values in (alpha, counts)]
    if not own.all():
        names.append(REST)
        cells = np.append(cells, 0.0)
        tables = [np.column_stack([t, v[:, ~own].sum(axis=1)]) for t, v in zip(tables, (alpha, counts), strict=True)]
    axes = Axes(family.axes.labels, tuple(names))
    narrowed: Any = MultinomialStatistics(axes, tables[1])
    return replace(block, family=replace(family, alpha=tables[0], axes=axes), statistics=narrowed), cells[None]


def log_joint_without(model: GenerativeModel, rows: Rows, y: Integers) -> Array:
    """Return log p(x_i, k | all rows but i), (row, outcome); NaN where the row needs a refit.

    Parameters
    ----------
    model
        A conjugate model conditioned on the rows.
    rows
        The training rows, each of weight 1.
    y
        Their label codes (row).
    """
    posterior = model.posterior()
    total = posterior.class_prior.log_mean_without(y)
    for block, part in zip(posterior.blocks, rows.parts, strict=True):
        total += block.family.log_predictive_without(part, y)
    return total
