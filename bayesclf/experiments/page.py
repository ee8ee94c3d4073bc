"""The results page of an experiment, made like the reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bayesclf.experiments.experiment import Experiment, Section
from bayesclf.experiments.runner import Outcome
from bayesclf.files import write_text
from bayesclf.report import document, figures
from bayesclf.report.table import cell

PAGE = "results.html"


def write_page(experiment: Experiment, settings: Any, outcome: Outcome, command: str | None = None) -> Path:
    """Write the page of a finished experiment into its folder, next to records and table; return its path."""
    path = outcome.folder / PAGE
    write_text(path, render(experiment, settings, outcome, command))
    return path


def render(experiment: Experiment, settings: Any, outcome: Outcome, command: str | None = None) -> str:
    """Return the page of a finished experiment."""
    results = outcome.results
    made = [(name.replace("_", " "), str(value)) for name, value in asdict(settings).items()]
    return document.fill(
        "experiment.html.j2",
        title=experiment.NAME,
        subtitle=experiment.QUESTION,
        background=experiment.BACKGROUND,
        results=results,
        sections=[_section(section, f"section-{index}") for index, section in enumerate(results.sections, 1)],
        made=document.made(command, *made),
    )


def _section(section: Section, anchor: str) -> dict[str, Any]:
    """Return what the template shows of a section."""
    lines: Iterable[tuple[Any, ...]] = [] if section.table is None else section.table.itertuples(index=False)
    return {
        "title": section.title,
        "anchor": anchor,
        "sentences": section.sentences,
        "figures": [
            (figures.svg(figure.draw, f"{anchor}-{figure.name}", figure.title, figure.text), figure.caption)
            for figure in section.figures
        ],
        "headings": [] if section.table is None else [str(name).replace("_", " ") for name in section.table],
        "lines": [[cell(value) for value in line] for line in lines],
    }
