"""The concentration that best predicts the labels of rows that are left out, against refits."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import bayesclf as bc
from bayesclf.classifiers import inputs
from bayesclf.classifiers.training import _learned
from bayesclf.families import Axes, Categorical, LearntAlpha, learned_alpha
from bayesclf.families.learned_alpha import LOWEST, TEXTBOOK, criterion, maximum

LEFT_OUT = LearntAlpha()
ROWS = 24


def of_words(alpha, **options):
    return bc.CategoricalNB(alpha, random_state=1, **options)


def of_events(alpha, **options):
    beta = {} if isinstance(alpha, LearntAlpha) else {"beta": alpha}
    return bc.BernoulliNB(alpha, **beta, random_state=1, **options)


def of_counts(alpha, **options):
    return bc.MultinomialNB(alpha, random_state=1, **options)


@pytest.fixture
def rows(request, rng):
    """Return a table and labels for a classifier, cells missing where it allows them."""
    y = np.array(["no", "maybe", "yes"])[np.arange(ROWS) % 3]
    X = rng.poisson(0.3 + 1.5 * (np.arange(ROWS)[:, None] % 3 == np.arange(4)), (ROWS, 4)).astype(float)
    if request.param is of_counts:
        X[0, 1] = 40  # beyond the counts whose log Γ are sums
        return request.param, X, y
    missing = rng.random(X.shape) < 0.15
    if request.param is of_events:
        return request.param, np.where(missing, np.nan, X), y
    words = pd.DataFrame(np.array(list("abcd"))[np.minimum(X, 3).astype(int)])
    return request.param, words.mask(missing).astype(pd.CategoricalDtype(list("abcd"))), y


every_classifier = pytest.mark.parametrize("rows", [of_words, of_events, of_counts], indirect=True)


def score_of(clf, X, y, weight=None):
    """Return the criterion of a fitted classifier's rows."""
    (block,) = clf.model_.blocks
    family, statistics = type(block.family)(LEFT_OUT), block.statistics
    lowest = LEFT_OUT.fixed(family, family.sizes(statistics.axes), LOWEST).resolve_prior(statistics)
    codes, prior = np.searchsorted(clf.classes_, y), clf.model_.posterior().class_prior
    return criterion(LEFT_OUT, lowest.posterior(statistics), clf.rows(X).parts[0], codes, weight, prior)


def without(make, X, y, i, alpha):
    """Return log P(y_i | x_i) of a model fitted to all other rows."""
    others = np.arange(len(y)) != i
    clf = make(alpha).fit(X[others], y[others])
    row = X[~others]
    return clf.predict_log_proba(row, rule="predictive")[0, list(clf.classes_).index(y[i])]


@every_classifier
def test_the_criterion_is_the_score_of_rows_left_out_by_refits(rows):
    make, X, y = rows
    score = score_of(make(1.0).fit(X, y), X, y)
    for alpha in (0.05, 0.8, 6.0):
        expected = sum(without(make, X, y, i, alpha) for i in range(len(y))) - 0.5 * (np.log(alpha) / 1.5) ** 2
        np.testing.assert_allclose(score(alpha), expected, rtol=1e-10)


def test_a_column_without_a_cell_changes_no_concentration(rng):
    X = pd.DataFrame(rng.choice(list("abc"), (ROWS, 3)), columns=list("uvw"))
    tables, y = (X, X.assign(empty=np.full(ROWS, None))), np.arange(ROWS) % 2
    alphas = [of_words(LEFT_OUT).fit(table, y).model_.blocks[0].family.alpha for table in tables]
    np.testing.assert_allclose(alphas[1].flat[0], alphas[0].flat[0], rtol=1e-6)


@every_classifier
def test_fit_takes_the_concentration_of_the_largest_criterion(rows):
    make, X, y = rows
    clf = make(LEFT_OUT).fit(X, y)
    found = clf.model_.blocks[0].family.alpha[0, 0]
    score = score_of(clf, X, y)
    grid = np.exp(np.linspace(np.log(LOWEST), np.log(1e3), 200))
    near = [found * np.exp(-1e-4), found * np.exp(1e-4)]
    assert score(found) > max(map(score, [*grid, *near]))
    assert f"learned by leaving out one row at a time: α = {found:.3g}" in clf.notes_[0]
    fixed = make(found).fit(X, y)
    for rule in ("mean", "predictive"):
        np.testing.assert_array_equal(clf.predict_proba(X, rule), fixed.predict_proba(X, rule))
    np.testing.assert_allclose(clf.predict_proba(X, "map"), clf.predict_proba(X, "mean"))


def test_a_weight_is_a_number_of_rows(rng):
    X, y = rng.poisson(1.0 + np.eye(2)[np.arange(30) % 2], (30, 2)), np.arange(30) % 2
    weight = rng.integers(1, 4, 30)
    weighted = of_counts(LEFT_OUT).fit(X, y, weight).model_.blocks[0].family.alpha
    repeated = of_counts(LEFT_OUT).fit(X.repeat(weight, axis=0), y.repeat(weight)).model_.blocks[0].family.alpha
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)
    half = of_counts(LEFT_OUT).fit(X, y, np.full(30, 0.5))
    assert (half.model_.blocks[0].family.alpha == LEFT_OUT.median).all()  # no row can be left out


def test_a_sparse_table_has_the_concentration_of_the_dense_one(rng):
    X, y = rng.poisson(0.5, (40, 9)), rng.integers(0, 2, 40)
    for make in (of_counts, of_events):
        dense, thin = make(LEFT_OUT).fit(X, y), make(LEFT_OUT).fit(sparse.csr_array(X), y)
        np.testing.assert_allclose(
            thin.model_.blocks[0].family.alpha[0, 0], dense.model_.blocks[0].family.alpha[0, 0], rtol=1e-9
        )


def test_rows_in_stretches_have_the_same_criterion(rng, monkeypatch):
    X, y = rng.poisson(1.0, (40, 3)), rng.integers(0, 2, 40)
    clf = of_counts(1.0).fit(X, y)
    at_once = score_of(clf, X, y)(0.7)
    monkeypatch.setattr(learned_alpha, "NUMBERS", 21)
    np.testing.assert_allclose(score_of(clf, X, y)(0.7), at_once, rtol=1e-13)


def test_of_many_rows_some_at_even_distances_are_left_out(monkeypatch):
    monkeypatch.setattr(inputs, "MOST_ROWS", 5)
    np.testing.assert_array_equal(inputs.Training(None, np.zeros(9)).left_out(), [0, 2, 4, 6, 8])
    np.testing.assert_array_equal(inputs.Training(None, np.zeros(4), np.array([1, 0.5, 2, 1.0])).left_out(), [0, 2, 3])
    X, y = np.array([[2, 0], [0, 2]])[np.arange(60) % 2], np.arange(60) % 2
    assert of_counts(LEFT_OUT).fit(X, y).model_.blocks[0].family.alpha[0, 0] > 0


@pytest.mark.parametrize("peak", [-6.0, -2.3, 0.0, 3.1, 6.0])
def test_the_maximum_is_found_within_its_tolerance(peak):
    def score(alpha):
        return -((np.log(alpha) - peak) ** 2) + 0.5 * np.exp(-((np.log(alpha) + 5) ** 2))

    grid = np.linspace(np.log(LOWEST), np.log(1e3), 1_000_001)
    best = np.exp(grid[np.argmax(score(np.exp(grid)))])
    assert abs(np.log(maximum(score, score) / best)) < 1.1e-4


def test_rows_in_parts_keep_the_concentration(rng):
    X, y = rng.poisson(0.3 + np.eye(3)[np.arange(60) % 3]), np.arange(60) % 3
    fitted = of_counts(LEFT_OUT).fit(X[:30], y[:30])
    alpha = fitted.model_.blocks[0].family.alpha
    more = fitted.partial_fit(X[30:], y[30:])
    np.testing.assert_array_equal(more.model_.blocks[0].family.alpha, alpha)
    np.testing.assert_array_equal(more.class_count_, [20, 20, 20])
    parts = of_counts(LEFT_OUT)
    for some in np.array_split(np.arange(60), 4):
        parts.partial_fit(X[some], y[some], classes=[0, 1, 2])
    assert (parts.model_.blocks[0].family.alpha == LEFT_OUT.median).all()
    assert "set alpha, or call fit" in parts.notes_[0]
    whole = of_counts(LEFT_OUT).partial_fit(X, y)
    np.testing.assert_array_equal(parts.predict_proba(X, "predictive"), whole.predict_proba(X, "predictive"))


def test_text_learns_it_and_new_words_have_it(tmp_path):
    texts = ["win a prize now", "claim the prize", "a prize, a prize", "see you at lunch", "lunch now?", "you at home"]
    labels = ["spam"] * 3 + ["ham"] * 3
    for event_model in ("multinomial", "bernoulli"):
        clf = bc.TextNB(event_model, LEFT_OUT, random_state=1).fit(texts, labels)
        alpha = clf.model_.blocks[0].family.alpha[0, 0]
        clf.save(tmp_path / "model.nc")
        loaded = bc.load(tmp_path / "model.nc")
        assert loaded.notes_ == clf.notes_
        loaded.partial_fit(["another word"], ["ham"])
        assert "another" in loaded.vocabulary_
        assert (loaded.model_.blocks[0].family.alpha == alpha).all()


def test_what_follows_a_fit_takes_the_concentration_as_given(rng):
    """A posterior as the prior, leave-one-out, and the PyMC model."""
    X, y = rng.poisson(0.3 + np.eye(3)[np.arange(30) % 3]), np.arange(30) % 3
    clf = of_counts(LEFT_OUT).fit(X, y)
    alpha = clf.model_.blocks[0].family.alpha
    again = clf.as_prior().fit(X, y)
    np.testing.assert_allclose(again.model_.blocks[0].family.alpha, alpha + clf.feature_count_)
    fixed = of_counts(float(alpha[0, 0])).fit(X, y)
    loo, expected = (model.loo(X, y, rule="predictive", method="exact").elpd for model in (clf, fixed))
    np.testing.assert_allclose(loo, expected, rtol=1e-12)
    score = score_of(clf, X, y)(alpha[0, 0]) - LEFT_OUT.log_prior(alpha[0, 0])
    np.testing.assert_allclose(loo, score, rtol=1e-10)
    np.testing.assert_array_equal(clf.model_.pymc()["theta_alpha"].get_value(), alpha)


@pytest.mark.filterwarnings("error")
def test_counts_beside_which_no_digit_of_the_concentration_is_left_are_not_left_out(rng):
    X, y = rng.integers(0, 4, (30, 5)).astype(float), rng.integers(2, size=30)
    alpha = bc.MultinomialNB().fit(X, y).model_.blocks[0].family.alpha[0, 0]
    unlike = np.zeros((2, 5))
    unlike[:, 2] = 3e98, 8e98
    assert LOWEST < alpha < 1e3
    both, labels = np.vstack([X, unlike]), np.concatenate([y, [0, 1]])
    learned = bc.MultinomialNB(random_state=0).fit(both, labels)
    assert np.isnan(
        learned.model_.posterior().blocks[0].family.log_predictive_without(both, labels)[30:, :].sum(axis=1)
    ).all()
    assert np.isfinite(learned.predict_proba(X)).all()
    alone = bc.MultinomialNB().fit(unlike, [0, 1])  # the prior of α is all that is known of it
    assert alone.model_.blocks[0].family.alpha.ravel() == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(("best", "found"), [(3.0, 3.0), (1e5, 1e3), (1e-5, LOWEST)])
def test_a_coarse_score_says_only_where_the_search_begins(best, found):
    def score(alpha, best=best):
        assert 0.999 * LOWEST < alpha < 1.001e3
        return -(np.log(alpha / best) ** 2)

    assert learned_alpha.maximum(score, lambda alpha: score(alpha, 0.5)) == pytest.approx(found, rel=1e-3)


def test_features_of_few_levels_keep_the_concentration_of_the_textbook(rng):
    """MAP has a basis for each feature."""
    axes = Axes(("no", "yes"), ("u", "v"), (("a", "b"), (1, 2, 3)))
    X = np.column_stack([rng.integers(size, size=60) for size in axes.sizes])
    statistics = Categorical().statistics(X, np.arange(60) % 2, axes)
    found = Categorical(LearntAlpha(least_levels=3, value=0.3)).resolve_prior(statistics)
    assert (found.alpha[:, :2] == TEXTBOOK).all()
    assert (found.alpha[:, 2:] == 0.3).all()
    mode, fixed = found.map(statistics)["theta"], Categorical().resolve_prior(statistics)
    np.testing.assert_array_equal(mode[..., 2:], found.posterior(statistics).mean()["theta"][..., 2:])
    np.testing.assert_allclose(mode[..., :2], fixed.map(statistics)["theta"][..., :2])
    textbook = Categorical(LearntAlpha(least_levels=4)).resolve_prior(statistics)
    np.testing.assert_array_equal(textbook.map(statistics)["theta"], fixed.map(statistics)["theta"])


def test_the_columns_whose_concentration_was_learned_are_named():
    axes = SimpleNamespace(features=("a", "b"))
    assert _learned(np.array([np.nan, 3.0]), axes).startswith("the concentration of column 'b' was learned")
    assert _learned(np.array([3.0, 3.0]), axes).startswith("the concentration was learned")
