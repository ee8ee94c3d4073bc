"""`bayesclf learning-curve`: scores of models and rules by the number of training rows, on one's own table."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bayesclf.cli import options
from bayesclf.cli.console import plain_table, stdout
from bayesclf.cli.options import AUTO, option
from bayesclf.errors import InputError, Refused
from bayesclf.files import STDOUT, output_file, write_text, write_whole
from bayesclf.wording import printable

if TYPE_CHECKING:
    from rich.table import Table

    from bayesclf.evaluation.learning import LearningCurve

METRIC_NAMES = "log_loss, error, brier"
"""Names for the help, written out so that it need not import the evaluation; a test compares them."""


@options.reads_files
def learning_curve(
    table: options.TableArgument,
    target: options.Target = None,
    models: options.Models = options.DEFAULT_MODELS,
    rules: options.Rules = None,
    inference: options.Inference = AUTO,
    sizes: Annotated[
        str | None,
        option("--sizes", "M,…", "Training sizes, in rows or as shares of the training rows.", "six, up to all rows"),
    ] = None,
    metric: Annotated[str, option("--metric", "NAME", f"What is shown and drawn: {METRIC_NAMES}.")] = "log_loss",
    cv: options.Folds = 5,
    repeats: options.Repeats = 1,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    drop: options.Drop = None,
    kind: options.Kinds = None,
    set: options.Sets = None,
    max_bytes: options.MaxBytes = options.MAX_BYTES,
    figure: Annotated[str | None, option("--figure", "FILE", "Draw the curves, as svg, png or pdf.")] = None,
    csv: Annotated[str | None, option("--csv", "FILE", "Write all numbers, - for stdout.")] = None,
    safe_csv: options.SafeCsv = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Score classifiers and rules on one table by the number of training rows."""
    start = time.perf_counter()
    from bayesclf.cli.console import csv_text
    from bayesclf.cli.inputs import load_training, show_training
    from bayesclf.evaluation.learning import METRICS
    from bayesclf.evaluation.learning import learning_curve as scored

    chosen = options.settings(models, rules, inference, (cv, repeats, seed, jobs), set)
    options.one_of(metric, METRICS, "--metric")
    counts = _sizes(sizes)
    drawing = _figure_file(figure, table)
    numbers = output_file(csv, "--csv", [table, *([figure] if figure else [])])
    training = load_training(table, target, drop, options.column_kinds(kind), max_bytes=max_bytes, reading=reading)
    options.check_kinds(chosen.models, training.kinds)
    if numbers != STDOUT:
        show_training(stdout(), training)
    settings = (chosen.rules, counts, chosen.cv, repeats, chosen.seed, chosen.jobs)
    curve = scored(chosen.classifiers(), training.X, training.y, *settings)
    if (curve.table["reason"] != "").all():
        raise Refused(f"no model can answer under these rules: {curve.table['reason'].iloc[0]}")
    if numbers is not None:
        write_text(numbers, csv_text(curve.table, safe_csv))
    if drawing is not None:
        drawn = io.BytesIO()  # as matplotlib's PDF raises what it likes where a disk is full
        curve.plot(metric).savefig(drawn, format=drawing.suffix[1:])
        write_whole(drawing, lambda part: part.write_bytes(drawn.getvalue()))
    if numbers != STDOUT:
        _show(curve, metric, time.perf_counter() - start)
        for path in (numbers, drawing):
            if path is not None:
                stdout().print(f"written to {path}", soft_wrap=True)


def _sizes(text: str | None) -> list[float] | None:
    """Return training sizes from a list with commas."""
    if text is None:
        return None
    try:
        return [float(part) if "." in part else int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--sizes {text} must be numbers with commas between them, such as 10,50,0.5") from None


def _figure_file(figure: str | None, table: str) -> Path | None:
    """Check the file of the figure."""
    if figure is None:
        return None
    path = options.named_output(figure, "--figure", "curve.svg", [table])
    if path.suffix not in (".svg", ".png", ".pdf"):
        raise InputError(f"--figure {figure} must end in .svg, .png or .pdf, which says what is written")
    return path


def _show(curve: LearningCurve, metric: str, seconds: float) -> None:
    """Print the scores, one line per model and rule, and why some are missing."""
    stdout().print(_score_table(curve, metric))
    for reason, lines in curve.table[curve.table["reason"] != ""].groupby("reason", sort=False):
        where = ", ".join(dict.fromkeys(f"{line.model} {line.rule}" for line in lines.itertuples()))
        stdout().print(f"n/a, {where}: {reason}")
    for note, models in _notes(curve).items():
        stdout().print(printable(f"{', '.join(models)}: {note}"))
    stdout().print(f"{seconds:.1f} s; seed {curve.seed}; means over test rows ± standard errors over the rows")


def _score_table(curve: LearningCurve, metric: str) -> Table:
    """Return the scores, a column for each training size."""
    from bayesclf.wording import pair

    sizes = sorted(set(curve.table["m"]))
    drawn = plain_table([f"{metric}, rows:", *map(str, sizes)], right=[str(m) for m in sizes])
    for (model, rule), lines in curve.table.groupby(["model", "rule"], sort=False):
        by_size = lines.set_index("m")
        cells = ["n/a" if by_size["reason"][m] else pair(by_size[metric][m], by_size[f"{metric}_se"][m]) for m in sizes]
        drawn.add_row(f"{model} {rule}", *cells)
    return drawn


def _notes(curve: LearningCurve) -> dict[str, list[str]]:
    """Return the models of each note."""
    models: dict[str, list[str]] = {}
    for model, notes in curve.notes.items():
        for note in notes:
            models.setdefault(note, []).append(model)
    return models
