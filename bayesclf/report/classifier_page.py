"""The report of one fitted classifier, as a tree, and the sections that it shares with that of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesclf import plots
from bayesclf.arrays import Integers
from bayesclf.classifiers.base import CI_PROB, BayesClassifier
from bayesclf.classifiers.inputs import checked_labels
from bayesclf.classifiers.logistic import LogisticRegression
from bayesclf.diagnostics import Diagnosis, diagnose
from bayesclf.diagnostics.held_out import HeldOut
from bayesclf.engines import convergence
from bayesclf.engines.inference import MARKOV_CHAINS
from bayesclf.errors import DoesNotExist, InputError, Refused
from bayesclf.evaluation import score_table
from bayesclf.evaluation.judgments import CONFIDENCE
from bayesclf.evaluation.score_table import Key, infinite_losses, useful
from bayesclf.interpretation.dependence import may_help
from bayesclf.interpretation.summary import INTERCEPT, PER_SD, READING, Priors, categories, priors_of, together
from bayesclf.plots import style
from bayesclf.plots.calibration import draw_reliability
from bayesclf.plots.conditionals import MOST_PANELS
from bayesclf.report import document, methods, names, table
from bayesclf.report.facts import (
    MOST_CLASSES,
    decided,
    errors,
    facts,
    facts_table,
    loss_and_shares,
    no_better,
)
from bayesclf.report.tree import MOST_LINES, Beside, Figure, Findings, Items, Part, Report, Section, Table, Text
from bayesclf.report.verdict import against_shares, in_sentence, untold
from bayesclf.tables.columns import SparseTable
from bayesclf.tables.levels import class_order
from bayesclf.wording import AND_MORE, LISTED_NAMES, counted, first_upper, joined, listed, sentences

if TYPE_CHECKING:
    from matplotlib import figure

DEFINED = (
    f"± is one cautious standard error. Clear differences hold with {100 * CONFIDENCE:.0f}% confidence, and "
    "probable ones exceed one standard error."
)
"""What the words of the verdict mean."""

MOST_PRIORS = 20
"""Lines of priors that people are shown."""

MOST_EFFECTS, SCREENED = 10, 20
"""Columns whose average effects are shown, and rows on which the largest are looked for."""

MOST_WEIGHTS, MOST_RANKED = 30, 4
"""Weights, and parameters whose chains mix worst, that are drawn."""


def tree(
    classifier: BayesClassifier,
    X: Any = None,
    y: Any = None,
    command: str | None = None,
    next_command: str | None = None,
    data_name: str = "",
) -> Report:
    """Return the report of a fitted classifier; without its training rows `X`, `y` some checks are undecided."""
    diagnosis = diagnose(classifier, X, y)
    frame = None if X is None else _shown_columns(classifier, X)
    codes = None if frame is None else np.searchsorted(classifier.classes_, checked_labels(y, len(frame)))
    order = class_order(y, classifier.classes_)
    answer = _answer(classifier, diagnosis.held_out)
    priors = priors_of(classifier)
    sections = [
        Section("Verdict", _first(classifier, (X, y), frame, diagnosis, answer, order, next_command), "first"),
        Section("Checks", [checks(diagnosis)], "folded"),
        Section("Model and priors", model_and_priors(priors, classifier.classes_, order), "folded"),
        Section("Posterior", _posterior(classifier, order), "folded"),
    ]
    if frame is not None and codes is not None:
        sections.append(Section("Predictions", _predictions(classifier, X, y, list(frame.columns), order), "folded"))
        sections.append(Section("Data", data(frame, codes, classifier.classes_, order), "folded"))
    said = methods.of_classifier(classifier, codes, order, priors, diagnosis, frame, data_name)
    return Report(
        _title(classifier),
        _subtitle(classifier, frame, codes, order),
        [*sections, Section("Methods, to paste", [Text(said)], "folded")],
        document.made(
            command,
            ("Classifier", " ".join(str(classifier).split())),
            ("Inference", str(classifier.inference_)),
            ("Seed", str(classifier.seed_)),
        ),
    )


def _first(
    classifier: BayesClassifier,
    training: tuple[Any, Any],
    frame: pd.DataFrame | None,
    diagnosis: Diagnosis,
    answer: str,
    order: Sequence[int],
    next_command: str | None,
) -> list[Part]:
    """Return how good the answers are, what is wrong, and what to do about it."""
    next_step = Text(f"Next: {next_command or 'clf.predict_frame(X_new)'}", "call")
    classes, held_out = classifier.classes_, diagnosis.held_out
    checked = headline(diagnosis)
    below: list[Part] = [Findings(diagnosis.issues)] if diagnosis.issues else []
    parts: list[Part] = [Text(checked, "headline"), next_step]
    if held_out is not None and answer:
        drawn = reliability(held_out, held_out.best, "held-out-reliability", "the probabilities")
        found = facts(held_out, held_out.best, classes, order)
        numbers = facts_table(found, f"Answers to held-out rows, {held_out.setting}")
        said = f"{no_better(held_out, held_out.best, classes)} {checked}".strip()
        if not useful(held_out, held_out.best) and not infinite_losses(held_out, held_out.best)[0]:
            gain = diagnosis["Y01"]  # whose tip has looked for dependent columns
            next_step = Text(f"Next: {gain.next_step if gain.section == 'tip' else may_help([classifier], *training)}")
        parts = [Text(answer, "headline"), Text(said), next_step, Beside([numbers, drawn]), Text(DEFINED, "quiet")]
        if wrong := errors(held_out, held_out.best, classes):
            below.insert(0, Items([wrong]))
    notes = sentences(classifier.notes_ if frame is None else untold(classifier.notes_, frame))
    tips = [one for one in diagnosis.tips if not answer or one.code != "Y01"]  # which the answer says
    worth: list[Part] = [Items(notes), Findings(tips)]
    if tips or notes:
        below.append(Section("Worth knowing", worth, "box"))
    parts += below
    if held_out is not None and answer and len(classes) <= MOST_CLASSES:
        parts.append(Section("Decisions by class", [decided(held_out, held_out.best, classes, order)], "more"))
    return parts


def reliability(held_out: score_table.HeldOut, key: Key, name: str, what: str) -> Figure:
    """Return the figure of how far the probabilities of held-out rows hold."""
    caption = (
        "The line is the share of right predictions, in rising steps. Below the diagonal, probabilities are "
        f"over-confident. At each place, the band holds {100 * CI_PROB:.0f}% of the lines of calibrated models. "
        "The calibration error judges all places together. Bars count the rows."
    )
    log_proba, y = held_out.stacked(*key)
    draw = partial(draw_reliability, log_proba, y, key[1], held_out.seed, held_out.repeats)
    return Figure(draw, name, f"Reliability of {what}", caption)


def headline(diagnosis: Diagnosis) -> str:
    """Summarize the checks in one sentence."""
    if not diagnosis.issues:
        counts = [f"{len(diagnosis.passed)} passed"]
        if tips := len(diagnosis.tips):
            counts.append(f"{tips} gave {'a tip' if tips == 1 else 'tips'}")
        if diagnosis.undecided:
            codes = listed((finding.code for finding in diagnosis.undecided), LISTED_NAMES, AND_MORE)
            counts.append(f"{len(diagnosis.undecided)} could not decide ({codes})")
        return f"The checks found no issue: {joined(counts)}."
    named = (f"{in_sentence(finding.title)} ({finding.severity})" for finding in diagnosis.issues)
    return f"The checks found {counted(len(diagnosis.issues), 'issue')}: {joined(named)}."


def _answer(classifier: BayesClassifier, held_out: HeldOut | None) -> str:
    """Return how the answers to held-out rows compare with the class shares; empty where no rule could answer."""
    if held_out is None or not held_out.answered:
        return ""
    key = held_out.best
    name = f"{first_upper(names.kind_name(classifier))}, {names.HOW[key[1]]} ({key[1]}),"
    if infinite := infinite_losses(held_out, key)[0]:
        held = counted(infinite, "held-out row")
        return f"{name} gave the true class of {held} the probability 0, so its log loss is infinite."
    return (
        f"{name} is {against_shares(held_out, key)} always predicting the class shares: its log loss on held-out rows "
        f"is {loss_and_shares(held_out, key)}."
    )


def checks(diagnosis: Diagnosis) -> Table:
    """Return the table of all checks: what each found, or why it was not run."""
    found = diagnosis.table[["code", "title", "section", "reason"]]
    found = found.rename(columns={"section": "result", "reason": "found"})
    shown = found[["result", "found"]].copy()
    shown.insert(0, "check", found["code"] + " " + found["title"])
    caption = "Codes begin with P for checks of the posterior, M of the model, and Y of predictions"
    return Table(found, shown, caption)


def model_and_priors(priors: Priors, classes: NDArray[Any], order: Sequence[int]) -> list[Part]:
    """Return what was assumed before any row was seen."""
    words = [line.words for line in together(priors.lines)]
    lines = pd.DataFrame(words, columns=["parameter", "outcome", "feature", "prior"])
    lines = table.in_order(lines[["parameter", "feature", "outcome", "prior"]], classes, order)
    of = [", ".join(filter(None, pair)) for pair in zip(lines["outcome"], lines["feature"], strict=True)]
    shown = lines[["parameter", "prior"]].assign(of=of)
    return [Items(priors.model), Table(priors.table, shown, most=MOST_PRIORS), Text(READING, "quiet")]


def data(
    frame: pd.DataFrame, y: Integers, classes: NDArray[Any], order: Sequence[int], read: Sequence[str] = ()
) -> list[Part]:
    """Return how many rows each class has, what was decided while the table was read, and what the columns hold."""
    counts = pd.DataFrame(table.class_counts(y, classes, order), columns=["class", "rows", "share"])
    return [Table(counts), Items(sentences(read)), Table(table.column_summaries(frame))]


def _posterior(classifier: BayesClassifier, order: Sequence[int]) -> list[Part]:
    """Return the parameters, as `summary` gives them, the weights of logistic regression, and ranks of chains."""
    try:
        found = classifier.summary(of="odds_per_sd" if isinstance(classifier, LogisticRegression) else None)
    except (Refused, DoesNotExist) as reason:
        return [Text(f"{first_upper(str(reason))}.", "quiet")]
    families = found.attrs.get("families", [])
    parts: list[Part] = [Text(f"Families by evidence: {joined(families)}.")] if families else []
    limits = f"low and high are the limits of {100 * CI_PROB:.0f}% credible intervals"
    if isinstance(classifier, LogisticRegression):
        lines = _largest_first(classifier, found)
        parts += _odds(classifier, lines, str(found.attrs["reference"]), order, limits)
    else:
        lines = table.in_order(_parameters(found), classifier.classes_, order)
        pairs = lines["feature"].astype(str).map(lambda name: tuple(sorted(name.split(", "))))
        mirrored = lines["parameter"].str.startswith("Sigma") & lines.assign(feature=pairs).duplicated()
        lines = lines[~mirrored]  # a covariance is there once
        T = "; T multiplies the log-likelihood of the columns" * ("T" in lines["parameter"].to_numpy())
        most = "; those that differ most between the classes come first" * (len(lines) > MOST_LINES)
        parts.append(Table(lines, caption=first_upper(f"{limits}{T}{most}") if "low" in lines else ""))
    if classifier.draws_ is None:
        return [*parts, Text(f"{first_upper(found.attrs['no_intervals'])}.", "quiet")]
    if isinstance(classifier, LogisticRegression):
        caption = "Log-odds per standard deviation of a column or per level, with posterior intervals."
        features = [feature for feature in lines["feature"].unique() if feature != INTERCEPT]
        if len(features) > MOST_WEIGHTS:
            caption = f"{caption} The {MOST_WEIGHTS} largest weights are shown."
        drawn = partial(_weights, classifier, features[:MOST_WEIGHTS], order)
        parts.append(Figure(drawn, "weights", "Posterior of logistic weights", caption))
    if isinstance(classifier.inference_, MARKOV_CHAINS):
        caption = "Bars stay within the band where the chains agree. These parameters mix worst."
        parts.append(Figure(partial(_ranks, classifier), "ranks", "Ranks of each chain's draws among all", caption))
    return parts


def _parameters(found: pd.DataFrame) -> pd.DataFrame:
    """Return a summary with the classes of each feature together, of many those first whose classes differ most."""
    lines = found.reset_index()
    lines.insert(1, "feature", lines.pop("feature"))
    by = lines.groupby(["parameter", "feature"], sort=False)
    spread = pd.Series(0.0, lines.index)
    if len(lines) > MOST_LINES and "sd" in lines:
        spread = (by["mean"].transform("max") - by["mean"].transform("min")) / by["sd"].transform("max")
    keys = by.ngroup().to_numpy(), -spread.fillna(0).to_numpy(), pd.factorize(lines["parameter"])[0]
    return lines.iloc[np.lexsort(keys)]


def _largest_first(classifier: LogisticRegression, found: pd.DataFrame) -> pd.DataFrame:
    """Return odds ratios in common units, the largest first; of two levels, which mirror each other, the second."""
    design: Any = classifier.model_.design  # type: ignore[attr-defined]
    found = found.drop([levels[0] for levels in categories(design) if len(levels) == 2], level="feature")
    by = np.log(found[PER_SD["odds_ratio"]]).abs().groupby("feature", sort=False)
    size = by.transform("max").where(found.index.get_level_values("feature") != INTERCEPT, np.inf)
    return found.reset_index().iloc[np.lexsort([by.ngroup().to_numpy(), -size.to_numpy()])]


def _odds(
    classifier: LogisticRegression, lines: pd.DataFrame, reference: str, order: Sequence[int], limits: str
) -> list[Part]:
    """Return the table of odds ratios, and what they are."""
    labels = classifier.classes_
    odds, low, high = PER_SD.values()
    of = f"{'each class' if len(labels) > 2 else labels[1]} against {reference}"
    said = (
        f"One standard deviation more of a number multiplies the odds of {of} by its odds ratio; clf.summary() "
        "has ratios per unit. (intercept) is the odds at the means. A level is compared with the mean of all levels, "
        "and of two levels the second is shown. The largest come first."
    )
    if classifier.draws_ is not None:
        said = f"{said} {first_upper(limits)}, and p positive is the probability of a ratio above 1."
    lines = lines.drop(columns=["coefficient_per_sd", "sd", "low", "high"], errors="ignore")
    lines = table.in_order(lines.rename(columns={odds: "odds ratio", low: "low", high: "high"}), labels, order)
    lines.insert(0, "feature", lines.pop("feature"))
    return [Text(said), Table(lines if len(labels) > 2 else lines.drop(columns="outcome"))]


def _weights(classifier: LogisticRegression, features: Sequence[str], order: Sequence[int]) -> figure.Figure:
    """Draw the posterior of the weights of features in common units, by ArviZ."""
    import arviz_plots as azp
    import xarray as xr

    design: Any = classifier.model_.design  # type: ignore[attr-defined]
    scale = xr.DataArray(design.scale, dims="feature", coords={"feature": list(design.names)})
    weight = classifier.posterior_draws()["weight"] * scale
    weight = weight.isel(feature=[design.names.index(feature) for feature in features])
    labels = [str(label) for label in classifier.classes_[list(order)]]
    weight = weight.sel(outcome=[label for label in labels if label in weight["outcome"]])
    several = weight.sizes["outcome"] > 1
    lines = weight.stack(weight=("feature", "outcome"))
    names = [f"{style.plain(of)}{f', {style.plain(label)}' * several}" for of, label in lines["weight"].values]
    lines = lines.drop_vars(("weight", "feature", "outcome")).assign_coords(weight=names)
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"log_odds": lines})})
    color = {"color": style.look_of("bayes-optimal").color}
    drawn = azp.plot_forest(
        tree,
        combined=True,
        labels=["weight"],  # one label a line: those of classes would overlap those of features
        visuals={"trunk": color, "twig": color, "point_estimate": color},
        figure_kwargs={"figsize": (7.0, 1.0 + 0.22 * len(names))},
        backend="matplotlib",
    )
    return _of_arviz(drawn)


def _ranks(classifier: BayesClassifier) -> figure.Figure:
    """Draw the ranks of the chains for the parameters that mix worst, by ArviZ."""
    import arviz_plots as azp
    import xarray as xr
    from arviz_base.labels import MapLabeller

    found = convergence.scalars(classifier.posterior_draws())
    if not found.names:
        raise Refused("no parameter varies")
    worst = np.argsort(-convergence.rhat(found).values, kind="stable")[:MOST_RANKED]
    draws = xr.Dataset({f"p{i}": (("chain", "draw"), found.draws[i]) for i in worst})
    names: dict[Any, Any] = {f"p{i}": style.plain(found.names[i]) for i in worst}
    drawn = azp.plot_rank(
        xr.DataTree.from_dict({"posterior": draws}),
        labeller=MapLabeller(var_name_map=names),
        col_wrap=2,
        figure_kwargs={"figsize": (7.2, 4.0)},
        backend="matplotlib",
    )
    return _of_arviz(drawn)


def _of_arviz(drawn: Any) -> figure.Figure:
    """Return the figure that ArviZ drew, with room for titles."""
    made: figure.Figure = drawn.viz["figure"].item()
    made.set_layout_engine("constrained")
    return made


def _predictions(
    classifier: BayesClassifier, X: Any, y: Any, columns: Sequence[str], order: Sequence[int]
) -> list[Part]:
    """Return average effects of columns, and what was learned about each column given the class."""
    parts: list[Part] = []
    largest = largest_effects(classifier, X, columns)
    found = average_effects(classifier, X, largest, order)
    if found is not None:
        first = "the first " * (len(columns) > table.MOST_COLUMNS)
        of = f"{first}{min(len(columns), table.MOST_COLUMNS)} columns"
        rest = f"the {len(largest)} of {of} with the largest effect on {SCREENED} rows"
        some = f" The table has {rest}; clf.effects(X, column) has any." if len(columns) > len(largest) else ""
        means = f": posterior means and {100 * CI_PROB:.0f}% intervals" * (classifier.draws_ is not None)
        caption = (
            f"Change of P(outcome), on average over the rows, when a column goes from one value to another{means}. "
            f"The changes are of predictions, not effects of an intervention.{some}"
        )
        changes = found.columns.drop(["column", "from", "to", "outcome"])
        shown = found.assign(**{name: found[name].map(lambda change: float(f"{change:.2g}")) for name in changes})
        parts.append(Table(found, shown, caption))
    kinds = {block.family.kind for block in getattr(classifier.model_, "blocks", ())}
    if kinds and kinds <= {"number", "category", "mixed"}:
        telling = None if found is None else list(found["column"].unique()[:MOST_PANELS])
        drawn = partial(plots.class_conditionals, classifier, X, y, telling)
        caption = (
            f"{'Columns' if found is None else 'The columns with the largest changes'}: their distribution within each "
            "class, learned (lines, points and bands) and observed. "
            "At a dashed line, the class that the column alone predicts changes; a level has its color."
        )
        parts.append(Figure(drawn, "conditionals", "Columns given the class, as learned and as observed", caption))
    return parts


def largest_effects(classifier: BayesClassifier, X: Any, columns: Sequence[str]) -> list[str]:
    """Return all of few columns, or those with the largest effects on some rows, the largest first."""
    if len(columns) <= MOST_EFFECTS or not isinstance(frame := classifier.frame(X), pd.DataFrame):
        return list(columns[:MOST_EFFECTS])
    some = frame.iloc[np.unique(np.linspace(0, len(frame) - 1, SCREENED).astype(int))]
    size = dict.fromkeys(columns[: table.MOST_COLUMNS], 0.0)
    for name in size:
        with suppress(InputError, Refused):
            size[name] = float(classifier.effects(some, name)["effect"].abs().max())
    return sorted(size, key=size.__getitem__, reverse=True)[:MOST_EFFECTS]


def average_effects(
    classifier: BayesClassifier, X: Any, columns: Sequence[str], order: Sequence[int]
) -> pd.DataFrame | None:
    """Return the average effects of columns, the largest first, of two classes on the second; None without any."""
    found: list[pd.DataFrame] = []
    for name in columns:
        try:
            found.append(classifier.effects(X, name).assign(column=name))
        except (InputError, Refused):  # a column of one value, and words and counts
            continue
    if not found:
        return None
    found.sort(key=lambda own: -own["effect"].abs().max())
    effects = pd.concat(found)[["column", "from", "to", "outcome", "effect", "low", "high"]].dropna(axis=1)
    effects, labels = effects.rename(columns={"effect": "change of P(outcome)"}), classifier.classes_
    effects = table.in_order(effects, labels, order)
    return effects[effects["outcome"] == labels[order[1]]] if len(labels) == 2 else effects


def _shown_columns(classifier: BayesClassifier, X: Any) -> pd.DataFrame:
    """Return the columns that the classifier uses and the page shows, texts as one; of a sparse table the first."""
    used: pd.DataFrame | SparseTable = classifier.frame(X)
    if isinstance(used, pd.DataFrame):
        return used
    names = used.columns[: table.MOST_COLUMNS]
    sparse_columns: Any = pd.DataFrame.sparse  # whose constructor pandas' type hints lack
    frame: pd.DataFrame = sparse_columns.from_spmatrix(used.cells[:, : len(names)], columns=list(names))
    return frame


def _title(classifier: BayesClassifier) -> str:
    """Say what is predicted, and by which model."""
    kind = first_upper(names.kind_name(classifier))
    return f"{kind}, predicting {classifier.target_name_}" if classifier.target_name_ else kind


def _subtitle(classifier: BayesClassifier, frame: Any, codes: Integers | None, order: Sequence[int]) -> str:
    """Say how large the table is, how frequent the classes are, and how the posterior was found."""
    sizes = [] if frame is None else [counted(len(frame), "row")]
    if count := getattr(classifier.model_, "unlabeled", 0):
        sizes.append(f"{count:,} more without a label")
    classes = counted(len(classifier.classes_), "class", "classes")
    if codes is not None:
        shares = [f"{label} {share}" for label, _, share in table.class_counts(codes, classifier.classes_, order)]
        classes += f": {listed(shares, MOST_CLASSES, ', …')}"
    sizes += [counted(len(classifier.columns_), "column"), classes]
    return " · ".join([*sizes, names.engine_name(classifier)])
