"""Directions: quadrature over both parameters, rotations, limits, times around midnight, cells that are refused."""

import numpy as np
import pandas as pd
import pytest
from helpers.families import PYTHON
from helpers.suites import mainly
from numpy.testing import assert_allclose
from pymc.model.transform.conditioning import remove_value_transforms
from scipy import integrate, optimize, special, stats

import bayesclf as bc
from bayesclf.errors import DoesNotExist, InputError
from bayesclf.families import Axes, Gaussian, VonMises
from bayesclf.rules import RULES

ONE = Axes(("k",), ("u",))
HOURS = np.array([23.2, 0.4, 1.5, 22.8, 0.1])
"""Around midnight."""


def one_class(family, x):
    statistics = family.statistics(np.array(x)[:, None], np.zeros(len(x), dtype=int), ONE)
    return family.resolve_prior(statistics), statistics


def times(rng, n=60):
    """Return hours of a day, around midnight and around noon."""
    y = np.arange(n) % 2
    return pd.DataFrame({"hour": (12 * y + rng.vonmises(0.0, 4.0, n) * 12 / np.pi) % 24}), np.array(["night", "day"])[y]


# Closed forms


@pytest.mark.parametrize(
    "x", mainly([[0.7], [3.0, 3.3, 2.5, 2.9], [0.1, 6.2, 0.4, 3.3], [1.0, 1.0, 1.0]], [3.0, 3.3, 2.5, 2.9])
)
def test_the_evidence_is_that_of_quadrature_over_both_parameters(x):
    family, statistics = one_class(VonMises(median=2.0, spread=0.8), x)
    t = np.linspace(np.log(2) - 8, np.log(2) + 8, 1601)[:, None, None]
    mu = np.arange(720)[:, None] * 2 * np.pi / 720  # even on a circle: exact once the density is resolved
    density = stats.vonmises.pdf(np.array(x), np.exp(t), loc=mu).prod(axis=-1).mean(axis=1)
    expected = integrate.simpson(density * stats.norm.pdf(t[:, 0, 0], np.log(2), 0.8), x=t[:, 0, 0])
    assert_allclose(family.log_evidence(statistics), np.log(expected), rtol=1e-9)


@pytest.mark.parametrize(("n", "kappa"), [(10, 0.3), (500, 1.0), (2000, 1.0), (300, 3.0), (10_000, 100.0)])
def test_the_grid_of_concentrations_is_exact_to_rounding(n, kappa):
    """Its density has a plateau where the rows are uniform, and one narrow peak."""
    length = n * special.i1e(kappa) / special.i0e(kappa)
    shape = (1, 1)
    given = VonMises(
        median=np.full(shape, kappa), spread=np.full(shape, 1.5), n=np.full(shape, n), cosines=np.full(shape, length)
    )
    posterior = VonMises(**{**vars(given), "sines": np.zeros(shape)})
    top = posterior.grid.log_weight.argmax()
    peak = posterior.grid.nodes.ravel()[top]
    at_peak = posterior.log_marginal(np.full((1, 1, 1), peak)).item()
    found = integrate.quad(
        lambda t: np.exp(posterior.log_marginal(np.full((1, 1, 1), t)).item() - at_peak),
        -12.0,
        peak + 3.0,
        points=[peak - 0.2, peak, peak + 0.2],
        limit=500,
        epsabs=0.0,
        epsrel=1e-11,
    )[0]
    assert_allclose(posterior.grid.log_total.item(), at_peak + np.log(found), rtol=1e-9)


def test_evidence_is_of_numbers_in_the_unit_of_the_column():
    """That of degrees is lower by log 360/24 a row: comparable with those of other families of the same column."""
    hours, of_hours = one_class(VonMises(24.0), HOURS)
    degrees, of_degrees = one_class(VonMises(360.0), HOURS * 15)
    difference = hours.log_evidence(of_hours) - degrees.log_evidence(of_degrees)
    assert_allclose(difference, len(HOURS) * np.log(15), rtol=1e-12)


@pytest.mark.parametrize("turn", [1.0, 11.3, -3.0])
def test_a_rotation_turns_the_direction_and_nothing_else(turn):
    family, statistics = one_class(VonMises(24.0), HOURS)
    moved, of_moved = one_class(VonMises(24.0), (HOURS + turn) % 24)
    assert_allclose(moved.log_evidence(of_moved), family.log_evidence(statistics), rtol=1e-12)
    for estimate in ("mle", "map"):
        plain, turned = getattr(family, estimate)(statistics), getattr(moved, estimate)(of_moved)
        assert_allclose(turned["mu"], (plain["mu"] + turn) % 24, rtol=1e-9)
        assert_allclose(turned["kappa"], plain["kappa"], rtol=1e-9)
    x = np.array([0.0, 5.0, 20.0])
    found = moved.posterior(of_moved).log_predictive(((x + turn) % 24)[:, None])
    assert_allclose(found, family.posterior(statistics).log_predictive(x[:, None]), rtol=1e-10)


def test_the_same_time_in_another_turn_is_the_same():
    family, statistics = one_class(VonMises(24.0), HOURS)
    _, other = one_class(VonMises(24.0), np.where(HOURS > 12, HOURS - 24, HOURS))
    for name, values in statistics.arrays().items():
        assert_allclose(other.arrays()[name], values, rtol=1e-12)
    posterior = family.posterior(statistics)
    x = np.array([[1.0], [25.0], [-23.0], [49.0]])
    assert_allclose(posterior.log_predictive(x), posterior.log_predictive(x[:1])[[0] * 4], rtol=1e-12)


def test_narrow_directions_are_gaussian():
    """At a given κ the family is a normal distribution with variance (T/2π)²/κ, to 1/κ."""
    kappa, period = 1e6, 360.0
    family, _ = one_class(VonMises(period), [0.0, 1.0])
    other, _ = one_class(Gaussian(), [0.0, 1.0])
    sd = period / (2 * np.pi) / np.sqrt(kappa)
    x = 200.0 + sd * np.array([[-3.0], [0.0], [1.5]])
    found = family.log_density(x, {"mu": np.full((1, 1, 1), 200.0), "kappa": np.full((1, 1, 1), kappa)})
    expected = other.log_density(x, {"mu": np.full((1, 1, 1), 200.0), "sigma2": np.full((1, 1, 1), sd**2)})
    assert_allclose(found, expected, atol=1e-4)


def test_no_concentration_is_uniform():
    family, _ = one_class(VonMises(24.0, median=1e-4, spread=1e-2), HOURS)
    assert_allclose(family.log_predictive(HOURS[:, None]), -np.log(24), rtol=1e-8)


def test_the_default_prior_is_an_estimate_from_the_pooled_rows_and_at_least_one():
    rng = np.random.default_rng(4)
    for kappa in (2.0, 30.0):
        median = one_class(VonMises(), rng.vonmises(1.0, kappa, 5000))[0].median.item()
        assert_allclose(median, kappa, rtol=0.1)
    assert one_class(VonMises(), np.linspace(0, 6, 50))[0].median == 1.0
    assert one_class(VonMises(), [1.0, 1.0])[0].median == 1e4


@pytest.mark.parametrize(("median", "spread"), mainly([(0.01, 0.3), (1.0, 1.5), (5000.0, 0.4)], (1.0, 1.5)))
@pytest.mark.parametrize("n", mainly([4, 400], 4))
def test_the_mode_is_the_highest_one(median, spread, n):
    """A narrow prior far from the rows leaves two modes of κ."""
    family, statistics = one_class(
        VonMises(median=median, spread=spread), np.random.default_rng(2).vonmises(3.0, 8.0, n)
    )

    def loss(t, mu):
        point = {"mu": np.full((1, 1, 1), mu), "kappa": np.full((1, 1, 1), np.exp(t))}
        return t - family.posterior(statistics).log_prior(point).log_density.item()

    mode = family.map(statistics)
    mu = mode["mu"].item()
    grid = np.linspace(-9, 12, 4000)
    best = grid[np.argmin([loss(t, mu) for t in grid])]
    expected = optimize.minimize_scalar(loss, bracket=(best - 0.01, best, best + 0.01), args=(mu,), tol=1e-10).x
    assert_allclose(np.log(mode["kappa"].item()), expected, atol=1e-5)
    assert loss(expected, mu) < min(loss(expected, mu - 0.01), loss(expected, mu + 0.01))


# Around midnight


def test_draws_around_midnight_have_the_right_average():
    family, statistics = one_class(VonMises(24.0), HOURS)
    posterior = family.posterior(statistics)
    expected = stats.circmean(HOURS, high=24)
    draws = posterior.draw(np.random.default_rng(0), 4000)["mu"].ravel()
    assert draws.min() < 23.9
    assert draws.max() > 24.1
    assert_allclose(posterior.mean()["mu"].item(), expected, rtol=1e-12)
    assert abs(draws.mean() - expected) < 5 * draws.std() / np.sqrt(4000)


def test_generated_directions_lie_in_one_period():
    family, _ = one_class(VonMises(24.0), HOURS)
    point = {"mu": np.array([[[-1.0]]]), "kappa": np.array([[[3.0]]])}
    x = family.sample(point, np.zeros(500, dtype=int), np.random.default_rng(1)).ravel()
    assert (x >= 0).all()
    assert (x <= 24).all()
    assert abs((stats.circmean(x, high=24) - 23.0 + 12) % 24 - 12) < 0.5


def test_noon_and_midnight_are_told_apart_where_a_gaussian_sees_two_wide_heaps():
    X, y = times(np.random.default_rng(3), 200)
    found = bc.compare(
        {"around": bc.NaiveBayes({"hour": VonMises(24)}), "line": bc.NaiveBayes()}, X, y, rules=["predictive"]
    )
    loss = found.table.set_index("model")["log_loss"]
    assert loss["around"] < loss["line"] - 0.05


# Classifiers


def test_the_period_is_kept_by_a_saved_model(tmp_path):
    X, y = times(np.random.default_rng(3))
    clf = bc.NaiveBayes({"hour": VonMises(24)}, random_state=1).fit(X, y)
    clf.save(tmp_path / "model.nc")
    loaded = bc.load(tmp_path / "model.nc")
    assert loaded.model_.blocks[0].family.period == 24
    for rule in RULES:
        np.testing.assert_array_equal(loaded.predict_log_proba(X, rule=rule), clf.predict_log_proba(X, rule=rule))


def test_leaving_out_an_outlier_is_a_refit():
    X, y = times(np.random.default_rng(3))
    X.loc[0, "hour"] = 12.0  # a night at noon
    clf = bc.NaiveBayes({"hour": VonMises(24, median=50.0, spread=0.5)}, random_state=1).fit(X, y)
    found = clf.loo(X, y, rule="predictive").elpd_i.values[0]
    refit = bc.NaiveBayes({"hour": VonMises(24, median=50.0, spread=0.5)}, random_state=1).fit(X[1:], y[1:])
    assert_allclose(found, refit.predict_log_proba(X[:1], rule="predictive")[0, 1], rtol=1e-8)


def test_a_posterior_as_a_prior_has_its_density_in_pymc():
    X, y = times(np.random.default_rng(3))
    clf = bc.NaiveBayes({"hour": VonMises(24)}, random_state=1).fit(X[:30], y[:30]).as_prior().fit(X[30:], y[30:])
    model, family = remove_value_transforms(clf.pymc_model_), clf.model_.blocks[0].family
    log_density = model.compile_logp(mode=PYTHON)
    posterior, rng = clf.model_.posterior().blocks[0].family, np.random.default_rng(0)
    points = [{"mu": rng.uniform(0, 24, (1, 2, 1)), "kappa": rng.gamma(2.0, 1.0, (1, 2, 1))} for _ in range(4)]
    pi = np.array([0.4, 0.6])
    found = [log_density({"pi": pi, **{name: values[0] for name, values in point.items()}}) for point in points]
    expected = [
        posterior.log_prior(point).log_density.sum() - np.log(point["kappa"]).sum() for point in points
    ]  # per κ, as in PyMC
    assert "given rows" in family.variant
    assert_allclose(np.diff(found), np.diff(expected), rtol=1e-9)


@pytest.mark.parametrize("n", [6, 20_000])
def test_equal_opposite_and_narrow_directions_have_finite_answers(n):
    y = np.arange(n) % 2
    rng = np.random.default_rng(5)
    narrow = 100 + rng.normal(0, 1e-4, n)
    X = pd.DataFrame({"equal": np.where(y, 90.0, 200.0), "opposite": 180.0 * (np.arange(n) // 2 % 2), "narrow": narrow})
    clf = bc.NaiveBayes({tuple(X): VonMises(360)}, random_state=1).fit(X, y)
    for rule in ("map", "mean", "predictive", "bayes-optimal"):
        assert np.isfinite(clf.predict_log_proba(X[:50], rule=rule)).all()
    assert (clf.predict(X[:50]) == y[:50]).all()


# What they refuse


def test_another_period_is_asked_for_where_training_cells_lie_outside():
    X = pd.DataFrame({"wind": [10.0, 350.0, 90.0, 180.0]})
    message = r"column 'wind' has 10 in row 1, but directions of period 6.283 lie between .* VonMises\(period=360\)"
    with pytest.raises(InputError, match=message):
        bc.NaiveBayes({"wind": "von-mises"}).fit(X, [0, 0, 1, 1])
    clf = bc.NaiveBayes({"wind": VonMises(360)}, random_state=1).fit(X, [0, 0, 1, 1])
    assert_allclose(clf.predict_proba(X + 360), clf.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("make_family", "message"),
    [
        (lambda: VonMises(period=0.0), "period must be above 0"),
        (lambda: VonMises(period=np.array([24.0, 360.0])), "period must be"),
        (lambda: VonMises(median=-1.0), "median must be above 0"),
        (lambda: one_class(VonMises(spread=9.0), [1.0, 2.0]), "median and spread give numbers below e\\^-12"),
    ],
)
def test_hyperparameters_are_checked(make_family, message):
    with pytest.raises(InputError, match=message):
        make_family()


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1.0, 1.0], "class '0' has too few different directions in column 'u' for a concentration"),
        ([0.0, 12.0], "class '0' has directions that cancel each other in column 'u', so that there is no mean one"),
    ],
)
def test_estimates_that_do_not_exist_are_refused(cells, message):
    X = pd.DataFrame({"u": [*cells, 3.0, 5.0]})
    clf = bc.NaiveBayes({"u": VonMises(24)}, random_state=1).fit(X, [0, 0, 1, 1])
    with pytest.raises(DoesNotExist, match=message):
        clf.predict(X, rule="mle")
    assert np.isfinite(clf.predict_proba(X, rule="map")).all()


def test_a_column_of_one_direction_contributes_nothing():
    X = pd.DataFrame({"u": [0.0, 24.0, 0.0, 24.0], "v": [1.0, 2.0, 12.0, 13.0]})
    clf = bc.NaiveBayes({("u", "v"): VonMises(24)}, random_state=1).fit(X, [0, 0, 1, 1])
    assert any("column 'u'" in note for note in clf.notes_)
    assert clf.model_.blocks[0].family.axes.features == ("v",)


def test_only_a_posterior_as_prior_has_a_potential_which_draws_from_the_prior_ignore():
    X, y = times(np.random.default_rng(2))
    clf = bc.NaiveBayes({"hour": VonMises(period=24)}, random_state=1).fit(X, y)
    assert clf.to_pymc(X, y).potentials == []
    assert clf.model_.pymc().potentials == []
    again = clf.as_prior().fit(X, y)
    assert [term.name for term in again.model_.pymc().potentials] == ["kappa_given_rows"]
