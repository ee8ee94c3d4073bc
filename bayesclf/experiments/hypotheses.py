"""What do the MAP hypothesis, Bayes-optimal and Gibbs answer on the textbooks' examples, and under a wrong prior?

The examples come from Mitchell (Machine Learning, 1997, sections 6.7 and 6.8) and Aberdeen's lecture on Bayesian
learning (2004): three hypotheses, the most probable of which is outvoted; rain after a cloudy day in spring and after a
fine day; and a version space of thresholds h_t, + from x = t on, that agree with − at x = 0 and + at x = 3. Exercise 4
of Mitchell (draft chapter, 2010) makes the Bayes-optimal classifier of H = {h1, h2} a hypothesis h3. H' = {h1, h2, h3}
has a prior P'. Can h3 be the most probable one? Can the Bayes-optimal classifier of H' answer otherwise? In random
cases h3 holds its answer for certain (a classifier), or answers with the averaged probabilities. P'(h1) : P'(h2) is as
in H or not. Aberdeen also asks what a prior is worth that nobody knows exactly: noise is added to log P(h) of random
spaces of five hypotheses.

How often answers change depends on how cases are drawn: likelihoods and P(+ | x, h) are uniform here, and priors are
uniform numbers divided by their sum. Counts of 0 that follow from a proof do not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from bayesclf.arrays import Array
from bayesclf.errors import InputError
from bayesclf.experiments.runner import Each, Figure, Record, Unit, curves, in_order, means, option
from bayesclf.finite import FiniteSpace, extended_with_bayes_optimal
from bayesclf.wording import NEGLIGIBLE, number, percent

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

EXAMPLE, VERSION_SPACE, NOISY, EXERCISE = "example", "version space", "noisy prior", "exercise 4"
"""Parts of the table."""

SETUPS = {
    "classifier, same ratio": (False, True),
    "probabilistic, same ratio": (True, True),
    "classifier, other ratio": (False, False),
    "probabilistic, other ratio": (True, False),
}
"""Whether h3 answers with probabilities, and whether P'(h1) : P'(h2) is as in H."""


SHARES, COUNTS = ("changed", "cases_changed", "map_is_h3"), ("sure", "sure_changed", "map_as_expected")
"""What is averaged and what is counted over the cases of exercise 4."""

MOVES = ("map_changed", "optimal_changed", "map_moved", "optimal_moved", "distance")
"""Under a noisy prior: shares of x with another answer, largest changes of P(+ | x), and change of the posterior."""

BEYOND = ("beyond", "map_beyond")
"""Counts of spaces in which P(+ | x) of Bayes-optimal, or of MAP, moved further than the posterior."""

COLUMNS = ("example", "asked", "answer", "probability", "textbook")
"""Of the examples."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    cases: int = option(4000, f"Random cases of each kind of exercise 4, and draws of Gibbs, in steps of {BLOCK}.")
    seed: int = option(0, "Random seed.")


def tabulate(settings: Settings, each: Each) -> pd.DataFrame:
    """Return the examples' answers, the Gibbs classifier's at each x, and exercise 4 and the noise, each by kind.

    Shares have standard errors over blocks of cases (…_se); `sure` and what follows are counts of cases.
    """
    if settings.cases < 2 * BLOCK:
        raise InputError(f"there must be at least {2 * BLOCK} random cases, not {settings.cases}")
    starts = range(0, settings.cases - settings.cases % BLOCK, BLOCK)
    kinds = (VERSION_SPACE, NOISY, *SETUPS)
    records = each([("examples", 0), *((kind, first) for first in starts for kind in kinds)])
    own = {part: records[records["part"] == part] for part in (EXAMPLE, VERSION_SPACE, EXERCISE, NOISY)}
    exercise = own[EXERCISE].groupby("kind", sort=False)
    parts = {
        EXAMPLE: own[EXAMPLE].drop(columns="part").dropna(axis="columns", how="all"),
        VERSION_SPACE: means(own[VERSION_SPACE].groupby("x"), "plus"),
        EXERCISE: in_order(_counted(exercise, SHARES, COUNTS).rename(columns={"kind": "h3"}), ["h3"], h3=SETUPS),
        NOISY: _counted(own[NOISY].groupby("noise"), MOVES, BEYOND),
    }
    return pd.concat([table.assign(part=part) for part, table in parts.items()], ignore_index=True)


def _counted(blocks: Any, shares: tuple[str, ...], counts: tuple[str, ...]) -> pd.DataFrame:
    """Return mean shares with standard errors over the blocks, and sums of counts, by group."""
    table = means(blocks, *shares)
    table.insert(1, "cases", BLOCK * blocks.size().to_numpy())
    return table.join(blocks[list(counts)].sum().astype(int), on=table.columns[0])


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the examples' answers, or what was counted in a block of draws or of random cases."""
    kind, block = str(unit[0]), int(unit[1])
    if kind == "examples":
        return _examples()
    if kind == VERSION_SPACE:
        return _version_space_gibbs(block, int(seed.generate_state(1)[0]))
    rng = np.random.default_rng(seed)
    return _noisy_prior(block, rng) if kind == NOISY else [_exercise_4(kind, block, rng)]


def answer(settings: Settings, table: pd.DataFrame) -> tuple[str, ...]:
    """Say what each rule answered, and where exercise 4's statements held."""
    by_rule = table[table["part"] == EXAMPLE].set_index("asked").to_dict("index")
    most, best = by_rule["map"], by_rule["bayes-optimal"]
    headline = (
        f"The most probable hypothesis says {most['answer']} with P(h | D) = {number(most['probability'], 1)}, the "
        f"most probable classification is {best['answer']} with {number(best['probability'], 1)}."
    )
    drawn = table[table["part"] == VERSION_SPACE].set_index("x")
    places = " and ".join(
        f"{percent(drawn['plus'][x], drawn['plus_se'][x])} of its draws at x = {x}" for x in DISAGREED
    )
    gibbs = f"The Gibbs classifier of the version space says + in {places}; 1/3 and 2/3 of the hypotheses do."
    return headline, gibbs, *_exercise(table[table["part"] == EXERCISE]), *_noise(table[table["part"] == NOISY])


def summary(settings: Settings, table: pd.DataFrame) -> pd.DataFrame:
    """Return the examples, with the values that follow by hand from the textbooks' numbers."""
    return table.loc[table["part"] == EXAMPLE, list(COLUMNS)]


def figure(settings: Settings, table: pd.DataFrame) -> Figure:
    """Return how often the Gibbs classifier of the version space says +."""
    title = "How often the Gibbs classifier of a version space says +"
    gibbs, share = table["part"] == VERSION_SPACE, table["example"] == "version space"
    drawn = table[gibbs].assign(curve="gibbs", share=table["plus"], share_se=table["plus_se"])
    hypotheses = drawn.assign(curve="consistent hypotheses", share=table.loc[share, "textbook"].tolist(), share_se=0.0)
    shown = pd.concat([drawn, hypotheses])
    draw = partial(curves, shown, *("part", "curve", "share"), x="x", labels=("x", "share that says +"), log="")
    return Figure(title, "Bands are one standard error of its draws.", draw)


def _examples() -> list[Record]:
    """Return the question of each example, the answer, its probability and the textbook's probability."""
    plus, minus = [[1.0, 0.0]], [[0.0, 1.0]]
    three = FiniteSpace(("h1", "h2", "h3"), SIGNS, (0.4, 0.3, 0.3), [plus, minus, minus])
    optimal = float(three.proba("bayes-optimal", 0).max())
    lines = [
        ("three hypotheses", "map", three.answers("map", 0)[0], three.posterior[three.map], 0.4),
        ("three hypotheses", "bayes-optimal", three.answers("bayes-optimal", 0)[0], optimal, 0.6),
    ]
    for (seen, likelihood), textbook in zip(WEATHER.items(), (1 / 6, 1 / 901), strict=True):
        space = FiniteSpace(("rain", "dry"), ("rain", "dry"), (0.5, 0.5), [[[1, 0]], [[0, 1]]]).update(likelihood)
        lines.append(("weather", f"rain, {seen}", space.map, space.posterior["rain"], textbook))
    space, x = version_space(), np.arange(THRESHOLDS)
    proba, answers = space.proba("bayes-optimal", x)[:, 0], space.answers("bayes-optimal", x)
    for place, said, probability, share in zip(x, answers, proba, (0, 1 / 3, 2 / 3, 1, 1), strict=True):
        lines.append(("version space", f"bayes-optimal, + at x = {place}", said, float(probability), share))
    return [{"part": EXAMPLE, **dict(zip(COLUMNS, line, strict=True))} for line in lines]


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
        {"part": VERSION_SPACE, "block": block, "x": place, "plus": float((own == "+").mean())}
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
            out[index, 4] = 0.5 * np.abs(np.exp(space.log_weights) - np.exp(other.log_weights)).sum()
            for place, rule in enumerate(("map", "bayes-optimal")):
                before, after = space.proba(rule, x)[:, 0], other.proba(rule, x)[:, 0]
                out[index, place] = np.mean((before > 0.5) != (after > 0.5))
                out[index, 2 + place] = np.abs(before - after).max()
    return [
        {
            "part": NOISY,
            "block": block,
            "noise": size,
            **dict(zip(MOVES, out.mean(axis=0).tolist(), strict=True)),
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
        "part": EXERCISE,
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


def _exercise(table: pd.DataFrame) -> tuple[str, ...]:
    """Say how often each statement of exercise 4 held."""
    lines: Any = table.set_index("h3")
    same = lines.loc[[kind for kind, (_, same) in SETUPS.items() if same]]
    kept = lines.loc[[kind for kind, (probabilistic, _) in SETUPS.items() if not probabilistic]]
    changed = round((same["cases_changed"] * same["cases"]).sum())
    other = lines.loc["probabilistic, other ratio"]
    return (
        "In exercise 4, h3 should be the MAP hypothesis of H' exactly where P'(h3) P(D | h3) is the largest product. "
        f"This holds in {table['map_as_expected'].sum():,.0f} of {table['cases'].sum():,.0f} cases.",
        "Where P'(h1) : P'(h2) is the same as in H, the Bayes-optimal classifier of H' answers otherwise than h3 in "
        f"{changed} of {same['cases'].sum():,.0f} cases. Where it is another and h3 probabilistic, at "
        f"{percent(other['changed'], other['changed_se'])} of the x.",
        f"Where P'(h3 | D) > ½, a classifier h3 was outvoted in {kept['sure_changed'].sum():,.0f} of "
        f"{kept['sure'].sum():,.0f} cases.",
    )


def _noise(table: pd.DataFrame) -> tuple[str, ...]:
    """Say how many answers noise changes."""
    said = [
        f"with {line['noise']:g} nats it changes {percent(line['map_changed'])} of MAP's answers and "
        f"{percent(line['optimal_changed'])} of the answers of Bayes-optimal"
        for line in table.to_dict("records")
    ]
    cases, beyond, of_map = (table[name].sum() for name in ("cases", *BEYOND))
    return (
        f"Normal noise is added to log P(h). By its standard deviation, {'; '.join(said)}. The probabilities of "
        f"Bayes-optimal move further than the posterior in {beyond:.0f} of {cases:,.0f} cases, MAP's in {of_map:,.0f}.",
    )
