"""A second, naive way to every density of categories and numbers together, by SciPy."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from helpers.case import MISSING_SHARE, Case, tangent_grid
from scipy import stats
from scipy.special import gammaln


@dataclass(frozen=True, eq=False)
class MixedCase(Case):
    """Codes and numbers in one block; a point is (θ, β, σ²).

    Attributes
    ----------
    tables
        The categories that each table is (given, of), as positions among the features.
    lines
        The number, its parents among the categories and those among the numbers, parents first.
    """

    tables: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    lines: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...]

    def data(self, seed=0, n=60):
        """Return rows with missing cells of "v", on which nothing depends, and enough of each configuration."""
        return super().data(seed, n)

    def complete(self, seed=0, n=60):
        return super().complete(seed, n)

    @property
    def categories(self):
        return [j for j, size in enumerate(self.axes.sizes) if size]

    def rows(self, rng, y, missing=MISSING_SHARE):
        X = np.zeros((len(y), 3))
        for j, size in enumerate(self.axes.sizes):
            X[:, j] = rng.integers(size, size=len(y)) if size else 0.8 * y + 1.3 * X[:, 0] + rng.normal(size=len(y))
        X[rng.random(len(y)) < missing, 1] = np.nan
        return X

    def values(self, features):
        return list(itertools.product(*(range(self.axes.sizes[j]) for j in features)))

    def widths(self):
        """Return the cells of each simplex, and the number of terms of each regression."""
        simplexes = [len(self.values(of)) for given, of in self.tables for _ in self.values(given)]
        return simplexes, [1 + len(on) for _, given, on in self.lines for _ in self.values(given)]

    @property
    def spaces(self):
        simplexes, terms = self.widths()
        shapes = {"theta": sum(simplexes), "beta": sum(terms), "sigma2": len(terms)}
        spaces = {"theta": "simplex", "beta": "real", "sigma2": "log"}
        return {name: (spaces[name], (1, 3, size)) for name, size in shapes.items()}

    def slices(self):
        widths = self.widths()[0]
        return [slice(end - width, end) for end, width in zip(np.cumsum(widths), widths, strict=True)]

    def of_class(self, k, parameters):
        """Yield each combination of all categories with its probability, and the mean and covariance of numbers."""
        theta, beta, sigma2 = (parameters[name][0, k] for name in ("theta", "beta", "sigma2"))
        for values in self.values(self.categories):
            code = dict(zip(self.categories, values, strict=True))
            probability, cell = 1.0, 0
            for given, of in self.tables:
                for u in self.values(given):
                    for x in self.values(of):
                        if all(code[j] == value for j, value in zip((*given, *of), (*u, *x), strict=True)):
                            probability *= theta[cell]
                        cell += 1
            mean, covariance, term, line = np.zeros(3), np.zeros((3, 3)), 0, 0
            for of, given, on in self.lines:
                for u in self.values(given):
                    if all(code[j] == value for j, value in zip(given, u, strict=True)):
                        own = beta[term : term + 1 + len(on)]
                        mean[of] = own[0] + own[1:] @ mean[list(on)]
                        covariance[of] = own[1:] @ covariance[list(on)]
                        covariance[:, of] = covariance[of]
                        covariance[of, of] = sigma2[line] + own[1:] @ covariance[list(on), of]
                    term += 1 + len(on)
                    line += 1
            yield code, probability, mean, covariance

    def row_log_density(self, X, y, parameters):
        joint = {k: list(self.of_class(k, parameters)) for k in set(y.tolist())}
        return np.array([np.log(self._density(x, joint[k])) for x, k in zip(X, y, strict=True)], dtype=float)

    def _density(self, x, joint):
        seen = ~np.isnan(x)
        numbers = [j for j in range(3) if seen[j] and j not in self.categories]
        total = 0.0
        for code, probability, mean, covariance in joint:
            if all(not seen[j] or x[j] == value for j, value in code.items()):
                own = covariance[np.ix_(numbers, numbers)]
                of_numbers = stats.multivariate_normal.pdf(x[numbers], mean[numbers], own) if numbers else 1.0
                total += probability * of_numbers
        return total

    def parts(self, family):
        """Yield terms and number of each regression, the class, mean and precision of β from 0, and a and b."""
        term = line = 0
        for _, part in family.parts():
            for c in range(part.a.shape[1]):
                width = part.m.shape[-1]
                shift = np.eye(width)
                shift[0, 1:] = -part.centre
                back = np.linalg.inv(shift)
                for k in range(3):
                    precision = back.T @ part.precision[k, c] @ back
                    yield (
                        slice(term, term + width),
                        line,
                        k,
                        shift @ part.m[k, c],
                        precision,
                        part.a[k, c],
                        part.b[k, c],
                    )
                term += width
                line += 1

    def log_prior(self, family, parameters):
        total, cell = 0.0, 0
        for width in self.widths()[0]:
            for k in range(3):
                alpha = family.alpha[k, cell : cell + width]
                log_theta = np.log(parameters["theta"][0, k, cell : cell + width])
                total += gammaln(alpha.sum()) - gammaln(alpha).sum() + (alpha - 1) @ log_theta
            cell += width
        for terms, line, k, m, precision, a, b in self.parts(family):
            sigma2, beta = parameters["sigma2"][0, k, line], parameters["beta"][0, k, terms]
            # The formulas themselves: SciPy's checks would take most of the time of a search for the mode.
            total += a * np.log(b) - gammaln(a) - (a + 1) * np.log(sigma2) - b / sigma2
            total += 0.5 * np.linalg.slogdet(precision)[1] - 0.5 * len(beta) * np.log(2 * np.pi * sigma2)
            total -= 0.5 * (beta - m) @ precision @ (beta - m) / sigma2
        return total

    def marginals(self, family):
        """Return the distribution of each parameter: a Beta, Student's t of a coefficient, an inverse gamma."""
        total = np.concatenate(
            [
                np.repeat(part.sum(axis=1, keepdims=True), part.shape[1], 1)
                for part in np.split(family.alpha, np.cumsum(self.widths()[0])[:-1], axis=1)
            ],
            axis=1,
        )
        terms = self.widths()[1]
        location, scale, freedom = np.empty((3, 3, sum(terms)))
        shape, rate = np.empty((2, 3, len(terms)))
        for own, line, k, m, precision, a, b in self.parts(family):
            location[k, own], freedom[k, own] = m, 2 * a
            scale[k, own] = np.sqrt(b / a * np.diag(np.linalg.inv(precision)))
            shape[k, line], rate[k, line] = a, b
        return {
            "theta": stats.beta(family.alpha, total - family.alpha),
            "beta": stats.t(freedom, loc=location, scale=scale),
            "sigma2": stats.invgamma(shape, scale=rate),
        }

    def to_pymc(self, parameters):
        return {own.name: own.of(parameters) for own in self.prior.page_variables("")} or dict(parameters)

    def cell_grid(self, feature):
        size = self.axes.sizes[feature]
        return (np.arange(size), np.ones(size)) if size else tangent_grid()

    def naive_mle(self, X, y):
        """Return fractions of counts, and NumPy's least squares of each class and configuration."""
        beta, sigma2 = [], []
        for k in range(3):
            of_class = []
            for of, given, on in self.lines:
                there = (y == k) & ~np.isnan(X[:, [of, *given, *on]]).any(axis=1)
                for u in self.values(given):
                    own = X[there & (X[:, list(given)] == u).all(axis=1)]
                    z = np.column_stack([np.ones(len(own)), own[:, list(on)]])
                    fit = np.linalg.lstsq(z, own[:, of])[0]
                    of_class.append((fit, np.mean((own[:, of] - z @ fit) ** 2)))
            beta.append(np.concatenate([fit for fit, _ in of_class]))
            sigma2.append([square for _, square in of_class])
        theta = [
            [
                share(X[y == k], (*given, *of), (*u, *x)) / share(X[y == k], given, u)
                for given, of in self.tables
                for u in self.values(given)
                for x in self.values(of)
            ]
            for k in range(3)
        ]
        return {"theta": np.array(theta)[None], "beta": np.array(beta)[None], "sigma2": np.array(sigma2)[None]}


def share(X, features, values):
    """Return the share of rows with these values."""
    return np.mean((X[:, list(features)] == np.array(values)).all(axis=1))
