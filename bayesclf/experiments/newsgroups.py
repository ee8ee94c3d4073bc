"""How well does each rule sort the 20 Newsgroups?

20 Newsgroups are some 20,000 messages of the early 1990s, a thousand from each of 20 discussion groups. Mitchell
(Machine Learning, 1997, section 6.10) takes them as the example of naive Bayes for text, and reports 89% of messages
right. He applies Laplace's rule, trains on two thirds, and leaves out the 100 most frequent words and words that occur
less than 3 times. Here multinomial naive Bayes has a Dirichlet(2) prior, under which map is Laplace's rule. It learns
from nested parts of two thirds of this original collection, and from a collection split by date. It answers under five
rules; bayes-optimal and gibbs use draws of the posterior.

Headers are included: they name the sender and often the group, so accuracy does not measure how well topics are
recognized. Random splits can train on a message and test on its answers, which quote it. Splits also share messages, so
standard errors over splits do not show how another collection would differ. Words of a message are not independent
given its group, so probabilities are over-confident under every rule.
"""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from bayesclf import rules
from bayesclf.arrays import Array, Integers
from bayesclf.classifiers import MultinomialNB
from bayesclf.engines import Exact
from bayesclf.errors import InputError
from bayesclf.evaluation import scores
from bayesclf.experiments.runner import Each, Figure, Record, Unit, curves, named, option
from bayesclf.posterior import averaging
from bayesclf.tables.datasets import FOLDER_VARIABLE
from bayesclf.wording import pair, percent

ALPHA = 2.0
"""Concentration: map adds l = α − 1 = 1 to each count, Laplace's rule."""

RULES = ("map", "mean", "predictive", "bayes-optimal", "gibbs")
"""In the order of the tables."""

MEASURES = ("accuracy", "log_loss", "more_accurate")
"""Means over the messages: `more_accurate` is the accuracy beyond that of map, paired."""

LEAST_SIZE = 20
"""Fewest training documents: one of each of the twenty groups is always among them."""

SIZES = (100, 200, 400, 800, 1600, 3200, 6400)
"""Training documents of the learning curve."""

PUBLISHED = 0.89
"""Accuracy of Mitchell 1997 §6.10.1 on the original collection, two thirds for training."""

COLLECTIONS = {"by-date": "the split by date", "original": "the original collection"}
"""The split by date into training and test messages, and the collection that Mitchell (1997) used."""

ALPHABETIC = "[a-z]+"
"""Words of the original collection; those by date are scikit-learn's, of at least two letters or digits."""

MOST_FREQUENT, LEAST_OCCURRENCES = 100, 3
"""How many of the most frequent words are left out, and how often a word must occur, as by Mitchell."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    draws: int = option(50, "Draws of the posterior, for the rules bayes-optimal and gibbs.")
    repeats: int = option(5, "Random splits of the original collection, two thirds for training.")
    collections: str = option(",".join(COLLECTIONS), "Collections, comma-separated.")
    documents: int = option(0, "Maximum number of training and of test documents; 0 for all.")
    seed: int = option(0, "Random seed.")


def tabulate(settings: Settings, each: Each) -> pd.DataFrame:
    """Return the scores by collection, training size and rule.

    Where a collection was split several times, means and standard errors are over the splits, else over the test
    messages.
    """
    chosen = named("collection", settings.collections.split(","), COLLECTIONS)
    if settings.draws < 1 or settings.repeats < 1:
        raise InputError("there must be at least one draw and one repeat")
    if settings.documents and settings.documents < LEAST_SIZE:
        raise InputError(f"documents must be at least {LEAST_SIZE}, or 0 for all, not {settings.documents}")
    repeats = {"by-date": 1, "original": settings.repeats}
    records = each([(name, repeat) for name in COLLECTIONS if name in chosen for repeat in range(repeats[name])])
    groups = records.groupby(["part", "m", "rule"], sort=False)
    errors = [f"{name}_se" for name in MEASURES]
    table = groups[["vocabulary", "test", *MEASURES, *errors, "overconfidence"]].mean()
    table.insert(0, "repeats", groups.size())
    once = table["repeats"] == 1
    for name, error in zip(MEASURES, errors, strict=True):
        table[error] = table[error].where(once, groups[name].sem())
    return table.reset_index()


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the scores of each rule on one split of a collection."""
    rng = np.random.default_rng(seed)
    return _original(settings, int(unit[1]), rng) if unit[0] == "original" else _by_date(settings, rng)


def answer(settings: Settings, table: pd.DataFrame) -> tuple[str, ...]:
    """Say how well map and the best rule do on each collection."""
    final = _final(table)
    said = []
    for part, name in COLLECTIONS.items():
        own = final[final["part"] == part].set_index("rule")
        if len(own):
            best = str(own["accuracy"].idxmax())
            first, most = (percent(own["accuracy"][rule], own["accuracy_se"][rule]) for rule in ("map", best))
            said.append(f"{first} of {name} right under map" + f" ({best} {most})" * (best != "map"))
    published = f"Mitchell 1997 has {percent(PUBLISHED)} on the original collection."
    whole = "original" in set(final["part"]) and not settings.documents
    return f"Naive Bayes sorts {' and '.join(said)}.", *(published,) * whole


def summary(settings: Settings, table: pd.DataFrame) -> pd.DataFrame:
    """Return the scores at the largest size, log loss in nats; those of gibbs are expectations over the drawn one."""
    final = _final(table)
    found = final[["part", "m", "test", "vocabulary", "rule"]].assign(overconfidence=final["overconfidence"].round(4))
    for name in MEASURES:
        found[name] = [pair(*values) for values in final[[name, f"{name}_se"]].to_numpy()]
    return found


def figure(settings: Settings, table: pd.DataFrame) -> Figure:
    """Return the accuracy of each rule against training documents, by collection."""
    labels = ("training documents", "accuracy")
    draw = partial(curves, table, *("part", "rule", "accuracy"), labels=labels, common=False)
    return Figure("Accuracy against the number of training documents", "Bands are one standard error.", draw)


def _final(table: pd.DataFrame) -> pd.DataFrame:
    """Return the scores at the largest size of each collection."""
    return table[table["m"] == table.groupby("part")["m"].transform("max")]


def _by_date(settings: Settings, rng: np.random.Generator) -> list[Record]:
    """Score the split by date."""
    train, test = by_date()
    if settings.documents:
        train, test = _on_words_of_first(*(_some(part, settings.documents, rng) for part in (train, test)))
    classifier = _fitted(settings, train, rng)
    return [{"part": "by-date", "repeat": 0, **line} for line in _scores(classifier, train, test)]


def _original(settings: Settings, repeat: int, rng: np.random.Generator) -> list[Record]:
    """Score nested training sets of two thirds of the original collection on the last third."""
    every = original()
    order = rng.permutation(len(every))
    third = len(every) - 2 * len(every) // 3
    test, train = every.rows(order[:third]), every.rows(order[third:])
    if settings.documents:
        train, test = (_some(part, settings.documents, rng) for part in (train, test))
    nested = shuffled(train.y, rng)
    sizes = [size for size in SIZES if len(every.groups) <= size < len(train)]
    records = []
    for size in (*sizes, len(train)):
        own = train.rows(nested[:size])
        kept = mitchells_words(own)
        own, asked = own.with_words(kept), test.with_words(kept)
        lines = _scores(_fitted(settings, own, rng), own, asked)
        records += [{"part": "original", "repeat": repeat, **line} for line in lines]
    return records


def _some(documents: Messages, most: int, rng: np.random.Generator) -> Messages:
    """Return a random part of some messages, with each group in it, on all their words."""
    return documents.rows(shuffled(documents.y, rng)[:most])


def _fitted(settings: Settings, train: Messages, rng: np.random.Generator) -> MultinomialNB:
    """Return the classifier of some messages."""
    engine, seed = Exact(draws=settings.draws, chains=1), int(rng.integers(2**31))
    classifier = MultinomialNB(ALPHA, class_prior="empirical", inference=engine, random_state=seed)
    return classifier.fit(train.counts, np.asarray(train.groups)[train.y], classes=train.groups)


def _scores(classifier: MultinomialNB, train: Messages, test: Messages) -> list[Record]:
    """Return each rule's scores, with standard errors paired with map; expectations over the draw for `gibbs`."""
    rows, y = classifier.rows(test.counts), test.y
    averages = averaging.average(classifier.hypotheses("posterior"), rows)
    own = np.arange(len(y))
    first: Array | None = None
    records: list[Record] = []
    for rule in RULES:
        confidence: float | None = None
        if rule == "gibbs":
            right, log_loss = averages.votes[own, y], -averages.mean_log_proba[own, y]
        else:
            known = rule == "bayes-optimal"
            source = classifier.hypotheses(rules.RULES[rule].source)
            scored = scores.score(averages.log_proba if known else rules.log_proba(rule, source, rows), y)
            right, log_loss = 1 - scored.error, scored.log_loss
            confidence = float(np.exp(scored.log_proba.max(axis=1)).mean())
        first = right if first is None else first
        line: Record = {"m": len(train), "vocabulary": len(train.words), "test": len(y), "rule": rule}
        line |= _mean("accuracy", right) | _mean("log_loss", log_loss) | _mean("more_accurate", right - first)
        records.append(line | {"overconfidence": None if confidence is None else confidence - float(right.mean())})
    return records


def _mean(name: str, values: Array) -> Record:
    """Return a mean over messages and its standard error, by name."""
    return {name: float(values.mean()), f"{name}_se": float(values.std(ddof=1) / np.sqrt(len(values)))}


@dataclass(frozen=True, eq=False)
class Messages:
    """Counts of words of messages.

    Attributes
    ----------
    counts
        How often each word occurs, (row, word).
    y
        Codes of the groups (row).
    groups
        Their names, in order.
    words
        The words.
    """

    counts: sparse.csr_array
    y: Integers
    groups: tuple[str, ...]
    words: NDArray[Any]

    def __len__(self) -> int:
        return len(self.y)

    def rows(self, rows: Integers) -> Messages:
        """Return some of the messages."""
        return Messages(self.counts[rows], self.y[rows], self.groups, self.words)

    def with_words(self, kept: NDArray[np.bool_]) -> Messages:
        """Return the messages with some of the words only."""
        return Messages(self.counts[:, np.flatnonzero(kept)], self.y, self.groups, self.words[kept])


@cache
def by_date() -> tuple[Messages, Messages]:
    """Return training and test messages, on the words of the training messages."""
    (train, y), (test, y_test) = map(_read, ("train", "test"))
    every = _counted([*train, *test], np.concatenate([y, y_test]))
    return _on_words_of_first(every.rows(np.arange(len(y))), every.rows(np.arange(len(y), len(every))))


@cache
def original() -> Messages:
    """Return all messages of the original collection, on all their words."""
    return _counted(*_read("all"), token_pattern=ALPHABETIC)


def _counted(texts: list[str], y: NDArray[Any], **options: Any) -> Messages:
    """Return the words of texts as scikit-learn counts them."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(**options)
    counts = sparse.csr_array(vectorizer.fit_transform(texts))
    names, codes = np.unique(y, return_inverse=True)
    return Messages(counts, codes.astype(np.intp), tuple(names.tolist()), vectorizer.get_feature_names_out())


def _on_words_of_first(train: Messages, test: Messages) -> tuple[Messages, Messages]:
    """Return messages with the words of the first of them only."""
    known = np.asarray(train.counts.sum(axis=0)).ravel() > 0
    return train.with_words(known), test.with_words(known)


def _read(part: str) -> tuple[list[str], NDArray[Any]]:
    """Return texts and groups of a part, from the user's folder, or those by date from scikit-learn's."""
    path = Path(os.environ.get(FOLDER_VARIABLE, ""), "newsgroups", f"{part}.jsonl.gz")
    if os.environ.get(FOLDER_VARIABLE) and path.is_file():
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            texts, y = zip(*((record["text"], record["group"]) for record in map(json.loads, file)), strict=True)
    else:
        from sklearn.datasets import fetch_20newsgroups

        try:
            if part == "all":  # scikit-learn has no copy of the original collection
                raise OSError
            found = fetch_20newsgroups(subset=part, shuffle=False, download_if_missing=False)
        except OSError:
            remedy = f"put newsgroups/{part}.jsonl.gz into a folder and set {FOLDER_VARIABLE} to it"
            other = "use --collections by-date" if part == "all" else "run sklearn.datasets.fetch_20newsgroups() once"
            raise InputError(f"20 Newsgroups is not available: {remedy}, or {other}") from None
        texts, y = found.data, np.asarray(found.target_names)[found.target]
    return list(texts), np.asarray(y)


def mitchells_words(train: Messages) -> NDArray[np.bool_]:
    """Return which words occur often enough in training messages, and are not among the most frequent, (word).

    References
    ----------
    Mitchell 1997 §6.10.1.
    """
    frequency = np.asarray(train.counts.sum(axis=0)).ravel()
    kept: NDArray[np.bool_] = frequency >= LEAST_OCCURRENCES
    kept[np.argsort(frequency, kind="stable")[-MOST_FREQUENT:]] = False
    return kept


def shuffled(y: Integers, rng: np.random.Generator) -> Integers:
    """Return all rows in random order, except for one of each group, which are first: every group is then known."""
    order = rng.permutation(len(y))
    first = np.sort(np.unique(y[order], return_index=True)[1])
    return np.concatenate([order[first], np.delete(order, first)])
