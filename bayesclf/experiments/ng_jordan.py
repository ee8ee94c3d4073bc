"""Ng & Jordan's Figure 1: test error of naive Bayes and logistic regression against the number of training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy import stats

from bayesclf.errors import InputError
from bayesclf.experiments import curves, nested, problems
from bayesclf.experiments.curves import METRIC_NAMES, MODELS, SHARED_ROWS, Crossing, in_order
from bayesclf.experiments.experiment import Drawing, Figure, Record, Results, Section, Unit, option
from bayesclf.experiments.problems import PROBLEMS
from bayesclf.models.logistic.model import LogisticPrior
from bayesclf.plots import learning_curve, style
from bayesclf.wording import counted, joined, number, percent

NAME = "ng-jordan"

QUESTION = "From how many training rows on is logistic regression better than naive Bayes, under each rule?"

BACKGROUND = (
    "Ng and Jordan (On discriminative vs. generative classifiers, NIPS 14, 2002) compared naive Bayes and logistic "
    "regression on 15 tables of the UCI repository. Both draw the same kind of boundary between two classes, where "
    "the variances of naive Bayes are shared, but naive Bayes models how the columns arise in each class "
    "(generative), and logistic regression only how the class depends on the columns (discriminative).",
    "Their theory: logistic regression has the smaller error in the limit of many rows, as it needs no independence "
    "of the columns, while naive Bayes approaches its own limit with far fewer rows. So the curves of test error "
    "against training rows should cross. Here the tables are split at random many times into training and test rows.",
    "A rule says how the parameters answer. Two rules take one estimate, as the paper did: the maximum likelihood "
    "estimate (mle), or the mode of the posterior (map). The rule “mean” takes the posterior mean of the parameters, "
    "“bayes-optimal” averages the class probabilities over the posterior, “predictive” (naive Bayes only) averages "
    "with the new row as further evidence, and “gibbs” takes the parameters of one random draw.",
)

SIZES = (4, 6, 9, 13, 20, 30, 45, 70, 100, 150, 225, 350, 500, 750, 1000)
"""Training sizes, as far as a problem has rows; rules that need a posterior take every other one, and the largest."""

BLOCK = 10
"""Splits in one unit of work."""

MOST_TEST = 1000
"""Test rows of a split."""

CLEAR = 0.05
"""Probability, over all sizes that are tested, that equal curves are called different."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment.

    Logistic regression has normal weights of sd `prior_scale` per sd of a column, and an intercept of sd twice that.
    """

    splits: int = option(1000, f"Random splits, for the rules mle and map, in steps of {BLOCK}.")
    posterior_splits: int = option(100, f"How many of these splits all rules get, in steps of {BLOCK}.")
    problems: str = option(",".join(PROBLEMS), "Problems, comma-separated.")
    largest: int = option(SIZES[-1], "Largest training size.")
    prior_scale: float = option(5.0, "Prior sd of a logistic weight per sd of its column.")
    variance: str = option("feature", "Variance structure of naive Bayes on numbers.")
    seed: int = option(0, "Random seed.")


def units(settings: Settings) -> Sequence[Unit]:
    """Return (problem, first split) by blocks of splits; those that need a posterior take longest and are first."""
    names = problems.at_hand(settings.problems, PROBLEMS)
    splits = settings.splits, settings.posterior_splits
    if settings.splits < 2 * BLOCK or any(count % BLOCK for count in splits):
        raise InputError(f"splits come by {BLOCK}, at least {2 * BLOCK} of them, posterior splits too, not {splits}")
    if settings.largest < SIZES[0]:
        raise InputError(f"the largest size must be at least {SIZES[0]} rows, not {settings.largest}")
    starts = range(0, settings.splits, BLOCK)
    return [(problem, start) for start in starts for problem in names]


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return, for each size, model and rule, sums over the splits of a block."""
    problem, first = str(unit[0]), int(unit[1])
    encoded = problems.load(problem)
    sizes = nested.sizes_of(encoded, [size for size in SIZES if size <= settings.largest], MOST_TEST)
    averaged = {*sizes[::2], sizes[-1]}
    prior = LogisticPrior(prior_scale=settings.prior_scale, intercept_scale=2 * settings.prior_scale)
    found: dict[tuple[int, str, str], list[list[float] | None]] = {}
    block = range(first, first + BLOCK)
    for split, own in zip(block, seed.spawn(len(block)), strict=True):
        rng = np.random.default_rng(own)
        train, test = nested.split(encoded, rng, MOST_TEST)
        learners: dict[str, nested.Learner] = {
            "nb": nested.NaiveBayes(encoded, settings.variance),
            "lr": nested.Logistic(encoded, prior),
        }
        for size, model, learner in nested.growing(learners, train, sizes):
            every = split < settings.posterior_splits and size in averaged
            rules = nested.PLUG_IN + (nested.AVERAGED if every else ())
            scored = nested.answers(learner, encoded, test, rules, int(rng.integers(2**31)))
            for rule, answer in scored.items():
                values = None if isinstance(answer, str) else list(nested.metrics(answer).values())
                found.setdefault((size, model, rule), []).append(values)
    return [
        {"problem": problem, "block": first, "m": size, "model": model, "rule": rule, **_sums(values)}
        for (size, model, rule), values in found.items()
    ]


def _sums(splits: Sequence[Sequence[float] | None]) -> Record:
    """Return sums over splits of the metrics, None for a split that a rule could not answer, and of their squares.

    `infinite` counts the splits whose log loss is infinite, which its sums leave out.
    """
    values = np.array([split for split in splits if split is not None]).reshape(-1, len(METRIC_NAMES))
    infinite = ~np.isfinite(values)
    finite = np.where(infinite, 0.0, values)
    sums = dict(zip(METRIC_NAMES, finite.sum(axis=0), strict=True))
    squares = {f"{metric}_2": value for metric, value in zip(METRIC_NAMES, (finite**2).sum(axis=0), strict=True)}
    return {
        "splits": len(splits),
        "answered": len(values),
        "infinite": int(infinite.any(axis=1).sum()),
        **{name: float(f"{value:.10g}") for name, value in (sums | squares).items()},
    }


def summarise(settings: Settings, records: pd.DataFrame) -> pd.DataFrame:
    """Return the metrics' means over the splits, with standard errors, by problem, size, model and rule.

    `undefined` is the share of splits in which the rule had no answer: for logistic regression under mle, those whose
    training rows are separable. `infinite` is the share of the others whose log loss is infinite, which its mean leaves
    out.
    """
    keys = ["problem", "m", "model", "rule"]
    sums = records.drop(columns="block").groupby(keys, sort=False).sum().reset_index()
    table = sums[[*keys, "splits"]].copy()
    answered = sums["answered"]
    table["undefined"] = 1 - answered / sums["splits"]
    table["infinite"] = sums["infinite"] / answered
    for metric in METRIC_NAMES:
        count = answered - sums["infinite"] if metric == "log_loss" else answered
        mean = sums[metric] / count
        variance = (sums[f"{metric}_2"] / count - mean**2).clip(lower=0) * count / (count - 1)
        table[metric], table[f"{metric}_se"] = mean, np.sqrt(variance / count)
    return in_order(table, ["problem", "m"], problem=PROBLEMS)


def present(settings: Settings, records: pd.DataFrame, table: pd.DataFrame) -> Results:
    """Say which problems agree with the paper's claims, and show the curves."""
    found = crossings(records, settings.seed)
    shared = summarise(settings, with_every_rule(records))
    names = [str(problem) for problem in dict.fromkeys(table["problem"])]
    maps = {problem: found[problem, "map"] for problem in names if (problem, "map") in found}
    judged = [judge(problem, records, where, settings.largest) for problem, where in maps.items()]
    agree = [judgement.problem for judgement in judged if judgement.agrees]
    never = [judgement.problem for judgement in judged if np.isinf(judgement.crossing.m)]
    headline = (
        f"Under map, the paper's claim holds on {len(agree)} of {counted(len(judged), 'problem')}: naive Bayes clearly "
        "ahead with few rows, logistic regression ahead or level with many."
    )
    findings = [CLAIM, *problems.left_out(settings.problems, PROBLEMS, names)]
    if never:
        findings.append(f"Logistic regression is not ahead at the largest training size on {joined(never)}.")
    findings += averaging(shared)
    pairing = (
        f"Naive Bayes takes tables of numbers with normal distributions (GaussianNB with variance="
        f"{settings.variance!r}), and tables of categories with a Dirichlet(2) prior, under which map is Laplace's "
        "rule. Logistic regression has normal priors, with a standard deviation of "
        f"{settings.prior_scale:g} per standard deviation of a column. Both have the same splits and the same nested "
        "training sets, in which one row of each class comes first. Rules other than mle and map are run at every "
        "other training size and at the largest."
    )
    errors, log_losses, confidence = (
        curve_figures(table, shared, names, metric) for metric in ("error", "log_loss", "overconfidence")
    )
    sections = (
        Section("Error against training rows", (pairing,), errors),
        Section("Problem by problem", (PROBLEMS_TEXT, *(judgement.sentence for judgement in judged))),
        Section("Log loss and calibration", LOSS_TEXT, log_losses + confidence),
        Section("Separable splits", SEPARABLE_TEXT, separable_figures(table)),
        Section("Where the curves cross", CROSSING_TEXT, (), crossing_table(found)),
    )
    return Results(headline, tuple(findings), CAUTIONS, sections)


CLAIM = (
    "The paper's claim: naive Bayes is ahead with few rows, and logistic regression overtakes it, or draws level, as "
    "rows are added; where it does not, the data set is small. Few rows are here the smaller half of the training "
    "sizes. Clearly ahead means that the paired difference of the errors is significant at the level of "
    f"{100 * CLEAR:g} %, divided by the number of sizes that are looked at (Bonferroni)."
)

CAUTIONS = (
    "The paper does not say which rows, columns and classes it used, nor how its logistic regression was regularized; "
    "compare the shape of curves, not their third digit.",
    SHARED_ROWS,
)

PROBLEMS_TEXT = (
    "Errors are given at the smallest and at the largest training size. Numbers of rows in parentheses are the 5 % and "
    "95 % quantiles of a bootstrap over blocks of splits. Agreement is judged at all of the smaller sizes, not at the "
    "smallest alone."
)

LOSS_TEXT = (
    "Log losses are in nats per test row, as means over the splits whose log loss is finite; the column `infinite` of "
    "table.csv has the share of the others. Over-confidence is the mean probability of the predicted class minus the "
    "accuracy: above 0 the classifier is over-confident.",
)

SEPARABLE_TEXT = (
    "Where a hyperplane separates the classes of the training rows, be it with rows of both classes on it, the maximum "
    "likelihood estimate of logistic regression does not exist. Its curve under mle is over the other splits.",
)

CROSSING_TEXT = (
    "The table has the number of training rows m from which on logistic regression stays ahead in error, interpolated "
    "in log m between the training sizes, with the 5 % and 95 % quantiles of a bootstrap over blocks of splits. It is "
    "infinite where logistic regression is not ahead at the largest size. Rules that need a posterior have fewer "
    "splits by default, which makes their intervals wider; a single block of splits gives no interval.",
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
        Where logistic regression starts to stay ahead.
    sentence
        The comparison in words.
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


def crossings(records: pd.DataFrame, seed: int) -> dict[tuple[str, str], Crossing]:
    """Return, by problem and rule, from which size on the error of logistic regression stays below naive Bayes'."""
    found = {}
    for (problem, rule), own in records.groupby(["problem", "rule"], sort=False):
        wide = block_means(own)
        if not {"nb", "lr"} <= set(wide.columns.get_level_values("model")):
            continue
        sizes = wide["nb"].columns.to_numpy(dtype=float)
        difference = wide["nb"].to_numpy() - wide["lr"].to_numpy()
        answered = ~np.isnan(difference).any(axis=0)
        if answered.any():
            rng = np.random.default_rng(seed)
            found[str(problem), str(rule)] = curves.crossing(sizes[answered], difference[:, answered], rng)
    return found


def block_means(records: pd.DataFrame) -> pd.DataFrame:
    """Return the mean error over the splits of each block: one row per block, columns (model, m)."""
    means = records.assign(mean=records["error"] / records["answered"].where(records["answered"] > 0))
    return means.pivot_table(index="block", columns=["model", "m"], values="mean", dropna=False)


def paired(records: pd.DataFrame, problem: str, rule: str) -> pd.DataFrame:
    """Return error(nb) − error(lr) by size: columns `nb`, `lr`, `difference` and its standard error `se`."""
    wide = block_means(records[(records["problem"] == problem) & (records["rule"] == rule)])
    difference = wide["nb"] - wide["lr"]
    error = difference.std(ddof=1) / np.sqrt(difference.count())
    columns = {"nb": wide["nb"].mean(), "lr": wide["lr"].mean(), "difference": difference.mean(), "se": error}
    return pd.DataFrame(columns)


def judge(problem: str, records: pd.DataFrame, crossing: Crossing, largest: int) -> Judgement:
    """Compare one problem with the claim, under map; `largest` is the maximum training size."""
    curve = paired(records, problem, "map")
    z = (curve["difference"] / curve["se"].where(curve["se"] > 0)).fillna(0.0)
    few = (np.arange(len(curve)) < (len(curve) + 1) // 2) & (curve.index < crossing.m)
    ahead = bool((z[few] < -_clear(int(few.sum()))).any())
    behind = bool(z.iloc[-1] < -_clear(1))
    first, last = curve.index[0], curve.index[-1]
    few_rows, many_rows = ([percent(curve[model].iloc[place]) for model in MODELS] for place in (0, -1))
    errors = f"err in {joined(few_rows)}, with {last} in {joined(many_rows)}"
    sizes = f"with {first} rows naive Bayes and logistic regression {errors}"
    if np.isinf(crossing.m):
        where = "logistic regression is not ahead at the largest size"
    elif crossing.m <= first:
        where = "logistic regression is ahead from the smallest size on"
    else:
        span = f"{number(crossing.low, 0)} to {number(crossing.high, 0)}"
        where = f"logistic regression stays ahead from {crossing.m:.0f} rows on ({span})"
    small = ", which the paper expects of small data sets" if last < largest else ""
    verdict = {
        (True, False): "in agreement with the paper",
        (True, True): f"naive Bayes is clearly ahead at the largest size too{small}",
        (False, False): "unlike the paper's claim, naive Bayes has no clear lead with few rows",
        (False, True): f"naive Bayes has no clear lead with few rows, but has one at the largest size{small}",
    }[ahead, behind]
    return Judgement(problem, ahead, behind, crossing, f"{problem}: {sizes}; {where}: {verdict}.")


def _clear(sizes: int) -> float:
    """Return how many standard errors make a difference clear, for the largest difference among this many sizes."""
    return float(stats.norm.isf(CLEAR / (2 * max(sizes, 1))))


def averaging(table: pd.DataFrame) -> list[str]:
    """Say what averaging does to log loss, over all problems, sizes and splits for which every rule was run."""
    sentences = []
    for model, name in MODELS.items():
        own = table[(table["model"] == model) & (table["infinite"] == 0)]
        wide = own.pivot_table(index=["problem", "m"], columns="rule", values="log_loss")
        if not {"map", "mean", "bayes-optimal"} <= set(wide.columns):
            continue
        wide = wide.dropna(subset=["map", "mean", "bayes-optimal"])
        share = percent(float((wide["bayes-optimal"] < wide["map"]).mean()))
        smoothing = float((wide["map"] - wide["mean"]).mean())
        averaging = float((wide["mean"] - wide["bayes-optimal"]).mean())
        sentences.append(
            f"{curves.capital(name)}: bayes-optimal has a smaller log loss than map at {share} of the {len(wide)} "
            f"pairs of a problem and a training size. The log loss is smaller by {number(smoothing + averaging)} on "
            f"average: by {number(smoothing)} in the step from map to mean (smoothing), and by {number(averaging)} in "
            "the step from mean to bayes-optimal (averaging)."
        )
    return sentences


def with_every_rule(records: pd.DataFrame) -> pd.DataFrame:
    """Return the records of the splits that were answered under every rule, all of them if none was."""
    averaged = records.loc[records["rule"] == "bayes-optimal", "block"].unique()
    return records[records["block"].isin(averaged)] if len(averaged) else records


def curve_figures(table: pd.DataFrame, shared: pd.DataFrame, names: list[str], metric: str) -> tuple[Figure, ...]:
    """Return the curves of one metric: both models under map, then each model under every rule that it answered.

    The latter are over the same splits for all rules, those of the table `shared`.
    """
    label = METRIC_NAMES[metric]
    shown = [
        Figure(
            f"{metric}-map",
            f"Test {label} of naive Bayes and logistic regression under map",
            "One panel per problem, training rows on a log axis, bands of one standard error.",
            partial(curves.by_problem, table[table["rule"] == "map"], names, metric, label),
            "Solid: naive Bayes. Dashed: logistic regression. Bands are one standard error of the mean over splits.",
        )
    ]
    for model, name in MODELS.items():
        own = shared[shared["model"] == model]
        own = own[own["rule"].isin(own.loc[own["undefined"] == 0, "rule"])]  # answered in every split of some size
        if own["rule"].nunique() > 1:
            caption = f"{curves.capital(name)} under every rule, on the same splits."
            shown.append(curves.every_rule(own, names, model, metric, caption))
    return tuple(shown)


def separable_figures(table: pd.DataFrame) -> tuple[Figure, ...]:
    """Return the share of splits without a maximum likelihood estimate of logistic regression, by problem."""
    shares = table[(table["model"] == "lr") & (table["rule"] == "mle")]
    if shares.empty:
        return ()
    text = "One curve per problem: the share of splits whose training rows are linearly separable."
    separable = shares[["m", "rule"]].assign(model=shares["problem"], mean=shares["undefined"])

    def draw() -> Drawing:
        """Draw the shares of separable splits by the number of training rows."""
        return learning_curve(separable, ylabel="share of separable splits", ax=style.axes(None, (7.6, 4.2))[1])

    return (Figure("separable", "Share of separable splits against training rows", text, draw),)


def crossing_table(found: dict[tuple[str, str], Crossing]) -> pd.DataFrame:
    """Return the crossings, one row per problem and rule."""
    lines = [
        {"problem": problem, "rule": rule, "m": where.m, "5 %": where.low, "95 %": where.high}
        for (problem, rule), where in found.items()
        if rule != "mle"
    ]
    return pd.DataFrame(lines)
