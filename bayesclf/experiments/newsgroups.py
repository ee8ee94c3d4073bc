"""Multinomial naive Bayes on 20 Newsgroups under every rule: by date, and as Mitchell did it, on growing sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesclf.errors import InputError
from bayesclf.experiments.experiment import Record, Results, Unit, option
from bayesclf.experiments.messages import COLLECTIONS

if TYPE_CHECKING:
    import pandas as pd

    from bayesclf.classifiers.counts import MultinomialNB
    from bayesclf.experiments.messages import Messages
    from bayesclf.typing import Array

NAME = "newsgroups"
QUESTION = "How well does each rule sort the 20 Newsgroups, and which words speak for which group?"

ALPHA = 2.0
"""Concentration: map adds l = α − 1 = 1 to each count, Laplace's rule."""

RULES = ("map", "mean", "predictive", "bayes-optimal", "gibbs")
"""In the order of the tables."""

LEAST_SIZE = 20
"""Least documents to train on: one of each of the twenty groups is always among them."""

TELLING_WORDS, WORD_DRAWS = 8, 2000
"""Words shown of each group, and draws of their log-odds."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    draws: int = option(50, "Draws of the posterior, for the rules bayes-optimal and gibbs.")
    repeats: int = option(5, "Random splits of the original collection, two thirds for training.")
    sizes: str = option("100,200,400,800,1600,3200,6400", "Training documents of the learning curve, with commas.")
    collections: str = option(",".join(COLLECTIONS), "Collections, with commas.")
    groups: str = option("", "Newsgroups, with commas; all by default.")
    documents: int = option(0, "Most training documents, and most test documents; 0 for all.")
    class_prior: str = option("empirical", "Class prior: empirical, uniform or dirichlet.")
    seed: int = option(0, "Seed of everything.")


def units(settings: Settings) -> Sequence[Unit]:
    """Return (collection, repeat)."""
    chosen = settings.collections.split(",")
    unknown = [name for name in chosen if name not in COLLECTIONS]
    if unknown:
        raise InputError(f"unknown collection {unknown[0]!r}; they are {', '.join(COLLECTIONS)}")
    if settings.draws < 1 or settings.repeats < 1:
        raise InputError("there must be at least one draw and one repeat")
    if settings.documents and settings.documents < LEAST_SIZE:
        raise InputError(f"documents must be at least {LEAST_SIZE}, or 0 for all, not {settings.documents}")
    sizes_of(settings)
    return [(name, repeat) for name in COLLECTIONS if name in chosen for repeat in range(_repeats(settings, name))]


def _repeats(settings: Settings, collection: str) -> int:
    return settings.repeats if collection == "original" else 1


def sizes_of(settings: Settings) -> list[int]:
    """Return the sizes of the learning curve, in increasing order."""
    words = [word for word in settings.sizes.split(",") if word]
    if not all(word.strip().isdecimal() and int(word) >= LEAST_SIZE for word in words):
        raise InputError(f"sizes must be numbers of at least {LEAST_SIZE}, with commas, not {settings.sizes!r}")
    return sorted({int(word) for word in words})


def groups_of(settings: Settings) -> tuple[str, ...]:
    """Return the groups that were asked for; none for all."""
    return tuple(sorted({group.strip() for group in settings.groups.split(",") if group.strip()}))


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the scores of each rule on one split of a collection, and by date the words that speak for groups."""
    rng = np.random.default_rng(seed)
    if unit[0] == "original":
        return _original(settings, int(unit[1]), rng)
    return _by_date(settings, rng)


def _by_date(settings: Settings, rng: np.random.Generator) -> list[Record]:
    """Score the split by date, and find the words of its training messages."""
    from bayesclf.experiments import messages
    from bayesclf.experiments.telling_words import telling_words

    train, test = messages.by_date(groups_of(settings))
    if settings.documents:
        train, test = (_some(part, settings.documents, rng) for part in (train, test))
        known = np.asarray(train.counts.sum(axis=0)).ravel() > 0
        train, test = train.with_words(known), test.with_words(known)
    classifier = _fitted(settings, train, rng)
    records = [{"part": "by-date", "repeat": 0, **line} for line in _scores(classifier, train, test)]
    alpha = ALPHA + _class_counts(train)
    found = telling_words(alpha, TELLING_WORDS, WORD_DRAWS, rng)
    return records + [
        {
            "part": "words",
            "group": group,
            "rank": rank,
            "word": str(train.words[line.word]),
            "occurrences": int(alpha[k, line.word] - ALPHA),
            "log_odds": line.mean,
            "low": line.low,
            "high": line.high,
        }
        for k, (group, words) in enumerate(zip(train.groups, found, strict=True))
        for rank, line in enumerate(words, 1)
    ]


def _original(settings: Settings, repeat: int, rng: np.random.Generator) -> list[Record]:
    """Score nested training sets of two thirds of the original collection on the last third."""
    from bayesclf.experiments import messages

    every = messages.original(groups_of(settings))
    order = rng.permutation(len(every))
    third = len(every) - 2 * len(every) // 3
    test, train = every.rows(order[:third]), every.rows(order[third:])
    if settings.documents:
        train, test = (_some(part, settings.documents, rng) for part in (train, test))
    nested = messages.shuffled(train.y, rng)
    sizes = [size for size in sizes_of(settings) if len(every.groups) <= size < len(train)]
    records = []
    for size in (*sizes, len(train)):
        own = train.rows(nested[:size])
        kept = messages.mitchells_words(own)
        own, asked = own.with_words(kept), test.with_words(kept)
        lines = _scores(_fitted(settings, own, rng), own, asked)
        records += [{"part": "original", "repeat": repeat, **line} for line in lines]
    return records


def _some(documents: Messages, most: int, rng: np.random.Generator) -> Messages:
    """Return a random part of some messages, with each group in it, on all their words."""
    from bayesclf.experiments.messages import shuffled

    return documents.rows(shuffled(documents.y, rng)[:most])


def _class_counts(documents: Messages) -> Array:
    """Return how often each word occurs in each group, (outcome, word)."""
    return np.stack(
        [
            np.asarray(documents.counts[documents.y == k].sum(axis=0), dtype=float).ravel()
            for k in range(len(documents.groups))
        ]
    )


def _fitted(settings: Settings, train: Messages, rng: np.random.Generator) -> MultinomialNB:
    """Return the classifier of some messages."""
    from bayesclf.classifiers.counts import MultinomialNB
    from bayesclf.inference import Exact

    classifier = MultinomialNB(
        ALPHA,
        class_prior=settings.class_prior,
        inference=Exact(draws=settings.draws, chains=1),
        random_state=int(rng.integers(2**31)),
    )
    return classifier.fit(train.counts, np.asarray(train.groups)[train.y], classes=train.groups)


def _scores(classifier: MultinomialNB, train: Messages, test: Messages) -> list[Record]:
    """Return the scores of each rule, with standard errors over the test messages, paired with map where they differ.

    For `gibbs` they are expectations over the drawn hypothesis.
    """
    from bayesclf import averaging, rules, scores

    rows, y = classifier.rows(test.counts), test.y
    averages = averaging.average(classifier.hypotheses("posterior"), rows)
    right, log_loss, confidence = {}, {}, {}
    for rule in RULES:
        if rule == "gibbs":
            right[rule] = averages.votes[np.arange(len(y)), y]
            log_loss[rule] = -averages.mean_log_proba[np.arange(len(y)), y]
            continue
        if rule == "bayes-optimal":
            scored = scores.score(averages.log_proba, y)
        else:
            scored = scores.score(rules.log_proba(rule, classifier.hypotheses(rules.RULES[rule].source), rows), y)
        right[rule], log_loss[rule] = 1 - scored.error, scored.log_loss
        confidence[rule] = float(np.exp(scored.log_proba.max(axis=1)).mean())
    about = {"m": len(train), "vocabulary": len(train.words), "test": len(y)}
    return [
        {
            **about,
            "rule": rule,
            **_mean("accuracy", right[rule]),
            **_mean("log_loss", log_loss[rule]),
            **_mean("more_accurate", right[rule] - right["map"]),
            "overconfidence": confidence[rule] - float(right[rule].mean()) if rule in confidence else None,
        }
        for rule in RULES
    ]


def _mean(name: str, values: Array) -> Record:
    """Return a mean over messages and its standard error, by name."""
    return {name: float(values.mean()), f"{name}_se": float(values.std(ddof=1) / np.sqrt(len(values)))}


def summarise(settings: Settings, records: pd.DataFrame) -> pd.DataFrame:
    """Return the scores by collection, training size and rule, then the words.

    Where a collection was split several times, means and standard errors are over the splits, else over the test
    messages. `more_accurate` is the accuracy beyond that of map, paired.
    """
    import pandas as pd

    scored = records[records["part"] != "words"].dropna(axis="columns", how="all")
    metrics = ["accuracy", "log_loss", "more_accurate"]
    groups = scored.groupby(["part", "m", "rule"], sort=False)
    table = groups[["vocabulary", "test", *metrics, *(f"{name}_se" for name in metrics), "overconfidence"]].mean()
    table.insert(0, "repeats", groups.size())
    several = table["repeats"] > 1
    for metric in metrics:
        table[f"{metric}_se"] = table[f"{metric}_se"].where(~several, groups[metric].sem())
    told = records[records["part"] == "words"].dropna(axis="columns", how="all")
    return pd.concat([table.reset_index(), told], ignore_index=True)


def present(settings: Settings, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Say how well each rule does, and show the learning curve and the words."""
    from bayesclf.experiments.newsgroups_results import results

    return results(settings, table)
