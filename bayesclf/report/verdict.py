"""The verdict: which model to use, how good it is, how clearly, and what not to trust; also in a few lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from bayesclf.arrays import Array
from bayesclf.display import Display
from bayesclf.errors import DoesNotExist, Refused
from bayesclf.evaluation.comparison import Comparison, score_table
from bayesclf.evaluation.peers import NO_RULE
from bayesclf.evaluation.score_table import BASELINE, CONFIDENCE, MATTERS, MOST_NATS, Key, Standing, mean, standings
from bayesclf.report.facts import Fact, Score, calibration, facts
from bayesclf.report.names import entry_name, entry_subject, full_name
from bayesclf.report.table import failures, log_loss, signed
from bayesclf.rules import RULES
from bayesclf.wording import counted, first_upper, joined, named, number, pair, percent

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.diagnostics import Diagnosis
    from bayesclf.evaluation.comparison import Comparison

OVERCONFIDENT_FROM = 0.01
"""Smallest excess of mean confidence over accuracy that counts as over-confidence, if it is also clear."""

NAMES = ("Bayes", "Brier", "Gibbs", "Laplace", "Markov", "Monte", "Pareto", "R-hat", "Student's")
"""First words of titles that are proper names and keep their capital within a sentence."""

DEFINED = (
    f"Clear differences hold for all entries together at a confidence level of {100 * CONFIDENCE:.0f} %. Differences "
    f"of log loss below {MATTERS:g}, one percent in the probability of the true class, do not matter and count as ties."
    " ± after a difference in these sentences is one standard error over the rows, with Nadeau and Bengio's allowance "
    "for training rows that folds share; ± of a score, and of differences in the table of scores, is one over the "
    "folds, with the same allowance. Both are of the same uncertainty, and need not be equal."
)
"""What the words of the verdict mean."""

OVER_FOLDS = "one standard error over the folds (Nadeau–Bengio)"
"""What ± is after a score of a comparison, and after differences in its table."""

READING = (
    "Over-confidence has three causes: few rows, a prior that does not fit, and false assumptions. Averaging over the "
    "posterior reduces the first as far as the prior is right, and does not repair the others: expect naive Bayes to "
    "be too sure of itself wherever its columns are correlated.",
    "Credible intervals are conditional on the model: under a false assumption they shrink around a wrong value.",
    "Twice the Bayes-optimal error bounds the Gibbs error for targets drawn from the prior only, not on real data.",
    "Many entries were compared, so the score of the best is slightly optimistic.",
)
"""What holds for every comparison."""

LARGE_SHARE = 0.5
"""Share of a log loss from which on the rows that make it up are worth a sentence."""

MOST_ROWS = 100
"""Rows whose log-odds are taken apart, the worst ones."""

MOST_COLUMNS = 3
"""Columns that are named at most."""

NAMED_SHARE = 0.1
"""Share of what speaks against the true classes from which on a column is named."""

SHOWN_NOTES = 8
"""The most sentences about the reading of a table on the first screen."""

MOST_REASONS = 2
"""Reasons why rules have no answer that are shown; `table` has all."""

ERRORS = "(± over folds; below, over rows)"
"""What the standard errors of the table are over, and those of the sentences below it."""


@dataclass(frozen=True)
class Verdict:
    """What the first screen says.

    Attributes
    ----------
    headline
        Which model to use, or that none is better than the shares of the classes.
    findings
        How the other models compare with it, then its rules.
    cautions
        What not to trust in this comparison.
    facts
        How good the recommended model is.
    models
        Where the models stand, each at its best rule, and the baseline; the best one first.
    """

    headline: str
    findings: tuple[str, ...]
    cautions: tuple[str, ...]
    facts: tuple[Fact, ...] = ()
    models: tuple[Standing, ...] = ()


def verdict(comparison: Comparison, table: pd.DataFrame, diagnoses: Mapping[str, Diagnosis] | None = None) -> Verdict:
    """Judge a comparison by its table and by the checks of the fits on all rows, by model.

    Without checks, the convergence problems that the fits reported are used instead.
    """
    issues = _issues(comparison, diagnoses)
    wrong = (*_unavailable(comparison), *_infinite(comparison, table), *issues, *_overconfident(comparison))
    cautions = (*_read(comparison), *wrong)
    records = table[table["log_loss"].notna()].to_dict("records") if "log_loss" in table else []
    if not records:
        return Verdict("No model could answer under any rule.", (), cautions)
    scores = {_key(record): record for record in records}
    common = (*_accuracy(comparison, scores), *_cheapest(comparison, scores))
    best = comparison.best
    if np.isinf(scores[best]["log_loss"]):
        headline = "Every entry gave the true class of some row the probability 0, so log loss ranks none first."
        return Verdict(headline, common, cautions)
    leaders = [_leader(comparison, model) for model in comparison.models if comparison.rules_of(model)]
    ranked = standings(comparison, [*leaders, BASELINE])
    models = ranked if _key(ranked[0]) == best else standings(comparison, leaders)
    others = [standing for standing in models[1:] if _key(standing) != BASELINE]
    baseline = next(standing for standing in ranked if _key(standing) == BASELINE)
    useless = [
        _key(one) for one in standings(comparison, [*leaders, BASELINE], against=BASELINE) if one.kind == "behind"
    ]
    against = (_against_best(comparison, one, baseline.loss if _key(one) in useless else None) for one in others)
    return Verdict(
        _headline(comparison, scores[best], baseline),
        (*against, *_rules(comparison, best), *common),
        cautions,
        _facts(comparison, scores[best]),
        tuple(ranked),
    )


def _read(comparison: Comparison) -> list[str]:
    """Return what was decided while the table was read, as one sentence, if anything was."""
    if not comparison.read:
        return []
    more = len(comparison.read) - SHOWN_NOTES
    rest = f"; and {more} more, listed under Data" if more > 0 else ""
    return [f"While the table was read: {'; '.join(comparison.read[:SHOWN_NOTES])}{rest}."]


def _key(entry: Any) -> Key:
    """Return the model and rule of a line of the table, or of a standing."""
    return (entry.model, entry.rule) if isinstance(entry, Standing) else (entry["model"], entry["rule"])


def _leader(comparison: Comparison, model: str) -> Key:
    """Return a model's entry with the smallest log loss, the first of those that tie."""
    return min(
        ((model, rule) for rule in comparison.rules_of(model)), key=lambda key: mean(comparison, key, "log_loss")
    )


def _headline(comparison: Comparison, best: dict[Any, Any], baseline: Standing) -> str:
    """Say which model to use, or that none is worth using."""
    name = entry_name(comparison, *_key(best))
    if baseline.kind == "behind":
        return f"Use {name}."
    return (
        "No model is clearly better than always giving the shares of the classes, whose log loss is "
        f"{number(baseline.loss)}; {name}, has the smallest of the models, "
        f"{pair(best['log_loss'], best['log_loss_se'])}."
    )


def _against_best(comparison: Comparison, standing: Standing, shares: float | None) -> str:
    """Say where a model stands, at its best rule; `shares` is the log loss of the classes' shares if that is better."""
    name = first_upper(entry_subject(comparison, standing.model, standing.rule))
    size = pair(standing.difference, standing.error)
    if standing.kind == "tied":
        amount = "the same log loss" if abs(standing.difference) < 1e-12 else f"its log loss is larger by {size} only"
        return f"{name} is tied with it: {amount}."
    if standing.kind == "open":
        return f"{name} is not clearly behind: its log loss is larger by {size}."
    reason = extremes(comparison, standing.model, standing.rule)
    amount = "its log loss is infinite" if np.isinf(standing.loss) else f"its log loss is larger by {size}"
    if shares is not None and np.isfinite(standing.loss):
        amount += f", and clearly above that of always giving the shares of the classes, {number(shares)}"
    return f"{name} is clearly behind: {amount}{f'; {reason}' if reason else ''}."


def _rules(comparison: Comparison, best: Key) -> Iterable[str]:
    """Compare the rules of the recommended model, in one sentence."""
    model, rule = best
    found = standings(comparison, [(model, other) for other in comparison.rules_of(model)])[1:]
    parts = []
    for kind, words in (("tied", "tied with"), ("open", "not clearly behind"), ("behind", "clearly behind")):
        named = [
            standing.rule if kind == "tied" else f"{standing.rule} (by {pair(standing.difference, standing.error)})"
            for standing in found
            if standing.kind == kind
        ]
        if named:
            parts.append(f"{joined(named)} {'is' if len(named) == 1 else 'are'} {words} {rule}")
    if parts:
        yield f"The rules of {model}: {'; '.join(parts)}."


def _accuracy(comparison: Comparison, scores: Mapping[Key, dict[Any, Any]]) -> tuple[str, ...]:
    """Name the most accurate entry, if it is not the one with the smallest log loss."""
    best = comparison.best
    found = standings(comparison, list(scores), "error")
    own = next(standing for standing in found if _key(standing) == best)
    leader = found[0]
    if own.difference < 1e-9 or not np.isfinite(scores[best]["log_loss"]):
        return ()
    name = entry_name(comparison, *_key(leader))
    size = f"{pair(100 * own.difference, 100 * own.error, 1)} percentage points"
    word = "clearly " if own.kind == "behind" else "not clearly "
    return (f"The best accuracy is that of {name}, {word}above that of the recommended one (by {size}).",)


def _cheapest(comparison: Comparison, scores: Mapping[Key, dict[Any, Any]]) -> tuple[str, ...]:
    """Name the entry whose decisions cost least, where the comparison has costs."""
    if comparison.costs is None:
        return ()
    best = comparison.best
    found = standings(comparison, [best, *(key for key in scores if key != best)], "cost")
    leader, own = found[0], next(standing for standing in found if _key(standing) == best)
    record = scores[_key(leader)]
    rejected = f", with {percent(record['rejected'])} of the rows rejected" if record["rejected"] > 0 else ""
    price = f"{pair(record['cost'], record['cost_se'])} per row{rejected}"
    if leader is own:
        return (f"At the given costs its decisions are also the cheapest, {price}.",)
    word = "clearly" if own.kind == "behind" else "not clearly"
    size = f"{word} below those of the recommended one (by {pair(own.difference, own.error)})"
    name = entry_subject(comparison, *_key(leader))
    return (f"At the given costs the decisions of {name} are the cheapest, {price}: {size}.",)


def _facts(comparison: Comparison, best: dict[Any, Any]) -> tuple[Fact, ...]:
    """Return how good the recommended model is, beside what one has without it."""
    wrong, loss = (standings(comparison, [BASELINE], metric)[0].loss for metric in ("error", "log_loss"))
    found = facts(
        *comparison.stacked(*_key(best)),
        comparison.classes,
        Score(best["accuracy"], best["accuracy_se"], 1 - wrong),
        Score(best["log_loss"], best["log_loss_se"], loss),
        len(comparison.tested),
    )
    if "calibration_error" in best:
        found.append(calibration(best["calibration_error"], best["calibration_expected"]))
    return tuple(found)


def _unavailable(comparison: Comparison) -> list[str]:
    models: dict[tuple[str, str], list[str]] = {}
    for (model, reason), rules in failures(comparison).items():
        name = full_name(comparison, model)
        models.setdefault((joined(rules), reason), []).append(name if name == model else first_upper(name))
    return [
        f"{joined(names)} {'has' if len(names) == 1 else 'have'} no answer"
        f"{'' if rules == NO_RULE else f' under {rules}'}: {reason.rstrip('.')}."
        for (rules, reason), names in models.items()
    ]


def _infinite(comparison: Comparison, table: pd.DataFrame) -> list[str]:
    if "log_loss_infinite" not in table:
        return []
    return [
        f"{first_upper(entry_subject(comparison, *_key(record)))} gave the true class of "
        f"{counted(int(record['log_loss_infinite']), 'row')} the probability 0, so its log loss is infinite; over the "
        f"rest it is {number(record['log_loss_finite'])}."
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
    """Name the rules of each model whose confidence exceeds their accuracy, and what averaging changes.

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
            sentences.append(f"{full_name(comparison, model)} is over-confident: {excess}.")
            continue
        under = f"under {worst} " if len(clear) > 1 else ""
        text = f"{full_name(comparison, model)} is over-confident under {joined(clear)}: {under}{excess}"
        sentences.append(f"{text}{_averaging(comparison, model, worst, rules)}.")
    return [first_upper(sentence) for sentence in sentences]


def _averaging(comparison: Comparison, model: str, worst: str, rules: Sequence[str]) -> str:
    """Say by how much averaging over the posterior reduces the excess of a plug-in rule, by the paired difference."""
    averaged = next((rule for rule in rules if RULES[rule].averages), None)
    if averaged is None or RULES[worst].averages:
        return ""
    before, after = (excess_confidence(comparison, model, rule) for rule in (worst, averaged))
    saved = before - after
    error = float(saved.std(ddof=1) / np.sqrt(len(comparison.y)))
    size = f"{pair(100 * float(saved.mean()), 100 * error, 1)} points"
    if not is_clear(float(saved.mean()), error):
        return f"; averaging over the posterior ({averaged}) does not clearly change that (by {size})"
    word = "reduces" if saved.mean() > 0 else "changes"
    left = number(100 * float(after.mean()), 1)
    return f"; averaging over the posterior ({averaged}) {word} the excess by {size}, to {left}"


def excess_confidence(comparison: Comparison, model: str, rule: str) -> Array:
    """Return P of the predicted class minus 1 if it is right, else 0, of the rows of all repeats, (row)."""
    log_proba, y = comparison.stacked(model, rule)
    return np.asarray(np.exp(log_proba.max(axis=1)) - (log_proba.argmax(axis=1) == y))


def overconfidence(comparison: Comparison, model: str, rule: str) -> float:
    """Return mean confidence − accuracy if that is clear and not small, else 0."""
    gap = float(excess_confidence(comparison, model, rule).mean())
    confidence = float(np.exp(comparison.stacked(model, rule)[0].max(axis=1)).mean())
    error = np.sqrt(max(confidence * (1 - confidence), 1e-6) / len(comparison.y))  # of the accuracy, if it were equal
    return gap if gap > OVERCONFIDENT_FROM and is_clear(gap, float(error)) else 0.0


def is_clear(difference: float, error: float) -> bool:
    """Return whether a difference is more than 1.96 standard errors."""
    return bool(abs(difference) > stats.norm.ppf((1 + CONFIDENCE) / 2) * error + 1e-12)


def extremes(comparison: Comparison, model: str, rule: str) -> str:
    """Return sentences on the rows that make up most of a log loss, and on their columns; empty if there are none.

    Such a row had a probability below 1/1000 for its true class when it was held out. The columns are those of the fit
    on all rows whose contributions to the log-odds of the decided class against the true one are largest.
    """
    log_proba, y = comparison.stacked(model, rule)
    losses = -log_proba[np.arange(len(y)), y]
    order = np.argsort(-losses, kind="stable")
    worst = order[: int((losses > MOST_NATS).sum())]
    with np.errstate(invalid="ignore"):
        share = 1.0 if np.isinf(losses).any() else losses[worst].sum() / losses.sum()
    if not len(worst) or share < LARGE_SHARE:
        return ""
    rows = np.concatenate(comparison.tested)[worst]
    large = "all" if share > 1 - 1e-9 else percent(float(share))
    said = (
        f"it gave the true class of {counted(len(np.unique(rows)), 'row')} a probability below 1/1000, which makes up "
        f"{large} of its log loss"
    )
    blamed = _columns(comparison, model, rows[:MOST_ROWS], log_proba[worst[:MOST_ROWS]].argmax(axis=1))
    return (
        f"{said}; there {named(blamed)} speak{'s' * (len(blamed) == 1)} most against the true class" if blamed else said
    )


def _columns(comparison: Comparison, model: str, rows: np.ndarray, decided: np.ndarray) -> list[str]:
    """Return the columns that contribute most to the decided classes of rows, against the true ones."""
    fit = comparison.fits.get(model)
    if fit is None:
        return []
    labels = comparison.classes
    try:
        found = fit.explain(comparison.X.iloc[rows], labels[decided], labels[comparison.y[rows]], rule="map")
    except (Refused, DoesNotExist):
        return []
    terms = found.terms[~found.terms["feature"].str.startswith("(")]
    against = terms.groupby("feature", sort=False)["contribution"].sum()
    against = against[against > 0].sort_values(ascending=False, kind="stable")
    return [str(name) for name in against[against >= NAMED_SHARE * against.sum()].index[:MOST_COLUMNS]]


def overview(comparison: Comparison) -> Display:
    """Return what a comparison shows of itself: the entries with the smallest log loss, and what to conclude."""
    table = score_table(comparison, calibration=False)
    records: list[dict[Any, Any]] = []
    if "log_loss" in table:
        records = table[table["log_loss"].notna()].sort_values("log_loss", kind="stable").to_dict("records")
    said = verdict(comparison, table)
    missing = [
        f"n/a: {_entries(comparison, model, rules)}: {why}" for (model, why), rules in failures(comparison).items()
    ]
    more = len(missing) - MOST_REASONS
    costs = () if comparison.costs is None else ("cost", "rejected")
    return Display(
        headline=_sizes(comparison),
        header=("model", "rule", "accuracy", "log loss", "difference", "Brier", *costs) if records else (),
        lines=[_cells(record, position == 0) for position, record in enumerate(records)],
        best=0 if records else None,
        sentences=(
            *missing[:MOST_REASONS],
            *([f"n/a: {counted(more, 'more reason')} in the table"] if more > 0 else []),
            " ".join([said.headline, *said.findings[:2]]),
        ),
    )


def _entries(comparison: Comparison, model: str, rules: list[str]) -> str:
    """Return a model and some rules, or the model alone if these are all of several."""
    every = [rule for name, rule in comparison.answers if name == model]
    return model if len(every) > 1 and rules == every else f"{model} under {joined(rules)}"


def _sizes(comparison: Comparison) -> str:
    rules = dict.fromkeys(rule for _, rule in comparison.answers)
    folds = counted(comparison.cv, "fold") + (f" × {comparison.repeats}" if comparison.repeats > 1 else "")
    entries = f"{counted(len(comparison.models), 'model')} × {counted(len(rules), 'rule')}"
    return f"Comparison of {entries} on {counted(len(comparison.y), 'row')}, {folds}, by log loss {ERRORS}"


def _cells(record: dict[Any, Any], best: bool) -> list[str]:
    difference = signed(record["log_loss_diff"], record["log_loss_diff_se"], 3)
    cells = [
        record["model"],
        record["rule"],
        percent(record["accuracy"], record["accuracy_se"]),
        log_loss(record),
        "best" if best else difference if np.isfinite(record["log_loss_diff"]) else "",
        pair(record["brier"], record["brier_se"]),
    ]
    if "cost" in record:
        cells += [pair(record["cost"], record["cost_se"]), percent(record["rejected"])]
    return cells
