"""Counts of words: a Dirichlet over the vocabulary for each class (the multinomial event model)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.constraints import Whole, require
from bayesclf.errors import Refused
from bayesclf.families import dirichlet
from bayesclf.families.base import Axes, Statistics
from bayesclf.families.categorical import SimplexFamily, require_alpha, require_basis
from bayesclf.families.cells import dense
from bayesclf.families.dirichlet import log_rising
from bayesclf.families.learned_alpha import LearntAlpha
from bayesclf.families.page_tables import observe_counts
from bayesclf.families.terms import Contributions, LinearDesign, LinearTerms, Pair, each

STEPS = 64
"""Whole counts up to this use a product of so many factors; others need log Γ, which takes longer."""

MANY = 2**13
"""Entries of a sparse table that are worth loading machine code."""

LOST = 1e-12
"""Least share of a concentration that must remain without a row: below it fewer than four digits are left."""

RANGE = 280.0
"""Powers of ten that a product has room for."""


@dataclass(frozen=True)
class MultinomialStatistics(Statistics):
    """Counts n (outcome, word) over all documents of a class."""

    axes: Axes
    counts: Array

    @classmethod
    def of(cls, X: Any, y: Integers, axes: Axes, sample_weight: Array | None = None) -> Self:
        """Add up the counts; `X` is (row, word), dense or sparse."""
        return cls(axes, dirichlet.class_sums(X, y, len(axes.labels), sample_weight))

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
    multinomial coefficient N!/Π x_j! and P(N) depend on neither class nor θ and are omitted. The predictive of a
    document is Pólya's, not the density at the posterior mean: a word that has occurred makes its next occurrence more
    probable. With a = α_k + n_k, A = Σ_j a_j,

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

    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """Return the number of words."""
        return (len(axes.features),)

    def pymc(self, statistics: MultinomialStatistics, suffix: str) -> None:
        """Add θ, observing the counts of the words of each class."""
        import pymc as pm

        from bayesclf import pymc_models

        theta = pymc_models.words(pm.Data(f"theta_alpha{suffix}", np.asarray(self.alpha)), suffix)
        observe_counts(f"words{suffix}", theta, statistics.counts)

    def page(self, X: Any, row: Any, suffix: str) -> None:
        """Add θ, observing the words of each document, given how many there are."""
        from bayesclf import pymc_models

        counts = dense(X)
        if (counts % 1 != 0).any():
            raise Refused("words that count a fraction have no PyMC model; give whole counts")
        pymc_models.documents(pymc_models.words(np.asarray(self.alpha), suffix), counts, row, suffix)

    def log_density(self, X: Any, parameters: Parameters) -> Array:
        """Return Σ_j x_j log θ_jk, (draw, row, outcome): without the multinomial coefficient."""
        return dirichlet.weighted_logs(_nonzero(X), parameters["theta"])

    def log_predictive(self, X: Any) -> Array:
        """Return Pólya's log p(x | y, D), (row, outcome): without the multinomial coefficient."""
        return _rising(X, np.asarray(self.alpha))(np.zeros(len(self.axes.features)))

    def log_predictive_without(self, X: Any, y: Integers) -> Array:
        """Own class: Pólya's Γ(A − N)/Γ(A) Π_j Γ(a_j)/Γ(a_j − x_j), with a of the posterior, A = Σa and N = Σx.

        NaN where a count is so large that the difference has no digits of α left.
        """
        return self.without_each(X, y)(np.zeros(len(self.axes.features)))

    def without_each(self, X: Any, y: Integers) -> Callable[[Array], Array]:
        """Return the function, with what does not depend on the concentration computed once."""
        return _rising(X, np.asarray(self.alpha), y)

    def linear_terms(self, parameters: Parameters, design: LinearDesign) -> LinearTerms:
        """Σ_j x_j log θ_jk: one weight per word (CS4780)."""
        return LinearTerms.of_logs(parameters["theta"])

    def contributions(self, X: Any, parameters: Parameters, pair: Pair) -> Contributions:
        """x_j log θ_kj/θ_k′j of each word that occurs."""
        counts = _nonzero(X).tocoo()
        row, word = counts.row.astype(np.intp), counts.col.astype(np.intp)
        values = counts.data * pair.log_ratios_of_cells(parameters["theta"], row, word)
        return Contributions(each(self.axes.features), row, word, values, counts.data)

    def sample(self, parameters: Parameters, y: Integers, rng: np.random.Generator) -> Array:
        """Draw counts (row, word) of documents of `length` words."""
        return self.sample_lengths(self.length, y, parameters, rng)

    def sample_lengths(
        self, lengths: int | Integers, y: Integers, parameters: Parameters, rng: np.random.Generator
    ) -> Array:
        """Draw counts (row, word) of documents of `lengths` words, one number for all or (row)."""
        return np.asarray(rng.multinomial(lengths, parameters["theta"][0][y]), dtype=float)

    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ."""
        return {"theta": ("outcome", "word")}


def _rising(X: Any, alpha: Array, y: Integers | None = None) -> Callable[[Array], Array]:
    """Return the function from what each concentration has more, (word), to Pólya's log p(x | y, D), (row, outcome).

    It is Σ_j log [Γ(a_j + x_j)/Γ(a_j)] − log [Γ(A + N)/Γ(A)] of `alpha` (outcome, word). `y`: Label codes (row) of the
    classes whose `alpha` have counted the rows, and are to be without them.
    """
    counts = _nonzero(X)
    there = np.zeros(counts.shape[1], dtype=bool)
    there[counts.indices] = True
    words, place = np.flatnonzero(there), np.cumsum(there) - 1  # without sorting, unlike `np.unique`
    given, total = np.ascontiguousarray(alpha.T[words]), alpha.sum(axis=1)
    length = np.asarray(counts.sum(axis=1), dtype=float)
    lengths, of_length = np.unique(length, return_inverse=True)
    own = np.full(len(length), -1) if y is None else np.asarray(y, dtype=np.intp)
    entries = counts.indptr.astype(np.intp), place[counts.indices], counts.data.astype(float), own
    of_entries = _by_machine_code if counts.nnz >= MANY else _by_arrays

    def of_rows(more: Array) -> Array:
        """Return the predictive (row, outcome)."""
        of_all = total + more.sum()
        normalizer = (gammaln(of_all + lengths[:, None]) - gammaln(of_all))[of_length]
        if y is not None:
            of_own = of_all[y]
            rest = np.where(of_own - length < LOST * of_own, np.nan, of_own - length)
            normalizer[np.arange(len(y)), y] = gammaln(of_own) - gammaln(rest)
        return of_entries(*entries, given, more[words]) - np.asarray(normalizer)

    return of_rows


def _by_arrays(ends: Integers, words: Integers, counts: Array, y: Integers, alpha: Array, more: Array) -> Array:
    """Return what `kernels.rising_factors` does, of few entries: loading the machine code would take longer."""
    concentration = alpha[words] + more[words, None]
    rows, each = np.repeat(np.arange(len(y)), np.diff(ends)), np.arange(len(words))
    own = concentration[each, y[rows]]
    without = np.where(own - counts < LOST * own, np.nan, own - counts)
    rising = log_rising(concentration, counts[:, None])
    rising[each, y[rows]] = np.where(y[rows] < 0, rising[each, y[rows]], log_rising(without, counts))
    return np.asarray(sparse.csr_array((np.ones(len(words)), each, ends), shape=(len(y), len(words))) @ rising)


def _by_machine_code(ends: Integers, words: Integers, counts: Array, y: Integers, alpha: Array, more: Array) -> Array:
    """Return the same of many entries."""
    from bayesclf.families.kernels import rising_factors

    sizes = alpha.min() + more.min(), alpha.max() + more.max() + STEPS
    factors = max(1, int(RANGE / np.abs(np.log10(sizes)).max()))
    return np.asarray(rising_factors(ends, words, counts, y, alpha, more, STEPS, LOST, factors))


def _nonzero(X: Any) -> sparse.csr_array:
    """Return counts (row, word) with stored entries only where they are above 0."""
    counts = dirichlet.canonical(X)
    if not counts.data.all():
        counts = counts.copy()
        counts.eliminate_zeros()
    return counts
