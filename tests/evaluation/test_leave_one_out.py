"""Leave-one-out scores against refits, ArviZ's own, and draws made by hand."""

import warnings

import arviz as az
import numpy as np
import pandas as pd
import pytest
from helpers.classifiers import log_likelihoods
from helpers.effort import peak
from helpers.refits import STANDARD_ERRORS, by_refits
from scipy.special import expit

import bayesclf as bc
from bayesclf.engines import MAP, Exact, Laplace
from bayesclf.errors import InputError, PredictionWarning, Refused
from bayesclf.evaluation import leave_one_out
from bayesclf.evaluation.leave_one_out import training_rows
from bayesclf.posterior import averaging

DRAWS = 60_000
"""Draws by hand."""


def as_arviz(log_likelihood, chains=1):
    """Return a tree from which ArviZ takes one array (draw, row), of draws as good as independent."""
    array = log_likelihood.reshape(chains, -1, log_likelihood.shape[1])
    return az.from_dict({"posterior": {"t": np.zeros((1, 1))}, "log_likelihood": {"y": array}}, dims={"y": ["row"]})


def refitted(clf, X, y, rule, wanted):
    """Return log P(y_i | x_i, all rows but i) of some rows, by fits without them."""
    training = training_rows(clf, X, y)
    log_proba = leave_one_out.exact_log_proba(clf, training, rule, wanted)
    return log_proba[np.arange(len(wanted)), training.y[wanted]]


@pytest.fixture(scope="module")
def laplace():
    rng = np.random.default_rng(1)
    X, y = pd.DataFrame(rng.normal(size=(60, 2)), columns=["u", "v"]), np.repeat(["a", "b", "c"], 20)
    X["u"] += 0.7 * (y == "c")
    return bc.LogisticRegression(prior_scale=2.5, inference=Laplace(draws=500), random_state=3).fit(X, y), X, y


@pytest.fixture(scope="module")
def by_hand(tennis):
    """Return Σ log E[P(y_i | x_i, θ)] over θ given the other days, from Beta draws, and its standard error."""
    rng = np.random.default_rng(0)
    codes = tennis[0].apply(lambda column: column.cat.codes).to_numpy()
    y = (tennis[1] == "yes").astype(int)
    total, variance = 0.0, 0.0
    for i in range(14):
        others = np.arange(14) != i
        counts = np.bincount(y[others], minlength=2)
        pi = rng.beta(1 + counts[1], 1 + counts[0], DRAWS)
        log_odds = np.log(pi) - np.log1p(-pi)
        for k, sign in ((0, -1), (1, 1)):
            for j, levels in enumerate(codes.max(axis=0) + 1):
                own = codes[others & (y == k), j]
                n = np.sum(own == codes[i, j])
                log_odds += sign * np.log(rng.beta(1 + n, levels - 1 + len(own) - n, DRAWS))
        proba = expit(np.where(y[i], 1, -1) * log_odds)
        total += np.log(proba.mean())
        variance += proba.var() / proba.mean() ** 2 / DRAWS
    return total, np.sqrt(variance)


@pytest.fixture(scope="module")
def wide():
    """Return a fit to few rows of many columns: each row moves the posterior far."""
    rng = np.random.default_rng(4)
    y = np.repeat(["a", "b"], 8)
    X = rng.normal(size=(16, 12)) + 0.5 * (y == "b")[:, None]
    return bc.GaussianNB(random_state=1, inference=Exact(draws=300)).fit(X, y), X, y


class TestPlayTennis:
    """14 days, α = 1, π ~ Dirichlet(1, 1): few rows, so that each matters."""

    @pytest.mark.parametrize("method", ["psis", "exact", "auto"])
    def test_every_method_gives_the_number_by_hand(self, tennis_fit, tennis, by_hand, method):
        found = bc.loo(tennis_fit, *tennis, method=method).elpd
        draws = len(tennis_fit.hypotheses("posterior"))
        error = by_hand[1] * np.sqrt(1 + 2 * DRAWS / draws)  # weighted draws count for half as many
        assert found == pytest.approx(by_hand[0], abs=STANDARD_ERRORS * error)
        assert abs(found - by_hand[0]) < 0.12


class TestLogisticRegression:
    def test_weights_are_those_of_arviz(self, laplace):
        clf, X, y = laplace
        expected = clf.posterior_.copy()
        conditional = log_likelihoods(clf, X, y)[1].reshape(4, 500, len(y))
        expected["log_likelihood"] = as_arviz(conditional.reshape(2000, -1), 4)["log_likelihood"]
        expected = az.loo(expected, pointwise=True)
        for rule in ("bayes-optimal", "predictive"):
            found = bc.loo(clf, X, y, rule, "psis")
            for name in ("elpd_i", "pareto_k"):
                np.testing.assert_allclose(found[name], expected[name], rtol=1e-10)
            for name in ("elpd", "se", "p", "good_k"):
                assert found[name] == pytest.approx(expected[name], rel=1e-10)
            for name in ("n_samples", "n_data_points", "scale", "warning", "kind"):
                assert found[name] == expected[name]

    @pytest.mark.parametrize("repeats", [1, 3])
    def test_the_mode_without_a_row_is_that_of_a_refit_with_the_prior_given_in_units(self, rng, repeats):
        X = np.repeat(rng.normal(3.0, 2.0, size=(12, 2)), repeats, axis=0)
        y = np.repeat(rng.permutation(np.repeat(["a", "b", "c"], 4)), repeats)
        options = {"prior_scale": 0.8, "standardize": False, "intercept_at": "zero", "inference": MAP()}
        clf = bc.LogisticRegression(**options).fit(X, y)
        expected = []
        for i in range(len(y)):
            others = np.arange(len(y)) != i
            fitted = bc.LogisticRegression(**options).fit(X[others], y[others])
            expected.append(fitted.predict_log_proba(X[~others])[0, "abc".index(y[i])])
        np.testing.assert_allclose(bc.loo(clf, X, y, "map").elpd_i, expected, rtol=1e-7)

    def test_exact_is_by_the_engine_and_agrees_with_weights(self, laplace):
        clf, X, y = laplace
        wanted = np.arange(0, 60, 6)
        exact = refitted(clf, X, y, "bayes-optimal", wanted)
        weighted = bc.loo(clf, X, y, method="psis")
        assert (weighted.pareto_k[wanted] < weighted.good_k).all()
        np.testing.assert_allclose(exact, weighted.elpd_i[wanted], atol=0.03)

    def test_a_row_that_weights_cannot_leave_out_is_named(self, laplace, monkeypatch):
        clf, X, y = laplace
        khat = bc.loo(clf, X, y).pareto_k.to_numpy()
        worst = np.argsort(khat)[-2:]
        monkeypatch.setattr(leave_one_out, "good_k", lambda draws: khat[worst[0]])
        with pytest.warns(
            PredictionWarning, match=rf"1 of 60 rows \({worst[1] + 1}\) Pareto k̂ is too large.*method='exact'"
        ):
            found = clf.loo(X, y)
        assert found.warning
        assert found.good_k == khat[worst[0]]

    def test_too_many_runs_are_refused(self, laplace, monkeypatch):
        clf, X, y = laplace
        monkeypatch.setitem(leave_one_out.MOST_RUNS, Laplace, 59)
        with pytest.raises(Refused, match=r"leaving out 60 rows would take as many runs of Laplace \(limit 59\)"):
            bc.loo(clf, X, y, method="exact")


class TestAuto:
    @pytest.mark.slow
    def test_on_few_rows_it_is_exact_where_weights_are_optimistic(self):
        """Against draws of classifiers fitted to the other rows, on 12 sets of 15 rows."""
        excess = {"auto": [], "psis": []}
        for seed in range(12):
            rng = np.random.default_rng(seed)
            y = np.arange(15) % 2
            X = rng.normal(size=(15, 2)) + y[:, None]
            clf = bc.GaussianNB(random_state=seed, inference=Exact(draws=400)).fit(X, y)
            expected = by_refits(clf.set_params(random_state=100 + seed), X, y, "bayes-optimal").sum()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PredictionWarning)
                for method, values in excess.items():
                    found = bc.loo(clf, X, y, method=method)
                    values.append(float(found.elpd) - expected)
            assert not bc.loo(clf, X, y).pareto_k.any()
        mean, error = ({m: f(v) for m, v in excess.items()} for f in (np.mean, lambda v: np.std(v) / 12**0.5))
        assert abs(mean["auto"]) < 4 * error["auto"] + 0.01
        assert mean["psis"] > 0.1 + 2 * error["psis"]

    def test_rows_that_weights_cannot_leave_out_are_left_out_exactly(self, wide, monkeypatch):
        clf, X, y = wide
        monkeypatch.setattr(leave_one_out, "QUICK_NUMBERS", 0)
        with pytest.warns(PredictionWarning, match="of 16 rows"):
            weighted = bc.loo(clf, X, y, method="psis")
        exact, auto = bc.loo(clf, X, y, method="exact"), bc.loo(clf, X, y)
        bad = (weighted.pareto_k > weighted.good_k).to_numpy()
        assert 0 < bad.sum() < 16
        assert weighted.warning
        assert not auto.warning
        np.testing.assert_array_equal(auto.elpd_i, np.where(bad, exact.elpd_i, weighted.elpd_i))
        np.testing.assert_array_equal(auto.pareto_k, np.where(bad, 0.0, weighted.pareto_k))

    def test_beyond_the_bound_on_work_it_warns_and_exact_is_refused(self, wide, monkeypatch):
        clf, X, y = wide
        monkeypatch.setattr(leave_one_out, "QUICK_NUMBERS", 0)
        monkeypatch.setattr(leave_one_out, "MOST_NUMBERS", 1e4)
        with pytest.warns(
            PredictionWarning, match=r"would take \d+e\+\d+ random numbers \(limit 1e\+04\); compare by cross"
        ):
            assert bc.loo(clf, X, y).warning
        with pytest.raises(Refused, match=r"random numbers .*; use method='psis', or K-fold cross-validation"):
            bc.loo(clf, X, y, method="exact")

    def test_a_closed_form_needs_no_weights(self, wide, monkeypatch):
        clf, X, y = wide
        monkeypatch.setattr(leave_one_out, "reweighted", None)
        assert np.isfinite(bc.loo(clf, X, y, "predictive").elpd)


class TestBlocks:
    def test_scores_do_not_depend_on_the_blocks_of_rows(self, tennis_fit, tennis, monkeypatch):
        whole = bc.loo(tennis_fit, *tennis, method="psis").elpd_i
        monkeypatch.setattr(averaging, "blocks", lambda _, rows: [slice(start, start + 3) for start in range(0, 14, 3)])
        np.testing.assert_allclose(bc.loo(tennis_fit, *tennis, method="psis").elpd_i, whole, rtol=1e-12)

    def test_no_array_of_draws_and_rows_is_kept_in_memory(self, rng):
        peaks = []
        for rows in (96, 288):
            y = np.tile(["a", "b"], rows // 2)
            X = rng.normal(size=(rows, 1)) + (y == "b")[:, None]
            clf = bc.GaussianNB(random_state=1).fit(X, y)
            peaks.append(peak(leave_one_out.reweighted, clf, training_rows(clf, X, y), False))
        assert peaks[1] - peaks[0] < 8 * 1000 * (288 - 96) / 8


class TestRows:
    """Most fits do not hold their rows, and say so where they are given others."""

    def test_the_order_of_the_rows_is_free(self, laplace, tennis_fit, tennis):
        for clf, X, y in (laplace, (tennis_fit, *tennis)):
            order = np.random.default_rng(1).permutation(len(y))
            found = bc.loo(clf, X.iloc[order], y[order], method="psis").elpd_i
            np.testing.assert_allclose(found, bc.loo(clf, X, y, method="psis").elpd_i[order], rtol=1e-9)

    def test_rows_in_parts_are_left_out_of_all(self, tennis_fit, tennis):
        X, y = tennis
        clf = bc.CategoricalNB(alpha=1.0, random_state=1)
        clf.partial_fit(X[9:], y[9:]).partial_fit(X[:9], y[:9])
        found = bc.loo(clf, X, y, "predictive").elpd
        assert found == pytest.approx(bc.loo(tennis_fit, X, y, "predictive").elpd)
        with pytest.raises(InputError, match="fitted on 5 of 'no', 9 of 'yes', but y has 4 of 'no', 5 of 'yes'"):
            bc.loo(clf, X[:9], y[:9])

    @pytest.mark.parametrize("kind", [bc.GaussianNB, pytest.param(bc.LogisticRegression, marks=pytest.mark.slow)])
    def test_a_row_of_weight_two_is_two_rows(self, rng, kind):
        X, y = rng.normal(size=(20, 2)), np.repeat(["a", "b"], 10)
        weight = np.where(np.arange(20) % 5 == 0, 2, 1)
        repeated = np.repeat(np.arange(20), weight)
        clf = kind(random_state=1, inference="map").fit(X, y, sample_weight=weight)
        twice = kind(random_state=1, inference="map").fit(X[repeated], y[repeated])
        with pytest.raises(InputError, match="a row of weight 2 given twice"):
            bc.loo(clf, X, y, "map")
        found = [bc.loo(fit, X[repeated], y[repeated], "map").elpd_i for fit in (clf, twice)]
        np.testing.assert_allclose(*found, rtol=1e-8)
        clf = kind(random_state=1, inference="map").fit(X, y, sample_weight=np.full(20, 0.5))
        with pytest.raises(InputError, match="fitted on 5 of 'a', 5 of 'b', but y has 10"):
            bc.loo(clf, X, y, "map")


class TestRefusals:
    def test_a_rule_without_leave_one_out_scores(self, tennis_fit, tennis):
        with pytest.raises(Refused, match="Gibbs classifier answers by one draw"):
            bc.loo(tennis_fit, *tennis, rule="gibbs")
        with pytest.raises(Refused, match="'map' plugs in an estimate"):
            bc.loo(tennis_fit, *tennis, rule="map", method="psis")

    @pytest.mark.parametrize("rule", ["bayes-optimal", "predictive"])
    @pytest.mark.parametrize("method", ["auto", "exact"])
    def test_a_class_that_the_known_base_rates_exclude(self, tennis, rule, method):
        clf = bc.CategoricalNB(class_prior=[0.0, 1.0], random_state=1).fit(*tennis)
        found = bc.loo(clf, *tennis, rule, method)
        np.testing.assert_array_equal(np.isneginf(found.elpd_i), tennis[1] == "no")
        np.testing.assert_allclose(found.elpd_i[tennis[1] == "yes"], 0, atol=1e-12)
