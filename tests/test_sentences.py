"""Every sentence that the package can print stands in `sentences.txt`, which is read as prose.

A sentence is a string with three or more words of letters that is no docstring; {…} stands for a value. After an
intended change, ``python tests/test_sentences.py`` writes the catalogue anew.
"""

import difflib
import re
import sys
from functools import cache
from pathlib import Path

import pytest
from helpers.documents import ROOT, texts

CATALOGUE = Path(__file__).with_name("sentences.txt")
WORD = re.compile(r"[\"'(]?[A-Za-z][a-z]+(?:['’-][a-z]+)*[,.;:?!)\"']*")
NOT_PLAIN = {
    "long": r"^(?:\S+ ){25}\S",
    "without a noun": r"^(?:It|They|This|These|Those) (?:is|are|was|has|have|can)\b|\b(?:these|those) of\b",
    "British": r"(?i)behaviour|centre|colour|favour|grey|labelle|modelle|neighbour|analyse|(?:al|gn|im|ar)ise",
    "an idiom": r"\b(?:anew|as is said|for lack of|on slices|rules of a point|teach)\b|(?:;|or) take ",
}


@cache
def catalogue(folder=ROOT / "bayesclf"):
    """Return the sentences of each module below its name."""
    lines = []
    for path in sorted(folder.rglob("*.py")):
        said = {" ".join(text.split()) for text in texts(path) if sum(map(bool, map(WORD.fullmatch, text.split()))) > 2}
        lines += ["", f"# {path.relative_to(folder).as_posix()}", *sorted(said)] if said else []
    return lines


def test_the_catalogue_has_each_sentence_of_the_source():
    known = CATALOGUE.read_text(encoding="utf-8").splitlines()
    changes = "\n".join(difflib.unified_diff(known, catalogue(), "catalogue", "source", n=0, lineterm=""))
    assert not changes, f"{changes}\nif each of these is plain, run python tests/{Path(__file__).name}"


@pytest.mark.parametrize("fault", NOT_PLAIN)
def test_sentences_are_plain(fault):
    split = [one for line in catalogue() for one in re.split(r"(?<=[.?!>])\s+", line)]
    found = "\n".join(one for one in split if re.search(NOT_PLAIN[fault], one))
    assert not found, found


def test_what_a_sentence_is(tmp_path):
    (tmp_path / "module.py").write_text('"""A long docstring."""\nx = f"one {2} three {"if it is four"}", "two words"')
    assert catalogue(tmp_path) == ["", "# module.py", "if it is four"]


if __name__ == "__main__":
    CATALOGUE.write_text("\n".join(catalogue()) + "\n", encoding="utf-8")
    sys.stdout.write(f"{CATALOGUE} written\n")
