"""Counts of words: a Dirichlet over the vocabulary for each class (the multinomial event model)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, override

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from bayesclf.errors import DoesNotExist, InputError
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Family, Statistics
from bayesclf.families.hierarchical import LearntAlpha
from bayesclf.families.hyperparameters import broadcast, require_positive
from bayesclf.families.pymc_statistics import observe_counts
from bayesclf.families.terms import Contributions, Density, LinearDesign, LinearTerms, Pair, each
from bayesclf.typing import Array, Integers, Parameters

STEPS = 16
"""Whole counts up to this are a sum of logarithms; others take log Γ, at several times the cost."""

ENTRIES = 2**16
"""Entries whose log Γ are held at once, for all classes."""


@dataclass(frozen=True)
class MultinomialStatistics(Statistics):
    """Counts n (outcome, word) over all documents of a class."""

    axes: Axes
    counts: Array

    @classmethod
    @override
    def of(cls, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Add up the counts; `X` is (row, word), dense or sparse."""
        return cls(axes, dirichlet.class_sums(X, y, len(axes.labels), sample_weight))


@dataclass(frozen=True)
class Multinomial(Family[MultinomialStatistics]):
    """Words w_1 … w_N of a document are drawn one by one: P(w = j | y = k) = θ_jk with θ_k ~ Dirichlet(α_k).

    ========= ========================== ================ ====================
    parameter support                    prior            posterior
    ========= ========================== ================ ====================
    θ_k       simplex over the vocabulary Dirichlet(α_k)  Dirichlet(α_k + n_k)
    ========= ========================== ================ ====================

    MLE n_jk/n_k: the word's share of all words of the class; MAP (n_jk + α_jk − 1)/(n_k + Σα − M), M the size of the
    vocabulary: l = α − 1 = 1 is Laplace's rule. The density is that of the *sequence* of words, Π_j θ_jk^{x_j}: the
    multinomial coefficient N!/Π x_j! depends on neither class nor θ and is left out everywhere, as is P(N), so that no
    answer depends on it. The predictive of a document is Pólya's, not the density at the posterior mean, as a word
    that has occurred makes its next occurrence more probable: with a = α_k + n_k, A = Σ_j a_j,

    .. math:: p(x | k, D) = \\frac{Γ(A)}{Γ(A + N)} \\prod_{j: x_j > 0} \\frac{Γ(a_j + x_j)}{Γ(a_j)}.

    Counts are real and at least 0. A missing count is refused, as the length of its document is unknown. Every word is
    informative: one that no document has still takes its share of Σα.

    Parameters
    ----------
    alpha
        Concentration, above 0: a number, or an array that broadcasts to (outcome, word); or a `LearntAlpha`.
    length
        Number of words of each document that `sample` makes: the model does not say how long documents are.
    axes
        Set by `resolve_prior`.

    References
    ----------
    Abu-El-Haija 3.2.1, 3.4; Aberdeen; CS4780, multinomial naive Bayes; Mitchell 1997 Table 6.2.
    """

    alpha: float | Array | LearntAlpha = 2.0
    length: int = 100
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str] = "multinomial"
    kind: ClassVar[str] = "count"
    statistics_type: ClassVar[type[Statistics]] = MultinomialStatistics

    def __post_init__(self) -> None:
        if not isinstance(self.alpha, LearntAlpha):
            require_positive(alpha=self.alpha)
        if self.length < 1:
            raise InputError(f"length must be at least 1, not {self.length}")

    @override
    def resolve_prior(self, statistics: MultinomialStatistics) -> Self:
        """Return the prior with α as an array (outcome, word), or, if α is to be learnt, what learns it."""
        if isinstance(self.alpha, LearntAlpha):
            return self.alpha.resolve(self, statistics)
        alpha = broadcast("alpha", self.alpha, statistics.counts.shape, "outcome, word")
        return replace(self, alpha=alpha, axes=statistics.axes)

    @override
    def mle(self, statistics: MultinomialStatistics) -> Parameters:
        """Return the words' shares; raises `DoesNotExist` for a class without a word."""
        theta = dirichlet.normalize(statistics.counts, (statistics.counts.shape[1],))
        _require_defined(theta, statistics.axes, "has no words in its training rows")
        return {"theta": theta[None]}

    @override
    def map(self, statistics: MultinomialStatistics) -> Parameters:
        """Return the mode; raises `DoesNotExist` where it is not unique or the density unbounded."""
        theta = dirichlet.mode(np.asarray(self.posterior(statistics).alpha), self._sizes)
        _require_defined(theta, self.axes, "has no single most probable θ (some count + α is below 1, or all are 1)")
        return {"theta": theta[None]}

    @override
    def posterior(self, statistics: MultinomialStatistics) -> Self:
        """Return Dirichlet(α + n)."""
        return replace(self, alpha=np.asarray(self.alpha) + statistics.counts)

    @override
    def draw(self, rng: np.random.Generator, draws: int) -> Parameters:
        return {"theta": dirichlet.draw(np.asarray(self.alpha), self._sizes, rng, draws)}

    @override
    def mean(self) -> Parameters:
        """Return α/Σα."""
        return {"theta": dirichlet.mean(np.asarray(self.alpha), self._sizes)[None]}

    @override
    def pymc(self, statistics: MultinomialStatistics, suffix: str) -> None:
        import pymc as pm

        alpha = pm.Data(f"theta_word_alpha{suffix}", np.asarray(self.alpha))
        theta = pm.Dirichlet(f"theta_word{suffix}", alpha, dims=("outcome", f"word{suffix}"))
        observe_counts(f"words{suffix}", theta, statistics.counts)

    @override
    def from_pymc(self, draws: Mapping[str, Array], suffix: str) -> Parameters:
        return {"theta": draws[f"theta_word{suffix}"]}

    @override
    def log_density(self, X: Any, parameters: Parameters) -> Array:
        """Return Σ_j x_j log θ_jk, (draw, row, outcome): without the multinomial coefficient."""
        theta = parameters["theta"]
        draws, labels, words = theta.shape
        with np.errstate(divide="ignore"):
            log_theta = np.log(theta).transpose(2, 1, 0).reshape(words, labels * draws)
        # Sparse, because 0 · log 0 would be NaN in a dense product and an absent entry is not multiplied at all.
        log_density = np.asarray(_nonzero(X) @ log_theta)
        return np.asarray(np.moveaxis(log_density.reshape(X.shape[0], labels, draws), 2, 0))

    @override
    def log_predictive(self, X: Any) -> Array:
        """Return Pólya's log p(x | y, D), (row, outcome): without the multinomial coefficient."""
        alpha = np.asarray(self.alpha)
        X = _nonzero(X)
        total = alpha.sum(axis=1)
        length = np.asarray(X.sum(axis=1), dtype=float)[:, None]
        return np.asarray(log_rising(X, alpha) - (gammaln(total + length) - gammaln(total)))

    @override
    def log_predictive_without(self, X: Any, y: Integers) -> Array:
        """Own class: Pólya's Γ(A − N)/Γ(A) Π_j Γ(a_j)/Γ(a_j − x_j), with a of the posterior, A = Σa and N = Σx."""
        alpha, counts = np.asarray(self.alpha), dirichlet.canonical(X)
        row = np.repeat(np.arange(len(y)), np.diff(counts.indptr))
        total, length = alpha.sum(axis=1)[y], np.asarray(counts.sum(axis=1), dtype=float)
        of_word = alpha[y[row], counts.indices]
        own = np.bincount(row, gammaln(of_word) - gammaln(of_word - counts.data), minlength=len(y))
        return self._with_own(X, y, own - (gammaln(total) - gammaln(total - length)))

    @override
    def log_normalizer(self) -> Array:
        """log B(α_k): the evidence is Pólya's of all words of a class, without the multinomial coefficients."""
        return dirichlet.log_beta(np.asarray(self.alpha), self._sizes)

    @override
    def log_prior(self, parameters: Parameters) -> Density:
        """θ_k ~ Dirichlet(α_k) over the vocabulary."""
        return Density.of_simplexes("theta", parameters["theta"], np.asarray(self.alpha), self._sizes)

    @override
    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """Σ_j x_j log θ_jk: one weight a word (CS4780)."""
        return LinearTerms.of_logs(parameters["theta"])

    @override
    def contributions(self, X: Any, parameters: Parameters, pair: Pair) -> Contributions:
        """x_j log θ_kj/θ_k′j of each word that is there."""
        counts = _nonzero(X).tocoo()
        row, word = counts.row.astype(np.intp), counts.col.astype(np.intp)
        values = counts.data * pair.log_ratios_of_cells(parameters["theta"], row, word)
        return Contributions(each(self.axes.features), row, word, values, counts.data)

    @override
    def tables(self, statistics: MultinomialStatistics) -> dirichlet.Tables:
        """One table, the vocabulary."""
        return dirichlet.Tables(statistics.counts, (statistics.counts.shape[1],))

    @override
    def with_alpha(self, alpha: Array) -> Self:
        return replace(self, alpha=alpha)

    @override
    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw counts (row, word) of documents of `length` words."""
        theta = parameters["theta"][0]
        return np.asarray(rng.multinomial(self.length, theta[y]), dtype=float)

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        return {"theta": ("outcome", "word")}

    @property
    def _sizes(self) -> tuple[int, ...]:
        return (len(self.axes.features),)


def log_rising(X: sparse.csr_array, alpha: Array) -> Array:
    """Return Σ_j log [Γ(α_jk + x_ij)/Γ(α_jk)] over the entries of each row, (row, outcome).

    For a whole count x it is log α + log(α + 1) + … + log(α + x − 1); as most counts in text are 1 or 2, it costs two
    or three sparse products.

    Parameters
    ----------
    X
        Counts (row, word), sparse, each stored entry above 0.
    alpha
        Concentrations (outcome, word).
    """
    total = np.zeros((X.shape[0], len(alpha)))
    stepwise = (X.data <= STEPS) & (X.data == np.floor(X.data))
    data, indices, ends = X.data, X.indices, X.indptr
    for step in range(STEPS):
        above = data > step if step else stepwise
        data, indices, ends = data[above], indices[above], np.concatenate(([0], np.cumsum(above)))[ends]
        if not len(data):
            break
        used = np.bincount(indices, minlength=X.shape[1]) > 0
        entries = (np.ones(len(data)), (np.cumsum(used) - 1)[indices], ends)
        total += sparse.csr_array(entries, shape=(X.shape[0], used.sum())) @ np.log(alpha[:, used].T + step)
    rest = np.flatnonzero(~stepwise)
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    for start in range(0, len(rest), ENTRIES):
        some = rest[start : start + ENTRIES]
        concentration = alpha[:, X.indices[some]].T
        np.add.at(total, row[some], gammaln(concentration + X.data[some, None]) - gammaln(concentration))
    return total


def _nonzero(X: Any) -> sparse.csr_array:
    """Return counts (row, word) with stored entries only where they are above 0."""
    counts = dirichlet.canonical(X)
    if counts.nnz and not counts.data.all():
        counts = counts.copy()
        counts.eliminate_zeros()
    return counts


def _require_defined(theta: Array, axes: Axes, what: str) -> None:
    """Raise for the first class whose θ is NaN."""
    undefined = np.flatnonzero(np.isnan(theta).any(axis=1))
    if undefined.size:
        raise DoesNotExist(f"class {axes.labels[undefined[0]]!r} {what}")
