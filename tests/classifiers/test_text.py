"""Documents: the two event models by other routes, sparse tables, raw text, posteriors too large to keep in memory."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import log_likelihoods
from helpers.suites import mainly
from scipy import sparse
from scipy.special import gammaln, logsumexp
from sklearn import naive_bayes

import bayesclf as bc
from bayesclf.engines import inference
from bayesclf.errors import InputError, Refused
from bayesclf.posterior import averaging
from bayesclf.rules import RULES

SEED = np.random.default_rng(12)
LABELS = np.array(["ham", "spam", "work"])
Y = LABELS[SEED.integers(3, size=60)]
COUNTS = SEED.poisson(SEED.gamma(0.5, size=(3, 9))[np.searchsorted(LABELS, Y)]).astype(float)
TEXTS = [" ".join(np.repeat([f"w{j}" for j in range(9)], row.astype(int))) for row in COUNTS]

KINDS = {"multinomial": bc.MultinomialNB, "bernoulli": bc.BernoulliNB}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
every_event_model = pytest.mark.parametrize("event_model", KINDS)
every_rule = pytest.mark.parametrize("rule", RULES)


def smoothed(kind, **options):
    """Return a classifier whose MAP adds one to each count."""
    return kind(alpha=2.0, inference=bc.engines.Exact(draws=50), random_state=3, **options)


@pytest.fixture
def small_budget(monkeypatch):
    """Hold no draws, and make them seven at a time."""
    size = 8 * 3 * (9 + 1)
    monkeypatch.setattr(inference, "POSTERIOR_BYTES", 0)
    monkeypatch.setattr(inference, "DRAW_BLOCK_BYTES", 7 * size)


# Against scikit-learn


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_array, sparse.csc_matrix, pd.DataFrame])
@pytest.mark.parametrize(
    ("kind", "peer"), [(bc.MultinomialNB, naive_bayes.MultinomialNB), (bc.BernoulliNB, naive_bayes.BernoulliNB)]
)
@pytest.mark.parametrize("class_prior", ["empirical", "uniform"])
def test_laplaces_rule_is_that_of_scikit_learn(kind, peer, table, class_prior):
    theirs = peer(alpha=1, fit_prior=class_prior == "empirical").fit(COUNTS, Y)
    ours = kind(alpha=2.0, inference="map", class_prior=class_prior).fit(table(COUNTS), Y)
    np.testing.assert_allclose(ours.predict_log_proba(table(COUNTS)), theirs.predict_log_proba(COUNTS), atol=1e-10)


# Dirichlet-multinomial


def test_predictive_of_a_document_is_polyas():
    clf = smoothed(bc.MultinomialNB, class_prior="uniform").fit(COUNTS, Y)
    alpha = 2 + np.array([COUNTS[label == Y].sum(axis=0) for label in LABELS])
    x = np.array([0, 3, 1, 0, 20, 2, 0, 0, 1.5])
    total = alpha.sum(axis=1)
    joint = gammaln(total) - gammaln(total + x.sum()) + (gammaln(alpha + x) - gammaln(alpha)).sum(axis=1)
    found = clf.predict_log_proba([x], rule="predictive")[0]
    np.testing.assert_allclose(found, joint - logsumexp(joint), atol=1e-10)


# The two-level categorical


def test_absent_words_count_in_one_event_model_only():
    empty = np.zeros((1, 9))
    multinomial, bernoulli = (smoothed(kind).fit(COUNTS, Y) for kind in KINDS.values())
    shares = np.unique(Y, return_counts=True)[1] / 60
    np.testing.assert_allclose(multinomial.predict_proba(empty, rule="map")[0], shares, rtol=1e-12)
    assert np.abs(bernoulli.predict_proba(empty, rule="map")[0] - shares).max() > 0.05


# Tables


@every_kind
@every_rule
@pytest.mark.parametrize("table", mainly([sparse.csr_matrix, sparse.coo_array, sparse.csc_array], sparse.coo_array))
def test_a_sparse_table_is_the_dense_one(kind, rule, table):
    dense, thin = smoothed(kind).fit(COUNTS, Y), smoothed(kind).fit(table(COUNTS), Y)
    found = thin.predict_log_proba(table(COUNTS), rule=rule)
    np.testing.assert_allclose(found, dense.predict_log_proba(COUNTS, rule=rule), rtol=1e-10, atol=1e-10)


@every_kind
def test_a_sparse_table_is_never_made_dense(kind):
    """A dense table of these rows would be 80 GB."""
    rng = np.random.default_rng(0)
    row, word = rng.integers(100_000, size=300_000), rng.integers(100_000, size=300_000)
    X = sparse.csr_array((np.ones(300_000), (row, word)), shape=(100_000, 100_000))
    y = rng.integers(2, size=100_000)
    clf = kind(inference="map").fit(X, y)
    assert np.isfinite(clf.predict_log_proba(X[:50])).all()


@cache
def of_many_words(kind):
    """Return counts of 50,000 words in 30 documents, their classes, and a fit."""
    X = sparse.csr_array(np.random.default_rng(1).poisson(0.05, (30, 50_000)).astype(float))
    y = np.arange(30) % 2
    return X, y, kind(inference=bc.engines.Exact(draws=3, chains=2), random_state=1).fit(X, y)


@every_kind
@every_rule
def test_long_documents_of_many_words_do_not_underflow(kind, rule):
    X, y, clf = of_many_words(kind)
    log_proba = clf.predict_log_proba(X[:4] * 50, rule=rule)
    assert np.isfinite(log_proba[:, y[:4]].diagonal()).all() or rule == "mle"
    np.testing.assert_allclose(logsumexp(log_proba, axis=1), 0.0, atol=1e-9)


def test_a_sparse_table_without_some_cell_is_refused():
    wrong = COUNTS.copy()
    wrong[2, 4] = np.nan
    with pytest.raises(InputError, match=r"column 'x4' of the sparse table has a missing \(NaN\) value \(row 3\)"):
        bc.BernoulliNB().fit(sparse.csr_array(wrong), Y)
    with pytest.raises(InputError, match="missing='level' needs a dense table"):
        bc.BernoulliNB(missing="level").fit(sparse.csr_array(COUNTS), Y)


def test_binarize():
    above = bc.BernoulliNB(binarize=1.0, inference="map").fit(COUNTS, Y)
    events = bc.BernoulliNB(binarize=None, inference="map").fit(COUNTS > 1, Y)
    np.testing.assert_array_equal(above.predict_proba(COUNTS), events.predict_proba(COUNTS > 1))
    with pytest.raises(InputError, match="binarize=None takes 0 and 1 only"):
        events.predict(np.full((1, 9), 2.0))
    with pytest.raises(InputError, match="use at least 0"):
        bc.BernoulliNB(binarize=-1.0).fit(sparse.csr_array(COUNTS), Y)


# Raw text


@every_event_model
@every_rule
def test_raw_text_is_its_table_of_counts(event_model, rule):
    text = smoothed(bc.TextNB, event_model=event_model).fit(TEXTS, Y)
    counts = smoothed(KINDS[event_model]).fit(COUNTS[:, COUNTS.any(axis=0)], Y)
    assert text.vocabulary_ == tuple(f"w{j}" for j in np.flatnonzero(COUNTS.any(axis=0)))
    found = text.predict_log_proba(TEXTS, rule=rule)
    np.testing.assert_allclose(found, counts.predict_log_proba(COUNTS[:, COUNTS.any(axis=0)], rule=rule), atol=1e-10)


def test_a_missing_document_is_answered_by_the_class_prior_where_it_says_nothing():
    clf = smoothed(bc.TextNB).fit(pd.DataFrame({"message": TEXTS}), Y)
    found = clf.predict_proba(pd.DataFrame({"message": [None, ""]}), rule="predictive")
    np.testing.assert_allclose(found, np.tile((np.unique(Y, return_counts=True)[1] + 1) / 63, (2, 1)), rtol=1e-12)
    with pytest.raises(InputError, match=r"column 'message' has a missing document \(row 1\)"):
        bc.TextNB("bernoulli").fit(pd.DataFrame({"message": [None, *TEXTS[1:]]}), Y)


@pytest.mark.parametrize(
    ("options", "documents", "part"),
    [
        ({}, "one", "X is one string"),
        ({}, [], "X has no rows"),
        ({}, ["a b"] * 60, "contain no words"),
        ({}, [3, *TEXTS[1:]], r"^column 'text' holds 3 \(row 1\), which is not text; convert it, or"),
        ({}, pd.DataFrame({"a": TEXTS, "b": TEXTS}), r"one column of text, but the table has 2 \('a', 'b'\)"),
        (
            {},
            pd.DataFrame({"said": pd.array([1, None] * 30, dtype="Int64")}),
            r"^column 'said' holds 1 \(row 1\), which is not text",
        ),
        ({"event_model": "poisson"}, TEXTS, "event_model must be one of 'multinomial', 'bernoulli', not 'poisson'"),
        ({"vectorizer": {"stem": True}}, TEXTS, "no|has an option 'stem'; the options are"),
        ({"vectorizer": {"analyzer": "page"}}, TEXTS, "the vectorizer cannot be used"),
        ({"vectorizer": {"token_pattern": "("}}, TEXTS, "the vectorizer cannot be used"),
    ],
)
def test_what_cannot_be_learnt_from(options, documents, part):
    with pytest.raises(InputError, match=part) as caught:
        bc.TextNB(**options).fit(documents, Y)
    assert "\n" not in str(caught.value)


# Posteriors too large to keep in memory


def held_and_made(kind, X):
    """Return a fit that makes its draws, and one that holds the same."""
    made = kind(inference=bc.engines.Exact(draws=20, chains=2), random_state=5).fit(X, Y)
    held = kind(inference=bc.engines.Exact(draws=20, chains=2), random_state=5).fit(X, Y)
    hypotheses = made.hypotheses("posterior")
    assert hypotheses.in_parts
    object.__setattr__(held.draws_, "parameters", hypotheses.take(np.arange(40)).parameters)
    object.__setattr__(held.draws_, "seeded", None)
    return made, held


@every_kind
def test_everything_else_over_blocks_is_that_over_all(kind, small_budget, monkeypatch):
    monkeypatch.setattr(averaging, "MINIMUM_PREDICTIVE_ESS", 1)
    made, held = held_and_made(kind, COUNTS)
    for question in (
        lambda clf: clf.predict_interval(COUNTS),
        lambda clf: clf.uncertainty(COUNTS).epistemic,
        lambda clf: log_likelihoods(clf, COUNTS, Y)[0],
        lambda clf: clf.predict_proba(COUNTS, class_prior=[0.2, 0.5, 0.3]),
        lambda clf: clf.predict_proba(COUNTS[:9], rule=bc.rules.Gibbs(given="data and x")),
        lambda clf: clf.sample(5)[0].to_numpy(dtype=float),
    ):
        np.testing.assert_allclose(question(made), question(held), rtol=1e-9, atol=1e-9)


def test_the_tree_says_what_it_does_not_hold(small_budget):
    made, held = held_and_made(bc.MultinomialNB, COUNTS)
    posterior = made.posterior_["posterior"]
    assert "40 draws of theta are too large to keep in memory" in posterior.attrs["not_held"]
    assert list(posterior.data_vars) == ["pi"]
    some = made.hypotheses("posterior").take(np.array([0, 33]))
    np.testing.assert_array_equal(some.parameters["theta"], held.draws_.parameters["theta"][[0, 33]])
    with pytest.raises(Refused, match="too large to keep in memory; select some"):
        _ = made.hypotheses("posterior").parameters


@every_event_model
def test_a_large_posterior_is_saved_as_its_seed(event_model, small_budget, tmp_path):
    clf = bc.TextNB(event_model, inference=bc.engines.Exact(draws=20), random_state=5).fit(TEXTS, Y)
    clf.save(tmp_path / "model.nc")
    again = bc.load(tmp_path / "model.nc")
    assert again.draws_.seeded == clf.draws_.seeded
    assert again.vocabulary_ == clf.vocabulary_
    for rule in RULES:
        np.testing.assert_array_equal(again.predict_proba(TEXTS, rule=rule), clf.predict_proba(TEXTS, rule=rule))


def test_nuts_refuses_too_many_parameters():
    X = sparse.csr_array(np.ones((4, 3000)))
    with pytest.raises(Refused, match=r"use inference='exact' or 'map', or fewer columns"):
        bc.MultinomialNB(inference="nuts").fit(X, [0, 0, 1, 1])
