"""Multinomial naive Bayes on 20 Newsgroups under every rule: by date, and as Mitchell did it, on growing sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bayesclf import rules
from bayesclf.classifiers import MultinomialNB
from bayesclf.errors import InputError
from bayesclf.evaluation import scores
from bayesclf.experiments import messages
from bayesclf.experiments.curves import grid
from bayesclf.experiments.experiment import Axes, Drawing, Figure, Record, Results, Section, Unit, option
from bayesclf.experiments.informative_words import informative_words
from bayesclf.experiments.messages import COLLECTIONS, Messages
from bayesclf.inference import Exact
from bayesclf.plots import learning_curve, style
from bayesclf.posterior import averaging
from bayesclf.typing import Array
from bayesclf.wording import counted, number, pair, percent

NAME = "newsgroups"

QUESTION = "How well does each rule sort the 20 Newsgroups, and which words are evidence for which group?"

BACKGROUND = (
    "20 Newsgroups are some 20,000 messages, a thousand from each of 20 discussion groups of the early 1990s. "
    "Mitchell (Machine Learning, 1997, section 6.10) takes them as the example of naive Bayes for text: given a "
    "message, from which group is it? He reports 89 % of messages right, with Laplace's rule and two thirds of the "
    "messages for training.",
    "A group is described by the probability of each word in it, and the words of a message count as independent "
    "draws. Here the same model is learned from the raw messages, and answers under five rules: by the most "
    "probable parameters (map), by their posterior mean (mean), by the average of the group probabilities over the "
    "posterior (bayes-optimal), by that average with the message itself as further evidence about the parameters "
    "(predictive), and by the parameters of one random draw from the posterior (gibbs).",
    "Two collections are used. The original collection, which is Mitchell's, is split at random into two thirds for "
    "training and one third for testing. The other has a split by date, in which training messages are older than "
    "test messages.",
)

ALPHA = 2.0
"""Concentration: map adds l = α − 1 = 1 to each count, Laplace's rule."""

RULES = ("map", "mean", "predictive", "bayes-optimal", "gibbs")
"""In the order of the tables."""

LEAST_SIZE = 20
"""Fewest training documents: one of each of the twenty groups is always among them."""

WORDS, WORD_DRAWS = 8, 2000
"""Words shown for each group, and draws of their log-odds."""

PUBLISHED = 0.89
"""Accuracy of Mitchell 1997 §6.10.1 on the original collection, two thirds for training."""

COLUMNS = 4
"""Panels of words in a row."""

NAMES = {"by-date": "the split by date", "original": "the original collection"}


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    draws: int = option(50, "Draws of the posterior, for the rules bayes-optimal and gibbs.")
    repeats: int = option(5, "Random splits of the original collection, two thirds for training.")
    sizes: str = option("100,200,400,800,1600,3200,6400", "Training documents of the learning curve, comma-separated.")
    collections: str = option(",".join(COLLECTIONS), "Collections, comma-separated.")
    groups: str = option("", "Newsgroups, comma-separated; all by default.")
    documents: int = option(0, "Maximum number of training and of test documents; 0 for all.")
    class_prior: str = option("empirical", "Class prior: empirical, uniform or dirichlet.")
    seed: int = option(0, "Random seed.")


def units(settings: Settings) -> Sequence[Unit]:
    """Return (collection, repeat)."""
    chosen = settings.collections.split(",")
    unknown = [name for name in chosen if name not in COLLECTIONS]
    if unknown:
        raise InputError(f"unknown collection {unknown[0]!r}; they are {', '.join(COLLECTIONS)}")
    if settings.draws < 1 or settings.repeats < 1:
        raise InputError("there must be at least one draw and one repeat")
    if settings.documents and settings.documents < LEAST_SIZE:
        raise InputError(f"documents must be at least {LEAST_SIZE}, or 0 for all, not {settings.documents}")
    sizes_of(settings)
    repeats = {"by-date": 1, "original": settings.repeats}
    return [(name, repeat) for name in COLLECTIONS if name in chosen for repeat in range(repeats[name])]


def sizes_of(settings: Settings) -> list[int]:
    """Return the sizes of the learning curve, in increasing order."""
    words = [word for word in settings.sizes.split(",") if word]
    if not all(word.strip().isdecimal() and int(word) >= LEAST_SIZE for word in words):
        raise InputError(f"sizes must be numbers of at least {LEAST_SIZE}, with commas, not {settings.sizes!r}")
    return sorted({int(word) for word in words})


def groups_of(settings: Settings) -> tuple[str, ...]:
    """Return the requested groups; none for all."""
    return tuple(sorted({group.strip() for group in settings.groups.split(",") if group.strip()}))


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the scores of each rule on one split of a collection, and by date the strongest words of each group."""
    rng = np.random.default_rng(seed)
    if unit[0] == "original":
        return _original(settings, int(unit[1]), rng)
    return _by_date(settings, rng)


def _by_date(settings: Settings, rng: np.random.Generator) -> list[Record]:
    """Score the split by date, and find the words of its training messages."""
    train, test = messages.by_date(groups_of(settings))
    if settings.documents:
        train, test = (_some(part, settings.documents, rng) for part in (train, test))
        known = np.asarray(train.counts.sum(axis=0)).ravel() > 0
        train, test = train.with_words(known), test.with_words(known)
    classifier = _fitted(settings, train, rng)
    records = [{"part": "by-date", "repeat": 0, **line} for line in _scores(classifier, train, test)]
    parts = (train.counts[train.y == k] for k in range(len(train.groups)))
    alpha = ALPHA + np.stack([np.asarray(part.sum(axis=0), dtype=float).ravel() for part in parts])
    for line in informative_words(alpha, WORDS, WORD_DRAWS, rng).to_dict("records"):
        k, j = line["outcome"], line["word"]
        about = {"rank": line["rank"], "word": str(train.words[j]), "occurrences": int(alpha[k, j] - ALPHA)}
        log_odds = {name: line[name] for name in ("log_odds", "low", "high")}
        records.append({"part": "words", "group": train.groups[k], **about, **log_odds})
    return records


def _original(settings: Settings, repeat: int, rng: np.random.Generator) -> list[Record]:
    """Score nested training sets of two thirds of the original collection on the last third."""
    every = messages.original(groups_of(settings))
    order = rng.permutation(len(every))
    third = len(every) - 2 * len(every) // 3
    test, train = every.rows(order[:third]), every.rows(order[third:])
    if settings.documents:
        train, test = (_some(part, settings.documents, rng) for part in (train, test))
    nested = messages.shuffled(train.y, rng)
    sizes = [size for size in sizes_of(settings) if len(every.groups) <= size < len(train)]
    records = []
    for size in (*sizes, len(train)):
        own = train.rows(nested[:size])
        kept = messages.mitchells_words(own)
        own, asked = own.with_words(kept), test.with_words(kept)
        lines = _scores(_fitted(settings, own, rng), own, asked)
        records += [{"part": "original", "repeat": repeat, **line} for line in lines]
    return records


def _some(documents: Messages, most: int, rng: np.random.Generator) -> Messages:
    """Return a random part of some messages, with each group in it, on all their words."""
    return documents.rows(messages.shuffled(documents.y, rng)[:most])


def _fitted(settings: Settings, train: Messages, rng: np.random.Generator) -> MultinomialNB:
    """Return the classifier of some messages."""
    classifier = MultinomialNB(
        ALPHA,
        class_prior=settings.class_prior,
        inference=Exact(draws=settings.draws, chains=1),
        random_state=int(rng.integers(2**31)),
    )
    return classifier.fit(train.counts, np.asarray(train.groups)[train.y], classes=train.groups)


def _scores(classifier: MultinomialNB, train: Messages, test: Messages) -> list[Record]:
    """Return the scores of each rule, with standard errors over the test messages, paired with map where they differ.

    For `gibbs` they are expectations over the drawn hypothesis.
    """
    rows, y = classifier.rows(test.counts), test.y
    averages = averaging.average(classifier.hypotheses("posterior"), rows)
    own = np.arange(len(y))
    first: Array | None = None
    records: list[Record] = []
    for rule in RULES:
        confidence: float | None = None
        if rule == "gibbs":
            right, log_loss = averages.votes[own, y], -averages.mean_log_proba[own, y]
        else:
            known = rule == "bayes-optimal"
            source = classifier.hypotheses(rules.RULES[rule].source)
            scored = scores.score(averages.log_proba if known else rules.log_proba(rule, source, rows), y)
            right, log_loss = 1 - scored.error, scored.log_loss
            confidence = float(np.exp(scored.log_proba.max(axis=1)).mean())
        first = right if first is None else first
        line: Record = {"m": len(train), "vocabulary": len(train.words), "test": len(y), "rule": rule}
        line |= _mean("accuracy", right) | _mean("log_loss", log_loss) | _mean("more_accurate", right - first)
        records.append(line | {"overconfidence": None if confidence is None else confidence - float(right.mean())})
    return records


def _mean(name: str, values: Array) -> Record:
    """Return a mean over messages and its standard error, by name."""
    return {name: float(values.mean()), f"{name}_se": float(values.std(ddof=1) / np.sqrt(len(values)))}


def summarise(settings: Settings, records: pd.DataFrame) -> pd.DataFrame:
    """Return the scores by collection, training size and rule, then the words.

    Where a collection was split several times, means and standard errors are over the splits, else over the test
    messages. `more_accurate` is the accuracy beyond that of map, paired.
    """
    scored = records[records["part"] != "words"].dropna(axis="columns", how="all")
    metrics = ["accuracy", "log_loss", "more_accurate"]
    groups = scored.groupby(["part", "m", "rule"], sort=False)
    table = groups[["vocabulary", "test", *metrics, *(f"{name}_se" for name in metrics), "overconfidence"]].mean()
    table.insert(0, "repeats", groups.size())
    several = table["repeats"] > 1
    for metric in metrics:
        table[f"{metric}_se"] = table[f"{metric}_se"].where(~several, groups[metric].sem())
    told = records[records["part"] == "words"].dropna(axis="columns", how="all")
    return pd.concat([table.reset_index(), told], ignore_index=True)


def present(settings: Settings, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Say how well each rule does, and show the learning curve and the words."""
    scored, told = table[table["part"] != "words"], table[table["part"] == "words"]
    final = scored[scored["m"] == scored.groupby("part")["m"].transform("max")]
    parts = {str(part): own for part, own in final.groupby("part", sort=False)}
    headline = " and ".join(_sorts(own, NAMES[part]) for part, own in parts.items())
    findings = [_compared(own, NAMES[part]) for part, own in parts.items()]
    findings += [_sure(own, NAMES[part]) for part, own in parts.items()]
    curve = scored[scored["part"] == "original"]
    if "original" in parts and not (settings.groups or settings.documents):
        reached = _accuracy(_line(parts["original"], "map"))
        findings.append(f"Mitchell 1997 has {percent(PUBLISHED)} on the original collection; map reaches {reached}.")
    if curve["m"].nunique() > 1:
        findings.append(_growth(curve))
    sections = [Section("Every rule", (_prior_text(settings), RULES_TEXT), (), _scores_table(final))]
    if curve["m"].nunique() > 1:
        sections.append(Section("Learning curves", (_curve_text(curve),), _curves(curve)))
    if not told.empty:
        figure = Figure(
            "words",
            "The strongest words of each group, with their log-odds",
            "One panel per group, one row per word: mean and interval of its log-odds against the other groups.",
            partial(words, told),
            "Posterior means and 89 % intervals of log-odds, in nats, on one scale.",
        )
        sections.append(Section("Words that are evidence for a group", WORDS_TEXT, (figure,)))
    return Results(f"Naive Bayes sorts {headline}.", tuple(findings), CAUTIONS, tuple(sections))


CAUTIONS = (
    "Headers are in: they name the sender, the machine and often the group itself, so that accuracy is not that of "
    "recognizing a topic from what people wrote, and addresses are among the strongest words.",
    "The original collection has messages that were posted to several groups, and random splits can train on a message "
    "and test on its answers, which quote it. This can make it easier than a split by date of the same size.",
    "Random splits share messages, so that standard errors over splits do not show how far another collection of the "
    "same kind would differ.",
    "Words of a message are not independent given its group, as one author or one thread repeats its words. Averaging "
    "over the posterior does not repair over-confidence that comes from this, and intervals of words are too narrow.",
)

RULES_TEXT = (
    "Log loss in nats per message. “More accurate” is the accuracy beyond that of map, paired by message or split; "
    "standard errors are over the test messages where there is one split, else over the splits. Over-confidence is "
    "mean P(predicted group) minus accuracy. Scores of gibbs are expectations over the drawn parameters."
)

WORDS_TEXT = (
    "What one occurrence of a word adds to the log-odds of a group against one of the others, all equally likely: "
    "log θ of the group minus the log of the mean θ of the others, in nats.",
    "Words are in the order of the lower ends of their intervals, so that rare words are not first.",
)


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
    others = final.loc[final["rule"] != "map", ["rule", "more_accurate", "more_accurate_se"]]
    words = ", ".join(f"{rule} {pair(100 * gain, 100 * error, 2)}" for rule, gain, error in others.to_numpy())
    return f"On {name}, accuracy beyond that of map, in percentage points: {words}."


def _sure(final: pd.DataFrame, name: str) -> str:
    """Return log loss and over-confidence of each rule."""
    words = []
    for line in final.to_dict("records"):
        sure = f" (over-confident by {percent(line['overconfidence'])})" if line["rule"] != "gibbs" else ""
        words.append(f"{line['rule']} {number(line['log_loss'], 2)}{sure}")
    return f"On {name}, log loss in nats per message: {', '.join(words)}."


def _growth(curve: pd.DataFrame) -> str:
    """Return accuracy at both ends of the learning curve."""
    first, last = (curve[curve["m"] == size] for size in (curve["m"].min(), curve["m"].max()))
    words = [
        f"{rule} from {percent(_line(first, rule)['accuracy'])} to {percent(_line(last, rule)['accuracy'])}"
        for rule in dict.fromkeys(curve["rule"])
    ]
    sizes = f"{counted(int(first['m'].iloc[0]), 'training document')} to {int(last['m'].iloc[0]):,}"
    return f"From {sizes}, accuracy goes: {', '.join(words)}."


def _prior_text(settings: Settings) -> str:
    return (
        "Multinomial naive Bayes with θ ~ Dirichlet(2) in each group (map is Laplace's rule), the "
        f"{settings.class_prior} class prior, exact inference; bayes-optimal and gibbs over "
        f"{counted(settings.draws, 'draw')} of the posterior. The expected log loss of bayes-optimal falls with the "
        "number of draws."
    )


def _curve_text(curve: pd.DataFrame) -> str:
    splits = counted(int(curve["repeats"].iloc[0]), "random split")
    return (
        f"Nested training sets of the original collection, {splits} into "
        "two thirds and one; at each size, words are those of its own training documents, without the 100 most "
        "frequent ones and those that occur under 3 times. One document of each group comes first."
    )


def _scores_table(final: pd.DataFrame) -> pd.DataFrame:
    """Return the scores at the largest size, one row per collection and rule."""
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
    figures = []
    text = "One curve per rule, training documents on a log axis."
    caption = "Bands are one standard error over splits." if curve["repeats"].min() > 1 else ""
    for metric, label in (("accuracy", "accuracy"), ("log_loss", "log loss")):
        own = curve[["m", "rule"]].assign(model="nb", mean=curve[metric], se=curve[f"{metric}_se"])
        draw = partial(learning_curve, own, ylabel=f"test {label}", xlabel="training documents")
        title = f"Test {label} against the number of training documents"
        figures.append(Figure(label.replace(" ", "-"), title, text, draw, caption))
    return tuple(figures)


def words(told: pd.DataFrame) -> Drawing:
    """Return one panel per group, with one interval per word."""
    groups = list(dict.fromkeys(told["group"]))
    width = min(COLUMNS, len(groups))
    height = -(-len(groups) // width)
    size = (2.9 * width, (0.5 + 0.19 * told["rank"].max()) * height + 0.3)
    figure, axes = grid(len(groups), width, size, sharex=True)
    for ax, group in zip(axes, groups, strict=True):
        _group(ax, told[told["group"] == group])
        ax.set_title(group, loc="left", fontsize="small", fontweight="bold")
    figure.supxlabel("log-odds of the group at one occurrence, in nats", fontsize="small")
    return figure


def _group(ax: Axes, told: pd.DataFrame) -> None:
    """Draw the words of one group."""
    places = range(len(told))
    color = style.RULE_STYLE["bayes-optimal"].color
    ax.hlines(places, told["low"], told["high"], color=color, linewidth=1.6)
    ax.plot(told["log_odds"], places, "o", color=color, markersize=3.5)
    ax.set_yticks(places, [style.plain(word, 16) for word in told["word"]], fontsize="x-small")
    ax.set_ylim(len(told) - 0.4, -0.6)
    ax.tick_params(axis="x", labelsize="x-small")
    style.quiet(ax, "x")
