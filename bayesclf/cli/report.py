"""`bayesclf report`: the checks and figures of a fitted model, in one file."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from bayesclf.cli import options
from bayesclf.cli.console import stdout, working
from bayesclf.cli.files import STDOUT, output_file
from bayesclf.errors import InputError


def report(
    context: typer.Context,
    model: Annotated[str, typer.Argument(metavar="MODEL.nc", help="A file that `bayesclf fit` wrote.")],
    output: Annotated[str, typer.Option("--output", metavar="FILE.html", help="File for the report.")],
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="TABLE",
            help="The training table; a model file keeps its statistics only.",
            show_default=False,
        ),
    ] = None,
    target: options.Target = None,
) -> None:
    """Check a fitted model and write a report; with its training table, predictions too."""
    from bayesclf.report import write_classifier
    from bayesclf.storage import load

    if target is not None and table is None:
        raise InputError("--target names a column of the training table; give that too, with --table")
    path = output_file(output, "--output", [model, *([table] if table else [])])
    if path is None or path == STDOUT:
        raise InputError("--output - is not possible for a report; give the name of a file, such as report.html")
    classifier = load(model)
    X, y = None, None
    if table is not None:
        from bayesclf.cli.inputs import load_training
        from bayesclf.cli.predictions import read_features

        y = load_training(table, target, None, {}).y
        X = read_features(table, classifier)
    with working(f"checking {model}"):
        write_classifier(classifier, path, X, y, shlex.join(["bayesclf", *context.obj]))
    stdout().print(f"report written to {path}", soft_wrap=True)
