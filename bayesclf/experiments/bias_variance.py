"""How much of a classifier's error is bias, which any number of training sets would leave, and how much variance?

A classifier that is fitted to another training set gives other answers. Its expected loss has three parts: noise, which
the best possible predictions have too; bias, by which the typical answer is worse than that; and variance, which comes
from answering by one training set. The textbooks argue that naive Bayes, with its wrong assumptions, has more bias and
less variance than logistic regression (Mitchell, draft chapter Generative and Discriminative Classifiers, 2010, section
5; Wehbe's lecture on it). For error and log loss the parts are those of Domingos (2000), James (2003) and Heskes
(1998). Training sets are drawn from the three populations of the experiment assumptions, by which of the assumptions of
naive Bayes hold, and from tables, where bias and noise are one part. The variance part of error can be negative: where
the typical answer is wrong, another one may be right.

The typical answer is estimated from the same training sets, so that bias is overstated and variance understated, the
more so on tables, whose training sets share rows. Maximum likelihood has no log loss here, as one probability 0 makes
the geometric mean 0; sets for which it has no estimate are counted in the column “without” of table.csv.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayesclf import rules
from bayesclf.arrays import Array, Integers
from bayesclf.errors import DoesNotExist, InputError
from bayesclf.experiments import ng_jordan
from bayesclf.experiments.assumptions import POPULATIONS
from bayesclf.experiments.ng_jordan import ALL_PROBLEMS, Encoded, at_hand, left_out, load
from bayesclf.experiments.runner import Each, Figure, Record, Unit, curves, in_order, option, seed_of
from bayesclf.models.logistic.model import LogisticPrior
from bayesclf.wording import number, percent

SIZES = (8, 16, 32, 64, 128, 256)
"""Training sizes."""

MODELS = {"gnb": "naive Bayes", "gnb2": "naive Bayes, shared variances", "lr": "logistic regression"}
"""Classifiers; on categories the first two are the same, and only the first is fitted."""

OF_PARAMETERS = tuple(rule.name for rule in rules.RULES.values() if rule.source != "tempered")
RULES = {"gnb": OF_PARAMETERS, "gnb2": OF_PARAMETERS, "lr": ("map", "mean", "bayes-optimal", "gibbs")}
"""Rules of each; logistic regression has no other "predictive", and often no maximum likelihood estimate."""

LOSSES = ("error", "log_loss")

PARTS = ("noise", "bias", "variance")

POINTS = 1024
"""Points of a population at which predictions are compared."""

MOST_TEST = 300
"""Test rows of a table."""

SHOWN = ("map", "bayes-optimal", "gibbs")
"""Rules that are drawn."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    sets: int = option(40, "Training sets of each size.")
    problems: str = option("votes,breast-cancer,ionosphere,sonar", "Tables, comma-separated; those of small-data.")
    largest: int = option(256, "Largest training size.")
    seed: int = option(0, "Random seed.")


def tabulate(settings: Settings, each: Each) -> pd.DataFrame:
    """Return the parts of each expected loss by source, model, rule and m, with their sum."""
    if settings.sets < 2 or settings.largest < SIZES[0]:
        raise InputError(f"there must be at least 2 training sets, and a largest size of at least {SIZES[0]} rows")
    sources = (*POPULATIONS, *at_hand(settings.problems, ALL_PROBLEMS))
    units: list[Unit] = []
    for source in sources:
        table = None if source in POPULATIONS else load(source)
        models = [model for model in MODELS if not (table and table.kind == "category" and model == "gnb2")]
        # Training sets are drawn from two thirds of a table: at half of these, two sets share half of their rows.
        most = min(settings.largest, len(table) // 3) if table else settings.largest
        units += [(source, model, size) for size in SIZES if size <= most for model in models]
    records = each(sorted(units, key=lambda unit: -int(unit[2])))
    found = records.astype(dict.fromkeys(PARTS, float))
    found["expected"] = found[list(PARTS)].sum(axis=1)
    order = ["source", "loss", "model", "rule", "m"]
    return in_order(found, order, source=sources, model=MODELS, rule=rules.RULES, loss=LOSSES)


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the parts of the expected losses of one model at one size, by rule."""
    source, model, size = str(unit[0]), str(unit[1]), int(unit[2])
    # The test points and the training sets are the same for all models, so that their parts are comparable.
    shared = np.random.default_rng(seed_of(settings.seed, (source, size)))
    encoded, test, target, weight, train = _rows(settings, source, size, shared)
    found: dict[str, list[Array]] = {rule: [] for rule in RULES[model]}
    lacking: dict[str, int] = dict.fromkeys(RULES[model], 0)
    seeds = (seed.generate_state(len(train)) % 2**31).tolist()
    for rows, fit_seed in zip(train, seeds, strict=True):
        variance = "feature" if model == "gnb2" else "class-feature"
        learner: ng_jordan.Learner = ng_jordan.NaiveBayes(encoded, variance)
        if model == "lr":
            learner = ng_jordan.Logistic(encoded, LogisticPrior())
        learner.extend(rows)
        made, encode = learner.model()
        hypotheses = ng_jordan.Sources(made, fit_seed)
        for rule in RULES[model]:
            try:
                own = hypotheses(rules.resolve(rule)[0].source)
                found[rule].append(rules.log_proba(rule, own, encode(test), fit_seed))
            except DoesNotExist:
                lacking[rule] += 1
    about = {"source": source, "known": source in POPULATIONS, "m": size, "model": model}
    records: list[Record] = []
    for rule, answers in found.items():
        for loss in LOSSES[: 1 if rule == "mle" else 2] if len(answers) > 1 else ():
            parts = decompose(loss, np.array(answers), target, weight, source in POPULATIONS)
            values = {name: None if np.isnan(value) else value for name, value in vars(parts).items()}
            # an answer of probability 0 has no geometric mean
            if np.isfinite([value for value in values.values() if value is not None]).all():
                records.append({**about, "rule": rule, "loss": loss, **values, "without": lacking[rule]})
    return records


def answer(settings: Settings, table: pd.DataFrame) -> tuple[str, ...]:
    """Say what averaging does to variance and bias with few rows, and what the assumptions leave with many."""
    few = table[(table["m"] == table.groupby("source")["m"].transform("min")) & (table["loss"] == "log_loss")]
    wide = few.pivot_table(index=["source", "model"], columns="rule", values=["bias", "variance"])
    told = []
    for part in ("variance", "bias"):
        less = wide[part, "map"] - wide[part, "bayes-optimal"]
        told.append(f"the {part} falls in {(less > 0).sum()} (median change {number(-less.median())} nats)")
    headline = (
        f"From map to bayes-optimal, with the fewest rows, of {len(wide)} pairs of a population or table and a "
        f"classifier, {' and '.join(told)}, in log loss."
    )
    many = table[table["known"] & (table["rule"] == "bayes-optimal") & (table["loss"] == "error")]
    bias = many[many["m"] == many["m"].max()].set_index(["source", "model"])["bias"]
    said = (f"{name}: {', '.join(f'{own} {percent(bias[name, own])}' for own in MODELS)}" for name in POPULATIONS)
    assumptions = f"Bias of error with the most rows under bayes-optimal, by which assumptions hold: {'; '.join(said)}."
    return headline, assumptions, *left_out(settings.problems, ALL_PROBLEMS, table["source"])


def summary(settings: Settings, table: pd.DataFrame) -> pd.DataFrame:
    """Return the parts at the smallest size."""
    few = table[table["m"] == table.groupby("source")["m"].transform("min")]
    return few[["source", "model", "rule", "m", "loss", *PARTS, "expected"]].round(4)


def figures(settings: Settings, table: pd.DataFrame) -> tuple[Figure, ...]:
    """Return bias and variance of each loss and model against training rows."""
    made = []
    long = table.melt(["source", "loss", "model", "rule", "m"], ["variance", "bias"], "part")
    long = long[long["rule"].isin(SHOWN)].assign(part=long["part"] + ", " + long["rule"])
    for (loss, model), own in long.groupby(["loss", "model"], sort=False):
        draw = partial(curves, own, *("source", "part", "value"), common=False)
        title = f"Bias and variance of {str(loss).replace('_', ' ')}: {MODELS[str(model)]}"
        made.append(Figure(f"{loss}-{model}", title, "On tables the bias includes the noise.", draw))
    return tuple(made)


@dataclass(frozen=True)
class Parts:
    """The parts of an expected loss; they add up to it.

    Attributes
    ----------
    noise
        Of the best predictions; NaN where the population is not known, and bias then holds it too.
    bias
        What the main prediction, which all training sets have in common, loses more.
    variance
        What the prediction after one training set loses more than the main prediction, on average.
    """

    noise: float
    bias: float
    variance: float


def decompose(loss: str, log_proba: Array, target: Array, weight: Array, known: bool) -> Parts:
    """Split an expected loss over training sets and test points.

    For both losses, with prediction q_D after the training set D, main prediction q̄ and best prediction q*,

        E L(y, q_D) = E L(y, q*) + [E L(y, q̄) − E L(y, q*)] + [E L(y, q_D) − E L(y, q̄)].

    Error: the main prediction is the most frequent class, and the last two parts are James's systematic and variance
    effects. Where q̄ is not the best class, variance lowers the error: Domingos's "biased" variance, which counts
    negatively. Log loss: the main prediction is the normalized geometric mean q̄ ∝ exp E log q_D, bias is KL(P, q̄),
    and variance is E KL(q̄, q_D), never negative, whatever the target.

    Parameters
    ----------
    loss
        ``"error"`` or ``"log_loss"``.
    log_proba
        Predictions (set, point, outcome).
    target
        P(y | x), (point, outcome).
    weight
        Of the points, adding up to 1, (point).
    known
        Whether `target` is the population's rather than labels.

    References
    ----------
    Domingos (2000), *A unified bias-variance decomposition*, ICML; James (2003), *Variance and bias for general loss
    functions*, Machine Learning 51; Heskes (1998), *Bias/variance decompositions for likelihood-based estimators*,
    Neural Computation 10.

    Examples
    --------
    >>> import numpy as np
    >>> log_proba = np.log([[[0.9, 0.1]], [[0.8, 0.2]], [[0.3, 0.7]]])  # two of three training sets say the first class
    >>> parts = decompose("error", log_proba, np.array([[0.7, 0.3]]), np.ones(1), known=True)
    >>> print(*(round(part, 4) for part in (parts.noise, parts.bias, parts.variance)))
    0.3 0.0 0.1333
    """
    outcomes = log_proba.shape[2]
    if loss == "error":
        chosen = np.eye(outcomes)[log_proba.argmax(axis=2)].mean(axis=0)
        average = float(weight @ (target * (1 - chosen)).sum(axis=1))
        main = float(weight @ (1 - target[np.arange(len(target)), chosen.argmax(axis=1)]))
        noise = float(weight @ (1 - target.max(axis=1)))
    else:
        mean = log_proba.mean(axis=0)
        shrinkage = logsumexp(mean, axis=1)  # −E KL(q̄, q_D)
        average = float(-weight @ np.where(target > 0, target * mean, 0.0).sum(axis=1))
        main = average + float(weight @ shrinkage)
        noise = float(-weight @ np.where(target > 0, target * np.log(np.maximum(target, 1e-300)), 0.0).sum(axis=1))
    if not known:
        return Parts(np.nan, main, average - main)
    return Parts(noise, main - noise, average - main)


def _rows(
    settings: Settings, source: str, size: int, rng: np.random.Generator
) -> tuple[Encoded, Integers, Array, Array, list[Integers]]:
    """Return rows, which of them are test points, P(y | x) and weight of these, and the rows of each training set."""
    if source in POPULATIONS:
        cells = POPULATIONS[source].cells()
        half = len(cells.x) // 2  # the points of one class, then those of the other, each a Sobol' sequence
        some = np.r_[: POINTS // 2, half : half + POINTS // 2]
        drawn = [POPULATIONS[source].draw(size, rng) for _ in range(settings.sets)]
        X = np.concatenate([cells.x[some], *(x for x, _ in drawn)])
        y = np.concatenate([np.zeros(len(some), dtype=np.intp), *(labels for _, labels in drawn)])
        encoded = Encoded("number", X, y, ("0", "1"), ("a", "b"))
        target = cells.joint[some] / cells.joint[some].sum(axis=1, keepdims=True)
        starts = len(some) + size * np.arange(settings.sets)
        train = [np.arange(start, start + size) for start in starts]
        return encoded, np.arange(len(some)), target, np.full(len(some), 1 / len(some)), train
    encoded = load(source)
    order = np.random.default_rng(seed_of(settings.seed, (source,))).permutation(len(encoded))
    count = min(len(encoded) // 3, MOST_TEST)
    test, pool = order[:count], order[count:]
    train = [_of_each_class(encoded, rng.permutation(pool), size) for _ in range(settings.sets)]
    target = np.eye(len(encoded.labels))[encoded.y[test]]
    return encoded, test, target, np.full(count, 1 / count), train


def _of_each_class(encoded: Encoded, order: Integers, size: int) -> Integers:
    """Return the first rows of an order, moved so that the first ones are of different classes."""
    first = [int(order[np.argmax(encoded.y[order] == k)]) for k in np.unique(encoded.y[order])]
    rest = order[~np.isin(order, first)]
    return np.concatenate([first, rest])[:size].astype(np.intp)
