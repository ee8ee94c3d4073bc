"""`bayesclf datasets`: the data sets that have a name."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesclf.cli import options
from bayesclf.cli.console import longest_word, plain_table, stdout, wrapped
from bayesclf.files import STDOUT, output_file, write_text
from bayesclf.wording import LONGEST_NAME, counted, printable, written

if TYPE_CHECKING:
    from bayesclf.tables.datasets import DatasetInfo

app = options.app(None, "List, show or export the data sets that have a name.")

HEADERS = ("name", "rows", "columns", "classes", "license", "from", "description")

PLACES = {"own": "bayesclf", "sklearn": "scikit-learn", "folder": "BAYESCLF_DATA", "openml": "openml.org"}
"""Where data sets of each place come from, in a word."""

ROOM = 24
"""Characters that a table leaves for its descriptions at least; where there are fewer, each data set is a paragraph."""

Name = Annotated[str, typer.Argument(metavar="NAME", help="A data set, as `bayesclf datasets` lists it, or a file.")]


@app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        list_names()


@app.command("list")
def list_names() -> None:
    """List the data sets with their sizes."""
    from bayesclf.tables import datasets

    lines = [_line(info) for info in datasets.available()]
    console = stdout()
    widths = [longest_word(cells) for cells in zip(HEADERS, *lines, strict=True)]
    if console.width < sum(widths[:-1]) + max(widths[-1], ROOM) + len(widths):
        for name, rows, columns, classes, license, place, description in lines:
            sizes = f"{rows or '?'} rows, {columns or '?'} columns, {classes or '?'} classes"
            about = "; ".join(part for part in (sizes, license, f"from {place}", description) if part)
            console.print(f"{name}\n{wrapped(about, console.width, '  ')}", soft_wrap=True)
    else:
        table = plain_table(HEADERS, right=HEADERS[1:4])
        for column, width in zip(table.columns, widths, strict=True):
            column.min_width = width
        for line in lines:
            table.add_row(*line)
        console.print(table)
    folder = os.environ.get(datasets.FOLDER_VARIABLE)
    now = f"; now {folder}" if folder else ""
    said = f"{datasets.FOLDER_VARIABLE} names a folder with your own tables{now}"
    console.print(f"\n{wrapped(said, console.width)}", soft_wrap=True)


def _line(info: DatasetInfo) -> tuple[str, ...]:
    """Return the cells of a data set, in the order of `HEADERS`."""
    sizes = ("" if size is None else str(size) for size in (info.rows, info.columns, info.classes))
    # the user's own data sets are all in the folder that is named below
    said = info.description.partition(" in the folder ")[0] if info.place == "folder" else info.description
    return (info.name, *sizes, info.license, PLACES[info.place], said)


@app.command("show")
@partial(options.reads_files, shown=True)
def show(
    name: Name,
    target: options.Target = None,
    max_bytes: options.ShownMaxBytes = options.MAX_BYTES,
    *,
    reading: dict[str, Any],
) -> None:
    """Show the columns of a data set, or of a file and how it is read, and where it comes from."""
    from bayesclf.cli.inputs import column_table
    from bayesclf.tables import datasets
    from bayesclf.tables.description import describe_columns

    read = datasets.read if os.path.isfile(name) else datasets.load
    dataset = read(name, target, max_bytes=max_bytes, **reading)
    console = stdout()
    console.print(wrapped(f"{name}: {dataset.description}", console.width), soft_wrap=True)
    for what in ("creators", "source", "license", "changes", "note"):
        said = getattr(dataset, what)
        if said:
            console.print(wrapped(f"{what}: {said}", console.width), soft_wrap=True)
    for note in dataset.notes:
        console.print(wrapped(printable(f"read: {note}"), console.width), soft_wrap=True)
    label = f"; label {written(dataset.target, LONGEST_NAME)}" if dataset.target else ""
    console.print(f"{counted(len(dataset.frame), 'row', thousands='')}{label}")
    console.print()
    columns = describe_columns(dataset.frame, dataset.target or None)
    console.print(column_table(columns, console.width), soft_wrap=True)
    for note in columns["note"]:
        if note:
            console.print(wrapped(printable(f"note: {note}"), console.width), soft_wrap=True)


@app.command("export")
def export(
    name: Name,
    output: Annotated[str, typer.Option("--output", metavar="FILE.csv", help="File to write, - for stdout.")] = "-",
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    safe_csv: options.SafeCsv = False,
) -> None:
    """Write a data set as csv, missing cells empty."""
    from bayesclf.cli.console import csv_text
    from bayesclf.cli.inputs import source_files
    from bayesclf.tables import datasets

    path = output_file(output, "--output", [name]) or STDOUT
    dataset = datasets.load(name, max_bytes=max_bytes)
    output_file(output, "--output", source_files(dataset))
    write_text(path, csv_text(dataset.frame, safe_csv))
