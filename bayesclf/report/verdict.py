"""The verdict: which model to use, how good it is, how clearly, and what not to trust; also in a few lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bayesclf.decisions import REJECTED
from bayesclf.display import Display
from bayesclf.evaluation.comparison import Comparison
from bayesclf.evaluation.judgments import CONFIDENCE, KINDS, MOST_NATS, Kind
from bayesclf.evaluation.peers import BOOSTING, NO_RULE, line_name
from bayesclf.evaluation.score_table import (
    BASELINE,
    HeldOut,
    Key,
    Standing,
    infinite_losses,
    less_confident,
    mean,
    odd_fold,
    over_confidence,
    score_table,
    standing_of_shares,
    standings,
    useful,
    with_error,
)
from bayesclf.interpretation.dependence import may_help
from bayesclf.progress import Tell, silent
from bayesclf.report.facts import UNDONE, constant, loss_and_shares, no_better
from bayesclf.report.names import entry_name, entry_subject, full_name
from bayesclf.report.table import failures, scores
from bayesclf.rules import resolve
from bayesclf.tables.remarks import spike
from bayesclf.wording import (
    AND_MORE,
    LISTED_NAMES,
    NEGLIGIBLE,
    counted,
    first_upper,
    joined,
    listed,
    number,
    pair,
    percent,
    sentences,
)

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.diagnostics import Diagnosis

NAMES = ("Bayes", "Brier", "Gibbs", "Laplace", "Markov", "Monte", "Pareto", "R-hat", "Student's")
"""First words of titles that are proper names and keep their capital within a sentence."""

ERROR = (
    "one standard error over the rows and the choice of repeated folds; Nadeau and Bengio's allowance for training "
    "rows that folds share makes it cautious"
)
"""What ± is, everywhere."""

NOTHING = (
    "Nothing stands out: every rule answered, no log loss is infinite, and no model is clearly over-confident under "
    "its own rule."
)
"""What not to trust, where there is nothing."""

CHECKED = ("P", "M")
"""Checks of a comparison's fits; those of predictions are what the comparison itself is about."""

LARGE_SHARE = 0.5
"""Share of a log loss from which on the rows that make it up are worth a sentence."""

LEFT_OUT = "left out ("
"""What a note has about rows and columns that are left out; in the brackets is which rows, or what keeps them."""

MOST_LEFT_OUT = 5
"""The most sentences about what is left out on the first screen."""

MOST_REASONS = 2
"""Reasons why rules have no answer that are shown; `table` has all."""


@dataclass(frozen=True)
class Verdict:
    """What the first screen says.

    Attributes
    ----------
    headline
        Which model to use, or that none is better than the class shares.
    findings
        How the other models compare with it, then its rules.
    cautions
        What not to trust in this comparison.
    decisions
        How the decisions compare with one decision for all rows; these sentences are findings or cautions, too.
    models
        Where the models stand, each at its leading rule, and the baseline; the recommended one first.
    against
        Where the other models stand against the recommended one, boosting last, with a negative difference if ahead.
    useful
        Whether the recommended model is better than the class shares, at least probably.
    next_step
        What comes next: a call, or where no model is useful, what may help.
    """

    headline: str
    findings: tuple[str, ...]
    cautions: tuple[str, ...]
    decisions: tuple[str, ...] = ()
    models: tuple[Standing, ...] = ()
    against: tuple[Standing, ...] = ()
    useful: bool = True
    next_step: str = ""


def defined(comparison: Comparison) -> str:
    """Return what the words of a verdict mean; the methods have it in full."""
    return (
        f"± is one cautious standard error. Clear differences hold with {100 * CONFIDENCE:.0f}% confidence for all "
        "models together, and probable ones exceed one standard error. Smaller ones, and those that other folds may "
        f"change, are not clear. Models that surely differ by less than {comparison.matters:.2g} are tied."
    )


def checks_of_fits(comparison: Comparison, tell: Tell = silent) -> dict[str, Diagnosis]:
    """Return the checks of the fits on all rows, by model; `tell` is told of each. They are made once."""
    from bayesclf.diagnostics import diagnose  # the display of a comparison in a notebook needs no checks

    labels, found = comparison.classes[comparison.y], comparison.checked
    for done, (name, fit) in enumerate(comparison.fits.items(), 1):
        if name not in found:
            found[name] = diagnose(fit, comparison.X, labels, checks=CHECKED)
        tell(f"checks of {name}", done, len(comparison.fits))
    return found


def verdict(comparison: Comparison, diagnoses: Mapping[str, Diagnosis] | None = None) -> Verdict:
    """Judge a comparison by its answers and by the checks of the fits on all rows, by model.

    Without checks, the convergence problems that the fits reported are used instead.
    """
    leaders, found, missing = comparison.leaders, _findings(comparison, diagnoses), _unavailable(comparison)
    if not leaders:
        cautions = (*left_out(comparison.read), *_too_good(comparison), *missing, *found)
        return Verdict("No model could answer under any rule.", (), cautions, useful=False)
    best, dear = comparison.best, comparison.costs is not None and _no_cheaper(comparison)
    cheap = comparison.costs is not None and not dear
    said = (no_better(comparison, best, comparison.classes),) if comparison.costs is None else _cheapest(comparison)
    decided = tuple(filter(None, said))
    cautions = (
        *left_out(comparison.read),
        *_too_good(comparison),
        *(() if cheap else decided),
        *missing,
        *(f"{first_upper(full_name(comparison, model))}: {why}." for model, why in comparison.problems.items()),
        *_infinite(comparison),
        *_of_one_fold(comparison),
        *_no_better_than_shares(comparison),
        *_overconfident(comparison),
        *found,
    )
    common = (*_accuracy(comparison), *(decided if cheap else ()))
    if np.isinf(mean(comparison, best, "log_loss")):
        headline = "Every model gave the true class of some row the probability 0, so every log loss is infinite."
        return Verdict(headline, common, cautions, decided, useful=False)
    others, boosted = standings(comparison, leaders, against=best)[1:], _standing_of_boosting(comparison)
    ranked = standings(comparison, [*leaders, *(one.key for one in boosted), BASELINE], against=best)
    baseline = standing_of_shares(comparison, best)
    against = [
        _against_best(first_upper(entry_subject(comparison, *one.key)), one, best[0], extremes(comparison, *one.key))
        for one in others
    ]
    gained = [_against_best("Gradient boosting, for comparison,", one, best[0]) for one in boosted]
    if any(one.difference < 0 for one in boosted):
        right, own = (percent(1 - mean(comparison, key, "error")) for key in ((BOOSTING, NO_RULE), best))
        gained[0] += f" Its accuracy is {right}, and that of {best[0]} {own}."
    ahead = any(one.difference < 0 and one.kind in SURE for one in boosted)
    clearly = any(one.difference < 0 and one.kind == "behind" for one in boosted)
    if ahead and baseline.kind in SURE:
        kept = f"the fit of boosting is comparison.peers[{BOOSTING!r}] in Python"
        gained[0] += f" {first_upper(_advice(comparison, boosting=True) if clearly else kept)}."
    second = []
    if baseline.kind == "behind" and len(others) > 1 and others[0].kind in SURE:
        second = [f"This model is {GRADES[others[0].kind]} the other models."]
    elif baseline.kind == "behind":
        second, against = against[:1], against[1:]
    but = ["But these scores may be too good, as explained below."] if comparison.too_good else []
    but += [f"But at the given costs no model is clearly cheaper than {_every_row(comparison)}."] if dear else []
    return Verdict(
        " ".join([_headline(comparison, baseline, ahead), *second, *(gained if ahead else []), *but]),
        (*against, *_rules(comparison, best), *([] if ahead else gained or _without_boosting(comparison)), *common),
        cautions,
        decided,
        tuple(ranked),
        (*others, *boosted),
        baseline.kind in ("behind", "leaning"),
        _next(comparison, best) if baseline.kind in SURE else _advice(comparison, clearly),
    )


def _advice(comparison: Comparison, boosting: bool) -> str:
    """Return what may help the models; `boosting` is whether boosting is clearly better. It is found once."""
    known = comparison.advice
    if boosting not in known:
        fits, labels = list(comparison.fits.values()), comparison.classes[comparison.y]
        known[boosting] = may_help(fits, comparison.X, labels, boosting)
    return known[boosting]


def _next(comparison: Comparison, best: Key) -> str:
    """Return the call that checks the recommended model, or under another rule than its own, predicts by it."""
    model, rule = best
    fit = f"comparison.{'fits' if model in comparison.fits else 'peers'}[{model!r}]"
    if model not in comparison.fits:
        return f"{fit}.predict_proba(X_new)"
    cost = "" if comparison.costs is None else ", cost=cost"
    own = rule == resolve(comparison.fits[model].requested_rule(None))[0].name
    return f"{fit}.report('model.html', X, y)" if own else f"{fit}.predict_frame(X_new, rule={rule!r}{cost})"


def read(comparison: Comparison) -> list[str]:
    """Return what was decided while the table was read, in sentences, without what the cautions say."""
    without = left_out(comparison.read)
    return [said for said in sentences(untold(comparison.read, comparison.X)) if said not in without]


def left_out(notes: Sequence[str]) -> list[str]:
    """Return the notes about rows and columns that are left out, the first `MOST_LEFT_OUT`, in sentences."""
    return sentences([note for note in notes if LEFT_OUT in note][:MOST_LEFT_OUT])


def untold(notes: Sequence[str], frame: pd.DataFrame) -> list[str]:
    """Return notes about a table without those on values that stand for "missing", which the check M09 tells."""
    spikes = {found.sentence(name) for name in frame if (found := spike(frame[name]))}
    return [note for note in notes if note not in spikes]


GRADES = {
    "behind": "clearly better than",
    "leaning": "probably, not clearly, better than",
    "tied": "not better, by enough to matter, than",
}
"""How answers compare with the class shares, by where these stand behind them."""

UNDECIDED = "not clearly better than"
"""How they compare where the rows do not tell."""

SURE = {"behind": "clearly", "leaning": "probably"}
"""How sure a difference is, by where the worse one stands."""


def against_shares(held_out: HeldOut, key: Key) -> str:
    """Return how an entry's log loss compares with that of the class shares."""
    shares = standing_of_shares(held_out, key)
    if shares.difference < 0:
        own = standings(held_out, [key, BASELINE], against=BASELINE)[1].kind
        return GRADES[own].replace("better", "worse") if own in SURE else UNDECIDED
    return GRADES.get(shares.kind, UNDECIDED)


def _headline(comparison: Comparison, baseline: Standing, ahead: bool) -> str:
    """Say which model to use, or that none is clearly worth using; `ahead` is whether boosting is ahead of it."""
    best = comparison.best
    name, size = entry_name(comparison, *best), loss_and_shares(comparison, best)
    better = f"{GRADES.get(baseline.kind, UNDECIDED)} always predicting the class shares"
    if baseline.kind == "leaning":
        return f"{first_upper(entry_subject(comparison, *best))} is {better}: its log loss is {size}."
    if baseline.kind != "behind":
        return f"No model is {better.removeprefix('not ')}: the log loss of the best, {name}, is {size}."
    use = "Of the Bayesian models, use" if ahead and best[0] in comparison.fits else "Use"
    return f"{use} {name}: its log loss is {size}."


ON_ANY_TABLE = "behind on any table, by Jensen's inequality"
"""Where draws of the posterior stand beside their average: the difference is no finding."""


def place(kind: Kind, ahead: bool = False) -> str:
    """Return where an entry stands that is not the best, or where the best stands, `ahead` of it.

    Examples
    --------
    >>> place("behind"), place("leaning"), place("open", ahead=True), place("tied")
    ('clearly behind', 'probably behind', 'not clearly ahead', 'tied')
    """
    return "tied" if kind == "tied" else f"{SURE.get(kind, 'not clearly')} {'ahead' if ahead else 'behind'}"


def _against_best(name: str, found: Standing, best: str, reason: str = "") -> str:
    """Say where a model stands against the `best` one; ahead of it, its difference is negative."""
    size, ahead = pair(abs(found.difference), found.error), found.difference < 0
    amount = f"its log loss is {'smaller' if ahead else 'larger'} by {size}"
    if np.isinf(found.difference):
        amount = "its log loss is infinite"
    elif found.kind == "tied":
        amount = "the same log loss" if abs(found.difference) < NEGLIGIBLE else f"its log loss differs by only {size}"
    more = f"; {reason}" if reason and found.kind in SURE else UNDONE * found.undone
    return f"{name} is {place(found.kind, ahead)}{f' with {best}' * (found.kind == 'tied')}: {amount}{more}."


def _standing_of_boosting(comparison: Comparison) -> list[Standing]:
    """Return where gradient boosting stands against the best model, if it is a line of the comparison."""
    boosting, best = (BOOSTING, NO_RULE), comparison.best
    if not comparison.rules_of(BOOSTING):
        return []
    first = min(best, boosting, key=lambda key: mean(comparison, key, "log_loss"))
    _, found = standings(comparison, [best, boosting], against=first)
    loss, difference = mean(comparison, boosting, "log_loss"), found.difference if first == best else -found.difference
    return [replace(found, model=BOOSTING, rule=NO_RULE, loss=loss, difference=difference)]


def _without_boosting(comparison: Comparison) -> list[str]:
    """Say why gradient boosting is no line of the comparison."""
    reasons = (reason for model, reason in failures(comparison) if model == BOOSTING)
    return [f"Gradient boosting was left out: {reason.rstrip('.')}." for reason in reasons]


def _rules(comparison: Comparison, best: Key) -> Iterable[str]:
    """Compare the rules of the recommended model, in one sentence."""
    model, rule = best
    found = standings(comparison, [(model, other) for other in comparison.rules_of(model)], against=best)[1:]
    if not found:
        return
    tied = [one.rule for one in found if one.kind == "tied"]
    if len(tied) == len(found):
        yield f"The rule of {model} does not matter here: {joined([rule, *tied])} are tied."
        return
    groups: dict[str, list[str]] = {}
    for one in sorted(found, key=lambda one: -KINDS.index(one.kind)):
        if one.kind != "tied":
            than, size = "larger" if one.difference > 0 else "smaller", pair(abs(one.difference), one.error)
            drawn = (rule, one.rule) == ("bayes-optimal", "gibbs")
            undone = ", as other folds may change this" * one.undone
            where = ON_ANY_TABLE if drawn else place(one.kind, one.difference < 0) + undone
            group = groups.setdefault(where, [])
            group.append(f"{one.rule} (log loss {than} by {size})")
    parts = [f"{joined(own)} {'is' if len(own) == 1 else 'are'} {words}" for words, own in groups.items()]
    if tied:
        parts.insert(0, f"{joined([rule, *tied])} are tied")
    yield f"Rules of {model}{'' if tied else f', against {rule}'}: {'; '.join(parts)}."


def _accuracy(comparison: Comparison) -> tuple[str, ...]:
    """Name the most accurate entry, if it is more accurate than the recommended one, at least probably."""
    best = comparison.best
    keys = [(model, rule) for model in comparison.models if model != BOOSTING for rule in comparison.rules_of(model)]
    found = standings(comparison, keys, "error")
    own = next(standing for standing in found if standing.key == best)
    leader = found[0]
    constant = mean(comparison, BASELINE, "error")
    if own.kind not in SURE or leader.loss >= constant or not useful(comparison, best):
        return ()
    name = entry_subject(comparison, *leader.key)
    size = f"{pair(100 * own.difference, 100 * own.error, 1)} percentage points"
    return (
        f"{first_upper(name)} has the best accuracy of these models, {SURE[own.kind]} above that of {line_name(*best)} "
        f"(by {size}).",
    )


def _every_row(comparison: Comparison) -> str:
    """Return the cheapest decision for all rows together, in words."""
    code = constant(comparison)
    return "rejecting every row" if code == REJECTED else f"always deciding for '{comparison.classes[code]}'"


def _no_cheaper(comparison: Comparison) -> bool:
    """Return whether no model's decisions are clearly cheaper than the same decision for all rows."""
    found = standings(comparison, [*comparison.leaders, BASELINE], "cost")
    return all(one.kind != "behind" for one in found if one.key == BASELINE)


def _cheapest(comparison: Comparison) -> Iterable[str]:
    """Name the models whose decisions cost least, and what the same decision for all costs."""
    found = standings(comparison, [*comparison.leaders, BASELINE], "cost")
    names = {
        one.key: _every_row(comparison)
        if one.key == BASELINE
        else f"the decisions of {entry_subject(comparison, *one.key)}"
        for one in found
    }
    first, *others = found
    verb, rejected = "costs", ""
    if first.key != BASELINE:
        share = mean(comparison, first.key, "rejected")
        verb, rejected = "cost", f", with {percent(share)} of the rows rejected" * (share > 0)
    price = pair(first.loss, with_error(comparison, first.key, "cost")["cost_se"])
    yield f"At the given costs {names[first.key]} {verb} least, {price} per row{rejected}."
    near = [
        f"{names[one.key].rstrip(',')} ({number(one.loss)}"
        f"{f', more by {pair(one.difference, one.error)}' * (one.difference > NEGLIGIBLE)})"
        for one in others
        if one.kind in ("open", "tied")
    ]
    if near:
        yield f"Not clearly more expensive: {'; '.join(near)}."
    for one in others:
        if one.key == BASELINE and one.kind in ("behind", "leaning"):
            more = f"{SURE[one.kind]} more by {pair(one.difference, one.error)}"
            yield f"{first_upper(names[BASELINE])} costs {number(one.loss)}, {more}."


def _unavailable(comparison: Comparison) -> list[str]:
    models: dict[tuple[str, str, bool], list[str]] = {}
    for (model, reason), rules in failures(comparison).items():
        if model == BOOSTING:  # `_boosting` tells it
            continue
        left_out = model in comparison.left_out
        under = "" if left_out or rules == [NO_RULE] else f" under {joined(rules)}"
        models.setdefault((under, reason, left_out), []).append(first_upper(full_name(comparison, model)))
    said = {(True, False): "was left out", (True, True): "were left out", (False, False): "has no answer"}
    return [
        f"{joined(names)} {said.get((left_out, len(names) > 1), 'have no answer')}{under}: {reason.rstrip('.')}."
        for (under, reason, left_out), names in models.items()
    ]


def _infinite(comparison: Comparison) -> list[str]:
    entries = [(model, rule) for model in comparison.models for rule in comparison.rules_of(model)]
    return [
        f"{first_upper(entry_subject(comparison, *key))} gave the true class of {counted(rows, 'row')} the probability "
        f"0, so its log loss is infinite; over the rest it is {number(finite)}."
        for key, (rows, finite) in ((key, infinite_losses(comparison, key)) for key in entries)
        if rows
    ]


def _of_one_fold(comparison: Comparison) -> Iterable[str]:
    """Name the first difference from the best of which one fold makes much."""
    best = comparison.best
    boosting = [(BOOSTING, NO_RULE)] if comparison.rules_of(BOOSTING) else []
    for key in (BASELINE, *(one for one in comparison.leaders if one != best), *boosting):
        if found := odd_fold(comparison, best, key):
            name = "the class shares" if key == BASELINE else key[0]
            there, elsewhere = (" and ".join(number(loss) for loss in losses) for losses in found)
            yield (
                f"The difference between {best[0]} and {name} depends on one of {len(comparison.splits)} folds: "
                f"log losses are {there} in it, {elsewhere} in the others."
            )
            return


def _no_better_than_shares(comparison: Comparison) -> list[str]:
    """Name the models and rules, beside the best, that gain less than one standard error over the class shares."""
    entries = [(model, rule) for model in comparison.models for rule in comparison.rules_of(model)]
    found: dict[str, dict[str, list[str]]] = {}
    for model, rule in entries:
        shares = standing_of_shares(comparison, (model, rule))
        if (model, rule) != comparison.best and shares.difference < shares.error and np.isfinite(shares.difference):
            own = found.setdefault(against_shares(comparison, (model, rule)), {}).setdefault(model, [])
            than = f"{'' if own else 'log loss '}{'larger' if shares.difference < 0 else 'smaller'} by"
            size = f"({than} {pair(abs(shares.difference), shares.error)})"
            own.append(size if rule == NO_RULE else f"{'' if own else 'under '}{rule} {size}")
    most = (LISTED_NAMES, AND_MORE, " and ")
    return [
        f"{first_upper(grade)} always predicting the class shares: "
        + listed((f"{full_name(comparison, model)} {listed(own)}" for model, own in models.items()), *most)
        + "."
        for grade, models in found.items()
    ]


def _findings(comparison: Comparison, diagnoses: Mapping[str, Diagnosis] | None) -> list[str]:
    """Say what the checks of the fits found, or without checks, which convergence problems the fits reported."""
    if diagnoses is None:
        return [
            f"The draws of {model} cannot be trusted yet: {problem.rstrip('.')}."
            for model, fit in comparison.fits.items()
            for problem in fit.convergence_problems_
        ]
    issues: dict[tuple[str, str, str, str], list[str]] = {}
    tips: dict[str, list[str]] = {}
    for model, diagnosis in diagnoses.items():
        for one in diagnosis.issues:
            issues.setdefault((in_sentence(one.title), one.reason, one.code, one.next_step), []).append(model)
        for one in diagnosis.tips:
            tips.setdefault(f"{in_sentence(one.title)} ({one.code}, ", []).append(model)
    said = [
        f"{joined(names)}, {title}: {reason} ({code}). {first_upper(step)}."
        for (title, reason, code, step), names in issues.items()
    ]
    if tips:
        named = "; ".join(f"{title}{joined(names)})" for title, names in tips.items())
        said.append(f"Tips of the checks: {named}.")
    return said


def _too_good(comparison: Comparison) -> list[str]:
    """Say what makes all scores too good, and what to do about it."""
    return [" ".join(sentences(one)) for one in comparison.too_good]


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
    """Name the models whose own rule is over-confident, and the rule that leaves clearly less of it, if any."""
    sentences = []
    for model in comparison.models:
        if model == BOOSTING or not comparison.rules_of(model):
            continue
        own = comparison.leader(model)
        gap = over_confidence(comparison, own)
        if not gap.matters:
            continue
        under = "" if own[1] == NO_RULE else f" under {own[1]}"
        points, left = pair(100 * gap.mean, 100 * gap.error, 1), ""
        if cure := less_confident(comparison, own):
            rest = over_confidence(comparison, (model, cure))
            left = f"; the rule {cure!r} reduces this to {pair(100 * rest.mean, 100 * rest.error, 1)}"
        name = first_upper(full_name(comparison, model))
        sentences.append(
            f"{name} is over-confident{under}: its mean confidence exceeds its accuracy by {points} points{left}."
        )
    return sentences


def extremes(comparison: Comparison, model: str, rule: str) -> str:
    """Return a clause on the rows that make up most of a log loss; empty if there are none.

    Such a row had a probability below 1/1000 for its true class when it was held out.
    """
    log_proba, y = comparison.stacked(model, rule)
    losses = -log_proba[np.arange(len(y)), y]
    worst = np.flatnonzero(losses > MOST_NATS)
    with np.errstate(invalid="ignore"):
        share = 1.0 if np.isinf(losses).any() else losses[worst].sum() / losses.sum()
    if not len(worst) or share < LARGE_SHARE:
        return ""
    rows = np.unique(np.concatenate(comparison.tested)[worst])
    large = "all" if share > 1 - 1e-9 else percent(float(share))
    return (
        f"{counted(len(rows), 'row')} whose true class got a probability below 1/1000 make{'s' * (len(rows) == 1)} up "
        f"{large} of it"
    )


def overview(comparison: Comparison) -> Display:
    """Return what a comparison shows of itself: the entries with the smallest log loss, and what to conclude."""
    table = score_table(comparison, calibrated=False)
    shown = scores(comparison, table)
    judged = verdict(comparison)
    missing = _unavailable(comparison)
    more = len(missing) - MOST_REASONS
    return Display(
        headline=_sizes(comparison, judged.useful),
        header=tuple(map(str, shown)),
        lines=list(shown.itertuples(index=False, name=None)),
        best=0 if len(shown) and judged.useful else None,
        sentences=(
            *missing[:MOST_REASONS],
            *([f"{counted(more, 'more reason')} in the table."] if more > 0 else []),
            *(judged.headline, *judged.findings[:1]),
            *(said for one in comparison.too_good for said in sentences(one)),
            *filter(None, [" ".join(judged.decisions)]),
            *comparison.read[:MOST_REASONS],
        ),
    )


def _sizes(comparison: Comparison, useful: bool) -> str:
    rules = [sum(own == model and rule != NO_RULE for own, rule in comparison.answers) for model in comparison.models]
    folds = counted(comparison.cv, "fold") + (f" × {comparison.repeats}" if comparison.repeats > 1 else "")
    entries = counted(len(rules), "model")
    if most := max(rules):
        entries += f", {'up to ' * (min(rules) < most)}{counted(most, 'rule')}{' each' * (len(rules) > 1)},"
    rows = counted(len(comparison.y), "row")
    first = "the recommended row first" if useful else "no row is recommended"
    return f"Comparison of {entries} on {rows}, {folds} (± standard error), {first}"
