"""The command line: `bayesclf compare`, `fit`, `predict`, `report`, `experiment` and `datasets`.

Importing it loads neither pandas nor scikit-learn nor PyMC, so that ``bayesclf --help`` answers at once; each command
imports what it needs.
"""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

import bayesclf
from bayesclf.cli import commands, datasets, experiment, options
from bayesclf.cli.console import (
    BAD_INPUT,
    INTERRUPTED,
    complain,
    finished,
    interrupt,
    notes_for_warnings,
)
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.tables.options import named_for

USAGE_ERROR: Any = typer.BadParameter.__base__
"""What Typer raises for invalid options; the place of the class depends on the version of Typer."""

app = options.app(
    "bayesclf",
    "Compare Bayesian classifiers: one posterior, and the predictions of every rule.",
    epilog="; ".join(f"{what.capitalize()}: {names}" for what, names in options.NAMES.items()),
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
for command in (commands.compare, commands.fit, commands.predict, commands.report):
    app.command(command.__name__, epilog=options.HOW_READ)(command)
app.add_typer(datasets.app, name="datasets")
app.add_typer(experiment.app, name="experiment")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bayesclf {bayesclf.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@cache
def _program(experiments: bool) -> Any:
    """Return all commands, which Typer takes some time to make, with those of the experiments or without."""
    if experiments:
        experiment.register()
    return typer.main.get_command(app)


def run(arguments: Sequence[str]) -> int:
    """Run one command line.

    Parameters
    ----------
    arguments
        Words after ``bayesclf``.

    Returns
    -------
    int
        Exit status: 0; `BAD_INPUT` for input that cannot be used, with one sentence on stderr; `INTERRUPTED`.
    """
    program = _program("experiment" in arguments)
    try:
        with notes_for_warnings(), named_for("command"):
            status = program(list(arguments), prog_name="bayesclf", standalone_mode=False, obj=list(arguments))
    except (InputError, DoesNotExist, Refused) as error:
        complain(str(error))
        return BAD_INPUT
    except USAGE_ERROR as error:
        complain(_usage(error))
        return BAD_INPUT
    except typer.Abort as stop:
        # Typer 0.15 raises this where later versions return the status of an interruption
        if not isinstance(stop.__cause__, KeyboardInterrupt):
            raise
        status = INTERRUPTED
    except KeyboardInterrupt:
        status = INTERRUPTED
    if status == INTERRUPTED:
        complain("interrupted")
    return int(status or 0)


def _usage(error: Any) -> str:
    """Return one sentence for an option that cannot be read."""
    message = " ".join(str(error.format_message()).split()).rstrip(".")
    command = error.ctx.command_path if error.ctx is not None else "bayesclf"
    table = "give a training table as --table TABLE; " if command == "bayesclf report" and "extra" in message else ""
    return f"{message[:1].lower()}{message[1:]}; {table}see {command} --help"


def main() -> None:
    """Run the command line of this process and exit with its status.

    Ctrl-C ends the process at once: an exception could be caught, or printed, by whatever library it comes through.
    Where SIGINT is ignored, as in background jobs of a script, it stays so. A terminal without a character such as "±"
    gets a question mark.
    """
    if callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        status = run(sys.argv[1:])
    except OSError:
        if not (status := finished(0)):  # stdout takes what is left: something else was full
            raise
        sys.exit(status)
    sys.exit(finished(status))
