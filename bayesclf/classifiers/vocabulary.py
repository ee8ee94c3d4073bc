"""The words of documents that pass batch by batch: in how many each is, how often, and which are chosen by that."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from bayesclf.arrays import Array
from bayesclf.errors import InputError

NO_WORD = "the training documents have no word at all; look at the column, or at the vectorizer's options"
"""Why documents cannot be learned from."""

HASH = "#"
"""How names of hashes of words begin."""


def counted_words(
    documents: Iterable[str], words_of: Callable[[str], Iterable[str]]
) -> tuple[sparse.csr_array, tuple[str, ...]]:
    """Return how often each word is in each document, (row, word), and the words in order.

    It is what `CountVectorizer` counts, which leaves the words of each call in memory until cycles are looked for: a
    stream makes many calls.

    Parameters
    ----------
    documents
        Texts (row).
    words_of
        Takes a text apart.
    """
    place: dict[str, int] = {}
    places, counts, ends = array("q"), array("d"), array("q", [0])
    for document in documents:
        found = Counter(words_of(document))
        places.extend([place.setdefault(word, len(place)) for word in found])
        counts.extend(found.values())
        ends.append(len(places))
    words = sorted(place)
    moved = np.empty(len(words), dtype=np.intp)
    moved[[place[word] for word in words]] = np.arange(len(words))
    columns = moved[np.array(places, dtype=np.intp)]
    rows = sparse.csr_array((np.array(counts), columns, np.array(ends)), (len(ends) - 1, len(words)))
    rows.sort_indices()
    return rows, tuple(words)


def hashed_counts(
    documents: Iterable[str], options: Mapping[str, Any], columns: int
) -> tuple[sparse.csr_array, tuple[str, ...]]:
    """Return how often words of each hash are in each document, (row, hash), and names of the hashes that occur.

    They are scikit-learn's: MurmurHash3 of each word, modulo the number of columns.

    Parameters
    ----------
    documents
        Texts (row).
    options
        Those of `sklearn.feature_extraction.text.HashingVectorizer` that say what the words of a text are.
    columns
        Number of different hashes.

    Raises
    ------
    InputError
        For options that the vectorizer does not take.
    """
    every = _hashes(documents, options, columns)
    found = np.unique(every.indices)
    digits = len(str(columns - 1))
    return every[:, found], tuple(f"{HASH}{number:0{digits}}" for number in found.tolist())


def counts_of_hashes(
    documents: Iterable[str], options: Mapping[str, Any], columns: int, names: Sequence[str]
) -> sparse.csr_array:
    """Return how often words of some hashes are in each document, (row, hash), given names of these hashes."""
    every = _hashes(documents, options, columns)
    return every[:, np.array([int(name.removeprefix(HASH)) for name in names], dtype=np.intp)]


def _hashes(documents: Iterable[str], options: Mapping[str, Any], columns: int) -> sparse.csr_array:
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer = HashingVectorizer(**options, n_features=columns, alternate_sign=False, norm=None, dtype=np.float64)
    try:
        return sparse.csr_array(vectorizer.transform(documents))
    except ValueError as error:
        raise InputError(f"the vectorizer cannot be used ({error}); correct its options") from error


@dataclass
class WordCounts:
    """Counts of all words of the documents so far, whose memory is that of the different words.

    Attributes
    ----------
    done
        Number of rows so far.
    documents
        Number of those that count.
    """

    done: int = 0
    documents: int = 0
    _place: dict[str, int] = field(default_factory=dict)
    _containing: Array = field(default_factory=lambda: np.zeros(0))
    _occurrences: Array = field(default_factory=lambda: np.zeros(0))

    def add(self, words: tuple[str, ...], counts: sparse.csr_array) -> None:
        """Add documents, whose counts are (row, word)."""
        places = np.array([self._place.setdefault(word, len(self._place)) for word in words], dtype=np.intp)
        if len(self._place) > len(self._containing):
            more = np.zeros(2 * len(self._place) - len(self._containing))
            self._containing = np.concatenate([self._containing, more])
            self._occurrences = np.concatenate([self._occurrences, more])
        self.documents += counts.shape[0]
        self._containing[places] += np.bincount(counts.indices, counts.data > 0, minlength=len(words))
        self._occurrences[places] += np.bincount(counts.indices, counts.data, minlength=len(words))

    def chosen(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the words, in order, that `CountVectorizer` keeps of the same documents at once.

        Parameters
        ----------
        options
            Its options `min_df`, `max_df` and `max_features`; others are not looked at.

        Raises
        ------
        InputError
            If no word can be in as many documents as `min_df` and as few as `max_df` say, or none is.
        """
        low, high = (self._limit(options.get(name, default)) for name, default in (("min_df", 1), ("max_df", 1.0)))
        if high < low:
            raise InputError("the vectorizer cannot be used (max_df is less than min_df); correct its options")
        words = np.array(sorted(self._place), dtype=object)
        places = np.array([self._place[word] for word in words], dtype=np.intp)
        kept = (self._containing[places] >= low) & (self._containing[places] <= high)
        words, occurrences = words[kept], self._occurrences[places[kept]]
        if (most := options.get("max_features")) is not None:
            words = words[np.sort((-occurrences).argsort()[:most])]  # of equal counts those that scikit-learn keeps
        if not len(words):
            raise InputError(NO_WORD)
        return tuple(words.tolist())

    def _limit(self, df: Any) -> float:
        return float(df) if isinstance(df, Integral) else float(df) * self.documents
