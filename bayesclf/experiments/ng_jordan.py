"""From how many training rows on is logistic regression better than naive Bayes, under each rule?

Ng and Jordan (On discriminative vs. generative classifiers, NIPS 14, 2002) argued that logistic regression has the
smaller error with many rows, while naive Bayes approaches its own limit with far fewer. So the curves of test error
against training rows should cross. They showed 15 problems from tables of the UCI repository. Here the tables are split
at random many times into training and test rows. Naive Bayes is clearly ahead with few rows if its error is smaller at
one of the smaller half of the sizes, before the curves cross. The paired difference must be significant at 5%, divided
by the number of these sizes (Bonferroni).

The paper does not say which rows, columns and classes it used, nor how its logistic regression was regularized. Splits
of one data set share its rows: standard errors show the uncertainty over splits of this data set, not that of another
sample from the same population.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from bayesclf.arrays import Integers, Parameters
from bayesclf.engines import NUTS, Exact, Laplace, inference, laplace, nuts
from bayesclf.errors import InputError, Refused
from bayesclf.evaluation import cross_validation
from bayesclf.evaluation.scores import RowScores
from bayesclf.experiments.runner import Each, Figure, Record, Unit, curves, in_order, last_crossing, named, option
from bayesclf.families import Categorical, Gaussian
from bayesclf.families.base import Axes, Family
from bayesclf.families.class_prior import LearntClassPrior
from bayesclf.models import Model
from bayesclf.models.generative import Block, GenerativeModel
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.model import LogisticModel, LogisticPrior
from bayesclf.models.tempered import LEAST_ROWS, LeftOut
from bayesclf.posterior.hypotheses import Hypotheses, TemperedHypotheses
from bayesclf.rules import RULES
from bayesclf.tables import columns, datasets
from bayesclf.tables.columns import Column, Rows
from bayesclf.wording import counted, first_upper, joined, number, percent

MODELS = {"nb": "naive Bayes", "lr": "logistic regression"}
"""The two models, by their name in the records."""

METRICS = ("error", "log_loss", "brier", "overconfidence")
"""Means over the test rows: over-confidence is mean P(predicted class) minus accuracy."""

SIZES = (4, 6, 9, 13, 20, 30, 45, 70, 100, 150, 225, 350, 500, 750, 1000)
"""Training sizes, as far as a problem has rows; rules that need a posterior take every other one, and the largest."""

BLOCK = 10
"""Splits in one unit of work."""

MOST_TEST = 1000
"""Test rows of a split."""

CLEAR = 0.05
"""Probability, over all sizes that are tested, that equal curves are called different."""

PRIOR = LogisticPrior(prior_scale=5.0, intercept_scale=10.0)
"""Of logistic regression, per sd of a column."""

PLUG_IN = ("mle", "map")
AVERAGED = tuple(name for name, rule in RULES.items() if rule.source in ("mean", "posterior"))

ALL, SHARED = "all splits", "splits under every rule"
"""Parts of the table: the means over all splits of a rule, and over those splits that all rules answered."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    splits: int = option(1000, f"Random splits, for the rules mle and map, in steps of {BLOCK}.")
    posterior_splits: int = option(100, f"How many of these splits all rules get, in steps of {BLOCK}.")
    problems: str = option("", "Problems, comma-separated; all fifteen by default.")
    largest: int = option(SIZES[-1], "Largest training size.")
    seed: int = option(0, "Random seed.")


def tabulate(settings: Settings, each: Each) -> pd.DataFrame:
    """Return the metrics' means over the splits, with standard errors, by part, problem, size, model and rule.

    `undefined` is the share of splits in which the rule had no answer: for logistic regression under mle, those whose
    training rows are separable. `infinite` is the share of the others whose log loss is infinite, which its mean leaves
    out. `lead` is how much larger the error of logistic regression is, paired by block of splits; `crossing` the number
    of rows from which on it stays smaller.
    """
    names = at_hand(settings.problems)
    splits = settings.splits, settings.posterior_splits
    if settings.splits < 2 * BLOCK or any(count % BLOCK for count in splits):
        raise InputError(f"splits come by {BLOCK}, at least {2 * BLOCK} of them, posterior splits too, not {splits}")
    if settings.largest < SIZES[0]:
        raise InputError(f"the largest size must be at least {SIZES[0]} rows, not {settings.largest}")
    records = each([(problem, start) for start in range(0, settings.splits, BLOCK) for problem in names])
    averaged = records.loc[records["rule"] == "bayes-optimal", "block"].unique()
    parts = {ALL: records, SHARED: records[records["block"].isin(averaged)]}
    table = pd.concat([_averages(own).assign(part=part) for part, own in parts.items()], ignore_index=True)
    table = table.merge(paired(records), on=["problem", "rule", "m"], how="left")
    return in_order(table, ["part", "problem", "m"], part=parts, problem=PROBLEMS)


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return, for each size, model and rule, sums over the splits of a block."""
    problem, first = str(unit[0]), int(unit[1])
    encoded = load(problem)
    sizes = sizes_of(encoded, [size for size in SIZES if size <= settings.largest], MOST_TEST)
    averaged = {*sizes[::2], sizes[-1]}
    found: dict[tuple[int, str, str], list[list[float] | None]] = {}
    block = range(first, first + BLOCK)
    for split, own in zip(block, seed.spawn(len(block)), strict=True):
        rng = np.random.default_rng(own)
        train, test = split_rows(encoded, rng, MOST_TEST)
        for size, (model, learn) in product(sizes, LEARNERS.items()):
            every = split < settings.posterior_splits and size in averaged
            rules = PLUG_IN + (AVERAGED + ("tempered",) * (model == "nb")) * every
            rows, fit_seed = train[:size], int(rng.integers(2**31))
            scored = score(learn(encoded, rows), encoded, rows, test, rules, fit_seed)
            for rule, found_scores in scored.items():
                values = None if isinstance(found_scores, str) else list(mean_scores(found_scores).values())
                found.setdefault((size, model, rule), []).append(values)
    return [
        {"problem": problem, "block": first, "m": size, "model": model, "rule": rule, **_sums(values)}
        for (size, model, rule), values in found.items()
    ]


def answer(settings: Settings, table: pd.DataFrame) -> tuple[str, ...]:
    """Say on how many problems the paper's claim holds, and what averaging does to log loss."""
    claims = summary(settings, table)
    holds = claims["ahead with few"] & ~claims["ahead with many"]
    headline = (
        f"Under map, the paper's claim holds on {holds.sum()} of {counted(len(claims), 'problem')}: naive Bayes "
        "clearly ahead with few rows, logistic regression ahead or level with many."
    )
    gains = (averaging(table[table["part"] == SHARED], model) for model in MODELS)
    return headline, *gains, *tempering(table[table["part"] == SHARED]), *left_out(settings.problems, claims["problem"])


def summary(settings: Settings, table: pd.DataFrame) -> pd.DataFrame:
    """Return, for each problem, both errors under map at both ends, the crossings, and where naive Bayes is ahead."""
    lines = []
    for problem, own in table[table["part"] == ALL].groupby("problem", sort=False):
        at: Any = own[own["rule"] == "map"].set_index(["model", "m"])
        line: Record = {"problem": problem}
        for words, rows in (("few", at.loc["nb"].index[0]), ("many", at.loc["nb"].index[-1])):
            line |= {f"{words} rows": rows}
            line |= {f"{name}, {words}": percent(at.loc[(model, rows), "error"]) for model, name in MODELS.items()}
        first = own[own["crossing"].notna() & (own["rule"] != "mle")].groupby("rule", sort=False).first()
        line |= {f"crossing, {rule}": number(rows, 0) for rule, rows in first["crossing"].items()}
        few, many = ahead(at.loc["nb"])
        lines.append(line | {"ahead with few": few, "ahead with many": many})
    return pd.DataFrame(lines)


def figure(settings: Settings, table: pd.DataFrame) -> Figure:
    """Return the errors of both models under map, and of naive Bayes under tempered."""
    names: pd.Series = table["model"].map(MODELS) + np.where(table["rule"] == "tempered", ", tempered", "")
    shown = table.assign(name=names)[(table["part"] == ALL) & table["rule"].isin(["map", "tempered"])]
    draw = partial(curves, shown, "problem", "name", "error", labels=("", "error"), common=False)
    caption = f"Bands are one standard error of the mean over splits. T is learned from {LEAST_ROWS} rows or more."
    return Figure("Test error under map, and under tempered, against training rows", caption, draw)


def _sums(splits: Sequence[Sequence[float] | None]) -> Record:
    """Return sums of the metrics and their squares over splits; `infinite` counts the log losses left out."""
    values = np.array([split for split in splits if split is not None]).reshape(-1, len(METRICS))
    infinite = ~np.isfinite(values)
    finite = np.where(infinite, 0.0, values)
    names = [*METRICS, *(f"{metric}_2" for metric in METRICS)]
    sums = np.concatenate([finite.sum(axis=0), (finite**2).sum(axis=0)])
    return {
        "splits": len(splits),
        "answered": len(values),
        "infinite": int(infinite.any(axis=1).sum()),
        **{name: float(f"{value:.10g}") for name, value in zip(names, sums, strict=True)},
    }


def _averages(records: pd.DataFrame) -> pd.DataFrame:
    """Return means over the splits with standard errors, from the sums over blocks."""
    keys = ["problem", "m", "model", "rule"]
    sums = records.drop(columns="block").groupby(keys, sort=False).sum().reset_index()
    table = sums[[*keys, "splits"]].copy()
    answered = sums["answered"]
    table["undefined"] = 1 - answered / sums["splits"]
    table["infinite"] = sums["infinite"] / answered
    for metric in METRICS:
        count = answered - sums["infinite"] if metric == "log_loss" else answered
        mean = sums[metric] / count
        variance = (sums[f"{metric}_2"] / count - mean**2).clip(lower=0) * count / (count - 1)
        table[metric], table[f"{metric}_se"] = mean, np.sqrt(variance / count)
    return table


def paired(records: pd.DataFrame) -> pd.DataFrame:
    """Return, by problem, rule and m, error(lr) − error(nb) paired by block, and where the rule's curves cross."""
    found = []
    for (problem, rule), own in records.groupby(["problem", "rule"], sort=False):
        errors = own.assign(mean=own["error"] / own["answered"].where(own["answered"] > 0))
        wide = errors.pivot_table(index="block", columns=["model", "m"], values="mean", dropna=False)
        if not set(MODELS) <= set(wide.columns.get_level_values("model")):
            continue
        lead = wide["lr"] - wide["nb"]
        answered = lead.notna().all()
        about = {"problem": problem, "rule": rule, "m": lead.columns, "lead": lead.mean()}
        about["lead_se"] = lead.std(ddof=1) / np.sqrt(lead.count())
        if answered.any():
            sizes = lead.columns[answered].to_numpy(dtype=float)
            about["crossing"] = last_crossing(sizes, -lead[lead.columns[answered]].mean().to_numpy())
        found.append(pd.DataFrame(about))
    return pd.concat(found, ignore_index=True)


def ahead(curve: pd.DataFrame) -> tuple[bool, bool]:
    """Return whether naive Bayes is clearly ahead at one of the smaller sizes, before the crossing, and at the last."""
    z = (curve["lead"] / curve["lead_se"].where(curve["lead_se"] > 0)).fillna(0.0).to_numpy()
    few = (np.arange(len(curve)) < (len(curve) + 1) // 2) & (curve.index < curve["crossing"].iloc[0])
    clear = [float(stats.norm.isf(CLEAR / (2 * max(sizes, 1)))) for sizes in (int(few.sum()), 1)]
    return bool((z[few] > clear[0]).any()), bool(z[-1] > clear[1])


def _log_losses(table: pd.DataFrame, model: str, *rules: str) -> pd.DataFrame:
    """Return a model's log loss by problem and size (row) and rule (column), where all rules have a finite one."""
    own = table[(table["model"] == model) & (table["infinite"] == 0)]
    return own.pivot_table(index=["problem", "m"], columns="rule", values="log_loss").reindex(columns=rules).dropna()


def averaging(table: pd.DataFrame, model: str) -> str:
    """Say what averaging does to a model's log loss, over all problems and sizes for which every rule was run."""
    wide = _log_losses(table, model, "map", "mean", "bayes-optimal")
    if wide.empty:
        return f"{first_upper(MODELS[model])} was not run under every rule."
    smoothing, gain = (float((wide["map"] - wide[rule]).mean()) for rule in ("mean", "bayes-optimal"))
    return (
        f"{first_upper(MODELS[model])}: bayes-optimal has a smaller log loss than map at "
        f"{percent(float((wide['bayes-optimal'] < wide['map']).mean()))} of the {len(wide)} pairs of a problem and a "
        f"training size. The log loss is smaller by {number(gain)} nats on average, by {number(smoothing)} from map "
        f"to mean (smoothing) and by {number(gain - smoothing)} from mean to bayes-optimal (averaging)."
    )


def tempering(table: pd.DataFrame) -> tuple[str, ...]:
    """Say what a temperature adds to averaging in the log loss of naive Bayes, where rows are enough to learn it."""
    wide = _log_losses(table[table["m"] >= LEAST_ROWS], "nb", "tempered", "bayes-optimal")
    gain = wide["bayes-optimal"] - wide["tempered"]
    told = (
        f"Naive Bayes: tempered has a smaller log loss than bayes-optimal at {percent(float((gain > 0).mean()))} of "
        f"the {len(gain)} pairs with at least {LEAST_ROWS} rows. Its mean gain is {number(float(gain.mean()))} nats."
    )
    return (told,) * bool(len(gain))


@dataclass(frozen=True)
class Problem:
    """One problem: which rows and columns of which data set.

    Attributes
    ----------
    dataset
        Name of the data set.
    kind
        ``"number"`` or ``"category"``: the kind of its columns; ordinal numbers become categories.
    classes
        The classes whose rows are used; empty for all.
    of_kind
        Whether columns of the other kind are left out.
    """

    dataset: str
    kind: str
    classes: tuple[str, ...] = ()
    of_kind: bool = False


PROBLEMS = {
    "pima": Problem("pima", "number"),
    "adult": Problem("adult", "number", of_kind=True),
    "boston": Problem("boston", "number"),
    "optdigits-0-1": Problem("optdigits", "number", classes=("0", "1")),
    "optdigits-2-3": Problem("optdigits", "number", classes=("2", "3")),
    "ionosphere": Problem("ionosphere", "number"),
    "liver": Problem("bupa", "number"),
    "sonar": Problem("sonar", "number"),
    "adult-discrete": Problem("adult", "category", of_kind=True),
    "promoters": Problem("promoters", "category"),
    "lymphography": Problem("lymphography", "category", classes=("malign_lymph", "metastases")),
    "breast-cancer": Problem("breast_cancer_ljubljana", "category"),
    "lenses": Problem("lenses", "category", classes=("hard", "soft")),
    "sick": Problem("sick", "category", of_kind=True),
    "votes": Problem("votes", "category"),
}
"""The problems in the order of the figure; the paper does not say which rows, columns or classes it used."""

NOT_SHIPPED = ("pima", "boston")
"""Problems whose tables the package does not have: their license is not clear."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """Encoded rows.

    Attributes
    ----------
    kind
        ``"number"`` or ``"category"``.
    X
        Numbers (row, feature), or level codes with −1 where a cell is missing.
    y
        Label codes (row).
    labels
        Names of the classes.
    features
        Names of the columns.
    levels
        Levels of each column; empty for numbers.
    """

    kind: str
    X: NDArray[Any]
    y: Integers
    labels: tuple[str, ...]
    features: tuple[str, ...]
    levels: tuple[tuple[Hashable, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.y)


def problems(words: str) -> list[str]:
    """Return the problems of a comma-separated list, all where it is empty, if all of them are known."""
    names = [name.strip() for name in words.split(",")] if words.strip() else list(PROBLEMS)
    return named("problem", names, PROBLEMS)


def at_hand(words: str) -> list[str]:
    """Return the problems of a comma-separated list whose tables can be loaded, or raise where there is none."""
    names, reasons = [], []
    for name in problems(words):
        try:
            if name in NOT_SHIPPED:
                load(name)
            names.append(name)
        except InputError as reason:
            reasons.append(reason)
    if not names:
        raise reasons[0]
    return names


def left_out(words: str, answered: Collection[str]) -> tuple[str, ...]:
    """Say which problems of a comma-separated list were left out, if any; `answered` are those that were not."""
    names = [name for name in problems(words) if name not in set(answered)]
    remedy = "put them into a folder that BAYESCLF_DATA names, or connect to openml.org"
    return (f"Left out, because the tables do not ship with bayesclf: {joined(names)}; {remedy}.",) * bool(names)


@lru_cache(maxsize=4)
def load(name: str) -> Encoded:
    """Return the rows of a problem, or raise `InputError` if its data set is not available."""
    problem = PROBLEMS[problems(name)[0]]
    try:
        table = datasets.load(problem.dataset)
    except InputError as reason:
        raise InputError(f"the problem {name} is not available: {reason}") from None
    y = np.asarray(table.y).astype(str)
    kept = np.isin(y, problem.classes) if problem.classes else np.ones(len(y), dtype=bool)
    frame = table.frame.drop(columns=table.target)[kept]  # a constant column, too
    wanted = tuple(str(name) for name in frame if not problem.of_kind or columns.kind_of(frame[name]) == problem.kind)
    frame = frame[list(wanted)]
    labels, y = np.unique(y[kept], return_inverse=True)
    about = tuple(labels.tolist()), wanted
    if problem.kind == "number":
        return Encoded("number", columns.numbers(frame, wanted), y.astype(np.intp), *about)
    frame = frame.astype("str").where(frame.notna())
    levels = tuple(columns.levels_of(frame[name], "ignore") for name in wanted)
    return Encoded("category", columns.codes(frame, wanted, levels), y.astype(np.intp), *about, levels)


def split_rows(encoded: Encoded, rng: np.random.Generator, most_test: int) -> tuple[Integers, Integers]:
    """Return training rows in the order in which sizes take them, and test rows: a third, at most `most_test`.

    The first training rows are of different classes, so that every size has as many classes as possible.
    """
    order = rng.permutation(len(encoded))
    n_test = min(max(1, len(encoded) // 3), most_test)
    test, train = order[:n_test], order[n_test:]
    for place in range(1, len(encoded.labels)):
        new = np.flatnonzero(~np.isin(encoded.y[train], encoded.y[train[:place]]))
        if not new.size:
            break
        train[[place, new[0]]] = train[[new[0], place]]
    return train, test


def sizes_of(encoded: Encoded, sizes: Sequence[int], most_test: int) -> tuple[int, ...]:
    """Return the training sizes that the rows allow, ending with all of the training rows or the largest size."""
    available = len(encoded) - min(max(1, len(encoded) // 3), most_test)
    kept = [size for size in sizes if size < available]
    return (*kept, available) if len(kept) < len(sizes) else tuple(kept)


type Learned[M] = tuple[M, Callable[[Integers], Rows]]
"""A model of training rows, and the encoding of other rows for it."""


def naive_bayes(encoded: Encoded, train: Integers, variance: str = "feature") -> Learned[GenerativeModel]:
    """Return naive Bayes: Dirichlet priors for categories, and normal-inverse-gamma for numbers.

    Parameters
    ----------
    encoded, train
        The problem, and which rows are learned from.
    variance
        Variance structure of numbers, as in `GaussianNB`.
    """
    labels, y = encoded.labels, encoded.y[train]
    family: Family[Any] = Gaussian(variance) if encoded.kind == "number" else Categorical()
    every = family.statistics(encoded.X[train], y, Axes(labels, encoded.features, encoded.levels))
    keep = family.informative(every)
    statistics = every.select(keep)
    blocks = (Block(family.resolve_prior(statistics), statistics),) if keep.any() else ()

    def encode(rows: Integers) -> Rows:
        """Return the rows' cells in the features that are kept."""
        return Rows((encoded.X[rows][:, keep],) if blocks else (), len(rows))

    counts = np.bincount(y, minlength=len(labels)).astype(float)
    return GenerativeModel(labels, LearntClassPrior(np.ones(len(labels))), counts, blocks), encode


def logistic(encoded: Encoded, train: Integers, prior: LogisticPrior = PRIOR) -> Learned[LogisticModel]:
    """Return logistic regression, with a symmetric prior per sd of a column; arguments as in `naive_bayes`."""
    weight, are_numbers = np.ones(len(train)), encoded.kind == "number"

    def encode(rows: Integers) -> Rows:
        """Return the rows' numbers and level codes."""
        cells, none = encoded.X[rows], np.empty((len(rows), 0), dtype=np.intp if are_numbers else float)
        return Rows((cells, none) if are_numbers else (none, cells), len(rows))

    training = encode(train)
    if are_numbers:
        known = tuple(Column(name, "number") for name in encoded.features)
    else:
        known = tuple(Column(name, "category", own) for name, own in zip(encoded.features, encoded.levels, strict=True))
    design = LogisticDesign.fit(training.parts[0], weight, known)
    return LogisticModel(encoded.labels, design, design.matrix(training), encoded.y[train], weight, prior), encode


LEARNERS: dict[str, Callable[[Encoded, Integers], Learned[Any]]] = {"nb": naive_bayes, "lr": logistic}
"""The two models, by their name in the records."""


@dataclass
class Sources:
    """The hypotheses of one model by source, each inferred on first use."""

    CHAINS, DRAWS = 2, 250
    """Size of a posterior: the Monte Carlo error of an averaged probability is then about 1/20 of its posterior sd."""

    model: Model
    seed: int
    training: tuple[Rows, Integers] | None = None
    _found: dict[str, Parameters] = field(default_factory=dict, init=False)

    def __call__(self, source: str) -> Hypotheses:
        """Return the hypotheses of a source, or raise `DoesNotExist`."""
        if source == "tempered":
            return self._tempered()
        if source not in self._found:
            self._found[source] = self._infer(source)
        return Hypotheses(self.model, self._found[source])

    def _infer(self, source: str) -> Parameters:
        if source in PLUG_IN:
            return inference.estimate(self.model, source)
        if source == "posterior":
            return self._posterior()
        if isinstance(self.model, GenerativeModel):
            return self.model.mean()
        return {name: values.mean(axis=0, keepdims=True) for name, values in self("posterior").parameters.items()}

    def _tempered(self) -> TemperedHypotheses:
        """Return values of T and b, learned from the training rows, each left out in turn."""
        assert self.training is not None
        model: Any = self.model
        rows, y = self.training
        left = LeftOut.of(model, rows, y, np.ones(len(y)))
        if left is None or not left.learned:
            raise Refused(f"T needs at least {LEAST_ROWS} training rows")
        rng = np.random.default_rng(self.seed)
        proposals = laplace.propose(left, 4 * self.DRAWS, rng)
        chosen = laplace.systematic(proposals.weight, self.CHAINS * self.DRAWS, rng)
        return TemperedHypotheses(model, {name: values[chosen] for name, values in proposals.parameters.items()})

    def _posterior(self) -> Parameters:
        """Return draws: exact, else by importance-weighted Laplace where its check allows it, else by NUTS."""
        if not self.model.not_conjugate():
            drawn = inference.draw(self.model, Exact(self.DRAWS, self.CHAINS), self.seed)
            assert drawn is not None
            return drawn.parameters
        assert isinstance(self.model, LogisticModel)
        with contextlib.suppress(Refused):
            return laplace.sample(self.model, Laplace(self.DRAWS, self.CHAINS), self.seed)[0]
        engine = NUTS(draws=self.DRAWS, chains=self.CHAINS)
        return inference.joined(nuts.sample_machine_code(self.model.density(), engine, self.seed).draws)


def score(
    learned: Learned[Any], encoded: Encoded, train: Integers, test: Integers, rules: Sequence[str], seed: int
) -> dict[str, RowScores | str]:
    """Score a model of training rows on the test rows, under each rule; for a rule that cannot answer, say why."""
    model, encode = learned
    sources = Sources(model, seed, (encode(train), encoded.y[train]))
    return cross_validation.score_rules(sources, seed, encode(test), encoded.y[test], rules)


def mean_scores(scores: RowScores) -> dict[str, float]:
    """Return the metrics, in the order of `METRICS`, as means over the test rows."""
    error = float(scores.error.mean())
    confidence = float(np.exp(scores.log_proba.max(axis=1)).mean())
    means = (error, float(scores.log_loss.mean()), float(scores.brier.mean()), confidence - (1 - error))
    return dict(zip(METRICS, means, strict=True))
