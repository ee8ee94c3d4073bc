"""A comparison as JSON."""

from __future__ import annotations

import json
import math
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from bayesclf.cli.results import engine_name
from bayesclf.report.verdict import verdict

if TYPE_CHECKING:
    from bayesclf.cli.inputs import Training
    from bayesclf.cli.settings import Settings
    from bayesclf.comparison import Comparison

LIBRARIES = ("bayesclf", "numpy", "scipy", "pandas", "scikit-learn", "pymc", "arviz", "nutpie")
"""Packages whose versions are written down."""


def comparison_json(comparison: Comparison, training: Training, chosen: Settings) -> str:
    """Return everything about a comparison that a program may want, as JSON.

    Undefined numbers are null; infinite ones the strings "inf" and "-inf". Times and the number of processes are left
    out, so that the same command on the same machine writes the same text.
    """
    table = comparison.table
    said = verdict(comparison, table)
    best = dict(zip(("model", "rule"), comparison.best, strict=True))
    document = {
        "versions": {name: version(name) for name in LIBRARIES},
        "settings": {
            "table": training.dataset.name,
            "target": training.dataset.target,
            "drop": [name for name in training.dataset.frame if name not in set(training.columns["column"])],
            "models": list(chosen.models),
            "rules": list(chosen.rules),
            "inference": chosen.inference,
            "cv": chosen.cv,
            "repeats": chosen.repeats,
            "seed": chosen.seed,
            "cost": None if comparison.costs is None else comparison.costs.matrix.tolist(),
            "reject": None if comparison.costs is None else comparison.costs.reject,
        },
        "data": _data(comparison, training),
        "engines": {model: engine_name(classifier) for model, classifier in comparison.fits.items()},
        "table": table.to_dict("records"),
        "best": best,
        "verdict": [said.headline, *said.findings],
        "cautions": list(said.cautions),
        "notes": {model: list(notes) for model, notes in comparison.notes.items()},
    }
    return json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _data(comparison: Comparison, training: Training) -> dict[str, Any]:
    rows = {code: int((comparison.y == code).sum()) for code in range(len(comparison.classes))}
    return {
        "source": training.dataset.source,
        "rows": len(training.y),
        "labels": [{"label": str(label), "rows": rows[code]} for code, label in enumerate(comparison.classes)],
        "columns": training.columns.to_dict("records"),
    }


def _plain(value: Any) -> Any:
    """Return values that JSON has: numbers that are not finite become null or "inf"."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value if value is None or isinstance(value, bool | int | float) else str(value)
