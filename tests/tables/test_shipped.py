"""The tables that ship: what is said of them is true, and nothing ships of which nothing is said."""

import gzip
import hashlib
import tomllib
from pathlib import Path

import pytest

from bayesclf.tables import datasets
from bayesclf.tables.datasets import KNOWN

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
MOST_BYTES = 2_000_000
"""Of the whole folder, so that the wheel stays below 3 MB."""


def text(name):
    path = datasets.folder() / KNOWN["own"][name].file
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def flat(path):
    return " ".join(path.read_text(encoding="utf-8").split())


@pytest.mark.parametrize("name", KNOWN["own"])
def test_a_table_is_what_the_readme_of_the_folder_says(name, monkeypatch):
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    table = KNOWN["own"][name]
    assert f"- SHA-256: `{hashlib.sha256(text(name)).hexdigest()}`" in README.partition(f"### {name}\n")[2]
    data = datasets.load(f"own:{name}")
    assert (*data.frame.shape, data.y.nunique()) == (table.rows, table.columns, table.classes)
    assert (data.source, data.creators) == (table.source, table.creators)
    assert (data.license, data.changes, data.note) == (table.license, table.changes, table.note)


@pytest.mark.parametrize("name", [name for name in KNOWN["own"] if name != "play_tennis"])
def test_a_table_is_canonical_csv_with_its_origin(name):
    lines = text(name).decode("utf-8").splitlines()
    assert lines[0].rpartition(",")[2] == "class"
    assert b"\r" not in text(name)
    table = KNOWN["own"][name]
    assert table.license == "CC BY 4.0"
    assert "https://doi.org/10.24432/" in table.source
    assert table.creators
    assert table.changes.startswith("written as CSV")


def test_the_ljubljana_tables_come_with_the_sentence_that_their_donors_ask_for():
    for name in ("breast_cancer_ljubljana", "lymphography"):
        note = datasets.load(name).note
        assert "Institute of Oncology, Ljubljana" in note
        assert "thanks go to M. Zwitter and M. Soklic" in note
    assert "University Medical Centre, Institute of Oncology, Ljubljana" in flat(ROOT / "README.md")


def test_the_folder_holds_nothing_else():
    folder = ROOT / "data"
    listed = {table.file for table in KNOWN["own"].values()} | {"README.md", "CC-BY-4.0.txt"}
    assert {path.name for path in folder.iterdir()} == listed
    assert sum(path.stat().st_size for path in folder.iterdir()) < MOST_BYTES


def test_the_package_is_under_both_licenses():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "MIT AND CC-BY-4.0"
    assert project["license-files"] == ["LICENSE", "data/CC-BY-4.0.txt"]
    assert all((ROOT / path).is_file() for path in project["license-files"])
    assert "Creative Commons Attribution 4.0 International Public License" in flat(ROOT / "data" / "CC-BY-4.0.txt")
