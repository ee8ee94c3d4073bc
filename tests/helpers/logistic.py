"""Logistic regressions on small tables, for tests of the model and its parts."""

from typing import Any

import numpy as np

from bayesclf.arrays import Array, Integers
from bayesclf.models.logistic.design import LogisticDesign
from bayesclf.models.logistic.model import LogisticModel, LogisticPrior
from bayesclf.tables.columns import Column, Rows

INF = float("inf")


def encoded(numbers: Any, codes: Any = None) -> Rows:
    numbers = np.asarray(numbers, dtype=float)
    codes = np.zeros((len(numbers), 0)) if codes is None else codes
    return Rows((numbers, np.asarray(codes, dtype=np.intp)), len(numbers))


def model_of(
    numbers: Any,
    y: Any,
    prior: LogisticPrior | None = None,
    *,
    codes: Any = None,
    levels: tuple[tuple[str, ...], ...] = (),
    n_labels: int | None = None,
    weight: Any = None,
) -> LogisticModel:
    rows = encoded(numbers, codes)
    y = np.asarray(y, dtype=np.intp)
    weight = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=float)
    names = [Column(f"x{j}", "number") for j in range(rows.parts[0].shape[1])]
    categories = [Column(f"c{j}", "category", own) for j, own in enumerate(levels)]
    design = LogisticDesign.fit(rows.parts[0], weight, (*names, *categories))
    labels = tuple("abcdefgh"[: n_labels or int(y.max()) + 1])
    return LogisticModel(labels, design, design.matrix(rows), y, weight, prior or LogisticPrior())


def probabilities(model: LogisticModel, rows: Rows, parameters: Any = None) -> Array:
    """P(label | x) of the MAP, or of the first of some hypotheses, (row, outcome)."""
    scores = model.log_scores(rows, model.map() if parameters is None else parameters)[0]
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def mixed(n_labels: int, n: int = 40, seed: int = 0) -> tuple[Array, Integers, Integers, Array]:
    """Two numbers far from 0 and of unlike units, one with gaps, a category of three levels, labels and weights."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, 2)) * [3.0, 0.01] + [50.0, -2.0]
    score = (numbers[:, 0] - 50) / 3 + rng.normal(size=n)
    y = np.digitize(score, np.linspace(-0.7, 0.7, n_labels - 1)) if n_labels > 2 else (score > 0).astype(int)
    numbers[rng.random(n) < 0.2, 1] = np.nan
    codes = rng.integers(-1, 3, size=(n, 1))
    return numbers, codes, y.astype(np.intp), rng.uniform(0.2, 3.0, size=n)


LEVELS = (("p", "q", "r"),)


def mixed_model(n_labels: int, prior: LogisticPrior | None = None, n: int = 40) -> LogisticModel:
    numbers, codes, y, weight = mixed(n_labels, n)
    return model_of(numbers, y, prior, codes=codes, levels=LEVELS, weight=weight)


def scaled_points(model: LogisticModel, number: int) -> dict[str, Array]:
    """Draw some parameters of a model of a learned scale, (draw, …)."""
    rng = np.random.default_rng(3)
    theta = rng.normal(size=(number, len(model.labels) - 1, 1 + len(model.design)))
    rho = rng.uniform(0.05, 0.95, size=number)
    fixed = model.weight_prior.correlation
    return {
        **model.hypotheses(theta),
        "prior_scale": np.exp(rng.normal(size=number)),
        "prior_correlation": rho if fixed is None else np.full(number, fixed),
    }


PRIORS = {
    "default": LogisticPrior(),
    "reference": LogisticPrior(prior_form="reference", prior_mean=0.3, prior_scale=0.7),
    "zero": LogisticPrior(intercept_at="zero", prior_scale=1.5),
    "reference, zero": LogisticPrior(
        prior_form="reference", intercept_at="zero", intercept_mean=1.0, intercept_scale=2.0
    ),
    "own units": LogisticPrior(standardize=False, prior_form="reference", prior_mean=0.1, prior_scale=0.4),
    "free intercept": LogisticPrior(intercept_scale=INF),
}
