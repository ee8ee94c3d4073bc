"""Where entries stand: what is called clear is so, jointly, and neither heavy tails nor tiny differences mislead."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import bayesclf as bc
from bayesclf.evaluation.judgments import MATTERS, Estimate, critical_value, split_error
from bayesclf.evaluation.score_table import (
    BASELINE,
    HeldOut,
    folds_of_rows,
    odd_fold,
    over_confidence,
    row_losses,
    standings,
)


def comparison_of(losses, y=None):
    """Return what a comparison of five folds needs for given losses (row, entry)."""
    rows = len(losses)
    y = np.arange(rows) % 2 if y is None else y
    fold = np.arange(rows) // 2 % 5
    splits = tuple((np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(5))
    answers = {
        (f"m{j}", "map"): SimpleNamespace(scores=[SimpleNamespace(log_loss=column, error=(column > 0.7) * 1.0)])
        for j, column in enumerate(np.transpose(losses))
    }
    found = HeldOut()
    vars(found).update(answers=answers, splits=splits, y=y, classes=np.unique(y), seed=0, repeats=1, costs=None)
    return found


def kinds(losses):
    found = comparison_of(losses)
    return {standing.model: standing.kind for standing in standings(found, list(found.answers))}


def test_two_entries_need_students_t_and_more_need_more():
    rng = np.random.default_rng(0)
    losses = rng.normal(size=(40, 12))
    assert critical_value(losses[:, :2]) == pytest.approx(stats.t.ppf(0.975, 39), abs=0.05)
    # Tukey's studentized range over √2, for equal correlations
    expected = stats.studentized_range.ppf(0.95, 12, 39) / np.sqrt(2)
    assert critical_value(losses) == pytest.approx(expected, abs=0.15)
    assert critical_value(np.column_stack([losses[:, :2], losses[:, :2]])) == pytest.approx(
        critical_value(losses[:, :2]), abs=0.05
    )


def test_equal_entries_are_tied_and_worse_ones_behind():
    rng = np.random.default_rng(1)
    base = rng.exponential(0.4, size=200)
    noise = rng.normal(size=200)
    losses = np.column_stack([base, base, base + 0.3, base + 0.05 + noise - noise.mean()])
    assert kinds(losses) == {"m0": "best", "m1": "tied", "m2": "behind", "m3": "open"}


def test_entries_can_be_compared_with_another_than_the_best():
    base = np.random.default_rng(1).exponential(0.4, size=200)
    found = comparison_of(np.column_stack([base, base + 0.3, base + 0.6, base + 0.3]))
    kind = {
        one.model: (one.kind, one.difference > 0)
        for one in standings(found, list(found.answers), against=("m1", "map"))
    }
    assert list(kind) == ["m1", "m0", "m3", "m2"]
    assert kind["m0"][0] != "behind"
    assert kind["m3"][0] == "tied"
    assert kind["m2"] == ("behind", True)


def test_a_difference_that_does_not_matter_is_a_tie_however_certain():
    base = np.random.default_rng(2).exponential(0.4, size=400)
    assert kinds(np.column_stack([base, base + 0.11 * MATTERS]))["m1"] == "tied"
    assert kinds(np.column_stack([base, base + 2 * MATTERS]))["m1"] == "behind"
    assert kinds(np.column_stack([base / 100, base / 100 + 0.9 * MATTERS]))["m1"] == "tied"
    noise = np.random.default_rng(3).normal(size=400)
    assert kinds(np.column_stack([base, base + 0.9 * MATTERS + 0.1 * (noise - noise.mean())]))["m1"] == "open"
    # of a rare class the shares have a small log loss themselves, and less matters
    rare = comparison_of(np.column_stack([base / 100, base / 100 + 0.9 * MATTERS]), np.arange(400) % 200 // 199)
    assert rare.matters == pytest.approx(0.1 * row_losses(rare, BASELINE).mean())
    assert standings(rare, list(rare.answers))[1].kind == "behind"


def test_heavy_tails_do_not_hide_a_large_difference():
    rng = np.random.default_rng(3)
    good = rng.exponential(0.3, size=400)
    bad = good + np.where(rng.random(400) < 0.06, rng.pareto(0.6, 400) * 40 + 10, 0.0)
    found = comparison_of(np.column_stack([good, bad]))
    behind = standings(found, list(found.answers))[1]
    assert behind.difference < 2 * behind.error  # which alone would not be clear
    assert behind.kind == "behind"


def test_an_infinite_loss_is_behind_and_nothing_is_said_where_all_are_infinite():
    base = np.random.default_rng(4).exponential(0.4, size=50)
    infinite = np.where(np.arange(50) == 7, np.inf, base)
    assert kinds(np.column_stack([base, infinite])) == {"m0": "best", "m1": "behind"}
    assert kinds(np.column_stack([infinite, infinite])) == {"m0": "best", "m1": "open"}


def test_the_baseline_gives_the_shares_of_the_training_rows():
    y = np.array([0, 0, 0, 1] * 10)
    found = comparison_of(np.ones((40, 1)), y)
    (standing,) = standings(found, [BASELINE])
    share = np.array([(y[train] == label).mean() for train, test in found.splits for label in y[test]])
    rows = np.concatenate([test for _, test in found.splits])
    train = len(found.splits[0][0])
    smoothed = (share * train + 1) / (train + 2)
    assert row_losses(found, BASELINE)[rows] == pytest.approx(-np.log(smoothed))
    assert standing.loss == pytest.approx(-np.log(smoothed).mean())
    assert row_losses(found, BASELINE, "error").mean() == 0.25


@pytest.mark.parametrize(
    ("errors", "kind", "undone"),
    [(0.3, "open", False), (1.15, "open", True), (1.6, "leaning", False), (2.8, "behind", False)],
)
def test_a_grade_is_the_lower_one_where_other_folds_could_change_it(errors, kind, undone):
    rng = np.random.default_rng(6)
    noise = rng.normal(size=400)
    noise = (noise - noise.mean()) / noise.std() / np.sqrt(1 / 400 + 1 / 320)
    base = rng.exponential(0.4, size=400)
    found = comparison_of(np.column_stack([base, base + 0.02 * (errors + noise)]))
    standing = standings(found, list(found.answers))[1]
    assert (standing.kind, standing.undone) == (kind, undone)


def test_a_fold_that_makes_much_of_a_difference_is_found():
    rng = np.random.default_rng(7)
    one, other = rng.exponential(0.4, size=(2, 400))
    losses = np.column_stack([one, one + 0.05 * rng.random(400), other])
    assert odd_fold(comparison_of(losses), ("m0", "map"), ("m1", "map")) is None
    losses[np.arange(400) // 2 % 5 == 3, 0] += 0.5
    found = comparison_of(losses)
    there, elsewhere = odd_fold(found, ("m0", "map"), ("m1", "map"))
    assert there[0] - elsewhere[0] == pytest.approx(0.5, abs=0.1)
    assert there[0] - there[1] > elsewhere[1] - elsewhere[0] > 0
    assert odd_fold(found, ("m0", "map"), BASELINE) is None
    far = losses + np.array([0.0, 2.0, 0.0])  # of whose difference the fold is a small part
    assert odd_fold(comparison_of(far), ("m0", "map"), ("m1", "map")) is None


@pytest.mark.parametrize(("rows", "repeats"), [(60, 4), (240, 3), (499, 2), (500, 1), (3000, 1)])
def test_the_number_of_rows_says_how_often_folds_are_repeated(rng, rows, repeats):
    X, y = rng.normal(size=(rows, 2)), np.arange(rows) % 2
    assert bc.compare({"nb": bc.GaussianNB()}, X, y, rules=["map"]).repeats == repeats


def test_the_error_of_a_gap_grows_by_what_repeated_folds_differ():
    rng = np.random.default_rng(5)
    y = np.arange(40) % 2
    found = bc.compare({"nb": bc.GaussianNB()}, rng.normal(size=(40, 3)), y, rules=["map"], repeats=3)
    log_proba, codes = found.stacked("nb", "map")
    gaps = (np.exp(log_proba.max(axis=1)) - (log_proba.argmax(axis=1) == codes)).reshape(3, 40)
    of_folds = split_error(gaps, folds_of_rows(found).reshape(3, 40))
    assert of_folds > 0
    of_rows = Estimate.of(gaps.mean(axis=0), found.train_size)
    gap = over_confidence(found, ("nb", "map"))
    assert (gap.mean, gap.error) == pytest.approx((of_rows.mean, np.hypot(of_rows.error, of_folds)))


def test_a_models_own_rule_leads_unless_another_is_clearly_better():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    found = bc.compare({"nb": bc.GaussianNB()}, X, y)
    assert found.leader("nb") == ("nb", "bayes-optimal")
    assert bc.compare({"nb": bc.GaussianNB(rule="map")}, X, y).leader("nb") == ("nb", "map")
    many = rng.normal(size=(60, 40))
    found = bc.compare({"nb": bc.GaussianNB(rule="mle", variance="class-feature")}, many, y)
    kinds = {one.rule: one.kind for one in standings(found, [("nb", rule) for rule in found.rules_of("nb")])}
    assert kinds["mle"] == "behind"
    assert kinds[found.leader("nb")[1]] == "best"


def gaussian_losses(rng, rows, entries, sds, tails):
    """Return held-out losses of Gaussian naive Bayes on one column each, all columns equally informative."""
    y = np.arange(rows) % 2
    noise = rng.standard_t(tails, size=(rows, entries)) if tails else rng.normal(size=(rows, entries))
    X, fold = noise + sds * y[:, None], np.arange(rows) // 2 % 5
    losses = np.empty((rows, entries))
    for k in range(5):
        own = [X[(fold != k) & (y == label)] for label in (0, 1)]
        log = [stats.norm.logpdf(X[fold == k], part.mean(axis=0), part.std(axis=0)) for part in own]
        ratio = (log[1] - log[0]) * (1 - 2 * y[fold == k])[:, None]
        losses[fold == k] = np.logaddexp(0, ratio)
    return losses


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "entries", "tails"), [(30, 12, 0), (100, 12, 0), (100, 2, 0), (100, 6, 2.5)])
def test_exchangeable_models_are_rarely_told_apart(rows, entries, tails):
    rng = np.random.default_rng([rows, entries])
    found = [list(kinds(gaussian_losses(rng, rows, entries, 1.0, tails)).values()) for _ in range(400)]
    assert np.mean(["behind" in every for every in found]) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)
    # what a headline says of the best and the second
    assert np.mean([every[1] in ("leaning", "behind") for every in found]) <= 0.1
