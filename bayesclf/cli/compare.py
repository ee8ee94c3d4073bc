"""`bayesclf compare`: models and rules on one table, by cross-validation."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesclf.cli import options
from bayesclf.cli.console import line_a_model, stdout
from bayesclf.cli.options import AUTO, option
from bayesclf.errors import Refused
from bayesclf.files import STDOUT, output_file, write_text

if TYPE_CHECKING:
    from bayesclf.cli.inputs import Training
    from bayesclf.evaluation.comparison import Comparison


@options.reads_files
def compare(
    context: typer.Context,
    table: options.TableArgument,
    target: options.Target = None,
    models: Annotated[str, option("--models", "NAMES", "Classifiers, separated by commas.")] = options.DEFAULT_MODELS,
    rules: Annotated[
        str | None, option("--rules", "NAMES", "Rules, separated by commas; or all.", "map, bayes-optimal")
    ] = None,
    inference: Annotated[str, option("--inference", "NAME", "Engine; or MODEL=NAME,…")] = AUTO,
    cv: Annotated[int, option("--cv", "K", "Number of folds.", least=2)] = 5,
    repeats: Annotated[int | None, option("--repeats", "N", "Repetitions.", "up to 5", least=1)] = None,
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
    max_minutes: Annotated[float | None, option("--max-minutes", "M", "Start no fit later.", False, least=0)] = None,
    report: Annotated[str | None, option("--report", "FILE.html", "Write a page; .md and .json too.")] = None,
    json: Annotated[str | None, option("--json", "FILE", "Write numbers; - for stdout.")] = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Compare classifiers and rules on one table."""
    start = time.perf_counter()
    import numpy as np

    from bayesclf.cli.inputs import load_training, show_training, source_files
    from bayesclf.cli.results import comparison_json, issues_of_columns, show_comparison
    from bayesclf.report import write_comparison

    chosen = options.settings(models, rules, inference, cv, repeats, seed, jobs)
    outputs = _outputs(report, json, [table, *([cost] if cost else [])])
    training = load_training(table, target, reading, drop, options.column_kinds(kind), text)
    if models == options.DEFAULT_MODELS and all(own == "text" for own in training.kinds.values()):
        chosen = options.settings("text", rules, inference, cv, repeats, seed, jobs)
    labels = [str(label) for label in np.unique(np.asarray(training.y))]
    costs = None if cost is None else options.read_cost(cost, labels)
    _outputs(report, json, source_files(training.dataset))
    options.check_kinds(chosen.models, training.kinds)
    quiet = outputs["--json"] == STDOUT
    if not quiet:
        show_training(stdout(), training)
    limit = None if max_minutes is None else 60 * max_minutes
    more: dict[str, Any] = {"cost": costs, "reject": reject, "boosting": peers, "max_seconds": limit}
    comparison = _compare(training, chosen, more)
    issues = issues_of_columns(comparison)
    if (path := outputs["--json"]) is not None:
        write_text(path, comparison_json(comparison, issues, training, chosen))
    if (path := outputs["--report"]) is not None:
        write_comparison(comparison, path, command=shlex.join(["bayesclf", *context.obj]))
    if not quiet:
        show_comparison(stdout(), comparison, issues, time.perf_counter() - start)
        for path in outputs.values():
            if path is not None:
                stdout().print(f"written to {path}", soft_wrap=True)


def _outputs(report: str | None, json: str | None, inputs: list[str]) -> dict[str, Path | None]:
    """Check the files to be written, against each other too."""
    page = None if report is None else options.named_output(report, "--report", "report.html", inputs)
    return {"--report": page, "--json": output_file(json, "--json", [*inputs, *([page] if page else [])])}


def _compare(training: Training, chosen: options.Settings, more: dict[str, Any]) -> Comparison:
    """Run the comparison; raise if no model could answer under any rule."""
    from bayesclf.evaluation.comparison import compare

    settings = (chosen.rules, chosen.cv, chosen.repeats, chosen.seed, chosen.jobs)
    data = Path(training.dataset.name).name
    more["progress"] = line_a_model()
    comparison = compare(chosen.classifiers(), training.X, training.y, *settings, data=data, **more)
    if all(answer.reason for answer in comparison.answers.values()):
        (model, rule), answer = next(iter(comparison.answers.items()))
        raise Refused(f"no model can answer under these rules; {model} under {rule}: {answer.reason}")
    return comparison
