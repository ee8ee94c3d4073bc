"""The runner of all experiments: units of work with seeds of their own, stored when done, and a page.

An experiment is a module with the names of `Experiment`, in that order; `EXPERIMENTS` lists them. Its docstring has
three parts: the question in one line; a paragraph on where it comes from and what is done; and one on what not to
conclude from the answer. The page of results begins with them.
"""

from __future__ import annotations

import json
import os
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from inspect import cleandoc
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import pandas as pd

from bayesclf.arrays import Array, Integers
from bayesclf.constraints import Constraint, FileName, Instance, OrNone, constraint_like, require
from bayesclf.display import Display, Displayed
from bayesclf.errors import ConvergenceWarning, InputError, PredictionWarning, Stopped
from bayesclf.files import regular, write_text
from bayesclf.plots import style
from bayesclf.plots.style import Axes, Figure as Drawing
from bayesclf.progress import Progress, shown
from bayesclf.rules import RULES
from bayesclf.wording import counted
from bayesclf.workers import JOBS, each, processes

type Unit = tuple[str | int | float, ...]
"""Key of one unit of work; unique within the experiment, and the source of its seed."""

type Record = dict[str, Any]
"""One measurement: names to numbers, words or None, as JSON has them."""

type Each = Callable[[Sequence[Unit]], pd.DataFrame]
"""Does units of work, and returns their records in an order that does not depend on which was finished first."""

EXPERIMENTS: tuple[str, ...] = (
    *("ng-jordan", "convergence", "gibbs-bound", "assumptions", "hypotheses", "sample-size", "parameter-count"),
    *("newsgroups", "bias-variance"),
)
"""Names of the experiments; the module's has underscores."""

UNITS, SETTINGS, TABLE, PAGE = "units", "settings.json", "table.csv", "results.html"
"""What is in a results folder: records of each unit, how they were made, the table, and the page."""

GREY = "#8c8c8c"
"""Color of a reference line."""

LINES = ("-", (0, (5, 2)), (0, (1, 1.2)))
"""Lines of curves; Ng and Jordan's are solid and dashed."""


@dataclass(frozen=True)
class Figure:
    """The figure of a results page.

    Attributes
    ----------
    title, caption
        What the figure is, and how to read it; together also its alternative text.
    draw
        Returns the figure.
    """

    title: str
    caption: str
    draw: Callable[[], Drawing]


class Experiment(Protocol):
    """The names of an experiment's module."""

    __doc__: str | None
    __name__: str

    Settings: Any
    """A frozen dataclass; its fields are the options of the command line, their `metadata["help"]` the help."""

    def tabulate(self, settings: Any, each: Each) -> pd.DataFrame:
        """Check the settings, let `each` do the units of work, and return the tidy table of results."""

    def measure(self, settings: Any, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
        """Do one unit of work; the result depends on the arguments alone."""

    def answer(self, settings: Any, table: pd.DataFrame) -> tuple[str, ...]:
        """Return the answer to the question in a sentence with numbers, then sentences that support it."""

    def summary(self, settings: Any, table: pd.DataFrame) -> pd.DataFrame:
        """Return the table of the page."""

    def figure(self, settings: Any, table: pd.DataFrame) -> Figure:
        """Return the figure of the page."""


@dataclass(frozen=True, repr=False)
class Outcome(Displayed):
    """A finished experiment.

    Attributes
    ----------
    table
        The tidy table of results.
    answer
        The answer to the question, then sentences that support it.
    summary
        The table of the page.
    figure
        The figure of the page.
    folder
        Where records, settings and table lie.
    """

    table: pd.DataFrame
    answer: tuple[str, ...]
    summary: pd.DataFrame
    figure: Figure
    folder: Path

    def _display(self) -> Display:
        kept = f"{counted(len(self.table), 'line')} in `table`, and a figure: `figure.draw()`"
        return Display(self.answer[0], sentences=(*self.answer[1:], kept))


def option(default: Any, help: str) -> Any:
    """Return a field of settings with its help."""
    return field(default=default, metadata={"help": help})


def named(what: str, names: Sequence[Any], known: Iterable[str]) -> list[str]:
    """Return names if all of them are known."""
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise InputError(f"unknown {what} {name!r}; they are {', '.join(known)}")
    return list(names)


def find(name: str) -> Experiment:
    """Return an experiment by its name."""
    named("experiment", [name], EXPERIMENTS)
    return cast(Experiment, import_module(f"bayesclf.experiments.{name.replace('-', '_')}"))


def name_of(experiment: Experiment) -> str:
    """Return the name of an experiment on the command line."""
    return experiment.__name__.rpartition(".")[2].replace("_", "-")


def about(experiment: Experiment) -> tuple[str, str, str]:
    """Return question, background and cautions of an experiment, from its docstring."""
    question, background, cautions = (
        " ".join(part.split()) for part in cleandoc(experiment.__doc__ or "").split("\n\n")
    )
    return question, background, cautions


def seed_of(seed: int, unit: Unit) -> np.random.SeedSequence:
    """Return the seed of a unit, which depends on its key, not on its place in the order."""
    return np.random.SeedSequence([seed, zlib.crc32(json.dumps(unit).encode())])


def run(
    experiment: Experiment,
    settings: Any,
    folder: str | os.PathLike[str],
    jobs: int = 1,
    made: dict[str, str] | None = None,
    progress: Progress = None,
) -> Outcome:
    """Do the remaining units of an experiment, and make its table.

    Parameters
    ----------
    experiment : Experiment
        A module of `bayesclf.experiments`.
    settings : dataclass
        Its settings, with a `seed`.
    folder : str or path
        Where results are stored, and found again by a run that resumes.
    jobs : int
        Processes, −1 for as many as there are processors. The number does not change the results.
    made : mapping from str to str or None
        Command and versions, stored with the results.
    progress : bool, callable or None
        Whether to show progress; or a function that is called with the experiment's name, units done and units in all.
        None shows it in a notebook, and where stderr is a terminal.

    Raises
    ------
    InputError
        If the folder holds something else.
    Stopped
        If the disk is full, or workers end before the work does; a run with the same folder does the remaining units.
    """
    words = "a module, such as experiments.find('ng-jordan') returns"
    require(Constraint(words, lambda value: hasattr(value, "Settings")), experiment=experiment)
    if not isinstance(settings, experiment.Settings):
        raise InputError(f"settings must be {name_of(experiment)}'s own, experiment.Settings(…), not {settings!r}")
    for option in fields(settings):
        require(constraint_like(option.default), **{option.name: getattr(settings, option.name)})
    require(JOBS, jobs=jobs)
    require(FileName("the name of a folder"), folder=folder)
    require(OrNone(Instance(dict)), made=made)
    folder = Path(folder)
    table = experiment.tabulate(
        settings, partial(_done, name_of(experiment), settings, folder, jobs, made or {}, progress)
    )
    write_text(folder / TABLE, table.to_csv(index=False, lineterminator="\n"))
    summary, figure = experiment.summary(settings, table), experiment.figure(settings, table)
    return Outcome(table, experiment.answer(settings, table), summary, figure, folder)


def _done(
    name: str, settings: Any, folder: Path, jobs: int, made: dict[str, str], progress: Progress, units: Sequence[Unit]
) -> pd.DataFrame:
    """Do those units of an experiment that are not stored yet, and return the records of all."""
    units = list(dict.fromkeys(units))
    store = Store(folder, name, settings, made)
    done = {unit: records for unit in units if (records := store.read(unit)) is not None}
    left = [(unit,) for unit in units if unit not in done]
    with shown(name, len(units), progress) as tell:
        tell(name, len(done), len(units))
        try:
            work = each(partial(measure, name, settings), left, processes(jobs, len(left) or 1), ordered=False)
            with closing(work) as finished:
                for unit, records in finished if left else ():
                    store.write(unit, records)
                    done[unit] = records
                    tell(name, len(done), len(units))
        except Stopped as reason:
            again = made.get("command", "the same call")
            kept = f"{counted(len(done), 'unit')} of {len(units)} are stored"
            raise Stopped(f"{reason}; {kept}, and {again} does the others") from reason
    # in an order that does not depend on which was finished first
    ordered = sorted(units, key=lambda unit: [str(part).zfill(12) for part in unit])
    return pd.DataFrame([record for unit in ordered for record in done[unit]])


def measure(name: str, settings: Any, unit: Unit) -> tuple[Unit, list[Record]]:
    """Do one unit, in any process.

    Linear algebra keeps to one thread: several would change the order of sums, and with it the last digits.
    """
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1), warnings.catch_warnings():
            # Where the warnings about a fit matter, the records show it.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", PredictionWarning)
            return unit, find(name).measure(settings, unit, seed_of(settings.seed, unit))
    except Exception as error:
        error.add_note(f"in unit {unit} of the experiment {name}")
        raise


class Store:
    """A folder with the records of one experiment: its settings, and a file of JSON for each finished unit."""

    def __init__(self, folder: Path, experiment: str, settings: Any, made: dict[str, str]) -> None:
        self._units, path = folder / UNITS, folder / SETTINGS
        about = {"experiment": experiment, "version": version("bayesclf")}
        about |= {name: json.loads(json.dumps(value)) for name, value in asdict(settings).items()}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # another run may be about to write the settings
            others = {found.name for found in folder.iterdir() if found.name != UNITS and found.name[0] != "."}
            if SETTINGS in others or not others:
                self._units.mkdir(exist_ok=True)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"the folder {folder} cannot be made ({reason}); choose another") from None
        if others and SETTINGS not in others:
            raise InputError(f"the folder {folder} holds other files; choose a new one for the results")
        if not others:
            write_text(path, json.dumps(about | made, indent=1) + "\n")
            return
        found = _parsed(path)
        if other := [f"{name}={found.get(name)!r}" for name, value in about.items() if found.get(name) != value]:
            raise InputError(f"{folder} holds results of other settings ({', '.join(other)}); choose another")

    def read(self, unit: Unit) -> list[Record] | None:
        """Return the records of a unit, None if it was not done."""
        path = self._path(unit)
        if not os.path.lexists(path):
            return None
        found = _parsed(path)
        if found.get("unit") == list(unit) and isinstance(found.get("records"), list):
            return cast(list[Record], found["records"])
        raise InputError(f"{path} is damaged, or of another run; delete it, and its unit is done again")

    def write(self, unit: Unit, records: list[Record]) -> None:
        """Store the records of a finished unit, or raise `Stopped` if the disk does not take them."""
        try:
            write_text(self._path(unit), json.dumps({"unit": unit, "records": records}))
        except InputError as reason:
            raise Stopped(str(reason)) from reason

    def _path(self, unit: Unit) -> Path:
        return self._units / f"{sha256(json.dumps(unit).encode()).hexdigest()[:16]}.json"


def _parsed(path: Path) -> dict[str, Any]:
    """Return the mapping in a file of JSON, an empty one if there is none."""
    with regular(path, "a file of results") as file:
        try:
            found = json.loads(file.read())
        except (ValueError, RecursionError):
            return {}
    return found if isinstance(found, dict) else {}


def write_page(experiment: Experiment, settings: Any, outcome: Outcome, command: str | None = None) -> Path:
    """Write the page of a finished experiment into its folder, next to records and table; return its path."""
    from bayesclf.report import document, tree

    question, background, cautions = about(experiment)
    options = [(name.replace("_", " "), str(value)) for name, value in asdict(settings).items()]
    own = outcome.figure
    answer: list[tree.Part] = [
        tree.Text(outcome.answer[0], "headline"),
        tree.Items(outcome.answer[1:]),
        tree.Section("What not to conclude", [tree.Text(cautions)], "box"),
    ]
    sections = [
        tree.Section("The question", [tree.Text(background)]),
        tree.Section("Answer", answer, "first"),
        tree.Section("Figure", [tree.Figure(own.draw, "figure", own.title, own.caption)]),
        tree.Section("Table", [tree.Table(outcome.summary, most=len(outcome.summary))]),
    ]
    path = outcome.folder / PAGE
    text = tree.html(tree.Report(name_of(experiment), question, sections, document.made(command, *options)))
    write_text(path, text)
    return path


def labels_of_two(rows: int, rng: np.random.Generator) -> Integers:
    """Draw the labels of two classes that are equally probable; the first two differ."""
    y = rng.integers(2, size=rows).astype(np.intp)
    y[:2] = rng.permutation(2)
    return y


def means(groups: Any, *metrics: str) -> pd.DataFrame:
    """Return mean and standard error (…_se) of columns by group."""
    found: pd.DataFrame = groups[list(metrics)].agg(["mean", "sem"])
    names = [f"{metric}{ending}" for metric in metrics for ending in ("", "_se")]
    return found.set_axis(names, axis=1).reset_index()


def in_order(table: pd.DataFrame, by: Sequence[str], **orders: Iterable[str]) -> pd.DataFrame:
    """Return a table sorted by columns, of which some have values in a given order."""
    places = {name: {value: place for place, value in enumerate(order)} for name, order in orders.items()}
    return table.sort_values(
        list(by), key=lambda c: c.map(places[c.name]) if c.name in places else c, kind="stable", ignore_index=True
    )


def last_crossing(sizes: Array, difference: Array) -> float:
    """Return where a difference (m) turns positive for good, interpolated in log m; infinite where it never does."""
    behind = np.flatnonzero(difference <= 0)
    if not behind.size:
        return float(sizes[0])
    last = int(behind[-1])
    if last == len(sizes) - 1:
        return float("inf")
    before, after = difference[last], difference[last + 1]
    share = before / (before - after)
    return float(np.exp(np.log(sizes[last]) + share * np.log(sizes[last + 1] / sizes[last])))


def curves(
    table: pd.DataFrame,
    panel: str,
    curve: str,
    y: str,
    *,
    x: str = "m",
    labels: tuple[str, str] = ("training rows", ""),
    log: str = "x",
    common: bool = True,
) -> Drawing:
    """Draw a panel for each value of a column and in it a curve for each value of another, named above the panels.

    Parameters
    ----------
    table
        The values; where it has the standard errors of `y` (…_se), there is a band of one.
    panel, curve, x, y
        Columns. Curves of rules have the colors of the rules, those of numbers are the darker the larger the number.
    labels
        Of the axes.
    log
        Which axes are logarithmic.
    common
        Whether the panels have the same scales.
    """
    panels, names = (list(dict.fromkeys(table[name])) for name in (panel, curve))
    figure, axes = style.panels(len(panels), (3.05, 2.5), common=common)
    for ax, which in zip(axes, panels, strict=True):
        for place, name in enumerate(names):
            own = table[(table[panel] == which) & (table[curve] == name) & np.isfinite(table[y])].sort_values(x)
            if own.empty:
                continue
            line, marker = "-" if name in RULES else LINES[place % len(LINES)], "o" if len(own) == 1 else ""
            look: Any = {"color": _color(names, place), "linestyle": line, "marker": marker}
            ax.plot(own[x], own[y], linewidth=1.6, label=f"{name:g}" if _ordered(names) else str(name), **look)
            if f"{y}_se" in own:
                band = own[y] - own[f"{y}_se"], own[y] + own[f"{y}_se"]
                ax.fill_between(own[x], *band, color=look["color"], alpha=0.15, linewidth=0)
        for axis in log:
            ax.set(**{f"{axis}scale": "log"})
            getattr(ax, f"{axis}axis").set_major_formatter("{x:,g}")
        ax.set_title(f"{which:,g}" if _ordered(panels) else str(which), loc="left", fontsize="medium")
        ax.set_xlabel(labels[0])
        style.quiet(ax, "y")
    axes[0].set_ylabel(labels[1])
    name_above(figure, axes)
    return figure


def _color(names: list[Any], place: int) -> Any:
    """Return the color of a curve."""
    import matplotlib.pyplot as plt

    if _ordered(names):
        return plt.get_cmap("viridis_r")(0.2 + 0.8 * place / max(len(names) - 1, 1))
    return style.look_of(names[place]).color if names[place] in RULES else style.class_color(place)


def _ordered(names: list[Any]) -> bool:
    return not isinstance(names[0], str)


def name_above(figure: Drawing, axes: Iterable[Axes]) -> None:
    """Write the names of the curves of several panels in one line above them."""
    handles = {text: handle for ax in axes for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside upper left", ncols=min(len(handles), 6), frameon=False)
