"""Priors in words: which distribution each parameter has before any row is seen, with its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from bayesclf.typing import Array

MOST_VALUES = 8
"""Concentrations of a Dirichlet that are written one by one where they differ."""


class Names(Protocol):
    """The names of classes and features, as `bayesclf.families.Axes` has them."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""


class PriorLine(NamedTuple):
    """The prior of some numbers of one parameter.

    Attributes
    ----------
    parameter
        Its name in `posterior_`.
    outcome
        The class; empty where the prior is the same in all classes.
    feature
        The column; empty where it is the same for all columns, or of all together.
    prior
        Such as "Gamma(1.5, 1)".
    """

    parameter: str
    outcome: str
    feature: str
    prior: str


def written(value: float) -> str:
    """Return a number with at most four significant digits.

    Examples
    --------
    >>> written(2.0), written(0.123456), written(-1e-9), written(float("inf"))
    ('2', '0.1235', '−1e−09', '∞')
    """
    return f"{value:.4g}".replace("-", "−").replace("inf", "∞")


def suffixed(text: str, names: Iterable[str], suffix: str) -> str:
    """Return a text in which names of parameters have a suffix.

    Examples
    --------
    >>> suffixed("Normal(mu, sigma2)", ["mu", "sigma2"], "_2")
    'Normal(mu_2, sigma2_2)'
    """
    return re.sub(rf"\b({'|'.join(map(re.escape, names))})\b", rf"\1{suffix}", text)


def prior_lines(parameter: str, form: str, axes: Names, **numbers: Array) -> list[PriorLine]:
    """Return a line for each feature, for each outcome too where their numbers differ.

    Parameters
    ----------
    parameter
        Its name in `posterior_`.
    form
        The distribution with the names of the numbers in braces, such as "Gamma({a}, {b})".
    axes
        Of the block.
    numbers
        (outcome or 1, feature or 1); length 1 is for what classes or features share.
    """
    arrays = dict(zip(numbers, np.broadcast_arrays(*numbers.values()), strict=True))
    outcomes, features = next(iter(arrays.values())).shape
    lines = []
    for j in range(features):
        name = axes.features[j] if features == len(axes.features) else ""
        said = [form.format(**{key: written(values[k, j]) for key, values in arrays.items()}) for k in range(outcomes)]
        if len(set(said)) == 1:
            lines.append(PriorLine(parameter, "", name, said[0]))
        else:
            lines += [PriorLine(parameter, label, name, one) for label, one in zip(axes.labels, said, strict=True)]
    return lines


def dirichlet_lines(
    parameter: str, names: Sequence[str], labels: tuple[str, ...], alpha: Array, sizes: tuple[int, ...]
) -> list[PriorLine]:
    """Return a line for each simplex, for each outcome too where their concentrations differ.

    Parameters
    ----------
    parameter
        Its name in `posterior_`.
    names
        What each simplex is of.
    labels
        The classes.
    alpha
        (outcome, cell), the cells of one simplex after those of the other.
    sizes
        Cells of each simplex.
    """
    lines = []
    for name, own in zip(names, np.split(alpha, np.cumsum(sizes)[:-1], axis=1), strict=True):
        said = [dirichlet(row) for row in own]
        if len(set(said)) == 1:
            lines.append(PriorLine(parameter, "", name, said[0]))
        else:
            lines += [PriorLine(parameter, label, name, one) for label, one in zip(labels, said, strict=True)]
    return lines


def dirichlet(alpha: Array) -> str:
    """Return a Dirichlet in words.

    Examples
    --------
    >>> dirichlet(np.array([2.0, 2.0, 2.0])), dirichlet(np.array([1.0, 2.5]))
    ('Dirichlet(2 in each of 3 cells)', 'Dirichlet(1, 2.5)')
    """
    if np.ptp(alpha) == 0:
        return f"Dirichlet({written(alpha[0])} in each of {alpha.size:,} cells)"
    if alpha.size <= MOST_VALUES:
        return f"Dirichlet({', '.join(map(written, alpha))})"
    return f"Dirichlet({written(alpha.min())} to {written(alpha.max())} in {alpha.size:,} cells)"
