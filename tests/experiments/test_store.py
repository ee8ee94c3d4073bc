"""Results folders that others wrote to: a sentence each, and nothing in them is changed."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.disks import full_after

from bayesclf.errors import InputError
from bayesclf.experiments import find, run
from bayesclf.experiments.store import MAX_BYTES, RECORDS, SETTINGS, Store

LENSES = find("ng-jordan").Settings(splits=60, posterior_splits=0, problems="lenses")


def lenses(folder, settings=LENSES, **options):
    return run(find("ng-jordan"), settings, folder, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the folder of an uninterrupted run."""
    return lenses(tmp_path_factory.mktemp("whole")).folder


@pytest.fixture
def folder(whole, tmp_path):
    """Return a copy of it, from which two units are missing."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    lines = (whole / RECORDS).read_bytes().splitlines(keepends=True)
    (tmp_path / RECORDS).write_bytes(b"".join(lines[:4]))
    return tmp_path


def edited(change):
    """Return what changes the second line, and leaves it JSON."""

    def edit(line):
        entry = json.loads(line)
        change(entry)
        return json.dumps(entry, separators=(",", ":")).encode()

    return edit


def number_of(entry):
    """Return a record and the name of one of its numbers."""
    record = entry["records"][0]
    return record, next(name for name, value in record.items() if isinstance(value, float))


LINES = {
    "words": lambda line: b"hello",
    "nothing": lambda line: b"",
    "cut off": lambda line: line[: len(line) // 2],
    "not UTF-8": lambda line: b"\xff\xfe" + line,
    "null bytes": lambda line: b"\0" * 50,
    "a list": lambda line: b"[1, 2]",
    "a number": lambda line: b"12",
    "deep": lambda line: b"[" * 100_000,
    "a long number": lambda line: b"9" * 10_000,
    "no records": edited(lambda entry: entry.pop("records")),
    "records of another type": edited(lambda entry: entry.update(records=3)),
    "unit of another type": edited(lambda entry: entry.update(unit=None)),
    "unit of lists": edited(lambda entry: entry.update(unit=[[1], {}])),
    "another unit": edited(lambda entry: entry.update(unit=["lenses", 999])),
    "no checksum": edited(lambda entry: entry.pop("checksum")),
    "NaN": edited(lambda entry: number_of(entry)[0].update({number_of(entry)[1]: float("nan")})),
    "word for a number": edited(lambda entry: number_of(entry)[0].update({number_of(entry)[1]: "high"})),
    "another number": edited(lambda entry: number_of(entry)[0].update({number_of(entry)[1]: 0.125})),
    "one record fewer": edited(lambda entry: entry["records"].pop()),
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_no_run_wrote_is_named(line, folder):
    path = folder / RECORDS
    lines = path.read_bytes().split(b"\n")
    lines[1] = LINES[line](lines[1])
    path.write_bytes(b"\n".join(lines))
    refused(folder, r"line 2 of .*results.jsonl is damaged, or of another run; delete it, and its unit is done again")


def test_a_line_may_be_deleted(folder, whole):
    lines = (folder / RECORDS).read_bytes().splitlines(keepends=True)
    (folder / RECORDS).write_bytes(lines[0] + lines[2] + lines[3])
    lenses(folder)
    assert (folder / "table.csv").read_bytes() == (whole / "table.csv").read_bytes()


def test_lines_of_two_seeds_or_versions_do_not_mix(folder, tmp_path_factory, monkeypatch):
    other = lenses(tmp_path_factory.mktemp("other"), replace(LENSES, seed=1)).folder
    mine = (folder / RECORDS).read_bytes()
    (folder / RECORDS).write_bytes(mine + (other / RECORDS).read_bytes().splitlines(keepends=True)[5])
    refused(folder, "line 5 of .* is damaged, or of another run")
    (folder / RECORDS).write_bytes(mine)
    refused(folder, r"holds results of other settings \(seed=0\)", settings=replace(LENSES, seed=1))
    monkeypatch.setattr("bayesclf.experiments.store.version", lambda _: "99.0")
    refused(folder, "holds results of bayesclf 0.* and this is 99.0; choose another folder")


def test_a_unit_twice_is_named(folder):
    lines = (folder / RECORDS).read_bytes().splitlines(keepends=True)
    (folder / RECORDS).write_bytes(b"".join([*lines, lines[0]]))
    refused(folder, r"line 5 of .* repeats the unit \('lenses', .*\); delete it")


SETTINGS_OF_OTHERS = {
    "words": b"hello",
    "nothing": b"",
    "not UTF-8": b"\xff",
    "a list": b"[]",
    "other types": b'{"experiment": "ng-jordan", "settings": 3}',
    "another experiment": b'{"experiment": "newsgroups", "settings": {}}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("text", SETTINGS_OF_OTHERS)
def test_settings_that_no_run_wrote(text, folder):
    (folder / SETTINGS).write_bytes(SETTINGS_OF_OTHERS[text])
    refused(folder, "does not hold results of ng-jordan; choose another folder")


def test_results_of_a_version_that_wrote_no_version(folder):
    about = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    del about["version"]
    (folder / SETTINGS).write_text(json.dumps(about), encoding="utf-8")
    refused(folder, "holds results of an earlier version of bayesclf")


def large(path):
    """Make a file that takes no room, but that nobody could read into memory."""
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)


@pytest.mark.parametrize("name", [RECORDS, SETTINGS])
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Path.mkdir, "is not an ordinary file"),
        (os.mkfifo, "is not an ordinary file"),
        (lambda path: path.symlink_to("/dev/zero"), "is not an ordinary file"),
        (lambda path: path.symlink_to(path.name), "cannot be read"),
        (large, "more than results have"),
    ],
    ids=["folder", "pipe", "device", "loop", "large"],
)
def test_things_that_are_not_files_of_results(name, make, said, folder):
    (folder / name).unlink()
    make(folder / name)
    with pytest.raises(InputError, match=f"{name} .*{said}.*; choose another folder"):
        lenses(folder)


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to(path.name)], ids=["file", "loop"])
def test_folders_that_are_none(make, tmp_path):
    make(tmp_path / "x")
    with pytest.raises(InputError, match=r"the folder .*x cannot be made \(.*\); choose another"):
        lenses(tmp_path / "x")
    with pytest.raises(InputError, match="cannot be made"):
        lenses(tmp_path / "\0")


def test_a_full_disk_keeps_what_is_finished(whole, tmp_path):
    room = sum(len(line) for line in (whole / RECORDS).read_bytes().splitlines(keepends=True)[:4]) + 100
    with full_after(room), pytest.raises(InputError) as caught:
        lenses(tmp_path, made={"command": "bayesclf experiment ng-jordan"})
    assert str(caught.value) == (
        f"{tmp_path / RECORDS} cannot be written (File too large); 4 units of 6 are stored, and "
        "bayesclf experiment ng-jordan does the others"
    )
    assert (tmp_path / RECORDS).read_bytes().count(b"\n") == 4
    assert (tmp_path / RECORDS).read_bytes().endswith(b"}\n")
    done = []
    lenses(tmp_path, progress=lambda _, count, total: done.append(count))
    assert done == [4, 5, 6]
    assert (tmp_path / "table.csv").read_bytes() == (whole / "table.csv").read_bytes()


def test_a_disk_that_takes_part_of_a_line(tmp_path):
    store = Store(tmp_path, "x", LENSES, {})
    store.append(("a", 1), [{"value": 1.5}])
    before = (tmp_path / RECORDS).read_bytes()
    with full_after(len(before) + 10), pytest.raises(InputError, match="cannot be written"):
        store.append(("a", 2), [{"value": 2.5}])
    assert (tmp_path / RECORDS).read_bytes() == before
    store.append(("a", 2), [{"value": 2.5}])
    store.close()
    again = Store(tmp_path, "x", LENSES, {})
    assert again.done == {("a", 1): [{"value": 1.5}], ("a", 2): [{"value": 2.5}]}
    again.close()


def refused(folder, sentence, **options):
    """Check that a run is refused with a sentence, and changes nothing."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(InputError, match=sentence):
        lenses(folder, **options)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
