"""`bayesclf experiment`: a command for each experiment; its options are the settings of the experiment."""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any

import typer

from bayesclf.cli import options
from bayesclf.cli.console import stdout

app = options.app(None, "Run an experiment, or complete its run.")

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
    # without a terminal, lines on stderr
    outcome = run(chosen, settings, Path(output or name), jobs, made, progress=sys.stderr is not None)
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

    for name in EXPERIMENTS[len(app.registered_commands) :]:
        command = _command(name)
        app.command(name, short_help=shorten(str(command.__doc__), SHORT, placeholder=" …"))(command)


@app.callback(invoke_without_command=True)
def _start(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
