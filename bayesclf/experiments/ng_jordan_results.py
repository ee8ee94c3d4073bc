"""What the curves of `ng_jordan` say: one sentence and one panel a problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from bayesclf.experiments.crossing import Crossing
from bayesclf.experiments.experiment import Figure, Results, Section
from bayesclf.experiments.ng_jordan import block_means, crossings, summarise
from bayesclf.wording import number, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure as MatplotlibFigure

CLEAR = 0.05
"""Chance, over all sizes that are looked at, by which a level pair of curves may be called apart."""

COLUMNS = 3
"""Panels side by side."""

CLAIM = (
    "The paper's claim: naive Bayes is ahead with few rows, and logistic regression overtakes it, or draws level, as "
    "rows are added; where it does not, the data set is small. Few rows are here the smaller half of the sizes."
)


@dataclass(frozen=True)
class Judgement:
    """One problem under one rule.

    Attributes
    ----------
    problem
        Its name.
    ahead_first
        Whether naive Bayes is clearly ahead at one of the smaller sizes, before the crossing.
    behind_last
        Whether logistic regression is clearly behind at the largest size.
    crossing
        From where it stays ahead.
    sentence
        All that in words.
    """

    problem: str
    ahead_first: bool
    behind_last: bool
    crossing: Crossing
    sentence: str

    @property
    def agrees(self) -> bool:
        """Whether both halves of the claim hold."""
        return self.ahead_first and not self.behind_last


def results(settings: Any, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Return the results page of the experiment."""
    found = crossings(records, settings.seed)
    shared = summarise(settings, with_every_rule(records))
    problems = [str(problem) for problem in dict.fromkeys(table["problem"])]
    judged = [
        judge(problem, records, found[problem, "map"], settings.largest)
        for problem in problems
        if (problem, "map") in found
    ]
    agree = [judgement.problem for judgement in judged if judgement.agrees]
    never = [judgement.problem for judgement in judged if np.isinf(judgement.crossing.m)]
    headline = (
        f"Under map, {len(agree)} of {len(judged)} problems agree with the paper's claim: naive Bayes clearly ahead "
        "with few rows, logistic regression ahead or level with many."
    )
    findings = [CLAIM]
    if never:
        findings.append(f"Logistic regression is not ahead at the largest size of {', '.join(never)}.")
    findings += averaging(shared)
    pairing = (
        f"Pairing: numbers by Gaussian naive Bayes with variance={settings.variance!r}, categories by Dirichlet(2) "
        "(Laplace's rule), both with logistic regression whose weights have the prior sd "
        f"{settings.prior_scale:g} per sd of a column; the same splits and nested training sets for all, of which one "
        "row of each class comes first. Rules that need a posterior take every other size, and the largest."
    )
    return Results(
        headline,
        tuple(findings),
        CAUTIONS,
        (
            Section("Error against training rows", (pairing,), curve_figures(table, shared, problems, "error"), None),
            Section("Problem by problem", tuple(judgement.sentence for judgement in judged)),
            Section("Log loss and calibration", LOSS_TEXT, loss_figures(table, shared, problems)),
            Section("Separable splits", SEPARABLE_TEXT, separable_figures(table)),
            Section("Where the curves cross", CROSSING_TEXT, (), crossing_table(found)),
        ),
    )


CAUTIONS = (
    "The paper does not say which rows, columns and classes it took, nor how its logistic regression was regularised; "
    "curves are comparable in shape, not in the third digit.",
    "Splits of one data set share its rows: the bands say how well the mean over splits of this data set is known, not "
    "what another sample of the same population would show.",
)

LOSS_TEXT = (
    "Means over the splits whose log loss is finite; `infinite` in the table counts the others. Over-confidence is the "
    "mean probability of the predicted class minus accuracy: above 0 the classifier promises more than it gives.",
)

SEPARABLE_TEXT = (
    "Where the training rows are linearly separable, completely or not, the maximum likelihood estimate of logistic "
    "regression does not exist; its curve under mle is over the other splits.",
)

CROSSING_TEXT = (
    "Training rows from which logistic regression stays ahead in error, interpolated in log m, with 5 % and 95 % of a "
    "bootstrap over blocks of splits; infinite where it is not ahead at the largest size. Where rules that need a "
    "posterior have fewer splits, their intervals are wider; from one block of splits there is none.",
)


def paired(records: pd.DataFrame, problem: str, rule: str) -> pd.DataFrame:
    """Return error(nb) − error(lr) by size: columns `nb`, `lr`, `difference` and its standard error `se`."""
    import pandas as pd

    wide = block_means(records[(records["problem"] == problem) & (records["rule"] == rule)])
    difference = wide["nb"] - wide["lr"]
    error = difference.std(ddof=1) / np.sqrt(difference.count())
    columns = {"nb": wide["nb"].mean(), "lr": wide["lr"].mean(), "difference": difference.mean(), "se": error}
    return pd.DataFrame(columns)


def judge(problem: str, records: pd.DataFrame, crossing: Crossing, largest: int) -> Judgement:
    """Compare one problem with the claim, under map; `largest` is the size that no training set exceeds."""
    curve = paired(records, problem, "map")
    z = (curve["difference"] / curve["se"].where(curve["se"] > 0)).fillna(0.0)
    few = (np.arange(len(curve)) < (len(curve) + 1) // 2) & (curve.index < crossing.m)
    ahead = bool((z[few] < -_clear(int(few.sum()))).any())
    behind = bool(z.iloc[-1] < -_clear(1))
    first, last = curve.index[0], curve.index[-1]
    sizes = (
        f"with {first} rows naive Bayes errs in {percent(curve['nb'].iloc[0])} and logistic regression in "
        f"{percent(curve['lr'].iloc[0])}, with {last} in {percent(curve['nb'].iloc[-1])} and "
        f"{percent(curve['lr'].iloc[-1])}"
    )
    if np.isinf(crossing.m):
        where = "logistic regression is not ahead at the largest size"
    elif crossing.m <= first:
        where = "logistic regression is ahead from the smallest size on"
    else:
        where = (
            f"logistic regression stays ahead from {crossing.m:.0f} rows on "
            f"({number(crossing.low, 0)} to {number(crossing.high, 0)})"
        )
    small = ", which the paper expects of small data sets" if last < largest else ""
    verdict = {
        (True, False): "as the paper has it",
        (True, True): f"naive Bayes is clearly ahead at the largest size too{small}",
        (False, False): "unlike the paper's claim, naive Bayes has no clear lead with few rows",
        (False, True): f"naive Bayes has no clear lead with few rows, but has one at the largest size{small}",
    }[ahead, behind]
    return Judgement(problem, ahead, behind, crossing, f"{problem}: {sizes}; {where}: {verdict}.")


def _clear(sizes: int) -> float:
    """Return from how many standard errors on a difference is clear, where the best of so many sizes is taken."""
    return float(stats.norm.isf(CLEAR / (2 * max(sizes, 1))))


def averaging(table: pd.DataFrame) -> list[str]:
    """Say what averaging does to log loss, over all problems and the sizes and splits at which every rule was run."""
    sentences = []
    for model, name in (("nb", "naive Bayes"), ("lr", "logistic regression")):
        own = table[(table["model"] == model) & (table["infinite"] == 0)]
        wide = own.pivot_table(index=["problem", "m"], columns="rule", values="log_loss")
        if not {"map", "mean", "bayes-optimal"} <= set(wide.columns):
            continue
        wide = wide.dropna(subset=["map", "mean", "bayes-optimal"])
        share = percent(float((wide["bayes-optimal"] < wide["map"]).mean()))
        smoothing = float((wide["map"] - wide["mean"]).mean())
        averaging = float((wide["mean"] - wide["bayes-optimal"]).mean())
        sentences.append(
            f"{name[0].upper()}{name[1:]}: bayes-optimal has the smaller log loss than map at {share} of the "
            f"{len(wide)} points of the curves, by {number(smoothing + averaging)} in the mean: {number(smoothing)} "
            f"from smoothing (map to mean) and {number(averaging)} from averaging (mean to bayes-optimal)."
        )
    return sentences


def with_every_rule(records: pd.DataFrame) -> pd.DataFrame:
    """Return the records of the splits that were answered under every rule, all of them if none was."""
    averaged = records.loc[records["rule"] == "bayes-optimal", "block"].unique()
    return records[records["block"].isin(averaged)] if len(averaged) else records


def curve_figures(table: pd.DataFrame, shared: pd.DataFrame, problems: list[str], metric: str) -> tuple[Figure, ...]:
    """Return the curves of one metric: both models under map, then each model under every rule that it answered.

    The latter are over the same splits for all rules, those of the table `shared`.
    """
    both = table[table["rule"] == "map"]
    label = metric.replace("_", " ").replace("overconfidence", "over-confidence")
    shown = [
        Figure(
            f"{metric}-map",
            f"Test {label} of naive Bayes and logistic regression under map",
            "One panel a problem, training rows on a log axis, bands of one standard error.",
            lambda: panels(both, problems, metric, label),
            "Solid: naive Bayes. Dashed: logistic regression. Bands are one standard error of the mean over splits.",
        )
    ]
    for model, name in (("nb", "naive Bayes"), ("lr", "logistic regression")):
        own = shared[(shared["model"] == model) & shared["rule"].isin(_common_rules(shared, model))]
        if own["rule"].nunique() > 1:
            shown.append(
                Figure(
                    f"{metric}-{model}",
                    f"Test {label} of {name} under every rule",
                    "One panel a problem, training rows on a log axis, one curve a rule.",
                    lambda own=own: panels(own, problems, metric, label),  # type: ignore[misc]
                    f"{name[0].upper()}{name[1:]} under every rule, on the same splits.",
                )
            )
    return tuple(shown)


def _common_rules(table: pd.DataFrame, model: str) -> list[str]:
    """Return the rules of a model that answered in every split of some size."""
    own = table[(table["model"] == model) & (table["undefined"] == 0)]
    return list(dict.fromkeys(own["rule"]))


def loss_figures(table: pd.DataFrame, shared: pd.DataFrame, problems: list[str]) -> tuple[Figure, ...]:
    """Return the curves of log loss and of over-confidence."""
    both = (curve_figures(table, shared, problems, metric) for metric in ("log_loss", "overconfidence"))
    return tuple(figure for figures in both for figure in figures)


def panels(table: pd.DataFrame, problems: list[str], metric: str, label: str) -> MatplotlibFigure:
    """Return one panel a problem, and the names of the curves above them."""
    import matplotlib.pyplot as plt

    from bayesclf.plots import learning_curve

    rows = -(-len(problems) // COLUMNS)
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(9.6, 2.35 * rows + 0.5), layout="constrained", squeeze=False)
    plt.close(figure)
    for ax, problem in zip(axes.flat, problems, strict=False):
        own = table[table["problem"] == problem].assign(
            mean=lambda lines: lines[metric], se=lambda lines: lines[f"{metric}_se"]
        )
        own = own[np.isfinite(own["mean"])].replace({"model": {"nb": "naive Bayes", "lr": "logistic regression"}})
        if own.empty:
            ax.set_axis_off()
            continue
        learning_curve(own, ylabel=label, xlabel="", labels=False, ax=ax)
        ax.set_title(problem, loc="left")
    for ax in axes.flat[len(problems) :]:
        ax.set_axis_off()
    handles = {text: handle for ax in axes.flat for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside upper left", ncols=len(handles), frameon=False)
    return figure


def separable_figures(table: pd.DataFrame) -> tuple[Figure, ...]:
    """Return the share of splits without a maximum likelihood estimate of logistic regression, by problem."""
    shares = table[(table["model"] == "lr") & (table["rule"] == "mle")]

    def draw() -> MatplotlibFigure:
        import matplotlib.pyplot as plt

        from bayesclf.plots import learning_curve

        figure, ax = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
        plt.close(figure)
        tidy = shares[["problem", "m", "undefined"]].rename(columns={"problem": "model", "undefined": "mean"})
        return learning_curve(tidy.assign(rule="mle"), ylabel="share of separable splits", ax=ax)

    if shares.empty:
        return ()
    text = "One curve a problem: the share of splits whose training rows are linearly separable."
    return (Figure("separable", "Share of separable splits against training rows", text, draw),)


def crossing_table(found: dict[tuple[str, str], Crossing]) -> pd.DataFrame:
    """Return the crossings, one line a problem and rule."""
    import pandas as pd

    lines = [
        {"problem": problem, "rule": rule, "m": where.m, "5 %": where.low, "95 %": where.high}
        for (problem, rule), where in found.items()
        if rule != "mle"
    ]
    return pd.DataFrame(lines)
