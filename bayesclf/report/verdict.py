"""The verdict: which entry of the comparison is best, how clearly, and what not to trust."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.peers import NO_RULE
from bayesclf.report.table import failures
from bayesclf.rules import RULES
from bayesclf.wording import counted, joined, number, pair, percent

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.diagnostics import Diagnosis

CLEAR = 0.95
"""Confidence level at which a difference is called clear."""

OVERCONFIDENT_FROM = 0.01
"""Smallest excess of mean confidence over accuracy that counts as over-confidence, if it is also clear."""

NAMES = ("Bayes", "Brier", "Gibbs", "Laplace", "Markov", "Monte", "Pareto", "R-hat", "Student's")
"""First words of titles that are proper names and keep their capital within a sentence."""

READING = (
    "Over-confidence has three causes: few rows, a prior that does not fit, and false assumptions. Averaging over the "
    "posterior reduces the first as far as the prior is right, and does not repair the others: expect naive Bayes to "
    "be too sure of itself wherever its columns are correlated.",
    "Credible intervals are conditional on the model: under a false assumption they shrink around a wrong value.",
    "Twice the Bayes-optimal error bounds the Gibbs error for targets drawn from the prior only, not on real data.",
    "Standard errors are Nadeau and Bengio's, which allow for the overlap of training sets; differences are paired on "
    "the same folds. Many entries were compared, so the score of the best is slightly optimistic.",
)
"""What holds for every comparison."""


@dataclass(frozen=True)
class Verdict:
    """Sentences of the first screen.

    Attributes
    ----------
    headline
        The entry with the smallest log loss.
    findings
        How it compares with the others, by log loss and accuracy.
    cautions
        What not to trust in this comparison.
    """

    headline: str
    findings: tuple[str, ...]
    cautions: tuple[str, ...]


def verdict(comparison: Comparison, table: pd.DataFrame, diagnoses: Mapping[str, Diagnosis] | None = None) -> Verdict:
    """Judge a comparison by its table and by the checks of the fits on all rows, by model.

    Without checks, the convergence problems that the fits reported are used instead.
    """
    issues = _issues(comparison, diagnoses)
    cautions = (*_unavailable(comparison), *_infinite(table), *issues, *_overconfident(comparison))
    records = table[table["log_loss"].notna()].to_dict("records") if "log_loss" in table else []
    if not records:
        return Verdict("No model could answer under any rule.", (), cautions)
    best = next(record for record in records if (record["model"], record["rule"]) == comparison.best)
    others = [record for record in records if record is not best]
    folds = len(comparison.splits)
    common = (*_accuracy(records, best, folds), *_cheapest(records, best, folds))
    if np.isinf(best["log_loss"]):
        headline = "Every entry gave the true class of some row the probability 0, so log loss ranks none first."
        return Verdict(headline, common, cautions)
    headline = (
        f"Use {_name(best)}: it has the smallest log loss, {pair(best['log_loss'], best['log_loss_se'])}, "
        f"and an accuracy of {percent(best['accuracy'], best['accuracy_se'])}."
    )
    return Verdict(headline, (*_runners_up(others, best, folds), *common), cautions)


def _name(record: dict[Any, Any]) -> str:
    return record["model"] if record["rule"] == NO_RULE else f"{record['model']} under {record['rule']}"


def is_clear(difference: float, error: float, folds: float = np.inf) -> bool:
    """Return whether a difference is significant at `CLEAR` by Student's t over the folds.

    Nadeau and Bengio's corrected statistic is referred to t with one degree of freedom less than there are folds: five
    folds need 2.8 standard errors, not 2.
    """
    quantile = stats.t.ppf((1 + CLEAR) / 2, folds - 1) if np.isfinite(folds) else stats.norm.ppf((1 + CLEAR) / 2)
    return bool(np.isinf(difference) or abs(difference) > quantile * error + 1e-12)


def _runners_up(others: list[dict[Any, Any]], best: dict[Any, Any], folds: int) -> tuple[str, ...]:
    """Compare the best entry with the next rule of its model and with the best entry of every other model."""
    sentences = []
    finite = sorted((r for r in others if np.isfinite(r["log_loss"])), key=lambda record: float(record["log_loss"]))
    by_model: dict[str, dict[Any, Any]] = {}
    for record in finite:
        by_model.setdefault(record["model"], record)
    for record in by_model.values():  # in the order of their log loss
        difference, error = record["log_loss_diff"], record["log_loss_diff_se"]
        size = f"difference {pair(difference, error)}"
        if is_clear(difference, error, folds):
            sentences.append(f"The best entry is clearly ahead of {_name(record)} ({size}).")
        elif abs(difference) < 1e-12:
            sentences.append(f"{_name(record)} has the same log loss.")
        else:
            sentences.append(f"The best entry is not clearly ahead of {_name(record)} ({size}).")
    near = sum(not is_clear(record["log_loss_diff"], record["log_loss_diff_se"], folds) for record in finite)
    if len(others) > len(by_model):
        share = "All" if near == len(others) else f"{near} of the {len(others)}"
        verb = "is" if near == 1 else "are"
        sentences.append(f"{share} other entries {verb} not clearly behind it by log loss.")
    return tuple(sentences)


def _accuracy(records: list[dict[Any, Any]], best: dict[Any, Any], folds: int) -> tuple[str, ...]:
    """Name the most accurate entry, against the one with the smallest log loss."""
    top = max(record["accuracy"] for record in records)
    leaders = [record for record in records if top - record["accuracy"] < 1e-9]
    others = counted(len(leaders) - 1, "other entry", "other entries")
    if best in leaders:
        shared = f", shared with {others}" if len(leaders) > 1 else ""
        return (f"Its accuracy is the best as well{shared}.",) if np.isfinite(best["log_loss"]) else ()
    leader = leaders[0]
    equal = f" (as has {others})" if len(leaders) > 1 else ""
    sentence = f"{_name(leader)} has the best accuracy{equal}, {percent(leader['accuracy'], leader['accuracy_se'])}"
    if not np.isfinite(best["log_loss"]):
        return (f"{sentence}.",)
    points, error = 100 * leader["accuracy_diff"], 100 * leader["accuracy_diff_se"]
    word = "clearly" if is_clear(points, error, folds) else "indistinguishably"
    return (f"{sentence}, {word} above that entry (by {pair(points, error, 1)} percentage points).",)


def _cheapest(records: list[dict[Any, Any]], best: dict[Any, Any], folds: int) -> tuple[str, ...]:
    """Name the entry whose decisions cost least, where the comparison has costs."""
    if "cost" not in best:
        return ()
    leader = min(records, key=lambda record: (float(record["cost"]), record is not best))
    rejected = f", with {percent(leader['rejected'])} of the rows rejected" if leader["rejected"] > 0 else ""
    price = f"{pair(leader['cost'], leader['cost_se'])} per row{rejected}"
    if leader is best:
        return (f"At the given costs its decisions are also the cheapest, {price}.",)
    saved, error = -leader["cost_diff"], leader["cost_diff_se"]
    word = "clearly" if is_clear(saved, error, folds) else "indistinguishably"
    size = f"{word} below that entry's (by {pair(saved, error)})"
    return (f"At the given costs the decisions of {_name(leader)} are the cheapest, {price}: {size}.",)


def _unavailable(comparison: Comparison) -> list[str]:
    models: dict[tuple[str, str], list[str]] = {}
    for (model, reason), rules in failures(comparison).items():
        models.setdefault((joined(rules), reason), []).append(model)
    return [
        f"{joined(names)} {'has' if len(names) == 1 else 'have'} no answer"
        f"{'' if rules == NO_RULE else f' under {rules}'}: {reason.rstrip('.')}."
        for (rules, reason), names in models.items()
    ]


def _infinite(table: pd.DataFrame) -> list[str]:
    if "log_loss_infinite" not in table:
        return []
    return [
        f"{_name(record)} gave the true class the probability 0 in {counted(int(record['log_loss_infinite']), 'row')}, "
        f"so its log loss is infinite; over the rest it is {number(record['log_loss_finite'])}."
        for record in table[table["log_loss_infinite"] > 0].to_dict("records")
    ]


def _issues(comparison: Comparison, diagnoses: Mapping[str, Diagnosis] | None) -> list[str]:
    """Say what the checks of the fits found, or without checks, which convergence problems the fits reported."""
    if diagnoses is None:
        return [
            f"The draws of {model} cannot be trusted yet: {problem.rstrip('.')}."
            for model, fit in comparison.fits.items()
            for problem in fit.convergence_problems_
        ]
    return [
        f"{model}, {in_sentence(finding.title)}: {finding.reason} ({finding.code})."
        for model, diagnosis in diagnoses.items()
        for finding in diagnosis.issues
    ]


def in_sentence(title: str) -> str:
    """Return a title as it stands within a sentence, its first letter small unless the first word is a name.

    Examples
    --------
    >>> in_sentence("Tree depth"), in_sentence("Monte Carlo error"), in_sentence("E-BFMI of each chain")
    ('tree depth', 'Monte Carlo error', 'E-BFMI of each chain')
    """
    first = title.partition(" ")[0]
    return title if first in NAMES or any(c.isupper() for c in first[1:]) else title[:1].lower() + title[1:]


def _overconfident(comparison: Comparison) -> list[str]:
    """Name the rules of each model whose confidence exceeds their accuracy.

    Gibbs is left out: its probabilities are those of a single hypothesis, drawn for each row, and over-confident by
    construction.
    """
    sentences = []
    for model in comparison.models:
        rules = [rule for rule in comparison.rules_of(model) if rule != "gibbs"]
        gaps = {rule: overconfidence(comparison, model, rule) for rule in rules}
        clear = {rule: gap for rule, gap in gaps.items() if gap > 0}
        if not clear:
            continue
        worst = max(clear, key=lambda rule: clear[rule])
        points = number(100 * clear[worst], 1)
        excess = f"its mean confidence exceeds its accuracy by {points} points"
        if worst == NO_RULE:
            sentences.append(f"{model} is over-confident: {excess}.")
            continue
        text = f"{model} is over-confident under {joined(clear)}: under {worst} {excess}"
        sentences.append(f"{text}{_averaging(gaps)}.")
    return sentences


def _averaging(gaps: dict[str, float]) -> str:
    """Say whether over-confidence is still clear under the rules that average over the posterior, if there are any."""
    averaged = [rule for rule in gaps if RULES[rule].averages]
    unclear, left = ([rule for rule in averaged if (gaps[rule] > 0) == over] for over in (False, True))
    if unclear and left:
        still = f"but still under {joined(left)}"
        return f"; averaged over the posterior it is no longer clear under {joined(unclear)}, {still}"
    if left:
        return "; averaging over the posterior does not remove it"
    return "; averaged over the posterior it is no longer clear" if unclear else ""


def overconfidence(comparison: Comparison, model: str, rule: str) -> float:
    """Return mean confidence − accuracy if that is clear and not small, else 0."""
    log_proba, y = comparison.stacked(model, rule)
    confidence = float(np.exp(log_proba.max(axis=1)).mean())
    accuracy = float((log_proba.argmax(axis=1) == y).mean())
    error = np.sqrt(max(confidence * (1 - confidence), 1e-6) / len(comparison.y))
    gap = confidence - accuracy
    return gap if gap > OVERCONFIDENT_FROM and is_clear(gap, float(error)) else 0.0
