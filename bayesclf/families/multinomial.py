"""Counts of words: a Dirichlet over the vocabulary for each class (the multinomial event model)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self, override

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
from bayesclf.families.learned_alpha import LearntAlpha
from bayesclf.families.page_tables import observe_counts
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

    @override
    def sizes(self, axes: Axes) -> tuple[int, ...]:
        """Return the number of words."""
        return (len(axes.features),)

    @override
    def pymc(self, statistics: MultinomialStatistics, suffix: str) -> None:
        """Add θ, observing the counts of the words of each class."""
        import pymc as pm

        from bayesclf import pymc_models

        theta = pymc_models.words(pm.Data(f"theta_alpha{suffix}", np.asarray(self.alpha)), suffix)
        observe_counts(f"words{suffix}", theta, statistics.counts)

    @override
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

    @override
    def log_predictive(self, X: Any) -> Array:
        """Return Pólya's log p(x | y, D), (row, outcome): without the multinomial coefficient."""
        alpha = np.asarray(self.alpha)
        return _Words.of(X).log_predictive(alpha)(np.zeros(alpha.shape[1]))

    @override
    def log_predictive_without(self, X: Any, y: Integers) -> Array:
        """Own class: Pólya's Γ(A − N)/Γ(A) Π_j Γ(a_j)/Γ(a_j − x_j), with a of the posterior, A = Σa and N = Σx.

        NaN where a count is so large that the difference has no digits of α left.
        """
        return self.without_each(X, y)(np.zeros(len(self.axes.features)))

    @override
    def without_each(self, X: Any, y: Integers) -> Callable[[Array], Array]:
        """Return the function, with what does not depend on the concentration computed once."""
        alpha, words = np.asarray(self.alpha), _Words.of(X)
        of_words, each = words.log_predictive(alpha), np.arange(len(y))
        row, word, counts = words.row, words.counts.indices[words.order], words.counts.data[words.order]
        own, total = alpha[y[row], word], alpha.sum(axis=1)[y]

        def without(more: Array) -> Array:
            """Return the predictive (row, outcome)."""
            of_word, of_all = own + more[word], total + more.sum()
            lost = of_word - counts < LOST * of_word
            rising = _log_rising(np.where(lost, 1.0, of_word - counts), words.starts, counts[words.rest :])
            of_own = np.bincount(row, np.where(lost, np.nan, rising), minlength=len(y))
            rest = np.where(of_all - words.length < LOST * of_all, np.nan, of_all - words.length)
            out = of_words(more)
            out[each, y] = of_own - (gammaln(of_all) - gammaln(rest))
            return out

        return without

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

    @override
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Return the axis words of θ."""
        return {"theta": ("outcome", "word")}


@dataclass(frozen=True, eq=False)
class _Words:
    """Counts of words, with what log Γ(a + x)/Γ(a) of their counts x needs for any concentrations a.

    For a whole count that is log a + log(a + 1) + … + log(a + x − 1). It is taken once for all rows that have a word so
    many times.

    `counts`: (row, word), sparse, each stored entry above 0. `order`: Entries in the order of their counts, those last
    that are not whole or above `STEPS`. `row`: Row of each entry in that order. `starts`: The first entries, in that
    order, whose counts are above 1, 2, …. `rest`: The first that is not whole or above `STEPS`. `pairs`: Which pairs of
    a word and a whole count each row has, (row, pair), sparse. `word`, `pair_starts`: The word of each pair, and the
    first pairs whose counts are above 1, 2, ….
    """

    counts: sparse.csr_array
    order: Integers
    row: Integers
    starts: Integers
    rest: int
    pairs: sparse.csr_array
    word: Integers
    pair_starts: Integers

    @classmethod
    def of(cls, X: Any) -> Self:
        """Look at counts (row, word), dense or sparse."""
        counts = _nonzero(X)
        whole = (counts.data <= STEPS) & (counts.data == np.floor(counts.data))
        times = np.where(whole, counts.data, STEPS + 1).astype(np.int16)  # which a radix sort takes
        order = np.argsort(times, kind="stable")
        row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))[order]
        rest = int(np.count_nonzero(whole))
        words, of_entry = _different(counts.indices[whole], counts.shape[1])
        pairs, of_entry = _different((times[whole].astype(np.intp) - 1) * len(words) + of_entry, STEPS * len(words))
        ends = np.concatenate(([0], np.cumsum(whole)))[counts.indptr]
        entries = sparse.csr_array((np.ones(rest), of_entry, ends), shape=(counts.shape[0], len(pairs)))
        steps = np.arange(1, times[whole].max(initial=1))
        starts, pair_starts = np.searchsorted(times[order], steps, "right"), np.searchsorted(pairs, steps * len(words))
        return cls(counts, order, row, starts, rest, entries, words[pairs % max(len(words), 1)], pair_starts)

    @cached_property
    def length(self) -> Array:
        """Number of words of each row, (row)."""
        return np.asarray(self.counts.sum(axis=1), dtype=float)

    def log_predictive(self, alpha: Array) -> Callable[[Array], Array]:
        """Return the function from what each concentration has more, (word), to Pólya's log p(x | y, D).

        It is Σ_j log [Γ(a_j + x_j)/Γ(a_j)] − log [Γ(A + N)/Γ(A)], (row, outcome), of `alpha` (outcome, word).
        """
        given, total = alpha[:, self.word].T.copy(), alpha.sum(axis=1)
        lengths, place = np.unique(self.length, return_inverse=True)

        def of_rows(more: Array) -> Array:
            """Return the predictive (row, outcome)."""
            out = np.asarray(self.pairs @ _log_rising(given + more[self.word, None], self.pair_starts))
            for start in range(self.rest, len(self.order), ENTRIES):
                some = slice(start, start + ENTRIES)
                word, counts = self.counts.indices[self.order[some]], self.counts.data[self.order[some]]
                concentration = alpha[:, word].T + more[word, None]
                rising = gammaln(concentration + counts[:, None]) - gammaln(concentration)
                np.add.at(out, self.row[some], rising)
            of_all = total + more.sum()
            return out - (gammaln(of_all + lengths[:, None]) - gammaln(of_all))[place]

        return of_rows


def _different(codes: Integers, number: int) -> tuple[Integers, Integers]:
    """Return which of so many codes occur, and the place of each among them: without sorting, unlike `np.unique`."""
    there = np.zeros(number, dtype=bool)
    there[codes] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[codes]


def _log_rising(alpha: Array, starts: Integers, counts: Array | None = None) -> Array:
    """Return log [Γ(α + x)/Γ(α)] of each α (entry, …) and count x.

    `starts`: The first entries whose whole counts are above 1, 2, …. `counts`: Counts of the last entries, for which
    log Γ is taken.
    """
    total = np.log(alpha)
    for step, first in enumerate(starts.tolist(), 1):
        total[first:] += np.log(alpha[first:] + step)
    if counts is not None and len(counts):
        rest = alpha[-len(counts) :]
        total[-len(counts) :] = gammaln(rest + counts) - gammaln(rest)
    return total


def _nonzero(X: Any) -> sparse.csr_array:
    """Return counts (row, word) with stored entries only where they are above 0."""
    counts = dirichlet.canonical(X)
    if not counts.data.all():
        counts = counts.copy()
        counts.eliminate_zeros()
    return counts
