"""`bayesclf fit`, `predict` and `report`: one model, to a file and from it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesclf.cli import options
from bayesclf.cli.console import stdout
from bayesclf.cli.options import AUTO, option
from bayesclf.errors import InputError
from bayesclf.files import STDOUT, output_file, write_text
from bayesclf.progress import shown
from bayesclf.wording import counted, printable

if TYPE_CHECKING:
    from bayesclf.classifiers import LogisticRegression
    from bayesclf.classifiers.generative import GenerativeClassifier
    from bayesclf.tables.columns import ColumnKind

STREAMED_BYTES = 2**27
"""Bytes of a file from which on it is read in batches."""


@options.reads_files
def fit(
    table: options.TableArgument,
    model: Annotated[str, option("--model", "NAME", f"One of {options.MODEL_NAMES}.")],
    output: Annotated[str, option("--output", "MODEL.nc", "File for the fitted model.")],
    target: options.Target = None,
    inference: Annotated[str, option("--inference", "NAME", f"One of {options.ENGINE_NAMES}.")] = AUTO,
    seed: options.Seed = 0,
    drop: options.Drop = None,
    kind: options.Kinds = None,
    set: options.Sets = None,
    missing: options.Missing = None,
    unlabeled: Annotated[
        str,
        option(
            "--unlabeled",
            "HOW",
            "Rows without a label: drop or use them, or error. lr, aode and averages over trees cannot use them.",
        ),
    ] = options.UNLABELED[0],
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    stream: options.InBatches = False,
    scheduler: Annotated[
        str | None,
        option(
            "--scheduler", "ADDRESS", "A Dask scheduler, whose workers read a file of the folder or glob each.", False
        ),
    ] = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Fit one classifier and save it."""
    from bayesclf.classifiers.generative import GenerativeClassifier
    from bayesclf.cli.inputs import load_training, show_training, source_files
    from bayesclf.cli.options import check_used, given_settings, named_models
    from bayesclf.cli.options import classifier as with_settings
    from bayesclf.engines import Auto
    from bayesclf.engines.inference import ENGINES
    from bayesclf.storage import save
    from bayesclf.tables.columns import notes_of
    from bayesclf.tables.stream_paths import is_streamed, require_elsewhere

    start = time.perf_counter()
    known = named_models()
    options.one_of(model, known, "--model")
    options.one_of(inference, [AUTO, *ENGINES], "--inference")
    options.one_of(unlabeled, options.UNLABELED, "--unlabeled")
    options.in_range(seed, 0, options.SEEDS - 1, "--seed")
    given = given_settings(set, [model])
    check_used(given, {model: inference})
    path = options.named_output(output, "--output", "model.nc", [table])
    empty = options.missing_values(missing)
    most = STREAMED_BYTES if issubclass(known[model][0], GenerativeClassifier) else None
    if stream or scheduler or is_streamed(table, most):
        require_elsewhere(path, table, "--output")
        if unlabeled == "use":
            raise InputError(
                "--unlabeled use is for a table that is read as a whole, but this one is read in batches; leave rows "
                "without a label out (--unlabeled drop), or label them"
            )
        classifier = with_settings(model, inference, given, Auto(), random_state=seed)
        kinds = options.column_kinds(kind)
        notes = _fit_stream(
            classifier, table, target, drop, kinds, empty, path, scheduler, max_bytes, unlabeled, reading
        )
        _say_fitted(classifier, model, notes, start, path)
        return
    training = load_training(table, target, drop, options.column_kinds(kind), empty, max_bytes, unlabeled, reading)
    output_file(output, "--output", source_files(training.dataset))
    options.check_kinds([model], training.kinds)
    show_training(stdout(), training)
    classifier = with_settings(model, inference, given, Auto(), random_state=seed)
    with shown(f"fitting {model}"):
        classifier.fit(training.X, training.y, unlabeled=unlabeled)
        save(classifier, path)
    notes = [note for note in classifier.notes_ if note not in notes_of(training.X)]  # which stand above the fit
    _say_fitted(classifier, model, notes, start, path)


def _fit_stream(
    classifier: GenerativeClassifier | LogisticRegression,
    table: str,
    target: str | None,
    drop: Sequence[str] | None,
    kinds: Mapping[str, ColumnKind],
    missing: Mapping[str | None, Sequence[object]],
    path: Path,
    scheduler: str | None,
    max_bytes: int,
    unlabeled: str,
    reading: Mapping[str, Any],
) -> list[str]:
    """Fit a classifier to a table that is read batch by batch, save it, and return what is to be said.

    Parameters
    ----------
    classifier
        Not fitted.
    table
        A file, folder or glob, or the name of a data set, which is read as a whole.
    target
        The label column.
    drop, kinds, missing
        As on the command line.
    path
        File for the fitted model.
    scheduler
        Address of a Dask scheduler, whose workers read the files.
    max_bytes
        The most bytes that a packed data set may be unpacked to.
    unlabeled
        What to do with rows without a label, "error" or "drop".
    reading
        How files of text are read.
    """
    from bayesclf.storage import save
    from bayesclf.tables import datasets
    from bayesclf.tables.stream_paths import is_name

    source: Any = table
    if is_name(table):
        rows = "error" if unlabeled == "error" else "use"
        dataset = datasets.load(table, target, kinds, missing, max_bytes, rows, **reading)  # type: ignore[arg-type]
        frame, target, kinds, missing = dataset.frame, dataset.target, {}, {}
        source = frame if scheduler is None else [frame]
    if target is None:
        raise InputError(f"{table} does not say which column is the label; name it with --target COL")
    given = {name: values for name, values in missing.items() if name is not None and name not in (drop or ())}
    columns: Any = {"drop": tuple(drop or ()), "kinds": kinds, "missing": given, "unlabeled": unlabeled}
    columns["reading"] = {**reading, "missing": missing.get(None, ())}
    classifier.fit_stream(source, target, **columns, client=scheduler)
    save(classifier, path)
    model: Any = classifier.model_
    labeled = " with a label" if unlabeled == "drop" else ""
    rows = f"{model.label_counts.sum():,.0f} rows{labeled} in {len(classifier.classes_)} classes were read in batches"
    return [rows, *classifier.notes_]


def _say_fitted(classifier: Any, model: str, notes: Sequence[str], start: float, path: Path) -> None:
    """Print notes, how the model was fitted since `start`, and where it is."""
    from bayesclf.cli.results import engine_name

    for note in notes:
        stdout().print(printable(f"note: {note}"))
    how = f"{model} fitted by {engine_name(classifier)} in {time.perf_counter() - start:.1f} s"
    stdout().print(f"{how}, written to {path}", soft_wrap=True)


@options.reads_files
def predict(
    model: options.ModelArgument,
    table: options.TableArgument,
    output: Annotated[
        str, option("--output", "FILE.csv", "File for the predictions, or a folder for parts of them; - for stdout.")
    ],
    rule: Annotated[
        str | None,
        option(
            "--rule",
            "NAME",
            f"One of {options.RULE_NAMES}.",
            "tempered for nb and networks, else bayes-optimal; or the point that was fitted",
        ),
    ] = None,
    cost: options.CostFile = None,
    reject: options.Reject = None,
    class_prior: Annotated[
        str | None,
        option("--class-prior", "LABEL=P,…", "Base rates to use instead of those of the training rows; or uniform."),
    ] = None,
    sets: Annotated[
        float | None, option("--sets", "P", "Add the smallest set of labels whose probability is at least P.")
    ] = None,
    interval: Annotated[
        float | None, option("--interval", "P", "Add posterior intervals, of probability P, of each P(label).")
    ] = None,
    uncertainty: Annotated[
        bool,
        typer.Option(
            "--uncertainty", help="Add the entropy of the label: from noise, from unknown parameters, and their sum."
        ),
    ] = False,
    missing: options.Missing = None,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    safe_csv: options.SafeCsv = False,
    stream: options.InBatches = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume an interrupted run: write the parts that its folder lacks.")
    ] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Predict the labels of a table."""
    from bayesclf.cli.inputs import extras, predict_table, read_features, stream_predictions
    from bayesclf.interpretation.prediction_files import is_folder
    from bayesclf.interpretation.predictions import Decision
    from bayesclf.rules import RULES
    from bayesclf.storage import load
    from bayesclf.tables.stream_paths import is_streamed

    if rule is not None:
        options.one_of(rule, RULES, "--rule")
    options.check_reject(reject, cost)
    wanted = extras(sets, interval, uncertainty)
    parts = resume or is_folder(output)
    inputs = [model, table, *([cost] if cost else [])]
    path = Path(output) if parts else output_file(output, "--output", inputs) or STDOUT
    empty = options.missing_values(missing)
    classifier = load(model)
    labels = [str(label) for label in classifier.classes_]
    costs = None if cost is None else options.read_cost(cost, labels)
    decision = Decision(rule, costs, reject, options.probabilities(class_prior, labels))
    parquet = path.suffix.lower() == ".parquet"
    if stream or parts or parquet or is_streamed(table, STREAMED_BYTES):
        place = output if parts else path
        settings = (decision, wanted, empty, safe_csv, max_bytes, resume, reading)
        found = stream_predictions(classifier, table, place, *settings)
        _say_predicted(found.rows, found.rejected, reject, path)
        return
    with shown(f"predicting {table}"):
        X = read_features(table, classifier, empty, max_bytes, reading)
        predictions = predict_table(classifier, X, decision, wanted, safe_csv)
    write_text(path, predictions.csv)
    _say_predicted(predictions.rows, predictions.rejected, reject, path)


def _say_predicted(rows: int, rejected: int, reject: float | None, path: Path) -> None:
    """Print how many rows were predicted, unless that is where they went."""
    if path != STDOUT:
        undecided = f", {rejected} of them left undecided" if reject is not None else ""
        stdout().print(f"{rows} rows predicted{undecided}, written to {path}", soft_wrap=True)


@options.reads_files
def report(
    context: typer.Context,
    model: options.ModelArgument,
    output: Annotated[str, option("--output", "FILE.html", "File for the report; text where it ends in .md or .json.")],
    table: Annotated[
        str | None, option("--table", "TABLE", "The training table; a model file has only its statistics.", False)
    ] = None,
    target: options.Target = None,
    missing: options.Missing = None,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    *,
    reading: dict[str, Any],
) -> None:
    """Check a fitted model and write a report; with its training table, predictions too."""
    from bayesclf.report import write_classifier
    from bayesclf.storage import load

    if target is not None and table is None:
        raise InputError("--target names a column of the training table; give that too, with --table")
    path = options.named_output(output, "--output", "report.html", [model, *([table] if table else [])])
    classifier = load(model)
    X, y = None, None
    if table is not None:
        from bayesclf.cli.inputs import load_training, read_features

        empty = options.missing_values(missing)
        column = target or getattr(classifier, "target_name_", None)
        y = load_training(table, column, None, {}, empty, max_bytes, "use", reading).y
        X = read_features(table, classifier, empty, max_bytes, reading)[y.notna().to_numpy()]
        if y.isna().any():
            stdout().print(f"note: {counted(int(y.isna().sum()), 'row')} without a label left out")
        y = y.dropna()
    with shown(f"checking {model}"):
        write_classifier(classifier, path, X, y, command=shlex.join(["bayesclf", *context.obj]))
    stdout().print(f"report written to {path}", soft_wrap=True)
