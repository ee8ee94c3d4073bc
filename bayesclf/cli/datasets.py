"""`bayesclf datasets`: the data sets that have a name."""

from __future__ import annotations

import os
from functools import partial
from typing import Annotated, Any

import typer

from bayesclf.cli import options
from bayesclf.cli.console import plain_table, stdout, wrapped
from bayesclf.files import STDOUT, output_file, write_text
from bayesclf.wording import LONGEST_NAME, counted, written

app = options.app(None, "List, show or export tables.")

HEADERS = ("name", "rows", "columns", "classes", "description")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A data set or a file.")]


@app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_names()


@app.command("list")
def list_names() -> None:
    """List named tables."""
    from bayesclf.tables import datasets

    console, table = stdout(), plain_table(HEADERS, right=HEADERS[1:4])
    for info in datasets.available():
        sizes = ("" if size is None else str(size) for size in (info.rows, info.columns, info.classes))
        table.add_row(info.name, *sizes, info.description)
    console.print(table)
    folder = os.environ.get(datasets.FOLDER_VARIABLE)
    now = f"; now {folder}" if folder else ""
    said = f"{datasets.FOLDER_VARIABLE} names a folder with your own tables{now}"
    console.print(f"\n{wrapped(said, console.width)}", soft_wrap=True)


@app.command("show", epilog="Options with COL can be repeated.")
@partial(options.reads_files, shown=True)
def show(
    name: Name,
    target: options.Target = None,
    kind: options.Kinds = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Show how a table is read and what it holds."""
    from bayesclf.cli.inputs import column_table, show_sentences
    from bayesclf.tables import datasets
    from bayesclf.tables.remarks import describe_columns

    read = datasets.read if os.path.isfile(name) else datasets.load
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
    for column, why in dataset.left_out.items():
        columns.loc[columns["column"] == column, ["kind", "summary"]] = "left out", why
    console.print(column_table(columns))


@app.command("export")
@options.reads_files
def export(
    name: Name,
    output: Annotated[str, typer.Option("--output", metavar="FILE.csv", help="File to write; - for stdout.")] = "-",
    *,
    reading: dict[str, Any],
) -> None:
    """Write a table as csv."""
    from bayesclf.cli.inputs import source_files
    from bayesclf.tables import datasets

    path = output_file(output, "--output", [name]) or STDOUT
    dataset = datasets.load(name, **reading)
    output_file(output, "--output", source_files(dataset))
    write_text(path, dataset.frame.to_csv(index=False, lineterminator="\n"))
