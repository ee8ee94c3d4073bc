"""`bayesclf compare`, `fit`, `predict` and `report`: models on one table, and one model, to a file and from it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesclf.cli import options
from bayesclf.cli.console import complain, line_a_model, stdout, wrapped
from bayesclf.cli.options import AUTO, option
from bayesclf.errors import InputError, Refused
from bayesclf.files import STDOUT, output_file, write_text
from bayesclf.progress import shown
from bayesclf.wording import counted, first_upper, printable

if TYPE_CHECKING:
    from bayesclf.classifiers import LogisticRegression
    from bayesclf.classifiers.generative import GenerativeClassifier

STREAMED_BYTES = 2**27
"""Bytes of a file from which on it is read in batches."""


@options.reads_files
def compare(
    context: typer.Context,
    table: options.TableArgument,
    target: options.Target = None,
    models: Annotated[
        str | None, option("--models", "NAMES", "Classifiers, separated by commas.", options.DEFAULT_MODELS)
    ] = None,
    rules: Annotated[
        str | None, option("--rules", "NAMES", "Rules, separated by commas; or all.", "map, bayes-optimal, its own")
    ] = None,
    inference: Annotated[str, option("--inference", "NAME", "Engine; or MODEL=NAME,…")] = AUTO,
    cv: Annotated[int, option("--cv", "K", "Number of folds.", least=2)] = 5,
    repeats: Annotated[int | None, option("--repeats", "N", "Repetitions.", "up to 4", least=1)] = None,
    group: Annotated[str | None, option("--group", "COL", "Keep rows with one value in one fold.", False)] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    drop: options.Drop = None,
    kind: options.Kinds = None,
    text: options.TextColumn = None,
    cost: options.CostFile = None,
    reject: options.Reject = None,
    peers: Annotated[
        bool, typer.Option("--peers/--no-peers", help="Add gradient boosting.", show_default=False)
    ] = True,
    max_minutes: Annotated[float | None, option("--max-minutes", "M", "Start no fit later.", False)] = None,
    report: Annotated[str | None, option("--report", "FILE.html", "Write a page; .md and .json too.")] = None,
    json: Annotated[str | None, option("--json", "FILE", "Write numbers; - for stdout.")] = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Compare classifiers and rules on one table."""
    start = time.perf_counter()
    import numpy as np

    from bayesclf.cli.inputs import load_training, show_training, source_files
    from bayesclf.cli.results import comparison_json, show_comparison
    from bayesclf.engines.inference import ENGINES
    from bayesclf.evaluation import comparison as evaluation
    from bayesclf.evaluation.score_table import useful
    from bayesclf.report import write_comparison
    from bayesclf.report.verdict import checks_of_fits
    from bayesclf.rules import RULES, resolve

    if max_minutes is not None and not 0 < max_minutes < np.inf:
        raise InputError(f"--max-minutes must be a number above 0, not {max_minutes:g}")
    chosen = options.names(options.DEFAULT_MODELS if models is None else models, options.named_models(), "--models")
    engines = options.engines(inference, chosen, ENGINES)
    wanted = None if rules is None else tuple(RULES) if rules == "all" else options.names(rules, RULES, "--rules")
    outputs = _outputs(report, json, [table, *([cost] if cost else [])])
    drop = list(dict.fromkeys([*(drop or ()), *([] if group is None else [group])]))
    context.params["drop"] = drop  # which `fit` drops, too
    training = load_training(table, target, reading, drop, options.column_kinds(kind), text)
    if models is None and all(own == "text" for own in training.kinds.values()):
        engines = options.engines(inference, ["text"], ENGINES)
    labels = [str(label) for label in np.unique(np.asarray(training.y))]
    costs = None if cost is None else options.read_cost(cost, labels)
    _outputs(report, json, source_files(training.dataset))
    options.check_kinds(engines, training.kinds, training.texts)
    quiet = outputs["--json"] == STDOUT
    if not quiet:
        show_training(stdout(), training)
    found = evaluation.compare(
        {name: options.classifier(name, engine) for name, engine in engines.items()},
        training.X,
        training.y,
        wanted,
        cv=cv,
        repeats=repeats,
        random_state=seed,
        n_jobs=jobs,
        cost=costs,
        reject=reject,
        boosting=peers,
        max_seconds=None if max_minutes is None else 60 * max_minutes,
        data=Path(training.dataset.name).name,
        progress=line_a_model(),
        groups=None if group is None else training.dataset.frame[group],
    )
    if all(answer.reason for answer in found.answers.values()):
        (model, rule), answer = next(iter(found.answers.items()))
        raise Refused(f"no model can answer under these rules; {model} under {rule}: {answer.reason}")
    diagnoses = checks_of_fits(found)
    if (path := outputs["--json"]) is not None:
        write_text(path, comparison_json(found, diagnoses, training))
    fits = bool(found.leaders) and useful(found, found.best)
    next_command = _fit_command(context, found.best[0], engines) if fits else ""
    if not next_command.isprintable() or len(next_command) > LONGEST_COMMAND:
        next_command = ""
    predicted = ""
    if next_command:
        model, rule = found.best
        own = rule == resolve(found.fits[model].requested_rule(None))[0].name
        words = [] if own else ["--rule", rule]
        words += [] if cost is None else ["--cost", cost]
        words += [] if reject is None else ["--reject", f"{reject:g}"]
        predicted = f"to predict as in this comparison, use bayesclf predict with {shlex.join(words)}" if words else ""
    if (path := outputs["--report"]) is not None:
        made = shlex.join(["bayesclf", *context.obj])
        following = f"{next_command}  # {predicted}" if predicted else next_command
        write_comparison(found, path, command=made, next_command=following)
    if not quiet:
        show_comparison(stdout(), found, diagnoses, time.perf_counter() - start)
        for path in outputs.values():
            if path is not None:
                stdout().print(f"written to {path}", soft_wrap=True)
        if predicted:
            stdout().print(f"{first_upper(predicted)}.", soft_wrap=True)
        if next_command:
            stdout().print(f"To fit {found.best[0]}: {next_command}", soft_wrap=True)


LONGEST_COMMAND = 1000
"""Characters of a command that is printed for pasting."""

FIT_TOO = ("target", "seed", "drop", "kind", "text", *options.READING)
"""Options of `compare` that `fit` has as well."""


def _fit_command(context: typer.Context, model: str, engines: Mapping[str, str]) -> str:
    """Return the command line that fits one of the models to the same table and saves it."""
    table = context.params["table"]
    words = ["--model", model, "--output", f"{model}.nc"]
    words += ["--inference", engines[model]] * (engines[model] != AUTO)
    for own in context.command.params:
        given = context.params[own.name] if own.name in FIT_TOO else None
        if given is not None and given != own.default:
            for value in given if isinstance(given, list | tuple) else [given]:
                words.append(own.secondary_opts[0] if value is False else own.opts[0])
                words += [str(value)] * (not isinstance(value, bool))
    return shlex.join(["bayesclf", "fit", *([*words, "--", table] if table.startswith("-") else [table, *words])])


def _outputs(report: str | None, json: str | None, inputs: list[str]) -> dict[str, Path | None]:
    """Check the files to be written, against each other too."""
    from bayesclf.report.document import writable

    page = None if report is None else writable(report, "--report", inputs)
    return {"--report": page, "--json": output_file(json, "--json", [*inputs, *([page] if page else [])])}


@options.reads_files
def fit(
    table: options.TableArgument,
    model: Annotated[str, option("--model", "NAME", "The classifier.")],
    output: Annotated[str, option("--output", "MODEL.nc", "File to write.")],
    target: options.Target = None,
    inference: Annotated[str, option("--inference", "NAME", "The engine.")] = AUTO,
    seed: options.Seed = 0,
    drop: options.Drop = None,
    kind: options.Kinds = None,
    text: options.TextColumn = None,
    unlabeled: Annotated[str, option("--unlabeled", "HOW", "Rows without label: drop or error.")] = options.UNLABELED[
        0
    ],
    *,
    reading: dict[str, Any],
) -> None:
    """Fit a classifier and save it."""
    from bayesclf.classifiers.generative import GenerativeClassifier
    from bayesclf.cli.inputs import load_training, show_training, source_files
    from bayesclf.cli.results import engine_name
    from bayesclf.engines.inference import ENGINES
    from bayesclf.storage import save
    from bayesclf.tables.columns import notes_of
    from bayesclf.tables.reading import is_streamed, require_elsewhere

    start = time.perf_counter()
    known = options.named_models()
    options.one_of(model, known, "--model")
    options.one_of(inference, [AUTO, *ENGINES], "--inference")
    options.one_of(unlabeled, options.UNLABELED, "--unlabeled")
    path = output_file(output, "--output", [table])
    if path is None or path == STDOUT:
        raise InputError("--output - is not possible for a model; give the name of a file, such as model.nc")
    if text is not None:
        options.check_kinds([model], {text: "text"}, only=True)
    kinds, classifier = options.column_kinds(kind), options.classifier(model, inference, random_state=seed)
    if is_streamed(table, STREAMED_BYTES if issubclass(known[model][0], GenerativeClassifier) else None):
        require_elsewhere(path, table, "--output")
        columns = {"drop": tuple(drop or ()), "kinds": kinds, "unlabeled": unlabeled}
        notes = _fit_stream(classifier, table, target, text, reading, columns)
    else:
        training = load_training(table, target, reading, drop, kinds, text, unlabeled)
        output_file(output, "--output", source_files(training.dataset))
        options.check_kinds([model], training.kinds, training.texts, only=True)
        show_training(stdout(), training)
        with shown(f"fitting {model}"):
            classifier.fit(training.X, training.y)
        notes = [note for note in classifier.notes_ if note not in notes_of(training.X)]  # which stand above the fit
    save(classifier, path)
    for note in notes:
        stdout().print(printable(f"note: {note}"))
    how = f"{model} fitted by {engine_name(classifier)} in {time.perf_counter() - start:.1f} s"
    stdout().print(f"{how}, written to {path}", soft_wrap=True)


def _fit_stream(
    classifier: GenerativeClassifier | LogisticRegression,
    table: str,
    target: str | None,
    text: str | None,
    reading: dict[str, Any],
    columns: dict[str, Any],
) -> list[str]:
    """Fit a classifier to a table that is read batch by batch, and return what is to be said.

    `columns` has further arguments of `fit_stream`.
    """
    from bayesclf.tables.columns import require_column
    from bayesclf.tables.options import label_among, wish_of
    from bayesclf.tables.reading import open_stream

    if target is None:
        raise InputError(f"{table} does not say which column is the label; name it with --target COL")
    if text is not None:
        stream = open_stream(table, wish_of(reading))
        label = label_among(stream.names, target)
        for name in (label, text, *columns["kinds"], *columns["drop"]):
            require_column(name, stream.names, stream.where)
        if text in (label, *columns["drop"]):
            raise InputError(f"no column is left other than the label {label!r}; keep at least one")
        columns |= {"kinds": {text: "text"}, "drop": [name for name in stream.names if name not in (text, label)]}
    missing = {name: values for name, values in reading["missing"].items() if name not in columns["drop"]}
    classifier.fit_stream(table, target, **columns, reading={**reading, "missing": missing})
    model: Any = classifier.model_
    labeled = " with a label" if columns["unlabeled"] == "drop" else ""
    rows = f"{model.label_counts.sum():,.0f} rows{labeled} in {len(classifier.classes_)} classes were read in batches"
    return [rows, *classifier.notes_]


@partial(options.reads_files, without="keep")
def predict(
    model: options.ModelArgument,
    table: options.TableArgument,
    output: Annotated[
        str, option("--output", "FILE.csv", "File, or folder of parts, which another run completes; - for stdout.")
    ],
    rule: Annotated[str | None, option("--rule", "NAME", "Rule other than the classifier's.", False)] = None,
    cost: options.CostFile = None,
    reject: options.Reject = None,
    copy: Annotated[list[str] | None, option("--copy", "COL", "Write this column too.", False)] = None,
    interval: Annotated[float | None, option("--interval", "P", "Add P(k) intervals.", False, 0, 1)] = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Predict the labels of a table."""
    from bayesclf.interpretation.predictions import Decision, Extras, is_folder, write_predictions
    from bayesclf.rules import RULES
    from bayesclf.storage import load
    from bayesclf.tables import datasets
    from bayesclf.tables.reading import is_name

    if rule is not None:
        options.one_of(rule, RULES, "--rule")
    parts = is_folder(output)
    inputs = [model, table, *([cost] if cost else [])]
    path = Path(output) if parts else output_file(output, "--output", inputs) or STDOUT
    classifier = load(model)
    if rule in ("predictive", "tempered") and not classifier.model_.generative:
        complain(f"note: this model does not say how probable a row is, so the rule {rule} is bayes-optimal")
    costs = None if cost is None else options.read_cost(cost, [str(label) for label in classifier.classes_])
    found = write_predictions(
        classifier,
        datasets.load(table).frame if is_name(table) else table,
        output if parts else path,
        Decision(rule, costs, reject),
        Extras(interval),
        reading=reading,
        copy=copy or (),
        resume=parts,
        tell_unseen=lambda sentence: complain(f"note: {sentence}"),
    )
    if path != STDOUT:
        undecided = f", {found.rejected} of them left undecided" if reject is not None else ""
        stdout().print(
            f"{counted(found.rows, 'row', thousands='')} predicted{undecided}, written to {path}", soft_wrap=True
        )


@options.reads_files
def report(
    context: typer.Context,
    model: options.ModelArgument,
    output: Annotated[str, option("--output", "FILE.html", "File to write; .md and .json too.")],
    table: Annotated[str | None, option("--table", "TABLE", "Training table, to check predictions.", False)] = None,
    target: options.Target = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Check a fitted model and write a report."""
    from bayesclf.report import written_report
    from bayesclf.report.document import writable
    from bayesclf.report.tree import told
    from bayesclf.storage import load

    if target is not None and table is None:
        raise InputError("--target names a column of the training table; give that too, with --table")
    path = writable(output, "--output", [model, *([table] if table else [])])
    classifier = load(model)
    X, y, data = None, None, ""
    if table is not None:
        from bayesclf.cli.inputs import load_training, show_sentences
        from bayesclf.interpretation.predictions import as_read, kind_to_read, with_levels

        kinds = {column.name: kind for column in classifier.columns_ if (kind := kind_to_read(column)) is not None}
        names = [column.name for column in classifier.columns_]
        target = target or getattr(classifier, "target_name_", None)
        training = load_training(table, target, as_read(classifier, reading, target), kinds=kinds)
        show_sentences(stdout(), "read", training.dataset.notes)
        X, y = with_levels(training.X[names], classifier.columns_), training.y
        data = Path(training.dataset.name).name
    with shown(f"checking {model}"):
        predict_too = ["predict", model, "NEW.csv", "--output", "predictions.csv"]
        then = [*context.obj, "--table", "TRAINING.csv"] if table is None else predict_too
        made, following = (shlex.join(["bayesclf", *words]) for words in (context.obj, then))
        page = written_report(classifier, path, X, y, None, made, following, data)
    for sentence in told(page.sections[0]):
        stdout().print(wrapped(printable(sentence), stdout().width), soft_wrap=True)
    stdout().print(f"report written to {path}", soft_wrap=True)
