"""Concentrations learned from counts, against grids and quadrature."""

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf.errors import InputError, Refused
from bayesclf.families import Axes, Bernoulli, Categorical, JointTable, LearntAlpha, Multinomial
from bayesclf.families.dirichlet import Tables
from bayesclf.families.hierarchical import HIGHEST, LOWEST, TEXTBOOK, UNDETERMINED, of_largest_evidence

LABELS = ("no", "maybe", "yes")
LEVELS = (("a", "b"), (1, 2, 3), (False, True))
FAMILIES = {
    "categorical": (Categorical, Axes(LABELS, ("u", "v", "w"), LEVELS)),
    "bernoulli": (Bernoulli, Axes(LABELS, ("u", "v", "w"))),
    "multinomial": (Multinomial, Axes(LABELS, ("u", "v", "w"))),
}
every_family = pytest.mark.parametrize("name", FAMILIES)


def statistics_of(name, seed=0, n=60):
    """Return statistics of rows whose tables differ by feature and class, so that the evidence has a maximum."""
    kind, axes = FAMILIES[name]
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    if name == "categorical":
        theta = [[rng.dirichlet(np.full(len(levels), 0.8)) for levels in LEVELS] for _ in LABELS]
        X = np.array([[rng.choice(len(p), p=p) for p in theta[k]] for k in y])
    elif name == "bernoulli":
        X = (rng.random((n, 3)) < rng.beta(0.8, 0.8, (3, 3))[y]).astype(float)
    else:
        X = np.array([rng.multinomial(7, p) for p in rng.dirichlet(np.full(3, 0.8), 3)[y]], dtype=float)
    return kind().statistics(X, y, axes)


def with_alpha(name, alpha):
    return Bernoulli(alpha, alpha) if name == "bernoulli" else FAMILIES[name][0](alpha)


def learnt(name, **options):
    return FAMILIES[name][0](LearntAlpha(**options))


@every_family
def test_evidence_of_a_concentration_is_that_of_the_family(name):
    statistics = statistics_of(name)
    at = with_alpha(name, 1.0).tables(statistics).likelihood().log_density
    for alpha in (0.01, 0.7, 2.0, 150.0):
        family = with_alpha(name, alpha).resolve_prior(statistics)
        np.testing.assert_allclose(at(alpha), family.log_evidence(statistics).sum(), rtol=1e-10)


@every_family
def test_slope_is_the_derivative_by_the_log_of_the_concentration(name):
    likelihood = with_alpha(name, 1.0).tables(statistics_of(name)).likelihood()
    for alpha in (0.02, 1.3, 40.0):
        above, below = alpha * np.exp(1e-5), alpha * np.exp(-1e-5)
        expected = (likelihood.log_density(above) - likelihood.log_density(below)) / 2e-5
        np.testing.assert_allclose(likelihood.slope(alpha), expected, rtol=1e-5)


@every_family
def test_evidence_is_maximised_as_on_a_grid(name):
    statistics = statistics_of(name)
    found = learnt(name).resolve_prior(statistics)
    grid = np.exp(np.linspace(np.log(LOWEST), np.log(HIGHEST), 3001))
    curve = [with_alpha(name, a).resolve_prior(statistics).log_evidence(statistics).sum() for a in grid]
    best = grid[np.argmax(curve)]
    assert LOWEST < best < HIGHEST
    np.testing.assert_allclose(found.alpha, best, rtol=3e-3)
    assert found.log_evidence(statistics).sum() >= max(curve) - 1e-9
    if name == "bernoulli":
        np.testing.assert_array_equal(found.alpha, found.beta)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([[50.0, 50.0], [40.0, 40.0]], HIGHEST),  # all tables equal
        ([[50.0, 0.0], [0.0, 40.0]], LOWEST),  # each table has one level
        ([[1.0, 0.0], [0.0, 1.0]], UNDETERMINED),  # one count a table: p(n | α) = 1/J whatever α
        ([[0.0, 0.0], [0.0, 0.0]], UNDETERMINED),
    ],
)
def test_the_ends_of_the_range(counts, expected):
    found = of_largest_evidence(Tables(np.array(counts), (2,)))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "X"),
    [
        (lambda alpha: bc.CategoricalNB(alpha, random_state=1), "words"),
        (lambda alpha: bc.NaiveBayes({("u", "v"): Categorical(alpha)}, random_state=1), "words"),
        (lambda alpha: bc.NaiveBayes({("u", "v"): Bernoulli(alpha, alpha)}, random_state=1), "counts"),
        (lambda alpha: bc.NaiveBayes({("u", "v"): Multinomial(alpha)}, random_state=1), "counts"),
    ],
)
def test_classifiers_take_a_learnt_concentration(make, X, rng, tmp_path):
    y = np.arange(60) % 2
    counts = rng.poisson(0.5 + 2 * y[:, None] * np.array([1, 0]), (60, 2))
    table = pd.DataFrame(counts, columns=["u", "v"])
    table = table.clip(upper=2).map("abc".__getitem__) if X == "words" else table.astype(float)
    clf = make(LearntAlpha()).fit(table, y)
    alpha = np.asarray(clf.model_.blocks[0].family.alpha)
    assert (alpha == alpha[0, 0]).all()
    assert LOWEST <= alpha[0, 0] <= HIGHEST
    fixed = make(float(alpha[0, 0])).fit(table, y)
    np.testing.assert_array_equal(fixed.predict_proba(table, "predictive"), clf.predict_proba(table, "predictive"))
    parts = make(LearntAlpha()).partial_fit(table[:30], y[:30]).partial_fit(table[30:], y[30:])
    exact = [fitted.predict_proba(table, "predictive") for fitted in (parts, clf)]
    np.testing.assert_allclose(*exact, atol=1e-9)
    clf.save(tmp_path / "model.nc")
    np.testing.assert_array_equal(bc.load(tmp_path / "model.nc").predict_proba(table), clf.predict_proba(table))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LearntAlpha("bayes"), "method must be one of 'evidence', 'leave-one-out', not 'bayes'"),
        (lambda: LearntAlpha(spread=0.0), r"spread must be above 0 and finite, not 0\.0"),
        (lambda: LearntAlpha(least_levels=0), "least_levels must be a whole number of at least 1, not 0"),
    ],
)
def test_settings_are_checked(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_features_of_few_levels_keep_the_concentration_of_the_textbook():
    """The others are learned as they would be without these, and MAP has a basis for each feature."""
    statistics = statistics_of("categorical")
    alone = learnt("categorical").resolve_prior(statistics.select(np.array([False, True, False])))
    found = learnt("categorical", least_levels=3).resolve_prior(statistics)
    np.testing.assert_array_equal(found.alpha[:, 2:5], alone.alpha)
    assert (found.alpha[:, [0, 1, 5, 6]] == TEXTBOOK).all()
    mode, fixed = found.map(statistics)["theta"], Categorical().resolve_prior(statistics)
    np.testing.assert_array_equal(mode[..., 2:5], found.posterior(statistics).mean()["theta"][..., 2:5])
    np.testing.assert_allclose(mode[..., [0, 1, 5, 6]], fixed.map(statistics)["theta"][..., [0, 1, 5, 6]])
    textbook = learnt("categorical", least_levels=4).resolve_prior(statistics)
    np.testing.assert_array_equal(textbook.map(statistics)["theta"], fixed.map(statistics)["theta"])


@every_family
def test_map_equals_the_mean_where_a_concentration_is_learned(name):
    statistics = statistics_of(name)
    for method in ("evidence", "leave-one-out"):
        family = learnt(name, method=method).resolve_prior(statistics)
        np.testing.assert_array_equal(family.map(statistics)["theta"], family.posterior(statistics).mean()["theta"])


def test_a_joint_table_has_no_concentration_to_learn():
    with pytest.raises(Refused, match="the family 'joint' has no concentration to learn"):
        JointTable().tables(None)
