"""A comparison in the terminal and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bayesclf.cli.console import plain_table
from bayesclf.engines.inference import ENGINES
from bayesclf.evaluation.peers import BOOSTING, last_step
from bayesclf.evaluation.stack import STACK
from bayesclf.report.tree import plain
from bayesclf.report.verdict import DEFINED, verdict
from bayesclf.rules import RULES
from bayesclf.wording import counted, duration, number, pair, printable

if TYPE_CHECKING:
    from bayesclf.classifiers import BayesClassifier
    from bayesclf.cli.inputs import Training
    from bayesclf.cli.options import Settings
    from bayesclf.diagnostics import Finding
    from bayesclf.evaluation.comparison import Comparison

WIDE, WIDE_WITH_COSTS = 100, 126
"""Width of a terminal from which on standard errors and intervals of all scores are shown, and costs as well."""

CALIBRATION, RATIO = "calib.\nerror", "Gibbs\nratio"
BEST = "★"
LEGEND = {
    "log loss": f"{BEST} recommended",
    "differs": "differs: share of rows decided unlike bayes-optimal",
    "cost": "cost: mean cost of the decisions",
    "rejected": "rejected: rows left undecided, each at the cost of the limit",
}
"""What headers mean."""
INFINITE_LEGEND = "∞ (rows whose true class was given probability 0), then the mean over the others"
NUMBER = re.compile(r"\d[\d.e+-]*")
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

OF_COLUMNS = ("M07", "M08", "M09")
"""Checks that are about the columns, not about a model."""

LEFT_OUT = "left out"
"""What stands for the engine, and for the scores, of a model for which there was no time."""

LIBRARIES = ("bayesclf", "numpy", "scipy", "pandas", "scikit-learn", "pymc", "arviz", "nutpie")
"""Packages whose versions are recorded."""

Record = dict[Any, Any]


def show_comparison(console: Console, comparison: Comparison, issues: Sequence[Issue], seconds: float) -> None:
    """Print the table of a comparison, its notes, the verdict and the time taken.

    Parameters
    ----------
    console
        The terminal.
    comparison
        The comparison; at least one rule has an answer.
    issues
        As `issues_of_columns` returns them.
    seconds
        Time that the command took.
    """
    table = comparison.table
    records = table.to_dict("records")
    reasons = list(dict.fromkeys(record["reason"] for record in records if _failed(record)))
    wide = console.width >= (WIDE if comparison.costs is None else WIDE_WITH_COSTS)
    headers = _headers(comparison, records, wide)
    console.print(_score_table(comparison, records, reasons, headers, wide))
    console.print("; ".join(LEGEND[header] for header in LEGEND if header in headers), style="dim")
    if any(record.get("log_loss_infinite", 0) > 0 for record in records):
        console.print(INFINITE_LEGEND, style="dim")
    console.print()
    for index, reason in enumerate(reasons, 1):
        _print_hanging(console, f"{str(index).translate(RAISED)} ", f"n/a: {reason}")
    for models, note in _notes(comparison):
        _print_hanging(console, f"{models}: ", printable(note))
    if reasons or any(comparison.notes.values()):
        console.print()
    said = verdict(comparison, table)
    console.print(" ".join([said.headline, *said.findings]))
    for issue in issues:
        sentence = f"{issue.finding.title}: {issue.finding.reason}; {issue.finding.next_step}."
        _print_hanging(console, f"{issue.finding.code} ", printable(sentence))
    console.print(DEFINED, style="dim")
    console.print(_time(comparison, seconds), style="dim")


@dataclass(frozen=True)
class Issue:
    """What is wrong with the columns, and for which models; the words are those of the first."""

    finding: Finding
    models: list[str]


def issues_of_columns(comparison: Comparison) -> list[Issue]:
    """Return what is wrong with the columns for some model, by the checks of the fits on all rows, each once."""
    from bayesclf.diagnostics import diagnose

    found: dict[str, Issue] = {}
    for model, fit in comparison.fits.items():
        for issue in diagnose(fit, comparison.X, comparison.classes[comparison.y], checks=OF_COLUMNS).issues:
            found.setdefault(issue.code, Issue(issue, [])).models.append(model)
    return [found[code] for code in sorted(found)]


def engine_name(classifier: BayesClassifier) -> str:
    """Return the name of the engine that fitted a classifier."""
    return next(name for name, cls in ENGINES.items() if isinstance(classifier.inference_, cls))


def _score_table(
    comparison: Comparison, records: list[Record], reasons: list[str], headers: list[str], wide: bool
) -> Table:
    """Return one row per model and rule, below a row with the name and engine of the model."""
    drawn = plain_table(["model, rule", *headers], right=headers)
    for model in comparison.models:
        engine = _engine_of(comparison, model)
        drawn.add_row(Text.assemble((model, "bold"), (f" ({engine})", "dim")))
        for record in records:
            if record["model"] == model:
                failed = _failed(record)
                best = not failed and (model, record["rule"]) == comparison.best
                cells = _failed_cells(record, engine, reasons) if failed else _cells(record, wide, headers)
                style = "bold green" if best else ""
                drawn.add_row(f"{BEST if best else ' '} {record['rule']}", *cells, style=style)
    return drawn


def _engine_of(comparison: Comparison, model: str) -> str:
    """Return the engine of a model, the class of one that has none, "mixture" of a stack, or "refused"."""
    if model == STACK and comparison.mixture is not None:
        return "mixture"
    if model == BOOSTING and model in comparison.peers:
        return "scikit-learn"
    if model in comparison.peers:
        return type(last_step(comparison.peers[model])).__name__
    if model in comparison.left_out:
        return LEFT_OUT
    return engine_name(comparison.fits[model]) if model in comparison.fits else "refused"


def _headers(comparison: Comparison, records: list[Record], wide: bool) -> list[str]:
    """Return the headers of the scores that some entry has; in a narrow terminal costs replace other scores."""
    differs = any(np.isfinite(record.get("disagreement", np.nan)) for record in records)
    gibbs = any(record["rule"] == "gibbs" and not _failed(record) for record in records)
    others = ["Brier", CALIBRATION, *(["differs"] if differs else []), *([RATIO] if gibbs else [])]
    if comparison.costs is None:
        return ["accuracy", "log loss", *others]
    costs = ["cost"] if comparison.costs.reject is None else ["cost", "rejected"]
    return ["accuracy", "log loss", *costs, *(others if wide else [])]


def _cells(record: Record, wide: bool, headers: list[str]) -> list[str]:
    """Return the cells of one line."""
    brier, calibration = number(record["brier"]), number(record["calibration_error"])
    if wide:
        brier = pair(record["brier"], record["brier_se"])
        calibration += f" (by chance: {number(record['calibration_expected'])})"
    differs, ratio = record.get("disagreement", np.nan), record.get("error_ratio", np.nan)
    missing_ratio = "n/a" if record["rule"] == "gibbs" else ""
    cells = {
        "accuracy": pair(record["accuracy"], record["accuracy_se"]),
        "log loss": _log_loss(record),
        "Brier": brier,
        CALIBRATION: calibration,
        "differs": f"{100 * differs:.1f} %" if np.isfinite(differs) else "",
        RATIO: number(ratio, 2) if np.isfinite(ratio) else missing_ratio,
    }
    if "cost" in record:
        cells |= {"cost": pair(record["cost"], record["cost_se"]), "rejected": f"{100 * record['rejected']:.1f} %"}
    return [cells[header] for header in headers]


def _log_loss(record: Record) -> str:
    infinite = int(record["log_loss_infinite"])
    if not infinite:
        return pair(record["log_loss"], record["log_loss_se"])
    return f"∞ ({counted(infinite, 'row', thousands='')}) {number(record['log_loss_finite'])}"


def _failed_cells(record: Record, engine: str, reasons: list[str]) -> list[str]:
    """Return cells that name in a word or two what is missing, and refer to the reason below the table."""
    rule, lacking = RULES.get(record["rule"]), "refused"
    if engine == LEFT_OUT:
        lacking = LEFT_OUT
    elif rule is not None and engine != "refused" and rule.source in ("mle", "map"):
        lacking = f"no {rule.source.upper()}"
    elif engine in ("mle", "map"):
        lacking = "no posterior"
    return [f"n/a {str(reasons.index(record['reason']) + 1).translate(RAISED)}", lacking]


def _failed(record: Record) -> bool:
    return isinstance(record.get("reason"), str) and bool(record["reason"])


def _notes(comparison: Comparison) -> list[tuple[str, str]]:
    """Return each note once, with its models; of notes that say the same of several fits, the first.

    Two notes of a model say the same if they are equal up to the colon, apart from numbers.
    """
    models: dict[str, list[str]] = {}
    alike: dict[tuple[str, str], list[str]] = {}
    for model, notes in comparison.notes.items():
        for note in notes:
            models.setdefault(note, []).append(model)
            start, colon, _ = note.partition(":")
            alike.setdefault((model, NUMBER.sub("", start) if colon else note), []).append(note)
    shown = {group[0]: len(group) - 1 for group in alike.values()}
    return [
        (", ".join(models[note]), f"{note} ({more} more like this; --json has all)" if more else note)
        for note, more in shown.items()
    ]


def _print_hanging(console: Console, start: str, text: str) -> None:
    """Print text with a hanging indent of the width of `start`."""
    grid = Table.grid()
    grid.add_row(start, text)
    console.print(grid)


def _time(comparison: Comparison, seconds: float) -> str:
    folds = ", ".join(f"{duration(spent)} ({model})" for model, spent in comparison.seconds.items())
    splits = f"{comparison.cv} folds" + (f", {comparison.repeats} times" if comparison.repeats > 1 else "")
    return f"{duration(seconds)} in all; {splits}, seed {comparison.seed}; a fold took {folds}."


def comparison_json(comparison: Comparison, issues: Sequence[Issue], training: Training, chosen: Settings) -> str:
    """Return all results of a comparison as JSON.

    Undefined numbers are null; infinite ones the strings "inf" and "-inf". Times and the number of processes are left
    out, so that the same command on the same machine writes the same text.
    """
    table = comparison.table
    said = verdict(comparison, table)
    document = {
        "versions": {name: version(name) for name in LIBRARIES},
        "settings": {
            "table": training.dataset.name,
            "target": training.dataset.target,
            "drop": [name for name in training.dataset.frame if name not in set(training.columns["column"])],
            **{name: value for name, value in asdict(chosen).items() if name != "jobs"},
            "cost": None if comparison.costs is None else comparison.costs.matrix.tolist(),
            "reject": None if comparison.costs is None else comparison.costs.reject,
        },
        "data": {
            "source": training.dataset.source,
            "rows": len(training.y),
            "labels": [
                {"label": str(label), "rows": (comparison.y == code).sum()}
                for code, label in enumerate(comparison.classes)
            ],
            "read": comparison.read,
            "columns": training.columns.to_dict("records"),
        },
        "stack": _stack(comparison),
        "engines": {model: engine_name(classifier) for model, classifier in comparison.fits.items()},
        "table": table.to_dict("records"),
        "best": dict(zip(("model", "rule"), comparison.best, strict=True)),
        "verdict": [said.headline, *said.findings],
        "cautions": said.cautions,
        "notes": comparison.notes,
        "checks": [_check(issue) for issue in issues],
    }
    return json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _check(issue: Issue) -> Record:
    """Return an issue without the numbers behind it, which the report has."""
    said = {name: getattr(issue.finding, name) for name in ("code", "title", "severity", "reason", "next_step")}
    return {**said, "models": issue.models}


def _stack(comparison: Comparison) -> Record | None:
    """Return the weights of the stack and what it leaves out, or None where there is no stack."""
    if comparison.mixture is None:
        return None
    weights, left_out = comparison.mixture.weights, comparison.mixture.left_out
    return {
        "weights": [{"model": model, "rule": rule, "weight": weight} for (model, rule), weight in weights.items()],
        "left_out": [{"model": model, "rule": rule, "reason": reason} for (model, rule), reason in left_out.items()],
    }
