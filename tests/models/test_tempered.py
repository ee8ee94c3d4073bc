"""T and b against densities of SciPy, sums over a grid, NUTS on the page, and refits; what rows teach them."""

import numpy as np
import pytensor.tensor as pt
import pytest
from scipy.special import log_softmax, logsumexp
from scipy.stats import entropy, multinomial, norm

import bayesclf as bc
from bayesclf.errors import Refused
from bayesclf.evaluation.leave_one_out import left_out
from bayesclf.models.tempered import LeftOut
from bayesclf.posterior.hypotheses import TemperedPosterior


def made(outcomes, rows=60, seed=3):
    """Return log densities of rows of which each is evidence for its class, twice as much as they say."""
    rng = np.random.default_rng(seed)
    y = rng.integers(outcomes, size=rows)
    L = rng.normal(scale=2, size=(rows, outcomes)) + 2 * np.eye(outcomes)[y]
    prior = np.log(rng.dirichlet(np.full(outcomes, 5.0)))
    return LeftOut(2 * L, y, rng.integers(1, 3, size=rows).astype(float), prior)


def table(rows=300, copies=1, seed=0):
    """Return independent normal columns, so many times each, and labels of three classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=rows)
    return np.repeat(rng.normal(size=(rows, 3)) + np.eye(3)[y], copies, axis=1), y


def explicit(**more):
    """Return a classifier whose prior is not set from rows."""
    return bc.GaussianNB(m=0.0, kappa=1.0, a=2.0, b=2.0, random_state=1, **more)


def by_column(**more):
    """Return a classifier of which each column has a weight of its own."""
    return bc.NaiveBayes(families="gaussian", temper="column", random_state=1, **more)


def test_with_columns_the_log_posterior_is_the_pages():
    left = by_column().fit(*table(40)).left_out_
    theta = np.random.default_rng(1).normal(size=(5, 3 + 1 + 3))  # log T and b, log τ, z
    own, page = left.parameters(theta), left.page()
    log_p, to_free = page.compile_logp(), page.rvs_to_transforms[page["b"]]
    points = [
        {
            "T_log__": np.log(own["T"][draw]),
            "b_zerosum__": to_free.forward(pt.as_tensor(own["b"][draw])).eval(),
            "tau_log__": np.log(own["tau"][draw]),
            "z": theta[draw, 4:],
        }
        for draw in range(5)
    ]
    np.testing.assert_allclose(np.diff(left.log_posterior(theta)), np.diff([log_p(point) for point in points]))
    mode, _ = left.mode
    around = mode + 1e-3 * np.vstack([np.eye(7), -np.eye(7)])
    assert (left.log_posterior(around) < left.log_posterior(mode[None])).all()


def test_weights_of_columns_tell_copies_from_others():
    X, y = table(400)
    clf = by_column().fit(X[:, [0, 0, 1, 2]], y)
    T = clf.temper_["T_column"].mean(("chain", "draw"))
    assert list(T["column"].values) == ["x0", "x1", "x2", "x3"]
    np.testing.assert_allclose([float(T[0] + T[1]), *T.values[2:]], 1, atol=0.3)
    whole = clf.model_.log_density_without(clf.rows(X[:, [0, 0, 1, 2]]), y)
    of_columns = clf.left_out_.log_density.sum(axis=2)
    np.testing.assert_allclose(np.diff(of_columns), np.diff(whole), atol=1e-9)
    posterior = clf.hypotheses("posterior").take(np.arange(3))
    temper = {"T": np.ones(3), "b": np.zeros((3, 3))}
    one, each = (TemperedPosterior(posterior, temper | more) for more in ({}, {"T_column": np.ones((3, 4))}))
    rows = clf.rows(X[:5, [0, 0, 1, 2]])
    np.testing.assert_allclose(each.log_scores(rows), one.log_scores(rows), rtol=1e-9)


@pytest.mark.parametrize("outcomes", [2, 4])
def test_the_log_posterior_is_that_of_a_multinomial(outcomes):
    found, rng = made(outcomes), np.random.default_rng(1)
    theta = rng.normal(size=(5, outcomes))
    b = theta[:, 1:] @ found._basis
    np.testing.assert_allclose(b.sum(axis=1), 0, atol=1e-12)
    expected = norm.logpdf(theta[:, 0]) - 0.5 * (b**2).sum(axis=1)  # ZeroSumNormal(1), up to a constant
    for draw, (log_T, *_) in enumerate(theta):
        p = np.exp(log_softmax(found.log_prior + b[draw] + np.exp(log_T) * found.log_density, axis=1))
        expected[draw] += found.weight @ multinomial.logpmf(np.eye(outcomes)[found.y], 1, p)
    np.testing.assert_allclose(np.diff(found.log_posterior(theta)), np.diff(expected), rtol=1e-10)


@pytest.mark.parametrize("outcomes", [2, 4])
@pytest.mark.parametrize("factor", [1.0, 1e-3, 1e4])
def test_the_mode_is_the_highest_point_near_it(outcomes, factor):
    found = made(outcomes)
    found = LeftOut(found.log_density * factor, found.y, found.weight, found.log_prior)
    mode, _ = found.mode
    around = mode + 1e-3 * np.vstack([np.eye(outcomes), -np.eye(outcomes)])
    assert (found.log_posterior(around) < found.log_posterior(mode[None])).all()


def test_draws_have_the_moments_of_a_grid():
    X, y = table(80)
    clf = explicit().fit(X[y < 2], y[y < 2])
    found = clf.left_out_
    log_T, c = np.meshgrid(np.linspace(-3, 2, 201), np.linspace(-3, 3, 201), indexing="ij")
    log_p = found.log_posterior(np.column_stack([log_T.ravel(), c.ravel()]))
    p = np.exp(log_p - logsumexp(log_p))
    T, b = np.exp(log_T.ravel()), c.ravel() / np.sqrt(2)
    drawn, count = clf.temper_, clf.temper_.sizes["draw"]
    for values, exact in ((drawn["T"].to_numpy().ravel(), T), (np.abs(drawn["b"].to_numpy()[0, :, 0]), np.abs(b))):
        mean = p @ exact
        sd = np.sqrt(p @ (exact - mean) ** 2)
        assert abs(values.mean() - mean) < 4 * sd / np.sqrt(count)
        assert values.std() == pytest.approx(sd, rel=0.2)
    assert drawn.attrs["pareto_k"] < 0.5


def test_predictions_average_the_draws():
    X, y = table()
    clf = explicit().fit(X[:200], y[:200])
    draws = clf.temper_
    L = clf.predict_joint_log_proba(X[200:], rule="predictive") - np.log(clf.class_prior_)
    logits = np.log(clf.class_prior_) + draws["b"].to_numpy()[0][:, None] + draws["T"].to_numpy()[0][:, None, None] * L
    expected = np.exp(log_softmax(logits, axis=2)).mean(axis=0)
    np.testing.assert_allclose(clf.predict_proba(X[200:], rule="tempered"), expected, rtol=1e-9)


def test_a_weight_is_so_many_rows():
    X, y = table(60)
    weight = np.random.default_rng(2).integers(1, 4, size=60)
    one, other = explicit().fit(X, y, sample_weight=weight), explicit().fit(np.repeat(X, weight, 0), y.repeat(weight))
    theta = np.random.default_rng(3).normal(size=(4, 3))
    expected = other.left_out_.log_posterior(theta)
    np.testing.assert_allclose(one.left_out_.log_posterior(theta), expected, rtol=1e-9)


def test_a_column_twice_is_worth_half():
    once, twice = (explicit().fit(*table(copies=copies)) for copies in (1, 2))
    low, high = np.quantile(once.temper_["T"], [0.055, 0.945])
    assert low < 1 < high
    assert 2 * float(twice.temper_["T"].mean()) == pytest.approx(float(once.temper_["T"].mean()), rel=0.02)


def test_a_family_that_does_not_fit_is_no_sign_of_copies(rng):
    """Tails heavier than the family's lower T of a single column, too: the note must not blame repeated columns."""
    y = np.arange(400) % 2
    clf = bc.GaussianNB(random_state=0, rule="tempered").fit(rng.standard_t(2.2, size=(400, 1)) + 0.6 * y[:, None], y)
    assert np.quantile(clf.temper_["T"], 0.95) < 1
    assert any("say less about the class than" in note for note in clf.notes_)


def test_rows_are_left_out_as_they_were_at_the_fit():
    X, y = table(60)
    clf = bc.GaussianNB().fit(X, y)
    X[:] = 0.0
    np.testing.assert_array_equal(clf.left_out_.log_density, bc.GaussianNB().fit(*table(60)).left_out_.log_density)


def test_a_row_alone_in_its_class_is_not_counted():
    X, y = table(60)
    y[0] = 7
    assert len(explicit().fit(X, y).left_out_.y) == 59


def test_a_row_out_of_reach_is_not_counted():
    X, y = table(60)
    found = explicit(class_prior=[0.5, 0.5, 0.0]).fit(X, y)
    assert (found.left_out_.y < 2).all()
    assert (found.predict_proba(X, rule="tempered")[:, 2] == 0).all()


def test_rows_in_parts_are_gone():
    X, y = table(60)
    clf = explicit().partial_fit(X, y)
    with pytest.raises(Refused, match="of partial_fit are not kept; fit and fit_stream learn"):
        clf.predict(X, rule="tempered")


@pytest.mark.filterwarnings("ignore::bayesclf.errors.ConvergenceWarning")
def test_rows_without_a_closed_form_are_refused():
    X, y = table(60)
    X[0, 0] = np.nan
    clf = bc.GaussianDiscriminantAnalysis(inference=bc.engines.Augmentation(draws=50), random_state=1).fit(X, y)
    with pytest.raises(Refused, match=r"no row can be left out in closed form \(.*\); use another rule"):
        clf.predict(X, rule="tempered")


def test_leaving_a_row_out_is_near_a_refit():
    X, y = table(60)
    clf, wanted = explicit().fit(X, y), [0, 7, 31]
    found = left_out(clf, X, y, "tempered")
    for i in wanted:
        others = np.arange(len(y)) != i
        refitted = explicit().fit(X[others], y[others]).predict_log_proba(X[[i]], rule="tempered")[0]
        # π, and the other rows' densities, are those of all rows
        np.testing.assert_allclose(np.exp(found.log_proba[i]), np.exp(refitted), atol=0.02)


@pytest.mark.parametrize("clf", [explicit(), by_column()], ids=["all", "column"])
def test_terms_of_an_explanation_add_up_to_tempered_log_odds(clf):
    X, y = table()
    clf.fit(X, y)
    found, averaged = (clf.explain(X[:4], 1, 0, rule=rule) for rule in ("tempered", "bayes-optimal"))
    sums = found.table.groupby("row")["contribution"].sum()
    np.testing.assert_allclose(sums, found.rows["log_odds"], rtol=1e-9)
    own, others = (one.table.query("feature != '(class prior)'")["contribution"] for one in (found, averaged))
    T = np.ravel(clf.temper_.get("T_column", clf.temper_["T"]).mean(("chain", "draw")))
    of_column = found.table.query("feature != '(class prior)'")["feature"].str[1:].astype(int) % len(T)
    np.testing.assert_allclose(own, T[of_column] * others, rtol=0.05, atol=0.02)


def test_intervals_are_of_theta_with_t_and_b():
    X, y = table()
    clf = explicit().fit(X, y)
    T, b = (clf.temper_[name].to_numpy()[0] for name in ("T", "b"))
    posterior = clf.hypotheses("posterior")
    draw = np.arange(len(posterior)) % len(T)
    prior = posterior.log_class_prior()[:, None]
    scores = prior + b[draw, None] + T[draw, None, None] * (posterior.log_scores(clf.rows(X[:5])) - prior)
    expected = np.quantile(np.exp(log_softmax(scores, axis=2)), [0.055, 0.945], axis=0, method="inverted_cdf")
    found = clf.predict_interval(X[:5], rule="tempered")
    np.testing.assert_allclose(found, np.moveaxis(expected, 0, 2), rtol=1e-9)


def test_the_answer_lies_in_its_interval_and_its_entropy_is_the_total():
    """Densities of few rows have longer tails than those of the draws: far away the answer is less sure."""
    X, y = table(24)
    clf, far = explicit().fit(X, y), 4 * X
    answer, bounds = clf.predict_proba(far, rule="tempered"), clf.predict_interval(far, 0.2, rule="tempered")
    at_edge = (answer == bounds[..., 0]) | (answer == bounds[..., 1])
    assert at_edge.any()
    assert ((bounds[..., 0] <= answer) & (answer <= bounds[..., 1])).all()
    split = clf.uncertainty(far, rule="tempered")
    np.testing.assert_allclose(split.total, entropy(answer, axis=1), rtol=1e-9)
    np.testing.assert_allclose(split.aleatoric + split.epistemic, split.total, rtol=1e-9)
    assert (split.epistemic >= 0).all()


def test_without_rows_left_out_the_prior_of_t_answers():
    X, y = np.array([[1.0], [2.0]]), ["a", "b"]
    clf = bc.NaiveBayes(random_state=1).fit(X, y)
    assert any("no training row can be left out" in note for note in clf.notes_)
    np.testing.assert_allclose(clf.predict_proba(X, rule="tempered").sum(axis=1), 1)


def test_intervals_follow_the_rule_of_the_classifier():
    X, y = table(60)
    for rule, expected in ((None, "tempered"), ("predictive", "predictive"), ("map", "bayes-optimal")):
        clf = bc.NaiveBayes(rule=rule, random_state=1).fit(X, y)
        np.testing.assert_array_equal(clf.predict_interval(X[:3]), clf.predict_interval(X[:3], rule=expected))
        np.testing.assert_array_equal(clf.uncertainty(X[:3]).total, clf.uncertainty(X[:3], rule=expected).total)
