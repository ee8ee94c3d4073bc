"""Generated documents are as long as the training documents of their class, or as long as one says."""

import numpy as np
import pytest
from scipy import sparse, stats

import bayesclf as bc
from bayesclf.classifiers.generating import DocumentLengths
from bayesclf.errors import InputError

TEXTS = [*["a b", "a b c", "c c a b a"] * 10, *["d", "d e d e d d", "e e e"] * 5]
Y = np.array(["short"] * 30 + ["mixed"] * 15)
COUNTS = np.array([[document.split().count(word) for word in "abcde"] for document in TEXTS], dtype=float)
OPTIONS = {"vectorizer": {"token_pattern": "[a-z]"}, "alpha": 2.0, "random_state": 1}


def text(**options):
    return bc.TextNB(**{**OPTIONS, **options})


def counts(**options):
    return bc.MultinomialNB(alpha=2.0, random_state=1, **options)


def lengths_of(table):
    if "text" in table:
        return table["text"].str.split().str.len().to_numpy()
    return table.to_numpy().sum(axis=1)


KINDS = {"text": (text, TEXTS), "counts": (counts, COUNTS), "sparse counts": (counts, sparse.csr_array(COUNTS))}
every_kind = pytest.mark.parametrize("kind", KINDS)


def fitted(kind, **options):
    make, X = KINDS[kind]
    return make(**options).fit(X, Y)


@every_kind
def test_lengths_are_those_of_the_training_documents_of_the_class(kind):
    table, labels = fitted(kind).sample(6000, random_state=3)
    found = lengths_of(table)
    for label, lengths in (("short", (2, 3, 5)), ("mixed", (1, 3, 6))):
        own = found[labels == label]
        assert {*own} == {*lengths}
        assert stats.chisquare([np.sum(own == length) for length in lengths]).pvalue > 1e-4


@every_kind
def test_lengths_can_be_given(kind):
    clf, wanted = fitted(kind), np.arange(40) % 7
    np.testing.assert_array_equal(lengths_of(clf.sample(40, lengths=wanted)[0]), wanted)
    np.testing.assert_array_equal(lengths_of(clf.sample(9, lengths=4)[0]), np.full(9, 4))


@pytest.mark.parametrize("lengths", [-1, 1.5, [1, 2], "long", np.nan, [[1], [2], [3]], True])
def test_lengths_that_cannot_be(lengths):
    with pytest.raises(InputError, match="lengths must be a whole number of at least 0, or one for each of the 3"):
        fitted("text").sample(3, lengths=lengths)


def test_a_model_of_which_words_there_are_takes_no_lengths():
    clf = fitted("text", event_model="bernoulli")
    assert clf.sample(5)[0].shape == (5, 1)
    with pytest.raises(InputError, match="lengths cannot be given: this model does not draw words one by one"):
        clf.sample(5, lengths=3)


def test_words_come_in_an_order_that_is_drawn():
    """Of two words of one document each order is as likely: they are drawn one by one."""
    documents = fitted("text").sample(4000, ["mixed"] * 4000, lengths=2)[0]["text"]
    orders = documents[documents.isin(["d e", "e d"])]
    assert stats.binomtest(int(np.sum(orders == "d e")), len(orders), 0.5).pvalue > 1e-4
    assert len(orders) > 500


def histogram(clf):
    found = clf._document_lengths
    return found.lengths, found.weight


@every_kind
def test_lengths_add_over_parts_priors_and_files(kind, tmp_path):
    make, X = KINDS[kind]
    X = X if sparse.issparse(X) else np.asarray(X, dtype=object if kind == "text" else float)
    even, odd = np.arange(45) % 2 == 0, np.arange(45) % 2 == 1
    whole = fitted(kind)
    in_parts = make().partial_fit(X[even], Y[even]).partial_fit(X[odd], Y[odd])
    updated = make().fit(X[even], Y[even]).as_prior().fit(X[odd], Y[odd])
    whole.save(tmp_path / "model.nc")
    for clf in (in_parts, updated, bc.load(tmp_path / "model.nc")):
        for found, expected in zip(histogram(clf), histogram(whole), strict=True):
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        lengths_of(bc.load(tmp_path / "model.nc").sample(20)[0]), lengths_of(whole.sample(20)[0])
    )


def test_a_class_without_documents_has_the_lengths_of_all():
    clf = counts().partial_fit(COUNTS, Y, classes=["mixed", "none", "short"])
    found = lengths_of(clf.sample(300, ["none"] * 300)[0])
    assert {*found} == {1, 2, 3, 5, 6}


@pytest.mark.parametrize(
    ("lengths", "weight"),
    [([1, 2], [[1.0]]), ([-1], [[1.0]]), ([1], [[-1.0]]), ([1], [[np.nan]]), ([[1]], [[1.0]]), ([1], [[0.0]])],
)
def test_histograms_that_cannot_be(lengths, weight):
    with pytest.raises(ValueError, match=r"do not go with|must be"):
        DocumentLengths(np.array(lengths), np.array(weight))
