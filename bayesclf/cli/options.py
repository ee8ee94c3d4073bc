"""Options that several commands share, and what their values mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bayesclf.errors import InputError

if TYPE_CHECKING:
    from bayesclf.column_kinds import ColumnKind

DEFAULT_MODELS = "nb,lr"
"""Models that `compare` takes unless told; naive Bayes and logistic regression fit any table of numbers and words."""

MODEL_NAMES = "nb, gnb, categorical, bernoulli, multinomial, text, gda, tan, joint, lr"
RULE_NAMES = "mle, map, mean, bayes-optimal, predictive, gibbs"
ENGINE_NAMES = "auto, mle, map, exact, nuts, laplace"
"""Names as the help shows them, written out so that it need not import the models; a test compares them."""

AUTO = "auto"
"""The engine that is taken unless told."""

SEEDS = 2**32
"""Seeds are below this number."""

KINDS_OF_MODEL: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("gnb", "gda", "bernoulli", "multinomial"), ("number",)),
    "text": ("text",),
}
"""Kinds of columns that a model takes; the others take `USUAL_KINDS`."""

USUAL_KINDS = ("number", "category")

TableArgument = Annotated[str, typer.Argument(metavar="TABLE", help="A file, or the name of a data set.")]
Target = Annotated[
    str | None,
    typer.Option("--target", metavar="COL", help="The column to predict; data sets know theirs.", show_default=False),
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COL", help="Leave a column out; can be repeated.", show_default=False),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COL=KIND",
        help="Take a column for category, number or text; can be repeated.",
        show_default=False,
    ),
]
CostFile = Annotated[
    str | None,
    typer.Option("--cost", metavar="FILE", help="Costs as csv: a row a true label, a column a predicted one."),
]
Reject = Annotated[
    float | None, typer.Option("--reject", metavar="P", help="Leave rows undecided whose expected cost is above P.")
]
Inference = Annotated[
    str,
    typer.Option("--inference", metavar="NAME", help=f"{ENGINE_NAMES}."),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of everything random.")]


def one_of(name: str, known: Iterable[str], option: str) -> str:
    """Return `name` if it is known.

    Raises
    ------
    InputError
        If it is not; the message lists the known names.
    """
    from bayesclf.wording import did_you_mean

    names = list(known)
    if name not in names:
        hint = did_you_mean(name, names)
        raise InputError(f"{option} has no {name!r}{hint}; it takes {', '.join(names)}")
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


def engines(text: str, models: Sequence[str], known: Iterable[str]) -> dict[str, str]:
    """Return the engine of each model from ``NAME``, ``MODEL=NAME``, or several of these with commas.

    Raises
    ------
    InputError
        If a name is not known, or two engines are given for all models.
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
            chosen[model.strip()] = one_of(engine.strip(), known, "--inference")
    return chosen


def column_kinds(given: Sequence[str] | None) -> dict[str, ColumnKind]:
    """Return the kind of each column from ``COL=KIND``.

    Raises
    ------
    InputError
        If one has no "=", an unknown kind, or the column has had another kind before.
    """
    from typing import get_args

    from bayesclf.column_kinds import ColumnKind

    kinds: dict[str, ColumnKind] = {}
    for part in given or ():
        column, equals, kind = part.rpartition("=")
        if not equals or not column:
            raise InputError(f"--kind {part} does not say what the column is; write --kind {part.strip('=')}=category")
        one_of(kind, get_args(ColumnKind), f"--kind {column}")
        if kinds.setdefault(column, kind) != kind:  # type: ignore[arg-type]
            raise InputError(f"--kind says that {column!r} is a {kinds[column]} and a {kind}; say it once")
    return kinds


def probabilities(text: str | None, labels: Sequence[str]) -> list[float] | None:
    """Return base rates in the order of the labels, from ``LABEL=P,LABEL=P`` or ``P,P`` in that order.

    Raises
    ------
    InputError
        If a label is unknown, missing or given twice, or something is not a number.
    """
    if text is None:
        return None
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
            f"column {misfit!r} holds {found}, and {model} takes {' and '.join(_PLURAL[kind] for kind in allowed)}; "
            f"say --drop {misfit}, {way}"
        )


_PLURAL = {"number": "numbers", "category": "categories", "text": "texts"}


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{option} holds {text!r}, which is not a number") from None
