"""Random sequences of what can be done with a classifier: in each order it answers as one fit of all rows does."""

import pickle
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pymc  # noqa: F401  # sets Python's limit of recursion, which Hypothesis watches
import pytest
from helpers.fuzz import Refusal, answer, efforts
from helpers.strategies import Recipe, mostly
from hypothesis import seed, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sklearn.base import clone

import bayesclf as bc

NUMBERS = ("numbers", "whole", "with gaps", "Float64", "halves", "singles", "constant", "unsigned")
WORDS = ("words", "words with gaps", "levels", "strings", "truths", "many words", "boolean", "mixed", "empty words")
COUNTS = ("counts", "unsigned", "zeros")
MODELS = {
    "gnb": (lambda: bc.GaussianNB(), NUMBERS),
    "gnb with a given prior": (lambda: bc.GaussianNB("class", m=0.0, kappa=1.0, a=2.0, b=1.0), NUMBERS),
    "gda": (lambda: bc.GaussianDiscriminantAnalysis("shared"), NUMBERS[:2]),
    "nb": (lambda: bc.NaiveBayes(alpha=1.0, families="gaussian"), (*NUMBERS, *WORDS)),
    "nb with levels of gaps": (lambda: bc.NaiveBayes(alpha=1.0, missing="level"), (*NUMBERS, *WORDS)),
    "categorical": (lambda: bc.CategoricalNB(1.0), WORDS),
    "joint": (lambda: bc.JointBayes(1.0), WORDS[:1]),
    "network": (lambda: bc.BayesNetClassifier([("x0", "x1")]), ("words", "truths", "levels")),
    "bernoulli": (lambda: bc.BernoulliNB(1.0), ("truths", "counts", "numbers")),
    "multinomial": (lambda: bc.MultinomialNB(1.0), COUNTS),
    "text": (lambda: bc.TextNB(alpha=1.0), ("texts",)),
}
"""Classifiers whose α is not learned from all rows at once, and columns that they take."""
CLASSES = ["c0", "c1", "c2"]


class Sequence(RuleBasedStateMachine):
    """A classifier, and the rows that it has learned from: tables, labels and weights."""

    model = "gnb"
    outcomes: dict

    @initialize(data=st.data())
    def begin(self, data):
        make, kinds = MODELS[self.model]
        least, most = (1, 1) if self.model == "text" else (2, 4)
        columns = data.draw(st.lists(st.sampled_from(kinds), min_size=least, max_size=most))
        self.recipe = Recipe(tuple(columns), 12, 3, "words", "frame", data.draw(st.integers(0, 2**20)))
        self.unfitted = make().set_params(random_state=1)
        self.clf, self.rows, self.number, self.whole = clone(self.unfitted), [], 0, True

    def _rows(self, size, weights):
        self.number += 1
        weight = np.ones(size)
        if weights:
            rng = np.random.default_rng([self.recipe.seed, self.number])
            weight[1:] = rng.integers(0 if weights == 2 else 1, 4, size - 1) / 2
        return self.recipe.table(size, self.number), self.recipe.y(size, self.number), weight

    def _try(self, change, rows, kept=()):
        """Let the classifier learn; if it refuses, it answers as before. Rows are as they were, in any case."""
        copies = [(X.copy(), y.copy(), weight.copy()) for X, y, weight in rows]
        before = self._answers(self.clf) if self.rows else None
        found = answer(change)
        for (X, y, weight), (_X, _y, _weight) in zip(rows, copies, strict=True):
            pd.testing.assert_frame_equal(X, _X)
            np.testing.assert_array_equal(y, _y)
            np.testing.assert_array_equal(weight, _weight)
        self.outcomes["steps refused" if isinstance(found, Refusal) else "steps done"] += 1
        if isinstance(found, Refusal):
            if before is not None:
                np.testing.assert_array_equal(self._answers(self.clf), before)
        else:
            self.clf, self.rows = found, [*kept, *rows]

    def _answers(self, clf, **options):
        found = answer(lambda: clf.predict_log_proba(self.recipe.table(5, 0), **options))
        return np.array([]) if isinstance(found, Refusal) else found

    @rule(size=st.integers(3, 15), weights=st.integers(0, 2))
    def fit(self, size, weights):
        one = self._rows(size, weights)
        self.whole = True
        self._try(lambda: clone(self.unfitted).fit(*one, classes=CLASSES), [one])

    @rule(size=st.integers(1, 9), weights=st.integers(0, 2))
    def partial_fit(self, size, weights):
        X, y, weight = one = self._rows(size, weights)
        self._try(lambda: self._copied().partial_fit(X, y, CLASSES, weight), [one], self.rows)

    @rule(parts=st.integers(1, 4))
    def stream(self, parts):
        if self.rows and self.whole:
            X, y, weight = self._all()
            table = X.assign(label=y, weight=weight)
            tables = [table.iloc[part] for part in np.array_split(np.arange(len(y)), parts)]
            self._try(
                lambda: clone(self.unfitted).fit_stream(tables, "label", weight="weight", classes=CLASSES),
                [],
                self.rows,
            )

    @rule(size=st.integers(1, 9))
    def as_prior(self, size):
        one = self._rows(size, 0)
        if self.rows:
            self.whole = False
            self._try(lambda: self.clf.as_prior().fit(*one, classes=CLASSES), [one], self.rows)

    @rule(how=st.sampled_from(["drop", "use"]))
    def without_labels(self, how):
        X, y, _ = self._rows(12, 0)
        known = np.arange(12) < 7
        gaps = np.where(known, y.astype(object), None)
        clf = clone(self.unfitted).set_params(inference="map")
        found = answer(lambda: clf.fit(X, gaps, classes=CLASSES, unlabeled=how))
        if how == "drop" and not isinstance(found, Refusal):
            fit = clone(clf).fit(X[known], y[known], classes=CLASSES)
            np.testing.assert_allclose(self._answers(found), self._answers(fit), rtol=1e-9, atol=1e-9)

    @rule(way=st.sampled_from(["pickle", "file", "copy"]))
    def store(self, way):
        if self.rows:
            before = self._answers(self.clf)
            self.clf = self._copied() if way != "file" else self._saved()
            np.testing.assert_array_equal(self._answers(self.clf), before)

    def _copied(self):
        return pickle.loads(pickle.dumps(self.clf))

    def _saved(self):
        with tempfile.TemporaryDirectory() as folder:
            self.clf.save(Path(folder) / "m.nc")
            return bc.load(Path(folder) / "m.nc")

    @rule(chosen=mostly(("map", "mean", "predictive", None), ("gibbs", "mle", "bayes-optimal"), of=3))
    def another_rule(self, chosen):
        self.clf.set_params(rule=chosen)
        self.unfitted.set_params(rule=chosen)

    @rule()
    def clone(self):
        again = clone(self.clf)
        assert not hasattr(again, "classes_")
        assert str(again.get_params()) == str(self.clf.get_params())

    def _all(self):
        X = pd.concat([X for X, _, _ in self.rows], ignore_index=True)
        return X, *(np.concatenate([row[place] for row in self.rows]) for place in (1, 2))

    @invariant()
    def answers_are_probabilities(self):
        if getattr(self, "rows", None):
            for options in ({}, {"rule": "map"}, {"rule": "predictive"}):
                found = self._answers(self.clf, **options)
                if found.size:
                    assert found.shape == (5, 3)
                    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0, rtol=1e-9)

    @invariant()
    def answers_are_those_of_one_fit(self):
        if getattr(self, "rows", None) and self.whole:
            whole = clone(self.unfitted).fit(*self._all(), classes=CLASSES)
            for options in ({"rule": "map"}, {"rule": "predictive"}):
                found, expected = self._answers(self.clf, **options), self._answers(whole, **options)
                np.testing.assert_allclose(np.exp(found), np.exp(expected), rtol=1e-7, atol=1e-9)


@efforts(short=1, ci=6, full=700, parts=1)
@pytest.mark.parametrize("model", MODELS)
def test_sequences(model, effort):
    machine = seed(effort.seed)(type("Machine", (Sequence,), {"model": model, "outcomes": effort.outcomes}))
    run_state_machine_as_test(machine, settings=settings(effort.settings, stateful_step_count=12))
