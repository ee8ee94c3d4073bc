"""A second, naive way to every density of categories and numbers together, by SciPy."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from helpers.case import MISSING_SHARE, tangent_grid
from helpers.discrete_cases import TablesCase
from scipy import stats
from scipy.special import gammaln


@dataclass(frozen=True, eq=False)
class MixedCase(TablesCase):
    """Codes and numbers in one block; a point is (θ, β, σ²).

    Attributes
    ----------
    lines
        The number, its parents among the categories and those among the numbers, parents first.
    """

    lines: tuple[tuple[int, tuple[int, ...], tuple[int, ...]], ...] = ()

    absent = np.nan

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

    def terms(self):
        """Return the number of terms of each regression."""
        return [1 + len(on) for _, given, on in self.lines for _ in self.combinations(given)]

    @property
    def spaces(self):
        terms = self.terms()
        return super().spaces | {"beta": ("real", (1, 3, sum(terms))), "sigma2": ("log", (1, 3, len(terms)))}

    @cached_property
    def own(self):
        found = super().own
        of_all = np.array([of in self.free for of, given, _ in self.lines for _ in self.combinations(given)])
        found["sigma2"][:, 1:, of_all] = found["beta"][:, 1:, np.repeat(of_all, self.terms())] = False
        return found

    def of_class(self, k, parameters):
        """Yield each combination of all categories with its probability, and the mean and covariance of numbers."""
        theta, beta, sigma2 = (parameters[name][0, k] for name in ("theta", "beta", "sigma2"))
        for values in self.combinations(self.categories):
            code, cells = dict(zip(self.categories, values, strict=True)), self.cells()
            own = [p for p, (on, at, _, _) in zip(theta, cells, strict=True) if tuple(code[j] for j in on) == at]
            probability = np.prod(own)
            mean, covariance, term, line = np.zeros(3), np.zeros((3, 3)), 0, 0
            for of, given, on in self.lines:
                for u in self.combinations(given):
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
        total = super().log_prior(family, parameters)
        for terms, line, k, m, precision, a, b in self.parts(family):
            if not self.own["sigma2"][0, k, line]:
                continue
            sigma2, beta = parameters["sigma2"][0, k, line], parameters["beta"][0, k, terms]
            # The formulas themselves: SciPy's checks would take most of the time of a search for the mode.
            total += a * np.log(b) - gammaln(a) - (a + 1) * np.log(sigma2) - b / sigma2
            total += 0.5 * np.linalg.slogdet(precision)[1] - 0.5 * len(beta) * np.log(2 * np.pi * sigma2)
            total -= 0.5 * (beta - m) @ precision @ (beta - m) / sigma2
        return total

    def marginals(self, family):
        """Return the distribution of each parameter: a Beta, Student's t of a coefficient, an inverse gamma."""
        terms = self.terms()
        location, scale, freedom = np.empty((3, 3, sum(terms)))
        shape, rate = np.empty((2, 3, len(terms)))
        for own, line, k, m, precision, a, b in self.parts(family):
            location[k, own], freedom[k, own] = m, 2 * a
            scale[k, own] = np.sqrt(b / a * np.diag(np.linalg.inv(precision)))
            shape[k, line], rate[k, line] = a, b
        return super().marginals(family) | {
            "beta": stats.t(freedom, loc=location, scale=scale),
            "sigma2": stats.invgamma(shape, scale=rate),
        }

    def cell_grid(self, feature):
        return super().cell_grid(feature) if self.axes.sizes[feature] else tangent_grid()

    def naive_mle(self, X, y):
        """Return fractions of counts, and NumPy's least squares of each class and configuration."""
        beta, sigma2 = [], []
        for k in range(3):
            of_class = []
            for of, given, on in self.lines:
                there = ((y == k) | (of in self.free)) & ~np.isnan(X[:, [of, *given, *on]]).any(axis=1)
                for u in self.combinations(given):
                    own = X[there & (X[:, list(given)] == u).all(axis=1)]
                    z = np.column_stack([np.ones(len(own)), own[:, list(on)]])
                    fit = np.linalg.lstsq(z, own[:, of])[0]
                    of_class.append((fit, np.mean((own[:, of] - z @ fit) ** 2)))
            beta.append(np.concatenate([fit for fit, _ in of_class]))
            sigma2.append([square for _, square in of_class])
        return super().naive_mle(X, y) | {"beta": np.array(beta)[None], "sigma2": np.array(sigma2)[None]}
