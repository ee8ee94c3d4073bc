"""Naive Bayes for tables of counts, dense or sparse: how often a word occurs, or whether it does."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, override

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from bayesclf.arrays import Array, Integers, Parameters
from bayesclf.classifiers.generative import GenerativeClassifier, own_options_first
from bayesclf.classifiers.training import (
    LEARNED,
    ColumnBlock,
    Concentration,
    DocumentLengths,
    concentration,
    given_lengths,
)
from bayesclf.constraints import Number, OrNone, Whole, require
from bayesclf.errors import InputError
from bayesclf.families import Bernoulli, LearntAlpha, Multinomial
from bayesclf.families.learned_alpha import TEXTBOOK
from bayesclf.tables import columns
from bayesclf.tables.columns import Column, SparseTable, Table

if TYPE_CHECKING:
    import pandas as pd


class CountClassifier(GenerativeClassifier):
    """A classifier of one block of columns, which may be a sparse table: this is never made dense.

    Attributes
    ----------
    feature_count_ : ndarray of shape (outcome, feature)
        Weight of the occurrences of each feature in each class.
    feature_log_prob_ : ndarray of shape (outcome, feature)
        log θ, of the posterior mean or the requested point.
    coef_ : ndarray of shape (1, feature) or (outcome, feature)
        Weights of the log-odds of a linear model: of the second of two classes, or of each of more, adding up to
        0. The average of `to_logistic` over the posterior, or that of the requested point.
    intercept_ : ndarray of shape (1,) or (outcome,)
        The log-odds at x = 0, likewise.
    """

    @property
    def columns_(self) -> tuple[Column, ...]:
        """The training columns, all numbers."""
        check_is_fitted(self, "classes_")
        return tuple(Column(name, "number") for name in self._learnt.blocks[0].names)

    @property
    def _column_names(self) -> tuple[str, ...]:
        return self._learnt.blocks[0].names

    def _training_columns(self, frame: Any, blocks: tuple[ColumnBlock, ...]) -> dict[str, Column]:
        """Return nothing: for a hundred thousand columns of numbers their names are enough."""
        return {}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.missing != "level"  # a sparse table has no missing cells
        tags.input_tags.categorical = False
        tags.classifier_tags.poor_score = True  # on the normal clusters of scikit-learn's checks, which are no counts
        return tags


@own_options_first
@dataclass(eq=False, repr=False)
class BernoulliNB(CountClassifier):
    """Naive Bayes with every feature present or absent: P(x_i = 1 | y = k) = θ_ik, θ_ik ~ Beta(α, β).

    Absent features count too. A missing cell (NaN, dense tables only) is integrated out.

    Parameters
    ----------
    alpha : float, array, "learned" or LearntAlpha
        First shape of the prior, above 0: a number, or an array that broadcasts to (outcome, feature). MAP adds α − 1
        presences and β − 1 absences: α = β = 2 is Laplace's rule, `sklearn.naive_bayes.BernoulliNB(alpha=1)`.
        ``"learned"``: the number α = β that best predicts the label of each training row from all other rows,
        ``bayesclf.families.LearntAlpha()``; MAP then adds α. `partial_fit` keeps the α of an earlier `fit`, or 1.
    beta : float, array or None
        Second shape of the prior, likewise; None for 2, or for α where that is learned.
    binarize : float or None
        Cells above it are present; None demands a table of 0 and 1 only.

    Examples
    --------
    >>> import bayesclf as bc
    >>> clf = bc.BernoulliNB(random_state=1).fit([[1, 0], [1, 1], [0, 1]], ["spam", "spam", "ham"])
    >>> clf.predict_proba([[1, 0]], rule="map").round(3)
    array([[0.045, 0.955]])

    References
    ----------
    Abu-El-Haija 3.2.2.
    """

    alpha: Concentration = LEARNED
    beta: float | Array | None = None
    _: KW_ONLY
    binarize: float | None = 0.0

    def _blocks(self, frame: Any) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns."""
        alpha, beta = concentration(self.alpha), TEXTBOOK if self.beta is None else self.beta
        family = Bernoulli(alpha, beta, 0.0 if self.binarize is None else self.binarize)
        return (ColumnBlock(family, tuple(map(str, frame.columns))),)

    def _check_options(self) -> None:
        super()._check_options()
        require(OrNone(Number()), binarize=self.binarize)
        if self.beta is not None and isinstance(self.alpha, str | LearntAlpha):
            raise InputError(f"beta={self.beta!r} has no effect where alpha is learned; leave it out, or give both")

    def _validated(self, X: Any, reset: bool) -> Any:
        if sparse.issparse(X) and str(self.missing) == "level":
            raise InputError("missing='level' needs a dense table: a sparse one has no missing cells")
        table = super()._validated(X, reset)
        if self.binarize is None:
            _require_events(table)
        return table


class DocumentClassifier(CountClassifier):
    """A classifier of documents: one block of words, of which there are as many as a document is long."""

    @property
    def _draws_lengths(self) -> bool:
        """Whether the model is of the words one by one, so that it needs to know how many there are."""
        return True

    def sample(
        self, n: int, y: Any = None, random_state: Any = 0, lengths: Any = None
    ) -> tuple[pd.DataFrame, NDArray[Any]]:
        """Generate labeled documents, each from a hypothesis of its own drawn from the posterior.

        The words of a document are drawn independently given its class, as the model has it, in this order. How many
        there are the model does not say: their number is drawn from the training documents of the class, those behind
        a prior included, or given.

        Parameters
        ----------
        n : int
            Number of documents.
        y : array of shape (row,)
            Labels (row) to generate documents for; drawn from the class prior where None.
        random_state : int, Generator or None
            Seed.
        lengths : int, array of shape (row,) or None
            Number of words, one for all documents or (row); drawn where None.

        Returns
        -------
        tuple
            The table, of counts (row, word) or of one column of text, and the labels (row).

        Raises
        ------
        InputError
            For lengths that are no whole numbers, and for those of a model of which words a document has.

        Examples
        --------
        >>> import bayesclf as bc
        >>> texts = ["win a prize now", "claim the prize", "see you at lunch", "lunch now?"]
        >>> clf = bc.TextNB(random_state=1).fit(texts, ["spam", "spam", "ham", "ham"])
        >>> table, labels = clf.sample(2, ["spam", "ham"], lengths=[3, 5])
        >>> [len(document.split()) for document in table["text"]]
        [3, 5]
        """
        require(Whole(1), n=n)
        if lengths is not None and not self._draws_lengths:
            raise InputError(
                "lengths cannot be given: this event model says of each word whether a document has it, and so how "
                "many; leave them out, or fit with event_model='multinomial'"
            )
        return self._sampled(n, y, random_state, None if lengths is None else given_lengths(lengths, n))

    @override
    def _cells(
        self, parameters: Parameters, y: Integers, rng: np.random.Generator, lengths: Integers | None
    ) -> tuple[NDArray[Any], ...]:
        if not self._draws_lengths:
            return super()._cells(parameters, y, rng, None)
        if lengths is None:
            known = self._document_lengths
            assert known is not None  # whoever draws lengths has learned them
            lengths = known.draw(y, rng)
        (block,) = self.model_.blocks
        assert isinstance(block.family, Multinomial)  # the others do not draw lengths
        return (block.family.sample_lengths(lengths, y, block.own(parameters), rng),)

    @override
    def _lengths(self, cells: list[Any], y: Integers, weight: Array | None) -> DocumentLengths | None:
        if not self._draws_lengths:
            return None
        return DocumentLengths.of(np.ravel(cells[0].sum(axis=1)), y, weight, len(self.classes_))


@own_options_first
@dataclass(eq=False, repr=False)
class MultinomialNB(DocumentClassifier):
    """Naive Bayes on counts of words: the words of a document are drawn from θ_k ~ Dirichlet(α), one by one.

    The predictive of a document is Pólya's in closed form, which is not the density at the posterior mean.

    Parameters
    ----------
    alpha : float, array, "learned" or LearntAlpha
        Concentration, above 0: a number, or an array that broadcasts to (outcome, word). MAP adds l = α − 1 to every
        count: 2 is Laplace's rule, `sklearn.naive_bayes.MultinomialNB(alpha=1)`, and with ``class_prior="empirical"``
        Naive_Bayes_text of Mitchell 1997 Table 6.2. ``"learned"``: the number that best predicts the label of each
        training row from all other rows, ``bayesclf.families.LearntAlpha()``; MAP then adds α.
        `partial_fit` keeps the α of an earlier `fit`, or 1.
    missing : {"ignore", "level"}
        Without effect: a missing count is always refused.

    Examples
    --------
    >>> import bayesclf as bc
    >>> clf = bc.MultinomialNB(random_state=1).fit([[2, 0], [1, 1], [0, 3]], ["a", "a", "b"])
    >>> clf.predict_proba([[1, 0]], rule="map").round(3)
    array([[0.918, 0.082]])

    References
    ----------
    Abu-El-Haija 3.2.1, 3.4; Aberdeen; CS4780; Mitchell 1997 Table 6.2.
    """

    alpha: Concentration = LEARNED

    def _blocks(self, frame: Any) -> tuple[ColumnBlock, ...]:
        """Return one block of all columns, which must hold counts."""
        return (ColumnBlock(Multinomial(concentration(self.alpha)), tuple(map(str, frame.columns))),)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.allow_nan = False
        return tags


def _require_events(table: Table) -> None:
    """Raise for a cell that is neither 0 nor 1 nor missing."""
    if isinstance(table, SparseTable):
        cells = table.cells.data
    else:
        cells = columns.numbers(table, tuple(map(str, table.columns)))
    wrong = cells[~(np.isnan(cells) | (cells == 0) | (cells == 1))]
    if wrong.size:
        raise InputError(f"binarize=None takes 0 and 1 only, but the table holds {wrong[0]:g}; give binarize a number")
