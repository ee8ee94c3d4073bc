"""A comparison keeps to the time that it is allowed: who is slower than expected is left out, by a clock made up."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesclf as bc
from bayesclf.evaluation import allowed_time, cross_validation
from bayesclf.evaluation.allowed_time import AllowedTime
from bayesclf.evaluation.cross_validation import Evaluation
from bayesclf.evaluation.forecast import Forecast, Limits

FOLDS = 5


class Work:
    """Pretends to fit: each unit takes its model's seconds, which a clock shows."""

    def __init__(self, seconds, processes=1):
        self.seconds, self.processes = seconds, processes
        self.now, self.made, self.closed = 0.0, [], 0

    def run(self, waiting):
        try:
            for unit in waiting:
                self.now += self.seconds[unit[0]] / self.processes
                self.made.append(unit)
                yield unit, Evaluation({}, self.seconds[unit[0]], (), ()) if unit[1] >= 0 else (None, [])
        finally:
            self.closed += 1

    def within(self, expected, most):
        limits = Limits(self.processes, most)
        ahead = Forecast(expected, sum(expected.values()) / self.processes)
        allowed = AllowedTime(ahead, limits, FOLDS + 1, 0.0, lambda: self.now)
        units = [(name, fold) for name in expected for fold in range(FOLDS)] + [(name, -1) for name in expected]
        return allowed, [unit for unit, _ in allowed.results(self.run, units)]


def test_a_model_that_is_slower_than_expected_is_left_out_in_time():
    work = Work({"quick": 1.0, "slow": 30.0})
    allowed, made = work.within({"quick": 6.0, "slow": 30.0}, 60.0)
    assert made == [("quick", fold) for fold in range(FOLDS)] + [("slow", 0), ("quick", -1)]
    assert work.now == 36.0 < 60.0
    assert work.closed == 2
    assert list(allowed.ahead.seconds) == ["quick"]
    assert allowed.ahead.left_out["slow"].startswith("it was left out after 1 of its folds, as a fold took 30.0 s")


@pytest.mark.parametrize("processes", [1, 2])
def test_what_is_expected_is_made(processes):
    work = Work({"quick": 1.0, "slow": 5.0}, processes)
    allowed, made = work.within({"quick": 6.0, "slow": 30.0}, 36.0 / processes)
    assert len(made) == 2 * (FOLDS + 1)
    assert allowed.ahead.left_out == {}


def test_the_last_model_is_never_left_out():
    work = Work({"a": 50.0, "b": 60.0})
    allowed, made = work.within({"a": 6.0, "b": 6.0}, 20.0)
    assert list(allowed.ahead.left_out) == ["a"]
    assert made == [("a", 0), *(("b", fold) for fold in [*range(FOLDS), -1])]


def test_a_model_that_was_not_begun_is_left_out_where_others_take_its_time():
    work = Work({"a": 10.0, "b": 10.0})
    allowed, made = work.within({"a": 6.0, "b": 60.0}, 70.0)
    assert allowed.ahead.left_out["b"].startswith("it was left out after 0 of its folds, as the others took longer")
    assert {name for name, _ in made} == {"a"}
    assert len(made) == FOLDS + 1


def test_without_a_limit_nothing_is_left_out():
    work = Work({"a": 50.0, "b": 60.0})
    assert len(work.within({"a": 6.0, "b": 6.0}, None)[1]) == 2 * (FOLDS + 1)


def test_a_comparison_goes_on_without_the_slow_model(monkeypatch):
    """The others' numbers are those of a comparison without a limit."""
    X, y = load_iris(return_X_y=True)
    models = {"gnb": bc.GaussianNB(), "gda": bc.GaussianDiscriminantAnalysis()}
    options = {"rules": ["map", "predictive"], "cv": 3, "random_state": 1}
    whole = bc.compare(models, X, y, **options)
    slow = iter(range(100))
    monkeypatch.setattr(allowed_time, "AllowedTime", partial(AllowedTime, clock=lambda: 1e9 * (next(slow) >= 4)))
    found = bc.compare(models, X, y, max_seconds=600.0, **options)
    (left,) = found.forecast.left_out
    (kept,) = set(models) - {left}
    assert list(found.fits) == [kept]
    for rule in options["rules"]:
        np.testing.assert_array_equal(found.stacked(kept, rule)[0], whole.stacked(kept, rule)[0])
        assert found.answers[left, rule].reason == found.forecast.left_out[left]
    assert left in found.table["model"].to_numpy()


def test_giving_up_ends_the_work(iris_units):
    results = iris_units()
    next(results)
    results.close()
    assert list(results) == []


@pytest.fixture
def iris_units():
    X, y = load_iris(return_X_y=True, as_frame=True)
    question = cross_validation.Question(("map",), None)
    splits = cross_validation.split(y.to_numpy(), 3, 1, 0)[0]
    units = [("gnb", fold) for fold in range(3)]
    table = (X, y.to_numpy(), np.arange(3))
    return lambda: cross_validation.run({"gnb": bc.GaussianNB()}, table, splits, question, units, 0, 1)
