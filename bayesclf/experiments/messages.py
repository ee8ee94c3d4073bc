"""The messages of 20 Newsgroups as tables of word counts."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayesclf.errors import InputError
from bayesclf.tables.datasets import FOLDER_VARIABLE
from bayesclf.typing import Integers

COLLECTIONS = ("by-date", "original")
"""The split by date into training and test messages, and the collection that Mitchell (1997) used."""

ALPHABETIC = "[a-z]+"
"""Words of the original collection; those by date are scikit-learn's, of at least two letters or digits."""

MOST_FREQUENT, LEAST_OCCURRENCES = 100, 3
"""How many of the most frequent words are left out, and how often a word must occur, as by Mitchell."""


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


@lru_cache(maxsize=2)
def by_date(groups: tuple[str, ...]) -> tuple[Messages, Messages]:
    """Return training and test messages of some groups, by default all, on the words of the training messages.

    Raises
    ------
    InputError
        If the messages are not available, or a group is not among them.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    (train, y), (test, y_test) = (_by_date_part(part, groups) for part in ("train", "test"))
    vectorizer = CountVectorizer()
    counts, test_counts = (sparse.csr_array(X) for X in (vectorizer.fit_transform(train), vectorizer.transform(test)))
    names, words = tuple(np.unique(y).tolist()), vectorizer.get_feature_names_out()
    codes, test_codes = (np.searchsorted(names, labels) for labels in (y, y_test))
    return Messages(counts, codes, names, words), Messages(test_counts, test_codes, names, words)


@lru_cache(maxsize=2)
def original(groups: tuple[str, ...]) -> Messages:
    """Return all messages of some groups of the original collection, by default all, on all their words.

    Raises
    ------
    InputError
        If the messages are not available, or a group is not among them.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    path = _path("all")
    if path is None:
        remedy = f"put newsgroups/all.jsonl.gz into a folder and set {FOLDER_VARIABLE} to it"
        raise InputError(f"the original collection is not available: {remedy}, or use the collection 'by-date' only")
    texts, y = _read(path, groups)
    vectorizer = CountVectorizer(token_pattern=ALPHABETIC)
    counts = sparse.csr_array(vectorizer.fit_transform(texts))
    names, codes = np.unique(y, return_inverse=True)
    return Messages(counts, codes.astype(np.intp), tuple(names.tolist()), vectorizer.get_feature_names_out())


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


def _by_date_part(part: str, groups: tuple[str, ...]) -> tuple[list[str], NDArray[Any]]:
    """Return texts and groups of the training or test messages, from the user's folder or scikit-learn's."""
    path = _path(part)
    if path is not None:
        return _read(path, groups)
    from sklearn.datasets import fetch_20newsgroups

    try:
        found = fetch_20newsgroups(subset=part, shuffle=False, download_if_missing=False)
    except OSError:
        remedy = f"put newsgroups/train.jsonl.gz and test.jsonl.gz into a folder and set {FOLDER_VARIABLE} to it"
        download = "download it by running sklearn.datasets.fetch_20newsgroups() once"
        raise InputError(f"20 Newsgroups is not available: {remedy}, or {download}") from None
    return _chosen(found.data, np.asarray(found.target_names)[found.target], groups)


def _path(part: str) -> Path | None:
    """Return the file of a part in the user's folder, if it is there."""
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder, "newsgroups", f"{part}.jsonl.gz") if folder else None
    return path if path is not None and path.is_file() else None


def _read(path: Path, groups: tuple[str, ...]) -> tuple[list[str], NDArray[Any]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        records = [json.loads(line) for line in file]
    return _chosen([record["text"] for record in records], np.array([record["group"] for record in records]), groups)


def _chosen(texts: list[str], y: NDArray[Any], groups: tuple[str, ...]) -> tuple[list[str], NDArray[Any]]:
    """Return the messages of some groups."""
    unknown = sorted(set(groups) - set(y))
    if unknown:
        raise InputError(f"there is no group {unknown[0]!r}; they are {', '.join(sorted(set(y)))}")
    if not groups:
        return texts, y
    kept = np.flatnonzero(np.isin(y, groups))
    return [texts[row] for row in kept], y[kept]
