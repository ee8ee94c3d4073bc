"""What more rows would give: errors of curves, power laws, coverage over data sets, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf.errors import InputError
from bayesclf.evaluation import more_rows
from bayesclf.evaluation.curve_errors import covariance
from bayesclf.evaluation.more_rows import _continued, _tried, power_laws

FOLDS = 5


def rows_of_classes(rng, rows, columns, shared, distance):
    """Return columns that share a part, which naive Bayes takes for independent, and labels."""
    y = rng.integers(2, size=rows)
    X = rng.normal(size=(rows, columns)) + shared * rng.normal(size=(rows, 1))
    return X + distance / np.sqrt(columns) * y[:, None], y


def losses(X, y, new_X, new_y):
    """Return the log loss of Gaussian naive Bayes with shared variances and one more row, (row)."""
    mu = np.array([(X[y == k].sum(0) + X.mean(0)) / ((y == k).sum() + 1) for k in (0, 1)])
    variance = (((X - mu[y]) ** 2).sum(0) + X.var(0)) / (len(y) + 1)
    share = (np.bincount(y, minlength=2) + 1) / (len(y) + 2)
    joint = -0.5 * ((new_X[:, None] - mu) ** 2 / variance).sum(2) + np.log(share)
    return np.logaddexp(joint[:, 0], joint[:, 1]) - joint[np.arange(len(new_y)), new_y]


def cross_validated(rng, rows, *setting, halvings=5):
    """Return sizes, losses (answer, m), rows and splits of a cross-validated curve."""
    X, y = rows_of_classes(rng, rows, *setting)
    fold = rng.permutation(np.arange(rows) % FOLDS)
    largest = rows - rows // FOLDS
    sizes = np.array(sorted(round(largest / 2**h) for h in range(halvings + 1) if largest / 2**h >= 8))
    found, order = [], []
    for number in range(FOLDS):
        train, test = rng.permutation(np.flatnonzero(fold != number)), np.flatnonzero(fold == number)
        found.append(np.stack([losses(X[train[:m]], y[train[:m]], X[test], y[test]) for m in sizes], axis=1))
        order.append(test)
    answers, numbers = np.concatenate(found), np.concatenate(order)
    return sizes, answers, numbers, fold[numbers]


@pytest.mark.slow
@pytest.mark.parametrize("setting", [(10, 0.0, 1.5), (6, 0.7, 1.5)], ids=["true", "dependent"])
def test_intervals_hold_the_truth_and_the_trial_what_is_observed(setting):
    """Over data sets of 200 rows from one population, whose expected losses come from fresh training sets."""
    rng = np.random.default_rng(3)
    new = rows_of_classes(rng, 4000, *setting)
    truth = [
        np.mean([losses(*rows_of_classes(rng, m, *setting), *new).mean() for _ in range(80)]) for m in (200, 400, 800)
    ]
    held = []
    for seed in range(60):
        sizes, answers, rows, split = cross_validated(rng, 200, *setting)
        errors, mean = covariance(answers, rows, split, sizes), answers.mean(axis=0)
        lines = _continued(sizes.astype(float), mean, errors, [200, 400, 800], seed)
        held.append(
            [line["log_loss_low"] <= at <= line["log_loss_high"] for line, at in zip(lines, truth, strict=True)]
        )
        held[-1] += [
            line["gain_low"] <= truth[0] - at <= line["gain_high"]
            for line, at in zip(lines[1:], truth[1:], strict=True)
        ]
        held[-1].append(_tried(sizes.astype(float), mean, errors, seed)[0]["inside"])
    shares = np.mean(held, axis=0)
    least = 0.89 - 3 * np.sqrt(0.89 * 0.11 / 60)
    assert (shares >= least).all(), shares


def test_errors_of_a_curve_are_those_over_data_sets_or_somewhat_larger():
    rng = np.random.default_rng(4)
    means, estimates = [], []
    for _ in range(80):
        sizes, *answers = cross_validated(rng, 160, 8, 0.0, 1.5, halvings=3)
        means.append(answers[0].mean(axis=0))
        estimates.append(covariance(*answers, sizes))
    true, estimate = np.cov(np.array(means).T), np.mean(estimates, axis=0)
    ratio = np.sqrt(estimate.diagonal() / true.diagonal())
    assert ((ratio > 0.9) & (ratio < 2.2)).all(), ratio
    steps = np.eye(len(sizes))[1:] - np.eye(len(sizes))[:-1]  # differences of sizes, which are known better
    ratio = np.sqrt((steps @ estimate @ steps.T).diagonal() / (steps @ true @ steps.T).diagonal())
    assert ((ratio > 0.9) & (ratio < 2.6)).all(), ratio


@pytest.mark.parametrize("exponent", [0.6, 1.0])
def test_a_power_law_with_small_errors_is_continued(exponent):
    m = np.array([25.0, 50.0, 100.0, 200.0])
    curve = lambda at: 0.3 + 0.08 * (at / 200) ** -exponent  # noqa: E731
    drawn = power_laws(m, curve(m), 1e-7 * np.eye(4), 1).at(np.array([400.0, 800.0]))
    np.testing.assert_allclose(drawn.mean(axis=0), curve(np.array([400.0, 800.0])), atol=0.004)


def test_a_curve_that_does_not_fall_promises_nothing():
    m, flat = np.array([25.0, 50.0, 100.0, 200.0]), np.array([0.5, 0.51, 0.5, 0.505])
    lines = _continued(m, flat, 1e-4 * np.eye(4), [200, 800], 1)
    assert lines[1]["gain_low"] == 0
    assert lines[1]["gain"] < 0.01


def test_repeated_answers_are_one_row_each():
    rng = np.random.default_rng(5)
    sizes, answers, rows, split = cross_validated(rng, 100, 3, 0.0, 1.5, halvings=2)
    once = covariance(answers, rows, split, sizes)
    again = covariance(np.tile(answers, (2, 1)), np.tile(rows, 2), np.concatenate([split, split + FOLDS]), sizes)
    np.testing.assert_allclose(again, once, rtol=0.3)


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(2)
    X, y = rows_of_classes(rng, 120, 4, 0.0, 1.5)
    models = {"nb": bc.GaussianNB(random_state=1)}
    return bc.more_rows(models, X, np.array(["no", "yes"])[y], rules=["map", "predictive"], random_state=1)


def test_a_line_for_each_number_of_rows(found):
    assert found.table["rows"].tolist() == [120, 240, 480] * 2
    assert found.curve.table["m"].unique().tolist() == [12, 24, 48, 96]
    first = found.table.groupby("rule").first()
    assert (first[["gain", "gain_low", "gain_high"]] == 0).all(axis=None)
    assert (found.table["log_loss_low"] <= found.table["log_loss"]).all()
    assert found.trial[["known", "rows"]].to_numpy().tolist() == [[24, 96]] * 2
    observed = found.curve.table.set_index(["rule", "m"])["log_loss"]
    for line in found.trial.itertuples():
        assert line.observed == observed[line.rule, 96]


def test_it_is_said_in_words(found):
    rule = found.best[1]
    said = found.sentence()
    assert said == found.sentence("nb", rule)
    assert said.startswith("log loss with all 120 rows 0.")
    assert "with 240 rows 0." in said
    assert "tried out, from 24 rows it expects" in said
    with pytest.raises(InputError, match="there is no curve of nb mle; there are nb map, nb predictive"):
        found.of("nb", "mle")


def test_what_cannot_be_continued_says_why():
    rng = np.random.default_rng(2)
    X, y = rows_of_classes(rng, 30, 2, 0.0, 1.5)
    few = bc.more_rows(bc.GaussianNB(random_state=1), X, y, rules=["predictive"])
    assert few.table["reason"].iloc[0] == "at least 32 training rows in a split are needed"
    assert few.table["log_loss"].isna().all()
    assert few.trial.empty
    words = pd.DataFrame({"a": np.array(list("abcdef"), dtype=object)[rng.integers(6, size=60)]})
    plugged = bc.more_rows(bc.CategoricalNB(alpha=1.0, random_state=1), words, np.arange(60) % 2, rules=["mle", "map"])
    assert plugged.table["reason"].str.contains("infinite log loss; take a rule with smoothing").any()
    with pytest.raises(InputError, match="no curve could be continued"):
        _ = few.best


@pytest.mark.parametrize("factors", [[1], [], 2, ["many"], [np.inf], [2, 1e300], [1_001], [np.nan]])
def test_factors_that_cannot_be_used_are_refused(factors):
    with pytest.raises(InputError, match="factors are numbers above 1 and at most 1,000, such as"):
        bc.more_rows(bc.GaussianNB(), [[0.0], [1.0]], [0, 1], factors=factors)


def test_factors_of_the_same_number_of_rows_share_a_line():
    rng = np.random.default_rng(5)
    y = rng.integers(2, size=40)
    asked = {"rules": ["map"], "cv": 2}
    found = bc.more_rows(bc.GaussianNB(), rng.normal(size=(40, 1)) + y[:, None], y, factors=[2, 2.001, 2], **asked)
    assert found.table["rows"].tolist() == [40, 80]
    with pytest.raises(InputError, match=r"factors=\[1.001\] of 40 rows add no row"):
        bc.more_rows(bc.GaussianNB(), rng.normal(size=(40, 1)), y, factors=[1.001], **asked)


def test_its_figure_is_the_table(found):
    ax = found.plot("nb", "map").axes[0]
    table, trial = found.of("nb", "map")
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    np.testing.assert_allclose(lines["expected"], table[["rows", "log_loss"]])
    np.testing.assert_allclose(lines["observed"][-1], [96, trial["observed"].iloc[0]])
    np.testing.assert_allclose(lines["expected from 24 rows"][:, 1], trial[["low", "high"]].iloc[0])


def test_the_eighth_counts_where_halves_are_rounded_down(monkeypatch):
    taken = []
    laws = more_rows.power_laws
    monkeypatch.setattr(more_rows, "power_laws", lambda m, *rest: taken.append(m.tolist()) or laws(m, *rest))
    m = np.array([6.0, 12.0, 24.0, 48.0, 97.0])
    _continued(m, 0.3 + 1 / m, 1e-6 * np.eye(5), [97, 194], 0)
    assert taken == [[12.0, 24.0, 48.0, 97.0]]
