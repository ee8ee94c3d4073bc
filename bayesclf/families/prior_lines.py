"""Priors, form and numbers apart: which distribution each parameter has before any row is seen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from bayesclf.arrays import Array
from bayesclf.wording import listed

MOST_VALUES = 8
"""Concentrations of a Dirichlet that are written one by one where they differ."""

type Hyperparameter = int | float | tuple[float, float]
"""A number of a prior: a count, a number, or the least and the largest of many."""


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

    `parameter`: Its name in `posterior_`. `outcome`: The class; empty where the prior is the same in all classes.
    `feature`: The column; empty where it is the same for all columns, or of all together. `form`: The distribution,
    with the names of its numbers in braces, such as "Gamma({a}, {b})". `numbers`: Its numbers, by these names. An `int`
    is a count; a pair of numbers, the least and the largest of many.
    """

    parameter: str
    outcome: str
    feature: str
    form: str
    numbers: Mapping[str, Hyperparameter] = MappingProxyType({})

    @property
    def prior(self) -> str:
        """The prior in words, such as "Gamma(1.5, 1)"."""
        return self.form.format(**{name: span([value]) for name, value in self.numbers.items()})

    @property
    def words(self) -> tuple[str, str, str, str]:
        """Parameter, outcome, feature and prior."""
        return self.parameter, self.outcome, self.feature, self.prior


def written(value: float) -> str:
    """Return a number with at most four significant digits.

    Examples
    --------
    >>> written(2.0), written(0.123456), written(-1e-9), written(float("inf"))
    ('2', '0.1235', '−1e−09', '∞')
    """
    return f"{value:.4g}".replace("-", "−").replace("inf", "∞")


def suffixed(text: str, names: Iterable[str], suffix: str) -> str:
    """Return a text in which names of parameters have a suffix; what is in braces names a number of a form and stays.

    Examples
    --------
    >>> suffixed("Normal({mu}, sigma2)", ["mu", "sigma2"], "_2")
    'Normal({mu}, sigma2_2)'
    """
    return re.sub(rf"(?<!{{)\b({'|'.join(map(re.escape, names))})\b", rf"\1{suffix}", text)


def span(values: Iterable[Hyperparameter]) -> str:
    """Return numbers, or pairs of ends, as one range; counts in full, and what is written alike once.

    Examples
    --------
    >>> span([2_000]), span([2.5, 2.5]), span([(1.0, 3.0), (2.0, 2_500.0)]), span([-1.0, 0.5])
    ('2,000', '2.5', '1 to 2500', '−1 to 0.5')
    """
    ends = [end for value in values for end in (value if isinstance(value, tuple) else (value,))]
    said = [f"{end:,}" if isinstance(end, int) else written(end) for end in (min(ends), max(ends))]
    return " to ".join(dict.fromkeys(said))


def listing(
    name: str, values: Iterable[float], limit: int | None = None, last: str = ", "
) -> tuple[str, dict[str, Hyperparameter]]:
    """Return the part of a form that lists values, as `bayesclf.wording.listed` does, and these as numbers.

    Examples
    --------
    >>> listing("alpha", [1.0, 2.5])
    ('{alpha_1}, {alpha_2}', {'alpha_1': 1.0, 'alpha_2': 2.5})
    """
    numbers: dict[str, Hyperparameter] = {f"{name}_{place}": float(value) for place, value in enumerate(values, 1)}
    return listed((f"{{{key}}}" for key in numbers), limit, last=last), numbers


def prior_lines(parameter: str, form: str, axes: Names, **numbers: Array) -> list[PriorLine]:
    """Return a line for each feature, for each outcome too where their numbers differ in words.

    `parameter`: Its name in `posterior_`. `form`: The distribution with the names of the numbers in braces, such as
    "Gamma({a}, {b})". `numbers`: (outcome or 1, feature or 1); length 1 is for what classes or features share.
    """
    arrays = dict(zip(numbers, np.broadcast_arrays(*numbers.values()), strict=True))
    outcomes, features = next(iter(arrays.values())).shape
    lines = []
    for j in range(features):
        name = axes.features[j] if features == len(axes.features) else ""
        own = [(form, {key: float(values[k, j]) for key, values in arrays.items()}) for k in range(outcomes)]
        lines += by_outcome(parameter, name, axes.labels, own)
    return lines


def by_outcome(
    parameter: str, feature: str, labels: Iterable[str], priors: Sequence[tuple[str, Mapping[str, Hyperparameter]]]
) -> list[PriorLine]:
    """Return one line for priors (outcome), each a form and its numbers, that are alike in words, else one for each."""
    lines = [PriorLine(parameter, "", feature, form, numbers) for form, numbers in priors]
    if len({line.prior for line in lines}) == 1:
        return lines[:1]
    return [line._replace(outcome=label) for line, label in zip(lines, labels, strict=True)]


def dirichlet_lines(
    parameter: str, names: Sequence[str], labels: tuple[str, ...], alpha: Array, sizes: tuple[int, ...]
) -> list[PriorLine]:
    """Return a line for each simplex, for each outcome too where their concentrations differ.

    `parameter`: Its name in `posterior_`. `alpha`: (outcome, cell), the cells of one simplex after those of the other.
    """
    lines = []
    for name, own in zip(names, np.split(alpha, np.cumsum(sizes)[:-1], axis=1), strict=True):
        lines += by_outcome(parameter, name, labels, [dirichlet(row) for row in own])
    return lines


def dirichlet(alpha: Array) -> tuple[str, dict[str, Hyperparameter]]:
    """Return the form of a Dirichlet, and its numbers.

    Examples
    --------
    >>> for alpha in ([2.0, 2.0, 2.0], [1.0, 2.5]):
    ...     print(PriorLine("theta", "", "", *dirichlet(np.array(alpha))).prior)
    Dirichlet(2 in each of 3 cells)
    Dirichlet(1, 2.5)
    """
    if np.ptp(alpha) == 0:
        return "Dirichlet({alpha} in each of {cells} cells)", {"alpha": float(alpha[0]), "cells": alpha.size}
    if alpha.size <= MOST_VALUES:
        values, numbers = listing("alpha", alpha)
        return f"Dirichlet({values})", numbers
    ends = (float(alpha.min()), float(alpha.max()))
    return "Dirichlet({alpha} in {cells} cells)", {"alpha": ends, "cells": alpha.size}
