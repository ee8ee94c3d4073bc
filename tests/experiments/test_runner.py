"""The runner: the same numbers for any workers, nothing lost or counted twice, and folders that say what they hold."""

import ast
import json
import os
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from helpers.commands import command, full_after
from joblib.externals.loky import get_reusable_executor

from bayesclf import progress
from bayesclf.errors import InputError
from bayesclf.experiments import EXPERIMENTS, find, run
from bayesclf.experiments.runner import SETTINGS, UNITS, about, measure, name_of, seed_of

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


def done(folder):
    """Return the content of each stored unit by its file."""
    return {path.name: path.read_bytes() for path in (folder / UNITS).glob("*.json")}


NAMES = ("Settings", "tabulate", "measure", "answer", "summary", "figure")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_the_same_names_in_the_same_order(name):
    experiment = find(name)
    assert name_of(experiment) == name
    assert isinstance(experiment.Settings().seed, int)
    statements = ast.parse(Path(experiment.__file__).read_text(encoding="utf-8")).body
    own = [line.name for line in statements if isinstance(line, ast.FunctionDef | ast.ClassDef)]
    assert tuple(place for place in own if place in NAMES) == NAMES


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_asks_a_question_and_names_its_source(name):
    question, background, cautions = about(find(name))
    assert question.endswith("?")
    assert re.search(r"\b(19|20)\d\d\b", background)  # of the source
    assert cautions


def test_unknown_experiments_are_listed():
    with pytest.raises(InputError, match="unknown experiment 'x'; they are ng-jordan"):
        find("x")


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("assumptions", {"picture_rows": 1}, "at least 2"),
        ("bias-variance", {"sets": 1}, "at least 2 training sets"),
        ("convergence", {"sets": 30}, "come by 20, at least 40"),
        ("gibbs-bound", {"targets": 99}, "at least 100"),
        ("hypotheses", {"cases": 100}, "at least 200"),
        ("newsgroups", {"collections": "by-name"}, "unknown collection 'by-name'"),
        ("newsgroups", {"draws": 0}, "at least one draw"),
        ("newsgroups", {"documents": 5}, "documents must be at least 20"),
        ("ng-jordan", {"problems": "pima,x"}, "unknown problem 'x'"),
        ("ng-jordan", {"splits": 10}, "at least 20 of them"),
        ("ng-jordan", {"posterior_splits": 4}, "splits come by 10"),
        ("ng-jordan", {"largest": 3}, "at least 4 rows"),
        ("parameter-count", {"attributes": 9}, "between 2 and 8"),
        ("sample-size", {"half_width": 0.5}, "must lie between"),
        ("sample-size", {"level": 1.0}, "must be a number between"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_any_work(name, settings, words):
    experiment = find(name)
    with pytest.raises(InputError, match=words):
        experiment.tabulate(experiment.Settings(**settings), None)


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
    two = lenses(tmp_path, jobs=2)
    assert (two.folder / "table.csv").read_bytes() == (whole.folder / "table.csv").read_bytes()
    pd.testing.assert_frame_equal(two.table, whole.table)


@pytest.fixture
def folder(whole, tmp_path):
    """Return a copy of its folder, in which two units are not done."""
    shutil.copytree(whole.folder, tmp_path, dirs_exist_ok=True)
    for path in sorted((tmp_path / UNITS).iterdir())[:2]:
        path.unlink()
    return tmp_path


def test_the_remaining_units_are_done(whole, folder):
    seen = []
    again = lenses(folder, progress=lambda _, count, total: seen.append(count))
    assert seen == [4, 5, 6]
    assert done(folder) == done(whole.folder)
    pd.testing.assert_frame_equal(again.table, whole.table)


def test_a_run_beside_another_in_its_folder_ends_alike(whole, folder):
    beside = []

    def begun(*_):
        if not beside:
            beside.append(lenses(folder))

    for one in (lenses(folder, progress=begun), *beside):
        pd.testing.assert_frame_equal(one.table, whole.table)
    assert done(folder) == done(whole.folder)


def test_results_keep_command_settings_and_versions(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    ended = command(*words(tmp_path))
    said = ended.out
    assert ended.err.startswith("ng-jordan: 0 of 6\n")
    question, background, cautions = about(find("ng-jordan"))
    assert " ".join(said.split()).startswith(question)
    made = json.loads((tmp_path / SETTINGS).read_text())
    assert (made["splits"], made["seed"]) == (60, 0)
    assert made["command"].startswith("bayesclf experiment ng-jordan --splits 60")
    assert "numpy" in made["packages"]
    page = (tmp_path / "results.html").read_text(encoding="utf-8")
    assert "bayesclf experiment ng-jordan --splits 60" in page
    places = [page.index(words) for words in (question, background[:60], "the paper&#x27;s claim", cautions[:60])]
    assert places == sorted(places)


def test_a_folder_belongs_to_its_settings(whole):
    other = find("ng-jordan").Settings(splits=70, posterior_splits=0, problems="lenses")
    with pytest.raises(InputError, match=r"holds results of other settings \(splits=60\)"):
        run(find("ng-jordan"), other, whole.folder)


def test_a_folder_that_another_run_has_just_begun_is_taken(whole, tmp_path):
    (tmp_path / UNITS).mkdir()
    (tmp_path / ".bayesclf-3f.json").touch()  # its settings, not yet whole
    assert done(lenses(tmp_path).folder) == done(whole.folder)


def test_a_folder_of_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InputError, match="holds other files"):
        lenses(tmp_path)
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_an_error_names_its_unit(monkeypatch):
    monkeypatch.setattr(find("ng-jordan"), "measure", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        measure("ng-jordan", LENSES, ("lenses", 0))
    assert caught.value.__notes__ == ["in unit ('lenses', 0) of the experiment ng-jordan"]


DAMAGED = {
    "words": b"hello",
    "not UTF-8": b"\xff\xfe",
    "a list": b"[1, 2]",
    "deep": b"[" * 100_000,
    "of another unit": b'{"unit": ["lenses", 999], "records": []}',
}


@pytest.mark.parametrize("content", DAMAGED)
def test_a_unit_that_no_run_wrote_is_named(content, folder):
    path = next((folder / UNITS).iterdir())
    path.write_bytes(DAMAGED[content])
    refused(folder, rf"{path.name} is damaged, or of another run; delete it, and its unit is done again")


def test_units_of_two_versions_do_not_mix(folder, monkeypatch):
    monkeypatch.setattr("bayesclf.experiments.runner.version", lambda _: "99.0")
    refused(folder, r"holds results of other settings \(version='0.*; choose another")


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to(path.name)], ids=["file", "loop"])
def test_folders_that_are_none(make, tmp_path):
    make(tmp_path / "x")
    with pytest.raises(InputError, match=r"the folder .*x cannot be made \(.*\); choose another"):
        lenses(tmp_path / "x")
    with pytest.raises(InputError, match="cannot be made"):
        lenses(tmp_path / "\0")


def test_a_full_disk_keeps_what_is_finished(whole, folder):
    before = done(folder)
    with full_after(100), pytest.raises(InputError) as caught:
        lenses(folder, made={"command": "bayesclf experiment ng-jordan"})
    assert "4 units of 6 are stored, and bayesclf experiment ng-jordan does the others" in str(caught.value)
    assert done(folder) == before
    lenses(folder)
    assert (folder / "table.csv").read_bytes() == (whole.folder / "table.csv").read_bytes()


def refused(folder, sentence):
    """Check that a run is refused with a sentence, and changes nothing."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=sentence):
        lenses(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
