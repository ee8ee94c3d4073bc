"""Prediction sets: the smallest of a given probability, and conformal ones of a given coverage."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.suites import mainly
from scipy import stats

import bayesclf as bc
from bayesclf import conformal
from bayesclf.decisions import PredictionSets, posterior_sets
from bayesclf.errors import InputError, PredictionWarning, Refused

CLASSES = np.array(["a", "b", "c"])
COPIES = 8


def correlated(rng, n, labels=3):
    """Return rows whose columns are noisy copies of one number, and labels: naive Bayes counts it `COPIES` times."""
    y = rng.integers(labels, size=n)
    signal = y + rng.normal(0, 1.2, size=n)
    return signal[:, None] + rng.normal(0, 0.3, size=(n, COPIES)), y


def simple(rng, n):
    """Return rows of three clusters, as Gaussian naive Bayes has it."""
    y = rng.integers(3, size=n)
    return rng.normal(size=(n, 2)) + 1.5 * np.eye(3, 2)[y], y


@pytest.fixture(scope="module")
def misspecified():
    return bc.GaussianNB(inference="map").fit(*correlated(np.random.default_rng(1), 500))


@pytest.fixture(scope="module")
def specified():
    return bc.GaussianNB(inference="map").fit(*simple(np.random.default_rng(2), 500))


def coverages(make, source, clf, n, repetitions, seed, test=400):
    """Return coverage of test rows after calibration on `n` rows, and mean size, (repetition), all rows new."""
    rng = np.random.default_rng(seed)
    covered, size = [], []
    for repetition in range(repetitions):
        found = make(clf, repetition).calibrate(*source(rng, n))
        X, y = source(rng, test)
        sets = found.predict_set(X)
        covered.append(sets.contains(y).mean())
        size.append(sets.sizes.mean())
    return np.array(covered), np.array(size)


def lac(clf, seed, **options):
    return bc.SplitConformal(clf, nonconformity="lac", random_state=seed, **options)


def aps(clf, seed, **options):
    return bc.SplitConformal(clf, nonconformity="aps", random_state=seed, **options)


class TestPosteriorSets:
    @pytest.mark.parametrize("level", [0.05, 0.3, 0.5, 0.75, 0.9, 0.99])
    def test_no_smaller_set_is_probable_enough(self, level):
        """Against all subsets, in exact fractions; zeros and ties among them."""
        counts = np.random.default_rng(9).integers(0, 9, size=(150, 4)) * [[0, 1, 1, 1]] + [[1, 0, 0, 0]]
        exact = [[Fraction(int(n), int(row.sum())) for n in row] for row in counts]
        with np.errstate(divide="ignore"):
            sets = posterior_sets(np.log(np.array(exact, dtype=float)), np.arange(4), level)
        wanted = Fraction(str(level))
        for row, member in zip(exact, sets.member, strict=True):
            enough = [
                len(some) for size in range(1, 5) for some in itertools.combinations(row, size) if sum(some) >= wanted
            ]
            assert member.sum() == min(enough)
            assert sum(p for p, inside in zip(row, member, strict=True) if inside) >= wanted

    def test_a_sum_that_reaches_the_level_is_enough_in_floating_point_too(self):
        assert 0.6 + 0.3 < 0.9
        assert posterior_sets(np.log([[0.6, 0.3, 0.1]]), CLASSES, 0.9).labels == (("a", "b"),)

    def test_classifiers_make_them_of_their_probabilities(self, specified):
        X, _ = simple(np.random.default_rng(3), 50)
        prior = [0.8, 0.1, 0.1]
        found = specified.predict_set(X, 0.7, rule="map", class_prior=prior)
        expected = posterior_sets(specified.predict_log_proba(X, "map", prior), specified.classes_, 0.7)
        np.testing.assert_array_equal(found.member, expected.member)
        assert found.level == 0.7

    def test_sizes_labels_and_coverage_of_a_set(self):
        sets = PredictionSets(np.array([[True, False, True], [False, False, False]]), CLASSES, 0.9)
        assert sets.sizes.tolist() == [2, 0]
        assert sets.labels == (("a", "c"), ())
        assert sets.contains(["c", "a"]).tolist() == [True, False]
        assert sets.contains(["d", "b"]).tolist() == [False, False]
        with pytest.raises(InputError, match="one label for each of the 2 rows"):
            sets.contains(["a"])


class TestQuantile:
    @pytest.mark.parametrize(("n", "level", "expected"), [(9, 0.9, 9), (8, 0.9, 9), (99, 0.07, 7), (19, 0.95, 19)])
    def test_the_rank_is_exact(self, n, level, expected):
        assert conformal.rank(n, level) == expected


class TestAdaptiveScores:
    def test_they_are_those_of_the_definition(self):
        rng = np.random.default_rng(5)
        proba, u = rng.dirichlet(np.ones(4), size=30), rng.random(30)
        expected = [[sum(q for q in row if q > p) + v * p for p in row] for row, v in zip(proba, u, strict=True)]
        found = conformal.adaptive_scores(np.log(proba), u)
        np.testing.assert_allclose(1 - np.exp(-found), expected, rtol=1e-12, atol=1e-14)

    def test_classes_of_hardly_any_probability_still_differ(self):
        found = conformal.adaptive_scores(np.array([[-700.0, 0.0, -800.0]]), np.array([0.5]))
        assert found[0, 1] < found[0, 0] < found[0, 2] < math.inf

    def test_the_hashes_of_rows_are_uniform(self):
        log_proba = np.log(np.random.default_rng(6).dirichlet(np.ones(3), size=4000))
        u = conformal.uniforms(log_proba, 7)
        assert stats.kstest(u, "uniform").pvalue > 0.001
        other = conformal.uniforms(log_proba, 8)
        assert abs(np.corrcoef(u, other)[0, 1]) < 4 / math.sqrt(4000)


class TestCoverage:
    """Each repetition calibrates anew, so that their spread gives the Monte Carlo error."""

    @pytest.mark.parametrize("make", mainly([lac, aps], lac))
    def test_it_is_exact_without_ties_even_under_a_wrong_model(self, make, misspecified):
        covered, _ = coverages(make, correlated, misspecified, 49, 150, 10)
        assert abs(covered.mean() - 45 / 50) < 4 * covered.std(ddof=1) / math.sqrt(150)

    @pytest.mark.slow
    def test_it_varies_with_the_calibration_rows_as_the_interval_says(self, specified):
        covered, _ = coverages(lac, simple, specified, 49, 200, 12, test=2000)
        low, high = lac(specified, 0).calibrate(*simple(np.random.default_rng(0), 49)).coverage_interval(0.8)[0]
        inside = ((covered > low) & (covered < high)).mean()
        assert abs(inside - 0.8) < 4 * math.sqrt(0.8 * 0.2 / 200)
        np.testing.assert_allclose([low, high], stats.beta(45, 5).ppf([0.1, 0.9]))

    @pytest.mark.slow
    def test_within_each_class_it_is_reached_where_that_was_requested(self):
        """A rare class is covered less often than others, unless calibration goes by class."""

        def source(rng, n):
            y = (rng.random(n) < 0.15).astype(int)
            return rng.normal(size=(n, 1)) + 1.5 * y[:, None], y

        rng = np.random.default_rng(13)
        clf = bc.GaussianNB(inference="map").fit(*source(rng, 1000))
        rare = {True: [], False: []}
        for by_class in rare:
            for seed in range(60):
                X, y = source(rng, 400)
                test, truth = source(rng, 1000)
                sets = lac(clf, seed, by_class=by_class).calibrate(X, y).predict_set(test)
                rare[by_class].append(sets.contains(truth)[truth == 1].mean())
        error = np.std(rare[True], ddof=1) / math.sqrt(60)
        assert np.mean(rare[True]) > 0.9 - 4 * error
        assert np.mean(rare[False]) < 0.9 - 10 * error


class TestSplitConformal:
    def test_lac_sets_are_the_classes_above_a_probability(self, specified):
        X, y = simple(np.random.default_rng(18), 99)
        found = lac(specified, 0).calibrate(X, y)
        proba = specified.predict_proba(X)
        scores = np.sort(1 - proba[np.arange(99), y])
        new, _ = simple(np.random.default_rng(19), 200)
        expected = 1 - specified.predict_proba(new) <= scores[90 - 1] + 1e-12
        np.testing.assert_array_equal(found.predict_set(new).member, expected)

    def test_too_few_rows_give_all_classes_and_say_so(self, specified):
        X, y = simple(np.random.default_rng(20), 8)
        with pytest.warns(PredictionWarning, match="at least 9 calibration rows, but there are 8: every class is"):
            found = lac(specified, 0).calibrate(X, y)
        assert found.predict_set(X).member.all()
        np.testing.assert_array_equal(found.coverage_interval(), np.ones((3, 2)))

    def test_a_class_of_too_few_rows_is_in_every_set(self, specified):
        X, y = simple(np.random.default_rng(21), 300)
        kept = np.flatnonzero(y != 1).tolist() + np.flatnonzero(y == 1)[:3].tolist()
        with pytest.warns(PredictionWarning, match="there are 3 of '1': this class is in every set"):
            found = lac(specified, 0, by_class=True).calibrate(X[kept], y[kept])
        member = found.predict_set(X).member
        assert member[:, 1].all()
        assert not member[:, [0, 2]].all()

    @pytest.mark.parametrize("unsure", [True, False])
    def test_a_row_has_its_set_whatever_rows_are_next_to_it(self, unsure, specified, misspecified):
        source, clf = (simple, specified) if unsure else (correlated, misspecified)
        X, y = source(np.random.default_rng(22), 100)
        found = aps(clf, 3).calibrate(X, y)
        alone = [found.predict_set(X[[row]]).labels[0] for row in range(40)]
        assert found.predict_set(X[::-1]).labels[::-1][:40] == tuple(alone)

    def test_a_label_outside_the_classes_given_is_refused(self):
        X, y = simple(np.random.default_rng(24), 60)
        with pytest.raises(InputError, match="y has the label 'c', which is not among the classes given, 1, 2, 3"):
            bc.SplitConformal(bc.GaussianNB()).fit(X, np.where(y == 0, "b", "c"), classes=[1, 2, 3])

    def test_gibbs_is_refused(self, specified):
        X, y = simple(np.random.default_rng(27), 40)
        for rule in ("gibbs", bc.rules.Gibbs("label")):
            with pytest.raises(Refused, match="draws another hypothesis for each row"):
                bc.SplitConformal(specified, rule=rule).calibrate(X, y)
        with pytest.raises(Refused, match="draws another"):
            bc.SplitConformal(bc.GaussianNB(rule="gibbs")).fit(X, y)

    def test_other_classifiers_and_unknown_labels_are_refused(self, specified):
        from sklearn.naive_bayes import GaussianNB

        X, y = simple(np.random.default_rng(28), 40)
        with pytest.raises(InputError, match="classifier must be one of bayesclf"):
            bc.SplitConformal(GaussianNB()).fit(X, y)
        with pytest.raises(InputError, match="label '7' was not among the training labels"):
            lac(specified, 0).calibrate(X, np.where(y == 2, 7, y))
