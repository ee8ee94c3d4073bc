"""How much of a classifier's error is bias, which any number of training sets would leave, and how much variance?

A classifier that is fitted to another training set gives other answers. Its expected loss has three parts: noise, which
the best possible predictions have too; bias, by which the typical answer is worse; and variance, which comes from
answering by one training set. The textbooks argue that naive Bayes, with its wrong assumptions, has more bias and less
variance than logistic regression (Mitchell, draft chapter Generative and Discriminative Classifiers, 2010, section 5;
Wehbe's lecture on it). For error and log loss the parts are those of Domingos (2000), James (2003) and Heskes (1998).
Training sets are drawn from the three populations of the experiment assumptions, which differ in what naive Bayes
assumes rightly. The variance part of error can be negative: if the typical answer is wrong, another one may be right.

The typical answer is estimated from the same training sets, so that bias is overstated and variance understated.
Maximum likelihood has no log loss here, as one probability 0 makes the geometric mean 0; sets for which it has no
estimate are counted in the column “without” of table.csv.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayesclf import rules
from bayesclf.arrays import Array, Integers
from bayesclf.errors import DoesNotExist, InputError
from bayesclf.experiments import ng_jordan
from bayesclf.experiments.assumptions import POPULATIONS
from bayesclf.experiments.ng_jordan import Encoded
from bayesclf.experiments.runner import Each, Figure, Record, Unit, curves, in_order, option, seed_of
from bayesclf.models.logistic.model import LogisticPrior
from bayesclf.wording import number, percent

SIZES = (8, 16, 32, 64, 128, 256)
"""Training sizes."""

MODELS = {"gnb": "naive Bayes", "gnb2": "naive Bayes, shared variances", "lr": "logistic regression"}
"""The classifiers."""

OF_PARAMETERS = tuple(rule.name for rule in rules.RULES.values() if rule.source != "tempered")
RULES = {"gnb": OF_PARAMETERS, "gnb2": OF_PARAMETERS, "lr": ("map", "mean", "bayes-optimal", "gibbs")}
"""Rules of each; logistic regression has no other "predictive", and often no maximum likelihood estimate."""

LEARNERS: dict[str, Callable[[Encoded, Integers], ng_jordan.Learned[Any]]] = {
    "gnb": partial(ng_jordan.naive_bayes, variance="class-feature"),
    "gnb2": ng_jordan.naive_bayes,
    "lr": partial(ng_jordan.logistic, prior=LogisticPrior()),
}
"""How each learns rows."""

LOSSES = ("error", "log_loss")

PARTS = ("noise", "bias", "variance")

POINTS = 1024
"""Points of a population at which predictions are compared."""

SHOWN = "bayes-optimal"
"""The rule that is drawn."""


@dataclass(frozen=True)
class Settings:
    """Options of the experiment."""

    sets: int = option(40, "Training sets of each size.")
    seed: int = option(0, "Random seed.")


def tabulate(settings: Settings, each: Each) -> pd.DataFrame:
    """Return the parts of each expected loss by population, loss, model, rule and m, with their sum."""
    if settings.sets < 2:
        raise InputError("there must be at least 2 training sets")
    found = each([(source, model, size) for size in reversed(SIZES) for source in POPULATIONS for model in MODELS])
    found["expected"] = found[list(PARTS)].sum(axis=1)
    order = ["source", "loss", "model", "rule", "m"]
    return in_order(found, order, source=POPULATIONS, model=MODELS, rule=rules.RULES, loss=LOSSES)


def measure(settings: Settings, unit: Unit, seed: np.random.SeedSequence) -> list[Record]:
    """Return the parts of the expected losses of one model at one size, by rule."""
    source, model, size = str(unit[0]), str(unit[1]), int(unit[2])
    # The test points and the training sets are the same for all models, so that their parts are comparable.
    shared = np.random.default_rng(seed_of(settings.seed, (source, size)))
    encoded, target, train = _rows(source, size, settings.sets, shared)
    test = np.arange(len(target))
    found: dict[str, list[Array]] = {rule: [] for rule in RULES[model]}
    seeds = (seed.generate_state(len(train)) % 2**31).tolist()
    for rows, fit_seed in zip(train, seeds, strict=True):
        made, encode = LEARNERS[model](encoded, rows)
        hypotheses = ng_jordan.Sources(made, fit_seed)
        for rule in RULES[model]:
            with suppress(DoesNotExist):
                own = hypotheses(rules.resolve(rule)[0].source)
                found[rule].append(rules.log_proba(rule, own, encode(test), fit_seed))
    records: list[Record] = []
    for rule, answers in found.items():
        for loss in LOSSES[: 1 if rule == "mle" else 2] if len(answers) > 1 else ():
            parts = decompose(loss, np.array(answers), target)
            if np.isfinite([*parts.values()]).all():  # an answer of probability 0 has no geometric mean
                about = {"source": source, "m": size, "model": model, "rule": rule, "loss": loss}
                records.append({**about, **parts, "without": settings.sets - len(answers)})
    return records


def answer(settings: Settings, table: pd.DataFrame) -> tuple[str, ...]:
    """Say what averaging does to variance and bias with few rows, and what the assumptions leave with many."""
    few = table[(table["m"] == table["m"].min()) & (table["loss"] == "log_loss")]
    wide = few.pivot_table(index=["source", "model"], columns="rule", values=["bias", "variance"])
    told = []
    for part in ("variance", "bias"):
        less = wide[part, "map"] - wide[part, "bayes-optimal"]
        told.append(f"the {part} falls in {(less > 0).sum()} (median change {number(-less.median())} nats)")
    headline = (
        f"From map to bayes-optimal, with the fewest rows, of {len(wide)} pairs of a population and a classifier, "
        f"{' and '.join(told)}, in log loss."
    )
    many = table[(table["rule"] == "bayes-optimal") & (table["loss"] == "error")]
    bias = many[many["m"] == many["m"].max()].set_index(["source", "model"])["bias"]
    said = (f"{name}: {', '.join(f'{own} {percent(bias[name, own])}' for own in MODELS)}" for name in POPULATIONS)
    assumptions = f"Bias of error with the most rows under bayes-optimal, by which assumptions hold: {'; '.join(said)}."
    return headline, assumptions


def summary(settings: Settings, table: pd.DataFrame) -> pd.DataFrame:
    """Return the parts at the smallest size."""
    few: pd.DataFrame = table[table["m"] == table["m"].min()]
    return few[["source", "model", "rule", "m", "loss", *PARTS, "expected"]].round(4)


def figure(settings: Settings, table: pd.DataFrame) -> Figure:
    """Return bias and variance of the error of each classifier against training rows, by source."""
    long = table.melt(["source", "loss", "model", "rule", "m"], ["variance", "bias"], "part")
    long = long[(long["loss"] == "error") & (long["rule"] == SHOWN)]
    long = long.assign(part=long["part"] + ", " + long["model"].map(MODELS))
    draw = partial(curves, long, *("source", "part", "value"), common=False)
    return Figure(f"Bias and variance of error under {SHOWN}", "One curve per part and classifier.", draw)


def decompose(loss: str, log_proba: Array, target: Array) -> dict[str, float]:
    """Split an expected loss over training sets and equally weighted test points into `PARTS`, which add up to it.

    Noise is the loss of the best predictions; bias is what the main prediction, which all training sets have in common,
    loses more; variance is what the prediction after one training set loses more than the main one, on average.

    For both losses, with prediction q_D after the training set D, main prediction q̄ and best prediction q*,

        E L(y, q_D) = E L(y, q*) + [E L(y, q̄) − E L(y, q*)] + [E L(y, q_D) − E L(y, q̄)].

    Error: the main prediction is the most frequent class, and the last two parts are James's systematic and variance
    effects. Where q̄ is not the best class, variance lowers the error: Domingos's "biased" variance, which counts
    negatively. Log loss: the main prediction is the normalized geometric mean q̄ ∝ exp E log q_D. Bias is KL(P, q̄),
    and variance is E KL(q̄, q_D), never negative, whatever the target.

    Parameters
    ----------
    loss
        ``"error"`` or ``"log_loss"``.
    log_proba
        Predictions (set, point, outcome).
    target
        P(y | x), (point, outcome).

    References
    ----------
    Domingos (2000), *A unified bias-variance decomposition*, ICML; James (2003), *Variance and bias for general loss
    functions*, Machine Learning 51; Heskes (1998), *Bias/variance decompositions for likelihood-based estimators*,
    Neural Computation 10.

    Examples
    --------
    >>> import numpy as np
    >>> log_proba = np.log([[[0.9, 0.1]], [[0.8, 0.2]], [[0.3, 0.7]]])  # two of three training sets say the first class
    >>> {name: round(part, 4) for name, part in decompose("error", log_proba, np.array([[0.7, 0.3]])).items()}
    {'noise': 0.3, 'bias': 0.0, 'variance': 0.1333}
    """
    outcomes = log_proba.shape[2]
    if loss == "error":
        chosen = np.eye(outcomes)[log_proba.argmax(axis=2)].mean(axis=0)
        average = float((target * (1 - chosen)).sum(axis=1).mean())
        main = float((1 - target[np.arange(len(target)), chosen.argmax(axis=1)]).mean())
        noise = float((1 - target.max(axis=1)).mean())
    else:
        mean = log_proba.mean(axis=0)
        shrinkage = logsumexp(mean, axis=1)  # −E KL(q̄, q_D)
        average = -float((target * mean).sum(axis=1).mean())
        main = average + float(shrinkage.mean())
        noise = -float((target * np.log(target)).sum(axis=1).mean())
    return dict(zip(PARTS, (noise, main - noise, average - main), strict=True))


def _rows(source: str, size: int, sets: int, rng: np.random.Generator) -> tuple[Encoded, Array, list[Integers]]:
    """Return rows, P(y | x) of the first of them, the test points, and the rows of each training set."""
    cells = POPULATIONS[source].cells()
    half = len(cells.x) // 2  # the points of one class, then those of the other, each a Sobol' sequence
    some = np.r_[: POINTS // 2, half : half + POINTS // 2]
    drawn = [POPULATIONS[source].draw(size, rng) for _ in range(sets)]
    X = np.concatenate([cells.x[some], *(x for x, _ in drawn)])
    y = np.concatenate([np.zeros(len(some), dtype=np.intp), *(labels for _, labels in drawn)])
    target = cells.joint[some] / cells.joint[some].sum(axis=1, keepdims=True)
    train = [np.arange(start, start + size) for start in len(some) + size * np.arange(sets)]
    return Encoded("number", X, y, ("0", "1"), ("a", "b")), target, train
