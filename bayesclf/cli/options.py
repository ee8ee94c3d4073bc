"""Options that several commands share, and what their values mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from bayesclf.errors import InputError
from bayesclf.tables.options import option as named_option
from bayesclf.wording import did_you_mean, joined, listed, named

if TYPE_CHECKING:
    from bayesclf.arrays import Array
    from bayesclf.classifiers import BayesClassifier
    from bayesclf.tables.columns import ColumnKind

AUTO = "auto"
"""The default engine."""

DEFAULT_MODELS = "nb,lr"
"""Default models of `compare`; naive Bayes and logistic regression fit any table of numbers and words."""

NAMES = {
    "models": "nb, gnb, categorical, bernoulli, multinomial, text, gda, tan, joint, lr, all-trees, all-forests",
    "rules": "mle, map, mean, bayes-optimal, predictive, tempered, gibbs",
    "engines": "auto, mle, map, exact, augmentation, nuts, slice, laplace",
}
"""Names for the help, written out so that it need not import the models; a test compares them."""

KINDS_OF_MODEL: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("gnb", "gda", "bernoulli", "multinomial"), ("number",)),
    "text": ("text",),
}
"""Kinds of columns that a model takes; the others take `USUAL_KINDS`."""

USUAL_KINDS = ("number", "category")
PLURAL = {"number": "numbers", "category": "categories", "text": "texts"}


def option(
    flag: str,
    metavar: str,
    said: str,
    default: bool | str = True,
    least: float | None = None,
    most: float | None = None,
) -> Any:
    """Return an option of a command; `default` is how its help shows the default, or whether it does."""
    return typer.Option(flag, metavar=metavar, help=said, show_default=default, min=least, max=most)


TableArgument = Annotated[str, typer.Argument(metavar="TABLE", help="A file or a data set.")]
ModelArgument = Annotated[str, typer.Argument(metavar="MODEL.nc", help="From `bayesclf fit`.")]
Target = Annotated[str | None, option("--target", "COL", "Column to predict.", False)]
TextColumn = Annotated[str | None, option("--text", "COL", "Use this column of text alone.", False)]
Drop = Annotated[list[str] | None, option("--drop", "COL", "Leave a column out.", False)]
Kinds = Annotated[list[str] | None, option("--kind", "COL=KIND", "Read as category, number or text.", False)]
READING: dict[str, Any] = {
    "missing": Annotated[list[str] | None, option("--missing", "[COL=]VALUE", "A value that means missing.", False)],
    "keep": Annotated[list[str] | None, option("--keep", "COL", "Keep a column that looks useless.", False)],
    "separator": Annotated[str | None, option("--separator", "CHAR", "Separator, such as ; or \\t.", False)],
    "decimal": Annotated[str | None, option("--decimal", "MARK", "Decimal point or comma.", False)],
    "encoding": Annotated[str | None, option("--encoding", "NAME", "Encoding, such as cp1252.", False)],
    "header": Annotated[
        bool | None, typer.Option("--header/--no-header", help="First row has names.", show_default=False)
    ],
    "comment": Annotated[str | None, option("--comment", "MARK", "Start of comment lines.", False)],
    "skip_rows": Annotated[str | None, option("--skip-rows", "N,…", "Lines to leave out.", False)],
    "labels_as_written": Annotated[
        bool, typer.Option("--labels-as-written", help="Do not merge labels by case or blanks.")
    ],
    "classes": Annotated[
        str | None, option("--classes", "X,…", "Bounds that make classes of a numeric target.", False)
    ],
}
"""How a file is read, by names of `datasets.read`; what is not given is found."""
HOW_READ = "For reading options see bayesclf datasets show --help."
"""What the help of other commands says of them."""
CostFile = Annotated[str | None, option("--cost", "FILE", "CSV: header predicted labels, first column true.")]
Reject = Annotated[float | None, option("--reject", "P", "Largest expected cost of a decided row.", least=0)]
Seed = Annotated[int, option("--seed", "N", "Random seed.", least=0)]
Jobs = Annotated[int, option("--jobs", "N", "Number of processes.", least=-1)]

UNLABELED = ("drop", "error")
"""What can be done with rows without a label; the first is the default, as a label may be missing by mistake."""


def named_models() -> dict[str, tuple[type[BayesClassifier], dict[str, Any]]]:
    """Return the class of each model by its name, and the parameters that the name says."""
    from bayesclf.classifiers import CLASSIFIERS, BayesNetClassifier
    from bayesclf.classifiers.joint import ALL_FORESTS, ALL_TREES

    structures = {name: (BayesNetClassifier, {"structure": name}) for name in (ALL_TREES, ALL_FORESTS)}
    return {name: (cls, {}) for name, cls in CLASSIFIERS.items()} | structures


def classifier(name: str, engine: str, **settings: Any) -> BayesClassifier:
    """Return an unfitted classifier by its name, with the engine of a name."""
    cls, said = named_models()[name]
    return cls(inference=engine, **said, **settings)


def app(name: str | None, help: str, **settings: Any) -> typer.Typer:
    """Return an empty group of commands, with the formats of all of them."""
    return typer.Typer(name=name, help=help, rich_markup_mode=None, pretty_exceptions_enable=False, **settings)


def one_of(name: str, known: Iterable[str], option: str) -> str:
    """Return `name` if it is known; else raise an `InputError` that lists the known names."""
    names = list(known)
    if name not in names:
        raise InputError(f"{option} has no {name!r}{did_you_mean(name, names)}; it takes {listed(names)}")
    return name


def names(text: str, known: Iterable[str], option: str) -> tuple[str, ...]:
    """Return the names of a list with commas, each once; raise `InputError` for an unknown one, and for none."""
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
        model, equals, engine = (word.strip() for word in part.partition("="))
        if not equals:
            continue
        one_of(model, models, "--inference")
        chosen[model] = one_of(engine, known, "--inference")
        if model == "lr" and engine in CLOSED_FORM:
            raise InputError(
                f"--inference lr={engine} is not possible, as the posterior of logistic regression has no closed form; "
                "use lr=laplace, lr=slice or lr=map"
            )
    return chosen


def column_kinds(given: Sequence[str] | None) -> dict[str, ColumnKind]:
    """Return the kind of each column from ``COL=KIND``; raise `InputError` for what says none, or says two."""
    from bayesclf.tables.columns import ColumnKind

    kinds: dict[str, Any] = {}
    for part in given or ():
        column, equals, kind = part.rpartition("=")
        if not equals or not column:
            raise InputError(f"--kind {part} does not say what the column is; write --kind {part.strip('=')}=category")
        one_of(kind, get_args(ColumnKind), f"--kind {column}")
        if kinds.setdefault(column, kind) != kind:
            raise InputError(f"--kind says that {column!r} is a {kinds[column]} and a {kind}; say it once")
    return kinds


def _missing_values(given: Sequence[str]) -> dict[str | None, list[object]]:
    """Return the values of each column, and by None those of all, that stand for "missing", from ``[COL=]VALUE``."""
    values: dict[str | None, list[object]] = {}
    for part in given:
        column, equals, value = part.rpartition("=")
        if not value or (equals and not column):
            raise InputError(
                f"--missing {part} does not say which value is missing; write --missing COL=VALUE, or --missing VALUE "
                "for all columns"
            )
        values.setdefault(column or None, []).append(value)
    return values


def reads_files(command: Callable[..., None], shown: bool = False, without: str = "") -> Callable[..., None]:
    """Add the options of `READING` to a command, one may be left out; it gets those that were given as `reading`.

    `shown` is whether its help lists them; the help of other commands says where they are listed.
    """
    own = signature(command, eval_str=True)
    added = {name: kind for name, kind in READING.items() if name != without}

    def run(**given: Any) -> None:
        """Run the command with the options of reading as one argument."""
        reading = {name: given.pop(name) for name in added}
        command(**given, reading=_reading({name: value for name, value in reading.items() if value not in (None, [])}))

    parameters = [option for name, option in own.parameters.items() if name != "reading"]
    for name, kind in added.items():
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
    """Return options of reading, by what `datasets.read` calls them, with values as it takes them."""
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
    return {**given, "missing": _missing_values(given.get("missing", ()))}


def check_kinds(models: Iterable[str], kinds: Mapping[str, str], texts: Iterable[str] = (), only: bool = False) -> None:
    """Raise `InputError` for a model that does not take the kind of a feature.

    `texts` are columns of text that were left out. `only` is whether no other model was requested.
    """
    for model in models:
        allowed = KINDS_OF_MODEL.get(model, USUAL_KINDS)
        wrong = {column: kind for column, kind in kinds.items() if kind not in allowed}
        if wrong:
            found = [*(column for column, kind in kinds.items() if kind == "text"), *texts]
            remedies = []
            if model == "text" or "text" in wrong.values():
                one = named_option("text", found[:1] or ["COL"])
                remedies.append(f"{'--model' if only else '--models'} text {one}")
            if model != "text" and len(wrong) < len(kinds):
                remedies.append(named_option("drop", [*wrong]))
            if allowed == USUAL_KINDS and len(kinds) > 1:
                remedies.append(named_option("kind", dict.fromkeys(wrong, allowed[-1])))
            said = listed([*remedies, "choose another --model" if only else f"leave {model} out"], last=", or ")
            raise InputError(
                f"column{'s' * (len(wrong) > 1)} {named([*wrong])} hold{'s' * (len(wrong) == 1)} "
                f"{joined(dict.fromkeys(PLURAL[kind] for kind in wrong.values()))}, and {model} takes "
                f"{joined(PLURAL[own] for own in allowed)}; {'say ' * bool(remedies)}{said}"
            )


def read_cost(path: str, labels: list[str]) -> Array:
    """Read costs cost[true, predicted], (outcome, outcome), in the order of some labels.

    The file has the predicted labels as header and the true ones as first column, each in any order.

    Raises
    ------
    InputError
        If the file cannot be read, has another shape or labels, or a cell is not a finite number.
    """
    import numpy as np
    import pandas as pd

    from bayesclf.tables.reading import read_table

    try:
        how: dict[str, Any] = {"header": True, "keep": ["c1", "c1_"]}  # as a corner without a name is called
        true, *predicted = map(str, read_table(path, **how).columns)
        table = read_table(path, {true: "text"}, **how).set_index(true)
    except InputError as reason:
        raise InputError(f"--cost {reason}") from None
    for place, found in (("header", predicted), ("first column", table.index.fillna("").tolist())):
        if sorted(found) != sorted(labels):
            raise InputError(
                f"--cost {path}: the {place} has {listed(found) or 'no label'}, but the labels are {listed(labels)}; "
                "write each label once"
            )
    costs: Array = table.loc[labels, labels].apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)
    for row, column in np.argwhere(~np.isfinite(costs))[:1]:
        raise InputError(f"--cost {path} has no number for {labels[row]} predicted as {labels[column]}; write one")
    return costs
