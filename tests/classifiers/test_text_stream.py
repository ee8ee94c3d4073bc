"""Documents that pass batch by batch: what `fit` learns of all at once, whatever the batches."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers.effort import peak
from helpers.suites import mainly
from hypothesis import given, settings, strategies as st
from sklearn.base import clone

import bayesclf as bc
from bayesclf.errors import InputError, Refused
from bayesclf.tables import streams as batches

RNG = np.random.default_rng(5)
ROWS = 120
WORDS = np.array([f"w{i}" for i in range(80)])
Y = np.array(["ham", "spam", "work"])[RNG.integers(3, size=ROWS)]
SHARES = RNG.dirichlet(np.full(len(WORDS), 0.1), size=3)
TEXTS = [
    " ".join(RNG.choice(WORDS, RNG.integers(0, 30), p=SHARES[code])) for code in np.unique(Y, return_inverse=True)[1]
]
TABLE = pd.DataFrame({"text": TEXTS, "label": Y})
CHOSEN = {"all": {}, "given": {"vocabulary": ["w1", "w5", "w7"]}, "pairs": {"ngram_range": (1, 2)}}


def parts(seed, number):
    """Return the documents in another order, and in parts."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, ROWS), size=number - 1, replace=False))
    return [TABLE.iloc[rows] for rows in np.split(rng.permutation(ROWS), cuts)]


def assert_same(streamed, whole):
    """Compare words, statistics to 1e-12 and answers of two fits."""
    assert streamed.vocabulary_ == whole.vocabulary_
    for mine, theirs in zip(whole._learnt.statistics, streamed._learnt.statistics, strict=True):
        assert mine.axes == theirs.axes
        for name, values in mine.arrays().items():
            np.testing.assert_allclose(theirs.arrays()[name], values, rtol=1e-12, atol=1e-12)
    assert streamed.classes_.tolist() == whole.classes_.tolist()
    found, expected = (clf.predict_log_proba(TEXTS, rule="map") for clf in (streamed, whole))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("event_model", mainly(["multinomial", "bernoulli"], "multinomial"))
@pytest.mark.parametrize("vectorizer", CHOSEN.values(), ids=CHOSEN)
@given(seed=st.integers(0, 2**32 - 1), number=st.integers(1, 9))
@settings(max_examples=3, deadline=None)
def test_documents_in_any_split_and_order_are_those_of_fit(event_model, vectorizer, seed, number):
    clf = bc.TextNB(event_model, 2.0, vectorizer=vectorizer, inference="map")
    whole = clone(clf).fit(TEXTS, Y)
    assert_same(clone(clf).fit_stream(parts(seed, number), "label"), whole)


def test_a_learned_concentration_lengths_and_posterior_are_those_of_fit():
    clf = bc.TextNB(random_state=1)
    whole, streamed = clone(clf).fit(TABLE[["text"]], Y), clone(clf).fit_stream(lambda: parts(3, 5), "label")
    assert_same(streamed, whole)
    assert streamed.notes_ == whole.notes_
    assert streamed.sample(4)[0].equals(whole.sample(4)[0])
    found, expected = (one.predict_proba(TEXTS) for one in (streamed, whole))
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_documents_in_files(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(batches, "BATCH_ROWS", 25)
    path = tmp_path / f"t.{ending}"
    TABLE.to_csv(path, index=False) if ending == "csv" else TABLE.to_parquet(path)
    clf = bc.TextNB(alpha=2.0, inference="map")
    streamed = clone(clf).fit_stream(path, "label")
    assert_same(streamed, clone(clf).fit(TEXTS, Y))
    streamed.predict_stream(path, tmp_path / "answers.parquet", rule="map")
    found = pd.read_parquet(tmp_path / "answers.parquet")["P(spam)"]
    np.testing.assert_allclose(found, streamed.predict_proba(TEXTS, rule="map")[:, 1], rtol=1e-12)


def test_what_cannot_be_learned_of_documents_is_said():
    within = SimpleNamespace(compute=lambda graph: graph.compute(scheduler="synchronous"))
    clf = bc.TextNB(vectorizer={"min_df": 2}, inference="map")
    for client in (None, within):
        with pytest.raises(Refused, match="'min_df' needs all documents and labels, so it is not for a table"):
            clone(clf).fit_stream(parts(1, 2), "label", client=client)
    clf = bc.TextNB(inference="map")
    with pytest.raises(InputError, match="the training documents contain no words"):
        clone(clf).fit_stream(TABLE.assign(text="?"), "label")
    with pytest.raises(InputError, match=r"takes one column of text, .* 2 \('text', 'more'\).* drop=\[…\] of fit_str"):
        clone(clf).fit_stream(TABLE.assign(more="x")[["text", "more", "label"]], "label")
    numbers = pd.DataFrame({"text": [1, 2], "label": ["one", "two"]})
    with pytest.raises(
        InputError, match=r"which is not text; convert.* --kind text=text \(kinds={\"text\": \"text\"} of"
    ):
        bc.TextNB().fit_stream(numbers, "label")
    words = bc.TextNB(vectorizer={"token_pattern": "[0-9]"}, inference="map")
    assert words.fit_stream(numbers, "label", kinds={"text": "text"}).vocabulary_ == ("1", "2")


@pytest.mark.slow
def test_memory_is_that_of_the_different_words_and_a_batch():
    """Four times as many documents of the same words take no more."""

    def documents(number):
        rng = np.random.default_rng(0)
        for _ in range(number):
            texts = [" ".join(words) for words in rng.choice(1000, size=(150, 20)).astype(str)]
            yield pd.DataFrame({"text": texts, "label": rng.choice(["a", "b"], 150)})

    def fit(number):
        clf = bc.TextNB(alpha=2.0, inference="map").fit_stream(lambda: documents(number), "label")
        assert number == 1 or len(clf.vocabulary_) == 990  # words of one digit are none

    fit(1)
    assert peak(fit, 16) < 1.3 * peak(fit, 4)
