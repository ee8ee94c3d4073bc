"""Concentrations learned from counts, against grids and quadrature."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from arviz_stats.base import array_stats
from helpers.suites import mainly
from pymc.model.transform.conditioning import remove_value_transforms
from pytensor.compile.mode import Mode
from scipy import stats
from scipy.special import logsumexp

import bayesclf as bc
from bayesclf.engines import NUTS
from bayesclf.errors import InputError, Refused
from bayesclf.families import Axes, Bernoulli, Categorical, JointTable, LearntAlpha, Multinomial
from bayesclf.families.dirichlet import Tables
from bayesclf.families.hierarchical import HIGHEST, LOWEST, TEXTBOOK, UNDETERMINED, most_probable

PYTHON = Mode(linker="py", optimizer="fast_compile")
LABELS = ("no", "maybe", "yes")
LEVELS = (("a", "b"), (1, 2, 3), (False, True))
FAMILIES = {
    "categorical": (Categorical, Axes(LABELS, ("u", "v", "w"), LEVELS)),
    "bernoulli": (Bernoulli, Axes(LABELS, ("u", "v", "w"))),
    "multinomial": (Multinomial, Axes(LABELS, ("u", "v", "w"))),
}
every_family = pytest.mark.parametrize("name", FAMILIES)
every_scope = pytest.mark.parametrize(
    ("name", "scope"),
    mainly(
        [
            ("categorical", "block"),
            ("categorical", "feature"),
            ("bernoulli", "block"),
            ("bernoulli", "feature"),
            ("multinomial", "block"),
        ],
        ("categorical", "block"),
        ("bernoulli", "feature"),
    ),
)


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
    settings = LearntAlpha(median=0.7, spread=0.4)
    for alpha in (0.02, 1.3, 40.0):
        above, below = alpha * np.exp(1e-5), alpha * np.exp(-1e-5)
        for part, value in ((likelihood, likelihood.log_density), (settings, settings.log_prior)):
            np.testing.assert_allclose(part.slope(alpha), (value(above) - value(below)) / 2e-5, rtol=1e-5)


@every_scope
def test_evidence_is_maximised_as_on_a_grid(name, scope):
    statistics = statistics_of(name)
    found = learnt(name, scope=scope).resolve_prior(statistics)
    grid = np.exp(np.linspace(np.log(LOWEST), np.log(HIGHEST), 3001))
    by_feature = np.array([with_alpha(name, a).resolve_prior(statistics).log_evidence(statistics) for a in grid])
    curves = by_feature if scope == "feature" else by_feature.sum(axis=1, keepdims=True)
    best = grid[curves.argmax(axis=0)]
    assert ((best > LOWEST) & (best < HIGHEST)).any()
    sizes = [len(levels) for levels in LEVELS] if name == "categorical" else [1, 1, 1]
    expected = np.repeat(best, sizes) if scope == "feature" else np.full(sum(sizes), best[0])
    np.testing.assert_allclose(found.alpha[0], expected, rtol=3e-3)
    assert found.log_evidence(statistics).sum() >= curves.max(axis=0).sum() - 1e-9
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
    found = most_probable(Tables(np.array(counts), (2,)), "block")
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@every_scope
def test_pymc_observes_the_collapsed_counts(name, scope):
    statistics = statistics_of(name)
    settings = LearntAlpha("posterior", scope, median=0.7, spread=1.2)
    family = FAMILIES[name][0](settings).resolve_prior(statistics)
    with pm.Model(coords={axis: names for axis, names in family.coords().items() if isinstance(names, list)}) as model:
        family.pymc(statistics, "")
    log_density = remove_value_transforms(model).compile_logp(mode=PYTHON)
    groups = 3 if scope == "feature" else 1
    for seed in range(3):
        alpha = np.random.default_rng(seed).lognormal(size=groups)
        evidence = log_evidence_of(name, alpha, statistics)
        prior = stats.lognorm.logpdf(alpha, 1.2, scale=0.7).sum()
        np.testing.assert_allclose(
            log_density({"alpha": alpha if scope == "feature" else alpha[0]}), prior + evidence, rtol=1e-10
        )


def log_evidence_of(name, alpha, statistics):
    """Return the evidence with α (group), by the families' own priors."""
    sizes = np.array([len(levels) for levels in LEVELS]) if name == "categorical" else np.ones(3, dtype=int)
    cells = np.repeat(np.broadcast_to(alpha, 3), sizes) if name != "multinomial" else np.full(3, alpha[0])
    return with_alpha(name, cells).resolve_prior(statistics).log_evidence(statistics).sum()


def test_a_maximum_beside_the_end_of_the_range_is_refined():
    """The grid's last values are 891 and 1000."""
    tables = Tables(np.array([[3.0, 4.0], [4.0, 3.0]]), (2,))
    narrow = LearntAlpha("posterior", median=950.0, spread=1e-3)
    np.testing.assert_allclose(most_probable(tables, "block", narrow), 950.0, rtol=1e-4)


@every_scope
def test_theta_is_drawn_given_each_alpha(name, scope):
    statistics = statistics_of(name)
    family = FAMILIES[name][0](LearntAlpha("posterior", scope)).resolve_prior(statistics)
    groups = 3 if scope == "feature" else 1
    alpha, draws = np.linspace(0.5, 3.0, groups), 20_000
    parameters = family.from_pymc({"alpha": np.tile(alpha, (draws, 1))}, "")
    sizes = np.array([len(levels) for levels in LEVELS]) if name == "categorical" else np.ones(3, dtype=int)
    cells = np.repeat(np.broadcast_to(alpha, 3), sizes)
    expected = with_alpha(name, cells).resolve_prior(statistics).posterior(statistics)
    theta = parameters["theta"]
    error = theta.std(axis=0) / np.sqrt(draws)
    assert theta.shape[1:] == expected.mean()["theta"].shape[1:]
    assert (np.abs(theta.mean(axis=0) - expected.mean()["theta"][0]) < 5 * error).all()
    np.testing.assert_allclose(
        theta.std(axis=0), expected.draw(np.random.default_rng(0), draws)["theta"].std(axis=0), rtol=0.1
    )
    again = family.from_pymc({"alpha": np.tile(alpha, (draws, 1))}, "")
    np.testing.assert_array_equal(again["theta"], theta)
    assert parameters["alpha"].shape == ((draws, 3) if scope == "feature" else (draws,))


@every_scope
def test_map_and_mle_have_their_own_concentrations(name, scope):
    statistics = statistics_of(name)
    settings = LearntAlpha("posterior", scope, median=3.0, spread=0.3)
    family = FAMILIES[name][0](settings).resolve_prior(statistics)
    by_evidence = most_probable(family.family.tables(statistics), scope)
    mle, mode = family.mle(statistics), family.map(statistics)
    np.testing.assert_allclose(np.atleast_1d(mle["alpha"][0]), by_evidence)
    np.testing.assert_array_equal(mle["theta"], family.family.mle(statistics)["theta"])
    alpha = np.atleast_1d(mode["alpha"][0])
    grid = np.exp(np.linspace(np.log(0.3), np.log(20), 2101))
    if scope == "block":
        objective = [
            log_evidence_of(name, np.array([a]), statistics) + stats.norm.logpdf(np.log(a), np.log(3), 0.3)
            for a in grid
        ]
        np.testing.assert_allclose(alpha, grid[int(np.argmax(objective))], rtol=2e-3)
    assert (np.abs(np.log(alpha / 3)) <= np.abs(np.log(by_evidence / 3)) + 1e-9).all()


def test_prior_draws_follow_the_hyperprior(rng):
    family = learnt("categorical", method="posterior", scope="feature").resolve_prior(statistics_of("categorical"))
    drawn = family.draw(rng, 4000)
    assert stats.kstest(drawn["alpha"][:, 1], stats.lognorm(1.5).cdf).pvalue > 1e-4
    np.testing.assert_allclose(drawn["theta"][..., 2:5].sum(axis=2), 1.0)


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


def test_a_concentration_with_a_posterior_has_no_closed_form(play_tennis):
    clf = bc.CategoricalNB(LearntAlpha("posterior"), inference="map").fit(play_tennis.X, play_tennis.y)
    assert clf.posterior_["map"]["alpha"].item() > 0
    for call in (clf.model_.log_evidence, clf.as_prior):
        with pytest.raises(Refused, match="the concentration α is learned"):
            call()
    with pytest.raises(Refused, match="use inference='nuts' instead of 'exact'"):
        bc.CategoricalNB(LearntAlpha("posterior"), inference="exact").fit(play_tennis.X, play_tennis.y)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LearntAlpha("bayes"), "method must be one of 'evidence', 'posterior', 'leave-one-out', not 'bayes'"),
        (lambda: LearntAlpha(scope="class"), "scope must be one of 'block', 'feature', not 'class'"),
        (lambda: LearntAlpha(spread=0.0), r"spread must be above 0 and finite, not 0\.0"),
        (lambda: LearntAlpha("leave-one-out", "feature"), "leave-one-out learns one α for all features"),
        (lambda: LearntAlpha("posterior", least_levels=3), "features of any number of levels; take least_levels=1"),
        (lambda: LearntAlpha(least_levels=0), "least_levels must be a whole number of at least 1, not 0"),
        (
            lambda: learnt("multinomial", scope="feature").resolve_prior(statistics_of("multinomial")),
            "one table for all",
        ),
    ],
)
def test_settings_are_checked(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_features_of_few_levels_keep_the_concentration_of_the_textbook():
    """The others are learned as they would be without these, and MAP has a basis for each feature."""
    statistics = statistics_of("categorical")
    every = learnt("categorical", scope="feature").resolve_prior(statistics)
    found = learnt("categorical", scope="feature", least_levels=3).resolve_prior(statistics)
    np.testing.assert_array_equal(found.alpha[:, 2:5], every.alpha[:, 2:5])
    assert (found.alpha[:, [0, 1, 5, 6]] == TEXTBOOK).all()
    mode, fixed = found.map(statistics)["theta"], Categorical().resolve_prior(statistics)
    np.testing.assert_array_equal(mode[..., 2:5], every.posterior(statistics).mean()["theta"][..., 2:5])
    np.testing.assert_allclose(mode[..., [0, 1, 5, 6]], fixed.map(statistics)["theta"][..., [0, 1, 5, 6]])
    alone = learnt("categorical", least_levels=3).resolve_prior(statistics)
    np.testing.assert_array_equal(alone.alpha, found.alpha)  # one feature has so many
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


@pytest.mark.slow
@every_scope
def test_nuts_agrees_with_quadrature(name, scope):
    """The posterior of log α is one-dimensional a group: a grid of log α gives it to rounding."""
    statistics = statistics_of(name)
    settings = LearntAlpha("posterior", scope)
    family = FAMILIES[name][0](settings).resolve_prior(statistics)
    with pm.Model(coords={axis: names for axis, names in family.coords().items() if isinstance(names, list)}) as model:
        family.pymc(statistics, "")
    from bayesclf.engines import nuts

    sampled = nuts.sample(model, NUTS(draws=2000), 5, signature=("collapsed", name, scope)).draws["alpha"]
    sampled = sampled.reshape(4, 2000, -1)
    grid = np.linspace(-8, 9, 4001)
    for group, tables in enumerate(family.family.tables(statistics).groups(scope)):
        log_density = tables.likelihood().log_density(np.exp(grid)) + settings.log_prior(np.exp(grid))
        weights = np.exp(log_density - logsumexp(log_density))
        mean = weights @ grid
        sd = np.sqrt(weights @ (grid - mean) ** 2)
        x = np.log(sampled[:, :, group])
        assert array_stats.ess(x) > 400
        assert abs(x.mean() - mean) < 4.5 * array_stats.mcse(x, method="mean")
        assert abs(x.std() - sd) < 4.5 * array_stats.mcse(x, method="sd")


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["block", "feature"])
def test_a_classifier_with_a_posterior_over_concentrations_answers_under_every_rule(scope, play_tennis, tmp_path):
    X, y = play_tennis.X, play_tennis.y
    make = bc.CategoricalNB(LearntAlpha("posterior", scope), basis="softmax", random_state=2)
    clf = make.fit(X, y)
    assert "alpha" in clf.posterior_["posterior"]
    for rule in ("map", "mean", "bayes-optimal", "predictive", "gibbs"):
        np.testing.assert_allclose(clf.predict_proba(X, rule=rule).sum(axis=1), 1.0)
    clf.save(tmp_path / "model.nc")
    np.testing.assert_array_equal(bc.load(tmp_path / "model.nc").predict_proba(X), clf.predict_proba(X))


@every_scope
def test_theta_given_alpha_implies_the_logistic_weights_of_the_family(name, scope):
    statistics = statistics_of(name)
    family = FAMILIES[name][0](LearntAlpha("posterior", scope)).resolve_prior(statistics)
    drawn = family.draw(np.random.default_rng(0), 3)
    design = family.linear_design(statistics, at_means=True)
    expected = family.family.linear_terms(drawn, family.family.linear_design(statistics, at_means=True))
    np.testing.assert_array_equal(family.linear_terms(drawn, design).weight, expected.weight)
