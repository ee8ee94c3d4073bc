"""Leave-one-out log scores of a fitted classifier: how well each training row's label is predicted from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize

from bayesclf import rules
from bayesclf.arrays import Array, Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.constraints import Choice, require
from bayesclf.errors import InputError, PredictionWarning, Refused, warn
from bayesclf.evaluation.leaving_out import (
    RowElpd,
    TrainingRows,
    conjugate,
    exact_log_proba,
    quick,
    reweighted,
    tempered_scores,
    too_much_work,
    training_rows,
)
from bayesclf.progress import Progress, shown
from bayesclf.rules import RULES, Gibbs
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
    together, so its draws are reweighted by r_s ∝ 1/p(x_i, y_i | θ_s), Pareto-smoothed, although the score is that of y
    given x:

    ================= ==========================================================
    rule              log P(y_i | x_i, all rows but i)
    ================= ==========================================================
    ``bayes-optimal`` log Σ_s r_s P(y_i | x_i, θ_s) / Σ_s r_s
    ``predictive``    log Σ_s r_s p(x_i, y_i | θ_s) / Σ_s r_s p(x_i | θ_s)
    ``tempered``      log Σ_s r_s P(y_i | T_s, b_s, L_i) / Σ_s r_s, r_s ∝ 1/P(y_i | T_s, b_s, L_i), with the exact
                      log densities L_i of `bayesclf.models.tempered`
    ================= ==========================================================

    For logistic regression r_s ∝ 1/P(y_i | x_i, θ_s), both scores are equal and are those of `arviz.loo`. A generative
    model's P(y | x, θ) passed to `arviz.loo` is right for ``predictive``, as E[1/P(y_i | x_i, θ)] over the posterior
    is 1/P(y_i | x_i, all rows but i) under that rule, but wrong for ``bayes-optimal``.

    Parameters
    ----------
    clf : BayesClassifier
        A fitted classifier.
    X, y
        The rows it was fitted on, in any order, a row of weight w as w rows, because most fits do not store their rows.
        Other rows are refused.
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
        For `arviz.compare`, `arviz.plot_khat` and others: ``elpd``, its standard error ``se``, the effective number of
        parameters ``p`` (by how much the score with all rows is better), ``elpd_i`` and ``pareto_k`` (row), 0 where a
        row was left out exactly, ``good_k``, the largest k̂ to trust, ``warning``, whether some row's is larger.

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
    if not isinstance(clf, BayesClassifier):
        raise InputError(f"clf must be a fitted bayesclf classifier, not {clf!r}")
    if X is None or y is None:
        raise InputError("leaving rows out needs the training rows; give both X and y, loo(clf, X, y)")
    name = scored(rule)
    require(Choice(METHODS), method=method)
    if method == "psis" and not RULES[name].averages:
        raise Refused(f"the rule {name!r} plugs in an estimate and has no draws to reweight; take method='exact'")
    training = training_rows(clf, X, y)
    with shown("leave-one-out", None, progress):
        return _scores(clf, training, name, method)


def scored(rule: str | Gibbs) -> str:
    """Return the name of a rule that has log scores; raises `Refused` for the Gibbs classifier."""
    resolved, _ = rules.resolve(rule)
    if resolved.name == "gibbs":
        raise Refused(
            "the Gibbs classifier answers by one draw, whose log score is noise; take rule 'bayes-optimal', or its "
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
        raise InputError(f"row {row + 1} has probability 0 under every model, so that no mixture of them is best")
    likelihood = np.exp(log_score - largest)
    ones = np.ones(log_score.shape[1])

    def loss(weights: Array) -> tuple[float, Array]:
        """Return the negative mean log score of the mixture, and its gradient in the weights."""
        mixed = likelihood @ weights
        slope = np.average(likelihood / mixed[:, None], axis=0, weights=sample_weight)
        return -float(np.average(np.log(mixed), weights=sample_weight)), -slope

    with np.errstate(divide="ignore", invalid="ignore"):  # a step may end where a row has probability 0
        solve: Any = minimize  # its type stubs do not fit the constraint given as functions
        found = solve(
            loss,
            ones / ones.size,
            jac=True,
            method="SLSQP",
            bounds=[(0, 1)] * ones.size,
            constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1, "jac": lambda _: ones},
            options={"ftol": PRECISION, "maxiter": 1000},
        )
    weights = np.where(found.x > NEGLIGIBLE, found.x, 0.0)
    return np.asarray(weights / weights.sum())
