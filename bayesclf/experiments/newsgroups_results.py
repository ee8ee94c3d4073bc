"""What the scores of `newsgroups` say: the two splits, the learning curve, and the words of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayesclf.experiments.experiment import Figure, Results, Section
from bayesclf.wording import counted, number, pair, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MatplotlibFigure

PUBLISHED = 0.89
"""Accuracy of Mitchell 1997 §6.10.1 on the original collection, two thirds for training."""

COLUMNS = 4
"""Panels of words side by side."""

NAMES = {"by-date": "the split by date", "original": "the original collection"}

CAUTIONS = (
    "Headers are in: they name the sender, the machine and often the group itself, so that accuracy is not that of "
    "recognising a topic from what people wrote, and addresses are among the most telling words.",
    "The original collection has messages that were posted to several groups, and random splits put answers beside the "
    "messages that they quote, which makes it easier than a split by date of the same size.",
    "Random splits share messages: standard errors over them say how well the mean over splits of this collection is "
    "known; that of another collection of the same kind is larger.",
    "Words of a message are not independent given its group. Averaging over the posterior does not repair the "
    "over-confidence that comes from it, and intervals of words are narrower than they should be, as one author or "
    "one thread repeats its words.",
)

RULES_TEXT = (
    "Log loss in nats a message. “More accurate” is the accuracy beyond that of map, paired by message or split; "
    "standard errors are over the test messages where there is one split, else over the splits. Over-confidence is "
    "mean P(predicted group) minus accuracy. gibbs is in expectation over the drawn hypothesis."
)

WORDS_TEXT = (
    "What one occurrence of a word adds to the log-odds of a group against one of the others, each as likely: "
    "log θ of the group minus the log of the mean θ of the others, in nats.",
    "Words are in the order of the lower ends of their intervals, so that no word comes first that occurred a few "
    "times only.",
)


def results(settings: Any, table: pd.DataFrame) -> Results:
    """Return the results page of the experiment."""
    scored, told = table[table["part"] != "words"], table[table["part"] == "words"]
    final = scored[scored["m"] == scored.groupby("part")["m"].transform("max")]
    parts = [str(part) for part in dict.fromkeys(final["part"])]
    headline = " and ".join(_sorts(final[final["part"] == part], NAMES[part]) for part in parts)
    findings = [_compared(final[final["part"] == part], NAMES[part]) for part in parts]
    findings += [_sure(final[final["part"] == part], NAMES[part]) for part in parts]
    curve = scored[scored["part"] == "original"]
    if "original" in parts and not (settings.groups or settings.documents):
        findings.append(
            f"Mitchell 1997 reports {percent(PUBLISHED)} on the original collection; map reaches "
            f"{_accuracy(_line(final[final['part'] == 'original'], 'map'))} here."
        )
    if curve["m"].nunique() > 1:
        findings.append(_growth(curve))
    sections = [Section("Every rule", (_prior_text(settings), RULES_TEXT), (), _scores_table(final))]
    if curve["m"].nunique() > 1:
        sections.append(Section("Learning curves", (_curve_text(curve),), _curves(curve)))
    if not told.empty:
        sections.append(Section("Words that speak for a group", WORDS_TEXT, (_words_figure(told),)))
    return Results(f"Naive Bayes sorts {headline}.", tuple(findings), CAUTIONS, tuple(sections))


def _line(table: pd.DataFrame, rule: str) -> Any:
    return table[table["rule"] == rule].iloc[0]


def _accuracy(line: Any) -> str:
    return percent(line["accuracy"], line["accuracy_se"])


def _sorts(final: pd.DataFrame, name: str) -> str:
    """Return the accuracy of map, and how far the best rule is ahead of it."""
    best = max(final.to_dict("records"), key=lambda line: line["accuracy"])
    words = f"{_accuracy(_line(final, 'map'))} of {name} right under map"
    if best["rule"] == "map":
        return f"{words}, which no other rule exceeds"
    return f"{words} ({best['rule']} {_accuracy(best)})"


def _compared(final: pd.DataFrame, name: str) -> str:
    """Return the accuracy of the rules beyond that of map, in percentage points."""
    others = [line for line in final.to_dict("records") if line["rule"] != "map"]
    words = ", ".join(
        f"{line['rule']} {pair(100 * line['more_accurate'], 100 * line['more_accurate_se'], 2)}" for line in others
    )
    return f"On {name}, accuracy beyond that of map, in percentage points: {words}."


def _sure(final: pd.DataFrame, name: str) -> str:
    """Return log loss and over-confidence of each rule."""
    words = []
    for line in final.to_dict("records"):
        sure = f" (over-confident by {percent(line['overconfidence'])})" if line["rule"] != "gibbs" else ""
        words.append(f"{line['rule']} {number(line['log_loss'], 2)}{sure}")
    return f"On {name}, log loss in nats a message: {', '.join(words)}."


def _growth(curve: pd.DataFrame) -> str:
    """Return accuracy at both ends of the learning curve."""
    first, last = (curve[curve["m"] == size] for size in (curve["m"].min(), curve["m"].max()))
    words = [
        f"{rule} from {percent(_line(first, rule)['accuracy'])} to {percent(_line(last, rule)['accuracy'])}"
        for rule in dict.fromkeys(curve["rule"])
    ]
    return (
        f"From {counted(int(first['m'].iloc[0]), 'training document')} to {int(last['m'].iloc[0]):,}, accuracy goes: "
        f"{', '.join(words)}."
    )


def _prior_text(settings: Any) -> str:
    return (
        "Multinomial naive Bayes with θ ~ Dirichlet(2) in each group (map is Laplace's rule), the "
        f"{settings.class_prior} class prior, exact inference; bayes-optimal and gibbs over "
        f"{counted(settings.draws, 'draw')} of the posterior: the log loss of bayes-optimal falls with their number."
    )


def _curve_text(curve: pd.DataFrame) -> str:
    splits = counted(int(curve["repeats"].iloc[0]), "random split")
    return (
        f"Nested training sets of the original collection, {splits} into "
        "two thirds and one; at each size, words are those of its own training documents, without the 100 most "
        "frequent ones and those that occur under 3 times. One document of each group comes first."
    )


def _scores_table(final: pd.DataFrame) -> pd.DataFrame:
    """Return the scores at the largest size, one line a collection and rule."""
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "collection": NAMES[line["part"]].removeprefix("the "),
                "training": int(line["m"]),
                "test": int(line["test"]),
                "words": f"{line['vocabulary']:,.0f}",
                "rule": line["rule"],
                "accuracy": _accuracy(line),
                "more accurate": percent(line["more_accurate"], line["more_accurate_se"]),
                "log loss": pair(line["log_loss"], line["log_loss_se"], 2),
                "over-confidence": "" if line["rule"] == "gibbs" else percent(line["overconfidence"]),
            }
            for line in final.to_dict("records")
        ]
    )


def _curves(curve: pd.DataFrame) -> tuple[Figure, ...]:
    """Return accuracy and log loss against training documents."""
    labels = {"accuracy": "accuracy", "log_loss": "log loss"}
    return tuple(
        Figure(
            metric.replace("_", "-"),
            f"Test {label} against the number of training documents",
            "One curve a rule, training documents on a log axis.",
            lambda metric=metric, label=label: _curve(curve, metric, label),  # type: ignore[misc]
            "Bands are one standard error over splits." if curve["repeats"].min() > 1 else "",
        )
        for metric, label in labels.items()
    )


def _curve(curve: pd.DataFrame, metric: str, label: str) -> MatplotlibFigure:
    from bayesclf.plots import learning_curve

    tidy = curve[["m", "rule"]].assign(model="nb", mean=curve[metric], se=curve[f"{metric}_se"])
    return learning_curve(tidy, ylabel=f"test {label}", xlabel="training documents")


def _words_figure(told: pd.DataFrame) -> Figure:
    return Figure(
        "words",
        "Words that speak most for each group, with their log-odds",
        "One panel a group, one line a word, with the mean and interval of its log-odds against the other groups.",
        lambda: words(told),
        "Posterior means and 89 % intervals of log-odds, in nats, on one scale.",
    )


def words(told: pd.DataFrame) -> MatplotlibFigure:
    """Return one panel a group, with an interval a word."""
    import matplotlib.pyplot as plt

    groups = list(dict.fromkeys(told["group"]))
    width = min(COLUMNS, len(groups))
    height = -(-len(groups) // width)
    size = (2.9 * width, (0.5 + 0.19 * told["rank"].max()) * height + 0.3)
    figure, axes = plt.subplots(height, width, figsize=size, sharex=True, layout="constrained", squeeze=False)
    plt.close(figure)
    for ax, group in zip(axes.flat, groups, strict=False):
        _group(ax, told[told["group"] == group])
        ax.set_title(group, loc="left", fontsize="small", fontweight="bold")
    for ax in axes.flat[len(groups) :]:
        ax.set_axis_off()
    figure.supxlabel("log-odds of the group at one occurrence, in nats", fontsize="small")
    return figure


def _group(ax: Axes, told: pd.DataFrame) -> None:
    """Draw the words of one group."""
    from bayesclf.plots import style

    places = range(len(told))
    color = style.RULE_STYLE["bayes-optimal"].color
    ax.hlines(places, told["low"], told["high"], color=color, linewidth=1.6)
    ax.plot(told["log_odds"], places, "o", color=color, markersize=3.5)
    ax.set_yticks(places, [style.plain(word, 16) for word in told["word"]], fontsize="x-small")
    ax.set_ylim(len(told) - 0.4, -0.6)
    ax.tick_params(axis="x", labelsize="x-small")
    style.quiet(ax, "x")
