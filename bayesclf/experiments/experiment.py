"""The interface of experiments: settings, independent units of work, and the summary of their records.

An experiment is a module with the names of `Experiment`, in that order; `bayesclf.experiments.EXPERIMENTS` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from bayesclf.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib import axes, figure

type Unit = tuple[str | int | float, ...]
"""Key of one unit of work; unique within the experiment, and the source of its seed."""

type Record = dict[str, Any]
"""One measurement: names to numbers, words or None, as JSON has them."""

type Drawing = figure.Figure
"""A figure of matplotlib, which is loaded when one is drawn."""

type Axes = axes.Axes
"""Axes of matplotlib."""


EXPERIMENTS: tuple[str, ...] = (
    "ng-jordan",
    "convergence",
    "gibbs-bound",
    "assumptions",
    "hypotheses",
    "sample-size",
    "parameter-count",
    "newsgroups",
    "small-data",
    "bias-variance",
)
"""Names of the experiments; the module's has underscores."""


@dataclass(frozen=True)
class Figure:
    """A figure of a results page.

    Attributes
    ----------
    name
        Name of its file, without ending; unique in the experiment.
    title, text
        Alternative text: what the figure is, and what it shows.
    draw
        Returns the figure.
    caption
        How to read it, shown below it.
    """

    name: str
    title: str
    text: str
    draw: Callable[[], Drawing]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """A part of a results page: sentences, then figures, then a table."""

    title: str
    sentences: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    table: pd.DataFrame | None = None


@dataclass(frozen=True)
class Results:
    """What an experiment found.

    Attributes
    ----------
    headline
        The answer to its question, in one sentence with numbers.
    findings
        What supports it.
    cautions
        What not to conclude from it.
    sections
        The evidence.
    """

    headline: str
    findings: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    sections: tuple[Section, ...] = field(default=())


class Experiment(Protocol):
    """The names of an experiment's module."""

    NAME: str
    """Name on the command line."""

    QUESTION: str
    """The question that it answers, one sentence."""

    BACKGROUND: tuple[str, ...]
    """Where the question comes from and what is done here, for a reader without the source; one paragraph each."""

    Settings: Any
    """A frozen dataclass; its fields are the options of the command line, their `metadata["help"]` the help."""

    def units(self, settings: Any) -> Sequence[Unit]:
        """Return the units of work, in the order in which to start them."""

    def measure(self, settings: Any, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
        """Do one unit of work; the result depends on the arguments alone."""

    def summarise(self, settings: Any, records: pd.DataFrame) -> pd.DataFrame:
        """Return the tidy table of results from the records of all units."""

    def present(self, settings: Any, records: pd.DataFrame, table: pd.DataFrame) -> Results:
        """Describe the results in sentences and figures."""


def option(default: Any, help: str) -> Any:
    """Return a field of settings with its help."""
    return field(default=default, metadata={"help": help})


def find(name: str) -> Experiment:
    """Return an experiment by its name."""
    if name not in EXPERIMENTS:
        raise InputError(f"unknown experiment {name!r}; they are {', '.join(EXPERIMENTS)}")
    return cast(Experiment, import_module(f"bayesclf.experiments.{name.replace('-', '_')}"))
