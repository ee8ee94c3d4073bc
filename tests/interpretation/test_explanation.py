"""Log-odds taken apart, feature by feature, and the logistic weights of two classifiers side by side."""

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf.engines import Exact, Laplace
from bayesclf.errors import InputError, Refused
from bayesclf.families import LearntAlpha, Multinomial, MultivariateGaussian
from bayesclf.families.terms import Pair
from bayesclf.posterior import averaging

# how good the draws are does not matter here: each has its own log-odds
pytestmark = pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")

NUMBERS, WORDS = ["age", "dose"], ["ward", "smoker"]
EXACT = {"inference": Exact(draws=15), "random_state": 4}
LAPLACE = {"prior_scale": 2.5, "inference": Laplace(draws=15, limit=5.0), "random_state": 4}
TEXTS = ["win a prize now", "claim the prize", "see you at lunch", "lunch now?", "a prize lunch"]

TABLES = {
    "gnb": (bc.GaussianNB(**EXACT), NUMBERS),
    "gnb sigma_i": (bc.GaussianNB("feature", **EXACT), NUMBERS),
    "gnb sigma_k": (bc.GaussianNB("class", **EXACT), NUMBERS),
    "gnb sigma": (bc.GaussianNB("shared", **EXACT), NUMBERS),
    "mixed": (bc.NaiveBayes(**EXACT), NUMBERS + WORDS),
    "indicators": (bc.NaiveBayes(missing="level", **EXACT), NUMBERS + WORDS),
    "learnt alpha": (bc.CategoricalNB(LearntAlpha(), **EXACT), WORDS),
    "known class prior": (bc.CategoricalNB(class_prior="uniform", **EXACT), WORDS),
    "events": (bc.BernoulliNB(**EXACT), ["fever", "cough"]),
    "counts": (bc.MultinomialNB(**EXACT), ["visits", "calls"]),
    "counts beside others": (bc.NaiveBayes({("visits", "calls"): Multinomial()}, **EXACT), ["visits", "calls", *WORDS]),
    "a block of two": (
        bc.NaiveBayes({("visits", "calls"): MultivariateGaussian()}, **EXACT),
        ["visits", "calls", *WORDS],
    ),
    "gda": (bc.GaussianDiscriminantAnalysis(**EXACT), ["visits", "calls"]),
    "joint": (bc.JointBayes(**EXACT), ["letter", "digit"]),
    "network": (bc.BayesNetClassifier(**EXACT), ["letter", "digit"]),
    "no column is used": (bc.GaussianNB(**EXACT), ["one"]),
    "lr": (bc.LogisticRegression(**LAPLACE), NUMBERS + WORDS),
    "lr numbers": (bc.LogisticRegression(**LAPLACE), ["visits", "calls"]),
}
every_table = pytest.mark.parametrize("name", TABLES)


@pytest.fixture(scope="module")
def table(mixed_table):
    X, y = mixed_table
    letters = np.array(["a", "b", "c"], dtype=object)[np.arange(90) % 3]
    return X.assign(one=1.0, letter=letters, digit=np.array(["1", "2"], dtype=object)[np.arange(90) % 7 % 2]), y


@pytest.fixture(scope="module")
def fits(table):
    """Return each classifier of `TABLES`, fitted to three and to two classes when it is requested."""
    X, y = table
    kept = {}

    def fitted(name, classes=3):
        clf, columns = TABLES[name]
        if (name, classes) not in kept:
            labels = y if classes == 3 else np.where(y == "ill", "ill", "well")
            kept[name, classes] = type(clf)(**clf.get_params(deep=False)).fit(X[columns], labels)
        return kept[name, classes], X[columns]

    return fitted


def differences(clf, X, pair):
    """Return log P(k | x, h)/P(k' | x, h), (draw, row), as the rules have it."""
    scores = clf.hypotheses("posterior").log_scores(clf.rows(X))
    rows = np.arange(scores.shape[1])
    return scores[:, rows, pair.outcome] - scores[:, rows, pair.against]


class TestTerms:
    @pytest.mark.parametrize("name", ["gnb", "gnb sigma_k", "mixed", "events"])
    def test_a_feature_contributes_what_it_says_where_all_others_are_missing(self, name, fits):
        """A missing cell is integrated out, so that the model itself can be asked about one column alone."""
        clf, X = fits(name, 2)
        terms = clf.explain(X, rule="map").table

        def log_odds_given(columns):
            log_proba = clf.predict_log_proba(X.assign(**{c: np.nan for c in X if c not in columns}), "map")
            return log_proba[:, 1] - log_proba[:, 0]

        for column in X.columns:
            found = terms.loc[terms["feature"] == column, "contribution"]
            np.testing.assert_allclose(found, log_odds_given([column]) - log_odds_given([]), atol=1e-9)
        prior = terms.loc[terms["feature"] == "(class prior)", "contribution"]
        np.testing.assert_allclose(prior, log_odds_given([]), atol=1e-9)

    def test_a_column_of_logistic_regression_contributes_what_it_changes_from_its_mean(self, fits):
        clf, X = fits("lr numbers", 2)
        terms = clf.explain(X, rule="map").table
        log_proba = [clf.predict_log_proba(table, "map") for table in (X, X.assign(calls=X["calls"].mean()))]
        change = np.subtract(*(logs[:, 1] - logs[:, 0] for logs in log_proba))
        np.testing.assert_allclose(terms.loc[terms["feature"] == "calls", "contribution"], change, atol=1e-9)
        at_means = clf.predict_log_proba(pd.DataFrame([X.mean()]), "map")[0]
        intercept = terms.loc[terms["feature"] == "(intercept)", "contribution"]
        np.testing.assert_allclose(intercept, at_means[1] - at_means[0], atol=1e-9)


class TestExplain:
    @every_table
    @pytest.mark.parametrize("rule", ["map", "mean", "bayes-optimal"])
    def test_contributions_add_up_to_the_mean_log_odds(self, name, rule, fits):
        clf, X = fits(name)
        found = clf.explain(X, rule=rule)
        np.testing.assert_allclose(
            found.table.groupby("row")["contribution"].sum(), found.rows["log_odds"], rtol=1e-9, atol=1e-9
        )
        codes = [np.searchsorted(clf.classes_, found.rows[side]) for side in ("outcome", "against")]
        log_proba = clf.predict_log_proba(X, rule)
        by_row = np.take_along_axis(log_proba, np.stack(codes, axis=1), axis=1)
        np.testing.assert_allclose(found.rows[["proba_outcome", "proba_against"]], np.exp(by_row), atol=1e-12)
        if rule != "bayes-optimal":
            np.testing.assert_allclose(found.rows["log_odds"], by_row[:, 0] - by_row[:, 1], atol=1e-9)
            assert found.ci_prob is None
            assert not {"low", "high"} & {*found.table, *found.rows}
        else:
            drawn = differences(clf, X, Pair(*codes))
            np.testing.assert_allclose(found.rows["log_odds"], drawn.mean(axis=0), atol=1e-9)
            bounds = np.quantile(drawn, [0.055, 0.945], axis=0, method="inverted_cdf")
            np.testing.assert_allclose(found.rows[["low", "high"]].T, bounds, atol=1e-9)

    def test_by_default_the_most_probable_class_stands_against_the_next(self, fits):
        clf, X = fits("mixed")
        found = clf.explain(X)
        order = clf.classes_[np.argsort(-clf.predict_proba(X), axis=1)]
        assert found.rows["outcome"].tolist() == order[:, 0].tolist()
        assert found.rows["against"].tolist() == order[:, 1].tolist()
        assert clf.explain(X, against=order[:, 0]).rows["outcome"].tolist() == order[:, 1].tolist()

    def test_of_two_classes_the_second_stands_against_the_first(self, fits):
        clf, X = fits("mixed", 2)
        assert set(clf.explain(X).rows["outcome"]) == {"well"}
        other_way = clf.explain(X, outcome="ill")
        assert set(other_way.rows["against"]) == {"well"}
        np.testing.assert_allclose(other_way.rows["log_odds"], -clf.explain(X).rows["log_odds"])
        assert set(clf.explain(X, against="well").rows["outcome"]) == {"ill"}

    def test_a_cell_stands_next_to_its_contribution_and_a_missing_one_contributes_nothing(self, fits):
        clf, X = fits("mixed")
        terms = clf.explain(X).table
        for column in X.columns:
            own = terms[terms["feature"] == column].set_index("row")
            pd.testing.assert_series_equal(
                own["value"], X[column].astype(object), check_names=False, check_index_type=False
            )
            assert (own["contribution"][X[column].isna().to_numpy()] == 0).all()
            assert (own["contribution"][X[column].notna().to_numpy()] != 0).all()

    @pytest.mark.parametrize("name", ["indicators", "lr"])
    def test_indicators_and_levels_belong_to_their_column(self, name, fits):
        clf, X = fits(name)
        terms = clf.explain(X).table
        constant = "(intercept)" if name == "lr" else "(class prior)"
        assert terms["feature"].tolist() == [constant, *X.columns] * len(X)
        missing = terms[terms["feature"] == "age"]["contribution"][X["age"].isna().to_numpy()]
        assert (missing != 0).all()

    def test_a_block_of_dependent_columns_is_one_feature(self, fits):
        clf, X = fits("a block of two")
        terms = clf.explain(X).table
        assert set(terms["feature"]) == {"(class prior)", "visits, calls", "ward", "smoker"}
        first = terms[terms["feature"] == "visits, calls"].iloc[0]
        assert first["value"] == f"{X['visits'].iloc[0]:.4g}, {X['calls'].iloc[0]:.4g}"

    def test_blocks_of_rows_change_nothing(self, fits, monkeypatch):
        clf, X = fits("mixed")
        whole = clf.explain(X)
        monkeypatch.setattr(averaging, "BLOCK_BYTES", 8 * 60 * 4 * 7)
        monkeypatch.setattr(averaging, "LEAST_ROWS", 1)
        parts = clf.explain(X)
        pd.testing.assert_frame_equal(whole.table, parts.table)
        pd.testing.assert_frame_equal(whole.rows, parts.rows)

    def test_the_table_of_a_row_is_sorted_by_size_and_ends_with_the_sum(self, fits):
        clf, X = fits("mixed")
        found = clf.explain(X)
        assert "P does not follow from the averaged" in repr(found)
        assert "averaged" not in repr(clf.explain(X, rule="map"))
        shown = found.of(5)
        sizes = shown["contribution"].abs()[:-1]
        assert sizes.is_monotonic_decreasing
        about = found.rows.iloc[5]
        assert shown["feature"].iloc[-1] == f"log-odds of {about['outcome']} against {about['against']}"
        assert shown["contribution"].iloc[-1] == pytest.approx(shown["contribution"][:-1].sum())
        assert shown["high"].iloc[-1] == about["high"]
        with pytest.raises(InputError, match="row must be between 0 and 89, not 90"):
            found.of(90)
        with pytest.raises(InputError, match="row must be between 0 and 89, not 'a'"):
            found.of("a")

    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"outcome": "dead"}, InputError, "'dead' is not a class; the classes are 'ill', 'mild', 'well'"),
            ({"outcome": "ill", "against": "ill"}, InputError, "row 1 has 'ill' on both sides"),
            ({"outcome": ["ill"] * 3}, InputError, r"one for each of the 90 rows, not shape \(3,\)"),
            ({"ci_prob": 1.0}, InputError, "ci_prob must be a number between 0 and 1"),
            ({"rule": "predictive"}, Refused, "one of 'mle', 'map', 'mean', 'bayes-optimal'"),
            ({"rule": "gibbs"}, Refused, "the rule 'gibbs' uses other hypotheses"),
            ({"rule": "best"}, InputError, "unknown rule"),
        ],
    )
    def test_requests_that_cannot_be_answered(self, arguments, error, message, fits):
        clf, X = fits("mixed")
        with pytest.raises(error, match=message):
            clf.explain(X, **arguments)

    @pytest.mark.filterwarnings("ignore::bayesclf.errors.PredictionWarning")
    def test_a_zero_is_infinite_evidence_and_two_zeros_are_refused(self, play_tennis):
        X, y = play_tennis.X, play_tennis.y
        clf = bc.CategoricalNB(inference="mle").fit(X, y)
        overcast = X[X["outlook"] == "overcast"].iloc[:1]
        found = clf.explain(overcast)
        assert found.rows["log_odds"].item() == np.inf
        assert found.table.set_index("feature").loc["outlook", "contribution"] == np.inf
        impossible = bc.CategoricalNB(inference="mle").fit([["a", "b"], ["a", "b"], ["d", "c"]], [0, 0, 1])
        with pytest.raises(Refused, match="row 2 has probability 0 under both '1' and '0'"):
            impossible.explain([["a", "b"], ["a", "c"]])


class TestText:
    @pytest.fixture(params=["multinomial", "bernoulli"])
    def clf(self, request):
        return bc.TextNB(request.param, **EXACT).fit(TEXTS, ["spam", "spam", "ham", "ham", "spam"])

    def test_only_words_that_are_there_are_features(self, clf):
        terms = clf.explain(["prize prize lunch unheard", ""]).table
        named = terms[~terms["feature"].str.startswith("(")]
        assert named[["row", "feature"]].to_numpy().tolist() == [[0, "lunch"], [0, "prize"]]
        counts = dict(zip(named["feature"], named["value"], strict=True))
        assert counts == {"lunch": 1, "prize": 2 if clf.event_model == "multinomial" else 1}

    def test_they_add_up_with_what_is_absent(self, clf):
        documents = ["prize prize lunch unheard", "", "you at now", *TEXTS]
        found = clf.explain(documents)
        expected = differences(clf, documents, Pair(np.ones(8, dtype=int), np.zeros(8, dtype=int)))
        np.testing.assert_allclose(found.rows["log_odds"], expected.mean(axis=0), atol=1e-9)
        absent = found.table["feature"] == "(all that is absent)"
        assert absent.sum() == (8 if clf.event_model == "bernoulli" else 0)

    @pytest.mark.filterwarnings("ignore::bayesclf.errors.PredictionWarning")
    def test_a_word_that_all_of_a_class_have_is_infinite_evidence_where_it_lacks(self):
        clf = bc.TextNB("bernoulli", inference="mle").fit(["a1 b1", "a1 b2", "b1", "b2"], [0, 0, 1, 1])
        terms = clf.explain(["b1", "a1 b1"]).table.set_index(["row", "feature"])["contribution"]
        assert terms[0, "(all that is absent)"] == np.inf
        assert terms[1, "a1"] == -np.inf
        assert np.isfinite(terms[1, "(all that is absent)"])
