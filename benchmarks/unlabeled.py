"""Text with few labels: how much more accurate is naive Bayes where it also learns from messages without labels?

Run from the project's folder: .venv/bin/python benchmarks/unlabeled.py [sms_spam] [newsgroups]

Labels of some training messages are kept. The others are left out, or learned from by EM. Both fits answer by MAP, on
the same test messages, and the mean accuracies over random choices of labels are printed with their standard errors.
The experiment is that of Nigam, McCallum, Thrun and Mitchell (2000), Text classification from labeled and unlabeled
documents using EM, Machine Learning 39, doi:10.1023/A:1007692713085, who had Laplace's rule, as here.
"""

import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bayesclf as bc
from bayesclf.experiments.newsgroups import by_date

CHOICES = 5
LABELED = {"sms_spam": (10, 30, 100, 300, 1000), "newsgroups": (40, 100, 300, 1000)}
MESSAGES = {"sms_spam": 3000, "newsgroups": 4000}
ALPHA = {"sms_spam": (2.0, 1.1), "newsgroups": (2.0, 1.1)}
"""Concentrations: Laplace's rule, and one that adds a tenth to each count."""


def sms_spam() -> tuple[Any, NDArray[Any]]:
    """Return counts of the words of the messages, and their labels."""
    from sklearn.feature_extraction.text import CountVectorizer

    table = bc.datasets.load("sms_spam")
    return CountVectorizer().fit_transform(table.X.iloc[:, 0]), np.asarray(table.y).astype(str)


def newsgroups() -> tuple[Any, NDArray[Any]]:
    """Return counts of the words that three training messages have, and their groups."""
    train, _ = by_date(())
    common = np.bincount(train.counts.indices, minlength=train.counts.shape[1]) >= 3
    kept = train.with_words(common)
    return kept.counts, np.asarray(kept.groups)[kept.y]


def main(names: list[str]) -> None:
    """Measure and print."""
    for name in names or ["sms_spam"]:
        X, y = {"sms_spam": sms_spam, "newsgroups": newsgroups}[name]()
        for alpha in ALPHA[name]:
            print(f"{name}, alpha={alpha}, {MESSAGES[name]:,} training messages, {X.shape[1]:,} words")
            for number in LABELED[name]:
                print(compared(X, y, alpha, number, MESSAGES[name]), flush=True)


def compared(X: Any, y: NDArray[Any], alpha: float, number: int, messages: int) -> str:
    """Return the accuracies with a number of labels, without the other messages and with them."""
    accuracy, seconds = [], 0.0
    for choice in range(CHOICES):
        order = np.random.default_rng(choice).permutation(len(y))
        train, test = order[:messages], order[messages : messages + 2000]
        labels = y[train].astype(object)
        first = np.unique(y[train], return_index=True)[1]  # one of each class
        kept = np.union1d(first, np.setdiff1d(np.arange(messages), first)[: number - len(first)])
        hidden = np.setdiff1d(np.arange(messages), kept)
        alone = bc.MultinomialNB(alpha, inference="map").fit(X[train[kept]], labels[kept])
        labels[hidden] = None
        start = time.perf_counter()
        both = bc.MultinomialNB(alpha, inference="map").fit(X[train], labels, unlabeled="use")
        seconds += (time.perf_counter() - start) / CHOICES
        accuracy.append([np.mean(clf.predict(X[test]) == y[test]) for clf in (alone, both)])
    mean, error = np.mean(accuracy, axis=0), np.std(accuracy, axis=0, ddof=1) / np.sqrt(CHOICES)
    told = (f"{words} {m:.3f} ± {e:.3f}" for words, m, e in zip(("labeled", "all"), mean, error, strict=True))
    return f"{number:>6} labels: {', '.join(told)}; EM {seconds:.1f} s"


if __name__ == "__main__":
    main(sys.argv[1:])
