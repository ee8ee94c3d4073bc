"""The normal-inverse-gamma distribution of linear regressions: its update by moments, draws, predictives and words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayesclf.families.base import LOST, Axes
from bayesclf.families.gaussian import log_student_t
from bayesclf.families.mixed import linear
from bayesclf.families.mixed.groups import GroupedMoments, are_categories, merge
from bayesclf.families.mixed.regressions import Regression, names, once
from bayesclf.families.prior_lines import PriorLine, prior_lines, written
from bayesclf.families.terms import Density
from bayesclf.typing import Array, Integers, Parameters


@dataclass(frozen=True)
class Sums:
    """Moments of the rows of each class and configuration of one number: of its parents among the numbers and itself.

    Attributes
    ----------
    n
        (outcome, configuration).
    mean
        Of the parents, then of the number, (outcome, configuration, column).
    scatter
        (outcome, configuration, column, other column).
    """

    n: Array
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, own: Regression, statistics: GroupedMoments) -> Self:
        """Return those of the rows in which the number and its parents are observed."""
        axes, scope = statistics.axes, [*own.on, own.of]
        there = statistics.seen[:, [*own.given, *scope]].all(axis=1)
        groups = statistics.groups[there]
        columns = (np.cumsum(~are_categories(axes)) - 1)[scope]
        labels = 1 if own.class_free else len(axes.labels)
        label = np.zeros(len(groups), dtype=np.intp) if own.class_free else groups[:, 0]
        scatter = statistics.scatter[there][:, columns][:, :, columns]
        which = label * own.count + own.configuration(groups[:, 1:])
        n, mean, merged = merge(
            which, labels * own.count, statistics.n[there], statistics.mean[there][:, columns], scatter
        )
        shape = (labels, own.count)
        tied = cls(n.reshape(shape), mean.reshape(*shape, -1), merged.reshape(*shape, len(scope), -1))
        # Rows of all classes tell of the regressions of all, and are repeated for each class.
        return tied if not own.class_free else tied.repeated(len(axes.labels))

    def repeated(self, labels: int) -> Self:
        """Return the same for each class."""
        return type(self)(*(np.repeat(values, labels, axis=0) for values in (self.n, self.mean, self.scatter)))

    def added(self, other: Self) -> Self:
        """Return the moments of the rows of both, by the update of Chan, Golub & LeVeque (1983)."""
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros_like(n), where=n > 0)
        away = other.mean - self.mean
        mean = np.where((self.n > 0)[..., None], self.mean + share[..., None] * away, other.mean)
        between = (self.n * share)[..., None, None] * away[..., :, None] * away[..., None, :]
        return type(self)(n, mean, self.scatter + other.scatter + between)

    def squares(self, slopes: Array) -> Array:
        """Return the sum of squared deviations of x_of − Σ slope_i x_i from its mean, (outcome, configuration)."""
        weights = np.concatenate([-slopes, np.ones((*slopes.shape[:-1], 1))], axis=-1)
        return np.asarray(np.maximum(np.einsum("kci,kcij,kcj->kc", weights, self.scatter, weights), 0.0))


@dataclass(frozen=True)
class NormalInverseGamma:
    """β | σ² ~ Normal(m, σ²Λ⁻¹) and σ² ~ InvGamma(a, b) of the regressions of one number.

    β0 stands here for the number's mean where its parents are at `centre`, so that columns far from 0 cost no digits.

    Attributes
    ----------
    m, precision
        (outcome, configuration, term) and (outcome, configuration, term, other term).
    a, b
        (outcome, configuration).
    centre
        Of the parents among the numbers, (parent).
    """

    m: Array
    precision: Array
    a: Array
    b: Array
    centre: Array

    def updated(self, sums: Sums) -> Self:
        """Return the posterior given rows.

        b_n is b + ½ Σ(x − βᵀz)² + ½ (m_n − m)ᵀΛ(m_n − m) at β = m_n, a sum of squares.

        References
        ----------
        Murphy (2012), *Machine Learning: A Probabilistic Perspective*, §7.6.3.
        """
        z = self.regressors(sums.mean[..., :-1])
        slopes = self.m[..., 1:]
        residual = sums.mean[..., -1] - (self.m * z).sum(axis=-1)
        within, cross = sums.scatter[..., :-1, :-1], sums.scatter[..., :-1, -1]
        moments = sums.n[..., None, None] * z[..., :, None] * z[..., None, :]
        moments[..., 1:, 1:] += within
        right = (sums.n * residual)[..., None] * z
        right[..., 1:] += cross - (within @ slopes[..., None])[..., 0]
        precision = self.precision + moments
        change = linear.solved(precision, right)
        m = self.m + change
        left = sums.n * (residual - (change * z).sum(axis=-1)) ** 2
        shrunk = np.einsum("kci,kcij,kcj->kc", change, self.precision, change)
        b = self.b + 0.5 * (sums.squares(m[..., 1:]) + left + shrunk)
        return replace(self, m=m, precision=precision, a=self.a + sums.n / 2, b=b)

    def regressors(self, values: Array) -> Array:
        """Return z = (1, x − centre) from the parents' cells (…, parent)."""
        return np.concatenate([np.ones((*values.shape[:-1], 1)), values - self.centre], axis=-1)

    def moved(self, beta: Array, back: bool = False) -> Array:
        """Return β (…, term) with β0 the number's mean at x_on = 0 from that at the centre, or the other way `back`."""
        shift = (beta[..., 1:] * self.centre).sum(axis=-1)
        return np.concatenate([(beta[..., 0] + (shift if back else -shift))[..., None], beta[..., 1:]], axis=-1)

    def factor(self) -> Array:
        """Return F with FFᵀ = Λ⁻¹, (outcome, configuration, term, other term)."""
        return linear.root_of_inverse(self.precision)

    def marginal_precision(self) -> Array:
        """Return 1/(Λ⁻¹)_ii, (outcome, configuration, term): β_i | σ² has the variance σ² over it.

        It is the diagonal of Λ where the coefficients are independent of each other given σ².
        """
        return np.asarray(1 / (self.factor() ** 2).sum(axis=-1))

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[Array, Array]:
        """Draw β (draw, outcome, configuration, term), from 0, and σ²."""
        sigma2 = self.b / rng.standard_gamma(self.a, size=(draws, *self.a.shape))
        noise = rng.standard_normal((draws, *self.m.shape)) * np.sqrt(sigma2)[..., None]
        return self.moved(self.m + (self.factor() @ noise[..., None])[..., 0]), sigma2

    def log_density(self, beta: Array, sigma2: Array) -> Array:
        """Return the log density of draws of β, from 0, and of log σ², (draw, outcome, configuration)."""
        away = self.moved(beta, back=True) - self.m
        square = np.einsum("skci,kcij,skcj->skc", away, self.precision, away)
        return np.asarray(-(self.a + 0.5 * beta.shape[-1]) * np.log(sigma2) - (self.b + 0.5 * square) / sigma2)

    def log_normalizer(self) -> Array:
        """Return log Γ(a) b^−a |Λ|^−½, (outcome, configuration)."""
        log_root = np.log(np.diagonal(self.factor(), axis1=-2, axis2=-1)).sum(axis=-1)
        return np.asarray(gammaln(self.a) - self.a * np.log(self.b) + log_root)

    def log_predictive(self, x: Array, on: Array, configuration: Integers) -> Array:
        """Return the log density of Student's t, (row, outcome), of cells x (row) given the parents' (row, parent)."""
        z = self.regressors(on)
        distance, leverage = self._placed(x, z, configuration)
        a, b = self.a[:, configuration], self.b[:, configuration]
        scale = (1 + leverage) * b / a
        return log_student_t(distance**2 / scale, 2 * a, 1.0, np.log(scale)).T

    def log_predictive_without(
        self, x: Array, on: Array, configuration: Integers, y: Integers
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Return the same (row) without the row's own contribution to its class, and whether the digits suffice.

        With e = x − mᵀz and h = zᵀΛ⁻¹z, the posterior without the row has a − ½ and b − ½e²/(1 − h), and predicts x
        with the residual e/(1 − h) and the spread 1/(1 − h).
        """
        distance, leverage = (
            values[y, np.arange(len(y))] for values in self._placed(x, self.regressors(on), configuration)
        )
        a, b = self.a[y, configuration] - 0.5, self.b[y, configuration]
        left = np.where(leverage < 1 - LOST, 1 - leverage, 1.0)
        rate = b - 0.5 * distance**2 / left
        kept = (leverage < 1 - LOST) & (rate > LOST * b)
        scale = np.where(kept, rate, b) / a / left
        return log_student_t((distance / left) ** 2 / scale, 2 * a, 1.0, np.log(scale)), kept

    def _placed(self, x: Array, z: Array, configuration: Integers) -> tuple[Array, Array]:
        """Return x − mᵀz and zᵀΛ⁻¹z, (outcome, row)."""
        residual = x - np.einsum("kri,ri->kr", self.m[:, configuration], z)
        whitened = np.einsum("krij,ri->krj", self.factor()[:, configuration], z)
        return residual, (whitened**2).sum(axis=-1)


def unit_information(
    all_regressions: Sequence[Regression], statistics: GroupedMoments, kappa: float, a: float
) -> tuple[Array, list[NormalInverseGamma]]:
    """Return the pooled means (feature), and the prior of each number that is worth `kappa` of the pooled rows.

    Slopes have mean 0 and, where the number is expected not to depend on its parents, the spread that κ rows give them.
    """
    axes, pooled = statistics.axes, statistics.cells()
    centre, s2 = np.zeros((2, len(axes.features)))
    number = ~are_categories(axes)
    centre[number], s2[number] = pooled.mean[0], (pooled.scatter / np.maximum(pooled.n, 1))[0]
    parts = []
    for own in all_regressions:
        shape, on = (len(axes.labels), own.count), list(own.on)
        m = np.zeros((*shape, own.width))
        m[..., 0] = centre[own.of]
        precision = np.tile(kappa * np.diag(np.concatenate([[1.0], s2[on]])), (*shape, 1, 1))
        parts.append(
            NormalInverseGamma(m, precision, np.full(shape, a), np.full(shape, (a - 1) * s2[own.of]), centre[on])
        )
    return centre, parts


def log_prior(parts: Sequence[tuple[Regression, NormalInverseGamma]], labels: int, parameters: Parameters) -> Density:
    """Return the log density of draws of β and σ², a part for each class and regression, those of all classes once."""
    draws = len(next(iter(parameters.values())))
    densities, part_of, width = [np.empty((draws, labels, 0))], [np.empty((labels, 0), dtype=np.intp)], []
    count = parts[-1][0].ends[0] if parts else 0
    for own, part in parts:
        values = part.log_density(own.of_terms(parameters["beta"]), own.of_regressions(parameters["sigma2"]))
        densities.append(once(own, values))
        places = np.arange(labels)[:, None] * count + np.arange(own.first[0], own.ends[0])
        part_of.append(np.where(own.class_free, places[:1], places))
        width += [own.width] * own.count
    of_regressions = np.hstack(part_of)
    named = {"beta": np.repeat(of_regressions, width, axis=1), "sigma2": of_regressions} if parts else {}
    return Density(np.concatenate(densities, axis=2).reshape(draws, -1), named)


CORRELATED = ", correlated with the other coefficients"
"""What is added to the prior of a coefficient that is not independent of the others given sigma2."""


def priors_of(own: Regression, part: NormalInverseGamma, axes: Axes) -> list[PriorLine]:
    """Return the priors of the coefficients and the variance of one number, once where all configurations have one.

    That of a coefficient is its marginal one given σ², and says so where the posterior of earlier rows made it differ
    from the conditional one.
    """
    of_terms, of_regressions = names(axes, [own])
    at = ", ".join(f"{axes.features[i]}={written(c)}" for i, c in zip(own.on, part.centre, strict=True))
    diagonal = np.diagonal(part.precision, axis1=-2, axis2=-1)
    correlated = np.count_nonzero(part.precision) > np.count_nonzero(diagonal)
    of_each = part.marginal_precision() if correlated else diagonal
    m, of_each, a, b = (values.reshape(len(part.a), -1) for values in (part.m, of_each, part.a, part.b))
    if at:
        for place in range(0, len(of_terms), own.width):
            name, bar, where = of_terms[place].partition(" | ")
            of_terms[place] = f"{name} at {at}{bar}{where}"
    lines: list[PriorLine] = []
    for form, every, width, numbers in (
        ("beta", of_terms, own.width, {"m": m, "precision": of_each}),
        ("sigma2", of_regressions, 1, {"a": a, "b": b}),
    ):
        by_configuration = {key: values.reshape(len(values), -1, width) for key, values in numbers.items()}
        if all((values == values[:, :1]).all() for values in by_configuration.values()):
            every = [name.partition(" | ")[0] for name in every[:width]]
            numbers = {key: values[:, 0] for key, values in by_configuration.items()}
        normal = f"Normal({{m}}, sigma2/{{precision}}){CORRELATED if correlated else ''}"
        words = normal if form == "beta" else "InvGamma({a}, {b})"
        lines += prior_lines(form, words, Axes(axes.labels, tuple(every)), **numbers)
    return lines


def split(regressions: Sequence[Regression], centre: Array, *flat: Array) -> Iterator[NormalInverseGamma]:
    """Yield the distribution of each number's regressions from m, Λ, a and b on the flat axes, and all centers."""
    m, precision, a, b = flat
    for own in regressions:
        yield NormalInverseGamma(
            own.of_terms(m),
            own.of_entries(precision),
            own.of_regressions(a),
            own.of_regressions(b),
            centre[list(own.on)],
        )


def joined(labels: int, parts: Sequence[NormalInverseGamma]) -> dict[str, Any]:
    """Return m, Λ, a and b on the flat axes, (outcome, …); nothing without numbers."""
    return {
        name: np.concatenate([getattr(part, name).reshape(labels, -1) for part in parts], axis=1)
        for name in ("m", "precision", "a", "b")
        if parts
    }
