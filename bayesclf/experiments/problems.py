"""The 15 problems of Ng & Jordan's Figure 1, and further ones with more classes, as encoded rows."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bayesclf.errors import InputError
from bayesclf.tables import columns, datasets, shipped
from bayesclf.typing import Array, Integers
from bayesclf.wording import joined


@dataclass(frozen=True)
class Problem:
    """One problem: which rows and columns of which data set.

    Attributes
    ----------
    name
        As the command line has it.
    dataset
        Name of the data set.
    kind
        ``"number"`` or ``"category"``: the kind of its columns; ordinal numbers become categories.
    classes
        The classes whose rows are used; empty for all.
    of_kind
        Whether columns of the other kind are left out.
    """

    name: str
    dataset: str
    kind: str
    classes: tuple[str, ...] = ()
    of_kind: bool = False


PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("pima", "pima", "number"),
        Problem("adult", "adult", "number", of_kind=True),
        Problem("boston", "boston", "number"),
        Problem("optdigits-0-1", "optdigits", "number", classes=("0", "1")),
        Problem("optdigits-2-3", "optdigits", "number", classes=("2", "3")),
        Problem("ionosphere", "ionosphere", "number"),
        Problem("liver", "bupa", "number"),
        Problem("sonar", "sonar", "number"),
        Problem("adult-discrete", "adult", "category", of_kind=True),
        Problem("promoters", "promoters", "category"),
        Problem("lymphography", "lymphography", "category", classes=("malign_lymph", "metastases")),
        Problem("breast-cancer", "breast_cancer_ljubljana", "category"),
        Problem("lenses", "lenses", "category", classes=("hard", "soft")),
        Problem("sick", "sick", "category", of_kind=True),
        Problem("votes", "votes", "category"),
    )
}
"""The problems in the order of the figure; the paper does not say which rows, columns or classes it used."""

FURTHER_PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("play-tennis", "play_tennis", "category"),
        Problem("iris", "iris", "number"),
        Problem("wine", "wine", "number"),
        Problem("lenses-all", "lenses", "category"),
        Problem("lymphography-all", "lymphography", "category"),
        Problem("digits", "digits", "number"),
    )
}
"""Problems that are not in the figure, all but the first of more than two classes."""

ALL_PROBLEMS = PROBLEMS | FURTHER_PROBLEMS


@dataclass(frozen=True, eq=False)
class Encoded:
    """The rows of a problem.

    Attributes
    ----------
    problem
        The problem.
    X
        Numbers (row, feature), or level codes with −1 where a cell is missing.
    y
        Label codes (row).
    labels
        Names of the classes.
    features
        Names of the columns.
    levels
        Levels of each column; empty for numbers.
    """

    problem: Problem
    X: NDArray[np.float64] | Integers
    y: Integers
    labels: tuple[str, ...]
    features: tuple[str, ...]
    levels: tuple[tuple[Hashable, ...], ...]

    def __len__(self) -> int:
        return len(self.y)

    @property
    def numbers(self) -> Array:
        """The numbers (row, number); no column where all are categories."""
        return self.X if self.problem.kind == "number" else np.empty((len(self), 0))  # type: ignore[return-value]

    @property
    def codes(self) -> Integers:
        """The level codes (row, category); no column where all are numbers."""
        return self.X if self.problem.kind == "category" else np.empty((len(self), 0), dtype=np.intp)  # type: ignore[return-value]


def named(words: str, known: Collection[str]) -> list[str]:
    """Return the problems of a comma-separated list, if all of them are known."""
    names = [name.strip() for name in words.split(",")]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"unknown problem {unknown[0]!r}; they are {', '.join(known)}")
    return names


def at_hand(words: str, known: Collection[str]) -> list[str]:
    """Return the problems of a comma-separated list whose tables can be loaded.

    Those whose tables ship can be; the others are looked for in the folder of BAYESCLF_DATA and on openml.org.

    Raises
    ------
    InputError
        If a problem is not known, or none can be loaded.
    """
    names, reasons = [], []
    for name in named(words, known):
        try:
            if ALL_PROBLEMS[name].dataset in shipped.NAMED:
                load(name)
            names.append(name)
        except InputError as reason:
            reasons.append(reason)
    if not names:
        raise reasons[0]
    return names


def left_out(words: str, known: Collection[str], answered: Collection[str]) -> tuple[str, ...]:
    """Say which problems of a comma-separated list were left out, if any; `answered` are those that were not."""
    names = [name for name in named(words, known) if name not in answered]
    if not names:
        return ()
    return (
        f"Left out, because the table is not available: {joined(names)}. The license of these tables is not clear, and "
        "they do not ship with bayesclf: they are fetched from openml.org where there is a network, or read from the "
        "folder that BAYESCLF_DATA names.",
    )


@lru_cache(maxsize=4)
def load(name: str) -> Encoded:
    """Return the rows of a problem.

    Raises
    ------
    InputError
        If the problem is not known, or its data set not available.
    """
    problem = ALL_PROBLEMS[named(name, ALL_PROBLEMS)[0]]
    try:
        table = datasets.load(problem.dataset)
    except InputError as reason:
        raise InputError(f"the problem {name} is not available: {reason}") from None
    y = np.asarray(table.y).astype(str)
    kept = np.isin(y, problem.classes) if problem.classes else np.ones(len(y), dtype=bool)
    frame = table.X[kept]
    wanted = tuple(str(name) for name in frame if not problem.of_kind or columns.kind_of(frame[name]) == problem.kind)
    frame = frame[list(wanted)]
    labels, codes = np.unique(y[kept], return_inverse=True)
    levels: tuple[tuple[Hashable, ...], ...] = ()
    X: NDArray[np.float64] | Integers
    if problem.kind == "number":
        X = columns.numbers(frame, wanted)
    else:
        frame = frame.astype("str").where(frame.notna())
        levels = tuple(columns.levels_of(frame[name], "ignore") for name in wanted)
        X = columns.codes(frame, wanted, levels)
    return Encoded(problem, X, codes.astype(np.intp), tuple(labels.tolist()), wanted, levels)
