"""`bayesclf datasets`, the data sets that have a name, and `bayesclf experiment`, a command for each experiment."""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any

import typer

from bayesclf.cli import options
from bayesclf.cli.console import plain_table, stdout, wrapped
from bayesclf.files import STDOUT, output_file, write_text
from bayesclf.wording import LONGEST_NAME, counted, written

datasets = options.app(None, "List, show or export tables.")

HEADERS = ("name", "rows", "columns", "classes", "description")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A data set or a file.")]


@datasets.callback(invoke_without_command=True)
def _datasets(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_names()


@datasets.command("list")
def list_names() -> None:
    """List named tables."""
    from bayesclf.tables import datasets as tables

    console, table = stdout(), plain_table(HEADERS, right=HEADERS[1:4])
    for info in tables.available():
        sizes = ("" if size is None else str(size) for size in (info.rows, info.columns, info.classes))
        table.add_row(info.name, *sizes, info.description)
    console.print(table)
    folder = os.environ.get(tables.FOLDER_VARIABLE)
    now = f"; now {folder}" if folder else ""
    said = f"{tables.FOLDER_VARIABLE} names a folder with your own tables{now}"
    console.print(f"\n{wrapped(said, console.width)}", soft_wrap=True)


@datasets.command("show", epilog="Options with COL can be repeated.")
@partial(options.reads_files, shown=True)
def show(
    name: Name,
    target: options.Target = None,
    kind: options.Kinds = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Show how a table is read and what it holds."""
    from bayesclf.cli.training import column_table, show_sentences
    from bayesclf.tables import datasets as tables
    from bayesclf.tables.remarks import describe_columns

    read = tables.read if os.path.isfile(name) else tables.load
    kinds = options.column_kinds(kind)
    dataset = read(name, target, kinds, **reading)
    console = stdout()
    show_sentences(console, name, [dataset.description])
    for what in ("creators", "source", "license", "changes", "note"):
        show_sentences(console, what, [getattr(dataset, what)])
    show_sentences(console, "read", dataset.notes)
    label = f"; label {written(dataset.target, LONGEST_NAME)}" if dataset.target else ""
    console.print(f"{counted(len(dataset.frame), 'row', thousands='')}{label}")
    console.print()
    columns = describe_columns(dataset.frame, dataset.target or None, kinds)
    console.print(column_table(columns))
    show_sentences(console, "note", (note for note in columns["note"] if note not in dataset.notes))


@datasets.command("export")
@options.reads_files
def export(
    name: Name,
    output: Annotated[str, typer.Option("--output", metavar="FILE.csv", help="File to write; - for stdout.")] = "-",
    *,
    reading: dict[str, Any],
) -> None:
    """Write a table as csv."""
    from bayesclf.cli.training import source_files
    from bayesclf.tables import datasets as tables

    path = output_file(output, "--output", [name]) or STDOUT
    dataset = tables.load(name, **reading)
    output_file(output, "--output", source_files(dataset))
    write_text(path, dataset.frame.to_csv(index=False, lineterminator="\n"))


experiment = options.app(None, "Run an experiment, or complete its run.")

SHORT = 60
"""Characters of an experiment's question that the list of experiments shows."""

COMMON: dict[str, tuple[Any, Any]] = {
    "output": (Annotated[str | None, typer.Option("--output", metavar="FOLDER", show_default="its name")], None),
    "jobs": (options.Jobs, 1),
}
"""Options of every experiment, with their defaults."""


def _command(name: str) -> Callable[..., None]:
    """Return the function of an experiment's command; Typer reads its options from the signature."""
    from bayesclf.experiments import find
    from bayesclf.experiments.runner import about

    settings = find(name).Settings
    own = {}
    for field in fields(settings):
        flag = typer.Option(f"--{field.name.replace('_', '-')}", help=field.metadata["help"])
        own[field.name] = (Annotated[type(field.default), flag], field.default)
    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    parameters += [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for key, (annotation, default) in (own | COMMON).items()
    ]

    command = partial(_run, name)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = about(find(name))[0]
    return command


def _run(name: str, context: typer.Context, output: str | None, jobs: int, **given: Any) -> None:
    """Run one experiment, and write its table and page."""
    from bayesclf.experiments import find, run
    from bayesclf.experiments.runner import about, write_page
    from bayesclf.report.document import versions

    chosen = find(name)
    settings = chosen.Settings(**given)
    line = shlex.join(["bayesclf", *context.obj])
    made = {"command": line, **{key.lower(): value for key, value in versions()}}
    outcome = run(chosen, settings, Path(output or name), jobs, made)
    page = write_page(chosen, settings, outcome, line)
    console = stdout()
    console.print(f"{about(chosen)[0]}\n")
    console.print(outcome.answer[0])
    for sentence in outcome.answer[1:]:
        console.print(f"- {sentence}")
    console.print(f"\n{page} has the figures, {outcome.folder / 'table.csv'} the numbers")


def register() -> None:
    """Register the commands, once; their options are read from the settings of the experiments."""
    from bayesclf.experiments import EXPERIMENTS

    for name in EXPERIMENTS[len(experiment.registered_commands) :]:
        command = _command(name)
        experiment.command(name, short_help=shorten(str(command.__doc__), SHORT, placeholder=" …"))(command)


@experiment.callback(invoke_without_command=True)
def _experiment(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
