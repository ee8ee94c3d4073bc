"""Two Gaussian classes that differ along their columns: exact errors of linear rules, and what theory says of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import integrate, stats
from scipy.special import expit, ndtr

from bayesclf.experiments.nested import Logistic, NaiveBayes
from bayesclf.experiments.problems import Encoded, Problem
from bayesclf.families.base import Rows
from bayesclf.typing import Array, Integers


@dataclass(frozen=True)
class GaussianPair:
    """x | y ~ N(±δ/2, I), both classes as probable: plus for the second.

    Attributes
    ----------
    delta
        Difference of the means (feature).
    """

    delta: Array

    @property
    def separation(self) -> float:
        """Mahalanobis distance Δ = |δ| of the means."""
        return float(np.linalg.norm(self.delta))

    @property
    def least_error(self) -> float:
        """Φ(−Δ/2), the error of the best rule."""
        return float(ndtr(-self.separation / 2))

    def draw(self, rows: int, rng: np.random.Generator) -> Encoded:
        """Draw rows, as a problem; the first two are of different classes."""
        y = rng.integers(2, size=rows)
        y[:2] = rng.permutation(2)
        X = rng.standard_normal((rows, len(self.delta))) + (y[:, None] - 0.5) * self.delta
        names = tuple(f"x{j}" for j in range(len(self.delta)))
        return Encoded(Problem("gaussian-pair", "", "number"), X, y.astype(np.intp), ("0", "1"), names, ())

    def error(self, intercept: float, weight: Array) -> float:
        """Return the error of predicting the second class where intercept + weight·x > 0, exactly."""
        size = float(np.linalg.norm(weight))
        if size == 0:
            return 0.5
        half = float(weight @ self.delta) / 2
        return float(0.5 * (ndtr((-half + intercept) / size) + ndtr((-half - intercept) / size)))


type Line = tuple[float, Array]
"""Intercept at x = 0 and weights (feature) of log-odds."""


def naive_bayes_line(learner: NaiveBayes) -> Line:
    """Return the log-odds of naive Bayes with one variance a feature, by maximum likelihood.

    References
    ----------
    Mitchell, eqs 21 and 22.
    """
    model, _ = learner.model()
    found = model.mle()
    return _linear(found["mu"][0], found["sigma2"][0], found["pi"][0])


def _linear(mu: Array, sigma2: Array, pi: Array) -> Line:
    weight = (mu[1] - mu[0]) / sigma2
    return float(np.log(pi[1] / pi[0]) - 0.5 * ((mu[1] ** 2 - mu[0] ** 2) / sigma2).sum()), weight


def discriminant_line(encoded: Encoded, rows: Integers) -> Line:
    """Return the log-odds of discriminant analysis with a shared covariance, by maximum likelihood.

    References
    ----------
    Abu-El-Haija 2.1.
    """
    from bayesclf.families import MultivariateGaussian
    from bayesclf.families.base import Axes

    family = MultivariateGaussian("shared")
    X, y = encoded.numbers[rows], encoded.y[rows]
    found = family.mle(family.statistics(X, y, Axes(encoded.labels, encoded.features)))
    mu, precision = found["mu"][0], np.linalg.inv(found["Sigma"][0])
    weight = precision @ (mu[1] - mu[0])
    share = y.mean()
    return float(np.log(share / (1 - share)) - 0.5 * weight @ (mu[1] + mu[0])), weight


def logistic_line(learner: Logistic, estimate: str) -> Line:
    """Return the log-odds of logistic regression under ``"mle"`` or ``"map"``."""
    model, _ = learner.model()
    found = model.mle() if estimate == "mle" else model.map()
    zero = Rows((np.zeros((1, len(model.design.number_names))), np.empty((1, 0), dtype=np.intp)), 1)
    intercept = float(model.log_scores(zero, found)[0, 0] @ np.array([-1.0, 1.0]))
    weight = np.zeros(len(model.design.number_names))
    weight[model.design.varying] = found["weight"][0, 0]
    return intercept, weight


def efficiency(separation: float, columns: int, independent: bool) -> float:
    """Return the asymptotic relative efficiency of logistic regression: the ratio of excess errors, generative first.

    With n rows the excess error of a linear rule is φ(Δ/2)/(4Δn) (V₀₀ + Σ_{j≥2} V_jj), V the asymptotic covariance of
    √n times its coefficients, the means differing along the first axis. For logistic regression V₀₀ = V_jj =
    1/E[p(1 − p)]; for discriminant analysis with a shared covariance V₀₀ = V_jj = 4 + Δ²; for naive Bayes, which knows
    that columns are independent, V₀₀ = 4 + Δ² and V_jj = 4.

    Parameters
    ----------
    separation
        Δ, above 0.
    columns
        Number of features.
    independent
        Whether against naive Bayes, rather than discriminant analysis.

    References
    ----------
    Efron, *The Efficiency of Logistic Regression Compared to Normal Discriminant Analysis*, JASA 70 (1975),
    doi:10.1080/01621459.1975.10480319.

    Examples
    --------
    >>> [round(efficiency(delta, 2, independent=False), 3) for delta in (1, 2, 3, 4)]
    [0.995, 0.899, 0.641, 0.343]
    """

    def weighted(x: float) -> float:
        """Return the density of x along the first axis times p(1 − p)."""
        density = 0.5 * (stats.norm.pdf(x - separation / 2) + stats.norm.pdf(x + separation / 2))
        return float(density * expit(separation * x) * expit(-separation * x))

    information, _ = integrate.quad(weighted, -np.inf, np.inf)
    intercept = 4 + separation**2
    others = 4.0 if independent else intercept
    return float((intercept + (columns - 1) * others) * information / columns)
