"""Leave-one-out log scores of a fitted classifier: how well each training row's label is predicted from the others.

A row is left out exactly, by a model conditioned on all others, or by reweighting the draws.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isqrt
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, minimize
from scipy.special import log_softmax, logsumexp

from bayesclf import rules
from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import FITTED, BayesClassifier
from bayesclf.classifiers.inputs import checked_labels, require_labels_as
from bayesclf.constraints import Choice, require
from bayesclf.engines import NUTS, Augmentation, Exact, Laplace, Slice, inference
from bayesclf.engines.convergence import of_unit_scale, single, smoothed
from bayesclf.engines.inference import Engine, parameter_count
from bayesclf.errors import DoesNotExist, InputError, PredictionWarning, Refused, warn
from bayesclf.families.base import Statistics
from bayesclf.models import Model
from bayesclf.models.generative import GenerativeModel
from bayesclf.models.linear import Matrix
from bayesclf.models.logistic.model import LogisticModel, StreamedModel
from bayesclf.models.tempered import tempered
from bayesclf.posterior import averaging
from bayesclf.posterior.hypotheses import HypothesisSet
from bayesclf.progress import Progress, shown
from bayesclf.rules import RULES, Gibbs
from bayesclf.tables.columns import Rows
from bayesclf.wording import listed

if TYPE_CHECKING:
    from arviz_stats import ELPDData

__all__ = ["loo", "scored", "stacking_weights"]

METHODS = ("auto", "psis", "exact")

NAMED_ROWS = 5
"""Rows that a warning lists."""

PRECISION = 1e-15
"""Change in mean log score at which to stop: the score is flat near its optimum, where weights settle late."""

NEGLIGIBLE = 1e-8
"""Weights below this are rounding errors of the solver, which only approaches the bound 0."""

NEEDED = "leaving rows out needs the training rows, with a row of weight 2 given twice"

SAME = 1e-6
"""Relative difference up to which statistics are those of the same rows: the order of rows changes rounding."""

MOST_NUMBERS = 5 * 10**9
"""Most random numbers (rows × draws × parameters) for exact draws: some minutes of work."""

QUICK_NUMBERS = 2 * 10**7
"""The same up to which rows are left out exactly without being told to: at most a few seconds of work."""

MOST_RUNS: dict[type, int] = {NUTS: 200, Slice: 200, Augmentation: 500, Laplace: 5_000}
"""Most rows that are left out by one run of the engine each: chains take seconds, Laplace some milliseconds."""

LEAST_DRAWS = 25
"""Draws below which the largest fifth of their weights is too short a tail to fit."""


@dataclass(frozen=True)
class TrainingRows:
    """Training rows in the encoding of their model, and their label codes (row)."""

    rows: Rows
    y: Integers

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class RowElpd:
    """Leave-one-out probabilities of training rows, and their log scores.

    Attributes
    ----------
    log_proba
        log P(k | x_i, all rows but i), (row, outcome).
    y
        Label codes (row).
    with_all
        log P(y_i | x_i, all rows), (row).
    khat
        Pareto shape k̂ (row) of the importance ratios; 0 where a row was left out exactly, as `arviz.reloo` has it.
    """

    log_proba: Array
    y: Integers
    with_all: Array
    khat: Array

    @property
    def without(self) -> Array:
        """The terms of elpd, log P(y_i | x_i, all rows but i), (row)."""
        return np.asarray(self.log_proba[np.arange(len(self.y)), self.y])

    def replaced(self, rows: NDArray[np.bool_], log_proba: Array) -> RowElpd:
        """Return a copy with exact probabilities of some rows."""
        own, khat = self.log_proba.copy(), self.khat.copy()
        own[rows], khat[rows] = log_proba, 0.0
        return RowElpd(own, self.y, self.with_all, khat)


def loo(
    clf: BayesClassifier,
    X: Any,
    y: Any,
    rule: str | Gibbs = "bayes-optimal",
    method: str = "auto",
    progress: Progress = None,
) -> ELPDData:
    """Return the leave-one-out expected log score of P(y | x), in ArviZ's format.

    elpd = Σ_i log P(y_i | x_i, all rows but i), under a rule. A generative posterior was conditioned on x and y
    together. So its draws are reweighted by r_s ∝ 1/p(x_i, y_i | θ_s), Pareto-smoothed, although y is scored given x:

    ================= ==========================================================
    rule              log P(y_i | x_i, all rows but i)
    ================= ==========================================================
    ``bayes-optimal`` log Σ_s r_s P(y_i | x_i, θ_s) / Σ_s r_s
    ``predictive``    log Σ_s r_s p(x_i, y_i | θ_s) / Σ_s r_s p(x_i | θ_s)
    ``tempered``      log Σ_s r_s P(y_i | T_s, b_s, L_i) / Σ_s r_s, r_s ∝ 1/P(y_i | T_s, b_s, L_i), with the exact
                      log densities L_i of `bayesclf.models.tempered`
    ================= ==========================================================

    For logistic regression r_s ∝ 1/P(y_i | x_i, θ_s), both scores are equal, and `arviz.loo` gives the same. A
    generative model's P(y | x, θ) passed to `arviz.loo` is right for ``predictive`` but wrong for ``bayes-optimal``:
    E[1/P(y_i | x_i, θ)] over the posterior is 1/P(y_i | x_i, all rows but i) under ``predictive``.

    Parameters
    ----------
    clf : BayesClassifier
        A fitted classifier.
    X, y
        The rows it was fitted on, in any order, because most fits do not store them. A row of weight w is given as w
        rows. Other rows are refused.
    rule : str or Gibbs
        ``"bayes-optimal"``, ``"predictive"`` or ``"tempered"``; or a plug-in, ``"map"``, ``"mle"`` or ``"mean"``, whose
        estimate without a row is always computed, as there are no draws to reweight.
    method : {"auto", "psis", "exact"}
        ``"psis"``: the weights above. ``"exact"``: the row is left out, in closed form where a conjugate model's
        ``predictive`` has one, else by inference from the other rows. ``"auto"``: exactly where there is a closed form
        or where inference of a conjugate model takes seconds; else weights, and for rows whose k̂ says that weights
        cannot be trusted, inference from the other rows for conjugate models, a warning for others.
    progress : bool, callable or None
        Whether to show progress; or a function that is called with what is being done, rows done and rows in all. None
        shows it in a notebook, and where stderr is a terminal.

    Returns
    -------
    arviz.ELPDData
        For `arviz.compare`, `arviz.plot_khat` and others: ``elpd``; its standard error ``se``; the effective number of
        parameters ``p`` (by how much the score with all rows is better); ``elpd_i`` and ``pareto_k`` (row), 0 where a
        row was left out exactly; ``good_k``, the largest k̂ to trust; ``warning``, whether any k̂ is larger.

    Raises
    ------
    InputError
        For other rows than the training rows, an unknown rule or method, or `clf` that is not a bayesclf classifier.
    Refused
        For a rule that has no such score, a fit without a posterior where the rule needs one, or too much work.
    DoesNotExist
        For a plug-in rule whose estimate does not exist without some row.

    Notes
    -----
    Exact or not, what was derived from all rows stays fixed: the numbers of a default prior, an empirical class prior,
    a learned α, the columns in use, levels, vocabulary, a learned tree. What was learned from a row improves its own
    score, little for a prior's numbers, perhaps much for a tree; cross-validation learns all of it again in each fold.

    References
    ----------
    Vehtari, Gelman & Gabry (2017), doi:10.1007/s11222-016-9696-4; Vehtari et al. (2024), *Pareto smoothed importance
    sampling*, JMLR 25.

    Examples
    --------
    >>> import bayesclf as bc
    >>> days = bc.datasets.load("play_tennis")
    >>> clf = bc.CategoricalNB(alpha=1.0, random_state=1).fit(days.X, days.y)
    >>> round(bc.loo(clf, days.X, days.y, rule="predictive").elpd, 3)
    -10.299
    """
    scores = left_out(clf, X, y, rule, method, progress)
    return _elpd_data(scores, len(clf.hypotheses(RULES[scored(rule)].source)))


def left_out(
    clf: BayesClassifier, X: Any, y: Any, rule: str | Gibbs, method: str = "auto", progress: Progress = None
) -> RowElpd:
    """Return the leave-one-out probabilities of the training rows; arguments and errors are those of `loo`."""
    require(FITTED, clf=clf)
    if X is None or y is None:
        raise InputError("leaving rows out needs the training rows; give both X and y, loo(clf, X, y)")
    name = scored(rule)
    require(Choice(METHODS), method=method)
    if method == "psis" and not RULES[name].averages:
        raise Refused(f"the rule {name!r} plugs in an estimate and has no draws to reweight; use method='exact'")
    training = training_rows(clf, X, y)
    with shown("leave-one-out", None, progress):
        return _scores(clf, training, name, method)


def scored(rule: str | Gibbs) -> str:
    """Return the name of a rule that has log scores; raises `Refused` for the Gibbs classifier."""
    resolved, _ = rules.resolve(rule)
    if resolved.name == "gibbs":
        raise Refused(
            "the Gibbs classifier answers by one draw, so its log score is random; use rule 'bayes-optimal', or its "
            "expected log loss in bayesclf.compare"
        )
    return resolved.name


def _scores(clf: BayesClassifier, training: TrainingRows, rule: str, method: str) -> RowElpd:
    """Return the probabilities of all rows by the method, or by the one that ``"auto"`` chooses."""
    if rule == "tempered" and clf.model_.generative:
        return tempered_scores(clf, training)
    closed_form = not RULES[rule].averages or (rule == "predictive" and conjugate(clf.model_))
    if method == "exact" or (method == "auto" and (closed_form or quick(clf, training))):
        with_all = rules.log_proba(rule, clf.hypotheses(RULES[rule].source), training.rows)
        own = with_all[np.arange(len(training)), training.y]
        without = exact_log_proba(clf, training, rule, np.arange(len(training)))
        return RowElpd(without, training.y, own, np.zeros(len(training)))
    scores = reweighted(clf, training, given_x=rule == "predictive")
    bad = ~(scores.khat <= good_k(len(clf.hypotheses("posterior"))))
    if not bad.any():
        return scores
    reason = ""
    if method == "auto" and conjugate(clf.model_):
        reason = too_much_work(clf, training, rule, int(bad.sum()))
        if not reason:
            return scores.replaced(bad, exact_log_proba(clf, training, rule, np.flatnonzero(bad)))
    _warn(np.flatnonzero(bad) + 1, len(training), reason)
    return scores


def good_k(draws: int) -> float:
    """Return the largest k̂ at which the weights of so many draws can be trusted, min(1 − 1/log₁₀ S, 0.7).

    References
    ----------
    Vehtari et al. (2024), *Pareto smoothed importance sampling*, JMLR 25, §3.2.
    """
    return float(min(1 - 1 / np.log10(draws), 0.7)) if draws > 1 else 0.7


def _warn(bad: Integers, rows: int, reason: str) -> None:
    """Warn about rows that importance weights cannot leave out reliably."""
    remedy = f"{reason}; compare by cross-validation" if reason else "method='exact' repeats the inference without them"
    warn(
        f"for {len(bad)} of {rows} rows ({listed(bad, NAMED_ROWS)}) Pareto k̂ is too large, so that reweighted draws do "
        f"not represent a posterior without the row; {remedy}",
        PredictionWarning,
    )


def _elpd_data(scores: RowElpd, draws: int) -> ELPDData:
    """Return scores in ArviZ's format."""
    import xarray as xr
    from arviz_stats import ELPDDataLOO
    from arviz_stats.base import array_stats

    with np.errstate(invalid="ignore", over="ignore"):  # infinite scores have no differences, and huge ones no square
        p_i = scores.with_all - scores.without
        elpd, se, p, _ = array_stats.loo_summary(scores.without, p_i)
    limit = good_k(draws)

    def by_row(values: Array, name: str) -> xr.DataArray:
        """Return values as an array along the rows, named as ArviZ has it."""
        return xr.DataArray(values, dims="row", coords={"row": np.arange(len(values))}, name=name)

    return ELPDDataLOO(
        elpd=float(elpd),
        se=float(se),
        p=float(p),
        n_samples=draws,
        n_data_points=len(p_i),
        scale="log",
        warning=bool((~(scores.khat <= limit)).any()),
        good_k=limit,
        elpd_i=by_row(scores.without, "elpd_i"),
        pareto_k=by_row(scores.khat, "pareto_k"),
        p_loo_i=by_row(p_i, "p_loo_i"),
    )


def training_rows(clf: BayesClassifier, X: Any, y: Any) -> TrainingRows:
    """Return the rows that a classifier was fitted on, encoded, or raise `InputError` if they differ.

    Parameters
    ----------
    clf
        A fitted classifier.
    X, y
        The table (row, feature) and labels (row) that `fit` was given, or `partial_fit` in all, in any order; a row of
        weight w as w rows.
    """
    rows = clf.rows(X)
    labels = checked_labels(y, len(rows))
    model: Any = clf.model_
    expected = model.label_counts
    require_labels_as(clf.classes_, labels)
    found, counts = np.unique(labels, return_counts=True)
    if not np.array_equal(clf.classes_[expected > 0], found) or not np.array_equal(expected[expected > 0], counts):
        raise InputError(
            f"{NEEDED}: the classifier was fitted on {_listed(clf.classes_, expected)}, but y has "
            f"{_listed(found, counts)}"
        )
    codes = np.searchsorted(clf.classes_, labels)
    if not (_same_statistics if model.generative else _same_design)(model, rows, codes):
        raise InputError(
            f"{NEEDED}: X and y have as many rows of each class as the classifier was fitted on, but not the same ones"
        )
    return TrainingRows(rows, codes)


def _same_statistics(model: GenerativeModel, rows: Rows, y: Integers) -> bool:
    """Return whether rows have the statistics that a model was conditioned on."""
    for block, part in zip(model.blocks, rows.parts, strict=True):
        expected = block.statistics.arrays()
        found = block.family.statistics(part, y, block.statistics.axes).arrays()
        if not all(_close(found[name], values) for name, values in expected.items()):
            return False
    return True


def _same_design(model: LogisticModel, rows: Rows, y: Integers) -> bool:
    """Return whether rows have the column sums and squares, by class, that a model stores."""
    X = model.design.matrix(rows)
    if isinstance(model, StreamedModel):
        return model.has_moments_of(np.asarray(X))
    stored = _sums(model.X, model.y, model.sample_weight, len(model.labels))
    return _close(_sums(X, y, np.ones(len(y)), len(model.labels)), stored)


def _sums(X: Matrix, y: Integers, weight: Array, labels: int) -> Array:
    """Return sums of columns and of their squares over the rows of each class, (outcome, 2 · column)."""
    own = (y == np.arange(labels)[:, None]) * weight
    return np.hstack([own @ X, own @ (X**2 if isinstance(X, np.ndarray) else X.power(2))])


def _close(found: Array, expected: Array) -> bool:
    """Return whether two arrays are equal up to rounding."""
    largest = np.abs(expected).max(initial=0.0)
    return found.shape == expected.shape and np.allclose(found, expected, rtol=SAME, atol=SAME**2 * largest)


def _listed(labels: NDArray[Any], counts: NDArray[Any]) -> str:
    """Return how many rows there are of each label, in words."""
    return ", ".join(f"{count:g} of {str(label)!r}" for label, count in zip(labels, counts, strict=True))


def exact_log_proba(clf: BayesClassifier, training: TrainingRows, rule: str, wanted: Integers) -> Array:
    """Return log P(k | x_i, all rows but i) of some rows, (wanted, outcome).

    In closed form where the rule is ``"predictive"`` and the model conjugate, else from a model without the row: its
    estimate, or draws of its posterior, made by the classifier's engine with the same seed for every row.

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
    return not model.not_conjugate()


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
    return rows * len(clf.hypotheses("posterior")) * parameter_count(clf.model_)


def _engine(clf: BayesClassifier, rule: str) -> Engine | None:
    """Return what draws from the posterior without a row; None where the rule needs no draws."""
    closed_form = conjugate(clf.model_)
    if rule in ("map", "mle") or (closed_form and rule in ("mean", "predictive")):
        return None
    return Exact(len(clf.hypotheses("posterior")), 1) if closed_form else clf.inference_


def _refitted(clf: BayesClassifier, training: TrainingRows, rule: str, wanted: Integers) -> Array:
    """Return log P(k | x_i) under models conditioned on all rows but one each, (wanted, outcome)."""
    if reason := too_much_work(clf, training, rule, len(wanted)):
        raise Refused(f"{reason}; use method='psis', or K-fold cross-validation")
    engine = _engine(clf, rule)
    scores = []
    with shown("leaving rows out", len(wanted)) as tell:
        for i, model, row in models_without(clf.model_, training, wanted):
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


def models_without(model: Model, training: TrainingRows, wanted: Integers) -> Iterator[tuple[int, Model, Rows]]:
    """Yield the number of a row, the model conditioned on all others, and the row in its encoding.

    The prior that was derived from all rows stays fixed, and so do the columns in use, levels, vocabulary and edges.
    """
    if isinstance(model, LogisticModel):
        X = model.design.matrix(training.rows)
        for i in wanted.tolist():
            others = np.delete(np.arange(len(training)), i)
            yield i, model.of_rows(X[others], training.y[others], np.ones(len(others))), training.rows[np.array([i])]
        return
    assert isinstance(model, GenerativeModel)
    for i, statistics in _statistics_without(model, training, wanted):
        pairs = zip(model.blocks, statistics, strict=True)
        blocks = tuple(replace(block, statistics=without) for block, without in pairs)
        counts = model.label_counts - (np.arange(len(model.labels)) == training.y[i])
        yield i, replace(model, label_counts=counts, blocks=blocks), training.rows[np.array([i])]


def _statistics_without(
    model: GenerativeModel, training: TrainingRows, wanted: Integers
) -> Iterator[tuple[int, list[Statistics]]]:
    """Yield the statistics of all rows but one, one entry per block; added, never subtracted, so no digits cancel."""
    n, y = len(training), training.y
    size = max(1, isqrt(n))

    def of(rows: Integers) -> list[Any]:
        """Return the statistics of some rows, block by block."""
        blocks = zip(model.blocks, training.rows.parts, strict=True)
        return [block.family.statistics(part[rows], y[rows], block.statistics.axes) for block, part in blocks]

    for start in range(0, n, size):
        stretch = np.arange(start, min(start + size, n))
        inside = wanted[(wanted >= start) & (wanted < start + size)]
        if not inside.size:
            continue
        outside = of(np.concatenate([np.arange(start), np.arange(stretch[-1] + 1, n)]))
        for i in inside.tolist():
            others = of(stretch[stretch != i])
            yield i, [most + rest for most, rest in zip(outside, others, strict=True)]


def log_joint_without(model: GenerativeModel, rows: Rows, y: Integers) -> Array:
    """Return log p(x_i, k | all rows but i), (row, outcome); NaN where the row needs a refit."""
    densities = model.log_density_without(rows, y)
    assert densities is not None
    return model.posterior().class_prior.log_mean_without(y) + densities


def reweighted(clf: BayesClassifier, training: TrainingRows, given_x: bool) -> RowElpd:
    """Return the leave-one-out probabilities of all rows, blocks of rows at a time.

    The posterior was conditioned on p(x_i, y_i | θ), of a discriminative model on P(y_i | x_i, θ): without row i its
    draws have weights r_s proportional to the inverse of that density, whatever the score is.

    References
    ----------
    Vehtari, Gelman & Gabry, *Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC*,
    Statistics and Computing 27 (2017), doi:10.1007/s11222-016-9696-4.
    """
    hypotheses = clf.hypotheses("posterior")
    if len(hypotheses) < LEAST_DRAWS:
        raise Refused(
            f"{len(hypotheses)} draws are too few for Pareto-smoothed importance weights, which need {LEAST_DRAWS}; "
            "fit with more draws"
        )
    efficiency = _relative_efficiency(clf, len(hypotheses))
    parts = [
        _block(hypotheses, training, block, given_x and hypotheses.generative, efficiency)
        for block in averaging.blocks(hypotheses, training.rows)
    ]
    log_proba, with_all, khat = (np.concatenate(column) for column in zip(*parts, strict=True))
    return RowElpd(log_proba, training.y, with_all, khat)


def tempered_scores(clf: BayesClassifier, training: TrainingRows) -> RowElpd:
    """Return the leave-one-out probabilities of all rows under the rule ``"tempered"`` of a generative model.

    Densities are those without the row, exactly; the draws of T and b, which learned from its label, are reweighted.
    """
    source: Any = clf.hypotheses("tempered")
    L = source.model.log_density_without(training.rows, training.y)
    if np.isnan(L).any():
        row = int(np.flatnonzero(np.isnan(L).any(axis=1))[0])
        raise Refused(f"row {row + 1} is too large to be left out in closed form; compare by cross-validation")
    each = np.arange(len(training))
    log_proba, khat = np.empty(L.shape), np.empty(len(L))
    for block in averaging.blocks(source, training.rows):
        scores = np.moveaxis(tempered(L[block], source.model.mean_log_class_prior(), source.parameters), 0, 2)
        answers = log_softmax(scores, axis=1)
        log_weight, khat[block] = smoothed(answers[each[: len(answers)], training.y[block]], 1.0)
        log_proba[block] = logsumexp(log_weight[:, None] + answers, axis=2)
    own = rules.log_proba("tempered", source, training.rows)[each, training.y]
    return RowElpd(log_proba, training.y, own, khat)


def _block(
    hypotheses: HypothesisSet, training: TrainingRows, block: slice, given_x: bool, efficiency: float
) -> tuple[Array, Array, Array]:
    """Return log P(k | x) without the row (row, outcome), that of its label with it (row), and k̂ (row) of some rows."""
    answer, y = averaging.conditional(hypotheses, training.rows[block]), training.y[block]
    own = answer.log_proba[np.arange(len(y)), y]
    log_weight, khat = smoothed(own + answer.log_x if hypotheses.generative else own, efficiency)
    # Under "predictive" a draw counts as far as x is probable under it; under the other rules x is no evidence.
    log_x = answer.log_x if given_x else np.zeros_like(own)
    without = log_weight + log_x
    left_out = logsumexp(without[:, None] + answer.log_proba, axis=2) - logsumexp(without, axis=1)[:, None]
    return left_out, logsumexp(log_x + own, axis=1) - logsumexp(log_x, axis=1), khat


def _relative_efficiency(clf: BayesClassifier, draws: int) -> float:
    """Return effective draws over draws, averaged over the parameters, as ArviZ's `loo` takes it."""
    posterior: Any = None if isinstance(clf.inference_, Exact) else clf.posterior_["posterior"].to_dataset()
    if posterior is None or posterior.sizes["chain"] == 1:
        return 1.0
    from arviz_stats.base import array_stats

    _, scalars = single(posterior, map(str, posterior))
    return float(np.nanmean(array_stats.ess(of_unit_scale(scalars), method="mean")) / draws)


def stacking_weights(log_score: Array, sample_weight: Array | None = None) -> Array:
    """Return the weights w ≥ 0, Σ w = 1, that maximize Σ_i log Σ_m w_m P_m(y_i | x_i, all rows but i), (model).

    The problem is concave: SLSQP finds its global optimum from equal weights.

    Parameters
    ----------
    log_score
        log P_m(y_i | x_i, all rows but i), (row, model); −∞ where a model gives 0, but not for all models of a row.
    sample_weight
        How often each row counts (row), at least 0; once by default.

    Raises
    ------
    InputError
        For a row to which every model gives probability 0.

    References
    ----------
    Yao, Vehtari, Simpson & Gelman (2018), *Using stacking to average Bayesian predictive distributions*, Bayesian
    Analysis 13, doi:10.1214/17-BA1091.

    Examples
    --------
    >>> stacking_weights(np.log([[0.9, 0.5], [0.2, 0.5], [0.9, 0.5]])).round(3)
    array([0.694, 0.306])
    """
    if sample_weight is not None:
        log_score, sample_weight = log_score[sample_weight > 0], sample_weight[sample_weight > 0]
    largest = log_score.max(axis=1, keepdims=True)
    if not np.isfinite(largest).all():
        row = int(np.flatnonzero(~np.isfinite(largest))[0])
        raise InputError(f"row {row + 1} has probability 0 under every model, so no mixture is best")
    likelihood = np.exp(log_score - largest)
    models = log_score.shape[1]

    def loss(weights: Array) -> tuple[float, Array]:
        """Return the negative mean log score of the mixture, and its gradient in the weights."""
        mixed = likelihood @ weights
        slope = np.average(likelihood / mixed[:, None], axis=0, weights=sample_weight)
        return -float(np.average(np.log(mixed), weights=sample_weight)), -slope

    with np.errstate(divide="ignore", invalid="ignore"):  # a step may end where a row has probability 0
        found = minimize(
            loss,
            np.full(models, 1 / models),
            jac=True,
            method="SLSQP",
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(np.ones(models), 1, 1),
            options={"ftol": PRECISION, "maxiter": 1000},
        )
    weights = np.where(found.x > NEGLIGIBLE, found.x, 0.0)
    return np.asarray(weights / weights.sum())
