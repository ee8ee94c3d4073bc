"""Bounds on the words of README, CONTRIBUTING, CHANGELOG and docs, and on their sentences."""

import re

import pytest
from helpers.documents import ROOT

GENERATED = {"checks/false_alarms.md", "results/benchmarks.md", "results/held_out.md"}
"""Pages that `benchmarks/` writes; those of the checks are made when the site is built."""
PAGES = sorted(
    page
    for page in (ROOT / "docs").rglob("*.md")
    if not {"_build", "_templates"} & set(page.parts)
    and not page.stem.startswith("of_")
    and page.relative_to(ROOT / "docs").as_posix() not in GENERATED
)
BOUNDS = {"README.md": 600, "CONTRIBUTING.md": 1200, "CHANGELOG.md": 400}
MOST = 35
"""Words of a sentence."""
FOLDERS = {"start": 3, "how_to": 12, "explanation": 8}
"""Pages of a folder beside its index."""


def sentences(text):
    """Return the sentences of a page's prose: without code, tables, formulas, headings and figures."""
    text = re.sub(r"\A---\n.*?\n---\n|^ *(```|:::+).*?^ *\1\n?|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\$\$.*?\$\$|\$[^$]+\$|`[^`]+`", "x", text, flags=re.DOTALL)
    text = re.sub(r"^(\||#|!\[).*$", "", text, flags=re.MULTILINE)
    paragraphs = re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", text, flags=re.MULTILINE)
    return [one.split() for each in paragraphs for one in re.split(r"(?<=[.?!])[*)\"”]*\s+", each) if one.split()]


@pytest.mark.parametrize("name", BOUNDS)
def test_a_file_has_at_most_so_many_words(name):
    assert len((ROOT / name).read_text(encoding="utf-8").split()) <= BOUNDS[name]


def test_docs_have_at_most_so_many_words_and_pages():
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in PAGES) <= 18_000
    counts = {folder: sum(page.parent.name == folder for page in PAGES) - 1 for folder in FOLDERS}
    assert all(counts[folder] <= most for folder, most in FOLDERS.items()), counts


OTHERS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "paper" / "paper.md"]


@pytest.mark.parametrize("page", [*OTHERS, *PAGES], ids=lambda page: page.stem)
def test_sentences_are_short(page):
    long = [" ".join(words) for words in sentences(page.read_text(encoding="utf-8")) if len(words) > MOST]
    assert not long, "\n".join(long)


def test_a_long_sentence_is_found():
    text = f"# A title\n\nOne two. {'word ' * (MOST + 1)}\n\n| {'cell ' * 50}|\n\n```text\n{'code ' * 50}\n```\n"
    assert [len(words) for words in sentences(text)] == [2, MOST + 1]
