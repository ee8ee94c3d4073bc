"""Counts of words: a Dirichlet over the vocabulary for each class (the multinomial event model)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, override

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Whole, require
from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Statistics
from bayesclf.families.cells import dense
from bayesclf.families.hierarchical import LearntAlpha
from bayesclf.families.simplexes import SimplexFamily, require_alpha, require_basis
from bayesclf.families.terms import Contributions, LinearDesign, LinearTerms, Pair, each

STEPS = 16
"""Integer counts up to this use a sum of logarithms; others need log Γ, at several times the cost."""

LOST = 1e-12
"""Least share of a concentration that must remain without a row: below it fewer than four digits are left."""

ENTRIES = 2**16
"""Number of entries whose log Γ are kept in memory at once, for all classes."""


@dataclass(frozen=True)
class MultinomialStatistics(Statistics):
    """Counts n (outcome, word) over all documents of a class."""

    axes: Axes
    counts: Array

    @classmethod
    def of(cls, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Add up the counts; `X` is (row, word), dense or sparse."""
        return cls(axes, dirichlet.class_sums(X, y, len(axes.labels), sample_weight))

    @override
    def constant_features(self) -> list[str]:
        """Return the words that no document has."""
        return list(np.array(self.axes.features, dtype=object)[self.counts.sum(axis=0) == 0])


@dataclass(frozen=True, repr=False)
class Multinomial(SimplexFamily[MultinomialStatistics]):
    """Words w_1 … w_N of a document are drawn one by one: P(w = j | y = k) = θ_jk with θ_k ~ Dirichlet(α_k).

    ========= =========================== ============== ====================
    parameter support                     prior          posterior
    ========= =========================== ============== ====================
    θ_k       simplex over the vocabulary Dirichlet(α_k) Dirichlet(α_k + n_k)
    ========= =========================== ============== ====================

    MLE n_jk/n_k: the word's share of all words of the class; MAP (n_jk + α_jk − 1)/(n_k + Σα − M), M the size of the
    vocabulary: l = α − 1 = 1 is Laplace's rule. The density is that of the *sequence* of words, Π_j θ_jk^{x_j}: the
    multinomial coefficient N!/Π x_j! depends on neither class nor θ and is omitted everywhere, as is P(N); no answer
    depends on them. The predictive of a document is Pólya's, not the density at the posterior mean, as a word
    that has occurred makes its next occurrence more probable: with a = α_k + n_k, A = Σ_j a_j,

    .. math:: p(x | k, D) = \\frac{Γ(A)}{Γ(A + N)} \\prod_{j: x_j > 0} \\frac{Γ(a_j + x_j)}{Γ(a_j)}.

    Counts are real and at least 0. A missing count is refused, as the length of its document is unknown. Every word is
    informative: even one that occurs in no document has its share of Σα.

    Parameters
    ----------
    alpha : float, array or LearntAlpha
        Concentration, above 0: a number, or an array that broadcasts to (outcome, word); or a `LearntAlpha`.
    length : int
        Number of words of each document that `sample` makes: the model does not say how long documents are.
        `MultinomialNB` and `TextNB` take the lengths of the training documents instead.
    basis : str or tuple of str
        Where the density is maximized for MAP: ``"simplex"``, in θ itself, or ``"softmax"``, in log-odds, where the
        mode always exists and equals the posterior mean. Where α is learned, ``"softmax"``.
    axes : Axes
        Set by `resolve_prior`.

    References
    ----------
    Abu-El-Haija 3.2.1, 3.4; Aberdeen; CS4780, multinomial naive Bayes; Mitchell 1997 Table 6.2.
    """

    alpha: float | Array | LearntAlpha = 2.0
    length: int = 100
    basis: str | tuple[str, ...] = "simplex"
    axes: Axes = field(default=Axes((), ()), repr=False)
    name: ClassVar[str] = "multinomial"
    kind: ClassVar[str] = "count"
    likelihood: ClassVar[str] = "Categorical(theta) for each word"
    statistics_type: ClassVar[type[Statistics]] = MultinomialStatistics
    _lacking: ClassVar[str] = "has no words in its training rows"

    def __post_init__(self) -> None:
        require_alpha(alpha=self.alpha)
        require(Whole(1), length=self.length)
        require_basis(self.basis)

    @override
    def simplexes(self) -> tuple[Array, tuple[int, ...]]:
        """Return α (outcome, word), and the number of words."""
        return np.asarray(self.alpha), (len(self.axes.features),)

    @override
    def pymc(self, statistics: MultinomialStatistics, suffix: str) -> None:
        """Add θ, observing the counts of the words of each class."""
        import pymc as pm

        from bayesclf.families.pymc import observe_counts

        theta = self.page_theta(pm.Data(f"theta_alpha{suffix}", np.asarray(self.alpha)), suffix)
        observe_counts(f"words{suffix}", theta, statistics.counts)

    @override
    def page_theta(self, alpha: Any, suffix: str) -> Any:
        """Add θ, (outcome, word)."""
        from bayesclf import pymc_models

        return pymc_models.words(alpha, suffix)

    @override
    def page_cells(self, X: Any, row: Any, theta: Any, suffix: str) -> None:
        """Observe the words of each document, given how many there are."""
        from bayesclf import pymc_models

        counts = dense(X)
        if (counts % 1 != 0).any():
            raise Refused("words that count a fraction have no PyMC model; give whole counts")
        pymc_models.documents(theta, counts, row, suffix)

    def log_density(self, X: Any, parameters: Parameters) -> Array:
        """Return Σ_j x_j log θ_jk, (draw, row, outcome): without the multinomial coefficient."""
        return dirichlet.weighted_logs(_nonzero(X), parameters["theta"])

    def log_predictive(self, X: Any) -> Array:
        """Return Pólya's log p(x | y, D), (row, outcome): without the multinomial coefficient."""
        alpha = np.asarray(self.alpha)
        X = _nonzero(X)
        total = alpha.sum(axis=1)
        length = np.asarray(X.sum(axis=1), dtype=float)[:, None]
        return np.asarray(log_rising(X, alpha) - (gammaln(total + length) - gammaln(total)))

    def log_predictive_without(self, X: Any, y: Integers) -> Array:
        """Own class: Pólya's Γ(A − N)/Γ(A) Π_j Γ(a_j)/Γ(a_j − x_j), with a of the posterior, A = Σa and N = Σx.

        NaN where a count is so large that the difference has no digits of α left.
        """
        alpha, counts = np.asarray(self.alpha), dirichlet.canonical(X)
        row = np.repeat(np.arange(len(y)), np.diff(counts.indptr))
        total, length = alpha.sum(axis=1)[y], np.asarray(counts.sum(axis=1), dtype=float)
        of_word = alpha[y[row], counts.indices]
        lost = of_word - counts.data < LOST * of_word
        before = np.where(lost, 1.0, of_word - counts.data)
        own = np.bincount(row, np.where(lost, np.nan, _log_rising(before, counts.data)), minlength=len(y))
        rest = np.where(total - length < LOST * total, np.nan, total - length)
        return self._with_own(X, y, own - (gammaln(total) - gammaln(rest)))

    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """Σ_j x_j log θ_jk: one weight per word (CS4780)."""
        return LinearTerms.of_logs(parameters["theta"])

    def contributions(self, X: Any, parameters: Parameters, pair: Pair) -> Contributions:
        """x_j log θ_kj/θ_k′j of each word that occurs."""
        counts = _nonzero(X).tocoo()
        row, word = counts.row.astype(np.intp), counts.col.astype(np.intp)
        values = counts.data * pair.log_ratios_of_cells(parameters["theta"], row, word)
        return Contributions(each(self.axes.features), row, word, values, counts.data)

    def tables(self, statistics: MultinomialStatistics) -> dirichlet.Tables:
        """One table, the vocabulary."""
        return dirichlet.Tables(statistics.counts, (statistics.counts.shape[1],))

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw counts (row, word) of documents of `length` words."""
        return self.sample_lengths(self.length, y, parameters, rng)

    @override
    def sample_like(self, X: Any, y: Integers, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Draw counts (row, word) of documents as long as those of `X`; refused where a count is not a whole number."""
        counts = dirichlet.canonical(X)
        if (counts.data % 1).any():
            raise Refused("a document whose counts are not whole numbers cannot be drawn")
        return self.sample_lengths(np.ravel(counts.sum(axis=1)).astype(int), y, parameters, rng)

    def sample_lengths(
        self, lengths: int | Integers, y: Integers, parameters: Parameters, rng: np.random.Generator
    ) -> Array:
        """Draw counts (row, word) of documents of `lengths` words, one number for all or (row)."""
        return np.asarray(rng.multinomial(lengths, parameters["theta"][0][y]), dtype=float)

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ."""
        return {"theta": ("outcome", "word")}


def log_rising(X: sparse.csr_array, alpha: Array) -> Array:
    """Return Σ_j log [Γ(α_jk + x_ij)/Γ(α_jk)] over the entries of each row, (row, outcome).

    For an integer count x it is log α + log(α + 1) + … + log(α + x − 1); as most counts in text are 1 or 2, it costs
    two or three sparse products.

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


def _log_rising(alpha: Array, counts: Array) -> Array:
    """Return log [Γ(α + x)/Γ(α)] of each α and count x, as `log_rising` does."""
    total = np.zeros(len(counts))
    stepwise = (counts <= STEPS) & (counts == np.floor(counts))
    entries = np.flatnonzero(stepwise)
    for step in range(STEPS):
        entries = entries[counts[entries] > step]
        total[entries] += np.log(alpha[entries] + step)
    rest = ~stepwise
    total[rest] = gammaln(alpha[rest] + counts[rest]) - gammaln(alpha[rest])
    return total


def _nonzero(X: Any) -> sparse.csr_array:
    """Return counts (row, word) with stored entries only where they are above 0."""
    counts = dirichlet.canonical(X)
    if not counts.data.all():
        counts = counts.copy()
        counts.eliminate_zeros()
    return counts
