"""Known populations of two classes, and the scores of predictions over them, as integrals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy import special, stats

from bayesclf.typing import Array, Integers

LOG_CELLS = 13
"""Base-2 logarithm of the number of cells of one class: errors of linear and quadratic rules are good to 1e-4."""

GRID, REACH = 801, 7.0
"""Points of a quadrature's grid along each axis, and how many standard deviations it reaches."""


@dataclass(frozen=True, eq=False)
class Cells:
    """A population as values of x with their probabilities.

    Attributes
    ----------
    x
        Values of the features (cell, feature).
    joint
        P(x, y), adding up to 1, (cell, outcome).
    """

    x: Array
    joint: Array

    def scores(self, log_proba: Array) -> tuple[float, float]:
        """Return the expected error and log loss (nats) of predictions log P(y given x), (cell, outcome).

        Both are expectations over x and y: no test rows are drawn, so that the scores are free of sampling noise.
        """
        right = np.take_along_axis(self.joint, log_proba.argmax(axis=1)[:, None], axis=1).sum()
        possible = self.joint > 0
        return float(1 - right), float(-(self.joint[possible] * log_proba[possible]).sum())

    def as_rows(self) -> tuple[Array, Integers, Array]:
        """Return rows (row, feature), labels (row) and weights (row): each cell once per class.

        A classifier fitted to them by maximum likelihood is the limit of its fits as rows of the population are added.
        """
        cells, classes = self.joint.shape
        return np.tile(self.x, (classes, 1)), np.repeat(np.arange(classes), cells), self.joint.T.ravel()


@dataclass(frozen=True, eq=False)
class GaussianClasses:
    """x | y = k ~ N(μ_k, Σ_k) in two dimensions, both classes equally probable.

    Attributes
    ----------
    title
        Description.
    mu
        Means (label, feature).
    Sigma
        Covariances (label, feature, feature).
    """

    title: str
    mu: Array
    Sigma: Array

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[Array, Integers]:
        """Draw rows (row, feature) and labels (row); the first two are of different classes."""
        y = rng.integers(2, size=rows)
        y[:2] = rng.permutation(2)
        noise = np.einsum("rij,rj->ri", np.linalg.cholesky(self.Sigma)[y], rng.standard_normal((rows, 2)))
        return self.mu[y] + noise, y.astype(np.intp)

    def log_density(self, x: Array) -> Array:
        """Return log p(x, y), (..., outcome), for x (..., feature)."""
        densities = [stats.multivariate_normal(mu, Sigma) for mu, Sigma in zip(self.mu, self.Sigma, strict=True)]
        return np.asarray(np.log(0.5) + np.stack([density.logpdf(x) for density in densities], axis=-1))

    @cache  # noqa: B019 - the populations are constants of a module
    def cells(self) -> Cells:
        """Return as many quasi-random values of x from each class, with P(y | x) as probabilities of the classes.

        References
        ----------
        Owen, *Scrambling Sobol' and Niederreiter-Xing points*, J. Complexity 14 (1998), doi:10.1006/jcom.1998.0487.
        """
        uniform = stats.qmc.Sobol(2, rng=0).random_base2(LOG_CELLS)
        normal = special.ndtri(uniform)
        x = np.concatenate([mu + normal @ np.linalg.cholesky(S).T for mu, S in zip(self.mu, self.Sigma, strict=True)])
        return Cells(x, special.softmax(self.log_density(x), axis=1) / len(x))

    def least(self) -> tuple[float, float]:
        """Return the least error, ∫ min_k p(x, k) dx, and the least log loss, H(y | x), by the trapezoidal rule."""
        spread = REACH * np.sqrt(np.diagonal(self.Sigma, axis1=1, axis2=2))
        axes = np.linspace((self.mu - spread).min(axis=0), (self.mu + spread).max(axis=0), GRID)
        log_joint = self.log_density(np.stack(np.meshgrid(*axes.T), axis=-1))
        area = float(np.prod(axes[1] - axes[0]))
        surprise = special.logsumexp(log_joint, axis=-1, keepdims=True) - log_joint
        error = area * np.exp(log_joint.min(axis=-1)).sum()
        return float(error), float(area * (np.exp(log_joint) * surprise).sum())


def _classes(title: str, difference: tuple[float, float], *Sigma: tuple[tuple[float, float], ...]) -> GaussianClasses:
    """Return classes with means ± half a difference."""
    half = np.array(difference) / 2
    return GaussianClasses(title, np.array([-half, half]), np.array(Sigma))


POPULATIONS = {
    "both hold": _classes(
        "independent columns of equal variance in both classes", (1.4, 1.0), *[((1.0, 0.0), (0.0, 1.0))] * 2
    ),
    "variance holds": _classes("equal covariances, but dependent columns", (1.6, 0.4), *[((1.0, 0.7), (0.7, 1.0))] * 2),
    "neither holds": _classes(
        "dependent columns whose variances differ between the classes",
        (1.5, 1.0),
        ((1.0, 0.6), (0.6, 1.0)),
        ((3.0, -0.8), (-0.8, 0.5)),
    ),
}
"""Populations, by which of the assumptions of naive Bayes with one variance per feature hold: independence, shared
variances."""

THREE_POINTS = Cells(
    np.array([[-0.94], [-0.87], [1.21]]), np.array([[0.358, 0.031], [0.003, 0.349], [0.236, 0.024]]) / 1.001
)
"""One feature with three values, on which the smaller log loss has the larger error; the numbers are rounded to three
decimals and add up to 1.001."""
