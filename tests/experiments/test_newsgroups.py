"""Sorting newsgroups: known figures."""

import codecs
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils import Bunch

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.experiments import find, newsgroups, run
from bayesclf.experiments.newsgroups import RULES
from bayesclf.experiments.runner import UNITS

EXPERIMENT = find("newsgroups")

SMALL = {"documents": 150, "draws": 8}


@pytest.fixture
def no_folder(monkeypatch):
    """Name no folder of data, and forget the messages that were read before and those that the test reads."""
    monkeypatch.delenv("BAYESCLF_DATA", raising=False)
    for read in (newsgroups.by_date, newsgroups.original):
        read.cache_clear()
    yield
    for read in (newsgroups.by_date, newsgroups.original):
        read.cache_clear()


@pytest.fixture(scope="module")
def outcome(tmp_path_factory, data_folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(newsgroups, "SIZES", (20, 60))
        return run(EXPERIMENT, EXPERIMENT.Settings(**SMALL, repeats=3), tmp_path_factory.mktemp("newsgroups"))


@pytest.fixture
def two_groups(tmp_path, monkeypatch, no_folder):
    """Put 60 short messages of two groups where scikit-learn keeps its own."""
    rng = np.random.default_rng(3)
    words = {"a.cats": ["purr", "milk", "the"], "b.dogs": ["bark", "bone", "the"]}
    target = np.arange(60) % 2
    names = list(words)
    texts = [" ".join(rng.choice(words[names[k]], size=6)) for k in target]
    part = Bunch(data=texts, target=target, target_names=names, filenames=np.array([str(i) for i in range(60)]))
    content = codecs.encode(pickle.dumps({"train": part, "test": part}), "zlib_codec")
    (tmp_path / "20news-bydate_py3.pkz").write_bytes(content)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    return texts, np.array(names)[target]


@pytest.mark.slow
def test_means_and_errors_are_those_of_the_splits(outcome):
    units = [json.loads(path.read_text()) for path in (outcome.folder / UNITS).glob("*.json")]
    records = pd.DataFrame([record for unit in units for record in unit["records"]]).sort_values("repeat")
    records = records[records["part"] == "original"]
    table = outcome.table[outcome.table["part"] == "original"].set_index(["m", "rule"])
    own = records[(records["m"] == 60) & (records["rule"] == "predictive")]
    line = table.loc[(60, "predictive")]
    assert line["accuracy"] == pytest.approx(own["accuracy"].mean())
    assert line["log_loss_se"] == pytest.approx(own["log_loss"].std() / np.sqrt(3))
    mapped = records[(records["m"] == 60) & (records["rule"] == "map")]
    gain = own["accuracy"].to_numpy() - mapped["accuracy"].to_numpy()
    assert line["more_accurate"] == pytest.approx(gain.mean())
    assert line["more_accurate_se"] == pytest.approx(gain.std(ddof=1) / np.sqrt(3))


def test_scikit_learns_copy_is_read_where_there_is_no_other(two_groups, tmp_path):
    texts, y = two_groups
    settings = EXPERIMENT.Settings(collections="by-date", draws=4)
    outcome = run(EXPERIMENT, settings, tmp_path / "results")
    table = outcome.table.set_index("rule")
    for rule in ("map", "mean", "predictive"):
        clf = bc.TextNB(alpha=2.0, class_prior="empirical", random_state=0).fit(texts, y)
        log_proba = clf.predict_log_proba(texts, rule=rule)
        own = log_proba[np.arange(60), np.searchsorted(clf.classes_, y)]
        assert table.loc[rule, "accuracy"] == (clf.predict(texts, rule=rule) == y).mean()
        assert table.loc[rule, "log_loss"] == pytest.approx(-own.mean(), rel=1e-9)


@pytest.mark.usefixtures("no_folder")
def test_messages_that_are_nowhere_are_requested(tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    for unit in (("by-date", 0), ("original", 0)):
        with pytest.raises(InputError, match="not available: put newsgroups/"):
            EXPERIMENT.measure(EXPERIMENT.Settings(), unit, np.random.SeedSequence(0))


def test_mitchells_words_are_neither_frequent_nor_rare(rng):
    texts = [" ".join(f"w{j}" for j in rng.zipf(1.5, 400) if j < 300) for _ in range(20)]
    vectorizer = CountVectorizer()
    counts = vectorizer.fit_transform(texts)
    words = vectorizer.get_feature_names_out()
    every = newsgroups.Messages(counts.tocsr(), np.zeros(20, dtype=int), ("k",), words)
    total = pd.Series(" ".join(texts).split()).value_counts()
    kept = set(words[newsgroups.mitchells_words(every)])
    assert kept <= set(total.index[total >= 3])
    left_out = total[(total >= 3) & ~total.index.isin(kept)]
    assert len(left_out) == 100
    assert left_out.min() >= total[list(kept)].max()


@pytest.mark.slow
def test_map_by_date_is_the_known_figure(data_folder):
    settings = EXPERIMENT.Settings(draws=2)
    records = EXPERIMENT.measure(settings, ("by-date", 0), np.random.SeedSequence(0))
    scores = {record["rule"]: record for record in records}
    assert scores["map"]["accuracy"] == pytest.approx(0.7728359001593202, abs=1e-15)
    assert scores["map"]["vocabulary"] == 130_107
    assert len(records) == len(RULES)


@pytest.mark.slow
def test_the_original_collection_gets_mitchells_accuracy(data_folder):
    records = EXPERIMENT.measure(EXPERIMENT.Settings(draws=1), ("original", 0), np.random.SeedSequence(0))
    assert 0.88 <= records[-len(RULES)]["accuracy"] <= 0.90
