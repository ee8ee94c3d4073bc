"""The textbook's finite hypothesis spaces under every rule, and Mitchell's exercise 4 on random cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from bayesclf.errors import InputError
from bayesclf.experiments.curves import in_order, means
from bayesclf.experiments.experiment import Drawing, Figure, Record, Results, Section, Unit, option
from bayesclf.finite import FiniteSpace, extended_with_bayes_optimal
from bayesclf.plots import style
from bayesclf.typing import Array
from bayesclf.wording import NEGLIGIBLE, number, percent

NAME = "hypotheses"

QUESTION = (
    "What do the most probable hypothesis (MAP), the average over all hypotheses (Bayes-optimal) and one drawn at "
    "random (Gibbs) answer on the textbooks' examples, and how much does a wrong prior change their answers?"
)

BACKGROUND = (
    "Let H be a finite set of hypotheses with prior probabilities P(h), and let P(h | D) be their probabilities "
    "after the data D. Each hypothesis says + or − for a case x, or gives the probability P(+ | x, h). Three "
    "classifiers follow. MAP does what the most probable hypothesis says; Bayes-optimal weighs the answers of all "
    "hypotheses by P(h | D); Gibbs draws one hypothesis from P(h | D).",
    "The examples are those of Mitchell (Machine Learning, 1997, sections 6.7 and 6.8) and of "
    "Aberdeen's lecture on Bayesian learning (2004): three hypotheses of which the most probable one is outvoted, the "
    "weather, and a version space, that is, all hypotheses without an error on the data.",
    "Exercise 4 of Mitchell's draft chapter on generative and discriminative classifiers (2010) asks what happens "
    "when the Bayes-optimal classifier of H = {h1, h2} becomes a hypothesis h3 of its own, in the larger space H' = "
    "{h1, h2, h3} with a prior P'. Can h3 be the most probable hypothesis of H', and can the Bayes-optimal classifier "
    "of H' answer otherwise than h3, which was optimal for H? Random cases are drawn here in four versions: h3 is a "
    "classifier, which holds its answer for certain, or it is probabilistic and answers with the averaged "
    "probabilities of H; and the ratio P'(h1) : P'(h2) is that of the prior of H, or another.",
    "Aberdeen's lecture also asks what a prior is worth that nobody knows exactly. Here noise is added to the prior "
    "of random spaces, and changed answers are counted.",
)

SIGNS = ("+", "−")

THRESHOLDS = 5
"""Hypotheses of the version space: h_t says + from x = t on, t = 0, …; its data are − at x = 0 and + at x = 3."""

DISAGREED = (1, 2)
"""Values of x about which the consistent thresholds disagree."""

WEATHER = {"a cloudy day in spring": (0.1, 0.5), "a fine day otherwise": (0.001, 0.9)}
"""P(seen | rain), P(seen | dry)."""

BLOCK = 100
"""Random cases, or hypotheses drawn by the Gibbs classifier at each x, in one unit of work."""

POINTS = 50
"""Values of x in a random space; P(+ | x, h) and likelihoods are uniform, priors uniform numbers over their sum."""

NOISE = (0.1, 0.3, 1.0, 3.0)
"""Standard deviations, in nats, of what is added to log P(h)."""

SPACE = 5
"""Hypotheses of a space whose prior is perturbed; P(+ | x, h) and likelihoods are uniform, the prior too."""

type Example = tuple[str, str, str, float, float]
"""Name of an example, the question, the answer, its probability and that of the textbook."""

NOISY = "noisy prior"

SETUPS = {
    "classifier, same ratio": (False, True),
    "probabilistic, same ratio": (True, True),
    "classifier, other ratio": (False, False),
    "probabilistic, other ratio": (True, False),
}
"""Whether h3 answers with probabilities, and whether P'(h1) : P'(h2) is as in H."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    cases: int = option(
        4000, f"Random cases of each kind of exercise 4, and draws of the Gibbs classifier, in steps of {BLOCK}."
    )
    seed: int = option(0, "Random seed.")


def units(settings: Settings) -> Sequence[Unit]:
    """Return the examples, then ("version space", first draw) and (kind of exercise 4, first case) by blocks."""
    if settings.cases < 2 * BLOCK:
        raise InputError(f"there must be at least {2 * BLOCK} random cases, not {settings.cases}")
    starts = range(0, settings.cases - settings.cases % BLOCK, BLOCK)
    return [("examples", 0), *((kind, first) for first in starts for kind in ("version space", NOISY, *SETUPS))]


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the examples' answers, or what was counted in a block of draws or of random cases."""
    kind, block = str(unit[0]), int(unit[1])
    if kind == "examples":
        return _examples()
    if kind == "version space":
        return _version_space_gibbs(block, int(seed.generate_state(1)[0]))
    if kind == NOISY:
        return _noisy_prior(block, np.random.default_rng(seed))
    return [_exercise_4(kind, block, np.random.default_rng(seed))]


def _examples() -> list[Record]:
    """Return the question of each example, the answer, its probability and that of the textbook."""
    lines = [*_three_hypotheses(), *_weather(), *_version_space()]
    names = ("example", "asked", "answer", "probability", "textbook")
    return [{"part": "example", **dict(zip(names, line, strict=True))} for line in lines]


def _three_hypotheses() -> list[Example]:
    """Ask MAP and Bayes-optimal, P(h | D) = (.4, .3, .3), h1 says +, the others −; MAP's probability is that of h."""
    plus, minus = [[1.0, 0.0]], [[0.0, 1.0]]
    space = FiniteSpace(("h1", "h2", "h3"), SIGNS, (0.4, 0.3, 0.3), [plus, minus, minus])
    optimal = float(space.proba("bayes-optimal", 0).max())
    return [
        ("three hypotheses", "map", space.answers("map", 0)[0], space.posterior[space.map], 0.4),
        ("three hypotheses", "bayes-optimal", space.answers("bayes-optimal", 0)[0], optimal, 0.6),
    ]


def _weather() -> list[Example]:
    """Ask for rain after an observation; rain and dry are equally probable before."""
    found = []
    for (seen, likelihood), textbook in zip(WEATHER.items(), (1 / 6, 1 / 901), strict=True):
        space = FiniteSpace(("rain", "dry"), ("rain", "dry"), (0.5, 0.5), [[[1, 0]], [[0, 1]]]).update(likelihood)
        found.append(("weather", f"rain, {seen}", space.map, space.posterior["rain"], textbook))
    return found


def _version_space() -> list[Example]:
    """Ask the Bayes-optimal classifier of the version space for + at each x; h1, h2, h3 are consistent."""
    space, x = version_space(), np.arange(THRESHOLDS)
    proba, answers = space.proba("bayes-optimal", x)[:, 0], space.answers("bayes-optimal", x)
    return [
        ("version space", f"bayes-optimal, + at x = {place}", answer, float(plus), share)
        for place, answer, plus, share in zip(x, answers, proba, (0, 1 / 3, 2 / 3, 1, 1), strict=True)
    ]


def version_space() -> FiniteSpace:
    """Return the thresholds that agree with − at x = 0 and + at x = 3, all equally probable."""
    x = np.arange(THRESHOLDS)
    plus = (x >= x[:, None]).astype(float)
    space = FiniteSpace(tuple(f"h{t}" for t in x), SIGNS, np.full(THRESHOLDS, 1 / THRESHOLDS), binary(plus))
    return space.version_space((plus[:, 0] == 0) & (plus[:, 3] == 1))


def binary(plus: Array) -> Array:
    """Return P(y | x, h), (hypothesis, x, outcome), from P(+ | x, h)."""
    return np.stack([plus, 1 - plus], axis=-1)


def _version_space_gibbs(block: int, seed: int) -> list[Record]:
    """Ask the Gibbs classifier many times at each x: how often does it say +?"""
    x = np.repeat(np.arange(THRESHOLDS), BLOCK)
    said = np.array(version_space().answers("gibbs", x, seed)).reshape(THRESHOLDS, BLOCK)
    return [
        {"part": "version space", "block": block, "x": place, "plus": float((own == "+").mean())}
        for place, own in enumerate(said)
    ]


def _noisy_prior(block: int, rng: np.random.Generator) -> list[Record]:
    """Perturb log P(h) of random spaces: how often do answers change, and how far do probabilities move?"""
    x = np.arange(POINTS)
    found = {size: np.empty((BLOCK, 5)) for size in NOISE}
    for index in range(BLOCK):
        names = tuple(f"h{number}" for number in range(1, SPACE + 1))
        table, likelihood, prior = binary(rng.random((SPACE, POINTS))), rng.random(SPACE), _shares(rng, SPACE)
        space = FiniteSpace(names, SIGNS, prior, table).update(likelihood)
        noise = rng.standard_normal(SPACE)
        for size, out in found.items():
            noisy = prior * np.exp(size * noise)
            other = FiniteSpace(names, SIGNS, noisy / noisy.sum(), table).update(likelihood)
            weights = [np.exp(own.log_weights) for own in (space, other)]
            distance = 0.5 * np.abs(weights[0] - weights[1]).sum()
            for place, rule in enumerate(("map", "bayes-optimal")):
                before, after = space.proba(rule, x)[:, 0], other.proba(rule, x)[:, 0]
                out[index, place] = np.mean((before > 0.5) != (after > 0.5))
                out[index, 2 + place] = np.abs(before - after).max()
            out[index, 4] = distance
    columns = ("map_changed", "optimal_changed", "map_moved", "optimal_moved", "distance")
    return [
        {
            "part": NOISY,
            "block": block,
            "noise": size,
            **dict(zip(columns, out.mean(axis=0).tolist(), strict=True)),
            "beyond": int((out[:, 3] > out[:, 4] + NEGLIGIBLE).sum()),
            "map_beyond": int((out[:, 2] > out[:, 4] + NEGLIGIBLE).sum()),
        }
        for size, out in found.items()
    ]


def _exercise_4(kind: str, block: int, rng: np.random.Generator) -> Record:
    """Count over random cases where H' answers otherwise than h3, and where its MAP hypothesis is h3."""
    probabilistic, same = SETUPS[kind]
    x = np.arange(POINTS)
    found = np.empty((BLOCK, 4))
    for index in range(BLOCK):
        likelihood = rng.random(3)
        H = FiniteSpace(("h1", "h2"), SIGNS, _shares(rng, 2), binary(rng.random((2, POINTS))))
        H = H.update(likelihood[:2])
        prior = rng.random() if same else _shares(rng, 3)
        before = extended_with_bayes_optimal(H, prior, probabilistic=probabilistic)
        extended = before.update(likelihood)
        changed = np.mean(np.array(H.answers("bayes-optimal", x)) != np.array(extended.answers("bayes-optimal", x)))
        weighed = np.asarray(before.prior) * likelihood
        expected = weighed[2] > weighed[:2].max()
        found[index] = changed, extended.posterior["h3"] > 0.5, extended.map == "h3", (extended.map == "h3") == expected
    changed, sure, is_map, as_expected = found.T
    return {
        "part": "exercise 4",
        "kind": kind,
        "block": block,
        "changed": float(changed.mean()),
        "cases_changed": float((changed > 0).mean()),
        "sure": int(sure.sum()),
        "sure_changed": int((changed[sure == 1] > 0).sum()),
        "map_is_h3": float(is_map.mean()),
        "map_as_expected": int(as_expected.sum()),
    }


def _shares(rng: np.random.Generator, count: int) -> Array:
    """Return uniform numbers divided by their sum."""
    values = rng.random(count)
    return np.asarray(values / values.sum())


def summarise(settings: Settings, records: pd.DataFrame) -> pd.DataFrame:
    """Return one row per kind of exercise 4, with shares and their standard errors over blocks of cases."""
    blocks = records[records["part"] == "exercise 4"].rename(columns={"kind": "h3"}).groupby("h3", sort=False)
    table = means(blocks, "changed", "cases_changed", "map_is_h3")
    table.insert(1, "cases", BLOCK * blocks.size().to_numpy())
    counts = blocks[["sure", "sure_changed", "map_as_expected"]].sum().astype(int)
    return in_order(table.join(counts, on="h3"), ["h3"], h3=SETUPS)


def present(settings: Settings, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Say what each rule answered, and where exercise 4's statements held."""
    examples = records[records["part"] == "example"][["example", "asked", "answer", "probability", "textbook"]]
    gibbs = records[records["part"] == "version space"].groupby("x")["plus"].agg(["mean", "sem"])
    by_rule = examples.set_index("asked").to_dict("index")
    most, best = by_rule["map"], by_rule["bayes-optimal"]
    headline = (
        f"The most probable hypothesis says {most['answer']} with P(h | D) = {number(most['probability'], 1)}, the "
        f"most probable classification is {best['answer']} with {number(best['probability'], 1)}: MAP and "
        f"Bayes-optimal {'differ' if most['answer'] != best['answer'] else 'agree'}."
    )
    off = float((examples["probability"] - examples["textbook"]).abs().max())
    agreement = "are" if off < NEGLIGIBLE else f"differ by at most {off:.1g} from"
    figure = Figure(
        "version-space",
        "How often the Gibbs classifier of a version space says +",
        "One triangle per x, on a bar: the share of consistent hypotheses that say +.",
        partial(_figure, examples, gibbs),
        "Triangles: the Gibbs classifier's draws, with two standard errors. Bars: the share of consistent hypotheses.",
    )
    noisy = noise_table(records)
    first = (
        f"The {len(examples)} probabilities of the examples {agreement} those that follow from the textbooks' numbers."
    )
    findings = (first, _gibbs(gibbs), *_exercise(table), _noise(noisy))
    sections = (
        Section("Examples", EXAMPLES_TEXT, (figure,), examples),
        Section("Exercise 4: the average as a hypothesis of its own", EXERCISE_TEXT, (), table[SHOWN]),
        Section("A prior with errors", NOISE_TEXT, (), noisy),
    )
    return Results(headline, findings, CAUTIONS, sections)


CAUTIONS = (
    "How often answers change in exercise 4 depends on how cases are drawn: here likelihoods and P(+ | x, h) are "
    "uniform, and priors are uniform numbers divided by their sum. Counts of 0 that follow from a proof do not depend "
    "on it.",
)

EXAMPLES_TEXT = (
    "Three hypotheses (Aberdeen): they have P(h | D) = 0.4, 0.3 and 0.3; the first says +, the others say −.",
    "Weather (Aberdeen): rain and dry weather are equally probable before the observation. A cloudy day in spring "
    "has probability 0.1 if rain follows and 0.5 if none does, so that P(rain | D) = 1/6; a fine day at another "
    "time has 0.001 and 0.9, so that P(rain | D) = 1/901.",
    f"Version space: a threshold h_t says + from x = t on, with t from 0 to {THRESHOLDS - 1}. The data are − at x = 0 "
    "and + at x = 3, with which h1, h2 and h3 agree; these are equally probable.",
    "In the table, “probability” is that of the hypothesis for map and for the weather, and that of the answer for "
    "bayes-optimal; “textbook” is the value that follows by hand from the numbers that the textbook states.",
)

NOISE_TEXT = (
    "How much do the answers depend on P(h), which nobody knows exactly (Aberdeen)? Normal noise is added to log P(h) "
    "of each hypothesis. MAP asks a single hypothesis, so that all its answers may change where another one becomes "
    "the most probable. The average cannot move further than the posterior: |ΔP(+ | x)| ≤ ½ Σ |ΔP(h | D)|, where Δ is "
    "the change due to the noise, and the right side is the distance of the two posteriors in total variation.",
    f"Each case is a random space of {SPACE} hypotheses, with likelihoods and P(+ | x, h) uniform on (0, 1). In the "
    "table, “noise” is the standard deviation in nats, “changed” the share of x with another answer, “moved” the "
    "largest change of P(+ | x), and “distance” that of the posteriors, all as means over the cases. “Beyond” counts "
    "the cases in which the change is larger than the distance. Columns with “optimal”, and “beyond” by itself, are "
    "for Bayes-optimal.",
)

EXERCISE_TEXT = (
    "The question (Mitchell, exercise 4): if the Bayes-optimal classifier of H is itself added to H as a further "
    "hypothesis, is it then the most probable one, and does the Bayes-optimal classifier of the larger space still "
    "answer as before?",
    "Here H = {h1, h2}, h3 is the Bayes-optimal classifier of H, and H' = H ∪ {h3} has the prior P'. The column “h3” "
    "says whether h3 is a classifier, which holds its answer for certain, or probabilistic, that is, answers with the "
    "averaged probabilities of H; and whether the ratio P'(h1) : P'(h2) is the same as in H or another.",
    "“Changed” is the share of x at which the Bayes-optimal classifier of H' answers otherwise than h3, with its "
    "standard error; “cases changed” is the share of cases with such an x. “Map is h3” is the share of cases in which "
    "h3 is the most probable hypothesis of H'. “Sure” counts the cases with P'(h3 | D) > ½, and “sure changed” those "
    "of them in which an answer changed.",
)

SHOWN = ["h3", "cases", "changed", "changed_se", "cases_changed", "map_is_h3", "sure", "sure_changed"]
"""Columns of the table on the page."""


def noise_table(records: pd.DataFrame) -> pd.DataFrame:
    """Return one row per size of noise: what changes, and in how many cases further than the posterior."""
    blocks = records[records["part"] == NOISY].groupby("noise")
    values = blocks[["map_changed", "optimal_changed", "map_moved", "optimal_moved", "distance"]].mean()
    counts = blocks[["beyond", "map_beyond"]].sum().astype(int)
    cases = (BLOCK * blocks.size()).rename("cases")
    return pd.concat([cases, values.round(4), counts], axis=1).reset_index()


def _noise(table: pd.DataFrame) -> str:
    """Say how many answers noise changes."""
    said = [
        f"with {line['noise']:g} nats it changes {percent(line['map_changed'])} of MAP's answers and "
        f"{percent(line['optimal_changed'])} of those of Bayes-optimal"
        for line in table.to_dict("records")
    ]
    cases, beyond, of_map = (int(table[name].sum()) for name in ("cases", "beyond", "map_beyond"))
    return (
        f"Normal noise is added to log P(h). By its standard deviation, {'; '.join(said)}. The "
        f"probabilities of Bayes-optimal move further than the posterior in {beyond} of {cases:,} cases, those of MAP "
        f"in {of_map:,}."
    )


def _gibbs(gibbs: pd.DataFrame) -> str:
    """Say how often the Gibbs classifier of the version space answers + where its hypotheses disagree."""
    agreed = version_space().proba("bayes-optimal", np.array(DISAGREED))[:, 0]
    shares = (percent(gibbs["mean"][x], gibbs["sem"][x]) for x in DISAGREED)
    places = " and ".join(f"at x = {x} in {share}" for x, share in zip(DISAGREED, shares, strict=True))
    consistent = (
        f"of the hypotheses that agree with the data, {percent(agreed[0])} and {percent(agreed[1])} say + there"
    )
    return f"The Gibbs classifier of the version space says + {places} of its draws; {consistent}."


def _exercise(table: pd.DataFrame) -> list[str]:
    """Say how often each statement of exercise 4 held."""
    lines = table.set_index("h3").to_dict("index")
    same, other = ([lines[kind] for kind, (_, same) in SETUPS.items() if same is ratio] for ratio in (True, False))
    kept = [lines[kind] for kind, (probabilistic, _) in SETUPS.items() if not probabilistic]
    loose = lines["probabilistic, other ratio"]
    right, cases = int(table["map_as_expected"].sum()), int(table["cases"].sum())
    first, second = (percent(line["changed"], line["changed_se"]) for line in other)
    return [
        "In exercise 4, h3 is the MAP hypothesis of H' where P'(h3) P(D | h3) is the largest of the three products, "
        f"and only there: in {right:,} of {cases:,} cases. It was the MAP hypothesis in "
        f"{percent(float(table['map_is_h3'].mean()))} of the cases.",
        f"Where P'(h1) : P'(h2) is the same as in H, the Bayes-optimal classifier of H' answers otherwise than h3 in "
        f"{sum(round(line['cases_changed'] * line['cases']) for line in same)} of "
        f"{sum(line['cases'] for line in same):,} cases. Where the ratio is another, it does so at {first} of the x "
        f"if h3 is a classifier, and at {second} if h3 is probabilistic.",
        f"Where P'(h3 | D) > ½, a classifier h3 was outvoted in {sum(line['sure_changed'] for line in kept)} of "
        f"{sum(line['sure'] for line in kept):,} cases, and a probabilistic h3 under another ratio in "
        f"{loose['sure_changed']} of {loose['sure']:,}.",
    ]


def _figure(examples: pd.DataFrame, gibbs: pd.DataFrame) -> Drawing:
    figure, ax = style.axes(None, (6.0, 3.2))
    shares = examples.loc[examples["example"] == "version space", "textbook"]
    ax.bar(gibbs.index, shares, width=0.7, color="0.85", label="consistent hypotheses that say +")
    look = style.RULE_STYLE["gibbs"]
    ax.errorbar(
        gibbs.index, gibbs["mean"], yerr=2 * gibbs["sem"], fmt=look.marker, color=look.color, label="gibbs says +"
    )
    ax.set(xlabel="x", ylabel="share", xticks=list(gibbs.index))
    style.legend_above(ax)
    style.quiet(ax, "y")
    return figure
