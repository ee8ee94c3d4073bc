"""Saved and loaded again, a classifier answers as before to the last bit."""

import copy
import math
import stat
import warnings

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from helpers.classifiers import log_likelihoods
from helpers.stored import COUNTS, MIXED, NUMBERS, TEXTS, WORDS, N, Y, assert_equal
from sklearn.base import clone

import bayesclf as bc
from bayesclf import storage
from bayesclf.classifiers import CLASSIFIERS
from bayesclf.errors import ConvergenceWarning, DoesNotExist, PredictionWarning, Refused
from bayesclf.families import Categorical, Gaussian
from bayesclf.rules import RULES

OF_COUNTS = {"BernoulliNB": COUNTS, "MultinomialNB": COUNTS, "TextNB": TEXTS}

TABLES = OF_COUNTS | {
    "NaiveBayes": MIXED,
    "CategoricalNB": WORDS,
    "GaussianNB": NUMBERS,
    "GaussianDiscriminantAnalysis": NUMBERS,
    "BayesNetClassifier": WORDS,
    "JointBayes": WORDS,
    "LogisticRegression": MIXED,
}
"""A training table for each classifier of the registry; one without an entry fails."""

VARIANTS = {
    **{
        cls.__name__: cls(random_state=1, inference="laplace" if cls is bc.LogisticRegression else "auto")
        for cls in CLASSIFIERS.values()
    },
    "map": bc.GaussianNB(inference="map"),
    "mle": bc.CategoricalNB(inference=bc.engines.MLE(), class_prior="uniform"),
    "default rule": bc.GaussianNB(rule=bc.rules.Gibbs(draw="label", given="data and x"), random_state=4),
    "hyperparameters": bc.GaussianNB(
        "feature",
        m=np.array([0.0, 1.0, 2.0]),
        kappa=[[0.5], [1], [2]],
        a=np.float64(2),
        b=0.5,
        class_prior="empirical",
        random_state=6,
    ),
    "one variance": bc.GaussianNB(
        "shared", inference=bc.engines.Exact(draws=7, chains=np.int64(2)), random_state=np.int64(5)
    ),
    "softmax": bc.CategoricalNB(
        0.5, basis="softmax", random_state=7, class_prior={"no": 0.5, "perhaps": 0.2, "yes": 0.3}
    ),
    "blocks": bc.NaiveBayes(
        {("u", "v"): Gaussian("feature"), "sky": Categorical(3)}, missing="level", class_prior=2, random_state=2
    ),
    "trees of numbers": bc.BayesNetClassifier("all-trees", missing="level", random_state=3),
    "weights": bc.LogisticRegression(
        prior_scale={"u": 1.0}, intercept_scale=math.inf, prior_form="reference", inference="map"
    ),
    "families by evidence": bc.NaiveBayes(families="auto", random_state=1),
    "class-free": bc.BayesNetClassifier([("wind", "sky")], class_free=["wind"], random_state=1),
    "learned scale": bc.LogisticRegression(
        prior_scale=bc.LearnedScale(0.5, 1.0, {"u": 0.3}, correlation=0.3), inference="map"
    ),
    "watched": bc.LogisticRegression(prior_scale=2.5, inference=bc.engines.MAP(bc.engines.Newton()), random_state=1),
}

GENERATIVE = [name for name, clf in VARIANTS.items() if hasattr(clf, "partial_fit")]


def table(clf):
    return MIXED if getattr(clf, "structure", "") == "all-trees" else TABLES[type(clf).__name__]


MAIN_SUITE = ("NaiveBayes", "TextNB", "LogisticRegression", "mle")
"""Variants of the main suite: each file takes a tenth of a second to write."""


def marked(names):
    return [pytest.param(name, marks=() if name in MAIN_SUITE else pytest.mark.slow) for name in names]


@pytest.fixture(scope="module", params=marked(VARIANTS))
def fitted(request):
    clf = VARIANTS[request.param]
    return clf.fit(table(clf), Y)


@pytest.fixture(scope="module")
def file(fitted, tmp_path_factory):
    """Return the file of a fitted classifier."""
    path = tmp_path_factory.mktemp("fitted") / "model.nc"
    fitted.save(path)
    return path


@pytest.fixture(scope="module")
def rows(fitted):
    """Return rows to answer: the training table with a cell that is missing, or zero where none may be."""
    X = table(fitted).copy()
    X.iloc[0, 0] = 0.0 if type(fitted) is bc.MultinomialNB else np.nan
    return X


@pytest.fixture(scope="module")
def answered(fitted, rows):
    return answers(fitted, rows)


def reloaded(clf, path):
    clf.save(path)
    return bc.load(path)


def answers(clf, X):
    """Return everything a classifier says of rows, by question; a refusal is an answer too."""
    questions = {
        **{rule: lambda rule=rule: clf.predict_log_proba(X, rule=rule) for rule in RULES},
        "gibbs given x": lambda: clf.predict(X, rule=bc.rules.Gibbs(draw="label", given="data and x")),
        "labels": lambda: clf.predict(X),
        "base rates": lambda: clf.predict_proba(X, class_prior=np.arange(1, 4) / 6),
        "interval": lambda: clf.predict_interval(X),
        "epistemic": lambda: clf.uncertainty(X).epistemic,
        "likelihood": lambda: log_likelihoods(clf, X[: len(Y)], Y[: len(X)])[1],
        "rows": lambda: clf.sample(5)[0].to_numpy(),
    }
    if not hasattr(clf, "sample"):
        del questions["rows"]
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PredictionWarning)
        for name, question in questions.items():
            try:
                found[name] = question()
            except (DoesNotExist, Refused) as reason:
                found[name] = np.array(str(reason))
    return found


def assert_same_state(loaded, fitted):
    """Compare parameters and all attributes but those that are computed on demand."""
    assert_equal(loaded.get_params(deep=False), fitted.get_params(deep=False))
    hidden = ("posterior_", "_temper")
    mine, theirs = ({k: v for k, v in vars(clf).items() if k not in hidden} for clf in (fitted, loaded))
    assert_equal({name: theirs[name] for name in mine}, mine)
    assert len(theirs) == len(mine)


class TestRoundTrip:
    def test_every_answer_is_the_same(self, rows, answered, file):
        assert_equal(answers(bc.load(file), rows), answered)

    def test_state_is_the_same(self, fitted, file):
        assert_same_state(bc.load(file), fitted)

    def test_its_fingerprint_is_the_same_whatever_was_asked_of_it(self, fitted, answered, file):
        loaded = bc.load(file)
        before = storage.fingerprint(loaded)
        answers(loaded, table(fitted))
        assert storage.fingerprint(fitted) == storage.fingerprint(loaded) == before

    def test_arviz_finds_the_groups_of_the_posterior(self, fitted, file):
        tree = az.from_netcdf(file)
        assert set(tree.children) == {*fitted.posterior_.children}
        for name, group in fitted.posterior_.children.items():
            held = tree[name].to_dataset()
            xr.testing.assert_identical(held, group.to_dataset()[list(held.data_vars)])
            if name == "posterior":
                assert set(held.data_vars) >= fitted.model_.dims().keys()
        tree.close()

    def test_a_loaded_classifier_can_be_saved_again(self, file, path):
        """All that answers are computed from is in its state, draws too."""
        loaded = bc.load(file)
        assert_same_state(reloaded(loaded, path), loaded)

    @pytest.mark.parametrize("fitted", marked(GENERATIVE), indirect=True)
    def test_learning_goes_on(self, fitted, file, path):
        X, loaded = table(fitted), bc.load(file)
        mine, theirs = (clf.as_prior().fit(X, Y) for clf in (fitted, loaded))
        assert_equal(theirs.predict_proba(X), mine.predict_proba(X))
        again = reloaded(theirs, path)
        assert_equal(again.prior, mine.prior)
        assert_equal(again.predict_proba(X), mine.predict_proba(X))
        mine = copy.deepcopy(fitted).partial_fit(X, Y)
        assert_equal(loaded.partial_fit(X, Y).predict_proba(X), mine.predict_proba(X))

    def test_nuts(self, path):
        clf = bc.LogisticRegression(
            prior_scale=2.5, inference=bc.engines.NUTS(draws=20, tune=30, chains=2), random_state=1
        )
        with pytest.warns(ConvergenceWarning, match="too few|too small|disagree"):
            clf.fit(NUMBERS, Y)
        loaded = reloaded(clf, path)
        assert loaded.convergence_problems_ == clf.convergence_problems_ != ()
        xr.testing.assert_identical(loaded.draws_.sample_stats, clf.draws_.sample_stats)
        assert_equal(answers(loaded, NUMBERS), answers(clf, NUMBERS))

    def test_pymc_model(self, gnb, path):
        loaded = reloaded(gnb, path)
        models = [clf.model_.pymc() for clf in (gnb, loaded)]
        point = models[0].initial_point()
        logp = [model.compile_logp(mode="FAST_COMPILE")(point) for model in models]
        assert logp[0] == logp[1]

    def test_a_point_that_does_not_exist_keeps_its_reason(self, path):
        clf = bc.CategoricalNB(1.0).fit([["a"], ["b"], [None]], [0, 1, 2])
        loaded = reloaded(clf, path)
        with pytest.raises(DoesNotExist, match="class '2' has no value in column 'x0'"):
            loaded.predict([["a"]], rule="mle")
        assert loaded.posterior_["mle"].attrs == clf.posterior_["mle"].attrs != {}

    @pytest.mark.parametrize(
        "labels",
        [
            np.array(["a", "日本語"]),
            np.array([False, True]),
            np.array([3, 7], dtype=np.int8),
            pytest.param(np.array(["a", "b"], dtype=object), marks=pytest.mark.slow),
            pytest.param(np.array([-1, 2**40]), marks=pytest.mark.slow),
            pytest.param(np.array([0.0, 1.0]), marks=pytest.mark.slow),
        ],
        ids=lambda labels: str(labels.dtype),
    )
    def test_labels_keep_their_type(self, labels, path):
        clf = bc.GaussianNB(random_state=1).fit(NUMBERS, labels[np.arange(N) % 2])
        loaded = reloaded(clf, path)
        assert_equal(loaded.classes_, clf.classes_)
        assert_equal(loaded.predict(NUMBERS), clf.predict(NUMBERS))

    def test_levels_of_any_plain_type(self, path):
        X = pd.DataFrame({"a/b": pd.Series([1, "1", 2.5, None] * 3, dtype=object), "c d": [True, False] * 6})
        clf = bc.CategoricalNB(random_state=1, missing="level").fit(X, [0, 1, 1] * 4)
        loaded = reloaded(clf, path)
        assert_equal(loaded._learnt.columns, clf._learnt.columns)
        assert_equal(loaded.predict_proba(X), clf.predict_proba(X))

    @pytest.mark.parametrize(
        "random_state", [np.random.default_rng(1), np.random.RandomState(1), np.random.SeedSequence(1)], ids=type
    )
    def test_a_generator_is_stored_as_the_seed_it_gave(self, random_state, path):
        clf = bc.GaussianNB(random_state=random_state).fit(NUMBERS, Y)
        loaded = reloaded(clf, path)
        assert loaded.random_state == loaded.seed_ == clf.seed_
        assert_equal(answers(loaded.fit(NUMBERS, Y), NUMBERS), answers(clf, NUMBERS))

    def test_large_arrays_are_compressed(self, path):
        X = pd.DataFrame({"digit": (np.arange(3000) % 7).astype(str), "number": np.arange(3000.0)})
        clf = bc.LogisticRegression(prior_scale=2.5, inference="map").fit(X, np.arange(3000) % 2)
        clf.save(path)
        assert path.stat().st_size < clf.model_.X.nbytes


class TestWriting:
    def test_a_file_is_replaced_and_a_link_followed(self, gnb, path, tmp_path):
        path.write_text("old")
        link = tmp_path / "link.nc"
        link.symlink_to(path)
        gnb.save(link)
        assert link.is_symlink()
        assert_equal(bc.load(str(path)).classes_, gnb.classes_)
        assert {entry.name for entry in tmp_path.iterdir()} == {"model.nc", "link.nc"}

    def test_rights_are_those_of_any_new_file(self, gnb, path):
        path.with_name("other").touch()
        gnb.save(path)
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(path.with_name("other").stat().st_mode)


def test_other_rows_or_options_give_another_fingerprint():
    fits = [
        bc.GaussianNB(random_state=1).fit(NUMBERS, Y),
        bc.GaussianNB(random_state=2).fit(NUMBERS, Y),
        bc.GaussianNB(random_state=1).fit(NUMBERS[1:], Y[1:]),
        bc.GaussianNB("feature", random_state=1).fit(NUMBERS, Y),
        bc.TextNB(random_state=1).fit(TEXTS, Y),
    ]
    assert len(set(map(storage.fingerprint, fits))) == len(fits)
    assert storage.fingerprint(clone(fits[0]).fit(NUMBERS, Y)) == storage.fingerprint(fits[0])
