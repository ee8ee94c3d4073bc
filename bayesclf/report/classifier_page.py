"""The page of one fitted classifier: its checks, its posterior, its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from sklearn.utils import get_tags

from bayesclf import plots
from bayesclf.arrays import Integers
from bayesclf.classifiers.base import BayesClassifier
from bayesclf.classifiers.given import is_given
from bayesclf.classifiers.labels import checked_labels
from bayesclf.classifiers.logistic import LogisticRegression
from bayesclf.classifiers.predictor import CI_PROB
from bayesclf.diagnostics import Diagnosis, Finding, diagnose
from bayesclf.diagnostics.diagnosis import MOST_LINES, TITLES, as_table
from bayesclf.diagnostics.held_out import HeldOut
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.evaluation.scores import calibration_error, mean_log_loss, standard_error_of_rows
from bayesclf.interpretation.summary import READING, Priors, priors_of, together
from bayesclf.plots.calibration import BAND, draw_by_class, draw_reliability
from bayesclf.report import document, methods, names, table
from bayesclf.report.facts import MOST_CLASSES, Score, calibration, confusion, errors, facts
from bayesclf.report.text import Part, TextReport, of_checks, of_facts, of_priors
from bayesclf.report.verdict import in_sentence
from bayesclf.tables.columns import SparseTable
from bayesclf.wording import counted, first_upper, joined, listed, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTIONS = {
    "forest": (
        "Posterior means and intervals of parameters",
        "Means and intervals given the model; each panel has its own unit.",
    ),
    "weights": (
        "Posterior of logistic weights",
        "Log-odds, and odds ratios above, per standard deviation of a column or per level, with posterior intervals.",
    ),
    "priors": (
        "Parameters before and after the rows",
        "Densities of prior and posterior: where both are alike, the rows say nothing about the parameter.",
    ),
    "trace": (
        "Draws of each chain in their order",
        "Chains of draws: similar and without trend where the sampler has converged.",
    ),
    "rank": ("Ranks of each chain's draws among all", "Level within the band where the chains agree."),
    "energy": ("Energy of the draws and its changes", "Similar widths where the sampler reaches the tails."),
    "conditionals": (
        "Columns given the class, as learned and as observed",
        "Distributions of the first columns within each class, learned (lines, points and bands) and observed; dashed: "
        "where the class that the column alone predicts changes.",
    ),
    "replicated": (
        "Class counts of replicated data sets and of the rows",
        "The observed counts lie among the replicated ones where the model can generate data like these.",
    ),
    "entropy": (
        "Entropy of predictions, aleatoric and epistemic",
        "Entropy of the predictions for the training rows; its epistemic part is what more rows would remove, given "
        "the model.",
    ),
}
"""Title and caption of each figure."""


COMMONEST = "always naming the commonest class"
"""What needs no model."""

MOST_PARAMETERS = 100
"""Lines of the table of parameters."""


MOST_EFFECTS = 8
"""Columns whose average effects are shown."""


def render(classifier: BayesClassifier, X: Any = None, y: Any = None, command: str | None = None) -> str:
    """Return the page of a fitted classifier; without its training rows `X`, `y` some checks are skipped."""
    content = Content.of(classifier, X, y)
    diagnosis, frame = content.diagnosis, content.frame
    return document.fill(
        "classifier.html.j2",
        title=content.title,
        subtitle=content.subtitle,
        headline=headline(diagnosis),
        band=BAND,
        answers=content.answers,
        reliability=_reliability(classifier, diagnosis.held_out, content.answers),
        by_class=_by_class(classifier, diagnosis.held_out, content.answers),
        issues=diagnosis.issues,
        tips=diagnosis.tips,
        notes=classifier.notes_,
        groups=groups(diagnosis),
        model=content.priors.model,
        priors=together(content.priors.lines),
        reading_priors=READING,
        most=MOST_PARAMETERS,
        figures=_posterior_figures(classifier),
        parameters=_parameters(classifier),
        effects=None if content.effects is None else _sortable(content.effects),
        interval=percent(CI_PROB),
        predictions=[] if X is None else _prediction_figures(classifier, X, content.labels),
        classes=[] if content.codes is None else table.class_counts(content.codes, classifier.classes_),
        columns=[] if frame is None else table.column_summaries(frame),
        column_count=len(classifier.columns_),
        rows=0 if frame is None else len(frame),
        paragraph=content.paragraph,
        made=_made(classifier, command),
    )


def text(classifier: BayesClassifier, X: Any = None, y: Any = None, command: str | None = None) -> TextReport:
    """Return the report of a fitted classifier without figures."""
    content = Content.of(classifier, X, y)
    diagnosis, answers, frame = content.diagnosis, content.answers, content.frame
    parts = [Part("Verdict", [headline(diagnosis)])]
    if answers is not None:
        said = [answers["headline"], headline(diagnosis), *filter(None, [answers["errors"]])]
        parts = [
            Part("Verdict", said),
            Part("Answers to held-out rows", [first_upper(answers["setting"])], table=of_facts(answers["facts"])),
        ]
    parts += [of_checks(diagnosis), of_priors(content.priors)]
    if (parameters := _summary(classifier)) is not None:
        lines = parameters.reset_index()
        parts.append(Part("Posterior", parameters.attrs.get("families", []), table=lines, shown=MOST_PARAMETERS))
    if content.effects is not None:
        parts.append(Part("Average effects", table=content.effects, shown=MOST_PARAMETERS))
    if frame is not None:
        columns = pd.DataFrame([asdict(column) for column in table.column_summaries(frame)])
        parts.append(Part("Data", table=columns))
    parts.append(Part("In a paragraph", [content.paragraph]))
    return TextReport(content.title, content.subtitle, parts, _made(classifier, command))


@dataclass(frozen=True, eq=False)
class Content:
    """What every form of the report says.

    Attributes
    ----------
    title, subtitle
        What is predicted, and from how much.
    diagnosis
        The checks.
    frame, labels, codes
        The training table as the report shows it, its labels (row), and their codes (row); None without it.
    answers
        How good answers to held-out rows are; None where there are none.
    priors
        What was assumed before any row was seen.
    effects
        Average effects of the first columns; None without the training table.
    paragraph
        The report in a few sentences.
    """

    title: str
    subtitle: str
    diagnosis: Diagnosis
    frame: pd.DataFrame | None
    labels: Any
    codes: Integers | None
    answers: dict[str, Any] | None
    priors: Priors
    effects: pd.DataFrame | None
    paragraph: str

    @classmethod
    def of(cls, classifier: BayesClassifier, X: Any, y: Any) -> Content:
        """Check a classifier, and gather what there is to say."""
        diagnosis = diagnose(classifier, X, y)
        frame = None if X is None else _shown_columns(classifier, X)
        labels = None if frame is None else checked_labels(y, len(frame))
        codes = None if labels is None else np.searchsorted(classifier.classes_, labels)
        answers = None if diagnosis.held_out is None else _answers(classifier, diagnosis.held_out)
        priors = priors_of(classifier)
        said = methods.of_classifier(classifier, codes, priors, answers, diagnosis)
        subtitle = _subtitle(classifier, frame, codes)
        changes = None if frame is None else _effects(classifier, X, list(frame.columns))
        return cls(_title(classifier), subtitle, diagnosis, frame, labels, codes, answers, priors, changes, said)


def _made(classifier: BayesClassifier, command: str | None) -> list[tuple[str, str]]:
    """Return how the report was made."""
    return document.made(
        command,
        ("Classifier", " ".join(str(classifier).split())),
        ("Inference", str(classifier.inference_)),
        ("Seed", str(classifier.seed_)),
    )


def _title(classifier: BayesClassifier) -> str:
    """Say what is predicted, and by which model."""
    kind = first_upper(names.kind_name(classifier))
    return f"{kind}, predicting {classifier.target_name_}" if classifier.target_name_ else kind


def _answers(classifier: BayesClassifier, held_out: HeldOut) -> dict[str, Any] | None:
    """Return how good the classifier's answers to held-out rows are, under the rule that it answers by.

    Where that rule cannot answer, the first of the rules that can.
    """
    if not held_out.answered:
        return None
    rule = held_out.own if held_out.own in held_out.answered else next(iter(held_out.answered))
    found, y, classes = held_out.answered[rule], held_out.y, classifier.classes_
    log_proba = found.log_proba
    counts = confusion(log_proba, y)
    loss = mean_log_loss(found.log_loss)
    share = held_out.frequencies
    commonest = float((share.argmax(axis=1) == y).mean())
    shares = float(-np.log(share[np.arange(len(y)), y]).mean())
    right, infinite = 1 - found.error, loss.infinite
    told = calibration_error(log_proba, y, classifier.seed_)
    shown = facts(
        log_proba,
        y,
        classes,
        Score(float(right.mean()), standard_error_of_rows(right, held_out.train), commonest),
        Score(loss.mean, standard_error_of_rows(found.log_loss, held_out.train), shares),
    )
    words = f"{first_upper(names.kind_name(classifier))}, {names.HOW[rule]} ({rule}), is right on"
    named = [str(label) for label in classes]
    return {
        "headline": f"{words} {shown[0].value} of held-out rows; {COMMONEST}, on {shown[0].baseline}.",
        "setting": held_out.setting,
        "facts": [*shown, calibration(told.error, told.expected)],
        "errors": errors(counts, classes),
        "infinite": f"the true class of {counted(infinite, 'row')} got the probability 0" if infinite else "",
        "classes": named,
        "confusion": [(name, [f"{int(count):,}" for count in line]) for name, line in zip(named, counts, strict=True)]
        if len(classes) <= MOST_CLASSES
        else [],
        "rule": rule,
    }


def _reliability(classifier: BayesClassifier, held_out: HeldOut | None, answers: dict[str, Any] | None) -> Markup | str:
    """Draw how far predicted probabilities mean what they say, on held-out rows."""
    if held_out is None or answers is None:
        return ""
    log_proba = held_out.answered[answers["rule"]].log_proba
    return document.drawn(
        lambda: draw_reliability(log_proba, held_out.y, answers["rule"], classifier.seed_),
        "held-out-reliability",
        "Reliability of the predicted probabilities",
        "Share of right predictions on held-out rows against predicted probability.",
    )


def _by_class(classifier: BayesClassifier, held_out: HeldOut | None, answers: dict[str, Any] | None) -> Markup | str:
    """Draw how often each class comes true against its probability, on held-out rows."""
    if held_out is None or answers is None:
        return ""
    rule = answers["rule"]
    log_proba = held_out.answered[rule].log_proba
    return document.drawn(
        lambda: draw_by_class(log_proba, held_out.y, classifier.classes_, rule, classifier.seed_),
        "held-out-by-class",
        "Calibration of the probability of each class",
        "Share of held-out rows of a class against its predicted probability, one panel per class.",
    )


def _parameters(classifier: BayesClassifier) -> dict[str, Any] | None:
    """Return the table that `summary` gives, its first lines; None where the summary is refused."""
    found = _summary(classifier)
    if found is None:
        return None
    return _sortable(found.reset_index()) | {
        "odds": "reference" in found.attrs,
        "reference": str(found.attrs.get("reference", "")),
        "families": found.attrs.get("families", []),
    }


def _sortable(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the first lines of a table as the template shows them."""
    lines = frame.head(MOST_PARAMETERS).itertuples(index=False, name=None)
    return {
        "headings": [str(name).replace("_", " ") for name in frame],
        "lines": [[table.cell(value) for value in line] for line in lines],
        "all": len(frame),
    }


def _effects(classifier: BayesClassifier, X: Any, columns: Sequence[str]) -> pd.DataFrame | None:
    """Return the average effects of the first columns, of two classes on the second; None where there are none."""
    found: list[pd.DataFrame] = []
    if get_tags(classifier).input_tags.sparse:  # words and counts
        return None
    for name in columns[:MOST_EFFECTS]:
        try:
            found.append(classifier.effects(X, name).assign(column=name))
        except (InputError, Refused):  # a column of one value, and words
            continue
    if not found:
        return None
    effects = pd.concat(found)[["column", "from", "to", "outcome", "effect", "low", "high"]]
    labels = classifier.classes_
    return effects[effects["outcome"] == labels[1]] if len(labels) == 2 else effects


def _summary(classifier: BayesClassifier) -> pd.DataFrame | None:
    """Return the parameters or odds ratios; None where the summary is refused."""
    try:
        return classifier.summary()
    except (Refused, DoesNotExist):
        return None


def _shown_columns(classifier: BayesClassifier, X: Any) -> pd.DataFrame:
    """Return the columns that the classifier uses and the page shows, texts as one; of a sparse table the first."""
    used: pd.DataFrame | SparseTable = classifier.frame(X)
    if isinstance(used, pd.DataFrame):
        return used
    names = used.columns[: table.MOST_COLUMNS]
    sparse_columns: Any = pd.DataFrame.sparse  # whose constructor pandas' type hints lack
    frame: pd.DataFrame = sparse_columns.from_spmatrix(used.cells[:, : len(names)], columns=list(names))
    return frame


def headline(diagnosis: Diagnosis) -> str:
    """Summarize the checks in one sentence."""
    if not diagnosis.issues:
        return (
            f"No issue was found: {counted(len(diagnosis.passed), 'check')} passed"
            + (f", with {counted(len(diagnosis.tips), 'tip')}" if diagnosis.tips else "")
            + (f"; {counted(len(diagnosis.skipped), 'check')} could not be run." if diagnosis.skipped else ".")
        )
    named = (f"{in_sentence(finding.title)} ({finding.severity})" for finding in diagnosis.issues)
    return f"Read before you trust it: {joined(named)}."


def _subtitle(classifier: BayesClassifier, frame: Any, codes: Integers | None) -> str:
    """Say how large the table is, how frequent the classes are, and how the posterior was found."""
    sizes = [] if frame is None else [counted(len(frame), "row")]
    if count := getattr(classifier.model_, "unlabeled", 0):
        sizes.append(f"{count:,} more without a label")
    classes = counted(len(classifier.classes_), "class", "classes")
    if codes is not None:
        shares = [f"{label} {share}" for label, _, share in table.class_counts(codes, classifier.classes_)]
        classes += f": {listed(shares, MOST_CLASSES, ', …')}"
    sizes += [counted(len(classifier.columns_), "column"), classes]
    return " · ".join([*sizes, names.engine_name(classifier)])


def groups(diagnosis: Diagnosis, prefix: str = "") -> list[dict[str, Any]]:
    """Return the checks by section, empty sections left out; anchors are the codes, with a prefix."""
    found = (diagnosis.issues, diagnosis.tips, diagnosis.passed, diagnosis.not_applicable, diagnosis.skipped)
    return [
        {"title": title, "section": section, "checks": [_check(finding, prefix) for finding in findings]}
        for (section, title), findings in zip(TITLES.items(), found, strict=True)
        if findings
    ]


def _check(finding: Finding, prefix: str) -> dict[str, Any]:
    """Return what the template shows of one check: what it found, and the first rows of its evidence."""
    evidence = as_table(finding.evidence)
    lines = evidence.head(MOST_LINES).itertuples(index=False, name=None)
    return {
        "finding": finding,
        "anchor": f"{prefix}{finding.code}",
        "headings": [str(name).replace("_", " ") for name in evidence],
        "lines": [[table.cell(value) for value in line] for line in lines],
        "more": max(0, len(evidence) - MOST_LINES),
    }


def _posterior_figures(classifier: BayesClassifier) -> list[tuple[Markup | str, str]]:
    """Return the figures of the posterior, as far as it has them."""
    wanted: dict[str, Callable[..., Figure]] = {"forest": plots.posterior_forest}
    if isinstance(classifier, LogisticRegression):  # weights have a common zero, which panels of their own would hide
        wanted = {"weights": plots.posterior_weights}
    if not is_given(classifier):  # the prior of given draws is not known
        wanted["priors"] = plots.prior_posterior
    wanted |= {"trace": plots.posterior_trace, "rank": plots.posterior_rank, "energy": plots.energy}
    return _drawn({name: partial(draw, classifier) for name, draw in wanted.items()})


def _prediction_figures(classifier: BayesClassifier, X: Any, y: Any) -> list[tuple[Markup | str, str]]:
    """Return figures of what was learned about the columns, of replicated labels, and of the predictions' entropy."""
    kinds = {block.family.kind for block in getattr(classifier.model_, "blocks", ())}
    learned: dict[str, Callable[[], Figure]] = {}
    if kinds and kinds <= {"number", "category", "mixed"}:
        learned["conditionals"] = lambda: plots.class_conditionals(classifier, X, y)
    return _drawn(
        learned
        | {
            "replicated": lambda: plots.predictive_counts(classifier.predictive_check(X, y)),
            "entropy": lambda: plots.uncertainty(classifier, X),
        }
    )


def _drawn(wanted: Mapping[str, Callable[[], Figure]]) -> list[tuple[Markup | str, str]]:
    """Draw what can be drawn, and return it with its captions.

    A refusal without a sentence is left out; the sentence of several is shown once.
    """
    shown: list[tuple[Markup | str, str]] = []
    for name, draw in wanted.items():
        title, caption = CAPTIONS[name]
        content = document.drawn(draw, name, title, caption)
        caption = caption if isinstance(content, Markup) else ""
        if content and (content, caption) not in shown:
            shown.append((content, caption))
    return shown
