"""What a comparison will take, said before it starts: the reckoning, with costs and clocks that are made up."""

import re
from itertools import count

import numpy as np
import pandas as pd
import pytest

import bayesclf as bc
from bayesclf.cli import run
from bayesclf.errors import InputError
from bayesclf.evaluation import cross_validation, forecast
from bayesclf.evaluation.cross_validation import Evaluation, Question
from bayesclf.evaluation.forecast import FIRST_ROWS, Plan, Trial
from bayesclf.inference import NUTS
from bayesclf.progress import shown
from bayesclf.report.verdict import verdict

ROWS = 40_000
ANSWERS = Evaluation({}, 0.0, (), ())


def plan(rows=ROWS, **options):
    return Plan((np.arange(rows), np.arange(rows // 4)), units=6, **options)


def measure_of(costs, tried):
    """Return what pretends to fit: costs (seconds by rows, seconds once) by model, and a list of what was tried."""

    def measure(name, split):
        rows = len(split[0])
        tried.append((name, rows, len(split[1])))
        by_rows, once = costs[name]
        return Trial(rows, by_rows(rows), once, ANSWERS)

    return measure


LINEAR = {
    "quick": (lambda rows: 1e-6 * rows, 0.0),
    "slow": (lambda rows: 2.0 + 5e-3 * rows, 0.0),
    "compiled": (lambda rows: 3.0, 20.0),
}


class TestReckoning:
    def test_costs_linear_in_the_rows_are_found_from_few_of_them(self):
        tried = []
        found, done = forecast.forecast(measure_of(LINEAR, tried), list(LINEAR), plan())
        assert found.seconds == pytest.approx({"quick": 0.24, "slow": 6 * 202.0, "compiled": 6 * 3.0 + 20.0})
        assert found.total == pytest.approx(sum(found.seconds.values()))
        assert found.left_out == {}
        assert done == {}
        assert max(rows for _, rows, _ in tried) <= 16 * FIRST_ROWS
        assert all(test == rows // 4 for _, rows, test in tried)

    def test_trials_take_of_the_allowed_time_but_one_model_stays(self, monkeypatch):
        monkeypatch.setattr(forecast.time, "perf_counter", iter([0.0, 50.0]).__next__)
        found, _ = forecast.forecast(measure_of(LINEAR, []), list(LINEAR), plan(max_seconds=60.0))
        assert list(found.seconds) == ["quick"]
        assert "38.0 s and 1 min 0 s are allowed in all, of which trials took 50.0 s" in found.left_out["compiled"]
        monkeypatch.setattr(forecast.time, "perf_counter", iter([0.0, 70.0]).__next__)
        assert list(forecast.forecast(measure_of(LINEAR, []), list(LINEAR), plan(max_seconds=60.0))[0].seconds) == [
            "quick"
        ]

    def test_trials_grow_until_they_take_long_enough_to_say_something(self):
        tried = []
        costs = {"model": (lambda rows: 1e-4 * rows, 0.0)}
        found, _ = forecast.forecast(measure_of(costs, tried), ["model"], plan())
        assert [rows for _, rows, _ in tried] == [200, 800, 3200, 12_800]
        assert found.total == pytest.approx(6 * 4.0)

    def test_noise_of_trials_changes_it_by_less_than_twice(self, rng):
        for _ in range(200):
            noisy = {"model": (lambda rows: (0.1 + 1e-4 * rows) * rng.uniform(0.85, 1.15), 0.0)}
            found, _ = forecast.forecast(measure_of(noisy, []), ["model"], plan())
            assert 0.5 < found.total / (6 * 4.1) < 2

    def test_more_rows_never_take_less_and_never_more_than_in_proportion(self):
        falling = {"model": (lambda rows: 3.0 - rows / 1000, 0.0)}
        found, _ = forecast.forecast(measure_of(falling, []), ["model"], plan())
        assert found.total == pytest.approx(6 * 2.2)
        steep = {"model": (lambda rows: (rows / 200) ** 2, 0.0)}
        found, _ = forecast.forecast(measure_of(steep, []), ["model"], plan())
        assert found.total == pytest.approx(6 * 16.0 * ROWS / 800)

    def test_trials_on_all_rows_are_folds_already_done(self):
        tried = []
        found, done = forecast.forecast(measure_of(LINEAR, tried), list(LINEAR), plan(150))
        assert [rows for _, rows, _ in tried] == [150, 150, 150]
        assert done == dict.fromkeys(LINEAR, ANSWERS)
        assert found.seconds["slow"] == pytest.approx(6 * 2.75)

    def test_processes_share_the_work(self):
        found, _ = forecast.forecast(measure_of(LINEAR, []), ["slow"], plan(processes=3))
        assert found.total == pytest.approx(forecast.PROCESS_SECONDS + 6 * 202.0 / 3)
        found, _ = forecast.forecast(measure_of(LINEAR, []), ["slow"], plan(processes=100))
        assert found.total == pytest.approx(forecast.PROCESS_SECONDS + 202.0)

    def test_the_most_expensive_models_are_left_out_until_the_others_fit(self):
        found, _ = forecast.forecast(measure_of(LINEAR, []), list(LINEAR), plan(max_seconds=60.0))
        assert list(found.seconds) == ["quick", "compiled"]
        assert found.left_out == {
            "slow": "it was left out, as it would take about 20 min 12 s and 1 min 0 s are allowed in all; allow more, "
            "or take fewer folds, rules or rows"
        }
        found, _ = forecast.forecast(measure_of(LINEAR, []), list(LINEAR), plan(max_seconds=30.0))
        assert list(found.left_out) == ["slow", "compiled"]
        found, _ = forecast.forecast(measure_of(LINEAR, []), list(LINEAR), plan(max_seconds=1e-3))
        assert (found.seconds, found.total, found.sentence) == ({}, 0, "")

    def test_it_is_said_in_a_sentence(self):
        found, _ = forecast.forecast(measure_of(LINEAR, []), list(LINEAR), plan())
        assert found.sentence == "about 20 min 50 s in all (quick 0.24 s, slow 20 min 12 s, compiled 38.0 s)"


class TestTrial:
    """Fits under a clock of our own."""

    @pytest.fixture
    def at(self, monkeypatch):
        """Return a clock, and let a fit take steps of it: some seconds, then so many tellings of a sampler."""
        now = [0.0]

        def set_up(before, each, steps, after=0.0):
            def unit(*_):
                now[0] += before
                with shown("sampling") as tell:
                    for step in range(1, steps + 1):
                        tell("sampling", step - 1, steps)
                        now[0] += each
                now[0] += after
                return ANSWERS

            monkeypatch.setattr(cross_validation, "unit", unit)
            split = np.arange(30), np.arange(10)
            return forecast.timed(None, None, split, Question((), None), 0, lambda: now[0])

        return set_up

    def test_a_fit_that_samples_briefly_is_timed_without_what_happens_once(self, at):
        assert at(before=12.0, each=0.5, steps=6, after=1.0) == Trial(30, 4.0, 12.0, ANSWERS)

    def test_a_fit_without_sampling_happens_as_a_whole(self, at):
        assert at(before=3.0, each=0.0, steps=0) == Trial(30, 3.0, 0.0, ANSWERS)

    def test_long_sampling_is_broken_off_and_reckoned_from_its_speed(self, at):
        found = at(before=2.0, each=1.0, steps=1000)
        assert found.evaluation is None
        assert found.once == 2.0
        assert found.seconds == pytest.approx(1000.0)

    def test_nuts_is_broken_off(self, monkeypatch):
        monkeypatch.setattr(forecast, "LIMIT", 0.0)
        X, y = pd.DataFrame({"a": np.arange(40.0)}), np.arange(40) % 2
        model = bc.LogisticRegression(inference=NUTS(draws=20_000, tune=20_000))
        ticks = count()
        split, question = (np.arange(30), np.arange(30, 40)), Question(("map",), None)
        found = forecast.timed(model, (X, y, np.arange(2)), split, question, 1, lambda: float(next(ticks)))
        assert found.evaluation is None
        assert found.seconds > 1


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    y = np.arange(600) % 3
    return pd.DataFrame(rng.normal(size=(600, 3)) + y[:, None], columns=["a", "b", "c"]), y


MODELS = {"gnb": bc.GaussianNB(), "gda": bc.GaussianDiscriminantAnalysis()}


class TestComparison:
    @pytest.fixture
    def costly(self, monkeypatch):
        """Let discriminant analysis take an hour a fold, whatever the machine."""
        timed = forecast.timed

        def at_a_cost(model, *rest):
            found = timed(model, *rest)
            hours = isinstance(model, bc.GaussianDiscriminantAnalysis)
            return Trial(found.rows, 3600.0 if hours else 0.001, 0.0, found.evaluation)

        monkeypatch.setattr(forecast, "timed", at_a_cost)

    def test_what_takes_too_long_is_left_out_with_a_sentence(self, table, costly, tmp_path):
        told = []
        found = bc.compare(
            MODELS, *table, ["map", "predictive"], cv=3, max_seconds=60, progress=lambda *news: told.append(news)
        )
        reason = found.forecast.left_out["gda"]
        assert "it would take about 4 h 0 min and 1 min 0 s are allowed" in reason
        assert [found.answers["gda", rule].reason for rule in ("map", "predictive")] == [reason] * 2
        assert set(found.fits) == set(found.seconds) == {"gnb"}
        assert found.best[0] == "gnb"
        assert told[0] == (found.forecast.sentence, 0, 4)
        assert told[1:] == [("gnb", done, 4) for done in range(1, 5)]
        assert reason in " ".join(verdict(found, found.table).cautions)
        alone = bc.compare({"gnb": bc.GaussianNB()}, *table, ["map", "predictive"], cv=3).table
        lines = found.table[found.table["model"] == "gnb"]
        pd.testing.assert_frame_equal(lines[list(alone)], alone, check_dtype=False)

    @pytest.mark.slow
    def test_a_forecast_changes_no_number_also_where_trials_are_folds(self, table):
        for X, y in (table, (table[0][:240], table[1][:240])):
            plain = bc.compare(MODELS, X, y, ["map", "gibbs"], cv=3)
            found = bc.compare(MODELS, X, y, ["map", "gibbs"], cv=3, max_seconds=1e6)
            pd.testing.assert_frame_equal(found.table, plain.table)
            assert plain.forecast is None
            assert set(found.forecast.seconds) == {"gnb", "gda"}

    def test_all_left_out(self, table, costly):
        told = []
        models = {"gda": MODELS["gda"]}
        found = bc.compare(models, *table, ["map"], cv=3, max_seconds=60, progress=lambda what, *_: told.append(what))
        assert told == []  # a forecast of nothing is none
        assert found.answers["gda", "map"].reason == found.forecast.left_out["gda"]
        assert "No model could answer" in repr(found)

    def test_nobody_looks_so_nothing_is_tried(self, table, monkeypatch):
        monkeypatch.setattr(forecast, "timed", None)
        assert bc.compare(MODELS, *table, ["map"], cv=3).forecast is None

    @pytest.mark.parametrize("seconds", [0, -1, float("inf"), "an hour", True])
    def test_times_that_cannot_be(self, table, seconds):
        with pytest.raises(InputError, match="max_seconds must be above 0"):
            bc.compare(MODELS, *table, max_seconds=seconds)

    def test_the_command_line_has_it(self, costly, capsys):
        base = ["compare", "iris", "--models", "gnb,gda", "--rules", "map", "--cv", "3"]
        assert run([*base, "--max-minutes", "2"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "gda (left out)" in said
        assert "it would take about 4 h 0 min and 2 min 0 s are allowed" in said
        assert re.search(r" gda \(left out\) map n/a ¹ left out ", said)
        assert "no MAP" not in said
        assert "of folds expected before" in said
        assert run(["compare", "iris", "--models", "gda", "--rules", "map", "--cv", "3", "--max-minutes", "2"]) == 2
        *_, last = capsys.readouterr().err.splitlines()
        assert last.startswith("bayesclf: no model can answer in the time that is allowed; gda: it was left out")
        assert run([*base, "--max-minutes", "0"]) == 2
        assert "--max-minutes must be above 0, not 0.0" in capsys.readouterr().err
