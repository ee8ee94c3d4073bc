"""Options that are changed between fits: what was learned with others is not continued."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bayesclf as bc
from bayesclf.errors import Refused

X = np.random.default_rng(1).poisson(4.0, size=(20, 2)).astype(float)
Y = np.arange(20) % 2
CHANGES = [
    (bc.BernoulliNB(binarize=5.0), {"binarize": 2.0}),
    (bc.MultinomialNB(alpha=np.full((2, 2), 2.0)), {"alpha": np.full((2, 2), 3.0)}),
    (bc.GaussianNB(), {"variance": "shared"}),
    (bc.GaussianDiscriminantAnalysis("class"), {"kappa": 5.0}),
    (bc.NaiveBayes(), {"families": "gaussian"}),
    (bc.NaiveBayes(), {"missing": "level"}),
]


def fitted(clf):
    """Return a fit to the first rows."""
    return clf.__sklearn_clone__().set_params(random_state=1).partial_fit(X[:10], Y[:10], classes=[0, 1])


@pytest.mark.parametrize(
    ("clf", "change"), [*CHANGES[:2], *(pytest.param(*one, marks=pytest.mark.slow) for one in CHANGES[2:])]
)
def test_rows_learned_with_another_option_are_not_continued(clf, change, tmp_path):
    (name,) = change
    changed = fitted(clf).set_params(**change)
    before = changed.predict_proba(X)
    changed.save(tmp_path / "changed.nc")
    for one in (changed, bc.load(tmp_path / "changed.nc")):
        for go_on in (lambda one=one: one.partial_fit(X[10:], Y[10:]), one.as_prior):
            with pytest.raises(Refused, match=f"^{name} was .* in the fit and is .* now, .* set it back") as said:
                go_on()
            assert "\n" not in str(said.value)
        np.testing.assert_array_equal(one.predict_proba(X), before)
    changed.fit(X, Y).partial_fit(X, Y)  # all rows were learned with the present option


def test_options_of_answers_and_of_the_class_prior_may_change():
    clf = fitted(bc.GaussianNB()).set_params(rule="map", class_prior="uniform").partial_fit(X[10:], Y[10:])
    expected = bc.GaussianNB(rule="map", class_prior="uniform", random_state=1).fit(X, Y)
    np.testing.assert_allclose(clf.predict_proba(X), expected.predict_proba(X), rtol=1e-12)


DOCUMENTS = ["Win a Prize", "claim the prize", "see you at lunch", "Lunch now"]
MAIL = ["spam", "spam", "ham", "ham"]


CHANGED = {
    "anew": lambda clf: clf.set_params(vectorizer={"lowercase": False}),
    "in place": lambda clf: clf.vectorizer.update(lowercase=False),
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED)
def test_documents_are_split_as_those_of_the_fit_were(change, tmp_path):
    clf = bc.TextNB(vectorizer={"lowercase": True}, alpha=2.0).fit(DOCUMENTS, MAIL)
    before = clf.predict_proba(["PRIZE now"])
    assert abs(before[0, 0] - clf.predict_proba([""])[0, 0]) > 0.01
    change(clf)
    clf.save(tmp_path / "changed.nc")
    for one in (clf, bc.load(tmp_path / "changed.nc")):
        np.testing.assert_array_equal(one.predict_proba(["PRIZE now"]), before)
        with pytest.raises(Refused, match=r"^vectorizer was {'lowercase': True} .* and is {'lowercase': False} now"):
            one.partial_fit(DOCUMENTS, MAIL)


OLD, NEW = pd.DataFrame({"c": list("xyxy")}), pd.DataFrame({"c": list("zxyx")})
PRIORS = [bc.CategoricalNB(1.0), bc.NaiveBayes(), bc.BayesNetClassifier(), bc.JointBayes(), bc.TextNB()]
TOLD = "the prior lacks some levels or words of '(c|text)', and the fit ignores these"
WAYS = {
    "fit": lambda clf: clf.fit(NEW, [0, 0, 1, 1]),
    "partial_fit": lambda clf: clf.partial_fit(NEW[:2], [0, 0], classes=[0, 1]).partial_fit(NEW[2:], [1, 1]),
    "fit_stream": lambda clf: clf.fit_stream([NEW[:2].assign(y=0), NEW[2:].assign(y=1)], "y", classes=[0, 1]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("clf", PRIORS, ids=lambda clf: type(clf).__name__)
def test_levels_and_words_that_a_prior_does_not_know_are_told(clf, way):
    words = {"vectorizer": {"token_pattern": "[a-z]"}} if isinstance(clf, bc.TextNB) else {}
    prior = clone(clf).set_params(random_state=1, **words).fit(OLD, [0, 0, 1, 1]).as_prior()
    assert sum(bool(re.match(TOLD, note)) for note in WAYS[way](prior).notes_) == 1
    assert not any(re.match(TOLD, note) for note in prior.fit(OLD, [0, 0, 1, 1]).notes_)


def test_missing_cells_that_a_prior_does_not_know_as_a_level_are_told():
    old = pd.DataFrame({"c": list("xyxy"), "n": [0.1, 0.2, 0.9, 1.0]})
    prior = bc.NaiveBayes(missing="level", random_state=1).fit(old, [0, 0, 1, 1]).as_prior()
    notes = prior.fit(old.drop(0).reindex(range(4)), [0, 0, 1, 1]).notes_
    assert any(re.match(TOLD, note) for note in notes)
    assert "the prior does not use whether column 'n' is missing" in notes
