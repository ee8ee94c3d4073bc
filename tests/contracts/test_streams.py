"""What every generative classifier learns from a table that passes batch by batch: what `fit` learns from all of it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import NUMBERS, WORDS, assert_same_answers, every_generative
from sklearn.base import clone

import bayesclf as bc
from bayesclf.classifiers.passes import same_setting
from bayesclf.errors import InputError
from bayesclf.tables.reading import open_stream


def batches(table, seed, parts):
    """Return the rows of a table in another order and in parts, columns of some parts in another order too."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(table))
    cuts = np.sort(rng.choice(np.arange(1, len(table)), size=parts - 1, replace=False))
    found = [table.iloc[rows] for rows in np.split(order, cuts)]
    return [found[0], *(part[list(rng.permutation(part.columns))] for part in found[1:])]


@pytest.mark.parametrize("alpha", ["learned", 2.0])
def test_a_learned_concentration_is_that_of_a_fit_in_memory(mixed_table, alpha):
    X, y = mixed_table
    words = X[WORDS].assign(street=np.random.default_rng(2).choice(list("abcdefghijklmnop"), len(y)))
    table = words.assign(label=y)
    whole = bc.CategoricalNB(alpha, random_state=1).fit(words, y)
    streamed = bc.CategoricalNB(alpha, random_state=1).fit_stream(batches(table, 3, 4), "label")
    assert streamed.notes_ == whole.notes_
    assert_same_answers(whole, streamed, words, ("predictive", "map"), 1e-9)


def test_of_many_rows_the_concentration_is_learned_by_the_same_ones(monkeypatch):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.choice(list("abcdefghijklmnop"), 5200), "y": rng.integers(2, size=5200)})
    monkeypatch.setattr("bayesclf.tables.streams.BATCH_ROWS", 700)
    whole = bc.CategoricalNB(inference="map").fit(table[["x"]], table["y"])
    streamed = bc.CategoricalNB(inference="map").fit_stream(table, "y")
    assert streamed._learnt.blocks == whole._learnt.blocks
    unknown = bc.CategoricalNB(inference="map").fit_stream(iter([table[:2500], table[2500:]]), "y")
    np.testing.assert_allclose(unknown.predict_proba(table[["x"]]), whole.predict_proba(table[["x"]]), atol=2e-3)


def test_a_stream_continues_a_prior_and_is_continued(mixed_table):
    X, y = mixed_table
    X = X[NUMBERS]
    table = X.assign(label=y)
    given = {"m": 1.0, "kappa": 0.5, "a": 2.0, "b": 3.0}
    whole = bc.GaussianNB(**given, random_state=1).fit(X, y)
    before = bc.GaussianNB(**given, random_state=1).fit(X[:20], y[:20])
    assert_same_answers(whole, before.as_prior().fit_stream([table[20:23], table[23:]], "label"), X, ("predictive",))
    parts = bc.GaussianNB(**given, random_state=1).fit_stream([table[:20]], "label").partial_fit(X[20:], y[20:])
    assert_same_answers(whole, parts, X, ("predictive",))


def test_a_batch_without_a_column_is_named(mixed_table):
    X, y = mixed_table
    table = X[NUMBERS].assign(label=y)
    with pytest.raises(InputError, match=r"table 2 of the iterable lacks column 'dose', which the first one has"):
        bc.GaussianNB().fit_stream([table[:50], table[50:].drop(columns="dose")], "label")
    with pytest.raises(InputError, match=r"the first one lacks column 'more', which table 2 of the iterable has"):
        bc.GaussianNB().fit_stream([table[:50], table[50:].assign(more=1)], "label")


def test_what_a_stream_cannot_be_learned_from_is_said(mixed_table):
    X, y = mixed_table
    table = X[NUMBERS].assign(label=y)
    clf = bc.GaussianNB()
    with pytest.raises(InputError, match=r"has no column 'lable' .did you mean 'label'"):
        clf.fit_stream(table, "lable")
    with pytest.raises(InputError, match="'label' has one class only, 'ill'"):
        clf.fit_stream(table[y == "ill"], "label")
    with pytest.raises(
        InputError, match=r"table 2 of the iterable, counting from row 51 of the stream: .*40 infinite values"
    ):
        clf.fit_stream([table[:50], table[50:].assign(age=np.inf)], "label")
    with pytest.raises(InputError, match=r"column 'age' holds words in table 2 .* numbers in the rows before"):
        clf.fit_stream([table[:50], table[50:].assign(age="old")], "label")
    with pytest.raises(InputError, match="the iterable holds no table"):
        clf.fit_stream([], "label")
    with pytest.raises(InputError, match="there is no row to learn from"):
        clf.fit_stream([table[:0]], "label")
    with pytest.raises(
        InputError, match=r"no row counts, as none has a label .* and a weight above 0 in column 'dose'"
    ):
        clf.fit_stream(table.assign(dose=0.0), "label", weight="dose")
    assert not hasattr(clf, "classes_")


def test_settings_are_the_same_if_all_their_numbers_are():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 300)), np.arange(40) % 2
    one, other = (bc.GaussianNB(inference="map").fit(X + shift, y).as_prior().prior for shift in (0.0, 50.0))
    assert not same_setting(one, other)
    assert same_setting(one, pickle.loads(pickle.dumps(one)))
    alpha = np.ones(300)
    alpha[150] = 50.0
    assert not same_setting(alpha, np.ones(300))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"target": None}, "target must be the name of the column of labels, not None"),
        ({"weight": "y"}, "weight must be the name of a column other than the target 'y', not 'y'"),
        ({"weight": 3}, "weight must be the name of a column other than the target 'y', not 3"),
        ({"weight": "word"}, "counting from row 1 of the stream: the weights in column 'word' must be numbers"),
        ({"drop": "word"}, "drop must be a list of columns"),
        ({"drop": None}, "drop must be a list of columns"),
        ({"reading": {"missing": "word"}}, "missing must be a mapping from columns"),
        ({"kinds": ["word"]}, "kinds must be a mapping from columns"),
    ],
)
def test_arguments_that_cannot_be_are_refused_in_one_sentence(arguments, complaint):
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "word": list("abab"), "y": [0, 0, 1, 1]})
    with pytest.raises(InputError) as caught:
        bc.NaiveBayes().fit_stream([table[:2], table[2:]], **{"target": "y"} | arguments)
    assert complaint in str(caught.value)


@every_generative
def test_labels_that_are_whole_in_some_batches_only_are_those_of_one_table(case, mixed_table):
    X, y = case.table(mixed_table)
    codes = np.unique(y, return_inverse=True)[1]
    parts = [X[:30].assign(label=codes[:30]), X[30:].assign(label=codes[30:].astype(float))]
    clf = case.make(inference="map")
    whole = clone(clf).fit(X, pd.concat(parts)["label"])
    streamed = clone(clf).fit_stream(parts, "label")
    assert str(streamed.classes_.tolist()) == str(whole.classes_.tolist())
    assert streamed.model_.labels == whole.model_.labels
    assert_same_answers(whole, streamed, X, ("map",), 1e-11)
    late = clone(clf).fit_stream(parts[::-1], "label")
    assert str(late.classes_.tolist()) == str(whole.classes_.tolist())


def test_numbers_that_are_taken_for_categories_are_told_of_whatever_the_parts(tmp_path):
    table = pd.DataFrame({"n": np.arange(60) / 7, "code": np.arange(60) % 3, "y": ["a", "b"] * 30})
    clf = bc.CategoricalNB(1.0, inference="map")
    whole = clone(clf).fit(table[["n", "code"]], table["y"])
    assert "in column 'n' (60 values)" in whole.notes_[-1]
    assert clone(clf).fit_stream([table[:9], table[9:]], "y").notes_ == whole.notes_
    clone(clf).fit(table[["n", "code"]][:30], table["y"][:30]).save(tmp_path / "half.nc")
    more = bc.load(tmp_path / "half.nc").partial_fit(table[["n", "code"]][30:], table["y"][30:])
    assert more.notes_ == whole.notes_


def test_the_order_of_categories_is_that_of_a_fit_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    levels = ["low", "mid", "high", "never"]
    words = pd.Categorical(rng.choice(levels[:3], 90), levels, ordered=True)
    table = pd.DataFrame({"x": words, "y": rng.choice(["a", "b"], 90)})
    table.to_parquet(tmp_path / "t.parquet", row_group_size=40)
    assert next(open_stream(tmp_path / "t.parquet").batches()).table["x"].dtype == words.dtype
    whole = bc.CategoricalNB(random_state=1).fit(table[["x"]], table["y"])
    for source in (table, [table[:40], table[40:]], tmp_path / "t.parquet"):
        streamed = bc.CategoricalNB(random_state=1).fit_stream(source, "y")
        assert streamed.columns_ == whole.columns_
        assert_same_answers(whole, streamed, table[["x"]], ("bayes-optimal", "map"))
