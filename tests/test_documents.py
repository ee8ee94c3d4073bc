"""The documentation's pages: their blocks run as printed, in their order, and print what the pages show.

``python tests/test_documents.py PAGE …`` writes what the blocks print now into pages.
"""

import re
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from helpers.documents import ROOT, SHELLS, blocks, columns_of, differences, quiet_environment, rewritten, run, steps

FOLDERS = ("start", "how_to", "explanation")
PAGES = sorted(page for folder in FOLDERS for page in (ROOT / "docs" / folder).glob("*.md"))
SLOW = {
    "start/which_model",
    "how_to/large_tables",
    "explanation/generative_or_discriminative",
    "explanation/what_overconfidence_is_made_of",
    "start/five_minutes",
    "how_to/command_line",
    "how_to/extending_in_pymc",
    "how_to/mixed_columns",
    "how_to/reading_a_report",
    "how_to/priors_by_column",
    "how_to/scikit_learn",
    "how_to/text",
    "explanation/every_tree_at_once",
}
"""Pages that take more than a second."""

LANGUAGES = {"python", "text", "html", "{toctree}", *SHELLS}


def name_of(page):
    return f"{page.parent.name}/{page.stem}"


def marked(page):
    return pytest.param(page, id=name_of(page), marks=[pytest.mark.slow] if name_of(page) in SLOW else [])


@pytest.mark.parametrize("page", [marked(page) for page in PAGES if page.stem != "index"])
def test_blocks_run_and_print_what_the_page_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BAYESCLF_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", columns_of(page))
    names = {"__name__": "__main__"}
    for block, shown in steps(page.read_text(encoding="utf-8")):
        printed = run(block, str(page), names)
        where = f"{name_of(page)}, line {block.line}"
        assert shown or not printed, f"{where}: nothing is shown of\n{printed}"
        assert not shown or not differences(shown.code, printed), (
            f"{where}: {differences(shown.code, printed)}\n{printed}"
        )


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=name_of)
def test_each_block_is_found_and_text_follows_what_prints_it(page):
    text = page.read_text(encoding="utf-8")
    found = blocks(text)
    assert len(found) == text.count("```") // 2
    assert {block.language for block in found} <= LANGUAGES
    assert text.count("not run by the tests") == sum(block.reason is not None for block in found)
    shown = [printed for _, printed in steps(text) if printed]
    for block in found:
        assert block.language != "text" or block.reason or block in shown, f"line {block.line}: nothing prints this"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=name_of)
def test_links_lead_to_files_and_headings(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, heading = target.partition("#")
        linked = (page.parent / file).resolve() if file else page
        assert linked.exists(), target
        if heading:
            assert heading in headings(linked), target


def headings(page):
    """Return the anchors that GitHub makes of a page's headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_index_of_a_folder_lists_its_pages(folder):
    index = (ROOT / "docs" / folder / "index.md").read_text(encoding="utf-8")
    trees = [block.code for block in blocks(index) if block.language == "{toctree}"]
    listed = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    assert sorted(listed) == sorted(page.stem for page in PAGES if page.parent.name == folder and page.stem != "index")


def test_what_is_shown_is_compared_to_the_digits_shown():
    assert not differences("a 0.50\n…\nz  1", "a   0.51\nb\nc\nz 1\n")
    assert differences("a 0.50", "a 0.52")
    assert differences("a 0.50", "a 0.50\nb")
    assert differences("a\n…\nz", "a\nb")
    assert differences("n 3", "n 4")
    assert not differences("1.2e-03", "1.3e-03")
    assert differences("1.2e-03", "1.2e-02")


if __name__ == "__main__":
    import os

    quiet_environment()
    for argument in sys.argv[1:]:
        path = Path(argument).resolve()
        with tempfile.TemporaryDirectory() as folder:
            before = Path.cwd()
            os.chdir(folder)
            changed = rewritten(path)
            os.chdir(before)
        path.write_text(changed, encoding="utf-8")
