"""Options that several commands share, and what their values mean."""

from __future__ import annotations

import ast
import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from bayesclf.errors import InputError
from bayesclf.files import STDOUT, output_file, regular
from bayesclf.wording import did_you_mean, listed

if TYPE_CHECKING:
    from bayesclf.arrays import Array
    from bayesclf.classifiers import BayesClassifier
    from bayesclf.engines.inference import Engine
    from bayesclf.tables.columns import ColumnKind

AUTO = "auto"
"""The default engine."""

WORDS = ("learned",)
"""Words that may stand for a number."""

type Given = dict[str, dict[str, Any]]
"""Values by model or engine, and by name."""

OWN_OPTIONS = ("inference", "random_state", "rule", "prior")
"""Parameters of a classifier that have an option of their own, or no form as text."""


def named_models() -> dict[str, tuple[type[BayesClassifier], dict[str, Any]]]:
    """Return the class of each model by its name, and the parameters that the name says."""
    from bayesclf.classifiers import CLASSIFIERS, BayesNetClassifier
    from bayesclf.classifiers.bayes_net import ALL_FORESTS, ALL_TREES

    structures = {name: (BayesNetClassifier, {"structure": name}) for name in (ALL_TREES, ALL_FORESTS)}
    return {name: (cls, {}) for name, cls in CLASSIFIERS.items()} | structures


def given_settings(written: Sequence[str] | None, models: Sequence[str]) -> Given:
    """Return values by model or engine, and by name, from ``MODEL.NAME=VALUE`` and ``ENGINE.NAME=VALUE``.

    A value is a Python literal, such as 2.5, True, "text", [1, 2] or {"age": 0.5}; inf, and words without quotes, may
    stand as they are.

    Raises
    ------
    InputError
        For a model that is not among `models`, a name that there is not, or a value of the wrong kind.
    """
    from bayesclf.engines.inference import ENGINES

    known = named_models()
    allowed: dict[str, dict[str, Any]] = {
        name: _defaults(ENGINES[name]) for name in ENGINES if _defaults(ENGINES[name])
    }
    for name in models:
        cls, said = known[name]
        allowed[name] = {setting: value for setting, value in _defaults(cls).items() if setting not in said}
    given: Given = {}
    for part in written or ():
        name, equals, text = part.partition("=")
        owner, dot, setting = name.strip().partition(".")
        if not equals or not dot:
            raise InputError(f"--set {part} does not say what is set; write MODEL.NAME=VALUE, such as lr.prior_scale=1")
        _known(owner, allowed, "--set", "models and engines")
        _known(setting, allowed[owner], f"--set {owner}", "names")
        value = _value(text.strip())
        _check_kind(f"--set {owner}.{setting}", value, allowed[owner][setting])
        given.setdefault(owner, {})[setting] = value
    return given


def classifier(
    name: str, engine: str, given: Mapping[str, Mapping[str, Any]], auto: Engine, **options: Any
) -> BayesClassifier:
    """Return a classifier with what was set of it and of its engine.

    Parameters
    ----------
    name, engine
        Of the classifier, and of its engine.
    given
        What `given_settings` returned.
    auto
        The settings that are changed where the engine is ``"auto"``.
    options
        Other arguments of the classifier.
    """
    from bayesclf.engines.inference import ENGINES

    own = given.get(engine, {})
    inference: Any = engine
    if engine == AUTO:
        parts = {part: given[part] for part in (field.name for field in fields(auto)) if part in given}
        if parts:
            inference = replace(auto, **{part: _made(part, getattr(auto, part), parts[part]) for part in parts})
    elif own:
        inference = _made(engine, ENGINES[engine](), own)
    cls, said = named_models()[name]
    return cls(inference=inference, **said, **given.get(name, {}), **options)


def check_used(given: Given, engines: Mapping[str, str]) -> None:
    """Raise for settings of an engine that infers none of the models, given the engine of each."""
    from bayesclf.engines import Auto
    from bayesclf.engines.inference import ENGINES

    for owner in given:
        if owner not in ENGINES or owner in engines.values():
            continue
        if AUTO not in engines.values() or owner not in {field.name for field in fields(Auto)}:
            name = next(iter(given[owner]))
            raise InputError(
                f"--set {owner}.{name} sets nothing, as no model is inferred by it; say --inference {owner}"
            )


def _made(name: str, settings: Any, own: Mapping[str, Any]) -> Any:
    try:
        return replace(settings, **own)
    except TypeError as reason:
        raise InputError(f"--set {name} cannot be used ({reason})") from None


def _defaults(cls: type) -> dict[str, Any]:
    """Return the names that can be set and their defaults."""
    import inspect

    found = {name: option.default for name, option in inspect.signature(cls).parameters.items()}
    return {name: default for name, default in found.items() if name not in OWN_OPTIONS and name != "optimizer"}


def _known(name: str, known: Iterable[str], where: str, what: str) -> None:
    names = list(known)
    if name not in names:
        raise InputError(f"{where} has no {name!r}{did_you_mean(name, names)}; its {what} are {listed(names)}")


def _value(text: str) -> Any:
    """Return a Python literal, a number that has none, such as inf, or the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _check_kind(where: str, value: Any, default: Any) -> None:
    """Raise where a truth value, a number or a word is wanted, by the default, and cannot be what was given."""
    kind = type(value).__name__
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise InputError(f"{where} must be True or False, not {value!r}")
    elif isinstance(default, int | float) and isinstance(value, str | bool | None) and value not in WORDS:
        raise InputError(f"{where} must be a number, as its default {default!r} is, not {value!r} ({kind})")


DEFAULT_MODELS = "nb,lr"
"""Default models of `compare`; naive Bayes and logistic regression fit any table of numbers and words."""

MODEL_NAMES = "nb, gnb, categorical, bernoulli, multinomial, text, gda, tan, aode, joint, lr, all-trees, all-forests"
RULE_NAMES = "mle, map, mean, bayes-optimal, predictive, tempered, gibbs"
ENGINE_NAMES = "auto, mle, map, exact, augmentation, nuts, laplace"
"""Names for the help, written out so that it need not import the models; a test compares them."""

MAX_BYTES = 2**28
"""The default of --max-bytes, written out so that the help need not import the tables; a test compares them."""

SEEDS = 2**32
"""Seeds are below this number."""

KINDS_OF_MODEL: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("gnb", "gda", "bernoulli", "multinomial"), ("number",)),
    "text": ("text",),
}
"""Kinds of columns that a model takes; the others take `USUAL_KINDS`."""

USUAL_KINDS = ("number", "category")
PLURAL = {"number": "numbers", "category": "categories", "text": "texts"}


def option(flag: str, metavar: str, said: str, default: bool | str = True) -> Any:
    """Return an option of a command; `default` is how its help shows the default, or whether it does."""
    return typer.Option(flag, metavar=metavar, help=said, show_default=default)


TableArgument = Annotated[str, typer.Argument(metavar="TABLE", help="A file, or the name of a data set.")]
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL.nc", help="A file that `bayesclf fit` wrote.")]
Target = Annotated[str | None, option("--target", "COL", "The column to predict; named data sets have one.", False)]
TextColumn = Annotated[str | None, option("--text", "COL", "Take this column of text as the only feature.", False)]
Drop = Annotated[list[str] | None, option("--drop", "COL", "Leave a column out.", False)]
Kinds = Annotated[
    list[str] | None,
    option("--kind", "COL=KIND", "Treat a column as category, number or text.", False),
]
Sets = Annotated[
    list[str] | None,
    option(
        "--set",
        "MODEL.NAME=VALUE",
        "Set a parameter of a model or engine: lr.prior_scale=1, nuts.draws=2000.",
        False,
    ),
]
Missing = Annotated[
    list[str] | None,
    option(
        "--missing",
        "[COL=]VALUE",
        "A value that means missing.",
        False,
    ),
]
READING: dict[str, Any] = {
    "separator": Annotated[str | None, option("--separator", "CHAR", "What is between cells: ; or \\t.", "found")],
    "decimal": Annotated[str | None, option("--decimal", "MARK", "The decimal mark, . or a comma.", "found")],
    "encoding": Annotated[str | None, option("--encoding", "NAME", "Encoding of the text, such as cp1252.", "found")],
    "header": Annotated[
        bool | None,
        typer.Option("--header/--no-header", help="Whether the first row has names.", show_default="found"),
    ],
    "comment": Annotated[str | None, option("--comment", "MARK", "Leave out lines that begin with it.", "found")],
    "skip_rows": Annotated[str | None, option("--skip-rows", "N,…", "Leave out lines by numbers, from 1.", False)],
    "keep": Annotated[
        list[str] | None,
        option("--keep", "COL", "Keep a column that looks useless, such as an id.", False),
    ],
    "labels_as_written": Annotated[
        bool, typer.Option("--labels-as-written", help="Keep labels apart that differ in case or blanks.")
    ],
    "classes": Annotated[
        str | None, option("--classes", "X,…", "Bounds that make classes of a target of numbers.", False)
    ],
}
"""How a file is read, by names of `ReadOptions`; what is not given is found."""
HOW_READ = (
    "--drop, --kind, --set, --missing and --keep can be repeated. For options of reading files, such as --separator, "
    "see bayesclf datasets show --help."
)
"""What the help of other commands says of them."""
MaxBytes = Annotated[
    int, typer.Option("--max-bytes", metavar="N", help="Most bytes of a packed table, unpacked.", hidden=True)
]
ShownMaxBytes = Annotated[int, option("--max-bytes", "N", "Most bytes of a packed table (gz, parquet), unpacked.")]
InBatches = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Read the table in batches, as large files, folders and globs are in any case.",
    ),
]
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        help="Put ' before words that a spreadsheet would run as a formula.",
    ),
]
CostFile = Annotated[
    str | None, option("--cost", "FILE", "Costs as csv: a row per true label, a column per predicted one.")
]
Reject = Annotated[
    float | None,
    option("--reject", "P", "Leave rows undecided whose smallest expected cost is above P."),
]
Models = Annotated[str, option("--models", "NAMES", f"Comma-separated list of {MODEL_NAMES}.")]
Rules = Annotated[
    str | None,
    option("--rules", "NAMES", f"Comma-separated list of {RULE_NAMES}; or all.", "map, bayes-optimal"),
]
Inference = Annotated[str, option("--inference", "NAME", f"One of {ENGINE_NAMES}; or MODEL=NAME,… for each model.")]
Folds = Annotated[int, option("--cv", "K", "Folds of the cross-validation.")]
Repeats = Annotated[int, option("--repeats", "N", "Repetitions with other folds.")]
Seed = Annotated[int, option("--seed", "N", "Random seed.")]
Jobs = Annotated[int, option("--jobs", "N", "Number of processes.")]


UNLABELED = ("drop", "error", "use")
"""What can be done with rows without a label; the first is the default, as a label may be missing by mistake."""


def app(name: str | None, help: str, **settings: Any) -> typer.Typer:
    """Return an empty group of commands, with the formats of all of them."""
    return typer.Typer(name=name, help=help, rich_markup_mode=None, pretty_exceptions_enable=False, **settings)


def named_output(name: str, option: str, example: str, inputs: Sequence[str]) -> Path:
    """Check a file to be written, as `output_file` does, that cannot be stdout.

    Raises
    ------
    InputError
        If it is, or the file cannot be written; the message has the example.
    """
    path = output_file(name, option, inputs)
    if path is None or path == STDOUT:
        raise InputError(f"{option} - is not possible here; give the name of a file, such as {example}")
    return path


def one_of(name: str, known: Iterable[str], option: str) -> str:
    """Return `name` if it is known.

    Raises
    ------
    InputError
        If it is not; the message lists the known names.
    """
    names = list(known)
    if name not in names:
        raise InputError(f"{option} has no {name!r}{did_you_mean(name, names)}; it takes {listed(names)}")
    return name


def names(text: str, known: Iterable[str], option: str) -> tuple[str, ...]:
    """Return the names of a list with commas, each once.

    Raises
    ------
    InputError
        If one of them is not known or there is none.
    """
    known = list(known)
    given = [part.strip() for part in text.split(",") if part.strip()]
    if not given:
        raise InputError(f"{option} names nothing; it takes {', '.join(known)}, separated by commas")
    return tuple(dict.fromkeys(one_of(name, known, option) for name in given))


CLOSED_FORM = ("exact", "augmentation")
"""Engines for posteriors that have a closed form, at least given the missing cells."""


def engines(text: str, models: Sequence[str], known: Iterable[str]) -> dict[str, str]:
    """Return the engine of each model from ``NAME``, ``MODEL=NAME``, or several of these with commas.

    Raises
    ------
    InputError
        If a name is not known, two engines are given for all models, or a model has no such engine.
    """
    known = [AUTO, *known]
    parts = [part.strip() for part in text.split(",") if part.strip()]
    for_all = [part for part in parts if "=" not in part]
    if len(for_all) > 1:
        raise InputError(
            f"--inference names {' and '.join(for_all)} for all models; name one, or say MODEL=NAME for each model"
        )
    chosen = dict.fromkeys(models, one_of(for_all[0], known, "--inference") if for_all else AUTO)
    for part in parts:
        model, equals, engine = part.partition("=")
        if equals:
            one_of(model.strip(), models, "--inference")
            chosen[model.strip()] = _possible(model.strip(), one_of(engine.strip(), known, "--inference"))
    return chosen


def _possible(model: str, engine: str) -> str:
    """Return an engine that was asked of one model, if models of its kind have it."""
    if model == "lr" and engine in CLOSED_FORM:
        raise InputError(
            f"--inference lr={engine} is not possible, as the posterior of logistic regression has no closed form; "
            "take lr=laplace, lr=nuts or lr=map"
        )
    return engine


def column_kinds(given: Sequence[str] | None) -> dict[str, ColumnKind]:
    """Return the kind of each column from ``COL=KIND``.

    Raises
    ------
    InputError
        If one has no "=", an unknown kind, or the column was given another kind before.
    """
    from typing import get_args

    from bayesclf.tables.columns import ColumnKind

    kinds: dict[str, ColumnKind] = {}
    for part in given or ():
        column, equals, kind = part.rpartition("=")
        if not equals or not column:
            raise InputError(f"--kind {part} does not say what the column is; write --kind {part.strip('=')}=category")
        one_of(kind, get_args(ColumnKind), f"--kind {column}")
        if kinds.setdefault(column, kind) != kind:  # type: ignore[arg-type]
            raise InputError(f"--kind says that {column!r} is a {kinds[column]} and a {kind}; say it once")
    return kinds


def missing_values(given: Sequence[str] | None) -> dict[str | None, list[object]]:
    """Return the values of each column, and by None those of all, that stand for "missing", from ``[COL=]VALUE``.

    Raises
    ------
    InputError
        If one has no value.
    """
    values: dict[str | None, list[object]] = {}
    for part in given or ():
        column, equals, value = part.rpartition("=")
        if not value or (equals and not column):
            raise InputError(
                f"--missing {part} does not say which value is missing; write --missing COL=VALUE, or --missing VALUE "
                "for all columns"
            )
        values.setdefault(column or None, []).append(value)
    return values


def reads_files(command: Callable[..., None], shown: bool = False) -> Callable[..., None]:
    """Add the options of `READING` to a command, which gets those that were given as `reading`.

    `shown` is whether its help lists them; the help of other commands says where they are listed.
    """
    own = signature(command, eval_str=True)

    def run(**given: Any) -> None:
        """Run the command with the options of reading as one argument."""
        reading = {name: given.pop(name) for name in READING}
        if not reading["labels_as_written"]:
            del reading["labels_as_written"]
        command(**given, reading=_reading({name: value for name, value in reading.items() if value not in (None, [])}))

    parameters = [option for name, option in own.parameters.items() if name != "reading"]
    for name, kind in READING.items():
        what, told = get_args(kind)
        told = copy(told)
        told.hidden = not shown
        default = False if name == "labels_as_written" else None
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[what, told]))
    setattr(run, "__signature__", own.replace(parameters=parameters))  # noqa: B010
    run.__annotations__ = {option.name: option.annotation for option in parameters}
    run.__doc__, run.__name__, run.__module__ = command.__doc__, command.__name__, command.__module__
    return run


def _reading(given: dict[str, Any]) -> dict[str, Any]:
    """Return options of reading as Python has them."""
    for name, kind in (("skip_rows", int), ("classes", float)):
        if name in given:
            flag = f"--{name.replace('_', '-')}"
            try:
                given[name] = tuple(kind(part) for part in given[name].split(","))
            except ValueError:
                raise InputError(
                    f"{flag} {given[name]} must be numbers with commas between them, such as 2,3"
                ) from None
    if "separator" in given:
        given["separator"] = {"\\t": "\t", "tab": "\t"}.get(given["separator"], given["separator"])
    return given


def probabilities(text: str | None, labels: Sequence[str]) -> list[float] | None:
    """Return base rates in the order of the labels, from ``LABEL=P,LABEL=P``, ``P,P`` in that order, or ``uniform``.

    Raises
    ------
    InputError
        If a label is unknown, missing or given twice, or something is not a number.
    """
    if text is None:
        return None
    if text.strip() == "uniform":
        return [1 / len(labels)] * len(labels)
    parts = [part.strip() for part in text.split(",")]
    if all("=" in part for part in parts):
        given: dict[str, float] = {}
        for part in parts:
            label, _, value = part.rpartition("=")
            one_of(label, labels, "--class-prior")
            if label in given:
                raise InputError(f"--class-prior gives {label!r} twice; give each label once")
            given[label] = _number(value, "--class-prior")
        lacking = [label for label in labels if label not in given]
        if lacking:
            raise InputError(f"--class-prior gives no probability for {lacking[0]!r}; give one for each label")
        values = [given[label] for label in labels]
    else:
        values = [_number(part, "--class-prior") for part in parts]
    if len(values) != len(labels) or not all(0 <= value <= 1 for value in values) or abs(sum(values) - 1) > 1e-6:
        raise InputError(
            f"--class-prior must be {len(labels)} probabilities that add up to 1, for {', '.join(labels)}, not {text}"
        )
    return values


def in_range(value: int, low: int, high: int | None, option: str) -> int:
    """Return a whole number within its range.

    Raises
    ------
    InputError
        If it is below `low` or above `high`.
    """
    if value < low or (high is not None and value > high):
        allowed = f"at least {low}" if high is None else f"between {low} and {high}"
        raise InputError(f"{option} must be {allowed}, not {value}")
    return value


def processes(jobs: int) -> int:
    """Return a number of processes, at least 1, or -1; raise `InputError` for another."""
    if jobs < 1 and jobs != -1:
        raise InputError(f"--jobs must be at least 1, or -1 for as many as there are processors, not {jobs}")
    return jobs


def check_kinds(models: Iterable[str], kinds: Mapping[str, str]) -> None:
    """Check that each model takes the kinds of columns that the table has.

    Parameters
    ----------
    models
        Names of models.
    kinds
        Kind of each feature by name.

    Raises
    ------
    InputError
        Naming a column that does not fit and what to do with it.
    """
    for model in models:
        allowed = KINDS_OF_MODEL.get(model, USUAL_KINDS)
        misfit = next((column for column, kind in kinds.items() if kind not in allowed), None)
        if misfit is None:
            continue
        found, way = {
            "text": ("text", f"or --kind {misfit}=category; the model 'text' is for a table of one text column"),
            "number": ("numbers", f"or --kind {misfit}=text"),
        }.get(kinds[misfit], ("categories", f"or leave {model} out"))
        raise InputError(
            f"column {misfit!r} holds {found}, and {model} takes {' and '.join(PLURAL[kind] for kind in allowed)}; "
            f"say --drop {misfit}, {way}"
        )


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option} holds {text!r}, which is not a number") from None


@dataclass(frozen=True)
class Settings:
    """Options of a comparison.

    Attributes
    ----------
    models, rules
        Names.
    inference
        Name of the engine by model.
    cv, repeats, seed, jobs
        Folds, repeats, seed and processes.
    set
        Parameters of models and engines that were set, by model or engine and by name.
    """

    models: tuple[str, ...]
    rules: tuple[str, ...] | None
    inference: dict[str, str]
    cv: int
    repeats: int | None
    seed: int
    jobs: int
    set: dict[str, dict[str, Any]] = field(default_factory=dict)

    def classifiers(self) -> dict[str, Any]:
        """Return the unfitted classifiers of a comparison by name."""
        from bayesclf.engines.inference import COMPARISON_AUTO

        return {name: classifier(name, engine, self.set, COMPARISON_AUTO) for name, engine in self.inference.items()}


def settings(
    models: str,
    rules: str | None,
    inference: str,
    numbers: tuple[int, int | None, int, int],
    written: Sequence[str] | None = None,
) -> Settings:
    """Check the names, as the user wrote them, and the numbers cv, repeats, seed and jobs; no rules: the usual ones.

    `written` is what was given with --set.

    Raises
    ------
    InputError
        If a name is not known or a number is out of range.
    """
    from bayesclf.engines.inference import ENGINES
    from bayesclf.rules import RULES

    cv, repeats, seed, jobs = numbers
    chosen = names(models, named_models(), "--models")
    engine_of = engines(inference, chosen, ENGINES)
    given = given_settings(written, chosen)
    check_used(given, engine_of)
    return Settings(
        chosen,
        None if rules is None else tuple(RULES) if rules == "all" else names(rules, RULES, "--rules"),
        engine_of,
        in_range(cv, 2, None, "--cv"),
        None if repeats is None else in_range(repeats, 1, None, "--repeats"),
        in_range(seed, 0, SEEDS - 1, "--seed"),
        processes(jobs),
        given,
    )


def check_reject(reject: float | None, cost: str | None) -> None:
    """Raise for a limit that is not an expected cost, or, without a file of costs, not a share of errors."""
    if reject is None:
        return
    if cost is None and not 0 <= reject <= 1:
        raise InputError(f"--reject must lie between 0 and 1, the expected share of errors, not {reject}")
    if not (math.isfinite(reject) and reject >= 0):
        raise InputError(f"--reject is an expected cost and must be at least 0, not {reject}")


def check_minutes(minutes: float | None) -> None:
    """Raise for what is not a time."""
    if minutes is not None and not (math.isfinite(minutes) and minutes > 0):
        raise InputError(f"--max-minutes must be above 0, not {minutes}")


def read_cost(path: str, labels: list[str]) -> Array:
    """Read costs cost[true, predicted].

    Parameters
    ----------
    path
        A csv file of numbers, one row per true label and one column per predicted label: either with the labels as
        header and first column, in any order, or the numbers alone in the order of `labels`.
    labels
        The labels of the model.

    Returns
    -------
    ndarray
        Costs (outcome, outcome).

    Raises
    ------
    InputError
        If the file cannot be read, has another shape or labels, or a cell is not a finite number.
    """
    import numpy as np

    cells = _cells(path)
    size = len(labels)
    shape = (len(cells), *sorted({len(line) for line in cells}))
    if shape == (size + 1, size + 1):
        predicted, true = cells[0][1:], [line[0] for line in cells[1:]]
        for place, found in (("header", predicted), ("first column", true)):
            if sorted(found) != sorted(labels):
                raise InputError(f"--cost {path}: the {place} has {listed(found)}, but the labels are {listed(labels)}")
        rows = [[cells[1 + true.index(t)][1 + predicted.index(p)] for p in labels] for t in labels]
    elif shape == (size, size):
        rows = cells
    else:
        widths = " or ".join(map(str, shape[1:])) or "no"
        raise InputError(
            f"--cost {path} has {len(cells)} rows of {widths} cells, but {size} labels need {size} rows of {size} "
            f"numbers, or these with the labels ({listed(labels)}) as header and first column"
        )
    return np.array(
        [
            [_cost(cell, f"{t} predicted as {p}", path) for p, cell in zip(labels, row, strict=True)]
            for t, row in zip(labels, rows, strict=True)
        ]
    )


def _cells(path: str) -> list[list[str]]:
    """Return the cells of a small csv file, without blank lines."""
    try:
        with regular(path, "a file of costs") as file:
            text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"--cost {path} is not UTF-8 text; save it as UTF-8") from None
    except InputError as reason:
        raise InputError(f"--cost {reason}") from None
    try:
        lines = [[cell.strip() for cell in line] for line in csv.reader(text.splitlines(), strict=True)]
    except csv.Error as error:
        raise InputError(f"--cost {path} is not csv ({error}); write numbers with commas between them") from None
    return [line for line in lines if any(line)]


def _cost(cell: str, what: str, path: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"--cost {path} has {cell!r} for {what}, which is not a finite number; write one")
    return value
