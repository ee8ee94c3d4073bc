"""Rows without labels: EM arrives where brute force does, and draws follow the mixture over all possible labels."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import OF_STATISTICS
from helpers.suites import mainly
from scipy import optimize
from scipy.special import comb, logsumexp, softmax, xlogy
from sklearn.base import clone

import bayesclf as bc
from bayesclf.classifiers.inputs import Training, labeled_rows
from bayesclf.engines import unlabeled
from bayesclf.engines.unlabeled import expectation_maximization
from bayesclf.errors import ConvergenceWarning, InputError, Refused

WORDS = pd.DataFrame({"u": list("aabbabbaabab"), "v": list("cdddcdcdcddc")})
OF_WORDS = np.array(["no", "no", "yes", "yes", *[None] * 8], dtype=object)
CODES = np.column_stack([WORDS["u"] == "b", WORDS["v"] == "d"]).astype(int)
NUMBERS = pd.DataFrame(
    {"x": [0.1, 0.4, 2.1, 2.6, 0.3, 1.9, 1.2, 2.4, 0.0, 1.0, 2.0], "z": [1.0, 0.2, 0.5, 2, 1, 1.4, 0.1, 1, 0, 1.2, 2]}
)
OF_NUMBERS = np.array(["low", "low", "high", "high", *[None] * 7], dtype=object)


def gaussian(**options):
    prior = {"m": 1.0, "kappa": 0.5, "a": 2.0, "b": 0.8}
    return bc.GaussianNB("class-feature", **{**prior, "random_state": 1, **options})


USE = {"unlabeled": "use"}


def categorical(**options):
    return bc.CategoricalNB(**{"alpha": 2.0, "random_state": 1, **options})


CASES = {"categorical": (categorical, WORDS, OF_WORDS), "gaussian": (gaussian, NUMBERS, OF_NUMBERS)}
every_case = pytest.mark.parametrize("case", mainly(CASES, "categorical"))


def partly(make, X, y, sample_weight=None):
    """Return what a fit infers from."""
    clf = make(inference="map")
    codes = clf.fit(X, y, sample_weight=sample_weight, **USE).classes_
    labels = np.array([-1 if label is None else list(codes).index(label) for label in y])
    return clf._partly_labeled(Training(clf._validated(X, reset=True), labels, sample_weight))


# EM


def of_words(values):
    """Return π and θ (outcome, column, level) from free numbers."""
    pi = softmax([values[0], 0.0])
    theta = np.stack([1 / (1 + np.exp(values[1:])), 1 / (1 + np.exp(-values[1:]))], axis=-1).reshape(2, 2, 2)
    return pi, theta


def log_posterior(pi, theta, added):
    joint = np.log(pi) + np.log(theta[:, 0, CODES[:, 0]] * theta[:, 1, CODES[:, 1]]).T
    known = OF_WORDS[:4] == "yes"
    total = joint[np.arange(4), known.astype(int)].sum() + logsumexp(joint[4:], axis=1).sum()
    return total + xlogy(added, theta).sum()


@pytest.mark.parametrize(("rule", "added"), mainly([("mle", 0.0), ("map", 1.0)], ("map", 1.0)))
def test_em_arrives_at_a_maximum_that_brute_force_finds(rule, added):
    clf = categorical(inference=rule).fit(WORDS, OF_WORDS, **USE)
    starts = np.random.default_rng(0).normal(size=(20, 5))
    bounds, how = [(-30.0, 30.0)] * 5, {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 300}
    found = [
        optimize.minimize(
            lambda x: -log_posterior(*of_words(x), added), one, method="L-BFGS-B", bounds=bounds, options=how
        )
        for one in starts
    ]
    best = min(found, key=lambda one: one.fun)
    point = clf.points_[rule]
    value = -log_posterior(point["pi"][0], np.clip(point["theta"][0].reshape(2, 2, 2), 1e-300, 1.0), added)
    # The likelihood has several maxima, of which EM takes the one that the labeled rows lead to.
    assert min(abs(one.fun - value) for one in found) < 1e-6
    if rule == "map":
        assert value == pytest.approx(best.fun, abs=1e-8)
        pi, theta = of_words(best.x)
        np.testing.assert_allclose(point["pi"][0], pi, atol=1e-4)
        np.testing.assert_allclose(point["theta"][0].reshape(2, 2, 2), theta, atol=1e-4)


MODELS = {
    "categorical": (lambda **o: categorical(**o), WORDS, OF_WORDS),
    "gaussian, feature": (lambda **o: bc.GaussianNB("feature", **o), NUMBERS, OF_NUMBERS),
    "mixed": (
        lambda **o: bc.NaiveBayes(**o),
        pd.concat([NUMBERS, WORDS[:11]], axis=1).mask(np.random.default_rng(1).random((11, 4)) < 0.15),
        OF_NUMBERS,
    ),
    "discriminant": (lambda **o: bc.GaussianDiscriminantAnalysis("shared", **o), NUMBERS, OF_NUMBERS),
    "network": (lambda **o: bc.BayesNetClassifier([("u", "v")], **o), WORDS, OF_WORDS),
    "counts": (lambda **o: bc.MultinomialNB(2.0, **o), np.arange(36).reshape(12, 3) * 7 % 5, OF_WORDS),
    "events": (lambda **o: bc.BernoulliNB(2.0, **o), np.arange(36).reshape(12, 3) * 7 % 5 % 2, OF_WORDS),
}


def log_likelihood(problem, parameters):
    """Return log P(D | θ) of the observed cells and labels."""
    known = problem.model.log_scores(problem.labeled, parameters)[0][np.arange(len(problem.y)), problem.y]
    return problem.labeled_weight @ known + problem.weight @ logsumexp(problem.scores(parameters), axis=1)


MODE_OF_DENSITY = ("categorical", "network", "counts", "events")
"""Models whose mode is that of the density of the prior in its own measure, with α = 2."""


@pytest.mark.parametrize(
    ("model", "rule"), [*((name, "mle") for name in MODELS), *((name, "map") for name in MODE_OF_DENSITY)]
)
def test_no_step_of_em_lowers_the_objective(model, rule, monkeypatch):
    """That of MAP is log P(D | θ) + log p(θ), where the family takes its mode in the measure of that density."""
    make, X, y = MODELS[model]
    problem = partly(make, X, y)
    path = []
    found = unlabeled.estimate

    def recorded(model, name):
        path.append(found(model, name))
        return path[-1]

    monkeypatch.setattr(unlabeled, "estimate", recorded)
    _, converged = expectation_maximization(problem, "map" if rule == "map" else "mle")
    assert converged
    path.pop(0)  # of the labeled rows, where EM starts
    assert len(path) > 2
    values = np.array([log_likelihood(problem, point) for point in path])
    if rule == "map":
        values = values + [sum(np.sum(p) for p in problem.model.log_prior(point).values()) for point in path]
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] > values[0]
    assert values[-1] == pytest.approx(values[-2], abs=1e-8)


def test_em_that_does_not_end_says_so(monkeypatch):
    monkeypatch.setattr(unlabeled, "ITERATIONS", 2)
    with pytest.warns(ConvergenceWarning, match="EM has not converged after 2 steps"):
        clf = gaussian(inference="map").fit(NUMBERS, OF_NUMBERS, **USE)
    assert any("EM has not converged" in problem for problem in clf.convergence_problems_)


@pytest.mark.parametrize("rule", ["mle", "map"])
@every_case
def test_a_weight_is_a_number_of_repetitions(case, rule):
    make, X, y = CASES[case]
    times = np.random.default_rng(2).integers(1, 4, len(y))
    weighted = make(inference=rule).fit(X, y, sample_weight=times.astype(float), **USE)
    repeated = make(inference=rule).fit(X.loc[np.repeat(X.index, times)], np.repeat(y, times), **USE)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


# The posterior


def by_enumeration(problem):
    """Return the completed models of all labels that the rows can have, and their posterior probabilities."""
    classes = len(problem.model.labels)
    labels = product(range(classes), repeat=len(problem.rows))
    models = [problem.completed(np.eye(classes)[list(some)]) for some in labels]
    evidence = np.array([model.log_evidence() for model in models])
    return models, np.exp(evidence - logsumexp(evidence))


@cache
def by_draws_and_enumeration(case):
    """Return a fit by draws, and what they follow."""
    make, X, y = CASES[case]
    return make(inference=bc.engines.Augmentation(draws=1000)).fit(X, y, **USE), *by_enumeration(partly(make, X, y))


@every_case
def test_draws_follow_the_mixture_over_all_labels(case):
    _, _, y = CASES[case]
    clf, models, weight = by_draws_and_enumeration(case)
    assert len(models) == 2 ** np.sum(pd.isna(y))
    assert weight.max() < 0.5  # of which no labels are certain
    means = [model.mean() for model in models]
    mean = {name: sum(w * each[name][0] for w, each in zip(weight, means, strict=True)) for name in clf.model_.dims()}
    for name, expected in mean.items():
        draws = clf.draws_.parameters[name].reshape(4, 1000, *expected.shape)
        chains = draws.reshape(4 * 10, 100, *expected.shape).mean(axis=1)  # means of batches
        error = chains.std(axis=0, ddof=1) / np.sqrt(len(chains))
        assert (np.abs(draws.mean(axis=(0, 1)) - expected) < 5 * error + 1e-12).all(), name


@pytest.mark.slow
def test_a_row_of_weight_twenty_is_twenty_rows_whose_labels_may_differ():
    weight = np.array([1.0, 1.0, 1.0, 1.0, 20.0])
    clf = categorical(inference=bc.engines.Augmentation(draws=500)).fit(
        WORDS[:5], OF_WORDS[:5], sample_weight=weight, **USE
    )
    problem = partly(categorical, WORDS[:5], OF_WORDS[:5])
    first = np.arange(21)  # of the twenty, those of the first class
    models = [problem.completed(np.array([[number, 20.0 - number]])) for number in first]
    evidence = np.array([model.log_evidence() for model in models]) + np.log(comb(20, first))
    share = np.exp(evidence - logsumexp(evidence))
    expected = sum(w * model.mean()["theta"][0] for w, model in zip(share, models, strict=True))
    np.testing.assert_allclose(clf.draws_.parameters["theta"].mean(axis=0), expected, atol=0.03)
    assert np.abs(expected - problem.model.mean()["theta"][0]).max() > 0.1  # which the row moves far


@every_case
@pytest.mark.parametrize("engine", mainly(["auto", "map", "mle"], "auto"))
@pytest.mark.filterwarnings("ignore:effective sample sizes are too small:bayesclf.errors.ConvergenceWarning")
def test_every_rule_answers_and_files_give_the_same(case, engine, tmp_path):
    make, X, y = CASES[case]
    clf = make(inference=bc.engines.Augmentation(draws=200, tune=50) if engine == "auto" else engine).fit(X, y, **USE)
    clf.save(tmp_path / "model.nc")
    loaded = bc.load(tmp_path / "model.nc")
    assert loaded.notes_ == clf.notes_
    rules = OF_STATISTICS if engine == "auto" else ("map", "mle")
    for rule in rules:
        found = clf.predict_proba(X, rule=rule)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_array_equal(loaded.predict_proba(X, rule=rule), found)
    if engine == "auto":
        assert clf.predict_interval(X).shape == (len(X), 2, 2)
        assert set(clf.posterior_.children) >= {"posterior", "map", "mle"}


def test_words_of_documents_without_a_label_are_learned():
    texts = ["win prize", "meet lunch", "prize cash", "cash now", "lunch noon", "noon talk"]
    y = ["spam", "ham", None, None, None, None]
    clf = bc.TextNB(alpha=1.2, inference="map").fit(texts, y, **USE)
    assert set(clf.vocabulary_) == {word for text in texts for word in text.split()}
    assert list(clf.predict(["now", "talk"])) == ["spam", "ham"]


# Cells


@pytest.mark.parametrize("row", [3, 10])
def test_what_is_wrong_with_a_cell_is_told_by_its_row_of_the_table(row):
    infinite = NUMBERS.assign(z=NUMBERS["z"].where(np.arange(11) != row, np.inf))
    order = np.random.default_rng(0).permutation(11)
    place = int(np.flatnonzero(order == row)[0])
    refused(
        rf"column 'z' has 1 infinite value \(inf; row {place + 1}\)",
        lambda: gaussian(inference="map").fit(infinite.iloc[order], OF_NUMBERS[order], **USE),
        InputError,
    )
    texts = [None if number == place else "word" for number in range(11)]
    refused(
        rf"missing document \(row {place + 1}\)",
        lambda: bc.TextNB("bernoulli", inference="map").fit(texts, OF_NUMBERS[order], **USE),
        InputError,
    )


@pytest.mark.parametrize("cells", mainly([0.5, np.nan], 0.5), ids=["constant", "empty"])
@pytest.mark.parametrize("engine", ["map", bc.engines.Augmentation(draws=40, tune=40)])
@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_a_column_that_varies_without_a_label_only_is_used_with_a_prior_by_all_rows(cells, engine):
    """The default prior is worth one row: m the mean, κ = 1, a = 3/2, b half the variance, of all rows."""
    X = NUMBERS.assign(z=NUMBERS["z"].where(pd.isna(OF_NUMBERS), cells))
    clf = bc.GaussianNB(inference=engine, random_state=1).fit(X, OF_NUMBERS, **USE)
    prior = {"m": X.mean().to_numpy(), "kappa": 1.0, "a": 1.5, "b": X.var(ddof=0).to_numpy() / 2}
    given = bc.GaussianNB(**prior, inference=engine, random_state=1).fit(X, OF_NUMBERS, **USE)
    np.testing.assert_allclose(clf.predict_proba(X), given.predict_proba(X), rtol=1e-9)
    assert not any("contributes nothing" in note for note in clf.notes_)
    assert clf.notes_[0].startswith("rows with a label have at most one value in column 'z'; default priors of this")
    assert not any("one value" in note for note in given.notes_)
    nowhere = bc.GaussianNB(inference="map").fit(X.assign(z=0.5), OF_NUMBERS, **USE)
    assert nowhere.notes_[0] == "column 'z' has at most one value and contributes nothing"


# Labels


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        (["a", None, "b", np.nan], ["a", "b"]),
        ([1, None, 0, None], [1, 0]),
        ([1.0, np.nan, 0.0, np.nan], [1.0, 0.0]),
        (np.array([1.0, np.nan, 0.0, np.nan]), [1.0, 0.0]),
        (pd.Series([1, None, 0, pd.NA], dtype="Int64"), [1, 0]),
        (pd.Series(["a", pd.NA, "b", pd.NA], dtype="string"), ["a", "b"]),
        (pd.Series(["a", None, "b", None], dtype="category"), ["a", "b"]),
        (np.ma.masked_equal([1, 9, 0, 9], 9), [1, 0]),
        (pd.array([1, None, 0, None], dtype="Int64"), [1, 0]),
        (pd.array([True, None, False, None], dtype="boolean"), [True, False]),
        (pd.Categorical([1, 0, 0, 1]).set_categories([0, 1])[[0, 1]].take([0, -1, 1, -1], allow_fill=True), [1, 0]),
        (pd.DataFrame({"y": [True, None, False, None]}), [True, False]),
    ],
)
def test_labels_may_be_missing_in_every_form(y, labels):
    there, found = labeled_rows(y)
    np.testing.assert_array_equal(there, [True, False, True, False])
    assert list(found) == labels
    clf = bc.GaussianNB(inference="map").fit([[0.0], [0.1], [1.0], [1.1]], y, **USE)
    np.testing.assert_array_equal(clf.classes_, sorted(labels))
    assert clf.classes_.dtype.kind == np.array(labels).dtype.kind
    np.testing.assert_array_equal(clf.class_count_, [1.0, 1.0])


@pytest.mark.parametrize("y", [["a", "b"], [None, None], None, "y", [[1, 2], [3, None]], np.zeros((2, 2))])
def test_where_all_or_no_labels_are_there_nothing_is_missing(y):
    assert labeled_rows(y) is None


# Refusals


def refused(match, call, kind=Refused):
    with pytest.raises(kind, match=match):
        call()


X, Y = [[0.0], [0.1], [1.0], [1.1], [0.2]], ["a", None, "b", None, "a"]


def test_missing_labels_are_an_error_unless_they_are_asked_for():
    sentence = r"2 of 5 rows have no label \(rows 2, 4\); label them or leave them out \(unlabeled='drop'\)"
    refused(sentence + r", or learn from them \(unlabeled='use'\)$", lambda: bc.GaussianNB().fit(X, Y), InputError)
    refused(sentence + "$", lambda: bc.LogisticRegression().fit(X, Y), InputError)
    refused(sentence + "$", lambda: bc.GaussianNB().partial_fit(X, Y), InputError)
    assert bc.GaussianNB().fit(X[:3], Y[:3], unlabeled="drop").notes_[-1].endswith("(row 2) and is left out")
    refused("does not learn from rows without a label", lambda: bc.LogisticRegression().fit(X, Y, **USE))
    refused("must be one of 'error', 'drop'", lambda: bc.GaussianNB().partial_fit(X, Y, **USE), InputError)


@pytest.mark.parametrize("clf", [bc.GaussianNB(inference="map"), bc.LogisticRegression(inference="map")])
def test_rows_that_are_dropped_do_not_count(clf):
    there = [0, 2, 4]
    weight = np.arange(1.0, 6.0)
    dropped = clone(clf).fit(X, Y, sample_weight=weight, unlabeled="drop")
    alone = clone(clf).fit([X[i] for i in there], [Y[i] for i in there], sample_weight=weight[there])
    np.testing.assert_array_equal(dropped.predict_proba(X), alone.predict_proba(X))
    assert dropped.notes_[-1] == "2 of 5 rows have no label (rows 2, 4) and are left out"
    if hasattr(clf, "partial_fit"):
        parts = clone(clf).partial_fit(X[:3], Y[:3], unlabeled="drop").partial_fit(X[3:], Y[3:], unlabeled="drop")
        together = clone(clf).fit(X, Y, unlabeled="drop")
        np.testing.assert_allclose(parts.predict_proba(X), together.predict_proba(X))


def test_a_comparison_leaves_rows_without_a_label_out():
    rng = np.random.default_rng(0)
    table, y = pd.DataFrame({"x": rng.normal(size=40)}), pd.Series(["a", "b"] * 20, dtype=object)
    y[[3, 8]] = None
    found = bc.compare(bc.GaussianNB(inference="map"), table, y, rules=["map"], cv=2)
    alone = bc.compare(bc.GaussianNB(inference="map"), table[y.notna()], y.dropna(), rules=["map"], cv=2)
    pd.testing.assert_frame_equal(found.table, alone.table)
    assert "2 of 40 rows have no label (rows 4, 9) and are left out" in found.notes["gnb"]
    sentence = r"rows have no label \(rows [\d, …]+\); leave them out, and renumber the folds of cv"
    refused(sentence, lambda: bc.compare(bc.GaussianNB(), table, y, cv=[([0], [1])]), InputError)


GAPS = WORDS.mask(np.arange(24).reshape(12, 2) % 5 == 0)
HALVES = np.full(11, 0.5)
CANNOT = {
    "all trees": (
        lambda: bc.BayesNetClassifier("all-trees").fit(WORDS, OF_WORDS, **USE),
        "averages over structures take labeled rows only.* or fit BayesNetClassifier with edges",
    ),
    "exact": (
        lambda: categorical(inference="exact").fit(WORDS, OF_WORDS, **USE),
        "Exact does not sum over their classes; use inference='augmentation', 'map' or 'mle'",
    ),
    "nuts": (lambda: categorical(inference="nuts").fit(WORDS, OF_WORDS, **USE), "NUTS does not sum over their classes"),
    "an optimizer": (
        lambda: categorical(inference=bc.engines.MAP(bc.engines.Newton())).fit(WORDS, OF_WORDS, **USE),
        "found by EM: there is no optimizer",
    ),
    "gaps": (
        lambda: bc.BayesNetClassifier([("u", "v")]).fit(GAPS, OF_WORDS, **USE),
        "given labels the posterior has no closed form",
    ),
    "fractions of rows": (
        lambda: gaussian().fit(NUMBERS, OF_NUMBERS, sample_weight=HALVES, **USE),
        "weights are not whole numbers",
    ),
    "all documents and labels": (
        lambda: bc.TextNB(vectorizer={"min_df": 2}).fit(["a b", "a c", "a"], [1, 0, None], **USE),
        "vectorizer option 'min_df' .* not for rows without a label",
    ),
    "lengths": (lambda: gaussian().fit(NUMBERS, ["a", None, "b"], **USE), "X has 11 rows but y has inconsistent len"),
    "weights": (
        lambda: gaussian().fit(NUMBERS, OF_NUMBERS, sample_weight=pd.isna(OF_NUMBERS).astype(float), **USE),
        "all rows with a label have weight zero",
    ),
    "one class": (lambda: gaussian().fit(NUMBERS[:3], ["a", None, "a"], **USE), "y has one class only"),
}


@pytest.mark.parametrize("name", CANNOT)
def test_what_cannot_be_learned_without_labels_is_refused(name):
    call, match = CANNOT[name]
    refused(match, call, (Refused, InputError))


@pytest.mark.parametrize("engine", ["map", bc.engines.Augmentation(draws=50)])
@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_what_statistics_of_labeled_rows_cannot_tell(engine):
    clf = categorical(inference=engine).fit(WORDS, OF_WORDS, **USE)
    refused("cannot be updated", lambda: clf.partial_fit(WORDS, ["no"] * 12))
    refused("cannot be turned into a prior", clf.as_prior)
    if engine != "map":
        sentence = "does not keep these, to be fitted again without a row; use method='psis'"
        refused(sentence, lambda: bc.loo(clf, WORDS[:4], OF_WORDS[:4], method="exact"))
    refused("8 training rows have no label", clf.model_.log_evidence)
    refused("8 training rows have no label", clf.model_.pymc)
    refused("8 training rows have no label", clf.model_.mean)
    refused("8 training rows have no label", clf.model_.map)
    assert clf.model_.log_predictive(clf.rows(WORDS)) is None
    assert clf.to_pymc(WORDS[:4], OF_WORDS[:4]).observed_RVs


def test_what_rests_on_all_labels_says_so():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": np.concatenate([rng.normal(0, 1, 60), rng.normal(4, 1, 60)])})
    y = pd.Series(["a"] * 60 + ["b"] * 60).where(np.arange(120) % 6 == 0, None)
    clf = bc.GaussianNB(random_state=0, inference=bc.engines.Augmentation(draws=250)).fit(X, y, **USE)
    with pytest.raises(InputError, match=r"y has no label in rows 2, 3"):
        clf.score(X, y)
    there = y.notna()
    assert clf.score(X[there], y[there]) > 0.9
    found = clf.diagnose(X[there], y[there], checks=["M03", "M05", "Y01"])
    for code in ("M03", "M05"):
        assert found[code].reason.startswith("100 training rows have no label")
    assert "by fits that did not learn from the 100 rows without a label" in found.held_out.setting
