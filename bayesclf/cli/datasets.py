"""`bayesclf datasets`: the data sets that have a name."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from bayesclf.cli import options
from bayesclf.cli.console import plain_table, stdout
from bayesclf.files import STDOUT, output_file, write_text
from bayesclf.wording import counted

app = options.app(None, "List, show or export the data sets that have a name.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="A data set, as `bayesclf datasets` lists it, or a file.")]


@app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_names()


@app.command("list")
def list_names() -> None:
    """List the data sets with their sizes."""
    from bayesclf.tables import datasets

    table = plain_table(["name", "rows", "columns", "description"], right=["rows", "columns"])
    for info in datasets.available():
        sizes = ("" if size is None else str(size) for size in (info.rows, info.columns))
        # the user's own data sets are all in the folder that is named below
        said = info.description.partition(" in the folder ")[0] if info.place == "folder" else info.description
        table.add_row(info.name, *sizes, said)
    stdout().print(table)
    folder = os.environ.get(datasets.FOLDER_VARIABLE)
    now = f"; now {folder}" if folder else ""
    stdout().print(f"\n{datasets.FOLDER_VARIABLE} names a folder with your own tables{now}")


@app.command("show")
def show(name: Name) -> None:
    """Show the columns of a data set and where it comes from."""
    from bayesclf.cli.inputs import column_table
    from bayesclf.tables import datasets
    from bayesclf.tables.description import describe_columns

    dataset = datasets.load(name)
    console = stdout()
    console.print(f"{name}: {dataset.description}")
    for what in ("creators", "source", "license", "changes", "note"):
        said = getattr(dataset, what)
        if said:
            console.print(f"{what}: {said}")
    console.print(f"{counted(len(dataset.frame), 'row', thousands='')}; label {dataset.target!r}")
    console.print()
    columns = describe_columns(dataset.frame, dataset.target)
    console.print(column_table(columns, console.width))
    for note in columns["note"]:
        if note:
            console.print(f"note: {note}")


@app.command("export")
def export(
    name: Name,
    output: Annotated[str, typer.Option("--output", metavar="FILE.csv", help="File to write, - for stdout.")] = "-",
) -> None:
    """Write a data set as csv, missing cells empty."""
    from bayesclf.cli.inputs import source_files
    from bayesclf.tables import datasets

    path = output_file(output, "--output", [name]) or STDOUT
    dataset = datasets.load(name)
    output_file(output, "--output", source_files(dataset))
    write_text(path, dataset.frame.to_csv(index=False, lineterminator="\n"))
