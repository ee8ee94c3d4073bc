"""Linear regressions of numbers on numbers, one for each class and configuration of categories.

The parameters of all regressions stand along flat axes: one of regressions, and one of terms (the intercept and a slope
for each parent among the numbers). A `Regression` is the part of these axes that belongs to one number: it has as many
regressions as its parents among the categories have configurations. Its normal-inverse-gamma distribution is updated by
moments; estimates are by least squares, where they exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress, product
from math import prod
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.errors import DoesNotExist
from bayesclf.families.base import LOST, Axes
from bayesclf.families.gaussian import Moments, log_student_t
from bayesclf.families.multivariate.covariance import RANK_TOLERANCE, collinear
from bayesclf.families.multivariate.groups import GroupedMoments, are_categories, merge
from bayesclf.families.networks import structure
from bayesclf.families.networks.network import ConditionalTables
from bayesclf.families.networks.structure import Edge
from bayesclf.families.prior_lines import PriorLine, prior_lines, written
from bayesclf.families.terms import Density
from bayesclf.tables.columns import MISSING
from bayesclf.wording import joined


def solved(matrix: Array, right: Array) -> Array:
    """Return x with Ax = right, for positive definite A (…, term, other term) and `right` (…, term).

    Cholesky's factors do not compare columns, so that one of numbers 1e20 times as large takes no digits from others.

    Examples
    --------
    >>> import numpy as np
    >>> solved(np.array([[4.0, 2e20], [2e20, 4e40]]), np.array([6.0, 6e20]))
    array([1.e+00, 1.e-20])
    """
    root = root_of_inverse(matrix)
    return np.asarray((root @ (root.mT @ right[..., None]))[..., 0])


def root_of_inverse(matrix: Array) -> Array:
    """Return upper triangular F with FFᵀ = A⁻¹, (…, term, other term).

    Neither the Cholesky decomposition nor elimination of an upper triangular matrix compares columns.
    """
    return np.asarray(np.linalg.inv(np.linalg.cholesky(matrix).swapaxes(-1, -2)))


@dataclass(frozen=True)
class Regression:
    """x_of = β0 + Σ_i β_i x_on,i + ε with ε ~ Normal(0, σ²): β and σ² for each class and configuration of `given`.

    `of`: Position of the number among the features. `given`, `on`: Positions of its parents: categories, and numbers.
    `class_free`: Whether the regressions are those of all classes. `sizes`: Number of levels of each of `given`.
    `first`: Its first regression and term on the flat axes.
    """

    of: int
    given: tuple[int, ...]
    on: tuple[int, ...]
    class_free: bool
    sizes: tuple[int, ...]
    first: tuple[int, int]

    @property
    def count(self) -> int:
        """Number of regressions of each class."""
        return prod(self.sizes)

    @property
    def width(self) -> int:
        """Number of terms of a regression, the intercept included."""
        return 1 + len(self.on)

    @property
    def parents(self) -> tuple[int, ...]:
        """All parents."""
        return self.given + self.on

    @property
    def ends(self) -> tuple[int, int]:
        """What follows on the flat axes."""
        regression, term = self.first
        return regression + self.count, term + self.count * self.width

    def of_regressions(self, values: Array) -> Array:
        """Return values (…, regression) of its own regressions, (…, configuration)."""
        return values[..., self.first[0] : self.ends[0]]

    def of_terms(self, values: Array) -> Array:
        """Return values (…, term) of its own terms, (…, configuration, term)."""
        own = values[..., self.first[1] : self.ends[1]]
        return own.reshape(*values.shape[:-1], self.count, self.width)

    def configuration(self, codes: Array | Integers) -> Integers:
        """Return the configuration of `given` in rows of codes (row, feature), its last feature fastest."""
        number = np.zeros(len(codes), dtype=np.intp)
        for j, size in zip(self.given, self.sizes, strict=True):
            number = number * size + codes[:, j].astype(np.intp)
        return number


def in_order(axes: Axes, edges: Sequence[Edge], class_free: Sequence[str]) -> tuple[Regression, ...]:
    """Return the regressions of numbers on their parents, parents first."""
    position, category = {name: j for j, name in enumerate(axes.features)}, are_categories(axes)
    numbers = tuple(compress(axes.features, ~category))
    between = tuple(edge for edge in edges if set(edge) <= set(numbers))
    ordered, first = [], (0, 0)
    for name, parents in structure.in_order(between, numbers):
        given = tuple(j for j in np.flatnonzero(category).tolist() if (axes.features[j], name) in edges)
        on, sizes = tuple(position[parent] for parent in parents), tuple(axes.sizes[j] for j in given)
        ordered.append(Regression(position[name], given, on, name in class_free, sizes, first))
        first = ordered[-1].ends
    return tuple(ordered)


def names(axes: Axes, regressions: Sequence[Regression]) -> tuple[list[str], list[str]]:
    """Return the names of terms and of regressions, such as "weight on height | color=red"."""
    of_terms, of_regressions = [], []
    for own in regressions:
        levels = [[f"{axes.features[i]}={level}" for level in axes.levels[i]] for i in own.given]
        for values in product(*levels):
            where = f" | {', '.join(values)}" if values else ""
            name = axes.features[own.of]
            of_regressions.append(name + where)
            of_terms += [name + where, *(f"{name} on {axes.features[i]}{where}" for i in own.on)]
    return of_terms, of_regressions


def once(own: Regression, values: Array) -> Array:
    """Return values (…, outcome, configuration), those of all classes for the first one only."""
    if not own.class_free:
        return values
    return np.where(np.arange(values.shape[-2])[:, None] == 0, values, 0.0)


@dataclass(frozen=True)
class Sums:
    """Moments of the rows of each class and configuration of one number: of its parents among the numbers and itself.

    `n`: (outcome, configuration). `mean`: Of the parents, then of the number, (outcome, configuration, column).
    `scatter`: (outcome, configuration, column, other column).
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
        repeated = (np.repeat(values, len(axes.labels) // labels, axis=0) for values in vars(tied).values())
        return cls(*repeated)

    def squares(self, slopes: Array) -> Array:
        """Return the sum of squared deviations of x_of − Σ slope_i x_i from its mean, (outcome, configuration)."""
        weights = np.concatenate([-slopes, np.ones((*slopes.shape[:-1], 1))], axis=-1)
        return np.asarray(np.maximum(np.einsum("...i,...ij,...j->...", weights, self.scatter, weights), 0.0))


@dataclass(frozen=True)
class NormalInverseGamma:
    """β | σ² ~ Normal(m, σ²Λ⁻¹) and σ² ~ InvGamma(a, b) of the regressions of one number.

    β0 stands here for the number's mean where its parents are at `centre`, so that columns far from 0 cost no digits.

    `m`, `precision`: (outcome, configuration, term) and (outcome, configuration, term, other term). `a`, `b`: (outcome,
    configuration). `centre`: Of the parents among the numbers, (parent).
    """

    m: Array
    precision: Array
    a: Array
    b: Array
    centre: Array

    def updated(self, sums: Sums) -> Self:
        """Return the posterior given rows.

        b_n is b + ½ Σ(x − βᵀz)² + ½ (m_n − m)ᵀΛ(m_n − m) at β = m_n, a sum of squares.

        See Murphy (2012), *Machine Learning: A Probabilistic Perspective*, §7.6.3.
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
        change = solved(precision, right)
        m = self.m + change
        left = sums.n * (residual - (change * z).sum(axis=-1)) ** 2
        shrunk = np.einsum("...i,...ij,...j->...", change, self.precision, change)
        b = self.b + 0.5 * (sums.squares(m[..., 1:]) + left + shrunk)
        return replace(self, m=m, precision=precision, a=self.a + sums.n / 2, b=b)

    def regressors(self, values: Array) -> Array:
        """Return z = (1, x − centre) from the parents' cells (…, parent)."""
        return np.concatenate([np.ones((*values.shape[:-1], 1)), values - self.centre], axis=-1)

    def moved(self, beta: Array, back: bool = False) -> Array:
        """Return β (…, term) with β0 the number's mean at x_on = 0 from that at the centre, or the other way `back`."""
        shift = (beta[..., 1:] * self.centre).sum(axis=-1)
        return np.concatenate([(beta[..., 0] + (shift if back else -shift))[..., None], beta[..., 1:]], axis=-1)

    @property
    def correlated(self) -> bool:
        """Whether coefficients depend on each other given σ², as after rows."""
        return bool(np.count_nonzero(self.precision) > self.m.size)

    def factor(self) -> Array:
        """Return F with FFᵀ = Λ⁻¹, (outcome, configuration, term, other term)."""
        return root_of_inverse(self.precision)

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

    def _log_normalizer(self) -> Array:
        """Return log Γ(a) b^−a |Λ|^−½, (outcome, configuration)."""
        log_root = np.log(np.diagonal(self.factor(), axis1=-2, axis2=-1)).sum(axis=-1)
        return np.asarray(gammaln(self.a) - self.a * np.log(self.b) + log_root)

    def gain(self, sums: Sums) -> Array:
        """Return the log evidence of rows, (outcome, configuration)."""
        after = self.updated(sums)._log_normalizer()  # noqa: SLF001
        return np.asarray(after - self._log_normalizer() - 0.5 * sums.n * np.log(2 * np.pi))

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

        Let e = x − mᵀz and h = zᵀΛ⁻¹z. The posterior without the row has a − ½ and b − ½e²/(1 − h). It predicts x with
        the residual e/(1 − h) and the spread 1/(1 − h).
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
) -> tuple[NormalInverseGamma, ...]:
    """Return the prior of each number that is worth `kappa` of the pooled rows.

    Slopes have mean 0 and, where the number is expected not to depend on its parents, the spread that κ rows give them.
    """
    axes, pooled = statistics.axes, statistics.cells().pooled()
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
    return tuple(parts)


def flat(regressions: Sequence[Regression], parts: Sequence[tuple[Array, Array]]) -> Parameters:
    """Return β and σ² on the flat axes from (draw, outcome, configuration, …) of each number; those of all are tied."""
    if not parts:
        return {}
    tied = [
        tuple(np.broadcast_to(v[:, :1], v.shape) if own.class_free else v for v in part)
        for own, part in zip(regressions, parts, strict=True)
    ]
    joined = (np.concatenate([v.reshape(*v.shape[:2], -1) for v in of], axis=2) for of in zip(*tied, strict=True))
    return dict(zip(("beta", "sigma2"), joined, strict=True))


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


def priors_of(own: Regression, part: NormalInverseGamma, axes: Axes) -> list[PriorLine]:
    """Return the priors of the coefficients and the variance of one number, once where all configurations have one.

    That of a coefficient is the marginal one given σ², whose variance is σ²(Λ⁻¹)_ii.
    """
    of_terms, of_regressions = names(axes, [own])
    at = ", ".join(f"{axes.features[i]}={written(c)}" for i, c in zip(own.on, part.centre, strict=True))
    of_each = 1 / (part.factor() ** 2).sum(axis=-1)
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
        more = ", correlated with the other coefficients" if part.correlated else ""
        words = f"Normal({{m}}, sigma2/{{precision}}){more}" if form == "beta" else "InvGamma({a}, {b})"
        lines += prior_lines(form, words, Axes(axes.labels, tuple(every)), **numbers)
    return lines


def least_squares(
    statistics: GroupedMoments,
    all_regressions: Sequence[Regression],
    tables: ConditionalTables | None,
    theta: Parameters,
) -> Parameters:
    """Return β and σ² by maximum likelihood, (1, outcome, …): none at all without numbers.

    A regression of a configuration that no row has is arbitrary where the configuration is impossible, and the standard
    normal distribution here.

    `tables`, `theta`: The tables of the categories, and their estimate.

    Raises `DoesNotExist` where a class and configuration has too few rows, or parents that are collinear in them.
    """
    betas, variances = [], []
    for own in all_regressions:
        sums = Sums.of(own, statistics)
        within, cross = sums.scatter[..., :-1, :-1], sums.scatter[..., :-1, -1]
        diagonal = np.diagonal(sums.scatter, axis1=-2, axis2=-1)
        n = np.broadcast_to(sums.n[..., None], diagonal.shape)
        sd = np.sqrt(Moments(Axes((), ()), n, sums.mean, diagonal).without_rounding())
        unit = np.where(sd > 0, sd, 1.0)
        smallest = np.linalg.eigvalsh(sums.scatter / unit[..., :, None] / unit[..., None, :])[..., 0]
        defined = (sums.n > 0) & (sd > 0).all(axis=-1) & (smallest > RANK_TOLERANCE * own.width)
        lacking = np.argwhere(~defined & _possible(own, statistics.axes, tables, theta))
        if len(lacking):
            label, place = lacking[0]
            raise DoesNotExist(_reason(own, statistics.axes, sums, sd[label, place] == 0, label, place))
        slopes = np.where(
            defined[..., None], solved(np.where(defined[..., None, None], within, np.eye(own.width - 1)), cross), 0.0
        )
        squares = sums.squares(slopes)
        intercept = sums.mean[..., -1] - (slopes * sums.mean[..., :-1]).sum(axis=-1)
        beta = np.concatenate([intercept[..., None], slopes], axis=-1)
        betas.append(np.where(defined[..., None], beta, 0.0).reshape(1, len(beta), -1))
        variances.append(np.where(defined, squares / np.maximum(sums.n, 1e-300), 1.0)[None])
    if not betas:
        return {}
    return {"beta": np.concatenate(betas, axis=2), "sigma2": np.concatenate(variances, axis=2)}


def _possible(own: Regression, axes: Axes, tables: ConditionalTables | None, theta: Parameters) -> NDArray[np.bool_]:
    """Return whether each configuration of a number's parents has a probability above 0, (outcome, configuration)."""
    if tables is None or not own.given:
        return np.ones((len(axes.labels), own.count), dtype=bool)
    codes = np.full((own.count, len(axes.features)), MISSING)
    codes[:, own.given] = np.stack(np.unravel_index(np.arange(own.count), own.sizes), axis=1)
    return np.asarray(-np.inf < tables.log_density(codes[:, are_categories(axes)], theta)[0].T)


def _reason(own: Regression, axes: Axes, sums: Sums, constant: NDArray[np.bool_], label: int, place: int) -> str:
    """Return why a class and configuration has no estimate, given which of the parents and the number are constant."""
    _, of_regressions = names(axes, [own])
    name, _, where = of_regressions[place].partition(" | ")
    who, where = f"class {axes.labels[label]!r} has", f" where {where}" if where else ""
    columns = [repr(axes.features[i]) for i in (*own.on, own.of)]
    if sums.n[label, place] == 0:
        return f"{who} no value in {joined(columns)}{where}"
    if sums.n[label, place] <= own.width or not own.on:
        why = "for a variance by maximum likelihood; use the rule 'map'"
        return f"{who} too few different values in column {name!r}{where} {why}"
    involved = compress(columns, collinear(sums.scatter[label, place], constant))
    return (
        f"{who} collinear or constant columns ({joined(involved)}){where}, so the maximum likelihood regression of "
        f"{name!r} is not unique; drop one column, or use the rule 'map'"
    )
