"""The runner: the same numbers for any workers, nothing lost or counted twice, and folders that say what they hold."""

import ast
import html
import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import CancelledError
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky import get_reusable_executor

from bayesclf import cli
from bayesclf import cluster as cluster_of
from bayesclf.errors import InputError
from bayesclf.experiments import EXPERIMENTS, Workers, find, run
from bayesclf.experiments.experiment import Results
from bayesclf.experiments.page import render
from bayesclf.experiments.runner import Outcome, measure, seed_of
from bayesclf.experiments.store import RECORDS, SETTINGS, Store

LENSES = find("ng-jordan").Settings(splits=60, posterior_splits=0, problems="lenses")


def lenses(folder, **settings):
    return run(find("ng-jordan"), LENSES, folder, **settings)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return an uninterrupted run."""
    return lenses(tmp_path_factory.mktemp("whole"))


def words(folder, *more):
    """Return the command line of the same run."""
    settings = ["--splits", "60", "--posterior-splits", "0", "--problems", "lenses"]
    return ["experiment", "ng-jordan", *settings, "--output", str(folder), *more]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_all_names(name):
    experiment = find(name)
    assert name == experiment.NAME
    assert experiment.QUESTION.endswith("?")
    settings = experiment.Settings()
    assert isinstance(settings.seed, int)
    units = list(experiment.units(settings))
    assert len(units) == len(set(units)) > 0
    assert json.loads(json.dumps(units)) == [list(unit) for unit in units]
    assert callable(experiment.measure)
    assert callable(experiment.summarise)
    assert callable(experiment.present)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_names_stand_in_the_same_order_in_every_experiment(name):
    statements = ast.parse(Path(find(name).__file__).read_text(encoding="utf-8")).body
    own = [getattr(line, "name", None) or ast.unparse(line.targets[0]) for line in statements if named(line)]
    order = ["NAME", "QUESTION", "BACKGROUND", "Settings", "units", "measure", "summarise", "present", "CAUTIONS"]
    assert [place for place in own if place in order] == order


def named(line):
    return isinstance(line, ast.FunctionDef | ast.ClassDef | ast.Assign)


def test_unknown_experiments_are_listed():
    with pytest.raises(InputError, match="unknown experiment 'x'; they are ng-jordan"):
        find("x")


def test_units_have_seeds_of_their_own():
    units = [("a", 1), ("a", 2), ("b", 1)]
    states = {tuple(seed_of(0, unit).generate_state(2)) for unit in units}
    assert len(states) == 3
    assert (seed_of(0, ("a", 1)).generate_state(2) == seed_of(0, ("a", 1)).generate_state(2)).all()
    assert (seed_of(1, ("a", 1)).generate_state(2) != seed_of(0, ("a", 1)).generate_state(2)).any()


@pytest.mark.slow
def test_two_workers_give_the_same_bytes(whole, tmp_path):
    # joblib keeps processes, and those of an earlier test have that test's environment
    get_reusable_executor().shutdown(wait=True)
    two = lenses(tmp_path, workers=Workers(jobs=2))
    assert (two.folder / "table.csv").read_bytes() == (whole.folder / "table.csv").read_bytes()
    pd.testing.assert_frame_equal(two.table, whole.table)


def test_a_second_run_has_nothing_left_to_do(whole, monkeypatch):
    def forbidden(*_):
        raise AssertionError

    monkeypatch.setattr("bayesclf.experiments.runner.measure", forbidden)
    before = (whole.folder / RECORDS).read_bytes()
    seen = []
    again = lenses(whole.folder, progress=lambda *word: seen.append(word))
    assert (whole.folder / RECORDS).read_bytes() == before
    assert seen == [("ng-jordan", 6, 6)]
    pd.testing.assert_frame_equal(again.table, whole.table)


def test_an_unfinished_line_is_done_again(whole, tmp_path):
    text = (whole.folder / RECORDS).read_bytes()
    lines = text.splitlines(keepends=True)
    (tmp_path / RECORDS).write_bytes(b"".join(lines[:2]) + lines[2][: len(lines[2]) // 2])
    (tmp_path / SETTINGS).write_bytes((whole.folder / SETTINGS).read_bytes())
    again = lenses(tmp_path)
    assert (tmp_path / RECORDS).read_bytes() == text
    pd.testing.assert_frame_equal(again.table, whole.table)


KILLED = """
import os, signal
from bayesclf.cli import main
from bayesclf.experiments import runner

whole, calls = runner.Store.append, []

def append(store, *record):
    calls.append(record)
    if len(calls) > 2:
        with open(store.folder / "results.jsonl", "ab") as file:
            file.write(b'{"unit": ["len')
        os.kill(os.getpid(), signal.SIGKILL)
    whole(store, *record)

runner.Store.append = append
main()
"""
"""A run that is killed while it writes its third line: by itself, as from outside nobody knows how far it is."""


@pytest.mark.slow
def test_kill_9_loses_nothing_but_the_units_in_flight(whole, tmp_path, capsys):
    killed = subprocess.run([sys.executable, "-c", KILLED, *words(tmp_path)], capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    path = tmp_path / RECORDS
    kept = path.read_bytes()
    assert kept.count(b"\n") == 2
    assert not kept.endswith(b"\n")
    assert cli.run(words(tmp_path, "--jobs", "2")) == 0
    assert "results.html" in capsys.readouterr().out.replace("\n", "")  # a long path is wrapped
    assert path.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    units = [tuple(json.loads(line)["unit"]) for line in path.read_bytes().splitlines()]
    assert len(units) == len(set(units)) == 6
    assert (tmp_path / "table.csv").read_bytes() == (whole.folder / "table.csv").read_bytes()


def test_results_keep_command_settings_and_versions(tmp_path, capsys):
    assert cli.run(words(tmp_path)) == 0
    assert capsys.readouterr().out.startswith("From how many training rows on is logistic regression better")
    about = json.loads((tmp_path / SETTINGS).read_text())
    assert about["settings"]["splits"] == 60
    assert about["settings"]["seed"] == 0
    assert about["command"].startswith("bayesclf experiment ng-jordan --splits 60")
    assert "numpy" in about["packages"]
    assert "bayesclf experiment ng-jordan --splits 60" in (tmp_path / "results.html").read_text(encoding="utf-8")


def test_a_folder_belongs_to_its_settings(whole):
    other = find("ng-jordan").Settings(splits=70, posterior_splits=0, problems="lenses")
    with pytest.raises(InputError, match=r"holds results of other settings \(splits=60\)"):
        run(find("ng-jordan"), other, whole.folder)


def test_a_folder_of_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="holds other files"):
        lenses(tmp_path)
    assert os.listdir(tmp_path) == ["thesis.tex"]
    (tmp_path / SETTINGS).write_text("{}")
    with pytest.raises(InputError, match="does not hold results of ng-jordan"):
        lenses(tmp_path)


def test_one_run_at_a_time(whole):
    store = Store(whole.folder, "ng-jordan", LENSES, {})
    try:
        with pytest.raises(InputError, match="another run is writing"):
            lenses(whole.folder)
    finally:
        store.close()


def test_an_error_names_its_unit(monkeypatch):
    monkeypatch.setattr(find("ng-jordan"), "measure", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        measure("ng-jordan", LENSES, ("lenses", 0))
    assert caught.value.__notes__ == ["in unit ('lenses', 0) of the experiment ng-jordan"]


@pytest.fixture(scope="module")
def cluster():
    """Return the address of a Dask scheduler, and its process and those of two workers."""
    pytest.importorskip("distributed", reason="Dask, the extra 'dask', is not installed")
    environment = os.environ | {"DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    here = "127.0.0.1"
    with open(os.devnull, "wb") as nothing:
        scheduler = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", here, "--port", "0", "--no-dashboard"],
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        address = next(line.split()[-1] for line in scheduler.stderr if "tcp://" in line)
        worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nworkers", "1", "--nthreads", "1"]
        workers = [
            subprocess.Popen([*worker, "--no-dashboard"], stdout=nothing, stderr=nothing, env=environment)
            for _ in range(2)
        ]
    yield address, scheduler, workers
    for process in (*workers, scheduler):
        process.kill()
        process.wait()
    scheduler.stderr.close()


@pytest.mark.slow
def test_dask_workers_give_the_same_bytes_and_one_that_dies_costs_no_result(cluster, whole, tmp_path):
    address, _, workers = cluster
    seen = []

    def kill_one(name, done, total):
        seen.append(done)
        if done == 2:
            workers[0].kill()

    spread = lenses(tmp_path, workers=Workers(scheduler=address), progress=kill_one)
    assert seen[-1] == 6
    units = [tuple(json.loads(line)["unit"]) for line in (tmp_path / RECORDS).read_bytes().splitlines()]
    assert len(units) == len(set(units)) == 6
    assert (spread.folder / "table.csv").read_bytes() == (whole.folder / "table.csv").read_bytes()


def test_a_connection_that_is_lost_leaves_what_is_finished(whole, tmp_path, monkeypatch):
    """The client's part of `test_a_scheduler_that_dies_leaves_what_is_finished`."""
    pytest.importorskip("distributed", reason="Dask, the extra 'dask', is not installed")

    def two(work, units, address):
        yield from map(work, units[:2])
        future, client = Mock(**{"result.side_effect": CancelledError(), "cancelled.return_value": True}), Mock()
        yield cluster_of._result(future, client, address)

    monkeypatch.setattr(cluster_of, "each", two)
    made = {"command": "bayesclf experiment ng-jordan --scheduler x"}
    with pytest.raises(InputError) as caught:
        run(find("ng-jordan"), LENSES, tmp_path, Workers(scheduler="tcp://x"), made)
    assert str(caught.value) == (
        "the connection to the Dask scheduler tcp://x was lost; 2 units of 6 are stored, and "
        "bayesclf experiment ng-jordan --scheduler x does the others"
    )
    assert (tmp_path / RECORDS).read_bytes().count(b"\n") == 2
    lenses(tmp_path)
    assert (tmp_path / "table.csv").read_bytes() == (whole.folder / "table.csv").read_bytes()


@pytest.mark.slow
def test_a_scheduler_that_dies_leaves_what_is_finished(cluster, whole, tmp_path, capfd):
    address, scheduler, _ = cluster  # for the last time

    def kill(name, done, total):
        if done == 2:
            scheduler.kill()
            scheduler.wait()

    made = {"command": "bayesclf experiment ng-jordan --scheduler x"}
    with pytest.raises(InputError) as caught:
        run(find("ng-jordan"), LENSES, tmp_path, Workers(scheduler=address), made, progress=kill)
    assert str(caught.value) == (
        f"the connection to the Dask scheduler {address} was lost; 2 units of 6 are stored, and "
        "bayesclf experiment ng-jordan --scheduler x does the others"
    )
    assert (tmp_path / RECORDS).read_bytes().count(b"\n") == 2
    assert capfd.readouterr().err == ""
    lenses(tmp_path)
    assert (tmp_path / "table.csv").read_bytes() == (whole.folder / "table.csv").read_bytes()


def test_a_scheduler_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr("bayesclf.cluster.CONNECT_SECONDS", 0.5)
    pytest.importorskip("distributed", reason="Dask, the extra 'dask', is not installed")
    with pytest.raises(InputError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        lenses(tmp_path, workers=Workers(scheduler="tcp://127.0.0.1:9"))


def test_the_store_orders_records_by_unit(tmp_path):
    store = Store(tmp_path / "new" / "folder", "x", LENSES, {})
    for unit in (("b", 10), ("b", 9), ("a", 2)):
        store.append(unit, [{"unit": list(unit), "value": np.pi}])
    units = [("a", 2), ("b", 9), ("b", 10)]
    frame = store.frame(units)
    some = store.frame(units[:2])
    store.close()
    assert frame["unit"].tolist() == [["a", 2], ["b", 9], ["b", 10]]
    assert some["unit"].tolist() == [["a", 2], ["b", 9]]
    assert (frame["value"] == np.pi).all()
    assert Path(tmp_path / "new" / "folder" / SETTINGS).exists()


def test_a_run_without_results_does_not_hold_its_folder(tmp_path):
    Store(tmp_path / "x", "ng-jordan", find("ng-jordan").Settings(variance="wrong"), {}).close()
    Store(tmp_path / "x", "ng-jordan", LENSES, {"command": "mine"}).close()
    assert json.loads((tmp_path / "x" / SETTINGS).read_text())["settings"]["problems"] == "lenses"


def test_results_without_their_settings_are_refused(whole, tmp_path):
    (tmp_path / RECORDS).write_bytes((whole.folder / RECORDS).read_bytes())
    with pytest.raises(InputError, match="holds results without their settings"):
        lenses(tmp_path)


def test_a_damaged_line_is_named(whole, tmp_path):
    for name in (RECORDS, SETTINGS):
        (tmp_path / name).write_bytes((whole.folder / name).read_bytes())
    lines = (tmp_path / RECORDS).read_bytes().splitlines(keepends=True)
    (tmp_path / RECORDS).write_bytes(lines[0] + b"{damaged}\n" + lines[2])
    with pytest.raises(InputError, match=r"line 2 of .* is damaged"):
        lenses(tmp_path)


def test_a_seed_is_not_negative(tmp_path):
    settings = find("ng-jordan").Settings(splits=20, posterior_splits=0, problems="lenses", seed=-1)
    with pytest.raises(InputError, match="seed must be a whole number of at least 0, not -1"):
        run(find("ng-jordan"), settings, tmp_path / "x")


def test_a_problem_without_its_table_says_where_tables_come_from(tmp_path, monkeypatch):
    from bayesclf.experiments import problems

    problems.load.cache_clear()
    monkeypatch.delenv("BAYESCLF_DATA", raising=False)
    with pytest.raises(
        InputError, match=r"the problem pima is not available: .* pima.csv, in a folder that BAYESCLF_DATA"
    ):
        problems.load("pima")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_page_states_the_question_and_its_source_before_the_answer(name):
    experiment = find(name)
    assert len(experiment.BACKGROUND) >= 2
    assert re.search(r"\b(19|20)\d\d\b", " ".join(experiment.BACKGROUND))  # of the source
    answer = Results("The answer is 42.", ("A finding.",), ("A caution.",))
    page = render(experiment, experiment.Settings(), Outcome(pd.DataFrame(), answer, Path()))
    plain = html.unescape(page)
    places = [plain.index(text) for text in (*experiment.BACKGROUND, answer.headline)]
    assert places == sorted(places)


def test_the_page_of_hypotheses_says_what_exercise_4_and_its_spaces_are():
    page = " ".join(find("hypotheses").BACKGROUND)
    assert "H = {h1, h2}" in page
    assert "H' = {h1, h2, h3}" in page
    assert "Exercise 4 of Mitchell" in page
