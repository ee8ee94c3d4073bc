"""Naive Bayes on raw text: the vocabulary is part of the model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted, validate_data

from bayesclf.classifiers.base import classifier
from bayesclf.classifiers.inputs import Training
from bayesclf.classifiers.naive_bayes import CountsNB
from bayesclf.classifiers.training import LEARNED, NO_WORD, ColumnBlock, Learnt, concentration
from bayesclf.constraints import Choice, Instance, OrNone, require, require_bytes
from bayesclf.errors import InputError, Refused
from bayesclf.families import Bernoulli, LearntAlpha, Multinomial
from bayesclf.tables.columns import Column, Rows, SparseTable, row_numbers, without_mask
from bayesclf.wording import LONGEST_NAME, listed, written

if TYPE_CHECKING:
    import pandas as pd

EVENT_MODELS = ("multinomial", "bernoulli")

WHOLE_COLLECTION = ("min_df", "max_df", "max_features")
"""Options of the vectorizer that choose words by all documents at once, which documents in parts cannot do."""

OWN_OPTIONS = ("input", "binary", "dtype")
"""Options of the vectorizer that the classifier sets itself."""

WORD_BYTES = 32
"""Memory that a word of generated text takes, with its copies on the way."""

NAME = "text"
"""Name of the column where documents come without one."""


@classifier
class TextNB(CountsNB):
    """Naive Bayes on raw strings, by which words they have (``"bernoulli"``) or how often (``"multinomial"``).

    The vocabulary is that of the training documents; at prediction, words outside it are skipped. `partial_fit` adds
    new words as they come, so that documents in parts give what all give at once.

    Parameters
    ----------
    event_model : {"multinomial", "bernoulli"}
        ``"multinomial"``: θ_k ~ Dirichlet(α) over the vocabulary; ``"bernoulli"``: θ_ik ~ Beta(α, α) for each word.
    alpha : float, "learned" or LearntAlpha
        Concentration, above 0. MAP adds l = α − 1 to every count: 2 is Laplace's rule, and with
        ``class_prior="empirical"`` and ``rule="map"`` Naive_Bayes_text of Mitchell 1997 Table 6.2. ``"learned"``: the
        number that best predicts the label of each training document from all others,
        ``bayesclf.families.LearntAlpha()``; MAP then adds α. `partial_fit` keeps the α of an earlier `fit`, or 1.
    vectorizer : dict or None
        Arguments of `sklearn.feature_extraction.text.CountVectorizer`, which splits documents into words, as in
        ``{"token_pattern": "[a-z]+", "stop_words": "english"}``. A file can hold text and numbers only, no functions.
        Set after a fit, it matters to the next one.

    Attributes
    ----------
    vocabulary_ : tuple of str
        The words that count, in order.

    Examples
    --------
    >>> import bayesclf as bc
    >>> texts = ["win a prize now", "claim the prize", "see you at lunch", "lunch now?"]
    >>> clf = bc.TextNB(random_state=1).fit(texts, ["spam", "spam", "ham", "ham"])
    >>> print(clf.predict(["a prize for you"], rule="map"))
    ['spam']

    References
    ----------
    Mitchell 1997 §6.10 and Table 6.2; Aberdeen; Abu-El-Haija 3.2 (both event models).
    """

    event_model: str = "multinomial"
    alpha: float | str | LearntAlpha = LEARNED
    _: KW_ONLY
    vectorizer: dict[str, Any] | None = None
    missing: str = field(default="ignore", init=False)
    _takes_text = True

    def _check_options(self) -> None:
        super()._check_options()
        require(Choice(EVENT_MODELS), event_model=self.event_model)
        require(OrNone(Instance(dict)), vectorizer=self.vectorizer)

    @property
    def _draws_lengths(self) -> bool:  # type: ignore[override]
        return self.event_model == "multinomial"

    @property
    def vocabulary_(self) -> tuple[str, ...]:
        """The words that count, in order."""
        check_is_fitted(self, "classes_")
        return self._learnt.blocks[0].names

    @property
    def columns_(self) -> tuple[Column, ...]:
        """The one training column, of text."""
        check_is_fitted(self, "classes_")
        return (Column(str(self.feature_names_in_[0]), "text"),)

    @property
    def _chosen_by_all(self) -> list[str]:
        """The options of the vectorizer that look at all documents at once, and matter."""
        options = self.vectorizer or {}
        known = self.prior is not None or options.get("vocabulary") is not None
        return [] if known else [name for name in WHOLE_COLLECTION if name in options]

    def _blocks_of_batch(self, first: Learnt | None) -> tuple[ColumnBlock, ...] | None:
        if (self.vectorizer or {}).get("vocabulary") is not None:
            return super()._blocks_of_batch(first)
        return self._blocks(SparseTable(sparse.csr_array((0, 0)), ()))  # a batch has its own words only, or none

    def _require_words_in_parts(self, what: str) -> None:
        if used := self._chosen_by_all:
            raise Refused(
                f"the vectorizer option {used[0]!r} needs all documents and labels, so it is not for {what}; leave it "
                "out, give the option 'vocabulary', or use fit"
            )

    def _blocks(self, frame: Any) -> tuple[ColumnBlock, ...]:
        """Return one block of all words of a sparse table."""
        alpha = concentration(self.alpha)
        family = Multinomial(alpha) if self.event_model == "multinomial" else Bernoulli(alpha, alpha)
        return (ColumnBlock(family, frame.columns),)

    def _learn(self, rows: Training, blocks: tuple[ColumnBlock, ...] | None, every_row: bool) -> Learnt:
        """Return the statistics of documents, on their own words and on those learned before."""
        self._check_options()
        unknown: tuple[str, ...] = ()
        frame: Any = rows.frame
        if self.prior is not None:
            table = self._counts(frame, self.prior.learnt.blocks, self.vectorizer)
            if not self._chosen_by_all and set(self._new_counts(frame).columns).difference(table.columns):
                unknown = (str(frame.columns[0]),)
        elif blocks and blocks[0].names:
            table = self._counts(frame, blocks, self.vectorizer)
        else:
            table = self._new_counts(frame)
            if not table.columns and blocks is None:
                raise InputError(NO_WORD)
            blocks = self._blocks(table)
        learnt = super()._learn(replace(rows, frame=table), blocks, every_row)
        return replace(learnt, unknown=unknown)

    def encode(self, frame: pd.DataFrame) -> Rows:
        """Return rows of texts as counts of the words of the vocabulary, split as those of the fit were."""
        then = {"vectorizer": self.vectorizer} if self._learned_with is None else self._learned_with
        return super().encode(self._counts(frame, self._learnt.blocks, then["vectorizer"]))  # type: ignore[arg-type]

    def _table_of(self, frame: pd.DataFrame, learnt: Learnt) -> SparseTable:
        return self._counts(frame, learnt.blocks, self.vectorizer)

    def _counts(self, frame: pd.DataFrame, blocks: tuple[ColumnBlock, ...], vectorizer: Any) -> SparseTable:
        """Count the words of a block, the only one, in documents that a vectorizer of these options splits."""
        words = blocks[0].names
        counts = _vectorizer({**(vectorizer or {}), "vocabulary": words}).transform(self._documents(frame))
        return SparseTable(sparse.csr_array(counts), words)

    def _new_counts(self, frame: pd.DataFrame) -> SparseTable:
        """Count all words of the documents; the columns are the words, in order."""
        options = dict(self.vectorizer or {})
        vectorizer, documents = _vectorizer(options), self._documents(frame)
        _require_usable(options)
        if not any(options.get(name) is not None for name in (*WHOLE_COLLECTION, "vocabulary")):
            counts, words = counted_words(documents, vectorizer.build_analyzer())
        else:
            try:
                counts = sparse.csr_array(vectorizer.fit_transform(documents))
                words = tuple(vectorizer.get_feature_names_out().tolist())
            except ValueError as error:
                if "empty vocabulary" not in str(error) and "no terms remain" not in str(error).lower():
                    raise InputError(f"the vectorizer cannot be used ({error}); correct its options") from error
                counts, words = sparse.csr_array((len(frame), 0), dtype=np.float64), ()
        return SparseTable(counts, words)

    def _documents(self, frame: pd.DataFrame) -> list[str]:
        """Return the documents as strings; a missing one is one without words, where that says nothing."""
        cells = frame.iloc[:, 0]
        missing = np.flatnonzero(cells.isna())
        if missing.size and self.event_model == "bernoulli":
            row = row_numbers(frame, missing[0])
            raise InputError(
                f"column {frame.columns[0]!r} has a missing document (row {row}), but event_model='bernoulli' uses "
                "absent words; drop the row, or write an empty text"
            )
        documents = cells.astype(object).where(cells.notna(), "").tolist()
        for place, document in enumerate(documents):
            if not isinstance(document, str):
                name = str(frame.columns[0])
                cell = written(document, LONGEST_NAME)
                raise InputError(
                    f"column {name!r} holds {cell} (row {row_numbers(frame, place)}), which is not text; convert it, "
                    f'or declare the column with --kind {name}=text (kinds={{"{name}": "text"}} of fit_stream)'
                )
        return documents

    def _validated(self, X: Any, reset: bool) -> pd.DataFrame:
        """Return documents as a table of one column; at prediction it may have other columns."""
        import pandas as pd

        fitted = None if reset else str(self.feature_names_in_[0])
        if not isinstance(X, pd.DataFrame):
            cells = pd.Series(_one_dimensional(X), dtype=object)
            frame = pd.DataFrame({fitted or NAME: cells})
        elif fitted is None:
            if X.shape[1] != 1:
                names = listed((repr(str(name)) for name in X.columns), 5)
                raise InputError(
                    f"TextNB takes one column of text, but the table has {X.shape[1]} ({names}); choose one, as by "
                    "X[['COL']], --text COL, or drop=[…] of fit_stream"
                )
            frame = X.set_axis([str(X.columns[0])], axis=1)
        elif fitted not in X.columns:
            raise InputError(f"the table lacks column {fitted!r}, which the model was fitted with; add it")
        else:
            frame = X[[fitted]]
        if len(frame) == 0:
            raise InputError("X has no rows (0 sample(s)); give at least one")
        validate_data(self, frame, reset=reset, skip_check_array=True)
        return frame

    def _generated(self, table: dict[str, Any], n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Return generated counts as texts: the order of words that are independent is any, each as likely."""
        import pandas as pd

        words = np.array(list(table), dtype=object)
        counts = np.column_stack([np.asarray(column, dtype=np.intp) for column in table.values()])
        require_bytes(
            WORD_BYTES * float(counts.sum()), f"{counts.sum():,} words", "generate fewer documents, or shorter ones"
        )
        texts = [" ".join(rng.permutation(np.repeat(words, row))) for row in counts]
        return pd.DataFrame({self.columns_[0].name: texts})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = False
        tags.input_tags.string = True
        return tags


def _vectorizer(options: dict[str, Any]) -> Any:
    """Return scikit-learn's vectorizer, or raise for options that it does not have or that are not the user's."""
    from sklearn.feature_extraction.text import CountVectorizer

    allowed = sorted(set(CountVectorizer().get_params()).difference(OWN_OPTIONS))
    for name in options:
        if name not in allowed:
            raise InputError(f"vectorizer has an option {name!r}; the options are {', '.join(allowed)}")
    return CountVectorizer(**options, dtype=np.float64)


def _require_usable(options: dict[str, Any]) -> None:
    """Raise `InputError` for values of options that no vectorizer can have."""
    try:
        _vectorizer({**options, "vocabulary": ["word"]}).fit_transform(["word"])  # which chooses no words
    except (ValueError, re.error) as error:
        raise InputError(f"the vectorizer cannot be used ({error}); correct its options") from error


def _one_dimensional(X: Any) -> list[Any]:
    """Return a list of documents, from a list, a Series or an array (row) or (row, 1)."""
    if isinstance(X, str):
        raise InputError("X is one string; give a list of documents, one string each")
    if not isinstance(X, Iterable):
        raise InputError(f"X must be documents, a list of strings, not of type {type(X).__name__}")
    X = without_mask(X)
    if getattr(X, "ndim", 1) == 2 and X.shape[1] == 1:
        X = X[:, 0]
    if getattr(X, "ndim", 1) != 1:
        raise InputError(f"X has shape {X.shape}; TextNB takes documents as a list, a Series or one column")
    return list(X)


def counted_words(
    documents: Iterable[str], words_of: Callable[[str], Iterable[str]]
) -> tuple[sparse.csr_array, tuple[str, ...]]:
    """Return how often each word is in each document, (row, word), and the words in order, as `CountVectorizer` does.

    Its calls leave their words in cycles, so that a stream would hold those of many batches.
    """
    place: dict[str, int] = {}
    found = [Counter(words_of(document)) for document in documents]
    columns = [place.setdefault(word, len(place)) for counted in found for word in counted]
    data = np.array([number for counted in found for number in counted.values()], dtype=float)
    ends = np.cumsum([0, *map(len, found)])
    words = sorted(place)
    moved = np.empty(len(words), dtype=np.intp)
    moved[[place[word] for word in words]] = np.arange(len(words))
    rows = sparse.csr_array((data, moved[np.array(columns, dtype=np.intp)], ends), (len(found), len(words)))
    rows.sort_indices()
    return rows, tuple(words)
